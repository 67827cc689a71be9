#include "data/records/history_figures.hpp"

#include "models/kinds/metric_kinds.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace troupe {

namespace {

const std::array known_figures{
  history_figure{"seconds", "", &history_row::seconds},
  history_figure{"learning_rate", "learning_rate", &history_row::learning_rate},
  history_figure{"train_loss", "loss/train", &result_figures::train_loss, false},
  history_figure{"train_accuracy", "accuracy/train", &result_figures::train_accuracy, true},
  history_figure{"test_loss", "loss/test", &result_figures::test_loss, false},
  history_figure{"test_accuracy", "accuracy/test", &result_figures::test_accuracy, true},
  history_figure{"test_r2", "r2/test", &result_figures::test_r2, true},
  history_figure{"validation_loss", "loss/validation", &result_figures::validation_loss, false},
  history_figure{"validation_accuracy", "accuracy/validation", &result_figures::validation_accuracy,
                 true},
  history_figure{"validation_r2", "r2/validation", &result_figures::validation_r2, true},
};

} // namespace

std::span<const history_figure> common_figures() {
  return known_figures;
}

std::span<const history_figure> placed_figures() {
  return common_figures().first(10);
}

// "test_macro_f1" is "macro_f1/test".
history_figure figure_named(const std::string& name) {
  if (const auto* known = std::ranges::find(known_figures, name, &history_figure::name);
      known != known_figures.end())
    return *known;
  const auto end = std::min(name.find('_'), name.size());
  const auto metric = name.substr(std::min(end + 1, name.size()));
  auto kind = metric;
  std::ranges::replace(kind, '_', '-');
  const auto* known_kind = metrics().find(kind);
  return {name, metric + '/' + name.substr(0, end), std::monostate{},
          known_kind ? std::optional{known_kind->info.more_is_better} : std::nullopt};
}

std::vector<history_figure> history_figures(std::span<const history_row> rows) {
  std::set<std::string> names;
  for (const auto& row : rows)
    for (const auto& [name, value] : row.metrics)
      names.insert(name);
  std::vector<history_figure> result{known_figures.begin(), known_figures.end()};
  std::ranges::transform(names, std::back_inserter(result), figure_named);
  return result;
}

std::vector<history_figure> evaluated_figures(const result_figures& x) {
  std::vector<history_figure> result;
  std::ranges::copy_if(known_figures, std::back_inserter(result), &history_figure::validates);
  std::ranges::copy_if(known_figures, std::back_inserter(result),
                       [](const auto& one) { return one.is_evaluated() && !one.validates(); });
  for (const auto& [name, value] : x.metrics)
    result.push_back(figure_named(name));
  return result;
}

metric_figures figures_by_name(const history_row& row) {
  auto result = row.metrics;
  for (const auto& figure : known_figures)
    if (const auto value = figure.in(row))
      result[figure.name] = value;
  return result;
}

void set_figures(history_row& row, metric_figures figures) {
  for (const auto& figure : known_figures)
    if (const auto named = figures.extract(figure.name); named && named.mapped())
      figure.set(row, named.mapped());
  row.metrics = std::move(figures);
}

} // namespace troupe
