// `troupe data`: files of rows for training (data/rows_file/rows_header.hpp).

#pragma once

#include "troupe/app/commands/commands.hpp"

#include <cstdint>
#include <string>

namespace troupe {

struct convert_arguments {
  data_arguments data;
  std::string output;
  std::string targets = "auto"; ///< "auto", "classes" or "numbers"
  uint64_t chunk_rows = 0;      ///< 0: about 1 MiB of rows
  bool shuffle = false;
  uint64_t seed = 0; ///< of the shuffle
  bool overwrite = false;
  bool quiet = false;
};

/// Writes the rows of a file in any format as a file of rows. Prints what it holds.
int data_convert_command(const convert_arguments& arguments);

/// Prints what a file of rows holds: a report, or with `json` one object, failures included.
int data_inspect_command(const std::string& file, bool json);

/// Reads a file of rows whole and holds it against its checksums: "FILE: ok", or each chunk that is
/// damaged and 65.
int data_check_command(const std::string& file, bool quiet);

struct split_arguments {
  std::string file;
  std::string output; ///< PREFIX of PREFIX-0.safetensors, ..
  size_t parts = 0;   ///< files of neighbouring rows, as equal as can be
  bool overwrite = false;
};

/// Cuts a file of rows into several.
int data_split_command(const split_arguments& arguments);

} // namespace troupe
