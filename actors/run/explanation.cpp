#include "actors/run/explanation.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <set>
#include <utility>

namespace troupe {

namespace {

/// A sentence names this many and only counts the rest.
constexpr size_t named_max = 3;

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

/// "slice 4 of step 412 for 8.4 s (its longest before took 0.2 s)".
std::string text_of(const work_piece& x) {
  return x.what + " for " + time_text(x.busy) +
         (x.longest > milliseconds{0} ? " (its longest before took " + time_text(x.longest) + ")"
                                      : "");
}

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
  std::string known;
  for (const auto& node : x.nodes)
    if (!node.is_linked && !node.is_director) {
      result.culprits.push_back(node.name);
      if (!node.trouble.empty() && result.culprits.size() <= named_max)
        known += "; of " + node.name + " is known: " + node.trouble;
    }
  if (!x.stranger.empty())
    known += "; " + x.stranger;
  if (result.culprits.empty())
    return of_director(x, wait_rule::joining, home + " cannot begin yet: " + x.waits_for,
                       "every node is linked; the output of the director says what it lacks");
  for (const auto& name : result.culprits)
    result.chain.push_back({home, name, "a link to it"});
  result.verdict =
    "not linked with " + home + ": " + listed(result.culprits) + " (" + x.waits_for + ')' + known;
  result.advice = "start what is missing ('troupe node CLUSTER.toml --name " +
                  result.culprits.front() +
                  "'); if it runs, its own output says why it cannot reach the director. After "
                  "timeouts.join the run ends (69), or min_nodes says how many are enough";
  return result;
}

/// A node's own thread runs 20 times a second. It is this late only on an overloaded machine.
constexpr double late_min = 0.2;

std::string late_text(const node_status& x) {
  return x.late < late_min
           ? std::string{}
           : "its machine does not let it run (its node was called " + text_of(x.late) + " late)";
}

std::string in_brackets(const std::string& text) {
  return text.empty() ? text : ": " + text;
}

wait_explanation of_a_slow_replica(const training_status& x, const slow_trainer& slow) {
  const auto actor = slow.who.process + "/replica " + std::to_string(slow.who.index);
  wait_explanation result{wait_rule::slow, {actor}, {}, {}, {}};
  result.verdict = "the run moves, and waits for " + actor + ' ' +
                   std::to_string(std::llround(100 * slow.waited_share)) +
                   " % of the time: last in " + std::to_string(slow.last) + " of the last " +
                   std::to_string(slow.steps) + " steps, ";
  const auto node = std::ranges::find(x.nodes, slow.who.process, &node_status::name);
  const auto late = node == x.nodes.end() ? std::string{} : late_text(*node);
  const bool computes = slow.computing_ratio >= slow_watch::computing_ratio_min;
  if (computes || !late.empty()) {
    result.verdict += computes ? "and its computing takes " +
                                   std::to_string(std::llround(slow.computing_ratio)) +
                                   " times that of others" + in_brackets(late)
                               : "and " + late;
    result.advice = "look at the processor of " + slow.who.process +
                    " (what else runs there?), give it fewer replicas, or cut the model otherwise";
    return result;
  }
  result.verdict += "and what it sends comes late";
  const link_figures* worst = nullptr;
  for (const auto& link : x.links)
    if ((link.from == slow.who.process || link.to == slow.who.process) &&
        (worst == nullptr || link.unseen > worst->unseen))
      worst = &link;
  if (worst != nullptr) {
    result.culprits = {name_of(*worst)};
    result.verdict += " (" + name_of(*worst) + ": " +
                      std::to_string(std::llround(worst->bytes_per_second / 1000)) + " kB/s, " +
                      std::to_string(worst->unseen / 1000) + " kB under way)";
  }
  result.advice =
    "look at the network of " + slow.who.process +
    "; larger batches send less often, and a placement of shards beside it sends less";
  return result;
}

void say(wait_explanation& x, const link_figures& link) {
  const auto blamed = is_cut(link) ? link : link_figures{link.to, link.from};
  x.culprits = {name_of(blamed)};
  x.verdict =
    "the " + name_of(blamed) + " holds up the run: " +
    (is_cut(link) ? std::to_string(link.sent) + " bytes were given to it, " +
                      std::to_string(link.came) + " have come, none for " + time_text(link.still)
                  : "all " + std::to_string(link.sent) + " bytes from " + link.from +
                      " have come, and it has not heard so for " + time_text(link.still));
  x.advice = "look at the network from " + blamed.from + " to " + blamed.to +
             " (a firewall, a cable, a full queue). What is missing is asked for again; after "
             "timeouts.lost_after without a sign of life one of the two is taken out";
}

/// Verdict and advice for the end of a chain.
void say(wait_explanation& x, const wait_walk& walk) {
  const auto who = listed(x.culprits);
  const bool is_one = x.culprits.size() == 1;
  const auto blamed = who + (is_one ? " holds up the run: " : " hold up the run: ");
  const auto first = x.culprits.front();
  const auto* node = walk.find(first);
  const auto silence = node == nullptr ? 0 : node->silence;
  const auto last = x.chain.empty() ? explained_wait{"", "", ""} : x.chain.back();
  const auto* piece = node == nullptr || is_silent(*node) ? nullptr : piece_of(*node);
  const auto actor = piece == nullptr ? first : first + '/' + piece->who;
  const auto at =
    piece == nullptr ? "one piece of work for " + time_text(walk.busy(first)) : text_of(*piece);
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
  case wait_rule::link:
    return say(x, *walk.bad_link());
  case wait_rule::own_part:
    x.verdict = blamed + "waiting for " + last.what;
    x.advice = "the output of " + first + " says more";
    return;
  case wait_rule::working:
    x.verdict = "no fault: " + actor + " works as always, at " + at;
    x.advice = "nothing: a piece takes as long as its rows and the model need. More slices make "
               "pieces shorter";
    return;
  case wait_rule::computing:
    x.verdict = (is_one ? actor + " holds" : who + " hold") + " up the run: at " + at;
    x.advice = "a long piece of work is no fault; if others finish theirs sooner, look at the "
               "processor and the memory of " +
               first + in_brackets(late_text(*node)) +
               ". Threads that hang are taken out after 20 "
               "times the longest piece of work";
    x.culprits.front() = actor;
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
      "After 3 x timeouts.lost_after the run begins anew from the newest version that is whole";
    return;
  case wait_rule::joining:
  case wait_rule::disk:
  case wait_rule::director:
  case wait_rule::slow:
    return; // explain() words these itself
  }
}

} // namespace

std::string_view name_of(wait_rule rule) {
  constexpr std::array<std::string_view, 12> names{"missing",  "joining", "disk",      "silent",
                                                   "own part", "link",    "computing", "on the way",
                                                   "working",  "circle",  "director",  "slow"};
  return names.at(static_cast<size_t>(rule));
}

std::optional<wait_explanation> explain(const training_status& x, milliseconds patience) {
  if (x.phase == "finished" || x.phase == "failed")
    return std::nullopt;
  if (x.phase == "waiting")
    return of_a_run_that_lacks_processes(x);
  const auto home = home_of(x);
  const bool moves = x.still * 1000 < static_cast<double>(patience.count());
  const auto on_disk = [&] {
    auto result =
      of_director(x, wait_rule::disk,
                  "the disk of " + home +
                    (moves ? " does not answer, and training goes on: it is written to for "
                           : " holds up the run: " + x.waits_for + " for ") +
                    text_of(moves ? x.writes_for : x.still),
                  "look at the disk of the run directory: full (df), slow, or a file system of "
                  "the network that does not answer");
    result.culprits = {"disk of " + home};
    return result;
  };
  if (moves && x.writes_for * 1000 >= static_cast<double>(patience.count()))
    return on_disk();
  if (moves)
    return x.slow.empty() ? std::nullopt : std::optional{of_a_slow_replica(x, x.slow.front())};
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

// A dead link explains a wait whatever the processes at its ends do. Only rules before `link` are worse. A silent
// process at the end of no chain keeps only the director waiting, for its report.
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

// Judges a process as the end of a chain, worst first; `circle`: the chain goes on. Work comes before waits: a working
// process may also wait for others.
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

// An actor that does not answer has no piece of work, but counts as busy.
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

// Breadth first, so that each chain is the shortest. Visits each process once.
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

// No chain has an end, so as many steps as there are processes lead into a circle. Only the processes in it are
// culprits. The chain shows it once around.
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
