"""Partitions, slow links and lost folders of processes that have a network or folder of their own.

    python3 tests/scripts/cluster_namespaces_test.py BUILD_FOLDER SOURCE_FOLDER
                                                     [TRIALS] [SEED] [TEST]...

Each node of the cluster is in a network namespace of its own; between them stands a router that
drops what it is told to drop. TRIALS times for each test and placement; without TRIALS once for
each but the longest tests, in a placement that is drawn from SEED (printed).

The test itself runs in namespaces, too, so that nothing of it is left on the machine. Where the
kernel does not permit that it ends with exit code 77, which ctest counts as skipped.
"""

import os
import random
import signal
import subprocess
import sys
import time
import unittest

from cluster_run import (LOST_AFTER, NAMES, PLACEMENTS, Cluster, EqualRuns, Node, cluster_text,
                         nodes_on_loopback, settings_of, timeouts)

TRIALS = int(sys.argv[3]) if len(sys.argv) > 3 else 0
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else int(time.time())
SKIPPED = 77
IS_INSIDE = "TROUPE_TEST_IS_INSIDE_NAMESPACES"
HOSTS = NAMES[:3]
# Others may keep this machine busy, too.
LOST_AFTER_WHEN_BUSY = 3 * LOST_AFTER


def call(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)


long = unittest.skipUnless(TRIALS, "for scripts/soak")


def address_of(name):
    return f"10.77.{HOSTS.index(name)}.2"


def make_network():
    """A namespace for each node, and the way between them through this one."""
    os.makedirs("/run/netns", exist_ok=True)
    call("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
    for index, name in enumerate(HOSTS):
        call("ip", "netns", "add", name)
        call("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        call("ip", "address", "add", f"10.77.{index}.1/24", "dev", name)
        call("ip", "link", "set", name, "up")
        call("ip", "-n", name, "address", "add", f"10.77.{index}.2/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            call("ip", "-n", name, "link", "set", device, "up")
        call("ip", "-n", name, "route", "add", "default", "via", f"10.77.{index}.1")
    with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="utf-8") as file:
        file.write("1")


def rules(action, pairs):
    """Of the router: what goes from one to the other is dropped without a word ("add"), or not."""
    for source, target in pairs:
        call("ip", "rule", action, "from", address_of(source), "to", address_of(target), "type",
             "blackhole")


def slow_down(rate):
    """Both ways of each link; "" lifts it."""
    for name in HOSTS:
        for command, device in ((("tc",), name), (("tc", "-n", name), "eth0")):
            if rate:
                call(*command, "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst",
                     "32kbit", "latency", "400ms")
            else:
                call(*command, "qdisc", "del", "dev", device, "root")


def both_ways(pairs):
    return pairs + [(target, source) for source, target in pairs]


class Namespaces(EqualRuns):
    @classmethod
    def setUpClass(cls):
        cls.random = random.Random(SEED)

    def placements(self):
        names = list(PLACEMENTS)
        return names * TRIALS if TRIALS else [self.random.choice(names)]

    def nodes(self, placement):
        return [Node(name, *shape, f"{address_of(name)}:7400",
                     wrapper=["ip", "netns", "exec", name])
                for name, shape in zip(HOSTS, PLACEMENTS[placement])]

    def play(self, nodes, epochs, befall, lost_after=LOST_AFTER):
        text = "insecure = true\n" + cluster_text(nodes, settings_of(epochs),
                                                  timeouts(lost_after, 8))
        with Cluster(text, nodes, starts=[]) as cluster:
            for node in nodes:
                os.makedirs(os.path.join(cluster.folder, node.name))
                cluster.start(node.name)
            self.assertTrue(cluster.wait_for_epoch(self.random.randint(1, epochs // 2)), cluster.messages())
            befall(cluster)
            result = cluster.result()
            self.expect_equal(result, cluster, epochs)
            self.expect_good_ends(cluster, away=["left", "right"])
            return result, cluster

    # F4, a partition: as a long freeze, no split brain.

    def part(self, pairs, seconds=3 * LOST_AFTER, check=lambda *_: None):
        def befall(_):
            rules("add", pairs)
            try:
                time.sleep(seconds)
            finally:
                rules("del", pairs)
        for placement in self.placements():
            with self.subTest(placement=placement, seed=SEED):
                check(*self.play(self.nodes(placement), 100, befall))

    def test_worker_that_is_cut_off_is_a_loss_and_returns(self):
        self.part(both_ways([("right", "main"), ("right", "left")]), check=self.expect_loss)

    def test_worker_that_only_hears_is_a_loss_and_returns(self):
        self.part([("right", "main"), ("right", "left")], check=self.expect_loss)

    @long
    def test_worker_that_is_only_heard_is_a_loss_and_returns(self):
        self.part([("main", "right"), ("left", "right")], check=self.expect_loss)

    @long
    def test_director_that_is_cut_off_leads_again(self):
        self.part(both_ways([("main", "left"), ("main", "right")]), check=self.expect_loss)

    def test_director_that_is_not_heard_leads_again(self):
        self.part([("main", "left"), ("main", "right")])

    def test_workers_that_cannot_reach_each_other(self):
        self.part(both_ways([("left", "right")]))

    @long
    def test_workers_of_whom_one_cannot_reach_the_other(self):
        self.part([("left", "right")])

    # F5, a slow link: goes on, no false eviction, memory flat.

    def test_ten_megabits_a_second_lose_nobody(self):
        def befall(cluster):
            self.expect_flat_memory(cluster, 9)
        try:
            slow_down("10mbit")
        except subprocess.CalledProcessError as problem:
            self.skipTest(f"the kernel slows nothing down: {problem.stderr}")
        try:
            for placement in self.placements():
                with self.subTest(placement=placement, seed=SEED):
                    self.expect_that_nobody_was_lost(*self.play(
                        self.nodes(placement), 10, befall, LOST_AFTER_WHEN_BUSY))
        finally:
            slow_down("")

    # A shard's process dies and its folder with it: nothing that it had is needed.

    def test_killed_shard_whose_folder_is_lost(self):
        def befall(cluster):
            old = cluster.processes["right"]
            old.signal(signal.SIGKILL)
            old.end(10)
            cluster.start("right")
        call("ip", "link", "set", "lo", "up")
        for placement in self.placements():
            with self.subTest(placement=placement, seed=SEED):
                nodes = nodes_on_loopback(PLACEMENTS[placement])
                for node in nodes:  # the folder goes with the process
                    node.wrapper = ["unshare", "-m", "sh", "-ec",
                                    'mount -t tmpfs tmpfs "$0"; cd "$0"; exec "$@"', node.name]
                self.expect_loss(*self.play(nodes, 100, befall))


def main():
    if not os.environ.get(IS_INSIDE):
        try:
            call("unshare", "-n", "-m", "true")
        except (OSError, subprocess.CalledProcessError) as problem:
            print(f"skipped: no namespaces here: {problem}")
            return SKIPPED
        os.environ[IS_INSIDE] = "1"
        os.execvp("unshare", ["unshare", "-n", "-m", sys.executable, "-B", *sys.argv])
    try:
        make_network()
        rules("add", [("left", "right")])
        rules("del", [("left", "right")])
    except (OSError, subprocess.CalledProcessError) as problem:
        print(f"skipped: no network of its own here: {problem} {getattr(problem, 'stderr', '')}")
        return SKIPPED
    print(f"seed {SEED}", flush=True)
    run = unittest.main(argv=sys.argv[:1] + sys.argv[5:], exit=False, verbosity=2)
    return 0 if run.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
