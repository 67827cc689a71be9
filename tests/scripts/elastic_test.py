"""Nodes that no file lists: they join with one certificate for all, compute, own parameters, and leave.

    python3 tests/scripts/elastic_test.py BUILD_FOLDER SOURCE_FOLDER

As `kubectl scale` does it: two nodes become six, and then three of them are asked to end. The result has the bits of
one process. Whoever may not join is refused by name, on both sides, and the run does not notice.
"""

import json
import os
import re
import signal
from pathlib import Path

from cluster_run import (DIRECTOR, Cluster, EqualRuns, Node, cluster_text, nodes_on_loopback, settings_of, timeouts,
                         trained_alone)
from command import JOB, main
from patience import HANG, SLOWNESS
from secured_cluster import make_certificates, tls_text, troupe

ENDLESS = 1_000_000  # epochs: the test stops the run (stopped_as_alone)
LOST_AFTER_WHEN_BUSY = 8 * SLOWNESS


class Elastic(EqualRuns):
    def setUp(self):
        super().setUp()
        self.keys = os.path.join(self.folder, "keys")
        make_certificates(self.keys, "main", "left", "join", "guest")
        self.nodes = nodes_on_loopback([(1, 1), (1, 1)])
        # Work for six: slices, and blocks of parameters.
        text = Path(JOB).read_text(encoding="utf-8").replace("data/", f"{Path(JOB).parent}/data/")
        self.job = self.write("job.toml", text.replace("slices = 4", "slices = 8").replace("[128]", "[512]"))

    def text(self, most, join=8, tls=None, more=""):
        timing = re.sub('settle = ".*"', f'settle = "{int(2000 * SLOWNESS)}ms"', timeouts(LOST_AFTER_WHEN_BUSY, join))
        return f"max_nodes = {most}\n" + cluster_text(
            self.nodes, settings_of(ENDLESS, "socket") + (tls_text(self.keys) if tls is None else tls)
            + "[join]\n" + more, timing, self.job).replace("min_nodes = 1", "min_nodes = 2")

    def cluster(self, most, **more):
        return Cluster(self.text(most, **more), self.nodes, folder=self.folder)

    def join(self, cluster, *names):
        for name in names:
            cluster.nodes[name] = Node(name, 1, 1, "")
            cluster.start(name)

    def members(self, cluster):
        """Name -> what the status says of each node that takes part."""
        run = self.troupe("status", cluster.file, "--json", code=None)
        rows = json.loads(run.stdout)["nodes"] if run.returncode == 0 else []
        return {row["name"]: row for row in rows if row["state"] == "takes part"}

    def wait_for(self, cluster, condition):
        self.assertTrue(cluster.wait_until(lambda: condition(self.members(cluster))), cluster.messages())

    def go_on(self, cluster):
        """Some steps are made as things are."""
        last = max(cluster.director().epoch_times, default=0)
        self.assertTrue(cluster.wait_for_epoch(last + 10), cluster.messages())

    def asked_to_end(self, cluster, *names):
        asked = [cluster.processes[name] for name in names]
        for process in asked:
            process.signal(signal.SIGTERM)
        for process in asked:
            process.end(HANG)
            self.assertEqual(process.process.returncode, 0, cluster.messages())

    def test_two_nodes_become_six_and_then_three(self):
        names = ["pod-a", "pod-b", "pod-c", "pod-d"]
        with self.cluster(6) as cluster:
            self.assertTrue(cluster.wait_for_epoch(3), cluster.messages())
            self.join(cluster, *names)
            self.wait_for(cluster, lambda here: len(here) == 6 and all(
                here[name]["slices"] > 0 for name in names))
            # Parameters come to them a while after they came.
            self.wait_for(cluster, lambda here: all(here.get(name, {}).get("spans", 0) > 0 for name in names[:2]))
            self.go_on(cluster)
            self.asked_to_end(cluster, "pod-a", "pod-d", "left")
            self.wait_for(cluster, lambda here: sorted(here) == [DIRECTOR, "pod-b", "pod-c"])
            self.go_on(cluster)
            result = self.stopped_as_alone(cluster, self.job)
            self.assertEqual({key: result[key] for key in ("joins", "leaves", "replicas_lost", "rollbacks", "steps_again")},
                             {"joins": 4, "leaves": 3, "replicas_lost": 0, "rollbacks": 0, "steps_again": 0},
                             cluster.messages())
            self.assertEqual(result["nodes"], 6)

    def test_a_joiner_that_is_killed_comes_back_at_another_address(self):
        with self.cluster(4) as cluster:
            self.assertTrue(cluster.wait_for_epoch(3), cluster.messages())
            self.join(cluster, "pod-a", "pod-b")
            self.wait_for(cluster, lambda here: len(here) == 4)
            cluster.processes["pod-a"].signal(signal.SIGKILL)
            cluster.processes["pod-a"].end(HANG)
            self.join(cluster, "pod-a")  # any free port
            self.wait_for(cluster, lambda here: here.get("pod-a", {}).get("slices", 0) > 0 and len(here) == 4)
            self.assertTrue(cluster.processes["pod-b"].said("linked with pod-a"), "it was dialled once more")
            self.go_on(cluster)
            self.stopped_as_alone(cluster, self.job)

    def test_the_director_comes_back_and_all_join_it_again(self):
        with self.cluster(4, join=20) as cluster:
            self.assertTrue(cluster.wait_for_epoch(3), cluster.messages())
            self.join(cluster, "pod-a", "pod-b")
            self.wait_for(cluster, lambda here: len(here) == 4)
            cluster.director().signal(signal.SIGKILL)
            cluster.processes["pod-b"].signal(signal.SIGKILL)
            for name in (DIRECTOR, "pod-b"):
                cluster.processes[name].end(HANG)
            cluster.start(DIRECTOR, "--resume")
            self.wait_for(cluster, lambda here: sorted(here) == ["left", DIRECTOR, "pod-a"])
            self.go_on(cluster)
            self.stopped_as_alone(cluster, self.job)

    def test_a_director_that_is_asked_to_end_pauses_the_run(self):
        """The others wait for its next life, which goes on where they stood."""
        with self.cluster(4, join=60, more="[recovery]\ndirector_pauses = true\n") as cluster:
            self.assertTrue(cluster.wait_for_epoch(3), cluster.messages())
            self.join(cluster, "pod-a")
            self.wait_for(cluster, lambda here: here.get("pod-a", {}).get("slices", 0) > 0)
            for life in range(2):
                paused = cluster.director()
                paused.signal(signal.SIGTERM)
                stopped = json.loads(paused.end(HANG))
                self.assertEqual((paused.process.returncode, stopped["lives"]), (128 + signal.SIGTERM, life + 1))
                self.assertTrue(all(cluster.processes[name].is_running() for name in ("left", "pod-a")))
                cluster.start(DIRECTOR, "--resume")
                self.go_on(cluster)
                version = f"training starts from version {stopped['steps']}"
                self.assertTrue(cluster.director().said(version), cluster.messages())
            cluster.director().signal(signal.SIGTERM)
            last = json.loads(cluster.director().end(HANG))
            self.assertEqual((last["lives"], last["steps_again"], last["rollbacks"]), (3, 0, 0))
            alone = trained_alone(self.job, [f"training.epochs={ENDLESS}", f"training.steps={last['steps']}"])
            self.assertEqual(last["parameters_sha256"], alone["parameters_sha256"], cluster.messages())

    def test_who_joins_computes_tasks_of_a_parameter_server(self):
        mode = ["training.strategy=parameters", "training.epochs=400"]
        text = self.text(4).replace(f"epochs = {ENDLESS}", 'epochs = 400\nstrategy = "parameters"')
        with Cluster(text, self.nodes, folder=self.folder) as cluster:
            self.assertTrue(cluster.wait_for_epoch(3), cluster.messages())
            self.join(cluster, "pod-a")
            result = cluster.result()
            alone = trained_alone(self.job, [*mode, "training.replicas=2"])
            self.assertEqual(result["parameters_sha256"], alone["parameters_sha256"], cluster.messages())
            self.assertEqual((result["joins"], len(result["samples_by_replica"])), (1, 3))
            self.assertTrue(all(result["samples_by_replica"]), result)

    def test_a_run_that_needs_more_nodes_than_are_listed_waits_for_them(self):
        text = self.text(4, join=60).replace("min_nodes = 2", "min_nodes = 3")
        with Cluster(text, self.nodes, folder=self.folder) as cluster:
            director = cluster.director()
            self.assertTrue(cluster.wait_until(lambda: director.said("2 of 3 nodes are here")), cluster.messages())
            self.join(cluster, "pod-a")
            self.assertTrue(cluster.wait_for_epoch(2), cluster.messages())
            self.assertEqual(self.stopped_as_alone(cluster, self.job)["joins"], 0)

    # Who may not join.

    def expect_refusal(self, name, code, words, said=None, most=6, **more):
        """Of a process that comes to a running cluster: what it says at its end, and what the director says of it."""
        with self.cluster(most) as cluster:
            self.assertTrue(cluster.wait_for_epoch(2), cluster.messages())
            if most == 3:
                self.join(cluster, "pod-a")
                self.wait_for(cluster, lambda here: len(here) == 3)
            path = self.write("other.toml", self.text(most, **more))
            run = troupe(self.folder, "node", path, "--name", name)
            self.assertEqual(run.returncode, code, run.stderr)
            self.assertIn(words, run.stderr)
            if said:
                self.assertTrue(cluster.wait_until(lambda: cluster.director().said(said)), cluster.messages())
            self.go_on(cluster)
            result = self.stopped_as_alone(cluster, self.job)
            self.assertEqual((result["replicas_lost"], result["rollbacks"]), (0, 0))

    def test_without_a_certificate(self):
        self.expect_refusal("pod-b", 77, "main secures its connections (TLS)", "secures its connections", tls="")

    def test_with_a_certificate_for_another_name(self):
        why = "pod-b, which the cluster file does not list, proves itself with a certificate for guest"
        self.expect_refusal("pod-b", 77, why, why, more='accepts = "guest"\n')

    def test_a_listed_name_is_not_proven_by_the_certificate_of_those_that_join(self):
        self.expect_refusal("left", 77, "left proves itself with a certificate for join",
                            tls=tls_text(self.keys, "join"))

    def test_with_a_name_that_is_in_use(self):
        self.expect_refusal("pod-a", 77, "the name pod-a is in use by another process that is alive", most=3)

    def test_beyond_max_nodes(self):
        why = "as many nodes are here as may be (max_nodes = 3)"
        self.expect_refusal("pod-b", 69, why, "pod-b may not join yet: " + why, most=3)


if __name__ == "__main__":
    main()
