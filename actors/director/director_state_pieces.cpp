// The director and state: parameters it fetches, checkpoints it writes and hands out.

#include "troupe/actors/director/director.hpp"

#include "troupe/actors/node/node_exchange.hpp"
#include "troupe/coordinators/step/placement.hpp"
#include "troupe/data/checkpoint/checkpoint_store.hpp"

#include <algorithm>

namespace troupe {

namespace {

std::vector<index_range> spans_of(const cluster_view& view, size_t parameter_count) {
  std::vector<index_range> result;
  for (const auto& place : view.shards)
    result.push_back(elements_of_blocks(place.blocks, parameter_count));
  return result;
}

} // namespace

void director_state::fetch(uint64_t version) {
  ++round_;
  fetching_.reset();
  if (!parameters_)
    fetching_.emplace(version, options_.parameter_count, 0, tensors_);
  fetching_clock_ = {};
  ask_for_missing(self_->clock().now());
}

// At the end also those are asked who hold no span: what their replicas did.
void director_state::ask_for_missing(moment now) {
  if ((fetching_ || ending_) && fetching_clock_.due(now)) {
    want question;
    question.kind = want_kind::parameters;
    question.round = round_;
    if (fetching_) {
      question.version = fetching_->version();
      question.elements = fetching_->missing();
    }
    send_to_members(question);
  }
  if (drafts_.empty() || !drafts_clock_.due(now))
    return;
  for (const auto& draft : drafts_) {
    if (!draft.has_memory())
      continue;
    want question;
    question.kind = want_kind::checkpoint;
    question.version = draft.version();
    question.elements = draft.missing(spans_of(view_, options_.parameter_count));
    send_to_members(question);
  }
}

void director_state::on_state_piece(const state_piece& news) {
  acknowledge(news.stamp);
  if (finished_)
    return;
  const auto now = self_->clock().now();
  if (fetching_ && fetching_->offer(news)) {
    fetching_clock_.restart(now);
    watch_.on_moved(now);
    if (fetching_->is_whole()) {
      const auto parameters = fetching_->tensor(0);
      fetching_.reset();
      on_fetched(news.version, parameters);
    }
  }
  if (auto* draft = draft_of(news.version); draft != nullptr && draft->offer(news)) {
    drafts_clock_.restart(now);
    watch_.on_moved(now);
    write_if_complete();
  }
}

void director_state::on_shard_numbers(const shard_numbers& news) {
  if (auto* draft = finished_ ? nullptr : draft_of(news.version);
      draft != nullptr && draft->offer(news)) {
    drafts_clock_.restart(self_->clock().now());
    write_if_complete();
  }
}

void director_state::on_fetched(uint64_t version, const const_buffer& parameters) {
  if (ending_) {
    parameters_ = is_result_kept() ? best_parameters_ : parameters;
    return finish_when_complete();
  }
  best_parameters_ = parameters;
  carry_out(rule_->on_kept(version));
}

// Copies may come before this director has all rows of their version, or hears of it at all.
checkpoint_draft* director_state::draft_of(uint64_t version) {
  const auto every = options_.rule.checkpoint_every;
  const bool is_end = horizon_.final && version == horizon_.version;
  if (!options_.checkpoints || every == 0 || (version % every != 0 && !is_end) ||
      version > horizon_.version || version <= (checkpoint_ ? checkpoint_->version : 0))
    return nullptr;
  const auto found = std::ranges::find(drafts_, version, &checkpoint_draft::version);
  if (found != drafts_.end())
    return &*found;
  return &drafts_.emplace_back(version, options_.parameter_count, options_.slot_count, tensors_);
}

void director_state::carry_out(const take_checkpoint& decision) {
  auto* draft = draft_of(decision.version);
  if (draft == nullptr)
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
  draft->set_memory(std::move(memory));
  drafts_clock_.restart(self_->clock().now());
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
  const auto spans = spans_of(view_, options_.parameter_count);
  for (auto& draft : drafts_) {
    auto whole = draft.take(spans);
    if (!whole)
      continue;
    try {
      options_.checkpoints->write(*whole);
    } catch (const failure& problem) {
      return fail(problem.code(), "a checkpoint cannot be written: " + problem.reason(),
                  problem.where(),
                  problem.hint().empty() ? hint_of_older_checkpoint() : problem.hint());
    }
    checkpoint_ = std::move(whole);
    membership_->on_checkpoint(checkpoint_->version);
    std::erase_if(drafts_, [&](const checkpoint_draft& other) {
      return other.version() <= checkpoint_->version;
    });
    return finish_when_complete();
  }
}

// A process whose shards begin a term: every tensor of the checkpoint on the elements it misses.
void director_state::on_want(const want& news) {
  const auto found = links_.find(news.asker);
  if (news.kind != want_kind::checkpoint || found == links_.end() || !checkpoint_ ||
      news.version != checkpoint_->version || news.version != view_.start_version)
    return;
  const auto& state = *checkpoint_;
  auto& to = found->second;
  for (const auto& wanted : news.elements)
    for (const auto& span : spans_of(view_, options_.parameter_count)) {
      const auto elements = common_part(span, wanted);
      if (elements.empty())
        continue;
      for (size_t slot = 0; slot <= state.slots.size(); ++slot)
        to.out.add({piece_kind::state, state.version, {}, slot, span.begin}, elements,
                   urgency::training);
      self_->send(to.way, shard_numbers{state.version, span.begin, state.optimizer_numbers, false,
                                        state.book});
    }
  flow(to);
}

// A newer checkpoint has the spans of all: nobody waits for the older one any more.
void director_state::flow(link& to) {
  const auto now = self_->clock().now();
  to.out.drop_if(
    [this](const piece_name& one) { return !checkpoint_ || one.version != checkpoint_->version; });
  while (const auto piece = to.out.next(now)) {
    const auto& [what, elements, position] = *piece;
    const auto& tensor =
      what.slot == 0 ? checkpoint_->parameters : checkpoint_->slots[what.slot - 1];
    self_->send(to.way, state_piece{term(),
                                    what.version,
                                    what.slot,
                                    elements.begin,
                                    payload{tensor, elements.begin, elements.size()},
                                    {{}, to.out.link(), position}});
  }
  if (const auto position = to.out.question(now))
    self_->send(to.way, link_stamp{{}, to.out.link(), *position});
}

void director_state::on_credit(const credit& news) {
  if (const auto found = links_.find(news.from); found != links_.end()) {
    found->second.out.on_credit(news.link, news.position, self_->clock().now());
    flow(found->second);
  }
}

void director_state::on_link_stamp(const link_stamp& news) {
  auto& receipt = receipts_[news.from];
  receipt.on_stamp(news);
  tell_credit(receipt, news.from);
}

void director_state::acknowledge(const link_stamp& stamp) {
  if (stamp.link == 0)
    return;
  auto& receipt = receipts_[stamp.from];
  receipt.on_stamp(stamp);
  if (receipt.due(options_.credit_bytes))
    tell_credit(receipt, stamp.from);
}

void director_state::tell_credit(link_receipt& receipt, const std::string& to) {
  if (const auto found = links_.find(to); found != links_.end())
    self_->send(found->second.way, receipt.tell({}));
}

} // namespace troupe
