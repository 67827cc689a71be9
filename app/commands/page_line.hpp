// The words of a command line that say where the page of a run is served, and who may read it.

#pragma once

#include "troupe/app/page/page_place.hpp"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace troupe {

/// Of a command that trains: any of the options asks for a page.
void add_page_options(CLI::App& command, std::optional<page_place>& x);

/// Of a command that serves one anyway; its address is --address.
void add_page_options(CLI::App& command, page_place& x);

/// The words that ask a command that trains for this page.
std::vector<std::string> page_words(const page_place& x);

} // namespace troupe
