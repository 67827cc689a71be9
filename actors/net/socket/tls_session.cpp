#include "actors/net/socket/tls_session.hpp"

#include "data/identity/certificate.hpp"
#include "data/text/failure.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace troupe {

namespace {

// OpenSSL's reading and writing of a socket, as its own socket BIO does. But writing to a
// connection that the peer has closed is an error here, and no signal to the process.

int descriptor_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
}

int read_socket(BIO* bio, char* onto, int size) {
  const auto count = ::recv(descriptor_of(bio), onto, static_cast<size_t>(size), 0);
  BIO_clear_retry_flags(bio);
  if (count < 0 && is_for_later(errno))
    BIO_set_retry_read(bio);
  return static_cast<int>(count);
}

int write_socket(BIO* bio, const char* bytes, int size) {
  const auto count = ::send(descriptor_of(bio), bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
  BIO_clear_retry_flags(bio);
  if (count < 0 && is_for_later(errno))
    BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

// Nothing to flush, and no other control is needed.
long control(BIO*, int what, long, void*) {
  return what == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* method() {
  static const std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)> result{
    [] {
      auto* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
      BIO_meth_set_read(made, read_socket);
      BIO_meth_set_write(made, write_socket);
      BIO_meth_set_ctrl(made, control);
      return made;
    }(),
    BIO_meth_free};
  return result.get();
}

/// A BIO for an open socket, which it does not close. Null without memory. The session that takes
/// it frees it.
BIO* make_socket_bio(int descriptor) {
  auto* result = BIO_new(method());
  if (result == nullptr)
    return nullptr;
  BIO_set_data(result, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)));
  BIO_set_init(result, 1);
  return result;
}

/// Ten records of the largest size, with their overhead.
constexpr size_t read_ahead_bytes = size_t{165} << 10;

/// Maximum bytes written at once, so that one peer does not keep others waiting for long.
constexpr size_t write_bytes_max = size_t{1} << 18;

transfer closed() {
  return {0, true, "it closed the connection", false};
}

transfer failed(std::string why) {
  return {0, true, std::move(why), false};
}

transfer refused(std::string why) {
  return {0, true, std::move(why), true};
}

/// This side refuses the peer.
transfer disbelief(long why) {
  switch (why) {
  case X509_V_ERR_CERT_HAS_EXPIRED:
    return refused("its certificate has expired");
  case X509_V_ERR_CERT_NOT_YET_VALID:
    return refused("its certificate is not valid yet; are both clocks right?");
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
  case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    return refused("its certificate is not from the authority of this cluster");
  default:
    return refused(std::string{"its certificate is not good: "} +
                   X509_verify_cert_error_string(why));
  }
}

/// The peer refuses this side. Alert numbers of RFC 8446, section 6.
transfer alert(int number) {
  switch (number) {
  case SSL_AD_CERTIFICATE_EXPIRED:
    return refused("it says that our certificate has expired");
  case SSL_AD_UNKNOWN_CA:
    return refused("it says that our certificate is not from its authority");
  case TLS13_AD_CERTIFICATE_REQUIRED:
    return refused("it says that we have no certificate");
  case SSL_AD_HANDSHAKE_FAILURE:
  case SSL_AD_BAD_CERTIFICATE:
  case SSL_AD_UNSUPPORTED_CERTIFICATE:
  case SSL_AD_CERTIFICATE_REVOKED:
  case SSL_AD_CERTIFICATE_UNKNOWN:
  case SSL_AD_ACCESS_DENIED:
  case SSL_AD_PROTOCOL_VERSION:
  case SSL_AD_INSUFFICIENT_SECURITY:
    return refused(std::string{"it does not accept us: "} + SSL_alert_desc_string_long(number));
  default:
    return failed(std::string{"it ended the secured connection: "} +
                  SSL_alert_desc_string_long(number));
  }
}

/// The peer's first bytes are no TLS; the library recognises HTTP by name.
bool is_no_tls(int reason) {
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST;
}

/// The failure from the library's error queue.
transfer explanation(const SSL* session) {
  const auto code = ERR_get_error();
  const int reason = ERR_GET_REASON(code);
  ERR_clear_error();
  if (code == 0 || ERR_GET_LIB(code) != ERR_LIB_SSL || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
    return closed();
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
    return disbelief(SSL_get_verify_result(session));
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
    return refused("it has no certificate");
  if (reason == SSL_R_UNSUPPORTED_PROTOCOL)
    return refused("it does not speak TLS 1.2 or later");
  if (reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256)
    return alert(reason - SSL_AD_REASON_OFFSET);
  const auto* words = ERR_reason_error_string(code);
  return failed(std::string{"it breaks the rules of TLS: "} + (words ? words : "unknown"));
}

} // namespace

tls_session::tls_session(tls_context context, int descriptor, tls_side side)
  : context_(std::move(context)), session_(SSL_new(context_.get()), SSL_free) {
  auto* bio = session_ ? make_socket_bio(descriptor) : nullptr;
  if (bio == nullptr)
    throw failure(failure_code::internal, "the cryptography library has no memory left");
  SSL_set_bio(session_.get(), bio, bio);
  if (side == tls_side::accepts)
    SSL_set_accept_state(session_.get());
  else
    SSL_set_connect_state(session_.get());
}

tls_session::progress tls_session::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(session_.get());
  if (result == 1)
    return progress::done;
  switch (SSL_get_error(session_.get(), result)) {
  case SSL_ERROR_WANT_READ:
    return progress::wants_to_read;
  case SSL_ERROR_WANT_WRITE:
    return progress::wants_to_write;
  default:
    has_met_no_tls_ = is_no_tls(ERR_GET_REASON(ERR_peek_error()));
    problem_ = explanation(session_.get());
    return progress::failed;
  }
}

transfer tls_session::outcome_of(int result, size_t byte_count) {
  if (byte_count > 0)
    return {byte_count, false, {}, false};
  switch (SSL_get_error(session_.get(), result)) {
  case SSL_ERROR_NONE:
  case SSL_ERROR_WANT_READ:
  case SSL_ERROR_WANT_WRITE:
    return {};
  case SSL_ERROR_ZERO_RETURN:
    return closed();
  default:
    return explanation(session_.get());
  }
}

// Makes the buffer anew in the new size, unless it holds bytes already.
void tls_session::read_ahead() {
  SSL_free_buffers(session_.get());
  SSL_set_default_read_buffer_len(session_.get(), read_ahead_bytes);
  SSL_set_read_ahead(session_.get(), 1);
}

// One record gives up to 16 KiB; several small ones may have come at once.
transfer tls_session::read(std::span<char> onto) {
  ERR_clear_error();
  size_t done = 0;
  size_t more = 0;
  int result = 1;
  while (done < onto.size() &&
         (result = SSL_read_ex(session_.get(), onto.data() + done, onto.size() - done, &more)) == 1)
    done += more;
  return outcome_of(result, done);
}

transfer tls_session::read_record(std::span<char> onto) {
  ERR_clear_error();
  size_t count = 0;
  const int result = SSL_read_ex(session_.get(), onto.data(), onto.size(), &count);
  return outcome_of(result, result == 1 ? count : 0);
}

transfer tls_session::write(std::string_view bytes) {
  ERR_clear_error();
  const auto part = bytes.substr(0, write_bytes_max);
  size_t done = 0;
  size_t more = 0;
  int result = 1;
  while (done < part.size() && (result = SSL_write_ex(session_.get(), bytes.data() + done,
                                                      bytes.size() - done, &more)) == 1)
    done += more;
  return outcome_of(result, done);
}

bool tls_session::has_pending() const {
  return SSL_pending(session_.get()) > 0;
}

void tls_session::say_no_more() {
  ERR_clear_error();
  SSL_shutdown(session_.get());
  ERR_clear_error();
}

std::vector<std::string> tls_session::peer_names() const {
  const std::unique_ptr<X509, decltype(&X509_free)> peer{SSL_get1_peer_certificate(session_.get()),
                                                         X509_free};
  return peer ? names_of(*peer) : std::vector<std::string>{};
}

} // namespace troupe
