// The model file of a training result: safetensors, with all that is needed to predict in its
// metadata. docs/model-file.md lists the keys.

#pragma once

#include "actors/run/training_result.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace troupe {

class atomic_file; // data/disk/atomic_file.hpp

/// The metadata of a result's model file. Real numbers are hexadecimal bits of float32, separated
/// by blanks; lists of names are JSON arrays.
std::map<std::string, std::string> model_metadata(const training_result& result);

/// Writes the model file and returns the SHA-256 of its data section.
/// Throws failure: cannot_create, no_permission, io_error.
std::string write_model(const std::string& path, const training_result& result);
/// The same, to an open file.
std::string write_model(atomic_file& file, const training_result& result);

/// An upper estimate of a model file's size, for reserving disk space.
uint64_t model_file_bytes(const parameter_layout& layout, const prepared_data& data);

} // namespace troupe
