"""Runs that are killed or interrupted and gone on with end like runs that never were.

    python3 tests/scripts/resume_test.py BUILD_FOLDER SOURCE_FOLDER [TRIALS] [TEST]...

Where a parameter server owns all parameters each mode is killed four times in each of TRIALS (1) runs.
"""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "page"))
from command import TROUPE, rows_of_csv, sets_of  # noqa: E402
from patience import HANG, lenient, wait_until  # noqa: E402
from tensorboard import tensorboard_points  # noqa: E402

TRIALS = int(sys.argv[3]) if sys.argv[3:] and sys.argv[3].isdigit() else 1
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
# Modes in which a parameter server owns all parameters, on that job. Rounds have the same bits whoever computes; so has
# the one trainer that waits for nobody.
ROUNDS = {
    "rounds": {"training__strategy": '"parameters"', "training__members": 4, "training__local_steps": 2},
    "elastic": {"training__strategy": '"parameters"', "training__members": 4, "training__local_steps": 3,
                "merge__elastic_alpha": 0.2, "optimizer__clip_norm": 0.5},
    "outer": {"training__strategy": '"parameters"', "training__members": 4, "training__local_steps": 2,
              "merge__outer": '"adam"', "merge__averaging": '"exponential"'},
    "alone": {"training__consistency": '"asynchronous"', "training__replicas": 1},
    "federated": {"training__strategy": '"federated"', "federated__clients": 60, "federated__cohort": 6,
                  "federated__rounds": 200, "federated__local_steps": 2, "federated__drop_out": 0.2,
                  "merge__outer": '"sgd"', "merge__outer_momentum": 0.5, "merge__averaging": '"mean"'},
}
# In these the order of arrival counts.
UNORDERED = ['"asynchronous"', "{ staleness = 2 }", "{ first = 1 }", "{ first = 2 }", "{ lag = 1.5 }"]
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
    return sets_of(f"{key.replace('__', '.')}={value}" for key, value in settings.items())


def newest_version(folder):
    """Of the checkpoints there are; 0 without any."""
    path = os.path.join(folder, "runs", "job")
    names = os.listdir(path) if os.path.isdir(path) else []
    return max((int(name[len("checkpoint-"):-len(".troupe")]) for name in names
                if name.startswith("checkpoint-") and name.endswith(".troupe")), default=0)


def history(folder):
    return [{**row, "seconds": None} for row in rows_of_csv(os.path.join(folder, "runs", "job", "history.csv"))]


TENSORBOARD_TAGS = {"loss/train": "train_loss", "loss/test": "test_loss", "loss/validation": "validation_loss",
                    "accuracy/train": "train_accuracy", "accuracy/test": "test_accuracy",
                    "accuracy/validation": "validation_accuracy", "learning_rate": "learning_rate"}


class Resume(unittest.TestCase):
    def folder(self, job=JOB):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        Path(folder, "job.toml").write_text(job, encoding="utf-8")
        return folder

    def assert_same(self, result, folder, expected, expected_history, figures=FIGURES):
        for figure in figures:
            self.assertEqual(result[figure], expected[figure], figure)
        self.assertEqual(history(folder), expected_history)

    def test_a_run_that_is_killed_at_any_moment_ends_with_the_same_bits(self):
        straight = self.folder()
        begin = time.monotonic()
        expected = Run(straight, *sets(training__replicas=1)).result()
        seconds = time.monotonic() - begin  # with its start, however busy the machine
        for seed in range(6):
            chance = random.Random(seed)
            resumed = 0
            for _ in range(10):  # all may die before the first checkpoint, or the first may live to its end
                folder = self.folder()
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
                if resumed > 0:
                    break
            self.assertGreater(resumed, 0, f"seed {seed}: no life went on from another's checkpoint")

    def kill_after_checkpoints(self, folder, chance, settings):
        """A life that is killed once it has written some checkpoints; False when it ended before."""
        begin = newest_version(folder)
        enough = begin + chance.randint(1, 60)
        run = Run(folder, "--resume", *sets(**settings))
        wait_until(lambda: newest_version(folder) >= enough or run.process.poll() is not None, every=0.001)
        run.process.kill()
        run.end()
        self.assertEqual("training goes on from step" in run.shown, begin > 0, run.shown)
        return run.process.returncode == -signal.SIGKILL

    def play_lives(self, folder, seed, settings, life_count=4):
        """How many of them were killed; then the result of the last, which ends."""
        chance = random.Random(seed)
        kills = 0
        for _ in range(life_count):
            if "training__consistency" not in settings:
                settings = {**settings, "training__replicas": chance.randint(1, 5)}
            kills += self.kill_after_checkpoints(
                folder, chance, {**settings, "checkpoint__every_steps": chance.choice((1, 7, 30))})
        return kills, Run(folder, "--resume", *sets(**settings, checkpoint__every_steps=7)).result()

    def test_rounds_that_are_killed_at_any_moment_end_with_the_same_bits(self):
        for name, settings in ROUNDS.items():
            straight = self.folder(job := JOB.split("[training]")[0] if name == "federated" else JOB)
            expected = Run(straight, *sets(**settings)).result()
            for seed in range(TRIALS):
                with self.subTest(mode=name, seed=seed):
                    folder = self.folder(job)
                    kills, result = self.play_lives(folder, seed, settings)
                    self.assert_same(result, folder, expected, history(straight), [
                        figure for figure in FIGURES if figure != "steps_executed"])  # by members
                    self.assertGreater(kills, 0)

    def test_a_run_that_is_killed_between_its_end_and_its_summary_tells_the_same(self):
        for name, settings in ROUNDS.items():
            with self.subTest(mode=name):
                folder = self.folder(JOB.split("[training]")[0] if name == "federated" else JOB)
                options = sets(**settings, checkpoint__every_steps=7)
                expected = Run(folder, *options).result()
                expected_history = history(folder)
                os.remove(os.path.join(folder, "runs", "job", "summary.json"))
                result = Run(folder, "--resume", *options).result()
                self.assert_same(result, folder, expected, expected_history, [
                    figure for figure in FIGURES if figure != "steps_executed"])
                self.assertEqual(result.get("clients"), expected.get("clients"))

    def test_asynchronous_runs_that_are_killed_end_with_each_step_done_once(self):
        for mode in UNORDERED:
            settings = {"training__consistency": mode, "training__replicas": 3,
                        "training__patience": 30, "training__keep_best": "false"}
            straight = self.folder()
            expected = Run(straight, *sets(**settings)).result()
            for seed in range(TRIALS):
                with self.subTest(mode=mode, seed=seed):
                    folder = self.folder()
                    kills, result = self.play_lives(folder, seed, settings)
                    for figure in ("steps", "epochs", "samples", "stopped_by"):
                        self.assertEqual(result[figure], expected[figure], figure)
                    self.assertEqual([row["steps"] for row in history(folder)],
                                     [row["steps"] for row in history(straight)])
                    self.assertGreater(kills, 0)

    def interrupted(self, folder, number):
        """A long run that gets a signal as soon as it has shown an epoch."""
        run = Run(folder, *sets(training__epochs=1_000_000, training__patience=1_000_000,
                                training__replicas=3))  # without checkpoints on the way
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

    def stopped(self, folder, settings, beside=(), number=signal.SIGINT):
        """Of a run that gets a signal as soon as it has shown an epoch: what it printed, and said."""
        run = Run(folder, *beside, *sets(**settings))
        while "Epoch" not in run.process.stderr.readline():
            pass
        run.process.send_signal(number)
        self.assertEqual(run.end(), 128 + number, run.shown)
        return json.loads(run.out), run.shown

    def test_stopped_again_and_again_it_ends_as_if_nobody_had(self):
        for name, more in {"best": {"training__patience": 3000}, **{name: ROUNDS[name] for name in ("rounds", "alone")}}.items():
            with self.subTest(mode=name):
                settings = {"training__epochs": 6000, "optimizer__learning_rate": 0.0005, "training__patience": 100_000, **more}
                job = NOISY_JOB.split("[checkpoint]")[0].replace("learning_rate = 0.05\n", "").replace("patience = 4\n", "").replace(
                    "epochs = 12\n", "")
                straight, folder = self.folder(job), self.folder(job)
                expected = Run(straight, *sets(**settings)).result()
                versions = []
                for _ in range(3):
                    kept, said = self.stopped(folder, settings, ["--resume"])
                    versions.append(newest_version(folder))
                    self.assertEqual(int(history(folder)[-1]["steps"]), versions[-1])
                    self.assertIn(f"--resume goes on from step {versions[-1]}\n", said)
                    self.assertEqual(kept["lives"], len(versions))
                    self.assertFalse(os.path.exists(os.path.join(folder, "runs", "job", "term")))
                self.assertEqual(versions, sorted(set(versions)))
                result = Run(folder, "--resume", *sets(**settings)).result()
                self.assert_same(result, folder, expected, history(straight), [
                    figure for figure in FIGURES if name == "best" or figure != "steps_executed"])
                self.assertEqual((result["lives"], result["steps_again"]), (4, 0))
                self.assertEqual(newest_version(folder), versions[-1], "the end leaves none")
                again = Run(folder, "--resume", *sets(**settings)).result()
                self.assertEqual(again["parameters_sha256"], expected["parameters_sha256"])

    def test_a_model_without_a_checkpoint_stays(self):
        folder = self.folder(NOISY_JOB.split("[checkpoint]")[0])
        endless = {"training__epochs": 1_000_000, "training__patience": 1_000_000}
        self.stopped(folder, endless)
        path = Path(folder, "runs", "job")
        os.remove(path / f"checkpoint-{newest_version(folder):012}.troupe")
        before = {name: (path / name).read_bytes() for name in ("model.safetensors", "summary.json", "history.csv")}
        run = Run(folder, "--resume", *sets(**endless))
        self.assertEqual(run.end(), 73, run.shown)
        self.assertIn("holds a trained model and no checkpoint", run.shown)
        self.assertIn("--overwrite", run.shown)
        self.assertEqual({name: (path / name).read_bytes() for name in before}, before)

    def test_a_killed_run_tells_what_is_made_again(self):
        folder = self.folder(NOISY_JOB)
        settings = {"training__epochs": 1_000_000, "training__patience": 1_000_000, "checkpoint__every_steps": 100_000}
        first, _ = self.stopped(folder, settings)
        first = newest_version(folder)
        run = Run(folder, "--resume", *sets(**settings))
        while "Epoch" not in run.process.stderr.readline():
            pass
        while int(history(folder)[-1]["steps"] or 0) <= first:
            time.sleep(0.01)
        run.process.kill()
        run.end()
        rows = history(folder)
        at = newest_version(folder)
        again = max(int(row["steps"]) for row in rows) - at
        settings["training__steps"] = at + 1
        run = Run(folder, "--resume", *sets(**settings))
        result = run.result()
        self.assertEqual((result["lives"], result["steps_again"]), (2, again), "the killed one kept no count")
        if again:
            self.assertIn(f"training goes on from step {at} ({again} steps again)\n", run.shown)

    def assert_losses_are_of_the_named_version(self, result, folder):
        row, = (row for row in history(folder) if int(row["steps"]) == result["steps"])
        self.assertEqual(float(row["train_loss"]), result["train_loss"])
        self.assertEqual(float(row["validation_loss"]), result["validation_loss"])

    def test_a_run_made_longer_is_the_run_that_never_stopped_wherever_it_ended(self):
        for steps in (1, 9, 20, 28, 37, 50):
            self.check_made_longer({"training__steps": steps}, {})
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

    def test_tensorboard_shows_the_history_and_events_tell_of_every_life(self):
        folder = self.folder(NOISY_JOB)
        run = os.path.join(folder, "runs", "job")
        always = ["--tensorboard", *sets(checkpoint__every_steps=9)]
        Run(folder, *always, *sets(training__steps=50)).result()  # ends within an epoch
        Run(folder, "--resume", *always).result()
        self.assertEqual(len(os.listdir(os.path.join(run, "tensorboard"))), 2, "a file for each life")
        self.assert_tensorboard_is_history(folder)
        events = [json.loads(line) for line in Path(run, "events.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertEqual([x["number"] for x in events], list(range(1, len(events) + 1)))
        self.assertEqual([x["kind"] for x in events if x["kind"] in ("begin", "resume", "end")],
                         ["begin", "end", "resume", "end"])
        rows = {x["version"]: x["row"]["train_loss"] for x in events if x["kind"] == "row"}
        for row in history(folder):
            self.assertEqual(rows[int(row["steps"])], float(row["train_loss"]))
        Run(folder, "--overwrite").result()
        self.assertFalse(os.path.exists(os.path.join(run, "tensorboard")))
        first = Path(run, "events.jsonl").read_text(encoding="utf-8").splitlines()[0]
        self.assertEqual(json.loads(first)["kind"], "begin")

    def assert_tensorboard_is_history(self, folder):
        shown = tensorboard_points(os.path.join(folder, "runs", "job"))
        self.assertEqual(len(shown.pop("speed/steps_per_second")), len(history(folder)))
        expected = {}
        for row in history(folder):
            for tag, column in TENSORBOARD_TAGS.items():
                if row[column]:
                    value, = struct.unpack("<f", struct.pack("<f", float(row[column])))
                    expected.setdefault(tag, {})[int(row["steps"])] = value
        self.assertEqual(shown, expected)

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
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
