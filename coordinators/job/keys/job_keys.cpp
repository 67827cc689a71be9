#include "coordinators/job/keys/job_keys.hpp"

#include "coordinators/job/keys/key_limits.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Names become folder names below runs/.
class run_name_type final : public type_for<std::string> {
public:
  std::string words() const override { return "string"; }
  bool is_text() const override { return true; }
  void read(std::string& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    std::string name;
    if (!accepted(read_value(value, name), value, path, found))
      return;
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
      found.push_back({path, value.at, "no name for a run: " + description(value),
                       "a name is not empty and holds no '/'"});
    else
      out = name;
  }
  std::optional<std::string> text(const std::string& x) const override { return toml_text(x); }
};

/// A number that nobody said is decided when the run begins.
class checkpoint_steps_type final : public type_for<checkpoint_options> {
public:
  std::string words() const override { return steps_.words(); }
  void read(checkpoint_options& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    steps_.read(out.every_steps, value, path, found);
  }
  std::optional<std::string> text(const checkpoint_options& x) const override {
    return x.by_default ? std::nullopt : steps_.text(x.every_steps);
  }
  void copy(checkpoint_options& to, const checkpoint_options& from) const override {
    to.every_steps = from.every_steps;
  }
  std::optional<value_refusal> refusal(const checkpoint_options& x) const override {
    return steps_.refusal(x.every_steps);
  }

private:
  whole_type steps_{within(0, steps_max)};
};

void add_job(job_key_rows& out) {
  key_section<job> section{out, "job", [](job& x) -> job& { return x; }};
  section
    .add("name", &job::name, std::make_shared<run_name_type>(),
         {"name of the run", "the file's name without extension"})
    .without_effect();
  section.add("seed", &job::seed, at_least(0), "seed of everything random: same seed, same result");
}

void add_parallel(job_key_rows& out) {
  using x = parallel_options;
  key_section<job, x> parallel{out, "parallel", &job::parallel};
  parallel
    .add(
      "data", &x::data, within(1, actors_max),
      {"groups with slices of their own: another name of training.replicas", "training.replicas"})
    .without_effect();
  parallel
    .add("tensor", &x::tensor, within(1, part_count_max),
         "replicas that share the parts of each layer; never part of the result")
    .without_effect();
  parallel
    .add("pipeline", &x::pipeline, within(1, actors_max),
         "stages that the layers are spread over; never part of the result")
    .without_effect();
  parallel
    .add("schedule", &x::schedule, "of a pipeline: which slices go first, and how many are kept")
    .without_effect();
  parallel
    .add("stages", &x::stages,
         whole_list(within(1, hidden_layers_max + 1), "write stages = [2, 3] for two stages"),
         {"segments of each stage", "balanced by their work"})
    .without_effect();
  parallel
    .add("sharded", &x::sharded,
         "over nodes: replicas fetch parameters segment by segment and keep their own spans alone; "
         "never part of the result")
    .without_effect();
}

void add_runtime(job_key_rows& out) {
  using x = runtime_options;
  key_section<job, x> runtime{out, "runtime", &job::runtime};
  runtime
    .add("threads", &x::threads, within(1, actors_max),
         {"of the scheduler", "processor cores; 1 where there is too little to share"})
    .without_effect();
  runtime
    .add("policy", &x::policy,
         "of the scheduler; sharing: threads look out for work for 0.3 ms before they sleep")
    .without_effect();
  runtime
    .add("instructions", &x::instructions,
         {"of matrix products, to compare speeds; the bits are the same with any",
          "the fastest that the processor has"})
    .without_effect();
  runtime
    .add("device", &x::device,
         "what replicas compute on: cpu; auto: graphics processors, if there are some; an OpenCL "
         "device's number, or what is in the names of some; the bits are the same on any")
    .without_effect();
  runtime
    .add("attempts", &x::attempts, within(0, 1'000),
         "processes, or a parameter server's trainers, that may be lost with the same rows; 0: any "
         "number")
    .without_effect();
  runtime
    .add("lease", &x::lease, within(0, 1'000'000),
         "seconds, at least, after which a parameter server gives a task that nobody answers to "
         "another trainer; 0: never")
    .without_effect();
}

void add_files(job_key_rows& out) {
  key_section<job, checkpoint_options> checkpoint{out, "checkpoint", &job::checkpoint};
  checkpoint
    .add("every_steps", std::make_shared<checkpoint_steps_type>(),
         {"steps between checkpoints, for --resume; 0: only where the run is stopped",
          "0; in a cluster that a loss would send back to the start: an epoch, or a fiftieth "
          "of the run if that is more"})
    .without_effect();
  checkpoint
    .add("directory", &checkpoint_options::directory,
         {"a folder for this run's checkpoints alone", "the output directory"})
    .without_effect();
  checkpoint
    .add("keep", &checkpoint_options::keep, within(1, 1'000'000),
         "checkpoints that stay: the newest ones")
    .without_effect();
  key_section<job, output_options>{out, "output", &job::output}
    .add("directory", &output_options::directory,
         {"where results are written, relative to the current folder", "runs/NAME"})
    .without_effect();
}

job_key_rows make_rows(bool with_options) {
  job_key_rows out;
  add_job(out);
  add_data_keys(out);
  add_model_keys(out, with_options);
  add_optimizer_keys(out, with_options);
  add_training_keys(out, with_options);
  add_merge_keys(out, with_options);
  add_federated_keys(out);
  add_privacy_keys(out);
  add_parallel(out);
  add_runtime(out);
  add_files(out);
  return out;
}

} // namespace

const job_key_rows& job_keys() {
  static const auto rows = make_rows(true);
  return rows;
}

const job_key_rows& fixed_job_keys() {
  static const auto rows = make_rows(false);
  return rows;
}

bool is_in_range(const job& x, const std::string& section) {
  return std::ranges::none_of(fixed_job_keys(), [&](const auto& key) {
    return key.path.starts_with(section + '.') && key.refusal(x);
  });
}

std::vector<std::pair<std::string, std::string*>> files_of(job& x) {
  std::vector<std::pair<std::string, std::string*>> result;
  for (const auto& key : fixed_job_keys())
    if (key.is_file)
      result.emplace_back(key.path, static_cast<std::string*>(key.member(x)));
  if (x.federated.partition == partition_kind::files)
    result.emplace_back("federated.partition", &x.federated.clients_from);
  return result;
}

const job_key* find_job_key(const std::string& path) {
  return find_key(job_keys(), path);
}

} // namespace troupe
