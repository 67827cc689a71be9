// Commands that are Python programs: tools around runs, of which no speed depends. Their sources lie in this program as
// an archive, so that nothing is installed beside it but python3.

#pragma once

#include "troupe/app/page/page_answer.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The archive is "/tools.zip" (generated, cmake/embed.cmake).
const page_asset* tool_asset_at(std::string_view path);

/// Becomes the program of python/tools with this name, which reads `options`, each "name=value". Returns only by throwing
/// failure(missing_input) when there is no python3; with `json` that is also printed as an object.
int run_tool_program(const std::string& name, const std::vector<std::string>& options, bool json);

} // namespace troupe
