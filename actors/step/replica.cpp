#include "actors/step/replica.hpp"

#include "actors/base/job_rows.hpp"
#include "coordinators/base/canonical_tree.hpp"
#include "coordinators/step/placement.hpp"
#include "models/math/moves.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {

namespace {

/// True if `news` belongs to the current view: each view begins all boundaries and segments anew.
template <class T>
bool is_of(const view& now, const T& news) {
  return std::pair{news.term, news.number} == std::pair{now.term, now.number};
}

/// Time for a node to report that it has a view, before a row may end its process. Doubled, each step in which a
/// process was lost is delayed by that much. Too short, a row that kills its reader costs one process more.
constexpr milliseconds careful_delay{100};

} // namespace

replica_actor::behavior_type replica_state::make_behavior(const replica_options& options) {
  options_ = options;
  reducer_ = reducer{options.exchange};
  return {
    [this](const view& news) { on_view(news); },
    [this](const parameter_span& news) { on_parameter_span(news); },
    [this](const horizon& news) { on_horizon(news); },
    [this](atom::hold, uint64_t round) { on_hold(round); },
    [this](const summation& news) { on_summation(news); },
    [this](const boundary& news) { on_boundary(news); },
    [this](const segment_parameters& news) { on_segment_parameters(news); },
    [this](atom::tick) { work_on(); },
    [this](atom::status) { return status_; },
  };
}

void replica_state::on_view(const view& news) {
  if (has_view_ && std::pair{news.term, news.number} < std::pair{view_.term, view_.number})
    return;
  const bool begins = !has_view_ || news.term != view_.term || news.restarts != view_.restarts;
  has_view_ = true;
  if (news.term != view_.term)
    rule_.forget();
  else if (begins)
    rule_.drop();
  view_ = news;
  index_ = news.index;
  slices_ = news.replicas.at(index_).slices;
  if (news.is_careful)
    times_.not_before = self_->clock().now() + careful_delay;
  if (slices_.empty())
    return rest();
  std::vector<index_range> slices;
  for (const auto& entry : news.replicas)
    slices.push_back(entry.slices);
  evaluation_shares_ = chunks_of_group(slices, index_, options_.rows->evaluated(), options_.plan);
  if (!rule_)
    return restart(news);
  catch_up();
}

// A spare: this process's buffers no longer have its part of a model.
void replica_state::rest() {
  if (std::exchange(member_, nullptr))
    rule_.drop();
}

void replica_state::restart(const view& news) {
  elements_.clear();
  for (const auto& shard : news.shards)
    elements_.push_back(elements_of_blocks(shard.blocks, options_.network->layout().size()));
  versions_.clear();
  memory_.set_version(0);
  computed_ = {};
  member_.reset();
  if (news.replicas[index_].shares_model())
    member_ =
      std::make_unique<partition_member>(self_, options_, view_, index_, status_.waits, memory_);
  rule_.begin(options_.plan, elements_.size(), news.start_version);
  for (size_t k = 0; k < elements_.size(); ++k)
    if (elements_[k].empty())
      rule_->ignore_shard(k);
}

// A member goes on with its work: the node makes a model's group begin anew with each view.
void replica_state::catch_up() {
  if (member_)
    return advance();
  if (rule_->has_evaluated())
    evaluate(rule_->version());
  if (rule_->has_begun_step())
    compute(rule_->version());
  advance();
}

void replica_state::on_parameter_span(const parameter_span& news) {
  if (!rule_ || news.version < rule_->version())
    return;
  {
    const auto shard = std::min<size_t>(news.shard, elements_.size() - 1);
    const traced_work work{options_.trace.get(), trace_kind::receive, news.version, shard,
                           trace_flow{flow_content::parameters,
                                      {view_.term, news.version, elements_[shard].begin, index_}}};
    auto& version = versions_[news.version];
    version.parameters = news.values.storage();
    if (!news.point.values().empty())
      version.point = news.point;
  }
  if (rule_->announce(news.version, news.shard))
    advance();
}

void replica_state::on_horizon(const horizon& news) {
  if (!rule_)
    return;
  rule_->set_horizon(news.rule);
  advance();
}

void replica_state::on_hold(uint64_t round) {
  const auto next_step = rule_.hold();
  if (view_.relay)
    self_->send(view_.relay, atom::held_v, static_cast<uint64_t>(index_), round, next_step);
}

// Once the next version is whole, the rest of this step is not needed: other members may have gone on and send nothing
// more. The same holds for a step beyond the end of training, which others may not have begun.
bool replica_state::is_busy() {
  const bool is_over = view_.wired && rule_->owns(rule_->version() + 1);
  if (member_ && (is_over || rule_->has_to_evaluate()))
    member_->abandon();
  return member_ && member_->is_busy();
}

void replica_state::advance() {
  while (!is_busy()) {
    const auto action = rule_->next();
    const auto version = rule_->version();
    versions_.erase(versions_.begin(), versions_.lower_bound(version));
    status_.version = version;
    if (action == replica_rule::action::evaluate) {
      evaluate(version);
    } else if (action == replica_rule::action::compute) {
      computed_ = reported_early_ = {};
      compute(version);
    } else {
      return;
    }
  }
  if (!goes_on_)
    work_on();
}

void replica_state::on_boundary(const boundary& news) {
  if (!member_ || !is_of(view_, news))
    return;
  member_->on_boundary(news);
  if (!goes_on_)
    work_on();
}

void replica_state::on_segment_parameters(const segment_parameters& news) {
  if (!member_ || !is_of(view_, news))
    return;
  member_->on_parameters(news);
  if (!goes_on_)
    work_on();
}

// After each tile it handles the pieces of other members: backward tiles go before forward ones.
void replica_state::work_on() {
  goes_on_ = false;
  if (std::exchange(times_.waits, false) && rule_ && rule_->has_begun_step()) {
    compute(rule_->version());
    if (!member_)
      return advance();
  }
  if (!member_ || !rule_)
    return;
  goes_on_ = compute_tile() && member_->is_busy();
  for (const auto slice : member_->take_computed()) {
    status_.sample_count += options_.plan.rows_of_slice(rule_->version(), slice).size();
    if (times_.step != rule_->version())
      ++status_.steps_executed;
    times_.step = rule_->version();
  }
  if (goes_on_)
    self_->send(self_, atom::tick_v);
  else if (!member_->is_busy())
    advance();
}

bool replica_state::compute_tile() {
  const work_name what{trace_kind::tile, rule_->version(), 0};
  const piece_of_work piece{options_.gauge.get(), self_->clock(), what, true};
  const traced_work work{options_.trace.get(), trace_kind::tile, rule_->version(), 0};
  return member_->compute_next();
}

void replica_state::evaluate(uint64_t version) {
  const auto begin = self_->clock().now();
  memory_.set_version(version + 1);
  for (const auto& share : evaluation_shares_) {
    if (member_ && !share.empty())
      return member_->begin_evaluation(version, share, versions_.at(version).parameters);
    evaluation result{view_.term, version, share.begin, {}};
    for (size_t chunk = share.begin; chunk < share.end; ++chunk) {
      const work_name what{trace_kind::evaluate, version, chunk};
      const piece_of_work piece{options_.gauge.get(), self_->clock(), what, false};
      const traced_work work{options_.trace.get(), trace_kind::evaluate, version, chunk};
      add_chunk(result, *options_.network, options_.rows->metrics(), parameters_of(version),
                options_.rows->of_chunk(chunk, reader_), memory_);
    }
    if (!share.empty())
      self_->send(view_.director, std::move(result));
  }
  times_.evaluated_for += self_->clock().now() - begin;
}

void replica_state::compute(uint64_t step) {
  if (const auto now = self_->clock().now(); now < times_.not_before) {
    times_.waits = true;
    return self_->delayed_send(self_, times_.not_before - now, atom::tick_v);
  }
  if (member_) {
    const auto& version = versions_.at(step);
    return member_->begin_step(step, version.point.size() > 0 ? version.point.storage()
                                                              : version.parameters);
  }
  times_.begin = self_->clock().now() - std::exchange(times_.evaluated_for, {});
  // Where slices are missing, neighbours do not become one sum, and would need more room there than was counted.
  times_.adds_there = options_.exchange == number_format::float32;
  for (size_t slice = slices_.begin; slice < slices_.end && times_.adds_there; ++slice)
    times_.adds_there =
      options_.plan.slice_exists(step, slice) && !computed_.contains({slice, slice + 1});
  for (size_t slice = slices_.begin; slice < slices_.end; ++slice)
    if (options_.plan.slice_exists(step, slice) && computed_.add({slice, slice + 1}))
      add_slice(step, slice);
  for (auto& part : parts_)
    send(step, std::move(part));
  parts_.clear();
}

// Sums are a stack, and one lies in the room of its leftmost part. So those on a device have the first rooms there.
replica_state::partial_sum replica_state::new_sum(size_t slice) {
  partial_sum result{{slice, slice + 1}, {}, {}, {}};
  if (times_.adds_there)
    result.place = options_.network->room_there(
      static_cast<size_t>(
        std::ranges::count_if(parts_, [](const partial_sum& x) { return x.values.size() == 0; })),
      options_.network->layout().size(), memory_);
  if (result.place.empty()) {
    result.values = options_.gradients->acquire();
    result.place = result.values.values();
  }
  return result;
}

void replica_state::partial_sum::fetch(buffer_pool& pool) {
  if (values.size() > 0)
    return;
  values = pool.acquire();
  copy_floats(place, values.values());
  place = values.values();
}

void replica_state::add_slice(uint64_t step, size_t slice) {
  auto part = new_sum(slice);
  buffer begun;   // what goes out early, if it is on a device
  span_set added; // elements of it
  const auto on_piece = [&](size_t begin, size_t end, const batch_sums& sums) {
    const auto count = end - begin;
    part.sums = sums;
    added.add({begin, end});
    round_to(options_.exchange, part.place.subspan(begin, count));
    auto sum = sum_with_parts(part, {begin, end});
    if (sum.values.size() == 0) {
      if (begun.size() == 0)
        begun = options_.gradients->acquire();
      sum.values = begun;
      copy_floats(sum.place.subspan(begin, count), begun.values().subspan(begin, count));
    }
    send_begun(step, sum, {begin, end});
  };
  const gradient_listener listener{[this](size_t element) { return goes_over_wires(element); },
                                   on_piece};
  part.sums =
    compute_slice(step, slice, part.place, sends_early(step, slice) ? &listener : nullptr);
  const auto late = added.missing_in({0, part.place.size()});
  for (const auto& rest : late)
    round_to(options_.exchange, part.place.subspan(rest.begin, rest.size()));
  if (!adds_here())
    return send(step, std::move(part));
  auto sum = part;
  for (const auto& rest : late)
    sum = sum_with_parts(part, rest);
  std::erase_if(parts_, [&](const partial_sum& left) { return sum.node.contains(left.node); });
  if (begun.size() > 0) {
    for (const auto& rest : late)
      copy_floats(sum.place.subspan(rest.begin, rest.size()),
                  begun.values().subspan(rest.begin, rest.size()));
    sum.place = begun.values();
    sum.values = std::move(begun);
  } else if (sum.values.size() == 0) {
    const auto whole = largest_nodes(options_.plan.slice_count, slices_);
    if (std::ranges::find(whole, sum.node) != whole.end())
      sum.fetch(*options_.gradients); // nothing here is added to it
  }
  parts_.push_back(std::move(sum));
}

// From right to left, in the order of the tree.
replica_state::partial_sum replica_state::sum_with_parts(const partial_sum& part,
                                                         const index_range& elements) const {
  auto result = part;
  for (auto left = parts_.rbegin(); left != parts_.rend(); ++left) {
    if (!are_siblings(options_.plan.slice_count, left->node, result.node))
      break;
    add_into(left->place.subspan(elements.begin, elements.size()),
             result.place.subspan(elements.begin, elements.size()), options_.exchange);
    result = {
      {left->node.begin, result.node.end}, left->place, left->values, left->sums + result.sums};
  }
  return result;
}

std::span<const float> replica_state::point_of(uint64_t step) const {
  const auto point = versions_.at(step).point.values();
  return point.empty() ? parameters_of(step) : point;
}

// If the version came over a wire, its point lies behind the parameters.
std::span<const float> replica_state::parameters_of(uint64_t version) const {
  const auto values = versions_.at(version).parameters.values();
  return values.first(std::min(values.size(), options_.network->layout().size()));
}

batch_sums replica_state::compute_slice(uint64_t step, size_t slice, std::span<float> gradient,
                                        const gradient_listener* listener) {
  const work_name what{trace_kind::slice, step, slice};
  const piece_of_work piece{options_.gauge.get(), self_->clock(), what, true};
  const traced_work work{options_.trace.get(), trace_kind::slice, step, slice};
  times_.slice = slice;
  const auto begin = self_->clock().now();
  if (options_.hooks.crashing_row)
    crash_if_asked(options_.hooks, options_.names.rows_of(step, slice));
  const auto rows = options_.rows->of_slice(step, slice, reader_);
  memory_.set_version(step + 1);
  const auto sums = options_.network->gradient(point_of(step), rows, gradient, memory_, listener);
  times_.slice.reset();
  ++status_.computed.count;
  status_.computed.time +=
    options_.hooks.slice_time ? options_.hooks.slice_time() : self_->clock().now() - begin;
  if (options_.hooks.poisoned_step == step && options_.hooks.poisoned_slice == slice)
    fill_values(gradient.subspan(options_.hooks.poisoned_element, 1), options_.hooks.poison);
  status_.sample_count += rows.row_count;
  if (times_.step != step)
    ++status_.steps_executed;
  times_.step = step;
  return sums;
}

std::string replica_state::work_in_hand() const {
  if (!times_.slice || !options_.names.rows)
    return {};
  const auto step = rule_->version();
  return "step " + std::to_string(step) + ", slice " + std::to_string(*times_.slice) + ": " +
         options_.names.words(step, std::array{*times_.slice});
}

replica_actor::behavior_type replica(self_pointer<replica_actor, replica_state> self,
                                     const replica_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

namespace {

// Records a message for each shard, as a viewer draws them; shards of other processes really get one for all.
void trace_send(trace_ring* ring, const contribution& news, const index_range& shard,
                size_t index) {
  const traced_work work{
    ring, trace_kind::send, news.step, index,
    trace_flow{flow_content::gradient,
               {news.term, news.step, news.node.begin, news.node.end, shard.begin}}};
}

} // namespace

// The replica has the gradient in its cache, so adding here is cheap and few gradients are kept.
bool replica_state::adds_here() const {
  const bool sends_over_wires = std::ranges::any_of(
    view_.shards, [](const shard_entry& x) { return !x.actor && !x.blocks.empty(); });
  return sends_over_wires || !options_.hooks.keeps_slices_apart;
}

bool replica_state::goes_over_wires(size_t element) const {
  for (size_t k = 0; k < elements_.size(); ++k)
    if (elements_[k].contains(element))
      return !view_.shards[k].actor;
  return false;
}

// Nothing is added to the last slice here, so its values are final. Test hooks need a whole gradient.
bool replica_state::sends_early(uint64_t step, size_t slice) const {
  return view_.wired && adds_here() && slice + 1 == slices_.end &&
         options_.hooks.poisoned_step != step && options_.hooks.cut_step != step;
}

void replica_state::send_begun(uint64_t step, const partial_sum& part,
                               const index_range& elements) {
  contribution news{
    step,      part.node, elements.begin, payload{part.values, elements.begin, elements.size()},
    part.sums, index_,    view_.term};
  news.is_begun = true;
  news.computed = computed_for();
  reported_early_.add(elements);
  for (size_t k = 0; k < elements_.size(); ++k)
    if (!elements_[k].empty() && elements.contains(elements_[k].end - 1))
      trace_send(options_.trace.get(), news, elements_[k], k);
  self_->send(view_.relay, news);
}

std::chrono::nanoseconds replica_state::computed_for() const {
  return self_->clock().now() - times_.begin;
}

void replica_state::send(uint64_t step, partial_sum part) {
  part.fetch(*options_.gradients);
  const auto computed = computed_for();
  const auto share = [&](const index_range& elements) {
    const auto size = elements.size() - (options_.hooks.cut_step == step ? 1 : 0);
    return contribution{
      step,      part.node, elements.begin, payload{part.values, elements.begin, size},
      part.sums, index_,    view_.term,     false,
      computed};
  };
  for (size_t k = 0; k < elements_.size(); ++k) {
    if (elements_[k].empty())
      continue;
    const bool is_reported = part.node.end == slices_.end &&
                             reported_early_.contains({elements_[k].end - 1, elements_[k].end});
    auto news = share(elements_[k]);
    if (view_.shards[k].actor || !is_reported)
      trace_send(options_.trace.get(), news, elements_[k], k);
    if (view_.shards[k].actor)
      self_->send(view_.shards[k].actor, std::move(news));
  }
  if (view_.wired)
    self_->send(view_.relay, share({0, part.values.size()}));
}

// The sum goes only to other processes: the shards of this one have the parts.
void replica_state::on_summation(const summation& news) {
  if (news.term != view_.term)
    return;
  std::vector<std::span<const float>> inputs;
  std::vector<batch_sums> sums;
  for (const auto& part : news.parts) {
    inputs.push_back(part.gradient_sum.values());
    sums.push_back(part.sums);
  }
  if (times_.step != news.step) // other replicas computed all of it
    times_.begin = self_->clock().now();
  const auto whole = options_.gradients->acquire();
  reducer_.reduce(news.plan, inputs, whole.values());
  const contribution sum{news.step,
                         news.node,
                         0,
                         payload{whole, 0, whole.size()},
                         evaluate_plan(news.plan, sums),
                         index_,
                         news.term,
                         false,
                         computed_for()};
  for (size_t k = 0; k < elements_.size(); ++k)
    if (!elements_[k].empty() && !view_.shards[k].actor)
      trace_send(options_.trace.get(), sum, elements_[k], k);
  self_->send(view_.relay, sum);
}

} // namespace troupe
