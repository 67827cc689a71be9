#include "actors/node/process_report.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace troupe {

namespace {

std::string in_words(const work_name& x, size_t chunk_count) {
  const auto step = std::to_string(x.step);
  const auto object = std::to_string(x.object);
  switch (x.kind) {
  case trace_kind::tile:
    return "tiles of step " + step;
  case trace_kind::clients:
    return "clients of round " + step;
  case trace_kind::evaluate:
    return "chunk " + object + " of " + std::to_string(chunk_count) +
           " of the evaluation of step " + step;
  default:
    return "slice " + object + " of step " + step;
  }
}

} // namespace

process_report::process_report(node_context& context, const local_spans& spans,
                               const span_copies& copies, const directive_state& directives,
                               const node_work& work)
  : context_(context),
    spans_(spans),
    copies_(copies),
    directives_(directives),
    work_(work),
    statuses_(context.local.workers.size()),
    asked_(context.local.workers.size() + context.local.owners.size()) {}

void process_report::send_soon() {
  last_ = context_.now();
  is_due_ = true;
  for (size_t i = 0; i < asked_.size(); ++i)
    ask_actor(i);
  if (everybody_answered())
    send();
}

void process_report::tick(moment now) {
  if (const auto before = std::exchange(ticked_, now); before != moment{}) {
    late_ = std::max(late_, now - before - moment::duration{node_tick_interval});
    if (now - before > own_pause)
      count_from(now);
  }
  if (is_due_) // the report does not wait for a computing actor
    return send();
  const auto interval = !context_.takes_part() ? outside_interval
                        : unreachable_.empty() ? node_report_interval
                                               : broken_link_interval;
  if (now - last_ >= interval || sent_round_ < directives_.round())
    send_soon();
}

// Time in which the process did not run counts for no actor.
void process_report::count_from(moment now) {
  for (const auto& gauge : context_.options.records.gauges)
    gauge->restart(now);
  for (auto& x : asked_)
    if (x.since)
      x.since = now;
}

void process_report::on_directive() {
  if (sent_round_ < directives_.round())
    send_soon();
}

void process_report::note_clock(uint64_t directive_sent) {
  clock_ = {directive_sent, nanoseconds_of(context_.now()), 0};
}

void process_report::on_started() {
  for (auto& x : asked_)
    x.asked_round = x.heard_round = 0;
  on_directive();
}

// A view that comes before the last one's state was here changes nothing.
void process_report::on_view() {
  const bool saw_versions =
    context_.takes_part() && (context_.gets_versions(*context_.me) || !spans_.all().empty());
  if (!saw_versions) // what it did not see is no gap
    still_.restart();
  if (!context_.takes_part())
    left_.reset();
  if (!context_.takes_part() || !spans_.has_started())
    return;
  left_ = version_here();
}

std::optional<uint64_t> process_report::version_here() const {
  auto result = work_.held();
  for (const auto& one : spans_.all())
    result = std::max(result.value_or(0), one.version);
  return result;
}

void process_report::note_version() {
  if (context_.options.kept || !context_.takes_part())
    return;
  const auto now = version_here();
  if (!now || *now == seen_)
    return;
  const auto before = std::exchange(seen_, *now);
  still_.on_version(context_.view.id.term, *now, context_.now(),
                    !context_.options.plan.evaluates(before));
}

void process_report::on_link(const std::string& process) {
  if (!context_.takes_part() || std::ranges::find(unreachable_, process) != unreachable_.end())
    send();
}

// A computing actor answers afterwards; until then its last answer counts.
void process_report::ask_actor(size_t index) {
  auto& x = asked_[index];
  if (x.since || context_.lost_replicas.contains(index))
    return;
  x.since = context_.now();
  x.asked_round = directives_.round();
  const auto ignore = [this, index](const caf::error&) { on_actor_heard(index); };
  if (index < context_.local.workers.size()) {
    context_.self->request(context_.local.workers[index], local_answer_deadline, atom::status_v)
      .then(
        [this, index](const replica_status& status) {
          statuses_[index] = status;
          on_actor_heard(index);
        },
        ignore);
    return;
  }
  const auto& owner = context_.local.owners[index - context_.local.workers.size()];
  context_.self->request(owner, local_answer_deadline, atom::figures_v)
    .then(
      [this, index, owner](const trainer_figures& news) {
        if (owner == who_counts())
          figures_ = news;
        on_actor_heard(index);
      },
      ignore);
}

void process_report::on_actor_heard(size_t index) {
  auto& x = asked_[index];
  x.since.reset();
  x.heard_round = x.asked_round;
  if (x.heard_round < directives_.round())
    return ask_actor(index);
  if (is_due_ && everybody_answered())
    send();
}

bool process_report::everybody_answered() const {
  return std::ranges::none_of(asked_, [](const asked_actor& x) { return x.since.has_value(); });
}

uint64_t process_report::heard_round() const {
  auto result = spans_.has_started() ? directives_.round() : 0;
  for (size_t i = 0; i < asked_.size(); ++i)
    if (!context_.lost_replicas.contains(i))
      result = std::min(result, asked_[i].heard_round);
  return result;
}

// An actor is busy during a piece of work, or while it owes an answer and no replica here has ended
// a piece. It may only wait for the thread on which another replica computes.
work_report process_report::work_of_actors() const {
  work_report result;
  const auto now = context_.now();
  const auto note = [&](moment::duration busy) {
    result.busy = std::max(result.busy, std::chrono::duration_cast<milliseconds>(busy));
  };
  moment changed{};
  for (const auto& gauge : context_.options.records.gauges) {
    changed = std::max(changed, gauge->changed());
    result.longest = std::max(result.longest, std::chrono::ceil<milliseconds>(gauge->longest()));
    if (const auto since = gauge->since())
      note(now - *since);
  }
  for (const auto& x : asked_)
    if (x.since)
      note(now - std::max(*x.since, changed));
  result.late = std::chrono::duration_cast<milliseconds>(late_);
  result.pieces = pieces();
  return result;
}

std::vector<work_piece> process_report::pieces() const {
  std::vector<work_piece> result;
  const auto now = context_.now();
  const std::string worker = context_.options.kept ? "trainer " : "replica ";
  for (size_t i = 0; i < context_.options.records.gauges.size(); ++i) {
    const auto& gauge = *context_.options.records.gauges[i];
    const bool trains = gauge.what().kind != trace_kind::evaluate; // only such pieces are measured
    if (const auto since = gauge.since(); since && !context_.lost_replicas.contains(i))
      result.push_back(
        {worker + std::to_string(i), in_words(gauge.what(), context_.options.rows.chunk_count()),
         std::chrono::duration_cast<milliseconds>(now - std::min(*since, now)),
         std::chrono::ceil<milliseconds>(trains ? gauge.longest() : moment::duration{0})});
  }
  std::ranges::stable_sort(result, std::ranges::greater{}, &work_piece::busy);
  result.resize(std::min(result.size(), reported_pieces_max));
  return result;
}

std::vector<link_report> process_report::links(const exchange_figures& figures) const {
  std::vector<link_report> result;
  for (const auto& x : figures.links)
    if (x.peer != peer_id::director && x.sent + x.came.bytes > 0)
      result.push_back({context_.exchange.name_of(x.peer), x.outgoing, x.sent, x.seen, x.waiting,
                        x.came.link, x.came.bytes, context_.exchange.carrier_to(x.peer)});
  const auto matters_more = [](const link_report& a, const link_report& b) {
    return a.waiting != b.waiting ? a.waiting > b.waiting : a.sent + a.came > b.sent + b.came;
  };
  if (result.size() > reported_links_max) {
    std::ranges::stable_sort(result, matters_more);
    result.resize(reported_links_max);
  }
  return result;
}

owner_actor process_report::who_counts() const {
  const auto& shards = context_.view.shards;
  const auto first =
    std::ranges::find_if(shards, [](const shard_place& place) { return !place.blocks.empty(); });
  const bool is_here = first != shards.end() && context_.is_mine(*first);
  return is_here ? context_.local.owners.at(first->index) : owner_actor{};
}

void process_report::send() {
  last_ = context_.now();
  is_due_ = false;
  if (ticked_ != moment{} && last_ - ticked_ > own_pause)
    count_from(last_); // the first message after a pause may come before the tick
  const auto& self = context_.options.self;
  node_report news;
  news.name = self.name;
  news.incarnation = self.incarnation;
  news.view = context_.view.id;
  news.left = left_;
  if (context_.takes_part())
    news.held = work_.held();
  for (const auto& one : spans_.all())
    news.shard_versions.push_back(one.version);
  news.replicas = statuses_;
  news.round = sent_round_ = heard_round();
  news.unreachable = unreachable_ = members_without_link();
  if (!context_.takes_part())
    for (const auto& [peer, way] : context_.peers)
      news.linked.push_back(peer);
  const auto figures = context_.exchange->figures();
  news.wire = figures;
  news.waits = waits();
  news.work = work_of_actors();
  late_ = {};
  news.links = links(figures);
  news.gaps = still_.gaps();
  news.replicas_lost = context_.lost_replicas.size();
  if (who_counts())
    news.figures = figures_;
  news.clock = clock_;
  news.clock.told = nanoseconds_of(context_.now());
  news.copies = copies_.answer();
  news.leaves = leaves_;
  context_.tell_director(news);
}

std::vector<std::string> process_report::members_without_link() const {
  std::vector<std::string> result;
  for (size_t i = 0; i < context_.view.members.size(); ++i)
    if (context_.me && i != *context_.me && !context_.peers.contains(context_.view.members[i].name))
      result.push_back(context_.view.members[i].name);
  return result;
}

std::vector<awaited> process_report::waits() const {
  if (!misfit_.empty())
    return {{"", "a view that it can follow: " + misfit_}};
  if (!context_.takes_part())
    return {{"", "its place in the view"}};
  if (const auto start = std::to_string(context_.view.start_version); !spans_.has_started()) {
    if (context_.view.holders.empty())
      return {{"", "the state of checkpoint " + start + " from the director"}};
    std::set<std::string> holders;
    for (const auto& [from, what] : context_.exchange->awaited())
      if (what.of.kind == tensor_kind::copy &&
          std::ranges::any_of(what.elements, [&](const auto& x) {
            return std::ranges::any_of(spans_.all(), [&](const local_span& one) {
              return one.version == what.of.key && !shared_part(one.elements, x).empty();
            });
          }))
        holders.insert(context_.exchange.name_of(from));
    std::vector<awaited> result;
    for (const auto& name : holders)
      result.push_back({name, "copies of version " + start});
    return result;
  }
  if (directives_.awaits_replicas())
    return {{"", "replicas to finish their step"}};
  const auto result = work_.waits(context_.now(), directives_.horizon_version());
  return result.empty() ? copies_.waits() : result;
}

} // namespace troupe
