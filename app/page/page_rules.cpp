#include "troupe/app/page/page_rules.hpp"

#include <openssl/crypto.h>

#include <algorithm>

namespace troupe {

namespace {

bool is_number_of_port(std::string_view x, const page_rules& rules) {
  return x == std::to_string(rules.port) ||
         (x.empty() && rules.port == (rules.is_secured ? 443 : 80));
}

// A literal address was looked up by nobody, so nobody has lied about it.
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

} // namespace troupe
