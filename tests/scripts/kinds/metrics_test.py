"""Metrics of a job: in its history and everything made of it, the same whoever judged which rows.

    python3 tests/scripts/kinds/metrics_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import json
import sys

sys.path[:0] = [f"{sys.path[0]}/..", f"{sys.path[0]}/../page"]
from cluster_run import Cluster, cluster_text, nodes_on_loopback, results_with_a_kill, timeouts
from command import SOURCE, JobTest, main, rows_of_csv
from patience import HANG
from tensorboard import tensorboard_points

DIGITS = SOURCE / "examples" / "data" / "digits.csv.gz"
METRICS = ("auc", "average-precision", "balanced-accuracy", "brier", "calibration-error", "macro-f1")
COLUMNS = [f"{part}_{name.replace('-', '_')}" for part in ("test", "validation") for name in METRICS]
JOB = f"""[data]
file = "{DIGITS}"
standardize = true
test_fraction = 0.25
validation_fraction = 0.2
[model]
kind = "neural-network"
hidden = [16]
[optimizer]
kind = "adam"
[training]
batch_size = 64
slices = 4
epochs = 6
evaluate_every = 2
metrics = {json.dumps(METRICS)}
"""


def rows_of(directory):
    """The history without what differs from run to run."""
    return [{**row, "seconds": None} for row in rows_of_csv(directory / "history.csv")]


class Metrics(JobTest):
    job_text = JOB

    def refusal(self, *sets):
        return self.train("refused", *sets, code=78)["error"]

    # ---- Figures

    def test_figures_are_those_of_evaluate_and_everywhere(self):
        summary = self.train("run", more=["--tensorboard"])
        rows = rows_of(self.folder / "run")
        self.assertEqual([key for key in rows[0] if key in COLUMNS], COLUMNS)
        for row in rows:  # every second epoch is judged
            for column in COLUMNS:
                self.assertEqual(row[column] == "", row["test_loss"] == "", column)
        best = next(row for row in rows if int(row["steps"]) == summary["steps"])
        self.assertEqual(summary["metrics"], {column: float(best[column]) for column in COLUMNS})
        for part in ("test", "validation"):
            judged = self.result_of("evaluate", "run", "--rows", part)
            recalls = [one["recall"] for one in judged["classes"]]
            for column, value in (("auc", judged["auc"]), ("average_precision", judged["average_precision"]), ("brier", judged["brier"]),
                                  ("calibration_error", judged["calibration_error"]),
                                  ("macro_f1", judged["macro"]["f1"]),
                                  ("balanced_accuracy", sum(recalls) / len(recalls))):
                self.assertAlmostEqual(float(best[f"{part}_{column}"]), value, delta=1e-12, msg=column)
        points = tensorboard_points(self.folder / "run")
        self.assertEqual(sorted(points["auc/test"]),
                         [int(row["steps"]) for row in rows if row["test_auc"]])
        events = [json.loads(line) for line in self.read("run", "events.jsonl").splitlines()]
        told = [event["row"] for event in events if "row" in event]
        self.assertEqual([row["validation_macro_f1"] for row in told],
                         [float(row["validation_macro_f1"]) if row["test_loss"] else None for row in rows])
        compared = self.result_of("compare", "run", "run")
        self.assertEqual(compared["runs"][0]["test_auc"], float(best["test_auc"]))
        shown = self.troupe("train", self.job, "--set", "output.directory=shown").stdout
        self.assertRegex(shown, r"(?m)^val balanced accuracy +0\.9")

    def test_regressions_have_theirs(self):
        self.write("line.csv", "x,y\n" + "".join(f"{i / 10},{i / 5 + (i % 3)}\n" for i in range(200)))
        self.write("job.toml", "[data]\nfile = \"line.csv\"\ntest_fraction = 0.5\n[model]\nkind = \"linear-regression\"\n"
                   "[optimizer]\nkind = \"closed-form\"\n[training]\nmetrics = [\"mae\", \"rmse\"]\n")
        metrics = self.train("run")["metrics"]
        judged = self.result_of("evaluate", "run")
        self.assertAlmostEqual(metrics["test_mae"], judged["mean_absolute_error"], delta=1e-12)
        self.assertAlmostEqual(metrics["test_rmse"] ** 2, judged["mean_squared_error"], delta=1e-12)

    def test_what_says_nothing_of_the_job_is_refused(self):
        for sets, why in [
                (['training.metrics=["auk"]'], "did you mean 'auc'?"),
                (['training.metrics=["accuracy"]'], "accuracy is told of every job"),
                (['training.metrics=["auc", "auc"]'], "auc is named twice"),
                (['training.metrics=["mae"]'], "mae: it judges numbers, and the targets are classes"),
                (["data.test_fraction=0", "data.validation_fraction=0"], "there are no rows to judge"),
                (["training.watch=rmse"], "rmse: it judges numbers, and the targets are classes"),
                (["training.watch=r2"], "r2 is of numbers, and the targets are classes"),
                (["training.watch=auk"], "did you mean 'auc'?"),
                (["training.watch=auc", "training.target_loss=0.5"], "is a loss, and auc is watched"),
                (["training.watch=auc", "training.metrics=[]", "data.test_fraction=0", "data.validation_fraction=0"],
                 "no rows that are not trained on to judge auc by"),
                (["training.watch=auc", "training.metrics=[]", "model.cuts=2", "parallel.tensor=2"],
                 "of a model that is split"),
                (["model.cuts=2", "parallel.tensor=2"], "of a model that is split")]:
            self.assertIn(why, json.dumps(self.refusal(*sets)), sets)

    # ---- What is watched

    def watched(self, name, *sets):
        return self.train(name, "training.watch=brier", "training.metrics=[]", "training.evaluate_every=1",
                          "optimizer.learning_rate=0.02", "training.epochs=40", "training.patience=4", *sets)

    def test_the_watched_metric_decides_which_version_is_kept_and_when_it_ends(self):
        for watch, sign in (("brier", 1), ("auc", -1), ("accuracy", -1)):
            summary = self.watched(watch, f"training.watch={watch}", "training.epochs=300", "optimizer.learning_rate=0.05")
            rows = rows_of(self.folder / watch)
            figures = [sign * float(row[f"validation_{watch}"]) for row in rows]
            best = figures.index(min(figures))
            self.assertEqual(summary["best_version"], int(rows[best]["steps"]), watch)
            self.assertEqual(summary["stopped_by"], "patience")
            self.assertEqual(len(rows), best + 1 + 4, "patience is counted by it")
        self.assertEqual(summary["validation_accuracy"], max(float(row["validation_accuracy"]) for row in rows))

    def test_the_watched_version_is_the_same_however_it_is_trained(self):
        expected = self.watched("one", "training.replicas=1", "optimizer.plateau.patience=1")
        for number, more in enumerate((["training.replicas=3"], ["training.replicas=2", "training.consistency=synchronous"])):
            result = self.watched(f"more{number}", "optimizer.plateau.patience=1", *more)
            self.assertEqual(result["parameters_sha256"], expected["parameters_sha256"])
        self.assertTrue(expected["rate_reductions"])
        self.watched("resumed", "optimizer.plateau.patience=1", "checkpoint.every_steps=5", "training.epochs=3")
        self.train("resumed", "training.watch=brier", "training.metrics=[]", "training.evaluate_every=1",
                   "optimizer.learning_rate=0.02", "training.epochs=40", "training.patience=4",
                   "optimizer.plateau.patience=1", "checkpoint.every_steps=5", more=["--resume"])
        self.assertEqual(json.loads(self.read("resumed", "summary.json"))["parameters_sha256"],
                         expected["parameters_sha256"])
        self.assertEqual(rows_of(self.folder / "resumed"), rows_of(self.folder / "one"))

    # ---- The same whoever judges

    def test_replicas_modes_and_resumed_runs(self):
        self.train("one", "training.replicas=1")
        expected = rows_of(self.folder / "one")
        self.train("three", "training.replicas=3", "runtime.threads=3")
        self.assertEqual(rows_of(self.folder / "three"), expected)
        self.train("resumed", "checkpoint.every_steps=5", "training.epochs=3")
        self.train("resumed", "checkpoint.every_steps=5", more=["--resume"])
        self.assertEqual(rows_of(self.folder / "resumed"), expected)
        self.write("job.toml", JOB.replace("slices = 4\n", ""))
        rounds = ("training.strategy=parameters", "training.members=3", "training.local_steps=5")
        self.train("kept", *rounds, "training.replicas=1")
        self.train("kept3", *rounds, "training.replicas=3")
        self.assertEqual(rows_of(self.folder / "kept"), rows_of(self.folder / "kept3"))
        self.assertTrue(rows_of(self.folder / "kept")[-1]["test_auc"])

    def test_clusters_with_a_kill(self):
        epochs = 400
        self.train("alone", f"training.epochs={epochs}")
        expected = rows_of(self.folder / "alone")
        settings = f"[training]\nepochs = {epochs}\n[checkpoint]\nevery_steps = 500\n"
        for number, _ in enumerate(results_with_a_kill(self.folder, self.job, settings)):
            place = self.folder / f"cluster{number}"
            self.assertEqual(rows_of(next(place.rglob("history.csv")).parent), expected)

    def test_processes_that_judge_otherwise_do_not_train_together(self):
        nodes = nodes_on_loopback([(1, 1), (1, 0)])
        nodes[1].wrapper = ["env", "TROUPE_TRAINING__METRICS=[\"auc\"]"]
        text = cluster_text(nodes, "", timeouts(join=60), job=self.job)
        with Cluster(text, nodes) as cluster:
            worker = cluster.processes["left"]
            worker.end(HANG)
            self.assertEqual(worker.process.returncode, 76, cluster.messages())
            self.assertIn("training.metrics", cluster.messages())


if __name__ == "__main__":
    main()
