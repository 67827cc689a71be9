"""The example of early stopping keeps what it promises, and its model is that of its best epoch.

    python3 tests/scripts/early_stopping_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest

from patience import HANG

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
TROUPE = os.path.join(BUILD, "bin", "troupe")
JOB = os.path.join(SOURCE, "examples", "early_stopping.toml")


def train(folder, *settings):
    """One run of the example; the object that --json prints, and what was shown meanwhile."""
    arguments = [TROUPE, "train", JOB, "--json", "--overwrite"]
    for setting in settings:
        arguments += ["--set", setting]
    run = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=HANG,
                         check=False)
    if run.returncode != 0:
        raise AssertionError(f"exit code {run.returncode}: {run.stderr}")
    return json.loads(run.stdout), run.stderr


class EarlyStopping(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.result, self.shown = train(self.folder)

    def history(self):
        path = os.path.join(self.folder, "runs", "early_stopping", "history.csv")
        with open(path, encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_it_stops_by_patience_and_keeps_the_row_of_the_least_validation_loss(self):
        rows = self.history()
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
                again, _ = train(self.folder, f"training.replicas={replicas}")
                self.assertEqual(again["parameters_sha256"], self.result["parameters_sha256"])
        steps = self.result["best_version"]
        plain, _ = train(self.folder, "training.keep_best=false", f"training.steps={steps}")
        self.assertIsNone(plain["best_version"])
        self.assertEqual(plain["stopped_by"], "steps")
        self.assertEqual(plain["parameters_sha256"], self.result["parameters_sha256"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
