// The files with which connections are secured: whose word counts, and what a process proves its
// own name with. data/identity/certificate.hpp says what is in them.

#pragma once

#include <string>

namespace troupe {

struct tls_files {
  std::string authority;   ///< certificate of the authority that signed every node's
  std::string certificate; ///< of this process
  std::string key;         ///< belongs to it; nobody else may read it

  friend bool operator==(const tls_files&, const tls_files&) = default;
};

} // namespace troupe
