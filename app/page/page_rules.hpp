// Who may read the page of a run. Pure, so that every rule can be tested without a socket.
//
// The danger on a loopback address is a web page of somebody else in the same browser. So a request
// is answered only if its Host is a literal address, `localhost` or a name that the server was given
// (a name that was rebound to 127.0.0.1 is none of these), and if no other site has made it. Whoever
// can be reached from other machines asks for a token besides, and is secured by TLS (page_server.hpp
// sees to that): without it the page's own files are to be had, which say nothing of a run, and
// whether it lives.

#pragma once

#include "troupe/app/page/page_request.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct page_rules {
  uint16_t port = 0;                ///< where the server listens
  bool is_secured = false;          ///< by TLS
  std::vector<std::string> names{}; ///< it has been given, beside `localhost`
  std::string token{};              ///< empty: nobody is asked for one
};

/// The status that refuses the request; 0: it is answered. `is_public`: what is asked for needs no
/// token.
unsigned page_refusal_of(const page_request& request, const page_rules& rules, bool is_public);

/// Whether two secrets are equal, in a time that tells nothing but whether they are as long.
bool is_same_secret(std::string_view x, std::string_view y);

} // namespace troupe
