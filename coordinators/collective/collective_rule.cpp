#include "coordinators/collective/collective_rule.hpp"

#include "models/base/copy_values.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe {

namespace {

/// Sizes of results whose memory is used again. Doubled, a member may keep twice as many of them.
constexpr size_t pool_count_max = 4;

constexpr auto both_stages = {collective_stage::scatter, collective_stage::gather};

size_t index_of(collective_stage stage) {
  return static_cast<size_t>(stage);
}

std::string name_of_member(size_t member) {
  return "member " + std::to_string(member);
}

bool same_header(const collective_part& a, const collective_part& b) {
  return a.kind == b.kind && a.root == b.root && a.count == b.count && a.size() == b.size();
}

std::string lost_words(size_t member, const std::string& why) {
  return name_of_member(member) + " is lost: " + why;
}

} // namespace

collective_rule::collective_rule(const collective_options& options, size_t member)
  : options_(options), member_(member) {
  if (member >= options.member_count)
    throw std::invalid_argument("collective: no member " + std::to_string(member) + " among " +
                                std::to_string(options.member_count));
  std::vector<tree_node> leaves;
  for (size_t k = 0; k < options.member_count; ++k)
    leaves.push_back({k, k + 1});
  plan_ = *plan_reduction(leaves.size(), leaves, [](size_t) { return true; });
}

// ---- Calls ----

std::string collective_rule::refusal(const collective_call& call) const {
  if (call.round < next_round_)
    return "rounds rise, and the last one was " + std::to_string(next_round_ - 1);
  if (call.root >= options_.member_count)
    return "there is no root " + std::to_string(call.root) + " among " +
           std::to_string(options_.member_count) + " members";
  return call.values.intact() ? "" : "the values were damaged on their way";
}

collective_outcome collective_rule::begin(const collective_call& call, moment now) {
  if (const auto why = refusal(call); !why.empty())
    throw std::invalid_argument("collective: " + why);
  next_round_ = call.round + 1;
  const auto early = take_early(call.round);
  const auto at = rounds_.emplace(call.round, opened(call, now)).first;
  collective_outcome result;
  if (const auto why = problem_of(at->second, early); !why.empty()) {
    fail(at, why, result);
  } else {
    send(at->second, collective_stage::scatter, result);
    advance(at, result);
  }
  return result;
}

collective_rule::open_round collective_rule::opened(const collective_call& call, moment now) const {
  open_round result{call, {call.kind, call.root, options_.member_count}, now + options_.deadline};
  for (auto& stage : result.here)
    stage.resize(options_.member_count);
  const bool hears_count = has_root(call.kind) && call.root != member_;
  if (!hears_count && call.kind != collective_kind::all_gather)
    result.count = call.values.size();
  result.route.one_stage = call.kind == collective_kind::all_reduce &&
                           (options_.member_count <= 2 ||
                            call.values.size() * sizeof(float) <= options_.one_stage_bytes_max);
  if (is_sum(call.kind))
    result.here[index_of(collective_stage::scatter)][member_] = part_for(result, member_);
  return result;
}

// ---- What arrives ----

collective_outcome collective_rule::on_part(const collective_part& part) {
  collective_outcome result;
  if (part.from >= options_.member_count || part.from == member_)
    return result;
  if (part.round >= next_round_) {
    keep(part, result);
    return result;
  }
  const auto at = rounds_.find(part.round);
  if (at == rounds_.end())
    return result;
  if (const auto why = admit(at->second, part); !why.empty())
    fail(at, why, result);
  else
    advance(at, result);
  return result;
}

collective_outcome collective_rule::on_failure(const collective_failure& news) {
  collective_outcome result;
  if (news.from >= options_.member_count)
    return result;
  if (news.round >= next_round_) {
    if (auto* const early = early_at(news.round, news.from, result))
      early->problem = news.why;
  } else if (const auto at = rounds_.find(news.round); at != rounds_.end()) {
    end(at, {news.round, {}, news.why}, result); // its sender has sent the failure to all others
  }
  return result;
}

collective_outcome collective_rule::on_lost(size_t member, const std::string& why) {
  collective_outcome result;
  if (member >= options_.member_count || member == member_ || lost_.contains(member))
    return result;
  lost_[member] = why;
  for (auto at = rounds_.begin(); at != rounds_.end();)
    if (const auto next = at++; needs(next->second, member))
      fail(next, lost_words(member, why), result);
  return result;
}

collective_outcome collective_rule::on_time(moment now) {
  collective_outcome result;
  for (auto at = rounds_.begin(); at != rounds_.end();)
    if (const auto next = at++; now >= next->second.deadline)
      fail(next, overdue(next->second), result);
  return result;
}

// ---- What comes early ----

void collective_rule::keep(const collective_part& part, collective_outcome& result) {
  auto* const early = early_at(part.round, part.from, result);
  if (early == nullptr)
    return;
  if (const auto why = unfit_early(*early, part); !why.empty())
    early->problem = why;
  else if (std::ranges::none_of(early->parts, [&](const collective_part& known) {
             return known.from == part.from && known.stage == part.stage &&
                    known.first == part.first;
           }))
    early->parts.push_back(part);
}

std::string collective_rule::unfit_early(const early_round& early,
                                         const collective_part& part) const {
  for (const auto& known : early.parts)
    if (known.from == part.from && known.stage == part.stage && !same_header(known, part))
      return name_of_member(part.from) + " sends two parts that differ";
  const bool is_eager =
    part.is_whole() || part.first + part.values.size() <= options_.pieces.eager_elements();
  if (!is_eager || !is_cut_right(part, options_.pieces))
    return name_of_member(part.from) + " sends what it was not asked for";
  return {};
}

collective_rule::early_round collective_rule::take_early(uint64_t round) {
  early_round result;
  if (const auto found = early_.find(round); found != early_.end())
    result = std::move(found->second);
  early_.erase(early_.begin(), early_.upper_bound(round)); // rounds left out never begin
  return result;
}

collective_rule::early_round* collective_rule::early_at(uint64_t round, size_t from,
                                                        collective_outcome& result) {
  if (early_.contains(round) || early_.size() < early_rounds_max)
    return &early_[round];
  result = on_lost(from, "it is more than " + std::to_string(early_rounds_max) + " rounds ahead");
  return nullptr;
}

std::string collective_rule::problem_of(open_round& round, const early_round& early) const {
  if (!early.problem.empty())
    return early.problem;
  for (const auto& part : early.parts)
    if (auto why = admit(round, part); !why.empty())
      return why;
  for (const auto& [member, why] : lost_)
    if (needs(round, member))
      return lost_words(member, why);
  return {};
}

// ---- Checks ----

std::string collective_rule::admit(open_round& round, const collective_part& part) const {
  if (auto why = disagreement(round, part); !why.empty())
    return why;
  if (!part.values.intact())
    return "a part of " + name_of_member(part.from) + " was damaged on its way";
  if (part.kind != collective_kind::all_gather)
    round.count = part.count;
  if (!is_cut_right(part, options_.pieces) ||
      !round.here[index_of(part.stage)][part.from].take(part, options_.pieces))
    return name_of_member(part.from) + " sends what it was not asked for";
  return {};
}

std::string collective_rule::disagreement(const open_round& round,
                                          const collective_part& part) const {
  const auto sender = name_of_member(part.from);
  const auto differ = [&](const std::string& what, const auto& theirs, const auto& ours) {
    return sender + what + theirs + " where " + name_of_member(member_) + what + ours;
  };
  if (part.kind != round.call.kind)
    return differ(" calls ", std::string{name_of(part.kind)},
                  std::string{name_of(round.call.kind)});
  if (part.root != round.call.root)
    return differ(" names root ", std::to_string(part.root), std::to_string(round.call.root));
  if (round.count && part.count != *round.count)
    return differ(" has values: ", std::to_string(part.count), std::to_string(*round.count));
  if (!round.route.travels(part.stage, part.from, member_))
    return sender + " sends a part that " + std::string{name_of(part.kind)} + " does not have";
  if (const auto size = expected_size(round, part); part.size() != size)
    return sender + " sends " + std::to_string(part.size()) + " values where " +
           std::to_string(size) + " belong";
  return {};
}

size_t collective_rule::expected_size(const open_round& round, const collective_part& part) const {
  if (part.stage == collective_stage::scatter)
    return round.route.owned(part.count, member_).size();
  if (part.kind != collective_kind::all_gather)
    return round.route.owned(part.count, part.from).size();
  const auto& known = round.here[index_of(part.stage)][part.from];
  return known.has_begun() ? known.size() : part.count;
}

std::vector<size_t> collective_rule::missing(const open_round& round,
                                             collective_stage stage) const {
  std::vector<size_t> result;
  for (size_t k = 0; k < options_.member_count; ++k)
    if (round.route.travels(stage, k, member_) && !round.here[index_of(stage)][k].is_whole())
      result.push_back(k);
  return result;
}

bool collective_rule::needs(const open_round& round, size_t member) const {
  return std::ranges::any_of(both_stages, [&](collective_stage stage) {
    const auto place = index_of(stage);
    return (round.route.travels(stage, member, member_) && !round.here[place][member].is_whole()) ||
           (round.route.travels(stage, member_, member) && !round.sent[place]);
  });
}

std::string collective_rule::overdue(const open_round& round) const {
  auto members = missing(round, collective_stage::scatter);
  if (members.empty())
    members = missing(round, collective_stage::gather);
  std::string result = name_of_member(member_) + " waited " +
                       std::to_string(options_.deadline.count()) + " ms for member";
  for (const auto member : members)
    result += (member == members.front() ? " " : ", ") + std::to_string(member);
  return result;
}

// ---- The way of a round ----

void collective_rule::advance(open_rounds::iterator at, collective_outcome& result) {
  auto& round = at->second;
  grant(round, result);
  if (is_sum(round.call.kind))
    add_up(round);
  if (!missing(round, collective_stage::scatter).empty())
    return;
  auto& gathered = round.here[index_of(collective_stage::gather)];
  if (!gathered[member_].has_begun()) {
    gathered[member_] = own_part(round);
    send(round, collective_stage::gather, result);
  }
  if (missing(round, collective_stage::gather).empty())
    end(at, {at->first, joined(gathered), {}}, result);
}

void collective_rule::grant(open_round& round, collective_outcome& result) const {
  for (const auto stage : both_stages)
    for (size_t from = 0; from < options_.member_count; ++from)
      if (auto& part = round.here[index_of(stage)][from]; part.has_begun())
        if (const auto until = part.take_grant(options_.pieces))
          result.grants.push_back({from, {round.call.round, member_, stage, *until}});
}

void collective_rule::send(open_round& round, collective_stage stage,
                           collective_outcome& result) const {
  const auto& call = round.call;
  round.sent[index_of(stage)] = true;
  for (size_t to = 0; to < options_.member_count; ++to) {
    if (!round.route.travels(stage, member_, to))
      continue;
    collective_part part{call.round, member_, call.kind, call.root, stage, 0, {}};
    part.count = round.count.value_or(call.values.size());
    part.values = stage == collective_stage::scatter
                    ? part_for(round, to)
                    : round.here[index_of(stage)][member_].run_from(0);
    result.parts.push_back({to, std::move(part)});
  }
}

float_view collective_rule::own_part(const open_round& round) {
  const auto& call = round.call;
  if (is_sum(call.kind))
    return {round.sum, 0, round.sum.size()};
  if (has_root(call.kind) && call.root != member_)
    return joined({round.here[index_of(collective_stage::scatter)][call.root]});
  return call.kind == collective_kind::scatter ? part_for(round, member_) : call.values;
}

float_view collective_rule::part_for(const open_round& round, size_t member) const {
  const auto elements = round.route.owned(*round.count, member);
  return round.call.values.part(elements.begin, elements.size());
}

void collective_rule::add_up(open_round& round) {
  auto& summands = round.here[index_of(collective_stage::scatter)];
  const auto size = summands[member_].size();
  std::vector<float_view> runs(summands.size());
  std::vector<std::span<const float>> inputs(summands.size());
  while (round.summed < size) {
    auto count = size - round.summed;
    for (size_t k = 0; k < summands.size(); ++k) {
      runs[k] = summands[k].run_from(round.summed);
      count = std::min<uint64_t>(count, runs[k].size());
    }
    if (count == 0)
      return;
    if (!round.sum)
      round.sum = room_for(size);
    for (size_t k = 0; k < summands.size(); ++k)
      inputs[k] = runs[k].values().first(count);
    adder_.reduce(plan_, inputs, round.sum.values().subspan(round.summed, count));
    round.summed += count;
    for (auto& one : summands)
      one.release_before(round.summed);
  }
}

float_view collective_rule::joined(const slots& parts) {
  uint64_t size = 0;
  for (const auto& part : parts)
    size += part.size();
  for (const auto& part : parts)
    if (part.size() == size && (size == 0 || part.run_from(0).size() == size))
      return size == 0 ? float_view{} : part.run_from(0);
  const auto result = room_for(size);
  auto place = result.values().begin();
  for (const auto& part : parts)
    for (uint64_t element = 0; element < part.size();) {
      const auto run = part.run_from(element);
      place = copy_values(run.values(), place);
      element += run.size();
    }
  return {result, 0, size};
}

buffer collective_rule::room_for(size_t size) {
  if (!pools_.contains(size) && pools_.size() == pool_count_max)
    pools_.clear(); // what is in use is freed by its users
  auto& pool = pools_[size];
  if (!pool)
    pool = std::make_shared<buffer_pool>(size);
  return pool->acquire();
}

void collective_rule::fail(open_rounds::iterator at, const std::string& why,
                           collective_outcome& result) {
  result.failures.push_back({at->first, member_, why});
  end(at, {at->first, {}, why}, result);
}

void collective_rule::end(open_rounds::iterator at, collective_end news,
                          collective_outcome& result) {
  rounds_.erase(at);
  result.ends.push_back(std::move(news));
}

} // namespace troupe
