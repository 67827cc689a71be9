// A request to the page's server: whatever came so far, and whatever comes behind it.

#include "app/page/page_request.hpp"
#include "tests/fuzz/hostile.hpp"

#include <algorithm>

using namespace troupe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto text = fuzz::text_of(bytes, size);
  const auto whole = read_page_request(text);
  const auto half = read_page_request(text.substr(0, size / 2));
  if (half.is != page_reading::state::more)
    fuzz::require(half.is == whole.is && half.status == whole.status &&
                    half.request == whole.request,
                  "what follows a request changes nothing of it");
  const auto& x = whole.request;
  const bool is_complete = whole.is == page_reading::state::complete;
  fuzz::require(x.path.starts_with('/') == is_complete, "a path is one, and of requests alone");
  fuzz::require((whole.is == page_reading::state::refused) == (whole.status >= 400),
                "what is refused has a status");
  for (const auto* one : {&x.path, &x.query, &x.host, &x.origin, &x.fetch_site, &x.accept,
                          &x.authorization, &x.entity_tag})
    fuzz::require(std::ranges::none_of(*one, [](char c) { return c == '\r' || c == '\n'; }),
                  "nothing that is said again ends a line");
  return 0;
}
