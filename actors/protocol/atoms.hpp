// The verbs of the protocol. Texts have at most ten characters, a limit of CAF's.

#pragma once

#include <caf/atom.hpp>

CAF_ADD_ATOM(troupe_atoms, troupe::atom, all_gather, "all_gather")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, all_reduce, "all_reduce")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, barrier, "barrier")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, begin, "begin")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, broadcast, "broadcast")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, figures, "figures")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, found, "found")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, held, "held")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, hold, "hold")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, join, "join")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, leave, "leave")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, pull, "pull")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, reduce_scatter, "reducescat")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, save, "save")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, scatter, "scatter")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, status, "status")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, stop, "stop")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, tick, "tick")
CAF_ADD_ATOM(troupe_atoms, troupe::atom, watch, "watch")
