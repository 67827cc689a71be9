#include "models/losses/device_loss.hpp"

#include "models/device/device_queue.hpp"
#include "models/losses/loss_elements.hpp"
#include "models/losses/row_losses.hpp"
#include "models/math/lanes.hpp"

#include <bit>
#include <cstring>
#include <vector>

namespace troupe::detail {

namespace {

/// What a kernel finds out about a row (models/device/kernels.cl).
struct row_figures {
  double loss;
  double squared_error;
  double is_correct;
};

/// The numbers of losses that kernels know: regressions and links in the order of their lists, then the hinges.
uint64_t number_of(const loss_options& loss) {
  uint64_t next = 0;
#define TROUPE_NUMBER(name)                                                                        \
  if (loss.kind == loss_kind::name)                                                                \
    return next;                                                                                   \
  ++next;
  TROUPE_REGRESSIONS(TROUPE_NUMBER)
#undef TROUPE_NUMBER
  const auto links = name_table<link_kind>::entries.size();
  return loss.kind == loss_kind::hinge           ? links
         : loss.kind == loss_kind::squared_hinge ? links + 1
                                                 : static_cast<uint64_t>(loss.link);
}

/// Of the scores: classes as bits, or targets; then what rows count, if they do.
std::vector<float> words_of(const loss_options& loss, const batch& rows, size_t score_count) {
  std::vector<float> result;
  if (is_classification(loss.kind))
    for (size_t i = 0; i < rows.row_count; ++i)
      result.push_back(std::bit_cast<float>(
        static_cast<uint32_t>(checked_label(rows, i, is_binary(loss.kind) ? 2 : score_count))));
  else
    result.assign(rows.targets.begin(), rows.targets.end());
  if (const auto weights = row_weights(loss, rows); !weights.empty())
    result.insert(result.end(), weights.begin(), weights.end());
  return result;
}

batch_sums sum_of(const loss_options& loss, const batch& rows, size_t score_count,
                  std::span<const row_figures> found) {
  const auto weights = row_weights(loss, rows);
  if (!is_classification(loss.kind) && score_count == 1 && rows.weights.empty()) // rows are lanes
    return {lane_sum<double>(found.size(), [&](size_t i) { return found[i].loss; }), found.size(),
            0, lane_sum<double>(found.size(), [&](size_t i) { return found[i].squared_error; })};
  batch_sums sums;
  for (size_t i = 0; i < found.size(); ++i) {
    batch_sums row{found[i].loss, 1, found[i].is_correct != 0 ? 1u : 0u, found[i].squared_error};
    if (!weights.empty())
      row.loss_sum *= weights[i];
    sums = sums + row;
  }
  return sums;
}

} // namespace

batch_sums evaluate_on_device(const loss_options& loss, const batch& rows,
                              std::span<const float> scores, size_t score_count,
                              std::span<float> derivative) {
  auto& device = *device_of(scores);
  const auto words = words_of(loss, rows, score_count);
  const auto sent = device.staged(words);
  const auto answers = device.result_room(rows.row_count * sizeof(row_figures) / sizeof(float));
  const bool is_class = is_classification(loss.kind);
  const auto target_count = is_class ? rows.row_count : rows.targets.size();
  const uint64_t has_weights = words.size() > target_count ? 1 : 0;
  const auto own = sent.first(target_count);
  const auto weights = has_weights != 0 ? sent.subspan(target_count) : own;
  if (!is_class)
    device.run("regression", rows.row_count,
               {scores, derivative, own, weights, answers, score_count, number_of(loss),
                loss.huber_threshold, has_weights});
  else if (is_binary(loss.kind))
    device.run("binary_loss", rows.row_count,
               {scores, derivative, own, weights, answers, number_of(loss), has_weights});
  else
    device.run("cross_entropy", rows.row_count,
               {scores, derivative, own, weights, answers, score_count, has_weights});
  const auto results = device.copy_of(answers);
  std::vector<row_figures> found(rows.row_count);
  std::memcpy(found.data(), results.data(), results.size() * sizeof(float));
  return sum_of(loss, rows, score_count, found);
}

} // namespace troupe::detail
