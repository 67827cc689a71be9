// What CAF knows a process by. By itself CAF takes the machine's network cards and the process number: two
// containers on one network, each with process 1, would be one node to it, and never linked.

#pragma once

namespace caf {
class actor_system_config;
} // namespace caf

namespace troupe {

/// Systems made from `config`, which has the middleman already, are nodes with random numbers.
void draw_node_identity(caf::actor_system_config& config);

} // namespace troupe
