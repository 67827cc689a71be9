// What a request to the page's server is answered with: a table of exact paths, and who may read.
// Pure, so that every rule can be tested without a socket.
//
// The page is for the machine it runs on: the server listens on a loopback address alone, and there
// the danger is a web page of somebody else in the same browser. So a request is answered only if
// its Host is a literal address or `localhost` (a name that was rebound to 127.0.0.1 is neither), if
// no other site has made it, and never with a header that would let another site read it. Nothing
// can be changed through the page.

#pragma once

#include "troupe/app/page/page_feed.hpp"
#include "troupe/app/page/page_request.hpp"

#include <cstdint>
#include <string>
#include <string_view>

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

/// The answer, head and body. `port` is where the server listens; `now` as in page_feed.
std::string page_answer(const page_request& request, const page_feed& feed, uint16_t port,
                        double now);

/// The answer that refuses a request: no more than its status.
std::string page_refusal(unsigned status);

} // namespace troupe
