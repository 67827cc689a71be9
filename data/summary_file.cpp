#include "troupe/data/summary_file.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? json(*value) : json(nullptr);
}

json error_object(const failure& error) {
  return {{"code", name_of(error.code())},
          {"what", error.reason()},
          {"where", error.where()},
          {"hint", error.hint()}};
}

// Paths and names come from outside and may be no UTF-8: never a reason to lose a summary.
std::string text_of(const json& object, json_layout layout) {
  const int indent = layout == json_layout::indented ? 2 : -1;
  return object.dump(indent, ' ', false, json::error_handler_t::replace) + '\n';
}

void add_figures(json& object, const training_summary& x) {
  object["job"] = x.job;
  object["strategy"] = x.strategy;
  object["replicas"] = x.replicas;
  object["slices"] = x.slices;
  object["nodes"] = x.nodes;
  object["steps"] = x.steps;
  object["epochs"] = x.epochs;
  object["samples"] = x.samples;
  object["seconds"] = number(x.seconds);
  object["samples_per_second"] = number(x.samples_per_second);
  object["train_loss"] = number(x.train_loss);
  object["test_loss"] = number(x.test_loss);
  object["test_accuracy"] = number(x.test_accuracy);
  object["test_r2"] = number(x.test_r2);
}

void add_circumstances(json& object, const training_summary& x) {
  object["parameters_sha256"] = x.parameters_sha256;
  object["job_sha256"] = x.job_sha256;
  object["numerics"] = x.numerics;
  object["model_file"] = x.model_file;
  object["stopped_by"] = x.stopped_by;
  object["samples_by_replica"] = x.samples_by_replica;
  object["steps_executed"] = x.steps_executed;
  object["views"] = x.views;
  object["replicas_lost"] = x.replicas_lost;
  object["rollbacks"] = x.rollbacks;
  object["bytes_sent"] = x.bytes_sent;
  object["resends"] = x.resends;
  object["validation_loss"] = number(x.validation_loss);
  object["validation_accuracy"] = number(x.validation_accuracy);
  object["validation_r2"] = number(x.validation_r2);
  object["best_version"] = x.best_version ? json(*x.best_version) : json(nullptr);
}

} // namespace

std::string summary_json(const training_summary& summary, json_layout layout,
                         const failure* error) {
  json object = json::object();
  if (error)
    object["error"] = error_object(*error);
  add_figures(object, summary);
  add_circumstances(object, summary);
  return text_of(object, layout);
}

std::string failure_json(const failure& error, std::string_view job_name) {
  json object{{"error", error_object(error)}};
  if (!job_name.empty())
    object["job"] = job_name;
  return text_of(object, json_layout::one_line);
}

} // namespace troupe
