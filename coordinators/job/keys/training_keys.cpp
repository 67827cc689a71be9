// Section training: what replicas exchange, how long, and what is seen of it.

#include "coordinators/job/job_check.hpp"
#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/keys/key_limits.hpp"
#include "coordinators/job/keys/kind_types.hpp"
#include "models/kinds/added_tables.hpp"
#include "models/kinds/metric_kinds.hpp"

namespace troupe {

namespace {

using training_section = key_section<job, training_options>;

type_ptr<training_options> consistency() {
  using enum consistency_kind;
  using tags = std::vector<tag<training_options, consistency_kind>>;
  return std::make_shared<tagged_type<training_options, consistency_kind>>(
    &training_options::consistency,
    tags{
      {synchronous},
      {asynchronous},
      tagged(bounded, "s", "2", &training_options::staleness_max, within(0, steps_max)),
      tagged(half_synchronous, "k", "3", &training_options::first_count,
             within(1, actors_max * node_count_max)),
      tagged(lag, "r", "1.5", &training_options::lag_ratio, {0, lag_ratio_limit, true, true, {}})});
}

type_ptr<training_options> threshold() {
  using enum threshold_kind;
  using tags = std::vector<tag<training_options, threshold_kind>>;
  using member = double training_options::*; // of its part for thresholds
  return std::make_shared<tagged_type<training_options, threshold_kind>>(
    &training_options::threshold,
    tags{
      {none},
      {f1},
      tagged(precision, "p", "0.9", member{&training_options::precision}, {0, 1, true, false, {}}),
      tagged(cost, "c", "10", member{&training_options::cost}, {0, 1e9, true, false, {}})});
}

/// "all" is kept as 0, so a 0 in a file must not pass.
class batch_size_type final : public type_for<size_t> {
public:
  std::string words() const override { return rows_.words() + " or \"all\""; }
  void read(size_t& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    const auto* text = value.as<std::string>();
    if (text && *text == "all")
      out = 0;
    else if (value.as<int64_t>())
      rows_.read(out, value, path, found);
    else
      accepted(wrong_type("an integer " + whole_range_text(range_) + " or \"all\"", value), value,
               path, found);
  }
  std::optional<std::string> text(const size_t& rows) const override {
    return rows == 0 ? toml_text(std::string_view{"all"}) : toml_text(rows);
  }
  std::optional<value_refusal> refusal(const size_t& rows) const override {
    return rows == 0 ? std::nullopt : rows_.refusal(rows);
  }
  std::string identity(const size_t& rows) const override { return std::to_string(rows); }

private:
  option_range range_ = within(1, rows_max);
  whole_type rows_{range_};
};

/// Names of the table of metrics, in a list or alone.
class metrics_type final : public type_for<std::vector<std::string>> {
public:
  std::string words() const override { return "list, each " + choices_text(metrics().names()); }
  void read(std::vector<std::string>& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    const auto* list = value.as<toml_value::list>();
    std::vector<std::string> result;
    for (const auto& one : list ? *list : toml_value::list{value}) {
      size_t index = 0;
      auto refused = read_choice(one, metrics().names(), index);
      const auto* name = one.as<std::string>();
      if (name && is_always_told(*name))
        refused->hint = *name + " is told of every job: leave it out";
      else if (refused && refused->hint.empty() && name)
        refused->hint = own_kind_hint;
      if (accepted(refused, one, path, found))
        result.push_back(metrics().names()[index]);
    }
    out = result;
  }
  std::optional<std::string> text(const std::vector<std::string>& names) const override {
    return toml_text(names);
  }
};

/// The name of a rule, or a list of numbers.
class class_weights_type final : public type_for<class_weight_options> {
public:
  std::string words() const override {
    return "\"none\" | \"balanced\", or a list of numbers >= 0, or { CLASS = number, .. }";
  }
  void read(class_weight_options& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    const auto* list = value.as<toml_value::list>();
    size_t index = 0;
    if (const auto* table = value.as<toml_value::table>())
      return read_named(out, *table, path, found);
    if (!list) {
      if (accepted(read_choice(value, {"none", "balanced"}, index), value, path, found))
        out = {index == 0 ? class_weight_kind::none : class_weight_kind::balanced, {}, {}};
      return;
    }
    const auto before = found.size();
    std::vector<double> values(list->size());
    for (size_t i = 0; i < values.size(); ++i)
      accepted(read_value((*list)[i], values[i]), (*list)[i], path, found);
    if (found.size() == before)
      out = {list_kind, values, {}};
  }
  std::optional<std::string> text(const class_weight_options& weights) const override {
    if (!weights.names.empty()) {
      std::string result;
      for (size_t i = 0; i < weights.names.size(); ++i)
        result += (i == 0 ? "{ " : ", ") + toml_text(std::string_view{weights.names[i]}) + " = " +
                  toml_text(weights.values[i]);
      return result + " }";
    }
    if (weights.kind == list_kind)
      return toml_text(weights.values);
    const bool none = weights.kind == class_weight_kind::none;
    return toml_text(std::string_view{none ? "none" : "balanced"});
  }
  std::string identity(const class_weight_options& weights) const override {
    if (weights.kind != list_kind)
      return weights.kind == class_weight_kind::none ? "none" : "balanced";
    std::string result;
    for (size_t i = 0; i < weights.values.size(); ++i)
      result += (result.empty() ? "" : " ") +
                (weights.names.empty() ? "" : weights.names[i] + '=') +
                bits_text(weights.values[i]);
    return result;
  }

private:
  static void read_named(class_weight_options& out, const toml_value::table& table,
                         const std::string& path, complaints& found) {
    class_weight_options result{list_kind, {}, {}};
    const auto before = found.size();
    for (const auto& [name, at, value] : table) {
      result.names.push_back(name);
      accepted(read_value(value, result.values.emplace_back()), value, path + '.' + name, found);
    }
    if (found.size() == before)
      out = result;
  }

  static constexpr auto list_kind = class_weight_kind::list;
};

/// A figure of every job, or a metric.
class watch_type final : public type_for<std::string> {
public:
  std::string words() const override { return choices_text(names()); }
  void read(std::string& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    const auto known = names();
    size_t index = 0;
    if (accepted(read_choice(value, known, index), value, path, found))
      out = known[index];
  }
  std::optional<std::string> text(const std::string& x) const override { return toml_text(x); }

private:
  static std::vector<std::string> names() {
    std::vector<std::string> result{"loss", "accuracy", "r2"};
    for (const auto& name : metrics().names())
      result.push_back(name);
    return result;
  }
};

void add_steps(training_section& training) {
  training.add("batch_size", &training_options::batch_size, std::make_shared<batch_size_type>(),
               "rows of a whole step; \"all\": every training row");
  training.add("slices", &training_options::slices, within(1, slices_max),
               {"pieces a step is cut into; part of the result", "batch_size / 64, from 1 to 16"});
  training
    .add("replicas", &training_options::replicas, within(1, actors_max),
         {"actors that compute; never part of the result", "processor cores, at most slices"})
    .without_effect();
  training.add("exchange", &training_options::exchange,
               "what each gradient, and each sum of two, is rounded to; part of the result");
  training
    .add("epochs", &training_options::epochs, within(1, epochs_max),
         "passes over the training rows")
    .affects(key_effect::end);
  training
    .add("steps", &training_options::steps, within(1, steps_max),
         {"ends training after so many steps, if that comes first", "no limit"})
    .affects(key_effect::end);
}

void add_ends(training_section& training) {
  training
    .add("target_loss", &training_options::target_loss, anything(),
         {"stops at this watched loss: on validation, else test, else training rows", "off",
          "use a loss such as 0.1"})
    .affects(key_effect::end);
  training
    .add("patience", &training_options::patience, within(1, epochs_max),
         {"stops after so many evaluations without improvement", "off"})
    .affects(key_effect::end);
  training.add("stop_rule", &training_options::rule, "of the application: stops when it says so")
    .affects(key_effect::end);
  training
    .add("tolerance", &training_options::tolerance, at_least(0),
         {"an improvement must exceed this", "", "use a small number such as 1e-4"})
    .affects(key_effect::end);
  training
    .add("evaluate_every", &training_options::evaluate_every, within(0, epochs_max),
         "epochs between evaluations; 0: at the end only")
    .affects(key_effect::end);
  training
    .add("history_every", &training_options::history_every, within(1, epochs_max),
         "epochs between rows of the history; each evaluation has one as well")
    .without_effect();
  training
    .add("keep_best", &training_options::keep_best,
         {"the result is the version with the least watched loss, not the last one",
          "true if there are validation rows"})
    .affects(key_effect::end);
  training.add(
    "watch", &training_options::watch, std::make_shared<watch_type>(),
    "what patience, keep_best and optimizer.plateau go by: on validation, else test rows");
  training
    .add("metrics", &training_options::metrics, std::make_shared<metrics_type>(),
         "what is told of test and validation rows beside the loss")
    .without_effect();
}

} // namespace

void add_training_keys(job_key_rows& out, bool with_options) {
  training_section training{out, "training", &job::training};
  training.add("strategy", &training_options::strategy, "what replicas exchange");
  training.add("consistency", consistency(),
               "when updates are applied (coordinators.md); only synchronous repeats its bits");
  add_steps(training);
  add_ends(training);
  training.add("class_weights", &training_options::class_weights,
               std::make_shared<class_weights_type>(),
               "what a row of each class counts; balanced: rows / (classes * rows of the class)");
  training.add("freeze", &training_options::freeze, string_list("write freeze = [\"layers.0.*\"]"),
               {"tensors that stay as they begin; * stands for any letters", "none"});
  training
    .add("threshold", threshold(),
         "two classes: from which probability on the rarer one is decided for, chosen on "
         "validation rows")
    .without_effect();
  training
    .add("threshold_class", &training_options::threshold_class,
         {"threshold: the class in place of the rarer one", "the rarer one in training"})
    .without_effect();
  training.add("members", &training_options::members, within(1, slices_max),
               {"parameters: models that are trained apart; part of the result", "slices"});
  training.add("local_steps", &training_options::local_steps, within(1, steps_max),
               {"parameters: steps of each member between two merges", "10, at most an epoch's"});
  training.add("late_steps", &training_options::late_steps,
               "not synchronous: how much shorter the step of a late gradient is");
  training.add(
    "delay_compensation", &training_options::delay_compensation, at_least(0),
    {"not synchronous: corrects late gradients by this share of the second order; 0 is off", "",
     "use a number such as 0.04"});
  if (with_options)
    add_options<result_table, job>(
      out, "training", result_rules(), [](job& x) -> component& { return x.training.own; }, {},
      key_effect::end);
}

} // namespace troupe
