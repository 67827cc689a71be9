#include "troupe/data/formats/text/read_text.hpp"

#include "troupe/data/formats/text/character_source.hpp"
#include "troupe/data/formats/text/vocabulary.hpp"
#include "troupe/data/table/table_limit.hpp"
#include "troupe/data/text/failure.hpp"
#include "troupe/data/text/shown_text.hpp"
#include "troupe/data/text/utf8.hpp"
#include "troupe/models/base/large_pages.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace troupe {

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

uint64_t bytes_of(size_t row_count, size_t window) {
  uint64_t result = 0;
  if (__builtin_mul_overflow(row_count, (window + 1) * sizeof(float), &result))
    return std::numeric_limits<uint64_t>::max();
  return result;
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
  limit.require(bytes_of(result.row_count, window));
  const vocabulary known =
    options.vocabulary.empty() ? vocabulary{text} : vocabulary{options.vocabulary};
  if (known.size() < 2)
    throw failure(failure_code::bad_data,
                  "the text has one character only: " + shown_text(known.names().front()), path,
                  "there is nothing to learn: is it the right file?");
  reserve_large(result.features, result.row_count * window);
  result.known.labels.reserve(result.row_count);
  for (size_t row = 0; row < result.row_count; ++row) {
    const auto begin = row * stride, end = begin + window;
    for (auto i = begin; i < end; ++i)
      result.features.push_back(static_cast<float>(known.number_of(text[i])));
    const auto next = known.number_of(text[end]);
    if (next == known.size())
      refuse_class(text, end, path);
    result.known.labels.push_back(static_cast<int32_t>(next));
  }
  result.known.names = known.names();
  result.feature_names = character_names(window);
  result.target_name = next_character;
  result.overlap = window / stride;
  return result;
}

} // namespace troupe
