#include "troupe/app/run/system_config.hpp"

#include "troupe/actors/base/work_sharing.hpp"
#include "troupe/actors/net/process/networked_process.hpp"
#include "troupe/actors/run/train.hpp"

#include <caf/atom.hpp>

#include <algorithm>
#include <string>
#include <thread>

namespace troupe {

system_config::system_config(const runtime_options& options) {
  configure(*this);
  set_runtime(options);
}

system_config::system_config(const runtime_options& options, const cluster_timeouts& timeouts) {
  configure_node(*this, timeouts);
  set_runtime(options);
}

void system_config::set_runtime(const runtime_options& options) {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  if (options.policy == scheduler_policy::sharing)
    share_work(*this);
  else
    set("scheduler.policy", caf::atom_from_string(std::string{name_of(options.policy)}));
  set("scheduler.max-threads", options.threads.value_or(cores));
  set("logger.verbosity", caf::atom("quiet"));
}

} // namespace troupe
