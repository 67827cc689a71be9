#include "troupe/app/job/federated_schema.hpp"

#include <string>
#include <utility>

namespace troupe {

namespace {

using keys = std::vector<job_key>;
using complaints = std::vector<complaint>;

constexpr const char* partition_type =
  R"("iid" | { labels = k } | { dirichlet = a } | { sizes = s } | { column = name } | { files = path })";

// The one entry of a table: the partition and its number, or whose the rows are.
void set_spread(job& target, const toml_entry& entry, partition_kind kind, const std::string& path,
                complaints& out) {
  auto& federated = target.federated;
  const auto full_path = path + "." + entry.name;
  if (is_natural(kind)) {
    if (detail::accepted(read_value(entry.value, federated.clients_from), entry.value, full_path,
                         out))
      federated.partition = kind;
    return;
  }
  if (kind == partition_kind::labels) {
    uint64_t count = 0;
    if (!detail::accepted(read_whole(entry.value, bounds_of(full_path), count), entry.value,
                          full_path, out))
      return;
    federated.partition = partition_kind::labels;
    federated.labels = count;
    return;
  }
  double spread = 0;
  if (!detail::accepted(read_value(entry.value, spread), entry.value, full_path, out))
    return;
  federated.partition = kind;
  federated.spread = spread;
}

void set_partition(job& target, const toml_value& value, const std::string& path, complaints& out) {
  const auto* table = value.as<toml_value::table>();
  if (!table) {
    const std::vector<std::string> names{"iid"};
    size_t index = 0;
    if (detail::accepted(read_choice(value, names, index), value, path, out))
      target.federated.partition = partition_kind::iid;
    return;
  }
  const auto kind = table->size() == 1 ? from_name<partition_kind>(table->front().name)
                                       : std::optional<partition_kind>{};
  if (kind && *kind != partition_kind::iid)
    set_spread(target, table->front(), *kind, path, out);
  else
    out.push_back(
      {path, value.at, "expected one of labels, dirichlet, sizes, column and files",
       "write { labels = 2 }, { dirichlet = 0.3 }, { sizes = 1 }, { column = \"user\" } "
       "or { files = \"clients/*.csv\" }"});
}

std::optional<std::string> partition_text(const job& x) {
  const auto& federated = x.federated;
  const auto table = [&](const std::string& value) {
    return "{ " + std::string{name_of(federated.partition)} + " = " + value + " }";
  };
  switch (federated.partition) {
  case partition_kind::labels:
    return table(toml_text(uint64_t{federated.labels}));
  case partition_kind::dirichlet:
  case partition_kind::sizes:
    return table(toml_text(federated.spread));
  case partition_kind::column:
  case partition_kind::files:
    return table(toml_text(federated.clients_from));
  case partition_kind::iid:
    break;
  }
  return toml_text(name_of(federated.partition));
}

job_key partition_key() {
  return {
    "federated.partition",
    partition_type,
    {},
    "whose rows they are: any alike; k classes a client; classes shared out by "
    "Dirichlet(a); numbers of rows that differ as e^(s z); by a column of a csv file, which is "
    "then no feature; or a file each, * for any letters",
    false,
    set_partition,
    partition_text,
    [](job& target, const job& from) {
      target.federated.partition = from.federated.partition;
      target.federated.labels = from.federated.labels;
      target.federated.spread = from.federated.spread;
      target.federated.clients_from = from.federated.clients_from;
    }};
}

void add_number(keys& out, key_texts texts, const char* type, auto access) {
  out.push_back(plain_key<job, double>(std::move(texts), type, access));
}

void add_client_keys(keys& out) {
  out.push_back(whole_key<job>(
    {"federated.clients", "among whom the training rows are dealt out"},
    [](auto& x) -> auto& { return x.federated.clients; }));
  out.push_back(partition_key());
  out.push_back(whole_key<job>(
    {"federated.cohort", "clients of a round"},
    [](auto& x) -> auto& { return x.federated.cohort; }));
  out.push_back(choice_key<job, client_sampling>(
    {"federated.sampling",
     "who they are: any alike; each by a chance of its own; by their numbers of rows"},
    [](auto& x) -> auto& { return x.federated.sampling; }));
  out.push_back(whole_key<job>(
    {"federated.rounds", "of training"}, [](auto& x) -> auto& { return x.federated.rounds; }));
  out.push_back(whole_key<job>(
    {"federated.local_epochs", "visits of its rows by a client in a round", "1"},
    [](auto& x) -> auto& { return x.federated.local_epochs; }));
  out.push_back(whole_key<job>(
    {"federated.local_steps", "or so many steps of training.batch_size rows", "by local_epochs"},
    [](auto& x) -> auto& { return x.federated.local_steps; }));
  add_number(
    out, {"federated.proximal", "FedProx: mu of the pull to the round's model; 0 is none"},
    "number >= 0", [](auto& x) -> auto& { return x.federated.proximal; });
}

void add_loss_keys(keys& out) {
  add_number(
    out, {"federated.drop_out", "chance that an invited client does not answer"},
    "number in [0, 1)", [](auto& x) -> auto& { return x.federated.drop_out; });
  add_number(
    out,
    {"federated.over_selection",
     "share of the cohort that is invited beyond it; the first of all in time count"},
    "number in [0, 10]", [](auto& x) -> auto& { return x.federated.over_selection; });
  add_number(
    out, {"federated.deadline", "who needs longer is late; a unit is a row at the speed 1", "off"},
    "number > 0", [](auto& x) -> auto& { return x.federated.deadline; });
  add_number(
    out, {"federated.speed_spread", "clients' speeds differ as e^(this z), z normal"},
    "number in [0, 10]", [](auto& x) -> auto& { return x.federated.speed_spread; });
  out.push_back(whole_key<job>(
    {"federated.min_count", "a round in which fewer clients are left is void"},
    [](auto& x) -> auto& { return x.federated.min_count; }));
}

void add_figure_keys(keys& out) {
  out.push_back(plain_key<job, bool>(
    {"federated.evaluate_clients",
     "the final model on each client's test rows: how they are spread, and the worst tenth"},
    "true or false", [](auto& x) -> auto& { return x.federated.evaluate_clients; }));
}

void add_sum_keys(keys& out) {
  out.push_back(whole_key<job>(
    {"federated.groups",
     "a cohort's clients are added in so many groups, whose means merge.rule merges; 0: each "
     "client on its own"},
    [](auto& x) -> auto& { return x.federated.groups; }));
  add_number(
    out, {"federated.update_range", "a client that changes a parameter by more is refused"},
    "number > 0", [](auto& x) -> auto& { return x.federated.update_range; });
  out.push_back(whole_key<job>(
    {"federated.weight_max", "weighing by samples: of more rows no client counts"},
    [](auto& x) -> auto& { return x.federated.weight_max; }));
}

} // namespace

void add_federated_keys(keys& out) {
  add_client_keys(out);
  add_loss_keys(out);
  add_sum_keys(out);
  add_figure_keys(out);
}

} // namespace troupe
