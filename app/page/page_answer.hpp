// The page server's answer to a request: a table of exact paths, for visitors that may read the page.
// No answer has a header that would let another site read it, and no request changes anything. Pure,
// so that it can be tested without a socket.
//
// The danger on a loopback address is a foreign web page in the same browser. So the server refuses
// requests that another site has made. It also refuses a Host that is no literal address, not
// `localhost` and no name that it was given, as one rebound to 127.0.0.1. A server that other machines
// can reach also asks for a token, and uses TLS (page_server.hpp sees to that). Without the token it
// gives the page's own files, which hold nothing of a run, and whether it lives.

#pragma once

#include "app/page/page_feed.hpp"
#include "app/page/page_request.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A file of the page, in the program.
struct page_asset {
  std::string_view path; ///< "/page.js"
  std::string_view type; ///< of its content, for HTTP
  std::string_view bytes;
  std::string_view entity_tag; ///< of the bytes, with its quotes
};

/// The asset of a path; null: there is none (generated, cmake/embed.cmake).
const page_asset* page_asset_at(std::string_view path);

/// Which visitors may read the page of a run.
struct page_rules {
  uint16_t port = 0;                ///< where the server listens
  bool is_secured = false;          ///< by TLS
  std::vector<std::string> names{}; ///< it has been given, beside `localhost`
  std::string token{};              ///< empty: none is needed
};

/// The status that refuses the request; 0: it is answered. `is_public`: what is asked for needs no
/// token.
unsigned page_refusal_of(const page_request& request, const page_rules& rules, bool is_public);

/// Whether two secrets are equal, in a time that depends on their lengths alone.
bool is_same_secret(std::string_view x, std::string_view y);

/// The answer, head and body. `now` as in page_feed.
std::string page_answer(const page_request& request, const page_feed& feed, const page_rules& rules,
                        double now);

/// The answer that refuses a request: no more than its status.
std::string page_refusal(unsigned status);

} // namespace troupe
