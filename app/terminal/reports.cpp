#include "app/terminal/reports.hpp"

#include "app/terminal/figures_text.hpp"
#include "coordinators/job/memory_need.hpp"
#include "coordinators/parallel/grid.hpp"
#include "coordinators/parallel/parallel_plan.hpp"
#include "data/records/history_figures.hpp"
#include "data/records/training_record.hpp"
#include "data/text/shown_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

json range_object(const index_range& x) {
  return {x.begin, x.end};
}

std::vector<std::string_view> names_of(const std::vector<layer_cut>& cuts) {
  std::vector<std::string_view> result;
  for (const auto cut : cuts)
    result.push_back(name_of(cut));
  return result;
}

index_range layers_of(const parallel_plan& plan, const partition& work) {
  if (work.empty())
    return {};
  return {plan.segments[work.segments.begin].layers.begin,
          plan.segments[work.segments.end - 1].layers.end};
}

double share_of(const parallel_plan& plan, const replica_plan& x) {
  double whole = 0;
  for (const auto& each : plan.replicas)
    whole += static_cast<double>(each.multiply_adds);
  return whole > 0 ? static_cast<double>(x.multiply_adds) / whole : 0;
}

uint64_t bytes_on(const link_plan& link, boundary_way way) {
  return link.bytes[static_cast<size_t>(way)];
}

std::string segment_table(const parallel_plan& plan) {
  text_table table{3, {"segment", "layers", "cut by", "units behind", "work"}};
  for (size_t k = 0; k < plan.segments.size(); ++k) {
    const auto& x = plan.segments[k];
    table.add({std::to_string(k), range_text(x.layers),
               fmt::format("{}", fmt::join(names_of(x.cuts), ", ")), std::to_string(x.width),
               percent(x.share)});
  }
  return table.text();
}

/// A cluster's nodes have names.
bool is_cluster(const parallel_plan& plan) {
  return plan.processes.size() > 1;
}

std::string name_of(const process_plan& x) {
  return x.name.empty() ? "this" : x.name;
}

/// The process of the replica with this rank.
std::string process_of(const parallel_plan& plan, size_t rank) {
  for (const auto& x : plan.processes)
    if (std::ranges::find(x.replicas, rank) != x.replicas.end())
      return name_of(x);
  return {};
}

std::string replica_table(const parallel_plan& plan) {
  text_table table{5,
                   {"replica", "process", "slices", "layers", "parts", "work", "reads", "held",
                    "gradients", "activations", "boundaries"}};
  for (size_t rank = 0; rank < plan.replicas.size(); ++rank) {
    const auto& x = plan.replicas[rank];
    if (x.work.empty()) {
      table.add({std::to_string(rank), process_of(plan, rank), "none"});
      continue;
    }
    table.add({std::to_string(rank), process_of(plan, rank), range_text(x.work.slices),
               range_text(layers_of(plan, x.work)),
               fmt::format("{} of {}", range_text(x.work.parts), plan.part_count),
               percent(share_of(plan, x)), bytes_text(x.parameter_bytes),
               std::to_string(x.slices_held), bytes_text(x.gradient_bytes()),
               bytes_text(x.activation_bytes()),
               bytes_text(x.boundary_bytes() + x.kept_boundary_bytes)});
  }
  return table.text();
}

/// The causes for which any process needs bytes.
std::vector<memory_cause> causes_of(const std::vector<process_plan>& processes) {
  std::vector<memory_cause> result;
  for (const auto& [cause, name] : name_table<memory_cause>::entries)
    if (std::ranges::any_of(
          processes, [cause = cause](const process_plan& x) { return x.memory.of(cause) > 0; }))
      result.push_back(cause);
  return result;
}

std::string process_table(const std::vector<process_plan>& processes) {
  const auto causes = causes_of(processes);
  std::vector<std::string> head{"process", "window"};
  for (const auto cause : causes)
    head.emplace_back(name_of(cause));
  head.insert(head.end(), {"in all", "limit"});
  const auto on_devices =
    std::ranges::any_of(processes, [](const process_plan& x) { return x.on_devices.bytes > 0; });
  if (on_devices)
    head.emplace_back("on devices");
  text_table table{1, head};
  for (const auto& x : processes) {
    std::vector<std::string> row{name_of(x), bytes_text(x.window * sizeof(float))};
    for (const auto cause : causes)
      row.push_back(bytes_text(x.memory.of(cause)));
    row.push_back(bytes_text(x.memory.sum()));
    row.push_back(x.limit ? bytes_text(*x.limit) : "none");
    if (on_devices)
      row.push_back(bytes_text(x.on_devices.bytes));
    table.add(row);
  }
  return table.text();
}

std::string process_link_table(const parallel_plan& plan) {
  if (plan.process_links.empty())
    return "No process sends another anything.\n";
  std::vector<std::string> head{"from, to", "gradients", "parameters", "forward",
                                "backward", "figures",   "sums",       "a step"};
  const auto fetched = std::ranges::any_of(
    plan.process_links, [](const process_link_plan& link) { return link.fetched > 0; });
  if (fetched)
    head.insert(head.begin() + 3, "fetched");
  text_table table{1, head};
  for (const auto& link : plan.process_links) {
    std::vector<std::string> row{
      fmt::format("{}, {}", name_of(plan.processes[link.from]), name_of(plan.processes[link.to]))};
    for (const auto bytes : {link.gradients, link.parameters, link.boundaries[0],
                             link.boundaries[1], link.boundaries[2], link.block_sums, link.sum()})
      row.push_back(bytes_text(bytes));
    if (fetched)
      row.insert(row.begin() + 3, bytes_text(link.fetched));
    table.add(row);
  }
  return table.text();
}

std::string link_table(const parallel_plan& plan) {
  if (plan.links.empty())
    return "No replica sends another anything but its gradients.\n";
  text_table table{1, {"from, to", "forward", "backward", "figures", "a step"}};
  for (const auto& link : plan.links)
    table.add({fmt::format("{}, {}", link.from, link.to),
               bytes_text(bytes_on(link, boundary_way::forward)),
               bytes_text(bytes_on(link, boundary_way::backward)),
               bytes_text(bytes_on(link, boundary_way::figures)), bytes_text(link.sum())});
  return table.text();
}

json replica_object(const replica_plan& x) {
  return {{"slices", range_object(x.work.slices)}, {"segments", range_object(x.work.segments)},
          {"parts", range_object(x.work.parts)},   {"multiply_adds", x.multiply_adds},
          {"parameter_bytes", x.parameter_bytes},  {"slices_held", x.slices_held},
          {"gradient_bytes", x.gradient_bytes()},  {"activation_bytes", x.activation_bytes()},
          {"boundary_bytes", x.boundary_bytes()},  {"kept_boundary_bytes", x.kept_boundary_bytes}};
}

json process_object(const process_plan& x) {
  json spans = json::array(), memory = json::object();
  for (const auto& span : x.spans)
    spans.push_back(range_object(span));
  for (const auto& [cause, name] : name_table<memory_cause>::entries)
    memory[std::string{name}] = x.memory.of(cause);
  json result{{"name", x.name},     {"replicas", x.replicas}, {"spans", spans},
              {"window", x.window}, {"memory", memory},       {"bytes", x.memory.sum()}};
  if (x.limit)
    result["limit"] = *x.limit;
  if (x.on_devices.bytes > 0)
    result["device_bytes"] = x.on_devices.bytes;
  return result;
}

json link_object(const parallel_plan& plan, const process_link_plan& x) {
  return {{"from", plan.processes[x.from].name},
          {"to", plan.processes[x.to].name},
          {"gradients", x.gradients},
          {"parameters", x.parameters},
          {"fetched", x.fetched},
          {"forward", x.boundaries[0]},
          {"backward", x.boundaries[1]},
          {"figures", x.boundaries[2]},
          {"block_sums", x.block_sums}};
}

} // namespace

std::string plan_report(const parallel_plan& plan) {
  auto result = fmt::format("model    {}, {} parameters; cuts {}\n"
                            "step     {} slices; data {}, tensor {}, pipeline {}; bubble {}\n"
                            "balance  the busiest replica has {:.2f} times the mean work\n\n",
                            fmt::join(plan.widths, "-"), plan.parameter_count, plan.part_count,
                            plan.slice_count, plan.shape.data, plan.shape.tensor,
                            plan.shape.pipeline, percent(plan.bubble), plan.imbalance);
  return result + segment_table(plan) + '\n' + replica_table(plan) + '\n' +
         process_table(plan.processes) + '\n' +
         (is_cluster(plan) ? process_link_table(plan) : link_table(plan));
}

std::string plan_report(const std::vector<process_plan>& processes) {
  return process_table(processes);
}

std::string plan_json(const std::vector<process_plan>& processes) {
  json object{{"processes", json::array()}};
  for (const auto& x : processes)
    object["processes"].push_back(process_object(x));
  return one_line(object);
}

std::string plan_json(const parallel_plan& plan) {
  json object{{"widths", plan.widths},           {"parameters", plan.parameter_count},
              {"cuts", plan.part_count},         {"slices", plan.slice_count},
              {"data", plan.shape.data},         {"tensor", plan.shape.tensor},
              {"pipeline", plan.shape.pipeline}, {"bubble", plan.bubble},
              {"imbalance", plan.imbalance},     {"stage_shares", plan.stage_shares},
              {"segments", json::array()},       {"replicas", json::array()},
              {"links", json::array()},          {"processes", json::array()},
              {"process_links", json::array()},  {"warnings", plan.warnings}};
  for (const auto& x : plan.segments)
    object["segments"].push_back({{"layers", range_object(x.layers)},
                                  {"cut", names_of(x.cuts)},
                                  {"width", x.width},
                                  {"work", x.share}});
  for (const auto& x : plan.replicas)
    object["replicas"].push_back(replica_object(x));
  for (const auto& x : plan.links)
    object["links"].push_back({{"from", x.from},
                               {"to", x.to},
                               {"forward", bytes_on(x, boundary_way::forward)},
                               {"backward", bytes_on(x, boundary_way::backward)},
                               {"figures", bytes_on(x, boundary_way::figures)}});
  for (const auto& x : plan.processes)
    object["processes"].push_back(process_object(x));
  for (const auto& x : plan.process_links)
    object["process_links"].push_back(link_object(plan, x));
  return one_line(object);
}

namespace {

void add_figure(std::string& out, std::string_view name, const std::optional<double>& value) {
  if (value)
    add_line(out, name, fmt::format("{:.6g}", *value));
}

void add_clients(std::string& out, const client_evaluation& x) {
  const auto line = [&](std::string_view name, const client_quantiles& spread, double worst) {
    add_line(
      out, name,
      fmt::format("10 % {:.4g}, 50 % {:.4g}, 90 % {:.4g}, greatest {:.4g}; worst tenth {:.4g}",
                  spread.p10, spread.p50, spread.p90, spread.most, worst));
  };
  add_line(out, "clients judged", fmt::format("{} by {} test rows", x.clients, x.rows));
  line("client loss", x.losses, x.worst_tenth_loss);
  if (x.accuracies)
    line("client accuracy", *x.accuracies, x.worst_tenth_accuracy.value_or(0));
}

} // namespace

std::string run_report(const training_summary& summary) {
  std::string result;
  add_line(result, "epochs", std::to_string(summary.epochs));
  add_line(result, "steps", std::to_string(summary.steps));
  if (summary.best_version)
    add_line(result, "best version", "step " + std::to_string(*summary.best_version));
  if (!summary.stopped_by.empty())
    add_line(result, "stopped by", summary.stopped_by);
  if (!summary.rate_reductions.empty())
    add_line(result, "rate lowered",
             fmt::format("from step {}", fmt::join(summary.rate_reductions, ", ")));
  add_line(result, "seconds", fmt::format("{:.3f}", summary.seconds));
  if (summary.samples_per_second > 0)
    add_line(result, "samples/s", fmt::format("{:.0f}", summary.samples_per_second));
  add_figure(result, "train loss", summary.train_loss);
  for (const auto& one : evaluated_figures(summary)) {
    auto name = one.short_name(); // "val macro f1"
    std::ranges::replace(name, '_', ' ');
    add_figure(result, name, one.in(summary));
  }
  if (summary.threshold)
    add_figure(result, "threshold", summary.threshold);
  if (summary.client_figures)
    add_clients(result, *summary.client_figures);
  if (summary.clients && summary.clients->privacy)
    add_line(result, "epsilon",
             fmt::format("{:.6g} at delta {:.3g}", summary.clients->privacy->epsilon,
                         summary.clients->privacy->delta));
  for (const auto& one : summary.left_out)
    add_line(result, "left out", one);
  if (!summary.reproducible)
    add_line(result, "reproducible", "no: what is applied depends on who comes first");
  add_line(result, "parameters sha256", summary.parameters_sha256);
  add_line(result, "model file", summary.model_file);
  return result;
}

} // namespace troupe
