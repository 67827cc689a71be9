#include "troupe/app/page/page_opening.hpp"

#include "troupe/data/disk/secret_file.hpp"
#include "troupe/data/identity/certificate.hpp"
#include "troupe/data/privacy/key_file.hpp"
#include "troupe/data/text/failure.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace troupe {

namespace {

constexpr uint16_t usual_ports = 10;

/// Whoever starts a run waits for as long.
constexpr milliseconds lookup_time_max{5'000};

constexpr const char* form_hint = "an address of the page is PORT or HOST:PORT";

std::optional<uint16_t> port_in(const std::string& text) {
  uint16_t result = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, result);
  return !text.empty() && problem == std::errc{} && stop == end ? std::optional{result}
                                                                : std::nullopt;
}

endpoint endpoint_in(const std::string& text) {
  if (const auto port = port_in(text))
    return {"127.0.0.1", *port};
  try {
    return parse_endpoint(text);
  } catch (const failure& error) {
    throw failure(failure_code::usage, error.reason(), text, form_hint);
  }
}

/// One that this machine alone can reach, if the host has one.
socket_address address_of(const endpoint& where) {
  const auto found = resolve(where, lookup_time_max);
  if (found.addresses.empty())
    throw failure(failure_code::usage, found.problem, to_string(where), form_hint);
  const auto loopback = std::ranges::find_if(found.addresses, &socket_address::is_loopback);
  return loopback != found.addresses.end() ? *loopback : found.addresses.front();
}

[[noreturn]] void refuse_open_page(const page_place& where, bool is_secured) {
  std::string missing;
  if (where.token_file.empty())
    missing = "--dashboard-token-file FILE (made when it is not there)";
  if (!is_secured)
    missing += std::string{missing.empty() ? "" : " and "} +
               "--dashboard-certificate NAME.pem --dashboard-key NAME.key ('troupe certs issue')";
  throw failure(
    failure_code::no_permission,
    "other machines can reach this address, where a page is served with TLS and to those "
    "who know its token, or not at all",
    where.address,
    "add " + missing +
      "; or leave the address out and use 'ssh -L 7465:localhost:7465 THIS_MACHINE'");
}

owned_socket usual_listener() {
  for (uint16_t i = 0;; ++i)
    try {
      return listen_on(address_of({"127.0.0.1", static_cast<uint16_t>(usual_page_port + i)}));
    } catch (const failure& error) {
      if (error.code() != failure_code::cannot_create || i + 1 == usual_ports)
        throw;
    }
}

std::string read_token(const std::string& file, bool& is_new) {
  std::error_code ignored;
  is_new = !std::filesystem::exists(file, ignored);
  return digits_of(read_or_make_key(file));
}

} // namespace

page_opening open_page(const page_place& where) {
  const bool is_usual = where.address.empty();
  const auto asked = is_usual ? endpoint{"127.0.0.1", usual_page_port} : endpoint_in(where.address);
  const auto address = address_of(asked);
  const auto& files = where.certificate.certificate.empty() && !address.is_loopback()
                        ? where.node_certificate
                        : where.certificate;
  const bool is_secured = !files.certificate.empty();
  if (!address.is_loopback() && (where.token_file.empty() || !is_secured))
    refuse_open_page(where, is_secured);
  page_opening result{is_usual ? usual_listener() : listen_on(address)};
  result.rules.port = port_of(result.listener);
  auto shown = asked.host;
  result.rules.names = {shown};
  if (is_secured) {
    result.identity = tls_identity::for_anyone(files);
    result.rules.is_secured = true;
    for (const auto& name :
         read_certificate(read_small_file(files.certificate), files.certificate).names) {
      if (address.is_any() && shown == asked.host)
        shown = name; // a browser cannot go to "all addresses"
      result.rules.names.push_back(name);
    }
  }
  bool is_new_token = false;
  if (!where.token_file.empty())
    result.rules.token = read_token(where.token_file, is_new_token);
  result.address = (is_secured ? "https://" : "http://") +
                   to_string(endpoint{shown, result.rules.port}) + "/" +
                   (is_new_token ? "#key=" + result.rules.token : "");
  return result;
}

} // namespace troupe
