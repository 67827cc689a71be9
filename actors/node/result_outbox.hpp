// Result outbox: results of this process's actors for the director: rows of the history, evaluations, hashes, values
// that are not finite. It repeats each until a directive shows that it has arrived.

#pragma once

#include "actors/node/node_context.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace troupe {

class result_outbox {
public:
  explicit result_outbox(node_context& context) : context_(context) {}

  void begin_term(uint64_t term);

  void add(const training_report& news);
  void add(const evaluation& news);
  void add(const span_hash& news);
  void add(const not_finite_report& news);

  /// Rows up to this version have arrived.
  void forget_rows(uint64_t version);
  /// A directive goes on from this version: earlier marks belong to an earlier directive.
  void forget_marks_before(uint64_t version);

  void tick(moment now);

private:
  template <class T>
  void tell(const T& news);

  node_context& context_;
  std::map<uint64_t, training_report> rows_; ///< by version
  std::map<uint64_t, training_report> marks_;
  std::map<std::pair<uint64_t, uint64_t>, evaluation> evaluations_; ///< by version and first chunk
  std::map<std::pair<uint64_t, uint64_t>, span_hash> hashes_;       ///< by version and first block
  std::optional<not_finite_report> not_finite_;
  repair_clock clock_;
};

} // namespace troupe
