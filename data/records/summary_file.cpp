#include "data/records/summary_file.hpp"

#include "data/records/history_figures.hpp"
#include "data/records/trainer_table.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <variant>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

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

json spread_object(const client_quantiles& x) {
  return {{"p10", x.p10}, {"p50", x.p50}, {"p90", x.p90}, {"max", x.most}};
}

json judged_by_clients(const training_summary& summary) {
  if (!summary.client_figures)
    return {};
  const auto& x = *summary.client_figures;
  json result{{"clients", x.clients},
              {"rows", x.rows},
              {"test_loss", spread_object(x.losses)},
              {"test_loss_worst_tenth", x.worst_tenth_loss}};
  if (x.accuracies) {
    result["test_accuracy"] = spread_object(*x.accuracies);
    result["test_accuracy_worst_tenth"] = json_of<json>(x.worst_tenth_accuracy);
  }
  return result;
}

json privacy_of(const training_summary& summary) {
  if (!summary.clients || !summary.clients->privacy)
    return {};
  const auto& x = *summary.clients->privacy;
  return {{"epsilon", x.epsilon},
          {"delta", x.delta},
          {"releases", x.releases},
          {"noise_multiplier", x.noise},
          {"sampling_rate", x.sampling_rate},
          {"clip_norm", x.clip_norm}};
}

json clients_of(const training_summary& summary) {
  if (!summary.clients || summary.clients->privacy)
    return {};
  const auto& x = *summary.clients;
  return {{"rounds", x.rounds},
          {"rounds_void", x.void_rounds},
          {"updates", x.updates},
          {"updates_refused", x.refused}};
}

template <class Run, class Function>
void each_summary_figure(Run& x, Function f) {
  const auto results = [&](bool of_validation) {
    for (const auto& one : evaluated_figures())
      if (one.validates() == of_validation)
        f(one.name.c_str(), x.*std::get<std::optional<double> result_figures::*>(one.member));
  };
  f("job", x.job);
  f("strategy", x.strategy);
  f("replicas", x.replicas);
  f("slices", x.slices);
  f("nodes", x.nodes);
  f("steps", x.steps);
  f("epochs", x.epochs);
  f("samples", x.samples);
  f("seconds", x.seconds);
  f("samples_per_second", x.samples_per_second);
  f("train_loss", x.train_loss);
  results(false);
  f("parameters_sha256", x.parameters_sha256);
  f("job_sha256", x.job_sha256);
  f("arithmetic", x.arithmetic);
  f("model_file", x.model_file);
  f("stopped_by", x.stopped_by);
  f("rate_reductions", x.rate_reductions, none_is::left_out);
  f("samples_by_replica", x.samples_by_replica);
  f("spans_by_node", x.spans_by_node);
  f("steps_executed", x.steps_executed);
  each_recovery_figure(x, f);
  f("goodput", x.goodput());
  f("left_out", x.left_out, none_is::left_out);
  f("bytes_sent", x.bytes_sent());
  f("bytes_by_kind", x.bytes_by_kind);
  f("bytes_early", x.bytes_early);
  f("resends", x.resends);
  results(true);
  f("metrics", x.metrics, none_is::left_out);
  f("best_version", x.best_version);
  f("threshold", x.threshold, none_is::left_out);
  f("reproducible", x.reproducible);
  f("trainers", x.trainers);
  f("privacy", privacy_of(x), none_is::left_out);
  f("clients", clients_of(x), none_is::left_out);
  f("client_figures", judged_by_clients(x), none_is::left_out);
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
    each_summary_figure(result, figures_from{object});
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
  each_summary_figure(summary, figures_into{object});
  return text_of(object, layout);
}

std::string failure_json(const failure& error, std::string_view job_name) {
  json object{{"error", error_object(error)}};
  if (!job_name.empty())
    object["job"] = job_name;
  return text_of(object, json_layout::one_line);
}

} // namespace troupe
