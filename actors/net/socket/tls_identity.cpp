#include "actors/net/socket/tls_identity.hpp"

#include "coordinators/links/admission.hpp"
#include "data/disk/open_file.hpp"
#include "data/identity/certificate.hpp"
#include "data/text/failure.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <sys/stat.h>

#include <chrono>
#include <utility>

namespace troupe {

namespace {

/// Ciphers of TLS 1.2: ephemeral keys and authenticated encryption, the fastest first. A longer key
/// would make training slower and nothing here safer.
constexpr const char* ciphers_of_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL:!eNULL:!PSK";
constexpr const char* ciphers_of_1_3 =
  "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

void require(bool success) {
  if (!success) {
    ERR_clear_error();
    throw failure(failure_code::internal, "the cryptography library cannot secure connections");
  }
}

/// Refuses a password instead of asking for one on the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

tls_context make_context(const SSL_METHOD* method) {
  const tls_context result{SSL_CTX_new(method), SSL_CTX_free};
  require(result != nullptr);
  auto* x = result.get();
  require(SSL_CTX_set_min_proto_version(x, TLS1_2_VERSION) == 1);
  require(SSL_CTX_set_cipher_list(x, ciphers_of_1_2) == 1);
  require(SSL_CTX_set_ciphersuites(x, ciphers_of_1_3) == 1);
  SSL_CTX_set_options(x, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(x, SSL_SESS_CACHE_OFF);
  require(SSL_CTX_set_num_tickets(x, 0) == 1);
  SSL_CTX_set_mode(x, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(x, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_default_passwd_cb(x, no_password);
  return result;
}

[[noreturn]] void unfit(const std::string& what, const std::string& where,
                        const std::string& hint) {
  ERR_clear_error();
  throw failure(failure_code::no_permission, what, where, hint);
}

template <class Read>
std::string read_own(Read read, const std::string& path, const std::string& name) {
  try {
    return read(path);
  } catch (const failure& error) {
    if (error.code() != failure_code::missing_input)
      throw;
    throw failure(error.code(), error.reason(), path,
                  "make it with 'troupe certs issue " + (name.empty() ? "NAME" : name) +
                    "' where the authority's ca.key is, and copy it here");
  }
}

identity_texts read_own_files(const tls_files& files, const std::string& name) {
  return {read_own(read_small_file, files.certificate, name),
          read_own(read_secret_file, files.key, name)};
}

void expect_key(const identity_texts& own, const tls_files& files) {
  if (!is_key_of(own, files.key))
    unfit("this key belongs to another certificate than " + files.certificate, files.key,
          "use the two files of one 'troupe certs issue'");
}

using certificate_pointer = std::unique_ptr<X509, decltype(&X509_free)>;
using bio_pointer = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

/// Calls `take` with each certificate in `text`; false once `take` returns false.
template <class Take>
bool take_certificates(const std::string& text, Take take) {
  const bio_pointer source{BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
                           BIO_free_all};
  require(source != nullptr);
  for (;;) {
    const certificate_pointer x{PEM_read_bio_X509(source.get(), nullptr, no_password, nullptr),
                                X509_free};
    if (!x)
      break;
    if (!take(x.get()))
      return false;
  }
  ERR_clear_error(); // the error of reading past the last certificate
  return true;
}

bool take_key(SSL_CTX* x, const std::string& text) {
  const bio_pointer source{BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
                           BIO_free_all};
  require(source != nullptr);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{
    PEM_read_bio_PrivateKey(source.get(), nullptr, no_password, nullptr), EVP_PKEY_free};
  return key && SSL_CTX_use_PrivateKey(x, key.get()) == 1;
}

void expect_loaded(bool is_loaded, const std::string& file) {
  if (is_loaded)
    return;
  ERR_clear_error();
  throw failure(failure_code::bad_data, "cannot be used to secure connections", file,
                "'troupe certs check' says what it holds");
}

void load_authority(SSL_CTX* x, const std::string& text, const tls_files& files) {
  auto* store = SSL_CTX_get_cert_store(x);
  expect_loaded(
    take_certificates(text, [&](X509* one) { return X509_STORE_add_cert(store, one) == 1; }),
    files.authority);
}

void load_own(SSL_CTX* x, const identity_texts& own, const tls_files& files) {
  bool is_first = true;
  const auto take_own = [&](X509* one) {
    return (std::exchange(is_first, false) ? SSL_CTX_use_certificate(x, one)
                                           : SSL_CTX_add1_chain_cert(x, one)) == 1;
  };
  expect_loaded(take_certificates(own.certificate, take_own), files.certificate);
  expect_loaded(take_key(x, own.key), files.key);
}

[[noreturn]] void unfit_expired(const tls_files& files) {
  unfit("this certificate has expired", files.certificate,
        "issue another one: troupe certs issue NAME --overwrite");
}

[[noreturn]] void unfit_not_yet_valid(const tls_files& files) {
  unfit("this certificate is not valid yet", files.certificate, "is this machine's clock right?");
}

/// Checks the dates of a certificate without an authority.
void expect_good_today(const certificate_facts& x, const tls_files& files) {
  const auto now = std::chrono::system_clock::now();
  if (now >= x.time.end)
    unfit_expired(files);
  if (now < x.time.begin)
    unfit_not_yet_valid(files);
}

/// Verifies the own certificate as a peer will.
void expect_signed(SSL_CTX* x, const tls_files& files) {
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(x, &chain);
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check{X509_STORE_CTX_new(),
                                                                              X509_STORE_CTX_free};
  require(check && X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(x),
                                       SSL_CTX_get0_certificate(x), chain) == 1);
  if (X509_verify_cert(check.get()) == 1)
    return;
  const int why = X509_STORE_CTX_get_error(check.get());
  if (why == X509_V_ERR_CERT_HAS_EXPIRED)
    unfit_expired(files);
  if (why == X509_V_ERR_CERT_NOT_YET_VALID)
    unfit_not_yet_valid(files);
  unfit("this certificate is not from the authority " + files.authority + " (" +
          X509_verify_cert_error_string(why) + ")",
        files.certificate, "issue it with the authority's ca.key");
}

void expect_name(SSL_CTX* x, const tls_files& files, const std::string& name) {
  const auto found = admit_proof(name, names_of(*SSL_CTX_get0_certificate(x)));
  if (!name.empty() && !found.is_admitted())
    unfit(found.reason, files.certificate, {});
}

} // namespace

tls_context load_tls(const tls_files& files, const std::string& name) {
  // Each file is opened once, so the checked content is the content used.
  const auto authority = read_unchanged_file(files.authority);
  const auto own = read_own_files(files, name);
  read_certificate(authority, files.authority);
  read_certificate(own.certificate, files.certificate);
  expect_key(own, files);
  auto result = make_context(TLS_method());
  load_authority(result.get(), authority, files);
  load_own(result.get(), own, files);
  expect_signed(result.get(), files);
  expect_name(result.get(), files, name);
  return result;
}

tls_context load_tls_for_anyone(const tls_files& files) {
  const auto own = read_own_files(files, {});
  expect_good_today(read_certificate(own.certificate, files.certificate), files);
  expect_key(own, files);
  auto result = make_context(TLS_server_method());
  SSL_CTX_set_verify(result.get(), SSL_VERIFY_NONE, nullptr);
  load_own(result.get(), own, files);
  return result;
}

tls_identity::tls_identity(const tls_files& files, const std::string& name)
  : tls_identity(files, [name](const tls_files& x) { return load_tls(x, name); }) {}

tls_identity tls_identity::for_anyone(const tls_files& files) {
  return {files, load_tls_for_anyone};
}

tls_identity::tls_identity(tls_files files, std::function<tls_context(const tls_files&)> load)
  : files_(std::move(files)), load_(std::move(load)), seen_(stamps()), context_(load_(files_)) {}

std::vector<tls_identity::stamp> tls_identity::stamps() const {
  std::vector<stamp> result;
  for (const auto* path : {&files_.authority, &files_.certificate, &files_.key}) {
    struct stat facts {};
    if (::stat(path->c_str(), &facts) != 0)
      facts = {};
    result.push_back(
      {facts.st_ctim.tv_sec * 1'000'000'000 + facts.st_ctim.tv_nsec, facts.st_ino, facts.st_size});
  }
  return result;
}

const tls_context& tls_identity::current() {
  auto now = stamps();
  if (now == seen_)
    return context_;
  seen_ = std::move(now);
  try {
    context_ = load_(files_);
    problem_.reset();
  } catch (const failure& error) {
    problem_ = error.where() + ": " + error.reason();
  }
  return context_;
}

std::optional<std::string> tls_identity::take_problem() {
  return std::exchange(problem_, std::nullopt);
}

} // namespace troupe
