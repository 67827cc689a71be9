#include "actors/run/wait_walk.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

namespace troupe {

bool is_silent(const node_status& x) {
  return x.silence < 0 || x.silence * 1000 >= static_cast<double>(silence_max.count());
}

const work_piece* piece_of(const node_status& x) {
  const auto unusual = std::ranges::find_if_not(x.pieces, is_usual);
  return unusual != x.pieces.end() ? &*unusual : x.pieces.empty() ? nullptr : &x.pieces.front();
}

std::string name_of(const link_figures& x) {
  return "link " + x.from + " -> " + x.to;
}

wait_walk::wait_walk(const training_status& x) : status_(x) {
  for (const auto& node : x.nodes)
    nodes_[node.name] = &node;
  for (const auto& late : x.late)
    busy_[late.name] = late.busy;
  for (const bool is_director : {true, false})
    for (const auto& node : x.nodes)
      if (node.is_director == is_director)
        walk_from(node);
  for (const auto& node : x.nodes)
    if (const auto rule = judgement_of(node);
        node.takes_part &&
        (rule == wait_rule::silent || rule == wait_rule::computing || rule == wait_rule::working))
      paths_.try_emplace(node.name);
}

// A link carries nothing whatever its ends are at: only who is not heard at all is worse. Where the director waits
// for reports, as between two rounds, no process lacks anything of who is silent: the director does.
std::optional<wait_explanation> wait_walk::worst() const {
  std::optional<wait_explanation> result;
  for (const auto& node : status_.nodes) {
    const auto path = paths_.find(node.name);
    if (path == paths_.end())
      continue;
    const auto rule = judgement_of(node);
    if (!result || rule < result->rule)
      result = wait_explanation{rule, {}, path->second, {}, {}};
    if (rule == result->rule)
      result->culprits.push_back(node.name);
  }
  if (result && result->rule == wait_rule::silent && result->chain.empty())
    for (const auto& node : status_.nodes)
      if (node.is_director && node.name != result->culprits.front())
        result->chain = {{node.name, result->culprits.front(), "a sign of life"}};
  const auto* link = bad_link();
  if (result && result->rule > wait_rule::link && link != nullptr) {
    const auto* wait = wait_for(link->to, link->from);
    result = {wait_rule::link, {name_of(*link)}, {}, {}, {}};
    if (wait != nullptr)
      result->chain = {{link->to, link->from, wait->what}};
  }
  if (result && result->rule == wait_rule::own_part) {
    const auto& first = result->culprits.front();
    const auto& last = find(first)->waits.front();
    result->chain.push_back({first, last.from, last.what});
  }
  if (result && result->rule == wait_rule::circle)
    close(*result);
  return result;
}

const link_figures* wait_walk::bad_link() const {
  const link_figures* result = nullptr;
  for (const auto& link : status_.links)
    if ((is_cut(link) || lacks_credit(link)) &&
        (result == nullptr || (wait_for(link.to, link.from) != nullptr &&
                               wait_for(result->to, result->from) == nullptr)))
      result = &link;
  return result;
}

milliseconds wait_walk::busy(const std::string& name) const {
  const auto found = busy_.find(name);
  return found == busy_.end() ? milliseconds{0} : found->second;
}

const node_status* wait_walk::find(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : found->second;
}

// Where a chain ends, worst first; `circle`: it does not end here. Who is at work waits for others as well,
// for what comes of its work, too.
wait_rule wait_walk::judgement_of(const node_status& x) const {
  if (!x.is_linked && !x.is_director)
    return wait_rule::missing;
  if (is_silent(x))
    return wait_rule::silent;
  if (const auto work = judgement_of_work(x); work != wait_rule::on_the_way)
    return work;
  return next_of(x) != nullptr ? wait_rule::circle
         : x.waits.empty()     ? wait_rule::on_the_way
                               : wait_rule::own_part;
}

// An actor that does not answer is at no piece, and yet busy.
wait_rule wait_walk::judgement_of_work(const node_status& x) const {
  const auto* piece = piece_of(x);
  if (piece != nullptr && !is_usual(*piece))
    return wait_rule::computing;
  if (piece != nullptr && busy(x.name) < piece->busy + busy_min)
    return wait_rule::working;
  return busy(x.name) >= busy_min ? wait_rule::computing : wait_rule::on_the_way;
}

bool wait_walk::speaks(const node_status& x) const {
  return x.takes_part && (x.is_linked || x.is_director) && !is_silent(x);
}

const awaited* wait_walk::wait_for(const std::string& who, const std::string& from) const {
  const auto* node = find(who);
  if (node == nullptr || !speaks(*node))
    return nullptr;
  const auto found = std::ranges::find(node->waits, from, &awaited::from);
  return found == node->waits.end() ? nullptr : &*found;
}

const awaited* wait_walk::next_of(const node_status& x) const {
  const auto found =
    std::ranges::find_if(x.waits, [&](const awaited& one) { return find(one.from) != nullptr; });
  return speaks(x) && found != x.waits.end() ? &*found : nullptr;
}

// Breadth first, so that each chain is the shortest; who has been reached is not reached again.
void wait_walk::walk_from(const node_status& source) {
  if (!speaks(source) || source.waits.empty() || paths_.contains(source.name))
    return;
  if (next_of(source) == nullptr)
    paths_.try_emplace(source.name);
  std::deque<std::pair<const node_status*, std::vector<explained_wait>>> open{{&source, {}}};
  while (!open.empty()) {
    const auto [node, path] = std::move(open.front());
    open.pop_front();
    for (const auto& wait : speaks(*node) ? node->waits : std::vector<awaited>{}) {
      const auto* next = find(wait.from);
      auto longer = path;
      longer.push_back({node->name, wait.from, wait.what});
      if (next != nullptr && paths_.try_emplace(next->name, longer).second)
        open.emplace_back(next, std::move(longer));
    }
  }
}

// No chain that was walked has an end: as many steps as there are processes lead into a circle.
// Only those in it are to blame, and it is shown once around.
void wait_walk::close(wait_explanation& x) const {
  const auto* node = find(x.culprits.front());
  if (node == nullptr || next_of(*node) == nullptr)
    return;
  for (size_t i = 0; i < status_.nodes.size(); ++i)
    node = find(next_of(*node)->from);
  std::set<std::string> members;
  x.chain.clear();
  while (members.insert(node->name).second) {
    const auto& wait = *next_of(*node);
    x.chain.push_back({node->name, wait.from, wait.what});
    node = find(wait.from);
  }
  std::erase_if(x.culprits, [&](const std::string& name) { return !members.contains(name); });
}

} // namespace troupe
