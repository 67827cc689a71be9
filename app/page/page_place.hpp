// The command line's settings of a run's page: where it is served, and what keeps others from
// reading it.

#pragma once

#include "data/identity/certificate.hpp"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace troupe {

struct page_place {
  std::string address{};    ///< empty, PORT or HOST:PORT (page_server.hpp)
  std::string token_file{}; ///< made when it is not there; empty: no token is needed
  tls_files certificate{};  ///< with its key secures the page; empty: it is not secured
  /// Of the process itself, for its cluster: secures a page that others than this machine can reach,
  /// when `certificate` is empty.
  tls_files node_certificate{};

  friend bool operator==(const page_place&, const page_place&) = default;
};

/// Of a command that trains: any of the options asks for a page.
void add_page_options(CLI::App& command, std::optional<page_place>& x);

/// Of a command that serves one anyway; its address is --address.
void add_page_options(CLI::App& command, page_place& x);

/// The words that ask a command that trains for this page.
std::vector<std::string> page_words(const page_place& x);

} // namespace troupe
