// A job that was written is read as the same job.

#include "app/job/job_file.hpp"
#include "app/job/job_text.hpp"
#include "coordinators/job/job_check.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace troupe::job_text_test {
namespace {

// Random jobs that `problems` has nothing against, every field away from its default at times.
class random_jobs {
public:
  job next() {
    job x;
    x.name = "run \"" + std::to_string(whole("data.rows")) + "\"\t\xc3\xa4";
    x.seed = whole("data.rows");
    fill(x.data);
    fill(x.model);
    fill(x.optimizer);
    if (x.optimizer.kind == optimizer_kind::lbfgs)
      x.model.dropout = 0;
    fill(x.training);
    if (x.training.evaluate_every > 0 && !finds_own_rate(x.optimizer.kind) &&
        scope_of(x.optimizer.kind) == optimizer_scope::element_wise && coin())
      x.optimizer.plateau = {whole("optimizer.plateau.patience"), 0.9 * fraction() + 0.05,
                             fraction(), fraction()};
    x.runtime.threads = maybe(whole("runtime.threads"));
    x.runtime.policy = any<scheduler_policy>();
    if (coin())
      x.runtime.instructions = products::instruction_set::avx2;
    x.checkpoint.every_steps = whole("checkpoint.every_steps");
    x.checkpoint.directory = coin() ? "" : "/safe/\\";
    x.checkpoint.keep = whole("checkpoint.keep");
    x.output.directory = coin() ? "runs/\\" : "/else";
    return x;
  }

private:
  bool coin() { return engine_() % 2 == 0; }
  uint64_t whole(std::string_view key) {
    uint64_t least = 1;
    uint64_t most = 1000; // of what is no key of its own
    if (const auto* row = find_job_key(std::string{key})) {
      const auto words = row->words();
      const auto from = words.find(" from ");
      least = from == words.npos ? 0 : std::stoull(words.substr(from + 6));
      most = from == words.npos ? std::numeric_limits<int64_t>::max()
                                : std::stoull(words.substr(words.find(" to ") + 4));
    }
    return std::clamp(engine_() >> (engine_() % 63 + 1), least, most);
  }
  double fraction() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  template <class T>
  std::optional<T> maybe(T value) {
    return coin() ? std::optional<T>{value} : std::nullopt;
  }
  template <class Enum>
  Enum any() {
    const auto& entries = name_table<Enum>::entries;
    return entries[engine_() % entries.size()].first;
  }

  void fill(data_options& x) {
    if (coin())
      x.file = "/some/rows " + std::to_string(whole("data.rows")) + ".csv";
    else
      x.synthetic = any<synthetic_kind>();
    x.rows = whole("data.rows");
    x.features = whole("data.features");
    x.classes = whole("data.classes");
    x.targets = whole("data.targets");
    x.noise = fraction() * 100;
    x.format = any<data_format>();
    x.header = any<header_kind>();
    if (!x.file.empty() && x.format == data_format::libsvm) {
      x.index_base = coin();
      x.dense = coin() ? dense_kind::yes : dense_kind::automatic;
      if (coin())
        x.hash_bits = whole("data.hash_bits");
    }
    const bool is_text = !x.file.empty() && x.format == data_format::text;
    if (is_text) {
      x.text = {whole("data.window"), whole("data.stride")};
      x.header = header_kind::automatic;
    }
    if (!x.file.empty() && x.format != data_format::csv && x.format != data_format::libsvm &&
        x.format != data_format::text && coin())
      x.labels_file = "/some/labels.idx";
    x.target =
      coin() || !x.labels_file.empty() || is_text ? "last" : std::to_string(whole("data.target"));
    x.test_fraction = coin() ? 0 : fraction();
    x.standardize = !is_text && coin();
    x.validation_fraction = x.standardize ? (1 - x.test_fraction) / 3 : 0;
  }
  void fill(model_options& x) {
    x.kind = any<model_kind>();
    if (x.kind == model_kind::neural_network)
      for (size_t i = engine_() % 4; i > 0; --i)
        x.hidden.push_back(whole("model.hidden"));
    x.activation = any<activation_kind>();
    if (x.hidden.size() > 1 && coin()) {
      std::vector<activation_kind> kinds;
      for (size_t i = 0; i < x.hidden.size(); ++i)
        kinds.push_back(any<activation_kind>());
      x.activation = kinds;
    }
    if (x.kind == model_kind::neural_network)
      x.loss = maybe(any<loss_kind>());
    if (x.kind == model_kind::logistic_regression || x.loss == loss_kind::binary_cross_entropy)
      x.link = any<link_kind>();
    x.huber_threshold = fraction() + 1e-3;
    x.bias = coin();
    x.dropout = x.hidden.empty() ? 0 : fraction();
    x.initialization = maybe(any<initialization_kind>());
    x.initialization_scale = fraction() + 1e-3;
  }
  void fill(optimizer_options& x) {
    do
      x.kind = any<optimizer_kind>();
    while (scope_of(x.kind) == optimizer_scope::solver); // small linear models only
    if (x.kind == optimizer_kind::sgd) {
      x.momentum = fraction();
      x.nesterov = x.momentum > 0 && coin();
    }
    const auto defaults = defaults_of(x.kind);
    for (const auto& [key, member, of_rule] : optimizer_constants)
      if (defaults.*member)
        x.*member = maybe(fraction() * 1e-3 + 1e-12);
    x.l2 = coin() ? 0 : fraction();
    if (x.kind == optimizer_kind::lbfgs) {
      x.history_size = whole("optimizer.history_size");
    } else {
      x.l1 = coin() ? 0 : fraction();
      (coin() ? x.clip_norm : x.clip_value) = fraction();
    }
    if (!finds_own_rate(x.kind))
      x.schedule = schedule(3);
  }
  std::vector<uint64_t> milestones(size_t count) {
    std::vector<uint64_t> result;
    for (uint64_t step = 0; count > 0; --count)
      result.push_back(step += 1 + engine_() % 1000);
    return result;
  }
  schedule_options schedule(size_t depth) {
    schedule_options x;
    do
      x.kind = any<schedule_kind>();
    while (depth == 0 && (x.kind == schedule_kind::chained || x.kind == schedule_kind::sequential));
    x.steps = whole("optimizer.schedule.steps");
    x.factor = 1 - fraction();
    x.minimum = fraction();
    x.start = fraction();
    x.end = fraction();
    x.power = fraction() * 4 + 1e-9;
    if (x.kind == schedule_kind::warmup && depth > 0 && coin())
      x.then = {schedule(depth - 1)};
    if (x.kind == schedule_kind::chained || x.kind == schedule_kind::sequential)
      for (size_t i = engine_() % 3 + 1; i > 0; --i)
        x.parts.push_back(schedule(depth - 1));
    if (x.kind == schedule_kind::multi_step)
      x.milestones = milestones(engine_() % 4 + 1);
    if (x.kind == schedule_kind::sequential)
      x.milestones = milestones(x.parts.size() - 1);
    return x;
  }
  void fill(training_options& x) {
    x.batch_size = coin() ? 0 : whole("training.batch_size");
    x.slices = maybe<size_t>(whole("training.slices"));
    x.replicas = maybe<size_t>(whole("training.replicas"));
    x.epochs = whole("training.epochs");
    x.steps = maybe(whole("training.steps"));
    x.target_loss = maybe(fraction() - 0.5);
    x.evaluate_every = whole("training.evaluate_every");
    if (x.evaluate_every > 0)
      x.patience = maybe<size_t>(whole("training.patience"));
    x.history_every = whole("training.history_every");
    x.tolerance = fraction();
    if (x.evaluate_every % 2 == 1)
      x.keep_best = x.patience.has_value();
    if (coin())
      x.class_weights.kind = class_weight_kind::balanced;
    else if (coin())
      x.class_weights = {class_weight_kind::list, {fraction() + 1e-3, 0, 2}};
  }

  std::mt19937_64 engine_{20240501};
};

TEST(job_text, written_jobs_load_as_equal_jobs) {
  temporary_folder folder;
  random_jobs jobs;
  for (int i = 0; i < 300; ++i) {
    const job x = jobs.next();
    ASSERT_TRUE(problems(x).empty()) << problems(x)[0].key;
    const auto text = job_text(x);
    ASSERT_EQ(load_job(folder.write("some.toml", text), {}, {}), x) << text;
  }
}

} // namespace
} // namespace troupe::job_text_test
