#include "coordinators/modes/main_model.hpp"

#include <chrono>
#include <utility>

namespace troupe {

void main_model::begin(uint64_t version, const numbered_model& model, moment now,
                       const batch_sums& sums) {
  epoch_sums_ = sums;
  version_ = row_version_ = mark_version_ = version;
  current_ = model;
  begin_ = last_report_ = now;
}

void main_model::set_horizon(const horizon_rule& horizon) {
  horizon_ = horizon;
  holds_ = false;
}

void main_model::adopt(uint64_t version, const numbered_model& model, const batch_sums& sums) {
  epoch_sums_ = sums_with(sums);
  previous_ = std::exchange(current_, model).values;
  previous_version_ = std::exchange(version_, version);
}

const_buffer main_model::parameters_of(uint64_t version) const {
  if (has_begun() && version == version_)
    return current_.values;
  return previous_ && version == previous_version_ ? previous_ : const_buffer{};
}

double main_model::seconds(moment now) const {
  return std::chrono::duration<double>{now - begin_}.count();
}

bool main_model::take_evaluation() {
  const bool is_end = horizon_.final && version_ == horizon_.version;
  if (options_.rows.empty() || evaluated_ == version_ ||
      !(options_.plan.evaluates(version_) || is_end))
    return false;
  evaluated_ = version_;
  return true;
}

std::optional<main_model::report_mark> main_model::take_report(moment now) {
  const bool is_mark = version_ == horizon_.version;
  const bool is_row =
    (options_.plan.is_row(version_) || (is_mark && horizon_.final)) && row_version_ != version_;
  if (!is_row && !(is_mark && mark_version_ != version_) &&
      now - last_report_ < options_.report_interval)
    return std::nullopt;
  if (is_mark)
    mark_version_ = version_;
  if (is_row)
    row_version_ = version_;
  return report_mark{is_row, is_mark};
}

} // namespace troupe
