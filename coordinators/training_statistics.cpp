#include "troupe/coordinators/training_statistics.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace troupe {

namespace {

using std::chrono::nanoseconds;

std::string milliseconds_text(nanoseconds time) {
  const auto tenths = (time.count() + 50'000) / 100'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string joined(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i)
    line += (i == 0 ? "" : "  ") + std::string(widths[i] - cells[i].size(), ' ') + cells[i];
  return line + "\n";
}

std::vector<std::string> cells_of(size_t number, const trainer_statistics& x) {
  std::vector<std::string> cells{
    std::to_string(number),           std::to_string(x.result_count),
    std::to_string(x.last_count),     milliseconds_text(x.last_by),
    milliseconds_text(x.last_by_max), milliseconds_text(x.waited),
    milliseconds_text(x.computed),    milliseconds_text(x.network),
    std::to_string(x.applied_count),  std::to_string(x.discarded_count),
    std::to_string(x.refused_count),  std::to_string(x.lost_count)};
  for (auto count : x.lags)
    cells.push_back(std::to_string(count));
  return cells;
}

std::vector<std::string> titles() {
  std::vector<std::string> result{"trainer", "results",   "last",        "by ms",
                                  "most ms", "waited ms", "computed ms", "network ms",
                                  "applied", "discarded", "refused",     "lost"};
  for (size_t i = 0; i < lag_class_count; ++i)
    result.push_back("lag " + lag_class_name(i));
  return result;
}

} // namespace

size_t lag_class(uint64_t lag) {
  return std::min<size_t>(static_cast<size_t>(std::bit_width(lag)), lag_class_count - 1);
}

std::string lag_class_name(size_t index) {
  if (index < 2)
    return std::to_string(index);
  const auto first = uint64_t{1} << (index - 1);
  if (index == lag_class_count - 1)
    return std::to_string(first) + "+";
  return std::to_string(first) + "-" + std::to_string(2 * first - 1);
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
    const auto by = std::max(nanoseconds{0}, nanoseconds{last.when - arrivals_.end()[-2].when});
    auto& figures = trainers_[last.trainer].figures;
    ++figures.last_count;
    figures.last_by += by;
    figures.last_by_max = std::max(figures.last_by_max, by);
  }
  arrivals_.clear();
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

void training_statistics::on_lost(size_t trainer) {
  auto& x = trainers_.at(trainer);
  ++x.figures.lost_count;
  x.sent.reset();
  x.waits_since.reset();
  std::erase_if(arrivals_, [&](const arrival& a) { return a.trainer == trainer; });
}

void training_statistics::on_joined(size_t trainer) {
  if (trainer > trainers_.size())
    throw std::out_of_range("training statistics: trainer " + std::to_string(trainer) +
                            " came before the one before it");
  trainers_.resize(std::max(trainers_.size(), trainer + 1));
}

std::string training_statistics::table() const {
  std::vector<std::vector<std::string>> rows{titles()};
  for (size_t i = 0; i < trainers_.size(); ++i)
    rows.push_back(cells_of(i, trainers_[i].figures));
  std::vector<size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], row[c].size());
  std::string result;
  for (const auto& row : rows)
    result += joined(row, widths);
  return result;
}

} // namespace troupe
