// The command line of `troupe certs`.

#pragma once

#include "troupe/app/commands/commands.hpp"

namespace troupe {

/// What was given.
struct certs_line {
  certs_arguments authority{"troupe cluster", {}, {}, 3650, false};
  certs_arguments node{{}, {}, {}, 365, false};
};

/// Adds the command to `app`; what of it is called puts itself into `chosen`.
void add_certs(CLI::App& app, certs_line& x, std::function<int()>& chosen);

} // namespace troupe
