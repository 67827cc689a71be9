#include "data/formats/text/read_text.hpp"

#include "data/table/memory_room.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/buffer.hpp"
#include "models/base/saturating.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace troupe {

bool are_characters(const std::vector<std::string>& names) {
  const auto is_character = [](const std::string& name) {
    return !name.empty() && utf8_bytes(name) == name.size();
  };
  const std::set<std::string_view> distinct{names.begin(), names.end()};
  return std::ranges::all_of(names, is_character) && distinct.size() == names.size();
}

vocabulary::vocabulary(std::span<const char32_t> text) {
  std::vector<bool> seen(code_point_end);
  for (const auto character : text)
    seen[character] = true;
  for (char32_t character = 0; character < code_point_end; ++character)
    if (seen[character]) {
      numbers_.resize(character + 1);
      numbers_[character] = static_cast<uint32_t>(names_.size());
      names_.push_back(utf8_of(character));
    }
  for (char32_t character = 0; character < numbers_.size(); ++character)
    if (!seen[character])
      numbers_[character] = static_cast<uint32_t>(names_.size());
}

vocabulary::vocabulary(const std::vector<std::string>& names) : names_(names) {
  if (!are_characters(names))
    throw std::invalid_argument("vocabulary: a name is not one character, or comes twice");
  const auto none = static_cast<uint32_t>(names.size());
  for (uint32_t number = 0; number < none; ++number) {
    const auto character = code_point_of(names[number]);
    if (character >= numbers_.size())
      numbers_.resize(character + 1, none);
    numbers_[character] = number;
  }
}

namespace {

using characters = std::vector<char32_t>;

characters read_characters(const std::string& path, const table_limit& limit) {
  constexpr size_t between_checks = size_t{1} << 16;
  character_source source{path};
  characters result;
  for (char32_t character = 0; source.next(character);) {
    if (result.size() % between_checks == 0) // it doubles when it is full, and is copied
      limit.require(3 * (result.size() + between_checks) * sizeof(char32_t));
    result.push_back(character);
  }
  return result;
}

size_t row_count_of(const characters& text, const text_options& options, const std::string& path) {
  if (text.size() <= options.window)
    throw failure(failure_code::bad_data,
                  "the text has " + std::to_string(text.size()) + " characters; a row of " +
                    std::to_string(options.window) + " and the one that follows need " +
                    std::to_string(options.window + 1),
                  path, "use a longer text, or a smaller data.window");
  return (text.size() - options.window - 1) / options.stride + 1;
}

[[noreturn]] void refuse_class(const characters& text, size_t place, const std::string& path) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(place);
  throw failure(failure_code::bad_data,
                "the character " + shown_text(utf8_of(*end)) +
                  " follows a row, and is none of the text to train on",
                path + ":" + std::to_string(1 + std::count(text.begin(), end, U'\n')),
                "a model can say no character that it was not trained on: leave it out");
}

} // namespace

std::vector<std::string> character_names(size_t window) {
  std::vector<std::string> result;
  result.reserve(window);
  for (size_t i = 0; i < window; ++i)
    result.push_back("c" + std::to_string(i));
  return result;
}

table read_text(const std::string& path, const text_options& options) {
  const auto [window, stride] = std::pair{options.window, options.stride};
  if (window == 0 || stride == 0)
    throw std::invalid_argument("read_text: a window or stride of 0");
  const table_limit limit{path, options.table_bytes_max};
  const auto text = read_characters(path, limit);
  table result;
  result.source = path;
  result.row_count = row_count_of(text, options, path);
  result.feature_count = window;
  limit.require(saturated_product(result.row_count, (window + 1) * sizeof(float)));
  const vocabulary known =
    options.vocabulary.empty() ? vocabulary{text} : vocabulary{options.vocabulary};
  if (known.size() < 2)
    throw failure(failure_code::bad_data,
                  "the text has one character only: " + shown_text(known.names().front()), path,
                  "there is nothing to learn: is it the right file?");
  reserve_large(result.features, result.row_count * window);
  result.labels.reserve(result.row_count);
  for (size_t row = 0; row < result.row_count; ++row) {
    const auto begin = row * stride, end = begin + window;
    for (auto i = begin; i < end; ++i)
      result.features.push_back(static_cast<float>(known.number_of(text[i])));
    const auto next = known.number_of(text[end]);
    if (next == known.size())
      refuse_class(text, end, path);
    result.labels.push_back(static_cast<int32_t>(next));
  }
  result.classes = known.names();
  result.feature_names = character_names(window);
  result.target_name = next_character;
  result.overlap = window / stride;
  return result;
}

namespace {

constexpr size_t piece_bytes = size_t{64} << 10;
constexpr size_t character_bytes_max = 4;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

} // namespace

character_source::character_source(const std::string& path) : source_(path) {
  fill();
  if (std::string_view{bytes_}.starts_with(byte_order_mark))
    begin_ = offset_ = byte_order_mark.size();
}

// Afterwards at least one whole character is there, unless the text ends before.
void character_source::fill() {
  bytes_.erase(0, std::exchange(begin_, 0));
  while (!at_end_ && bytes_.size() < character_bytes_max) {
    const auto known = bytes_.size();
    bytes_.resize(piece_bytes);
    const auto count = source_.read(std::span{bytes_}.subspan(known));
    bytes_.resize(known + count);
    at_end_ = count == 0;
  }
}

bool character_source::next(char32_t& out) {
  if (bytes_.size() - begin_ < character_bytes_max)
    fill();
  const auto rest = std::string_view{bytes_}.substr(begin_, character_bytes_max);
  if (rest.empty())
    return false;
  line_ += std::exchange(ends_line_, rest.front() == '\n') ? 1 : 0;
  const auto size = utf8_bytes(rest);
  if (size == 0)
    refuse(shown_text(rest.substr(0, 1)) + " begins no character of UTF-8",
           "write the text as UTF-8: iconv -f LATIN1 -t UTF-8, say");
  out = code_point_of(rest.substr(0, size));
  if (out == 0)
    refuse("the character 0 is no part of a text",
           "is it a binary file, or UTF-16? that one: iconv -f UTF-16 -t UTF-8");
  begin_ += size;
  offset_ += size;
  return true;
}

void character_source::refuse(std::string reason, std::string hint) const {
  throw failure(failure_code::bad_data, std::move(reason) + ", at byte " + std::to_string(offset_),
                path() + ":" + std::to_string(line_), std::move(hint));
}

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

std::string text_reader::unknown_remark() const {
  if (unknown_count_ == 0)
    return {};
  return std::to_string(unknown_count_) +
         (unknown_count_ == 1 ? " character is none" : " characters are none") +
         " that the model was trained on: " + shown_text(utf8_of(first_unknown_)) +
         (unknown_count_ == 1 ? "" : " is the first");
}

} // namespace troupe
