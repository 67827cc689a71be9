// Opens the place where a page is served: the address, and with what it is kept from others. What is
// missing is told before anything is served.

#pragma once

#include "troupe/actors/net/socket/channel.hpp"
#include "troupe/app/page/page_place.hpp"
#include "troupe/app/page/page_rules.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// Where a page is when nobody says: the first port that is free of this one and the nine after it.
inline constexpr uint16_t usual_page_port = 7465;

struct page_opening {
  owned_socket listener;
  std::optional<tls_identity> identity{}; ///< nothing: connections are plain
  page_rules rules{};
  std::string address{}; ///< as page_server::address
};

/// Throws as the constructor of page_server.
page_opening open_page(const page_place& where);

} // namespace troupe
