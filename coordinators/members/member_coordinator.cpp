#include "coordinators/members/member_coordinator.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

constexpr const char* join_first = "the coordinator does not know this life of the member: join";

void require(bool holds, const char* what) {
  if (!holds)
    throw std::invalid_argument(std::string{"member coordinator: "} + what);
}

/// As many as a rule wants to begin with; all of them are lost at first.
size_t first_trainers(const asynchronous_options& x) {
  return x.consistency.mode == consistency_kind::half_synchronous ? x.consistency.first_count : 1;
}

} // namespace

member_coordinator::member_coordinator(const member_coordinator_options& options,
                                       const const_buffer& initial, uint64_t incarnation)
  : options_(options), next_life_(incarnation) {
  require(options.members_min >= 1 && options.members_min <= options.members_max,
          "members_min must be between 1 and members_max");
  require(options.patience > milliseconds::zero(), "patience must be positive");
  if (auto* rule = std::get_if<asynchronous_options>(&options_.rule))
    rule->trainer_count = first_trainers(*rule);
  begin(initial);
}

void member_coordinator::begin(const const_buffer& parameters) {
  if (const auto* rule = std::get_if<asynchronous_options>(&options_.rule)) {
    require(parameters.size() > 0, "the main model has no parameters");
    gradients_.emplace(*rule);
    gradients_->set_parameters(parameters.values());
    for (size_t i = 0; i < rule->trainer_count; ++i)
      gradients_->lost(i);
  } else {
    models_.emplace(std::get<parameters_coordinator_options>(options_.rule));
    models_->set_parameters(parameters.values());
  }
}

const_buffer member_coordinator::parameters() const {
  return gradients_ ? gradients_->parameters() : models_->main_parameters();
}

uint64_t member_coordinator::own_version() const {
  return gradients_ ? gradients_->update_count() : models_->round_count();
}

uint64_t member_coordinator::closed_rounds() const {
  return models_->round_count() + models_->refused_round_count();
}

size_t member_coordinator::living_count() const {
  return static_cast<size_t>(std::ranges::count_if(members_, &member_state::lives));
}

member_coordinator::member_state* member_coordinator::find(const membership& who) {
  if (who.member >= members_.size())
    return nullptr;
  auto& x = members_[who.member];
  return x.lives && x.life == who.life ? &x : nullptr;
}

// ---- Who takes part ----

std::optional<membership> member_coordinator::join(const std::string& name, moment now) {
  now_ = now;
  const auto known = by_name_.find(name);
  const auto place = known == by_name_.end() ? free_place() : std::optional{known->second};
  if (!place)
    return std::nullopt;
  const auto member = *place;
  if (member == members_.size())
    members_.emplace_back();
  else
    lose(member);
  by_name_.erase(members_[member].name);
  by_name_.emplace(name, member);
  auto& x = members_[member];
  x = {name, ++next_life_, true};
  x.since = now;
  take_part(member);
  if (!has_begun_ && living_count() >= options_.members_min) {
    has_begun_ = true;
    release_all();
  }
  return membership{member, x.life, gradients_.has_value(), parameters().size()};
}

std::optional<uint64_t> member_coordinator::free_place() const {
  if (members_.size() < options_.members_max)
    return members_.size();
  const auto left = std::ranges::find(members_, false, &member_state::lives);
  return left == members_.end() ? std::nullopt
                                : std::optional{static_cast<uint64_t>(left - members_.begin())};
}

void member_coordinator::leave(const membership& who) {
  if (auto* x = find(who)) {
    lose(who.member);
    x->lives = false;
  }
}

void member_coordinator::take_part(uint64_t member) {
  members_[member].passed_over = false;
  if (gradients_)
    gradients_->joined(member);
  else
    models_->add_child(member);
}

void member_coordinator::lose(uint64_t member) {
  waiting_.erase(member);
  released_.erase(member);
  members_[member].ticket = 0;
  if (gradients_) {
    release(gradients_->lost(member).released);
  } else {
    const auto rounds = closed_rounds();
    models_->remove_child(member);
    if (closed_rounds() != rounds)
      release_all();
  }
}

void member_coordinator::release(const std::vector<size_t>& members) {
  for (const auto member : members)
    if (waiting_.erase(member) > 0) {
      released_.insert(member);
      members_[member].since = now_;
    }
}

void member_coordinator::release_all() {
  release({waiting_.begin(), waiting_.end()});
}

// ---- Work and updates ----

std::string member_coordinator::reason_to_wait(const member_state& x) const {
  if (!has_begun_)
    return "it begins with " + std::to_string(options_.members_min) + " members, and " +
           std::to_string(living_count()) + " are here";
  if (models_ && x.held_in == closed_rounds() &&
      std::get<parameters_coordinator_options>(options_.rule).trigger != round_trigger::anybody)
    return "its model waits for its round";
  return {};
}

member_task member_coordinator::pull(const membership& who, moment now) {
  now_ = now;
  member_task result;
  result.version = version();
  auto* x = find(who);
  if (is_over_) {
    result.reason = "the coordinator has stopped";
    if (x) // an answer may be lost, so it knows when it asks again
      x->lives = !std::exchange(x->was_told, true);
    return result;
  }
  if (!x) {
    result.verdict = work_verdict::join_again;
    result.reason = join_first;
    return result;
  }
  if (x->passed_over) {
    take_part(who.member);
    x->since = now;
  }
  result.verdict = work_verdict::wait;
  result.reason = reason_to_wait(*x);
  if (result.reason.empty() && gradients_) {
    const auto pulled = gradients_->pull(who.member);
    result.ticket = pulled.decision.ticket;
    result.parameters = pulled.parameters;
    if (pulled.decision.verdict != staleness_verdict::proceed)
      result.reason = troupe::name_of(pulled.decision.reason);
  } else if (result.reason.empty()) {
    result.ticket = x->ticket != 0 ? x->ticket : next_ticket_++;
    result.parameters = models_->main_parameters();
  }
  if (!result.reason.empty()) {
    waiting_.insert(who.member);
    return result;
  }
  result.verdict = work_verdict::go;
  waiting_.erase(who.member);
  // Whose updates are refused holds others up as if it brought none.
  const bool was_refused = x->last_ticket != 0 && x->last_report.verdict == member_verdict::refused;
  if (x->ticket != result.ticket && !was_refused)
    x->since = now;
  x->ticket = result.ticket;
  return result;
}

update_report member_coordinator::take(const membership& who, uint64_t ticket,
                                       const const_buffer& values, uint64_t sample_count,
                                       moment now) {
  now_ = now;
  auto* x = find(who);
  if (!x)
    return {member_verdict::join_again, join_first, 0, version()};
  if (ticket != 0 && ticket == x->last_ticket)
    return x->last_report;
  if (is_over_)
    return {member_verdict::refused, "the coordinator has stopped", 0, version()};
  if (x->passed_over)
    return {member_verdict::late, "others waited for it for too long, and went on without it", 0,
            version()};
  if (ticket == 0 || ticket != x->ticket)
    return {member_verdict::refused, "the ticket is none of the member's", 0, version()};
  x->ticket = 0;
  x->last_ticket = ticket;
  x->last_report = gradients_ ? take_gradient(who.member, ticket, values, sample_count)
                              : take_model(who.member, values, sample_count, now);
  if (x->last_report.verdict != member_verdict::refused)
    x->since = now;
  return x->last_report;
}

update_report member_coordinator::take_gradient(uint64_t member, uint64_t ticket,
                                                const const_buffer& values, uint64_t sample_count) {
  const auto pushed = gradients_->push(member, ticket, values, sample_count);
  release(pushed.released);
  update_report result{member_verdict::applied, {}, pushed.decision.staleness, version()};
  if (pushed.verdict == gradient_verdict::queued) {
    result.verdict = member_verdict::held;
    result.reason = troupe::name_of(staleness_reason::held);
  } else if (pushed.verdict != gradient_verdict::applied) {
    const bool is_late = !pushed.verdict && pushed.decision.reason == staleness_reason::late;
    result.verdict = is_late ? member_verdict::late : member_verdict::refused;
    result.reason = pushed.verdict ? std::string{troupe::name_of(*pushed.verdict)}
                                   : std::string{troupe::name_of(pushed.decision.reason)};
  }
  return result;
}

update_report member_coordinator::take_model(uint64_t member, const const_buffer& values,
                                             uint64_t sample_count, moment now) {
  merge_entry entry{.child = member, .values = values, .sample_count = sample_count};
  const auto rounds = closed_rounds();
  const auto outcome = models_->add_parameters(std::move(entry), now);
  using enum parameters_verdict;
  const bool is_held = outcome.verdict == waits || outcome.verdict == replaced;
  if (is_held)
    members_[member].held_in = rounds;
  if (closed_rounds() != rounds)
    release_all();
  return {is_held                     ? member_verdict::held
          : outcome.verdict == merged ? member_verdict::applied
                                      : member_verdict::refused,
          is_held ? "its round waits for other models" : outcome.reason, 0, version()};
}

void member_coordinator::on_time(moment now) {
  now_ = now;
  if (is_over_)
    return;
  if (models_) {
    const auto rounds = closed_rounds();
    models_->on_time(now);
    if (closed_rounds() != rounds)
      release_all();
  }
  for (uint64_t member = 0; member < members_.size() && !waiting_.empty(); ++member)
    if (auto& x = members_[member]; x.lives && !x.passed_over && !waiting_.contains(member) &&
                                    now - x.since >= options_.patience) {
      lose(member);
      x.passed_over = true;
    }
}

void member_coordinator::stop() {
  if (models_)
    models_->stop();
  is_over_ = true;
  release_all();
}

// ---- What is remembered ----

void member_coordinator::save(state_saver& out) const {
  if (gradients_)
    gradients_->save(out);
  else
    models_->save(out);
}

state_shape member_coordinator::shape() const {
  if (const auto* rule = std::get_if<asynchronous_options>(&options_.rule))
    return gradient_span::shape_of(span_options_of(*rule));
  return outer_rule::shape_of(std::get<parameters_coordinator_options>(options_.rule).outer);
}

void member_coordinator::load(const const_buffer& parameters, uint64_t version, state_loader& in) {
  require(parameters.size() == this->parameters().size(), "the parameters saved are others");
  begin(parameters);
  if (gradients_)
    gradients_->load(in);
  else
    models_->load(in);
  base_version_ = version - own_version();
}

} // namespace troupe
