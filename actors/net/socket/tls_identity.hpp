// The identity of this process on secured connections: its certificate and key, and the authority that it trusts. Both
// sides of a connection between processes have one; there is no anonymous TLS there. A server for people (app/page) has
// the other kind, `for_anyone`: browsers show no certificate, so visitors prove themselves otherwise.
//
// TLS 1.2 or later, with ephemeral keys only, without renegotiation, compression or resumed
// sessions: every connection checks every certificate anew. Replaced files count from the next connection on, so
// certificates can be renewed during a run.

#pragma once

#include "data/identity/certificate.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct ssl_ctx_st; // OpenSSL's SSL_CTX

namespace troupe {

using tls_context = std::shared_ptr<ssl_ctx_st>;

/// Reads the files and proves that they fit: the key is this certificate's, the authority signed
/// it, it is good today, and is for `name` (any name when that is empty).
///
/// Throws failure: missing_input when a file is not there; no_permission when one may not be read, others may read the
/// key or write the authority's certificate, or the certificate does not prove the name; bad_data when a file holds
/// something else.
tls_context load_tls(const tls_files& files, const std::string& name);

/// For a server that asks clients for no certificate. The context cannot dial and trusts no peer. `files.authority` is
/// not read; the certificate may be of any authority, or self-signed. Throws as load_tls.
tls_context load_tls_for_anyone(const tls_files& files);

class tls_identity {
public:
  /// Throws as load_tls.
  tls_identity(const tls_files& files, const std::string& name);
  /// The identity of a server that any client may visit. Throws as load_tls_for_anyone.
  static tls_identity for_anyone(const tls_files& files);

  /// The context for a new connection, from the files as they are now. While the files do not fit, as when only one of
  /// two is replaced, the last good context.
  const tls_context& current();

  /// Why the current files do not fit; returned once for each change.
  std::optional<std::string> take_problem();

private:
  /// Identifies a file's content: a changed or replaced file has another stamp.
  struct stamp {
    int64_t changed_ns = 0;
    uint64_t number = 0;
    int64_t size = 0;
    friend bool operator==(const stamp&, const stamp&) = default;
  };
  tls_identity(tls_files files, std::function<tls_context(const tls_files&)> load);
  std::vector<stamp> stamps() const;

  tls_files files_;
  std::function<tls_context(const tls_files&)> load_;
  std::vector<stamp> seen_;
  tls_context context_;
  std::optional<std::string> problem_;
};

} // namespace troupe
