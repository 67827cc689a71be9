"""Whatever answers at the address of a process that is gone: nobody healthy ends or believes it.

    python3 tests/scripts/impostors_test.py BUILD_FOLDER SOURCE_FOLDER [all [TEST]...]

Three `troupe node` processes train examples/digits.toml over secured connections. One of them is
killed, and impostors of each kind take its port, one after the other, until the others have dialled
each of them. Then the process comes back, and the result is that of an undisturbed run (F11). With
`all` each certificate comes with each word, and is met twice as often.
"""

import os
import re
import signal
import ssl
import subprocess
import sys
import time
import unittest

from cluster_run import (DIRECTOR, Cluster, EqualRuns, cluster_text, nodes_on_loopback,
                         settings_of, timeouts, trained_alone)
from command import JOB
from patience import SLOWNESS
from secured_cluster import (SHAPES, Impostor, SecuredCluster, make_certificates, make_expired, port_of, tls_text,
                             troupe)

ENDLESS = 1_000_000  # epochs
# The shorter, the more often impostors are dialled; whoever is lost meanwhile comes back.
TIMING = timeouts(lost_after=SLOWNESS, join=120)
IS_WHOLE = len(sys.argv) > 3
MEETINGS = 2 if IS_WHOLE else 1  # of each impostor with each survivor
SECONDS = 20  # for them

FINISHED = (b'{"answer":{"verdict":"refused","reason":"the run is finished","exit_code":0}}\n')
NOT_PERMITTED = (b'{"answer":{"verdict":"refused","reason":"the name is in use by another process '
                 b'that is alive","exit_code":77}}\n')
ALERT = b"\x15\x03\x03\x00\x02\x02\x28"  # TLS: the handshake has failed
HTTP = b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n"
NOISE = {"alert": ALERT, "http": HTTP, "ssh": b"SSH-2.0-OpenSSH_9.2\r\n", "garbage": b"\xfe" * 300,
         "silence": b"", "closed door": None}


def settings_of_steps(steps):
    return [f"training.epochs={ENDLESS}", f"training.steps={steps}"]


class Impostors(SecuredCluster):
    def setUp(self):
        super().setUp()
        foreign = os.path.join(self.folder, "foreign")
        make_certificates(foreign, "left", "main")
        self.assertEqual(troupe(self.keys, "certs", "issue", "visitor").returncode, 0)
        subprocess.run(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
            "-keyout self.key -out self.pem -subj /CN=left "
            "-addext subjectAltName=DNS:left,DNS:main", shell=True, cwd=self.keys, check=True, capture_output=True)
        make_expired(self.keys, "old", "subjectAltName=DNS:left,DNS:main")
        self.certificates = {
            "self-signed": os.path.join(self.keys, "self"),
            "foreign": os.path.join(foreign, "main"),
            "expired": os.path.join(self.keys, "old"),
            "another node's": os.path.join(self.keys, "right"),
            "a visitor's": os.path.join(self.keys, "visitor")}

    def text(self, epochs, tls=None, nodes=None):
        return cluster_text(nodes or self.nodes,
                            settings_of(epochs) + (tls_text(self.keys) if tls is None else tls),
                            TIMING)

    def kinds(self):
        """(name, what it says, its TLS context)"""
        words = [("finished", FINISHED), ("not permitted", NOT_PERMITTED)]
        for name, says in (*NOISE.items(), *words):
            yield name, says, None
        for name, files in self.certificates.items():
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{files}.pem", f"{files}.key")
            for word, says in words if IS_WHOLE else words[:1]:
                yield f"{name}, {word}", says, context
            words.reverse()

    def meet_all(self, cluster, port, survivors):
        for name, says, context in self.kinds():
            dialling = len(survivors) if port == port_of(self.nodes[0]) else 1
            meetings = MEETINGS * dialling
            with Impostor(port, says, context) as impostor:
                deadline = time.monotonic() + SECONDS
                while impostor.meetings < meetings and time.monotonic() < deadline:
                    time.sleep(0.01)
                    if says == b"" and impostor.threads[1:]:
                        break  # it is waited for while the next one answers others
                self.assertLess(time.monotonic(), deadline, f"{name}\n{cluster.messages()}")
            for survivor in survivors:
                self.assertTrue(cluster.processes[survivor].is_running(),
                                f"{survivor}, by {name}:\n{cluster.messages()}")

    def expect_equal_steps(self, cluster):
        cluster.director().signal(signal.SIGINT)
        result = cluster.result()
        self.assertIn("parameters_sha256", result, cluster.messages())
        alone = trained_alone(JOB, settings_of_steps(result["steps"]))
        for key in ("parameters_sha256", "job_sha256", "test_accuracy"):
            self.assertEqual(result[key], alone[key], cluster.messages())
        codes = cluster.exit_codes()
        self.assertEqual(codes.pop(DIRECTOR), 130, cluster.messages())
        self.assertEqual(set(codes.values()), {0}, cluster.messages())

    def test_at_the_address_of_a_dead_worker(self):
        with self.cluster(ENDLESS) as cluster:
            self.wait_for_epoch(cluster, 3)
            cluster.processes["left"].signal(signal.SIGKILL)
            cluster.processes["left"].end(10)
            self.meet_all(cluster, port_of(self.nodes[1]), ["main", "right"])
            self.assertIn("left proves itself with a certificate for visitor",
                          "\n".join(text for _, text in cluster.processes["right"].lines))
            back = time.monotonic()
            cluster.start("left")
            for name in ("main", "right"):
                self.assertTrue(cluster.wait_until(
                    lambda name=name: cluster.processes[name].said("linked with left", back), 30),
                    cluster.messages())
            self.wait_for_epoch(cluster, cluster.director().epoch + 3)
            self.expect_equal_steps(cluster)

    def test_at_the_address_of_a_dead_director(self):
        with self.cluster(ENDLESS) as cluster:
            self.wait_for_epoch(cluster, 10)
            cluster.director().signal(signal.SIGKILL)
            cluster.director().end(10)
            self.meet_all(cluster, port_of(self.nodes[0]), ["left", "right"])
            cluster.start(DIRECTOR, "--resume")
            self.wait_for_epoch(cluster, 12)
            self.expect_equal_steps(cluster)

    def test_who_waits_in_vain_says_for_whom_and_what_answers_there(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        visitor = self.certificates["a visitor's"]
        context.load_cert_chain(f"{visitor}.pem", f"{visitor}.key")
        path = self.write("cluster.toml", re.sub('join = ".*"', 'join = "3s"', self.text(3)))
        with Impostor(port_of(self.nodes[0]), FINISHED, context):
            run = self.troupe("node", path, "--name", "left", code=69)
        why = "main proves itself with a certificate for visitor"
        self.assertIn(f"waiting for the director (main at {self.nodes[0].address}): {why}", run.stderr)
        self.assertIn(f"could not be reached for 3000 ms: {why}", run.stderr)


class PlainImpostors(EqualRuns):
    """Without [tls] hosts are trusted; noise is no word of theirs, and workers end no workers."""

    def test_at_the_address_of_a_dead_worker(self):
        nodes = nodes_on_loopback(SHAPES)
        text = cluster_text(nodes, settings_of(ENDLESS), TIMING)
        with Cluster(text, nodes) as cluster:
            self.assertTrue(cluster.wait_for_epoch(3), cluster.messages())
            cluster.processes["left"].signal(signal.SIGKILL)
            cluster.processes["left"].end(10)
            for name, says in (*NOISE.items(), ("finished", FINISHED), ("not permitted", NOT_PERMITTED)):
                if says == b"":
                    continue
                with Impostor(port_of(nodes[1]), says) as impostor:
                    self.assertTrue(cluster.wait_until(
                        lambda impostor=impostor: impostor.meetings > 0, SECONDS), name)
                for survivor in ("main", "right"):
                    self.assertTrue(cluster.processes[survivor].is_running(), name)
            cluster.director().signal(signal.SIGINT)
            result = cluster.result()
            alone = trained_alone(JOB, settings_of_steps(result["steps"]))
            self.assertEqual(result["parameters_sha256"], alone["parameters_sha256"])
            self.assertEqual(cluster.exit_codes()["right"], 0, cluster.messages())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
