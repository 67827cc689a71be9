"""The promise on real data: one set of bits for any number of replicas and threads, idle or loaded.

    python3 tests/scripts/examples/digits_test.py BUILD_FOLDER SOURCE_FOLDER

Trains examples/digits.toml, and those whose models are split over replicas, through the command and
compares runs with runs: never with a number kept in a file, which would hold for one kind of processor
only. The example of early stopping keeps what it promises.
"""

import hashlib
import json
import os
import subprocess
import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from command import SOURCE, CommandTest, header_and_values, main, rows_of_csv, sets_of


class ExampleTest(CommandTest):
    def run_job(self, job, words, settings):
        """The object that --json prints of a command about an example."""
        return self.result_of(*words, SOURCE / "examples" / f"{job}.toml", *sets_of(settings))

    def train(self, *settings, job="digits"):
        return self.run_job(job, ["train", "--quiet", "--overwrite"], settings)


class Digits(ExampleTest):
    def matrix(self):
        hashes = set()
        for replicas in (1, 2, 3, 4, 8):
            for threads in (1, 2, 4):
                result = self.train("training.slices=8", f"training.replicas={replicas}",
                                    f"runtime.threads={threads}")
                self.assertEqual(result["replicas"], replicas)
                self.assertEqual(len(result["samples_by_replica"]), replicas)
                self.assertNotIn(0, result["samples_by_replica"])
                self.assertEqual(sum(result["samples_by_replica"]), result["samples"])
                hashes.add(result["parameters_sha256"])
        return hashes

    def test_one_hash_for_all_placements_idle_and_loaded(self):
        idle = self.matrix()
        self.assertEqual(len(idle), 1)
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                for _ in range(2 * (os.cpu_count() or 1))]
        try:
            loaded = self.matrix()
        finally:
            for process in busy:
                process.kill()
                process.wait()
        self.assertEqual(idle, loaded)

    def test_another_seed_or_one_more_slice_gives_another_hash(self):
        results = [self.train(*settings) for settings in
                   (("training.slices=8",), ("training.slices=9",), ("training.slices=8", "job.seed=8"))]
        self.assertEqual(len({x["parameters_sha256"] for x in results}), 3)
        self.assertEqual(len({x["job_sha256"] for x in results}), 3)

    def test_placement_is_no_part_of_the_jobs_identity(self):
        results = [self.train(*settings) for settings in
                   ((), ("training.replicas=3",), ("runtime.threads=1",), ("job.name=other",),
                    ("training.epochs=3",))]
        self.assertEqual(len({x["job_sha256"] for x in results}), 1)

    def test_hash_is_that_of_the_model_files_data_section(self):
        result = self.train()
        values = header_and_values(self.folder / result["model_file"])[1]
        self.assertEqual(result["parameters_sha256"], hashlib.sha256(values).hexdigest())

    def test_the_example_reaches_what_it_promises(self):
        self.assertGreaterEqual(self.train()["test_accuracy"], 0.96)


class Splits(ExampleTest):
    """Models that several replicas carry, as the plan says."""

    def check(self, job, accuracy, *placements):
        results = []
        for settings in [(), *placements]:
            plan = self.run_job(job, ["config", "show", "--plan"], settings)
            results.append(self.train(*settings, job=job))
            working = [sum(x["multiply_adds"] > 0 for x in plan["replicas"]),
                       sum(count > 0 for count in results[-1]["samples_by_replica"])]
            self.assertEqual(working, [plan["data"] * plan["tensor"] * plan["pipeline"]] * 2)
        self.assertGreaterEqual(results[0]["test_accuracy"], accuracy)
        self.assertEqual(len({x["parameters_sha256"] for x in results}), 1)
        self.assertEqual(len({x["job_sha256"] for x in results}), 1)

    def test_the_wide_network_is_one_whoever_carries_its_parts(self):
        self.check("wide_network", 0.97, ("parallel.tensor=1",), ("parallel.data=2",),
                   ("parallel.pipeline=2",))

    def test_the_pipeline_gives_what_one_replica_gives(self):
        self.check("pipeline", 0.96, ("parallel.pipeline=1",), ("parallel.pipeline=4",),
                   ("parallel.pipeline=5", "parallel.schedule=gpipe"),
                   ("parallel.stages=[4, 1]", "parallel.data=2"))


class EarlyStopping(ExampleTest):
    """The model is that of the best epoch."""

    def setUp(self):
        super().setUp()
        run = self.troupe("train", SOURCE / "examples" / "early_stopping.toml", "--json")
        self.result, self.shown = json.loads(run.stdout), run.stderr

    def train(self, *settings):
        return super().train(*settings, job="early_stopping")

    def test_it_stops_by_patience_and_keeps_the_row_of_the_least_validation_loss(self):
        rows = rows_of_csv(self.folder / "runs" / "early_stopping" / "history.csv")
        best = min(rows, key=lambda row: float(row["validation_loss"]))
        self.assertEqual(self.result["stopped_by"], "patience")
        self.assertLess(len(rows), 200)
        self.assertEqual(int(rows[-1]["epoch"]), int(best["epoch"]) + 5)
        self.assertEqual(self.result["best_version"], int(best["steps"]))
        self.assertEqual(self.result["steps"], int(best["steps"]))
        self.assertEqual(self.result["steps_executed"], int(rows[-1]["steps"]))
        for figure in ("validation_loss", "validation_accuracy", "test_loss", "test_accuracy"):
            self.assertEqual(self.result[figure], float(best[figure]), figure)
        self.assertGreater(self.result["test_accuracy"], 0.95)
        self.assertIn("  val_loss ", self.shown)

    def test_its_model_is_that_of_a_run_that_ends_there_whoever_computes(self):
        for replicas in (1, 2, 4):
            with self.subTest(replicas=replicas):
                again = self.train(f"training.replicas={replicas}")
                self.assertEqual(again["parameters_sha256"], self.result["parameters_sha256"])
        steps = self.result["best_version"]
        plain = self.train("training.keep_best=false", f"training.steps={steps}")
        self.assertIsNone(plain["best_version"])
        self.assertEqual(plain["stopped_by"], "steps")
        self.assertEqual(plain["parameters_sha256"], self.result["parameters_sha256"])


if __name__ == "__main__":
    main()
