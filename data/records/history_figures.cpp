#include "troupe/data/records/history_figures.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace troupe {

namespace {

const std::array known_figures{
  history_figure{"seconds", "", &history_row::seconds},
  history_figure{"learning_rate", "learning_rate", &history_row::learning_rate},
  history_figure{"train_loss", "loss/train", &history_row::train_loss, false},
  history_figure{"train_accuracy", "accuracy/train", &history_row::train_accuracy, true},
  history_figure{"test_loss", "loss/test", &history_row::test_loss, false},
  history_figure{"test_accuracy", "accuracy/test", &history_row::test_accuracy, true},
  history_figure{"test_r2", "r2/test", &history_row::test_r2, true},
  history_figure{"validation_loss", "loss/validation", &history_row::validation_loss, false},
  history_figure{"validation_accuracy", "accuracy/validation", &history_row::validation_accuracy,
                 true},
  history_figure{"validation_r2", "r2/validation", &history_row::validation_r2, true},
};

} // namespace

std::span<const history_figure> common_figures() {
  return known_figures;
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
  std::vector<history_figure> result{known_figures.begin(), known_figures.end()};
  std::ranges::transform(names, std::back_inserter(result), metric_figure);
  return result;
}

} // namespace troupe
