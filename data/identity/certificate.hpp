// Certificates: what a process proves its name with. An authority signs one for each node of a
// cluster; whoever trusts the authority believes the names in what it signed, and nothing else.
//
//   auto authority = make_authority("my cluster", {now, now + years{10}});
//   auto node = issue_certificate(authority, "left", {now, now + years{1}});
//
// X.509 version 3 with keys on the elliptic curve P-256, as PEM texts. A node's name is the one DNS
// name of its certificate; the common name is for people.

#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

struct x509_st; // OpenSSL's X509

namespace troupe {

/// A certificate and the private key that belongs to it, in PEM.
struct identity_texts {
  std::string certificate;
  std::string key;
};

/// When a certificate is good, in whole seconds.
struct validity {
  std::chrono::sys_seconds begin;
  std::chrono::sys_seconds end;

  friend bool operator==(const validity&, const validity&) = default;
};

/// Bytes of a name: a label of the domain name system, and a common name's limit.
inline constexpr size_t certificate_name_bytes_max = 63;

/// True for what a certificate may be issued for: a-z, 0-9, '-', '_' and '.', a letter or digit
/// first, at most 63 bytes.
bool is_certificate_name(std::string_view name);

/// An authority that has signed itself. Throws failure(usage) when the name is empty, longer than
/// 63 bytes or not printable ASCII.
identity_texts make_authority(const std::string& name, const validity& time);

/// A certificate for `name`, to dial and to be dialled with. Throws failure: usage when that is no
/// name; bad_data when `authority` cannot be read, is none, or its key is another one's.
identity_texts issue_certificate(const identity_texts& authority, const std::string& name,
                                 const validity& time);

/// What a certificate says.
struct certificate_facts {
  std::vector<std::string> names; ///< DNS names, in their order
  std::string subject;            ///< common name, for people
  std::string issuer;             ///< likewise, of who signed it
  validity time;
  bool is_authority = false;
};

/// Of the first certificate in `text`. Throws failure(bad_data) at `where` when there is none.
certificate_facts read_certificate(const std::string& text, const std::string& where);

/// Whether the key belongs to the certificate, and whether the authority signed it. Both throw
/// failure(bad_data) at `where` when a text cannot be read.
bool is_key_of(const identity_texts& x, const std::string& where);
bool is_signed_by(const std::string& authority, const std::string& certificate,
                  const std::string& where);

/// DNS names of a certificate that OpenSSL has; none that hides a zero.
std::vector<std::string> names_of(const x509_st& x);

/// The files with which connections are secured: whose word counts, and what a process proves its
/// own name with.
struct tls_files {
  std::string authority;   ///< certificate of the authority that signed every node's
  std::string certificate; ///< of this process
  std::string key;         ///< belongs to it; nobody else may read it

  friend bool operator==(const tls_files&, const tls_files&) = default;
};

} // namespace troupe
