// A coordinator of an application's main model as an actor, and a replica with rows of its own that is a member of it: in one
// process, or in several.
//
// Threads: actors of the application's system; send them messages from anywhere.
// Errors: options that do not fit end the actor with the reason; each update is answered with a verdict.

#pragma once

#include "actors/embed/coordinator.hpp"
#include "actors/embed/member_replica.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/disk/blob_store.hpp"
#include "troupe/coordinators.hpp"
