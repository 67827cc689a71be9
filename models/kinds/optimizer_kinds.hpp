// Optimizers that an application adds: the table of their kinds. They work element by element
// (models/optimizers/optimizer.hpp), so that any cut of the parameters into shards gives the same bits.

#pragma once

#include "models/kinds/kind_table.hpp"
#include "models/optimizers/optimizer.hpp"

namespace troupe {

/// A factory hands the options that all rules have in common to optimizer's constructor.
using optimizer_table = kind_table<optimizer, optimizer_options>;

/// The process's; also of threads that come and go.
optimizer_table& optimizers();

/// The kind that was added and its options, with those constants of the job's own (beta1, say) that are
/// options of the kind.
component own_of(const optimizer_options& x);

/// As `with_defaults`, and with every option of a kind that was added; constants that are options of
/// it stand in both places. Throws std::invalid_argument for options that are none.
optimizer_options with_kind_defaults(const optimizer_options& x);

/// Its rule. Throws std::invalid_argument for options that are none, std::logic_error when the factory
/// makes no rule, or not with the options all rules have in common.
std::unique_ptr<optimizer> make_own_optimizer(const optimizer_options& x);

} // namespace troupe
