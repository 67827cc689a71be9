#include "actors/run/private_run.hpp"

#include "coordinators/job/private_job.hpp"
#include "coordinators/job/resolve.hpp"
#include "data/privacy/key_file.hpp"
#include "data/run_folder/run_directory.hpp"
#include "data/text/failure.hpp"

#include <filesystem>
#include <span>

#include <stdexcept>

namespace troupe {

job with_key(job x) {
  if (!is_private(x) || x.privacy.key)
    return x;
  const auto key = read_or_make_key(x.privacy.key_file);
  x.privacy.key = privacy_key{key, fingerprint_of(key)};
  return x;
}

std::string fingerprint_in(const job& x, const prepared_data& data) {
  if (!x.privacy.key)
    return data.fingerprint;
  return fingerprint_of(
    derived_key(x.privacy.key->bytes, std::as_bytes(std::span{data.fingerprint})));
}

std::string identity_of(const job& resolved, const prepared_data& data) {
  return identity_text(resolved, fingerprint_in(resolved, data));
}

std::string ledger_of(const job& resolved) {
  const std::filesystem::path folder{resolved.output.directory};
  if (folder.empty())
    throw failure(failure_code::bad_job, "a private run writes down what it releases",
                  "output.directory", "name a folder for it");
  return (folder / release_file_name).string();
}

secret_key key_of_run(const job& resolved, const prepared_data& data) {
  if (!resolved.privacy.key)
    throw std::invalid_argument("private run: the key was not read");
  const auto identity = identity_of(resolved, data);
  return derived_key(resolved.privacy.key->bytes, std::as_bytes(std::span{identity}));
}

} // namespace troupe
