#include "troupe/actors/director/run_tensors.hpp"

#include "troupe/coordinators/step/placement.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

run_tensors::run_tensors(director_seat& seat, const run_announcer& announcer, run_writes& writes,
                         listener to)
  : seat_(seat),
    announcer_(announcer),
    writes_(writes),
    to_(std::move(to)),
    pool_(std::make_shared<buffer_pool>(seat.options.parameter_count)),
    drafts_(seat.options.parameter_count, seat.options.slot_count, pool_) {
  if (const auto& first = seat.options.resume_from) {
    checkpoint_ = std::make_shared<const checkpoint>(*first);
    written_version_ = first->version;
  }
}

// ---- What comes ----

void run_tensors::settle() {
  seat_.exchange.settle(seat_.self, [this]<class T>(const T& effect) {
    if constexpr (std::is_same_v<T, tensor_arrived>)
      on_arrived(effect);
    else
      on_asked(effect);
  });
}

bool run_tensors::on_piece(const sent_piece& news) {
  const auto& of = news.what.of;
  if (of.kind == tensor_kind::state && of.term == seat_.term() && !seat_.finished &&
      is_checkpointed(of.key)) // copies may come before their version's rows
    expect_state(of.key);
  const auto verdict = seat_.exchange.on(news, seat_.now());
  settle();
  return verdict == piece_verdict::accepted;
}

void run_tensors::on_want(const sent_want& news) {
  seat_.exchange.on(news, seat_.now());
  settle();
}

void run_tensors::on_credit(const sent_credit& news) {
  seat_.exchange.on(news, seat_.now());
  settle();
}

void run_tensors::on_stamp(const sent_stamp& news) {
  seat_.exchange.on(news);
  settle();
}

void run_tensors::on_numbers(const shard_numbers& news) {
  if (!seat_.finished && is_checkpointed(news.version))
    expect_state(news.version);
  if (!seat_.finished && drafts_.on_numbers(news))
    write_if_complete();
  settle();
}

void run_tensors::on_arrived(const tensor_arrived& news) {
  if (seat_.finished)
    return;
  if (news.of.kind == tensor_kind::state) {
    drafts_.on_arrived(news);
    return write_if_complete();
  }
  stop_fetching();
  to_.on_fetched(news.of.key, whole_buffer(news.values, *pool_));
}

// A process whose shards begin a term: the few numbers go beside the parameters.
void run_tensors::on_asked(const tensor_asked& news) const {
  const auto& what = news.what;
  const auto found = seat_.links.find(seat_.exchange.name_of(news.by));
  if (found == seat_.links.end() || what.of.kind != tensor_kind::state || what.of.part != 0 ||
      !checkpoint_ || what.of.key != checkpoint_->version ||
      what.of.key != seat_.view.start_version)
    return;
  for (const auto& one : drafts_.owners())
    if (one.peer == news.by && !one.elements.empty())
      seat_.self->send(found->second.way,
                       shard_numbers{what.of.key, one.elements.begin,
                                     checkpoint_->optimizer_numbers, false, checkpoint_->book});
}

void run_tensors::tick(moment now) {
  for (const auto& [to, what] : drafts_.due(now))
    seat_.exchange.ask(seat_.self, to, what);
  seat_.exchange->tick(now);
  settle();
}

// ---- What is wanted ----

void run_tensors::begin_term() {
  seat_.exchange->begin_term(seat_.term());
  drafts_.begin_term(owners());
  if (seat_.view.start_version > 0)
    hand_out_checkpoint();
}

std::vector<tensor_source> run_tensors::owners() {
  std::vector<tensor_source> result;
  for (const auto& place : seat_.view.shards)
    result.push_back({seat_.exchange.id_of(seat_.view.members[place.member].name),
                      elements_of_blocks(place.blocks, seat_.options.parameter_count)});
  return result;
}

void run_tensors::fetch(uint64_t version) {
  stop_fetching();
  expectation what;
  what.kind = tensor_kind::parameters;
  what.key = version;
  what.elements = {0, seat_.options.parameter_count};
  what.sources = drafts_.owners();
  what.comes_unasked = false;
  what.may_share = true; // in one process they lie in one buffer
  what.memory = [pool = pool_](const tensor_name&) { return float_window{pool->acquire(), 0}; };
  seat_.exchange->expect(std::move(what), seat_.now());
}

void run_tensors::stop_fetching() {
  seat_.exchange->dismiss(tensor_kind::parameters, {});
}

// ---- Checkpoints ----

bool run_tensors::is_checkpointed(uint64_t version) const {
  const auto every = seat_.options.rule.checkpoint_every;
  const auto& horizon = announcer_.horizon();
  const bool is_end = horizon.final && version == horizon.version;
  return seat_.options.writer && every > 0 && (version % every == 0 || is_end) &&
         version <= horizon.version && version > (checkpoint_ ? checkpoint_->version : 0);
}

void run_tensors::expect_state(uint64_t version) {
  if (auto what = drafts_.expect(version))
    seat_.exchange->expect(std::move(*what), seat_.now());
}

void run_tensors::draft(checkpoint memory) {
  const auto version = memory.version;
  expect_state(version);
  drafts_.set_memory(std::move(memory), seat_.now());
  seat_.exchange->set_sources(tensor_kind::state, version, {0, seat_.options.parameter_count},
                              drafts_.owners());
  write_if_complete();
}

void run_tensors::drop_drafts_from(uint64_t version) {
  drafts_.drop_from(version);
  seat_.exchange->dismiss(tensor_kind::state, {version, UINT64_MAX});
}

void run_tensors::write_if_complete() {
  if (is_writing_ || writes_.is_between_terms())
    return;
  auto whole = drafts_.take_complete();
  if (!whole)
    return;
  checkpoint_ = std::make_shared<const checkpoint>(std::move(*whole));
  seat_.exchange->dismiss(tensor_kind::state, keys_before(checkpoint_->version + 1));
  // It has the spans of all: nobody waits for the older one any more.
  seat_.exchange->forget(tensor_kind::state, keys_before(checkpoint_->version));
  is_writing_ = true;
  writes_.write(checkpoint_, [this](const write_outcome& outcome) { on_written(outcome); });
}

void run_tensors::on_written(const write_outcome& outcome) {
  is_writing_ = false;
  if (const auto& problem = outcome.problem)
    return seat_.fail({problem->code(), "a checkpoint cannot be written: " + problem->reason(),
                       problem->where(),
                       problem->hint().empty() ? hint_of_older_checkpoint() : problem->hint()});
  written_version_ = checkpoint_->version;
  if (seat_.finished)
    return;
  write_if_complete();
  to_.on_checkpoint(written_version_);
}

std::string run_tensors::hint_of_older_checkpoint() const {
  if (written_version_ == 0)
    return "make room there or name another folder (checkpoint.directory), then begin again";
  return "make room there, then go on from version " + std::to_string(written_version_) +
         " with --resume";
}

// What processes begin the term with, for who asks.
void run_tensors::hand_out_checkpoint() {
  const auto& state = *checkpoint_;
  const auto now = seat_.now();
  for (size_t part = 0; part <= state.slots.size(); ++part) {
    const auto& tensor = part == 0 ? state.parameters : state.slots[part - 1];
    seat_.exchange->publish(
      {.of = {tensor_kind::state, seat_.term(), state.version, only_leaf, part},
       .values = {tensor, 0, tensor.size()}},
      {}, now);
  }
}

} // namespace troupe
