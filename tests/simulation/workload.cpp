#include "tests/simulation/workload.hpp"

#include <array>

namespace troupe::simulation {

namespace {

using namespace std::chrono_literals;

/// 48 training rows in batches of 16, 4 slices: 3 steps an epoch, 20 steps. 70 x 120 + 120
/// parameters make 3 blocks.
job linear_job() {
  job x;
  x.name = "linear";
  x.seed = 3;
  x.data.synthetic = synthetic_kind::regression;
  x.data.rows = 64;
  x.data.features = 70;
  x.data.targets = 120;
  x.data.test_fraction = 0.25;
  x.model.kind = model_kind::linear_regression;
  x.optimizer.learning_rate = 0.05;
  x.optimizer.momentum = 0.5;
  x.training.batch_size = 16;
  x.training.slices = 4;
  x.training.replicas = 2;
  x.training.epochs = 100;
  x.training.steps = 20;
  x.training.evaluate_every = 2;
  x.checkpoint.every_steps = 4;
  return x;
}

/// Two slices for three replicas: one is a spare.
job clipped_job() {
  auto x = linear_job();
  x.name = "clipped";
  x.training.slices = 2;
  x.optimizer.kind = optimizer_kind::adam;
  x.optimizer.momentum = 0;
  x.optimizer.clip_norm = 0.5;
  return x;
}

/// So noisy that the test loss is least at version 9: patience ends it at 15.
job patient_job() {
  auto x = linear_job();
  x.name = "patient";
  x.data.noise = 4;
  x.optimizer.kind = optimizer_kind::adam;
  x.optimizer.momentum = 0;
  x.optimizer.learning_rate = 0.2;
  x.training.patience = 2;
  x.training.evaluate_every = 1;
  return x;
}

job best_job() {
  auto x = patient_job();
  x.name = "best";
  x.data.test_fraction = 0.125;
  x.data.validation_fraction = 0.125;
  x.training.patience.reset();
  x.training.keep_best = true;
  x.optimizer.plateau = {.patience = 1, .factor = 0.5};
  return x;
}

/// Only a stop leaves a checkpoint; the best version goes with it.
job stopped_job() {
  auto x = best_job();
  x.name = "stopped";
  x.checkpoint.every_steps = 0;
  return x;
}

job dropout_job() {
  auto x = linear_job();
  x.name = "dropout";
  x.data.synthetic = synthetic_kind::classification;
  x.data.targets = 1;
  x.data.classes = 5;
  x.data.noise = 0.8;
  x.model.kind = model_kind::neural_network;
  x.model.hidden = {120};
  x.model.dropout = 0.25;
  x.optimizer.kind = optimizer_kind::adam;
  x.optimizer.momentum = 0;
  x.optimizer.learning_rate = 0.01;
  return x;
}

/// One step an epoch, and slices that have no rows in any step. Gradients are taken at points, and shards
/// tell each other sums over their blocks.
job whole_job() {
  auto x = linear_job();
  x.name = "whole";
  x.optimizer = {};
  x.optimizer.kind = optimizer_kind::lbfgs;
  x.optimizer.history_size = 3;
  x.data.rows = 8;
  x.data.test_fraction = 0;
  x.training.batch_size = 0;
  x.training.slices = 11;
  x.training.evaluate_every = 0;
  return x;
}

/// Several slices each, for replicas that add them before they send them; more shards than blocks. Sums are
/// rounded, so that it shows where one is not.
job siblings_job() {
  auto x = linear_job();
  x.name = "siblings";
  x.training.slices = 8;
  x.training.exchange = number_format::bf16;
  return x;
}

/// Units are dropped by the numbers that rows have among those of all holdings.
job home_dropout_job() {
  auto x = linear_job();
  x.name = "home dropout";
  x.model.kind = model_kind::neural_network;
  x.model.hidden = {40};
  x.model.dropout = 0.25;
  x.data.validation_fraction = 0.125;
  x.data.target_scale = target_scale_kind::standardize;
  return x;
}

/// A parameter server owns all parameters, and orders gradients of its trainers.
job kept_job(consistency_kind consistency) {
  auto x = linear_job();
  x.name = "kept";
  x.training.slices.reset();
  x.training.consistency = consistency;
  x.training.evaluate_every = 1;
  if (consistency != consistency_kind::bounded)
    x.training.batch_size = 48; // an epoch is a step: each version has a row, and a hash
  x.optimizer.learning_rate = 0.01;
  if (consistency == consistency_kind::half_synchronous)
    x.training.first_count = 1;
  return x;
}

/// A parameter server merges models that its trainers move on by themselves. Adam has a state, which travels.
job rounds_job() {
  auto x = linear_job();
  x.name = "rounds";
  x.training.slices.reset();
  x.training.strategy = strategy_kind::parameters;
  x.training.members = 4;
  x.training.local_steps = 2;
  x.optimizer.kind = optimizer_kind::adam;
  x.optimizer.momentum = 0;
  return x;
}

/// Each member trains on rows of one holding, the smallest of which has one in each round.
job home_rounds_job() {
  auto x = rounds_job();
  x.name = "home rounds";
  x.training.local_steps = 3;
  x.training.batch_size = 24;
  return x;
}

/// What is evaluated is the average of the models, and the outer rule has a state.
job averaged_job() {
  auto x = rounds_job();
  x.name = "averaged";
  x.merge.outer.kind = outer_kind::sgd;
  x.merge.outer.momentum = 0.5;
  x.merge.averaging = {averaging_kind::exponential, 0.5};
  return x;
}

job elastic_job() {
  auto x = rounds_job();
  x.name = "elastic";
  x.merge.elastic_alpha = 0.1;
  return x;
}

/// A version is a round: of six clients some drop out, and fewer than four are a void round.
job federated_job() {
  auto x = linear_job();
  x.name = "federated";
  x.training.slices.reset();
  x.training.epochs = troupe::training_options{}.epochs;
  x.training.steps.reset();
  x.training.strategy = strategy_kind::federated;
  x.training.batch_size = 2;
  x.optimizer.kind = optimizer_kind::adam;
  x.optimizer.momentum = 0;
  x.federated.clients = 12;
  x.federated.cohort = 6;
  x.federated.rounds = 20;
  x.federated.drop_out = 0.3;
  x.federated.min_count = 4;
  return x;
}

/// Three sums a round, of which the median moves the model.
job groups_job() {
  auto x = federated_job();
  x.name = "groups";
  x.federated.cohort = 9;
  x.federated.groups = 3;
  x.merge.members.rule = merge_rule::median;
  return x;
}

/// 70-40-40-120 in 4 parts: 9,400 parameters in blocks of several parts.
job split_job(size_t tensor, size_t pipeline) {
  auto x = linear_job();
  x.name = "split";
  x.model.kind = model_kind::neural_network;
  x.model.hidden = {40, 40};
  x.model.cuts = 4;
  x.parallel.tensor = tensor;
  x.parallel.pipeline = pipeline;
  x.optimizer.kind = optimizer_kind::adam;
  x.optimizer.momentum = 0;
  x.optimizer.learning_rate = 0.01;
  return x;
}

/// Uncut, so that it has a segment for each of three stages; gradients are clipped by their norm.
job staged_job() {
  auto x = split_job(1, 3);
  x.model.cuts = 1;
  x.model.activation = activation_kind::gelu;
  x.model.dropout = 0.25;
  x.optimizer.clip_norm = 0.5;
  return x;
}

/// Classes are cut, so that parts tell each other figures of the loss.
job split_classes_job() {
  auto x = split_job(2, 2);
  x.data.synthetic = synthetic_kind::classification;
  x.data.targets = 1;
  x.data.classes = 7;
  x.data.noise = 0.8;
  x.model.hidden = {40, 60, 40};
  x.model.cut = {layer_cut::outputs, layer_cut::inputs, layer_cut::none, layer_cut::outputs};
  x.training.patience = 3;
  x.training.evaluate_every = 1;
  return x;
}

/// A chain of layers in two stages of two replicas: an attention by heads, a pair of dense layers by units.
job layers_job() {
  auto x = split_job(2, 2);
  x.name = "layers";
  x.model.kind = job{}.model.kind;
  x.model.hidden.clear();
  x.model.cuts.reset();
  x.model.own = {
    "chain",
    {{"shape", std::vector<int64_t>{7, 10}},
     {"parts", int64_t{4}},
     {"layers",
      std::string{
        "residual { layer-norm; attention heads=5 causal=true }; dense units=30 flatten=true; "
        "residual { layer-norm; dropout rate=0.2; dense units=44 activation=silu; "
        "dense units=30 }; dense units=20 activation=tanh"}}}};
  return x;
}

/// Replicas fetch each segment from its owners, the first of the three twice a step.
job sharded_job() {
  auto x = split_job(1, 1);
  x.model.cuts = 1;
  x.parallel.sharded = true;
  x.training.slices = 6;
  return x;
}

const std::vector<machine_plan> peers{{"a", 1, 1}, {"b", 1, 1}, {"c", 1, 0}, {"d", 1, 1, true}};
const std::vector<machine_plan> servers{{"a", 0, 2}, {"b", 1, 0}, {"c", 2, 0}, {"d", 1, 1, true}};
/// Who owns most neither leads nor computes: it hears of a horizon by the wire alone.
const std::vector<machine_plan> apart{{"a", 1, 0}, {"b", 0, 2}, {"c", 2, 0}, {"d", 1, 1, true}};
const std::vector<machine_plan> three{{"a", 1, 1}, {"b", 1, 1}, {"c", 1, 1}};
const std::vector<machine_plan> many{{"p", 2, 1}, {"q", 1, 2}, {"r", 0, 0, true}};
const std::vector<machine_plan> rich{{"a", 2, 2}, {"b", 2, 2}, {"c", 1, 1}, {"d", 1, 0, true}};
/// x and y are not in the cluster file.
const std::vector<machine_plan> joiners{
  {"a", 1, 1}, {"b", 2, 1}, {"c", 1, 0}, {"x", 0, 0}, {"y", 0, 0, true}};
/// The first process has the parameter server.
const std::vector<machine_plan> trainers{{"a", 1, 1}, {"b", 2, 0}, {"c", 1, 0}, {"d", 1, 0, true}};
const std::vector<machine_plan> servant{{"a", 0, 1}, {"b", 1, 0}, {"c", 2, 0}};
/// It decides; who computes owns spans, too, or some do, and some only own.
const std::vector<machine_plan> owners{{"a", 1, 1}, {"b", 1, 1}, {"c", 1, 1}, {"d", 1, 0, true}};
const std::vector<machine_plan> servants{{"a", 0, 1}, {"b", 2, 1}, {"c", 1, 0}, {"d", 0, 1, true}};
const std::vector<machine_plan> one{{"p", 3, 1}};
/// A group, and one that joins; the first process leads alone.
const std::vector<machine_plan> pair{{"a", 0, 1}, {"b", 1, 0}, {"c", 1, 1}, {"x", 0, 0}};
/// Who computes is one: without it nobody does.
const std::vector<machine_plan> lone{{"a", 0, 2}, {"b", 2, 0}};
const std::vector<machine_plan> stages{{"a", 1, 1}, {"b", 1, 1}, {"c", 1, 0}, {"x", 0, 0}};
/// Two groups of four, two replicas in each process.
const std::vector<machine_plan> grid{
  {"a", 2, 1}, {"b", 2, 0}, {"c", 2, 1}, {"d", 2, 0}, {"x", 0, 0}};
/// A group of four in one process, one in two, and odd ones.
const std::vector<machine_plan> uneven{{"a", 4, 2}, {"b", 3, 1}, {"c", 2, 0}};
/// More replicas than slices, most of them in one process.
const std::vector<machine_plan> idle{{"a", 0, 1}, {"b", 1, 0}, {"c", 3, 0}};
const std::vector<machine_plan> idler{{"a", 1, 1}, {"b", 2, 1}, {"c", 3, 0}, {"x", 0, 0}};

/// The smallest holding is in one process and one that joins, the largest in two, one of them late; the first process leads, and
/// computes nothing without rows.
const std::vector<machine_plan> homes{{"a", 1, 1},           {"b", 1, 1, false, 0},
                                      {"c", 2, 0, false, 2}, {"d", 1, 1, false, 1},
                                      {"e", 1, 0, true, 2},  {"x", 0, 0, false, 0}};
const std::vector<machine_plan> other_homes{
  {"c", 1, 1, false, 2}, {"b", 2, 1, false, 0}, {"d", 1, 0, false, 1}, {"a", 0, 2, true}};

const std::vector<machine_plan> home_trainers{{"a", 0, 1},
                                              {"b", 1, 0, false, 1},
                                              {"c", 1, 0, false, 2},
                                              {"d", 2, 0, false, 0},
                                              {"e", 1, 0, true, 2}};
const std::vector<machine_plan> other_trainers{
  {"c", 1, 1, false, 2}, {"b", 2, 0, false, 1}, {"d", 1, 0, false, 0}};

/// A stop takes a round trip only. So that something can befall it, somebody stands still
/// meanwhile.
void trouble_stop(std::vector<fault>& out, dice& random) {
  const auto stop = out.front();
  const auto freeze_length = random.between(300ms, 4s);
  out.push_back(
    {fault_kind::short_freeze, stop.at_version, stop.wait, freeze_length, random.bits()});
  static constexpr std::array kinds{fault_kind::replica_crash, fault_kind::shard_crash,
                                    fault_kind::late_join, fault_kind::link_reset};
  const auto kind = kinds[random.below(kinds.size())];
  const auto wait = stop.wait + random.between(0ms, 500ms);
  out.push_back({kind, stop.at_version, wait, random.between(1ms, 4s), random.bits()});
}

} // namespace

size_t workload_of(uint64_t seed, workload_set set) {
  const auto turn = seed / drawn_fault_count;
  constexpr auto split_begin = drawn_workload_count + kept_workload_count;
  switch (set) {
  case workload_set::kept:
    return drawn_workload_count + turn % kept_workload_count;
  case workload_set::split:
    return split_begin + turn % split_workload_count;
  case workload_set::federated:
    return split_begin + split_workload_count + turn % federated_workload_count;
  case workload_set::home:
    return split_begin + split_workload_count + federated_workload_count +
           turn % home_workload_count;
  case workload_set::spans:
    return workloads().size() - span_workload_count + turn % span_workload_count;
  case workload_set::whole:
    break;
  }
  return turn % drawn_workload_count;
}

std::string to_string(fault_kind x) {
  static constexpr std::array<const char*, fault_kind_count> names{
    "replica crash", "shard crash",       "director crash",    "short freeze", "long freeze",
    "partition",     "lasting partition", "one-way partition", "link reset",   "corruption",
    "message loss",  "message echo",      "hung threads",      "other file",   "slow machine",
    "late join",     "disk full",         "disk failure",      "torn write",   "disk rot",
    "disk loss",     "stale director",    "stop and resume",   "notice"};
  return names.at(static_cast<size_t>(x));
}

const std::vector<workload>& workloads() {
  using enum consistency_kind;
  constexpr auto at_end = agreement::end;
  static const std::vector<workload> all{
    {"peer", linear_job(), peers, many},
    {"server", linear_job(), servers, one},
    {"clip", clipped_job(), three, servers},
    {"patience", patient_job(), three, one},
    {"best", best_job(), apart, peers, false, {36'000, 3000}},
    {"dropout", dropout_job(), peers, many, false, {16'000, 2000}},
    {"whole", whole_job(), three, servers},
    {"siblings", siblings_job(), rich, many, true, {18'000, 1500}},
    {"joiners", linear_job(), joiners, joiners},
    {"idle", clipped_job(), idle, idler},
    {"diskless", linear_job(), joiners, peers, false, {}, true},
    {"rounds", rounds_job(), trainers, servant, false, {}, false, agreement::result},
    {"elastic", elastic_job(), servant, trainers, false, {90'000, 3000}, false, agreement::result},
    {"asynchronous", kept_job(asynchronous), trainers, servant, false, {}, false, at_end},
    {"bounded", kept_job(bounded), servant, trainers, false, {18'000, 1500}, false, at_end},
    {"first", kept_job(half_synchronous), trainers, trainers, false, {}, false, at_end},
    {"tensor", split_job(2, 1), pair, stages, true, {18'000, 1500}},
    {"pipeline", staged_job(), stages, grid, false, {18'000, 1500}},
    {"grid", split_job(2, 2), grid, uneven, true, {18'000, 1500}},
    {"classes", split_classes_job(), uneven, grid},
    {"sharded", sharded_job(), stages, many, true, {18'000, 1500}},
    {"federated", federated_job(), trainers, servant, false, {}, false, agreement::result},
    {"groups", groups_job(), servant, trainers, false, {90'000, 3000}, false, agreement::result},
    {"home", linear_job(), homes, other_homes, false, {}, false, agreement::every_version, true},
    {"home dropout",
     home_dropout_job(),
     other_homes,
     homes,
     false,
     {16'000, 2000},
     false,
     agreement::every_version,
     true},
    {"home siblings",
     siblings_job(),
     homes,
     homes,
     true,
     {18'000, 1500},
     false,
     agreement::every_version,
     true},
    {"home rounds",
     home_rounds_job(),
     home_trainers,
     other_trainers,
     false,
     {},
     false,
     agreement::result,
     true},
    {"home asynchronous",
     kept_job(asynchronous),
     other_trainers,
     home_trainers,
     false,
     {},
     false,
     at_end,
     true},
    {"lone", sharded_job(), lone, stages, true, {18'000, 1500}},
    {"layers", layers_job(), grid, uneven, true, {18'000, 1500}},
    {"stopped", stopped_job(), peers, many, false, {18'000, 1500}},
    {"spans", averaged_job(), owners, servant, false, {}, false, agreement::result},
    {"elastic spans",
     elastic_job(),
     servants,
     owners,
     false,
     {90'000, 3000},
     false,
     agreement::result},
    {"asynchronous spans", kept_job(asynchronous), owners, servants, false, {}, false, at_end},
    {"first spans",
     kept_job(half_synchronous),
     servants,
     owners,
     false,
     {18'000, 1500},
     false,
     at_end},
    {"federated spans", federated_job(), owners, servants, false, {}, false, agreement::result},
    {"group spans",
     groups_job(),
     servants,
     trainers,
     false,
     {90'000, 3000},
     false,
     agreement::result},
  };
  return all;
}

std::vector<fault> draw_faults(uint64_t seed, uint64_t last_version, dice& random) {
  std::vector<fault> result;
  const auto count = 1 + random.below(4);
  for (size_t i = 0; i < count; ++i) {
    fault x;
    x.kind =
      static_cast<fault_kind>(i == 0 ? seed % drawn_fault_count : random.below(drawn_fault_count));
    // Most hit while work is done; some while nothing has begun, or while others are mended.
    x.at_version = random.below(last_version);
    x.wait = random.chance(70) ? random.between(0ms, 5ms) : random.between(0s, 8s);
    const bool is_long = x.kind == fault_kind::long_freeze ||
                         (x.kind == fault_kind::hung_threads && random.chance(50)) ||
                         (random.chance(50) && (x.kind == fault_kind::partition ||
                                                x.kind == fault_kind::one_way_partition));
    x.length = is_long             ? random.between(6s, 12s)
               : random.chance(50) ? random.between(1ms, 300ms)
                                   : random.between(300ms, 4s);
    if (is_long && x.kind == fault_kind::hung_threads)
      x.length *= 4; // more than 3 x lost_after: it is taken out
    x.choice = random.bits();
    // Trouble comes in pairs: while others still see to the first.
    if (i > 0 && random.chance(35)) {
      x.at_version = result.back().at_version;
      x.wait = result.back().wait + random.between(0ms, random.chance(50) ? 10ms : 400ms);
    }
    result.push_back(x);
  }
  if (result.front().kind == fault_kind::stop_and_resume && random.chance(60))
    trouble_stop(result, random);
  return result;
}

std::vector<fault> draw_notices(uint64_t last_version, dice& random) {
  std::vector<fault> result;
  const auto count = 1 + random.below(4);
  for (size_t i = 0; i < count; ++i) {
    fault x{fault_kind::notice, random.below(last_version), random.between(0ms, 20ms),
            random.between(1ms, 3s), random.bits()};
    if (i > 0 && random.chance(50))
      x.at_version = result.back().at_version;
    result.push_back(x);
  }
  return result;
}

} // namespace troupe::simulation
