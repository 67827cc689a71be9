// A model that is computed segment by segment (segment_chain.hpp): by one actor all of it, in the same
// shapes and order as by several that share it.

#pragma once

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

} // namespace troupe
