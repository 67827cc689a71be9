#include "troupe/data/history_file.hpp"

#include <array>
#include <charconv>
#include <optional>

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

} // namespace

std::string history_text(const std::vector<history_row>& rows) {
  std::string result = "epoch,steps,seconds,learning_rate,train_loss,train_accuracy,test_loss,"
                       "test_accuracy,test_r2,validation_loss,validation_accuracy,validation_r2\n";
  for (const auto& row : rows) {
    result += std::to_string(row.epoch) + ',' + std::to_string(row.steps) + ',' +
              number(row.seconds) + ',' + number(row.learning_rate) + ',' + number(row.train_loss);
    for (const auto& figure : {row.train_accuracy, row.test_loss, row.test_accuracy, row.test_r2,
                               row.validation_loss, row.validation_accuracy, row.validation_r2})
      result += ',' + cell(figure);
    result += '\n';
  }
  return result;
}

} // namespace troupe
