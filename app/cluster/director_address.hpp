// Where the director of a running cluster can be asked, when only it knows: with port 0 `troupe
// launch` takes any free one. The director's process writes its address into the run directory, and
// takes the file away at the end.

#pragma once

#include <string>

namespace troupe {

inline constexpr const char* director_address_name = "director-address";

/// The file, for as long as this lives. One that a director which was killed has left is replaced.
class told_address {
public:
  /// `directory` is there. Throws failure when the file cannot be written.
  told_address(const std::string& directory, const std::string& address);
  ~told_address();
  told_address(const told_address&) = delete;
  told_address& operator=(const told_address&) = delete;

private:
  std::string path_;
};

/// The address ("host:port") that a director wrote. Throws failure(unavailable) when there is none.
std::string read_director_address(const std::string& directory);

} // namespace troupe
