// All-reduce, reduce-scatter, all-gather, broadcast, scatter and barrier of an application's own buffers, among actors of one
// process (`spawn_collective`) or of several (`networked_collective`).
//
// Threads: members are actors; send them messages from anywhere. The sum has the same bits in whatever order parts come.
// Errors: each call is answered once by its deadline: with values, or with collective_failed and the lost member's name.

#pragma once

#include "actors/collective/collective_member.hpp"
#include "actors/net/collective/networked_collective.hpp"
#include "actors/net/process/networked_process.hpp"
