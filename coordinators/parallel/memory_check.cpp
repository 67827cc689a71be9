#include "coordinators/parallel/memory_check.hpp"

#include "models/base/saturating.hpp"

#include <algorithm>
#include <array>

namespace troupe {

namespace {

std::string node_text(const process_plan& x) {
  return x.name.empty() ? "training takes" : "node '" + x.name + "' takes";
}

memory_need sum_of(const std::vector<process_plan>& processes) {
  memory_need result;
  for (const auto& x : processes)
    for (const auto& [cause, name] : name_table<memory_cause>::entries)
      result.add(cause, x.memory.of(cause));
  return result;
}

uint64_t beside_threads(uint64_t bytes, const std::optional<size_t>& new_threads) {
  const auto taken = new_threads ? address_bytes_of_threads(*new_threads) : 0;
  return bytes - std::min(bytes, taken);
}

} // namespace

run_place place_in(const cluster_plan& cluster, const std::string& own_name) {
  return {cluster, cluster.find(own_name).value_or(0)};
}

std::optional<job_problem> countless_problem(const job& resolved, const data_shape& shape,
                                             const memory_room& room) {
  const auto need = beyond_counting(resolved, shape);
  if (!need)
    return std::nullopt;
  const auto bytes = std::min({room.machine, room.groups, room.address_space, countable_bytes});
  const auto parameters = std::to_string(parameter_count_of(resolved, shape));
  return memory_problem(*need, {memory_limit_kind::machine, bytes},
                        "a model of " + parameters + " parameters takes");
}

std::optional<job_problem> memory_problem(const std::vector<process_plan>& processes,
                                          const run_place& where, const memory_room& room) {
  for (const auto& x : processes)
    if (x.limit)
      if (const auto found =
            memory_problem(x.memory, {memory_limit_kind::stated, *x.limit}, node_text(x)))
        return found;
  if (!where.own)
    return std::nullopt;
  const auto& own = processes.at(*where.own);
  const auto here = where.has_all_nodes ? sum_of(processes) : own.memory;
  const std::string who = where.has_all_nodes ? "all nodes together take" : node_text(own);
  const auto space = beside_threads(room.address_space, where.new_threads);
  auto found =
    memory_problem(own.memory, {memory_limit_kind::address_space, space}, node_text(own));
  if (!found)
    found = memory_problem(here, {memory_limit_kind::group, room.groups}, who);
  if (!found)
    found = memory_problem(here, {memory_limit_kind::machine, room.machine}, who);
  return found;
}

} // namespace troupe
