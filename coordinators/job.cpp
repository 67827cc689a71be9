#include "troupe/coordinators/job.hpp"

#include <cmath>
#include <utility>

namespace troupe {

namespace {

// Collects problems; each check reads as one line of a specification.
class checker {
public:
  void require(bool holds, std::string key, std::string why, std::string hint) {
    if (!holds)
      result.push_back({std::move(key), std::move(why), std::move(hint)});
  }

  template <class T>
  void at_least_one(const std::string& key, const T& value) {
    require(value >= 1, key, "must be at least 1", "use a whole number from 1 up");
  }

  template <class T>
  void optional_at_least_one(const std::string& key, const std::optional<T>& value) {
    require(!value || *value >= 1, key, "must be at least 1",
            "use a whole number from 1 up, or leave it out");
  }

  std::vector<job_problem> result;
};

void check_data(checker& check, const data_options& x) {
  const bool synthetic = x.synthetic != synthetic_kind::none;
  check.require(synthetic || !x.file.empty(), "data.file", "the job names no data",
                "set data.file to a file of rows, or data.synthetic to \"classification\" or "
                "\"regression\"");
  check.require(!synthetic || x.file.empty(), "data.synthetic",
                "the job names a file and asks for synthetic data", "keep one of the two");
  check.at_least_one("data.rows", x.rows);
  check.at_least_one("data.features", x.features);
  check.require(x.classes >= 2, "data.classes", "must be at least 2", "use 2 or more classes");
  check.at_least_one("data.targets", x.targets);
  check.require(x.noise >= 0 && std::isfinite(x.noise), "data.noise", "must be 0 or more",
                "use a number such as 0.1");
  check.require(!x.target.empty(), "data.target", "must not be empty",
                "use \"last\", a column's name or its number counted from 0");
  check.require(x.index_base <= 1, "data.index_base", "must be 0 or 1",
                "use the index of the first feature in the file");
  const bool has_labels = !x.labels_file.empty();
  check.require(!has_labels || !x.file.empty(), "data.labels_file",
                "the job names labels but no data.file", "name the rows that they belong to");
  check.require(!has_labels || (x.format != data_format::csv && x.format != data_format::libsvm),
                "data.labels_file", std::string{name_of(x.format)} + " files hold their targets",
                "leave data.labels_file out");
  check.require(!has_labels || x.target == "last", "data.target",
                "the targets come from data.labels_file", "keep one of the two");
  check.require(x.test_fraction >= 0 && x.test_fraction < 1, "data.test_fraction",
                "must be in [0, 1)", "use a share of the rows such as 0.25");
}

void check_model(checker& check, const model_options& x) {
  for (auto units : x.hidden)
    check.at_least_one("model.hidden", units);
  check.require(x.hidden.empty() || x.kind == model_kind::neural_network, "model.hidden",
                "softmax-regression has no hidden layers",
                "use model.kind = \"neural-network\", or leave hidden out");
  check.require(x.kind != model_kind::softmax_regression || !x.loss || is_classification(*x.loss),
                "model.loss", "softmax-regression is trained with categorical-cross-entropy",
                "leave model.loss out");
}

void check_schedule(checker& check, const schedule_options& x) {
  const std::string key = "optimizer.schedule";
  check.at_least_one(key + ".steps", x.steps);
  check.require(x.factor > 0 && x.factor <= 1, key + ".factor", "must be in (0, 1]",
                "use a factor such as 0.1");
  check.require(x.minimum >= 0 && x.minimum <= 1, key + ".minimum", "must be in [0, 1]",
                "use a share of the learning rate such as 0.01");
  check.require(x.start >= 0 && x.start <= 1, key + ".start", "must be in [0, 1]",
                "use a share of the learning rate such as 0.1");
  check.require(x.then.empty() || x.kind == schedule_kind::warmup, key + ".then",
                "only a warmup is followed by another schedule", "use kind = \"warmup\"");
  check.require(x.then.size() <= 1, key + ".then", "only one schedule can follow",
                "nest it in the one that follows");
  for (const auto& next : x.then)
    check_schedule(check, next);
}

void check_optimizer(checker& check, const optimizer_options& x) {
  check.require(x.learning_rate > 0 && std::isfinite(x.learning_rate), "optimizer.learning_rate",
                "must be above 0", "use a number such as 0.01");
  check.require(x.momentum >= 0 && x.momentum < 1, "optimizer.momentum", "must be in [0, 1)",
                "use a number such as 0.9");
  check.require(!x.nesterov || x.momentum > 0, "optimizer.nesterov", "needs a momentum",
                "set optimizer.momentum, to 0.9 say");
  check.require(x.beta1 >= 0 && x.beta1 < 1, "optimizer.beta1", "must be in [0, 1)",
                "the paper's value is 0.9");
  check.require(x.beta2 >= 0 && x.beta2 < 1, "optimizer.beta2", "must be in [0, 1)",
                "the paper's value is 0.999");
  check.require(x.epsilon > 0 && std::isfinite(x.epsilon), "optimizer.epsilon", "must be above 0",
                "the paper's value is 1e-8");
  const bool is_sgd = x.kind == optimizer_kind::sgd;
  check.require(is_sgd || (x.momentum == 0 && !x.nesterov), "optimizer.momentum",
                std::string{name_of(x.kind)} + " takes no momentum",
                "use optimizer.kind = \"sgd\", or leave it out");
  check_schedule(check, x.schedule);
}

void check_training(checker& check, const training_options& x) {
  check.optional_at_least_one("training.slices", x.slices);
  check.optional_at_least_one("training.replicas", x.replicas);
  check.at_least_one("training.epochs", x.epochs);
  check.optional_at_least_one("training.steps", x.steps);
  check.optional_at_least_one("training.patience", x.patience);
  check.require(!x.target_loss || std::isfinite(*x.target_loss), "training.target_loss",
                "must be a finite number", "use a loss such as 0.1");
  check.require(x.tolerance >= 0 && std::isfinite(x.tolerance), "training.tolerance",
                "must be 0 or more", "use a small number such as 1e-4");
  check.require(!x.patience || x.evaluate_every > 0, "training.patience",
                "needs evaluations on the way, but evaluate_every is 0",
                "set training.evaluate_every to 1 or more");
}

} // namespace

std::vector<job_problem> problems(const job& x) {
  checker check;
  check_data(check, x.data);
  check_model(check, x.model);
  check_optimizer(check, x.optimizer);
  check_training(check, x.training);
  check.optional_at_least_one("runtime.threads", x.runtime.threads);
  check.require(!x.runtime.numerics.empty(), "runtime.numerics", "must not be empty",
                "use \"native\" or the name of a processor type such as \"x86-64-v3\"");
  return std::move(check.result);
}

} // namespace troupe
