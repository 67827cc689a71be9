// The keys of a cluster file beside those of its job (app/job/job_text.hpp): keys of one node, and
// of all nodes.

#pragma once

#include "actors/net/socket/endpoint.hpp"
#include "coordinators/membership/cluster_plan.hpp"
#include "models/keys/key_table.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A [[node]] as the file has it: nothing is derived, paths are as written.
struct node_entry : cluster_node {
  node_entry() { replica_count = shard_count = 1; }

  std::string certificate;
  std::string key;
  toml_value
    data; ///< which rows of its own it has: a path, or a table of keys of section data; empty: none
};

/// Settings of all nodes.
struct cluster_settings {
  cluster_plan plan;     ///< without nodes
  cluster_join join;     ///< as it is where the file has [join]
  std::string authority; ///< tls.ca
  std::string certificate = "{name}.pem";
  std::string key = "{name}.key";
};

const std::vector<key_row<node_entry>>& node_schema();
const std::vector<key_row<cluster_settings>>& cluster_schema();

/// Keys of section data that a node may say of its own rows: how they are read.
inline constexpr std::array<std::string_view, 12> node_data_keys{
  "file",      "format", "header",  "target",  "ignore",     "index_base",
  "separator", "quote",  "decimal", "comment", "skip_lines", "date_order"};

/// The table of keys in docs/clusters.md, as Markdown.
std::string cluster_keys_markdown();

/// "500ms", "1s", "1.5s", "2m", "1h": at least a millisecond, at most a week; nothing for other
/// texts.
std::optional<milliseconds> duration_of(std::string_view text);
std::string duration_text(milliseconds x);

/// "8 GiB", "512MiB", "1.5 TiB", "300 MB", "4096 B": at least a byte, less than 2^60; nothing for other
/// texts.
std::optional<uint64_t> memory_size_of(std::string_view text);
/// As short as it can be without a fraction.
std::string memory_size_text(uint64_t bytes);

// ---- Addresses as a cluster file spells them, and what can be said of one without asking a name server ----

/// Reads "host:port"; why not, or nothing and `out` written.
std::optional<value_refusal> read_address(std::string_view text, endpoint& out);

/// True when no other machine can reach it: 127.x.y.z, ::1 and "localhost". Other names count as
/// reachable: what they stand for may change.
bool is_loopback(const endpoint& x);

/// True for 0.0.0.0 and ::, which mean "every address of this machine" and cannot be dialled.
bool is_any_address(const endpoint& x);

} // namespace troupe
