// A model that is computed segment by segment (segment_chain.hpp): by one actor all of it, in the same
// shapes and order as by several that share it.

#pragma once

#include "models/losses/split_loss.hpp"
#include "models/network/model.hpp"
#include "models/segments/segment_chain.hpp"

#include <span>

namespace troupe {

class chained_model : public model {
public:
  void score_derivatives(std::span<const float> parameters, std::span<const float> features,
                         size_t output, std::span<float> out, workspace& memory) const override;
  batch_sums evaluate(std::span<const float> parameters, const batch& rows,
                      workspace& memory) const override;
  const segment_chain& chain() const override = 0;
  /// Whether a gradient drops values at random.
  virtual bool is_random() const = 0;

protected:
  using model::model;

  /// Hands over a tile at a time: first those that are wanted first, by their middle element.
  batch_sums do_gradient(std::span<const float> parameters, const batch& rows,
                         std::span<float> gradient_out, workspace& memory,
                         const gradient_listener* listener) const override;
  void do_predict(std::span<const float> parameters, const batch& rows, std::span<float> out,
                  workspace& memory) const override;
  /// Runs all segments on N rows. `drops`: also silences units as training does. What backward needs
  /// stays in `memory`, and so do the scores.
  void forward(std::span<const float> parameters, const batch& rows, bool drops,
               workspace& memory) const;
  /// The batch's sums; the derivative by the scores lies behind the last segment.
  batch_sums take_loss(const batch& rows, workspace& memory) const;
  void require_rows(const batch& rows) const;

private:
  /// Takes the loss's derivative down to the first segment; all of them stay in `memory`.
  void descend(std::span<const float> parameters, const batch& rows, workspace& memory) const;
};

// The loss behind a segment chain: of whole scores, or part by part where a last layer is cut by outputs
// (models/losses/split_loss.hpp).

/// The loss of whole scores (R x C), to the batch's sums; its derivative goes behind the last segment.
batch_sums whole_loss(const segment_chain& chain, const loss_options& loss, const batch& rows,
                      workspace& memory);

/// Makes what part `t` of split scores sends: figures (R x figure_words) of a cross-entropy, or a regression's
/// sums over its targets. The part's derivative, or what becomes it, goes behind the last segment.
batch_sums tell_loss(const segment_chain& chain, const loss_options& loss, size_t t,
                     const batch& rows, workspace& memory, std::span<float> figures);

/// The cross-entropy from all parts' figures, in order of parts, with the derivative of part `t`.
batch_sums settle_loss(const segment_chain& chain, const loss_options& loss, size_t t,
                       const batch& rows, workspace& memory, std::span<const part_figures> figures);

} // namespace troupe
