#include "troupe/actors/orders/keeper_desk.hpp"

#include "troupe/actors/protocol/training_progress.hpp"
#include "troupe/coordinators/step/placement.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

bool is_same(const replica_actor& a, const trainer_actor& b) {
  return a && b && a.address() == b.address();
}

} // namespace

keeper_desk::seat_changes keeper_desk::on_view(const view& news) {
  seat_changes result;
  if (!versions_ || (has_view_ && (news.term != view_.term || news.number <= view_.number)))
    return result;
  view_ = news;
  if (!has_view_) {
    start(news);
    result.begins = true;
    return result;
  }
  const auto is_named = [&](const trainer_actor& who) {
    return std::ranges::any_of(news.replicas,
                               [&](const replica_entry& x) { return is_same(x.actor, who); });
  };
  for (size_t i = 0; i < seats_.size(); ++i)
    if (seats_[i].actor && !is_named(seats_[i].actor)) {
      leave_seat(i);
      result.lost.push_back(i);
    }
  for (const auto& entry : news.replicas)
    if (entry.actor &&
        std::ranges::none_of(seats_, [&](const seat& x) { return is_same(entry.actor, x.actor); }))
      result.joined.push_back(find_seat_for(entry));
  return result;
}

void keeper_desk::start(const view& news) {
  has_view_ = true;
  version_ = row_version_ = mark_version_ = news.start_version;
  current_ = versions_->of(version_);
  begin_ = last_report_ = self_->clock().now();
  for (const auto& entry : news.replicas)
    if (entry.actor)
      find_seat_for(entry);
}

size_t keeper_desk::find_seat_for(const replica_entry& who) {
  const auto empty = std::ranges::find_if(seats_, [](const seat& x) { return x.actor == nullptr; });
  const auto index = static_cast<size_t>(empty - seats_.begin());
  if (empty == seats_.end())
    seats_.emplace_back();
  names_.resize(seats_.size());
  names_[index] = who.name;
  seats_[index] = {caf::actor_cast<trainer_actor>(who.actor), {}, 0};
  self_->monitor(who.actor);
  for (const auto& order : std::exchange(homeless_, {}))
    evaluate_at(index, order);
  return index;
}

std::optional<size_t> keeper_desk::on_down(const caf::actor_addr& who) {
  for (size_t i = 0; i < seats_.size(); ++i)
    if (seats_[i].actor && seats_[i].actor.address() == who) {
      leave_seat(i);
      return i;
    }
  return std::nullopt;
}

void keeper_desk::leave_seat(size_t index) {
  self_->demonitor(seats_[index].actor.address());
  const auto left = std::exchange(seats_[index], {}).evaluations;
  const auto others = living_seats();
  for (const auto& order : left)
    if (others.empty())
      homeless_.push_back(order);
    else
      evaluate_at(others[index % others.size()], order);
}

std::vector<size_t> keeper_desk::living_seats() const {
  std::vector<size_t> result;
  for (size_t i = 0; i < seats_.size(); ++i)
    if (seats_[i].actor)
      result.push_back(i);
  return result;
}

trainer_figures keeper_desk::figures_of(const training_statistics& statistics) const {
  trainer_figures result{statistics.barrier_count(), {}};
  for (size_t i = 0; i < statistics.trainer_count(); ++i)
    result.replicas.push_back({names_.at(i), statistics.of(i)});
  return result;
}

void keeper_desk::give(size_t index, trainer_order order) {
  seats_[index].before_order = seats_[index].evaluations.size();
  self_->send(seats_[index].actor, std::move(order));
}

// A trainer does one thing after the other, in the order it was told.
void keeper_desk::on_answer(size_t index) {
  auto& x = seats_.at(index);
  x.evaluations.erase(x.evaluations.begin(),
                      x.evaluations.begin() + static_cast<std::ptrdiff_t>(x.before_order));
  x.before_order = 0;
}

void keeper_desk::evaluate_at(size_t index, const evaluation_order& order) {
  seats_[index].evaluations.push_back(order);
  self_->send(seats_[index].actor, order);
}

void keeper_desk::tell(const std::string& notice) {
  send_report(false, false, notice);
}

std::string keeper_desk::left_text() const {
  const auto count = living_count();
  return count == 1 ? "1 replica is left" : std::to_string(count) + " replicas are left";
}

// Who has no work answers no order: a trainer beyond the members, say. The version of the row
// itself may yet be evaluated, when training ends there.
void keeper_desk::forget_evaluations(uint64_t row_version) {
  const auto is_done = [=](const evaluation_order& x) { return x.version < row_version; };
  for (auto& x : seats_) {
    const auto order = x.evaluations.begin() + static_cast<std::ptrdiff_t>(x.before_order);
    x.before_order -= static_cast<size_t>(std::count_if(x.evaluations.begin(), order, is_done));
    std::erase_if(x.evaluations, is_done);
  }
  std::erase_if(homeless_, is_done);
}

void keeper_desk::on_horizon(const horizon& news) {
  horizon_ = news.rule;
  forget_evaluations(news.row_version);
  held_ = false;
  if (!has_view_ || failed_ || version_ != horizon_.version)
    return;
  evaluate_if_due();
  report_if_due();
}

void keeper_desk::hold(uint64_t replica, uint64_t round, uint64_t next_step) {
  held_ = true;
  self_->send(view_.relay, atom::held_v, replica, round, next_step);
}

caf::result<parameter_span> keeper_desk::on_pull(uint64_t version) const {
  if (has_view_ && version == version_)
    return span_of(version, current_);
  if (previous_ && version == previous_version_)
    return span_of(version, previous_);
  return caf::make_error(protocol_error::version_not_held, version);
}

void keeper_desk::adopt(uint64_t version, const const_buffer& parameters, const batch_sums& sums) {
  book_ = plan_.is_epoch_end(version_) ? sums : book_ + sums;
  previous_ = std::exchange(current_, parameters);
  previous_version_ = std::exchange(version_, version);
  evaluate_if_due();
  report_if_due();
}

void keeper_desk::stop_here(const std::string& what) {
  failed_ = true;
  not_finite_report report;
  report.term = view_.term;
  report.step = version_;
  report.what = what;
  self_->send(view_.director, std::move(report));
}

void keeper_desk::evaluate_if_due() {
  const bool is_end = horizon_.final && version_ == horizon_.version;
  if (rows_.empty() || evaluated_ == version_ || !(plan_.evaluates(version_) || is_end))
    return;
  evaluated_ = version_;
  const auto seats = living_seats();
  const auto shares = split_evenly(rows_.chunk_count(), std::max<size_t>(seats.size(), 1));
  for (size_t i = 0; i < shares.size(); ++i) {
    const evaluation_order order{view_.director, view_.term, version_, current_, shares[i]};
    if (!order.chunks.empty() && seats.empty())
      homeless_.push_back(order);
    else if (!order.chunks.empty())
      evaluate_at(seats[i], order);
  }
}

void keeper_desk::report_if_due() {
  const bool is_mark = version_ == horizon_.version;
  const bool is_row =
    (plan_.is_row(version_) || (is_mark && horizon_.final)) && row_version_ != version_;
  const auto now = self_->clock().now();
  if (!is_row && !(is_mark && mark_version_ != version_) && now - last_report_ < progress_interval)
    return;
  send_report(is_row, is_mark, {});
  if (is_mark)
    mark_version_ = version_;
  if (is_row)
    row_version_ = version_;
}

void keeper_desk::send_report(bool is_row, bool is_mark, const std::string& notice) {
  last_report_ = self_->clock().now();
  const std::chrono::duration<double> seconds = last_report_ - begin_;
  self_->send(view_.director, training_report{view_.term, version_, book_, is_row, is_mark,
                                              seconds.count(), notice});
}

parameter_span keeper_desk::span_of(uint64_t version, const const_buffer& parameters) const {
  return {view_.term, version, 0, payload{parameters, 0, parameters.size()}};
}

} // namespace troupe
