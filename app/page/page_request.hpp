// One request to the page's server: the bytes of a head go in; a request that may be answered, or
// the status that refuses it, comes out. Nothing here knows sockets, so that it can be fuzzed.
//
// It takes as little as a browser and a scraper of metrics need: GET and HEAD, HTTP/1.0 and 1.1, no
// body, a head of at most 8 KiB. Boost.Beast parses the head; this code checks what Beast lets pass.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// Bytes of a head, and headers in it: ten times what browsers send to a page without cookies.
inline constexpr size_t page_head_bytes_max = 8192;
inline constexpr size_t page_headers_max = 64;

struct page_request {
  bool is_head = false;      ///< HEAD: the answer has no body
  std::string path;          ///< without the query, not decoded: paths are compared as they are
  std::string query;         ///< what follows the first '?', not decoded
  std::string host;          ///< as the header says it, with its port
  std::string origin;        ///< empty: none
  std::string fetch_site;    ///< Sec-Fetch-Site; empty: none
  std::string accept;        ///< empty: none
  std::string authorization; ///< empty: none
  std::string entity_tag;    ///< If-None-Match; empty: none
  bool takes_gzip = false;   ///< the answer may be compressed

  friend bool operator==(const page_request&, const page_request&) = default;
};

struct page_reading {
  enum class state : uint8_t {
    more,     ///< the head has not ended yet
    complete, ///< `request` is one
    refused,  ///< with `status`
  };
  state is = state::more;
  unsigned status = 0; ///< of HTTP: 400, 405, 413, 431 or 505
  page_request request;
};

/// Reads the bytes that have come so far.
page_reading read_page_request(std::string_view bytes);

} // namespace troupe
