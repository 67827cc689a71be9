// `troupe init`: looks at a file and writes a job for it.

#pragma once

#include <string>

namespace troupe {

struct init_arguments {
  std::string file;
  std::string output; ///< the job; empty: the file's name with .toml, here; "-": standard output
  std::string target; ///< empty: guessed
  std::string header = "auto";
  bool overwrite = false;
};

/// Writes a commented job for a CSV file, and says what was taken for what.
int init_command(const init_arguments& arguments);

} // namespace troupe
