#include "data/model_file/safetensors_header.hpp"

#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

using nlohmann::json;

/// Extents of a shape. Without a limit a header of short numbers would take several times its size.
constexpr size_t numbers_max = 64;

/// For the same reason; we write some dozen.
constexpr size_t metadata_count_max = 65'536;

/// Receives the events of the parser. `place_` is where in the format we are:
///
///   outside -> top -> metadata          {"__metadata__": {name: text}}
///                  -> tensor -> numbers {name: {"dtype": .., "shape": [..], "data_offsets": [..]}}
class header_events : public nlohmann::json_sax<json> {
public:
  header_events(const std::string& path, std::span<const std::string_view> dtypes)
    : path_(path), dtypes_(dtypes) {}

  safetensors_header take() && { return std::move(result_); }

  bool null() override { refuse_value("null"); }
  bool boolean(bool) override { refuse_value("true or false"); }
  bool number_integer(number_integer_t) override { refuse_value("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { refuse_value("a fraction"); }
  bool binary(binary_t&) override { refuse_value("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != place::numbers)
      refuse_value("a number");
    if (numbers_->size() == numbers_max)
      refuse(in_tensor() + shown_text(key_) + " holds more than " + std::to_string(numbers_max) +
             " numbers");
    numbers_->push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == place::metadata)
      return keep_metadata(value);
    if (place_ != place::tensor || key_ != "dtype")
      refuse_value("text");
    if (std::ranges::find(dtypes_, value) == dtypes_.end())
      refuse(in_tensor() + "its type is " + shown_text(value) + "; only " + listed_dtypes() +
               " can be read",
             hint_for_type());
    result_.tensors.back().dtype = std::move(value);
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == place::outside)
      place_ = place::top;
    else if (place_ == place::top)
      start_entry();
    else
      refuse_value("an object");
    return true;
  }

  bool end_object() override {
    if (place_ == place::tensor)
      check_complete();
    place_ = place_ == place::top ? place::outside : place::top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != place::tensor || key_ == "dtype")
      refuse_value("an array");
    auto& entry = result_.tensors.back();
    numbers_ = key_ == "shape" ? &entry.shape : &entry.data_offsets;
    place_ = place::numbers;
    return true;
  }

  bool end_array() override {
    place_ = place::tensor;
    return true;
  }

  bool key(string_t& name) override {
    key_ = name;
    if (place_ == place::tensor)
      check_tensor_key();
    else if (place_ == place::top && !names_.insert(name).second)
      refuse("two entries of the header are called " + shown_text(name));
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    refuse("the header is not JSON (at byte " + std::to_string(position) + " of it)");
  }

private:
  enum class place { outside, top, metadata, tensor, numbers };

  [[noreturn]] void refuse(const std::string& reason, const std::string& hint = {}) const {
    throw failure(failure_code::bad_data, reason, path_,
                  hint.empty() ? "the file is damaged, or not a safetensors file" : hint);
  }

  [[noreturn]] void refuse_value(const std::string& what) const {
    auto whose = place_ == place::tensor || place_ == place::numbers ? in_tensor() : std::string();
    auto of = place_ == place::outside ? "" : " of " + shown_text(key_);
    refuse(whose + "the value" + of + " may not be " + what);
  }

  std::string listed_dtypes() const {
    std::string result;
    for (const auto& dtype : dtypes_)
      result += (result.empty() ? "'" : ", '") + std::string{dtype} + "'";
    return result;
  }

  /// Our own files say what they are, before their tensors.
  std::string hint_for_type() const {
    if (const auto format = result_.metadata.find("format");
        format != result_.metadata.end() && format->second.starts_with("troupe-"))
      return "the file is of the kind " + shown_text(format->second);
    return dtypes_.size() == 1 ? "convert the file to float32" : "";
  }

  std::string in_tensor() const {
    return "tensor " + shown_text(result_.tensors.back().name) + ": ";
  }

  bool keep_metadata(std::string& value) {
    if (result_.metadata.size() == metadata_count_max)
      refuse("there are more than " + std::to_string(metadata_count_max) + " metadata texts");
    if (!result_.metadata.emplace(key_, std::move(value)).second)
      refuse("two texts of the metadata are called " + shown_text(key_));
    return true;
  }

  void start_entry() {
    if (key_ == "__metadata__") {
      place_ = place::metadata;
      return;
    }
    if (result_.tensors.size() == safetensors_tensors_max)
      refuse("there are more than " + std::to_string(safetensors_tensors_max) + " tensors");
    place_ = place::tensor;
    tensor_keys_.clear();
    result_.tensors.push_back({key_, {}, {}, {}});
  }

  void check_tensor_key() {
    if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets")
      refuse(in_tensor() + "the key " + shown_text(key_) + " is unknown");
    if (!tensor_keys_.insert(key_).second)
      refuse(in_tensor() + "the key " + shown_text(key_) + " comes twice");
  }

  void check_complete() const {
    for (const char* wanted : {"dtype", "shape", "data_offsets"})
      if (!tensor_keys_.contains(wanted))
        refuse(in_tensor() + "the key '" + wanted + "' is missing");
    if (result_.tensors.back().data_offsets.size() != 2)
      refuse(in_tensor() + "its data offsets are not two numbers");
  }

  const std::string& path_;
  std::span<const std::string_view> dtypes_;
  place place_ = place::outside;
  std::string key_;                          ///< the last one read
  std::set<std::string> names_;              ///< of the top level so far
  std::set<std::string> tensor_keys_;        ///< of the tensor so far
  std::vector<uint64_t>* numbers_ = nullptr; ///< where the numbers of an array go
  safetensors_header result_;
};

void require_utf8(const std::string& text) {
  if (!is_utf8(text))
    throw std::invalid_argument("safetensors: " + shown_text(text) + " is not UTF-8");
}

/// Bytes of a tensor; nothing when they cannot be counted.
std::optional<uint64_t> bytes_of(const safetensors_entry& tensor) {
  const auto& dtype = tensor.dtype;
  uint64_t result = dtype.ends_with("64")   ? 8
                    : dtype.ends_with("32") ? 4
                    : dtype.ends_with("16") ? 2
                                            : 1;
  for (const auto extent : tensor.shape) {
    if (extent > 0 && result > std::numeric_limits<uint64_t>::max() / extent)
      return std::nullopt;
    result *= extent;
  }
  return result;
}

nlohmann::ordered_json describe(const safetensors_entry& tensor) {
  require_utf8(tensor.name);
  if (tensor.name == "__metadata__")
    throw std::invalid_argument("safetensors: a tensor may not be called '__metadata__'");
  nlohmann::ordered_json result;
  result["dtype"] = tensor.dtype;
  result["shape"] = tensor.shape;
  result["data_offsets"] = tensor.data_offsets;
  return result;
}

} // namespace

safetensors_header parse_safetensors_header(std::string_view text, const std::string& path,
                                            std::span<const std::string_view> dtypes) {
  // The parser takes a NUL for the end and skips a byte order mark: neither belongs here.
  if (!text.starts_with('{') || text.find('\0') != text.npos)
    throw failure(failure_code::bad_data, "the header is not a JSON object", path,
                  "the file is damaged, or not a safetensors file");
  header_events events(path, dtypes);
  json::sax_parse(text.begin(), text.end(), &events);
  return std::move(events).take();
}

std::vector<safetensors_entry> packed_tensors(std::vector<safetensors_entry> tensors,
                                              const std::string& path, const std::string& hint) {
  std::ranges::stable_sort(tensors, {}, &safetensors_entry::data_offsets);
  uint64_t end = 0;
  for (const auto& tensor : tensors) {
    const auto require = [&](bool holds, const std::string& otherwise) {
      if (!holds)
        throw failure(failure_code::bad_data,
                      "tensor " + shown_text(tensor.name) + ": " + otherwise, path, hint);
    };
    const auto bytes = bytes_of(tensor);
    require(bytes.has_value(), "its shape is too large");
    const auto [first, last] = std::pair{tensor.data_offsets[0], tensor.data_offsets[1]};
    require(first == end, "its data begin at offset " + std::to_string(first) +
                            (first < end ? ", inside" : ", after a hole behind") +
                            " the data that end at " + std::to_string(end));
    require(last >= first && last - first == *bytes,
            "its offsets [" + std::to_string(first) + ", " + std::to_string(last) +
              "] do not span the " + std::to_string(*bytes) + " bytes of its shape");
    end = last;
  }
  return tensors;
}

void add_packed(safetensors_header& header, std::string name, std::string dtype,
                std::vector<uint64_t> shape) {
  const auto begin = header.tensors.empty() ? 0 : header.tensors.back().data_offsets[1];
  auto& added = header.tensors.emplace_back(
    safetensors_entry{std::move(name), std::move(shape), {}, std::move(dtype)});
  added.data_offsets = {begin, begin + bytes_of(added).value()};
}

std::string safetensors_front(const safetensors_header& source, size_t bytes_min) {
  auto header = nlohmann::ordered_json::object();
  for (const auto& [name, text] : source.metadata) {
    require_utf8(name);
    require_utf8(text);
    header["__metadata__"][name] = text;
  }
  for (const auto& tensor : source.tensors)
    header[tensor.name] = describe(tensor);
  auto result = std::string(safetensors_length_bytes, '\0') + header.dump();
  result.resize((std::max(result.size(), bytes_min) + 7) / 8 * 8, ' ');
  const uint64_t length = result.size() - safetensors_length_bytes;
  for (size_t i = 0; i < safetensors_length_bytes; ++i)
    result[i] = static_cast<char>(length >> (8 * i));
  return result;
}

} // namespace troupe
