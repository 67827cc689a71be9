// What a private run needs beside its job: the key, and who it is without telling of its rows.
//
// A key may serve several jobs: what is drawn is drawn by a hash of the key and the job's identity, its
// data's fingerprint among it. So two jobs, or one on other rows, never have the same noise. And nobody
// without the key can try a guess at the rows against that fingerprint: the identity has a keyed one.

#pragma once

#include "coordinators/job/job.hpp"
#include "data/training_rows/prepare.hpp"
#include "models/privacy/secret_stream.hpp"

#include <string>

namespace troupe {

/// A private job with the key of its file, which is made if there is none; any other as it is. Throws
/// as read_or_make_key does.
job with_key(job x);

/// The fingerprint that the identity of the job has of these data.
std::string fingerprint_in(const job& x, const prepared_data& data);

/// The identity of a resolved job on its data (coordinators/job/resolve.hpp).
std::string identity_of(const job& resolved, const prepared_data& data);

/// Where the ledger of its releases is: in the run's folder. Throws failure(bad_job) for a job that names
/// none.
std::string ledger_of(const job& resolved);

/// What a private run draws by. Throws std::invalid_argument for a job without its key.
secret_key key_of_run(const job& resolved, const prepared_data& data);

} // namespace troupe
