// The file of a secret key: 32 random bytes as 64 hexadecimal digits, which nobody but its owner may
// read. A private run has one: who has it knows who took part in each round and which noise was added;
// without it the run cannot be gone on from. The token of a page (app/page) is another.

#pragma once

#include "models/privacy/secret_stream.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace troupe {

/// The key in the file at `path`; it is made if there is none, of the kernel's random bytes.
/// Throws failure: no_permission when others may read it, bad_data when it holds no key, otherwise as
/// the disk refuses.
secret_key read_or_make_key(const std::string& path);

/// As it stands in the file.
std::string digits_of(const secret_key& key);

/// What may be told of a key, in a job's identity for instance: SHA-256 of its bytes.
std::string fingerprint_of(const secret_key& key);

/// A key that follows from this one and some content, and tells of neither: equal for equal ones alone.
secret_key derived_key(const secret_key& key, std::span<const std::byte> content);

} // namespace troupe
