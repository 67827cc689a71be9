// What all fuzzing targets share. A target is one decoder and one file, NAME_fuzz.cpp, with the one
// function that libFuzzer calls. The promise that is tried: whatever the bytes, a decoder gives its
// result or throws troupe::failure with a reason; it does not crash, throw anything else, read what
// is not there, or take memory that has no relation to its input (docs/deployment.md, "Hostile
// input").
//
// The same functions run without libFuzzer too: plain_driver.cpp gives them the seeds, what was
// once found, and mutations of both.

#pragma once

#include "data/text/failure.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

namespace troupe::fuzz {

/// Bytes a table may take: small inputs that ask for much must be refused, not served.
inline constexpr uint64_t table_bytes_max = uint64_t{16} << 20;

/// Ends the program, and so the search, when a property of a result does not hold.
inline void require(bool holds, const char* property) {
  if (holds)
    return;
  std::fprintf(stderr, "a property does not hold: %s\n", property);
  std::abort();
}

inline std::string_view text_of(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// A file in memory that readers open by its path; its content is another at each call.
class hostile_file {
public:
  hostile_file() : descriptor_(memfd_create("hostile", MFD_CLOEXEC)) {
    require(descriptor_ >= 0, "there are files in memory");
    path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  }

  const std::string& holding(std::string_view content) const {
    const bool written =
      ftruncate(descriptor_, 0) == 0 && pwrite(descriptor_, content.data(), content.size(), 0) ==
                                          static_cast<ssize_t>(content.size());
    require(written, "the file can be written");
    return path_;
  }

private:
  int descriptor_;
  std::string path_;
};

/// Calls `decode`, which gives its result or throws failure. Everything else that it throws ends
/// the program.
template <class Decode>
void expect_result_or_failure(Decode decode) {
  try {
    decode();
  } catch (const failure& error) {
    require(!error.reason().empty(), "a failure has a reason");
  }
}

} // namespace troupe::fuzz
