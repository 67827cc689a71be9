"""Nothing is told of a private run that is not accounted for.

    python3 tests/scripts/federated/private_walk_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...

Reads every output of a private run and holds the names of its figures against the lists below. A figure
that is new fails it: whoever adds one says here why it tells nothing of clients' rows.
"""

import csv
import glob
import io
import json
import os
import signal
import subprocess
import sys
import time

from private_runs import ROUNDS, TROUPE, PrivateRuns, run_file, table
from command import finished, header_and_values, main
from patience import HANG, wait_until

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "page"))
from tensorboard import tensorboard_tags  # noqa: E402

# What a figure is that may be told. "job": follows from the job; "public": the task says that it is
# known (docs/federated.md: numbers of rows, features, classes, clients); "noised": computed from released
# models alone, on rows of no client; "spent": the accountant's; "time": not hidden, and said so; "none":
# always absent or 0.
SUMMARY = {
    "job": "job", "strategy": "job", "replicas": "job", "slices": "job", "nodes": "job",
    "steps": "job", "epochs": "job", "samples": "none", "seconds": "time",
    "samples_per_second": "none", "train_loss": "none", "test_loss": "noised",
    "test_accuracy": "noised", "test_r2": "none", "parameters_sha256": "noised",
    "job_sha256": "job", "arithmetic": "job", "model_file": "job", "stopped_by": "spent",
    "samples_by_replica": "none", "spans_by_node": "job", "steps_executed": "job", "views": "job", "replicas_lost": "time",
    "rollbacks": "time", "steps_again": "time", "lives": "time", "joins": "time", "leaves": "time",
    "seconds_elapsed": "time", "seconds_again": "time", "seconds_still": "time", "goodput": "time", "bytes_sent": "none", "bytes_by_kind": "none", "bytes_early": "none",
    "resends": "none", "validation_loss": "noised", "validation_accuracy": "noised",
    "validation_r2": "none", "best_version": "noised", "reproducible": "job", "trainers": "none",
    "privacy": "spent", "metrics": "noised",
}
PRIVACY = {"epsilon", "delta", "releases", "noise_multiplier", "sampling_rate", "clip_norm"}
HISTORY = {
    "epoch": "job", "steps": "job", "seconds": "time", "learning_rate": "job", "train_loss": "none",
    "train_accuracy": "none", "test_loss": "noised", "test_accuracy": "noised", "test_r2": "none",
    "validation_loss": "noised", "validation_accuracy": "noised", "validation_r2": "none",
    "test_auc": "noised", "validation_auc": "noised",
    "parameters_hash": "noised", "state_hash": "none",
}
# Of a checkpoint's record; `walk_checkpoint` looks into those that are "none".
RECORD = {
    "arithmetic": "job", "version": "job", "term": "time", "seconds": "time", "reductions": "noised", "stop": "noised",
    "plateau": "noised", "best_version": "noised", "best_loss": "noised", "metrics": "none", "replicas": "none",
    "optimizer_numbers": "none", "recovery": "time",
}
ROUND_FIGURES = {"round": "job", "epsilon": "spent", "void": "spent"}
ROUND_ABSENT = {"invited", "dropped", "late", "surplus", "refused", "counted", "rows", "loss",
                "loss_p10", "loss_p50", "loss_p90", "loss_max", "norm_p10", "norm_p50", "norm_p90",
                "norm_max"}
EVENT = {"number", "time", "seconds", "kind", "version", "text", "row"}
STATUS = {
    "job": "job", "phase": "job", "view": "job", "step": "job", "last_step": "job", "epoch": "job", "epochs": "job",
    "seconds": "time", "steps_per_second": "time", "samples_per_second": "time", "replicas": "job",
    "shards": "job", "waits_for": "job", "still_seconds": "time", "behind": "time", "nodes": "nodes",
    "views": "job", "replicas_lost": "time", "rollbacks": "time", "steps_again": "time", "lives": "time", "joins": "time", "leaves": "time",
    "seconds_elapsed": "time", "seconds_again": "time", "seconds_still": "time", "goodput": "time", "train_loss": "none",
    "train_accuracy": "none", "learning_rate": "job", "seconds_left": "time", "newest_row": "row",
    "trainers": "none", "privacy": "spent", "bytes_sent": "none", "bytes_by_kind": "none",
    "resends": "none", "job_sha256": "job", "explanation": "time", "links": "none", "slow": "none",
    "writes_for_seconds": "time",
}
NODE = {
    "name": "job", "role": "job", "state": "job", "replicas": "job", "shards": "job",
    "slices": "job", "spans": "job", "step": "job", "shard_steps": "job", "waits_for": "time",
    "last_heard_seconds": "time", "samples": "none", "bytes_sent": "none", "bytes_by_kind": "none",
    "resends": "none", "late_seconds": "none",
}
TAGS = {"auc/test", "auc/validation", "loss/test", "loss/validation", "accuracy/test", "accuracy/validation",
        "learning_rate", "speed/steps_per_second"}
METADATA = {"format", "kind", "activation", "loss", "target", "job", "job_sha256", "steps",
            "features", "classes"}
# Lines of what is said: the names of those of standard output, the beginnings of the others.
REPORT = {"val auc", "test auc", "epochs", "steps", "best version", "stopped by", "seconds", "val loss", "val accuracy",
          "test loss", "test accuracy", "epsilon", "parameters sha256", "model file"}
SAID = ("data      ", "target    ", "model     ", "training  ", "privacy   ", "memory    ", "Round ")
FIGURES_SAID = {"epsilon", "val_loss", "val_accuracy", "test_loss", "test_accuracy",
                "val_auc", "test_auc"}


def checkpoint_of(path):
    """The record of a checkpoint, and the rows of its history (docs/checkpoints.md)."""
    header, values = header_and_values(path)

    def text(name):
        begin, end = header[name]["data_offsets"]
        return values[begin:end].decode()

    return json.loads(text("record")), list(csv.DictReader(io.StringIO(text("history.csv"))))


class Walk(PrivateRuns):
    """Of all that a private run leaves or says, figure by figure."""

    def hold(self, figures, allowed, where):
        self.assertEqual(set(figures) - set(allowed), set(), f"{where}: a figure nobody accounted for")
        for name, value in figures.items():
            if allowed[name] == "none":
                is_empty = not value or (isinstance(value, list) and not any(value))
                self.assertTrue(is_empty, f"{where}: {name} is {value}")

    def walk(self, folder, run="job"):
        with open(run_file(folder, "summary.json", run), encoding="utf-8") as file:
            summary = json.load(file)
        self.hold(summary, SUMMARY, "summary.json")
        self.assertEqual(set(summary["privacy"]), PRIVACY)
        self.assertEqual(summary["steps_executed"], ROUNDS)
        for row in table(run_file(folder, "history.csv", run)):
            self.hold(row, HISTORY, "history.csv")
        for row in table(run_file(folder, "rounds.csv", run)):
            self.assertEqual(set(row), set(ROUND_FIGURES) | ROUND_ABSENT)
            self.assertEqual([name for name in ROUND_ABSENT if row[name]], [])
        with open(run_file(folder, "events.jsonl", run), encoding="utf-8") as file:
            for event in map(json.loads, file):
                self.assertEqual(set(event) - EVENT, set(), "events.jsonl")
                if "row" in event:
                    self.hold(event["row"], HISTORY, "events.jsonl")
                else:
                    self.assert_words(event["text"])
        for path in glob.glob(run_file(folder, "checkpoint-*.troupe", run)):
            self.walk_checkpoint(path)
        metadata = header_and_values(run_file(folder, "model.safetensors", run))[0]["__metadata__"]
        self.assertEqual(set(metadata) - METADATA, set(), "model.safetensors")
        known = {"summary.json", "history.csv", "rounds.csv", "events.jsonl", "model.safetensors",
                 "releases.csv", "identity.txt", "job.toml", "term", "tensorboard"}
        left = {name for name in os.listdir(run_file(folder, "", run))
                if not name.startswith("checkpoint-")}
        self.assertEqual(left - known, set(), "a file that nobody walked")

    def walk_checkpoint(self, path):
        record, history = checkpoint_of(path)
        self.assertEqual(set(record) - set(RECORD), set(), "a figure nobody accounted for")
        # 4 sums of the last round; of all rounds how many (the ledger has them), void, updates, refused, rows.
        self.assertEqual(record["optimizer_numbers"], [0, 0, 0, 0, record["version"], 0, 0, 0, 0],
                         "what the parameter server remembers")
        self.assertFalse(any(record["metrics"].values()), record["metrics"])
        self.assertFalse(any(work["sample_count"] for work in record["replicas"]), record["replicas"])
        self.assertTrue(history)
        for row in history:
            self.hold(row, HISTORY, "checkpoint")

    def assert_words(self, text):
        """News tell who takes part and who is waited for, and nothing of clients. How many there are depends
        on the machine, so their words are no list."""
        self.assertNotRegex(text, r"\d clients?\b|client \d|clients .* from \d|refused|dropped|loss|rows?\b")

    def test_of_one_process(self):
        folder = self.folder("a")
        told = self.run_it(folder, "--tensorboard", "--stats")
        self.walk(folder)
        for path in glob.glob(run_file(folder, "tensorboard/*")):
            self.assertEqual(tensorboard_tags(path) - TAGS, set(), "tensorboard")
        for line in told.stderr.splitlines():
            self.assertTrue(line.startswith(SAID) or "nobody waits" in line, line)
            if line.startswith("Round "):
                names = {word for word in line.split() if word[0].isalpha()} - {"Round"}
                self.assertEqual({name for name in names if not name.startswith(("us/", "ms/", "s/"))}
                                 - FIGURES_SAID, set(), line)
            if line.startswith(("data", "target")):
                self.assertNotIn("classes (", line, "counts of classes are counts of clients' rows")
        for line in told.stdout.splitlines():
            self.assertIn(line[:19].strip(), REPORT, line)

    def test_of_two_processes(self):
        folder = self.folder("a")
        self.run_it(folder, command="launch", job="cluster.toml")
        self.walk(folder)

    def test_of_timelines_and_flight_recorders(self):
        for command, job in (("train", "job.toml"), ("launch", "cluster.toml")):
            folder = self.folder(command)
            memory = os.path.join(folder, "memory")
            os.mkdir(memory)
            self.run_it(folder, "--trace", "t.json", f"--flight={memory}", command=command, job=job)
            self.assertEqual(glob.glob(os.path.join(folder, "t.json*")), [], "nobody has a row")
            self.walk(folder)
            os.remove(run_file(folder, "rounds.csv"))
            run = subprocess.Popen([TROUPE, command, job, "--overwrite", f"--flight={memory}",
                                    "--set", "federated.rounds=1000000"],
                                   cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(run.wait, HANG)
            self.addCleanup(run.kill)
            rounds = run_file(folder, "rounds.csv")
            wait_until(lambda: run.poll() is not None or os.path.exists(rounds) and len(table(rounds)) > 2)
            self.assertIsNone(run.poll())
            self.assertEqual(os.listdir(memory), [])

    def test_of_the_status(self):
        folder = self.folder("a")
        many = ["--set", "federated.rounds=1000000", "--set", "checkpoint.every_steps=0"]
        run = subprocess.Popen([TROUPE, "launch", "cluster.toml", *many], cwd=folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(run.wait, HANG)
        self.addCleanup(run.send_signal, signal.SIGTERM)
        deadline, status = time.monotonic() + HANG, None
        while time.monotonic() < deadline and run.poll() is None:
            asked = finished(TROUPE, "status", "cluster.toml", "--json", code=None, cwd=folder)
            status = json.loads(asked.stdout) if asked.returncode == 0 else None
            if status and "privacy" in status:
                break
        self.assertIn("privacy", status or {})
        self.hold(status, STATUS, "status")
        self.hold(status["newest_row"] or {}, HISTORY, "status")
        for node in status["nodes"]:
            self.hold(node, NODE, "status")


if __name__ == "__main__":
    main()
