// Lets a test see file permissions as everybody else does, even when root runs it.

#pragma once

#include <unistd.h>

#include <stdexcept>

namespace troupe {

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
