"""A server and clients with rows of their own: for the tests of federated runs whose clients dial in."""

import contextlib
import csv
import gzip
import json
import os
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, f"{sys.path[0]}/..")
from command import SOURCE, TROUPE, CommandTest, sets_of  # noqa: E402
from patience import HANG, wait_until  # noqa: E402

JOB = """[job]
seed = 3
[data]
table = "table.json"
test_file = "test.csv"
[model]
kind = "softmax-regression"
[optimizer]
kind = "sgd"
learning_rate = 0.1
[training]
strategy = "federated"
batch_size = 8
[federated]
cohort = 4
over_selection = 0.25
rounds = 12
local_epochs = 2
min_count = 2
round_time = 20
"""


def digits():
    with gzip.open(os.path.join(SOURCE, "examples", "data", "digits.csv.gz"), "rt") as file:
        return [row for row in csv.reader(file)]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def relay_to(port):
    """What a client says to this port, as it comes, and the port where it is to say it."""
    heard = bytearray()
    listener = socket.create_server(("127.0.0.1", 0))

    def carry(source, target, keep):
        with contextlib.suppress(OSError), source:
            while part := source.recv(1 << 16):
                keep(part)
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)

    def run():
        with contextlib.suppress(OSError), listener:
            line = listener.accept()[0]
            end = time.monotonic() + HANG
            server = None
            while server is None and time.monotonic() < end:
                with contextlib.suppress(ConnectionRefusedError):
                    server = socket.create_connection(("127.0.0.1", port))
                time.sleep(0.02)
            threading.Thread(target=carry, args=(server, line, lambda _: None), daemon=True).start()
            carry(line, server, heard.extend)

    threading.Thread(target=run, daemon=True).start()
    return heard, listener.getsockname()[1]


class ClientRuns(CommandTest):
    """Each test has clients' files, a table that was made of a sample, and a port."""

    clients = 5
    rows_of_client = 80

    def setUp(self):
        super().setUp()
        self.port = free_port()
        rows = digits()
        names = [f"pixel{i}" for i in range(len(rows[0]) - 1)] + ["digit"]
        if not rows[0][0].replace(".", "").isdigit():
            rows = rows[1:]
        self.folder.joinpath("clients").mkdir()

        def write(name, part):
            with open(self.folder / name, "w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([names, *part])

        for i in range(self.clients):
            write(f"clients/{self.name(i)}.csv", rows[i * self.rows_of_client:(i + 1) * self.rows_of_client])
        write("test.csv", rows[-400:])
        write("sample.csv", rows[-800:-400])
        self.write("sample.toml", '[data]\nfile = "sample.csv"\nstandardize = true\n'
                                  '[model]\nkind = "softmax-regression"\n')
        self.troupe("data", "table", "sample.toml", "-o", "table.json")
        self.write("job.toml", JOB)
        self.started = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for run in self.started:
            if run.poll() is None:
                run.kill()
            run.communicate()

    @staticmethod
    def rows_of(path):
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.reader(file))

    @staticmethod
    def name(i):
        return f"site-{i}"

    def launch(self, *words):
        run = self.start(TROUPE, *map(str, words))
        self.started.append(run)
        return run

    def serve(self, *keys, more=(), job="job.toml"):
        return self.launch("train", job, "--json", "--quiet", *more,
                           *sets_of((f"federated.listen=127.0.0.1:{self.port}", *keys)))

    def serving(self, *keys):
        """A server that hears its clients: also those without any patience."""
        server = self.serve(*keys)

        def heard():
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", self.port)):
                return True

        wait_until(heard, lambda: "the server does not listen")
        return server

    def client(self, i, *more, file=None, patience=30):
        return self.launch("client", f"127.0.0.1:{self.port}", "--patience", patience, "--data",
                           file or f"clients/{self.name(i)}.csv", *more)

    def ended(self, run, code=0):
        out, said = run.communicate(timeout=HANG)
        self.assertIn(code, (None, run.returncode), f"{out}{said}")
        return out, said

    def left(self, client):
        """Of a client that may have been away when training ended: nobody told it, and it gives up."""
        self.ended(client, None)
        self.assertIn(client.returncode, (0, 69))

    def result(self, server, code=0):
        return json.loads(self.ended(server, code)[0].splitlines()[-1])

    def record(self, run="job"):
        path = self.folder / "runs" / run / "rounds.jsonl"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return [json.loads(line) for line in text.splitlines() if text.endswith("\n") or line.endswith("}")]

    def wait_for_round(self, count, run="job"):
        wait_until(lambda: len(self.record(run)) >= count, lambda: f"no round {count}")

    def replayed(self, run="runs/job", code=0, files="clients/*.csv", more=()):
        return self.troupe("train", "--replay", run, "--json", "--quiet", "--overwrite", *sets_of(
            (f'federated.partition={{files="{files}"}}', *more)), code=code)

    def expect_replay(self, result):
        again = json.loads(self.replayed().stdout.splitlines()[-1])
        self.assertEqual(again["parameters_sha256"], result["parameters_sha256"])
        self.assertEqual(again["test_loss"], result["test_loss"])

    def kill(self, run):
        run.send_signal(signal.SIGKILL)
        run.wait()
