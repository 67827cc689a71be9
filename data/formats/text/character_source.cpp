#include "troupe/data/formats/text/character_source.hpp"

#include "troupe/data/text/failure.hpp"
#include "troupe/data/text/shown_text.hpp"
#include "troupe/data/text/utf8.hpp"

#include <span>
#include <string_view>
#include <utility>

namespace troupe {

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

} // namespace troupe
