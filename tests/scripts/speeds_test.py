"""Nodes of different speed: slices leave the slow one, and no bit changes.

    python3 tests/scripts/speeds_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import signal
import unittest

from brake import Brake
from cluster_run import JOB, Cluster, EqualRuns, cluster_text, nodes_on_loopback, timeouts, trained_alone

# Steps of some milliseconds.
SETTINGS = {"model.hidden": [256], "training.slices": 16, "training.batch_size": 512}


class Speeds(EqualRuns):
    def test_slices_leave_a_slow_node_and_the_bits_stay(self):
        nodes = nodes_on_loopback([(1, 1), (1, 1), (1, 0)])
        settings = "".join(f"{key} = {value}\n" for key, value in SETTINGS.items())
        text = cluster_text(nodes, f"{settings}training.epochs = 1000000\n", timeouts(10, 60))
        with Cluster(text, nodes) as cluster:
            director = cluster.director()
            self.assertTrue(cluster.wait_for_epoch(3), cluster.messages())
            with Brake(cluster.processes["right"]):
                self.assertTrue(cluster.wait_until(lambda: director.said("slices are shared by speed")),
                                cluster.messages())
                self.assertTrue(cluster.wait_for_epoch(director.epoch + 20), cluster.messages())
            director.signal(signal.SIGINT)
            result = cluster.result()
        self.assertEqual((result["rollbacks"], result["replicas_lost"]), (0, 0), result)
        self.assertGreater(result["views"], 1)
        alone = trained_alone(JOB, [f"{key}={value}" for key, value in
                                    {**SETTINGS, "training.epochs": 1000000,
                                     "training.steps": result["steps"]}.items()])
        self.assertEqual(result["parameters_sha256"], alone["parameters_sha256"])


if __name__ == "__main__":
    unittest.main(argv=["speeds_test"])
