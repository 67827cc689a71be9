#include "troupe/models/losses/row_losses.hpp"

#include <stdexcept>

namespace troupe::detail {

namespace {

// Hinge and squared hinge of the signed score.
log_loss hinge_of(bool squared, double signed_score) {
  const double gap = 1 - signed_score;
  const double nothing = signed_score * 0; // NaN when not finite, where the loss would be 0
  const double missing = gap <= 0 ? 0 : gap;
  if (squared)
    return {missing * missing + nothing, -2 * missing + nothing};
  return {missing + nothing, (gap > 0 ? -1 : 0) + nothing};
}

log_loss loss_of(const loss_options& loss, double signed_score) {
  switch (loss.kind) {
  case loss_kind::binary_cross_entropy:
    return cross_entropy_of(loss.link, signed_score);
  case loss_kind::hinge:
    return hinge_of(false, signed_score);
  case loss_kind::squared_hinge:
    return hinge_of(true, signed_score);
  default:
    throw std::invalid_argument("loss: not a binary one");
  }
}

} // namespace

batch_sums binary_row(const loss_options& loss, float score, size_t label, float* derivative) {
  const double sign = label == 1 ? 1 : -1;
  const auto [value, slope] = loss_of(loss, sign * static_cast<double>(score));
  *derivative = static_cast<float>(sign * slope);
  const size_t predicted = score > 0 ? 1 : 0;
  return {value, 1, predicted == label ? 1u : 0u, 0};
}

} // namespace troupe::detail
