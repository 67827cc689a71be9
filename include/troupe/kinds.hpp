// Models, layers, optimizers and metrics of an application's own: a class, a name and its options, in the table that
// jobs are read with. Losses, activations, schedules, merge rules and rules that end training: a struct of functions,
// likewise. `verify_model` and its kin check what they promise.
//
//   troupe::models().add<quadratic_options>("quadratic", {1, "scores with products of features"}, {...}, make);
//
// Threads: add kinds once, before the first job is read. A run calls one object from several threads.
// Errors: std::invalid_argument for a name or option that exists already.

#pragma once

#include "models/base/random.hpp"
#include "models/base/tensor.hpp"
#include "models/kinds/added_tables.hpp"
#include "models/kinds/chain_kind.hpp"
#include "models/kinds/expressions.hpp"
#include "models/kinds/metric_kinds.hpp"
#include "models/kinds/model_kinds.hpp"
#include "models/kinds/optimizer_kinds.hpp"
#include "models/losses/evaluate_loss.hpp"
#include "models/math/elementary.hpp"
#include "models/network/neural_network.hpp"
#include "models/verify/verify.hpp"
