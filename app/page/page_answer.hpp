// What a request to the page's server is answered with: a table of exact paths, for those who may read
// (page_rules.hpp), and never with a header that would let another site read it. Nothing can be changed
// through the page. Pure, so that it can be tested without a socket.

#pragma once

#include "troupe/app/page/page_feed.hpp"
#include "troupe/app/page/page_request.hpp"
#include "troupe/app/page/page_rules.hpp"

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

/// The answer, head and body. `now` as in page_feed.
std::string page_answer(const page_request& request, const page_feed& feed, const page_rules& rules,
                        double now);

/// The answer that refuses a request: no more than its status.
std::string page_refusal(unsigned status);

} // namespace troupe
