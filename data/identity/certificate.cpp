#include "data/identity/certificate.hpp"

#include "data/text/failure.hpp"
#include "data/text/shown_text.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <memory>

namespace troupe {

namespace {

template <auto release>
struct deleter {
  template <class T>
  void operator()(T* x) const noexcept {
    release(x);
  }
};
using bio_pointer = std::unique_ptr<BIO, deleter<BIO_free_all>>;
using certificate_pointer = std::unique_ptr<X509, deleter<X509_free>>;
using key_pointer = std::unique_ptr<EVP_PKEY, deleter<EVP_PKEY_free>>;
using extension_pointer = std::unique_ptr<X509_EXTENSION, deleter<X509_EXTENSION_free>>;
using names_pointer = std::unique_ptr<GENERAL_NAMES, deleter<GENERAL_NAMES_free>>;

/// Of a serial number: no two are alike.
constexpr int serial_bytes = 16;

/// Version 3, as the standard counts.
constexpr long x509_version_3 = 2;

void require(bool success) {
  if (!success)
    throw failure(failure_code::internal, "the cryptography library cannot make a certificate");
}

[[noreturn]] void unreadable(const std::string& where, const std::string& what,
                             const std::string& hint) {
  ERR_clear_error();
  throw failure(failure_code::bad_data, what, where, hint);
}

bio_pointer reader_of(const std::string& text) {
  bio_pointer result{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
  require(result != nullptr);
  return result;
}

template <class Write>
std::string text_of(Write write) {
  const bio_pointer out{BIO_new(BIO_s_mem())};
  require(out && write(out.get()) == 1);
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(out.get(), &bytes);
  return {bytes, static_cast<size_t>(size)};
}

identity_texts texts_of(X509* certificate, EVP_PKEY* key) {
  return {text_of([&](BIO* out) { return PEM_write_bio_X509(out, certificate); }),
          text_of([&](BIO* out) {
            return PEM_write_bio_PKCS8PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

certificate_pointer certificate_in(const std::string& text, const std::string& where) {
  certificate_pointer result{PEM_read_bio_X509(reader_of(text).get(), nullptr, nullptr, nullptr)};
  if (!result)
    unreadable(where, "holds no certificate", "it begins with -----BEGIN CERTIFICATE-----");
  return result;
}

/// Instead of asking the terminal for a password.
int no_password(char*, int, int, void*) {
  return -1;
}

key_pointer key_in(const std::string& text, const std::string& where) {
  key_pointer result{PEM_read_bio_PrivateKey(reader_of(text).get(), nullptr, no_password, nullptr)};
  if (!result)
    unreadable(where, "holds no private key, or one with a password",
               "it begins with -----BEGIN PRIVATE KEY-----, without a password");
  return result;
}

void set_times(X509* x, const validity& time) {
  const auto seconds = [](std::chrono::sys_seconds when) {
    return when.time_since_epoch().count();
  };
  require(ASN1_TIME_set(X509_getm_notBefore(x), seconds(time.begin)) != nullptr);
  require(ASN1_TIME_set(X509_getm_notAfter(x), seconds(time.end)) != nullptr);
}

std::chrono::sys_seconds time_of(const ASN1_TIME* time) {
  tm fields{};
  require(ASN1_TIME_to_tm(time, &fields) == 1);
  using namespace std::chrono;
  return sys_days{year{fields.tm_year + 1900} / (fields.tm_mon + 1) / fields.tm_mday} +
         hours{fields.tm_hour} + minutes{fields.tm_min} + seconds{fields.tm_sec};
}

void set_random_serial(X509* x) {
  std::array<unsigned char, serial_bytes> bytes;
  require(RAND_bytes(bytes.data(), serial_bytes) == 1);
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x3f) | 0x40); // positive, of full length
  const std::unique_ptr<BIGNUM, deleter<BN_free>> number{
    BN_bin2bn(bytes.data(), serial_bytes, nullptr)};
  require(number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(x)) != nullptr);
}

void set_common_name(X509_NAME* name, const std::string& text) {
  require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()), -1, 0) == 1);
}

void add_extension(X509* x, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, x, nullptr, nullptr, 0);
  const extension_pointer added{X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str())};
  require(added && X509_add_ext(x, added.get(), -1) == 1);
}

certificate_pointer begin_certificate(const std::string& name, EVP_PKEY* key,
                                      const validity& time) {
  certificate_pointer result{X509_new()};
  require(result && X509_set_version(result.get(), x509_version_3) == 1);
  set_random_serial(result.get());
  set_times(result.get(), time);
  set_common_name(X509_get_subject_name(result.get()), name);
  require(X509_set_pubkey(result.get(), key) == 1);
  return result;
}

void sign(X509* x, EVP_PKEY* key) {
  require(X509_sign(x, key, EVP_sha256()) > 0);
}

std::string common_name_of(const X509_NAME* name) {
  const int place = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (place < 0)
    return {};
  unsigned char* text = nullptr;
  const int size =
    ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, place)));
  if (size < 0)
    return {};
  std::string result{reinterpret_cast<char*>(text), static_cast<size_t>(size)};
  OPENSSL_free(text);
  return result;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

} // namespace

bool is_certificate_name(std::string_view name) {
  return !name.empty() && name.size() <= certificate_name_bytes_max && is_plain(name.front()) &&
         std::ranges::all_of(
           name, [](char c) { return is_plain(c) || c == '-' || c == '_' || c == '.'; });
}

identity_texts make_authority(const std::string& name, const validity& time) {
  if (name.empty() || name.size() > certificate_name_bytes_max ||
      !std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; }))
    throw failure(failure_code::usage, "no name for an authority: " + shown_text(name), {},
                  "use up to 63 printable characters");
  const key_pointer key{EVP_EC_gen("P-256")};
  require(key != nullptr);
  const auto result = begin_certificate(name, key.get(), time);
  auto* x = result.get();
  require(X509_set_issuer_name(x, X509_get_subject_name(x)) == 1);
  add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(x, x, NID_subject_key_identifier, "hash");
  sign(x, key.get());
  return texts_of(x, key.get());
}

identity_texts issue_certificate(const identity_texts& authority, const std::string& name,
                                 const validity& time) {
  if (!is_certificate_name(name))
    throw failure(failure_code::usage, "no name for a node: " + shown_text(name), {},
                  "use up to 63 of a-z, 0-9, '-', '_' and '.', a letter or digit first");
  const auto issuer = certificate_in(authority.certificate, "the authority's certificate");
  const auto issuer_key = key_in(authority.key, "the authority's key");
  if (X509_check_ca(issuer.get()) == 0)
    throw failure(failure_code::bad_data, "is a node's certificate, which can sign none",
                  "the authority's certificate", "make one with 'troupe certs ca'");
  if (X509_check_private_key(issuer.get(), issuer_key.get()) != 1)
    unreadable("the authority's key", "belongs to another certificate",
               "use the ca.key that was made with ca.pem");
  const key_pointer key{EVP_EC_gen("P-256")};
  require(key != nullptr);
  const auto result = begin_certificate(name, key.get(), time);
  auto* x = result.get();
  require(X509_set_issuer_name(x, X509_get_subject_name(issuer.get())) == 1);
  add_extension(x, issuer.get(), NID_basic_constraints, "critical,CA:FALSE");
  add_extension(x, issuer.get(), NID_key_usage, "critical,digitalSignature");
  add_extension(x, issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  add_extension(x, issuer.get(), NID_subject_alt_name, "DNS:" + name);
  add_extension(x, issuer.get(), NID_subject_key_identifier, "hash");
  add_extension(x, issuer.get(), NID_authority_key_identifier, "keyid:always");
  sign(x, issuer_key.get());
  return texts_of(x, key.get());
}

certificate_facts read_certificate(const std::string& text, const std::string& where) {
  const auto x = certificate_in(text, where);
  return {names_of(*x),
          common_name_of(X509_get_subject_name(x.get())),
          common_name_of(X509_get_issuer_name(x.get())),
          {time_of(X509_get0_notBefore(x.get())), time_of(X509_get0_notAfter(x.get()))},
          X509_check_ca(x.get()) != 0};
}

bool is_key_of(const identity_texts& x, const std::string& where) {
  const auto certificate = certificate_in(x.certificate, where);
  const auto key = key_in(x.key, where);
  const bool result = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return result;
}

bool is_signed_by(const std::string& authority, const std::string& certificate,
                  const std::string& where) {
  const auto issuer = certificate_in(authority, where);
  const auto x = certificate_in(certificate, where);
  const bool result = X509_check_issued(issuer.get(), x.get()) == X509_V_OK &&
                      X509_verify(x.get(), X509_get0_pubkey(issuer.get())) == 1;
  ERR_clear_error();
  return result;
}

std::vector<std::string> names_of(const X509& x) {
  const names_pointer all{
    static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&x, NID_subject_alt_name, nullptr, nullptr))};
  std::vector<std::string> result;
  for (int i = 0; i < (all ? sk_GENERAL_NAME_num(all.get()) : 0); ++i) {
    const auto* name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type != GEN_DNS)
      continue;
    std::string text{reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                     static_cast<size_t>(ASN1_STRING_length(name->d.dNSName))};
    if (text.find('\0') == std::string::npos)
      result.push_back(std::move(text));
  }
  return result;
}

} // namespace troupe
