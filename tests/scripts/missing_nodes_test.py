"""Nodes that never come, nodes that come back, and clusters without checkpoints.

    python3 tests/scripts/missing_nodes_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import json
import os
import signal

from cluster_run import DIRECTOR, Cluster, EqualRuns, cluster_text, nodes_on_loopback, settings_of, timeouts
from command import TROUPE, main
from patience import HANG

SHAPES = [(1, 1), (1, 0), (1, 0)]


class MissingNodes(EqualRuns):
    def setUp(self):
        super().setUp()
        self.nodes = nodes_on_loopback(SHAPES)
        self.file = str(self.folder / "cluster.toml")

    def test_a_run_does_not_begin_without_everybody(self):
        self.write("cluster.toml", cluster_text(self.nodes, settings_of(3),
                                timeouts(join=1)).replace("min_nodes = 1\n", ""))
        run = self.troupe("node", self.file, "--name", DIRECTOR, "--json", code=69)
        error = json.loads(run.stdout)["error"]
        self.assertIn("only 1 of 3 nodes came within", error["what"])
        self.assertIn("missing: left, right", error["what"])
        self.assertIn("min_nodes", error["what"])

    def test_the_director_says_at_the_end_why_it_refused_who_is_missing(self):
        self.write("cluster.toml", cluster_text(self.nodes, settings_of(3),
                                timeouts(join=4)).replace("min_nodes = 1\n", ""))
        run = self.start(TROUPE, "node", self.file, "--name", DIRECTOR, "--json")
        self.troupe("node", self.file, "--name", "left", "--set", "optimizer.learning_rate=0.5", code=76)
        hint = json.loads(run.communicate(timeout=HANG)[0])["error"]["hint"]
        self.assertIn("; left: it was refused: ", hint)
        self.assertIn("and 0.5; start both", hint)

    def test_fewer_are_enough_when_the_file_says_so_and_the_summary_counts_them(self):
        self.write("cluster.toml", cluster_text(self.nodes, settings_of(3), timeouts(join=1)))
        run = self.troupe("node", self.file, "--name", DIRECTOR, "--json", "--quiet")
        result = json.loads(run.stdout)
        self.expect_equal(result, Cluster("", []), 3)
        self.assertEqual((result["nodes"], result["replicas"]), (1, 1))
        self.assertIn("warning: 1 of 3 nodes took part", run.stderr)

    def test_a_worker_that_comes_back_has_work_again(self):
        epochs = 400
        with Cluster(cluster_text(self.nodes, settings_of(epochs)), self.nodes) as cluster:
            self.assertTrue(cluster.wait_for_epoch(20), cluster.messages())
            cluster.processes["left"].signal(signal.SIGKILL)
            cluster.processes["left"].end(HANG)
            cluster.start("left")

            def slices_of_left():
                run = self.troupe("status", cluster.file, "--json", code=None)
                if run.returncode:
                    return None
                left = [x for x in json.loads(run.stdout)["nodes"] if x["name"] == "left"]
                return left[0]["slices"]
            had_work = cluster.wait_until(lambda: (slices_of_left() or 0) > 0
                                          and cluster.director().said("left joined"), HANG)
            result = cluster.result(HANG)
            self.expect_equal(result, cluster, epochs)
            self.assertTrue(had_work, cluster.messages())

    def test_a_cluster_that_can_lose_parameters_writes_checkpoints_by_default(self):
        nodes = nodes_on_loopback([(1, 1), (1, 1)])
        self.write("cluster.toml", cluster_text(nodes, "[training]\nepochs = 20\n"))
        run = self.troupe("launch", self.file, "--json")
        kept = os.listdir(os.path.join(self.folder, "runs", "digits"))
        self.assertTrue([name for name in kept if "checkpoint" in name], kept)
        self.assertNotIn("no checkpoints are written", run.stderr)
        off = self.troupe("launch", self.file, "--json", "--overwrite", "--set",
                     "checkpoint.every_steps=0")
        self.assertIn("no checkpoints are written", off.stderr)
        self.assertEqual(json.loads(off.stdout)["parameters_sha256"],
                         json.loads(run.stdout)["parameters_sha256"])


if __name__ == "__main__":
    main()
