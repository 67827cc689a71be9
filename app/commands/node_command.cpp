#include "actors/net/process/networked_process.hpp"
#include "actors/net/process/process_gate.hpp"
#include "actors/net/table/home_rows.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/private_run.hpp"
#include "app/cluster/cluster_address.hpp"
#include "app/cluster/cluster_file.hpp"
#include "app/cluster/node_choice.hpp"
#include "app/commands/commands.hpp"
#include "app/run/signals.hpp"
#include "app/run/system_config.hpp"
#include "app/run/trace_output.hpp"
#include "app/run/training_run.hpp"
#include "app/terminal/output.hpp"
#include "coordinators/job/resolve.hpp"
#include "coordinators/job/training_modes.hpp"
#include "models/keys/closest_name.hpp"

#include <caf/actor_system.hpp>

#include <algorithm>

#include <optional>
#include <thread>
#include <utility>

namespace troupe {

namespace {

// The node of the cluster file that this process is.
struct chosen_node {
  loaded_cluster cluster;
  size_t index = 0;
  std::optional<tls_files> tls; // they fit

  const cluster_node& self() const { return cluster.plan.nodes[index]; }
};

chosen_node choose(const node_arguments& arguments) {
  chosen_node result;
  const auto variables = process_environment();
  result.cluster = load_cluster(arguments.run.job_file, arguments.run.sets, variables);
  const auto rank = arguments.name.empty() ? find_rank(variables, host_name()) : std::nullopt;
  result.index = choose_node(result.cluster, arguments.name, host_name(), rank);
  apply_addresses(result.cluster.plan, arguments.addresses);
  expect_ports(result.cluster);
  result.tls = checked_tls_of(result.cluster, result.index);
  return result;
}

size_t thread_count(const job& x) {
  return x.runtime.threads.value_or(std::max(1u, std::thread::hardware_concurrency()));
}

// `troupe launch` starts all nodes on one machine. The director checks the memory that they take
// together: no other node begins before it.
run_place place_of(const chosen_node& here, const node_arguments& arguments) {
  const bool is_launched = arguments.inherited_listen_fd >= 0;
  return {here.cluster.plan, here.index, is_launched && here.self().is_director};
}

networked_options options_for(const chosen_node& here, const node_arguments& arguments,
                              const job& x, training_inputs inputs) {
  networked_options result;
  result.cluster = here.cluster.plan;
  result.own_name = here.self().name;
  result.tls = here.tls;
  result.inherited_listen_fd = arguments.inherited_listen_fd;
  result.resolved = resolve(x, shape_of(*inputs.data), std::thread::hardware_concurrency());
  require_trainable(result.resolved, *inputs.data, place_of(here, arguments));
  result.data = std::move(inputs.data);
  result.table = std::move(inputs.table);
  result.checkpoints = std::move(inputs.checkpoints);
  result.resume_from = std::move(inputs.resume_from);
  result.scratch_folder = std::move(inputs.scratch_folder);
  result.on_progress = std::move(inputs.on_progress);
  result.on_status = std::move(inputs.on_status);
  result.on_news = std::move(inputs.on_news);
  result.keep = std::move(inputs.keep);
  result.stop_requested = std::move(inputs.stop_requested);
  result.trace = std::move(inputs.trace);
  result.decisions = std::move(inputs.decisions);
  return result;
}

// The place as it is before the actor system starts.
run_place place_before_start(const chosen_node& here, const node_arguments& arguments) {
  auto result = place_of(here, arguments);
  result.new_threads = thread_count(here.cluster.job.value) + 1; // and the actor system's owner
  return result;
}

networked_end march(caf::actor_system& system, const chosen_node& here,
                    const node_arguments& arguments, const job& x, training_inputs inputs) {
  const auto on_ready = std::move(inputs.on_ready);
  networked_process process{system, options_for(here, arguments, x, std::move(inputs))};
  if (on_ready)
    on_ready();
  std::optional<told_address> told; // for as long as it can be asked
  if (here.self().is_director)
    told.emplace(x.output.directory, here.self().address);
  return process.wait();
}

networked_end take_part(const chosen_node& here, const node_arguments& arguments, const job& x,
                        training_inputs inputs) {
  networked_end result;
  with_actor_system(std::make_unique<system_config>(x.runtime, here.cluster.plan.timeouts),
                    [&](caf::actor_system& system) {
                      result = march(system, here, arguments, x, std::move(inputs));
                    });
  return result;
}

// Nodes started by hand dial at least every two seconds.
constexpr milliseconds finished_patience{5'000};

void tell_others(const chosen_node& here, const node_arguments& arguments, const job& x,
                 training_inputs inputs, const training_summary& summary) {
  tell_that_it_is_over(options_for(here, arguments, x, std::move(inputs)),
                       "the run is finished (step " + std::to_string(summary.steps) +
                         ", stopped by " + summary.stopped_by + ")",
                       finished_patience);
}

constexpr const char* warning_without_checkpoints =
  "troupe: warning: no checkpoints are written: when a node with shards is lost, and no copy of "
  "its "
  "parameters is left, training starts from version 0. Leave out checkpoint.every_steps = 0, or "
  "give shards to the director alone\n";

constexpr const char* warning_of_idle_shards =
  "troupe: warning: this mode needs sums over all parameters: the director's node owns them all. "
  "Leave out shards of the other nodes\n";

// Also under --quiet: other machines than planned did the work.
void warn_of_missing(const cluster_plan& plan, size_t took_part) {
  const auto expected = plan.listed_count();
  if (took_part < expected)
    print_message("troupe: warning: " + std::to_string(took_part) + " of " +
                  std::to_string(expected) + " nodes took part\n");
}

/// This node's rows: those that all read, or its own, once all nodes that have some agree on a table.
std::shared_ptr<const prepared_data> load_rows(const chosen_node& here,
                                               const node_arguments& arguments, const job& x,
                                               std::string& table) {
  const auto is_stopped = [] { return stop_signal() != 0; };
  if (!x.data.at_nodes)
    return load_data(x, is_stopped);
  auto own = x;
  own.data = here.cluster.node_data[here.index];
  home_rows_options options;
  options.plan = here.cluster.plan;
  options.own_name = here.self().name;
  options.tls = here.tls;
  options.inherited_listen_fd = arguments.inherited_listen_fd;
  options.stop_requested = is_stopped;
  if (!arguments.run.quiet)
    options.on_news = log_news;
  return load_data(own, is_stopped,
                   [&](const own_rows& rows) { return agree_on_rows(rows, options, table); });
}

int lead(const chosen_node& here, const node_arguments& arguments) {
  const auto& asked = here.cluster.job.value;
  if (here.cluster.plan.can_lose_spans() && !asked.checkpoint.are_written())
    print_message(warning_without_checkpoints);
  if (here.cluster.has_idle_shards)
    print_message(warning_of_idle_shards);
  const auto train = [&](const job& x, training_inputs inputs) {
    auto result = *take_part(here, arguments, x, std::move(inputs)).training;
    warn_of_missing(here.cluster.plan, result.summary.nodes);
    return result;
  };
  auto asked_run = arguments.run;
  if (asked_run.dashboard && here.tls)
    asked_run.dashboard->node_certificate = *here.tls;
  return run_training(
    here.cluster.job, asked_run, train,
    [&](const job& x, training_inputs inputs, const training_summary& summary) {
      tell_others(here, arguments, x, std::move(inputs), summary);
    },
    place_before_start(here, arguments),
    [&](const job& x, std::string& table) { return load_rows(here, arguments, x, table); });
}

int follow(const chosen_node& here, const node_arguments& arguments) {
  const bool is_launched = arguments.inherited_listen_fd >= 0;
  const trace_output records{
    arguments.run, here.cluster.job.value, here.self().name, {false, is_launched}};
  if (!is_launched) // else the director takes it in
    records.take_in();
  const auto on_news = [&](const std::string& line) {
    if (!arguments.run.quiet)
      log_news(line);
  };
  const auto begin = [&] {
    training_inputs inputs{};
    inputs.trace = records.trace();
    inputs.on_news = on_news;
    inputs.stop_requested = [] { return stop_signal() != 0; };
    const auto x = with_key(here.cluster.job.value);
    inputs.data = load_rows(here, arguments, x, inputs.table);
    const auto resolved = resolve(x, shape_of(*inputs.data), std::thread::hardware_concurrency());
    require_trainable(resolved, *inputs.data, place_before_start(here, arguments));
    return take_part(here, arguments, x, std::move(inputs));
  };
  bool has_left = false;
  try {
    auto end = begin();
    for (; end.agrees_anew; end = begin())
      on_news(end.reason + ": agrees again");
    on_news(end.reason);
    has_left = end.has_left;
  } catch (const failure& error) {
    throw_with_place(error, here.cluster.job);
  }
  return stop_signal() != 0 && !has_left ? 128 + stop_signal() : 0;
}

int run_node(const chosen_node& here, const node_arguments& arguments) {
  watch_stop_signals(one_signal_for, arguments.run.quiet);
  if (is_open_to_strangers(here.cluster))
    print_message(insecure_warning(arguments.run.job_file));
  if (!here.self().is_listed && !arguments.run.quiet) {
    std::vector<std::string> listed;
    for (const auto& node : here.cluster.plan.nodes)
      if (node.is_listed)
        listed.push_back(node.name);
    const auto meant = did_you_mean(here.self().name, listed);
    log_news("joins as '" + here.self().name + "', which " + arguments.run.job_file +
             " does not list" + (meant.empty() ? "" : ": " + meant));
  }
  return here.self().is_director ? lead(here, arguments) : follow(here, arguments);
}

} // namespace

int node_command(const node_arguments& arguments) {
  chosen_node here;
  with_failure_object(arguments.run.json, [&](std::string&) {
    here = choose(arguments);
    return 0;
  });
  const bool prints = arguments.run.json && here.self().is_director;
  return with_failure_object(prints, [&](std::string& job_name) {
    job_name = here.cluster.job.value.name;
    return run_node(here, arguments);
  });
}

} // namespace troupe
