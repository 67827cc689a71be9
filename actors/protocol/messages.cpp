#include "actors/protocol/messages.hpp"

#include "actors/protocol/wire_fields.hpp"

namespace troupe {

TROUPE_INSPECT(metric_sums, plain(f, "troupe.metric_sums", x.places, x.values))

TROUPE_INSPECT(traffic, f(x.bytes_sent, x.bytes_early, x.resends))

TROUPE_INSPECT(index_range, f(x.begin, x.end))

TROUPE_INSPECT(client_quantiles, inspect_fields(f, x.p10, x.p50, x.p90, x.most))

TROUPE_INSPECT(round_record,
               inspect_fields(f, x.round, x.invited, x.dropped, x.late, x.surplus, x.refused,
                              x.counted, x.rows, x.loss, x.losses, x.norms, x.is_void, x.epsilon))

TROUPE_INSPECT(privacy_totals, inspect_fields(f, x.releases, x.epsilon, x.delta, x.noise,
                                              x.sampling_rate, x.clip_norm))

TROUPE_INSPECT(batch_sums,
               inspect_fields(f, x.loss_sum, x.sample_count, x.correct_count, x.squared_error_sum))

TROUPE_INSPECT(contribution,
               plain(f, "troupe.contribution", x.step, x.node, x.first_element, x.gradient_sum,
                     x.sums, x.replica, x.term, x.is_begun, x.computed))

TROUPE_INSPECT(block_sums, plain(f, "troupe.block_sums", x.step, x.first_block, x.numbers, x.term))

TROUPE_INSPECT(parameter_span,
               plain(f, "troupe.parameter_span", x.term, x.version, x.shard, x.values, x.point))

TROUPE_INSPECT(horizon, plain(f, "troupe.horizon", x.rule.version, x.rule.final, x.rule.is_cut,
                              x.rule.reductions, x.row_version))

TROUPE_INSPECT(replica_entry, f(x.actor, x.slices, x.name, x.segments, x.parts))

TROUPE_INSPECT(shard_entry, f(x.actor, x.blocks))

TROUPE_INSPECT(trainer_entry, f(x.actor, x.name, x.life))

TROUPE_INSPECT(view, plain(f, "troupe.view", x.term, x.number, x.start_version, x.index, x.restarts,
                           x.director, x.relay, x.wired, x.replicas, x.shards, x.trainers,
                           x.is_careful, x.copy_every))

TROUPE_INSPECT(evaluation,
               plain(f, "troupe.evaluation", x.term, x.version, x.first_chunk, x.chunks, x.metrics))

TROUPE_INSPECT(hash_sum, f(x.high, x.low))

TROUPE_INSPECT(version_hash, f(x.parameters, x.state))

TROUPE_INSPECT(span_hash, plain(f, "troupe.span_hash", x.term, x.version, x.blocks, x.hash))

TROUPE_INSPECT(replica_name, f(x.process, x.index))

TROUPE_INSPECT(trainer_statistics,
               inspect_fields(f, x.result_count, x.last_count, x.last_by, x.last_by_max, x.waited,
                              x.computed, x.network, x.applied_count, x.discarded_count,
                              x.refused_count, x.lost_count, x.lags))

TROUPE_INSPECT(named_statistics, f(x.who, x.figures, x.partition))

TROUPE_INSPECT(boundary_wait, inspect_fields(f, x.whom, x.count, x.time, x.longest))

TROUPE_INSPECT(boundary_waits, inspect_fields(f, x.computed, x.waits))
TROUPE_INSPECT(computed_slices, inspect_fields(f, x.count, x.time))

TROUPE_INSPECT(client_totals,
               inspect_fields(f, x.rounds, x.void_rounds, x.updates, x.refused, x.rows, x.privacy))

TROUPE_INSPECT(trainer_figures, plain(f, "troupe.trainer_figures", x.barrier_count, x.replicas,
                                      x.left_out, x.clients))

TROUPE_INSPECT(training_report, plain(f, "troupe.training_report", x.term, x.version, x.sums,
                                      x.is_row, x.is_mark, x.seconds, x.notice, x.rounds))

TROUPE_INSPECT(not_finite_report, plain(f, "troupe.not_finite_report", x.term, x.step, x.what,
                                        x.has_slice, x.slice, x.replica, x.problem))

TROUPE_INSPECT(replica_status, plain(f, "troupe.replica_status", x.version, x.sample_count,
                                     x.steps_executed, x.waits, x.computed))

TROUPE_INSPECTED(history_row) {
  auto figures = figures_by_name(x);
  return inspect_fields(f, x.epoch, x.steps, x.hash, figures,
                        when_loaded([&] { set_figures(x, figures); }));
}
TROUPE_INSTANTIATE_INSPECT(history_row)

TROUPE_INSPECT(training_progress,
               plain(f, "troupe.training_progress", x.epoch, x.epochs, x.step, x.steps_in_epoch,
                     x.version, x.seconds, x.seconds_of_epoch, x.train_loss, x.train_accuracy,
                     x.finished_epoch, x.notice, x.rounds))

TROUPE_INSPECT(recovery_figures, plain(f, "troupe.recovery_figures", x.lives, x.views, x.joins,
                                       x.leaves, x.replicas_lost, x.rollbacks, x.steps_again,
                                       x.seconds_elapsed, x.seconds_again, x.seconds_still))

TROUPE_INSPECT(training_finished,
               plain(f, "troupe.training_finished", x.version, x.reason, x.problem, x.failed,
                     x.failure, x.where, x.hint, x.end_version, x.seconds, x.history, x.reductions,
                     x.replicas, x.is_best, x.nodes, x.replicas_here, x.spans,
                     static_cast<recovery_figures&>(x), x.wire, x.figures))

} // namespace troupe
