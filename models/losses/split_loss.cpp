#include "models/losses/split_loss.hpp"

#include "models/base/require.hpp"
#include "models/device/device_queue.hpp"
#include "models/losses/row_losses.hpp"
#include "models/math/elementary.hpp"
#include "models/math/tree_accumulator.hpp"

#include <bit>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

namespace troupe {

namespace {

using detail::checked_label;

/// A part's figures of a row: four words, the best class as the bits of one.
struct row_figures {
  float maximum;
  uint32_t best;
  float total;
  float label_score; ///< if the label is the part's

  static row_figures read(std::span<const float> words, size_t row) {
    return {words[row * 4], std::bit_cast<uint32_t>(words[row * 4 + 1]), words[row * 4 + 2],
            words[row * 4 + 3]};
  }
  void write(std::span<float> words, size_t row) const {
    words[row * 4] = maximum;
    words[row * 4 + 1] = std::bit_cast<float>(best);
    words[row * 4 + 2] = total;
    words[row * 4 + 3] = label_score;
  }
};

constexpr size_check require_split_size{"split loss"};

/// e^(-infinity - -infinity) would not be a number.
float reference_of(float maximum) {
  return maximum == -std::numeric_limits<float>::infinity() ? 0.0f : maximum;
}

/// The row's highest score among those of all parts: the first one.
row_figures best_of(std::span<const part_figures> figures, size_t row) {
  std::optional<row_figures> best;
  for (const auto& part : figures) {
    if (part.units.empty())
      continue;
    const auto told = row_figures::read(part.words, row);
    if (!best || told.maximum > best->maximum)
      best = told;
  }
  return best.value();
}

/// The sum of e^(z - maximum) over all classes.
float total_of(std::span<const part_figures> figures, size_t row, float maximum) {
  return *sum_along_tree<float>(0, figures.size(), [&](size_t t) -> std::optional<float> {
    if (figures[t].units.empty())
      return std::nullopt;
    const auto told = row_figures::read(figures[t].words, row);
    return told.total * elementary::exp(told.maximum - maximum);
  });
}

float score_of_label(std::span<const part_figures> figures, size_t row, size_t label) {
  for (const auto& part : figures)
    if (part.units.contains(label))
      return row_figures::read(part.words, row).label_score;
  return 0;
}

/// With a copy of a device's scores, which it takes back.
template <class Use>
batch_sums on_processor(score_part part, const Use& use) {
  batch_sums result;
  device_of(part.scores)->on_processor(part.scores, [&](std::span<float> copy) {
    part.scores = copy;
    result = use(part);
  });
  return result;
}

} // namespace

batch_sums split_regression(const loss_options& loss, const batch& rows, const score_part& part) {
  const auto width = part.units.size();
  require_split_size("scores", rows.row_count * width, part.scores.size());
  require_split_size("targets", rows.row_count * part.score_count, rows.targets.size());
  if (!loss.class_weights.empty())
    throw std::invalid_argument("split loss: class weights, but targets that are no classes");
  detail::require_weights(rows);
  if (device_of(part.scores))
    return on_processor(part,
                        [&](const score_part& copy) { return split_regression(loss, rows, copy); });
  std::vector<float> room;
  const auto targets = detail::compared_targets(loss.scale, rows.targets, part.score_count, room);
  const auto squares = loss.scale.is_none()
                         ? 0
                         : detail::squared_errors(loss, part.scores, width, rows.targets,
                                                  part.units.begin, part.score_count);
  batch_sums sums;
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto own = part.scores.subspan(i * width, width);
    auto row = detail::regression_row(
      loss, own, targets.subspan(i * part.score_count + part.units.begin, width), part.score_count,
      own.data());
    detail::apply_weight(loss, rows, i, 0, row, own);
    sums = sums + row;
  }
  if (!loss.scale.is_none())
    sums.squared_error_sum = squares;
  if (part.units.begin > 0)
    sums.sample_count = 0;
  return sums;
}

void tell_figures(const batch& rows, const score_part& part, std::span<float> figures) {
  const auto width = part.units.size();
  require_split_size("scores", rows.row_count * width, part.scores.size());
  require_split_size("figures", rows.row_count * 4, figures.size());
  require_split_size("labels", rows.row_count, rows.labels.size());
  if (device_of(part.scores)) {
    on_processor(part, [&](const score_part& copy) {
      tell_figures(rows, copy, figures);
      return batch_sums{};
    });
    return;
  }
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto label = checked_label(rows, i, part.score_count);
    const auto own = part.scores.subspan(i * width, width);
    const auto best = detail::index_of_maximum(own);
    row_figures told{own[best], static_cast<uint32_t>(part.units.begin + best), 0, 0};
    if (part.units.contains(label))
      told.label_score = own[label - part.units.begin];
    told.total = detail::exponentials(own, reference_of(told.maximum), own.data());
    told.write(figures, i);
  }
}

batch_sums split_cross_entropy(const loss_options& loss, const batch& rows, size_t own,
                               const score_part& part, std::span<const part_figures> figures) {
  const auto width = part.units.size();
  require_split_size("scores", rows.row_count * width, part.scores.size());
  for (const auto& told : figures)
    require_split_size("figures", told.units.empty() ? 0 : rows.row_count * 4, told.words.size());
  if (!loss.class_weights.empty())
    require_split_size("class weights", part.score_count, loss.class_weights.size());
  detail::require_weights(rows);
  if (device_of(part.scores))
    return on_processor(part, [&](const score_part& copy) {
      return split_cross_entropy(loss, rows, own, copy, figures);
    });
  batch_sums sums;
  for (size_t i = 0; i < rows.row_count; ++i) {
    const auto label = checked_label(rows, i, part.score_count);
    const auto best = best_of(figures, i);
    const float total = total_of(figures, i, best.maximum);
    const double score = score_of_label(figures, i, label);
    batch_sums row{elementary::log(static_cast<double>(total)) -
                     (score - static_cast<double>(best.maximum)),
                   1, best.best == label ? 1u : 0u, 0};
    const auto derivative = part.scores.subspan(i * width, width);
    if (width > 0) {
      const float told = row_figures::read(figures[own].words, i).maximum;
      const float factor = elementary::exp(told - best.maximum) / total;
      for (auto& value : derivative)
        value *= factor;
    }
    if (part.units.contains(label))
      derivative[label - part.units.begin] -= 1;
    detail::apply_weight(loss, rows, i, label, row, derivative);
    sums = sums + row;
  }
  return sums;
}

} // namespace troupe
