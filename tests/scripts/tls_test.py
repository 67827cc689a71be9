"""Clusters whose connections are secured: what they train, whom they refuse, what strangers cost.

    python3 tests/scripts/tls_test.py BUILD_FOLDER SOURCE_FOLDER [SECONDS] [TEST]...

Three processes train examples/digits.toml with certificates made by `troupe certs`. Their result is
that of one process, with one of them killed, with strangers at the port, and with silent and noisy
clients for SECONDS (two without it), while the director's gate may take 5 % of a core.
"""

import os
import random
import re
import signal
import socket
import ssl
import sys
import threading
import time
import unittest

from cluster_run import DIRECTOR, Cluster
from patience import lenient
from secured_cluster import (REFUSAL_SECONDS, SecuredCluster, make_certificates, make_expired, port_of,
                             tls_text, troupe)

SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 2
JOIN_SECONDS = 2
GATE_SHARE_MAX = 0.05
SILENT_CLIENTS = 200


class Training(SecuredCluster):
    def test_a_killed_process_changes_no_bit(self):
        with self.cluster(100) as cluster:
            self.wait_for_epoch(cluster, 5)
            cluster.processes["right"].signal(signal.SIGKILL)
            result = cluster.result()
            self.expect_equal(result, cluster, 100)
            self.expect_loss(result, cluster)
            self.expect_good_ends(cluster, lost=("right",))

    def test_status_asks_with_a_certificate_of_the_authority(self):
        with self.cluster(100) as cluster:
            self.wait_for_epoch(cluster, 2)
            self.result_of("status", cluster.file)
            refused = self.troupe("status", self.write("plain.toml", self.text(300, tls="")), code=77)
            self.assertIn("main secures its connections", refused.stderr)


class Refusals(SecuredCluster):
    """T1, T2: by name, within 5 s, on both sides, and the cluster does not notice."""

    def expect_said(self, cluster, words):
        """By whichever process the stranger reached first: it ends with the first refusal."""
        self.assertTrue(cluster.wait_until(
            lambda: any(x.said(words) for x in cluster.processes.values()), 5), cluster.messages())

    def turned_away_by_a_running_cluster(self, tls, words, at_the_other_side, code=77):
        with self.cluster(600) as cluster:  # longer than those 3 s
            self.wait_for_epoch(cluster, 2)
            seen, said = self.second("right", tls, join="3s")
            self.assertTrue(cluster.is_running(), "the cluster ended too soon")
            self.assertEqual(seen, code, said)
            self.assertIn(words, said)
            self.expect_said(cluster, at_the_other_side)
            result = cluster.result()
            self.expect_equal(result, cluster, 600)
            self.expect_that_nobody_was_lost(result, cluster)

    def test_certificate_that_the_director_does_not_believe(self):
        """It proves its own name first: its refusal counts."""
        foreign = os.path.join(self.folder, "foreign")
        make_certificates(foreign, "right")
        with open(os.path.join(foreign, "ca.pem"), "a", encoding="utf-8") as both:
            both.write(self.read("keys", "ca.pem"))
        self.turned_away_by_a_running_cluster(
            tls_text(foreign), "it says that our certificate is not from its authority",
            "its certificate is not from the authority of this cluster")

    def test_foreign_authority(self):
        """It cannot tell the director from an impostor: it says what is there, and waits."""
        foreign = os.path.join(self.folder, "foreign")
        make_certificates(foreign, "right")
        self.turned_away_by_a_running_cluster(
            tls_text(foreign), "not from the authority of this cluster",
            "it says that our certificate is not from its authority", code=69)

    def test_plain_process(self):
        self.turned_away_by_a_running_cluster("", "secures its connections",
                                              "secures its connections")

    def test_secured_process_at_a_plain_port(self):
        with Cluster(self.text(200, tls=""), self.nodes) as cluster:
            self.wait_for_epoch(cluster, 2)
            code, said = self.second("right", tls_text(self.keys), join="3s")
            self.assertEqual(code, 69, said)
            self.assertIn("main cannot be reached: main does not secure its connections", said)
            self.expect_said(cluster, "does not secure its connections")
            self.expect_equal(cluster.result(), cluster, 200)

    def test_client_without_or_with_an_expired_certificate(self):
        make_expired(self.keys, "old", subject="right")
        with self.cluster(200) as cluster:
            self.wait_for_epoch(cluster, 2)
            for pair, words in ((None, "it has no certificate"),
                                ("old", "its certificate has expired")):
                context = ssl.create_default_context(cafile=os.path.join(self.keys, "ca.pem"))
                if pair:
                    context.load_cert_chain(*(os.path.join(self.keys, f"{pair}.{kind}")
                                              for kind in ("pem", "key")))
                begin = time.monotonic()
                with socket.create_connection(("127.0.0.1", port_of(self.nodes[0]))) as plain:
                    plain.settimeout(lenient(REFUSAL_SECONDS))
                    with self.assertRaises(ssl.SSLError):
                        with context.wrap_socket(plain, server_hostname="main") as line:
                            line.recv(100)
                self.assertLess(time.monotonic() - begin, lenient(REFUSAL_SECONDS))
                self.assertTrue(cluster.wait_until(lambda: cluster.director().said(words)),
                                cluster.messages())
            self.expect_equal(cluster.result(), cluster, 200)


class Starts(SecuredCluster):
    """T3: what does not fit keeps a node from starting."""

    def expect_refusal(self, code, words, tls=None):
        seen = self.second(DIRECTOR, tls)
        self.assertEqual(seen[0], code, seen[1])
        self.assertIn(words, seen[1])

    def test_files_that_do_not_fit(self):
        key = os.path.join(self.keys, "main.key")
        os.chmod(key, 0o644)
        self.expect_refusal(77, "others than its owner have access to this key")
        os.chmod(key, 0o600)
        self.expect_refusal(77, "belongs to another certificate",
                            tls_text(self.keys).replace("{name}.key", "left.key"))
        self.expect_refusal(77, "proves itself with a certificate for left",
                            tls_text(self.keys, "left"))
        os.remove(key)
        self.expect_refusal(66, "main.key")

    def test_certs_never_overwrite_unasked(self):
        path = os.path.join(self.keys, "main.key")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        before = self.read("keys", "main.key")
        self.assertEqual(troupe(self.keys, "certs", "issue", "main").returncode, 73)
        self.assertEqual(troupe(self.keys, "certs", "ca").returncode, 73)
        self.assertEqual(self.read("keys", "main.key"), before)
        run = troupe(self.keys, "certs", "issue", "main", "--overwrite", "--days", "30")
        self.assertEqual(run.returncode, 0, run.stderr)
        several = troupe(self.keys, "certs", "issue", "new", "main")
        self.assertEqual(several.returncode, 73)
        self.assertFalse(os.path.exists(os.path.join(self.keys, "new.pem")), "all or none")
        self.assertEqual(troupe(self.keys, "certs", "issue", "new", "newer").returncode, 0)
        for name in ("new", "newer"):
            self.assertIn("node " + name, troupe(self.keys, "certs", "check", name + ".pem").stdout)
        seen = troupe(self.keys, "certs", "check", "main.pem")
        self.assertIn("node main", seen.stdout)
        self.assertIn("(30 days)", seen.stdout)
        os.chmod(path, 0o640)
        self.assertEqual(troupe(self.keys, "certs", "check", "main.key").returncode, 77)

    def test_without_insecure_everything_listens_on_loopback(self):
        with self.cluster(100) as cluster:
            self.wait_for_epoch(cluster, 2)
            for process in cluster.processes.values():
                for address in listening(process.process.pid):
                    self.assertRegex(address, r"^127\.0\.0\.1$")


def listening(pid):
    """Addresses that a process listens on."""
    inodes = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found = re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue
        if found:
            inodes.add(found.group(1))
    result = []
    for kind in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{kind}", encoding="utf-8") as file:
            for words in map(str.split, list(file)[1:]):
                if words[3] == "0A" and words[9] in inodes:
                    host = bytes.fromhex(words[1].split(":")[0])[::-1]
                    result.append(socket.inet_ntop(
                        socket.AF_INET if kind == "tcp" else socket.AF_INET6, host))
    return result


def thread_seconds(pid):
    """Processor seconds of each thread of a process."""
    result = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as file:
            words = file.read().rsplit(")", 1)[1].split()
        result[thread] = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    return result


def gate_thread(pid):
    """The thread that waits for the listening socket: it is called so."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="utf-8") as file:
            if file.read().strip() == "troupe-gate":
                return thread
    raise RuntimeError("no gate")


class Strangers:
    """Silent clients that come again when they are closed, and one that sprays bytes."""

    def __init__(self, port):
        self.port = port
        self.is_over = False
        self.sprayed = self.opened = 0
        self.threads = [threading.Thread(target=work) for work in (self.stay_silent, self.spray)]
        for thread in self.threads:
            thread.start()

    def stay_silent(self):
        clients = [None] * SILENT_CLIENTS
        while not self.is_over:
            for i, client in enumerate(clients):
                try:
                    if client and client.recv(1) == b"":
                        client.close()
                        clients[i] = client = None
                except BlockingIOError:
                    pass
                except OSError:
                    client.close()
                    clients[i] = client = None
                if client is None:
                    clients[i] = socket.socket()
                    clients[i].setblocking(False)
                    clients[i].connect_ex(("127.0.0.1", self.port))
                    self.opened += 1
            time.sleep(0.1)
        for client in clients:
            client.close()

    def spray(self):
        dice = random.Random(1)
        begins = (b"\x16\x03\x01", b"\x16", b"", b"{", b"\x80")
        while not self.is_over:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=0.05) as line:
                    line.sendall(dice.choice(begins) + dice.randbytes(dice.randint(1, 20_000)))
                    line.recv(100)
            except OSError:
                pass
            self.sprayed += 1

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


class Hostility(SecuredCluster):
    """S2: training is Equal, the gate takes a few per cent of a core, good nodes get in."""

    def test_silent_and_noisy_clients(self):
        epochs = int(100 + 20 * SECONDS)
        with self.cluster(epochs, starts=["main", "left"]) as cluster:
            pid = cluster.director().process.pid
            self.assertTrue(cluster.wait_until(
                lambda: cluster.director().said("linked with left")), cluster.messages())
            thread = gate_thread(pid)
            strangers = Strangers(port_of(self.nodes[0]))
            try:
                time.sleep(0.5)
                before, begin = thread_seconds(pid)[thread], time.monotonic()
                time.sleep(SECONDS)
                share = (thread_seconds(pid)[thread] - before) / (time.monotonic() - begin)
                sprayed = strangers.sprayed
                begin = time.monotonic()
                cluster.start("right")
                self.assertTrue(cluster.wait_until(
                    lambda: cluster.director().said("linked with right")), cluster.messages())
                joined = cluster.director().said("linked with right") - begin
                result = cluster.result()
            finally:
                strangers.end()
            print(f"{SILENT_CLIENTS} silent clients and {sprayed} noisy ones in {SECONDS} s: "
                  f"{100 * share:.1f} % of a core for the gate; a good node joined in "
                  f"{joined:.2f} s; {len(cluster.director().lines)} lines")
            self.assertGreaterEqual(strangers.opened, SILENT_CLIENTS)
            self.assertGreater(sprayed, 0)
            self.assertLessEqual(share, min(lenient(GATE_SHARE_MAX), 0.5))
            self.assertLessEqual(joined, lenient(JOIN_SECONDS))
            self.expect_equal(result, cluster, epochs)
            self.expect_that_nobody_was_lost(result, cluster)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
