#include "troupe/actors/net/process_gate.hpp"

#include "troupe/actors/job_data.hpp"
#include "troupe/coordinators/dial_clock.hpp"
#include "troupe/coordinators/resolve.hpp"
#include "troupe/data/checkpoint_store.hpp"
#include "troupe/data/digest.hpp"
#include "troupe/data/failure.hpp"
#include "troupe/data/shown_text.hpp"
#include "troupe/models/numerics.hpp"
#include "troupe/version.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <span>
#include <utility>

namespace troupe {

namespace {

/// How often who tells the others that the run is over asks whether it should stop.
constexpr milliseconds told_poll_interval{100};

/// What is no part of a job's identity but must be the same for all who train together.
std::string course_of(const job& resolved, const timeline& plan) {
  return "steps = " + std::to_string(plan.last_version()) +
         ", evaluate_every = " + std::to_string(plan.evaluate_every) +
         ", history_every = " + std::to_string(plan.history_every) +
         ", checkpoint.every_steps = " + std::to_string(resolved.checkpoint.every_steps);
}

process_facts facts_of(const std::string& process, const networked_options& x) {
  process_facts facts;
  facts.version = TROUPE_VERSION;
  facts.node = x.own_name;
  facts.is_director = node_of(x.cluster, x.own_name).is_director;
  const auto identity = identity_text(x.resolved, x.data->fingerprint);
  facts.job_sha256 = sha256_hex(std::as_bytes(std::span{identity}));
  facts.data_fingerprint = x.data->fingerprint;
  facts.numerics = numerics_class();
  facts.course = course_of(x.resolved, timeline_of(x.resolved, shape_of(*x.data)));
  facts.term = x.checkpoints ? x.checkpoints->read_term() : 0;
  facts.process = process;
  return facts;
}

} // namespace

const cluster_node& node_of(const cluster_plan& plan, const std::string& own_name) {
  const auto place = plan.find(own_name);
  if (!place)
    throw failure(failure_code::bad_job, "no node is called " + shown_text(own_name), "node",
                  "name one of the nodes of the cluster file");
  return plan.nodes[*place];
}

void expect_sound(const cluster_plan& plan) {
  std::set<std::string> names;
  for (const auto& node : plan.nodes)
    if (!names.insert(node.name).second)
      throw failure(failure_code::bad_job, "two nodes are called " + shown_text(node.name), "node",
                    "give each node a name of its own");
  if (std::ranges::count(plan.nodes, true, &cluster_node::is_director) != 1)
    throw failure(failure_code::bad_job, "a cluster has exactly one director", "node.director",
                  "set director = true for one node");
}

gate_options gate_options_of(const std::string& process, const networked_options& x) {
  const auto& here = node_of(x.cluster, x.own_name);
  gate_options result;
  result.facts = facts_of(process, x);
  result.plan = x.cluster;
  result.tls = x.tls;
  result.inherited_listen_fd = x.inherited_listen_fd;
  result.dial_delay_max = longest_dial_delay(x.cluster.timeouts.lost_after);
  result.listen = parse_endpoint(here.listen.empty() ? here.address : here.listen);
  for (const auto& node : x.cluster.nodes) {
    if (node.name == x.own_name)
      break;
    result.dials.push_back({node.name, parse_endpoint(node.address)});
  }
  return result;
}

void tell_that_it_is_over(const networked_options& options, const std::string& how,
                          milliseconds patience) {
  expect_sound(options.cluster);
  auto for_gate = gate_options_of("a run that is over", options);
  for_gate.over = run_is_over(how);
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> told;
  gate door{std::move(for_gate)};
  door.start([&](const gate_news& news) {
    const auto* refused = std::get_if<refused_news>(&news);
    if (!refused || refused->what.why.code != refusal_code::finished)
      return;
    const std::lock_guard guard{mutex};
    told.insert(refused->what.peer);
    changed.notify_all();
  });
  const auto due = moment::clock::now() + patience;
  std::unique_lock lock{mutex};
  while (told.size() + 1 < options.cluster.nodes.size() && moment::clock::now() < due &&
         !(options.stop_requested && options.stop_requested()))
    changed.wait_for(lock, told_poll_interval);
  lock.unlock(); // the gate's thread may be about to tell
}

} // namespace troupe
