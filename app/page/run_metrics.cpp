#include "app/page/run_metrics.hpp"

#include "data/records/history_figures.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <cctype>
#include <cmath>
#include <span>
#include <vector>

namespace troupe {

namespace {

using nlohmann::json;

enum class kind : uint8_t { gauge, counter };

/// One metric: its family's name (behind "troupe_", without a counter's `_total`), what it is, and where its value is.
struct metric {
  std::string key; ///< in the object
  std::string name;
  kind is;
  std::string help;
  double scale = 1; ///< value times this is in the unit of the name
};

using enum kind;

const metric of_run[] = {
  {"step", "step", gauge, "Version of the parameters: steps done."},
  {"last_step", "last_step", gauge, "Step at which training ends by itself."},
  {"epoch", "epoch", gauge, "Finished epochs."},
  {"seconds", "run_seconds", gauge, "Time since training started."},
  {"steps_per_second", "steps_per_second", gauge, "Steps a second, lately."},
  {"samples_per_second", "samples_per_second", gauge, "Samples a second, lately."},
  {"replicas", "replicas", gauge, "Replicas that take part."},
  {"shards", "shards", gauge, "Shards that take part."},
  {"train_loss", "train_loss", gauge, "Mean training loss of the epoch so far."},
  {"train_accuracy", "train_accuracy_ratio", gauge, "Training accuracy of the epoch so far."},
  {"learning_rate", "learning_rate", gauge, "Learning rate of the next step."},
  {"seconds_left", "left_seconds", gauge, "Time left at the pace of the last seconds."},
  {"still_seconds", "still_seconds", gauge, "Time since something moved."},
  {"views", "views", counter, "Views of who takes part that were published."},
  {"replicas_lost", "replicas_lost", counter, "Replicas that were lost."},
  {"rollbacks", "rollbacks", counter, "Times training went back to an earlier version."},
  {"steps_again", "steps_again", counter, "Steps that were undone and made again."},
  {"joins", "joins", counter, "Processes that came while training went on."},
  {"leaves", "leaves", counter, "Processes that asked to leave, and left."},
  {"seconds_again", "again_seconds", counter, "Time of steps that were undone."},
  {"seconds_still", "stood_still_seconds", counter, "Time in which no step was done."},
  {"goodput", "goodput_ratio", gauge, "Share of the time that brought the run on."},
  {"lives", "lives", counter, "Lives of the director: each --resume begins one."},
  {"bytes_sent", "wire_sent_bytes", counter, "Bytes of pieces sent to other processes."},
  {"resends", "pieces_resent", counter, "Pieces sent again because they were wanted."},
};

std::vector<metric> metrics_of_row() {
  std::vector<metric> result;
  for (const auto& [name, tag, member, more_is_better] : common_figures()) {
    const auto end = name.find('_') + 1;
    auto measure = name.substr(end);
    const auto unit = measure == "accuracy" ? "_ratio" : "";
    measure.front() = static_cast<char>(std::toupper(measure.front()));
    if (figure_named(name).is_evaluated())
      result.push_back({name, name + unit, gauge,
                        measure + " of the " + name.substr(0, end - 1) + " rows, last evaluated."});
  }
  return result;
}

const metric of_clients[] = {
  {"here", "clients_here", gauge, "Clients of a federated run that are connected and ready."},
  {"wanted", "clients_wanted", gauge, "Clients with which the next round begins at once."},
  {"invited", "clients_invited", gauge, "Clients invited to the open round."},
  {"answered", "clients_answered", gauge, "Invited clients that have sent their update."},
  {"counted", "client_updates", counter, "Updates of clients that counted."},
  {"refused", "client_updates_refused", counter, "Updates of clients that were refused."},
  {"came_bytes", "client_came_bytes", counter, "Bytes from clients."},
  {"sent_bytes", "client_sent_bytes", counter, "Bytes to clients."},
};

const metric of_node[] = {
  {"step", "node_step", gauge, "Newest version that is whole there."},
  {"slices", "node_slices", gauge, "Slices that a process computes."},
  {"spans", "node_spans", gauge, "Spans of the parameters that a process owns."},
  {"last_heard_seconds", "node_silence_seconds", gauge, "Time since a process was heard."},
  {"samples", "node_samples", counter, "Samples computed, repetitions included."},
  {"bytes_sent", "node_sent_bytes", counter, "Bytes of pieces sent to other processes."},
  {"resends", "node_pieces_resent", counter, "Pieces sent again because they were wanted."},
};

const metric of_trainer[] = {
  {"results", "replica_results", counter, "Steps or tasks that a replica answered."},
  {"last_count", "replica_last", counter, "Times that others waited for a replica."},
  {"computed_ms", "replica_computed_seconds", counter, "Time a replica computed.", 1e-3},
  {"waited_ms", "replica_waited_seconds", counter, "Time a replica waited.", 1e-3},
  {"network_ms", "replica_network_seconds", counter, "Time of messages and queues.", 1e-3},
  {"discarded", "replica_discarded", counter, "Gradients that came too late."},
  {"refused", "replica_refused", counter, "Results of work that others had by then."},
};

std::string escaped(const std::string& value) {
  std::string result;
  for (const char c : value)
    if (c == '\n')
      result += "\\n";
    else if (c == '"' || c == '\\')
      result += {'\\', c};
    else
      result += c;
  return result;
}

std::string number_text(double x) {
  if (std::isnan(x))
    return "NaN";
  if (std::isinf(x))
    return x > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", x);
}

/// An object with values, and the labels that distinguish it from others of its kind.
struct labelled {
  json object;
  std::string labels; ///< with braces, or empty
};

class metrics_text {
public:
  explicit metrics_text(metrics_format format) : format_(format) {}

  void add(std::span<const metric> table, const std::vector<labelled>& objects) {
    for (const auto& row : table)
      add(row, objects);
  }

  void add_state(const char* name, const char* help, const std::vector<labelled>& values) {
    add({"value", name, gauge, help}, values);
  }

  std::string text() && {
    if (format_ == metrics_format::open_metrics)
      text_ += "# EOF\n";
    return std::move(text_);
  }

private:
  void add(const metric& x, const std::vector<labelled>& objects) {
    const bool counts = x.is == counter;
    const auto sample = "troupe_" + x.name + (counts ? "_total" : "");
    const auto family = format_ == metrics_format::open_metrics ? "troupe_" + x.name : sample;
    bool has_head = false;
    for (const auto& [object, labels] : objects) {
      const auto found = object.find(x.key);
      if (found == object.end() || !found->is_number())
        continue;
      if (!has_head)
        text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", family, x.help, family,
                             counts ? "counter" : "gauge");
      has_head = true;
      text_ +=
        fmt::format("{}{} {}\n", sample, labels, number_text(found->get<double>() * x.scale));
    }
  }

  metrics_format format_;
  std::string text_;
};

json member_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? json() : *found;
}

std::vector<labelled> nodes_of(const json& status) {
  std::vector<labelled> result;
  for (const auto& node : member_of(status, "nodes"))
    if (result.size() < 1024 && node.is_object())
      result.push_back({node, fmt::format("{{node=\"{}\"}}", escaped(node.value("name", "")))});
  return result;
}

std::vector<labelled> trainers_of(const json& status) {
  std::vector<labelled> result;
  for (const auto& x : member_of(status, "trainers"))
    if (result.size() < 1024 && x.is_object())
      result.push_back({x, fmt::format("{{node=\"{}\",replica=\"{}\"}}",
                                       escaped(x.value("process", "")), x.value("replica", 0))});
  return result;
}

std::vector<labelled> phases_of(const json& status) {
  std::vector<labelled> result;
  for (const char* phase : {"waiting", "training", "stopping", "finished", "failed"})
    result.push_back({{{"value", status.value("phase", "") == phase ? 1 : 0}},
                      fmt::format("{{phase=\"{}\"}}", phase)});
  return result;
}

// The figures of a row that have no name of their own above: "test_auc".
std::vector<labelled> own_metrics_of(const json& row) {
  std::vector<labelled> result;
  for (const auto& [key, value] : row.items()) {
    const auto figure = figure_named(key);
    const auto end = key.find('_');
    if (figure.is_metric() && figure.is_evaluated())
      result.push_back({{{"value", value}},
                        fmt::format("{{metric=\"{}\",rows=\"{}\"}}", escaped(key.substr(end + 1)),
                                    key.substr(0, end))});
  }
  return result;
}

std::vector<labelled> participation_of(const std::vector<labelled>& nodes) {
  std::vector<labelled> result;
  for (const auto& [node, labels] : nodes)
    result.push_back({{{"value", node.value("state", "") == "takes part" ? 1 : 0}}, labels});
  return result;
}

} // namespace

metrics_format metrics_format_for(std::string_view accept) {
  return accept.find("application/openmetrics-text") != std::string_view::npos
           ? metrics_format::open_metrics
           : metrics_format::prometheus;
}

std::string_view content_type_of(metrics_format format) {
  return format == metrics_format::open_metrics
           ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
           : "text/plain; version=0.0.4; charset=utf-8";
}

std::string run_metrics(const json& status, metrics_format format) {
  metrics_text result{format};
  if (status.is_object()) {
    const auto nodes = nodes_of(status);
    result.add_state("phase", "Whether the run is in a phase.", phases_of(status));
    result.add(of_run, {{status, {}}});
    result.add(of_clients, {{member_of(status, "clients"), {}}});
    if (const auto row = member_of(status, "newest_row"); row.is_object()) {
      result.add(metrics_of_row(), {{row, {}}});
      result.add_state("metric", "A metric that the job asks for, last evaluated.",
                       own_metrics_of(row));
    }
    result.add_state("node_takes_part", "Whether a process takes part.", participation_of(nodes));
    result.add(of_node, nodes);
    result.add(of_trainer, trainers_of(status));
  }
  return std::move(result).text();
}

} // namespace troupe
