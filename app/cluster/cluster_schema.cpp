#include "troupe/app/cluster/cluster_schema.hpp"

#include "troupe/app/cluster/node_address.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace troupe {

namespace {

using node_keys = std::vector<schema_key<node_entry>>;
using cluster_keys = std::vector<schema_key<cluster_settings>>;

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

void set_name(node_entry& target, const toml_value& value, const std::string& path,
              std::vector<complaint>& complaints) {
  if (!detail::accepted(read_value(value, target.name), value, path, complaints))
    return;
  if (!is_node_name(target.name))
    complaints.push_back({path, value.at, "no name for a node: " + description(value),
                          "use up to 63 of a-z, 0-9, '-', '_' and '.', a letter or digit first"});
}

template <class Access>
schema_key<node_entry> address_key(key_texts texts, Access access) {
  auto key = plain_key<node_entry, std::string>(std::move(texts), "\"host:port\"", access);
  key.set = [access](node_entry& target, const toml_value& value, const std::string& path,
                     std::vector<complaint>& complaints) {
    endpoint ignored;
    auto& text = access(target);
    if (detail::accepted(read_value(value, text), value, path, complaints))
      detail::accepted(read_address(text, ignored), value, path, complaints);
  };
  return key;
}

template <class Access>
schema_key<cluster_settings> duration_key(key_texts texts, Access access) {
  schema_key<cluster_settings> key{texts.path,
                                   "duration",
                                   texts.fallback,
                                   texts.meaning,
                                   true,
                                   {},
                                   {},
                                   copier<cluster_settings>(access)};
  key.set = [access](cluster_settings& target, const toml_value& value, const std::string& path,
                     std::vector<complaint>& complaints) {
    const auto* text = value.as<std::string>();
    const auto read = text ? duration_of(*text) : std::nullopt;
    if (read)
      access(target) = *read;
    else
      complaints.push_back({path, value.at, "expected a duration, got " + description(value),
                            "write a number with its unit, such as \"500ms\", \"5s\" or \"2m\""});
  };
  key.get = [access](const cluster_settings& x) {
    return std::optional{toml_text(duration_text(access(x)))};
  };
  return key;
}

schema_key<node_entry> memory_key(key_texts texts) {
  const auto access = [](auto& x) -> auto& {
    return x.memory;
  };
  schema_key<node_entry> key{
    texts.path, "size", texts.fallback, texts.meaning, true, {}, {}, copier<node_entry>(access)};
  key.set = [](node_entry& target, const toml_value& value, const std::string& path,
               std::vector<complaint>& complaints) {
    const auto* text = value.as<std::string>();
    target.memory = text ? memory_size_of(*text) : std::nullopt;
    if (!target.memory)
      complaints.push_back({path, value.at, "expected a size, got " + description(value),
                            "write a number with its unit, such as \"512 MiB\" or \"8 GiB\""});
  };
  key.get = [](const node_entry& x) {
    return x.memory ? std::optional{toml_text(memory_size_text(*x.memory))} : std::nullopt;
  };
  return key;
}

node_keys make_node_schema() {
  const auto text = [](key_texts texts, auto access) {
    return plain_key<node_entry, std::string>(std::move(texts), "string", access);
  };
  node_keys out;
  auto name = text(
    {"name", "what the node is called; `troupe node --name`", "required"},
    [](auto& x) -> auto& { return x.name; });
  name.set = set_name;
  out.push_back(name);
  out.push_back(address_key(
    {"address", "what other nodes dial; port 0 with `troupe launch` only: any free one",
     "required"},
    [](auto& x) -> auto& { return x.address; }));
  out.push_back(address_key(
    {"listen", "what it listens on, such as \"0.0.0.0:7400\"", "address"},
    [](auto& x) -> auto& { return x.listen; }));
  out.push_back(plain_key<node_entry, bool>(
    {"director", "leads the run and writes its files; exactly one node does"}, "true or false",
    [](auto& x) -> auto& { return x.director; }));
  out.push_back(whole_key<node_entry>(
    {"replicas", "actors that compute gradients"}, [](auto& x) -> auto& { return x.replicas; },
    "node."));
  out.push_back(whole_key<node_entry>(
    {"shards", "actors that own a part of the parameters and its optimizer state"},
    [](auto& x) -> auto& { return x.shards; }, "node."));
  out.push_back(memory_key(
    {"memory", "what it may take, such as \"8 GiB\"; with less than its plan says nothing begins",
     "as much as there is"}));
  out.push_back(text(
    {"certificate", "proves the node's name; relative to this file", "tls.certificate"},
    [](auto& x) -> auto& { return x.certificate; }));
  out.push_back(text(
    {"key", "belongs to the certificate; relative to this file", "tls.key"},
    [](auto& x) -> auto& { return x.key; }));
  return out;
}

cluster_keys make_cluster_schema() {
  const auto text = [](key_texts texts, auto access) {
    return plain_key<cluster_settings, std::string>(std::move(texts), "string", access);
  };
  cluster_keys out;
  out.push_back(plain_key<cluster_settings, bool>(
    {"insecure", "permits addresses that others can reach without [tls]"}, "true or false",
    [](auto& x) -> auto& { return x.insecure; }));
  out.push_back(whole_key<cluster_settings>(
    {"min_nodes",
     "nodes that are enough to begin with once timeouts.join has passed; spares that "
     "stand in count",
     "all that are no spares"},
    [](auto& x) -> auto& { return x.min_nodes; }));
  out.push_back(choice_key<cluster_settings, carrier_choice>(
    {"network.carrier",
     "how gradients and parameters go between processes: in memory where two have some in common, "
     "else by a connection of their own (auto), always so (socket), or as messages of the actor "
     "system"},
    [](auto& x) -> auto& { return x.carrier; }));
  out.push_back(text(
    {"tls.ca", "certificate of the authority that signed every node's; relative to this file",
     "required in [tls]"},
    [](auto& x) -> auto& { return x.authority; }));
  out.push_back(text(
    {"tls.certificate", "of a node that names none; `{name}` is the node's name"},
    [](auto& x) -> auto& { return x.certificate; }));
  out.push_back(text(
    {"tls.key", "of a node that names none"}, [](auto& x) -> auto& { return x.key; }));
  out.push_back(duration_key(
    {"timeouts.heartbeat", "time between two signs of life"},
    [](auto& x) -> auto& { return x.timeouts.heartbeat; }));
  out.push_back(duration_key(
    {"timeouts.lost_after", "silence after which a node counts as lost"},
    [](auto& x) -> auto& { return x.timeouts.lost_after; }));
  out.push_back(duration_key(
    {"timeouts.join", "how long nodes and director wait for each other"},
    [](auto& x) -> auto& { return x.timeouts.join; }));
  return out;
}

template <class Target>
std::string markdown_rows(const std::vector<schema_key<Target>>& keys, const std::string& outer) {
  const auto cell = [](const std::string& text) {
    if (const auto bar = text.find(" | ");
        bar != std::string::npos) { // the end of a cell, unless escaped
      std::string result;
      for (const char letter : text)
        result += letter == '|' ? "\\|" : std::string{letter};
      return result;
    }
    return text.size() > 2 && text.front() == '"' ? "`" + text + "`" : text;
  };
  const Target defaults;
  std::string result;
  for (const auto& key : keys) {
    const auto text = key.get(defaults);
    const std::string by_default = key.fallback.empty() && text ? "`" + *text + "`" : key.fallback;
    result += "| `" + outer + key.path + "` | " + cell(key.type) + " | " + by_default + " | " +
              key.meaning + " |\n";
  }
  return result;
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

bool is_node_name(std::string_view text) {
  constexpr size_t length_max = 63; // of a label in a certificate's names
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= length_max && is_plain(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_plain(c) || c == '-' || c == '_' || c == '.'; });
}

std::string cluster_keys_markdown() {
  return "| key | type | default | meaning |\n|---|---|---|---|\n"
         "| `job` | string | | the job file; relative to this file. Without it the job's sections "
         "stand here |\n" +
         markdown_rows(node_schema(), "node.") + markdown_rows(cluster_schema(), "");
}

} // namespace troupe
