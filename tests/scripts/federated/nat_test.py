"""Fifty clients behind a NAT: they dial out to a server that has no way to them; three in ten are killed at random and
started again, and the server is killed twice.

    python3 tests/scripts/federated/nat_test.py BUILD_FOLDER SOURCE_FOLDER [SEED] [TEST]...

The clients are in a network namespace of private addresses. Between it and the server stands a router that hides them
behind its own address. The test itself runs in namespaces, too, so that nothing of it is left on the machine. Where the
kernel does not permit that, or nft is not there, it ends with exit code 77, which ctest counts as skipped.
"""

import os
import random
import subprocess
import sys
import time
import unittest

from client_runs import TROUPE, ClientRuns

SEED = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
SKIPPED = 77
IS_INSIDE = "TROUPE_TEST_IS_INSIDE_NAMESPACES"
SERVER = "192.0.2.1"
CLIENTS = 50
ROUNDS = 150


def call(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)


def make_network():
    """server -- router, which masquerades -- clients"""
    os.makedirs("/run/netns", exist_ok=True)
    call("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
    call("ip", "link", "set", "lo", "up")
    for name in ("router", "inside"):
        call("ip", "netns", "add", name)
    for name in ("router", "inside"):
        call("ip", "-n", name, "link", "set", "lo", "up")
    call("ip", "link", "add", "outer", "type", "veth", "peer", "name", "outer", "netns", "router")
    call("ip", "-n", "router", "link", "add", "inner", "type", "veth", "peer", "name", "eth0", "netns", "inside")
    call("ip", "address", "add", f"{SERVER}/24", "dev", "outer")
    call("ip", "link", "set", "outer", "up")
    for where, device, address in (("router", "outer", "192.0.2.2/24"), ("router", "inner", "10.99.0.1/24"),
                                   ("inside", "eth0", "10.99.0.2/24")):
        call("ip", "-n", where, "address", "add", address, "dev", device)
        call("ip", "-n", where, "link", "set", device, "up")
    call("ip", "-n", "inside", "route", "add", "default", "via", "10.99.0.1")
    call("ip", "netns", "exec", "router", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
    call("ip", "netns", "exec", "router", "nft", "add table ip nat; "
         "add chain ip nat out { type nat hook postrouting priority 100 ; }; "
         "add rule ip nat out oifname outer masquerade")


class Nat(ClientRuns):
    clients = CLIENTS
    rows_of_client = 20
    keys = (f"federated.rounds={ROUNDS}", "federated.cohort=20", "federated.over_selection=0.2",
            "federated.min_count=10", "model.kind=neural-network", "model.hidden=[32]",
            "federated.ca=ca.pem", "federated.certificate=hub.pem", "federated.key=hub.key",
            "federated.admit=site-*")

    def setUp(self):
        super().setUp()
        self.troupe("certs", "ca")
        self.troupe("certs", "issue", "hub", *map(self.name, range(self.clients)))

    def serve_outside(self, *more):
        return self.serve(f"federated.listen={SERVER}:{self.port}", *self.keys, more=more)

    def client_inside(self, i):
        run = self.start("ip", "netns", "exec", "inside", TROUPE, "client", f"{SERVER}:{self.port}", "--data",
                         f"clients/{self.name(i)}.csv", "--server-name", "hub", "--ca", "ca.pem", "--certificate",
                         f"{self.name(i)}.pem", "--key", f"{self.name(i)}.key", "--quiet", "--patience", "30")
        self.started.append(run)
        return run

    def test_fifty_clients_of_which_many_are_lost(self):
        print(f"seed {SEED}", flush=True)
        chance = random.Random(SEED)
        server = self.serve_outside()
        clients = {i: self.client_inside(i) for i in range(CLIENTS)}
        victims = chance.sample(range(CLIENTS), CLIENTS * 3 // 10)
        rounds = sorted(chance.sample(range(3, ROUNDS - 40), len(victims) + 2))
        of_server = set(chance.sample(rounds, 2))
        for count in rounds:
            self.wait_for_round(count)
            if count in of_server:
                self.kill(server)
                done = len(self.record())
                server = self.serve_outside("--resume")
                self.wait_for_round(done)
            else:
                victim = victims.pop()
                self.kill(clients[victim])
                clients[victim] = self.client_inside(victim)
        result = self.result(server)
        self.assertEqual(result["steps"], ROUNDS)
        for client in clients.values():  # who is away when training ends hears nothing of it
            self.left(client)
        self.assertEqual(len(self.record()), ROUNDS)
        self.expect_replay(result)
        plain = [key for key in self.keys if key.split(".")[1].split("=")[0] not in
                 ("ca", "certificate", "key", "admit")]
        simulated = self.train("job.toml", *plain, "federated.round_time=", "output.directory=simulated",
                               'federated.partition={files="clients/*.csv"}')
        print(f"accuracy {result['test_accuracy']:.4f}, of the simulation {simulated['test_accuracy']:.4f}; "
              f"clients {result['clients']}", flush=True)
        self.assertAlmostEqual(result["test_accuracy"], simulated["test_accuracy"], delta=0.02)


def run_tests():
    if not os.environ.get(IS_INSIDE):
        try:
            call("unshare", "-n", "-m", "true")
        except (OSError, subprocess.CalledProcessError) as problem:
            print(f"skipped: no namespaces here: {problem}")
            return SKIPPED
        os.environ[IS_INSIDE] = "1"
        os.execvp("unshare", ["unshare", "-n", "-m", sys.executable, "-B", *sys.argv])
    try:
        make_network()
    except (OSError, subprocess.CalledProcessError) as problem:
        print(f"skipped: no network of its own here: {problem} {getattr(problem, 'stderr', '')}")
        return SKIPPED
    run = unittest.main(argv=sys.argv[:1] + sys.argv[4:], exit=False, verbosity=2)
    return 0 if run.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(run_tests())
