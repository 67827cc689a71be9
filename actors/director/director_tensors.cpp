// The director and tensors: parameters it fetches, checkpoints it writes and hands out.

#include "troupe/actors/director/director.hpp"

#include "troupe/coordinators/step/placement.hpp"
#include "troupe/data/checkpoint/checkpoint_store.hpp"

#include <algorithm>

namespace troupe {

void director_state::settle() {
  exchange_.settle(self_, [this]<class T>(const T& effect) {
    if constexpr (std::is_same_v<T, tensor_arrived>)
      on_arrived(effect);
    else
      on_asked(effect);
  });
}

// Who has which elements in the current view.
std::vector<tensor_source> director_state::owners() {
  std::vector<tensor_source> result;
  for (const auto& place : view_.shards)
    result.push_back({exchange_.id_of(view_.members[place.member].name),
                      elements_of_blocks(place.blocks, options_.parameter_count)});
  return result;
}

void director_state::on_piece(const sent_piece& news) {
  const auto& of = news.what.of;
  const auto now = self_->clock().now();
  if (of.kind == tensor_kind::state && of.term == term() && !finished_ &&
      is_checkpointed(of.key)) // copies may come before their version's rows
    drafts_->expect(of.key, now);
  if (exchange_.on(news, now) == piece_verdict::accepted)
    watch_.on_moved(now);
  settle();
}

void director_state::on_arrived(const tensor_arrived& news) {
  if (finished_)
    return;
  if (news.of.kind == tensor_kind::state) {
    drafts_->on_arrived(news);
    return write_if_complete();
  }
  exchange_->dismiss(tensor_kind::parameters, {});
  on_fetched(news.of.key, whole_buffer(news.values, *tensors_));
}

// A process whose shards begin a term: the few numbers go beside the parameters.
void director_state::on_asked(const tensor_asked& news) {
  const auto& what = news.what;
  const auto found = links_.find(exchange_.name_of(news.by));
  if (found == links_.end() || what.of.kind != tensor_kind::state || what.of.part != 0 ||
      !checkpoint_ || what.of.key != checkpoint_->version || what.of.key != view_.start_version)
    return;
  for (const auto& one : owners())
    if (one.peer == news.by && !one.elements.empty())
      self_->send(found->second.way,
                  shard_numbers{what.of.key, one.elements.begin, checkpoint_->optimizer_numbers,
                                false, checkpoint_->book});
}

// At the end also those are asked who hold no span: what their replicas did.
void director_state::fetch(uint64_t version) {
  ++round_;
  exchange_->dismiss(tensor_kind::parameters, {});
  const auto now = self_->clock().now();
  if (!parameters_) {
    expectation what;
    what.kind = tensor_kind::parameters;
    what.key = version;
    what.elements = {0, options_.parameter_count};
    what.sources = owners();
    what.comes_unasked = false;
    what.may_share = true; // in one process they lie in one buffer
    what.memory = [pool = tensors_](const tensor_name&) {
      return float_window{pool->acquire(), 0};
    };
    exchange_->expect(std::move(what), now);
  }
  count_clock_ = {};
  ask_for_missing(now);
}

void director_state::ask_for_missing(moment now) {
  if (ending_ && count_clock_.due(now))
    send_to_members(current_course());
  for (const auto& [to, what] : drafts_->due(now))
    exchange_.ask(self_, to, what);
  exchange_->tick(now);
  settle();
}

void director_state::on_shard_numbers(const shard_numbers& news) {
  if (!finished_ && is_checkpointed(news.version))
    drafts_->expect(news.version, self_->clock().now());
  if (!finished_ && drafts_->on_numbers(news))
    write_if_complete();
  settle();
}

void director_state::on_fetched(uint64_t version, const const_buffer& parameters) {
  if (ending_) {
    parameters_ = is_result_kept() ? best_parameters_ : parameters;
    return finish_when_complete();
  }
  best_parameters_ = parameters;
  carry_out(rule_->on_kept(version));
}

bool director_state::is_checkpointed(uint64_t version) const {
  const auto every = options_.rule.checkpoint_every;
  const bool is_end = horizon_.final && version == horizon_.version;
  return options_.checkpoints && every > 0 && (version % every == 0 || is_end) &&
         version <= horizon_.version && version > (checkpoint_ ? checkpoint_->version : 0);
}

void director_state::carry_out(const take_checkpoint& decision) {
  if (!is_checkpointed(decision.version))
    return;
  const auto rule_memory = rule_->memory(decision.version);
  checkpoint memory;
  memory.job_sha256 = options_.job_sha256;
  memory.numerics = options_.numerics;
  memory.version = decision.version;
  memory.term = term();
  memory.stop = {rule_memory.stop.best_loss(), rule_memory.stop.best_version(),
                 rule_memory.stop.evaluations_without_improvement()};
  if (rule_memory.best) {
    memory.best_parameters = best_parameters_;
    memory.best_version = rule_memory.best->version;
    memory.best_loss = rule_memory.best->loss;
  }
  memory.history = history_;
  keep_rows_of_undisturbed_run(memory);
  memory.seconds = seconds_at(decision.version);
  for (const auto& work : work_of_replicas())
    memory.replicas.push_back({work.steps_executed, work.sample_count});
  drafts_->set_memory(std::move(memory), self_->clock().now());
  write_if_complete();
}

// An interrupt makes a row, or evaluates one, where an undisturbed run does not; so does the end of
// a run that is made longer afterwards. Either is the last row. The best version keeps its own.
void director_state::keep_rows_of_undisturbed_run(checkpoint& x) const {
  const auto& plan = options_.rule.plan;
  if (x.history.empty())
    return;
  auto& row = x.history.back();
  if (options_.rule.keep_best && x.best_parameters && row.steps == x.best_version)
    return;
  if (!plan.is_row(row.steps))
    return x.history.pop_back();
  if (!plan.evaluates(row.steps))
    row.test_loss = row.test_accuracy = row.test_r2 = row.validation_loss =
      row.validation_accuracy = row.validation_r2 = std::nullopt;
}

std::string director_state::hint_of_older_checkpoint() const {
  if (!checkpoint_)
    return "make room there or name another folder (checkpoint.directory), then begin again";
  return "make room there, then go on from version " + std::to_string(checkpoint_->version) +
         " with --resume";
}

void director_state::write_if_complete() {
  auto whole = drafts_->take_complete();
  if (!whole)
    return;
  try {
    options_.checkpoints->write(*whole);
  } catch (const failure& problem) {
    return fail(problem.code(), "a checkpoint cannot be written: " + problem.reason(),
                problem.where(),
                problem.hint().empty() ? hint_of_older_checkpoint() : problem.hint());
  }
  checkpoint_ = std::move(whole);
  // It has the spans of all: nobody waits for the older one any more.
  exchange_->forget(tensor_kind::state, keys_before(checkpoint_->version));
  membership_->on_checkpoint(checkpoint_->version);
  finish_when_complete();
}

// What processes begin the term with, for who asks.
void director_state::hand_out_checkpoint() {
  const auto& state = *checkpoint_;
  const auto now = self_->clock().now();
  for (size_t part = 0; part <= state.slots.size(); ++part) {
    const auto& tensor = part == 0 ? state.parameters : state.slots[part - 1];
    exchange_->publish({.of = {tensor_kind::state, term(), state.version, only_leaf, part},
                        .values = {tensor, 0, tensor.size()}},
                       {}, now);
  }
}

} // namespace troupe
