#include "troupe/actors/run/client_figures.hpp"

#include "troupe/coordinators/job/federated_job.hpp"
#include "troupe/data/training_rows/client_partition.hpp"
#include "troupe/data/training_rows/row_source.hpp"
#include "troupe/models/base/rounding.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// A client may have any number of rows: they are taken in pieces.
constexpr size_t rows_at_once = 256;

} // namespace

client_evaluation client_figures_of(const job& resolved,
                                    const std::shared_ptr<const prepared_data>& data,
                                    const model& network, std::span<const float> parameters) {
  const default_rounding rounding;
  const auto& test = data->test;
  const auto source = rows_of(data).test;
  auto options = partition_of(resolved);
  options.held_out = true;
  const auto clients = clients_of(options, test);
  std::vector<float> losses, accuracies;
  batch_reader reader;
  workspace memory;
  for (size_t client = 0; client < clients.client_count(); ++client) {
    const auto rows = clients.of(client);
    if (rows.empty())
      continue;
    batch_sums sums;
    for (size_t begin = 0; begin < rows.size(); begin += rows_at_once)
      sums =
        sums +
        network.evaluate(
          parameters,
          source->gather(rows.subspan(begin, std::min(rows_at_once, rows.size() - begin)), reader),
          memory);
    const auto count = static_cast<double>(sums.sample_count);
    losses.push_back(static_cast<float>(sums.loss_sum / count));
    if (test.is_classification())
      accuracies.push_back(static_cast<float>(static_cast<double>(sums.correct_count) / count));
  }
  return evaluation_of(losses, accuracies, test.row_count);
}

} // namespace troupe
