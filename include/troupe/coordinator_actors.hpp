// The coordinators of <troupe/coordinators.hpp> as actors: children in any process send gradients or parameters as
// messages.
//
// Threads: actors of the application's system; send them messages from anywhere.
// Errors: options that do not fit end the actor with the reason; each gradient and model is answered with a verdict.

#pragma once

#include "actors/embed/coordinate_gradients.hpp"
#include "actors/embed/coordinate_parameters.hpp"
#include "troupe/coordinators.hpp"
