#include "actors/tasks/federated_policy.hpp"

#include "data/privacy/key_file.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

namespace troupe {

namespace {

/// The counts in a checkpoint; the releases of a private run are in its ledger instead.
std::array<uint64_t*, 5> counts_of(client_totals& x) {
  return {&x.rounds, &x.void_rounds, &x.updates, &x.refused, &x.rows};
}

} // namespace

release_log::release_log(const release_options& options, uint64_t version)
  : options_(options), ledger_(options.ledger), budget_(options.budget) {
  std::set<uint64_t> rounds;
  for (const auto& x : ledger_.releases()) {
    budget_.add({x.sampling_rate, x.noise});
    if (x.round < version)
      rounds.insert(x.round);
  }
  if (rounds.size() < version)
    throw failure(failure_code::bad_data,
                  "the ledger of releases has " + std::to_string(rounds.size()) + " of the " +
                    std::to_string(version) + " rounds that the checkpoint has",
                  options_.ledger,
                  "put back the file that belongs to the run, or begin anew with another key");
}

void release_log::record(uint64_t round) {
  const auto& kind = options_.budget.kind;
  ledger_.record(
    {round, attempt_at(round), kind.sampling_rate, kind.noise, budget_.next_epsilon()});
  budget_.add(kind);
}

privacy_totals release_log::totals() const {
  const auto& [delta, limit, kind] = options_.budget;
  return {budget_.count(), budget_.epsilon(),  delta,
          kind.noise,      kind.sampling_rate, options_.clip_norm};
}

std::unique_ptr<span_model> span_of(const federation& clients, const const_buffer& initial) {
  const auto& options = clients.options();
  auto result = span_options_of(options, clients.client_count());
  if (options.privacy)
    result.noise = {
      *options.privacy, static_cast<double>(options.cohort.cohort_size),
      [key = clients.key()](std::span<const int64_t> words, uint64_t made,
                            uint64_t attempt) { // a round is named after what it begins with
        return secret_stream{derived_key(key, std::as_bytes(words)),
                             {secret_purpose::noise, made - 1, attempt}};
      }};
  return std::make_unique<merged_span>(result, initial);
}

void federated_policy::begin(server_records& records, span_model& span, state_loader* saved) {
  rounds_.emplace(options_.clients->options(), options_.clients->rows().offsets,
                  options_.clients->client_count());
  last_sums_ = {};
  last_ticket_ = 0;
  totals_ = {};
  open_ = reported_end_ = false;
  if (saved) {
    rounds_->set_void_in_a_row(saved->count());
    span.load(*saved);
    last_sums_.loss_sum = saved->number();
    last_sums_.sample_count = saved->count();
    last_sums_.correct_count = saved->count();
    for (auto* total : counts_of(totals_))
      *total = saved->count();
  }
  open_log(records);
  records.clients = totals_;
}

void federated_policy::open_log(server_records& records) {
  unreadable_.clear();
  try {
    if (!options_.record.empty())
      record_.emplace(options_.record, records.model.version());
    if (!options_.releases)
      return;
    releases_.emplace(*options_.releases, records.model.version());
    totals_.privacy = releases_->totals();
  } catch (const failure& error) {
    unreadable_ = error.what();
  }
}

void federated_policy::save(state_saver& out, const span_model& span) const {
  out.count(rounds_->void_in_a_row());
  span.save(out);
  out.number(last_sums_.loss_sum);
  out.count(last_sums_.sample_count);
  out.count(last_sums_.correct_count);
  auto totals = totals_;
  for (const auto* total : counts_of(totals))
    out.count(*total);
}

server_outcome federated_policy::on_left_out(uint64_t, server_records&, moment) {
  return {.problem = "a round is the sum of all its clients"};
}

std::string federated_policy::in_words(uint64_t piece) const {
  if (hides_work())
    return "clients of round " + std::to_string(round_ + 1);
  if (options_.clients->gathers())
    return "clients of round " + std::to_string(round_ + 1);
  const auto& positions = rounds_->pieces().at(piece).positions;
  const auto who = options_.clients->cohort_at(round_);
  return "the clients of round " + std::to_string(round_ + 1) + " from " +
         std::to_string(who->counted.at(positions.begin)) + " to " +
         std::to_string(who->counted.at(positions.end - 1));
}

size_t federated_policy::piece_size(const server_records& records, size_t counted) const {
  if (options_.piece_size > 0)
    return options_.piece_size;
  const auto tasks = tasks_of_round * std::max<size_t>(records.roster.living_count(), 1);
  return std::clamp<size_t>((counted + tasks - 1) / tasks, 1, clients_of_task_max);
}

// Opens a round if it may. Closes a round without work at once.
std::optional<server_outcome> federated_policy::pass_over(server_records& records, moment now) {
  if (open_ || records.model.version() >= records.model.step_limit())
    return std::nullopt;
  round_ = records.model.version();
  if (!unreadable_.empty())
    return server_outcome{.problem = unreadable_, .kind = step_problem::unrecorded};
  if (releases_ && releases_->is_spent()) {
    if (std::exchange(reported_end_, true))
      return std::nullopt;
    return server_outcome{.problem = "another round would exceed privacy.epsilon",
                          .kind = step_problem::spent};
  }
  const auto& clients = *options_.clients;
  if (const auto end = clients.recorded_rounds(); end && round_ >= *end) {
    if (std::exchange(reported_end_, true))
      return std::nullopt;
    return server_outcome{.problem = "the record of rounds ends here",
                          .kind = step_problem::record_ends};
  }
  attempt_ = releases_ ? releases_->attempt_at(round_) : 0;
  records.roster.start_anew();
  open_ = true;
  if (clients.gathers()) {
    rounds_->open(round_, clients.group_count());
    return std::nullopt;
  }
  try {
    if (open_round(records))
      return std::nullopt;
  } catch (const failure& error) {
    return server_outcome{.problem = error.what(), .kind = step_problem::differs};
  }
  return close_round(records, now);
}

bool federated_policy::open_round(server_records& records) {
  const auto who = options_.clients->cohort_at(round_, attempt_);
  return rounds_->open(round_, who, piece_size(records, who->counted.size()));
}

uint64_t federated_policy::piece_limit(server_records&) {
  return open_ ? rounds_->pieces().size() : 0;
}

std::optional<trainer_task> federated_policy::task_for(size_t place, server_records& records,
                                                       moment now) {
  trainer_task task;
  task.kind = task_kind::clients;
  task.ticket = ++last_ticket_;
  task.member = records.roster.take(place, task.ticket, now);
  task.first_step = round_;
  task.attempt = attempt_;
  task.positions = rounds_->pieces().at(task.member).positions;
  return task;
}

server_outcome federated_policy::on_result(const trainer_result& news, server_records& records,
                                           moment now) {
  if (!rounds_->knows_clients())
    rounds_->set_clients(options_.clients->cohort_at(round_, attempt_));
  auto entry = rounds_->finish(news.member, news.clients, news.sums.correct_count);
  entry.number = news.ticket;
  records.decisions.write(entry);
  return rounds_->is_complete() ? close_round(records, now) : server_outcome{};
}

// A private run's log must have a release before anything that follows from the noised sum is visible, even that the sum
// is not finite. So the entry that draws the noise is written after it.
server_outcome federated_policy::close_round(server_records& records, moment now) {
  open_ = false;
  records.roster.statistics().on_barrier(now);
  auto closed = releases_ ? rounds_->close_privately() : rounds_->close();
  if (releases_ && !closed.record.is_void)
    if (const auto problem = record_release(); !problem.empty())
      return {.problem = problem, .kind = step_problem::unrecorded};
  if (const auto problem = record_clients(closed); !problem.empty())
    return {.problem = problem, .kind = step_problem::unrecorded};
  sequence_entry entry{.kind = entry_kind::close};
  entry.round = round_ + 1;
  entry.attempt = attempt_;
  entry.is_void = closed.record.is_void;
  records.decisions.write(entry);
  if (releases_)
    closed.record.epsilon = releases_->totals().epsilon;
  std::ranges::move(closed.news, std::back_inserter(records.notices));
  records.rounds.push_back(closed.record);
  totals_.add(closed.record);
  if (releases_)
    totals_.privacy = releases_->totals();
  records.clients = totals_;
  if (!closed.problem.empty())
    return {.problem = closed.problem,
            .kind = closed.differs ? step_problem::differs : step_problem::abandoned};
  // A void round's row repeats the figures of the last round that counted.
  if (!closed.record.is_void)
    last_sums_ = closed.sums;
  return {.next = next_version{round_ + 1, last_sums_},
          .when_not_finite = "the main model that the clients' updates lead to"};
}

// The write may block: nothing else can be done meanwhile.
std::string federated_policy::record_release() {
  try {
    releases_->record(round_);
  } catch (const failure& error) {
    return error.what();
  }
  return {};
}

std::string federated_policy::record_clients(const closed_round& closed) {
  if (!record_)
    return {};
  recorded_round line{round_ + 1, {}};
  const auto who = options_.clients->cohort_at(round_, attempt_);
  for (const auto& [group, positions] : rounds_->pieces())
    for (auto i = positions.begin; i < positions.end && !closed.record.is_void; ++i)
      if (rounds_->figures()[i].verdict == update_verdict::counted)
        line.clients.push_back(
          {who->named[i].name, group, who->named[i].rows, who->named[i].update});
  try {
    record_->add(line);
  } catch (const failure& problem) {
    return problem.what();
  }
  return {};
}

} // namespace troupe
