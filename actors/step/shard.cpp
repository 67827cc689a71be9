#include "actors/step/shard.hpp"

#include "coordinators/step/checkpoint_rule.hpp"
#include "coordinators/step/placement.hpp"
#include "models/base/copy_values.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe {

namespace {

std::string slices_in_words(const tree_node& node) {
  if (node.size() == 1)
    return "slice " + std::to_string(node.begin);
  return "slices " + std::to_string(node.begin) + " to " + std::to_string(node.end - 1);
}

span_hash hash_of(const view& at, size_t index, uint64_t version, std::span<const float> parameters,
                  const optimizer_state& state) {
  const auto& blocks = at.shards[index].blocks;
  std::vector<std::span<const float>> slots;
  for (size_t i = 0; i < state.slot_count(); ++i)
    slots.emplace_back(state.slot(i));
  return {at.term, version, blocks, hash_of_blocks(blocks.begin, parameters, slots)};
}

std::string odd_start(const shard_start& x, const index_range& elements) {
  return "a state to begin with of " + std::to_string(x.slots.size()) + " optimizer slots and " +
         std::to_string(x.numbers.numbers.size()) +
         " numbers, which is none of this job's optimizer, for " + std::to_string(elements.size()) +
         " parameters from element " + std::to_string(elements.begin) + ",";
}

std::string misfit(const contribution& x, const index_range& elements) {
  return "a gradient of " + slices_in_words(x.node) + " with " +
         std::to_string(x.gradient_sum.values().size()) + " values from element " +
         std::to_string(x.first_element) + ", where " + std::to_string(elements.size()) +
         " from element " + std::to_string(elements.begin) + " are due,";
}

} // namespace

shard_actor::behavior_type shard_state::make_behavior(const shard_options& options) {
  options_ = options;
  reducer_ = reducer{options.exchange};
  return {
    [this](const view& news) { on_view(news); },
    [this](const contribution& news) { on_contribution(news); },
    [this](const block_sums& news) { on_block_sums(news); },
    [this](const shard_start& news) { on_start(news); },
    [this](const horizon& news) { on_horizon(news); },
    [this](atom::save, uint64_t version) {
      if (copies_.rule.on_saved(version) && copy_if_due())
        show_version();
    },
    [this](atom::pull, uint64_t version) { return on_pull(version); },
    [this](atom::figures) { return on_figures(); },
  };
}

void shard_state::on_view(const view& news) {
  if (has_view_ && std::pair{news.term, news.number} <= std::pair{view_.term, view_.number})
    return;
  const bool begins = !has_view_ || news.term != view_.term;
  has_view_ = true;
  view_ = news;
  if (begins)
    return restart();
  watch_replicas();
  // The view may have new replicas that missed these announcements.
  if (previous_.size() > 0)
    announce(ranges_.version() - 1, previous_, float_view{});
  if (current_.size() > 0 && !copies_.rule.waits())
    announce(ranges_.version(), current_, point_.values);
}

void shard_state::on_start(const shard_start& news) {
  start_ = news;
}

void shard_state::restart() {
  if (current_.size() > 0)
    refuse_waiting();
  const auto first_owner = std::ranges::find_if(
    view_.shards, [](const shard_entry& entry) { return !entry.blocks.empty(); });
  metrics_.are_kept =
    first_owner - view_.shards.begin() == static_cast<std::ptrdiff_t>(view_.index);
  elements_ = elements_of_blocks(view_.shards.at(view_.index).blocks, options_.parameter_count);
  failed_ = reduced_.is_there = false;
  copies_.rule = {view_.start_version, view_.relay ? view_.copy_every : 0};
  horizon_ = {}; // the horizon of an earlier term may be its end
  current_ = previous_ = {};
  if (elements_.empty())
    return; // more shards than blocks: this one owns nothing
  const auto version = view_.start_version;
  ranges_ = gradient_ranges{options_.plan, version, elements_, options_.tiles};
  reduced_.blocks = sums_rule{block_count(options_.parameter_count), version,
                              options_.whole_rule && options_.whole_rule->sum_count()
                                ? block_number_count(*options_.whole_rule)
                                : size_t{1}};
  metrics_.sums = {};
  const bool is_reported = start_ && start_->term == view_.term;
  if (is_reported)
    options_.versions = start_->versions;
  current_ = is_reported && start_->parameters.size() == elements_.size()
               ? start_->parameters
               : options_.versions->at(version).part(elements_);
  state_ = options_.whole_rule ? options_.whole_rule->start(current_.values())
                               : optimizer_state{options_.rule->slot_count(), elements_.size()};
  point_.memory = is_reported ? start_->points : nullptr;
  copies_.buffers = std::make_unique<buffer_pool>(elements_.size());
  if (start_ && start_->term == view_.term && !fits(*start_))
    return stop_here(version, step_problem::malformed, odd_start(*start_, elements_));
  const bool is_saved = !is_reported || start_->is_saved;
  restore();
  told_ = {version, version, version, is_saved ? version : 0};
  times_.begin = times_.last_report = self_->clock().now();
  watch_replicas();
  metrics_.statistics.on_step_begins(times_.begin);
  copy_if_due();
  place_point();
  announce(ranges_.version(), current_, point_.values);
  answer_waiting();
}

// A start without state is the initial one and always fits.
bool shard_state::fits(const shard_start& start) const {
  const auto& numbers = start.numbers.numbers;
  if (start.slots.empty() && numbers.empty())
    return true;
  const auto has_span = [&](const payload& slot) {
    return slot.values().size() == elements_.size();
  };
  return start.slots.size() == state_.slot_count() && std::ranges::all_of(start.slots, has_span) &&
         (options_.whole_rule ? options_.whole_rule->accepts(numbers) : numbers.empty());
}

// Takes the state of a checkpoint at this version instead of the initial one.
void shard_state::restore() {
  if (!start_ || start_->term != view_.term)
    return;
  for (size_t i = 0; i < start_->slots.size(); ++i)
    copy_values(start_->slots[i].values(), state_.slot(i).begin());
  copy_values(start_->numbers.numbers, state_.numbers().begin());
  metrics_.sums = start_->numbers.metrics;
  start_.reset();
}

void shard_state::on_contribution(const contribution& news) {
  if (elements_.empty() || failed_ || is_at_end() || news.term != view_.term ||
      !news.gradient_sum.intact())
    return;
  if (!ranges_.fits(news))
    return stop_here(news.step, step_problem::malformed, misfit(news, elements_), &news);
  const auto verdict = [&] {
    const traced_work work{
      options_.trace.get(), trace_kind::receive, news.step, news.replica,
      trace_flow{flow_content::gradient,
                 {news.term, news.step, news.node.begin, news.node.end, elements_.begin}}};
    return ranges_.offer(news);
  }();
  if (verdict == offer_verdict::conflict)
    return stop_here(ranges_.version(), step_problem::conflict,
                     "two different gradients of " + slices_in_words(news.node), &news);
  if (verdict != offer_verdict::accepted)
    return;
  if (metrics_.are_kept)
    metrics_.statistics.on_part(news.replica, self_->clock().now(), news.computed);
  apply();
}

// Clipping by norm and whole-model rules need the summed gradient before the update.
void shard_state::apply() {
  const bool is_reported =
    (!options_.follows_results || ranges_.version() < horizon_.version) && !copies_.rule.waits();
  // A gradient that is already reduced only waits for the sums over all blocks.
  if (!is_reported || reduced_.is_there || !ranges_.is_complete())
    return;
  const auto sums = ranges_.sums(options_.hooks.add_in_order_of_arrival);
  const bool clips = options_.changes.norm_max() > 0;
  if (!clips && !options_.whole_rule)
    return update(sums, ranges_.total(), {});
  if (reduced_.gradient.size() != elements_.size())
    reduced_.gradient = buffer{elements_.size()};
  for (const auto& range : sums)
    reducer_.reduce(range.plan, range.inputs,
                    reduced_.gradient.values().subspan(range.elements.begin - elements_.begin,
                                                       range.elements.size()));
  reduced_.sums = ranges_.total();
  reduced_.is_there = true;
  if (!clips && !options_.whole_rule->sum_count())
    return update({{elements_, {{0}}, {reduced_.gradient.values()}}}, reduced_.sums, {});
  tell_sums();
}

void shard_state::tell_sums() {
  const bool clips = options_.changes.norm_max() > 0;
  const block_sums news{ranges_.version(), view_.shards[view_.index].blocks.begin,
                        clips ? square_sums_of_blocks(reduced_.gradient.values(),
                                                      mean_factor(reduced_.sums.sample_count))
                              : begin_step(*options_.whole_rule,
                                           {ranges_.version(),
                                            reduced_.sums,
                                            options_.changes,
                                            1,
                                            elements_.begin,
                                            reduced_.gradient.values(),
                                            current_.values(),
                                            {}},
                                           state_),
                        view_.term};
  const auto is_finite = [](double sum) { return std::isfinite(sum); };
  if (clips &&
      (!std::isfinite(reduced_.sums.loss_sum) || !std::ranges::all_of(news.numbers, is_finite)))
    return report_not_finite();
  for (size_t k = 0; k < view_.shards.size(); ++k)
    if (k != view_.index && !view_.shards[k].blocks.empty() && view_.shards[k].actor)
      self_->send(view_.shards[k].actor, news);
  if (view_.wired)
    self_->send(view_.relay, news);
  on_block_sums(news);
}

void shard_state::on_block_sums(const block_sums& news) {
  if (elements_.empty() || failed_ || is_at_end() || news.term != view_.term)
    return;
  const auto verdict = reduced_.blocks.offer(news.step, news.first_block, news.numbers);
  if (verdict == sums_verdict::conflict)
    return stop_here(ranges_.version(), step_problem::conflict,
                     "two different sums over one block");
  if (verdict == sums_verdict::accepted)
    apply_reduced();
}

void shard_state::apply_reduced() {
  const auto totals = reduced_.blocks.totals();
  if (reduced_.is_there && totals)
    update({{elements_, {{0}}, {reduced_.gradient.values()}}}, reduced_.sums, *totals);
}

void shard_state::update(const std::vector<summed_range>& gradients, const batch_sums& total,
                         std::span<const double> totals) {
  const auto memory = options_.versions->at(ranges_.version() + 1);
  const auto next = memory.part(elements_);
  const auto sums = write_next(gradients, total, totals,
                               memory.storage.values().subspan(next.offset(), next.size()));
  const auto* whole = options_.whole_rule.get();
  const std::span<const float> own = reduced_.gradient.values();
  failed_ = !sums && whole != nullptr && whole->sum_count() && !blocks_are_finite(totals) &&
            find_not_finite({&own, 1}) == 1;
  if (failed_) // the shard with the value that is not finite reports it and names its replica
    return;
  if (!sums)
    return report_not_finite();
  previous_ = current_;
  current_ = next;
  if (options_.hooks.on_applied)
    for (const auto& range : ranges_.sums(false))
      tell_applied(range.elements, total);
  // Releases the gradients before a replica can start on the next step and needs buffers.
  ranges_.advance();
  reduced_.blocks.advance();
  reduced_.is_there = false;
  metrics_.sums = options_.plan.is_epoch_end(ranges_.version() - 1) ? *sums : metrics_.sums + *sums;
  if (metrics_.are_kept) {
    const auto now = self_->clock().now();
    metrics_.statistics.on_step_complete(now);
    metrics_.statistics.on_step_begins(now);
  }
  if (copy_if_due())
    show_version();
}

void shard_state::show_version() {
  keep_metrics(); // before the announcement: the row precedes all that follows from the version
  place_point();
  announce(ranges_.version(), current_, point_.values);
  answer_waiting();
}

std::optional<batch_sums> shard_state::write_next(const std::vector<summed_range>& gradients,
                                                  const batch_sums& total,
                                                  std::span<const double> totals,
                                                  std::span<float> next) {
  const auto version = ranges_.version();
  const traced_work work{options_.trace.get(), trace_kind::update, version, 0};
  const bool clips = options_.changes.norm_max() > 0;
  const auto norm_factor =
    clips ? static_cast<float>(options_.changes.norm_factor(totals.front())) : 1.0f;
  if (const auto* rule = options_.whole_rule.get()) {
    const whole_model_step x{version,           total,
                             options_.changes,  norm_factor,
                             elements_.begin,   reduced_.gradient.values(),
                             current_.values(), next};
    if (rule->sum_count())
      return end_step(*rule, x, totals, state_);
    const auto own = begin_step(*rule, x, state_);
    return end_step(*rule, x, totals_of_blocks(own, block_number_count(*rule)), state_);
  }
  const auto step =
    options_.rule->begin_step(version, total.sample_count, direction::descent, horizon_.reductions);
  const auto is_finite = [&](const summed_range& x) {
    const auto& at = x.elements;
    const auto place = at.begin - elements_.begin;
    return reducer_.reduce_and_update(
      x.plan, x.inputs, *options_.rule, step, state_, current_.values().subspan(place, at.size()),
      next.subspan(place, at.size()), {&options_.changes, at.begin, norm_factor, place});
  };
  return std::isfinite(total.loss_sum) && std::ranges::all_of(gradients, is_finite)
           ? std::optional{total}
           : std::nullopt;
}

void shard_state::tell_applied(const index_range& elements, const batch_sums& total) const {
  options_.hooks.on_applied(
    {view_.term, ranges_.version(), elements, ranges_.nodes_of(elements), total.sample_count,
     current_.values().subspan(elements.begin - elements_.begin, elements.size())});
}

// In a wired process the node announces a version to the replicas once it has all spans. Otherwise
// shards announce it directly: when a replica has all announcements, all spans of the point are in
// one buffer.
void shard_state::announce(uint64_t version, const float_view& parameters,
                           const float_view& point) {
  auto news = span_of(version, parameters);
  if (options_.trace)
    for (size_t i = 0; i < view_.replicas.size(); ++i)
      if (!view_.replicas[i].slices.empty())
        const traced_work work{
          options_.trace.get(), trace_kind::send, version, i,
          trace_flow{flow_content::parameters, {view_.term, version, elements_.begin, i}}};
  if (view_.wired) {
    news.point = point;
    return self_->send(view_.relay, news);
  }
  news.point = {point.storage(), 0, point.storage().size()};
  for (const auto& entry : view_.replicas)
    if (!entry.slices.empty())
      self_->send(entry.actor, news);
}

bool shard_state::copy_if_due() {
  const auto version = ranges_.version();
  const bool is_kept = copies_.rule.is_due(version);
  if (is_kept && !copies_.rule.may_copy())
    return false;
  const bool is_cut = horizon_.is_cut && version == horizon_.version && version != told_.kept &&
                      !is_kept && view_.relay;
  const bool is_saved =
    version != told_.copy && view_.relay &&
    is_checkpointed(version, horizon_, options_.checkpoint_every, options_.plan);
  if (!is_saved && !is_kept && !is_cut)
    return true;
  const traced_work work{options_.trace.get(), trace_kind::copy, version, 0};
  const auto copied = [this](std::span<const float> values) {
    const auto result = copies_.buffers->acquire();
    copy_values(values, result.values().begin());
    return payload{result, 0, result.size()};
  };
  // A buffer of parameters is the whole model's: copies that are kept would keep it for long.
  const bool stays = is_kept || is_cut;
  shard_copy copy{version, view_.index, stays ? copied(current_.values()) : payload{current_},
                  {},      {},          is_saved,
                  is_kept, is_cut};
  for (const auto& own : state_.slots())
    copy.slots.push_back(is_at_end() && !stays ? payload{own, 0, own.size()}
                                               : copied(own.values()));
  // At an epoch's end the metrics start again from zero.
  const auto metrics = options_.plan.is_epoch_end(version) ? batch_sums{} : metrics_.sums;
  const std::vector<double> numbers{state_.numbers().begin(), state_.numbers().end()};
  copy.numbers = {version, elements_.begin, numbers, metrics_.are_kept, metrics};
  if (is_saved)
    told_.copy = version;
  if (stays)
    told_.kept = version;
  if (is_kept)
    copies_.rule.on_copied(version);
  self_->send(view_.relay, std::move(copy));
  return true;
}

// A copy: a late replica may still read this point while the state changes.
void shard_state::place_point() {
  if (!point_.memory)
    return;
  const auto memory = point_.memory->at(ranges_.version());
  point_.values = memory.part(elements_);
  copy_values(state_.slot(*options_.whole_rule->point_slot()),
              memory.storage.values().begin() + point_.values.offset());
}

parameter_span shard_state::span_of(uint64_t version, const float_view& parameters) const {
  return {view_.term, version, view_.index, payload{parameters}};
}

void shard_state::on_horizon(const horizon& news) {
  horizon_ = news.rule;
  if (current_.size() == 0 || failed_)
    return;
  if (ranges_.version() != horizon_.version)
    return apply();
  if (copy_if_due())
    keep_metrics();
}

void shard_state::answer_waiting() {
  std::erase_if(waiting_, [this](waiting_pull& pull) {
    const bool due = pull.version == ranges_.version();
    if (due)
      pull.promise.deliver(span_of(pull.version, current_));
    return due;
  });
}

caf::result<parameter_span> shard_state::on_pull(uint64_t version) {
  if (has_view_ && elements_.empty())
    return parameter_span{view_.term, version, view_.index, {}};
  if (current_.size() > 0 && version == ranges_.version() && !copies_.rule.waits())
    return span_of(version, current_);
  if (previous_.size() > 0 && version + 1 == ranges_.version())
    return span_of(version, previous_);
  const bool comes =
    version > ranges_.version() || (version == ranges_.version() && copies_.rule.waits());
  if (!has_view_ || (comes && !failed_)) {
    waiting_.push_back({version, self_->make_response_promise<parameter_span>()});
    return waiting_.back().promise;
  }
  return caf::make_error(protocol_error::version_not_held, version);
}

// ---- Reports to the director ----

void shard_state::watch_replicas() {
  if (!metrics_.are_kept)
    return;
  std::vector<replica_statistics::place> places;
  for (const auto& entry : view_.replicas)
    places.push_back({entry.name, !entry.slices.empty(), entry.slices.begin});
  metrics_.statistics.on_places(places, self_->clock().now());
}

trainer_figures shard_state::on_figures() const {
  return {metrics_.statistics.barrier_count(), metrics_.statistics.figures()};
}

// The history's versions and the end of training make a row, the horizon a mark. Each is reported
// once.
void shard_state::keep_metrics() {
  const auto version = ranges_.version();
  const bool at_horizon = version == horizon_.version;
  const bool is_row = options_.plan.is_row(version) || (at_horizon && horizon_.final);
  if (is_row && told_.hash != version) {
    const traced_work work{options_.trace.get(), trace_kind::hash, version, 0};
    self_->send(view_.director, hash_of(view_, view_.index, version, current_.values(), state_));
    told_.hash = version;
  }
  if (!metrics_.are_kept)
    return;
  const bool is_news = (is_row && told_.row != version) || (at_horizon && told_.mark != version);
  if (is_news || self_->clock().now() - times_.last_report >= progress_interval)
    report();
}

void shard_state::report() {
  const auto version = ranges_.version();
  const bool is_mark = version == horizon_.version;
  const bool is_row =
    (options_.plan.is_row(version) || (is_mark && horizon_.final)) && told_.row != version;
  times_.last_report = self_->clock().now();
  const std::chrono::duration<double> seconds = times_.last_report - times_.begin;
  self_->send(
    view_.director,
    training_report{view_.term, version, metrics_.sums, is_row, is_mark, seconds.count(), {}});
  if (is_mark)
    told_.mark = version;
  if (is_row)
    told_.row = version;
}

// The director gets the reason before the waiting pulls are refused.
void shard_state::stop_here(uint64_t step, step_problem problem, std::string what,
                            const contribution* part) {
  failed_ = true;
  not_finite_report report;
  report.term = view_.term;
  report.step = step;
  report.problem = problem;
  report.what = std::move(what);
  if (part) {
    report.has_slice = true;
    report.slice = part->node.begin;
    report.replica = part->replica;
  }
  self_->send(view_.director, std::move(report));
  refuse_waiting();
}

void shard_state::refuse_waiting() {
  for (auto& pull : waiting_)
    pull.promise.deliver(caf::make_error(protocol_error::version_not_held, pull.version));
  waiting_.clear();
}

void shard_state::report_not_finite() {
  std::string what = "the sum of finite gradients, or the parameters it leads to,";
  const contribution* guilty = nullptr;
  ranges_.for_each_held([&](const contribution& part) {
    const std::span<const float> values = part.gradient_sum.values();
    if (find_not_finite({&values, 1}) == 1 && std::isfinite(part.sums.loss_sum))
      return true;
    what = "the gradient or loss of " + slices_in_words(part.node);
    guilty = &part;
    return false;
  });
  stop_here(ranges_.version(), step_problem::not_finite, std::move(what), guilty);
}

shard_actor::behavior_type shard(self_pointer<shard_actor, shard_state> self,
                                 const shard_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
