#include "data/records/rounds_file.hpp"

#include "data/disk/atomic_file.hpp"
#include "data/records/cell_reader.hpp"
#include "data/text/failure.hpp"

#include <array>
#include <charconv>
#include <fstream>
#include <utility>

namespace troupe {

namespace {

constexpr const char* header_line =
  "round,invited,dropped,late,surplus,refused,counted,rows,loss,loss_p10,loss_p50,loss_p90,"
  "loss_max,norm_p10,norm_p50,norm_p90,norm_max,void,epsilon\n";

/// Between `round` and `void`: of a private round they are empty.
constexpr size_t figures_hidden = 16;

std::string figure_text(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

std::string line_of_round(const round_record& x) {
  const std::string end =
    (x.is_void ? "1," : "0,") + (x.epsilon ? figure_text(*x.epsilon) : "") + '\n';
  if (x.epsilon)
    return std::to_string(x.round) + std::string(figures_hidden + 1, ',') + end;
  std::string result;
  for (const auto count :
       {x.round, x.invited, x.dropped, x.late, x.surplus, x.refused, x.counted, x.rows})
    result += std::to_string(count) + ',';
  for (const auto figure : {x.loss, x.losses.p10, x.losses.p50, x.losses.p90, x.losses.most,
                            x.norms.p10, x.norms.p50, x.norms.p90, x.norms.most})
    result += (x.counted > 0 ? figure_text(figure) : std::string{}) + ',';
  return result + end;
}

/// What `line_of_round` left out stays as it is in a record without it.
round_record read_round(std::string_view line, const std::string& where) {
  cell_reader cells{line, where};
  round_record result;
  result.round = cells.next<uint64_t>();
  for (auto* count : {&result.invited, &result.dropped, &result.late, &result.surplus,
                      &result.refused, &result.counted, &result.rows})
    *count = cells.next_if_any<uint64_t>().value_or(0);
  for (auto* figure : {&result.loss, &result.losses.p10, &result.losses.p50, &result.losses.p90,
                       &result.losses.most, &result.norms.p10, &result.norms.p50, &result.norms.p90,
                       &result.norms.most})
    *figure = cells.next_if_any<double>().value_or(0);
  result.is_void = cells.next<unsigned>() != 0;
  result.epsilon = cells.next_if_any<double>();
  cells.expect_end();
  return result;
}

/// The number a line begins with; 0: none.
uint64_t round_of(const std::string& line) {
  uint64_t result = 0;
  std::from_chars(line.data(), line.data() + line.size(), result);
  return result;
}

} // namespace

std::string rounds_text(const std::vector<round_record>& rounds) {
  std::string result = header_line;
  for (const auto& round : rounds)
    result += line_of_round(round);
  return result;
}

std::vector<round_record> read_rounds(std::string_view text, const std::string& path) {
  if (!text.starts_with(header_line))
    throw failure(failure_code::bad_data, "this is no table of a run's rounds", path + ":1");
  text.remove_prefix(std::string_view{header_line}.size());
  std::vector<round_record> result;
  for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    result.push_back(
      read_round(text.substr(0, end), path + ":" + std::to_string(result.size() + 2)));
    text.remove_prefix(end + 1);
  }
  return result;
}

rounds_writer::rounds_writer(std::string path, uint64_t version) : path_(std::move(path)) {
  cut_back(version);
}

// A last line without its end was cut off as it was written: it is not taken for a round.
void rounds_writer::cut_back(uint64_t version) {
  std::string kept = header_line;
  last_ = 0;
  std::ifstream file{path_, std::ios::binary};
  std::string line;
  while (version > 0 && std::getline(file, line) && !file.eof())
    if (const auto round = round_of(line); round > last_ && round <= version) {
      kept += line + '\n';
      last_ = round;
    }
  write_file_atomically(path_, kept);
}

void rounds_writer::add(const std::vector<round_record>& rounds) {
  if (rounds.empty())
    return;
  if (rounds.front().round <= last_)
    cut_back(rounds.front().round - 1);
  std::ofstream file{path_, std::ios::binary | std::ios::app};
  for (const auto& round : rounds)
    file << line_of_round(round);
  file << std::flush;
  if (!file)
    throw failure(failure_code::io_error, "cannot add a round", path_, "is the disk full?");
  last_ = rounds.back().round;
}

} // namespace troupe
