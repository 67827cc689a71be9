"""A rate that is lowered by results: the same bits whoever computes, and those of a schedule that knew.

    python3 tests/scripts/kinds/plateau_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from cluster_run import results_with_a_kill, resumed_after_a_kill
from command import SOURCE, JobTest, main, rows_of_csv, sets_of

JOB = f"""[data]
file = "{SOURCE}/examples/data/digits.csv.gz"
test_fraction = 0.2
validation_fraction = 0.1
standardize = true
[model]
hidden = [32]
[optimizer]
learning_rate = 0.3
momentum = 0.5
[optimizer.plateau]
patience = 2
factor = 0.5
[training]
batch_size = 64
slices = 4
epochs = 30
keep_best = false
"""


class Plateau(JobTest):
    job_text = JOB
    figures = ("parameters_sha256", "job_sha256", "steps", "train_loss", "validation_loss", "rate_reductions")

    def test_bits_do_not_depend_on_who_computes_and_are_those_of_a_schedule_that_knew(self):
        alone = self.train("alone", "training.replicas=1")
        steps = alone["rate_reductions"]
        self.assertGreater(len(steps), 1)
        for number, settings in enumerate((["training.replicas=3"], ["parallel.sharded=true"],
                                           ["checkpoint.every_steps=7"], ["training.patience=100"])):
            self.expect_equal(self.train(f"other{number}", *settings), alone)
        known = self.train("known", "optimizer.plateau.patience=", "optimizer.plateau.factor=",
                           "optimizer.schedule.kind=multi-step", "optimizer.schedule.factor=0.5",
                           f"optimizer.schedule.milestones={steps}")
        self.assertEqual(known["parameters_sha256"], alone["parameters_sha256"])
        self.assertNotEqual(known["job_sha256"], alone["job_sha256"])
        self.assertNotIn("rate_reductions", known)
        plain = self.train("plain", "optimizer.plateau.patience=", "optimizer.plateau.factor=")
        self.assertNotEqual(plain["parameters_sha256"], alone["parameters_sha256"])

    def test_the_history_has_the_rates_and_the_rule_can_be_followed_in_it(self):
        result = self.train("run")
        rows = rows_of_csv(self.folder / "run" / "history.csv")
        best, waited, rate, lowered = float("inf"), 0, 0.3, []
        for row in rows:
            self.assertAlmostEqual(float(row["learning_rate"]), rate)
            loss = float(row["validation_loss"])
            waited = 0 if loss < best else waited + 1
            best = min(best, loss)
            if waited == 2:
                waited, rate = 0, rate / 2
                lowered.append(int(row["steps"]))
        self.assertEqual(result["rate_reductions"], lowered)

    def test_a_worker_that_is_killed_does_not_show(self):
        self.write("job.toml", JOB.replace("epochs = 30", "epochs = 200"))
        alone = self.train("alone")
        for result, messages in results_with_a_kill(self.folder, self.job, "[checkpoint]\nevery_steps = 50\n"):
            with self.subTest(messages=messages):
                self.expect_equal(result, alone)

    def test_a_killed_run_goes_on_and_ends_like_one_that_was_not(self):
        sets = ["checkpoint.every_steps=10", "training.epochs=200"]
        undisturbed = self.train("undisturbed", *sets)
        self.expect_equal(resumed_after_a_kill(self.folder, self.job, sets, undisturbed["rate_reductions"][0]),
                          undisturbed)

    def test_what_it_cannot_be_is_told(self):
        for settings, why in [
                (["optimizer.plateau.patience="], "'optimizer.plateau.patience': is missing"),
                (["optimizer.plateau.factor=1"], "must be in (0, 1)"),
                (["optimizer.plateau.patience=0"], "expected an integer from 1"),
                (["training.evaluate_every=0"], "needs evaluations on the way"),
                (["training.consistency=asynchronous"], "belongs to synchronous gradients"),
                (["training.strategy=parameters"], "belongs to synchronous gradients"),
                (["optimizer.kind=lbfgs", "training.batch_size=all"], "lbfgs finds its own steps"),
                (["optimizer.kind=adafactor"], "adafactor looks at the whole model at once")]:
            run = self.troupe("train", "job.toml", *sets_of(settings), code=78)
            self.assertIn(why, run.stderr.replace("\n", " "), settings)


if __name__ == "__main__":
    main()
