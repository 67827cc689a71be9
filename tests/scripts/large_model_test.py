"""A large model over two processes: memory, bytes on the wire, the same bits.

    python3 tests/scripts/large_model_test.py BUILD_FOLDER SOURCE_FOLDER [MEGABYTES [TEST ...]]

Trains a network of MEGABYTES (32) of parameters for a few steps with `troupe launch` on two nodes
and compares with `troupe train`. The memory that each node takes is what its plan says, within 15 %.
A network that a limit of address space lets no process train is trained by three, each with its part.
"""

import json
import os
import random
import re
import signal
import sys
import threading
import time
import unittest

from cluster_run import Cluster, cluster_text, nodes_on_loopback, nodes_text, timeouts
from command import TROUPE, CommandTest, finished, nodes_of, sets_of
from patience import HANG, SLOWNESS

MEGABYTES = int(sys.argv[3]) if len(sys.argv) > 3 else 32
MEGABYTE = 1 << 20
FEATURES = 64
STEPS = 4
CREDIT = 16 * MEGABYTE

# A gradient of this size is six windows: a sender without credit would have it all under way.
PAUSED_MEGABYTES = max(MEGABYTES, 96)
PAUSED_STEPS = 16
PAUSED_EPOCHS = (3, 5, 7, 9)
PAUSE_SECONDS = 0.8
# Code, libraries, rows, and what is under way: a window each way.
BASE_MEGABYTES = 64 + 2 * 16

PLAN_ERROR = 1.15


def width_of(megabytes):
    """Of two hidden layers, so that the parameters between them take so much."""
    return int((megabytes * MEGABYTE / 4) ** 0.5)


def job_text(megabytes, optimizer):
    width = width_of(megabytes)
    return (f'[data]\nsynthetic = "classification"\nrows = 64\nfeatures = {FEATURES}\nclasses = 4\n'
            f'[model]\nkind = "neural-network"\nhidden = [{width}, {width}]\n'
            f'[optimizer]\nkind = "{optimizer}"\nlearning_rate = 0.001\n'
            f"[training]\nbatch_size = 16\nslices = 2\nsteps = {STEPS}\n"
            "[checkpoint]\nevery_steps = 0\n")


def peak_bytes(number):
    try:
        with open(f"/proc/{number}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class LargeModel(CommandTest):
    random = random.Random(1)

    def setUp(self):
        super().setUp()
        self.file = str(self.folder / "cluster.toml")

    def train_alone(self, optimizer):
        return self.train(self.write("job.toml", job_text(MEGABYTES, optimizer)), more=["--overwrite"])

    def launch(self, optimizer, nodes, more=""):
        """The result, and the most memory of each node in bytes."""
        self.write_cluster(optimizer, nodes, more)
        peaks = {}
        with self.start(TROUPE, "launch", self.file, "--json", "--quiet", "--overwrite") as run:
            deadline = time.monotonic() + HANG
            while run.poll() is None and time.monotonic() < deadline:
                for name, number in nodes_of(self.file).items():
                    peaks[name] = max(peaks.get(name, 0), peak_bytes(number))
                time.sleep(0.02)
            if run.poll() is None:
                run.terminate()
            out, errors = run.communicate(timeout=HANG)
        self.assertEqual(run.returncode, 0, errors)
        return json.loads(out), peaks

    def planned(self):
        """What the plan says that each node takes, in bytes."""
        plan = self.result_of("config", "show", self.file, "--plan")
        return {x["name"]: x["bytes"] for x in plan["processes"]}

    def write_cluster(self, optimizer, shapes, more="", megabytes=MEGABYTES):
        job = self.write("job.toml", job_text(megabytes, optimizer))
        self.write("cluster.toml", f'job = "{job}"\n{more}\n' + nodes_text(shapes))

    # A process that stands still takes nothing: what goes to it stays within its credit.
    def test_paused_receiver(self):
        self.write_cluster("sgd", [(1, 0), (0, 1)], '[timeouts]\nlost_after = "60s"\n', PAUSED_MEGABYTES)
        longer = [f"training.steps={PAUSED_STEPS}", "training.batch_size=64", f"training.epochs={PAUSED_STEPS}"]
        alone = self.train("job.toml", *longer)
        # Two versions, two gradients: docs/clusters.md.
        limit = (BASE_MEGABYTES + 4 * PAUSED_MEGABYTES) * MEGABYTE
        with self.start(TROUPE, "launch", self.file, "--json", "--overwrite", *sets_of(longer)) as launch:
            try:
                for epoch in PAUSED_EPOCHS:
                    self.wait_for_epoch(launch, epoch)
                    nodes = nodes_of(self.file)
                    time.sleep(self.random.uniform(0, 0.2))
                    base = peak_bytes(nodes["main"])
                    os.kill(nodes["left"], signal.SIGSTOP)
                    time.sleep(PAUSE_SECONDS)
                    peak = peak_bytes(nodes["main"])
                    os.kill(nodes["left"], signal.SIGCONT)
                    print(f"paused: {base / MEGABYTE:.0f} MB before, {peak / MEGABYTE:.0f} MB after",
                          flush=True)
                    self.assertLessEqual(peak, base + 2 * CREDIT)
                    self.assertLessEqual(peak, limit)
                out, errors = launch.communicate(timeout=HANG)
            finally:
                launch.terminate()
        self.assertEqual(launch.returncode, 0, errors)
        result = json.loads(out)
        self.assertEqual(result["parameters_sha256"], alone["parameters_sha256"])
        self.assertEqual(result["replicas_lost"], 0)

    def wait_for_epoch(self, launch, epoch):
        for line in launch.stderr:
            seen = re.search(r"Epoch (\d+)/", line)
            if seen and int(seen.group(1)) >= epoch:
                return
        self.fail(f"ended before epoch {epoch}")

    def test_memory_and_bits(self):
        """The second time with copies at each step, of which three versions are kept."""
        for optimizer, more in (("sgd", ""), ("adam", ""), ("adam", "[recovery]\ncopy_every = 1\n")):
            with self.subTest(optimizer, more=more):
                alone = self.train_alone(optimizer)
                result, peaks = self.launch(optimizer, [(1, 1), (1, 1)], more)
                model = MEGABYTES * MEGABYTE
                for name, peak in sorted(peaks.items()):
                    print(f"{optimizer}, {name}: {peak / MEGABYTE:.0f} MB, "
                          f"{(peak - BASE_MEGABYTES * MEGABYTE) / model:.2f} models beside the base; "
                          f"{result['seconds']:.1f} s", flush=True)
                self.assertEqual(result["parameters_sha256"], alone["parameters_sha256"])
                self.assertEqual(result["replicas_lost"], 0)
                self.assertEqual(result["views"], 1)
                self.assertEqual(set(peaks), {"main", "left"})
                planned = self.planned()
                for name, peak in peaks.items():
                    expected = planned[name]
                    print(f"{name}: {expected / MEGABYTE:.0f} MB planned", flush=True)
                    self.assertLessEqual(peak, PLAN_ERROR * expected, name)
                    self.assertGreaterEqual(PLAN_ERROR * peak, expected, name)
                    if optimizer == "sgd" and MEGABYTES >= 200:
                        self.assertLessEqual(peak, 6 * model, name)


# ---- A model that no process has the memory for ----

# Units of the hidden layers of the networks that no process has the memory for, and parts of a layer.
# What is fetched layer by layer has many of them.
WIDE = ([4096] * 4, 3)
DEEP = ([2048] * 12, 1)
# Taken and not used: libraries, stacks, arenas.
ADDRESS_SPACE = 400 * MEGABYTE
# What a process may take beyond its plan.
PLAN_FACTOR_MAX = 1.15
SPLITS = {"tensor": ("tensor = 3", WIDE), "pipeline": ("pipeline = 3", WIDE),
          "sharded": ("sharded = true", DEEP)}


def large_job(hidden, cuts):
    return f"""[data]
synthetic = "classification"
rows = 96
features = 64
classes = 4
test_fraction = 0.25
[model]
kind = "neural-network"
hidden = {hidden}
cuts = {cuts}
[optimizer]
kind = "adam"
learning_rate = 0.001
[training]
batch_size = 24
slices = 3
steps = 5
evaluate_every = 0
[checkpoint]
every_steps = 0
"""


# Eight workers of an asynchronous run, in processes that own a quarter each; or the first one owns all.
OWNERS = [(2, 1)] * 4
ONE_OWNER = [(2, 1)] + [(2, 0)] * 3
ASYNCHRONOUS = """[data]
synthetic = "classification"
rows = 192
features = 64
classes = 4
[model]
kind = "neural-network"
hidden = [2560, 2560, 2560]
[optimizer]
kind = "adam"
learning_rate = 0.001
[training]
consistency = "asynchronous"
batch_size = 8
steps = 48
epochs = 48
[checkpoint]
every_steps = 0
"""


class BeyondMemory(CommandTest):
    """The limit of address space is what the plan says the largest of three processes takes, and what
    any process has of it without using it."""

    def planned(self, file):
        """Bytes of each process, by name."""
        return {x["name"]: x["bytes"] for x in self.result_of("config", "show", file, "--plan")["processes"]}

    def cluster(self, split, limit=None):
        return self.cluster_of([(1, 1)] * 3, f"[parallel]\n{SPLITS[split][0]}\n", limit)

    def cluster_of(self, shapes, settings, limit=None):
        nodes = nodes_on_loopback(shapes)
        for node in nodes:
            node.wrapper = ["prlimit", f"--as={limit}"] if limit else []
        text = cluster_text(nodes, settings + "[runtime]\nthreads = 1\n",
                            timeouts(10 * SLOWNESS, 30), self.folder / "job.toml")
        return Cluster(text, nodes, (), self.folder)

    def peaks_of(self, cluster):
        """The result, and the most memory of each process."""
        peaks = {}
        over = threading.Event()

        def watch():
            while not over.wait(0.01):
                for name, process in cluster.processes.items():
                    peaks[name] = max(peaks.get(name, 0), peak_bytes(process.process.pid))

        for name in cluster.nodes:
            cluster.start(name, "--overwrite") if name == "main" else cluster.start(name)
        watcher = threading.Thread(target=watch)
        watcher.start()
        result = cluster.result()
        over.set()
        watcher.join()
        self.assertIn("parameters_sha256", result, cluster.messages())
        return result, peaks

    def test_eight_workers_own_what_fits_no_parameter_server(self):
        self.write("job.toml", ASYNCHRONOUS)
        with self.cluster_of(OWNERS, "") as cluster:
            planned = self.planned(cluster.file)
        limit = max(planned.values()) + ADDRESS_SPACE
        with self.cluster_of(ONE_OWNER, "") as cluster:
            refused = finished("prlimit", f"--as={limit}", TROUPE, "node", cluster.file, "--name", "main", "--json",
                               "--quiet", code=78, cwd=self.folder)
            self.assertIn("memory", json.loads(refused.stdout)["error"]["what"])
        with self.cluster_of(OWNERS, "", limit) as cluster:
            result, peaks = self.peaks_of(cluster)
            print(f"asynchronous: limit {limit >> 20} MiB; " + ", ".join(
                f"{name} planned {planned[name] >> 20}, took {peaks[name] >> 20} MiB" for name in peaks), flush=True)
            self.assertEqual(result["steps"], 48)
            self.assertEqual(len(result["spans_by_node"]), len(OWNERS))
            self.assertEqual(result["replicas"], 8)
            for name, peak in peaks.items():
                self.assertLess(peak, PLAN_FACTOR_MAX * planned[name], name)

    def test_three_processes_train_what_fits_none(self):
        trained = None
        for split, (_, model) in SPLITS.items():
            if model != trained:
                trained = model
                alone = self.train(self.write("job.toml", large_job(*model)), more=["--overwrite"])
            with self.subTest(split=split), self.cluster(split) as cluster:
                planned = self.planned(cluster.file)
                limit = max(planned.values()) + ADDRESS_SPACE
                refused = finished("prlimit", f"--as={limit}", TROUPE, "train", "job.toml", "--json", "--quiet",
                                   "--overwrite", code=78, cwd=self.folder)
                self.assertIn("memory", json.loads(refused.stdout)["error"]["what"])
            with self.subTest(split=split), self.cluster(split, limit) as cluster:
                result, peaks = self.peaks_of(cluster)
                self.assertEqual(result["parameters_sha256"], alone["parameters_sha256"])
                print(f"{split}: limit {limit >> 20} MiB; " + ", ".join(
                    f"{name} planned {planned[name] >> 20}, took {peaks[name] >> 20} MiB"
                    for name in peaks), flush=True)
                for name, peak in peaks.items():
                    self.assertLess(peak, PLAN_FACTOR_MAX * planned[name], name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
