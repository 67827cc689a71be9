"""Clients that are programs of others: in C, in Python through ctypes, with a training of their own; and the calls' errors.

    python3 tests/scripts/federated/client_library_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import csv
import ctypes
import importlib.util
import json
import math
import os
import random
import re
import subprocess
import sys
import threading
from pathlib import Path

from client_runs import ClientRuns
from command import BUILD, SOURCE, main
from patience import HANG, wait_until

LIBRARY = os.path.join(BUILD, "app", "libtroupe_client.so")
EXAMPLES = Path(SOURCE, "examples", "clients")
specification = importlib.util.spec_from_file_location("client", EXAMPLES / "client.py")
example = importlib.util.module_from_spec(specification)
specification.loader.exec_module(example)
QUIET = example.SAY()
ONE_ROUND = ("federated.cohort=5", "federated.over_selection=0")


class Client:
    """The table of functions, for one client."""

    def __init__(self, server, settings="", say=QUIET):
        self.calls = example.load(LIBRARY)
        self.say = say
        self.kept = []
        self.handle = self.calls.open(server and server.encode(), settings.encode(), say, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.calls.close(self.handle)

    def error(self):
        return self.calls.error(self.handle).decode()

    def table(self):
        text = self.calls.table(self.handle)
        return text and json.loads(text)

    def file(self, path, sets=None):
        return self.calls.file(self.handle, str(path).encode(), sets and sets.encode())

    def rows(self, features, count, targets, each=1):
        return self.calls.rows(self.handle, example.floats(features), count, len(features) // max(count, 1),
                               example.floats(targets), each)

    def trainer(self, train):
        self.kept.append(example.TRAINER(train))
        return self.calls.trainer(self.handle, self.kept[-1], None)

    def run(self):
        return self.calls.run(self.handle)

    def stop(self):
        self.calls.stop(self.handle)


class Library(ClientRuns):
    def setUp(self):
        super().setUp()
        self.address = f"127.0.0.1:{self.port}"

    def expect_error(self, client, code, got, *words):
        self.assertEqual(got, code, client.error())
        for word in words:
            self.assertIn(word, client.error())

    def test_the_library_needs_neither_caf_nor_python_and_shows_one_function(self):
        needed = subprocess.run(["ldd", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertIn("libcrypto", needed)
        self.assertNotRegex(needed, "caf|python|spdlog|not found")
        shown = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertEqual([line.split()[-1] for line in shown.splitlines() if " A " not in line],
                         ["troupe_client_calls@@troupe_client_1"])
        self.assertFalse(ctypes.CDLL(LIBRARY).troupe_client_calls(2))

    def test_the_header_is_plain_c_and_its_table_is_that_of_the_example_in_python(self):
        text = Path(SOURCE, "include", "troupe", "client.h").read_text(encoding="utf-8")
        names = re.findall(r"\(\*(\w+)\)\(", text.split("struct troupe_client_functions {")[1].split("\n};")[0])
        self.assertEqual(names, [name for name, _ in example.Calls._fields_])
        self.assertEqual(len(names), 9)
        for language in (["gcc", "-std=c99", "-x", "c"], ["g++", "-std=c++20", "-x", "c++"]):
            subprocess.run([*language, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-"], input=text,
                           text=True, check=True)

    def test_clients_in_c_python_and_of_the_command_train_one_model(self):
        """Two in C, two in Python with rows that they read, one of the command: the bits of five of the command."""
        server = self.serve(*ONE_ROUND)
        clients = [self.start(f"{BUILD}/bin/example_client", self.address, f"clients/{self.name(i)}.csv") for i in (0, 1)]
        clients += [self.start(sys.executable, "-B", str(EXAMPLES / "client.py"), LIBRARY, self.address,
                               f"clients/{self.name(i)}.csv") for i in (2, 3)]
        self.started += clients
        clients.append(self.client(4))
        result = self.result(server)
        for client in clients:
            _, said = self.ended(client)
            self.assertIn(f"is here with {self.rows_of_client} rows", said)
            self.assertIn("training has ended", said)
        self.assertGreater(result["test_accuracy"], 0.85)
        self.assertEqual(result["clients"]["updates"], 60)
        self.expect_replay(result)  # by the files alone

    def test_a_table_tells_how_rows_are_read_and_rows_that_are_not_so_are_refused(self):
        server = self.serve("federated.round_time=1000")
        with Client(self.address, "name = 'site-0'") as client:
            table = client.table()
            self.assertEqual(table["parameters"], 650)
            self.assertEqual(table["features"], [f"pixel{i}" for i in range(64)])
            self.assertEqual(table["classes"], [str(i) for i in range(10)])
            self.assertEqual(table["targets"], ["digit"])
            self.assertEqual(client.rows([0.0] * 126, 2, [1, 2]), 0)
            self.expect_error(client, 65, client.run(), "63 features", "64")
            self.assertEqual(client.rows([0.0] * 128, 2, [1, 10]), 0)
            self.expect_error(client, 65, client.run(), "row 1 has no class", "10")
            self.assertEqual(client.rows([0.0] * 128, 2, [1, 0.5]), 0)
            self.expect_error(client, 65, client.run(), "row 1 has no class")
            self.assertEqual(client.rows([0.0] * 127 + [math.nan], 2, [1, 2]), 0)
            self.expect_error(client, 65, client.run(), "row 1", "pixel63")
            self.assertEqual(client.rows([0.0] * 128, 2, [1, 2, 3, 4], 2), 0)
            self.expect_error(client, 65, client.run(), "2 targets")
            self.assertEqual(client.file("missing.csv"), 0)
            self.expect_error(client, 66, client.run(), "missing.csv")
            self.assertEqual(client.file(self.folder / "clients" / "site-0.csv", "training.epochs=3"), 0)
            self.expect_error(client, 2, client.run(), "training.epochs=3")
        self.kill(server)

    def test_calls_that_make_no_sense(self):
        for server, settings, words in ((None, "", "address"), ("nowhere", "", "nowhere"), ("a:1", "name = 3", "name"),
                                        ("a:1", "nme = 'x'", "nme"), ("a:1", "= 3", "settings"),
                                        ("a:1", "name = 'two words'", "two words"), ("a:1", "ca = 'x'", "all three"),
                                        ("a:1", "patience = -1", "patience")):
            with Client(server, settings) as client:
                self.assertIn(words, client.error())
                self.assertNotEqual(client.run(), 0)
                self.assertNotEqual(client.file("x.csv"), 0)
                self.assertIsNone(client.table())
                self.assertIn(words, client.error())
                client.stop()
        with Client(self.address, "name = 'a'\npatience = 0") as client:
            self.expect_error(client, 2, client.run(), "neither rows nor a training")
            self.expect_error(client, 2, client.rows([], 0, []), "no rows")
            self.expect_error(client, 2, client.calls.trainer(client.handle, example.TRAINER(), None), "no trainer")
            self.assertEqual(client.trainer(lambda *_: 0), 0)
            self.expect_error(client, 69, client.run(), self.address)
            self.assertIsNone(client.table())
        calls = example.load(LIBRARY)
        self.assertEqual(calls.run(None), 2)
        self.assertEqual(calls.error(None), b"")
        calls.close(None)

    def test_a_client_that_was_stopped_ends_at_once(self):
        with Client(self.address, "name = 'a'") as client:
            self.assertEqual(client.trainer(lambda *_: 0), 0)
            threading.Timer(0.3, client.stop).start()
            self.assertEqual(client.run(), 0)
            self.assertEqual(client.run(), 0)
            self.assertIsNone(client.table())
            self.assertIn("stopped", client.error())

    def test_trainings_that_fail_end_their_client_alone(self):
        server = self.serve("federated.min_count=1", "federated.cohort=1", "federated.over_selection=0",
                            "federated.rounds=3", "federated.round_time=1")

        def raises(*_):
            return 7

        def replaces(_, order, update):
            update.contents.values, update.contents.rows = order.contents.start, 3
            return 0

        for train, code, words in ((raises, 70, "ended with 7"), (lambda *_: 0, 2, "after 0 rows"), (replaces, 2, "update->values")):
            with Client(self.address, "name = 'a'") as client:
                client.trainer(train)
                self.expect_error(client, code, client.run(), words)

        asked = []

        def gives_no_numbers(_, order, update):
            asked.append(order.contents.round)
            update.contents.rows = 3
            return 0

        said = []
        say = example.SAY(lambda _, text: said.append(text.decode()))
        with Client(self.address, "name = 'a'", say) as client:
            client.trainer(gives_no_numbers)
            ends = threading.Thread(target=client.run)
            ends.start()
            wait_until(lambda: any("not finite" in text for text in said), lambda: f"{said}")
            client.stop()
            ends.join(HANG)
        self.assertTrue(asked)
        honest = [self.client(i) for i in range(2)]
        self.assertEqual(self.result(server)["steps"], 3)
        for one in honest:
            self.left(one)

    def test_a_training_that_is_not_wanted_any_more_is_told(self):
        server = self.serve("federated.min_count=1", "federated.cohort=1", "federated.over_selection=0",
                            "federated.rounds=1", "federated.round_time=100000")
        begun, stopped = threading.Event(), threading.Event()

        def waits(_, order, update):
            begun.set()
            wait_until(lambda: order.contents.stop_requested(order))
            stopped.set()
            update.contents.rows = 1
            return 0

        with Client(self.address, "name = 'a'") as client:
            client.trainer(waits)
            ends = threading.Thread(target=client.run)
            ends.start()
            self.assertTrue(begun.wait(HANG))
            client.stop()
            ends.join(HANG)
            self.assertTrue(stopped.is_set(), "the training goes on behind run")
        self.kill(server)


class Regression(ClientRuns):
    """Five clients fit y = 2 a - 3 b + 1."""

    standardized = False
    gaps = ""  # what the sample says of cells without a value

    def setUp(self):
        super().setUp()
        chance = random.Random(5)

        def rows(count):
            for _ in range(count):
                a, b = chance.randint(-64, 64) / 64, chance.randint(-64, 64) / 64
                yield "" if self.gaps and chance.random() < 0.1 else a, b, 2 * a - 3 * b + 1

        for name in [*(f"clients/{self.name(i)}.csv" for i in range(5)), "test.csv", "sample.csv"]:
            with open(self.folder / name, "w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([("a", "b", "y"), *rows(60)])
        self.write("sample.toml", f'[data]\nfile = "sample.csv"\nstandardize = {str(self.standardized).lower()}\n{self.gaps}'
                                  '[model]\nkind = "linear-regression"\n')
        (self.folder / "table.json").unlink()
        self.troupe("data", "table", "sample.toml", "-o", "table.json")
        self.write("job.toml", (self.folder / "job.toml").read_text().replace("softmax-regression", "linear-regression"))


class OwnTraining(Regression):
    def test_the_example_in_c_plus_plus(self):
        server = self.serve("federated.rounds=30", "data.standardize=false")
        clients = [self.start(f"{BUILD}/bin/example_own_training", f"127.0.0.1:{self.port}",
                              f"clients/{self.name(i)}.csv", self.name(i)) for i in range(5)]
        self.started += clients
        result = self.result(server)
        self.assertLess(result["test_loss"], 1e-3)
        for client in clients:
            self.assertIn("here with a training of its own", self.ended(client)[1])
        again = self.replayed(code=76)
        self.assertIn("not the recorded one", again.stdout + again.stderr)


class ScaledRows(Regression):
    standardized = True

    def test_numbers_in_memory_are_scaled_as_those_in_files(self):
        server = self.serve(*ONE_ROUND, "federated.rounds=6")
        names, *_ = self.rows_of(self.folder / "clients" / "site-0.csv")
        ends = []
        for i in range(5):
            if i > 2:
                ends.append(self.client(i))
                continue
            _, *rows = self.rows_of(self.folder / "clients" / f"{self.name(i)}.csv")
            client = Client(f"127.0.0.1:{self.port}", f"name = '{self.name(i)}'")
            self.addCleanup(client.__exit__)
            table = client.table()
            self.assertEqual([*table["features"], *table["targets"]], names)
            self.assertEqual(table["classes"], [])
            self.assertEqual(client.rows([float(x or "nan") for row in rows for x in row[:2]], len(rows), [float(row[2]) for row in rows]), 0)
            ends.append(threading.Thread(target=client.run))
            ends[-1].start()
        result = self.result(server)
        for one in ends:
            one.join(HANG) if isinstance(one, threading.Thread) else self.ended(one)
        self.expect_replay(result)


class FilledRows(ScaledRows):
    """Gaps are filled by the table's mean, not by the client's own."""

    gaps = 'missing = "mean"\n'


if __name__ == "__main__":
    main()
