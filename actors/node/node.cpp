#include "actors/node/node.hpp"

#include "actors/node/synchronous_work.hpp"
#include "actors/node/task_work.hpp"
#include "actors/protocol/boundary_messages.hpp"
#include "models/segments/segment_chain.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// A process that asks to leave waits so long for a link with the director, which it has lost.
constexpr milliseconds leave_patience{2'000};

std::unique_ptr<node_work> work_for(node_context& context, local_spans& spans, local_actors& actors,
                                    directive_state& directives, result_outbox& outbox) {
  if (context.options.kept)
    return std::make_unique<task_work>(context, spans, actors, directives, outbox);
  if (context.options.wired)
    return std::make_unique<synchronous_work>(context, spans, actors, directives, outbox);
  return std::make_unique<node_work>(context, spans, actors, directives, outbox);
}

} // namespace

node_state::parts::parts(node_context& context)
  : spans(context),
    copies(context, spans),
    actors(context, spans),
    outbox(context),
    directives(context, spans, actors, outbox),
    work(work_for(context, spans, actors, directives, outbox)),
    report(context, spans, copies, directives, *work) {}

local_node_actor::behavior_type node_state::make_behavior(const node_options& options,
                                                          const local_company& local) {
  context_.options = options;
  context_.local = local;
  context_.exchange = {{options.self.name, false}, options.exchange, options.carrier};
  context_.exchange.record(options.wired ? options.records.trace : nullptr);
  context_.settle = [this] { settle(); };
  parts_ = std::make_unique<parts>(context_);
  for (const auto& worker : local.workers)
    context_.self->monitor(worker);
  for (const auto& owner : local.owners)
    context_.self->monitor(owner);
  // A message with a damaged type: drop it, without a log line and without an end.
  context_.self->set_default_handler(caf::drop);
  context_.self->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  context_.self->delayed_send(context_.self, node_tick_interval, atom::tick_v);
  auto& work = *parts_->work;
  auto& directives = parts_->directives;
  auto& outbox = parts_->outbox;
  return {
    [this](const sent_piece& news) { on_piece(news); },
    [this](const sent_want& news) { on_want(news); },
    [this](const sent_credit& news) {
      context_.exchange.on(news, context_.now());
      settle();
    },
    [this](const sent_stamp& news) {
      context_.exchange.on(news);
      settle();
    },
    [this](const cluster_view& news) { on_cluster_view(news); },
    [this](const given_up& news) { on_given_up(news.incarnation); },
    [this, &directives](const directive& news) {
      directives.on_directive(news);
      parts_->copies.on_directive(news);
      parts_->report.note_clock(news.sent);
      parts_->report.on_directive();
      parts_->work->on_directive();
      settle();
    },
    [&](const hold_request& news) { directives.on_hold_request(news); },
    [this](const copies_request& news) {
      parts_->copies.on_request(news);
      parts_->report.send();
    },
    [this](const shard_numbers& news) {
      parts_->spans.on_numbers(news);
      start_shards();
    },
    [this, &work](const task_header& news) {
      work.on_header(news);
      settle();
    },
    [this, &work](const result_header& news) {
      work.on_header(news);
      settle();
    },
    [this, &work](const sequence_news& news) {
      work.on_sequence(news);
      settle();
    },
    [this, &work](const span_progress& news) {
      work.on_progress(news);
      settle();
    },
    [&](const training_report& news) {
      outbox.add(news);
      work.on_report(news);
    },
    [&](const evaluation& news) {
      outbox.add(news);
      work.on_evaluation(news);
    },
    [&](const span_hash& news) { outbox.add(news); },
    [&](const not_finite_report& news) { outbox.add(news); },
    [this, &work](const contribution& news) {
      work.on_contribution(news);
      settle();
    },
    [this, &work](const boundary& news) {
      work.on_boundary(news);
      settle();
    },
    [this, &work](const segment_request& news) {
      work.on_segment_request(news);
      settle();
    },
    [this, &work](const parameter_span& news) {
      work.on_parameter_span(news);
      if (context_.takes_part() && news.term == context_.view.id.term && news.version > 0)
        parts_->copies.on_version(news.version - 1);
      settle();
    },
    [this, &work](const block_sums& news) {
      work.on_block_sums(news);
      settle();
    },
    [&](atom::held, uint64_t replica, uint64_t round, uint64_t next_step) {
      directives.on_held(replica, round, next_step);
    },
    [this](const shard_copy& news) {
      parts_->spans.on_copy(news);
      if (news.is_kept || news.is_cut)
        parts_->copies.on_copy(news);
      if (news.is_cut || (news.is_kept && parts_->copies.is_asked()))
        parts_->report.send();
      settle();
    },
    [this, &work](const given_vectors& news) {
      work.on_given(news);
      settle();
    },
    [this](uint64_t incarnation, const director_link_actor& director) {
      on_director(incarnation, director);
    },
    [this](const std::string& who, uint64_t incarnation, const node_actor& actor) {
      on_peer(who, incarnation, actor);
    },
    [this, &work](const distant_task& task) {
      work.on_distant_task(task);
      settle();
    },
    [this, &work](const trainer_result& news) {
      work.on_result(news);
      settle();
    },
    [this](atom::leave) { on_leave(); },
    [this](atom::tick) { on_tick(); },
  };
}

void node_state::on_director(uint64_t incarnation, const director_link_actor& director) {
  context_.director = director;
  context_.exchange.open(peer_id::director, incarnation, director,
                         director.node() != context_.self->node());
  context_.self->monitor(director);
  // A view that names this life of the process may have come before this message.
  if (std::exchange(context_.options.self.incarnation, incarnation) != incarnation &&
      context_.view.id.term > 0)
    adopt(cluster_view{context_.view});
  parts_->report.send();
  settle();
}

void node_state::on_peer(const std::string& who, uint64_t incarnation, const node_actor& actor) {
  context_.peers[who] = actor;
  context_.exchange.open(context_.exchange.id_of(who), incarnation, actor, true);
  context_.self->monitor(actor);
  parts_->report.on_link(who);
}

// A lost link changes nothing by itself: the node asks for lost data when they matter, and the
// director decides which process is out. The loss of a local actor ends the node. Only trainers may
// be lost as long as one is left.
void node_state::on_down(const caf::down_msg& news) {
  const auto is_it = [&](const auto& actor) { return actor.address() == news.source; };
  const auto& workers = context_.local.workers;
  const auto& owners = context_.local.owners;
  if (const auto found = std::ranges::find_if(workers, is_it); found != workers.end()) {
    const auto index = found - workers.begin();
    context_.lost_replicas.insert(static_cast<size_t>(index));
    if (!parts_->work->spare(static_cast<size_t>(index)))
      lose("replica", index, news.reason);
    return;
  }
  if (const auto found = std::ranges::find_if(owners, is_it); found != owners.end())
    return lose("shard", found - owners.begin(), news.reason);
  if (context_.director && context_.director.address() == news.source) {
    context_.director = nullptr;
    context_.exchange.close(peer_id::director);
  }
  std::erase_if(context_.peers, [&](const auto& entry) {
    const bool is_lost = entry.second.address() == news.source;
    if (is_lost)
      context_.exchange.close(context_.exchange.id_of(entry.first));
    return is_lost;
  });
}

void node_state::lose(const std::string& what, std::ptrdiff_t index, const caf::error& reason) {
  context_.self->quit(end_reason(
    code_of(reason), what + " " + std::to_string(index) + " was lost" +
                       (context_.lost_replicas.size() > 1 ? ", the last that was left: " : ": ") +
                       reason_text(context_.self->system(), reason)));
}

void node_state::on_tick() {
  context_.self->delayed_send(context_.self, node_tick_interval, atom::tick_v);
  const auto now = context_.now();
  if (context_.takes_part()) {
    context_.exchange->tick(now);
    parts_->spans.tick(now);
    parts_->copies.tick(now);
    parts_->work->tick(now);
  }
  parts_->outbox.tick(now);
  parts_->report.tick(now);
  if (!parts_->report.leaves() || context_.director)
    leaves_since_ = now;
  else if (now - leaves_since_ >= leave_patience)
    end_leave(false);
  settle();
  context_.exchange.note_credit();
}

// Every piece counts as received, even one that is not needed.
void node_state::on_piece(const sent_piece& news) {
  const auto verdict = context_.exchange.on(news, context_.now());
  if (verdict == piece_verdict::conflict)
    parts_->work->on_conflict(news.what);
  else if (verdict == piece_verdict::accepted)
    parts_->work->on_accepted(news.what.of);
  else if (const auto from = context_.exchange.find(news.by);
           from && verdict <= piece_verdict::early)
    parts_->work->on_early(*from, news.what);
  settle();
}

// Processes outside the view get nothing: the processes of the view agree on a stop among
// themselves.
void node_state::on_want(const sent_want& news) {
  if (!context_.takes_part() || !(news.by.is_director || context_.view.find(news.by.process)))
    return;
  context_.exchange.on(news, context_.now());
  settle();
}

void node_state::settle() {
  parts_->report.note_version();
  context_.exchange.settle(context_.self, [this]<class T>(const T& effect) {
    if constexpr (std::is_same_v<T, tensor_arrived>)
      on_arrived(effect);
    else
      on_asked(effect);
  });
}

void node_state::on_arrived(const tensor_arrived& news) {
  if (news.of.kind == tensor_kind::copy)
    parts_->copies.on_arrived(news);
  else if (news.of.kind != tensor_kind::state) {
    const auto before = parts_->work->held();
    parts_->work->on_arrived(news);
    if (!before && parts_->work->held()) // a newcomer gets slices now
      parts_->report.send();
    if (news.newest)
      parts_->copies.on_version(news.of.key);
    return;
  }
  parts_->spans.on_arrived(news);
  start_shards();
}

void node_state::on_asked(const tensor_asked& news) {
  if (news.what.have_come)
    parts_->copies.on_come(news.by, news.what);
  else if (news.what.of.kind == tensor_kind::state)
    parts_->spans.on_asked(news.what);
  else
    parts_->work->on_asked(news);
}

local_node_actor::behavior_type node(self_pointer<local_node_actor, node_state> self,
                                     const node_options& options, const local_company& local) {
  guard(self);
  return self->state.make_behavior(options, local);
}

bool node_state::names_me(const cluster_view& x) const {
  const auto& self = context_.options.self;
  const auto place = x.find(self.name);
  return place && x.members[*place].incarnation == self.incarnation;
}

void node_state::on_cluster_view(const cluster_view& news) {
  if (news.id <= context_.view.id)
    return;
  const auto misfit = misfit_of(news, limits_here());
  parts_->report.set_misfit(misfit);
  if (!misfit.empty()) {
    if (context_.options.listeners.on_misfit)
      context_.options.listeners.on_misfit(misfit);
    return;
  }
  adopt(news);
  parts_->report.send(); // before its replicas begin to compute
  const bool has_left = parts_->report.leaves() && !context_.takes_part();
  if (context_.options.listeners.on_standing && !has_left) // else it would join anew
    context_.options.listeners.on_standing(context_.view.id, context_.options.self.incarnation,
                                           !context_.takes_part() ? ""
                                           : context_.options.kept
                                             ? "computes what the parameter server gives it"
                                             : context_.view.work_text(*context_.me));
  settle();
}

void node_state::on_given_up(uint64_t incarnation) {
  if (incarnation != context_.options.self.incarnation || !context_.me)
    return;
  context_.me.reset();
  rest();
  if (context_.options.listeners.on_standing && !parts_->report.leaves())
    context_.options.listeners.on_standing(context_.view.id, incarnation, "");
}

// Where no view names the process, nobody needs it.
void node_state::on_leave() {
  parts_->report.set_leaves();
  if (!context_.takes_part())
    end_leave(false);
}

void node_state::end_leave(bool is_let_go) const {
  if (context_.options.listeners.on_left)
    context_.options.listeners.on_left(is_let_go);
}

view_limits node_state::limits_here() const {
  const auto& chain = context_.options.network->chain();
  return {context_.options.self.name,
          context_.local.workers.size(),
          context_.local.owners.size(),
          context_.options.kept ? 0 : context_.options.plan.slice_count,
          context_.element_count(),
          context_.options.plan.last_version(),
          chain.size(),
          chain.part_count(),
          context_.options.holders};
}

void node_state::adopt(const cluster_view& news) {
  parts_->report.on_view();
  const bool new_term = news.id.term != context_.view.id.term;
  const auto before = std::exchange(context_.view, news);
  const auto me_before = context_.me;
  for (const auto& [who, actor] : context_.peers)
    if (!news.find(who))
      context_.exchange->withdraw(context_.exchange.id_of(who));
  context_.me = names_me(news) ? news.find(context_.options.self.name) : std::nullopt;
  if (!context_.me)
    return rest();
  if (new_term || !me_before)
    return begin_term();
  parts_->work->on_view(before, *me_before);
  if (parts_->spans.has_started()) // else start_shards sends it once their state is here
    parts_->actors.tell_shards();
}

void node_state::begin_term() {
  context_.exchange->begin_term(context_.view.id.term);
  parts_->directives.begin_term();
  parts_->outbox.begin_term(context_.view.id.term);
  parts_->spans.begin_term();
  parts_->copies.begin_term();
  parts_->work->begin_term();
  start_shards();
  context_.exchange->tick(context_.now()); // what does not come unasked is asked for at once
}

void node_state::start_shards() {
  auto& spans = parts_->spans;
  if (!context_.takes_part() || spans.has_started() || !spans.is_ready())
    return;
  spans.start_shards();
  parts_->actors.tell_shards();
  parts_->directives.pass_on();
  parts_->work->on_started();
  parts_->report.on_started();
}

void node_state::rest() {
  if (parts_->report.leaves())
    end_leave(true);
  context_.exchange->begin_term(context_.view.id.term);
  parts_->work->rest();
  parts_->actors.tell_to_rest();
}

} // namespace troupe
