#include "troupe/data/records/history_file.hpp"

#include "troupe/data/disk/atomic_file.hpp"
#include "troupe/data/text/failure.hpp"

#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <utility>

namespace troupe {

namespace {

std::string number(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

std::string cell(const std::optional<double>& value) {
  return value ? number(*value) : std::string{};
}

std::string line_of(const history_row& row) {
  auto result = std::to_string(row.epoch) + ',' + std::to_string(row.steps) + ',' +
                number(row.seconds) + ',' + number(row.learning_rate) + ',' +
                number(row.train_loss);
  for (const auto& figure : {row.train_accuracy, row.test_loss, row.test_accuracy, row.test_r2,
                             row.validation_loss, row.validation_accuracy, row.validation_r2})
    result += ',' + cell(figure);
  return result + '\n';
}

} // namespace

std::string history_text(const std::vector<history_row>& rows) {
  std::string result = "epoch,steps,seconds,learning_rate,train_loss,train_accuracy,test_loss,"
                       "test_accuracy,test_r2,validation_loss,validation_accuracy,validation_r2\n";
  for (const auto& row : rows)
    result += line_of(row);
  return result;
}

history_writer::history_writer(std::string path, std::vector<history_row> rows)
  : path_(std::move(path)), rows_(std::move(rows)) {
  rewrite();
}

void history_writer::add(const history_row& row) {
  const bool follows = rows_.empty() || rows_.back().steps < row.steps;
  while (!rows_.empty() && rows_.back().steps >= row.steps)
    rows_.pop_back();
  rows_.push_back(row);
  if (follows)
    append(row);
  else
    rewrite();
}

void history_writer::rewrite() const {
  write_file_atomically(path_, history_text(rows_));
}

// Opened anew for each row: whoever takes the file away in between gets a new one.
void history_writer::append(const history_row& row) const {
  std::ofstream file{path_, std::ios::binary | std::ios::app};
  file << line_of(row) << std::flush;
  if (!file)
    throw failure(failure_code::io_error, "cannot add a row", path_,
                  "is the disk full? the whole file is written at the end of the run");
}

} // namespace troupe
