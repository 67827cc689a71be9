// Certificates for tests: an authority and what it signs, in a folder of their own.

#pragma once

#include "data/disk/atomic_file.hpp"
#include "data/identity/certificate.hpp"
#include "tests/support/temporary_folder.hpp"

#include <chrono>
#include <string>

namespace troupe::test {

/// From some hours ago until some hours from now.
inline validity hours_around_now(int begin, int end) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {now + std::chrono::hours{begin}, now + std::chrono::hours{end}};
}

class some_authority {
public:
  explicit some_authority(const std::string& name = "test")
    : texts_(make_authority(name, hours_around_now(-48, 48))) {
    folder_.write("ca.pem", texts_.certificate);
  }

  /// Writes the two files of `name` and says where they are; `file` instead of its name.
  tls_files issue(const std::string& name, const validity& time = hours_around_now(-1, 1),
                  const std::string& file = {}) const {
    const auto path = folder_.path(file.empty() ? name : file);
    const auto made = issue_certificate(texts_, name, time);
    write_file_atomically(path + ".key", made.key, {mode_for_owner, true});
    write_file_atomically(path + ".pem", made.certificate, {mode_for_everyone, true});
    return {folder_.path("ca.pem"), path + ".pem", path + ".key"};
  }

  const identity_texts& texts() const { return texts_; }
  const temporary_folder& folder() const { return folder_; }

private:
  temporary_folder folder_;
  identity_texts texts_;
};

} // namespace troupe::test
