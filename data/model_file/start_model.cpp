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
  reading_ = {source, "the model to start from"};
  if (begins_fresh(tensors.front().name, options_))
    reading_.forget_features();
  if (begins_fresh(tensors.back().name, options_))
    reading_.forget_targets();
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
  const auto& [fill, features, targets] = reading_.learned();
  if (reading_.knows_features())
    for (const auto* numbers : {&features.mean, &features.deviation, &fill})
      digest.update(std::as_bytes(std::span{*numbers}));
  result->sha256 = digest.hex();
  return result;
}

} // namespace troupe
