#include "app/cluster/cluster_schema.hpp"

#include "app/job/job_text.hpp"
#include "coordinators/job/keys/key_limits.hpp"
#include "data/text/failure.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <arpa/inet.h>

namespace troupe {

namespace {

using node_keys = std::vector<key_row<node_entry>>;
using cluster_keys = std::vector<key_row<cluster_settings>>;

struct time_unit {
  std::string_view name;
  double milliseconds;
};
constexpr time_unit time_units[] = {{"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}};
constexpr double duration_ms_max = 7 * 24 * 3600e3; // longer ones are a mistake in the unit

struct memory_unit {
  std::string_view name;
  double bytes;
};
constexpr memory_unit memory_units[] = {{"TiB", 1024.0 * 1024 * 1024 * 1024},
                                        {"GiB", 1024.0 * 1024 * 1024},
                                        {"MiB", 1024.0 * 1024},
                                        {"KiB", 1024},
                                        {"TB", 1e12},
                                        {"GB", 1e9},
                                        {"MB", 1e6},
                                        {"KB", 1e3},
                                        {"B", 1}};
constexpr double memory_bytes_end = 0x1p60; // more is a mistake in the unit

/// A number that is not negative, and the text behind it.
std::optional<std::pair<double, std::string_view>> number_and_unit(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value) || value < 0)
    return std::nullopt;
  return std::pair{value, text.substr(static_cast<size_t>(end - text.data()))};
}

/// The unit with this name; null: there is none.
template <class Units>
auto unit_called(const Units& units, std::string_view name) {
  const auto found = std::ranges::find_if(units, [&](const auto& x) { return x.name == name; });
  return found == std::end(units) ? nullptr : &*found;
}

class node_name_type final : public type_for<std::string> {
public:
  std::string words() const override { return "string"; }
  bool is_text() const override { return true; }
  void read(std::string& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    if (accepted(read_value(value, out), value, path, found) && !is_node_name(out))
      found.push_back({path, value.at, "no name for a node: " + description(value),
                       "use up to 63 of a-z, 0-9, '-', '_' and '.', a letter or digit first"});
  }
  std::optional<std::string> text(const std::string& x) const override { return toml_text(x); }
};

class address_type final : public type_for<std::string> {
public:
  std::string words() const override { return "\"host:port\""; }
  bool is_text() const override { return true; }
  void read(std::string& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    endpoint ignored;
    if (accepted(read_value(value, out), value, path, found))
      accepted(read_address(out, ignored), value, path, found);
  }
  std::optional<std::string> text(const std::string& x) const override { return toml_text(x); }
};

/// A number with its unit, as a text.
template <class T>
class amount_type final : public type_for<T> {
public:
  amount_type(std::string words, std::optional<T> (*value_of)(std::string_view),
              std::string (*text_of)(T), std::string example)
    : words_(std::move(words)),
      value_of_(value_of),
      text_of_(text_of),
      example_(std::move(example)) {}

  std::string words() const override { return words_; }
  bool is_text() const override { return true; }
  void read(T& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    const auto* text = value.template as<std::string>();
    if (const auto amount = text ? value_of_(*text) : std::nullopt)
      out = *amount;
    else
      found.push_back({path, value.at, wrong_type("a " + words_, value).why,
                       "write a number with its unit, such as " + example_});
  }
  std::optional<std::string> text(const T& x) const override { return toml_text(text_of_(x)); }

private:
  std::string words_;
  std::optional<T> (*value_of_)(std::string_view);
  std::string (*text_of_)(T);
  std::string example_;
};

/// A path, or a table with keys of the job's section data, which the job's keys read (cluster_file.cpp).
class rows_type final : public type_for<toml_value> {
public:
  std::string words() const override { return "string or table"; }
  void read(toml_value& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    if (value.as<std::string>() || value.as<toml_value::table>())
      out = value;
    else
      found.push_back(
        {path, value.at, wrong_type("a path or a table", value).why,
         "write data = \"local.csv\", or data = { file = \"local.csv\", header = true }"});
  }
  std::optional<std::string> text(const toml_value& x) const override {
    const auto* path = x.as<std::string>();
    return path ? std::optional{toml_text(*path)} : std::nullopt;
  }
};

node_keys make_node_schema() {
  using x = node_entry;
  node_keys out;
  key_section<x> node{out, "", [](x& y) -> x& { return y; }};
  const auto address = std::make_shared<address_type>();
  node.add("name", &x::name, std::make_shared<node_name_type>(),
           {"what the node is called; `troupe node --name`", "required"});
  node.add("address", &x::address, address,
           {"what other nodes dial; port 0 with `troupe launch` only: any free one", "required"});
  node.add("listen", &x::listen, address,
           {"what it listens on, such as \"0.0.0.0:7400\"", "address"});
  node.add("director", &x::is_director,
           "leads the run and writes its files; exactly one node does");
  node.add("replicas", &x::replica_count, within(0, actors_max), "actors that compute gradients");
  node.add("shards", &x::shard_count, within(0, actors_max),
           {"actors that own a part of the parameters and its optimizer state",
            "1; 0 in modes with a parameter server, but for the director"});
  node.add("data", &x::data, std::make_shared<rows_type>(),
           {"rows that only this node reads, and others learn nothing of but numbers: a file, or "
            "how to read "
            "one; relative to this file",
            "none: all nodes read data.file"});
  node.add("memory", &x::memory_bytes,
           std::make_shared<optional_type<uint64_t>>(std::make_shared<amount_type<uint64_t>>(
             "size", &memory_size_of, &memory_size_text, "\"512 MiB\" or \"8 GiB\"")),
           {"what it may take, such as \"8 GiB\"; with less than its plan says nothing begins",
            "as much as there is"});
  node.add("device", &x::device,
           {"what its replicas compute on, as runtime.device", "runtime.device"});
  node.add("certificate", &x::certificate,
           {"proves the node's name; relative to this file", "tls.certificate"});
  node.add("key", &x::key, {"belongs to the certificate; relative to this file", "tls.key"});
  return out;
}

cluster_keys make_cluster_schema() {
  using x = cluster_settings;
  cluster_keys out;
  key_section<x, cluster_plan> plan{out, "", &x::plan};
  key_section<x, cluster_join> join{out, "join", &x::join};
  const auto address = std::make_shared<address_type>();
  key_section<x> tls{out, "tls", [](x& y) -> x& { return y; }};
  key_section<x, cluster_timeouts> timeouts{
    out, "timeouts", [](x& y) -> cluster_timeouts& { return y.plan.timeouts; }};
  key_section<x, cluster_recovery> recovery{
    out, "recovery", [](x& y) -> cluster_recovery& { return y.plan.recovery; }};
  const auto duration = std::make_shared<amount_type<milliseconds>>(
    "duration", &duration_of, &duration_text, "\"500ms\", \"5s\" or \"2m\"");
  plan.add("insecure", &cluster_plan::insecure,
           "permits addresses that others can reach without [tls]");
  plan.add(
    "min_nodes", &cluster_plan::min_nodes, within(1, node_count_max),
    {"nodes that are enough to begin with once nobody has come for timeouts.settle, listed or "
     "not",
     "all that are listed"});
  plan.add(
    "max_nodes", &cluster_plan::max_nodes, within(1, node_count_max),
    {"nodes that may take part at a time, listed or not; with [join] alone", "required there"});
  plan.add(
    "network.carrier", &cluster_plan::carrier,
    "how gradients and parameters go between processes: in memory where two have some in common, "
    "else by a connection of their own (auto), always so (socket), or as messages of the actor "
    "system");
  join.add("accepts", &cluster_join::accepts, std::make_shared<node_name_type>(),
           "in a cluster with [join]: the name in the certificate of a node that the file does not "
           "list; no name of a listed one is proven so");
  join.add("listen", &cluster_join::listen, address,
           {"what such a node listens on",
            "any free port, of this machine alone where the director's address is so"});
  join.add("replicas", &cluster_join::replica_count, within(0, actors_max),
           "actors of such a node that compute gradients");
  join.add("shards", &cluster_join::shard_count, within(0, actors_max),
           {"actors of such a node that own a part of the parameters and its optimizer state",
            "1; 0 in modes with a parameter server"});
  tls.add("ca", &x::authority,
          {"certificate of the authority that signed every node's; relative to this file",
           "required in [tls]"});
  tls.add("certificate", &x::certificate, "of a node that names none; `{name}` is the node's name");
  tls.add("key", &x::key, "of a node that names none");
  timeouts.add("heartbeat", &cluster_timeouts::heartbeat, duration,
               "time between two signs of life");
  timeouts.add("lost_after", &cluster_timeouts::lost_after, duration,
               "silence after which a node counts as lost");
  timeouts.add("join", &cluster_timeouts::join, duration,
               "how long nodes and director wait for each other");
  timeouts.add("settle", &cluster_timeouts::settle, duration,
               "with min_nodes: how long the director waits behind the last node that came");
  timeouts.add("leave", &cluster_timeouts::leave, duration,
               "how long a node that is asked to end stays at most, to hand over what it has");
  recovery.add("copies", &cluster_recovery::copies, within(0, 2),
               "other nodes that keep a copy of each node's parameters in memory, so that training "
               "goes on a few steps before a loss; 0: from the last checkpoint; synchronous "
               "training alone");
  recovery.add("copy_every", &cluster_recovery::copy_every, within(1, UINT32_MAX),
               {"steps from one copy to the next; at most twice as many are undone",
                "so many that copies are a twentieth of what is sent"});
  recovery.add("director_pauses", &cluster_recovery::director_pauses,
               "a director that is asked to end stops training at a step, and the others wait "
               "timeouts.join for one that goes on there, with --resume; else they end with it");
  return out;
}

} // namespace

const node_keys& node_schema() {
  static const node_keys schema = make_node_schema();
  return schema;
}

const cluster_keys& cluster_schema() {
  static const cluster_keys schema = make_cluster_schema();
  return schema;
}

std::optional<milliseconds> duration_of(std::string_view text) {
  const auto read = number_and_unit(text);
  const auto* unit = read ? unit_called(time_units, read->second) : nullptr;
  if (!unit)
    return std::nullopt;
  const double result = std::round(read->first * unit->milliseconds);
  if (result < 1 || result > duration_ms_max)
    return std::nullopt;
  return milliseconds{static_cast<int64_t>(result)};
}

std::optional<uint64_t> memory_size_of(std::string_view text) {
  const auto read = number_and_unit(text);
  const auto* unit =
    read ? unit_called(memory_units, read->second.substr(read->second.starts_with(' ') ? 1 : 0))
         : nullptr;
  const double result = unit ? std::floor(read->first * unit->bytes) : 0;
  return result < 1 || result >= memory_bytes_end ? std::nullopt
                                                  : std::optional{static_cast<uint64_t>(result)};
}

std::string memory_size_text(uint64_t bytes) {
  for (const auto& unit : memory_units)
    if (const auto size = static_cast<uint64_t>(unit.bytes); bytes % size == 0)
      return std::to_string(bytes / size) + ' ' + std::string{unit.name};
  return {};
}

std::string duration_text(milliseconds x) {
  return x.count() % 1000 == 0 ? std::to_string(x.count() / 1000) + "s"
                               : std::to_string(x.count()) + "ms";
}

std::string cluster_keys_markdown() {
  return std::string{keys_markdown_head} +
         "| `job` | string | | the job file; relative to this file. Without it the job's sections "
         "stand here |\n" +
         keys_markdown(node_schema(), "node.") + keys_markdown(cluster_schema());
}

std::optional<value_refusal> read_address(std::string_view text, endpoint& out) {
  try {
    out = parse_endpoint(text);
    return std::nullopt;
  } catch (const failure& error) {
    return value_refusal{error.reason(), error.hint()};
  }
}

bool is_loopback(const endpoint& x) {
  in_addr v4{};
  if (inet_pton(AF_INET, x.host.c_str(), &v4) == 1)
    return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, x.host.c_str(), &v6) == 1)
    return IN6_IS_ADDR_LOOPBACK(&v6);
  return x.host == "localhost";
}

bool is_any_address(const endpoint& x) {
  in_addr v4{};
  if (inet_pton(AF_INET, x.host.c_str(), &v4) == 1)
    return v4.s_addr == INADDR_ANY;
  in6_addr v6{};
  return inet_pton(AF_INET6, x.host.c_str(), &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}

} // namespace troupe
