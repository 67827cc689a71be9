#include "app/terminal/figures_text.hpp"
#include "app/terminal/reports.hpp"
#include "data/records/history_figures.hpp"
#include "data/records/trainer_table.hpp"
#include "data/text/failure.hpp"
#include "data/text/json_value.hpp"
#include "data/text/shown_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

std::string count(const json& x) {
  uint64_t result = 0;
  read_value_of(x, result);
  return std::to_string(result);
}

std::string text(const json& x) {
  const auto value = printable_text(x.get<std::string>());
  return value.empty() ? "-" : value;
}

// Behind a heading that says "waits for".
std::string awaited_text(const json& x) {
  constexpr std::string_view beginning = "waiting for ";
  const auto value = text(x);
  return value.starts_with(beginning) ? value.substr(beginning.size()) : value;
}

std::string seconds(const json& x) {
  return x.is_null() ? "never" : fmt::format("{:.1f} s", x.get<double>());
}

std::string listed(const json& texts) {
  std::string result;
  for (const auto& one : texts)
    result += (result.empty() ? "" : "; ") + text(one);
  return result.empty() ? "-" : result;
}

std::vector<std::string> row_of(const json& node) {
  return {text(node.at("name")),
          text(node.at("role")),
          text(node.at("state")),
          count(node.at("replicas")),
          count(node.at("shards")),
          count(node.at("slices")),
          count(node.at("spans")),
          node.at("step").is_null() ? "-" : count(node.at("step")),
          seconds(node.at("last_heard_seconds")),
          fmt::format("{:.1f}", node.at("bytes_sent").get<double>() / 1e6),
          count(node.at("resends")),
          listed(node.at("waits_for"))};
}

/// What each replica carries of a model that is split; empty when each has it whole.
std::string partition_table(const json& nodes) {
  text_table result{text_table::all_left, {"replica", "partition"}};
  bool is_split = false;
  for (const auto& node : nodes) {
    const auto partitions = node.value("partitions", json::array());
    for (size_t i = 0; i < partitions.size(); ++i)
      result.add({text(node.at("name")) + '/' + std::to_string(i), text(partitions.at(i))});
    is_split = is_split || !partitions.empty();
  }
  return is_split ? '\n' + result.text() : "";
}

failure unreadable(const std::string& why) {
  return {failure_code::mismatch,
          "the director's answer cannot be read: " + why,
          {},
          "ask with the program that the cluster was started with"};
}

void add_number(std::string& out, std::string_view name, const json& x) {
  if (!x.is_null())
    add_line(out, name, fmt::format("{:.6g}", x.get<double>()));
}

std::string time_text(double seconds) {
  if (!(seconds < 1e9))
    return "-";
  const auto whole = static_cast<unsigned long>(std::max(seconds, 0.0));
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// How well it learns, and how long it takes.
void add_results(std::string& out, const json& x) {
  if (!x.at("seconds_left").is_null())
    add_line(out, "time left", time_text(x.at("seconds_left").get<double>()));
  add_number(out, "learning rate", x.at("learning_rate"));
  add_number(out, "train loss", x.at("train_loss"));
  add_number(out, "train accuracy", x.at("train_accuracy"));
  if (const auto privacy = x.find("privacy"); privacy != x.end())
    add_line(out, "privacy",
             fmt::format("epsilon {:.4g} at delta {:.3g}, {} releases",
                         privacy->at("epsilon").get<double>(), privacy->at("delta").get<double>(),
                         count(privacy->at("releases"))));
  const auto& row = x.at("newest_row");
  if (row.is_null())
    return;
  std::vector<std::string> keys;
  for (const auto& one : evaluated_figures())
    keys.push_back(one.name);
  for (const auto& [key, value] : row.items()) // the job's metrics
    if (figure_named(key).is_evaluated() && std::ranges::find(keys, key) == keys.end())
      keys.push_back(key);
  for (const auto& key : keys) {
    auto name = printable_text(key);
    std::ranges::replace(name, '_', ' ');
    add_number(out, name, row.at(key));
  }
}

std::string report_of(const json& x) {
  std::string result;
  add_line(result, "phase", text(x.at("phase")));
  add_line(result, "step", count(x.at("step")) + " of " + count(x.at("last_step")));
  add_line(result, "epoch", count(x.at("epoch")) + " of " + count(x.at("epochs")));
  add_line(result, "seconds", fmt::format("{:.1f}", x.at("seconds").get<double>()));
  add_line(result, "steps/s", fmt::format("{:.1f}", x.at("steps_per_second").get<double>()));
  add_line(result, "samples/s", fmt::format("{:.0f}", x.at("samples_per_second").get<double>()));
  add_results(result, x);
  add_line(result, "view",
           count(x.at("view").at("term")) + "." + count(x.at("view").at("number")) + " (" +
             count(x.at("views")) + " so far)");
  add_line(result, "replicas lost", count(x.at("replicas_lost")));
  add_line(result, "rollbacks",
           count(x.at("rollbacks")) + " (" + count(x.value("steps_again", json(0))) +
             " steps again)");
  add_line(result, "joins", count(x.value("joins", json(0))));
  add_line(result, "leaves", count(x.value("leaves", json(0))));
  add_line(result, "lives", count(x.value("lives", json(1))));
  add_line(result, "goodput",
           fmt::format("{:.1f} % (again {:.1f} s, still {:.1f} s)",
                       100 * x.value("goodput", json(1)).get<double>(),
                       x.value("seconds_again", json(0)).get<double>(),
                       x.value("seconds_still", json(0)).get<double>()));
  for (const auto& one : x.value("left_out", json::array()))
    add_line(result, "left out", text(one));
  add_line(result, "waits for", awaited_text(x.at("waits_for")));
  for (const auto& late : x.at("behind"))
    add_line(result, "behind",
             text(late.at("node")) + ", by " + seconds(late.at("seconds")) + ": " +
               listed(late.at("lacks")));
  text_table nodes{text_table::all_left,
                   {"node", "role", "state", "replicas", "shards", "slices", "spans", "step",
                    "heard", "MB sent", "resends", "waits for"}};
  for (const auto& node : x.at("nodes"))
    nodes.add(row_of(node));
  result += '\n' + nodes.text() + partition_table(x.at("nodes"));
  std::vector<trainer_record> trainers;
  read_value_of(x.at("trainers"), trainers);
  for (auto& one : trainers) {
    one.process = printable_text(one.process);
    one.partition.clear(); // it stands above
  }
  return result + (trainers.empty() ? "" : '\n' + trainer_table(trainers));
}

std::string explained(const json& x) {
  std::string result;
  const auto& why = x.at("explanation");
  if (why.is_null()) {
    const auto still = x.at("still_seconds").get<double>();
    add_line(result, "verdict",
             "nothing holds up the run: " + text(x.at("phase")) + ", step " + count(x.at("step")) +
               " of " + count(x.at("last_step")) +
               (still > 0 ? fmt::format(", last moved {:.1f} s ago", still) : ""));
    return result;
  }
  add_line(result, "verdict", text(why.at("verdict")));
  for (const auto& wait : why.at("chain"))
    add_line(result, "because",
             text(wait.at("who")) + " waits for " +
               (wait.at("from").is_null() ? "" : text(wait.at("from")) + ": ") +
               text(wait.at("what")));
  add_line(result, "what to do", text(why.at("advice")));
  return result;
}

std::string read_by(std::string (*report)(const json&), std::string_view status) {
  try {
    return report(json::parse(status));
  } catch (const json::exception& error) {
    throw unreadable(error.what());
  }
}

} // namespace

std::string status_report(std::string_view status) {
  return read_by(report_of, status);
}

std::string wait_report(std::string_view status) {
  return read_by(explained, status);
}

} // namespace troupe
