#include "troupe/app/page/page_answer.hpp"

#include "troupe/app/page/run_metrics.hpp"

#include <fmt/format.h>

#include <boost/beast/http/status.hpp>

#include <algorithm>
#include <functional>
#include <string>

namespace troupe {

namespace {

/// With every answer: the page loads nothing from elsewhere, and nobody may frame or read it.
constexpr std::string_view safety =
  "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
  "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
  "frame-ancestors 'none'\r\n"
  "X-Content-Type-Options: nosniff\r\n"
  "Referrer-Policy: no-referrer\r\n"
  "Cross-Origin-Resource-Policy: same-origin\r\n"
  "Cross-Origin-Opener-Policy: same-origin\r\n"
  "Connection: close\r\n";

constexpr std::string_view json_type = "application/json";

struct content {
  std::string_view type;
  std::string body;
};

std::string head(unsigned status, std::string_view more) {
  const auto reason =
    boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  return fmt::format("HTTP/1.1 {} {}\r\n{}{}\r\n", status,
                     std::string_view{reason.data(), reason.size()}, safety, more);
}

/// Whether training moves, or has finished: what a supervisor asks.
bool is_ready(const page_feed& feed) {
  const auto run = feed.run();
  return run.is_object() && run.value("phase", "") != "waiting" &&
         run.value("phase", "") != "failed";
}

/// Answered with a word or two.
bool is_probe(std::string_view path) {
  return path == "/healthz" || path == "/readyz";
}

struct route {
  std::string_view path;
  std::function<content(const page_request&, const page_feed&, double)> make;
};

const std::vector<route>& routes() {
  static const std::vector<route> table{
    {"/api/status",
     [](auto&, const page_feed& feed, double now) -> content {
       return {json_type, feed.status(now)};
     }},
    {"/api/curves",
     [](auto&, const page_feed& feed, double) -> content {
       return {json_type, feed.curves()};
     }},
    {"/api/events",
     [](auto&, const page_feed& feed, double) -> content {
       return {json_type, feed.events()};
     }},
    {"/api/rounds",
     [](auto&, const page_feed& feed, double) -> content {
       return {json_type, feed.rounds()};
     }},
    {"/metrics",
     [](const page_request& x, const page_feed& feed, double) -> content {
       const auto format = metrics_format_for(x.accept);
       return {content_type_of(format), run_metrics(feed.run(), format)};
     }},
    {"/healthz",
     [](auto&, auto&, double) -> content {
       return {"text/plain", "alive\n"};
     }},
  };
  return table;
}

std::string with_body(unsigned status, const content& x, std::string_view more, bool is_head) {
  const auto lines =
    fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n{}", x.type, x.body.size(), more);
  return head(status, lines) + (is_head ? std::string{} : x.body);
}

std::string asset_answer(const page_asset& x, const page_request& request) {
  const auto tag = fmt::format("ETag: {}\r\nCache-Control: no-cache\r\n", x.entity_tag);
  if (request.entity_tag == x.entity_tag)
    return head(304, tag);
  return with_body(200, {x.type, std::string{x.bytes}}, tag, request.is_head);
}

} // namespace

std::string page_refusal(unsigned status) {
  std::string more = "Cache-Control: no-store\r\n";
  if (status == 401)
    more += "WWW-Authenticate: Bearer\r\n";
  return with_body(status, {"text/plain", fmt::format("{}\n", status)}, more, false);
}

std::string page_answer(const page_request& request, const page_feed& feed, const page_rules& rules,
                        double now) {
  constexpr std::string_view fresh = "Cache-Control: no-store\r\n";
  const auto* asset = page_asset_at(request.path);
  if (const auto status = page_refusal_of(request, rules, asset || is_probe(request.path)))
    return page_refusal(status);
  if (asset)
    return asset_answer(*asset, request);
  if (request.path == "/readyz") {
    const bool ready = is_ready(feed);
    return with_body(ready ? 200 : 503, {"text/plain", ready ? "ready\n" : "not ready\n"}, fresh,
                     request.is_head);
  }
  const auto found = std::ranges::find(routes(), request.path, &route::path);
  if (found == routes().end())
    return page_refusal(404);
  return with_body(200, found->make(request, feed, now), fresh, request.is_head);
}

} // namespace troupe
