"""Processes that are heard of and compute nothing, and interrupts while somebody is waited for.

    python3 tests/scripts/hung_threads_test.py BUILD_FOLDER SOURCE_FOLDER

The computing threads of a process are stopped, as in a debugger, while its heartbeats and reports
go on. The others must do without it, and Ctrl-C must be heard whatever is waited for.
"""

import json
import signal
import sys
import time
import unittest

from cluster_run import (CHECKPOINT_STEPS, DIRECTOR, LOST_AFTER, Cluster, EqualRuns, cluster_text,
                         hang, nodes_on_loopback, settings_of, timeouts, trained_alone)
from command import JOB
from patience import HANG, SLOWNESS, lenient

EPOCHS = 1500  # much longer than it takes to notice
STOP_SECONDS = 6


class HungThreads(EqualRuns):
    def cluster(self, shapes, epochs=EPOCHS):
        nodes = nodes_on_loopback(shapes)
        return Cluster(cluster_text(nodes, settings_of(epochs), timeouts(LOST_AFTER * SLOWNESS)), nodes)

    def expect_done_without(self, names):
        with self.cluster([(1, 1), (1, 0), (1, 0)]) as cluster:
            self.assertTrue(cluster.wait_for_epoch(20), cluster.messages())
            pid = cluster.processes["left"].process.pid
            epoch = cluster.director().epoch

            def see_that_others_go_on():
                self.was_taken_out = cluster.wait_until(
                    lambda: cluster.director().said("left was taken out"), HANG)
                self.went_on = cluster.wait_until(
                    lambda: cluster.director().epoch > epoch + 1, HANG)
            if not hang(pid, 0, see_that_others_go_on, names):
                self.skipTest("threads may not be stopped here")
            result = cluster.result(HANG)
            self.assertTrue(self.was_taken_out, cluster.messages())
            self.assertTrue(self.went_on, cluster.messages())
            self.expect_equal(result, cluster, EPOCHS)

    def test_a_worker_whose_threads_hang_is_done_without(self):
        self.expect_done_without(["troupe-worker"])

    def test_a_worker_of_which_nothing_is_heard_while_its_link_holds_is_done_without(self):
        self.expect_done_without(["troupe-worker", "troupe-node"])

    def test_a_time_in_which_nobody_ran_is_nobodys_hanging(self):
        """As when the machine sleeps. Where a step is one slice, somebody waits for it meanwhile."""
        nodes = nodes_on_loopback([(1, 1), (1, 0)])
        text = cluster_text(nodes, settings_of(EPOCHS).replace("[training]", "[training]\nslices = 1"),
                            timeouts(LOST_AFTER * SLOWNESS))
        with Cluster(text, nodes) as cluster:
            for turn in range(4):
                self.assertTrue(cluster.wait_for_epoch(20 + 100 * turn), cluster.messages())
                for number, seconds in ((signal.SIGSTOP, 4 * LOST_AFTER * SLOWNESS), (signal.SIGCONT, 0)):
                    for process in cluster.all:
                        process.signal(number)
                    time.sleep(seconds)
            result = cluster.result(HANG)
            self.assertEqual(cluster.exit_codes()[DIRECTOR], 0, cluster.messages())
            alone = trained_alone(JOB, [f"training.epochs={EPOCHS}", "training.slices=1"])
            self.assertEqual(result["parameters_sha256"], alone["parameters_sha256"], cluster.messages())

    def expect_stop(self, cluster):
        begin = time.monotonic()
        cluster.director().signal(signal.SIGINT)
        result = json.loads(cluster.director().end(HANG))
        self.assertLess(cluster.director().ended_at - begin, lenient(STOP_SECONDS),
                        cluster.messages())
        return result

    def test_an_interrupt_does_not_wait_for_who_hangs(self):
        with self.cluster([(1, 1), (1, 0)], 20000) as cluster:
            self.assertTrue(cluster.wait_for_epoch(20), cluster.messages())
            results = []
            if not hang(cluster.processes["left"].process.pid, 0,
                        lambda: results.append(self.expect_stop(cluster))):
                self.skipTest("threads may not be stopped here")
            # Whoever is held ends once it is let go of.
            cluster.result(HANG)
            self.assertEqual(cluster.exit_codes()[DIRECTOR], 130, cluster.messages())
            self.assertIn("parameters_sha256", results[0], cluster.messages())

    def test_an_interrupt_does_not_wait_for_a_lost_shard(self):
        with self.cluster([(1, 0), (0, 1)], 20000) as cluster:
            self.assertTrue(cluster.wait_for_epoch(20), cluster.messages())
            cluster.processes["left"].signal(signal.SIGKILL)
            cluster.wait_until(lambda: cluster.director().said("the link with left is lost"), HANG)
            result = self.expect_stop(cluster)
            cluster.result(HANG)
            self.assertEqual(cluster.exit_codes()[DIRECTOR], 130, cluster.messages())
            self.assertIn("parameters_sha256", result, cluster.messages())
            self.assertGreater(result["steps"], 0)
            self.assertEqual(result["steps"] % CHECKPOINT_STEPS, 0, cluster.messages())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
