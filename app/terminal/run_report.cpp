#include "app/terminal/figures_text.hpp"
#include "app/terminal/reports.hpp"
#include "data/records/history_figures.hpp"
#include "data/records/training_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

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
    add_line(result, "best version", std::to_string(*summary.best_version));
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
