// What came of reading or writing a socket of ours, secured or not.

#pragma once

#include <cstddef>
#include <string>

namespace troupe {

struct transfer {
  size_t byte_count = 0;   ///< 0: nothing now, try when the socket is ready
  bool is_over = false;    ///< the peer has closed, or the connection is lost
  std::string problem;     ///< why, when it is lost
  bool is_refusal = false; ///< the peer does not accept our certificate: for good
};

} // namespace troupe
