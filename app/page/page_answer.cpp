#include "app/page/page_answer.hpp"

#include "app/page/run_metrics.hpp"

#include <boost/beast/http/status.hpp>
#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <functional>

namespace troupe {

namespace {

/// With every answer: the page loads nothing from elsewhere, and no other site may frame or read it.
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

/// For a supervisor: whether training moves, or has finished.
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

bool is_number_of_port(std::string_view x, const page_rules& rules) {
  return x == std::to_string(rules.port) ||
         (x.empty() && rules.port == (rules.is_secured ? 443 : 80));
}

// A literal address needs no look-up that could be forged.
bool is_literal(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    return host.find_first_not_of("0123456789abcdefABCDEF:.", 1) == host.size() - 1;
  return std::ranges::count(host, '.') == 3 &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_own_host(std::string_view host, const page_rules& rules) {
  const auto bracket = host.rfind(']');
  const auto colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const auto name = host.substr(0, colon);
  const auto number = colon == std::string_view::npos ? std::string_view{} : host.substr(colon + 1);
  return is_number_of_port(number, rules) &&
         (name == "localhost" || is_literal(name) ||
          std::ranges::find(rules.names, name) != rules.names.end());
}

// "Bearer TOKEN"; the first word in any case, as of RFC 9110.
std::string_view token_in(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  const auto is_same = [](char x, char y) {
    return x == y || (x >= 'A' && x <= 'Z' && x - 'A' + 'a' == y);
  };
  return std::ranges::equal(authorization.substr(0, scheme.size()), scheme, is_same)
           ? authorization.substr(scheme.size())
           : std::string_view{};
}

} // namespace

bool is_same_secret(std::string_view x, std::string_view y) {
  return x.size() == y.size() && CRYPTO_memcmp(x.data(), y.data(), x.size()) == 0;
}

unsigned page_refusal_of(const page_request& x, const page_rules& rules, bool is_public) {
  if (!is_own_host(x.host, rules))
    return 421;
  if (!x.fetch_site.empty() && x.fetch_site != "same-origin" && x.fetch_site != "none")
    return 403;
  if (!x.origin.empty() && x.origin != (rules.is_secured ? "https://" : "http://") + x.host)
    return 403;
  if (!is_public && !rules.token.empty() && !is_same_secret(token_in(x.authorization), rules.token))
    return 401;
  return 0;
}

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
