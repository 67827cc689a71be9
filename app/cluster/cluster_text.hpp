// A cluster as the text of a file: the counterpart of app/cluster/cluster_file.hpp.

#pragma once

#include "troupe/app/cluster/cluster_file.hpp"

#include <string>

namespace troupe {

/// A cluster and its job as one file with every key, defaults included.
std::string cluster_text(const loaded_cluster& x);

} // namespace troupe
