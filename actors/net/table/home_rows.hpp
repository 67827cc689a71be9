// Before training all nodes agree on the table of rows that only some of them have (table_agreement.hpp): the director opens
// its gate for visits, the others visit it until they have the table, and each reads its own rows by it.
//
// A node that starts while training goes on visits the director likewise; a director that goes on with a run has the
// table from its run directory, and asks nobody.

#pragma once

#include "actors/run/job_data.hpp"
#include "coordinators/membership/cluster_plan.hpp"
#include "data/identity/certificate.hpp"

#include <functional>
#include <optional>
#include <string>

namespace troupe {

struct home_rows_options {
  cluster_plan plan;
  std::string own_name;
  std::optional<tls_files> tls;         ///< absent: connections are plain
  int inherited_listen_fd = -1;         ///< of the director, as in networked_options; stays open
  std::function<bool()> stop_requested; ///< asked some times a second
  std::function<void(const std::string&)> on_news; ///< a line, without break, for people
};

/// This process's rows, prepared as those of one holding of several, or none, and what is known of all. `table`: what an
/// earlier life of the run has agreed on, or empty; afterwards what is agreed on (table_text).
///
/// Throws failure: unavailable when a node does not come within the plan's timeouts.join; bad_data, bad_job or mismatch,
/// naming the node, when rows do not go together; interrupted; what a gate or a visitor throws, and what `own.read` does.
prepared_data agree_on_rows(const own_rows& own, const home_rows_options& options,
                            std::string& table);

} // namespace troupe
