#include "app/cluster/child_processes.hpp"
#include "app/cluster/cluster_address.hpp"
#include "app/cluster/cluster_file.hpp"
#include "app/cluster/node_choice.hpp"
#include "app/commands/commands.hpp"
#include "app/page/page_place.hpp"
#include "app/run/trace_output.hpp"
#include "app/run/training_run.hpp"
#include "app/terminal/output.hpp"
#include "app/terminal/progress.hpp"
#include "coordinators/links/launch_rule.hpp"
#include "data/records/summary_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include <sys/mman.h>
#include <unistd.h>

namespace troupe {

namespace {

// Each node writes its own timeline; the launcher merges them when all have ended.
std::string trace_of_node(const train_arguments& arguments, const std::string& name) {
  return arguments.trace + "." + name;
}

// The command line of a node, which is this program.
std::vector<std::string> node_command_line(const train_arguments& arguments,
                                           const cluster_plan& plan, size_t index, int descriptor) {
  std::vector<std::string> result{std::filesystem::read_symlink("/proc/self/exe").string(),
                                  "node",
                                  arguments.job_file,
                                  "--name",
                                  plan.nodes[index].name,
                                  "--inherited-listen-fd",
                                  std::to_string(descriptor)};
  for (const auto& node : plan.nodes)
    result.insert(result.end(), {"--address", address_option(node)});
  for (const auto& set : arguments.sets)
    result.insert(result.end(), {"--set", set});
  const std::pair<bool, const char*> flags[] = {
    {arguments.json, "--json"},     {arguments.quiet, "--quiet"},
    {arguments.stats, "--stats"},   {arguments.tensorboard, "--tensorboard"},
    {arguments.resume, "--resume"}, {arguments.overwrite, "--overwrite"}};
  for (const auto& [given, flag] : flags)
    if (given)
      result.emplace_back(flag);
  if (arguments.dashboard && plan.nodes[index].is_director)
    std::ranges::copy(page_words(*arguments.dashboard), std::back_inserter(result));
  result.push_back("--flight=" + arguments.flight);
  if (!arguments.trace.empty())
    result.push_back("--trace=" + trace_of_node(arguments, plan.nodes[index].name));
  return result;
}

line_marks marks_for(const cluster_plan& plan) {
  line_marks result;
  for (const auto& node : plan.nodes)
    result.width = std::max(result.width, node.name.size());
  result.colour = style_for(stderr).colour;
  return result;
}

// The director first: the others look for it.
std::vector<size_t> starting_order(const cluster_plan& plan) {
  std::vector<size_t> result{director_of(plan)};
  for (size_t i = 0; i < plan.nodes.size(); ++i)
    if (i != result.front())
      result.push_back(i);
  return result;
}

void start_nodes(child_processes& children, const train_arguments& arguments,
                 loaded_cluster& cluster, int output_of_director) {
  bound_sockets sockets{cluster.plan, cluster.places};
  for (const size_t index : starting_order(cluster.plan)) {
    const auto& node = cluster.plan.nodes[index];
    const int descriptor = sockets.descriptor(index);
    children.start({node.name,
                    node_command_line(arguments, cluster.plan, index, descriptor),
                    {descriptor},
                    node.is_director ? output_of_director : -1});
  }
}

void carry_out(child_processes& children, const std::vector<launch_action>& actions) {
  for (const auto& action : actions)
    children.send(action);
}

void wait_for_all(child_processes& children, launch_rule& rule) {
  while (!rule.finished()) {
    const auto news = children.wait(rule.deadline());
    const auto now = moment::clock::now();
    for (const int number : news.stop_signals)
      carry_out(children, rule.on_stop_signal(number, now));
    for (const auto& [child, end] : news.ended)
      carry_out(children, rule.on_end(child, end, now));
    carry_out(children, rule.on_time(now));
  }
}

void report(const child_processes& children, const launch_rule& rule) {
  if (const auto first = rule.first_failure())
    print_message(
      failed_node_text({children.name(*first), rule.end_of(*first), children.last_lines(*first)},
                       rule.exit_code() == 0));
}

// A file that the launcher cannot remove the node cannot write either, and reports.
void remove_traces_of_nodes(const train_arguments& arguments, const cluster_plan& plan) {
  std::error_code ignored;
  for (const auto& node : plan.nodes)
    std::filesystem::remove(trace_of_node(arguments, node.name), ignored);
}

// Killed nodes leave no timeline.
void merge_traces_of_nodes(const train_arguments& arguments, const cluster_plan& plan) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& node : plan.nodes)
    if (const auto file = trace_of_node(arguments, node.name);
        std::filesystem::exists(file, ignored))
      files.push_back(file);
  if (files.empty())
    return;
  try {
    print_message(trace_merge_text(merge_traces(files, arguments.trace), arguments.trace));
    remove_traces_of_nodes(arguments, plan);
  } catch (const failure& error) {
    print_message("troupe: warning: the nodes' timelines are not merged\n" + error_text(error));
  }
}

// The director's JSON object, in memory until all processes have ended. When another node's failure
// stopped the run, the object names that failure.
class object_of_run {
public:
  object_of_run() : descriptor_(memfd_create("result", MFD_CLOEXEC)) {
    if (descriptor_ < 0)
      throw failure(failure_code::internal,
                    std::string{"cannot hold the run's object: "} + std::strerror(errno));
  }
  ~object_of_run() { close(descriptor_); }
  object_of_run(const object_of_run&) = delete;
  object_of_run& operator=(const object_of_run&) = delete;

  int descriptor() const { return descriptor_; }

  // A killed director had no time to write its object.
  std::string text(const launch_rule& rule, const std::string& job_name) const {
    const auto& end = rule.end_of(0);
    const auto said = read();
    if (end.signal != 0 || (rule.was_refused() && is_stop_before_a_result(said)))
      return failure_json(killed_director(end, rule.exit_code()), job_name);
    return said;
  }

private:
  std::string read() const {
    std::string result;
    std::array<char, 4096> part;
    for (ssize_t size; (size = pread(descriptor_, part.data(), part.size(),
                                     static_cast<off_t>(result.size()))) > 0;)
      result.append(part.data(), static_cast<size_t>(size));
    return result;
  }

  int descriptor_;
};

int run_launch(const train_arguments& arguments, std::string& job_name) {
  auto cluster = load_cluster(arguments.job_file, arguments.sets, process_environment());
  job_name = cluster.job.value.name;
  for (size_t i = 0; i < cluster.plan.nodes.size(); ++i)
    checked_tls_of(cluster, i);
  child_processes children{marks_for(cluster.plan), print_message};
  std::optional<object_of_run> object;
  if (arguments.json)
    object.emplace();
  if (!arguments.trace.empty()) // else one of an earlier run might be taken for this one's
    remove_traces_of_nodes(arguments, cluster.plan);
  start_nodes(children, arguments, cluster, object ? object->descriptor() : STDOUT_FILENO);
  launch_rule rule{{cluster.plan.nodes.size(), 0}}; // the director was started first
  wait_for_all(children, rule);
  report(children, rule);
  if (rule.first_failure()) // takes in the flight recorders' files, of killed nodes too
    take_in_and_tell(arguments.flight, absolute_run_directory(cluster.job.value));
  if (!arguments.trace.empty())
    merge_traces_of_nodes(arguments, cluster.plan);
  if (object)
    print_result(object->text(rule, job_name));
  return rule.exit_code();
}

} // namespace

int launch_command(const train_arguments& arguments) {
  return with_failure_object(
    arguments.json, [&](std::string& job_name) { return run_launch(arguments, job_name); });
}

} // namespace troupe
