"""Processes that do not belong to a running cluster, or cannot start: refused by name, nobody hurt.

    python3 tests/scripts/cluster_refusals_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...

A cluster of two processes trains examples/digits.toml. While it does, a second process of the name
`right` comes along that differs in something: it ends with an exit code and a reason, and the
cluster's result is that of a run in which nothing happened. Then processes that cannot even listen
or write: one line that says why, and the right exit code.
"""

import gzip
import json
import os
import re
import shutil
import socket
import stat
import unittest

from cluster_run import (Cluster, EqualRuns, Node, cluster_text, free_ports, hello_of, nodes_on_loopback, settings_of,
                         timeouts)
from command import JOB, SOURCE, TROUPE, CommandTest, finished, main
from patience import HANG, SLOWNESS

DIGITS = os.path.join(SOURCE, "examples", "data", "digits.csv.gz")
# The second process comes in the middle of it: it reads its data first, and is refused then.
EPOCHS = 300
# Long enough that a busy machine, too, loses nobody.
TIMING = timeouts(lost_after=5 * SLOWNESS)
SHAPES = [(1, 1), (1, 0), (1, 1)]
NOBODY = 65534
with open(os.path.join(SOURCE, "coordinators/links/admission.hpp"), encoding="utf-8") as header:
    PROTOCOL = int(re.search(r"protocol_number = (\d+)", header.read()).group(1))


class StrangersAtARunningCluster(EqualRuns):
    """F8: the second is refused by name, the first is undisturbed."""

    def setUp(self):
        super().setUp()
        self.nodes = nodes_on_loopback(SHAPES)
        self.cluster = Cluster(cluster_text(self.nodes, settings_of(EPOCHS), TIMING), self.nodes, folder=self.folder)

    def tearDown(self):
        self.cluster.leave()

    def wait_for_epochs(self):
        self.assertTrue(self.cluster.wait_for_epoch(5), self.cluster.messages())
        self.assertIsNotNone(self.cluster.director().said("linked with right"))

    def second(self, *arguments, environment=None, change=lambda nodes: None):
        """Exit code and words of a second `right` that listens elsewhere, and whose file was
        changed."""
        self.wait_for_epochs()
        nodes = [Node(x.name, x.replicas, x.shards, x.address) for x in self.nodes]
        nodes[2].listen = f"127.0.0.1:{free_ports(1)[0]}"
        change(nodes)
        path = self.write("second.toml", cluster_text(nodes, settings_of(EPOCHS), TIMING))
        run = self.troupe("node", path, "--name", "right", *arguments, code=None,
                          env={**os.environ, **(environment or {})})
        self.assertTrue(self.cluster.is_running(), "the cluster ended too soon to see a stranger")
        return run.returncode, run.stderr

    def expect_undisturbed(self):
        result = self.cluster.result()
        self.expect_equal(result, self.cluster, EPOCHS)
        self.expect_that_nobody_was_lost(result, self.cluster)
        self.expect_good_ends(self.cluster)

    def expect_refusal(self, seen, code, words):
        self.assertEqual(seen[0], code, seen[1])
        for word in (*words, "right"):
            self.assertIn(word, seen[1])
        self.expect_undisturbed()

    def test_same_name_twice(self):
        self.expect_refusal(self.second(), 77, ["in use by another process that is alive"])

    def test_wrong_job(self):
        seen = self.second("--set", "optimizer.learning_rate=0.02")
        self.expect_refusal(seen, 76, ["differ in their job: optimizer.learning_rate = "])
        self.assertIsNotNone(self.cluster.director().said("differ in their job"))

    def test_another_model_to_start_from(self):
        self.troupe("train", JOB, "--quiet", "--set", "training.steps=1", "--set", "output.directory=begun")
        seen = self.second("--set", "model.start_from=begun/model.safetensors")
        self.expect_refusal(seen, 76, ["differ in their job: model.start = nothing and "])

    def test_wrong_length_of_the_job(self):
        seen = self.second("--set", "checkpoint.every_steps=7")
        self.expect_refusal(seen, 76, ["differ in their length or intervals of the job: "
                                       "checkpoint.every_steps = 100 and 7"])

    def expect_other_file(self, words, *arguments, change=lambda nodes: None):
        words = f"main and right differ in their cluster file: {words}"
        self.expect_refusal(self.second(*arguments, change=change), 76, [words])
        self.assertIsNotNone(self.cluster.director().said(words))

    def test_cluster_file_with_other_replicas(self):
        def change(nodes):
            nodes[2].replicas = 12
        self.expect_other_file("replicas of node right = 1 and 12", change=change)

    def test_cluster_file_in_another_order(self):
        def change(nodes):
            nodes[1], nodes[2] = nodes[2], nodes[1]
        self.expect_other_file("node 2 = left and right", change=change)

    def test_cluster_file_in_which_nobody_would_dial(self):
        def change(nodes):
            nodes.insert(0, nodes.pop())
        self.expect_other_file("node 1 = main and right", change=change)

    def test_cluster_file_with_another_node(self):
        def change(nodes):
            nodes.append(Node("up", 1, 0, "127.0.0.1:1"))
        self.expect_other_file("node 4 = nothing and up", change=change)

    def test_cluster_file_with_other_timeouts(self):
        self.expect_other_file(f"timeouts.join = {int(1000 * SLOWNESS * 20)} ms and 7000 ms",
                               "--set", "timeouts.join=7s")

    def test_wrong_data(self):
        changed = os.path.join(self.folder, "digits.csv.gz")
        with gzip.open(DIGITS, "rt", encoding="utf-8") as file:
            rows = file.read().splitlines()
        cells = rows[100].split(",")
        cells[20] = "7" if float(cells[20]) != 7 else "8"
        rows[100] = ",".join(cells)
        with gzip.open(changed, "wt", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")
        seen = self.second("--set", f"data.file={changed}")
        self.expect_refusal(seen, 76, ["differ in their data"])

    def greet(self, **changes):
        """What the director answers a process that says this of itself."""
        self.wait_for_epochs()
        line = {"troupe": PROTOCOL, "version": "0.1.0", "node": "right", "job": "0", "data": "0",
                "cluster": "0", "arithmetic": "0", "directive": "0", "process": "0", "incarnation": 1,
                "term": 0, "life": 1, "carrier": 0, "director": False,
                "address": "", **changes}
        port = int(self.nodes[0].address.rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=HANG) as stranger:
            stranger.sendall(hello_of(line))
            heard = b""
            while not heard.endswith(b"\n"):
                more = stranger.recv(4096)
                self.assertTrue(more, heard)
                heard += more
        return json.loads(heard)["answer"]

    def test_wrong_version_and_wrong_protocol(self):
        for changes, words in (({"version": "99.0"}, "differ in their version of troupe"),
                               ({"troupe": 99}, "differ in their protocol"),
                               ({"node": "nobody"}, "not in the cluster file")):
            with self.subTest(changes):
                answer = self.greet(**changes)
                self.assertEqual(answer["verdict"], "refused")
                self.assertEqual(answer["exit_code"], 77 if "node" in changes else 76)
                self.assertIn(words, answer["reason"])
        self.expect_undisturbed()

    def test_noise_at_the_port_is_not_heard(self):
        self.wait_for_epochs()
        port = int(self.nodes[0].address.rsplit(":", 1)[1])
        strangers = []
        for noise in (b"", b"\x00" * 32, b"GET / HTTP/1.1\r\n\r\n", b"{}\n", b"x" * 20_000):
            strangers.append(socket.create_connection(("127.0.0.1", port), timeout=HANG))
            strangers[-1].sendall(noise)
        self.expect_undisturbed()
        for stranger in strangers:
            stranger.close()


class OldProgram(unittest.TestCase):
    """F8, wrong version, seen by the process that is refused."""

    def test_process_that_meets_another_version_ends_and_says_so(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            other.settimeout(HANG)
            nodes = nodes_on_loopback([(1, 1), (1, 1)])
            nodes[0].address = f"127.0.0.1:{other.getsockname()[1]}"
            text = cluster_text(nodes)
            with Cluster(text, nodes, ["left"]) as cluster:
                process = cluster.processes["left"]
                line, _ = other.accept()
                with line:
                    said = json.loads(line.makefile().readline())
                    mine = dict(said, node="main", version="99.0", director=True, process="other",
                                answer={"verdict": "admitted"})
                    line.sendall(hello_of(mine))
                    process.process.wait(timeout=HANG)
                self.assertEqual(process.process.returncode, 76)
        words = "\n".join(text for _, text in process.lines)
        self.assertIn("main and left differ in their version of troupe: 99.0 and", words)


class Starts(CommandTest):
    """F10, port in use, bad host, no permission: one line, right exit code."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)

    def run_node(self, listen, more="", user=None, troupe=TROUPE):
        nodes = nodes_on_loopback([(1, 1)])
        nodes[0].listen = listen
        path = self.write("cluster.toml", more + cluster_text(nodes, settings_of(2), job=self.folder / "job.toml"))
        shutil.copy(JOB, os.path.join(self.folder, "job.toml"))
        os.makedirs(os.path.join(self.folder, "data"), exist_ok=True)
        shutil.copy(DIGITS, os.path.join(self.folder, "data"))
        return finished(troupe, "node", path, "--name", "main", "--json", code=None, cwd=self.folder, user=user,
                        group=user)

    def expect(self, run, code, *words):
        """One error, with the reason in its first line; a hint may follow, and nothing else."""
        self.assertEqual(run.returncode, code, run.stderr)
        # What it was about to train comes first.
        lines = [x for x in run.stderr.splitlines() if "warning" not in x
                 and x.split(" ")[0] not in ("data", "target", "model", "training", "memory")]
        self.assertTrue(lines[0].startswith("troupe: error: "), run.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        for line in lines[1:]:
            self.assertTrue(line.startswith("  hint: "), run.stderr)
        self.assertIn("error", json.loads(run.stdout))

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            self.expect(self.run_node(address), 73, address, "in use")
        # It has not begun, and is in nobody's way.
        self.assertFalse(os.path.exists(os.path.join(self.folder, "runs")))
        again = self.run_node(address)
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_host_that_nobody_knows(self):
        self.expect(self.run_node("no-such-host.invalid:7400", "insecure = true\n"), 66,
                    "no-such-host.invalid")

    def test_address_of_another_machine(self):
        self.expect(self.run_node("192.0.2.1:7400", "insecure = true\n"), 66, "192.0.2.1:7400")

    def test_address_that_others_reach_without_leave(self):
        self.expect(self.run_node("192.0.2.1:7400"), 78,
                    "others can reach this address")

    def program_for_others(self):
        """A copy of the command that any user may run."""
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        copy = os.path.join(self.folder, "troupe")
        shutil.copy(TROUPE, copy)
        os.chmod(copy, stat.S_IRWXU | stat.S_IROTH | stat.S_IXOTH | stat.S_IRGRP | stat.S_IXGRP)
        return copy

    def test_port_of_the_system(self):
        with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="utf-8") as file:
            if int(file.read()) < 2:
                self.skipTest("every port is free to all on this machine")
        troupe = self.program_for_others()
        os.makedirs(os.path.join(self.folder, "runs"))
        os.chmod(os.path.join(self.folder, "runs"), 0o777)
        self.expect(self.run_node("127.0.0.1:1", user=NOBODY, troupe=troupe), 77, "127.0.0.1:1",
                    "not permitted")

    def test_output_folder_of_somebody_else(self):
        troupe = self.program_for_others()
        run = self.run_node(f"127.0.0.1:{free_ports(1)[0]}", user=NOBODY, troupe=troupe)
        self.expect(run, 77, "runs", "ermission")


if __name__ == "__main__":
    main()
