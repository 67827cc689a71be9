"""Runs that are killed or interrupted and gone on with end like runs that never were.

    python3 tests/scripts/resume_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from patience import HANG, lenient

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
TROUPE = os.path.join(BUILD, "bin", "troupe")
JOB = """[data]
synthetic = "classification"
rows = 3000
features = 20
classes = 4
noise = 1.5
test_fraction = 0.2
validation_fraction = 0.1
[model]
hidden = [150, 40]
dropout = 0.1
[optimizer]
kind = "adam"
clip_norm = 1.0
[training]
slices = 4
epochs = 30
patience = 20
"""
# Small and noisy: its losses rise and fall, and each epoch has 14 steps.
NOISY_JOB = """[data]
synthetic = "classification"
rows = 320
features = 6
classes = 3
noise = 4.0
validation_fraction = 0.3
[optimizer]
kind = "adam"
learning_rate = 0.05
[training]
batch_size = 16
epochs = 12
patience = 4
replicas = 1
[checkpoint]
every_steps = 1000
"""
# What two runs of a job share, whoever computed and however often they began.
FIGURES = ("parameters_sha256", "job_sha256", "samples", "steps_executed", "steps", "epochs",
           "best_version", "stopped_by", "train_loss", "test_loss", "test_accuracy", "validation_loss", "validation_accuracy")


class Run:
    """One process of `troupe train`."""

    def __init__(self, folder, *options):
        command = [TROUPE, "train", "job.toml", "--json", *options]
        self.begin = time.monotonic()
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def end(self):
        self.out, self.shown = self.process.communicate(timeout=HANG)
        return self.process.returncode

    def result(self):
        if self.end() != 0:
            raise AssertionError(f"exit code {self.process.returncode}: {self.shown}")
        return json.loads(self.out)


def sets(**settings):
    options = []
    for key, value in settings.items():
        options += ["--set", f"{key.replace('__', '.')}={value}"]
    return options


def history(folder):
    with open(os.path.join(folder, "runs", "job", "history.csv"), encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        del row["seconds"]
    return rows


class Resume(unittest.TestCase):
    def folder(self, job=JOB):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        with open(os.path.join(folder, "job.toml"), "w", encoding="utf-8") as file:
            file.write(job)
        return folder

    def assert_same(self, result, folder, expected, expected_history):
        for figure in FIGURES:
            self.assertEqual(result[figure], expected[figure], figure)
        self.assertEqual(history(folder), expected_history)

    def test_a_run_that_is_killed_at_any_moment_ends_with_the_same_bits(self):
        straight = self.folder()
        begin = time.monotonic()
        expected = Run(straight, *sets(training__replicas=1)).result()
        seconds = time.monotonic() - begin  # with its start, however busy the machine
        for seed in range(6):
            chance = random.Random(seed)
            folder = self.folder()
            resumed = 0
            for _ in range(6):
                every = chance.choice((1, 7, 30))
                run = Run(folder, "--resume", *sets(
                    checkpoint__every_steps=every, training__replicas=chance.randint(1, 5),
                    runtime__threads=chance.randint(1, 3)))
                time.sleep(chance.random() * seconds)
                run.process.kill()
                run.end()
                resumed += "training goes on from step" in run.shown
            with self.subTest(seed=seed, resumed=resumed):
                last = Run(folder, "--resume", *sets(checkpoint__every_steps=7,
                                                     training__replicas=2))
                self.assert_same(last.result(), folder, expected, history(straight))
                self.assertGreater(resumed, 0, "no life went on from another's checkpoint")

    def interrupted(self, folder, number):
        """A long run that gets a signal as soon as it has shown an epoch."""
        run = Run(folder, *sets(training__epochs=1_000_000, training__patience=1_000_000,
                                checkpoint__every_steps=1_000_000, training__replicas=3))
        while "Epoch" not in run.process.stderr.readline():
            pass
        sent = time.monotonic()
        run.process.send_signal(number)
        code = run.end()
        self.assertLess(time.monotonic() - sent, lenient(5), "seconds until it ended")
        return code, json.loads(run.out)

    def test_a_signal_ends_a_run_at_a_version_that_is_gone_on_from(self):
        for number, expected_code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number=number):
                folder = self.folder()
                code, stopped = self.interrupted(folder, number)
                self.assertEqual(code, expected_code)
                self.assertEqual(stopped["stopped_by"], "interrupt")
                end = int(history(folder)[-1]["steps"])
                name = f"checkpoint-{end:012}.troupe"
                self.assertIn(name, os.listdir(os.path.join(folder, "runs", "job")))
                longer = sets(training__epochs=1_000_000, training__steps=end + 100,
                              training__patience=1_000_000)
                resumed = Run(folder, "--resume", *longer).result()
                straight = self.folder()
                expected = Run(straight, *longer, *sets(training__replicas=1)).result()
                self.assert_same(resumed, folder, expected, history(straight))

    def assert_losses_are_of_the_named_version(self, result, folder):
        row, = (row for row in history(folder) if int(row["steps"]) == result["steps"])
        self.assertEqual(float(row["train_loss"]), result["train_loss"])
        self.assertEqual(float(row["validation_loss"]), result["validation_loss"])

    def test_a_run_made_longer_is_the_run_that_never_stopped_wherever_it_ended(self):
        for shorter, rules in ([{"training__steps": steps}, {}] for steps in (1, 9, 20, 28, 37, 50)):
            self.check_made_longer(shorter, rules)
        self.check_made_longer({"training__epochs": 4}, {"training__evaluate_every": 3})
        self.check_made_longer({"training__epochs": 5},
                               {"training__evaluate_every": 2, "training__patience": 2})

    def check_made_longer(self, shorter, rules):
        straight, folder = self.folder(NOISY_JOB), self.folder(NOISY_JOB)
        expected = Run(straight, *sets(**rules)).result()
        with self.subTest(**shorter, **rules):
            first = Run(folder, *sets(**rules, **shorter)).result()
            self.assert_losses_are_of_the_named_version(first, folder)
            result = Run(folder, "--resume", *sets(**rules)).result()
            self.assert_same(result, folder, expected, history(straight))
            self.assert_losses_are_of_the_named_version(result, folder)

    def test_without_keep_best_the_last_version_comes_back_also_of_a_finished_run(self):
        last = {"training__keep_best": "false"}
        straight = self.folder(NOISY_JOB)
        expected = Run(straight, *sets(**last)).result()
        self.assertIsNone(expected["best_version"])
        for shorter in ({"training__steps": 37}, {}):
            with self.subTest(**shorter):
                folder = self.folder(NOISY_JOB)
                kept = Run(folder, *sets(**shorter)).result()
                self.assertLess(kept["best_version"], expected["steps"])
                result = Run(folder, "--resume", *sets(**last)).result()
                self.assert_same(result, folder, expected, history(straight))
                again = Run(folder, "--resume", *sets(**last)).result()
                self.assertEqual(again["parameters_sha256"], result["parameters_sha256"])

    def test_keep_best_looks_for_the_best_version_from_where_it_was_set(self):
        folder = self.folder(NOISY_JOB)
        Run(folder, *sets(training__steps=42, training__keep_best="false")).result()
        result = Run(folder, "--resume").result()
        losses = [(float(row["validation_loss"]), int(row["steps"])) for row in history(folder)
                  if int(row["steps"]) > 42]
        self.assertEqual(result["best_version"], min(losses)[1])
        self.assert_losses_are_of_the_named_version(result, folder)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
