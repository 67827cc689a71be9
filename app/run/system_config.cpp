#include "app/run/system_config.hpp"

#include "actors/net/process/networked_process.hpp"
#include "actors/run/train.hpp"
#include "app/terminal/output.hpp"
#include "data/disk/open_file.hpp"
#include "data/text/failure.hpp"

#include <caf/atom.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace troupe {

namespace {

[[noreturn]] void refuse(size_t found, size_t needed, const char* what, int error,
                         const char* hint) {
  throw failure(failure_code::io_error,
                "this process needs " + std::to_string(needed) + " more " + what +
                  " and is permitted " + std::to_string(found) + ": " + std::strerror(error),
                {}, hint);
}

void require_threads(size_t count) {
  std::promise<void> over;
  const auto end = over.get_future().share();
  std::vector<std::jthread> all;
  int error = 0;
  try {
    while (all.size() < count)
      all.emplace_back([end] { end.wait(); });
  } catch (const std::system_error& found) {
    error = found.code().value();
  }
  over.set_value();
  if (all.size() < count)
    refuse(all.size(), count, "threads", error,
           "raise the limit (ulimit -u; pids.max of a container), or set runtime.threads lower");
}

void require_descriptors(size_t count) {
  std::vector<open_file> all;
  while (all.size() < count) {
    all.emplace_back(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!all.back())
      refuse(all.size() - 1, count, "open files", errno, "raise the limit (ulimit -n)");
  }
}

} // namespace

void require_process_room(size_t thread_count, size_t descriptor_count) {
  require_threads(thread_count);
  require_descriptors(descriptor_count);
}

system_config::system_config(const runtime_options& options) {
  configure(*this);
  set_runtime(options, alone_room);
}

system_config::system_config(const runtime_options& options, const cluster_timeouts& timeouts) {
  configure_node(*this, timeouts);
  set_runtime(options, node_room);
}

void system_config::set_runtime(const runtime_options& options, const room_beside_workers& room) {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  require_process_room(options.threads.value_or(cores) + room.threads, room.descriptors);
  set("scheduler.policy", caf::atom_from_string(std::string{name_of(options.policy)}));
  set("scheduler.max-threads", options.threads.value_or(cores));
  set("logger.verbosity", caf::atom("quiet"));
}

bool with_actor_system(std::unique_ptr<system_config> config,
                       const std::function<void(caf::actor_system&)>& work,
                       std::chrono::milliseconds patience) {
  std::promise<void> done;
  std::promise<void> ended;
  auto is_done = done.get_future();
  auto has_ended = ended.get_future();
  // A thread that is left behind must own all that it touches: it uses `work` only before that is done.
  std::thread own{[settings = std::move(config), &work, is_over = std::move(done),
                   has_gone = std::move(ended)]() mutable {
    try {
      caf::actor_system system{*settings};
      try {
        work(system);
        is_over.set_value();
      } catch (...) {
        is_over.set_exception(std::current_exception());
      }
    } catch (...) { // there is no system
      is_over.set_exception(std::current_exception());
    }
    has_gone.set_value();
  }};
  is_done.wait();
  const bool is_in_time = has_ended.wait_for(patience) == std::future_status::ready;
  if (is_in_time) {
    own.join();
  } else {
    own.detach();
    print_message(
      "troupe: warning: some actors of this process have not ended with the run; it ends "
      "without them, nothing needs to be done\n");
  }
  is_done.get();
  return is_in_time;
}

} // namespace troupe
