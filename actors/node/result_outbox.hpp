// Result outbox: what this process's actors found out, for the director: rows of the history,
// evaluations, values that are not finite. Kept and said again until a course says that it arrived.

#pragma once

#include "troupe/actors/node/node_seat.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace troupe {

class result_outbox {
public:
  explicit result_outbox(node_seat& seat) : seat_(seat) {}

  void begin_term() {
    rows_.clear();
    marks_.clear();
    evaluations_.clear();
    not_finite_.reset();
    reported_version_ = 0;
  }

  void add(const training_report& news) {
    reported_version_ = news.version;
    if (news.is_row)
      rows_[news.version] = news;
    else if (news.is_mark)
      marks_[news.version] = news;
    tell(news);
  }
  void add(const evaluation& news) {
    evaluations_[{news.version, news.first_chunk}] = news;
    tell(news);
  }
  void add(const not_finite_report& news) {
    not_finite_ = news;
    tell(news);
  }

  /// Rows up to this version have arrived.
  void forget_rows(uint64_t version) {
    rows_.erase(rows_.begin(), rows_.upper_bound(version));
    std::erase_if(evaluations_, [=](const auto& entry) { return entry.first.first <= version; });
  }
  /// A course goes on from this version: marks before it are of an earlier one.
  void forget_marks_before(uint64_t version) {
    marks_.erase(marks_.begin(), marks_.lower_bound(version));
  }

  void tick(moment now) {
    if (clock_.due(now))
      repeat();
  }

  /// The newest that an actor here reported in this term.
  uint64_t reported_version() const { return reported_version_; }

private:
  template <class T>
  void tell(const T& news) {
    clock_.restart(seat_.now());
    seat_.tell_director(news);
  }
  void repeat() const {
    for (const auto& [version, row] : rows_)
      seat_.tell_director(row);
    for (const auto& [version, mark] : marks_)
      seat_.tell_director(mark);
    for (const auto& [key, result] : evaluations_)
      seat_.tell_director(result);
    if (not_finite_)
      seat_.tell_director(*not_finite_);
  }

  node_seat& seat_;
  std::map<uint64_t, training_report> rows_; ///< by version
  std::map<uint64_t, training_report> marks_;
  std::map<std::pair<uint64_t, uint64_t>, evaluation> evaluations_; ///< by version and first chunk
  std::optional<not_finite_report> not_finite_;
  uint64_t reported_version_ = 0;
  repair_clock clock_;
};

} // namespace troupe
