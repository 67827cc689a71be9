// Models of kinds that an application adds (models/kinds/model_kinds.hpp), as model files keep them:
// `kind`, `kind_version` and `options`, a JSON object.

#pragma once

#include "models/kinds/component.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// The kind and options of a file's metadata, as this program has them. Throws failure(mismatch, path)
/// when it has no such kind, or another version of it; failure(bad_data, path) for options that are none.
component read_own_kind(const std::string& kind, const std::string& version,
                        const std::string& options, const std::string& path);

} // namespace troupe
