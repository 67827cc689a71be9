// What a process may not do while something lives: let a file grow, as on a full disk; open files that its
// user may not, even when root runs it.

#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

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

/// While it lives, a process of root's opens files as "nobody"; any other process stays itself.
class unprivileged {
public:
  unprivileged() : user_(geteuid()) {
    if (user_ == 0 && seteuid(65534) != 0)
      throw std::runtime_error("unprivileged: cannot change the user");
  }
  ~unprivileged() {
    if (seteuid(user_) != 0)
      _exit(1); // going on as another user would fail in confusing ways
  }
  unprivileged(const unprivileged&) = delete;
  unprivileged& operator=(const unprivileged&) = delete;

private:
  uid_t user_;
};

} // namespace troupe
