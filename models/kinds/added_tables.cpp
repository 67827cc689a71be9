// The tables of kinds that an application adds to the library's enumerations, and the names of all their values.

#include "models/kinds/added_tables.hpp"

#include <cmath>
#include <cstdio>

namespace troupe {

namespace {

template <auto function, class Made>
bool has(const Made& x) {
  return static_cast<bool>(x.*function);
}

/// "0.5"
std::string shown_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}

} // namespace

loss_table& losses() {
  static loss_table table{"loss", &has<&own_loss::evaluate>};
  return table;
}

activation_table& activations() {
  static activation_table table{"activation", &has<&own_activation::evaluate>};
  return table;
}

schedule_table& schedules() {
  static schedule_table table{"schedule", &has<&own_schedule::factor>};
  return table;
}

merge_table& merge_rules() {
  static merge_table table{"merge rule", &has<&own_merge::merge>};
  return table;
}

result_table& result_rules() {
  static result_table table{"rule of results", &has<&own_result_rule::fires>};
  return table;
}

// Names of values, the library's and added ones.
#define TROUPE_NAMES_OF(Enum, table)                                                               \
  template <>                                                                                      \
  std::string_view name_of<Enum>(Enum value) {                                                     \
    return table().name(value);                                                                    \
  }                                                                                                \
  template <>                                                                                      \
  std::optional<Enum> from_name<Enum>(std::string_view name) {                                     \
    return table().named(name);                                                                    \
  }                                                                                                \
  std::vector<Enum> all_values(Enum) {                                                             \
    return table().values();                                                                       \
  }

TROUPE_NAMES_OF(loss_kind, losses)
TROUPE_NAMES_OF(activation_kind, activations)
TROUPE_NAMES_OF(schedule_kind, schedules)
TROUPE_NAMES_OF(merge_rule, merge_rules)
TROUPE_NAMES_OF(result_rule, result_rules)

#undef TROUPE_NAMES_OF

// ---- What the library asks of a value ----

bool is_binary(loss_kind kind) {
  return is_added(kind) ? losses().made(kind).is_binary
                        : kind == loss_kind::binary_cross_entropy || kind == loss_kind::hinge ||
                            kind == loss_kind::squared_hinge;
}

bool is_classification(loss_kind kind) {
  return kind == loss_kind::categorical_cross_entropy || is_binary(kind);
}

bool gives_margins(loss_kind kind) {
  return is_added(kind) ? is_binary(kind) && !losses().made(kind).predicted
                        : kind == loss_kind::hinge || kind == loss_kind::squared_hinge;
}

bool accepts_target(loss_kind kind, double target) {
  if (is_added(kind)) {
    const auto& own = losses().made(kind);
    return own.above_least ? target > own.least_target : target >= own.least_target;
  }
  return kind == loss_kind::poisson ? target >= 0 : kind == loss_kind::gamma ? target > 0 : true;
}

std::string target_demand(loss_kind kind) {
  if (is_added(kind)) {
    const auto& own = losses().made(kind);
    return std::isinf(own.least_target)
             ? ""
             : (own.above_least ? "above " : "of at least ") + shown_number(own.least_target);
  }
  return kind == loss_kind::poisson ? "of at least 0" : kind == loss_kind::gamma ? "above 0" : "";
}

bool takes_target_scale(loss_kind kind) {
  return !is_classification(kind) && !has_log_link(kind) &&
         (!is_added(kind) ||
          (losses().made(kind).takes_scale && std::isinf(losses().made(kind).least_target)));
}

bool is_rectifier(activation_kind kind) {
  if (is_added(kind))
    return activations().made(kind).is_rectifier;
  return kind != activation_kind::identity && kind != activation_kind::tanh &&
         kind != activation_kind::sigmoid;
}

const own_activation& added_activation(activation_kind kind) {
  return activations().made(kind);
}

const own_schedule& added_schedule(schedule_kind kind) {
  return schedules().made(kind);
}

schedule_kind with_options(schedule_kind kind, const component& options) {
  return schedules().with(kind, options);
}

} // namespace troupe
