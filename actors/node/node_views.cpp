// Views: from the cluster's to the process's.

#include "actors/node/node.hpp"
#include "models/segments/segment_chain.hpp"

#include <utility>

namespace troupe {

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
  parts_->report.send(); // before its replicas are at work
  if (context_.options.listeners.on_standing)
    context_.options.listeners.on_standing(context_.view.id, context_.options.self.incarnation,
                                           context_.takes_part());
  settle();
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
          chain.part_count()};
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
  if (parts_->spans.has_started()) // else they are told once their state is here
    parts_->actors.tell_shards();
}

void node_state::begin_term() {
  context_.exchange->begin_term(context_.view.id.term);
  parts_->directives.begin_term();
  parts_->outbox.begin_term();
  parts_->spans.begin_term();
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
  parts_->report.on_started();
}

void node_state::rest() {
  context_.exchange->begin_term(context_.view.id.term);
  parts_->work->rest();
  parts_->actors.tell_to_rest();
}

} // namespace troupe
