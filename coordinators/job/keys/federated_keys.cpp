// Sections federated and privacy: rounds of clients (coordinators/job/federated_job.hpp, private_job.hpp).

#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/keys/key_limits.hpp"
#include "coordinators/job/keys/kind_types.hpp"
#include "coordinators/job/training_modes.hpp"
#include "models/kinds/added_tables.hpp"

namespace troupe {

namespace {

using federated_keys = key_section<job, federated_section>;

type_ptr<federated_section> partition() {
  using enum partition_kind;
  using tags = std::vector<tag<federated_section, partition_kind>>;
  return std::make_shared<tagged_type<federated_section, partition_kind>>(
    &federated_section::partition,
    tags{{iid},
         tagged(labels, "k", "2", &federated_section::labels, within(1, columns_max)),
         tagged(dirichlet, "a", "0.3", &federated_section::spread, above(0)),
         tagged(sizes, "s", "1", &federated_section::spread, within(0, 10)),
         tagged(column, "name", "\"user\"", &federated_section::clients_from),
         tagged(files, "path", "\"clients/*.csv\"", &federated_section::clients_from)});
}

void add_clients(federated_keys& federated) {
  federated.add("clients", &federated_section::clients, within(1, clients_max),
                "among whom the training rows are dealt out");
  federated.add("partition", partition(),
                "whose rows they are: any alike; k classes a client; classes shared out by "
                "Dirichlet(a); numbers of rows that differ as e^(s z); by a column of a csv file, "
                "which is then no feature; or a file each, * for any letters");
  federated.add("cohort", &federated_section::cohort, within(1, clients_max), "clients of a round");
  federated.add("sampling", &federated_section::sampling,
                "who they are: any alike; each by a chance of its own; by their numbers of rows");
  federated.add("rounds", &federated_section::rounds, within(1, epochs_max), "of training")
    .affects(key_effect::end);
  federated.add("local_epochs", &federated_section::local_epochs, within(1, epochs_max),
                {"visits of its rows by a client in a round", "1"});
  federated.add("local_steps", &federated_section::local_steps, within(1, steps_max),
                {"or so many steps of training.batch_size rows", "by local_epochs"});
  federated.add(
    "proximal", &federated_section::proximal, at_least(0),
    {"FedProx: mu of the pull to the round's model; 0 is none", "", "use a number such as 0.01"});
}

void add_losses(federated_keys& federated) {
  federated.add("drop_out", &federated_section::drop_out, from_to_below(0, 1),
                {"chance that an invited client does not answer", "",
                 "use a share of the clients such as 0.3"});
  federated.add("over_selection", &federated_section::over_selection, within(0, 10),
                {"share of the cohort that is invited beyond it; the first of all in time count",
                 "", "use a share of the cohort such as 0.3"});
  federated.add("deadline", &federated_section::deadline, above(0),
                {"who needs longer is late; a unit is a row at the speed 1", "off",
                 "use the rows that a client of speed 1 may train on, such as 500"});
  federated.add("speed_spread", &federated_section::speed_spread, within(0, 10),
                {"clients' speeds differ as e^(this z), z normal", "", "use a number such as 0.5"});
  federated.add("min_count", &federated_section::min_count, within(1, clients_max),
                "a round in which fewer clients are left is void");
}

void add_sums(federated_keys& federated) {
  federated.add("groups", &federated_section::groups, within(0, clients_max),
                "a cohort's clients are added in so many groups, whose means merge.rule merges; 0: "
                "each client on its own");
  federated.add(
    "update_range", &federated_section::update_range, above(0),
    {"a client that changes a parameter by more is refused", "", "use the default, 1024"});
  federated.add("weight_max", &federated_section::weight_max, within(1, 1'048'576),
                "weighing by samples: of more rows no client counts");
  federated
    .add("evaluate_clients", &federated_section::evaluate_clients,
         "the final model on each client's test rows: how they are spread, and the worst tenth")
    .without_effect();
}

void add_port(federated_keys& federated) {
  using x = federated_section;
  federated
    .add("listen", &x::listen,
         {"host:port where clients with rows of their own dial in: troupe client; 0.0.0.0 is every "
          "address",
          "none: clients are simulated"})
    .without_effect();
  federated.add("admit", &x::admit, "names of clients that may take part; * for any letters")
    .without_effect();
  federated
    .add("denied", &x::denied,
         {"a list of names that may not, one a line, read again each round", "none"})
    .as_file()
    .without_effect();
  federated
    .add("round_time", &x::round_time, within(1, 1'000'000),
         "listen: seconds to wait for enough clients, and then for their updates")
    .without_effect();
  federated.add("clients_max", &x::clients_max, within(1, 1'000'000), "listen: connections")
    .without_effect();
  federated
    .add("ca", &x::ca, {"listen: certificate of the authority that signed the clients'", "none"})
    .as_file()
    .without_effect();
  federated
    .add("certificate", &x::certificate,
         {"listen: of the server; with it connections are secured", "none"})
    .as_file()
    .without_effect();
  federated.add("key", &x::key, {"listen: belongs to the certificate", "none"})
    .as_file()
    .without_effect();
}

} // namespace

void add_federated_keys(job_key_rows& out) {
  federated_keys federated{out, "federated", &job::federated};
  add_port(federated);
  add_clients(federated);
  add_losses(federated);
  add_sums(federated);
}

void add_privacy_keys(job_key_rows& out) {
  using y = privacy_section;
  key_section<job, y> privacy{out, "privacy", &job::privacy};
  privacy.add(
    "clip_norm", &y::clip_norm, above(0),
    {"federated: each client's update is scaled down to this norm, and noise is added to their "
     "sum",
     "off", "use a norm that most clients' updates stay below, such as 1"});
  privacy.add("noise_multiplier", &y::noise_multiplier, above(0),
              {"deviation of the noise, as a multiple of clip_norm",
               "by epsilon: the least with which all rounds are within it",
               "use a number such as 1"});
  privacy.add(
    "epsilon", &y::epsilon, above(0),
    {"training stops before the round that would exceed it", "off", "use a number such as 2"});
  privacy.add(
    "delta", &y::delta, option_range{0, 1, true, true, {}},
    {"of epsilon; below 1 / federated.clients", "", "use less than 1 / federated.clients"});
  privacy
    .add("key_file", &y::key_file,
         {"what cohorts and noise are drawn by, made if there is none; the path is relative to the "
          "file that names it",
          "none"})
    .as_file();
}

namespace {

using merge_keys = key_section<job, merge_section>;

void add_rule(const merge_keys& merge) {
  using x = merge_options;
  auto members = merge.within(&merge_section::members);
  members.add("rule", &x::rule, std::make_shared<choice_type<merge_rule>>(merge_rules_of_jobs()),
              "parameters, federated: how the models become one");
  members.add("weighting", &x::weighting,
              std::make_shared<choice_type<merge_weighting>>(merge_weightings_of_jobs()),
              "weighted, geometric-median, and clients in a group: by rows trained on, or equal");
  members.add("trimmed_count", &x::trimmed_count, within(0, slices_max),
              "trimmed-mean: values left out at each end");
  members.add("faulty_count", &x::faulty_count, within(0, slices_max),
              "krum, multi-krum: members that may hand in anything");
  members.add("kept_count", &x::kept_count, within(0, slices_max),
              "multi-krum: models averaged; 0: members - faulty_count - 2");
}

void add_outer(const merge_keys& merge) {
  using x = outer_options;
  auto outer = merge.within(&merge_section::outer);
  outer.add("outer", &x::kind, "how the main model moves towards the merged one");
  outer.add("outer_rate", &x::learning_rate, above(0),
            {"share of the way the main model goes", "sgd: 1; adam, yogi: 0.01",
             "use a number such as 0.7"});
  outer.add("outer_momentum", &x::momentum, from_to_below(0, 1),
            {"sgd: 0 is none", "", "use a number such as 0.9"});
  outer.add("outer_nesterov", &x::nesterov,
            "sgd: looks ahead along the momentum, which must not be 0");
}

void add_averaging(const merge_keys& merge) {
  using x = averaging_options;
  auto averaging = merge.within(&merge_section::averaging);
  averaging.add("averaging", &x::kind,
                "of the main models that rounds ended with, for evaluation and as the result");
  averaging.add("averaging_decay", &x::decay, from_to_below(0, 1),
                {"exponential: a round counts this share of the one after it", "",
                 "use a number such as 0.99"});
}

} // namespace

void add_merge_keys(job_key_rows& out, bool with_options) {
  using x = merge_section;
  merge_keys merge{out, "merge", &job::merge};
  add_rule(merge);
  merge.add("elastic_alpha", &x::elastic_alpha, option_range{0, 1, true, false, {}},
            {"elastic averaging in place of rule and outer: members keep models of "
             "their own and are drawn to the centre by this share",
             "off", "use a number such as 0.9 divided by the members"});
  add_outer(merge);
  add_averaging(merge);
  merge.add("flipped_members", &x::flipped_members, within(0, clients_max),
            "rehearsal of faults: the last members or clients hand in their update reversed");
  merge.add("flip_factor", &x::flip_factor, above(0),
            {"rehearsal of faults: and so many times as long", "", "use a number such as 10"});
  if (with_options)
    add_options<merge_table, job>(out, "merge", merge_rules(),
                                  [](job& y) -> component& { return y.merge.members.own; });
}

} // namespace troupe
