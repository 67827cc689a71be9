#include "troupe/app/job/job_schema.hpp"

#include "troupe/app/job/data_schema.hpp"
#include "troupe/app/job/federated_schema.hpp"
#include "troupe/app/job/kind_schema.hpp"
#include "troupe/app/job/mode_schema.hpp"
#include "troupe/app/job/model_schema.hpp"
#include "troupe/app/job/privacy_schema.hpp"
#include "troupe/app/job/schedule_schema.hpp"
#include "troupe/app/toml/other_names.hpp"

#include <algorithm>

namespace troupe {

namespace {

using keys = std::vector<job_key>;

// Names become folder names below runs/.
void set_name(job& target, const toml_value& value, const std::string& path,
              std::vector<complaint>& complaints) {
  std::string name;
  if (!detail::accepted(read_value(value, name), value, path, complaints))
    return;
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    complaints.push_back({path, value.at, "no name for a run: " + description(value),
                          "a name is not empty and holds no '/'"});
  else
    target.name = name;
}

// "all" is kept as 0, so a 0 in a file must not pass.
void set_batch_size(job& target, const toml_value& value, const std::string& path,
                    std::vector<complaint>& complaints) {
  const auto& bounds = bounds_of("training.batch_size");
  const auto* text = value.as<std::string>();
  uint64_t rows = 0;
  if (text && *text == "all")
    target.training.batch_size = 0;
  else if (!value.as<int64_t>())
    complaints.push_back(
      {path,
       value.at,
       "expected an integer " + bounds_text(bounds) + " or \"all\", got " + description(value),
       {}});
  else if (detail::accepted(read_whole(value, bounds, rows), value, path, complaints))
    target.training.batch_size = rows;
}

void add_job_keys(keys& out) {
  out.push_back({"job.name", "string", "the file's name without extension", "name of the run", true,
                 set_name, [](const job& x) { return text_or_unset(x.name); },
                 copier<job>([](auto& x) -> auto& { return x.name; })});
  out.push_back(whole_key<job>(
    {"job.seed", "seed of everything random: same seed, same result"},
    [](auto& x) -> auto& { return x.seed; }));
}

job_key schedule_key(const schema_key<schedule_options>& inner) {
  job_key key{"optimizer.schedule." + inner.path,
              inner.type,
              inner.fallback,
              inner.meaning,
              inner.is_text,
              {},
              {},
              {}};
  key.set = [set = inner.set](job& target, const toml_value& value, const std::string& path,
                              std::vector<complaint>& complaints) {
    set(target.optimizer.schedule, value, path, complaints);
  };
  key.get = [get = inner.get](const job& x) { return get(x.optimizer.schedule); };
  key.copy = [copy = inner.copy](job& target, const job& from) {
    copy(target.optimizer.schedule, from.optimizer.schedule);
  };
  return key;
}

void add_optimizer_keys(keys& out) {
  const auto number = [&](key_texts texts, std::string type, auto access) {
    out.push_back(plain_key<job, double>(std::move(texts), std::move(type), access));
  };
  out.push_back(optimizer_kind_key());
  number(
    {"optimizer.learning_rate", "base rate, times the schedule's factor",
     "0.01; adadelta, lbfgs: 1"},
    "number > 0", [](auto& x) -> auto& { return x.optimizer.learning_rate; });
  number(
    {"optimizer.momentum", "sgd: 0 is none"}, "number in [0, 1)",
    [](auto& x) -> auto& { return x.optimizer.momentum; });
  out.push_back(plain_key<job, bool>(
    {"optimizer.nesterov", "sgd: looks ahead along the momentum, which must not be 0"},
    "true or false", [](auto& x) -> auto& { return x.optimizer.nesterov; }));
  number(
    {"optimizer.beta1", "adam, adamw, adamax, nadam, radam: decay of the first moment", "0.9"},
    "number in [0, 1)", [](auto& x) -> auto& { return x.optimizer.beta1; });
  number(
    {"optimizer.beta2", "adam, adamw, adamax, nadam, radam: decay of the second moment", "0.999"},
    "number in [0, 1)", [](auto& x) -> auto& { return x.optimizer.beta2; });
  number(
    {"optimizer.rho", "adadelta, rmsprop: share of the mean square that a step keeps",
     "adadelta: 0.95; rmsprop: 0.9"},
    "number in [0, 1)", [](auto& x) -> auto& { return x.optimizer.rho; });
  number(
    {"optimizer.epsilon", "all but sgd, rprop, lbfgs: keeps from dividing by 0",
     "1e-08; adagrad: 1e-10; adadelta: 1e-06; adafactor: 1e-30"},
    "number > 0", [](auto& x) -> auto& { return x.optimizer.epsilon; });
  number(
    {"optimizer.weight_decay", "adamw: a step takes this times the rate off each parameter",
     "0.01"},
    "number >= 0", [](auto& x) -> auto& { return x.optimizer.weight_decay; });
  number(
    {"optimizer.damping", "gauss-newton: more makes steps shorter and surer", "0.001"},
    "number >= 0", [](auto& x) -> auto& { return x.optimizer.damping; });
  out.push_back(whole_key<job>(
    {"optimizer.history_size", "lbfgs: moves it remembers; each takes twice the model's memory"},
    [](auto& x) -> auto& { return x.optimizer.history_size; }));
  number(
    {"optimizer.l1", "penalty on the size of weights, not of biases; 0 is none"}, "number >= 0",
    [](auto& x) -> auto& { return x.optimizer.l1; });
  number(
    {"optimizer.l2", "penalty on half the square of weights, not of biases; 0 is none"},
    "number >= 0", [](auto& x) -> auto& { return x.optimizer.l2; });
  number(
    {"optimizer.clip_value", "keeps each element of the mean gradient within it; 0 is off"},
    "number >= 0", [](auto& x) -> auto& { return x.optimizer.clip_value; });
  number(
    {"optimizer.clip_norm", "scales a mean gradient of a greater norm down to it; 0 is off"},
    "number >= 0", [](auto& x) -> auto& { return x.optimizer.clip_norm; });
  add_own_optimizer_keys(out);
  for (const auto& inner : schedule_schema())
    out.push_back(schedule_key(inner));
  out.push_back(whole_key<job>(
    {"optimizer.plateau.patience",
     "evaluations without improvement after which the rate is lowered", "off"},
    [](auto& x) -> auto& { return x.optimizer.plateau.patience; }));
  number(
    {"optimizer.plateau.factor", "of the rate each time it is lowered"}, "number in (0, 1)",
    [](auto& x) -> auto& { return x.optimizer.plateau.factor; });
  number(
    {"optimizer.plateau.tolerance", "what a loss has to be lower by to count as improved"},
    "number >= 0", [](auto& x) -> auto& { return x.optimizer.plateau.tolerance; });
  number(
    {"optimizer.plateau.minimum",
     "share of the rate: a reduction that would go below it is left out"},
    "number in [0, 1]", [](auto& x) -> auto& { return x.optimizer.plateau.minimum; });
}

void add_training_keys(keys& out) {
  add_mode_keys(out);
  out.push_back({"training.batch_size",
                 whole_type(bounds_of("training.batch_size")) + " or \"all\"",
                 {},
                 "rows of a whole step; \"all\": every training row",
                 false,
                 set_batch_size,
                 [](const job& x) -> std::optional<std::string> {
                   const uint64_t rows = x.training.batch_size;
                   return rows == 0 ? toml_text(std::string_view{"all"}) : toml_text(rows);
                 },
                 copier<job>([](auto& x) -> auto& { return x.training.batch_size; })});
  out.push_back(whole_key<job>(
    {"training.slices", "pieces a step is cut into; part of the result",
     "batch_size / 64, from 1 to 16"},
    [](auto& x) -> auto& { return x.training.slices; }));
  out.push_back(whole_key<job>(
    {"training.replicas", "actors that compute; never part of the result",
     "processor cores, at most slices"},
    [](auto& x) -> auto& { return x.training.replicas; }));
  out.push_back(choice_key<job, number_format>(
    {"training.exchange",
     "what each gradient, and each sum of two, is rounded to; part of the result"},
    [](auto& x) -> auto& { return x.training.exchange; }));
  out.push_back(whole_key<job>(
    {"training.epochs", "passes over the training rows"},
    [](auto& x) -> auto& { return x.training.epochs; }));
  out.push_back(whole_key<job>(
    {"training.steps", "ends training after so many steps, if that comes first", "no limit"},
    [](auto& x) -> auto& { return x.training.steps; }));
  out.push_back(plain_key<job, double>(
    {"training.target_loss",
     "stops at this watched loss: on validation, else test, else training rows", "off"},
    "number", [](auto& x) -> auto& { return x.training.target_loss; }));
  out.push_back(whole_key<job>(
    {"training.patience", "stops after so many evaluations without improvement", "off"},
    [](auto& x) -> auto& { return x.training.patience; }));
  out.push_back(plain_key<job, double>(
    {"training.tolerance", "an improvement must exceed this"}, "number >= 0",
    [](auto& x) -> auto& { return x.training.tolerance; }));
  out.push_back(whole_key<job>(
    {"training.evaluate_every", "epochs between evaluations; 0: at the end only"},
    [](auto& x) -> auto& { return x.training.evaluate_every; }));
  out.push_back(whole_key<job>(
    {"training.history_every",
     "epochs between rows of the history; each evaluation has one as well"},
    [](auto& x) -> auto& { return x.training.history_every; }));
  out.push_back(plain_key<job, bool>(
    {"training.keep_best",
     "the result is the version with the least watched loss, not the last one",
     "true if there are validation rows"},
    "true or false", [](auto& x) -> auto& { return x.training.keep_best; }));
  out.push_back(metrics_key());
  out.push_back(class_weights_key());
  add_mode_option_keys(out);
}

void add_checkpoint_keys(keys& out) {
  auto every = whole_key<job>(
    {"checkpoint.every_steps", "steps between checkpoints, for --resume; 0: none",
     "0; in a cluster that a loss would send back to the start: an epoch, or a fiftieth of the "
     "run if that is more"},
    [](auto& x) -> auto& { return x.checkpoint.every_steps; });
  every.get = [](const job& x) {
    return x.checkpoint.by_default ? std::nullopt
                                   : std::optional{toml_text(x.checkpoint.every_steps)};
  };
  out.push_back(every);
  auto directory = plain_key<job, std::string>(
    {"checkpoint.directory", "a folder for this run's checkpoints alone", "the output directory"},
    "string", [](auto& x) -> auto& { return x.checkpoint.directory; });
  directory.get = [](const job& x) { return text_or_unset(x.checkpoint.directory); };
  out.push_back(directory);
  out.push_back(whole_key<job>(
    {"checkpoint.keep", "checkpoints that stay: the newest ones"},
    [](auto& x) -> auto& { return x.checkpoint.keep; }));
}

void add_runtime_keys(keys& out) {
  out.push_back(whole_key<job>(
    {"runtime.threads", "of the scheduler",
     "processor cores; 1 where there is too little to share"},
    [](auto& x) -> auto& { return x.runtime.threads; }));
  out.push_back(choice_key<job, scheduler_policy>(
    {"runtime.policy",
     "of the scheduler; sharing: threads look out for work for 0.3 ms before they sleep"},
    [](auto& x) -> auto& { return x.runtime.policy; }));
  out.push_back(choice_key<job, products::instruction_set>(
    {"runtime.instructions",
     "of matrix products, to compare speeds; the bits are the same with any",
     "the fastest that the processor has"},
    [](auto& x) -> auto& { return x.runtime.instructions; }));
  out.push_back(whole_key<job>(
    {"runtime.attempts",
     "processes, or a keeper's trainers, that may be lost with the same rows; 0: any number"},
    [](auto& x) -> auto& { return x.runtime.attempts; }));
  out.push_back(whole_key<job>(
    {"runtime.lease",
     "seconds, at least, after which a keeper gives an order that nobody answers to "
     "another trainer; 0: never"},
    [](auto& x) -> auto& { return x.runtime.lease; }));
  add_checkpoint_keys(out);
  auto directory = plain_key<job, std::string>(
    {"output.directory", "where results are written, relative to the current folder", "runs/NAME"},
    "string", [](auto& x) -> auto& { return x.output.directory; });
  directory.get = [](const job& x) { return text_or_unset(x.output.directory); };
  out.push_back(directory);
}

keys make_schema() {
  keys result;
  add_job_keys(result);
  add_data_keys(result);
  add_model_keys(result);
  add_optimizer_keys(result);
  add_training_keys(result);
  add_federated_keys(result);
  add_privacy_keys(result);
  add_parallel_keys(result);
  add_runtime_keys(result);
  return result;
}

} // namespace

const std::vector<job_key>& job_schema() {
  static const keys schema = make_schema();
  return schema;
}

std::optional<std::string> key_called(std::string_view name) {
  if (const auto other = other_name_of(name); other && !other->key.empty())
    return std::string{other->key};
  std::optional<std::string> result;
  for (const auto& key : job_schema()) {
    if (!key.path.ends_with("." + std::string{name}))
      continue;
    if (result)
      return std::nullopt;
    result = key.path;
  }
  return result;
}

const job_key* find_job_key(const std::string& path) {
  const auto& schema = job_schema();
  const auto found = std::find_if(schema.begin(), schema.end(),
                                  [&](const job_key& key) { return key.path == path; });
  return found == schema.end() ? nullptr : &*found;
}

} // namespace troupe
