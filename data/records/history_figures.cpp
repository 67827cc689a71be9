#include "troupe/data/records/history_figures.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace troupe {

namespace {

using row = history_row;

const std::array figures{
  history_figure{"seconds", "", &row::seconds},
  history_figure{"learning_rate", "learning_rate", &row::learning_rate},
  history_figure{"train_loss", "loss/train", &row::train_loss, false},
  history_figure{"train_accuracy", "accuracy/train", &row::train_accuracy, true},
  history_figure{"test_loss", "loss/test", &row::test_loss, false},
  history_figure{"test_accuracy", "accuracy/test", &row::test_accuracy, true},
  history_figure{"test_r2", "r2/test", &row::test_r2, true},
  history_figure{"validation_loss", "loss/validation", &row::validation_loss, false},
  history_figure{"validation_accuracy", "accuracy/validation", &row::validation_accuracy, true},
  history_figure{"validation_r2", "r2/validation", &row::validation_r2, true},
};

} // namespace

std::span<const history_figure> common_figures() {
  return figures;
}

// "test_macro_f1" is "macro_f1/test".
history_figure metric_figure(const std::string& name) {
  const auto end = std::min(name.find('_'), name.size());
  return {name, name.substr(std::min(end + 1, name.size())) + '/' + name.substr(0, end),
          std::monostate{}};
}

std::vector<history_figure> history_figures(std::span<const history_row> rows) {
  std::set<std::string> names;
  for (const auto& row : rows)
    for (const auto& [name, value] : row.metrics)
      names.insert(name);
  std::vector<history_figure> result{figures.begin(), figures.end()};
  std::ranges::transform(names, std::back_inserter(result), metric_figure);
  return result;
}

} // namespace troupe
