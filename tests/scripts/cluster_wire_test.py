"""Bad wires between real processes: the result is that of a run with good ones.

    python3 tests/scripts/cluster_wire_test.py BUILD_FOLDER SOURCE_FOLDER [TRIALS] [SEED] [TEST]...

Three `troupe node` processes train examples/digits.toml. Each address that a node dials leads
through a proxy (fault_proxy.py) that delays, breaks off, falls silent or turns bits over, TRIALS
times for each fault and placement; without TRIALS once for each fault, in a placement that is
drawn. Where and when is drawn from SEED (printed), too, and which way pieces go.
"""

import random
import sys
import time
import unittest

from cluster_run import (CARRIERS, LOST_AFTER, PLACEMENTS, Cluster, EqualRuns, cluster_text,
                         nodes_on_loopback, settings_of, timeouts)
from fault_proxy import Wires

TRIALS = int(sys.argv[3]) if len(sys.argv) > 3 else 1
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else int(time.time())
FLIPS = 5
# Of runs in which nobody is to be lost: other tests may keep this machine busy, too.
LOST_AFTER_WHEN_BUSY = LOST_AFTER if len(sys.argv) > 3 else 3 * LOST_AFTER


class WiredCluster(Cluster):
    """Whoever dials a node reaches it by way of its wire."""

    def __init__(self, wires, placement, epochs, lost_after, carrier):
        nodes = nodes_on_loopback(PLACEMENTS[placement])
        self.wires = {}
        for node in nodes:
            node.listen = node.address
            self.wires[node.name] = wires.new(int(node.listen.rsplit(":", 1)[1]))
            node.address = f"127.0.0.1:{self.wires[node.name].port}"
        super().__init__(cluster_text(nodes, settings_of(epochs, carrier), timeouts(lost_after, 8)), nodes)


class BadWires(EqualRuns):
    @classmethod
    def setUpClass(cls):
        cls.random = random.Random(SEED)

    def play(self, placement, epochs, befall, settle=lambda wires: None,
             lost_after=LOST_AFTER, carrier=None):
        """Result and cluster of a run: `settle` makes the wires what they are from the start on,
        `befall` happens when a part of the epochs is over that is drawn."""
        with Wires(self.random.randrange(1 << 30)) as wires, \
                WiredCluster(wires, placement, epochs, lost_after, carrier) as cluster:
            for wire in cluster.wires.values():
                settle(wire)
            self.assertTrue(cluster.wait_for_epoch(
                self.random.randint(1, max(1, epochs // 2))), cluster.messages())
            befall(cluster, wires)
            result = cluster.result()
            self.expect_equal(result, cluster, epochs)
            self.expect_good_ends(cluster, away=["left", "right"])
            return result, cluster

    def for_each_trial(self, epochs, befall, check=lambda *_: None, carriers=tuple(CARRIERS), **more):
        placements = list(PLACEMENTS)
        if len(sys.argv) <= 3:
            placements = [self.random.choice(placements)]
        for placement in placements:
            for trial in range(TRIALS):
                carrier = self.random.choice(carriers)
                with self.subTest(placement=placement, trial=trial, seed=SEED, carrier=carrier):
                    check(*self.play(placement, epochs, befall, carrier=carrier, **more))

    # Latency and jitter (F6).

    def test_latency_and_jitter_lose_nobody(self):
        def settle(wire):
            wire.latency, wire.jitter = 0.003, 0.004
        self.for_each_trial(8, lambda cluster, wires: None, self.expect_that_nobody_was_lost,
                            settle=settle, lost_after=LOST_AFTER_WHEN_BUSY)

    # A slow link (F5): goes on, no false eviction, memory flat.

    def test_ten_megabits_a_second_lose_nobody(self):
        def settle(wire):
            wire.bytes_per_second = 10e6 / 8

        def befall(cluster, _):
            self.expect_flat_memory(cluster, 7)
        self.for_each_trial(8, befall, self.expect_that_nobody_was_lost,
                            settle=settle, lost_after=LOST_AFTER_WHEN_BUSY,
                            carriers=("messages", "socket"))  # memory is not slow

    # Connections that break (F6), between messages and in the middle of one.

    def break_again_and_again(self, reset):
        def befall(cluster, wires):
            for _ in range(4):
                names = self.random.choice([["main"], ["left"], ["main", "left"]])
                wires.break_all([cluster.wires[name] for name in names], reset)
                time.sleep(self.random.uniform(0, 0.5))
        self.for_each_trial(150, befall)

    def test_reset_connections_are_made_again(self):
        self.break_again_and_again(reset=True)

    def test_closed_connections_are_made_again(self):
        self.break_again_and_again(reset=False)

    def test_half_a_message_is_none(self):
        def befall(cluster, wires):
            for how in ("reset", "close"):
                wire = cluster.wires[self.random.choice(["main", "left"])]
                wire.cut_is_due = how
                cluster.wait_until(lambda wire=wire: wire.cut_count > 0 and not wire.cut_is_due)
                time.sleep(self.random.uniform(0, 0.5))
            self.assertGreater(sum(x.cut_count for x in cluster.wires.values()), 0)
        self.for_each_trial(150, befall)

    # Silence (F6): a connection that is there, and carries nothing.

    def be_silent(self, names, seconds, check=lambda *_: None, lost_after=LOST_AFTER, **more):
        def befall(cluster, wires):
            chosen = [cluster.wires[name] for name in names]
            wires.silence(chosen, True)
            time.sleep(seconds)
            wires.silence(chosen, False)
        self.for_each_trial(100, befall, check, lost_after=lost_after, **more)

    def test_short_silence_costs_nobody(self):
        self.be_silent(["main", "left"], 0.5 * LOST_AFTER_WHEN_BUSY,
                       self.expect_that_nobody_was_lost, LOST_AFTER_WHEN_BUSY)

    def test_long_silence_towards_the_director_is_a_loss_and_a_return(self):
        def check(result, _):
            self.assertGreaterEqual(result["views"], 2)
        # By memory nothing waits for the wire, and what is left of a run may end before anybody counts as lost.
        self.be_silent(["main"], 3 * LOST_AFTER, check, carriers=("messages", "socket"))

    def test_long_silence_between_workers_is_survived(self):
        self.be_silent(["left"], 3 * LOST_AFTER)

    # Flipped bits (N2, N6), in records and in greetings: the connection ends and is made again.

    def test_bits_turned_over_anywhere(self):
        def settle(wire):
            wire.flip_chance, wire.flips_left, wire.flips_greetings = 0.02, 3 * FLIPS, True

        def befall(cluster, _):
            cluster.wait_until(lambda: not any(x.flips_left for x in cluster.wires.values()))
            self.assertGreater(sum(x.flip_count for x in cluster.wires.values()), 0)
            self.assertGreater(sum(x.connection_count for x in cluster.wires.values()),
                               len(cluster.wires))
        self.for_each_trial(40, befall, settle=settle, lost_after=LOST_AFTER_WHEN_BUSY,
                            carriers=("messages", "socket"))  # memory has no wire


if __name__ == "__main__":
    print(f"seed {SEED}, {TRIALS} trials of each", flush=True)
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
