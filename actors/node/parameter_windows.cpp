#include "troupe/actors/node/parameter_windows.hpp"

namespace troupe {

bool parameter_windows::on_view() {
  windows_.clear();
  for (size_t i = 0; i < seat_.view.members.size(); ++i)
    windows_.push_back(seat_.window_of(i));
  const auto& own = windows_[*seat_.me];
  const auto before = spans_.window();
  if (own == before || (own && before && *own == *before))
    return false;
  spans_.versions().set_window(own);
  return true;
}

std::vector<tensor_route> parameter_windows::routes_of(const index_range& span) {
  std::vector<tensor_route> routes;
  const auto count = seat_.view.members.size();
  for (size_t k = 1; k < count; ++k) { // as gradients go: not all to the same one first
    const auto i = (*seat_.me + k) % count;
    if (!seat_.view.computes(i))
      continue;
    const auto peer = seat_.exchange.id_of(seat_.view.members[i].name);
    for (const auto& part : windows_[i] ? windows_[i]->shared_with(span) : std::vector{span})
      routes.push_back({peer, part});
  }
  return routes;
}

} // namespace troupe
