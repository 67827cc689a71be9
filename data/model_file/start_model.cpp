#include "data/model_file/start_model.hpp"

#include "data/disk/disk.hpp"
#include "data/model_file/tensor_file.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace troupe {

namespace {

/// What a file may hold; what is no number of a model is to be ignored.
constexpr std::array<std::string_view, 15> file_dtypes{"F32", "F16", "BF16", "F64",     "I64",
                                                       "I32", "I16", "I8",   "U8",      "BOOL",
                                                       "U16", "U32", "U64",  "F8_E4M3", "F8_E5M2"};

constexpr const char* no_safetensors = "it is to be a safetensors file; troupe.save_tensors(path, "
                                       "model.state_dict()) in Python writes one";

float from_half(uint16_t bits) {
  const auto fraction = static_cast<float>(bits & 0x3ff);
  const int exponent = (bits >> 10) & 0x1f;
  const auto size = exponent == 31  ? std::numeric_limits<float>::infinity()
                    : exponent == 0 ? std::ldexp(fraction, -24)
                                    : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

template <class Bits, class Convert>
void convert(std::span<const std::byte> from, std::span<float> out, const Convert& convert_one) {
  for (size_t i = 0; i < out.size(); ++i) {
    Bits bits{};
    std::memcpy(&bits, from.data() + i * sizeof bits, sizeof bits);
    out[i] = convert_one(bits);
  }
}

void to_floats(const std::string& dtype, std::span<const std::byte> from, std::span<float> out) {
  if (dtype == "F32")
    std::memcpy(out.data(), from.data(), from.size());
  else if (dtype == "F16")
    convert<uint16_t>(from, out, from_half);
  else if (dtype == "BF16")
    convert<uint16_t>(from, out,
                      [](uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); });
  else
    convert<double>(from, out, [](double value) { return static_cast<float>(value); });
}

bool is_like_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(patterns, [&](const auto& one) { return is_like(name, one); });
}

bool begins_fresh(const std::string& name, const start_options& options) {
  return is_like_any(name, options.start_fresh) || is_like_any(name, options.start_ignore);
}

/// Whether each is called by its number: the rows had no names.
bool are_numbered(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] != std::to_string(i))
      return false;
  return true;
}

[[noreturn]] void refuse_rows(const std::string& why, const std::string& hint) {
  throw failure(failure_code::bad_data, why, {}, hint);
}

} // namespace

start_model::start_model(const start_options& options) : options_(options) {
  const tensor_file file{open_to_read(*posix_disk(), options.start_from), options.start_from,
                         file_dtypes, no_safetensors};
  const auto format = file.metadata("format");
  is_torch_ = !format.starts_with("troupe-model-");
  if (!is_torch_)
    learn_from(read_model(options.start_from));
  std::vector<std::byte> bytes;
  for (const auto& tensor : file.tensors()) {
    if (is_like_any(tensor.name, options.start_ignore)) {
      layout_.add(tensor.name, {1}); // the pattern matches something
      values_.push_back(0);
      continue;
    }
    const auto& dtype = tensor.dtype;
    if (dtype != "F32" && dtype != "F16" && dtype != "BF16" && dtype != "F64")
      file.refuse("tensor " + shown_text(tensor.name) + " holds " + dtype +
                    ", no numbers that a model has",
                  "leave it out: model.start_ignore = [\"" + tensor.name + "\"]");
    std::vector<size_t> shape{tensor.shape.begin(), tensor.shape.end()};
    if (shape.empty())
      shape = {1};
    if (std::ranges::find(shape, 0) != shape.end())
      file.refuse("tensor " + shown_text(tensor.name) + " has no values",
                  "leave it out: model.start_ignore = [\"" + tensor.name + "\"]");
    const auto& added = layout_.tensors()[layout_.add(tensor.name, shape)];
    bytes.resize(tensor.data_offsets[1] - tensor.data_offsets[0]);
    file.read(tensor.data_offsets[0], bytes);
    values_.resize(layout_.size());
    const auto values = std::span{values_}.subspan(added.offset, added.size);
    to_floats(dtype, bytes, values);
    for (size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        file.refuse("tensor " + shown_text(tensor.name) + ", value " + std::to_string(i) +
                      ": not a finite 32-bit number",
                    "was the model that wrote it trained to its end?");
  }
}

start_model::start_model(const saved_model& source, const start_options& options)
  : options_(options), layout_(source.network->layout()), values_(layout_.size()) {
  layout_.to_logical(source.parameters.values(), values_);
  learn_from(source);
}

void start_model::learn_from(const saved_model& source) {
  const auto& tensors = source.network->layout().tensors();
  reads_as_before_ = !begins_fresh(tensors.front().name, options_);
  if (reads_as_before_) {
    reading_.columns = source.columns;
    feature_names_ = source.feature_names;
    features_ = source.features;
    feature_count_ = source.network->feature_count();
  }
  if (begins_fresh(tensors.back().name, options_))
    return;
  reading_.classes = source.classes;
  if (!source.is_classification()) {
    reading_.target_count = source.network->output_count();
    scale_ = source.network->loss_with_constants().scale;
  }
}

void start_model::apply(prepare_options& options) const {
  if (reads_as_before_)
    options.features = features_;
  if (scale_)
    options.scale = scale_;
}

void start_model::fit(dataset& rows) const {
  const std::string hint = "give it rows of the same columns and classes, or let the layer begin "
                           "fresh: model.start_fresh";
  if (reads_as_before_ && rows.feature_count != feature_count_)
    refuse_rows("the model to start from has " + std::to_string(feature_count_) +
                  " features, these rows have " + std::to_string(rows.feature_count),
                hint);
  if (reads_as_before_ && !features_.empty() && rows.is_sparse() != features_.mean.empty())
    refuse_rows(std::string{"the model to start from scales rows that are "} +
                  (rows.is_sparse() ? "dense, these are sparse" : "sparse, these are dense"),
                hint);
  if (reads_as_before_ && !are_numbered(feature_names_) && !are_numbered(rows.feature_names))
    for (size_t i = 0; i < std::min(feature_names_.size(), rows.feature_names.size()); ++i)
      if (feature_names_[i] != rows.feature_names[i])
        refuse_rows("feature " + std::to_string(i) + " is " + shown_text(rows.feature_names[i]) +
                      ", that of the model to start from is " + shown_text(feature_names_[i]),
                    hint);
  if (reading_.classes.empty() || !rows.is_classification())
    return;
  if (const auto unknown = renumber_classes(rows, reading_.classes))
    refuse_rows(
      "the class " + shown_text(*unknown) + " is none of those of the model to start from", hint);
}

void start_model::require_same(dataset names) const {
  const auto classes = names.classes;
  fit(names);
  if (names.classes != classes)
    refuse_rows("the classes of the file of rows are not those of the model to start from",
                "make the file from the rows that the model was trained on and these, or let the "
                "last layer begin fresh: model.start_fresh");
}

std::shared_ptr<const start_values>
start_model::values_for(const model& network, const prepared_data& data, uint64_t seed) const {
  const auto match = match_tensors(network, layout_, options_, is_torch_);
  if (!match.problem.empty())
    throw failure(failure_code::bad_job,
                  (options_.start_from.empty() ? "" : shown_text(options_.start_from) + ": ") +
                    match.problem,
                  "model.start_from", match.hint);
  auto result = std::make_shared<start_values>();
  auto values = started_values(network, match, layout_, values_, is_torch_, seed);
  const buffer parameters{values.size()};
  network.layout().to_working(values, parameters.values());
  result->parameters = parameters;
  result->scale = data.scale;
  sha256 digest;
  for (const auto* numbers : {&values, &result->scale.mean, &result->scale.deviation})
    digest.update(std::as_bytes(std::span{*numbers}));
  if (reads_as_before_)
    for (const auto* numbers : {&features_.mean, &features_.deviation, &reading_.columns.fill})
      digest.update(std::as_bytes(std::span{*numbers}));
  result->sha256 = digest.hex();
  return result;
}

} // namespace troupe
