#include "actors/run/federated_run.hpp"

#include "actors/net/clients/client_port.hpp"
#include "actors/run/job_data.hpp"
#include "actors/run/private_run.hpp"
#include "coordinators/job/client_job.hpp"
#include "coordinators/job/federated_job.hpp"
#include "coordinators/job/private_job.hpp"
#include "data/formats/read_data.hpp"
#include "data/privacy/key_file.hpp"
#include "data/training_rows/client_partition.hpp"
#include "models/base/random.hpp"
#include "models/privacy/secret_stream.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

std::shared_ptr<client_port> client_port_of(const job& resolved, const prepared_data& data,
                                            size_t parameter_count) {
  const auto& x = resolved.federated;
  if (!x.has_port())
    return nullptr;
  client_port_options result;
  result.listen = parse_endpoint(x.listen);
  if (!x.certificate.empty())
    result.tls = tls_files{x.ca, x.certificate, x.key};
  result.denied_file = x.denied;
  result.rules = federated_options_of(resolved);
  result.sums = result.rules.bounds(x.clients);
  const std::chrono::seconds round_time{x.round_time};
  const bool draws = x.sampling == client_sampling::poisson; // of all, so all are waited for
  const auto wanted = draws ? x.clients : result.rules.cohort.invited_max();
  result.server.rounds = {resolved.seed, x.cohort, wanted, x.min_count, x.groups, round_time};
  result.server.place_time = std::max<milliseconds>(result.server.place_time, round_time);
  result.server.admit = x.admit;
  result.server.clients_max = x.clients_max;
  result.reading = reading_for_clients(data);
  result.job = client_job_text(resolved);
  result.parameter_count = parameter_count;
  result.hides_work = is_private(resolved);
  return std::make_shared<client_port>(std::move(result));
}

namespace {

/// Who takes part in a round where each client does by a chance of its own; null: a number of them does.
client_coin coin_of(const job& resolved, const secret_key& key, uint64_t round, uint64_t attempt) {
  const auto& x = resolved.federated;
  if (x.sampling != client_sampling::poisson)
    return {};
  const double rate = static_cast<double>(x.cohort) / static_cast<double>(x.clients);
  const bool takes_all = rate >= 1;
  const auto limit = takes_all ? uint64_t{0} : static_cast<uint64_t>(rate * 0x1p64);
  if (is_private(resolved))
    return [=](uint64_t client) {
      const auto own = derived_key(key, std::as_bytes(std::span{&client, 1}));
      return secret_stream{own, {secret_purpose::cohort, round, attempt}}.next_64() < limit ||
             takes_all;
    };
  return [=, seed = resolved.seed](uint64_t client) {
    const auto words = random_sequence{seed ^ client, random_purpose::invitation, round}.block(1);
    return takes_all || (uint64_t{words[0]} << 32 | words[1]) < limit;
  };
}

std::shared_ptr<const federation> dialled_clients(const job& resolved, const prepared_data& data,
                                                  const std::shared_ptr<client_port>& port) {
  const auto key = is_private(resolved) ? key_of_run(resolved, data) : secret_key{};
  return std::make_shared<const federation>(
    federated_options_of(resolved), resolved.federated.clients,
    [=](uint64_t round, uint64_t attempt, const const_buffer& start, auto done) {
      port->open(round, start, coin_of(resolved, key, round, attempt), std::move(done));
    },
    [=] { port->hurry(); }, key);
}

std::vector<std::string> names_of_files(const std::string& pattern) {
  std::vector<std::string> result;
  for (const auto& path : matching_files(pattern))
    result.push_back(std::filesystem::path{path}.filename().string());
  return result;
}

} // namespace

std::shared_ptr<const federation> federation_of(const job& resolved, const prepared_data& data,
                                                const sequence_options& records,
                                                const std::shared_ptr<client_port>& port) {
  if (!is_federated(resolved.training))
    return nullptr;
  if (port)
    return dialled_clients(resolved, data, port);
  auto result = std::make_shared<federation>(
    federated_options_of(resolved), clients_of(partition_of(resolved), data.train),
    is_private(resolved) ? key_of_run(resolved, data) : secret_key{});
  if (records.rounds)
    result->repeat(records.rounds, names_of_files(resolved.federated.clients_from),
                   resolved.federated.clients);
  return result;
}

} // namespace troupe
