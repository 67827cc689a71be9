#include "actors/director/run_tensors.hpp"

#include "coordinators/step/checkpoint_rule.hpp"
#include "coordinators/step/placement.hpp"
#include "models/base/copy_values.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// A whole tensor as a buffer of its own size: the one it lies in, if that has this size.
const_buffer whole_buffer(const float_view& values, buffer_pool& pool) {
  if (values.storage().size() == values.size())
    return values.storage();
  const auto own = pool.acquire();
  copy_values(values.values(), own.values().begin());
  return own;
}

const stored_tensor& tensor_of(const checkpoint& x, uint64_t part) {
  return part == 0 ? x.parameters : x.slots.at(part - 1);
}

} // namespace

run_tensors::run_tensors(director_context& context, const run_announcer& announcer,
                         run_writes& writes, listener to)
  : context_(context),
    announcer_(announcer),
    writes_(writes),
    to_(std::move(to)),
    pool_(std::make_shared<buffer_pool>(context.options.parameter_count)),
    drafts_(context.options.parameter_count, context.options.slot_count,
            [this](const checkpoint_range& where, const float_view& values) {
              write({where, nullptr, values});
            }) {
  context.exchange.on_due = [this](const piece_due& news) { return on_due(news); };
  if (const auto& first = context.options.resume_from) {
    checkpoint_ = std::make_shared<const checkpoint>(*first);
    written_version_ = first->version;
  }
}

// ---- Messages ----

void run_tensors::settle() {
  context_.exchange.settle(context_.self, [this]<class T>(const T& effect) {
    if constexpr (std::is_same_v<T, tensor_arrived>)
      on_arrived(effect);
    else
      on_asked(effect);
  });
}

bool run_tensors::on_piece(const sent_piece& news) {
  const auto& of = news.what.of;
  if (of.kind == tensor_kind::state && of.term == context_.term() && !context_.finished &&
      is_checkpointed(of.key)) // copies may come before their version's rows
    expect_state(of.key);
  const auto verdict = context_.exchange.on(news, context_.now());
  settle();
  return verdict == piece_verdict::accepted;
}

void run_tensors::on_want(const sent_want& news) {
  context_.exchange.on(news, context_.now());
  settle();
}

void run_tensors::on_credit(const sent_credit& news) {
  context_.exchange.on(news, context_.now());
  settle();
}

void run_tensors::on_stamp(const sent_stamp& news) {
  context_.exchange.on(news);
  settle();
}

void run_tensors::on_numbers(const shard_numbers& news) {
  if (!context_.finished && is_checkpointed(news.version))
    expect_state(news.version);
  if (!context_.finished && drafts_.on_numbers(news))
    write_if_complete();
  settle();
}

void run_tensors::on_arrived(const tensor_arrived& news) {
  if (context_.finished)
    return;
  if (news.of.kind == tensor_kind::state) {
    drafts_.on_arrived(news);
    return write_if_complete();
  }
  stop_fetching();
  to_.on_fetched(news.of.key, fetching_ ? stored_tensor{std::exchange(fetching_, {})}
                                        : stored_tensor{whole_buffer(news.values, *pool_)});
}

// A process whose shards begin a term asks for state: sends the few numbers that go beside the
// tensors.
void run_tensors::on_asked(const tensor_asked& news) const {
  const auto& what = news.what;
  const auto found = context_.links.find(context_.exchange.name_of(news.by));
  if (found == context_.links.end() || what.of.kind != tensor_kind::state || what.of.part != 0 ||
      !checkpoint_ || what.of.key != checkpoint_->version ||
      what.of.key != context_.view.start_version)
    return;
  for (const auto& one : drafts_.owners())
    if (one.peer == news.by && !one.elements.empty())
      context_.self->send(found->second.way, shard_numbers{what.of.key, one.elements.begin,
                                                           checkpoint_->optimizer_numbers, false,
                                                           checkpoint_->metrics});
}

void run_tensors::tick(moment now) {
  for (const auto& [to, what] : drafts_.due(now))
    context_.exchange.ask(context_.self, to, what);
  context_.exchange->tick(now);
  settle();
  context_.exchange.note_credit();
}

// ---- Orders of the other parts ----

void run_tensors::begin_term() {
  context_.exchange->begin_term(context_.term());
  drafts_.begin_term(owners());
  drop_drafts_from(0);
  if (context_.view.start_version > 0 && context_.view.holders.empty())
    hand_out_checkpoint();
}

std::vector<tensor_source> run_tensors::owners() {
  std::vector<tensor_source> result;
  for (const auto& place : context_.view.shards)
    result.push_back({context_.exchange.id_of(context_.view.members[place.member].name),
                      elements_of_blocks(place.blocks, context_.options.parameter_count)});
  return result;
}

void run_tensors::fetch(uint64_t version) {
  stop_fetching();
  expectation what;
  what.kind = tensor_kind::parameters;
  what.key = version;
  what.elements = {0, context_.options.parameter_count};
  what.sources = drafts_.owners();
  what.comes_unasked = false;
  if (context_.options.scratch)
    fetch_to_scratch(what);
  else
    fetch_to_memory(what);
  context_.exchange->expect(std::move(what), context_.now());
}

// The writer keeps the order, so pieces of an earlier version are written before those of this one.
void run_tensors::fetch_to_scratch(expectation& what) {
  if (!fetching_)
    fetching_ = context_.options.scratch->acquire();
  what.sink = [this, to = fetching_](const tensor_name& of, uint64_t first,
                                     const float_view& values) {
    write({{.version = of.key, .first_element = first}, to, values});
  };
}

void run_tensors::fetch_to_memory(expectation& what) const {
  what.may_share = true; // within a process all spans lie in one buffer
  what.memory = [pool = pool_](const tensor_name&) { return float_window{pool->acquire(), 0}; };
}

void run_tensors::stop_fetching() {
  context_.exchange->dismiss(tensor_kind::parameters, {});
}

// ---- The disk ----

void run_tensors::write(range_order what) {
  const bool is_kept = what.scratch != nullptr;
  writes_.write(std::move(what), [this, is_kept](const write_outcome& outcome) {
    if (outcome.problem)
      return is_kept ? fail("what is to be kept cannot be written", *outcome.problem)
                     : on_unwritten(*outcome.problem);
    settle(); // the exchange may give credit again
  });
}

void run_tensors::on_unwritten(const failure& problem) {
  if (!to_.is_stopping())
    return fail("a checkpoint cannot be written", problem);
  give_up_checkpoints(problem.what());
}

void run_tensors::give_up_checkpoints(const std::string& why) {
  if (!std::exchange(gave_up_, true))
    context_.tell("warning: where the run is stopped no checkpoint can be written: " + why);
  drop_drafts_from(0);
}

void run_tensors::fail(const std::string& what, const failure& problem) {
  const auto hint =
    written_version_ == 0
      ? "make room there or name another folder (checkpoint.directory), then begin again"
      : "make room there, then go on from version " + std::to_string(written_version_) +
          " with --resume";
  context_.fail({problem.code(), what + ": " + problem.reason(), problem.where(),
                 problem.hint().empty() ? hint : problem.hint()});
}

// The read checks the data: it may have been damaged since it was written.
bool run_tensors::on_due(const piece_due& news) {
  const auto& of = news.what.of;
  if (!checkpoint_ || of.key != checkpoint_->version)
    return false; // no process waits for an older one
  writes_.read({tensor_of(*checkpoint_, of.part), news.elements},
               [this, news](const write_outcome& outcome) {
                 if (outcome.problem)
                   return fail("the last checkpoint cannot be read", *outcome.problem);
                 auto what = news.what;
                 what.values = outcome.values;
                 context_.exchange.give(context_.self, news.to, std::move(what));
               });
  return true;
}

// ---- Checkpoints ----

bool run_tensors::is_checkpointed(uint64_t version) const {
  const auto& [plan, every] =
    std::tie(context_.options.rule.plan, context_.options.rule.checkpoint_every);
  const auto& horizon = announcer_.horizon();
  return context_.options.writer && !gave_up_ &&
         troupe::is_checkpointed(version, horizon, every, plan) && version <= horizon.version &&
         version > (checkpoint_ ? checkpoint_->version : 0);
}

void run_tensors::expect_state(uint64_t version) {
  if (auto what = drafts_.expect(version))
    context_.exchange->expect(std::move(*what), context_.now());
}

void run_tensors::draft(checkpoint memory) {
  const auto version = memory.version;
  expect_state(version);
  drafts_.set_memory(std::move(memory), context_.now());
  context_.exchange->set_sources(tensor_kind::state, version, {0, context_.options.parameter_count},
                                 drafts_.owners());
  write_if_complete();
}

void run_tensors::drop_drafts_from(uint64_t version) {
  drafts_.drop_from(version);
  context_.exchange->dismiss(tensor_kind::state, {version, UINT64_MAX});
  if (context_.options.writer && context_.options.rule.checkpoint_every > 0)
    writes_.drop_drafts_from(version);
}

void run_tensors::write_if_complete() {
  if (is_writing_ || writes_.is_between_terms())
    return;
  auto whole = drafts_.take_complete();
  if (!whole)
    return;
  const auto before =
    std::exchange(checkpoint_, std::make_shared<const checkpoint>(std::move(*whole)));
  context_.exchange->dismiss(tensor_kind::state, keys_before(checkpoint_->version + 1));
  // It has all spans, so no process waits for an older one any more.
  context_.exchange->forget(tensor_kind::state, keys_before(checkpoint_->version));
  is_writing_ = true;
  writes_.write(checkpoint_, [this, before](const write_outcome& outcome) {
    if (outcome.problem)
      checkpoint_ = before;
    on_written(outcome);
  });
}

void run_tensors::on_written(const write_outcome& outcome) {
  is_writing_ = false;
  if (outcome.problem)
    return on_unwritten(*outcome.problem);
  checkpoint_ = outcome.saved;
  written_version_ = checkpoint_->version;
  if (context_.finished)
    return;
  write_if_complete();
  to_.on_checkpoint(written_version_);
}

// Publishes the state that processes begin the term with. Without a writer it must be read now.
void run_tensors::hand_out_checkpoint() {
  const auto& state = *checkpoint_;
  const auto now = context_.now();
  for (size_t part = 0; part <= state.slots.size(); ++part) {
    const auto& tensor = tensor_of(state, part);
    kept_tensor x;
    x.of = {tensor_kind::state, context_.term(), state.version, only_leaf, part};
    if (tensor.is_in_memory() || !context_.options.writer)
      x.values = {tensor.whole(), 0, tensor.size()};
    else
      x.elsewhere = tensor.size();
    context_.exchange->publish(x, {}, now);
  }
}

void checkpoint_drafts::begin_term(std::vector<tensor_source> owners) {
  drafts_.clear();
  owners_ = std::move(owners);
}

std::optional<expectation> checkpoint_drafts::expect(uint64_t version) {
  const auto [place, is_new] = drafts_.try_emplace(version);
  if (!is_new)
    return std::nullopt;
  expectation what;
  what.kind = tensor_kind::state;
  what.key = version;
  what.elements = {0, parameter_count_};
  what.parts = {0, 1 + slot_count_};
  what.sink = [this](const tensor_name& of, uint64_t first, const float_view& values) {
    sink_({of.key, parameter_count_, slot_count_, of.part, first}, values);
  };
  return what;
}

void checkpoint_drafts::set_memory(checkpoint memory, moment now) {
  drafts_.at(memory.version).memory = std::move(memory);
  numbers_clock_.restart(now);
}

void checkpoint_drafts::drop_from(uint64_t version) {
  drafts_.erase(drafts_.lower_bound(version), drafts_.end());
}

void checkpoint_drafts::on_arrived(const tensor_arrived& news) {
  if (const auto found = drafts_.find(news.of.key); found != drafts_.end())
    ++found->second.tensor_count;
}

bool checkpoint_drafts::on_numbers(const shard_numbers& news) {
  const auto found = drafts_.find(news.version);
  return found != drafts_.end() && found->second.told.try_emplace(news.first_element, news).second;
}

bool checkpoint_drafts::has_numbers(const draft& x) const {
  return std::ranges::all_of(owners_, [&](const tensor_source& one) {
    return one.elements.empty() || x.told.contains(one.elements.begin);
  });
}

std::optional<checkpoint> checkpoint_drafts::take_complete() {
  const auto found = std::ranges::find_if(drafts_, [this](const auto& entry) {
    return entry.second.memory && has_tensors(entry.second) && has_numbers(entry.second);
  });
  if (found == drafts_.end())
    return std::nullopt;
  auto& x = found->second;
  auto result = std::move(*x.memory);
  result.slots.resize(slot_count_);
  for (const auto& [first, one] : x.told) {
    if (!one.numbers.empty())
      result.optimizer_numbers = one.numbers;
    if (one.keeps_metrics)
      result.metrics = one.metrics;
  }
  drafts_.erase(drafts_.begin(), std::next(found));
  return result;
}

bool checkpoint_drafts::is_awaiting() const {
  return std::ranges::any_of(drafts_,
                             [](const auto& entry) { return entry.second.memory.has_value(); });
}

std::vector<send_want> checkpoint_drafts::due(moment now) {
  std::vector<send_want> result;
  if (drafts_.empty() || !numbers_clock_.due(now))
    return result;
  for (const auto& [version, x] : drafts_)
    if (x.memory && has_tensors(x))
      for (const auto& one : owners_)
        if (!one.elements.empty() && !x.told.contains(one.elements.begin))
          result.push_back(
            {one.peer, {{tensor_kind::state, x.memory->term, version, only_leaf, 0}, {}, false}});
  return result;
}

} // namespace troupe
