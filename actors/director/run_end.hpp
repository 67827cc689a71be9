// Run end: which version a run ends with, and what is still missing for it. A plain object.
//
//   open --name--> named --set_parameters, all counted and written--> complete
//    ^               |
//    +--begin_term---+        fail, end_at: complete at once, from anywhere

#pragma once

#include "actors/protocol/messages.hpp"
#include "coordinators/run/director_rule.hpp"
#include "data/checkpoint/checkpoint.hpp"
#include "data/disk/stored_tensor.hpp"
#include "data/text/failure.hpp"

#include <optional>
#include <string>

namespace troupe {

class run_end {
public:
  /// What was named is undone.
  void begin_term();
  /// The rule ends training: what people are told of it. `seconds`: trained up to its end version.
  void name(const finish_at& decision, const director_rule& rule, double seconds);
  /// An interrupt ends it at this checkpoint, or with the best version that it holds.
  void end_at(const checkpoint& last, const std::optional<best_version>& kept);
  void fail(const failure& why);

  bool is_named() const { return is_named_; }
  /// The result is this version.
  bool is_of(const std::optional<best_version>& kept) const;
  void set_parameters(const stored_tensor& values) { parameters_ = values; }
  const std::optional<stored_tensor>& parameters() const { return parameters_; }

  training_finished& result() { return result_; }
  const training_finished& result() const { return result_; }

private:
  bool is_named_ = false;
  training_finished result_;
  std::optional<stored_tensor> parameters_;
};

} // namespace troupe
