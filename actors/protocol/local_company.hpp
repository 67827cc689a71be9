// Local company: the actors of a process that compute, and those that own parameters, each with
// every handle that its node can use. A run has one of three companies:
//
//                       workers     owners      members     the lists of their own
//   synchronous         replicas    shards      replicas    replicas, shards
//   solving             the solver  the solver  the solver
//   parameter server    trainers    the server              trainers, server

#pragma once

#include "actors/protocol/interfaces.hpp"

#include <vector>

namespace troupe {

struct local_company {
  std::vector<worker_actor> workers; ///< replicas of a view, by index in the process
  std::vector<owner_actor> owners;   ///< shards of a view, likewise
  // The same ones, by what else they take; each list is complete or empty.
  std::vector<step_member_actor> members;
  std::vector<replica_actor> replicas;
  std::vector<shard_actor> shards;
  std::vector<trainer_actor> trainers;
  server_actor server; ///< null: elsewhere, or there is none

  void add_worker(const step_member_actor& x) {
    workers.emplace_back(x);
    members.push_back(x);
  }
  void add(const replica_actor& x) {
    add_worker(x);
    replicas.push_back(x);
  }
  void add(const trainer_actor& x) {
    workers.emplace_back(x);
    trainers.push_back(x);
  }
  void add(const shard_actor& x) {
    owners.emplace_back(x);
    shards.push_back(x);
  }
  void add(const server_actor& x) {
    owners.emplace_back(x);
    server = x;
  }
};

} // namespace troupe
