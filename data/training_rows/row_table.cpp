#include "data/training_rows/row_table.hpp"

#include "data/text/failure.hpp"
#include "data/text/json_value.hpp"
#include "models/base/saturating.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

std::string text_of(const json& x) {
  return x.dump(-1, ' ', true, json::error_handler_t::replace);
}

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw failure(failure_code::bad_data, why, where,
                "run the same version of troupe everywhere; a table.json that was damaged or "
                "edited is of no use: train anew with --overwrite");
}

/// Calls `read` with the object in a text; whatever it lacks, or has of another type, is refused.
template <class Read>
auto with_object(const std::string& text, const std::string& where, Read read) {
  const auto object = is_nested_too_deep(text) ? json{} : json::parse(text, nullptr, false);
  if (!object.is_object())
    refuse(where, "this is no JSON object");
  try {
    return read(object);
  } catch (const json::exception& error) {
    refuse(where, std::string{"this is no table of rows: "} + error.what());
  }
}

template <class T>
T value_of(const json& object, const char* key) {
  T result;
  read_value_of(object.at(key), result);
  return result;
}

template <class T>
void require_finite(const std::vector<T>& values, const std::string& where) {
  if (!std::ranges::all_of(values, [](T x) { return std::isfinite(x); }))
    refuse(where, "a number is not finite");
}

void require(bool holds, const std::string& where, const std::string& why) {
  if (!holds)
    refuse(where, why);
}

// ---- Forms ----

json object_of_form(const dataset& x) {
  json result;
  if (x.columns.empty())
    result["features"] = x.feature_names;
  else
    result["plan"] = json::parse(text_of(x.columns));
  result["feature_count"] = x.feature_count;
  result["sparse"] = x.is_sparse();
  result["targets"] = x.target_names;
  result["target_count"] = x.target_count;
  result["classes"] = x.classes;
  result["fill"] = x.columns.fill;
  return result;
}

dataset form_in(const json& object, const std::string& where) {
  dataset result;
  result.feature_count = value_of<size_t>(object, "feature_count");
  if (value_of<bool>(object, "sparse"))
    result.sparse.starts = {0};
  if (object.contains("plan")) {
    const auto plan = plan_of(object["plan"].dump());
    require(plan.has_value(), where, "its columns cannot be read");
    result.columns = *plan;
    result.feature_names = feature_names_of(result.columns);
  } else {
    result.feature_names = value_of<std::vector<std::string>>(object, "features");
  }
  result.target_names = value_of<std::vector<std::string>>(object, "targets");
  result.target_count = value_of<size_t>(object, "target_count");
  result.classes = value_of<std::vector<std::string>>(object, "classes");
  result.columns.fill = value_of<std::vector<float>>(object, "fill");
  require_finite(result.columns.fill, where);
  require(result.columns.fill.empty() || result.columns.fill.size() == result.feature_count, where,
          "it fills other columns");
  constexpr size_t features_max = 100'000'000;
  require(result.feature_count <= features_max, where, "it has more features than there can be");
  for (const auto* names : {&result.feature_names, &result.target_names, &result.classes})
    require(std::set<std::string_view>{names->begin(), names->end()}.size() == names->size(), where,
            "it has a name twice");
  require(result.target_names.size() == std::max<size_t>(result.target_count, 1), where,
          "its targets are not as many as their names");
  const auto named = result.feature_names.size();
  require(result.feature_count > 0 &&
            (result.is_sparse() ? named == 0 : named == result.feature_count),
          where, "its features are not as many as their names");
  require(result.is_classification() != (result.target_count > 0), where,
          "it has neither classes nor targets, or both");
  return result;
}

// ---- Facts ----

json object_of(const holding_size& x) {
  return {{"train", x.train}, {"test", x.test}, {"validation", x.validation}};
}

holding_size size_in(const json& object) {
  return {value_of<size_t>(object, "train"), value_of<size_t>(object, "test"),
          value_of<size_t>(object, "validation")};
}

json object_of(const column_statistics& x) {
  return {{"rows", x.row_count}, {"means", x.means}, {"squares", x.squares}};
}

column_statistics statistics_in(const json& object, size_t width, const std::string& where) {
  column_statistics result{value_of<uint64_t>(object, "rows"),
                           value_of<std::vector<double>>(object, "means"),
                           value_of<std::vector<double>>(object, "squares")};
  const auto expected = result.row_count == 0 ? result.means.size() : width;
  require(result.means.size() == expected && result.squares.size() == expected &&
            (expected == 0 || expected == width),
          where, "it has statistics of other columns");
  require_finite(result.means, where);
  require_finite(result.squares, where);
  require(std::ranges::all_of(result.squares, [](double x) { return x >= 0; }), where,
          "a sum of squares is below 0");
  return result;
}

json object_of_facts(const holding_facts& x) {
  json result{{"rows", object_of(x.size)}};
  result["features"] = json::array();
  for (const auto& column : x.features)
    result["features"].push_back(object_of(column));
  result["largest"] = x.largest;
  result["entries"] = x.entry_count;
  result["targets"] = object_of(x.targets);
  result["test_targets"] = object_of(x.test_targets);
  result["validation_targets"] = object_of(x.validation_targets);
  result["target_minimum"] = std::isfinite(x.target_minimum) ? json(x.target_minimum) : json();
  result["train_class_rows"] = x.train_class_rows;
  result["class_rows"] = x.class_rows;
  result["weighted"] = x.is_weighted;
  result["counted"] = object_of(x.counted);
  return result;
}

holding_facts facts_in(const json& object, const dataset& form, const std::string& where) {
  holding_facts result;
  result.size = size_in(object.at("rows"));
  for (const auto& column : object.at("features"))
    result.features.push_back(statistics_in(column, 1, where));
  result.largest = value_of<std::vector<float>>(object, "largest");
  result.entry_count = value_of<uint64_t>(object, "entries");
  const auto width = form.target_count;
  result.targets = statistics_in(object.at("targets"), width, where);
  result.test_targets = statistics_in(object.at("test_targets"), width, where);
  result.validation_targets = statistics_in(object.at("validation_targets"), width, where);
  if (!object.at("target_minimum").is_null())
    result.target_minimum = value_of<double>(object, "target_minimum");
  result.train_class_rows = value_of<std::vector<uint64_t>>(object, "train_class_rows");
  result.class_rows = value_of<std::vector<uint64_t>>(object, "class_rows");
  result.is_weighted = value_of<bool>(object, "weighted");
  result.counted = size_in(object.at("counted"));
  constexpr size_t rows_at_most =
    std::numeric_limits<uint32_t>::max(); // rows have numbers of 32 bits
  for (const auto part : {&holding_size::train, &holding_size::test, &holding_size::validation})
    require(result.size.*part <= rows_at_most && result.counted.*part <= result.size.*part, where,
            "it has more rows than there can be");
  require(result.size.train > 0, where, "it has no rows to train on");
  require(result.features.size() == (form.is_sparse() ? 0 : form.feature_count) &&
            result.largest.size() == (form.is_sparse() ? form.feature_count : 0) &&
            result.train_class_rows.size() == form.classes.size() &&
            result.class_rows.size() == form.classes.size(),
          where, "it tells of other columns or classes");
  for (const auto& column : result.features)
    require(column.row_count <= result.size.train, where, "it has more values than rows");
  require(result.targets.row_count <= result.size.train &&
            result.test_targets.row_count <= result.size.test &&
            result.validation_targets.row_count <= result.size.validation,
          where, "it has more targets than rows");
  const auto all = result.size.train + result.size.test + result.size.validation;
  for (const auto& [counts, rows] : {std::pair{&result.train_class_rows, result.size.train},
                                     std::pair{&result.class_rows, all}}) {
    require(
      std::ranges::all_of(*counts, [&](uint64_t x) { return x <= rows; }) &&
        (counts->empty() || std::accumulate(counts->begin(), counts->end(), uint64_t{0}) == rows),
      where, "its classes do not have its rows");
  }
  require(result.entry_count <= saturated_product(all, form.feature_count), where,
          "it has more values than its rows have features");
  require_finite(result.largest, where);
  require(std::ranges::all_of(result.largest, [](float x) { return x >= 0; }), where,
          "a magnitude is below 0");
  return result;
}

// ---- Tables ----

json object_of(const learned_scales& x) {
  return {{"fill", x.fill},
          {"mean", x.features.mean},
          {"deviation", x.features.deviation},
          {"target_scale", name_of(x.targets.kind)},
          {"target_mean", x.targets.mean},
          {"target_deviation", x.targets.deviation}};
}

learned_scales scales_in(const json& object, const dataset& form, const std::string& where) {
  learned_scales result;
  result.fill = value_of<std::vector<float>>(object, "fill");
  result.features.mean = value_of<std::vector<float>>(object, "mean");
  result.features.deviation = value_of<std::vector<float>>(object, "deviation");
  const auto kind = from_name<target_scale_kind>(value_of<std::string>(object, "target_scale"));
  require(kind.has_value(), where, "it scales targets in a way that there is not");
  result.targets = {*kind, value_of<std::vector<float>>(object, "target_mean"),
                    value_of<std::vector<float>>(object, "target_deviation")};
  const auto fits = [](size_t size, size_t wanted) { return size == 0 || size == wanted; };
  require(
    fits(result.fill.size(), form.feature_count) &&
      fits(result.features.deviation.size(), form.feature_count) &&
      (result.features.mean.size() == (form.is_sparse() ? 0 : result.features.deviation.size())) &&
      fits(result.targets.mean.size(), form.target_count) &&
      result.targets.deviation.size() == result.targets.mean.size(),
    where, "it scales other columns");
  for (const auto* values : {&result.fill, &result.features.mean, &result.features.deviation,
                             &result.targets.mean, &result.targets.deviation})
    require_finite(*values, where);
  for (const auto* values : {&result.features.deviation, &result.targets.deviation})
    require(std::ranges::all_of(*values, [](float x) { return x > 0; }), where,
            "it divides by a deviation that is not above 0");
  return result;
}

json object_of_reading(const dataset& form, const learned_scales& learned) {
  return {
    {"format", "troupe-table-1"}, {"form", object_of_form(form)}, {"learned", object_of(learned)}};
}

row_reading reading_in(const json& object, const std::string& where) {
  require(object.value("format", "") == "troupe-table-1", where, "this is no table of rows");
  row_reading result;
  result.form = form_in(object.at("form"), where);
  result.learned = scales_in(object.at("learned"), result.form, where);
  return result;
}

} // namespace

std::optional<size_t> row_table::holding_of(const std::string& holder) const {
  for (size_t i = 0; i < holdings.size(); ++i)
    if (std::ranges::find(holdings[i].holders, holder) != holdings[i].holders.end())
      return i;
  return std::nullopt;
}

std::string form_text(const dataset& form) {
  return text_of(object_of_form(form));
}

dataset form_of(const std::string& text, const std::string& where) {
  return with_object(text, where, [&](const json& object) { return form_in(object, where); });
}

std::string facts_text(const holding_facts& facts) {
  return text_of(object_of_facts(facts));
}

holding_facts facts_of(const std::string& text, const dataset& form, const std::string& where) {
  return with_object(text, where,
                     [&](const json& object) { return facts_in(object, form, where); });
}

std::string scales_text(const learned_scales& x) {
  return text_of(object_of(x));
}

learned_scales scales_of(const std::string& text, const dataset& form, const std::string& where) {
  return with_object(text, where,
                     [&](const json& object) { return scales_in(object, form, where); });
}

std::string card_text(const row_card& card) {
  return text_of({{"fingerprint", card.fingerprint},
                  {"form", card.form},
                  {"facts", card.facts},
                  {"learned", card.learned},
                  {"code", card.problem_code},
                  {"problem", card.problem}});
}

row_card card_of(const std::string& text, const std::string& where) {
  return with_object(text, where, [&](const json& object) {
    row_card result{value_of<std::string>(object, "fingerprint"),
                    value_of<std::string>(object, "form"),
                    value_of<std::string>(object, "facts"),
                    value_of<std::string>(object, "learned"),
                    object.at("code").get<int>(),
                    value_of<std::string>(object, "problem")};
    const bool is_digest =
      result.fingerprint.size() == 64 &&
      result.fingerprint.find_first_not_of("0123456789abcdef") == std::string::npos;
    require(is_digest, where, "its fingerprint is none");
    return result;
  });
}

std::string reading_text(const row_reading& x) {
  return text_of(object_of_reading(x.form, x.learned));
}

row_reading reading_of(const std::string& text, const std::string& where) {
  return with_object(text, where, [&](const json& object) { return reading_in(object, where); });
}

std::string table_text(const row_table& table) {
  auto result = object_of_reading(table.form, table.learned);
  result["facts"] = object_of_facts(table.facts);
  result["holdings"] = json::array();
  for (const auto& one : table.holdings)
    result["holdings"].push_back(
      {{"fingerprint", one.fingerprint}, {"holders", one.holders}, {"rows", object_of(one.size)}});
  return text_of(result);
}

row_table table_of(const std::string& text, const std::string& where) {
  return with_object(text, where, [&](const json& object) {
    auto [form, learned] = reading_in(object, where);
    row_table result{std::move(form), std::move(learned), {}, {}};
    result.facts = facts_in(object.at("facts"), result.form, where);
    holding_size all;
    for (const auto& one : object.at("holdings")) {
      held_rows held;
      held.fingerprint = value_of<std::string>(one, "fingerprint");
      held.holders = value_of<std::vector<std::string>>(one, "holders");
      held.size = size_in(one.at("rows"));
      all = all + held.size;
      require(held.size.train > 0, where, "a holding has no rows to train on");
      require(!held.holders.empty(), where, "nobody has the rows of a holding");
      held.name = held.holders.front();
      result.holdings.push_back(std::move(held));
    }
    require(!result.holdings.empty() &&
              std::ranges::is_sorted(result.holdings, {}, &held_rows::fingerprint),
            where, "its holdings are not in order");
    require(all == result.facts.size, where, "its holdings do not have the rows that it tells of");
    return result;
  });
}

} // namespace troupe
