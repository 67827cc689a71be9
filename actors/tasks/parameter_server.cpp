#include "actors/tasks/parameter_server.hpp"

#include "coordinators/step/checkpoint_rule.hpp"
#include "coordinators/step/placement.hpp"
#include "models/base/copy_values.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {

namespace {

/// How often a parameter server looks for overdue tasks, and for lost trainers that have not come back.
constexpr milliseconds server_tick_interval{250};

parameter_span span_of(const view& at, uint64_t version, const const_buffer& parameters) {
  return {at.term, version, at.index, payload{parameters, 0, parameters.size()}};
}

bool has_other_owners(const view& at) {
  return std::ranges::count_if(at.shards, [](const auto& x) { return !x.blocks.empty(); }) > 1;
}

} // namespace

server_actor::behavior_type server_state::make_behavior(const server_options& options) {
  options_ = options;
  forget_all();
  self_->set_down_handler([this](const caf::down_msg& news) { on_down(news); });
  return {
    [this](const view& news) { on_view(news); },
    [this](const shard_start& news) { start_ = news; },
    [this](const horizon& news) { on_horizon(news); },
    [this](atom::pull, uint64_t version) { return on_pull(version); },
    [this](atom::figures) { return on_figures(); },
    [this](const trainer_result& news) { on_result(news); },
    [this](atom::hold, uint64_t replica, uint64_t round) { on_hold(replica, round); },
    [this](atom::tick) {
      ticks_ = false;
      hand_out();
    },
  };
}

// ---- Trainers ----

void server_state::on_view(const view& news) {
  const bool is_newer = std::pair{news.term, news.number} > std::pair{view_.term, view_.number};
  if (!start_ || (records_.model.has_begun() && !is_newer))
    return;
  if (records_.model.has_begun() && news.term != view_.term)
    forget_all();
  const bool has_begun = records_.model.has_begun();
  view_ = news;
  std::vector<uint64_t> lives;
  for (const auto& entry : news.trainers)
    lives.push_back(entry.actor.id());
  for (const auto one : records_.roster.all_but(lives))
    lose(one);
  for (const auto& entry : news.trainers)
    if (!records_.roster.find(entry.actor.id()))
      has_begun ? join(entry) : void(place(entry));
  if (!has_begun)
    start();
  hand_out();
}

// A term begins: everything goes back to its start version. Trainers may still work on tasks of the last term. Tickets
// go on, so their results do not count.
void server_state::forget_all() {
  for (size_t i = 0; i < trainers_.size(); ++i)
    if (trainers_[i].actor)
      self_->demonitor(trainers_[i].actor.address());
  trainers_.clear();
  span_.reset();
  for_others_.clear();
  evaluated_.clear();
  records_ = {main_model{{options_.plan, options_.rows, progress_interval}},
              trainer_roster{options_.roster}};
  left_out_.clear();
  tickets_before_ = last_ticket_;
}

void server_state::start() {
  const auto version = copied_version_ = view_.start_version;
  const bool is_anew = version == 0;
  const auto elements = own_elements(view_, options_.parameter_count);
  const auto saved = is_anew ? saved_state{} : saved_span_of(*start_, elements, options_.saved);
  if (!saved)
    return stop_here("a state to begin with of " + std::to_string(start_->slots.size()) +
                       " vectors and " + std::to_string(start_->numbers.numbers.size()) +
                       " numbers, which is none of this job's",
                     step_problem::malformed);
  const auto parameters = first_parameters(*start_, version, elements);
  span_.emplace(options_.make_span(parameters, elements));
  records_.model.begin(version, {span_->evaluated().number, parameters}, now(),
                       is_anew ? batch_sums{} : start_->numbers.metrics);
  records_.decisions = sequence{version};
  record_.begin(options_.record, version);
  state_loader loader{*saved};
  options_.policy->begin(records_, span_->model(), is_anew ? nullptr : &loader);
  start_->slots.clear(); // the policy has copied them
  start_->parameters = {};
  for (auto& [wanted, promise] : std::exchange(waiting_, {})) {
    if (wanted == version)
      promise.deliver(span_of(view_, version, records_.model.parameters()));
    else
      promise.deliver(caf::make_error(protocol_error::version_not_held, wanted));
  }
}

size_t server_state::place(const trainer_entry& who) {
  const auto result = records_.roster.join(who.actor.id(), who.name, who.life);
  trainers_.resize(records_.roster.place_count());
  trainers_[result] = who;
  self_->monitor(who.actor);
  send_evaluations();
  return result;
}

void server_state::join(const trainer_entry& who) {
  const auto where = place(who);
  options_.policy->on_joined(where);
  note({.what = trainer_event::kind::joined, .trainer = where});
  say_who_is_left("there");
}

void server_state::lose(size_t place) {
  self_->demonitor(trainers_[place].actor.address());
  if (const auto ticket = records_.roster.ticket_at(place))
    drop(*ticket);
  records_.roster.lose(place, now());
  send_evaluations();
  note({.what = trainer_event::kind::lost, .trainer = place});
  const auto outcome = span_ ? options_.policy->on_lost(place, records_, now()) : server_outcome{};
  say_who_is_left("lost");
  use(outcome);
}

void server_state::on_down(const caf::down_msg& news) {
  if (const auto place = records_.roster.find(news.source.id()))
    lose(*place);
  hand_out();
}

void server_state::say_who_is_left(const std::string& what) {
  const auto count = records_.roster.living_count();
  report({}, "a replica is " + what + ", " + std::to_string(count) +
               (count == 1 ? " replica is left" : " replicas are left") +
               options_.policy->remark());
}

// ---- Horizon and hold ----

void server_state::on_horizon(const horizon& news) {
  records_.model.set_horizon(news.rule);
  records_.roster.forget_evaluations(news.row_version);
  while (!evaluated_.empty() && *evaluated_.begin() < news.row_version)
    records_.decisions.write(
      {.kind = entry_kind::drop,
       .number = evaluation_of(evaluated_.extract(evaluated_.begin()).value()),
       .evaluates = true});
  follow();
  if (records_.model.is_at_horizon())
    publish();
  copy_if_due();
  hand_out();
}

void server_state::on_hold(uint64_t replica, uint64_t round) {
  records_.model.hold();
  options_.policy->on_hold();
  if (records_.model.has_begun()) // the node needs the current version
    report({}, {});
  self_->send(view_.relay, atom::held_v, replica, round, options_.policy->next_step(records_));
}

void server_state::drop(uint64_t ticket) {
  if (options_.policy->keeps_tasks())
    return;
  records_.decisions.write({.kind = entry_kind::drop, .number = ticket});
  follow();
}

bool server_state::follow(std::optional<uint64_t> version) {
  bool is_finite = true;
  for (const auto& entry : records_.decisions.take(version.value_or(records_.model.version()))) {
    if (records_.model.has_failed())
      continue;
    const bool is_again = entry.kind == entry_kind::give && span_->find(entry.number);
    is_finite = span_->follow(entry) && is_finite;
    if (!is_again)
      record_.add(entry);
    if (has_other_owners(view_))
      for_others_.push_back(entry);
  }
  return is_finite;
}

bool server_state::use(server_outcome outcome) {
  auto& model = records_.model;
  const auto version =
    outcome.problem.empty() && outcome.next ? outcome.next->version : model.version();
  if (version != model.version() && records_.decisions.is_empty())
    records_.decisions.write({.kind = entry_kind::mark}); // so that other owners know it
  if (!follow(version))
    outcome.problem = outcome.when_not_finite;
  if (auto problem = record_.take_problem(); !problem.empty())
    records_.notices.push_back(std::move(problem));
  if (!model.has_begun() || model.has_failed())
    return false;
  if (outcome.problem.empty() && outcome.next)
    model.adopt(outcome.next->version, span_->evaluated(), outcome.next->sums);
  for (const auto& notice : std::exchange(records_.notices, {}))
    report({}, notice);
  if (outcome.problem.empty()) {
    publish();
    return true;
  }
  if (outcome.kind == step_problem::spent || outcome.kind == step_problem::record_ends) {
    tell_director(outcome.problem, outcome.kind);
    return true;
  }
  stop_here(outcome.problem, outcome.kind);
  return false;
}

// ---- Work ----

void server_state::hand_out() {
  give_tasks();
  if (!for_others_.empty())
    self_->send(view_.relay, sequence_news{view_.term, std::exchange(for_others_, {})});
}

void server_state::give_tasks() {
  see_to_time();
  if (!records_.model.has_begun() || records_.model.has_failed())
    return;
  while (const auto outcome = options_.policy->pass_over(records_, now()))
    if (!use(*outcome))
      return;
  const auto limit = options_.policy->piece_limit(records_);
  for (size_t i = 0; i < records_.roster.place_count(); ++i) {
    if (!records_.roster.is_free(i) || !records_.roster.has_work(i, limit, now()))
      continue;
    auto task = options_.policy->task_for(i, records_, now());
    if (!task)
      continue;
    task->number = task->ticket;
    records_.decisions.write({.kind = entry_kind::give,
                              .number = task->number,
                              .step = task->first_step,
                              .place = task->member,
                              .worker = trainers_[i].name.process});
    follow();
    const auto& [given, model_number] = *span_->find(task->ticket);
    task->parameters = given.values;
    task->state = given.state;
    if (given.is_model)
      task->model = model_number;
    task->server = caf::actor_cast<server_actor>(self_);
    task->ticket += tickets_before_;
    last_ticket_ = std::max(last_ticket_, task->ticket);
    task->trainer = i;
    note({.what = trainer_event::kind::given,
          .trainer = i,
          .ticket = task->ticket,
          .round = options_.policy->round(),
          .piece = options_.policy->piece_of(task->member, task->first_step)});
    self_->send(trainers_[i].actor, *std::move(task));
  }
  if (records_.roster.awaits_time() && !std::exchange(ticks_, true))
    self_->delayed_send(self_, server_tick_interval, atom::tick_v);
}

void server_state::see_to_time() {
  if (!records_.model.has_begun() || records_.model.has_failed())
    return;
  const auto overdue = records_.roster.take_overdue(now());
  for (const auto& [place, ticket] : overdue) {
    drop(ticket);
    const auto outcome = options_.policy->on_lost(place, records_, now());
    const auto& who = records_.roster.figures()[place].who;
    report({}, "replica " + std::to_string(who.index) + " of " + who.process +
                 " has not answered a task for too long: others are given it");
    if (!use(outcome))
      return;
  }
  for (const auto piece : records_.roster.take_left_out(now()))
    if (!leave_out(piece))
      return;
  if (!overdue.empty())
    send_evaluations();
}

bool server_state::leave_out(uint64_t piece) {
  const auto& policy = *options_.policy;
  auto what = policy.in_words(piece);
  if (options_.rows_of.rows && !policy.hides_work()) {
    const auto rows = policy.rows_of(piece);
    what += ": " + options_.rows_of.words(rows.first_step, rows.step_count,
                                          std::array{size_t{rows.slice}});
  }
  left_out_.push_back(what);
  const auto lost =
    " (" + std::to_string(options_.roster.losses.attempts) + " replicas were lost with it)";
  auto outcome = options_.policy->on_left_out(piece, records_, now());
  outcome.kind = step_problem::left_out;
  const auto& next = outcome.next;
  if (outcome.problem.empty() && next && options_.plan.is_epoch_end(next->version) &&
      records_.model.sums_with(next->sums).sample_count == 0)
    outcome.problem = "nothing is left of the epoch";
  for (auto* why : {&outcome.problem, &outcome.when_not_finite})
    if (!why->empty())
      *why += ": " + what + lost;
  if (outcome.problem.empty())
    records_.notices.push_back("left out: " + what + lost);
  return use(outcome);
}

void server_state::on_result(const trainer_result& given) {
  const traced_work work{options_.trace.get(), trace_kind::receive, given.first_step, given.trainer,
                         trace_flow{flow_content::result, {given.ticket, given.first_step}}};
  if (!records_.model.has_begun() || records_.model.has_failed())
    return;
  auto news = given;
  news.ticket -= std::min(tickets_before_, news.ticket);
  trainer_event event{.what = trainer_event::kind::refused,
                      .trainer = news.trainer,
                      .ticket = given.ticket,
                      .round = options_.policy->round(),
                      .piece = options_.policy->piece_of(news.member, news.first_step)};
  if (news.ticket == 0 ||
      !records_.roster.finish(news.trainer, {news.ticket, event.piece}, now(), news.computed)) {
    note(event);
    return take_up(news.trainer);
  }
  span_->put(news.ticket, {given.values, given.state});
  const auto outcome = options_.policy->on_result(news, records_, now());
  event.what = outcome.is_discarded ? trainer_event::kind::discarded : trainer_event::kind::used;
  event.staleness = outcome.staleness;
  event.completes_step = outcome.completes_step;
  note(event);
  if (use(outcome))
    hand_out();
}

// A trainer that answers a task taken from it is alive after all: it gets tasks again.
void server_state::take_up(size_t place) {
  if (!records_.roster.take_returned(place))
    return;
  options_.policy->on_joined(place);
  hand_out();
}

void server_state::note(const trainer_event& news) const {
  if (options_.hooks.on_trainer)
    options_.hooks.on_trainer(news);
}

// ---- Versions ----

void server_state::publish() {
  const auto& model = records_.model;
  copy_if_due();
  if (records_.model.take_evaluation()) {
    evaluated_.insert(model.version());
    records_.decisions.write(
      {.kind = entry_kind::give, .number = evaluation_of(model.version()), .evaluates = true});
    records_.roster.evaluate(model.version(), model.current(), options_.rows.chunk_count());
  }
  send_evaluations();
  if (const auto mark = records_.model.take_report(now()))
    report(*mark, {});
  follow();
}

// A horizon is reached and nothing beyond it has begun: the director moves the horizon only when the version's rows are
// whole.
void server_state::copy_if_due() {
  const auto& model = records_.model;
  const auto version = model.version();
  if (!model.is_at_horizon() || version == copied_version_ ||
      !is_checkpointed(version, model.horizon(), options_.checkpoint_every, options_.plan))
    return;
  copied_version_ = version;
  record_.flush();
  const auto& parameters = model.parameters();
  state_saver saver{parameters.size()};
  options_.policy->save(saver, span_->model());
  auto saved = saver.take();
  shard_copy copy{version, view_.index, payload{parameters, 0, parameters.size()}, {}, {}};
  for (auto& vector : saved.vectors)
    copy.slots.emplace_back(vector, 0, vector.size());
  // At an epoch's end the metrics start again from zero.
  const auto metrics = options_.plan.is_epoch_end(version) ? batch_sums{} : model.epoch_sums();
  copy.numbers = {version, own_elements(view_, options_.parameter_count).begin,
                  std::move(saved.numbers), true, metrics};
  self_->send(view_.relay, std::move(copy));
  records_.decisions.write({.kind = entry_kind::mark, .is_saved = true});
  follow();
}

void server_state::send_evaluations() {
  for (const auto& [place, share] : records_.roster.take_given()) {
    records_.decisions.write({.kind = entry_kind::give,
                              .number = evaluation_of(share.version),
                              .evaluates = true,
                              .worker = trainers_[place].name.process});
    self_->send(trainers_[place].actor, evaluation_task{view_.director, view_.term, share.version,
                                                        share.model, share.chunks});
  }
}

// A run that resumes at its end pulls before the first view: the pull waits.
caf::result<parameter_span> server_state::on_pull(uint64_t version) {
  if (!records_.model.has_begun() && !records_.model.has_failed()) {
    waiting_.push_back({version, self_->make_response_promise<parameter_span>()});
    return waiting_.back().promise;
  }
  const auto parameters = records_.model.parameters_of(version);
  if (!parameters)
    return caf::make_error(protocol_error::version_not_held, version);
  return span_of(view_, version, parameters);
}

server_actor::behavior_type parameter_server(self_pointer<server_actor, server_state> self,
                                             const server_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

void server_state::stop_here(const std::string& what, step_problem problem) {
  records_.model.fail();
  record_.flush();
  tell_director(what, problem);
}

void server_state::tell_director(const std::string& what, step_problem problem) {
  not_finite_report report;
  report.term = view_.term;
  report.step = records_.model.version();
  report.what = what;
  report.problem = problem;
  self_->send(view_.director, std::move(report));
}

void server_state::report(const main_model::report_mark& mark, const std::string& notice) {
  auto& model = records_.model;
  model.on_reported(now());
  if (mark.is_row)
    record_.flush();
  if (mark.is_row) {
    const auto blocks = view_.shards.empty()
                          ? index_range{0, block_count(model.parameters().size())}
                          : view_.shards.at(view_.index).blocks;
    self_->send(view_.director,
                span_hash{view_.term, model.version(), blocks,
                          hash_of_blocks(blocks.begin, model.parameters().values())});
    records_.decisions.write({.kind = entry_kind::mark, .is_row = true});
  }
  self_->send(view_.director,
              training_report{view_.term, model.version(), model.epoch_sums(), mark.is_row,
                              mark.is_mark, model.seconds(now()), notice,
                              mark.is_row ? std::exchange(records_.rounds, {})
                                          : std::vector<round_record>{}});
}

trainer_figures server_state::on_figures() const {
  const auto& roster = records_.roster;
  const bool hides = options_.policy->hides_work();
  return {roster.statistics().barrier_count(),
          hides ? std::vector<named_statistics>{} : roster.figures(), left_out_, records_.clients};
}

} // namespace troupe
