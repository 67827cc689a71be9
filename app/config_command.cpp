#include "troupe/app/commands.hpp"
#include "troupe/app/job_file.hpp"
#include "troupe/app/job_schema.hpp"
#include "troupe/app/output.hpp"

namespace troupe {

int config_check_command(const std::string& job_file) {
  load_job(job_file, {}, process_environment());
  print_result(job_file + ": ok\n");
  return 0;
}

int config_show_command(const std::string& job_file, const std::vector<std::string>& sets) {
  auto x = load_job(job_file, sets, process_environment());
  x.optimizer = with_defaults(x.optimizer); // what its rule works with, spelled out
  print_result(job_text(x));
  return 0;
}

int config_keys_command() {
  print_result(job_keys_markdown());
  return 0;
}

} // namespace troupe
