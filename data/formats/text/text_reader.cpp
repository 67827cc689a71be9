#include "troupe/data/formats/text/text_reader.hpp"

#include "troupe/data/formats/text/read_text.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/data/text/shown_text.hpp"
#include "troupe/data/text/utf8.hpp"

#include <cstddef>
#include <limits>
#include <utility>

namespace troupe {

text_reader::text_reader(const std::string& path, size_t window,
                         const std::vector<std::string>& characters, text_targets targets)
  : row_reader(path, path), source_(path), known_(characters), window_(window), targets_(targets) {
  auto names = character_names(window);
  if (targets == text_targets::next)
    names.emplace_back(next_character);
  set_columns(std::move(names), false);
  if (targets == text_targets::next)
    set_targets({window});
}

void text_reader::fill(size_t count) {
  for (char32_t code = 0; recent_.size() < count && source_.next(code);) {
    recent_.push_back({code, source_.line()});
    if (known_.number_of(code) == known_.size() && unknown_count_++ == 0)
      first_unknown_ = code;
  }
}

bool text_reader::read_rows(table_chunk& out, size_t rows_max) {
  out.clear();
  fill(needed() - 1 + rows_max);
  if (recent_.size() < needed()) {
    if (!has_rows_)
      throw failure(failure_code::bad_data,
                    "the text has " + std::to_string(recent_.size()) + " characters; a row takes " +
                      std::to_string(needed()),
                    path(), "give the model a longer text");
    return false;
  }
  has_rows_ = true;
  out.row_count = recent_.size() - needed() + 1;
  for (size_t row = 0; row < out.row_count; ++row)
    keep(row, out);
  recent_.erase(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(out.row_count));
  return true;
}

void text_reader::keep(size_t row, table_chunk& out) const {
  for (size_t i = row; i < row + window_; ++i)
    out.features.push_back(static_cast<float>(known_.number_of(recent_[i].code)));
  if (targets_ == text_targets::none)
    return;
  const auto& next = recent_[row + window_];
  out.target_cells.push_back(utf8_of(next.code));
  out.target_numbers.push_back(std::numeric_limits<double>::quiet_NaN());
  out.lines.push_back(next.line);
}

void text_reader::fail_at_target(const table_chunk& rows, size_t i, const std::string& reason,
                                 const std::string& hint) const {
  fail_at_line(rows, i, reason, hint);
}

std::string text_reader::unknown_remark() const {
  if (unknown_count_ == 0)
    return {};
  return std::to_string(unknown_count_) +
         (unknown_count_ == 1 ? " character is none" : " characters are none") +
         " that the model was trained on: " + shown_text(utf8_of(first_unknown_)) +
         (unknown_count_ == 1 ? "" : " is the first");
}

} // namespace troupe
