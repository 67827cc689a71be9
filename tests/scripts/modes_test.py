"""The examples of training modes keep what they promise.

    python3 tests/scripts/modes_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from patience import HANG

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
TROUPE = os.path.join(BUILD, "bin", "troupe")


class Modes(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def run_troupe(self, example, *settings, options=("--json",)):
        arguments = [TROUPE, "train", os.path.join(SOURCE, "examples", example), "--quiet",
                     "--overwrite", *options]
        for setting in settings:
            arguments += ["--set", setting]
        return subprocess.run(arguments, cwd=self.folder, capture_output=True, text=True,
                              timeout=HANG, check=False)

    def train(self, example, *settings):
        run = self.run_troupe(example, *settings)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_asynchronous_modes_learn_and_say_that_they_do_not_repeat(self):
        for setting in ('"asynchronous"', "{ staleness = 2 }", "{ staleness = 0 }", "{ first = 1 }",
                        "{ first = 2 }", "{ lag = 1.5 }"):
            with self.subTest(consistency=setting):
                result = self.train("async.toml", f"training.consistency={setting}")
                self.assertGreaterEqual(result["test_accuracy"], 0.95)
                self.assertIs(result["reproducible"], False)
                self.assertEqual(sum(x["results"] for x in result["trainers"]), result["steps"])

    def test_the_example_of_bounded_staleness_learns(self):
        self.assertGreaterEqual(self.train("stale.toml")["test_accuracy"], 0.95)

    def test_local_training_repeats_its_bits_whoever_computes(self):
        hashes = set()
        for replicas in (1, 2, 4):
            result = self.train("local_sgd.toml", f"training.replicas={replicas}",
                                f"runtime.threads={min(replicas, 2)}")
            self.assertGreaterEqual(result["test_accuracy"], 0.95)
            self.assertIs(result["reproducible"], True)
            hashes.add(result["parameters_sha256"])
        self.assertEqual(len(hashes), 1, hashes)

    def test_averages_of_rounds_are_as_good_as_the_last_model(self):
        for averaging in ("mean", "exponential"):
            result = self.train("local_sgd.toml", f"merge.averaging={averaging}")
            self.assertGreaterEqual(result["test_accuracy"], 0.95, averaging)

    def test_the_mean_fails_where_median_and_krum_hold(self):
        for settings in ([], ["merge.rule=krum", "merge.faulty_count=1"]):
            result = self.train("byzantine.toml", *settings)
            self.assertGreaterEqual(result["test_accuracy"], 0.95, settings)
        spoiled = self.run_troupe("byzantine.toml", "merge.rule=average")
        if spoiled.returncode == 0:
            self.assertLess(json.loads(spoiled.stdout)["test_accuracy"], 0.5)
        else:
            self.assertEqual(spoiled.returncode, 1, spoiled.stderr)
            self.assertEqual(json.loads(spoiled.stdout)["error"]["code"], "diverged")

    def test_statistics_are_a_table(self):
        run = self.run_troupe("local_sgd.toml", options=("--stats",))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("\nreplica  results  last", run.stdout)
        alone = self.run_troupe("least-squares.toml", options=("--stats",))
        self.assertIn("nobody waits", alone.stderr)

    def test_statistics_of_replicas_in_step_name_the_last_of_each(self):
        settings = ("training.epochs=2", "training.replicas=2")
        run = self.run_troupe("digits.toml", *settings, options=("--stats",))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"\nreplica +results +last +by ms +most ms +waited ms "
                                     r"+computed ms +network ms\n +0 +\d+ .*\n +1 +\d+ .*\n$")
        result = self.train("digits.toml", *settings)
        replicas = result["trainers"]
        self.assertEqual([one["results"] for one in replicas], [result["steps"]] * 2)
        self.assertEqual(sum(one["last_count"] for one in replicas), result["steps"])
        for one in replicas:
            self.assertGreater(one["computed_ms"], 0)
            self.assertLessEqual(one["last_by_max_ms"], one["last_by_ms"])

    def test_what_is_not_built_is_refused_by_name(self):
        for example, setting, key in (
                ("local_sgd.toml", "checkpoint.every_steps=5", "checkpoint.every_steps"),
                ("async.toml", "checkpoint.every_steps=5", "checkpoint.every_steps"),
                ("local_sgd.toml", "optimizer.kind=lbfgs", "optimizer.kind")):
            run = self.run_troupe(example, setting)
            self.assertEqual(run.returncode, 78, run.stderr)
            self.assertIn(key, run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
