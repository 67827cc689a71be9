#include "actors/run/explanation.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

namespace troupe {

namespace {

/// More are counted only: a sentence is read at a glance.
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

/// A node has a thread of its own, which is called 20 times a second; later than that by this much only where a
/// machine has too much to do.
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

/// What is said of one end of a chain.
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
      "After 3 x timeouts.lost_after the run begins anew from its last checkpoint";
    return;
  case wait_rule::joining:
  case wait_rule::disk:
  case wait_rule::director:
  case wait_rule::slow:
    return; // said where they are found
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

} // namespace troupe
