"""Bad wires between processes whose connections are secured: the result is that of good ones.

    python3 tests/scripts/tls_wires_test.py BUILD_FOLDER SOURCE_FOLDER [TRIALS] [SEED]

Each address that a node dials leads through a proxy (fault_proxy.py) that delays, breaks off or turns
bits over anywhere, in handshakes as well. Where and when is drawn from SEED (printed).
"""

import random
import sys
import tempfile
import time
import unittest

from cluster_run import DIRECTOR, Cluster, nodes_on_loopback
from fault_proxy import Wires
from secured_cluster import SHAPES, SecuredCluster, port_of

TRIALS = int(sys.argv[3]) if len(sys.argv) > 3 else 1
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else int(time.time())


class BadWires(SecuredCluster):
    """F6: whatever the wire does, the result is Equal. A process whose first words were turned over
    may be refused, by name; the others do its work."""

    def play(self, epochs, befall, settle=lambda wire: None):
        """`befall` returns whether all of it happened before the run was over: a run that was too
        short, on a fast machine, has to be right as well, and is followed by a longer one."""
        for trial in range(TRIALS):
            self.carrier = random.Random(SEED + trial).choice(["messages", "socket"])  # what has wires
            with self.subTest(trial=trial, seed=SEED, carrier=self.carrier):
                self.assertTrue(any(self.run_of(trial, epochs * factor, befall, settle)
                                    for factor in (1, 4, 16)), "every run was too short")

    def run_of(self, trial, epochs, befall, settle):
        with Wires(SEED + trial) as wires, tempfile.TemporaryDirectory() as folder:
            self.nodes = nodes_on_loopback(SHAPES)
            between = []
            for node in self.nodes:
                node.listen = node.address
                between.append(wires.new(port_of(node), is_secured=True))
                node.address = f"127.0.0.1:{between[-1].port}"
                settle(between[-1])
            with Cluster(self.text(epochs), self.nodes, None, folder) as cluster:
                all_happened = befall(cluster, wires, between, random.Random(SEED + trial))
                self.expect_equal(cluster.result(), cluster, epochs)
                self.expect_ends_with_a_reason(cluster)
                self.assertGreater(sum(x.connection_count for x in between), 0)
                return all_happened

    def expect_ends_with_a_reason(self, cluster):
        for name, code in cluster.exit_codes().items():
            self.assertIn(code, (0,) if name == DIRECTOR else (0, 69, 77), cluster.messages())
            if code:
                self.assertTrue(cluster.processes[name].said("troupe: error: "), cluster.messages())

    def test_bits_turned_over_anywhere(self):
        """In handshakes, at the beginning; and later, in whatever passes then."""
        def settle(wire):
            wire.flip_chance, wire.flips_left = 0.03, 2

        def befall(cluster, _, between, dice):
            for _ in range(4):
                if not cluster.wait_for_epoch(cluster.director().epoch + dice.randint(5, 20)):
                    return False
                wire = dice.choice(between[:2])
                wire.flip_chance, wire.flips_left = 0.2, 1
                cluster.wait_until(lambda wire=wire: not wire.flips_left, 2)
            return sum(x.flip_count for x in between) > 3
        self.play(250, befall, settle)

    def test_delays_and_breaks(self):
        def settle(wire):
            wire.latency, wire.jitter = 0.001, 0.002

        def befall(cluster, wires, between, dice):
            if not cluster.wait_for_epoch(2):
                return False
            for how in ("reset", "close"):
                wires.break_all(between[:2], reset=how == "reset")
                time.sleep(dice.uniform(0, 0.5))
                wire = dice.choice(between[:2])
                wire.cut_is_due = how
                cluster.wait_until(lambda wire=wire: not wire.cut_is_due, 2)
            return sum(x.cut_count for x in between) > 0
        self.play(120, befall, settle)


if __name__ == "__main__":
    print(f"seed {SEED}, {TRIALS} trials of each", flush=True)
    unittest.main(argv=["tls_wires_test"])
