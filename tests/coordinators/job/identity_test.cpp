// A job's identity: the same for two jobs exactly when each version of one follows from the version
// before as in the other.

#include "coordinators/job/resolve.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace troupe::identity_test {
namespace {

struct change {
  std::string what;
  std::function<void(job&)> apply;
};

const data_shape rows{200, 50, 8, 3, true};

job base(optimizer_kind kind = optimizer_kind::sgd) {
  job x;
  x.name = "base";
  x.seed = 5;
  x.data.file = "rows.csv";
  x.data.test_fraction = 0.2;
  x.model.hidden = {6};
  x.optimizer.kind = kind;
  if (kind == optimizer_kind::sgd)
    x.optimizer.momentum = 0.5;
  return x;
}

std::string identity(const job& x) {
  return identity_text(resolve(x, rows, 2), "0123abcd");
}

std::string identity_with(job x, const std::function<void(job&)>& apply) {
  apply(x);
  return identity(x);
}

job with_schedule(schedule_kind kind) {
  auto x = base();
  x.optimizer.schedule.kind = kind;
  x.optimizer.schedule.steps = 10;
  return x;
}

void set_steps(job& x) {
  x.optimizer.schedule.steps = 11;
}

void set_factor(job& x) {
  x.optimizer.schedule.factor = 0.2;
}

void set_minimum(job& x) {
  x.optimizer.schedule.minimum = 0.3;
}

void set_start(job& x) {
  x.optimizer.schedule.start = 0.4;
}

TEST(identity, each_key_that_determines_the_next_version_changes_it) {
  const std::vector<change> changes{
    {"seed", [](job& x) { x.seed = 6; }},
    {"test_fraction", [](job& x) { x.data.test_fraction = 0.3; }},
    {"validation_fraction", [](job& x) { x.data.validation_fraction = 0.1; }},
    {"standardize", [](job& x) { x.data.standardize = true; }},
    {"stratify", [](job& x) { x.data.stratify = true; }},
    {"split_by", [](job& x) { x.data.split_by = "who"; }},
    {"fold", [](job& x) { x.data.folds = 5, x.data.fold = 0; }},
    {"kind",
     [](job& x) {
       x.model.kind = model_kind::softmax_regression;
       x.model.hidden.clear();
     }},
    {"hidden: units", [](job& x) { x.model.hidden = {7}; }},
    {"hidden: layers", [](job& x) { x.model.hidden.assign(2, 6); }},
    {"activation",
     [](job& x) {
       x.model.activation = activation_kind::tanh;
       x.model.initialization = initialization_kind::he;
     }},
    {"loss", [](job& x) { x.model.loss = loss_kind::squared; }},
    {"initialization", [](job& x) { x.model.initialization = initialization_kind::xavier; }},
    {"optimizer", [](job& x) { x.optimizer.kind = optimizer_kind::adam; }},
    {"learning_rate", [](job& x) { x.optimizer.learning_rate = 0.010000000000000002; }},
    {"momentum", [](job& x) { x.optimizer.momentum = 0.6; }},
    {"nesterov", [](job& x) { x.optimizer.nesterov = true; }},
    {"schedule",
     [](job& x) {
       x.optimizer.schedule = {schedule_kind::step, 1};
     }},
    {"plateau", [](job& x) { x.optimizer.plateau.patience = 3; }},
    {"batch_size", [](job& x) { x.training.batch_size = 33; }},
    {"slices", [](job& x) { x.training.slices = 2; }},
  };
  for (const auto& [what, apply] : changes)
    EXPECT_NE(identity_with(base(), apply), identity(base())) << what;
  EXPECT_NE(identity_text(resolve(base(), rows, 2), "other"), identity(base())) << "fingerprint";
}

TEST(identity, each_fold_is_a_job_of_its_own) {
  std::set<std::string> found{identity(base())};
  for (const auto& [fold, folds] : {std::pair{0, 5}, {1, 5}, {0, 4}})
    found.insert(identity_with(base(), [&](job& x) { x.data.folds = folds, x.data.fold = fold; }));
  EXPECT_EQ(found.size(), 4u);
}

TEST(identity, adams_constants_change_adams_identity) {
  const auto adam = base(optimizer_kind::adam);
  const std::vector<change> changes{
    {"beta1", [](job& x) { x.optimizer.beta1 = 0.8; }},
    {"beta2", [](job& x) { x.optimizer.beta2 = 0.99; }},
    {"epsilon", [](job& x) { x.optimizer.epsilon = 1e-7; }},
  };
  for (const auto& [what, apply] : changes) {
    EXPECT_NE(identity_with(adam, apply), identity(adam)) << what;
    EXPECT_EQ(identity_with(base(), apply), identity(base())) << what << " is nothing to sgd";
  }
  EXPECT_EQ(identity_with(adam, [](job& x) { x.optimizer.momentum = 0.5; }), identity(adam));
}

TEST(identity, no_other_key_changes_it) {
  const std::vector<change> changes{
    {"name", [](job& x) { x.name = "other"; }},
    // How the data is read shows in its fingerprint.
    {"file", [](job& x) { x.data.file = "elsewhere/rows.csv.gz"; }},
    {"synthetic",
     [](job& x) {
       x.data.file.clear();
       x.data.synthetic = synthetic_kind::classification;
     }},
    {"format", [](job& x) { x.data.format = file_format::csv; }},
    {"header", [](job& x) { x.data.header = csv_header::no; }},
    {"target", [](job& x) { x.data.target = "3"; }},
    {"rows", [](job& x) { x.data.rows = 9; }},
    {"features", [](job& x) { x.data.features = 9; }},
    {"classes", [](job& x) { x.data.classes = 9; }},
    {"targets", [](job& x) { x.data.targets = 9; }},
    {"noise", [](job& x) { x.data.noise = 9; }},
    {"replicas", [](job& x) { x.training.replicas = 5; }},
    {"epochs", [](job& x) { x.training.epochs = 99; }},
    {"steps", [](job& x) { x.training.steps = 99; }},
    {"target_loss", [](job& x) { x.training.target_loss = 0.1; }},
    {"keep_best", [](job& x) { x.training.keep_best = true; }},
    {"patience", [](job& x) { x.training.patience = 3; }},
    {"tolerance", [](job& x) { x.training.tolerance = 0.1; }},
    {"evaluate_every", [](job& x) { x.training.evaluate_every = 3; }},
    {"threads", [](job& x) { x.runtime.threads = 7; }},
    {"policy", [](job& x) { x.runtime.policy = scheduler_policy::stealing; }},
    {"instructions", [](job& x) { x.runtime.instructions = products::instruction_set::portable; }},
    {"device", [](job& x) { x.runtime.device = "auto"; }},
    {"directory", [](job& x) { x.output.directory = "elsewhere"; }},
    {"checkpoint.every_steps", [](job& x) { x.checkpoint.every_steps = 7; }},
    {"checkpoint.directory", [](job& x) { x.checkpoint.directory = "elsewhere"; }},
    {"checkpoint.keep", [](job& x) { x.checkpoint.keep = 3; }},
  };
  for (const auto& [what, apply] : changes)
    EXPECT_EQ(identity_with(base(), apply), identity(base())) << what;
  EXPECT_EQ(identity_text(resolve(base(), rows, 64), "0123abcd"), identity(base())) << "cores";
}

TEST(identity, of_a_schedule_the_constants_of_its_kind_count) {
  struct row {
    schedule_kind kind;
    bool steps, factor, minimum, start;
  };
  const row table[] = {
    {schedule_kind::constant, false, false, false, false},
    {schedule_kind::step, true, true, false, false},
    {schedule_kind::cosine, true, false, true, false},
    {schedule_kind::warmup, true, false, false, true},
  };
  for (const auto& [kind, steps, factor, minimum, start] : table) {
    const auto x = with_schedule(kind);
    const auto changes = [&](void (*apply)(job&)) {
      return identity_with(x, apply) != identity(x);
    };
    EXPECT_EQ(changes(set_steps), steps) << name_of(kind);
    EXPECT_EQ(changes(set_factor), factor) << name_of(kind);
    EXPECT_EQ(changes(set_minimum), minimum) << name_of(kind);
    EXPECT_EQ(changes(set_start), start) << name_of(kind);
  }
}

TEST(identity, a_schedule_that_follows_counts) {
  const auto warmup = with_schedule(schedule_kind::warmup);
  const auto then_cosine = [](uint64_t steps) {
    return [steps](job& x) {
      schedule_options next;
      next.kind = schedule_kind::cosine;
      next.steps = steps;
      x.optimizer.schedule.then = {next};
    };
  };
  EXPECT_NE(identity_with(warmup, then_cosine(5)), identity(warmup));
  EXPECT_NE(identity_with(warmup, then_cosine(5)), identity_with(warmup, then_cosine(6)));
  EXPECT_NE(identity_with(warmup, then_cosine(5))
              .find("schedule = warmup(10 0000000000000000 cosine(5 0000000000000000))\n"),
            std::string::npos);
}

// Its bits depend on how long the run is: then that is part of the job.
TEST(identity, a_schedule_without_steps_counts_those_of_the_run) {
  const auto cosine = [](uint64_t epochs, std::optional<uint64_t> steps) {
    auto x = base();
    x.optimizer.schedule = {schedule_kind::cosine, steps};
    x.training.epochs = epochs;
    return identity(x);
  };
  EXPECT_EQ(cosine(3, {}), cosine(3, 21)) << "200 rows, batches of 32";
  EXPECT_NE(cosine(3, {}), cosine(4, {}));
  EXPECT_EQ(cosine(3, 21), cosine(4, 21));
}

TEST(identity, an_activation_without_hidden_layers_does_not_count) {
  auto x = base();
  x.model.hidden.clear();
  EXPECT_EQ(identity_with(x, [](job& y) { y.model.activation = activation_kind::tanh; }),
            identity(x));
}

TEST(identity, a_default_and_the_same_value_written_out_are_one) {
  auto x = base();
  x.training.batch_size = 0;
  EXPECT_EQ(identity(x), identity_with(x, [](job& y) {
              y.training.batch_size = 200;
              y.training.slices = 3;
              y.model.loss = loss_kind::categorical_cross_entropy;
              y.model.initialization = initialization_kind::he;
            }));
}

TEST(identity, its_text_is_one_key_a_line_with_numbers_as_bits) {
  EXPECT_EQ(identity(base()), "arithmetic = 1\n"
                              "seed = 5\n"
                              "data.fingerprint = 0123abcd\n"
                              "data.test_fraction = 3fc999999999999a\n"
                              "data.standardize = 0\n"
                              "model.kind = neural-network\n"
                              "model.hidden = 6\n"
                              "model.activation = relu\n"
                              "model.loss = categorical-cross-entropy\n"
                              "model.initialization = he\n"
                              "optimizer.kind = sgd\n"
                              "optimizer.learning_rate = 3f847ae147ae147b\n"
                              "optimizer.momentum = 3fe0000000000000\n"
                              "optimizer.nesterov = 0\n"
                              "optimizer.schedule = constant()\n"
                              "training.strategy = gradients\n"
                              "training.consistency = synchronous\n"
                              "training.batch_size = 32\n"
                              "training.slices = 1\n");
}

} // namespace
} // namespace troupe::identity_test
