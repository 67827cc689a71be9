// Losses of scores that are cut in parts: each part has the scores of some classes or targets, and
// none has them all.
//
// A regression's loss is a sum over targets: each part adds its own, and the sums are added along the
// canonical tree over the parts. The cross-entropy needs the softmax's denominator over all classes.
// Of each row a part sends the others four words, never its scores z:
//
//   m_t = max z, the class where it is first reached, s_t = sum of e^(z - m_t), z of the label if the
//   label is the part's
//
// With these of all parts, m the highest m_t and S the sum of s_t e^(m_t - m) along the tree,
//
//   loss = log S - (z_label - m)      derivative = e^(z - m_t) e^(m_t - m) / S - [label]
//
// A part whose scores are all -infinity sends s_t = 0. Every part computes the row's loss, with the
// same bits.
//
// Shapes: N rows, C scores a row, U of them a part's. Parts without units do not exist.

#pragma once

#include "models/base/batch.hpp"
#include "models/base/index_range.hpp"
#include "models/losses/loss.hpp"

#include <cstddef>
#include <span>

namespace troupe {

/// Words a row that a part sends the others: none for a regression.
inline size_t figure_words(loss_kind kind) {
  return is_classification(kind) ? 4 : 0;
}

/// Scores of the units [begin, end) of C, packed (N x U).
struct score_part {
  index_range units;
  size_t score_count = 0; ///< C
  std::span<float> scores;
};

/// A part's figures of its rows (N x figure_words).
struct part_figures {
  index_range units; ///< empty: the part does not exist
  std::span<const float> words;
};

/// A part of a regression: its sums, and its derivative over the scores. The samples are counted by
/// the part that has unit 0. Throws std::invalid_argument for shapes that do not fit.
batch_sums split_regression(const loss_options& loss, const batch& rows, const score_part& part);

/// A part of a cross-entropy, before it knows of the others: fills `figures` (N x 4), and leaves
/// e^(z - m_t) over the scores. Throws std::invalid_argument for shapes that do not fit, and for labels that
/// are none of the C classes.
void tell_figures(const batch& rows, const score_part& part, std::span<float> figures);

/// The cross-entropy of the rows from all parts' figures, in order; turns the scores of part `own`, after tell_figures,
/// into the derivative. A missing part only gets the sums. Throws std::invalid_argument for shapes that do not fit.
batch_sums split_cross_entropy(const loss_options& loss, const batch& rows, size_t own,
                               const score_part& part, std::span<const part_figures> figures);

} // namespace troupe
