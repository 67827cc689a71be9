#include "actors/node/node_work.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace troupe {

void node_work::begin_replicas() {
  actors_.set_begun(true);
  actors_.tell_replicas(context_.view.start_version);
}

void node_work::on_view(const cluster_view&, size_t) {
  actors_.tell_replicas(context_.view.start_version);
}

// Only the shard knows its versions, so the node pulls the wanted one and keeps it in place of the
// last. It may be an earlier one when a shard cannot reach the version at which training was to
// end.
void node_work::on_asked(const tensor_asked& news) {
  if (news.what.of.kind != tensor_kind::parameters || news.by != peer_id::director)
    return;
  for (const auto& one : spans_.all())
    context_.self
      ->request(context_.local.owners[one.local], local_answer_deadline, atom::pull_v,
                news.what.of.key)
      .then(
        [this, one](const parameter_span& answer) {
          if (answer.term != context_.view.id.term || answer.values.size() != one.elements.size())
            return;
          const std::array route{tensor_route{peer_id::director, one.elements}};
          context_.exchange->forget(tensor_kind::parameters, keys_before(answer.version));
          context_.exchange->forget(tensor_kind::parameters, {answer.version + 1, UINT64_MAX});
          context_.exchange->publish(
            {.of = {tensor_kind::parameters, answer.term, answer.version, only_leaf, 0},
             .first_element = one.elements.begin,
             .values = answer.values},
            route, context_.now());
          context_.settle();
        },
        // A version that is gone or will not come: the shard itself reports the reason to the
        // director.
        [](const caf::error&) {});
}

std::vector<awaited> node_work::waits(moment, std::optional<uint64_t>) const {
  return {};
}

} // namespace troupe
