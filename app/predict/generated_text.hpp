// Text that a model of characters writes: each character is drawn from the probabilities that the model gives after
// those before it.

#pragma once

#include "troupe/app/predict/generation_options.hpp"
#include "troupe/data/model_file/saved_model.hpp"

#include <functional>
#include <string>

namespace troupe {

/// Gives each character, in UTF-8, to `out` when it is there. Where the window begins before the prompt does, its
/// characters are none: the code behind the last one.
///
/// Throws failure(usage) when the model was not trained on a text, gives no probabilities, or the prompt has a
/// character that it does not know.
void generate_text(const saved_model& model, const generation_options& options,
                   const std::function<void(const std::string&)>& out);

} // namespace troupe
