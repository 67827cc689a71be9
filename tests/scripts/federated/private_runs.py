"""A small private job, and what its runs leave: for the tests of private runs."""

import csv
import glob
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from patience import HANG  # noqa: E402

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
TROUPE = os.path.join(BUILD, "bin", "troupe")
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
        self.holder = tempfile.TemporaryDirectory()
        self.addCleanup(self.holder.cleanup)

    def folder(self, name, key=KEY):
        path = os.path.join(self.holder.name, name)
        os.mkdir(path)
        for file, text in (("job.toml", JOB), ("cluster.toml", CLUSTER), ("run.key", key)):
            with open(os.path.join(path, file), "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(os.path.join(path, file), 0o600)
        return path

    def run_it(self, folder, *options, command="train", job="job.toml", code=0):
        done = subprocess.run([TROUPE, command, job, *options], cwd=folder, text=True,
                              capture_output=True, timeout=HANG, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def summary(self, folder, *options, **how):
        return json.loads(self.run_it(folder, "--json", *options, **how).stdout.splitlines()[-1])


def run_file(folder, name, run="job"):
    return os.path.join(folder, "runs", run, name)


def table(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def releases(folder, run="job"):
    return [(int(row["round"]), int(row["attempt"]))
            for row in table(run_file(folder, "releases.csv", run))]


def parameters(folder):
    with open(run_file(folder, "model.safetensors"), "rb") as file:
        whole = file.read()
    size, = struct.unpack_from("<Q", whole)
    return list(struct.unpack(f"<{(len(whole) - 8 - size) // 4}f", whole[8 + size:]))


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
