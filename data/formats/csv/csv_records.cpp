#include "data/formats/csv/csv_records.hpp"

#include "data/table/cell_text.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe {

namespace {

/// The buffer's first size; it grows only when a record does not fit. A small file takes less, and
/// one more byte than it has, to see that nothing follows.
constexpr uint64_t buffer_bytes_max = uint64_t{1} << 18;
constexpr uint64_t buffer_bytes_min = uint64_t{1} << 12;

size_t first_buffer_bytes(const text_source& source) {
  return std::clamp(source.size().value_or(buffer_bytes_max) + 1, buffer_bytes_min,
                    buffer_bytes_max);
}

constexpr std::string_view byte_order_mark_utf8 = "\xef\xbb\xbf";

size_t find_byte(std::string_view text, char wanted, size_t from = 0) {
  if (from >= text.size())
    return text.size();
  auto* hit = std::memchr(text.data() + from, wanted, text.size() - from);
  return hit ? static_cast<size_t>(static_cast<const char*>(hit) - text.data()) : text.size();
}

/// Bytes that are not the first of their UTF-8 character do not count as columns.
size_t character_count(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  }));
}

/// By byte order mark, or by the zeros of two ASCII characters.
bool looks_like_utf16(std::string_view start) {
  if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff"))
    return true;
  if (start.size() < 4)
    return false;
  auto zero = [&](size_t i) { return start[i] == '\0'; };
  return zero(0) == zero(2) && zero(1) == zero(3) && zero(0) != zero(1);
}

} // namespace

csv_records::csv_records(const std::string& path, size_t record_bytes_max, quote_rule quotes,
                         const csv_dialect& dialect)
  : source_(path),
    record_bytes_max_(record_bytes_max),
    quotes_(quotes),
    dialect_(dialect),
    buffer_(first_buffer_bytes(source_) + padding_bytes) {
  while (available() < 4 && fill())
    ;
  check_encoding();
  for (size_t i = 0; i < dialect_.skip_lines && (available() > 0 || fill()); ++i)
    pass_over_line();
}

// Whatever is in it, and however long it is.
void csv_records::pass_over_line() {
  for (;;) {
    const auto end = find_byte({data(), available()}, '\n');
    if (end < available()) {
      begin_ += end + 1;
      break;
    }
    begin_ = end_;
    if (!fill())
      break;
  }
  ++line_;
}

void csv_records::check_encoding() {
  std::string_view start{data(), available()};
  if (looks_like_utf16(start.substr(0, 4)))
    throw failure(failure_code::bad_data, "the text looks like UTF-16", source_.path() + ":1:1",
                  "save it as UTF-8");
  if (start.starts_with(byte_order_mark_utf8))
    begin_ += byte_order_mark_utf8.size();
}

bool csv_records::fill() {
  if (at_file_end_)
    return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), data(), available());
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ + padding_bytes == buffer_.size())
    buffer_.resize(2 * buffer_.size());
  auto count = source_.read(std::span(buffer_).first(buffer_.size() - padding_bytes).subspan(end_));
  end_ += count;
  at_file_end_ = count == 0;
  return count > 0;
}

/// Offset of the first line end at or after `from`, or of the end of the file, or of what was read
/// when that is already too much for one record.
size_t csv_records::line_end(size_t from) {
  for (;;) {
    auto end = find_byte({data(), available()}, '\n', from);
    if (end < available() || available() > record_bytes_max_ || !fill())
      return end;
    from = end;
  }
}

bool csv_records::next(csv_record& out) {
  while (dialect_.comment != 0 && (available() > 0 || fill()) && *data() == dialect_.comment)
    pass_over_line();
  size_t from = 0, end = 0, line_count = 0, quote_count = 0;
  auto whole = [&] { return quote_count % 2 == 0; };
  do {
    end = line_end(from);
    if (quotes_ == quote_rule::csv)
      quote_count += static_cast<size_t>(std::count(data() + from, data() + end, dialect_.quote));
    from = std::min(end + 1, available());
    ++line_count;
  } while (!whole() && end < available());
  if (available() == 0)
    return false;

  out = {{data(), end}, line_, quote_count > 0, std::exchange(at_file_start_, false)};
  if (whole() && out.text.ends_with('\r'))
    out.text.remove_suffix(1);
  check(out, whole());
  begin_ += from;
  line_ += line_count;
  return true;
}

std::string_view csv_records::lines_at_hand() {
  for (size_t seen = 0;;) {
    std::string_view text{data(), available()};
    if (const auto last = text.substr(seen).rfind('\n'); last != text.npos)
      return text.substr(0, seen + last + 1);
    seen = text.size();
    if (seen > record_bytes_max_ || !fill())
      return {};
  }
}

void csv_records::skip_lines(size_t bytes, size_t line_count) {
  begin_ += bytes;
  line_ += line_count;
  at_file_start_ = at_file_start_ && bytes == 0;
}

void csv_records::check(const csv_record& record, bool whole) const {
  if (auto zero = find_byte(record.text, '\0'); zero < record.text.size())
    fail_at(record, zero, "there is a NUL byte in the text",
            "this is not a text file, or it is damaged");
  // A record that is not whole is longer only because of its quotation mark: its cells will tell.
  if (whole && record.text.size() > record_bytes_max_)
    fail_at(record, 0, "the line is longer than " + std::to_string(record_bytes_max_) + " bytes",
            "is this a file of rows?");
  if (record.has_quotes)
    return;
  if (auto lone = find_byte(record.text, '\r'); lone < record.text.size())
    fail_at(record, lone, "there is a carriage return inside the line",
            "save the file with the line ends of Unix (LF) or Windows (CR LF)");
}

void csv_records::fail_at(const csv_record& record, size_t offset, std::string reason,
                          std::string hint) const {
  auto before = record.text.substr(0, offset);
  auto line = record.line + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  if (auto last_break = before.rfind('\n'); last_break != before.npos)
    before.remove_prefix(last_break + 1);
  auto column = character_count(before) + 1;
  throw failure(failure_code::bad_data, std::move(reason),
                source_.path() + ":" + std::to_string(line) + ":" + std::to_string(column),
                std::move(hint));
}

bool csv_cells::next(csv_cell& out) {
  if (at_ > record_.text.size())
    return false;
  if (record_.has_quotes) {
    auto first = skip_blanks(at_);
    if (first < record_.text.size() && record_.text[first] == quote_) {
      at_ = first;
      next_quoted(out);
      return true;
    }
  }
  next_unquoted(out);
  return true;
}

size_t csv_cells::skip_blanks(size_t from) const {
  while (from < record_.text.size() && record_.text[from] != separator_ &&
         is_blank(record_.text[from]))
    ++from;
  return from;
}

void csv_cells::next_unquoted(csv_cell& out) {
  auto end = find_byte(record_.text, separator_, at_);
  auto first = at_, last = end;
  while (first < last && is_blank(record_.text[first]))
    ++first;
  while (last > first && is_blank(record_.text[last - 1]))
    --last;
  out = {record_.text.substr(first, last - first), first, false};
  at_ = end + 1;
  if (!record_.has_quotes)
    return;
  auto quote = find_byte(out.text, quote_);
  if (quote == out.text.size())
    return;
  // The mark made following lines part of the record: they are not what the cell was meant to be.
  auto meant = out.text.substr(0, find_byte(out.text, '\n'));
  source_.fail_at(record_, first + quote,
                  "there is a quotation mark inside the unquoted cell " + shown_text(meant),
                  "put the whole cell in quotation marks and write those inside it twice");
}

void csv_cells::next_quoted(csv_cell& out) {
  const auto& text = record_.text;
  auto start = at_ + 1;
  unescaped_.clear();
  auto from = start;
  auto quote = find_byte(text, quote_, from);
  while (quote + 1 < text.size() && text[quote + 1] == quote_) {
    unescaped_ += text.substr(from, quote + 1 - from);
    from = quote + 2;
    quote = find_byte(text, quote_, from);
  }
  if (quote == text.size())
    source_.fail_at(record_, at_, "the quotation mark that opens here is never closed",
                    "close it, or write a quotation mark that is part of the text twice");
  // Most quoted cells hold no quotation mark: nothing is copied.
  auto plain = from == start;
  if (!plain)
    unescaped_ += text.substr(from, quote - from);
  out = {plain ? text.substr(start, quote - start) : std::string_view(unescaped_), at_, true};
  auto after = skip_blanks(quote + 1);
  if (after < text.size() && text[after] != separator_)
    source_.fail_at(record_, after, "there is text after the closing quotation mark",
                    "separate cells by " +
                      std::string{separator_ == ',' ? "commas" : "data.separator"} +
                      "; write a quotation mark inside a cell twice");
  at_ = after + 1;
}

namespace {

/// A text without digits, short enough to say that there is no value.
bool may_be_gap(std::string_view cell) {
  constexpr size_t bytes_max = 20;
  return cell.size() <= bytes_max && cell.find_first_of("0123456789\"\\") == cell.npos &&
         is_utf8(cell);
}

/// What reads such a cell of a column called ` = ["name"]`; empty: no key.
std::string reading_for(std::string_view cell, const std::string& name) {
  float ignored = 0;
  for (const auto order : {date_form::day_first, date_form::month_first})
    if (read_date(cell, order, ignored))
      return "dates are read by data.date" + name + ", with times by data.datetime" +
             (read_date(cell, date_form::year_first, ignored) ? "" : ", beside data.date_order") +
             "; else ";
  return read_amount(cell) ? "amounts are read by data.amount" + name + "; else " : "";
}

} // namespace

std::string hint_for_text(bool may_be_header, const std::string& column, bool may_be_target,
                          std::string_view cell) {
  if (may_be_header)
    return header_hint;
  const auto gaps = may_be_gap(cell) ? "data.missing = \"mean\" and data.missing_cells = [\"" +
                                         std::string{cell} + "\"]"
                                     : "data.missing and data.missing_cells";
  if (column.empty())
    return "features are numbers: if it stands for no value, train with " + gaps +
           ", or fill it in; else code the column's values as numbers";
  const auto name = " = [\"" + column + "\"]";
  const auto otherwise = reading_for(cell, name) + "leave the column out, data.ignore" + name +
                         ", or make a feature of each of its values, data.categorical" + name +
                         "; if the text stands for no value: " + gaps;
  return !may_be_target
           ? "features are numbers: " + otherwise
           : "features are numbers, and the last column is the target: if this is the target, say "
             "so: data.target = \"" +
               column + "\"; else " + otherwise;
}

} // namespace troupe
