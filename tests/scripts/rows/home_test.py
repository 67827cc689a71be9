"""Nodes with rows of their own: each reads its file alone, and the model is that of `troupe train` on all files as holdings,
whoever is killed, frozen or started again.

    /usr/bin/python3 tests/scripts/rows/home_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import json
import os
import random
import shutil
import signal
import socket
import sys
import threading
import time
import unittest.mock

import numpy

sys.path.insert(0, f"{sys.path[0]}/..")
from cluster_run import Cluster, Node, free_ports, timeouts
from command import CommandTest, main, rows_of_csv
from patience import HANG, SLOWNESS
from secured_cluster import make_certificates, tls_text
from thing_rows import COLUMNS, JOB_OF_THINGS, text_of, things

JOB = """[job]
name = "home"
seed = 5
[data]
{rows}
""" + JOB_OF_THINGS + """kind = "adam"
learning_rate = 0.01
[training]
batch_size = 48
epochs = {epochs}
evaluate_every = {every}
metrics = ["auc", "macro-f1"]
"""
FIGURES = ("parameters_sha256", "job_sha256", "train_loss", "test_loss", "validation_loss", "steps", "test_accuracy")


class Home(Node):
    """A node with a file of its own, or none."""

    def __init__(self, name, replicas, shards, address, data=""):
        super().__init__(name, replicas, shards, address)
        self.data = data

    def text(self):
        return super().text() + (f"data = {self.data}\n" if self.data else "")


class Tap:
    """Whoever dials its port reaches another one, and all that they say there is kept."""

    def __init__(self, port):
        self.port, self.said, self.closed = port, bytearray(), False
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def address(self):
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self):
        while not self.closed:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                near.close()
                continue
            for source, target, keeps in ((near, far, True), (far, near, False)):
                threading.Thread(target=self.pass_on, args=(source, target, keeps), daemon=True).start()

    def pass_on(self, source, target, keeps):
        try:
            while data := source.recv(1 << 16):
                if keeps:
                    self.said += data
                target.sendall(data)
        except OSError:
            pass
        finally:
            target.close()

    def close(self):
        self.closed = True
        self.listener.close()


class HomeRows(CommandTest):
    def setUp(self):
        super().setUp()
        for name in ("parts", "left", "right", "main", "up"):
            (self.folder / name).mkdir()

    def share(self, name, rows, at, *more, columns=None, separator=","):
        """A file of one node, and the same for the twin."""
        text = text_of(list(rows), columns or COLUMNS, separator)
        self.write(f"{at}/{name}", text)
        if not more:
            self.write(f"parts/{name}", text_of_twin(text, separator))

    def usual_rows(self):
        """Of very different sizes, orders of columns and letters; two lack a class and a city; right has no file."""
        self.share("north.csv", things(2000, 1), "main")
        self.share("south.csv", things(230, 2, ["Rome"], ["cat", "dog"]), "left", columns=["kind", "weight", "city", "size"],
                   separator=";")
        self.share("tiny.csv", things(6, 3, ["Oslo"], ["emu"]), "up")

    def nodes(self, *shapes):
        data = {"main": '"main/north.csv"', "left": '{ file = "left/south.csv", separator = ";" }', "up": '"up/tiny.csv"',
                "right": '"right/north.csv"'}
        return [Home(name, replicas, shards, f"127.0.0.1:{port}", data[name] if holds else "")
                for (name, replicas, shards, holds), port in zip(shapes, free_ports(len(shapes)))]

    mode = data = ""  # of training and data, beside what the job has

    def text(self, rows, epochs, every):
        return JOB.format(rows=self.data + rows, epochs=epochs, every=every).replace("[training]\n", f"[training]\n{self.mode}")

    def twin(self, epochs=4, every=1):
        self.write("twin.toml", self.text('holdings = "parts/*.csv"', epochs, every))
        return self.result_of("train", "twin.toml", "--quiet", "--set", "output.directory=twin", "--overwrite")

    def cluster(self, nodes, epochs=4, every=1, settings="", join=20, starts=None):
        self.write("job.toml", self.text("", epochs, every))
        text = (f'job = "job.toml"\n{settings}\n[output]\ndirectory = "run"\n[timeouts]\n{timeouts(join=join)}'
                + "".join(node.text() for node in nodes))
        return Cluster(text, nodes, starts=starts, folder=str(self.folder))

    def expect_twin(self, result, twin, cluster):
        self.assertTrue(result, cluster.messages())
        shown = {key: value for key, value in twin.items() if key != "job_sha256"}
        self.expect_figures(result, shown, [key for key in FIGURES if key != "job_sha256"], cluster.messages())
        self.assertEqual(result["job_sha256"], twin["job_sha256"])

    def test_nodes_that_read_their_own_rows_alone_have_the_bits_of_the_twin(self):
        self.usual_rows()
        twin = self.twin()
        shapes = [("main", 1, 1, True), ("left", 2, 1, True), ("up", 1, 0, True)]
        with self.cluster(self.nodes(*shapes)) as cluster:
            self.expect_twin(cluster.result(), twin, cluster)
        here, there = ([{key: cell for key, cell in row.items() if key != "seconds"}
                        for row in rows_of_csv(self.folder / name / "history.csv")] for name in ("run", "twin"))
        self.assertEqual(here, there)
        told = cluster.messages()
        self.assertRegex(told, "holding +'?main'?: 1400 rows to train on")
        table = json.loads(self.read("run", "table.json"))
        self.assertEqual(sorted(one["holders"] for one in table["holdings"]), [["left"], ["main"], ["up"]])

    def test_of_a_known_table_holders_tell_counts_alone(self):
        self.usual_rows()
        self.write("all.csv", text_of(things(700, 9)))
        self.write("first.toml", self.text('file = "all.csv"', 4, 1))
        self.troupe("data", "table", "first.toml", "-o", "known.json")
        self.data = 'table = "known.json"\n'
        twin = self.twin()
        shapes = [("main", 1, 1, True), ("left", 2, 1, True), ("up", 1, 0, True)]
        with self.cluster(self.nodes(*shapes)) as cluster:
            self.expect_twin(cluster.result(), twin, cluster)
        agreed, known = (json.loads(self.read(*path)) for path in (("run", "table.json"), ("known.json",)))
        self.assertEqual(agreed["learned"], known["learned"])
        self.assertEqual([column["rows"] for column in agreed["facts"]["features"]], [0] * 5)
        self.assertGreater(agreed["facts"]["rows"]["train"], 1000)

    def test_a_director_without_rows_and_a_copy_that_shares(self):
        self.usual_rows()
        twin = self.twin()
        os.rename(self.folder / "main" / "north.csv", self.folder / "right" / "north.csv")
        self.share("north.csv", things(2000, 1), "up", "a copy")
        nodes = self.nodes(("main", 0, 1, False), ("left", 1, 0, True), ("right", 1, 0, True), ("up", 2, 0, True))
        nodes[3].data = '"up/north.csv"'
        os.remove(self.folder / "parts" / "tiny.csv")
        twin = self.twin()
        with self.cluster(nodes) as cluster:
            self.expect_twin(cluster.result(), twin, cluster)

    def test_one_node_with_rows_has_the_bits_of_its_file(self):
        self.share("north.csv", things(500, 1), "left")
        twin = self.twin()
        nodes = self.nodes(("main", 1, 1, False), ("left", 2, 1, True))
        nodes[1].data = '"left/north.csv"'
        with self.cluster(nodes) as cluster:
            self.expect_twin(cluster.result(), twin, cluster)

    def test_rounds_of_one_node_with_rows_beside_one_without(self):
        self.share("north.csv", things(500, 1), "left")
        self.mode = 'strategy = "parameters"\nmembers = 3\nlocal_steps = 2\n'
        twin = self.twin()
        nodes = self.nodes(("main", 1, 1, False), ("left", 1, 0, True))
        nodes[1].data = '"left/north.csv"'
        with self.cluster(nodes) as cluster:
            self.expect_twin(cluster.result(), twin, cluster)

    def test_a_row_that_ends_each_of_its_readers_is_told_by_its_holder(self):
        self.share("north.csv", things(60, 1), "main")
        self.share("south.csv", things(400, 2), "left")
        nodes = self.nodes(("main", 1, 1, True), ("left", 1, 0, True))
        nodes[1].data = '"left/south.csv"'
        for row in range(300, 320):  # of those that only left has; one that is kept for testing ends nobody
            with unittest.mock.patch.dict(os.environ, {"TROUPE_TEST_CRASHING_ROW": str(row)}):
                cluster = self.cluster(nodes, 3, settings="[checkpoint]\nevery_steps = 5\n")
                with cluster:
                    while cluster.is_running():
                        if not cluster.processes["left"].is_running() and cluster.is_running():
                            cluster.processes["left"].end(HANG)
                            cluster.start("left")
                        time.sleep(0.02)
                    cluster.result()
            code = cluster.director().process.returncode
            self.assertGreaterEqual(code, 0, cluster.messages())
            shutil.rmtree(self.folder / "run")
            if code != 0:
                break
        self.assertIn("rows of left", cluster.messages())

    def test_whoever_is_killed_or_frozen_and_comes_back_changes_no_bit(self):
        self.usual_rows()
        epochs = 400
        twin = self.twin(epochs, 50)
        chance = random.Random(7)
        shapes = [("main", 1, 1, True), ("left", 2, 1, True), ("up", 1, 0, True)]
        settings = "[checkpoint]\nevery_steps = 500\n"
        with self.cluster(self.nodes(*shapes), epochs, 50, settings) as cluster:
            for epoch, name, how in ((20, "left", signal.SIGKILL), (150, "up", signal.SIGSTOP), (250, "up", signal.SIGKILL)):
                if not cluster.wait_for_epoch(epoch):
                    break
                time.sleep(chance.random() / 50)
                cluster.processes[name].signal(how)
                if how == signal.SIGSTOP:
                    time.sleep(0.3)
                    cluster.processes[name].signal(signal.SIGCONT)
                else:
                    cluster.processes[name].end(HANG)
                    cluster.start(name)
            result = cluster.result()
        self.expect_twin(result, twin, cluster)

    def test_a_director_that_has_lost_the_table_agrees_anew_with_nodes_that_have_joined(self):
        self.usual_rows()
        epochs = 400
        twin = self.twin(epochs, 50)
        shapes = [("left", 1, 0, True), ("main", 1, 1, True), ("up", 1, 0, True), ("right", 1, 0, False)]
        for early in (True, False):
            with self.cluster(self.nodes(*shapes), epochs, 50) as cluster:
                if early:  # some have the table, and wait for it to begin
                    cluster.wait_until(lambda: "linked with" in cluster.messages())
                else:
                    self.assertTrue(cluster.wait_for_epoch(20), cluster.messages())
                cluster.director().signal(signal.SIGKILL)
                cluster.director().end(HANG)
                cluster.start("main", "--overwrite")
                self.expect_twin(cluster.result(), twin, cluster)
            for name in () if early else ("left", "up", "right"):
                self.assertRegex(cluster.messages(), f"{name}: .*the nodes have not agreed on their rows: agrees again")
            shutil.rmtree(self.folder / "run")

    def test_a_holder_that_stays_away_is_replaced_by_its_copy_or_missed_by_name(self):
        self.usual_rows()
        self.write("right/north.csv", (self.folder / "main/north.csv").read_text())
        epochs = 400
        twin = self.twin(epochs, 50)
        shapes = [("main", 1, 1, True), ("left", 1, 0, True), ("up", 1, 0, True), ("right", 1, 0, True)]
        with self.cluster(self.nodes(*shapes), epochs, 50) as cluster:
            self.assertTrue(cluster.wait_for_epoch(20), cluster.messages())
            cluster.processes["right"].signal(signal.SIGKILL)
            self.expect_twin(cluster.result(), twin, cluster)
        shutil.rmtree(self.folder / "run")
        with self.cluster(self.nodes(*shapes), 100_000, 50, join=6) as cluster:
            self.assertTrue(cluster.wait_for_epoch(20), cluster.messages())
            cluster.processes["up"].signal(signal.SIGKILL)
            said = []  # while it stands still
            cluster.wait_until(lambda: said.append(self.troupe("status", cluster.file, code=None).stdout)
                               or "the rows of up" in said[-1])
            self.assertIn("nobody here has the rows of up", said[-1], said)
            # On a machine that stands still for a while the others are missed as well.
            self.assertRegex(cluster.result()["error"]["what"], r"no process with the rows of .*\bup\b.* was there")
            self.assertEqual(cluster.exit_codes(), {"main": 69, "left": 69, "up": -signal.SIGKILL, "right": 69},
                             cluster.messages())
            self.assertNotIn("start the director", cluster.messages())

    def test_a_run_that_fails_while_no_process_has_a_link_is_over_for_all(self):
        self.usual_rows()
        shapes = [("left", 1, 0, True), ("main", 1, 1, True), ("up", 1, 0, True), ("right", 1, 0, False)]
        with self.cluster(self.nodes(*shapes), 100_000, 50, join=4) as cluster:
            self.assertTrue(cluster.wait_for_epoch(20), cluster.messages())
            cluster.processes["up"].signal(signal.SIGKILL)
            self.assertTrue(cluster.wait_until(lambda: "waiting for node up" in cluster.messages()), cluster.messages())
            frozen = [cluster.processes[name] for name in ("left", "main", "right")]
            for process in frozen:
                process.signal(signal.SIGSTOP)
            time.sleep(5 * SLOWNESS)  # all links are lost, and the deadline passes
            for process in frozen:
                process.signal(signal.SIGCONT)
            self.assertRegex(cluster.result()["error"]["what"], r"no process with the rows of .*\bup\b")
            self.assertEqual(cluster.exit_codes(), {"main": 69, "left": 69, "up": -signal.SIGKILL, "right": 69},
                             cluster.messages())
            self.assertNotIn("start the director", cluster.messages())

    def test_members_train_at_home_and_are_merged_whoever_is_killed(self):
        self.share("north.csv", things(900, 1), "main")
        self.share("south.csv", things(230, 2, ["Rome"], ["cat", "dog"]), "left")
        self.share("north.csv", things(900, 1), "up", "a copy")
        self.mode = 'strategy = "parameters"\nmembers = 4\nlocal_steps = 3\n'
        epochs = 300
        twin = self.twin(epochs, 50)
        nodes = self.nodes(("main", 0, 1, False), ("left", 1, 0, True), ("right", 1, 0, True), ("up", 2, 0, True))
        nodes[1].data, nodes[2].data, nodes[3].data = '"left/south.csv"', '"main/north.csv"', '"up/north.csv"'
        with self.cluster(nodes, epochs, 50, "[checkpoint]\nevery_steps = 200\n") as cluster:
            for epoch, name in ((20, "left"), (100, "up"), (180, "right")):
                if cluster.wait_for_epoch(epoch) and cluster.is_running():
                    cluster.processes[name].signal(signal.SIGKILL)
                    cluster.processes[name].end(HANG)
                    cluster.start(name)
            result = cluster.result()
        self.expect_twin(result, twin, cluster)

    def test_gradients_that_come_when_they_come_are_repeated_by_the_twin(self):
        self.share("north.csv", things(900, 1), "main")
        self.share("south.csv", things(230, 2, ["Rome"], ["cat", "dog"]), "left", "as it is")
        self.share("tiny.csv", things(6, 3, ["Oslo"], ["emu"]), "up", "as it is")
        self.write("parts/south.csv", (self.folder / "left/south.csv").read_text())
        self.write("parts/tiny.csv", (self.folder / "up/tiny.csv").read_text())
        for consistency in ("asynchronous", "{ lag = 2.0 }"):
            self.mode = f"consistency = {consistency}\n".replace("= asynchronous", '= "asynchronous"')
            nodes = self.nodes(("main", 1, 1, True), ("left", 1, 0, False), ("up", 1, 0, True), ("right", 2, 0, False))
            nodes[1].data, nodes[3].data = '"left/south.csv"', '"main/north.csv"'
            epochs = 2000
            with self.cluster(nodes, epochs, 100, "[checkpoint]\nevery_steps = 4000\n") as cluster:
                for epoch, name in ((100, "left"), (500, "right"), (900, "up")):
                    if cluster.wait_for_epoch(epoch) and cluster.is_running():
                        cluster.processes[name].signal(signal.SIGKILL)
                        cluster.processes[name].end(HANG)
                        cluster.start(name)
                result = cluster.result()
            self.assertTrue(result, cluster.messages())
            self.assertEqual(result["steps_executed"], epochs * (14 + 4 + 1), "of 630, 161 and 5 rows")
            self.assertGreater(result["replicas_lost"], 0, cluster.messages())
            self.assertGreater(result["test_accuracy"], 0.6)
            twin = self.result_of("train", "--replay", "run", "--quiet", "--overwrite", "--set", "data.at_nodes=false",
                                  "--set", "data.holdings=parts/*.csv")
            self.expect_figures(twin, result, FIGURES, cluster.messages())
            shutil.rmtree(self.folder / "run")

    def test_a_director_that_starts_again_has_the_table(self):
        self.usual_rows()
        epochs = 400
        twin = self.twin(epochs, 50)
        shapes = [("main", 1, 1, True), ("left", 2, 1, True), ("up", 1, 0, True)]
        with self.cluster(self.nodes(*shapes), epochs, 50, "[checkpoint]\nevery_steps = 200\n") as cluster:
            self.assertTrue(cluster.wait_for_epoch(20), cluster.messages())
            cluster.director().signal(signal.SIGKILL)
            cluster.director().end(HANG)
            cluster.start("main", "--resume")
            result = cluster.result()
        self.expect_twin(result, twin, cluster)

    def test_no_row_leaves_its_node(self):
        """All that a node sends holds none of its rows: not as text, and not as numbers, raw or standardised."""
        rows = [row | {"size": f"{float(row['size'] or 1) + 1000:.4f}"} for row in things(300, 2)]
        self.share("north.csv", things(900, 1), "main")
        self.share("south.csv", rows, "left")
        nodes = self.nodes(("main", 1, 1, True), ("left", 1, 1, True))
        nodes[1].data = '"left/south.csv"'
        nodes[0].listen = nodes[0].address
        tap = Tap(int(nodes[0].listen.rsplit(":", 1)[1]))
        nodes[0].address = tap.address()
        with self.cluster(nodes, settings='[network]\ncarrier = "messages"\n') as cluster:
            result = cluster.result()
            self.assertTrue(result, cluster.messages())
        tap.close()
        learned = json.loads(self.read("run", "table.json"))["learned"]
        said = bytes(tap.said)
        self.assertGreater(len(said), 10_000)
        self.assertIn(b"Bergen", said, "this is what a card tells")
        for row in rows:
            self.assertNotIn(row["size"].encode(), said)
            raw = [float(row["size"]), *(float(row["city"] == city) for city in ("Bergen", "Oslo", "Rome")), float(row["weight"])]
            raw, mean, deviation = (numpy.array(x, numpy.float32) for x in (raw, learned["mean"], learned["deviation"]))
            scaled = (raw - mean) / deviation
            for numbers in (raw[:2], scaled[:2], scaled[-2:]):  # the last two raw ones are small whole numbers
                self.assertNotIn(numbers.tobytes(), said)

    def test_secured_nodes(self):
        self.usual_rows()
        twin = self.twin()
        keys = str(self.folder / "keys")
        make_certificates(keys, "main", "left", "up")
        shapes = [("main", 1, 1, True), ("left", 2, 1, True), ("up", 1, 0, True)]
        with self.cluster(self.nodes(*shapes), settings=tls_text(keys)) as cluster:
            self.expect_twin(cluster.result(), twin, cluster)

    def test_launch(self):
        self.usual_rows()
        twin = self.twin()
        nodes = self.nodes(("main", 1, 1, True), ("left", 2, 1, True), ("up", 1, 0, True))
        for node in nodes:
            node.address = "127.0.0.1:0"
        self.write("job.toml", JOB.format(rows="", epochs=4, every=1))
        self.write("cluster.toml", 'job = "job.toml"\n[output]\ndirectory = "run"\n' + "".join(node.text() for node in nodes))
        self.expect_figures(self.result_of("launch", "cluster.toml", "--quiet"), twin, FIGURES)
        shown = self.troupe("config", "show", "cluster.toml").stdout
        self.assertIn("at_nodes = true", shown)
        self.assertRegex(shown, r'data = \{ file = ".*left/south.csv", separator = ";" \}')
        refused = self.troupe("train", "run/job.toml", "--set", "output.directory=other", code=78).stderr
        self.assertIn("data.at_nodes", refused)

    def test_a_node_that_does_not_come_is_named_and_so_is_what_does_not_fit(self):
        self.usual_rows()
        shapes = [("main", 1, 1, True), ("left", 2, 1, True), ("up", 1, 0, True)]
        with self.cluster(self.nodes(*shapes), join=0.5, starts=["main", "up"]) as cluster:
            cluster.result()
            self.assertEqual(cluster.exit_codes(), {"main": 69, "up": 69}, cluster.messages())
        self.assertIn("no rows came from left", cluster.messages())
        self.share("south.csv", things(30, 2), "left", "no twin", columns=["kind", "weight", "city"], separator=";")
        with self.cluster(self.nodes(*shapes)) as cluster:
            cluster.result()
            self.assertEqual(cluster.exit_codes(), {"main": 65, "left": 65, "up": 65}, cluster.messages())
        self.assertIn("no column 'size'", cluster.messages())
        self.assertIn("left", cluster.messages())

    def test_rows_that_changed_meanwhile_are_refused(self):
        self.usual_rows()
        shapes = [("main", 1, 1, True), ("left", 1, 0, True), ("up", 1, 0, True)]
        with self.cluster(self.nodes(*shapes), 4000, 500, join=2) as cluster:
            self.assertTrue(cluster.wait_for_epoch(10), cluster.messages())
            cluster.processes["left"].signal(signal.SIGKILL)
            cluster.processes["left"].end(HANG)
            self.share("south.csv", things(231, 2), "left", "no twin", separator=";")
            cluster.start("left")
            cluster.result()
            self.assertEqual(cluster.processes["left"].process.returncode, 65, cluster.messages())
        self.assertIn("are not those that were agreed on", cluster.messages())
        self.assertIn("the rows of left", cluster.messages())  # what the others wait for

    def test_every_refusal_of_the_file(self):
        self.usual_rows()
        nodes = self.nodes(("main", 1, 1, True), ("left", 2, 1, True))

        def refusal(*where, job=JOB.format(rows="", epochs=1, every=1), code=78, **data):
            for node in nodes:
                node.data = data.get(node.name, node.data)
            self.write("job.toml", job)
            self.write("cluster.toml", 'job = "job.toml"\n' + "".join(node.text() for node in nodes))
            said = self.troupe("launch", "cluster.toml", code=code).stderr
            for words in where:
                self.assertIn(words, said)

        refusal("node.data.test_fraction", "set data.test_fraction of the job", left='{ file = "x.csv", test_fraction = 0.1 }')
        refusal("names no file", left="{ header = true }")
        refusal("expected a path or a table", left="3")
        refusal("no-such.csv", left='"no-such.csv"', code=66)
        left = '{ file = "left/south.csv", separator = ";" }'
        refusal("data.file", "nodes have rows of their own", left=left,
                job=JOB.format(rows='file = "main/north.csv"', epochs=1, every=1))
        refusal("model.loss", "is not given", job=JOB.format(rows="", epochs=1, every=1).replace(
            'loss = "categorical-cross-entropy"\n', ""))
        refusal("data.at_nodes", "a group of replicas", job=JOB.format(rows="", epochs=1, every=1) + "[parallel]\ntensor = 2\n")


def text_of_twin(text, separator):
    """The twin reads all files in one way: by commas."""
    return text.replace(separator, ",")


if __name__ == "__main__":
    main()
