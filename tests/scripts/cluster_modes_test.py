"""Modes beyond synchronous gradients over real processes, undisturbed and with one of them lost.

    python3 tests/scripts/cluster_modes_test.py BUILD_FOLDER SOURCE_FOLDER [TRIALS] [SEED] [TEST]...

Three `troupe node` processes train the digits as examples/async.toml, examples/local_sgd.toml and
examples/federated_digits.toml say, with one owner of the parameters or several. In each mode a worker is killed, stands still for a while, or comes late, TRIALS (1) times at
points drawn from SEED (printed). Rounds have the bits of `troupe train` whatever befell; the
other modes reach their accuracy, and every gradient is accounted for. The last line says how long it
took from a kill until an epoch was trained without the killed one.
"""

import os
import random
import re
import signal
import statistics
import sys
import time
import unittest

from patience import HANG
from cluster_run import (DIRECTOR, LOST_AFTER, Cluster, EqualRuns, cluster_text, nodes_on_loopback, timeouts,
                         trained_alone)
from command import SOURCE

TRIALS = int(sys.argv[3]) if len(sys.argv) > 3 else 1
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else int(time.time())
ASYNC = os.path.join(SOURCE, "examples", "async.toml")
ROUNDS = os.path.join(SOURCE, "examples", "local_sgd.toml")
FEDERATED = os.path.join(SOURCE, "examples", "federated_digits.toml")
ACCURACY_MIN = 0.95
# (replicas, shards) of the director's node, which has the parameter server, and of two others: workers, or owners of
# spans besides.
PEERS = [(1, 1), (1, 0), (1, 0)]
OWNERS = [(1, 1), (1, 1), (1, 1)]
PLACEMENTS = [[(2, 1)], [(1, 1), (1, 0)], [(0, 1), (1, 0), (2, 0)], OWNERS, [(2, 0), (0, 2), (3, 1), (1, 0)]]
MODES = ['"asynchronous"', "{ staleness = 2 }", "{ first = 2 }", "{ lag = 1.5 }"]
SITES = """[data]
file = "rows.csv"
test_fraction = 0.2
[model]
kind = "logistic-regression"
[training]
strategy = "federated"
batch_size = 8
[federated]
partition = { column = "who" }
cohort = 10
rounds = 40
"""
CHECKPOINTS = "[checkpoint]\nevery_steps = 110\n"
# Runs that something is to befall last for some seconds.
LONG = {"asynchronous": 800, "rounds": 500, "federated": 500}


def job_of(mode, epochs):
    if mode is None:
        return ROUNDS, f"[training]\nepochs = {epochs}\n"
    if mode == "federated":
        return FEDERATED, f"[federated]\nrounds = {epochs}\n"
    return ASYNC, f"[training]\nconsistency = {mode}\nepochs = {epochs}\n"


def first_step_of(process):
    """Where it went on from; 0 when it began."""
    found = [re.search(r"training goes on from step (\d+)", line) for _, line in process.lines]
    return max((int(one.group(1)) for one in found if one), default=0)


class ClusterModes(EqualRuns):
    @classmethod
    def setUpClass(cls):
        cls.random = random.Random(SEED)
        cls.resumptions = []

    @classmethod
    def tearDownClass(cls):
        if cls.resumptions:
            print(f"{len(cls.resumptions)} kills: an epoch trained after it in "
                  f"{statistics.median(cls.resumptions):.3f} s, at most {max(cls.resumptions):.3f} s")

    def note_resumption(self, cluster, fault_at):
        lost_at = cluster.director().said("the link with left is lost", since=fault_at)
        epochs = [when for when, line in cluster.director().lines
                  if lost_at and when >= lost_at and ("Epoch " in line or "Round " in line)]
        if len(epochs) > 1:  # the first may have been over before
            self.resumptions.append(epochs[1] - fault_at)

    def cluster(self, shapes, mode, epochs, starts=None, join=20, more=""):
        job, settings = job_of(mode, epochs)
        nodes = nodes_on_loopback(shapes)
        return Cluster(cluster_text(nodes, settings + more, timeouts(join=join), job), nodes, starts)

    def play(self, shapes, mode, epochs, befall=lambda cluster: None, **options):
        with self.cluster(shapes, mode, epochs, **options) as cluster:
            befall(cluster)
            result = cluster.result()
            self.assertIn("test_accuracy", result, cluster.messages())
            return result, cluster

    def expect_learned(self, result, cluster):
        self.assertGreaterEqual(result["test_accuracy"], ACCURACY_MIN, cluster.messages())
        self.assertIs(result["reproducible"], False)
        # No gradient is lost, and none counts twice: each step is one that came. Of the first three
        # that make a step, two may be waiting when training ends. Trainers' figures are of this life.
        steps = result["steps"] - first_step_of(cluster.director())
        self.assertEqual(sum(x["results"] for x in result["trainers"]), steps)
        judged = sum(x["applied"] + x["discarded"] for x in result["trainers"])
        self.assertIn(steps - judged, (0, 1, 2))

    def expect_equal_rounds(self, result, cluster, epochs, settings=()):
        self.expect_equal_to(ROUNDS, [f"training.epochs={epochs}", *settings], result, cluster)

    def expect_equal_federated(self, result, cluster, rounds):
        self.expect_equal_to(FEDERATED, [f"federated.rounds={rounds}"], result, cluster)

    def expect_equal_to(self, job, settings, result, cluster):
        key = (job, *settings)
        if key not in self.undisturbed:
            self.undisturbed[key] = trained_alone(job, settings)
        self.expect_figures(result, self.undisturbed[key], (
            "parameters_sha256", "job_sha256", "steps", "test_loss", "train_loss"), cluster.messages())

    def expect_equal_or_learned(self, mode, result, cluster, lasts=1):
        if mode is None:
            self.expect_equal_rounds(result, cluster, lasts * LONG["rounds"])
        elif mode == "federated":
            self.expect_equal_federated(result, cluster, lasts * LONG["federated"])
        else:
            self.expect_learned(result, cluster)

    def long_run(self, mode, befall, shapes=PEERS, expect=None, lasts=1, **options):
        """One of `lasts` times LONG epochs; what befalls it does so at one drawn from the first half of LONG."""
        epochs = LONG.get("rounds" if mode is None else mode, LONG["asynchronous"])
        begin = self.random.randint(epochs // 20, epochs // 2)

        def befall_then(cluster):
            self.assertTrue(cluster.wait_for_epoch(begin), cluster.messages())
            befall(cluster)
        result, cluster = self.play(shapes, mode, lasts * epochs, befall_then, **options)
        if expect:
            expect(mode, result, cluster)
        else:
            self.expect_equal_or_learned(mode, result, cluster, lasts)
        return result, cluster

    def test_every_mode_learns_on_three_nodes(self):
        for mode, shapes in [*((mode, PEERS) for mode in MODES), (MODES[0], OWNERS), (MODES[2], OWNERS)]:
            with self.subTest(mode=mode, shapes=shapes):
                result, cluster = self.play(shapes, mode, 20)
                self.expect_learned(result, cluster)
                self.expect_good_ends(cluster)
                self.assertEqual((result["nodes"], result["replicas"]), (3, 3))
                self.assertGreater(min(result["samples_by_replica"]), 0, cluster.messages())

    def test_local_rounds_have_the_same_bits_wherever_members_train(self):
        for shapes in PLACEMENTS:
            with self.subTest(shapes=shapes):
                result, cluster = self.play(shapes, None, 40)
                self.expect_equal_rounds(result, cluster, 40)
                self.assertGreaterEqual(result["test_accuracy"], ACCURACY_MIN)
                self.expect_good_ends(cluster)

    def test_federated_rounds_have_the_same_bits_wherever_clients_train(self):
        for shapes in [[(2, 1)], [(1, 1), (1, 0)], [(0, 1), (1, 0), (2, 0)], [(0, 1), (1, 1), (2, 0), (0, 1)]]:
            with self.subTest(shapes=shapes):
                result, cluster = self.play(shapes, "federated", 40)
                self.expect_spans(result, shapes)
                self.expect_equal_federated(result, cluster, 40)
                self.expect_good_ends(cluster)

    def test_a_member_takes_its_state_along(self):
        settings = ("optimizer.kind=adam", "optimizer.learning_rate=0.003", "merge.outer=replace",
                    "merge.outer_momentum=0")
        more = ('[optimizer]\nkind = "adam"\nlearning_rate = 0.003\n'
                '[merge]\nouter = "replace"\nouter_momentum = 0\n')
        result, cluster = self.play([(0, 1), (1, 0), (1, 0)], None, 20, more=more)
        self.expect_equal_rounds(result, cluster, 20, settings)
        # Each round 4 members get parameters and two moments, and send as many back.
        self.assertGreater(result["bytes_sent"], 2 * 4 * 3 * 4 * 9000 * result["steps"] // 11)

    def test_a_killed_worker_is_done_without(self):
        def kill(cluster):
            times.append(time.monotonic())
            cluster.processes["left"].signal(signal.SIGKILL)
        times = []
        for mode in [*MODES, None, "federated"] * TRIALS:
            with self.subTest(mode=mode):
                result, cluster = self.long_run(mode, kill)
                self.expect_loss(result, cluster)
                self.expect_good_ends(cluster, lost=["left"])
                self.note_resumption(cluster, times[-1])

    def expect_spans(self, result, shapes):
        """Who has shards has an equal part of the parameters, in blocks of 4096."""
        owners = sum(1 for i, (_, shards) in enumerate(shapes) if i == 0 or shards > 0)
        sizes = result["spans_by_node"].values()
        self.assertEqual(len(sizes), min(owners, -(-sum(sizes) // 4096)))
        self.assertLessEqual(max(sizes) - min(sizes), 4096)

    def test_a_killed_owner_costs_the_steps_since_the_last_checkpoint(self):
        def kill(cluster):
            cluster.processes["left"].signal(signal.SIGKILL)

        def expect(mode, result, cluster):
            if mode == MODES[0]:  # steps since the checkpoint are done again
                self.assertGreaterEqual(result["test_accuracy"], ACCURACY_MIN, cluster.messages())
            else:
                self.expect_equal_or_learned(mode, result, cluster)
            self.assertGreaterEqual(result["rollbacks"], 1, cluster.messages())
            self.assertEqual(set(result["spans_by_node"]), {DIRECTOR, "right"})
        for mode in [MODES[0], None, "federated"] * TRIALS:
            with self.subTest(mode=mode):
                result, cluster = self.long_run(mode, kill, OWNERS, expect, more=CHECKPOINTS)
                self.expect_loss(result, cluster)
                self.expect_good_ends(cluster, lost=["left"])

    def test_what_needs_sums_over_all_parameters_has_one_owner(self):
        more = '[merge]\nrule = "krum"\nouter = "replace"\nouter_momentum = 0\n'
        result, cluster = self.play(OWNERS, None, 10, more=more)
        self.expect_good_ends(cluster)
        self.assertEqual(set(result["spans_by_node"]), {DIRECTOR})
        self.assertIn("the director's node owns them all", cluster.messages())

    def test_a_worker_that_stood_still_comes_back(self):
        def freeze(cluster):
            worker = cluster.processes["right"]
            worker.signal(signal.SIGSTOP)
            time.sleep(2 * LOST_AFTER)
            worker.signal(signal.SIGCONT)
        for mode in ["{ staleness = 2 }", None] * TRIALS:
            with self.subTest(mode=mode):
                result, cluster = self.long_run(mode, freeze)
                self.expect_loss(result, cluster)
                self.expect_good_ends(cluster, away=["right"])

    def test_a_late_worker_takes_part(self):
        def come_late(cluster):
            cluster.start("right")
            cluster.wait_until(lambda: cluster.director().said("linked with right"))
        for mode in ["{ first = 3 }", None]:
            with self.subTest(mode=mode):
                # The run outlasts the start of a process, also of one that shares two busy cores.
                result, cluster = self.long_run(mode, come_late, starts=["main", "left"], join=3, lasts=4)
                self.assertGreaterEqual(result["views"], 2, cluster.messages())
                self.expect_good_ends(cluster, away=["right"])

    def test_an_interrupt_stops_at_a_version(self):
        for mode in (MODES[0], None):
            with self.subTest(mode=mode), self.cluster(PEERS, mode, 20000) as cluster:
                self.assertTrue(cluster.wait_for_epoch(10), cluster.messages())
                cluster.director().signal(signal.SIGINT)
                result = cluster.result()
                self.assertEqual(cluster.exit_codes(), {DIRECTOR: 130, "left": 0, "right": 0},
                                 cluster.messages())
                self.assertLess(result["epochs"], 20000)
                self.assertEqual(result["views"], 1)

    def test_a_killed_server_that_is_started_again_goes_on(self):
        def kill_and_start_again(cluster):
            folder = os.path.join(cluster.folder, "runs")
            self.assertTrue(cluster.wait_until(lambda: any(
                name.startswith("checkpoint-") and name.endswith(".troupe")  # and not half written
                for _, _, names in os.walk(folder) for name in names)), cluster.messages())
            cluster.director().signal(signal.SIGKILL)
            cluster.director().end(HANG)
            cluster.start(DIRECTOR, "--resume")
        for mode in [MODES[0], MODES[1], None, "federated"] * TRIALS:
            with self.subTest(mode=mode):
                result, cluster = self.long_run(mode, kill_and_start_again, more=CHECKPOINTS)
                self.assertIsNotNone(cluster.director().said("training goes on from step"),
                                     cluster.messages())
                self.expect_good_ends(cluster)

    def test_rows_that_say_whose_they_are(self):
        """Clients of a column: all processes find the same ones, and the bits of one process."""
        draw = random.Random(SEED)
        lines = ["x,y,who,kind"]
        for _ in range(600):
            x, y = draw.uniform(-1, 1), draw.uniform(-1, 1)
            lines.append(f"{x},{y},site {draw.randint(1, 30)},{'in' if x + y > 0 else 'out'}")
        self.write("rows.csv", "\n".join(lines) + "\n")
        job = self.write("sites.toml", SITES)
        alone = trained_alone(job)
        nodes = nodes_on_loopback(PEERS)
        text = cluster_text(nodes, "", timeouts(), job)
        with Cluster(text, nodes) as cluster:
            self.expect_figures(cluster.result(), alone, (
                "parameters_sha256", "job_sha256", "steps", "test_loss", "clients"), cluster.messages())

    def test_without_its_server_a_run_ends(self):
        with self.cluster(PEERS, MODES[0], 5000, join=2) as cluster:
            self.assertTrue(cluster.wait_for_epoch(5), cluster.messages())
            cluster.director().signal(signal.SIGKILL)
            cluster.result()
            codes = cluster.exit_codes()
            self.assertEqual(codes, {DIRECTOR: -signal.SIGKILL, "left": 69, "right": 69},
                             cluster.messages())


if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
