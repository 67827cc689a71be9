#include "data/model_file/safetensors.hpp"

#include "data/disk/atomic_file.hpp"
#include "data/model_file/safetensors_header.hpp"
#include "data/source/text_source.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/copy_values.hpp"
#include "models/base/own_copy.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

static_assert(std::endian::native == std::endian::little,
              "values are written as they lie in memory");

/// Bytes asked for at a time while it is not known whether the file is as long as it says.
constexpr size_t read_bytes_step = size_t{1} << 20;

constexpr const char* damage_hint = "the file is damaged, or not a safetensors file";

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw failure(failure_code::bad_data, reason, path, damage_hint);
}

safetensors_header header_of(const parameter_layout& layout,
                             const std::map<std::string, std::string>& metadata) {
  safetensors_header result{metadata, {}};
  for (const auto& tensor : layout.tensors())
    add_packed(result, tensor.name, "F32", {tensor.shape.begin(), tensor.shape.end()});
  return result;
}

/// Fills `out` with the next `wanted` elements; memory grows with what really comes.
template <class Container>
void read_elements(text_source& source, Container& out, size_t wanted, const std::string& what) {
  constexpr auto element_bytes = sizeof(typename Container::value_type);
  constexpr auto step = read_bytes_step / element_bytes;
  size_t filled_bytes = 0;
  while (filled_bytes < wanted * element_bytes) {
    if (filled_bytes == out.size() * element_bytes)
      out.resize(std::min(wanted, out.size() + std::max(step, out.size())));
    auto room = out.size() * element_bytes - filled_bytes;
    auto count = source.read({reinterpret_cast<char*>(out.data()) + filled_bytes, room});
    if (count == 0)
      refuse(source.path(), "the file ends inside its " + what);
    filled_bytes += count;
  }
}

std::string read_header_text(text_source& source) {
  std::string length_text, result;
  read_elements(source, length_text, safetensors_length_bytes, "first 8 bytes");
  uint64_t length = 0;
  std::memcpy(&length, length_text.data(), safetensors_length_bytes);
  if (length > safetensors_header_bytes_max)
    refuse(source.path(), "it does not begin as a model file does");
  read_elements(source, result, length, "header");
  return result;
}

parameter_layout layout_of(std::vector<safetensors_entry> tensors, const std::string& path) {
  parameter_layout result;
  for (const auto& tensor : packed_tensors(std::move(tensors), path, damage_hint)) {
    std::vector<size_t> shape(tensor.shape.begin(), tensor.shape.end());
    if (std::ranges::find(shape, size_t{0}) != shape.end())
      refuse(path, "tensor " + shown_text(tensor.name) + ": its shape holds a 0");
    result.add(tensor.name, shape.empty() ? std::vector<size_t>{1} : std::move(shape));
  }
  return result;
}

} // namespace

std::string safetensors_data_sha256(const parameter_layout& layout, const stored_tensor& values) {
  sha256 digest;
  for_each_logical_part(layout, values,
                        [&](std::span<const float> part) { digest.update(std::as_bytes(part)); });
  return digest.hex();
}

std::string write_safetensors(atomic_file& file, const parameter_layout& layout,
                              const stored_tensor& values,
                              const std::map<std::string, std::string>& metadata) {
  if (values.size() != layout.size())
    throw std::invalid_argument("safetensors: " + std::to_string(values.size()) +
                                " values for a layout of " + std::to_string(layout.size()));
  const auto front = safetensors_front(header_of(layout, metadata));
  sha256 digest;
  file.need(front.size() + values.size() * sizeof(float));
  file.append(front);
  for_each_logical_part(layout, values, [&](std::span<const float> part) {
    digest.update(std::as_bytes(part));
    file.append(std::as_bytes(part));
  });
  file.publish();
  return digest.hex();
}

std::string write_safetensors(const std::string& path, const parameter_layout& layout,
                              const stored_tensor& values,
                              const std::map<std::string, std::string>& metadata) {
  atomic_file file{path};
  return write_safetensors(file, layout, values, metadata);
}

std::string write_safetensors(const std::string& path, const parameter_layout& layout,
                              std::span<const float> values,
                              const std::map<std::string, std::string>& metadata) {
  return write_safetensors(path, layout, stored_tensor{own_copy(values)}, metadata);
}

safetensors_file read_safetensors(const std::string& path) {
  text_source source(path, compression_kind::none);
  auto header = parse_safetensors_header(read_header_text(source), path);
  safetensors_file result;
  result.metadata = std::move(header.metadata);
  result.layout = layout_of(std::move(header.tensors), path);
  read_elements(source, result.values, result.layout.size(), "data");
  if (char surplus; source.read({&surplus, 1}) > 0)
    refuse(path, "there are more data than the tensors' " +
                   std::to_string(result.layout.size() * sizeof(float)) + " bytes");
  result.data_sha256 = sha256_hex(std::as_bytes(std::span(result.values)));
  return result;
}

namespace {

index_range shared_part(const index_range& a, const index_range& b) {
  const auto begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// Some rows of a tensor, or some columns of one row, from first to last without a gap.
struct band {
  index_range rows;
  index_range columns;

  size_t size() const { return rows.size() * columns.size(); }
};

class band_reader {
public:
  band_reader(const parameter_layout& layout, const stored_tensor& working, size_t most)
    : layout_(layout), working_(working), out_(most) {}

  std::span<const float> read(size_t tensor, const band& x) {
    const auto values = std::span(out_).first(x.size());
    if (layout_.pieces().empty())
      working_.read(layout_.tensors()[tensor].offset + x.rows.begin * width_of(tensor) +
                      x.columns.begin,
                    values);
    for (const auto& piece : layout_.pieces())
      if (piece.tensor == tensor)
        add(piece, x, values);
    return values;
  }

  /// A tensor is seen as rows of its last extent, a vector as a column.
  size_t width_of(size_t tensor) const {
    const auto& shape = layout_.tensors()[tensor].shape;
    return shape.size() > 1 ? shape.back() : 1;
  }

private:
  // Of several rows a band has every column, and so they are one run in each piece.
  void add(const layout_piece& piece, const band& x, std::span<float> out) {
    const auto rows = shared_part(piece.rows, x.rows);
    const auto columns = shared_part(piece.columns, x.columns);
    if (rows.empty() || columns.empty())
      return;
    if (piece.by_columns)
      return add_columns(piece, x, {rows, columns}, out);
    run_.resize(rows.size() * columns.size());
    const auto run = std::span(run_);
    working_.read(piece.offset + (rows.begin - piece.rows.begin) * piece.columns.size() +
                    columns.begin - piece.columns.begin,
                  run);
    for (size_t row = 0; row < rows.size(); ++row)
      copy_values(run.subspan(row * columns.size(), columns.size()),
                  out.begin() + static_cast<std::ptrdiff_t>((rows.begin - x.rows.begin + row) *
                                                              x.columns.size() +
                                                            columns.begin - x.columns.begin));
  }

  // Columns that lie one behind the other, as many at once as come to what is given out at once; of each
  // some rows are wanted.
  void add_columns(const layout_piece& piece, const band& x, const band& shared,
                   std::span<float> out) {
    const auto height = piece.rows.size();
    const auto at_once = std::max<size_t>(1, out_.size() / height);
    for (auto begin = shared.columns.begin; begin < shared.columns.end; begin += at_once) {
      const auto count = std::min(at_once, shared.columns.end - begin);
      run_.resize(count * height);
      working_.read(piece.offset + (begin - piece.columns.begin) * height, run_);
      for (auto row = shared.rows.begin; row < shared.rows.end; ++row)
        for (size_t i = 0; i < count; ++i)
          out[(row - x.rows.begin) * x.columns.size() + begin + i - x.columns.begin] =
            run_[i * height + row - piece.rows.begin];
    }
  }

  const parameter_layout& layout_;
  const stored_tensor& working_;
  std::vector<float> out_;
  std::vector<float> run_; ///< of one piece
};

} // namespace

void for_each_logical_part(const parameter_layout& layout, const stored_tensor& working,
                           const std::function<void(std::span<const float>)>& take, size_t most) {
  if (working.size() != layout.size())
    throw std::invalid_argument("logical parts: " + std::to_string(working.size()) +
                                " values for " + std::to_string(layout.size()));
  band_reader reader{layout, working, std::min(most, layout.size())};
  for (size_t tensor = 0; tensor < layout.tensors().size(); ++tensor) {
    const auto width = reader.width_of(tensor);
    const auto row_count = layout.tensors()[tensor].size / width;
    const auto rows = std::max<size_t>(1, most / width);
    const auto columns = std::min(width, most);
    for (size_t row = 0; row < row_count; row += rows)
      for (size_t column = 0; column < width; column += columns)
        take(reader.read(tensor, {{row, std::min(row_count, row + rows)},
                                  {column, std::min(width, column + columns)}}));
  }
}

} // namespace troupe
