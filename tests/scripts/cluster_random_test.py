"""Random faults on clusters of real processes: the result is that of `troupe train`, nobody hangs,
nothing is left behind.

    python3 tests/scripts/cluster_random_test.py BUILD_FOLDER SOURCE_FOLDER [RUNS] [SEED] [split | modes | homes]

Each run draws one to six processes, with more replicas than slices as often as not, plain or
secured, and one to four faults at any moment, the first tenth of a second and the last step
included: processes are killed, stand still for less and for more than others wait (their links may
be about to open), computing threads hang while heartbeats go on, the director dies and goes on,
everybody dies, two signals come at once, somebody else answers at a dead node's address, wires
delay, break and turn bits over. With `split` a group of processes carries a model, or each fetches it. With `modes` a parameter server merges members' models, or
applies gradients as they come: then the result is that of one process that repeats the run from its record. With `homes` each
node has rows that it alone can read (in a mount namespace, where that is permitted): one to five holdings of 5 to 5,000 rows,
of other columns' orders and separators, lacking classes and categories; some nodes have copies, some none. RUNS (3) of them,
from SEED (printed); a failure prints the seed that repeats its choices.
"""

import json
import os
import random
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from cluster_run import (CARRIERS, DIRECTOR, NAMES, Cluster, Node, cluster_text, free_ports, hang, timeouts,
                         trained_alone)
from command import JOB, TROUPE, finished
from fault_proxy import Wires
from patience import HANG, SLOWNESS
from secured_cluster import Impostor, make_certificates, tls_text

sys.path.insert(1, f"{sys.path[0]}/rows")
from thing_rows import COLUMNS, JOB_OF_THINGS, text_of, things  # noqa: E402

RUNS = int(sys.argv[3]) if len(sys.argv) > 3 else 3
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else int(time.time())
SPLITS, HAS_MODES, HAS_HOMES = (sys.argv[5:6] == [word] for word in ("split", "modes", "homes"))
HIDES = os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode == 0
EPOCHS = 120
ROUNDS = [{"training.strategy": '"parameters"', "training.members": members, "training.slices": members,
           "training.local_steps": steps, **merge}
          for members in (3, 5) for steps in (2, 7) for merge in
          ({}, {"merge.elastic_alpha": 0.1}, {"merge.rule": '"median"'}, {"merge.outer": '"adam"', "merge.averaging": '"mean"'})]
ASYNCHRONOUS = [{"training.consistency": consistency, **late} for consistency in
                ('"asynchronous"', "{ staleness = 1 }", "{ first = 2 }", "{ lag = 0.5 }") for late in
                ({}, {"training.late_steps": '"inverse"'})] + [{"training.consistency": '"asynchronous"',
                                                                "training.delay_compensation": 0.04, "optimizer.clip_norm": 1.0}]
ALL_NAMES = [*NAMES, "more"]
LOST_AFTER = 1.0  # seconds
GREETINGS = [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28", b"SSH-2.0-x\r\n", b"",
             b'{"answer":{"verdict":"refused","reason":"over","exit_code":0}}\n',
             b'{"answer":{"verdict":"refused","reason":"no","exit_code":77}}\n', os.urandom(64)]


def certificate(keys, draw):
    """A visitor's of the same authority, or one that its owner signed."""
    if draw.random() < 0.5:
        return f"{keys}/visitor.pem", f"{keys}/visitor.key"
    own = f"{keys}/own"
    if not os.path.exists(f"{own}.pem"):
        finished("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                 "3", "-subj", "/CN=main", "-keyout", f"{own}.key", "-out", f"{own}.pem")
    return f"{own}.pem", f"{own}.key"


def impostor(port, draw, keys):
    """Somebody else at a port: says one thing to whoever comes, or shakes hands with a certificate that proves nothing."""
    greeting, context = draw.choice(GREETINGS), None
    if keys and draw.random() < 0.5:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate(keys, draw))
    return Impostor(port, greeting, context)


class Joiner(Node):
    """A node that the cluster file does not list."""

    def __init__(self, name):
        super().__init__(name, 0, 0, "")

    def text(self):
        return ""


class Trial:
    """One run: what is drawn, and what befalls."""

    def __init__(self, seed, folder):
        self.draw = random.Random(seed)
        self.folder = folder
        self.epochs = EPOCHS
        count = self.draw.randint(1, 6)
        self.slices = self.draw.randint(1, 6)
        self.exchange = random.Random(seed).choice(["bf16", "float32"])
        self.is_secured = self.draw.random() < 0.4
        shapes = [(self.draw.randint(0, 3), self.draw.randint(0, 2)) for _ in range(count)]
        if not any(replicas for replicas, _ in shapes):
            shapes[-1] = (self.draw.randint(1, 3), shapes[-1][1])
        if not any(shards for _, shards in shapes):
            shapes[0] = (shapes[0][0], 1)
        self.nodes = [Node(name, *shape, f"127.0.0.1:{port}") if any(shape) or name == DIRECTOR or HAS_HOMES else Joiner(name)
                      for name, port, shape in zip(ALL_NAMES, free_ports(count), shapes)]
        for node in self.nodes if HAS_HOMES else ():  # all of them are listed, and have some work
            node.shards = node.shards or int(node.replicas == 0)
        self.joiners = [node for node in self.nodes if isinstance(node, Joiner)]
        self.mode = self.drawn_mode() if HAS_MODES else {}
        self.repeats = "training.consistency" in self.mode
        self.split = self.drawn_split() if SPLITS else self.mode
        self.keys = os.path.join(folder, "keys") if self.is_secured else None
        if self.keys:
            make_certificates(self.keys, *ALL_NAMES[:count], "visitor", "join")
        self.log = []

    def drawn_mode(self):
        """One with a parameter server; of asynchronous ones any placement repeats the record."""
        self.exchange, self.slices = "float32", None
        if sum(node.replicas for node in self.nodes) < 2:  # { first = 2 } has to come
            self.nodes[0].replicas += 2
        return self.draw.choice(ROUNDS if self.draw.random() < 0.5 else ASYNCHRONOUS)

    def drawn_split(self):
        """Of a network whose layers are computed in four parts, over the replicas that there are."""
        replicas = sum(node.replicas for node in self.nodes)
        shapes = [(tensor, pipeline) for tensor in (1, 2, 3, 4) for pipeline in (1, 2)
                  if tensor * pipeline <= max(replicas, 1)]
        tensor, pipeline = self.draw.choice(shapes)
        model = {"model.hidden": "[48, 48, 48]", "model.cuts": 4}
        if self.draw.random() < 0.25:
            return {**model, "parallel.sharded": "true"}
        return {**model, "parallel.tensor": tensor, "parallel.pipeline": pipeline}

    def settings(self):
        every = self.every = self.draw.choice([10, 50, 0, None])
        carrier = self.draw.choice(["auto", *CARRIERS])
        keys = {"network.carrier": f'"{carrier}"', "training.epochs": self.epochs, "training.exchange": f'"{self.exchange}"',
                "training.slices": self.slices, "checkpoint.every_steps": every, **self.split}
        if self.joiners:
            keys = {"max_nodes": len(self.nodes), "join.listen": '"127.0.0.1:0"', **keys}
        return ("".join(f"{key} = {value}\n" for key, value in keys.items() if value is not None)
                + (tls_text(self.keys) if self.keys else ""))

    def expected(self, cluster):
        if self.repeats:
            record = os.path.join(cluster.folder, "runs", "digits")
            return json.loads(finished(TROUPE, "train", "--replay", record, "--json", "--quiet", cwd=cluster.folder).stdout)
        whole = [f"{key}={value}" for key, value in self.split.items() if self.mode or "model" in key]
        slices = [] if self.slices is None else [f"training.slices={self.slices}"]
        return trained_alone(JOB, [f"training.epochs={self.epochs}", *slices, f"training.exchange={self.exchange}", *whole])

    def wire_all(self, wires):
        """Whoever dials a node reaches it by way of a bad wire."""
        for node in self.nodes:
            if node in self.joiners:
                continue
            wire = wires.new(int(node.address.rsplit(":", 1)[1]))
            node.listen, node.address = node.address, f"127.0.0.1:{wire.port}"
            wire.flip_chance, wire.flips_left, wire.flips_greetings = 0.01, 20, True
            wire.latency = self.draw.choice([0, 0.002])

    def befall(self, cluster):
        fault = self.draw.choice([self.kill, self.kill, self.freeze, self.freeze, self.hang,
                                  self.kill_director, self.kill_all, self.signal_twice,
                                  self.impersonate])
        self.log.append(fault.__name__)
        fault(cluster)

    def victim(self, cluster, but_director=True):
        names = [name for name, x in cluster.processes.items()
                 if x.is_running() and not (but_director and name == DIRECTOR)]
        return self.draw.choice(names) if names else None

    @staticmethod
    def stop(cluster, name, number=signal.SIGKILL):
        cluster.processes[name].signal(number)
        cluster.processes[name].end(30)

    def start(self, cluster, name):
        # Who was stopped without checkpoints left a model, which --resume keeps.
        again = "--overwrite" if self.every == 0 else "--resume"
        cluster.start(name, *([again] if name == DIRECTOR else []))

    def pause(self, seconds):
        time.sleep(self.draw.uniform(0, seconds))

    def kill(self, cluster):
        name = self.victim(cluster)
        if name:
            self.stop(cluster, name)
            self.pause(1.5)
            self.start(cluster, name)

    def freeze(self, cluster):
        name = self.victim(cluster, but_director=False)
        if name:
            cluster.processes[name].signal(signal.SIGSTOP)
            self.pause(4 * LOST_AFTER)
            cluster.processes[name].signal(signal.SIGCONT)

    def hang(self, cluster):
        name = self.victim(cluster)
        if name:
            self.log.append(f"of {name}")
            hang(cluster.processes[name].process.pid, self.draw.choice([0.5, 1, 6]))

    def kill_director(self, cluster):
        if cluster.is_running():
            self.stop(cluster, DIRECTOR)
            self.pause(1.5)
            self.start(cluster, DIRECTOR)

    def kill_all(self, cluster):
        for name in cluster.processes:
            self.stop(cluster, name)
        for name in cluster.processes:
            self.start(cluster, name)

    def signal_twice(self, cluster):
        """As process managers do: to everybody, and again at once."""
        number = self.draw.choice([signal.SIGTERM, signal.SIGINT])
        for _ in range(2):
            for x in cluster.processes.values():
                if x.is_running():
                    x.signal(number)
        for name in cluster.processes:
            cluster.processes[name].end(30)
        lock = os.path.join(cluster.folder, "runs", "digits", "lock")
        if os.path.exists(lock):  # of who was killed, and whoever was started since had not come so far
            with open(lock, encoding="utf-8") as file:
                owner = int(file.read())
            assert owner in [x.process.pid for x in cluster.all
                             if x.process.returncode == -signal.SIGKILL], "a lock is left"
        for name in cluster.processes:
            self.start(cluster, name)

    def impersonate(self, cluster):
        name = self.victim(cluster)
        if not name or cluster.nodes[name].listen or not cluster.nodes[name].address:
            return
        self.stop(cluster, name)
        with impostor(int(cluster.nodes[name].address.rsplit(":", 1)[1]), self.draw, self.keys):
            self.pause(2.5)
        self.start(cluster, name)


HOME_JOB = """[job]
name = "digits"
[data]
{rows}
""" + JOB_OF_THINGS + """kind = "{optimizer}"
learning_rate = 0.01
[training]
batch_size = 64
evaluate_every = 10
"""


class HomeNode(Node):
    data = ""

    def text(self):
        return super().text() + (f"data = {self.data}\n" if self.data else "")


class HomeTrial(Trial):
    """Nodes with rows of their own; the twin has all of them in files."""

    def __init__(self, seed, folder):
        super().__init__(seed, folder)
        self.exchange, self.slices = "float32", None
        self.nodes = [HomeNode(x.name, x.replicas, x.shards, x.address) for x in self.nodes]
        computing = [x for x in self.nodes if x.replicas]
        self.mode = self.draw.choice([{}, {}, self.draw.choice(ROUNDS), {"training.consistency": '"asynchronous"'},
                                      {"training.consistency": "{ lag = 2.0 }"}])
        self.repeats, self.split = "training.consistency" in self.mode, self.mode
        count = self.draw.randint(1, min(5, len(computing)))
        in_rounds = "training.members" in self.mode
        if in_rounds:  # each member has a row in each round
            self.mode = {**self.mode, "training.members": count + self.draw.randint(0, 2), "training.local_steps": 7}
            self.mode.pop("training.slices")
            self.split = self.mode
        self.optimizer = "sgd" if in_rounds else "adam"
        sizes = [self.draw.choice([900, 1800] if in_rounds else [5, 40, 300, 1500, 5000]) for _ in range(count)]
        if sizes == [5] * count:
            sizes[0] = 300
        self.epochs = max(EPOCHS, 400_000 // sum(sizes))  # as many steps, more or less
        self.parts = [self.draw_part(size, seed + i) for i, size in enumerate(sizes)]
        Path(folder, "parts").mkdir()
        for i, (rows, columns) in enumerate(self.parts):
            Path(folder, "parts", f"{i}.csv").write_text(text_of(rows, columns), encoding="utf-8")
        others = self.draw.sample(computing, len(computing))
        for i, node in enumerate(others):
            self.give(node, i if i < count else self.draw.choice([None, *range(count)]))
        for node in self.nodes:
            if not node.replicas and self.draw.random() < 0.15:
                self.give(node, self.draw.randrange(count))
        homes = [f"{folder}/{x.name}" for x in self.nodes if x.data] + [f"{folder}/parts"]
        for node in self.nodes if HIDES else ():
            hidden = [home for home in homes if home != f"{folder}/{node.name}"]
            node.wrapper = ["unshare", "-m", "sh", "-ec", 'for x in $0; do mount -t tmpfs none "$x"; done; exec "$@"', " ".join(hidden)]
        self.log.append(f"{self.mode.get('training.consistency', 'rounds' if in_rounds else 'steps')} of {sizes} rows")
        for name, rows in (("job", ""), ("twin", f'holdings = "{folder}/parts/*.csv"')):
            Path(folder, f"{name}.toml").write_text(HOME_JOB.format(rows=rows, optimizer=self.optimizer), encoding="utf-8")

    def draw_part(self, size, seed):
        """Rows, and their columns in some order; few lack what others have. A small holding has two kinds at least."""
        whole = size > 900 or self.draw.random() < 0.5
        cities = ("Bergen", "Oslo", "Rome") if whole else self.draw.sample(["Bergen", "Oslo", "Rome", "Paris"], 2)
        kinds = ("cat", "dog", "emu") if whole else self.draw.sample(["cat", "dog", "emu"], 2)
        rows = list(things(size, seed, cities, kinds))
        rows[0]["size"] = "1.5"
        return rows, self.draw.sample(COLUMNS, len(COLUMNS))

    def give(self, node, part):
        if part is None:
            return
        rows, columns = self.parts[part]
        separator = self.draw.choice([",", ";", "|"])
        path = Path(self.folder, node.name, "rows.csv")
        path.parent.mkdir()
        path.write_text(text_of(rows, columns, separator), encoding="utf-8")
        node.data = f'{{ file = "{path}", separator = "{separator}" }}'

    def expected(self, cluster):
        if self.repeats:
            record = os.path.join(cluster.folder, "runs", "digits")
            return json.loads(finished(TROUPE, "train", "--replay", record, "--json", "--quiet", "--set", "data.at_nodes=false",
                                       "--set", f"data.holdings={self.folder}/parts/*.csv", cwd=cluster.folder).stdout)
        return trained_alone(f"{self.folder}/twin.toml", [f"training.epochs={self.epochs}",
                                                          *(f"{key}={value}" for key, value in self.split.items())])


class RandomFaults(unittest.TestCase):
    def play(self, seed, folder, wires):
        trial = (HomeTrial if HAS_HOMES else Trial)(seed, folder)
        if not trial.is_secured and trial.draw.random() < 0.3:
            trial.wire_all(wires)
        text = cluster_text(trial.nodes, trial.settings(), timeouts(LOST_AFTER * SLOWNESS, 20),
                            f"{folder}/job.toml" if HAS_HOMES else JOB)
        with Cluster(text, trial.nodes) as cluster:
            for _ in range(trial.draw.randint(1, 4)):
                part = trial.draw.choice([0, 0, 5, 30, 60, 90, EPOCHS - 1])
                epoch = part * trial.epochs // EPOCHS
                cluster.wait_until(lambda e=epoch: cluster.director().epoch >= e, 60)
                trial.pause(0.1)
                if not cluster.is_running():
                    break
                trial.befall(cluster)
            result = cluster.result(HANG)
            why = f"seed {seed}: {trial.log}\n{text}\n{cluster.messages()}"
            self.assertIn("parameters_sha256", result, why)
            expected = trial.expected(cluster)
            for key in ("parameters_sha256", "job_sha256", "steps", "test_accuracy"):
                self.assertEqual(result[key], expected[key], f"{key}, {why}")
            self.assertLessEqual(result["nodes"], len(trial.nodes), why)
            for name, code in cluster.exit_codes().items():
                # Who came back after the end found nobody.
                self.assertIn(code, (0,) if name == DIRECTOR else (0, 69, -9), f"{name}, {why}")
        return trial

    def test_random_faults_change_no_bit(self):
        for seed in range(SEED, SEED + RUNS):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder, \
                    Wires(seed) as wires:
                begin = time.monotonic()
                trial = self.play(seed, folder, wires)
                print(f"seed {seed}: {len(trial.nodes)} processes, {trial.slices} slices, "
                      f"{'secured' if trial.is_secured else 'plain'}"
                      f"{' ' + str(list(trial.split.values())[0 if trial.mode else 2:]) if trial.split else ''}: "
                      f"{', '.join(trial.log)}; "
                      f"{time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    print(f"seed {SEED}, {RUNS} runs", flush=True)
    unittest.main(argv=sys.argv[:1], verbosity=2)
