#include "actors/tasks/replay_policy.hpp"

#include <algorithm>
#include <stdexcept>

namespace troupe {

namespace {

bool makes_version(decision_kind kind) {
  using enum decision_kind;
  return kind == take || kind == late || kind == pass;
}

} // namespace

replay_policy::replay_policy(const recorded_sequence& record) {
  using enum decision_kind;
  // A task that came to something: which decision did. Numbers begin anew with each life of the run.
  std::map<uint64_t, size_t> open;
  std::vector<bool> used(record.size());
  std::vector<size_t> given_by(record.size());
  for (size_t i = 0; i < record.size(); ++i) {
    const auto& x = record[i];
    if (x.kind == begin)
      open.clear();
    else if (x.kind == give)
      open[x.number] = i;
    else if (x.kind == take || x.kind == late)
      used[given_by[i] = open.at(x.number)] = true;
  }
  std::vector<uint64_t> piece_of_give(record.size());
  uint64_t version = 0, open_count = 0;
  quiet_versions_.push_back(0);
  for (size_t i = 0; i < record.size(); ++i) {
    const auto& x = record[i];
    if (x.kind == begin || x.kind == drop || (x.kind == give && !used[i]))
      continue;
    item next{x.kind, 0, x.kind == give ? x.step : x.number, x.scale};
    if (x.kind == give) {
      next.piece = piece_of_give[i] = step_of_.size();
      step_of_.push_back(x.step);
      ++open_count;
    } else if (x.kind == take || x.kind == late) {
      next.piece = piece_of_give[given_by[i]];
      --open_count;
    }
    items_.push_back(next);
    version += makes_version(x.kind) ? 1 : 0;
    if (open_count == 0 && version > quiet_versions_.back())
      quiet_versions_.push_back(version);
  }
}

void replay_policy::begin(server_records& records, span_model& span, state_loader* saved) {
  const auto version = records.model.version();
  arrived_.clear();
  open_pieces_.clear();
  closed_at_.clear();
  next_ = given_count_ = closed_count_ = 0;
  has_ended_ = false;
  uint64_t reached = 0;
  const auto is_behind = [&](const item& x) {
    return reached < version || (version > 0 && x.kind == decision_kind::close);
  };
  for (; next_ < items_.size() && is_behind(items_[next_]); ++next_) {
    given_count_ += items_[next_].kind == decision_kind::give ? 1 : 0;
    reached += makes_version(items_[next_].kind) ? 1 : 0;
  }
  if (reached != version || !std::ranges::binary_search(quiet_versions_, version))
    throw std::invalid_argument("replay: the record has tasks open at step " +
                                std::to_string(version));
  records.roster.start_anew(given_count_);
  if (saved)
    span.load(*saved);
}

// One decision at a time: those that are due, as far as the results are here.
std::optional<server_outcome> replay_policy::pass_over(server_records& records, moment) {
  using enum decision_kind;
  if (next_ == items_.size())
    return records.model.version() == records.model.horizon().version ? std::nullopt : end_here();
  const auto& what = items_[next_];
  const bool must_wait = what.kind == give   ? what.step >= records.model.step_limit()
                         : what.kind == loss ? records.model.version() >= records.model.step_limit()
                                             : (what.kind == take || what.kind == late) &&
                                                 !arrived_.contains(what.piece);
  if (must_wait) {
    // Evaluations or checkpoints that the recorded run did not wait for: nothing would ever move again.
    const bool is_stuck = what.kind == give && closed_at_.size() == arrived_.size() &&
                          records.model.step_limit() > records.model.version();
    return is_stuck ? end_here() : std::nullopt;
  }
  ++next_;
  return make(what, records);
}

std::optional<server_outcome> replay_policy::end_here() {
  if (std::exchange(has_ended_, true))
    return std::nullopt;
  return server_outcome{.problem = "the record ends", .kind = step_problem::record_ends};
}

server_outcome replay_policy::make(const item& what, server_records& records) {
  using enum decision_kind;
  const auto number = what.piece + 1;
  server_outcome result;
  switch (what.kind) {
  case give:
    records.decisions.write({.kind = entry_kind::give, .number = number, .step = what.step});
    closed_at_[what.piece] = closed_count_;
    open_pieces_[what.step] = what.piece;
    ++given_count_;
    break;
  case take:
  case late: {
    const auto found = arrived_.extract(what.piece).mapped();
    open_pieces_.erase(step_of_[what.piece]);
    auto& statistics = records.roster.statistics();
    result.staleness = closed_count_ - closed_at_.extract(what.piece).mapped();
    result.is_discarded = what.kind == late;
    const bool is_taken = what.kind == take && found.finite;
    sequence_entry entry{.kind = is_taken ? entry_kind::take : entry_kind::drop, .number = number};
    entry.is_late = result.is_discarded;
    entry.sample_count = found.sums.sample_count;
    entry.step_scale = what.scale;
    records.decisions.write(entry);
    if (result.is_discarded)
      statistics.on_discarded(found.trainer, result.staleness);
    else
      statistics.on_applied(found.trainer, result.staleness);
    if (!found.finite)
      result.problem = "the gradient of step " + std::to_string(step_of_[what.piece]);
    result.next = next_version{records.model.version() + 1, found.sums};
    if (next_ < items_.size() && items_[next_].kind == close && is_taken) {
      records.decisions.write({.kind = entry_kind::close});
      ++closed_count_;
      ++next_;
    }
    break;
  }
  case pass:
    records.decisions.write({.kind = entry_kind::pass, .step = what.step});
    result.next = next_version{records.model.version() + 1, {}};
    break;
  case close:
  case loss:
    records.decisions.write({.kind = entry_kind::close, .is_late = what.kind == loss});
    ++closed_count_;
    break;
  case begin:
  case drop:
    break;
  }
  result.when_not_finite = "what the gradients of the record lead to";
  return result;
}

std::optional<trainer_task> replay_policy::task_for(size_t place, server_records& records,
                                                    moment now) {
  trainer_task task;
  task.kind = task_kind::gradient;
  task.ticket = records.roster.next_piece(place, now) + 1;
  const auto piece = records.roster.take(place, task.ticket, now);
  task.first_step = step_of_.at(piece);
  return task;
}

server_outcome replay_policy::on_result(const trainer_result& news, server_records&, moment) {
  arrived_[piece_of(0, news.first_step)] = {news.sums, news.finite, news.trainer};
  return {};
}

server_outcome replay_policy::on_left_out(uint64_t, server_records&, moment) {
  return {.problem = "the recorded run had it"};
}

std::string replay_policy::in_words(uint64_t piece) const {
  return "step " + std::to_string(step_of_.at(piece));
}

uint64_t replay_policy::next_step(const server_records& records) const {
  const auto found = std::ranges::lower_bound(quiet_versions_, records.model.version());
  return found == quiet_versions_.end() ? records.model.version() : *found;
}

uint64_t replay_policy::piece_of(uint64_t, uint64_t step) const {
  const auto found = open_pieces_.find(step);
  return found == open_pieces_.end() ? step_of_.size() : found->second;
}

} // namespace troupe
