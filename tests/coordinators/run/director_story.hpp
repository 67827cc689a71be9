// A director rule whose decisions are told in words, so that tests read as tables.

#pragma once

#include "coordinators/run/director_rule.hpp"

#include <sstream>
#include <string>

namespace troupe::test {

// 2 steps an epoch, 3 epochs of 8 rows.
inline timeline six_steps() {
  return {.row_count = 8, .batch_size = 4, .slice_count = 2, .epoch_count = 3, .step_limit = {}};
}

inline timeline evaluated_every_second_epoch() {
  auto plan = six_steps();
  plan.evaluate_every = 2;
  return plan;
}

inline const stop_rule_options no_rule{};
inline const stop_rule_options target_half{.target_loss = 0.5, .patience = {}};

/// 300 test rows are evaluated in 2 chunks.
inline constexpr size_t two_chunks = 300;

inline batch_sums sums(double loss_sum, uint64_t sample_count = 8) {
  return {loss_sum, sample_count, 0, 0};
}

struct writer {
  std::ostringstream out;

  static std::string mean(const batch_sums& x) {
    std::ostringstream text;
    text << x.loss_sum << '/' << x.sample_count;
    return text.str();
  }
  void operator()(const allow_up_to& x) {
    out << "up to " << x.horizon.version << (x.horizon.final ? ", final" : "")
        << (x.horizon.is_cut ? ", a cut" : "");
  }
  void operator()(const hold_replicas&) { out << "hold"; }
  void operator()(const publish_row& x) {
    out << "row " << x.figures.version << ' ' << mean(x.figures.train);
    if (x.figures.test)
      out << " test " << mean(*x.figures.test);
    if (x.figures.validation)
      out << " validation " << mean(*x.figures.validation);
  }
  void operator()(const keep_version& x) { out << "keep " << x.version; }
  void operator()(const begin_anew_at& x) { out << "begin anew at " << x.version; }
  void operator()(const take_checkpoint& x) { out << "checkpoint " << x.version; }
  void operator()(const finish_at& x) {
    out << "finish at " << x.version << ": " << name_of(x.reason);
  }
};

inline std::string text(const director_decisions& decisions) {
  writer result;
  for (const auto& decision : decisions) {
    if (result.out.tellp() > 0)
      result.out << "; ";
    std::visit(result, decision);
  }
  return result.out.str();
}

/// A director rule whose decisions are told in words.
class story {
public:
  explicit story(const timeline& plan, const stop_rule_options& stop = no_rule,
                 size_t test_row_count = 0)
    : rule({plan, stop, {.test = test_row_count}}) {}

  std::string start() { return text(rule.start()); }
  std::string trained(uint64_t version, double loss_sum = 8) {
    return text(rule.on_trained(version, sums(loss_sum)));
  }
  /// Chunk `chunk` of a version with a sum of 1 over 150 rows.
  std::string evaluated(uint64_t version, size_t chunk, double loss_sum = 1) {
    return text(rule.on_evaluated(version, chunk, {sums(loss_sum, 150)}));
  }
  std::string cut() { return text(rule.on_cut_requested()); }
  std::string marked(uint64_t version) { return text(rule.on_marked(version)); }
  std::string stop() { return text(rule.on_stop_requested()); }
  std::string named(uint64_t version) { return text(rule.on_stop_named(version)); }
  std::string not_finite(uint64_t step) {
    return text(rule.on_not_finite({step, "gradient of slice 1", 1}));
  }

  director_rule rule;
};

} // namespace troupe::test
