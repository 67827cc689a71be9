// How OpenSSL reads and writes a socket of ours: as its own way does, but that writing to a
// connection which the peer has closed is an error like others and no signal to the process.

#pragma once

struct bio_st; // OpenSSL's BIO

namespace troupe {

/// For an open socket, which is not closed with it. Null when there is no memory; the session that
/// takes it frees it.
bio_st* make_socket_bio(int descriptor);

} // namespace troupe
