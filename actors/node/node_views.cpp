// Views: from the cluster's to the process's.

#include "actors/node/node.hpp"
#include "models/segments/segment_chain.hpp"

#include <utility>

namespace troupe {

bool node_state::names_me(const cluster_view& x) const {
  const auto& self = seat_.options.self;
  const auto place = x.find(self.name);
  return place && x.members[*place].incarnation == self.incarnation;
}

void node_state::on_cluster_view(const cluster_view& news) {
  if (news.id <= seat_.view.id)
    return;
  const auto misfit = misfit_of(news, limits_here());
  parts_->report.set_misfit(misfit);
  if (!misfit.empty()) {
    if (seat_.options.listeners.on_misfit)
      seat_.options.listeners.on_misfit(misfit);
    return;
  }
  adopt(news);
  parts_->report.send(); // before its replicas are at work
  if (seat_.options.listeners.on_standing)
    seat_.options.listeners.on_standing(seat_.view.id, seat_.options.self.incarnation,
                                        seat_.takes_part());
  settle();
}

view_limits node_state::limits_here() const {
  const auto& chain = seat_.options.network->chain();
  return {seat_.options.self.name,
          seat_.local.workers.size(),
          seat_.local.owners.size(),
          seat_.options.kept ? 0 : seat_.options.plan.slice_count,
          seat_.element_count(),
          seat_.options.plan.last_version(),
          chain.size(),
          chain.part_count()};
}

void node_state::adopt(const cluster_view& news) {
  parts_->report.on_view();
  const bool new_term = news.id.term != seat_.view.id.term;
  const auto before = std::exchange(seat_.view, news);
  const auto me_before = seat_.me;
  for (const auto& [who, actor] : seat_.peers)
    if (!news.find(who))
      seat_.exchange->withdraw(seat_.exchange.id_of(who));
  seat_.me = names_me(news) ? news.find(seat_.options.self.name) : std::nullopt;
  if (!seat_.me)
    return rest();
  if (new_term || !me_before)
    return begin_term();
  parts_->work->on_view(before, *me_before);
  if (parts_->spans.has_started()) // else they are told once their state is here
    parts_->actors.tell_shards();
}

void node_state::begin_term() {
  seat_.exchange->begin_term(seat_.view.id.term);
  parts_->courses.begin_term();
  parts_->outbox.begin_term();
  parts_->spans.begin_term();
  parts_->work->begin_term();
  start_shards();
  seat_.exchange->tick(seat_.now()); // what does not come unasked is asked for at once
}

void node_state::start_shards() {
  auto& spans = parts_->spans;
  if (!seat_.takes_part() || spans.has_started() || !spans.is_ready())
    return;
  spans.start_shards();
  parts_->actors.tell_shards();
  parts_->courses.pass_on();
  parts_->report.on_started();
}

void node_state::rest() {
  seat_.exchange->begin_term(seat_.view.id.term);
  parts_->work->rest();
  parts_->actors.tell_to_rest();
}

} // namespace troupe
