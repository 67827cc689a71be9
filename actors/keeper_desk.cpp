#include "troupe/actors/keeper_desk.hpp"

#include "troupe/actors/shard.hpp"
#include "troupe/coordinators/placement.hpp"

#include <caf/actor_cast.hpp>

#include <utility>

namespace troupe {

bool keeper_desk::on_view(const view& news) {
  if (has_view_ || !versions_)
    return false;
  has_view_ = true;
  view_ = news;
  version_ = row_version_ = mark_version_ = news.start_version;
  current_ = versions_->of(version_);
  begin_ = last_report_ = self_->clock().now();
  // The node says who was lost, and the run ends; the others need not go on meanwhile.
  self_->set_down_handler([this](const caf::down_msg&) { failed_ = true; });
  for (const auto& entry : view_.replicas)
    self_->monitor(entry.actor);
  return true;
}

void keeper_desk::on_horizon(const horizon& news) {
  horizon_ = news.rule;
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

trainer_actor keeper_desk::trainer(size_t index) const {
  return caf::actor_cast<trainer_actor>(view_.replicas.at(index).actor);
}

void keeper_desk::evaluate_if_due() {
  const bool is_end = horizon_.final && version_ == horizon_.version;
  if (rows_.empty() || evaluated_ == version_ || !(plan_.evaluates(version_) || is_end))
    return;
  evaluated_ = version_;
  const auto shares = split_evenly(rows_.chunk_count(), trainer_count());
  for (size_t i = 0; i < shares.size(); ++i)
    if (!shares[i].empty())
      self_->send(trainer(i),
                  evaluation_order{view_.director, view_.term, version_, current_, shares[i]});
}

void keeper_desk::report_if_due() {
  const bool is_mark = version_ == horizon_.version;
  const bool is_row =
    (plan_.is_row(version_) || (is_mark && horizon_.final)) && row_version_ != version_;
  const auto now = self_->clock().now();
  if (!is_row && !(is_mark && mark_version_ != version_) && now - last_report_ < progress_interval)
    return;
  last_report_ = now;
  const std::chrono::duration<double> seconds = now - begin_;
  self_->send(view_.director,
              training_report{view_.term, version_, book_, is_row, is_mark, seconds.count()});
  if (is_mark)
    mark_version_ = version_;
  if (is_row)
    row_version_ = version_;
}

parameter_span keeper_desk::span_of(uint64_t version, const const_buffer& parameters) const {
  return {view_.term, version, 0, payload{parameters, 0, parameters.size()}};
}

} // namespace troupe
