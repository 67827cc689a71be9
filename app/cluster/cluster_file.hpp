// A cluster file: one file that describes every process of a run. It is a job file with nodes, or
// it names one; docs/clusters.md lists the keys.
//
//   job = "digits.toml"
//
//   [[node]]
//   name = "main"
//   address = "10.0.0.1:7400"
//   director = true
//
// Every machine reads the same file; an argument of `troupe node` says which of the nodes it is.

#pragma once

#include "app/job/job_file.hpp"
#include "coordinators/membership/cluster_plan.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// What a node proves its name with.
struct node_credentials {
  std::string certificate_file;
  std::string key_file;

  friend bool operator==(const node_credentials&, const node_credentials&) = default;
};

/// Paths relative to the current folder.
struct cluster_tls {
  std::string authority_file;                ///< signed every node's certificate
  std::vector<node_credentials> credentials; ///< of each node, in their order
  node_credentials of_joiners;               ///< of nodes that the file does not list

  friend bool operator==(const cluster_tls&, const cluster_tls&) = default;
};

/// A cluster and its job, as a file describes them.
struct loaded_cluster {
  cluster_plan plan;
  std::optional<cluster_tls> tls;  ///< absent: links are neither secret nor proven
  loaded_job job;                  ///< training.replicas: groups that the nodes make up
  std::vector<std::string> places; ///< "file:line:column" of each node's address
  std::vector<data_options>
    node_data{}; ///< of each node, where nodes have rows of their own (data.at_nodes)
  bool has_idle_shards = false; ///< nodes ask for shards, and the job's mode has one owner
};

/// Index of the node that is the director.
size_t director_of(const cluster_plan& plan);

/// True when programs on other machines can reach a node and need no certificate.
bool is_open_to_strangers(const loaded_cluster& x);

/// True when the file has keys that only a cluster file has. Throws as load_job_and_places.
bool is_cluster_file(const std::string& path);

/// The cluster and its job. What `load_job_and_places` says of a job holds here too; what the
/// cluster file says of the job wins over the file it names.
///
/// Throws failure(missing_input | no_permission) when a file cannot be read, else job_errors with
/// everything that is wrong.
loaded_cluster load_cluster(const std::string& path, const std::vector<std::string>& sets = {},
                            const environment& variables = {});

/// A cluster and its job as one file with every key, defaults included.
std::string cluster_text(const loaded_cluster& x);

} // namespace troupe
