"""Clusters of three nodes whose connections are secured, with certificates of their own, for tests.

As cluster_run.py, of which this is the secured kind.
"""

import os
import re
import socket
import threading
import time
from pathlib import Path

from cluster_run import Cluster, EqualRuns, Node, cluster_text, free_ports, nodes_on_loopback, settings_of, timeouts
from command import TROUPE, finished
from patience import SLOWNESS, lenient

SHAPES = [(1, 1), (1, 1), (1, 1)]
# Long enough that a busy machine loses nobody; a killed process is seen at once.
TIMING = timeouts(lost_after=5 * SLOWNESS, join=10)
REFUSAL_SECONDS = 5


def troupe(folder, *words):
    return finished(TROUPE, *words, code=None, cwd=folder)


def make_certificates(folder, *names):
    os.makedirs(folder, exist_ok=True)
    for words in (["ca"], *(["issue", name] for name in names)):
        finished(TROUPE, "certs", *words, cwd=folder)


def tls_text(folder, name="{name}"):
    return (f'[tls]\nca = "{folder}/ca.pem"\ncertificate = "{folder}/{name}.pem"\n'
            f'key = "{folder}/{name}.key"\n')


def make_expired(folder, name, extensions="", subject="old"):
    """A certificate of the authority in this folder that has expired; its key is made unless it is there."""
    Path(folder, f"{name}.ext").write_text(extensions + "\n", encoding="utf-8")
    finished("sh", "-ec", f"""
        [ -f {name}.key ] || openssl ecparam -genkey -name prime256v1 -noout -out {name}.key
        openssl req -new -key {name}.key -subj /CN={subject} -out {name}.csr
        openssl x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -days 0 -extfile {name}.ext -out {name}.pem""",
             cwd=folder)
    time.sleep(1.1)  # until it has expired


def port_of(node):
    return int(node.address.rsplit(":", 1)[1])


class Impostor:
    """Listens on a port and says one thing to whoever comes; use it in a `with`."""

    def __init__(self, port, says, context=None):
        self.says, self.context = says, context
        self.meetings = 0
        self.is_over = False
        self.server = socket.create_server(("127.0.0.1", port))
        self.server.settimeout(0.02)
        self.threads = [threading.Thread(target=self.listen)]
        self.threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over = True
        for thread in self.threads:  # the first adds the others, and has ended when they are joined
            thread.join()
        self.server.close()

    def listen(self):
        while not self.is_over:
            try:
                line, _ = self.server.accept()
            except TimeoutError:
                continue
            self.threads.append(threading.Thread(target=self.serve, args=[line]))
            self.threads[-1].start()

    def serve(self, line):
        line.settimeout(0.5)
        try:
            if self.context:
                line = self.context.wrap_socket(line, server_side=True)
            if self.says is not None:
                line.sendall(self.says)
                line.settimeout(0.05)
                while not self.is_over:
                    try:
                        if not line.recv(4096):
                            break
                    except TimeoutError:
                        continue
        except OSError:  # those of ssl are such
            pass
        finally:
            line.close()
            self.meetings += 1


class SecuredCluster(EqualRuns):
    """A folder with certificates of main, left and right, and three nodes."""

    carrier = "socket"  # memory in common is not secured, and needs not be

    def setUp(self):
        super().setUp()
        self.keys = os.path.join(self.folder, "keys")
        make_certificates(self.keys, "main", "left", "right")
        self.nodes = nodes_on_loopback(SHAPES)

    def text(self, epochs, tls=None, nodes=None):
        return cluster_text(nodes or self.nodes,
                            settings_of(epochs, self.carrier) + (tls_text(self.keys) if tls is None else tls),
                            TIMING)

    def cluster(self, epochs, starts=None):
        return Cluster(self.text(epochs), self.nodes, starts, self.folder)

    def wait_for_epoch(self, cluster, epoch):
        self.assertTrue(cluster.wait_for_epoch(epoch), cluster.messages())

    def second(self, name, tls, join=None):
        """Exit code and words of a process of this name that comes with this [tls]."""
        nodes = [Node(x.name, x.replicas, x.shards, x.address) for x in self.nodes]
        own = next(x for x in nodes if x.name == name)
        own.listen = f"127.0.0.1:{free_ports(1)[0]}"
        text = self.text(300, tls, nodes)
        path = self.write("second.toml", re.sub('join = ".*"', f'join = "{join}"', text) if join else text)
        begin = time.monotonic()
        run = troupe(self.folder, "node", path, "--name", name)
        self.assertLess(time.monotonic() - begin, lenient(REFUSAL_SECONDS + 1), run.stderr)
        return run.returncode, run.stderr
