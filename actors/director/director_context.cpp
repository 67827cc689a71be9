#include "actors/director/director_context.hpp"

#include "actors/run/job_data.hpp"
#include "actors/run/private_run.hpp"
#include "actors/run/process.hpp"
#include "coordinators/job/private_job.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/step/placement.hpp"
#include "data/table/dataset.hpp"
#include "data/text/digest.hpp"
#include "models/base/arithmetic.hpp"
#include "models/whole_model/whole_model_rule.hpp"

namespace troupe {

director_options director_options_of(const job& resolved, const prepared_data& data,
                                     const model& network) {
  const auto shape = shape_of(data);
  director_options options;
  options.rule.plan = timeline_of(resolved, shape);
  options.rule.stop = stop_rule_of(resolved);
  options.rule.plateau = resolved.optimizer.plateau;
  options.rule.rows = {shape.test_row_count, shape.validation_row_count};
  options.rule.keep_best = *resolved.training.keep_best;
  options.rule.checkpoint_every = resolved.checkpoint.every_steps;
  options.rule.hashed_blocks = block_count(network.layout().size());
  options.membership.slice_count = *resolved.training.slices;
  options.membership.parameter_count = network.layout().size();
  options.membership.has_one_owner =
    scope_of(resolved.optimizer.kind) == optimizer_scope::whole_model &&
    !make_whole_model_rule(resolved.optimizer, network.layout())->sum_count();
  options.membership.split = split_of(resolved, network.chain());
  options.optimizer = resolved.optimizer;
  options.classification = shape.classification;
  options.metrics = std::make_shared<const metric_set>(metrics_of(resolved, shape));
  options.test_total_squares = total_squares(data.test);
  options.validation_total_squares = total_squares(data.validation);
  options.parameter_count = network.layout().size();
  options.slot_count = slot_count_of(resolved, network.layout());
  const auto identity = identity_of(resolved, data);
  options.job_sha256 = sha256_hex(std::as_bytes(std::span{identity}));
  options.hides_work = is_private(resolved);
  options.arithmetic = arithmetic_name;
  return options;
}

} // namespace troupe
