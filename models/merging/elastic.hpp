// Elastic averaging: children and a centre that pull at each other, without becoming one.
//
// Zhang, Choromanska & LeCun 2015, "Deep learning with elastic averaging SGD", eq. 5 and 6: with
// d_i = theta_i - centre, all taken at the same centre,
//   theta_i' = theta_i - alpha d_i;   centre' = centre + alpha sum_i d_i
// Children may differ and so look around; the centre is the model. The paper's beta is n alpha: the
// centre's share of the way to the children's mean, stable below 1 (they use 0.9).

#pragma once

#include "troupe/models/merging/average.hpp"

#include <span>
#include <vector>

namespace troupe {

struct elastic_result {
  std::vector<float> centre;              ///< P
  std::vector<std::vector<float>> locals; ///< n x P, in the order given
};

/// Sums run in double in the order given. One child alone is the asynchronous form (section 3.2 of
/// the paper). Throws std::invalid_argument as weighted_sum does, and unless 0 < alpha <= 1.
elastic_result elastic_average(std::span<const float> centre, model_list locals, double alpha);

} // namespace troupe
