// How a federated run's final model serves its clients: each is judged by the test rows that are its
// own. Test rows are dealt out as training rows were (data/training_rows/client_partition.hpp).

#pragma once

#include "troupe/coordinators/job/job.hpp"
#include "troupe/data/training_rows/prepare.hpp"
#include "troupe/models/network/model.hpp"
#include "troupe/models/training/round_record.hpp"

#include <memory>
#include <span>

namespace troupe {

/// Of a resolved job. Who has no test rows is not judged.
client_evaluation client_figures_of(const job& resolved,
                                    const std::shared_ptr<const prepared_data>& data,
                                    const model& network, std::span<const float> parameters);

} // namespace troupe
