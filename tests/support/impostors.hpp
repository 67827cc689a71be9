// Impostors for tests: whatever may answer at the address of a process that is not there. Each
// listens on a port and does one thing to whoever comes, with a certificate of its own or in the
// clear.

#pragma once

#include "actors/net/gate/hello.hpp"
#include "actors/net/socket/channel.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/process_facts.hpp"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::test {

struct impostor_kind {
  std::string name;
  std::optional<identity_texts> certificate; ///< absent: it does not secure its connections
  std::string says;                          ///< as soon as it can
  bool closes = false;                       ///< at once, instead of waiting for more
};

/// For whoever shows a certificate that may be no good, and looks at nobody's.
inline tls_context careless_context(const identity_texts& own) {
  tls_context result{SSL_CTX_new(TLS_method()), SSL_CTX_free};
  const auto source_of = [](const std::string& text) {
    return std::unique_ptr<BIO, decltype(&BIO_free_all)>{
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free_all};
  };
  const std::unique_ptr<X509, decltype(&X509_free)> certificate{
    PEM_read_bio_X509(source_of(own.certificate).get(), nullptr, nullptr, nullptr), X509_free};
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{
    PEM_read_bio_PrivateKey(source_of(own.key).get(), nullptr, nullptr, nullptr), EVP_PKEY_free};
  SSL_CTX_use_certificate(result.get(), certificate.get());
  SSL_CTX_use_PrivateKey(result.get(), key.get());
  return result;
}

/// Serves one connection after the other, until it is gone.
class impostor {
public:
  explicit impostor(const impostor_kind& kind)
    : kind_(kind),
      listener_(listen_on(resolve({"127.0.0.1", 0}, milliseconds{0}).addresses.at(0))),
      thread_([this] {
        while (!ends_)
          if (is_ready(listener_.get(), POLLIN))
            serve();
      }) {}

  ~impostor() {
    ends_ = true;
    thread_.join();
  }

  uint16_t port() const { return port_of(listener_); }

private:
  /// Waits a moment.
  static bool is_ready(int descriptor, short events) {
    pollfd one{descriptor, events, 0};
    return ::poll(&one, 1, 10) > 0;
  }

  void serve() {
    channel line{accept_from(listener_)};
    if (line.descriptor() < 0)
      return;
    if (kind_.certificate && !shake_hands(line))
      return;
    if (!kind_.says.empty())
      line.write(kind_.says);
    std::string ignored;
    while (!ends_ && !kind_.closes)
      if ((line.has_pending() || is_ready(line.descriptor(), POLLIN)) && line.read(ignored).is_over)
        return;
  }

  bool shake_hands(channel& line) {
    line.secure(careless_context(*kind_.certificate), tls_side::accepts);
    while (!ends_) {
      const auto how = line.session()->shake_hands();
      if (how == tls_session::progress::done || how == tls_session::progress::failed)
        return how == tls_session::progress::done;
      is_ready(line.descriptor(), POLLIN);
    }
    return false;
  }

  impostor_kind kind_;
  owned_socket listener_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

/// Who speaks no word of our language.
inline std::vector<impostor_kind> strange_impostors() {
  return {{"TLS alert", {}, std::string{"\x15\x03\x03\x00\x02\x02\x28", 7}},
          {"TLS alert: unknown authority", {}, std::string{"\x15\x03\x03\x00\x02\x02\x30", 7}},
          {"TLS that begins like ours", {}, std::string{"\x16\x03\x03\x00\x02\x02\x28", 7}},
          {"HTTP", {}, "HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n"},
          {"ssh", {}, "SSH-2.0-OpenSSH_9.2\r\n"},
          {"garbage", {}, std::string(300, '\xfe')},
          {"nested", {}, std::string(9'000, '[') + '\n'},
          {"silence", {}, {}},
          {"a closed door", {}, {}, true}};
}

/// Who speaks it, as the process `peer` would if it refused `caller` for good.
inline std::vector<impostor_kind> refusing_impostors(const std::string& peer,
                                                     const std::string& caller) {
  std::vector<impostor_kind> result;
  const verdict differs{verdict_kind::refused, "both differ", refusal_code::mismatch};
  for (const auto& word : {run_is_over("the run is finished"), name_in_use(caller), differs})
    for (const bool has_facts : {true, false})
      result.push_back(
        {"says " + word.reason + (has_facts ? " as " + peer : ""),
         {},
         write_hello({has_facts ? std::optional{facts_of(peer)} : std::nullopt, word})});
  return result;
}

/// Certificates that do not prove `peer`. `another` is another node of the cluster.
inline std::vector<std::pair<std::string, identity_texts>>
wrong_certificates(const identity_texts& authority, const std::string& peer,
                   const std::string& another) {
  const auto today = hours_around_now(-1, 1);
  return {{"self-signed", make_authority(peer, today)},
          {"foreign", issue_certificate(make_authority("foreign", today), peer, today)},
          {"expired", issue_certificate(authority, peer, hours_around_now(-2, -1))},
          {"not valid yet", issue_certificate(authority, peer, hours_around_now(1, 2))},
          {"another node's", issue_certificate(authority, another, today)},
          {"a visitor's", issue_certificate(authority, "visitor", today)}};
}

/// Everybody who may answer on a secured cluster where `peer` was dialled by `caller`.
inline std::vector<impostor_kind> all_impostors(const identity_texts& authority,
                                                const std::string& peer, const std::string& another,
                                                const std::string& caller) {
  auto result = strange_impostors();
  const auto refusing = refusing_impostors(peer, caller);
  result.insert(result.end(), refusing.begin(), refusing.end());
  for (const auto& [name, certificate] : wrong_certificates(authority, peer, another)) {
    result.push_back({name + ", silent", certificate, {}});
    for (auto one : refusing) {
      one.name = name + ", " + one.name;
      one.certificate = certificate;
      result.push_back(one);
    }
  }
  return result;
}

} // namespace troupe::test
