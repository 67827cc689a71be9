#include "coordinators/run/training_statistics.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace troupe {

using std::chrono::nanoseconds;

size_t lag_class(uint64_t lag) {
  return std::min<size_t>(static_cast<size_t>(std::bit_width(lag)), lag_class_count - 1);
}

void training_statistics::on_waits(size_t trainer, moment now) {
  auto& x = trainers_.at(trainer);
  x.waits_since = x.waits_since.value_or(now);
}

void training_statistics::on_sent(size_t trainer, moment now) {
  auto& x = trainers_.at(trainer);
  x.sent = now;
  if (x.waits_since)
    x.figures.waited += std::max(nanoseconds{0}, nanoseconds{now - *x.waits_since});
  x.waits_since.reset();
}

void training_statistics::on_result(size_t trainer, moment now, nanoseconds computed) {
  auto& x = trainers_.at(trainer);
  ++x.figures.result_count;
  x.figures.computed += computed;
  if (x.sent)
    x.figures.network += std::max(nanoseconds{0}, now - *x.sent - computed);
  x.sent.reset();
  std::erase_if(arrivals_, [&](const arrival& a) { return a.trainer == trainer; });
  arrivals_.push_back({trainer, now});
}

void training_statistics::on_barrier(moment now) {
  ++barrier_count_;
  for (const auto& a : arrivals_)
    trainers_[a.trainer].figures.waited += std::max(nanoseconds{0}, nanoseconds{now - a.when});
  if (arrivals_.size() >= 2) {
    const auto& last = arrivals_.back();
    auto& figures = trainers_[last.trainer].figures;
    ++figures.last_count;
    charge(figures, std::max(arrivals_.end()[-2].when, stalled_until_), last.when);
  }
  arrivals_.clear();
}

void training_statistics::charge(trainer_statistics& figures, moment begin, moment end) {
  const auto by = std::max(nanoseconds{0}, nanoseconds{end - begin});
  figures.last_by += by;
  figures.last_by_max = std::max(figures.last_by_max, by);
}

void training_statistics::on_applied(size_t trainer, uint64_t lag) {
  auto& figures = trainers_.at(trainer).figures;
  ++figures.applied_count;
  ++figures.lags[lag_class(lag)];
}

void training_statistics::on_discarded(size_t trainer, uint64_t lag) {
  auto& figures = trainers_.at(trainer).figures;
  ++figures.discarded_count;
  ++figures.lags[lag_class(lag)];
}

void training_statistics::on_refused(size_t trainer) {
  ++trainers_.at(trainer).figures.refused_count;
}

// Whoever does its work again is not to blame for the time before it got it.
void training_statistics::on_lost(size_t trainer, moment now) {
  auto& x = trainers_.at(trainer);
  ++x.figures.lost_count;
  const bool had_work = x.sent.has_value();
  x.sent.reset();
  x.waits_since.reset();
  std::erase_if(arrivals_, [&](const arrival& a) { return a.trainer == trainer; });
  const bool others_work =
    std::ranges::any_of(trainers_, [](const record& one) { return one.sent.has_value(); });
  if (!had_work || others_work || arrivals_.empty())
    return;
  charge(x.figures, std::max(arrivals_.back().when, stalled_until_), now);
  stalled_until_ = now;
}

void training_statistics::on_joined(size_t trainer) {
  if (trainer > trainers_.size())
    throw std::out_of_range("training statistics: trainer " + std::to_string(trainer) +
                            " came before the one before it");
  trainers_.resize(std::max(trainers_.size(), trainer + 1));
}

} // namespace troupe
