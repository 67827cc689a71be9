#include "actors/spans/span_owner.hpp"

#include "coordinators/step/placement.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

span_owner_actor::behavior_type span_owner_state::make_behavior(const span_owner_options& options) {
  options_ = options;
  return {
    [this](const view& news) { on_view(news); },
    [this](const shard_start& news) { start_ = news; },
    [](const horizon&) {}, // the parameter server sees to it
    [this](atom::pull, uint64_t version) { return on_pull(version); },
    [](atom::figures) { return trainer_figures{}; },
    [this](const sequence_news& news) { on_sequence(news); },
    [this](const span_update& news) {
      if (span_ && news.term == view_.term)
        span_->put(news.number, news.vectors);
    },
  };
}

void span_owner_state::on_view(const view& news) {
  if (std::pair{news.term, news.number} <= std::pair{view_.term, view_.number})
    return;
  const bool begins = news.term != view_.term;
  view_ = news;
  if (begins && start_ && start_->term == view_.term)
    start();
}

// Everything goes back to the start version.
void span_owner_state::start() {
  span_.reset();
  versions_ = main_model{{options_.plan, {}, progress_interval}};
  const auto elements = own_elements(view_, options_.parameter_count);
  const auto version = view_.start_version;
  const bool is_anew = version == 0;
  const auto saved = is_anew ? saved_state{} : saved_span_of(*start_, elements, options_.saved);
  if (!saved)
    return stop_here("a state to begin with that is none of this job's, for elements from " +
                       std::to_string(elements.begin) + " on,",
                     step_problem::malformed);
  const auto parameters = first_parameters(*start_, version, elements);
  span_.emplace(options_.make_span(parameters, elements));
  state_loader loader{*saved, options_.numbers_before};
  if (!is_anew)
    span_->model().load(loader);
  versions_.begin(version, {span_->evaluated().number, parameters}, self_->clock().now());
  start_.reset();
  answer_waiting();
}

void span_owner_state::on_sequence(const sequence_news& news) {
  if (news.term != view_.term)
    return;
  for (const auto& entry : news.entries)
    if (span_ && !versions_.has_failed())
      apply(entry);
  answer_waiting();
}

void span_owner_state::apply(const sequence_entry& entry) {
  const traced_work work{entry.kind == entry_kind::close ? options_.trace.get() : nullptr,
                         trace_kind::update, entry.version, 0};
  if (!span_->follow(entry))
    return stop_here("the model that updates lead to", step_problem::not_finite);
  if (entry.version > versions_.version())
    versions_.adopt(entry.version, span_->evaluated(), {});
  if (entry.kind == entry_kind::give && !entry.worker.empty())
    give(entry);
  else if (entry.kind == entry_kind::mark)
    mark(entry);
}

void span_owner_state::give(const sequence_entry& task) {
  const auto& [vectors, model_number] = *span_->find(task.number);
  self_->send(view_.relay, given_vectors{view_.term, task, vectors, model_number});
}

void span_owner_state::mark(const sequence_entry& what) {
  const auto& parameters = versions_.parameters();
  const auto& blocks = view_.shards.at(view_.index).blocks;
  if (what.is_row)
    self_->send(view_.director, span_hash{view_.term, what.version, blocks,
                                          hash_of_blocks(blocks.begin, parameters.values())});
  if (!what.is_saved)
    return;
  state_saver saver{parameters.size()};
  span_->model().save(saver);
  shard_copy copy{what.version, view_.index, payload{parameters, 0, parameters.size()}, {}, {}};
  for (auto& vector : saver.take().vectors)
    copy.slots.emplace_back(vector, 0, vector.size());
  copy.numbers.version = what.version;
  // All numbers are the parameter server's.
  copy.numbers.first_element = own_elements(view_, options_.parameter_count).begin;
  self_->send(view_.relay, std::move(copy));
}

parameter_span span_owner_state::span_of(uint64_t version, const const_buffer& parameters) const {
  return {view_.term, version, view_.index, payload{parameters, 0, parameters.size()}};
}

caf::result<parameter_span> span_owner_state::on_pull(uint64_t version) {
  if (const auto parameters = versions_.parameters_of(version))
    return span_of(version, parameters);
  if (versions_.has_failed() || (versions_.has_begun() && version < versions_.version()))
    return caf::make_error(protocol_error::version_not_held, version);
  waiting_.push_back({version, self_->make_response_promise<parameter_span>()});
  return waiting_.back().promise;
}

void span_owner_state::answer_waiting() {
  std::erase_if(waiting_, [this](waiting_pull& pull) {
    const auto parameters = versions_.parameters_of(pull.version);
    const bool is_gone =
      !parameters &&
      (versions_.has_failed() || (versions_.has_begun() && pull.version < versions_.version()));
    if (parameters)
      pull.promise.deliver(span_of(pull.version, parameters));
    else if (is_gone)
      pull.promise.deliver(caf::make_error(protocol_error::version_not_held, pull.version));
    return parameters || is_gone;
  });
}

void span_owner_state::stop_here(const std::string& what, step_problem problem) {
  versions_.fail();
  not_finite_report report;
  report.term = view_.term;
  report.step = versions_.version();
  report.what = what;
  report.problem = problem;
  self_->send(view_.director, std::move(report));
}

span_owner_actor::behavior_type span_owner(self_pointer<span_owner_actor, span_owner_state> self,
                                           const span_owner_options& options) {
  guard(self);
  return self->state.make_behavior(options);
}

} // namespace troupe
