// Losses that an application adds: the table of their kinds.

#pragma once

#include "models/kinds/added_kinds.hpp"
#include "models/losses/loss.hpp"

namespace troupe {

using loss_table = added_kinds<loss_kind, own_loss>;

/// The process's; also of threads that come and go.
loss_table& losses();

} // namespace troupe
