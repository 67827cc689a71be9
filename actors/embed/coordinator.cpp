#include "actors/embed/coordinator.hpp"

#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/training_modes.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/text/checksum.hpp"
#include "models/base/arithmetic.hpp"
#include "models/base/own_copy.hpp"
#include "models/kinds/optimizer_kinds.hpp"

#include <algorithm>
#include <random>
#include <span>
#include <utility>

namespace troupe {

namespace {

constexpr uint64_t lives_of_a_coordinator = uint64_t{1} << 32;

/// A watcher that has not taken in a model in this time gets the next one all the same.
constexpr milliseconds watcher_deadline{60'000};

/// Lives of one coordinator are none of another's.
uint64_t draw_incarnation() {
  std::random_device random;
  return random() * lives_of_a_coordinator;
}

const_buffer values_of(const stored_tensor& tensor) {
  const buffer result{tensor.size()};
  tensor.read(0, result.values());
  return result;
}

} // namespace

coordinator_actor::behavior_type
coordinator_state::make_behavior(const coordinator_options& options) {
  options_ = options;
  rule_.emplace(options.members, options.initial, draw_incarnation());
  if (options.publish_every == 0)
    throw std::invalid_argument("coordinator: publish_every must be at least 1");
  if (options_.store)
    restore();
  saved_version_ = published_version_ = rule_->version();
  self_->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  self_->delayed_send(self_, coordinator_tick_interval, atom::tick_v);
  return {
    [this](atom::join, const std::string& who, const caf::actor& member) {
      return on_join(who, member);
    },
    [this](atom::pull, const membership& who) { return on_pull(who); },
    [this](const member_update& news) { return on_update(news); },
    [this](atom::watch, const model_listener_actor& watcher) { on_watch(watcher); },
    [this](atom::pull) { return main_model(); },
    [this](atom::save) { return on_save(); },
    [this](atom::stop) { return on_stop(); },
    [this](atom::tick) { on_tick(); },
  };
}

// ---- Members ----

caf::result<membership> coordinator_state::on_join(const std::string& who,
                                                   const caf::actor& member) {
  constexpr size_t name_bytes_max = 256;
  if (who.empty() || who.size() > name_bytes_max || !member)
    return caf::make_error(protocol_error::refused, "a member has a name of 1 to 256 bytes, and is "
                                                    "an actor");
  const auto here = std::ranges::find_if(
    members_, [&](const auto& entry) { return rule_->name_of(entry.first) == who; });
  if (here != members_.end() && here->second.second != member.address())
    return caf::make_error(protocol_error::name_in_use,
                           who + " is here: give each member a name of its own");
  const auto joined = rule_->join(who, self_->clock().now());
  if (!joined)
    return caf::make_error(protocol_error::refused, "there are " +
                                                      std::to_string(options_.members.members_max) +
                                                      " members already (members_max)");
  if (here == members_.end())
    self_->monitor(member);
  members_[joined->member] = {*joined, member.address()};
  settle();
  return *joined;
}

caf::result<member_work> coordinator_state::on_pull(const membership& who) {
  const auto now = self_->clock().now();
  auto task = rule_->pull(who, now);
  if (task.verdict == work_verdict::over)
    settle();
  if (task.verdict != work_verdict::wait)
    return work_of(std::move(task));
  auto& mine = waiting_[who.member];
  if (mine.promise.pending()) // an earlier question of the same member
    mine.promise.deliver(work_of(std::move(task)));
  mine = {who, now + options_.wait_max, self_->make_response_promise<member_work>()};
  return mine.promise;
}

update_report coordinator_state::on_update(const member_update& news) {
  if (!news.values.intact()) // its ticket stays open: the member may send it again
    return {member_verdict::refused, "the update was damaged on its way", 0, rule_->version()};
  const auto& values = news.values;
  const bool is_whole = values.size() == values.storage().size();
  auto report =
    rule_->take(news.who, news.ticket, is_whole ? values.storage() : own_copy(values.values()),
                news.sample_count, self_->clock().now());
  settle();
  return report;
}

void coordinator_state::on_down(const caf::down_msg& news) {
  std::erase_if(watchers_, [&](const auto& one) { return one.first.address() == news.source; });
  for (auto at = members_.begin(); at != members_.end();)
    if (at->second.second == news.source) {
      rule_->leave(at->second.first);
      at = members_.erase(at);
    } else {
      ++at;
    }
  settle();
}

// Only its own ticks count: others could make it tick ever more often.
void coordinator_state::on_tick() {
  if (self_->current_sender() != caf::actor_cast<caf::strong_actor_ptr>(self_))
    return;
  self_->delayed_send(self_, coordinator_tick_interval, atom::tick_v);
  const auto now = self_->clock().now();
  rule_->on_time(now);
  settle();
  for (auto at = waiting_.begin(); at != waiting_.end();)
    if (now >= at->second.due) {
      at->second.promise.deliver(work_of(rule_->pull(at->second.who, now)));
      at = waiting_.erase(at);
    } else {
      ++at;
    }
}

caf::result<uint64_t> coordinator_state::on_stop() {
  is_over_ = true;
  if (stops_.empty())
    stop_due_ = self_->clock().now() + options_.members.patience;
  rule_->stop();
  if (options_.store && rule_->version() > saved_version_)
    try {
      save();
    } catch (const failure& error) {
      settle(); // members hear that it is over all the same
      return caf::make_error(protocol_error::refused, std::string{error.what()});
    }
  stops_.push_back(self_->make_response_promise<uint64_t>());
  auto answer = stops_.back();
  settle();
  return answer;
}

void coordinator_state::end_if_all_know(bool due) {
  if (rule_->living_count() == 0 || due)
    for (auto& one : std::exchange(stops_, {}))
      one.deliver(rule_->version());
}

void coordinator_state::settle() {
  for (const auto member : rule_->take_released())
    if (auto found = waiting_.find(member); found != waiting_.end()) {
      auto task = rule_->pull(found->second.who, self_->clock().now());
      if (task.verdict == work_verdict::wait)
        continue;
      found->second.promise.deliver(work_of(std::move(task)));
      waiting_.erase(found);
    }
  const auto version = rule_->version();
  if (version >= published_version_ + (is_over_ ? 1 : options_.publish_every)) {
    published_version_ = version;
    publish();
  }
  if (options_.checkpoint_every > 0)
    save_if_due(options_.checkpoint_every);
  if (!stops_.empty())
    end_if_all_know(self_->clock().now() >= stop_due_);
}

member_work coordinator_state::work_of(member_task&& task) const {
  return {task.verdict, std::move(task.reason), task.ticket, task.version,
          task.parameters ? payload{task.parameters, 0, task.parameters.size()} : payload{}};
}

// ---- The main model ----

void coordinator_state::on_watch(const model_listener_actor& watcher) {
  if (!watcher)
    return;
  if (watchers_.try_emplace(watcher, false).second)
    self_->monitor(watcher);
  publish_to(watcher);
}

void coordinator_state::publish() {
  for (const auto& [watcher, is_busy] : watchers_)
    if (!is_busy)
      publish_to(watcher);
}

// One model at a time is under way to a watcher: who is slow gets the newest after it has taken in the last.
void coordinator_state::publish_to(const model_listener_actor& watcher) {
  watchers_[watcher] = true;
  const auto sent = published_version_;
  const auto on_taken = [this, watcher, sent] {
    const auto found = watchers_.find(watcher);
    if (found == watchers_.end())
      return;
    found->second = false;
    if (published_version_ > sent)
      publish_to(watcher);
  };
  self_->request(watcher, watcher_deadline, main_model())
    .then(on_taken, [on_taken](const caf::error&) { on_taken(); });
}

parameter_span coordinator_state::main_model() const {
  const auto values = rule_->parameters();
  return {0, rule_->version(), 0, payload{values, 0, values.size()}};
}

/// What a checkpoint has to be of: another model or another kind of rule cannot go on from it.
std::string coordinator_state::identity() const {
  const auto shape = rule_->shape();
  auto text = "coordinator " + options_.name +
              "\nparameters = " + std::to_string(options_.initial.size()) +
              "\nvectors = " + std::to_string(shape.vector_count);
  if (const auto* rule = std::get_if<asynchronous_options>(&options_.members.rule))
    text += "\ngradients, by " + std::string{name_of(rule->gradients.optimizer.kind)};
  else
    text += "\nmodels";
  return sha256_hex(std::as_bytes(std::span{text}));
}

caf::result<uint64_t> coordinator_state::on_save() {
  if (!options_.store)
    return caf::make_error(
      protocol_error::refused,
      "the coordinator has no store of checkpoints: coordinator_options::store");
  try {
    return save();
  } catch (const failure& error) {
    return caf::make_error(protocol_error::refused, std::string{error.what()});
  }
}

// Training goes on without the checkpoint: the next one is due as many versions later.
void coordinator_state::save_if_due(uint64_t steps) {
  if (!options_.store || rule_->version() < saved_version_ + steps)
    return;
  try {
    save();
  } catch (const failure& error) {
    saved_version_ = rule_->version();
    if (options_.on_problem)
      options_.on_problem(error);
  }
}

uint64_t coordinator_state::save() {
  state_saver state{options_.initial.size()};
  rule_->save(state);
  auto saved = state.take();
  checkpoint x;
  x.job_sha256 = identity();
  x.arithmetic = arithmetic_name;
  x.version = rule_->version();
  x.parameters = stored_tensor{rule_->parameters()};
  for (const auto& one : saved.vectors)
    x.slots.push_back(stored_tensor{one});
  x.optimizer_numbers = std::move(saved.numbers);
  options_.store->write(x);
  return saved_version_ = x.version;
}

void coordinator_state::restore() {
  const auto found = options_.store->latest(identity(), [&](const checkpoint& x) {
    const auto shape = rule_->shape();
    const bool fits = x.parameters.size() == options_.initial.size() &&
                      x.slots.size() == shape.vector_count &&
                      x.optimizer_numbers.size() == shape.number_count;
    return fits ? std::nullopt : std::optional<std::string>{"its state has another shape"};
  });
  if (!found.newest)
    return;
  saved_state state;
  for (const auto& one : found.newest->slots)
    state.vectors.push_back(values_of(one));
  state.numbers = found.newest->optimizer_numbers;
  state_loader loader{state};
  rule_->load(values_of(found.newest->parameters), found.newest->version, loader);
}

coordinator_actor::behavior_type coordinate(self_pointer<coordinator_actor, coordinator_state> self,
                                            const coordinator_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

// ---- From a job ----

namespace {

void refuse(bool what, const char* key, const std::string& why) {
  if (what)
    throw failure(failure_code::bad_job, "a coordinator of an application " + why, key,
                  "leave it out, or train with troupe::train");
}

/// What belongs to runs that see evaluations, epochs or all members' rows.
void require_members_of(const job& x) {
  const std::string no_results = "sees no evaluations";
  refuse(is_federated(x.training), "training.strategy",
         "has members with rows of their own, no simulated clients");
  refuse(scope_of(x.optimizer.kind) != optimizer_scope::element_wise, "optimizer.kind",
         "needs a rule that works element by element");
  refuse(x.optimizer.plateau.is_on(), "optimizer.plateau", no_results);
  refuse(x.training.patience.has_value(), "training.patience", no_results);
  refuse(x.training.target_loss.has_value(), "training.target_loss", no_results);
  refuse(is_added(x.training.rule), "training.stop_rule", no_results);
  if (x.training.strategy != strategy_kind::parameters)
    return;
  refuse(x.merge.elastic_alpha.has_value(), "merge.elastic_alpha",
         "keeps no models of its members");
  refuse(x.merge.averaging.kind != averaging_kind::none, "merge.averaging",
         "has one main model, and no average beside it");
  refuse(x.optimizer.schedule.kind != schedule_kind::constant, "optimizer.schedule",
         "lets members begin anew in each round, their steps too");
}

/// How models become one: one of each member makes a round.
parameters_coordinator_options merging_of(const job& resolved) {
  const auto rounds = local_rounds_of(resolved);
  parameters_coordinator_options result;
  result.merge = rounds.merge;
  result.outer = rounds.outer;
  result.trigger = round_trigger::distinct;
  result.threshold = rounds.member_count;
  return result;
}

/// How gradients become steps.
asynchronous_options steps_of(const job& resolved, const model& network) {
  auto result = asynchronous_of(resolved);
  result.gradients.layout = network.layout();
  result.gradients.frozen = network.frozen();
  if (result.consistency.mode == consistency_kind::synchronous) {
    result.consistency.mode = consistency_kind::half_synchronous;
    result.consistency.first_count = *resolved.training.replicas;
  }
  return result;
}

} // namespace

coordinator_options coordinator_of_job(const job& resolved, const model& network) {
  require_members_of(resolved);
  const bool merges = resolved.training.strategy == strategy_kind::parameters;
  coordinator_options result;
  result.name = resolved.name;
  if (merges)
    result.members.rule = merging_of(resolved);
  else
    result.members.rule = steps_of(resolved, network);
  result.members.members_min = merges ? *resolved.training.members : *resolved.training.replicas;
  if (const auto& start = resolved.model.start) {
    result.initial = start->parameters;
  } else {
    const buffer initial{network.layout().size()};
    network.initialize(resolved.seed, initial.values());
    result.initial = initial;
  }
  result.checkpoint_every = resolved.checkpoint.every_steps;
  return result;
}

} // namespace troupe
