// An actor that learns batches in the order they come. Other actors can pull its parameters at any time. It rolls back
// a batch that would spoil the model.
//
// Threads: an actor of the application's system; send it messages from anywhere.
// Errors: options that do not fit each other end the actor with the reason; each batch is answered with a verdict.

#pragma once

#include "actors/embed/online.hpp"
