// Gauss-Newton for small regressions: a step that treats the model as linear around its parameters.
// With damping it is the method of Levenberg (1944) and Marquardt (1963).

#pragma once

#include "models/base/batch.hpp"
#include "models/network/model.hpp"

#include <span>

namespace troupe {

struct gauss_newton_options {
  double damping = 0; ///< lambda >= 0: 0 is Gauss-Newton, more is shorter and nearer to descent
};

/// next = parameters - (J^T W J + lambda I)^-1 J^T W r, with residuals r = s - y over the batch's N
/// rows and T outputs, J (N T x P) the derivatives of the scores and W the rows' weights. In double but for the
/// derivatives themselves, which are the model's; sums in the order of the rows. For a linear model
/// one undamped step is least squares. The model must be one without dropout.
///
/// Costs N T P^2 / 2 + P^3 / 6 multiplications and P^2 doubles: for hundreds of parameters.
/// Returns the batch's sums at `parameters`. Throws std::invalid_argument when the model is not
/// trained with the squared loss, when shapes differ, and when J^T J + lambda I has no inverse.
batch_sums gauss_newton_step(const model& network, const gauss_newton_options& options,
                             const batch& rows, std::span<const float> parameters,
                             std::span<float> next, workspace& memory);

} // namespace troupe
