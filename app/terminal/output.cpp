#include "app/terminal/output.hpp"

#include "app/job/job_file.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include <fcntl.h>
#include <unistd.h>

namespace troupe {

namespace {

std::string lines_of(const std::string& where, const std::string& why, const std::string& hint) {
  std::string result = "troupe: error: ";
  if (!where.empty())
    result += where + ": ";
  result += why + '\n';
  if (!hint.empty())
    result += "  hint: " + hint + '\n';
  return result;
}

spdlog::logger make_log() {
  spdlog::logger result{"troupe", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  result.set_pattern("%Y-%m-%d %H:%M:%S %v");
  result.set_error_handler([](const std::string&) {}); // a closed standard error is no error
  return result;
}

} // namespace

void hold_standard_streams() {
  // Opened for the other direction: writing to standard output then fails instead of vanishing.
  const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int stream = 0; stream < 3; ++stream)
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      if (open("/dev/null", modes[stream]) < 0)
        return;
}

void print_result(std::string_view text, const std::string& hint) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0)
    return;
  throw failure(failure_code::io_error,
                std::string{"cannot write the result: "} + std::strerror(errno),
                std::string{standard_output}, hint);
}

std::string error_text(const failure& error) {
  if (error.where() == standard_output && error.reason().ends_with(std::strerror(EPIPE)))
    return {};
  const auto* all = dynamic_cast<const job_errors*>(&error);
  if (!all)
    return lines_of(error.where(), error.reason(), error.hint());
  std::string result;
  for (const auto& one : all->errors())
    result += lines_of(one.where, one.why, one.hint);
  return result;
}

failure as_failure(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error))
    return {failure_code::bad_job,
            "there is not enough memory",
            {},
            "use less data, a smaller model, batch or number of replicas, or a machine with more"};
  return {failure_code::internal, error.what(), {}, "this is a defect; please report it"};
}

void print_message(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void log_news(std::string_view line) {
  static spdlog::logger log = make_log();
  log.info(line);
}

} // namespace troupe
