#include "troupe/app/compare/comparison_report.hpp"

#include "troupe/app/terminal/figures_text.hpp"
#include "troupe/data/records/history_figures.hpp"
#include "troupe/data/text/text_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

json figure(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? json(*value) : json(nullptr);
}

std::vector<history_figure> figures_of(std::span<const run_record> runs) {
  std::vector<history_row> ends;
  for (const auto& run : runs)
    if (const auto* row = row_of_result(run))
      ends.push_back(*row);
  return history_figures(ends);
}

json run_object(const run_record& run, std::span<const history_figure> figures) {
  const auto* row = row_of_result(run);
  const auto& end = run.summary;
  json result{
    {"run", run.name},
    {"finished", end.has_value()},
    {"stopped_by", end ? json(end->stopped_by) : json(nullptr)},
    {"steps", end   ? json(end->steps)
              : row ? json(row->steps)
                    : json(nullptr)},
    {"epochs", end   ? json(end->epochs)
               : row ? json(row->epoch)
                     : json(nullptr)},
    {"samples_per_second", figure(end ? std::optional{end->samples_per_second} : std::nullopt)}};
  for (const auto& x : figures)
    result[x.name] = figure(row ? x.in(*row) : std::nullopt);
  if (end) // of the whole run, not only up to the row of its result
    result["seconds"] = figure(end->seconds);
  result["arithmetic"] = end ? json(end->arithmetic) : json(nullptr);
  result["reproducible"] = end ? json(end->reproducible) : json(nullptr);
  result["parameters_sha256"] = end ? json(end->parameters_sha256) : json(nullptr);
  return result;
}

std::string cell_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : figure_text(value);
}

// Nothing where no run has the figure, or all have the same.
std::optional<double> best_of(const std::vector<json>& runs, const history_figure& x) {
  std::vector<double> values;
  for (const auto& run : runs)
    if (const auto& value = run.at(x.name); value.is_number())
      values.push_back(value.get<double>());
  if (!x.more_is_better || values.empty())
    return std::nullopt;
  const auto [least, most] = std::ranges::minmax(values);
  if (least == most)
    return std::nullopt;
  return *x.more_is_better ? most : least;
}

std::vector<std::string> titles_of(std::string first, std::span<const run_record> runs) {
  std::vector<std::string> result{std::move(first)};
  for (const auto& run : runs)
    result.push_back(run.name);
  return result;
}

std::string figures_table(std::span<const run_record> runs) {
  const auto figures = figures_of(runs);
  std::vector<json> objects;
  for (const auto& run : runs)
    objects.push_back(run_object(run, figures));
  text_table table{1, titles_of("run", runs)};
  const auto add = [&](const std::string& name, const auto& text_of) {
    std::vector<std::string> cells{name};
    for (const auto& object : objects)
      cells.push_back(text_of(object));
    if (std::ranges::any_of(cells.begin() + 1, cells.end(),
                            [](const std::string& text) { return text != "-"; }))
      table.add(std::move(cells));
  };
  const auto add_plain = [&](const std::string& name) {
    add(name, [&](const json& object) { return cell_of(object.at(name)); });
  };
  add("state",
      [](const json& x) { return x.at("finished").get<bool>() ? "finished" : "not finished"; });
  for (const auto* name : {"stopped_by", "epochs", "steps", "samples_per_second"})
    add_plain(name);
  for (const auto& x : figures) {
    const auto best = best_of(objects, x);
    add(x.name, [&](const json& object) {
      const auto& value = object.at(x.name);
      return cell_of(value) + (best && value == *best ? "*" : "");
    });
  }
  return table.text();
}

std::string differences_table(std::span<const run_record> runs, const run_comparison& found) {
  if (found.differences.empty())
    return "the jobs are the same\n";
  auto titles = titles_of("what differs", runs);
  titles.emplace_back("changes bits");
  text_table table{titles.size(), std::move(titles)};
  for (const auto& x : found.differences) {
    std::vector<std::string> cells{x.key};
    for (const auto& value : x.values)
      cells.push_back(value.empty() ? "-" : value);
    cells.emplace_back(x.changes_bits ? "yes" : "no");
    table.add(std::move(cells));
  }
  return table.text();
}

// "step 469 (epoch 1)".
std::string step_text(uint64_t version, const run_record& run) {
  auto result = "step " + std::to_string(version);
  for (const auto& row : run.history)
    if (row.steps == version)
      result += " (epoch " + std::to_string(row.epoch) + ")";
  return result;
}

std::string sentence_of(const bits_finding& x, const run_record& first) {
  const auto until = x.equal_until ? step_text(*x.equal_until, first) : "";
  switch (x.state) {
  case bits_state::equal:
    return "equal: the results have one hash";
  case bits_state::equal_so_far:
    return "nothing differs up to " + until + ", by " + std::string{name_of(*x.evidence)};
  case bits_state::unknown:
    return "unknown: the folders hold nothing of one and the same step";
  case bits_state::differ:
    break;
  }
  constexpr std::array by{"the figures",
                          "the hash of the optimizer's state (the parameters are equal)",
                          "the hash of the parameters", "the checkpoints", "the results"};
  return (x.equal_until ? "nothing differs up to " + until + "; " : "") + "different from " +
         step_text(*x.differ_from, first) + " at the latest, by " +
         by[static_cast<size_t>(*x.evidence)] + ": " + x.reason;
}

std::string bits_text(std::span<const run_record> runs, const run_comparison& found) {
  std::string result;
  for (size_t i = 0; i < found.bits.size(); ++i)
    result += "bits of " + runs[i + 1].name + " and " + runs.front().name + ": " +
              sentence_of(found.bits[i], runs.front()) + '\n';
  return result;
}

template <class Value>
json or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json(nullptr);
}

} // namespace

std::string comparison_text(std::span<const run_record> runs, const run_comparison& found) {
  return figures_table(runs) + '\n' + differences_table(runs, found) + '\n' +
         bits_text(runs, found);
}

json comparison_object(std::span<const run_record> runs, const run_comparison& found) {
  json result{{"runs", json::array()}, {"differences", json::array()}, {"bits", json::array()}};
  for (const auto& run : runs)
    result["runs"].push_back(run_object(run, figures_of(runs)));
  for (const auto& x : found.differences) {
    auto values = json::array();
    for (const auto& value : x.values)
      values.push_back(value.empty() ? json(nullptr) : json(value));
    result["differences"].push_back(
      {{"key", x.key}, {"values", std::move(values)}, {"changes_bits", x.changes_bits}});
  }
  for (size_t i = 0; i < found.bits.size(); ++i) {
    const auto& x = found.bits[i];
    result["bits"].push_back({{"run", runs[i + 1].name},
                              {"against", runs.front().name},
                              {"state", name_of(x.state)},
                              {"equal_until", or_null(x.equal_until)},
                              {"differ_from", or_null(x.differ_from)},
                              {"evidence", x.evidence ? json(name_of(*x.evidence)) : json(nullptr)},
                              {"reason", x.reason.empty() ? json(nullptr) : json(x.reason)}});
  }
  return result;
}

} // namespace troupe
