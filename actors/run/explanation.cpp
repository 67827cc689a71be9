#include "troupe/actors/run/explanation.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace troupe {

namespace {

/// More are counted only: a sentence is read at a glance.
constexpr size_t named_max = 3;

/// As in the lines of the director: who is at one piece of work for so long is said to be.
constexpr milliseconds busy_min{1'000};

std::string text_of(double seconds) {
  return time_text(milliseconds{std::llround(std::clamp(seconds, 0.0, 1e9) * 1000)});
}

std::string listed(const std::vector<std::string>& names) {
  std::string result;
  for (size_t i = 0; i < std::min(names.size(), named_max); ++i)
    result += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > named_max)
    result += " and " + std::to_string(names.size() - named_max) + " more";
  return result;
}

bool is_silent(const node_status& x) {
  return x.silence < 0 || x.silence * 1000 >= static_cast<double>(silence_max.count());
}

/// The waits of a run, walked from process to process. What a silent one said last does not count.
class wait_walk {
public:
  explicit wait_walk(const training_status& x) : status_(x) {
    for (const auto& node : x.nodes)
      nodes_[node.name] = &node;
    for (const auto& late : x.late)
      busy_[late.name] = late.busy;
    for (const bool is_director : {true, false})
      for (const auto& node : x.nodes)
        if (node.is_director == is_director)
          walk_from(node);
    for (const auto& node : x.nodes)
      if (node.takes_part && judgement_of(node) == wait_rule::silent)
        paths_.try_emplace(node.name);
  }

  /// Nothing when nobody waits for anybody.
  std::optional<wait_explanation> worst() const {
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
    if (result && result->rule == wait_rule::own_part) {
      const auto& first = result->culprits.front();
      const auto& last = find(first)->waits.front();
      result->chain.push_back({first, last.from, last.what});
    }
    if (result && result->rule == wait_rule::circle)
      close(*result);
    return result;
  }

  milliseconds busy(const std::string& name) const {
    const auto found = busy_.find(name);
    return found == busy_.end() ? milliseconds{0} : found->second;
  }

  const node_status* find(const std::string& name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? nullptr : found->second;
  }

private:
  /// Where a chain ends, worst first; `circle`: it does not end here.
  wait_rule judgement_of(const node_status& x) const {
    return !x.is_linked && !x.is_director ? wait_rule::missing
           : is_silent(x)                 ? wait_rule::silent
           : next_of(x) != nullptr        ? wait_rule::circle
           : !x.waits.empty()             ? wait_rule::own_part
           : busy(x.name) >= busy_min     ? wait_rule::computing
                                          : wait_rule::on_the_way;
  }

  bool speaks(const node_status& x) const {
    return x.takes_part && (x.is_linked || x.is_director) && !is_silent(x);
  }

  /// The first wait for another process that is known.
  const awaited* next_of(const node_status& x) const {
    const auto found =
      std::ranges::find_if(x.waits, [&](const awaited& one) { return find(one.from) != nullptr; });
    return speaks(x) && found != x.waits.end() ? &*found : nullptr;
  }

  // Breadth first, so that each chain is the shortest; who has been reached is not reached again.
  void walk_from(const node_status& source) {
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
  void close(wait_explanation& x) const {
    const auto* node = find(x.culprits.front());
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

  const training_status& status_;
  std::map<std::string, const node_status*> nodes_;
  std::map<std::string, milliseconds> busy_;
  std::map<std::string, std::vector<explained_wait>> paths_; ///< by whom it ends at
};

std::string home_of(const training_status& x) {
  const auto found = std::ranges::find_if(x.nodes, &node_status::is_director);
  return found == x.nodes.end() ? "the director" : found->name;
}

wait_explanation of_director(const training_status& x, wait_rule rule, std::string verdict,
                             std::string advice) {
  const auto home = home_of(x);
  return {rule, {home}, {{home, "", x.waits_for}}, std::move(verdict), std::move(advice)};
}

wait_explanation of_a_run_that_lacks_processes(const training_status& x) {
  const auto home = home_of(x);
  wait_explanation result{wait_rule::missing, {}, {}, {}, {}};
  for (const auto& node : x.nodes)
    if (!node.is_linked && !node.is_director)
      result.culprits.push_back(node.name);
  if (result.culprits.empty())
    return of_director(x, wait_rule::joining, home + " cannot begin yet: " + x.waits_for,
                       "every node is linked; the output of the director says what it lacks");
  for (const auto& name : result.culprits)
    result.chain.push_back({home, name, "a link to it"});
  result.verdict =
    "not linked with " + home + ": " + listed(result.culprits) + " (" + x.waits_for + ')';
  result.advice = "start what is missing ('troupe node CLUSTER.toml --name " +
                  result.culprits.front() +
                  "'); if it runs, its own output says why it cannot reach the director. After "
                  "timeouts.join the run ends (69), or min_nodes says how many are enough";
  return result;
}

/// What is said of one end of a chain.
void say(wait_explanation& x, const wait_walk& walk) {
  const auto who = listed(x.culprits);
  const bool is_one = x.culprits.size() == 1;
  const auto blamed = who + (is_one ? " holds up the run: " : " hold up the run: ");
  const auto& first = x.culprits.front();
  const auto* node = walk.find(first);
  const auto silence = node == nullptr ? 0 : node->silence;
  const auto last = x.chain.empty() ? explained_wait{"", "", ""} : x.chain.back();
  switch (x.rule) {
  case wait_rule::missing:
    x.verdict = blamed + "no link with the director";
    x.advice = "start it again, or look at the network between it and the director";
    return;
  case wait_rule::silent:
    x.verdict =
      blamed + "linked, and " + (silence < 0 ? "never heard" : "silent for " + text_of(silence));
    x.advice =
      "its process is stopped or its machine stands still: look at it there (state T of ps is "
      "a stopped process, kill -CONT lets it go on); after timeouts.lost_after it is taken "
      "out and the others go on";
    return;
  case wait_rule::own_part:
    x.verdict = blamed + "waiting for " + last.what;
    x.advice = "the output of " + first + " says more";
    return;
  case wait_rule::computing:
    x.verdict = blamed + "at one piece of work for " + time_text(walk.busy(first));
    x.advice = "a long piece of work is no fault; if others finish theirs sooner, look at the "
               "processor and the memory of " +
               first +
               ". Threads that hang are taken out after 20 "
               "times the longest piece of work";
    return;
  case wait_rule::on_the_way:
    x.verdict = "what " + last.who + " waits for from " + first + " has not come: " + who +
                (is_one ? " is heard, computes nothing and waits for nobody"
                        : " are heard, compute nothing and wait for nobody");
    x.advice = "look at the network from " + first + " to " + last.who +
               ", and whether resends grow. If it is sound, this is a defect: report it with the "
               "output of 'troupe status --json'";
    return;
  case wait_rule::circle:
    x.verdict = who + (is_one ? " waits for itself" : " wait for each other in a circle");
    x.advice =
      "no rule of the protocol waits so: report it with the output of 'troupe status --json'. "
      "After 3 x timeouts.lost_after the run begins anew from its last checkpoint";
    return;
  case wait_rule::joining:
  case wait_rule::disk:
  case wait_rule::director:
    return; // said where they are found
  }
}

} // namespace

std::string_view name_of(wait_rule rule) {
  constexpr std::array<std::string_view, 9> names{"missing",    "joining",  "disk",
                                                  "silent",     "own part", "computing",
                                                  "on the way", "circle",   "director"};
  return names.at(static_cast<size_t>(rule));
}

std::optional<wait_explanation> explain(const training_status& x, milliseconds patience) {
  if (x.phase == "finished" || x.phase == "failed")
    return std::nullopt;
  if (x.phase == "waiting")
    return of_a_run_that_lacks_processes(x);
  if (x.still * 1000 < static_cast<double>(patience.count()))
    return std::nullopt;
  const auto home = home_of(x);
  const auto on_disk = [&] {
    return of_director(
      x, wait_rule::disk,
      "the disk of " + home + " holds up the run: " + x.waits_for + " for " + text_of(x.still),
      "look at the disk of the run directory: full (df), slow, or a file system of "
      "the network that does not answer");
  };
  if (x.waits_for == term_to_be_written)
    return on_disk();
  const wait_walk walk{x};
  if (auto found = walk.worst()) {
    say(*found, walk);
    return found;
  }
  if (x.waits_for == checkpoint_to_be_written)
    return on_disk();
  return of_director(
    x, wait_rule::director,
    home + " waits for " + x.waits_for + ", and no process says whom it waits for",
    "look whether the processes of the run compute (top); if none does, report it with the "
    "output of 'troupe status --json'");
}

} // namespace troupe
