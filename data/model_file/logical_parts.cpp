#include "data/model_file/logical_parts.hpp"

#include "models/base/copy_values.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

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
