#include "troupe/data/records/summary_file.hpp"

#include "troupe/data/records/trainer_table.hpp"
#include "troupe/data/text/json_value.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>
#include <utility>

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

json spread_object(const client_quantiles& x) {
  return {{"p10", number(x.p10)},
          {"p50", number(x.p50)},
          {"p90", number(x.p90)},
          {"max", number(x.most)}};
}

json figures_object(const client_evaluation& x) {
  json result{{"clients", x.clients},
              {"rows", x.rows},
              {"test_loss", spread_object(x.losses)},
              {"test_loss_worst_tenth", number(x.worst_tenth_loss)}};
  if (x.accuracies) {
    result["test_accuracy"] = spread_object(*x.accuracies);
    result["test_accuracy_worst_tenth"] = number(x.worst_tenth_accuracy);
  }
  return result;
}

void add_circumstances(json& object, const training_summary& x) {
  object["parameters_sha256"] = x.parameters_sha256;
  object["job_sha256"] = x.job_sha256;
  object["arithmetic"] = x.arithmetic;
  object["model_file"] = x.model_file;
  object["stopped_by"] = x.stopped_by;
  if (!x.rate_reductions.empty())
    object["rate_reductions"] = x.rate_reductions;
  object["samples_by_replica"] = x.samples_by_replica;
  object["steps_executed"] = x.steps_executed;
  object["views"] = x.views;
  object["replicas_lost"] = x.replicas_lost;
  object["rollbacks"] = x.rollbacks;
  if (!x.left_out.empty())
    object["left_out"] = x.left_out;
  object["bytes_sent"] = x.wire.bytes_sent();
  object["bytes_by_kind"] = x.wire.bytes_by_kind;
  object["bytes_early"] = x.wire.bytes_early;
  object["resends"] = x.wire.resends;
  object["validation_loss"] = number(x.validation_loss);
  object["validation_accuracy"] = number(x.validation_accuracy);
  object["validation_r2"] = number(x.validation_r2);
  if (!x.metrics.empty()) {
    auto metrics = json::object();
    for (const auto& [name, value] : x.metrics)
      metrics[name] = number(value);
    object["metrics"] = metrics;
  }
  object["best_version"] = x.best_version ? json(*x.best_version) : json(nullptr);
  object["reproducible"] = x.reproducible;
  object["trainers"] = json::parse(trainers_json(x.trainers));
  if (x.clients && x.clients->privacy)
    object["privacy"] = {{"epsilon", x.clients->privacy->epsilon},
                         {"delta", x.clients->privacy->delta},
                         {"releases", x.clients->privacy->releases},
                         {"noise_multiplier", x.clients->privacy->noise},
                         {"sampling_rate", x.clients->privacy->sampling_rate},
                         {"clip_norm", x.clients->privacy->clip_norm}};
  else if (const auto& clients = x.clients)
    object["clients"] = {{"rounds", clients->rounds},
                         {"rounds_void", clients->void_rounds},
                         {"updates", clients->updates},
                         {"updates_refused", clients->refused}};
  if (const auto& figures = x.client_figures)
    object["client_figures"] = figures_object(*figures);
}

// What is absent or null keeps its default.
template <class Value>
void read(const json& object, const char* key, Value& out) {
  if (const auto& value = object.value(key, json()); !value.is_null())
    read_value_of(value, out);
}

template <class Value>
void read(const json& object, const char* key, std::optional<Value>& out) {
  if (const auto& value = object.value(key, json()); !value.is_null())
    read_value_of(value, out.emplace());
}

void read_figures(const json& object, training_summary& x) {
  read(object, "job", x.job);
  read(object, "strategy", x.strategy);
  read(object, "replicas", x.replicas);
  read(object, "slices", x.slices);
  read(object, "nodes", x.nodes);
  read(object, "steps", x.steps);
  read(object, "epochs", x.epochs);
  read(object, "samples", x.samples);
  read(object, "seconds", x.seconds);
  read(object, "samples_per_second", x.samples_per_second);
  read(object, "train_loss", x.train_loss);
  read(object, "test_loss", x.test_loss);
  read(object, "test_accuracy", x.test_accuracy);
  read(object, "test_r2", x.test_r2);
}

void read_circumstances(const json& object, training_summary& x) {
  read(object, "parameters_sha256", x.parameters_sha256);
  read(object, "job_sha256", x.job_sha256);
  read(object, "arithmetic", x.arithmetic);
  read(object, "model_file", x.model_file);
  read(object, "stopped_by", x.stopped_by);
  read(object, "rate_reductions", x.rate_reductions);
  read(object, "samples_by_replica", x.samples_by_replica);
  read(object, "steps_executed", x.steps_executed);
  read(object, "views", x.views);
  read(object, "replicas_lost", x.replicas_lost);
  read(object, "rollbacks", x.rollbacks);
  read(object, "left_out", x.left_out);
  read(object, "bytes_by_kind", x.wire.bytes_by_kind);
  read(object, "bytes_early", x.wire.bytes_early);
  read(object, "resends", x.wire.resends);
  read(object, "validation_loss", x.validation_loss);
  read(object, "validation_accuracy", x.validation_accuracy);
  read(object, "validation_r2", x.validation_r2);
  const auto metrics = object.value("metrics", json::object());
  for (const auto& [name, value] : metrics.items())
    read(metrics, name.c_str(), x.metrics[name]);
  read(object, "best_version", x.best_version);
  read(object, "reproducible", x.reproducible);
}

[[noreturn]] void throw_no_summary(const std::string& path) {
  throw failure(failure_code::bad_data, "it is no summary of a run", path,
                "use --overwrite to train again, or set another output.directory");
}

} // namespace

training_summary read_summary(std::string_view text, const std::string& path) {
  training_summary result;
  try {
    const auto object = json::parse(text); // of an array no value can be asked
    read_figures(object, result);
    read_circumstances(object, result);
    auto trainers = read_trainers(object.value("trainers", json::array()).dump());
    if (!trainers)
      throw_no_summary(path);
    result.trainers = std::move(*trainers);
  } catch (const json::exception&) {
    throw_no_summary(path);
  }
  return result;
}

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
