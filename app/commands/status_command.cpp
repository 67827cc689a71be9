#include "app/cluster/cluster_address.hpp"
#include "app/commands/commands.hpp"
#include "app/page/page_server.hpp"
#include "app/run/signals.hpp"
#include "app/run/training_run.hpp"
#include "app/terminal/output.hpp"
#include "app/terminal/reports.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <thread>

namespace troupe {

namespace {

std::string with_job(const std::string& status, const std::string& job_name) {
  nlohmann::ordered_json result{{"job", job_name}};
  result.update(nlohmann::ordered_json::parse(status));
  return result.dump() + '\n';
}

int run_status(const status_arguments& arguments, std::string& job_name) {
  if (!is_cluster_file(arguments.cluster_file))
    throw failure(failure_code::bad_job,
                  "this is a job file, and 'troupe train' can be asked by nobody: it has no port",
                  arguments.cluster_file,
                  "give the cluster file of 'troupe launch' or 'troupe node'; 'troupe train' shows "
                  "its progress itself");
  const auto cluster = load_cluster(arguments.cluster_file, arguments.sets, process_environment());
  job_name = cluster.job.value.name;
  const auto status = status_of(cluster, {arguments.certificate_file, arguments.key_file});
  print_result(arguments.json       ? with_job(status, job_name)
               : arguments.explains ? wait_report(status)
                                    : status_report(status));
  return 0;
}

} // namespace

int status_command(const status_arguments& arguments) {
  return with_failure_object(
    arguments.json, [&](std::string& job_name) { return run_status(arguments, job_name); });
}

namespace {

constexpr std::chrono::milliseconds signal_poll_interval{100};
constexpr int polls_between_visits = 10;

int wait_for_signal(const std::function<void()>& every_second) {
  for (int poll = 0; stop_signal() == 0; ++poll) {
    if (poll % polls_between_visits == 0)
      every_second();
    std::this_thread::sleep_for(signal_poll_interval);
  }
  return 128 + stop_signal();
}

int serve(const watch_arguments& arguments, const std::shared_ptr<const page_feed>& feed,
          const std::function<void()>& every_second) {
  auto place = arguments.page;
  place.node_certificate = {{}, arguments.certificate_file, arguments.key_file};
  const page_server server{place, feed};
  print_result("The page of this run: " + server.address() + "  (Ctrl-C ends it)\n");
  return wait_for_signal(every_second);
}

// A director that does not answer is asked again: it may be started anew.
void visit(const loaded_cluster& cluster, const visit_files& files, page_feed& feed) {
  try {
    feed.set_status(status_of(cluster, files), unix_seconds());
  } catch (const failure& error) {
    feed.set_problem(error.what());
  }
}

} // namespace

int watch_command(const watch_arguments& arguments) {
  watch_stop_signals();
  if (std::filesystem::is_directory(arguments.target))
    return serve(arguments, feed_of_run(arguments.target), [] {});
  if (!is_cluster_file(arguments.target))
    throw failure(
      failure_code::bad_job, "this is a job file, whose training can be asked by nobody",
      arguments.target,
      "give a cluster file or the folder of a run; 'troupe train --dashboard' shows a job "
      "while it is trained");
  const auto cluster = load_cluster(arguments.target, arguments.sets, process_environment());
  const auto feed = std::make_shared<page_feed>(cluster.job.value.name, page_source::visits);
  const visit_files files{arguments.certificate_file, arguments.key_file};
  return serve(arguments, feed, [&] { visit(cluster, files, *feed); });
}

} // namespace troupe
