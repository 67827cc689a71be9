// What a private run needs beside its job: the secret key, and an identity that reveals nothing about its rows.
//
// A key may serve several jobs. Random numbers are drawn with a hash of the key and the job's identity, which includes
// its data's fingerprint. So two jobs, or one job on other rows, never have the same noise. The fingerprint in the
// identity is keyed: without the key it cannot confirm a guess at the rows.

#pragma once

#include "coordinators/job/job.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/privacy/secret_stream.hpp"

#include <string>

namespace troupe {

/// Adds to a private job the key of its key file, and makes that file if there is none. Returns other jobs unchanged.
/// Throws as read_or_make_key does.
job with_key(job x);

/// The fingerprint of these data in the job's identity.
std::string fingerprint_in(const job& x, const prepared_data& data);

/// The identity of a resolved job on its data (coordinators/job/resolve.hpp).
std::string identity_of(const job& resolved, const prepared_data& data);

/// The path of the run's release ledger, in its folder. Throws failure(bad_job) for a job without a folder.
std::string ledger_of(const job& resolved);

/// The key of a private run's random numbers. Throws std::invalid_argument for a job without its key.
secret_key key_of_run(const job& resolved, const prepared_data& data);

} // namespace troupe
