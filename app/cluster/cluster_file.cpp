#include "app/cluster/cluster_file.hpp"

#include "app/cluster/cluster_schema.hpp"
#include "app/job/job_text.hpp"
#include "app/toml/override.hpp"
#include "coordinators/job/job_check.hpp"
#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/keys/key_limits.hpp"
#include "coordinators/job/training_modes.hpp"
#include "models/keys/closest_name.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

namespace troupe {

namespace {

// The keys of a cluster that the environment and `--set` give: those of all nodes, such as
// timeouts.lost_after or insecure. All others are the job's.

struct cluster_overrides {
  environment variables;                     ///< of the job
  std::vector<std::string> sets;             ///< likewise
  std::map<std::string, std::string> places; ///< where keys of all nodes were set last
  std::vector<job_error> errors;

  /// True when a key, or one of a section, was set.
  bool has(const std::string& key) const;
};

std::string section_of(const std::string& path) {
  return path.substr(0, path.find('.'));
}

const std::vector<std::string>& top_words() {
  static const std::vector<std::string> words{
    "node", "insecure", "min_nodes", "max_nodes", "join", "network", "recovery", "tls", "timeouts"};
  return words;
}

/// True for the sections and keys at the top of a cluster file that a job file does not have.
bool is_cluster_word(const std::string& name) {
  return std::ranges::find(top_words(), name) != top_words().end();
}

// The words that may begin a line of a cluster file, each once.
std::vector<std::string> words_and_sections() {
  auto result = top_words();
  for (const auto& key : job_keys())
    if (const auto section = section_of(key.path); section != result.back())
      result.push_back(section);
  return result;
}

/// "[[nodes]]" is a misspelt word of a cluster file, not a misspelt key of a job.
bool is_misspelt_cluster_word(const std::string& name) {
  static const auto words = words_and_sections();
  const std::string near{closest_name(name, words)};
  return near != name && is_cluster_word(near);
}

bool is_of_all_nodes(const std::string& path) {
  const auto section = section_of(path);
  return section != "node" && (is_cluster_word(section) || is_misspelt_cluster_word(section));
}

void apply(const std::string& path, const std::string& text, const std::string& where,
           cluster_settings& settings, cluster_overrides& out) {
  reading read;
  const bool is_path = section_of(path) == "tls" && !text.empty();
  read_override(cluster_schema(), path,
                is_path ? std::filesystem::absolute(text).lexically_normal().string() : text,
                settings, read);
  for (const auto& [key, at] : read.positions)
    out.places[key] = where;
  for (const auto& one : read.found)
    out.errors.push_back({where, one.why, one.hint});
}

bool cluster_overrides::has(const std::string& key) const {
  return std::ranges::any_of(places, [&](const auto& entry) {
    return entry.first == key || entry.first.starts_with(key + ".");
  });
}

/// Applies variables, and over them sets, to `settings`. Paths in them are relative to the current
/// folder. Three variables set keys that stand in no section.
cluster_overrides apply_cluster_overrides(const std::vector<std::string>& sets,
                                          const environment& variables,
                                          cluster_settings& settings) {
  cluster_overrides result;
  const auto paths = paths_of(cluster_schema());
  for (const auto& [name, text] : variables) {
    if (const auto meant = key_of_misspelt_variable(name, paths))
      result.errors.push_back(misspelt_variable(name, *meant));
    const auto path = name == "TROUPE_INSECURE"    ? "insecure"
                      : name == "TROUPE_MIN_NODES" ? "min_nodes"
                      : name == "TROUPE_MAX_NODES" ? "max_nodes"
                                                   : key_of_variable(name);
    if (path && is_of_all_nodes(*path))
      apply(*path, text, "environment " + name, settings, result);
    else
      result.variables.emplace_back(name, text);
  }
  for (const auto& set : sets) {
    const size_t equals = set.find('=');
    if (equals != std::string::npos && is_of_all_nodes(set.substr(0, equals)))
      apply(set.substr(0, equals), set.substr(equals + 1), "--set " + set, settings, result);
    else
      result.sets.push_back(set);
  }
  return result;
}

// "job" is a section of a job file, and in a cluster file also the path of one.
bool is_cluster_entry(const toml_entry& entry) {
  return is_cluster_word(entry.name) || (entry.name == "job" && entry.value.as<std::string>());
}

using positions = std::map<std::string, source_position>;

// A node being read, and where its keys stand.
struct placed_node {
  node_entry entry;
  source_position at;
  positions keys;
  std::set<std::string> complained;

  // A value that was refused needs no second complaint.
  bool is_sound(const std::string& key) const { return complained.count("node." + key) == 0; }
  source_position place_of(const std::string& key) const {
    const auto found = keys.find("node." + key);
    return found == keys.end() ? at : found->second;
  }
};

class cluster_reader {
public:
  cluster_reader(std::string path, const std::vector<std::string>& sets,
                 const environment& variables)
    : path_(std::move(path)) {
    draft_.places.file = path_;
    for (auto& entry : read_toml_file(path_))
      take(std::move(entry));
    outside_ = apply_cluster_overrides(sets, variables, settings_);
    for (const auto& error : outside_.errors)
      draft_.errors.push_back(error);
    read_job(outside_.sets, outside_.variables);
    check_nodes();
    check_joiners();
    check_timeouts();
  }

  loaded_cluster result() {
    if (!draft_.errors.empty())
      throw job_errors(std::move(draft_.errors));
    loaded_cluster result;
    result.plan = settings_.plan;
    if (has_join())
      result.plan.join = joiners();
    for (const auto& node : nodes_) {
      auto& added = result.plan.nodes.emplace_back(node.entry);
      if (added.listen.empty())
        added.listen = added.address;
      result.places.push_back(place_text(path_, node.place_of("address")));
      // In these modes a lost worker costs its task alone: only who asks for it owns a part of the model.
      if (has_server(draft_.value.training) && !node.keys.contains("node.shards"))
        added.shard_count = 0;
    }
    const auto& job = draft_.value;
    if (has_server(job.training)) {
      const bool asks = result.plan.can_lose_spans();
      result.plan = result.plan.with_server(has_one_owner(job));
      result.has_idle_shards = asks && !result.plan.can_lose_spans();
    }
    draft_.value.training.replicas = groups_of(draft_.value.parallel, replica_count());
    result.tls = tls();
    result.node_data = std::move(node_data_);
    draft_.value.checkpoint.by_default =
      result.plan.can_lose_spans() && !draft_.places.by_key.contains("checkpoint.every_steps");
    result.job = {std::move(draft_.value), std::move(draft_.places)};
    return result;
  }

private:
  // ---- Reading ----------------------------------------------------------------------------------

  void take(toml_entry entry) {
    if (entry.name == "node")
      read_nodes(entry);
    else if (entry.name == "job" && entry.value.as<std::string>())
      job_entry_ = std::move(entry);
    else if (is_cluster_word(entry.name))
      read_settings({std::move(entry)});
    else if (is_misspelt_cluster_word(entry.name))
      complain(unknown_key("", entry.name, entry.at, top_words()));
    else
      sections_.push_back(std::move(entry));
  }

  void read_settings(const toml_value::table& table) {
    reading read;
    read_table(cluster_schema(), "", "", table, settings_, read);
    places_.insert(read.positions.begin(), read.positions.end());
    for (const auto& one : read.found)
      complain(one);
  }

  void read_nodes(const toml_entry& entry) {
    places_.emplace("node", entry.at);
    const auto* list = entry.value.as<toml_value::list>();
    if (!list)
      return complain({"node", entry.value.at,
                       "expected a list of tables, got " + description(entry.value),
                       "write [[node]] above each node's keys"});
    if (list->size() > node_count_max) // each of them may have a mistake: too many to read
      throw job_errors({{place_text(path_, entry.at),
                         std::to_string(list->size()) + " nodes, a cluster has at most " +
                           std::to_string(node_count_max),
                         "give each node more replicas"}});
    for (const auto& one : *list)
      read_node(one);
  }

  void read_node(const toml_value& value) {
    const auto* table = value.as<toml_value::table>();
    if (!table)
      return complain({"node", value.at, "expected a table, got " + description(value),
                       "write [[node]] above each node's keys"});
    placed_node node{{}, value.at, {}, {}};
    reading read;
    read_table(node_schema(), "node.", "", *table, node.entry, read);
    node.keys = std::move(read.positions);
    for (const auto& one : read.found) {
      node.complained.insert(one.key);
      complain(one);
    }
    nodes_.push_back(std::move(node));
  }

  // The named file first: keys of this file win over it.
  void read_job(const std::vector<std::string>& sets, const environment& variables) {
    std::string job_file = path_;
    if (job_entry_) {
      job_file = in_folder(*job_entry_->value.as<std::string>());
      draft_.places.file = job_file;
      draft_.read_sections(read_named_job(job_file), job_file);
      // Its replicas are those of `troupe train`.
      draft_.value.training.replicas.reset();
      draft_.places.by_key.erase("training.replicas");
      draft_.value.parallel.data.reset();
      draft_.places.by_key.erase("parallel.data");
    }
    draft_.read_sections(sections_, path_);
    draft_.apply_environment(variables);
    draft_.apply_sets(sets);
    draft_.fill_defaults(job_file);
    read_node_data();
    draft_.add_problems();
    check_replicas();
  }

  /// How each node reads the rows that it has of its own.
  void read_node_data() {
    const auto has_data = [](const placed_node& node) { return node.keys.contains("node.data"); };
    auto& data = draft_.value.data;
    if (std::ranges::none_of(nodes_, has_data)) {
      if (data.at_nodes)
        draft_.errors.push_back(error_at({"data.at_nodes", "no node has rows of its own",
                                          "write data = \"local.csv\" in some [[node]]"},
                                         draft_.places));
      return;
    }
    if (!data.file.empty())
      draft_.errors.push_back(error_at({"data.file", "nodes have rows of their own",
                                        "leave it out, or leave `data` of each [[node]] out"},
                                       draft_.places));
    data.at_nodes = true;
    for (auto& node : nodes_) {
      node.entry.holds_rows = has_data(node);
      job_draft own = draft_;
      own.errors.clear();
      own.value.data.file.clear();
      if (node.entry.holds_rows && node.is_sound("data"))
        own.read_sections({data_section_of(node)}, path_);
      for (auto& error : own.errors)
        draft_.errors.push_back(std::move(error));
      if (node.entry.holds_rows && own.errors.empty() && own.value.data.file.empty())
        complain(node.place_of("data"), "node.data names no file",
                 "write { file = \"local.csv\", .. }");
      node_data_.push_back(own.value.data);
    }
  }

  /// Section data of the job, as the node has it. What decides over more than reading is the job's.
  toml_entry data_section_of(const placed_node& node) {
    const auto& value = node.entry.data;
    toml_value::table table;
    if (value.as<std::string>())
      table.push_back({"file", value.at, value});
    else
      for (const auto& entry : *value.as<toml_value::table>())
        if (std::ranges::find(node_data_keys, entry.name) != node_data_keys.end())
          table.push_back(entry);
        else
          complain(entry.at, "node.data." + entry.name + " is not a node's to say",
                   "set data." + entry.name + " of the job, for all nodes");
    return {"data", node.place_of("data"), {std::move(table), value.at}};
  }

  toml_value::table read_named_job(const std::string& job_file) {
    try {
      return read_toml_file(job_file);
    } catch (const job_errors&) {
      throw;
    } catch (const failure& error) {
      throw failure(error.code(), error.reason() + " (" + job_file + ")",
                    place_text(path_, job_entry_->value.at), error.hint());
    }
  }

  std::string in_folder(const std::string& file) const {
    return (std::filesystem::path{path_}.parent_path() / file).lexically_normal().string();
  }

  // ---- Checking ---------------------------------------------------------------------------------

  void complain(const complaint& x) { complain(x.at, x.why, x.hint); }

  void complain(source_position at, std::string why, std::string hint) {
    draft_.errors.push_back({place_text(path_, at), std::move(why), std::move(hint)});
  }

  source_position place_of(const std::string& key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? source_position{} : found->second;
  }

  bool has_join() const { return places_.count("join") > 0 || outside_.has("join"); }
  bool has_tls() const { return places_.count("tls") > 0 || outside_.has("tls"); }

  // Where a key of all nodes was set last.
  std::string where_of(const std::string& key) const {
    const auto found = outside_.places.find(key);
    return found == outside_.places.end() ? place_text(path_, place_of(key)) : found->second;
  }

  void check_replicas() {
    if (draft_.value.training.replicas)
      draft_.errors.push_back(error_at({"training.replicas", "the nodes of a cluster have replicas",
                                        "leave it out and set replicas of each [[node]]"},
                                       draft_.places));
  }

  void check_nodes() {
    if (nodes_.empty() && places_.count("node") == 0)
      return complain({}, "no [[node]]: this is no cluster file",
                      "train it in one process with 'troupe train', or add nodes");
    for (size_t i = 0; i < nodes_.size(); ++i)
      check_node(i);
    check_directors();
    check_work();
  }

  void check_node(size_t index) {
    const auto& node = nodes_[index];
    if (node.keys.count("node.name") == 0)
      complain(node.at, "a node without name", "add name = \"...\"");
    else if (node.is_sound("name"))
      check_unique(index, "name", node.entry.name, names_);
    if (node.keys.count("node.address") == 0)
      complain(node.at, "a node without address", "add address = \"host:port\"");
    else if (node.is_sound("address") && node.is_sound("listen"))
      check_address(index);
    if (node.entry.replica_count + node.entry.shard_count == 0 && !node.entry.is_director)
      complain(node.at, "a node without replicas and shards has nothing to do",
               "give it some; or leave it out, and add [join]: others may come then as they like");
    const bool has_credentials = !node.entry.certificate.empty() || !node.entry.key.empty();
    if (has_credentials && !has_tls())
      complain(node.place_of(node.entry.certificate.empty() ? "key" : "certificate"),
               "a certificate and no authority to check it", "add [tls] with ca = \"...\"");
  }

  void check_unique(size_t index, const std::string& key, const std::string& text,
                    std::map<std::string, size_t>& seen) {
    const auto [other, is_new] = seen.emplace(text, index);
    if (!is_new)
      complain(nodes_[index].place_of(key), "two nodes have the " + key + " '" + text + "'",
               "the other one stands at " + place_text(path_, nodes_[other->second].place_of(key)));
  }

  void check_address(size_t index) {
    const auto& node = nodes_[index];
    endpoint dialled;
    read_address(node.entry.address, dialled);
    endpoint listened = dialled;
    if (!node.entry.listen.empty())
      read_address(node.entry.listen, listened);
    if (is_any_address(dialled))
      return complain(node.place_of("address"), "'" + node.entry.address + "' cannot be dialled",
                      "write the address others know, and this one as listen");
    if (listened.port == 0 && dialled.port != 0)
      return complain(node.place_of("listen"),
                      "port 0 picks any port, but others dial " + std::to_string(dialled.port),
                      "give listen a port");
    if (dialled.port != 0)
      check_unique(index, "address", node.entry.address, addresses_);
    const bool reachable = !is_loopback(dialled) || !is_loopback(listened);
    if (reachable && !settings_.plan.insecure && !has_tls())
      complain(node.place_of(is_loopback(dialled) ? "listen" : "address"),
               "others can reach this address, and nothing proves who they are",
               "add [tls] with ca = \"...\", or insecure = true in a network you trust");
  }

  void check_directors() {
    const auto leads = [](const placed_node& x) { return x.entry.is_director; };
    const auto first = std::find_if(nodes_.begin(), nodes_.end(), leads);
    if (first == nodes_.end())
      return complain(place_of("node"), "no node is the director",
                      "add director = true to the one that is to write the results");
    for (auto other = std::next(first); other != nodes_.end(); ++other)
      if (other->entry.is_director)
        complain(other->place_of("director"), "two nodes are the director",
                 "the other one stands at " + place_text(path_, first->place_of("director")));
  }

  void check_work() {
    const auto none = [&](auto count) {
      return std::all_of(nodes_.begin(), nodes_.end(),
                         [&](const placed_node& x) { return count(x.entry) == 0; });
    };
    if (none([](const node_entry& x) { return x.replica_count; }))
      complain(place_of("node"), "no node has replicas: nobody computes",
               "set replicas of a node to 1 or more");
    if (none([](const node_entry& x) { return x.shard_count; }))
      complain(place_of("node"), "no node has shards: nobody owns the parameters",
               "set shards of a node to 1 or more");
    if (const auto problem = groups_problem(draft_.value.parallel, replica_count());
        problem && draft_.errors.empty())
      draft_.errors.push_back(error_at(*problem, draft_.places));
  }

  size_t replica_count() const {
    size_t result = 0;
    for (const auto& node : nodes_)
      result += node.entry.replica_count;
    return result;
  }

  /// What a node brings that the file does not list.
  cluster_join joiners() const {
    auto result = settings_.join;
    if (result.listen.empty()) {
      const auto leads =
        std::ranges::find_if(nodes_, [](const auto& x) { return x.entry.is_director; });
      endpoint director;
      if (leads != nodes_.end())
        read_address(leads->entry.address, director);
      const bool is_v6 = director.host.find(':') != std::string::npos;
      result.listen = is_loopback(director) ? (is_v6 ? "[::1]:0" : "127.0.0.1:0")
                                            : (is_v6 ? "[::]:0" : "0.0.0.0:0");
    }
    if (has_server(draft_.value.training) && places_.count("join.shards") == 0 &&
        !outside_.has("join.shards"))
      result.shard_count = 0;
    return result;
  }

  void complain_of(const std::string& key, std::string why, std::string hint) {
    draft_.errors.push_back({where_of(key), std::move(why), std::move(hint)});
  }

  void check_joiners() {
    const auto& [least, most] = std::tie(settings_.plan.min_nodes, settings_.plan.max_nodes);
    const auto idle = std::ranges::count_if(nodes_, [](const placed_node& x) {
      return x.entry.replica_count + x.entry.shard_count == 0;
    });
    const auto limit =
      (has_join() ? most.value_or(node_count_max) : nodes_.size()) - static_cast<size_t>(idle);
    if (least && *least > limit)
      complain_of("min_nodes",
                  "min_nodes = " + std::to_string(*least) + ", and at most " +
                    std::to_string(limit) + " may compute or own parameters",
                  has_join() ? "raise max_nodes" : "lower it, or let others come with [join]");
    if (!has_join()) {
      if (most)
        complain_of("max_nodes", "max_nodes without [join]: the nodes of the file alone take part",
                    "add [join], or leave it out");
      return;
    }
    if (!most)
      complain_of("join", "[join] without max_nodes",
                  "say how many nodes may take part: max_nodes = 8");
    else if (*most < nodes_.size())
      complain_of("max_nodes",
                  "max_nodes = " + std::to_string(*most) + ", and the file lists " +
                    std::to_string(nodes_.size()) + " nodes",
                  "raise it");
    if (draft_.value.data.at_nodes)
      complain_of("join", "[join] in a cluster whose nodes have rows of their own",
                  "list every node, as the table of rows is agreed on before training");
    if (names_.contains(settings_.join.accepts))
      complain_of("join.accepts", "'" + settings_.join.accepts + "' is the name of a node",
                  "its certificate would admit any name: choose another");
    const auto given = joiners();
    if (given.replica_count + given.shard_count == 0)
      complain_of("join", "a node that joins without replicas and shards has nothing to do",
                  "give it some");
    endpoint listened;
    if (!read_address(given.listen, listened) && !is_loopback(listened) &&
        !settings_.plan.insecure && !has_tls())
      complain_of(settings_.join.listen.empty() ? "join" : "join.listen",
                  "others can reach a node that listens on " + given.listen +
                    ", and nothing proves who joins",
                  "add [tls] with ca = \"...\", or insecure = true in a network you trust");
  }

  void check_timeouts() {
    const auto& x = settings_.plan.timeouts;
    // Of the two keys the one that was set from outside, or stands in the file at all.
    const bool is_late =
      outside_.has("timeouts.lost_after") ||
      (!outside_.has("timeouts.heartbeat") && places_.count("timeouts.lost_after") > 0);
    if (x.lost_after < 2 * x.heartbeat)
      draft_.errors.push_back({where_of(is_late ? "timeouts.lost_after" : "timeouts.heartbeat"),
                               "one late heartbeat of " + duration_text(x.heartbeat) +
                                 " would count as a loss after " + duration_text(x.lost_after),
                               "make lost_after at least twice the heartbeat"});
    if (has_tls() && settings_.authority.empty())
      complain(place_of("tls"), "[tls] without an authority", "add ca = \"...\"");
  }

  // ---- Result -----------------------------------------------------------------------------------

  static std::string with_name(std::string pattern, const std::string& name) {
    constexpr std::string_view blank = "{name}";
    for (size_t at; (at = pattern.find(blank)) != std::string::npos;)
      pattern.replace(at, blank.size(), name);
    return pattern;
  }

  std::optional<cluster_tls> tls() const {
    if (!has_tls())
      return std::nullopt;
    const auto of = [this](const std::string& certificate, const std::string& key,
                           const std::string& name) {
      return node_credentials{
        in_folder(with_name(certificate.empty() ? settings_.certificate : certificate, name)),
        in_folder(with_name(key.empty() ? settings_.key : key, name))};
    };
    cluster_tls result{in_folder(settings_.authority), {}, of({}, {}, settings_.join.accepts)};
    for (const auto& [x, at, keys, complained] : nodes_)
      result.credentials.push_back(of(x.certificate, x.key, x.name));
    return result;
  }

  std::string path_;
  job_draft draft_;
  std::optional<toml_entry> job_entry_;
  toml_value::table sections_; // of the job
  std::vector<placed_node> nodes_;
  std::vector<data_options> node_data_;             // of each, where some have rows of their own
  std::map<std::string, size_t> names_, addresses_; // by which node, the first that has it
  cluster_settings settings_;
  positions places_;
  cluster_overrides outside_;
};

} // namespace

bool is_cluster_file(const std::string& path) {
  const auto table = read_toml_file(path);
  return std::any_of(table.begin(), table.end(), is_cluster_entry);
}

loaded_cluster load_cluster(const std::string& path, const std::vector<std::string>& sets,
                            const environment& variables) {
  return cluster_reader{path, sets, variables}.result();
}

} // namespace troupe
