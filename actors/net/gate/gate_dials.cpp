#include "actors/net/gate/gate_dials.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void gate_dials::on_linked(const std::string& name) {
  for (auto& x : those_)
    x.is_linked = x.is_linked || x.target.name == name;
}

void gate_dials::on_lost(const std::string& name, moment now) {
  for (auto& x : those_)
    if (x.target.name == name && x.carrier == 0) {
      x.is_linked = false;
      if (!x.is_gone)
        x.clock.on_lost(now);
    }
}

void gate_dials::on_carrier_wanted(const std::string& name, uint64_t token, moment now) {
  const auto of_name = [&](bool carries) {
    return std::ranges::find_if(those_, [&](const gate_dial& x) {
      return x.target.name == name && (x.carrier != 0) == carries;
    });
  };
  auto found = of_name(true);
  if (found == those_.end()) {
    const auto link = of_name(false);
    if (link == those_.end())
      return;
    those_.emplace_back(dial_target{link->target}, options_, token);
    found = std::prev(those_.end());
  } else if (found->is_under_way) {
    return;
  }
  found->carrier = token;
  found->clock.on_lost(now - options_.dial_delay_max);
}

void gate_dials::on_there(const dial_target& who, moment now) {
  bool is_known = false;
  for (auto& x : those_) {
    if (x.target.name != who.name)
      continue;
    x.target.where = who.where;
    if (x.carrier != 0)
      continue;
    is_known = true;
    if (std::exchange(x.is_gone, false) && !x.is_linked && !x.is_under_way)
      x.clock = gate_dial{who, options_}.clock;
    else
      x.clock.on_called(now);
  }
  if (is_known)
    return;
  const auto free = std::ranges::find_if(
    those_, [](const gate_dial& x) { return x.is_gone && !x.is_linked && !x.is_under_way; });
  if (free == those_.end())
    those_.emplace_back(who, options_);
  else
    *free = gate_dial{who, options_};
}

void gate_dials::on_gone(const std::string& name) {
  for (auto& x : those_)
    if ((name.empty() || x.target.name == name) && !options_.plan.lists(x.target.name)) {
      x.is_gone = true;
      x.clock.give_up();
    }
}

} // namespace troupe
