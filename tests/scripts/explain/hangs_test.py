"""Hangs of real processes: each is explained while it lasts, by the right name, and no longer.

    python3 tests/scripts/explain/hangs_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...

Three processes train a small job; something befalls one of them. `troupe status` is asked until its
explanation names the culprit by the right rule, and until it does not any more after the fault was
lifted. How long both took is printed. Runs that nothing befalls, and slow ones, are explained by
nothing, or by "no fault".
"""

import json
import os
import shutil
import signal
import socket
import ssl
import sys
import threading
import time

sys.path.insert(0, f"{sys.path[0]}/..")
from cluster_run import Cluster, cluster_text, hello_of, nodes_on_loopback  # noqa: E402
from command import BUILD, CommandTest, finished, main  # noqa: E402
from fault_proxy import Wires  # noqa: E402
from patience import HANG, lenient  # noqa: E402
from secured_cluster import make_certificates, make_expired, tls_text  # noqa: E402

HANGING = os.path.join(BUILD, "bin", "hanging")
SLOW_DISK = os.path.join(BUILD, "tests", "libslow_disk.so")
PEERS = [(1, 1), (1, 1), (1, 1)]
FEATURES = 20_000  # gradients and parameters of 80 kB
TIMING = 'heartbeat = "500ms"\nlost_after = "120s"\njoin = "600s"\n'
JOB_TEXT = """[data]
synthetic = "regression"
rows = 400
features = {features}
test_fraction = 0.5
[model]
kind = "hanging"
[optimizer]
learning_rate = 1e-9
[training]
batch_size = 96
slices = 3
epochs = 1000000
{more}
"""
# What befalls a wire is to befall the pieces.
WIRED = 'network.carrier = "messages"\n'


class Hangs(CommandTest):
    def setUp(self):
        super().setUp()
        self.fault = os.path.join(self.folder, "fault")
        os.environ["TROUPE_TEST_HANG"] = os.path.join(self.folder, "nothing")

    def job(self, features=20, more=""):
        return str(self.write("job.toml", JOB_TEXT.format(features=features, more=more)))

    def nodes(self, shapes=PEERS, faulty=("right",)):
        nodes = nodes_on_loopback(shapes)
        for node in nodes:
            node.program = HANGING
            if node.name in faulty:
                node.wrapper = ["env", f"TROUPE_TEST_HANG={self.fault}"]
        return nodes

    def cluster(self, nodes, job=None, starts=None, settings="", timing=TIMING, least=3):
        text = cluster_text(nodes, settings, timing, job or self.job())
        text = text.replace("min_nodes = 1", f"min_nodes = {least}")
        to_ask = text
        for node in nodes:
            to_ask = to_ask.replace(f'address = "{node.address}"', f'address = "{node.listen or node.address}"')
        self.direct = self.write("direct.toml", to_ask)  # past all wires, for who asks
        return Cluster(text, nodes, starts, self.folder)

    def status(self, cluster):
        run = finished(HANGING, "status", self.direct, "--json", code=None, cwd=self.folder)
        return json.loads(run.stdout) if run.returncode == 0 else None

    def explanation_once(self, cluster, condition, since=None):
        """The first explanation (or None for none) that is so; how long that took is printed."""
        begin = since or time.monotonic()
        seen = []
        while time.monotonic() - begin < HANG:
            status = self.status(cluster)
            why = status["explanation"] if status else None
            if status and condition(why):
                return why, time.monotonic() - begin
            said = why and (why["rule"], why["culprits"], why["verdict"], why["advice"])
            if not seen or seen[-1] != said:
                seen.append(said)
            self.assertTrue(cluster.is_running(), cluster.messages())
            if time.monotonic() - begin > lenient(20):
                break
            time.sleep(0.02)
        self.fail(f"not explained: {seen}\n{cluster.messages()}")

    def begin(self, cluster):
        self.explanation_once(cluster, lambda why: why is None)
        status = self.status(cluster)
        steps = status["step"]
        self.assertTrue(cluster.wait_until(lambda: self.status(cluster)["step"] > steps + 20))

    def expect(self, cluster, rule, culprit, *words, lift=None, then=lambda why: why is None):
        """The explanation with these words, after which `lift` ends the fault, and the one then."""
        why, took = self.explanation_once(
            cluster, lambda why: why and why["rule"] == rule and culprit in why["culprits"]
            and all(word in why["verdict"] + " " + why["advice"] for word in words))
        if lift:
            lift()
            after, gone = self.explanation_once(cluster, then)
            del after
            print(f"{self.id().rsplit('.', 1)[1]}: explained after {took:.1f} s, over after "
                  f"{gone:.1f} s: {why['verdict']}")
        else:
            print(f"{self.id().rsplit('.', 1)[1]}: explained after {took:.1f} s: {why['verdict']}")
        return why

    def make_fault(self, text):
        os.rename(self.write("fault.new", text), self.fault)

    def end_fault(self):
        os.unlink(self.fault)

    # ---- Processes and their work ----

    def test_a_process_that_is_stopped(self):
        with self.cluster(self.nodes()) as cluster:
            self.begin(cluster)
            right = cluster.processes["right"]
            right.signal(signal.SIGSTOP)
            why = self.expect(cluster, "silent", "right", "its process is stopped",
                              lift=lambda: right.signal(signal.SIGCONT))
            self.assertIn("right", [wait["from"] for wait in why["chain"]] or ["right"])

    def test_a_replica_that_hangs_while_its_node_is_heard(self):
        with self.cluster(self.nodes()) as cluster:
            self.begin(cluster)
            self.make_fault("gradient 1e9")
            self.expect(cluster, "computing", "right/replica 0", " of step ", "its longest before took",
                        lift=self.end_fault)

    def test_a_row_without_an_end(self):
        rows = os.path.join(self.folder, "rows.csv")
        self.write("rows.csv", "".join(f"{7 if row == 50 else 1 + row % 5},{row % 3},{row % 2 + 0.5}\n"
                                       for row in range(96)))
        job = self.write("rows.toml", f'[data]\nfile = "{rows}"\n[model]\nkind = "hanging"\n[optimizer]\n'
                         "learning_rate = 1e-6\n[training]\nbatch_size = 48\nslices = 3\nepochs = 1000000\n")
        with self.cluster(self.nodes(faulty=("main", "left", "right")), job) as cluster:
            self.begin(cluster)
            self.make_fault("row 7")
            why, _ = self.explanation_once(cluster, lambda why: why and why["rule"] == "computing")
            self.assertRegex(why["verdict"], r"^\w+/replica 0 holds up the run: at slice [0-2] of step \d+ for ")
            self.assertEqual(len(why["culprits"]), 1)
            self.expect(cluster, "computing", why["culprits"][0], lift=self.end_fault)

    def test_long_pieces_are_no_fault(self):
        self.make_fault("gradient 4")
        with self.cluster(self.nodes(faulty=("main", "left", "right"))) as cluster:
            seen = set()
            begin = time.monotonic()
            while time.monotonic() - begin < 15:
                status = self.status(cluster)
                if status and status["phase"] == "training":
                    seen.add((status["explanation"] or {}).get("rule"))
                time.sleep(0.05)
            self.assertIn("working", seen)
            self.assertLessEqual(seen, {"working", None})

    def test_a_long_evaluation_is_no_fault(self):
        with self.cluster(self.nodes(faulty=("main", "left", "right")),
                          self.job(more="[output]\n")) as cluster:
            self.begin(cluster)
            self.make_fault("evaluate 6")
            why, took = self.explanation_once(cluster, lambda why: why is not None)
            print(f"evaluation: explained after {took:.1f} s: {why['verdict']}")
            self.assertEqual(why["rule"], "working")
            self.assertIn("of the evaluation of step", why["verdict"])

    def test_a_slow_process(self):
        with self.cluster(self.nodes()) as cluster:
            self.begin(cluster)
            self.make_fault("gradient 0.1")
            self.expect(cluster, "slow", "right/replica 0", "times that of others", lift=self.end_fault)

    def test_a_process_that_gets_little_of_its_machine(self):
        with self.cluster(self.nodes()) as cluster:
            self.begin(cluster)
            right = cluster.processes["right"]
            stop = threading.Event()

            def starve():
                while not stop.is_set():
                    right.signal(signal.SIGSTOP)
                    time.sleep(0.3)
                    right.signal(signal.SIGCONT)
                    time.sleep(0.02)
            thread = threading.Thread(target=starve)
            thread.start()
            try:
                why, took = self.explanation_once(cluster, lambda why: why and why["rule"] == "slow")
                print(f"starved: explained after {took:.1f} s: {why['verdict']}")
                self.assertTrue(any("right" in culprit for culprit in why["culprits"]), why)
            finally:
                stop.set()
                thread.join()
            self.explanation_once(cluster, lambda why: why is None)

    # ---- Links ----

    def wired(self, wires, shapes=PEERS):
        """Nodes that reach each other by wires; whoever is later in the file dials."""
        nodes = self.nodes(shapes, faulty=())
        ways = {}
        for node in nodes:
            node.listen = node.address
            ways[node.name] = wires.new(int(node.listen.rsplit(":", 1)[1]))
            node.address = f"127.0.0.1:{ways[node.name].port}"
        return nodes, ways

    def test_a_link_that_carries_nothing_one_way(self):
        for way, culprit in (("there", "link right -> left"), ("back", "link left -> right")):
            with self.subTest(way=way), Wires(1) as wires:
                shutil.rmtree(os.path.join(self.folder, "runs"), ignore_errors=True)
                nodes, ways = self.wired(wires)
                with self.cluster(nodes, self.job(FEATURES), settings=WIRED) as cluster:
                    self.begin(cluster)
                    wires.silence([ways["left"]], True, (way,))
                    self.expect(cluster, "link", culprit, "bytes were given to it",
                                lift=lambda: wires.silence([ways["left"]], False))

    def test_a_link_between_two_workers_that_carries_nothing(self):
        with Wires(1) as wires:
            nodes, ways = self.wired(wires)
            with self.cluster(nodes, self.job(FEATURES), settings=WIRED) as cluster:
                self.begin(cluster)
                wires.silence([ways["left"]], True)
                why, _ = self.explanation_once(cluster, lambda why: why and why["rule"] == "link")
                self.assertIn(why["culprits"][0], ("link right -> left", "link left -> right"))
                wires.silence([ways["left"]], False)
                self.explanation_once(cluster, lambda why: why is None)

    def test_a_slow_link(self):
        with Wires(1) as wires:
            nodes, ways = self.wired(wires, [(1, 1), (1, 0)])
            with self.cluster(nodes, self.job(FEATURES), least=2, settings=WIRED) as cluster:
                self.begin(cluster)

                def throttle(rate):
                    ways["main"].bytes_per_second = rate
                wires.call(lambda: throttle(400_000))
                why, took = self.explanation_once(cluster, lambda why: why and why["rule"] == "slow")
                print(f"slow link: explained after {took:.1f} s: {why['verdict']}")
                self.assertIn(why["culprits"][0], ("link left -> main", "link main -> left"))

    # ---- Disks ----

    def test_a_disk_that_does_not_answer(self):
        nodes = self.nodes(faulty=())
        nodes[0].wrapper = ["env", f"LD_PRELOAD={SLOW_DISK}", f"TROUPE_TEST_DISK={self.fault}"]
        job = self.job(more="[checkpoint]\nevery_steps = 50\n")
        with self.cluster(nodes, job) as cluster:
            self.begin(cluster)
            self.make_fault("")
            self.expect(cluster, "disk", "disk of main", "look at the disk", lift=self.end_fault)

    # ---- Who does not come ----

    def test_a_node_that_was_never_started(self):
        with self.cluster(self.nodes(), starts=["main", "left"]) as cluster:
            self.expect(cluster, "missing", "right", "start what is missing",
                        lift=lambda: cluster.start("right"))

    def test_a_node_with_another_job(self):
        with self.cluster(self.nodes(), starts=["main", "left"]) as cluster:
            cluster.start("right", "--set", "job.seed=5")
            self.expect(cluster, "missing", "right", "of right is known: it was refused:", "differ in their",
                        lift=lambda: cluster.start("right"))

    def test_a_node_of_another_version(self):
        with self.cluster(self.nodes(), starts=["main", "left"]) as cluster:
            self.expect(cluster, "missing", "right")
            port = int(cluster.nodes["main"].address.rsplit(":", 1)[1])
            with socket.create_connection(("127.0.0.1", port)) as one:
                one.sendall(hello_of({
                    "troupe": 1, "version": "0.1.0", "node": "right", "job": "0", "data": "0", "cluster": "0",
                    "arithmetic": "0", "directive": "0", "process": "0", "incarnation": 1, "term": 0, "life": 1,
                    "director": False, "address": ""}))
                one.recv(4096)
                self.expect(cluster, "missing", "right", "right and main differ in their protocol: 1 and")

    def test_a_certificate_that_has_expired(self):
        keys = os.path.join(self.folder, "keys")
        make_certificates(keys, "main", "left", "right")
        make_expired(keys, "right", "subjectAltName=DNS:right\nextendedKeyUsage=serverAuth,clientAuth", "right")
        with self.cluster(self.nodes(), starts=["main", "left"], settings=tls_text(keys)) as cluster:
            self.expect(cluster, "missing", "right")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.load_cert_chain(os.path.join(keys, "right.pem"), os.path.join(keys, "right.key"))
            port = int(cluster.nodes["main"].address.rsplit(":", 1)[1])
            with socket.create_connection(("127.0.0.1", port)) as one, self.assertRaises(OSError):
                with context.wrap_socket(one) as secured:
                    secured.settimeout(HANG)
                    if not secured.recv(1):
                        raise OSError("closed")
            self.expect(cluster, "missing", "right", "a process at 127.0.0.1", "was refused: its certificate has expired")

    # ---- Nothing is wrong ----

    def test_a_healthy_run_has_no_explanation(self):
        with self.cluster(self.nodes()) as cluster:
            self.begin(cluster)
            begin = time.monotonic()
            seen = set()
            while time.monotonic() - begin < 12:
                seen.add((self.status(cluster)["explanation"] or {}).get("rule"))
                time.sleep(0.05)
            self.assertIn(None, seen)
            self.assertLessEqual(seen, {None, "slow"}, "other tests may keep this machine busy")


if __name__ == "__main__":
    main()
