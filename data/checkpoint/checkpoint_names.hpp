// How checkpoints are called in their folder: "checkpoint-000000000120.troupe" is of version 120.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// At least twelve digits, so that names sort as versions do.
std::string checkpoint_name(uint64_t version);

/// The version in a checkpoint's name; nothing for any other name.
std::optional<uint64_t> version_in(std::string_view name);

/// The paths of the checkpoints in a folder of this machine, whole or not, by version. None where
/// there is no such folder.
std::map<uint64_t, std::string> checkpoints_in(const std::string& folder);

} // namespace troupe
