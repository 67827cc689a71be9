// Models that an application adds: the table of their kinds.

#pragma once

#include "models/kinds/kind_table.hpp"
#include "models/network/model.hpp"

#include <cstddef>

namespace troupe {

/// What a model is made for. It must have these features and outputs, and this loss.
struct model_input {
  size_t features = 0; ///< F, >= 1, of dense rows
  size_t outputs = 0;  ///< C, >= 1: classes or targets; 1 for a binary loss
  loss_options loss;   ///< with its constants and class weights
};

using model_table = kind_table<model, model_input>;

/// The process's; also of threads that come and go.
model_table& models();

/// The model of a kind that was added, as a job wants it. Throws std::invalid_argument for options that
/// are none, std::logic_error when what the factory makes does not fit `input` or has no parameters.
std::unique_ptr<model> make_own_model(const component& x, const model_input& input);

} // namespace troupe
