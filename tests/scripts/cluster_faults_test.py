"""Faults of real processes: the result is that of a run in which nothing happened.

    python3 tests/scripts/cluster_faults_test.py BUILD_FOLDER SOURCE_FOLDER [TRIALS] [SEED]

Three `troupe node` processes train examples/digits.toml. When progress shows an epoch that is drawn
from 5 to 95 % of the run, one of them is killed, or stands still for a while. TRIALS (1) of each
fault and placement, drawn from SEED (printed). A fault that came too late to be one is repeated.
"""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
TRIALS = int(sys.argv[3]) if len(sys.argv) > 3 else 1
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else int(time.time())
TROUPE = os.path.join(BUILD, "bin", "troupe")
JOB = os.path.join(SOURCE, "examples", "digits.toml")
EPOCHS = 100
CHECKPOINT_STEPS = 100
LOST_AFTER = 1.0  # seconds

# Name -> (replicas, shards) of the director's node and of two workers.
PLACEMENTS = {"peer": [(1, 1), (1, 1), (1, 1)], "server": [(0, 1), (1, 0), (1, 1)]}


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Node:
    """A process of the cluster. Its messages are read by a thread of its own."""

    def __init__(self, cluster, name, *arguments):
        self.name = name
        self.lines = []
        self.epoch = 0
        self.out = os.path.join(cluster.folder, f"{name}.out")
        with open(self.out, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen([TROUPE, "node", cluster.file, "--name", name,
                                             *arguments], cwd=cluster.folder, stdout=out,
                                            stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            seen = re.search(r"Epoch (\d+)/", line)
            if seen:
                self.epoch = int(seen.group(1))

    def signal(self, number):
        self.process.send_signal(number)

    def end(self, seconds):
        """What it wrote to standard output, when it has ended; it is killed after so long."""
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stderr.close()
        with open(self.out, encoding="utf-8") as out:
            return out.read()


class Cluster:
    def __init__(self, folder, shapes):
        self.folder = folder
        self.file = os.path.join(folder, "cluster.toml")
        self.names = ["main", "left", "right"]
        text = (f'job = "{JOB}"\n[training]\nepochs = {EPOCHS}\n'
                f"[checkpoint]\nevery_steps = {CHECKPOINT_STEPS}\n"
                f'[timeouts]\nheartbeat = "200ms"\nlost_after = "{int(LOST_AFTER)}s"\njoin = "20s"\n')
        for name, port, (replicas, shards) in zip(self.names, free_ports(3), shapes):
            text += (f'[[node]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\n'
                     f"replicas = {replicas}\nshards = {shards}\n"
                     + ("director = true\n" if name == "main" else ""))
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)
        self.nodes = {}
        for name in self.names:
            self.start(name)

    def start(self, name, *arguments):
        more = ["--json"] if name == "main" else []
        self.nodes[name] = Node(self, name, *more, *arguments)

    def wait_for_epoch(self, epoch):
        deadline = time.monotonic() + 60
        main = self.nodes["main"]
        while main.epoch < epoch and main.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)

    def is_running(self):
        return self.nodes["main"].process.poll() is None

    def result(self):
        out = self.nodes["main"].end(90)
        for name in self.names[1:]:
            self.nodes[name].end(30)
        return json.loads(out) if out else {}

    def leave(self):
        for node in self.nodes.values():
            if node.process.poll() is None:
                node.process.kill()
                node.end(10)

    def messages(self):
        return "\n".join(f"{name}: {line.rstrip()}" for name, node in self.nodes.items()
                         for line in node.lines if "Epoch" not in line)


def kill(name):
    def befall(cluster):
        cluster.nodes[name].signal(signal.SIGKILL)
    return befall


def kill_and_restart(name, *arguments):
    def befall(cluster):
        old = cluster.nodes[name]
        old.signal(signal.SIGKILL)
        old.end(10)
        cluster.start(name, *arguments)
    return befall


def freeze(name, seconds):
    def befall(cluster):
        cluster.nodes[name].signal(signal.SIGSTOP)
        time.sleep(seconds)
        cluster.nodes[name].signal(signal.SIGCONT)
    return befall


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([TROUPE, "train", JOB, "--json", "--quiet", "--set",
                                  f"training.epochs={EPOCHS}"], cwd=folder, capture_output=True,
                                 text=True, timeout=300, check=True)
        cls.undisturbed = json.loads(run.stdout)
        cls.random = random.Random(SEED)
        cls.late_count = 0

    def play(self, placement, befall, lives=1):
        """The result of a run in which something befell the cluster in time; `lives`: of its
        director, each of which counts the roll-backs of its own."""
        for _ in range(20):
            with tempfile.TemporaryDirectory() as folder:
                cluster = Cluster(folder, PLACEMENTS[placement])
                try:
                    cluster.wait_for_epoch(self.random.randint(EPOCHS // 20, EPOCHS * 19 // 20))
                    was_in_time = cluster.is_running()
                    befall(cluster)
                    result = cluster.result()
                    self.assertIn("parameters_sha256", result, cluster.messages())
                finally:
                    cluster.leave()
            self.assertEqual(result["parameters_sha256"], self.undisturbed["parameters_sha256"])
            self.assertEqual(result["steps"], self.undisturbed["steps"])
            self.assertLessEqual(result["steps_executed"] - result["steps"],
                                 (result["rollbacks"] + lives - 1) * CHECKPOINT_STEPS)
            if was_in_time:
                return result
            Faults.late_count += 1
        self.fail("every fault came too late")

    def for_each_trial(self, befall, check=lambda result: None, placements=("peer", "server"),
                       lives=1):
        for placement in placements:
            for trial in range(TRIALS):
                with self.subTest(placement=placement, trial=trial, seed=SEED):
                    check(self.play(placement, befall, lives))

    def expect_loss(self, result):
        self.assertGreaterEqual(result["replicas_lost"], 1)
        self.assertGreaterEqual(result["views"], 2)

    def test_killed_worker_with_a_shard(self):
        self.for_each_trial(kill("right"), self.expect_loss)

    def test_killed_worker_without_a_shard_costs_no_step(self):
        def check(result):
            self.expect_loss(result)
            self.assertEqual(result["rollbacks"], 0)
            self.assertEqual(result["steps_executed"], result["steps"])
        self.for_each_trial(kill("left"), check, ["server"])

    def test_killed_and_started_again(self):
        self.for_each_trial(kill_and_restart("right"), self.expect_loss)

    def test_killed_director_started_again_resumes(self):
        self.for_each_trial(kill_and_restart("main", "--resume"), lives=2)

    def test_short_freeze_costs_nobody(self):
        def check(result):
            self.assertEqual(result["replicas_lost"], 0)
        self.for_each_trial(freeze("right", 0.4 * LOST_AFTER), check)

    def test_long_freeze_is_a_loss_and_a_return(self):
        self.for_each_trial(freeze("right", 3 * LOST_AFTER))


if __name__ == "__main__":
    print(f"seed {SEED}, {TRIALS} trials of each", flush=True)
    run = unittest.main(argv=sys.argv[:1], exit=False)
    print(f"{Faults.late_count} faults came too late and were repeated")
    sys.exit(0 if run.result.wasSuccessful() else 1)
