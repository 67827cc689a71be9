#include "data/formats/csv/csv_rows.hpp"

#include "data/text/digit_text.hpp"
#include "data/text/number_text.hpp"
#include "data/text/shown_text.hpp"

namespace troupe {

namespace {

bool is_blank_letter(char letter) {
  return letter == ' ' || letter == '\t';
}

/// The usual separator, as a constant: a letter that is known when this is compiled keeps a register free.
struct comma {
  constexpr operator char() const { return ','; }
};

/// What stands behind a cell: a separator, or for the last the line end. Returns what follows that, or
/// nullptr when it is something else.
template <class Separator>
const char* behind(const char* end, Separator separator, bool last) {
  if (!last)
    return *end == separator ? end + 1 : nullptr;
  end += *end == '\r';
  return *end == '\n' ? end + 1 : nullptr;
}

struct cell {
  std::string_view text; ///< trimmed
  const char* end;       ///< its separator, CR LF or LF
};

/// Any cell without quotation marks. A line end stops it at the latest.
template <class Separator>
cell find_cell(const char* at, Separator separator) {
  const char* end = at;
  while (*end != separator && *end != '\n')
    ++end;
  if (*end == '\n' && end > at && end[-1] == '\r')
    --end;
  const char* last = end;
  while (at < last && is_blank_letter(*at))
    ++at;
  while (last > at && is_blank_letter(last[-1]))
    --last;
  return {{at, static_cast<size_t>(last - at)}, end};
}

template <class Separator>
const char* read_odd_feature(const char* at, Separator separator, bool last, float& out) {
  const auto found = find_cell(at, separator);
  return read_number(found.text, out) == number_status::number ? behind(found.end, separator, last)
                                                               : nullptr;
}

template <class Separator>
inline const char* read_feature(const char* at, Separator separator, bool last, float& out) {
  if (const char* end = digit_text::read(at, out))
    if (const char* next = behind(end, separator, last))
      return next;
  return read_odd_feature(at, separator, last, out);
}

bool is_plain_text(std::string_view text, char quote) {
  const char odd[] = {quote, '\r', '\0'};
  return !text.empty() && text.find_first_of(odd, 0, sizeof odd) == text.npos && is_utf8(text);
}

template <class Separator>
const char* read_target(const char* at, Separator separator, char quote, bool last,
                        csv_row_target& out) {
  if (const char* end = digit_text::read(at, out.number)) {
    if (const char* next = behind(end, separator, last)) {
      out.text = {at, static_cast<size_t>(end - at)};
      out.is_number = true;
      return next;
    }
  }
  const auto found = find_cell(at, separator);
  const auto status = read_number(found.text, out.number);
  out.text = found.text;
  out.is_number = status == number_status::number;
  const bool taken =
    out.is_number || (status == number_status::text && is_plain_text(found.text, quote));
  return taken ? behind(found.end, separator, last) : nullptr;
}

/// Features of columns that a separator follows.
template <class Separator>
const char* read_features(const char* at, Separator separator, size_t count, float* out) {
  for (size_t i = 0; i < count && at; ++i)
    at = read_feature(at, separator, false, out[i]);
  return at;
}

template <class Separator>
const char* read_row(const char* at, const csv_row_shape& shape, Separator separator,
                     float* features, csv_row_target& target) {
  const char* start = at;
  const size_t last = shape.column_count - 1;
  at = read_features(at, separator, shape.target_column, features);
  if (at)
    at = read_target(at, separator, shape.quote, shape.target_column == last, target);
  if (at && shape.target_column < last) {
    at =
      read_features(at, separator, last - shape.target_column - 1, features + shape.target_column);
    if (at)
      at = read_feature(at, separator, true, features[last - 1]);
  }
  if (!at)
    return nullptr;
  const auto line_end = at[-2] == '\r' ? 2 : 1;
  return static_cast<size_t>(at - start - line_end) <= shape.line_bytes_max ? at : nullptr;
}

} // namespace

const char* read_plain_row(const char* at, const csv_row_shape& shape, float* features,
                           csv_row_target& target) {
  return shape.separator == ',' ? read_row(at, shape, comma{}, features, target)
                                : read_row(at, shape, shape.separator, features, target);
}

} // namespace troupe
