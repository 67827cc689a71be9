// A client of a federated run in the application's own process: it dials a server (`troupe train` with `federated.listen`),
// trains on rows that stay here, and sends models. Link troupe::client, which needs no CAF.
//
// Shapes: P parameters of the server's model, F features; rows are a `dataset` (N x F).
// Threads: one thread calls everything but `stop`; training runs on a thread of its own.
// Errors: `failure`, with the command's exit code.

#pragma once

#include "app/client/client_options.hpp"
#include "app/client/federated_client.hpp"
#include "data/text/failure.hpp"
