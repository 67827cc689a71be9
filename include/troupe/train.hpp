// Training in the application's own actor system: `train` blocks until the run has ended; `start_training` returns at
// once, and tells an actor; `company` is the same in steps.
//
//   caf::actor_system_config config;
//   troupe::configure(config);           // Troupe's message types and scheduler
//   caf::actor_system system{config};
//   troupe::job job;
//   job.data.file = "digits.csv.gz";
//   job.model.hidden = {64};
//   const auto result = troupe::train(system, job);
//
// Threads: any but the scheduler's may call `train`, which waits there; callbacks come on that thread. Several runs
// may share a system.
// Errors: `failure` (a code, what, where, what to do). A run that diverges is no error: `result.problem` says so.

#pragma once

#include "actors/embed/verify_in_company.hpp"
#include "actors/protocol/status_messages.hpp"
#include "actors/protocol/write_messages.hpp"
#include "actors/run/company.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/model_writer.hpp"
#include "actors/run/train.hpp"
#include "actors/run/training_run.hpp"
#include "coordinators/job/resolve.hpp"
#include "data/checkpoint/checkpoint_store.hpp"
#include "data/disk/blob_store.hpp"
#include "data/text/failure.hpp"
#include "data/training_rows/prepare.hpp"
