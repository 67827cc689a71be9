// The command's reports to people: of a plan, of a run that has ended, and of one that goes on.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct parallel_plan;    // coordinators/parallel/parallel_plan.hpp
struct process_plan;     // coordinators/parallel/process_plan.hpp
struct training_summary; // data/records/training_record.hpp

/// A plan in aligned tables: segments, replicas, processes, and links: of processes, where there are several, else
/// of replicas.
std::string plan_report(const parallel_plan& plan);

/// The same as one JSON object on a line; ranges are [begin, end), bytes in full.
std::string plan_json(const parallel_plan& plan);

/// The memory of processes alone, where each replica has a whole model.
std::string plan_report(const std::vector<process_plan>& processes);
std::string plan_json(const std::vector<process_plan>& processes);

/// A run that ended, in a few lines of name and value; figures that were not measured are left out.
std::string run_report(const training_summary& summary);

/// A run as `troupe status` shows it: what goes on, which processes are behind, and a table of nodes. `status` is
/// the object of actors/net/gate/visit.hpp, as text. Throws failure(mismatch) when it lacks what this version shows.
std::string status_report(std::string_view status);

/// Of the same object only why nothing moves: the process that holds up the run, the chain of waits
/// that leads there, and what to do. One line when it moves. Throws as `status_report`.
std::string wait_report(std::string_view status);

} // namespace troupe
