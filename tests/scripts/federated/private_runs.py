"""A small private job, and what its runs leave: for the tests of private runs."""

import glob
import json
import os
import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, f"{sys.path[0]}/..")
from command import SOURCE, TROUPE, finished, header_and_values, rows_of_csv as table  # noqa: E402

ROUNDS = 20
JOB = f"""[job]
seed = 6
[data]
file = "{os.path.join(SOURCE, 'examples', 'data', 'digits.csv.gz')}"
test_fraction = 0.1
validation_fraction = 0.1
[model]
kind = "softmax-regression"
[optimizer]
kind = "sgd"
learning_rate = 0.01
[training]
strategy = "federated"
batch_size = 8
keep_best = false
metrics = ["auc"]
[federated]
clients = 200
cohort = 20
sampling = "poisson"
rounds = {ROUNDS}
[merge]
weighting = "equal"
[privacy]
clip_norm = 0.5
noise_multiplier = 1.0
key_file = "run.key"
[checkpoint]
every_steps = 8
"""
CLUSTER = """job = "job.toml"
[[node]]
name = "main"
address = "127.0.0.1:0"
director = true
[[node]]
name = "worker"
address = "127.0.0.1:0"
replicas = 2
"""
KEY = "7" * 64 + "\n"
OTHER_KEY = "8" * 64 + "\n"


class PrivateRuns(unittest.TestCase):
    def setUp(self):
        self.holder = self.enterContext(tempfile.TemporaryDirectory())

    def folder(self, name, key=KEY):
        path = os.path.join(self.holder, name)
        os.mkdir(path)
        for file, text in (("job.toml", JOB), ("cluster.toml", CLUSTER), ("run.key", key)):
            Path(path, file).write_text(text, encoding="utf-8")
            os.chmod(os.path.join(path, file), 0o600)
        return path

    def run_it(self, folder, *options, command="train", job="job.toml", code=0):
        return finished(TROUPE, command, job, *options, code=code, cwd=folder)

    def summary(self, folder, *options, **how):
        return json.loads(self.run_it(folder, "--json", *options, **how).stdout.splitlines()[-1])


def run_file(folder, name, run="job"):
    return os.path.join(folder, "runs", run, name)


def releases(folder, run="job"):
    return [(int(row["round"]), int(row["attempt"]))
            for row in table(run_file(folder, "releases.csv", run))]


def parameters(folder):
    values = header_and_values(run_file(folder, "model.safetensors"))[1]
    return list(struct.unpack(f"<{len(values) // 4}f", values))


def forget_end(folder, checkpoints_below=0):
    """As if the process had been killed before its last checkpoint, and later ones, were written."""
    for name in ("summary.json", "model.safetensors"):
        os.remove(run_file(folder, name))
    for path in glob.glob(run_file(folder, "checkpoint-*.troupe")):
        if int(path[-len("000000000000.troupe"):-len(".troupe")]) >= checkpoints_below:
            os.remove(path)


def releases_so_far(path):
    """Whole lines of a ledger that is being written."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines = text[:text.rfind("\n") + 1].splitlines()[1:]
    return [tuple(map(int, line.split(",")[:2])) for line in lines]
