// A federated run's clients: simulated, of a record that is repeated, or dialling in.

#pragma once

#include "actors/tasks/federation.hpp"
#include "coordinators/job/job.hpp"
#include "data/records/sequence_file.hpp"
#include "data/training_rows/prepare.hpp"

#include <cstddef>
#include <memory>

namespace troupe {

class client_port; // actors/net/clients/client_port.hpp

/// Where the clients of a resolved job dial in; null: nobody does. Throws as client_port does.
std::shared_ptr<client_port> client_port_of(const job& resolved, const prepared_data& data,
                                            size_t parameter_count);

/// The clients of a resolved job; null for other strategies. `port`: where they dial in, or null.
std::shared_ptr<const federation> federation_of(const job& resolved, const prepared_data& data,
                                                const sequence_options& records,
                                                const std::shared_ptr<client_port>& port);

} // namespace troupe
