#include "coordinators/job/federated_job.hpp"

#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/private_job.hpp"
#include "coordinators/modes/model_merger.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe {

namespace {

/// A group's sum takes 8 bytes a parameter, and its mean 4: beyond it robust rounds are refused.
constexpr size_t groups_max = 65'536;

void check_section(problem_list& check, const federated_section& x) {
  check.require(is_natural(x.partition) || x.cohort <= x.clients, "federated.cohort",
                "a round takes " + std::to_string(x.cohort) + " of " + std::to_string(x.clients) +
                  " clients",
                "use at most federated.clients");
  check.require(!x.local_epochs || !x.local_steps, "federated.local_steps",
                "a client trains for so many epochs or for so many steps",
                "keep one of local_epochs and local_steps");
  check.require(x.min_count <= x.cohort, "federated.min_count",
                "no round has more than its " + std::to_string(x.cohort) + " clients",
                "use at most federated.cohort");
  check.require(x.groups <= std::min(x.cohort, groups_max), "federated.groups",
                std::to_string(x.groups) + " groups of " + std::to_string(x.cohort) + " clients",
                "use at most federated.cohort, and at most " + std::to_string(groups_max));
  check.require(x.groups > 0 || x.cohort <= groups_max, "federated.groups",
                "a sum for each of " + std::to_string(x.cohort) + " clients",
                "set federated.groups, to 100 say: the rule then merges the groups' means");
  check.require(x.over_selection == 0 || x.sampling != client_sampling::poisson,
                "federated.over_selection",
                "poisson takes each client with a chance of its own: no number is to be reached",
                "leave it out, or use federated.sampling = \"uniform\"");
  check.require(x.update_range <= 0x1p30, "federated.update_range", "must be at most 2^30",
                "use the default, 1024");
}

void check_natural(problem_list& check, const job& x) {
  const auto& data = x.data;
  const bool by_file = x.federated.partition == partition_kind::files;
  check.require(!x.federated.clients_from.empty(), "federated.partition",
                by_file ? "names no files" : "names no column",
                by_file ? "write { files = \"clients/*.csv\" }, say"
                        : "write { column = \"user\" }, say");
  check.require(data.synthetic == synthetic_kind::none, "federated.partition",
                "rows that are made belong to nobody", "leave out data.synthetic");
  check.require(!by_file || data.file.empty(), "data.file",
                "the rows are those of the clients' files", "leave it out");
  check.require(!by_file || data.labels_file.empty(), "data.labels_file",
                "the rows are those of the clients' files", "leave it out");
  const auto* reading = key_of_readings(data);
  check.require(!by_file || !data.has_plan(), reading ? reading : "data.missing",
                "each client's file has categories and gaps of its own",
                "put the rows into one file, with a column that says whose they are: "
                "federated.partition = { column = \"client\" }");
  check.require(!by_file || data.test_file.empty() || !x.federated.evaluate_clients,
                "federated.evaluate_clients", "the rows of data.test_file are no client's",
                "use data.test_fraction");
  check.require(data.shuffle == shuffle_kind::rows, "data.shuffle",
                "clients' rows are read into memory", "leave it out");
}

void check_room(problem_list& check, const job& x) {
  const auto options = federated_options_of(x);
  try {
    fraction_bits_of(options.bounds(x.federated.clients));
  } catch (const std::invalid_argument& error) {
    check.require(false, "federated.weight_max", error.what(),
                  "use a smaller weight_max or cohort");
  }
}

void check_beside(problem_list& check, const job& x) {
  const auto& training = x.training;
  check.require(x.data.weight.empty(), "data.weight",
                "a client's rows count alike, and clients by merge.weighting", "leave it out");
  check.require(x.data.split_by.empty(), "data.split_by",
                "rows are split client by client, not by groups", "leave it out");
  check.require(training.consistency == consistency_kind::synchronous, "training.consistency",
                "a federated round waits for all of its cohort that count",
                "leave it out, or use training.strategy = \"gradients\"");
  check.require(training.epochs == training_options{}.epochs, "training.epochs",
                "federated training counts rounds", "use federated.rounds");
  check.require(training.slices.value_or(1) == 1, "training.slices",
                "a client is trained as a whole", "leave it out");
  check.require(!x.merge.elastic_alpha, "merge.elastic_alpha",
                "clients keep no models of their own between two rounds",
                "use training.strategy = \"parameters\", or leave it out");
  check.require(x.federated.sampling != client_sampling::size ||
                  x.merge.members.weighting != merge_weighting::samples,
                "merge.weighting",
                "clients drawn by size and weighed by samples would count their sizes twice "
                "(Li et al. 2020)",
                "set merge.weighting = \"equal\"");
}

/// Clients that dial in have their rows, and the faults that they have.
void check_port(problem_list& check, const job& x) {
  const auto& own = x.federated;
  const federated_section plain;
  const auto refuse = [&](bool is_set, const char* key, const char* why) {
    check.require(!is_set, key, why, "leave it out, or leave federated.listen out");
  };
  const char* theirs = "the rows are those of the clients that dial in";
  refuse(!x.data.file.empty(), "data.file", theirs);
  refuse(!x.data.holdings.empty(), "data.holdings", theirs);
  refuse(x.data.synthetic != synthetic_kind::none, "data.synthetic", theirs);
  refuse(x.data.test_fraction > 0, "data.test_fraction", theirs);
  refuse(x.data.validation_fraction > 0, "data.validation_fraction", theirs);
  refuse(x.data.shuffle != shuffle_kind::rows, "data.shuffle", theirs);
  check.require(
    !x.data.table.empty() || !x.model.start_from.empty(), "data.table",
    "clients have to know how rows are read before anyone has read one",
    "name a table, which troupe data table writes of rows like theirs, or a model file");
  refuse(own.partition != plain.partition, "federated.partition", theirs);
  refuse(own.evaluate_clients, "federated.evaluate_clients", theirs);
  refuse(x.training.class_weights.kind == class_weight_kind::balanced, "training.class_weights",
         theirs);
  refuse(own.sampling == client_sampling::size, "federated.sampling",
         "no client says how many rows it has before it has trained");
  const char* real = "clients that dial in have real faults";
  refuse(own.drop_out > 0, "federated.drop_out", real);
  refuse(own.deadline.has_value(), "federated.deadline", real);
  refuse(own.speed_spread > 0, "federated.speed_spread", real);
  refuse(x.merge.flipped_members > 0, "merge.flipped_members", real);
  check.require(!is_private(x) || own.sampling == client_sampling::poisson, "federated.sampling",
                "who takes the place of a client that is lost would follow from it: one client "
                "could move a private sum twice",
                "use \"poisson\"");
  check.require(own.groups > 0 || own.sampling != client_sampling::poisson, "federated.groups",
                "nobody knows how many clients take part, and each would need a sum of its own",
                "name a number of groups, or use federated.sampling = \"uniform\"");
  check.require(own.certificate.empty() == own.key.empty() && own.ca.empty() == own.key.empty(),
                "federated.certificate", "a secured port needs ca, certificate and key",
                "give all three; troupe certs makes them");
}

} // namespace

void check_federated(problem_list& check, const job& x) {
  if (!is_federated(x.training)) {
    check.require(x.federated == federated_section{}, "federated.clients",
                  "the section federated belongs to the strategy federated",
                  "use training.strategy = \"federated\", or leave it out");
    return;
  }
  check_beside(check, x);
  const auto before = check.found.size();
  check_section(check, x.federated);
  const client_port_section& port = x.federated;
  check.require(x.federated.has_port() || port.repeats || port == client_port_section{},
                "federated.listen",
                "admit, denied, round_time, clients_max, ca, certificate and key belong to a port "
                "where clients dial in",
                "say where: federated.listen = \"0.0.0.0:7070\", or leave them out");
  if (x.federated.has_port())
    check_port(check, x);
  else if (is_natural(x.federated.partition))
    check_natural(check, x);
  if (check.found.size() == before && !is_private(x) && // whose grid is of another size
      is_in_range(x, "federated"))
    check_room(check, x);
}

void check_federated_with_data(problem_list& check, const job& resolved, size_t train_row_count,
                               bool classification) {
  const auto& x = resolved.federated;
  check.require(
    x.has_port() || x.repeats || x.clients <= train_row_count, "federated.clients",
    std::to_string(x.clients) + " clients share " + std::to_string(train_row_count) +
      " training rows: " + std::to_string(x.clients - std::min(x.clients, train_row_count)) +
      " would have none",
    "use at most as many clients as training rows");
  check.require(x.repeats || x.cohort <= x.clients, "federated.cohort",
                "a round takes " + std::to_string(x.cohort) + " of " + std::to_string(x.clients) +
                  " clients",
                "use at most " + std::to_string(x.clients));
  if (is_natural(x.partition))
    check_room(check, resolved);
  const bool by_class =
    x.partition == partition_kind::labels || x.partition == partition_kind::dirichlet;
  check.require(!by_class || classification, "federated.partition",
                std::string{name_of(x.partition)} + " deals out classes, these rows have none",
                "use \"iid\" or { sizes = 1 }");
  check.require(x.partition != partition_kind::labels ||
                  x.labels <= train_row_count / std::max<size_t>(x.clients, 1),
                "federated.partition", "there are fewer training rows than shards",
                "use fewer clients, or fewer labels a client");
  const auto groups = x.groups == 0 ? x.cohort : x.groups;
  const auto needed = entry_count_min(resolved.merge.members);
  check.require(groups >= needed, "federated.groups",
                std::string{name_of(resolved.merge.members.rule)} + " needs at least " +
                  std::to_string(needed) + " models to choose from, there are " +
                  std::to_string(groups),
                x.groups == 0 ? "use a larger federated.cohort, or another merge.rule"
                              : "set federated.groups to more, or to 0: each client its own");
  check.require(resolved.merge.flipped_members <= x.clients, "merge.flipped_members",
                "there are " + std::to_string(x.clients) + " clients", "use fewer");
}

federated_options federated_options_of(const job& resolved) {
  const auto& x = resolved.federated;
  const auto& merging = resolved.merge;
  federated_options options;
  auto& cohort = options.cohort;
  cohort.seed = resolved.seed;
  cohort.cohort_size = x.cohort;
  cohort.sampling = x.sampling;
  cohort.over_selection = x.over_selection;
  cohort.drop_out = x.drop_out;
  cohort.deadline = x.deadline;
  cohort.speed_spread = x.speed_spread;
  cohort.group_count = x.groups;
  cohort.schedule = {std::max<size_t>(resolved.training.batch_size, 1), x.local_epochs.value_or(1),
                     x.local_steps};
  options.weighs_samples = merging.members.rule != merge_rule::average &&
                           merging.members.weighting == merge_weighting::samples;
  options.update_range = x.update_range;
  options.weight_max = x.weight_max;
  options.min_count = x.min_count;
  options.proximal = x.proximal;
  options.merge = merging.members;
  options.outer = merging.outer;
  options.averaging = merging.averaging;
  if (merging.flipped_members > 0)
    options.first_flipped = x.clients - std::min(merging.flipped_members, x.clients);
  options.flip_factor = merging.flip_factor;
  if (resolved.privacy.noise_multiplier)
    options.privacy = private_sums_of(resolved);
  return options;
}

partition_options partition_of(const job& x) {
  const auto& federated = x.federated;
  return {x.seed, federated.clients, federated.partition, federated.labels, federated.spread};
}

uint64_t rows_of_round(const job& resolved, size_t train_row_count) {
  const auto options = federated_options_of(resolved);
  if (resolved.federated.has_port())
    return 1; // clients compute, and here their sums are added
  const auto rows = train_row_count / std::max<size_t>(resolved.federated.clients, 1) + 1;
  return options.cohort.cohort_size * options.cohort.schedule.rows_of(rows);
}

} // namespace troupe
