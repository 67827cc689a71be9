#include "actors/net/process/process_gate.hpp"

#include "actors/net/gate/gate.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/private_run.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "coordinators/links/dial_clock.hpp"
#include "coordinators/membership/membership_rule.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/text/checksum.hpp"
#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"
#include "models/base/arithmetic.hpp"
#include "troupe/version.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <span>
#include <sstream>
#include <utility>

namespace troupe {

namespace {

/// How often `tell_that_it_is_over` calls `stop_requested`.
constexpr milliseconds told_poll_interval{100};

/// Maximum bytes of a job or a plan in words: any job fits, and a plan of fifty nodes. Both fit in
/// a hello with the rest.
constexpr size_t words_max = 5'000;

/// Maximum bytes of a value in words.
constexpr size_t value_max = 40;
constexpr size_t value_beginning = 24;

std::string digest_of(const std::string& text) {
  return sha256_hex(std::as_bytes(std::span{text}));
}

/// Shortens a line "key = value" with a long value to the value's beginning and a digest.
std::string short_line(const std::string& line) {
  const auto equals = line.find(" = ");
  const auto begin = equals == std::string::npos ? 0 : equals + 3;
  if (line.size() - begin <= value_max)
    return line;
  return line.substr(0, begin + value_beginning) + "... " + digest_of(line).substr(0, 8);
}

/// Lines for a hello: as many as there is room for, and then a digest of all, so that facts that
/// differ never look the same.
std::string words_of(const std::string& text) {
  std::string result;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    line = short_line(line);
    if (result.size() + line.size() > words_max)
      break;
    result += line + '\n';
  }
  std::ranges::replace_if(
    result, [](unsigned char c) { return c == '"' || c == '\\' || c >= 0x7f; }, '\'');
  return result + "sha256 = " + digest_of(text);
}

/// The settings that are no part of a job's identity but must be the same in all processes of a
/// run.
std::string directive_of(const job& resolved, const timeline& plan) {
  std::string metrics;
  for (const auto& name : resolved.training.metrics)
    metrics += (metrics.empty() ? "\ntraining.metrics = " : ", ") + name;
  return "steps = " + std::to_string(plan.last_version()) +
         "\nevaluate_every = " + std::to_string(plan.evaluate_every) +
         "\nhistory_every = " + std::to_string(plan.history_every) +
         "\ncheckpoint.every_steps = " + std::to_string(resolved.checkpoint.every_steps) + metrics;
}

/// How the model is split. The director's views place its parts, but each process is built for one
/// way of splitting.
std::string words_of_split(const parallel_options& x) {
  return "\nparallel.tensor = " + std::to_string(x.tensor) +
         "\nparallel.pipeline = " + std::to_string(x.pipeline) +
         "\nparallel.sharded = " + (x.sharded ? "true" : "false");
}

std::string words_of_data(const job& resolved, const prepared_data& data) {
  const auto shape = shape_of(data);
  const auto rows = shape.train_row_count + shape.test_row_count + shape.validation_row_count;
  return "rows = " + std::to_string(rows) +
         "\nfeatures = " + std::to_string(data.train.feature_count) +
         "\nfingerprint = " + fingerprint_in(resolved, data);
}

process_facts facts_of(const std::string& process, const networked_options& x) {
  process_facts facts;
  facts.version = TROUPE_VERSION;
  facts.node = x.own_name;
  facts.is_director = node_of(x.cluster, x.own_name).is_director;
  facts.data = words_of_data(x.resolved, *x.data);
  facts.job = words_of(identity_of(x.resolved, *x.data));
  facts.cluster = words_of(cluster_words(x.cluster) + words_of_split(x.resolved.parallel));
  facts.directive = directive_of(x.resolved, timeline_of(x.resolved, shape_of(*x.data)));
  facts.arithmetic = own_arithmetic();
  facts.kinds = kind_words(x.resolved, shape_of(*x.data));
  facts.term = x.checkpoints ? x.checkpoints->read_term() : 0;
  if (facts.is_director)
    facts.term = term_floor(facts.term, std::chrono::system_clock::now().time_since_epoch());
  facts.process = process;
  facts.life = random_number();
  if (const auto& here = node_of(x.cluster, x.own_name); !here.is_listed)
    facts.address = here.address;
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
  if (plan.join && (!plan.max_nodes || *plan.max_nodes < plan.listed_count() || plan.has_holders()))
    throw failure(
      failure_code::bad_job, "this cluster cannot let others join", "join",
      "set max_nodes to no fewer than are listed; with rows of their own list all nodes");
}

networked_options with_placed_server(networked_options options) {
  if (has_server(options.resolved.training))
    options.cluster =
      options.cluster.with_server(has_one_owner(options.resolved)).with_director_first();
  return options;
}

gate_options gate_options_of(const std::string& process, const networked_options& x) {
  const auto& here = node_of(x.cluster, x.own_name);
  gate_options result;
  result.facts = facts_of(process, x);
  result.plan = x.cluster;
  result.tls = x.tls;
  result.inherited_listen_fd = x.inherited_listen_fd;
  result.hello_deadline = x.introduction_deadline;
  result.dial_delay_max = longest_dial_delay(x.cluster.timeouts.lost_after);
  result.listen = parse_endpoint(here.listen.empty() ? here.address : here.listen);
  for (const auto& node : x.cluster.nodes) {
    // Of the others the director tells a node that no file lists.
    const bool is_known = node.is_listed && (here.is_listed || node.is_director);
    if (is_known && x.cluster.is_before(node.name, x.own_name))
      result.dials.push_back({node.name, parse_endpoint(node.address)});
  }
  return result;
}

carrier_options carrier_options_of(const networked_options& x, const std::weak_ptr<gate>& door) {
  carrier_options result;
  result.choice = x.cluster.carrier;
  result.dial = [door](const std::string& peer, uint64_t token) {
    if (const auto here = door.lock())
      here->dial_carrier(peer, token);
  };
  return result;
}

void tell_that_it_is_over(const networked_options& options, const std::string& how,
                          milliseconds patience) {
  expect_sound(options.cluster);
  auto for_gate = gate_options_of("a run that is over", with_placed_server(options));
  for_gate.over = run_is_over(how);
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> told;
  gate door{std::move(for_gate)};
  door.start([&](const gate_news& news) {
    if (const auto* visitor = std::get_if<visitor_news>(&news)) {
      const bool has_answer = visitor->what.what == "table" && !options.table.empty();
      door.answer_visit(visitor->ticket, has_answer
                                           ? visit_answer(table_answer{.table = options.table})
                                           : visit_refusal(run_is_over(how)));
    }
    const auto* refused = std::get_if<refused_news>(&news);
    if (!refused || refused->what.why.code != refusal_code::finished)
      return;
    const std::lock_guard guard{mutex};
    if (options.cluster.lists(refused->what.peer))
      told.insert(refused->what.peer);
    changed.notify_all();
  });
  const auto due = moment::clock::now() + patience;
  std::unique_lock lock{mutex};
  // Nobody knows how many others may come.
  while ((options.cluster.join || told.size() + 1 < options.cluster.listed_count()) &&
         moment::clock::now() < due && !(options.stop_requested && options.stop_requested()))
    changed.wait_for(lock, told_poll_interval);
  lock.unlock(); // the gate's thread may be in the callback, which takes the lock
}

} // namespace troupe
