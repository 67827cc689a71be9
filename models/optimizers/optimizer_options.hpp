// A user's options of an optimizer: its kind, its rate, its constants, and what is done to the mean
// gradient before the rule sees it.
//
// Each rule has constants of its own, with its paper's values as defaults: `optimizer_rows` is the
// table. A constant left out takes that value. One the rule does not have is refused by the checks
// of a job (coordinators/job/job_check.cpp) and ignored by the rules.
//
// A kind's scope says what it needs to see at once: an element-wise rule runs on any piece of the
// parameters, a whole-model rule needs the whole gradient and the loss, a solver needs all rows.

#pragma once

#include "models/base/names.hpp"
#include "models/kinds/option.hpp"
#include "models/training/schedule.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

enum class optimizer_kind : uint8_t {
  sgd,
  adam,
  adamw,
  adamax,
  nadam,
  radam,
  adagrad,
  adadelta,
  rmsprop,
  rprop,
  adafactor,
  lbfgs,
  closed_form,
  gauss_newton
};

enum class optimizer_scope : uint8_t {
  element_wise, ///< models/optimizers/optimizer.hpp
  whole_model,  ///< models/whole_model/whole_model_rule.hpp
  solver        ///< actors/step/solver.hpp
};

/// Constants that rules have in common.
struct rule_constants {
  std::optional<double> learning_rate{}, beta1{}, beta2{}, rho{}, epsilon{}, weight_decay{},
    damping{};
};

/// A rule: what it is called, the values of its constants by default (it has no others), what it needs
/// to see at once, and whether it trusts what it saw before: a batch of other rows would mislead it.
struct optimizer_row {
  optimizer_kind kind;
  std::string_view name;
  rule_constants defaults;
  optimizer_scope scope = optimizer_scope::element_wise;
  bool needs_all_rows = false;
};

inline constexpr std::array optimizer_rows{
  optimizer_row{optimizer_kind::sgd, "sgd", {.learning_rate = 0.01}},
  optimizer_row{optimizer_kind::adam,
                "adam",
                {.learning_rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}},
  optimizer_row{
    optimizer_kind::adamw,
    "adamw",
    {.learning_rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01}},
  optimizer_row{optimizer_kind::adamax,
                "adamax",
                {.learning_rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}},
  optimizer_row{optimizer_kind::nadam,
                "nadam",
                {.learning_rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}},
  optimizer_row{optimizer_kind::radam,
                "radam",
                {.learning_rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}},
  optimizer_row{optimizer_kind::adagrad, "adagrad", {.learning_rate = 0.01, .epsilon = 1e-10}},
  optimizer_row{
    optimizer_kind::adadelta, "adadelta", {.learning_rate = 1, .rho = 0.95, .epsilon = 1e-6}},
  optimizer_row{
    optimizer_kind::rmsprop, "rmsprop", {.learning_rate = 0.01, .rho = 0.9, .epsilon = 1e-8}},
  optimizer_row{
    optimizer_kind::rprop, "rprop", {.learning_rate = 0.01}, optimizer_scope::element_wise, true},
  optimizer_row{optimizer_kind::adafactor,
                "adafactor",
                {.learning_rate = 0.01, .epsilon = 1e-30},
                optimizer_scope::whole_model},
  optimizer_row{
    optimizer_kind::lbfgs, "lbfgs", {.learning_rate = 1}, optimizer_scope::whole_model, true},
  optimizer_row{optimizer_kind::closed_form, "closed-form", {}, optimizer_scope::solver},
  optimizer_row{
    optimizer_kind::gauss_newton, "gauss-newton", {.damping = 1e-3}, optimizer_scope::solver}};

static_assert(std::ranges::all_of(optimizer_rows,
                                  [i = 0](const auto& row) mutable {
                                    return row.kind == static_cast<optimizer_kind>(i++);
                                  }),
              "rows are in the order of the kinds");

constexpr const optimizer_row& row_of(optimizer_kind kind) {
  return optimizer_rows[static_cast<size_t>(kind)];
}

template <>
struct name_table<optimizer_kind> {
  static constexpr auto entries = [] {
    std::array<std::pair<optimizer_kind, std::string_view>, optimizer_rows.size()> result;
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = {optimizer_rows[i].kind, optimizer_rows[i].name};
    return result;
  }();
};

constexpr optimizer_scope scope_of(optimizer_kind kind) {
  return row_of(kind).scope;
}

constexpr bool needs_all_rows(optimizer_kind kind) {
  return row_of(kind).needs_all_rows;
}

/// True for rules that find the length of their steps themselves, so that no schedule applies.
constexpr bool finds_own_rate(optimizer_kind kind) {
  return needs_all_rows(kind) || scope_of(kind) == optimizer_scope::solver;
}

/// Moves that lbfgs may remember: far more than ever helped, and 400 times the model's memory.
inline constexpr size_t history_size_max = 200;

struct optimizer_options {
  optimizer_kind kind = optimizer_kind::sgd;
  /// Base rate, > 0, times the schedule's factor; absent: 0.01, for adadelta and lbfgs 1.
  std::optional<double> learning_rate;
  double momentum = 0;                ///< sgd: 0 (none) .. below 1
  bool nesterov = false;              ///< sgd: look ahead along the momentum (needs momentum > 0)
  std::optional<double> beta1;        ///< adam and kin: decay of the first moment, 0 .. below 1
  std::optional<double> beta2;        ///< adam and kin: decay of the second moment, 0 .. below 1
  std::optional<double> rho;          ///< adadelta, rmsprop: decay of the mean square, 0 .. below 1
  std::optional<double> epsilon;      ///< all but sgd, rprop, lbfgs: keeps from dividing by 0, > 0
  std::optional<double> weight_decay; ///< adamw: share of a parameter a step at rate 1 takes, >= 0
  std::optional<double> damping;      ///< gauss-newton: added to the diagonal of J^T J, >= 0
  size_t history_size = 10;           ///< lbfgs: moves that are remembered, >= 1
  double l1 = 0;         ///< penalty l1 |p|, biases excluded: adds l1 sign(p) to the gradient; >= 0
  double l2 = 0;         ///< penalty l2/2 p^2, biases excluded: adds l2 p to the gradient; >= 0
  double clip_value = 0; ///< > 0: each element of the mean gradient is kept in [-it, it], first
  double clip_norm = 0;  ///< > 0: a mean gradient of a greater norm is scaled to it, first
  schedule_options schedule;
  plateau_options plateau = {}; ///< synchronous training only
  /// A kind that the application adds (models/kinds/optimizer_kinds.hpp), in place of `kind`, which is
  /// sgd then. Those of its options that are constants above may be set there too.
  component own;

  friend bool operator==(const optimizer_options&, const optimizer_options&) = default;
};

/// A constant that rules have in common: its key, where it is, and where each rule's own value is.
struct optimizer_constant {
  std::string_view key;
  std::optional<double> optimizer_options::*member;
  std::optional<double> rule_constants::*of_rule;
};

inline constexpr std::array optimizer_constants{
  optimizer_constant{"learning_rate", &optimizer_options::learning_rate,
                     &rule_constants::learning_rate},
  optimizer_constant{"beta1", &optimizer_options::beta1, &rule_constants::beta1},
  optimizer_constant{"beta2", &optimizer_options::beta2, &rule_constants::beta2},
  optimizer_constant{"rho", &optimizer_options::rho, &rule_constants::rho},
  optimizer_constant{"epsilon", &optimizer_options::epsilon, &rule_constants::epsilon},
  optimizer_constant{"weight_decay", &optimizer_options::weight_decay,
                     &rule_constants::weight_decay},
  optimizer_constant{"damping", &optimizer_options::damping, &rule_constants::damping}};

/// The rules that have the constant: "adadelta, rmsprop".
std::string rules_with(std::optional<double> rule_constants::*constant);

/// What it is by default: the value that most rules have, and those of others: "0.01; adadelta, lbfgs: 1".
std::string defaults_text(std::optional<double> rule_constants::*constant);

/// The name of its kind, built in or the application's own.
inline std::string kind_name(const optimizer_options& x) {
  return x.own.is_set() ? x.own.kind : std::string{name_of(x.kind)};
}

/// The default of each constant a rule has; absent: the rule has no such constant.
optimizer_options defaults_of(optimizer_kind kind);

/// `options` with every constant its rule has filled in; the others stay as they are.
optimizer_options with_defaults(const optimizer_options& options);

/// `options` as the rule of `kind` reads them: with its constants filled in. Throws
/// std::invalid_argument when a constant the rule has is out of its range, or the schedule is.
optimizer_options checked_options(optimizer_options options, optimizer_kind kind);

} // namespace troupe
