#include "troupe/app/terminal/reports.hpp"
#include "troupe/data/records/history_figures.hpp"
#include "troupe/data/records/training_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

namespace {

constexpr size_t name_columns = 19; // the longest name and two blanks

void add(std::string& out, std::string_view name, const std::string& value) {
  out += name;
  out.append(name.size() < name_columns ? name_columns - name.size() : 1, ' ');
  out += value + '\n';
}

void add_figure(std::string& out, std::string_view name, const std::optional<double>& value) {
  if (value)
    add(out, name, fmt::format("{:.6g}", *value));
}

void add_clients(std::string& out, const client_evaluation& x) {
  const auto line = [&](std::string_view name, const client_quantiles& spread, double worst) {
    add(out, name,
        fmt::format("10 % {:.4g}, 50 % {:.4g}, 90 % {:.4g}, greatest {:.4g}; worst tenth {:.4g}",
                    spread.p10, spread.p50, spread.p90, spread.most, worst));
  };
  add(out, "clients judged", fmt::format("{} by {} test rows", x.clients, x.rows));
  line("client loss", x.losses, x.worst_tenth_loss);
  if (x.accuracies)
    line("client accuracy", *x.accuracies, x.worst_tenth_accuracy.value_or(0));
}

} // namespace

std::string run_report(const training_summary& summary) {
  std::string result;
  add(result, "epochs", std::to_string(summary.epochs));
  add(result, "steps", std::to_string(summary.steps));
  if (summary.best_version)
    add(result, "best version", std::to_string(*summary.best_version));
  if (!summary.stopped_by.empty())
    add(result, "stopped by", summary.stopped_by);
  if (!summary.rate_reductions.empty())
    add(result, "rate lowered",
        fmt::format("from step {}", fmt::join(summary.rate_reductions, ", ")));
  add(result, "seconds", fmt::format("{:.3f}", summary.seconds));
  if (summary.samples_per_second > 0)
    add(result, "samples/s", fmt::format("{:.0f}", summary.samples_per_second));
  add_figure(result, "train loss", summary.train_loss);
  for (const auto& one : evaluated_figures(summary)) {
    auto name = one.short_name(); // "val macro f1"
    std::ranges::replace(name, '_', ' ');
    add_figure(result, name, one.in(summary));
  }
  if (summary.client_figures)
    add_clients(result, *summary.client_figures);
  if (summary.clients && summary.clients->privacy)
    add(result, "epsilon",
        fmt::format("{:.6g} at delta {:.3g}", summary.clients->privacy->epsilon,
                    summary.clients->privacy->delta));
  for (const auto& one : summary.left_out)
    add(result, "left out", one);
  if (!summary.reproducible)
    add(result, "reproducible", "no: what is applied depends on who comes first");
  add(result, "parameters sha256", summary.parameters_sha256);
  add(result, "model file", summary.model_file);
  return result;
}

} // namespace troupe
