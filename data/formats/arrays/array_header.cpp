#include "data/formats/arrays/array_header.hpp"

#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace troupe {

binary_source::binary_source(const std::string& path) : source_(path) {
  while (start_bytes_ < start_.size()) {
    const auto count = source_.read(std::span(start_).subspan(start_bytes_));
    if (count == 0)
      return;
    start_bytes_ += count;
  }
}

/// What was read to look at it comes first.
size_t binary_source::read_some(std::span<char> out) {
  if (offset_ >= start_bytes_)
    return source_.read(out);
  const auto first = start().substr(offset_, out.size());
  std::copy(first.begin(), first.end(), out.begin());
  return first.size();
}

void binary_source::read(std::span<char> out, std::string_view what) {
  while (!out.empty()) {
    const auto count = read_some(out);
    if (count == 0)
      fail(offset_, "the file ends within " + std::string(what),
           "it is damaged or was not copied whole: get it again");
    offset_ += count;
    out = out.subspan(count);
  }
}

bool binary_source::expect_rest(uint64_t bytes) const {
  const auto size = source_.size();
  if (!size)
    return false;
  const auto rest = *size > offset_ ? *size - offset_ : 0;
  if (rest != bytes)
    fail(offset_,
         "the header promises " + std::to_string(bytes) + " bytes of values, " +
           std::to_string(rest) + " follow",
         "the file is damaged or was not copied whole: get it again");
  return true;
}

void binary_source::expect_end() {
  char surplus;
  if (read_some({&surplus, 1}) != 0)
    fail(offset_, "bytes follow the last value", "the file is damaged: get it again");
}

void binary_source::fail(uint64_t offset, const std::string& reason, std::string hint) const {
  throw failure(failure_code::bad_data, reason + ", at byte " + std::to_string(offset), path(),
                std::move(hint));
}

namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// A real header has some 100 bytes; NumPy itself takes 10,000 unless told otherwise.
constexpr size_t header_bytes_max = 65'536;
constexpr size_t npy_dimensions_max = 8;

std::optional<element_type> type_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, element_type>, 11> types{
    {{"b1", element_type::u8},
     {"u1", element_type::u8},
     {"i1", element_type::i8},
     {"u2", element_type::u16},
     {"i2", element_type::i16},
     {"u4", element_type::u32},
     {"i4", element_type::i32},
     {"u8", element_type::u64},
     {"i8", element_type::i64},
     {"f4", element_type::f32},
     {"f8", element_type::f64}}};
  const auto found = std::find_if(types.begin(), types.end(),
                                  [&](const auto& entry) { return entry.first == text; });
  return found == types.end() ? std::nullopt : std::optional{found->second};
}

/// The text of the header from left to right. `offset` is that of the text in the file.
class header_text {
public:
  header_text(const binary_source& source, std::string_view text, uint64_t offset)
    : source_(source), text_(text), offset_(offset) {}

  array_header read() {
    array_header result;
    expect("{");
    while (!take("}")) {
      read_entry(result);
      if (!take(",")) {
        expect("}");
        break;
      }
    }
    skip_blanks();
    if (at_ < text_.size())
      fail("there is text after the header's dictionary");
    if (!has_type_ || !has_order_ || !has_shape_)
      fail("the header lacks 'descr', 'fortran_order' or 'shape'");
    const auto above_one = std::count_if(result.shape.begin(), result.shape.end(),
                                         [](uint64_t extent) { return extent > 1; });
    if (fortran_order_ && above_one > 1)
      fail("the array is in Fortran order (columns first)",
           "save numpy.ascontiguousarray(array) instead");
    return result;
  }

private:
  [[noreturn]] void fail(const std::string& reason, std::string hint = {}) const {
    source_.fail(offset_ + at_, reason,
                 hint.empty() ? "the header is damaged: save the array again" : std::move(hint));
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
      ++at_;
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token))
      return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token))
      fail("expected " + shown_text(token));
  }
  std::string_view quoted() {
    skip_blanks();
    const char mark = at_ < text_.size() ? text_[at_] : '\0';
    if (mark != '\'' && mark != '"')
      fail("expected a name in quotation marks");
    const auto end = text_.find(mark, at_ + 1);
    if (end == text_.npos)
      fail("the quotation mark is never closed");
    const auto result = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return result;
  }

  bool truth() {
    if (take("True"))
      return true;
    expect("False");
    return false;
  }

  std::vector<uint64_t> extents() {
    std::vector<uint64_t> result;
    expect("(");
    while (!take(")")) {
      skip_blanks();
      uint64_t extent = 0;
      const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc())
        fail("expected an extent of the shape");
      if (result.size() == npy_dimensions_max)
        fail("the array has more than " + std::to_string(npy_dimensions_max) + " dimensions",
             "reshape it to rows and columns");
      at_ = static_cast<size_t>(end - text_.data());
      take("L"); // Python 2 wrote long integers so
      result.push_back(extent);
      if (!take(",")) {
        expect(")");
        break;
      }
    }
    return result;
  }

  void read_entry(array_header& out) {
    skip_blanks();
    const auto start = at_;
    const auto key = quoted();
    bool* seen = key == "descr"           ? &has_type_
                 : key == "fortran_order" ? &has_order_
                 : key == "shape"         ? &has_shape_
                                          : nullptr;
    if (!seen || std::exchange(*seen, true)) {
      at_ = start;
      fail("the key " + shown_text(key) + (seen ? " comes twice" : " is unknown"));
    }
    expect(":");
    if (seen == &has_type_)
      read_type(out);
    else if (seen == &has_order_)
      fortran_order_ = truth();
    else
      out.shape = extents();
  }

  void read_type(array_header& out) {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '[')
      fail("the array has named fields", "save one array of plain numbers");
    const auto start = at_;
    const auto text = quoted();
    constexpr std::string_view orders = "<>|=";
    const bool has_order = !text.empty() && orders.find(text[0]) != orders.npos;
    const auto type = has_order ? type_of(text.substr(1)) : std::nullopt;
    if (!type) {
      at_ = start;
      fail("the type " + shown_text(text) + " cannot be read",
           "save the array as float32 or float64 or as whole numbers");
    }
    out.type = *type;
    out.big_endian = text[0] == '>';
  }

  const binary_source& source_;
  std::string_view text_;
  uint64_t offset_;
  size_t at_ = 0;
  bool has_type_ = false, has_order_ = false, has_shape_ = false;
  bool fortran_order_ = false;
};

} // namespace

bool looks_like_npy(std::string_view start) {
  return start.starts_with(magic);
}

array_header read_npy_header(binary_source& source) {
  std::array<char, 8> start;
  source.read(start, "the magic number");
  if (!looks_like_npy({start.data(), start.size()}))
    source.fail(0, "this is no NPY file: it does not begin with \\x93NUMPY",
                "say what it is with data.format");
  const auto version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3 || start[7] != 0)
    source.fail(6, "the version of the NPY format is unknown", "versions 1.0 to 3.0 can be read");
  std::array<char, 4> length_bytes{};
  source.read(std::span(length_bytes).first(version == 1 ? 2 : 4), "the header");
  size_t length = 0;
  for (size_t i = length_bytes.size(); i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(length_bytes[i]);
  if (length > header_bytes_max)
    source.fail(8,
                "the header says that it has " + std::to_string(length) + " bytes, more than " +
                  std::to_string(header_bytes_max),
                "the file is damaged: get it again");
  const auto offset = source.offset();
  std::string text(length, '\0');
  source.read(text, "the header");
  return header_text(source, text, offset).read();
}

namespace {

constexpr size_t dimensions_max = 8;

std::optional<element_type> type_of(char code) {
  switch (static_cast<unsigned char>(code)) {
  case 0x08:
    return element_type::u8;
  case 0x09:
    return element_type::i8;
  case 0x0b:
    return element_type::i16;
  case 0x0c:
    return element_type::i32;
  case 0x0d:
    return element_type::f32;
  case 0x0e:
    return element_type::f64;
  default:
    return std::nullopt;
  }
}

uint64_t read_extent(binary_source& source) {
  std::array<char, 4> bytes;
  source.read(bytes, "the header");
  uint64_t result = 0;
  for (const auto byte : bytes)
    result = result << 8 | static_cast<unsigned char>(byte);
  return result;
}

std::string hexadecimal(char byte) {
  constexpr char digits[] = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  return {'0', 'x', digits[value >> 4], digits[value & 15]};
}

} // namespace

bool looks_like_idx(std::string_view start) {
  return start.size() >= 4 && start[0] == 0 && start[1] == 0 && type_of(start[2]) &&
         start[3] >= 1 && static_cast<size_t>(start[3]) <= dimensions_max;
}

array_header read_idx_header(binary_source& source) {
  std::array<char, 4> magic;
  source.read(magic, "the magic number");
  if (magic[0] != 0 || magic[1] != 0)
    source.fail(0, "this is no IDX file: it does not begin with two zero bytes",
                "say what it is with data.format");
  const auto type = type_of(magic[2]);
  if (!type)
    source.fail(2, "there is no IDX type " + hexadecimal(magic[2]),
                "the types are 0x08, 0x09 and 0x0b to 0x0e");
  const auto dimensions = static_cast<unsigned char>(magic[3]);
  if (dimensions == 0 || dimensions > dimensions_max)
    source.fail(3, std::to_string(dimensions) + " dimensions cannot be read",
                "an IDX file has 1 to " + std::to_string(dimensions_max));
  array_header result{*type, true, {}};
  for (size_t i = 0; i < dimensions; ++i)
    result.shape.push_back(read_extent(source));
  return result;
}

} // namespace troupe
