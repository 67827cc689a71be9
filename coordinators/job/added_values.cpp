#include "coordinators/job/added_values.hpp"

#include "models/kinds/added_tables.hpp"
#include "models/kinds/probe.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

/// Calls `use` with each value of the job that an application may add, its table, and the options beside it. `Job` is
/// a job or a const one.
template <class Job, class Use>
void for_each_value(Job& x, Use use) {
  if (x.model.loss)
    use("loss", losses(), *x.model.loss, "model", x.model.added);
  for (auto& kind : x.model.activation.kinds())
    use("activation", activations(), kind, "model", x.model.added);
  use("merge", merge_rules(), x.merge.members.rule, "merge", x.merge.members.own);
  use("stop", result_rules(), x.training.rule, "training", x.training.own);
  use("plateau", result_rules(), x.optimizer.plateau.rule, "optimizer.plateau",
      x.optimizer.plateau.own);
  const auto visit = [&use](auto& schedule, const auto& again) -> void {
    use("schedule", schedules(), schedule.kind, "optimizer.schedule", schedule.own);
    for (auto* inner : {&schedule.then, &schedule.parts})
      for (auto& next : *inner)
        again(next, again);
  };
  visit(x.optimizer.schedule, visit);
}

} // namespace

void settle_added_values(job& x) {
  for_each_value(x, [](auto, auto& table, auto& value, auto, const component& given) {
    value = table.with(value, given);
  });
}

namespace {

/// What a kind's own function says against its options.
void check_made(problem_list& check, const job& x) {
  if (!check.found.empty())
    return;
  for_each_value(x, [&](auto, auto& table, auto value, const std::string& section, auto& given) {
    try {
      table.with(value, given);
    } catch (const std::invalid_argument& problem) {
      check.require(false, section, std::string{name_of(value)} + ": " + problem.what(),
                    "give it other options (troupe config keys lists them)");
    }
  });
}

} // namespace

void check_added_values(problem_list& check, const job& x) {
  // Options of one place: those of the loss and of activations are together.
  std::map<const component*, std::vector<const kind_entry*>> named;
  std::map<const component*, std::pair<std::string, std::string>> places;
  for_each_value(x, [&](auto, auto& table, auto value, const std::string& section, auto& given) {
    auto& [where, kinds] = places[&given];
    where = section;
    kinds += (kinds.empty() ? "" : ", ") + std::string{name_of(value)};
    if (is_added(value))
      named[&given].push_back(table.find(table.what(value).kind));
  });
  for (const auto& [given, place] : places)
    for (const auto& [name, option] : given->options) {
      const auto key = place.first + '.' + name;
      bool is_known = false;
      for (const auto* kind : named[given]) {
        if (!kind->find(name))
          continue;
        is_known = true;
        for (const auto& problem : option_problems(*kind, {kind->name, {{name, option}}}))
          check.require(false, key, problem.why, problem.hint);
      }
      check.require(is_known, key, place.second + " takes no " + name, "leave it out");
    }
  check_made(check, x);
  // A model file has one set of options for each name.
  const auto& kinds = x.model.activation.kinds();
  for (const auto one : kinds)
    for (const auto other : kinds)
      check.require(one == other || name_of(one) != name_of(other), "model.activation",
                    std::string{name_of(one)} + " is named twice, with other options",
                    "give both layers the same, or add two kinds");
}

std::vector<named_kind> added_values_of(const job& resolved) {
  std::vector<named_kind> result;
  for_each_value(resolved, [&](const char* name, auto& table, auto value, auto, auto&) {
    if (!is_added(value))
      return;
    const auto& what = table.what(value);
    const auto is_same = [&](const named_kind& x) { return x.table == name && x.options == what; };
    if (std::ranges::none_of(result, is_same))
      result.push_back({name, table.find(what.kind), what, probe_of(table.made(value))});
  });
  return result;
}

std::string probe_line(const std::string& table, const kind_entry& kind, const std::string& probe) {
  return table + ' ' + kind.name + ' ' + std::to_string(kind.info.version) + " = " + probe;
}

} // namespace troupe
