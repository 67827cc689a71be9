// Job files and cluster files, read as the command reads them: an application trains what a file says, or is the node of a
// cluster that a file describes. Link troupe::command.
//
//   const auto job = troupe::load_job("job.toml");                     // then troupe::train(system, job)
//   const auto cluster = troupe::load_cluster("cluster.toml");
//   take_part(system, cluster.job.value, cluster.plan, "south", {.tls = tls_of(cluster, *cluster.plan.find("south"))});
//
// Paths in a file are relative to its folder. `sets` are texts as after --set ("training.epochs=5").
//
// Threads: any. Errors: `failure` for a file that cannot be read, `job_errors` with everything that is wrong, each with its
// line.

#pragma once

#include "app/cluster/cluster_file.hpp"
#include "app/cluster/node_choice.hpp"
#include "app/job/job_file.hpp"
