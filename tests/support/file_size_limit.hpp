// A disk that is full, without one: the kernel lets no file of this process grow beyond a limit.

#pragma once

#include <sys/resource.h>

#include <csignal>

namespace troupe {

/// While it lives, no file of this process may grow beyond `bytes`: writes are cut short there, and
/// the next one fails.
class file_size_limit {
public:
  explicit file_size_limit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~file_size_limit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }
  file_size_limit(const file_size_limit&) = delete;
  file_size_limit& operator=(const file_size_limit&) = delete;

private:
  sighandler_t handler_;
  rlimit before_{};
};

} // namespace troupe
