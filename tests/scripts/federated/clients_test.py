"""Federated runs whose clients dial in: real processes that come, go and are killed; the record, and its replay.

    python3 tests/scripts/federated/clients_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import csv
import signal
import struct

from client_runs import ClientRuns, relay_to, sets_of
from command import main
from patience import wait_until


class Rounds(ClientRuns):
    def test_clients_train_a_model_that_their_files_train_again(self):
        server = self.serve()
        clients = [self.client(i) for i in range(self.clients)]
        result = self.result(server)
        for i, client in enumerate(clients):
            _, said = self.ended(client)
            self.assertIn(f"{self.name(i)} is here with {self.rows_of_client} rows", said)
            self.assertIn("training has ended", said)
        self.assertEqual(result["steps"], 12)
        self.assertGreater(result["test_accuracy"], 0.85)
        record = self.record()
        self.assertEqual([x["round"] for x in record], list(range(1, 13)))
        for x in record:
            names = [one["name"] for one in x["clients"]]
            self.assertEqual(len(names), 4)
            self.assertEqual(names, sorted(names))
        self.assertGreater(len({tuple(one["name"] for one in x["clients"]) for x in record}), 1)
        self.assertEqual(result["clients"]["updates"], 48)
        self.expect_replay(result)

    def test_one_round_is_that_of_the_simulation(self):
        """Of all clients, who visit their rows in one step, so that no shuffle shows: the simulation's bits."""
        keys = ("federated.cohort=5", "federated.over_selection=0", "training.batch_size=all", "federated.local_epochs=3", "federated.rounds=3")
        server = self.serve(*keys)
        for i in range(self.clients):
            self.client(i)
        result = self.result(server)
        simulated = self.train("job.toml", *keys, "federated.round_time=", "output.directory=simulated",
                               'federated.partition={files="clients/*.csv"}')
        self.assertEqual(result["parameters_sha256"], simulated["parameters_sha256"])
        self.assertEqual(result["test_loss"], simulated["test_loss"])

    def test_killed_clients_stop_no_round(self):
        server = self.serve("federated.rounds=40")
        clients = {i: self.client(i) for i in range(self.clients)}
        for count in (3, 8, 14, 20):
            self.wait_for_round(count)
            victim = count % self.clients
            self.kill(clients[victim])
            self.wait_for_round(count + 2)
            clients[victim] = self.client(victim)
        result = self.result(server)
        self.assertEqual(result["steps"], 40)
        self.assertEqual(result["clients"]["rounds_void"], 0)
        for client in clients.values():
            self.left(client)
        self.expect_replay(result)

    def test_a_killed_server_loses_a_round_at_most(self):
        keys = ("federated.rounds=30",)
        server = self.serve(*keys)
        clients = [self.client(i) for i in range(self.clients)]
        for count in (6, 15):
            self.wait_for_round(count)
            self.kill(server)
            before = len(self.record())
            server = self.serve(*keys, more=("--resume",))
            self.wait_for_round(before)
        result = self.result(server)
        self.assertEqual(result["steps"], 30)
        self.assertEqual(len(self.record()), 30)
        for client in clients:
            self.left(client)
        self.expect_replay(result)

    def test_a_stopped_server_goes_on_and_its_clients_wait(self):
        server = self.serve("federated.rounds=1000")
        clients = [self.client(i) for i in range(self.clients)]
        self.wait_for_round(5)
        server.send_signal(signal.SIGINT)
        self.ended(server, 130)
        self.assertTrue(all(client.poll() is None for client in clients))
        server = self.serve("federated.rounds=20", more=("--resume",))
        result = self.result(server)
        for client in clients:
            self.left(client)
        self.expect_replay(result)

    def test_too_few_clients_make_void_rounds_and_then_an_end(self):
        server = self.serve("federated.min_count=3", "federated.round_time=1")
        clients = [self.client(i) for i in range(2)]
        out, said = self.ended(server, 69)
        self.assertIn("10 rounds in a row were void", out + said)
        for client in clients:
            self.assertIn("10 rounds in a row were void", self.ended(client, 69)[1])

    def test_a_server_without_clients_stops_at_once(self):
        server = self.serve("federated.round_time=100000")
        wait_until(lambda: (self.folder / "runs" / "job" / "events.jsonl").exists())
        server.send_signal(signal.SIGINT)
        self.ended(server, 130)

    def test_a_server_whose_clients_are_slow_stops_at_once(self):
        server = self.serve("federated.round_time=100000", "federated.local_epochs=100000")
        clients = [self.client(i) for i in range(self.clients)]
        for client in clients:
            self.said_until(client, "is here")
        server.send_signal(signal.SIGINT)
        self.ended(server, 130)

    def test_groups_are_merged_by_a_rule_and_replayed(self):
        keys = ("federated.cohort=5", "federated.over_selection=0", "federated.groups=0", "merge.rule=median")
        server = self.serve(*keys)
        for i in range(self.clients):
            self.client(i)
        result = self.result(server)
        self.assertEqual(sorted(one["group"] for one in self.record()[0]["clients"]), list(range(5)))
        self.expect_replay(result)

    def test_groups_of_clients_that_were_too_slow_are_empty_in_the_replay_too(self):
        server = self.serve("federated.cohort=3", "federated.over_selection=0.6", "federated.groups=0",
                            "merge.rule=median", "federated.min_count=3")
        for i in range(self.clients):
            self.client(i)
        result = self.result(server)
        self.assertTrue(any(one["group"] > 2 for x in self.record() for one in x["clients"]))
        self.expect_replay(result)

    def test_whole_visits_and_names_with_points_are_replayed(self):
        (self.folder / "clients" / "site-0.csv").rename(self.folder / "clients" / "site.zero.csv")
        server = self.serve("training.batch_size=all", "federated.cohort=5", "federated.over_selection=0")
        self.client(0, "--name", "site.zero", file="clients/site.zero.csv")
        for i in range(1, self.clients):
            self.client(i)
        result = self.result(server)
        self.assertIn("site.zero", {one["name"] for one in self.record()[0]["clients"]})
        self.expect_replay(result)


class Private(ClientRuns):
    keys = ("federated.sampling=poisson", "federated.clients=5", "federated.cohort=3", "federated.min_count=1", "federated.over_selection=0",
            "merge.weighting=equal", "privacy.clip_norm=0.5", "privacy.noise_multiplier=0.1", "privacy.delta=1e-3",
            "privacy.key_file=run.key")

    def test_a_secret_draw_invites_and_nothing_says_whom(self):
        server = self.serve(*self.keys)
        clients = [self.client(i) for i in range(self.clients)]
        result = self.result(server)
        for client in clients:
            self.ended(client)
        self.assertEqual(result["privacy"]["releases"], 12)
        self.assertAlmostEqual(result["privacy"]["sampling_rate"], 0.6)
        self.assertNotIn("clients", result)
        self.assertFalse((self.folder / "runs" / "job" / "rounds.jsonl").exists())
        rows = self.rows_of(self.folder / "runs" / "job" / "rounds.csv")
        for row in rows[1:]:
            told = dict(zip(rows[0], row))
            self.assertTrue(all(told[x] in ("", "0") for x in ("invited", "refused", "counted", "rows")), told)
        # The same key draws the same clients and noise, whenever they arrive.
        again = self.serve(*self.keys, more=("--overwrite",))
        for i in reversed(range(self.clients)):
            self.client(i)
        self.assertEqual(self.result(again)["parameters_sha256"], result["parameters_sha256"])

    def test_more_clients_than_the_sum_is_for_are_no_release(self):
        server = self.serve(*self.keys, "federated.clients=2", "federated.cohort=2", "federated.rounds=1000000")
        clients = [self.client(i) for i in range(4)]
        for client in clients:
            self.said_until(client, "is here")
        table = self.folder / "runs" / "job" / "rounds.csv"

        def is_void():
            rows = self.rows_of(table) if table.exists() else []
            return any(dict(zip(rows[0], row)).get("void") == "1" for row in rows[1:])
        wait_until(is_void)
        server.send_signal(signal.SIGINT)
        result = self.result(server, 130)
        self.assertLess(result["privacy"]["releases"], result["steps"])

    def test_who_could_be_replaced_is_not_private(self):
        _, said = self.ended(self.serve(*self.keys, "federated.sampling=uniform"), 78)
        self.assertIn("federated.sampling", said)


class Replay(ClientRuns):
    def test_names_the_first_client_and_round_that_differ(self):
        server = self.serve("federated.rounds=4")
        for i in range(self.clients):
            self.client(i)
        self.result(server)
        record = self.record()
        changed = record[1]["clients"][2]["name"]
        path = self.folder / "clients" / f"{changed}.csv"
        rows = self.rows_of(path)
        rows[7][20] = str(float(rows[7][20]) + 1)
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
        first = next(x["round"] for x in record if changed in [one["name"] for one in x["clients"]])
        found = self.replayed(code=76)
        self.assertIn(f"round {first}: the updates of 1 client were refused: client {changed} "
                      "(not the recorded one)", found.stderr)
        path.unlink()
        found = self.replayed(code=76)
        self.assertIn(f"round {first} has the client {changed}", found.stderr)

    def test_wants_the_clients_files(self):
        server = self.serve("federated.rounds=2")
        for i in range(self.clients):
            self.client(i)
        self.result(server)
        found = self.troupe("train", "--replay", "runs/job", code=2)
        self.assertIn("federated.partition={files=", found.stderr)


class Walk(ClientRuns):
    """What a client sends, as one who stands on a plain line sees it."""

    forms = {0: (1, 2), 1: (0, 0), 2: (2, 1), 3: (5, 0), 10: (0, 0)}  # kind: numbers, texts

    def sent_by(self, rows):
        """The kinds and lengths of all frames of a client with so many rows, and what is in them."""
        table = self.rows_of(self.folder / "clients" / "site-0.csv")
        name = f"rows{rows}"
        many = [table[1 + i % (len(table) - 1)] for i in range(rows)]
        with (self.folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([table[0], *many])
        server = self.serve("federated.cohort=1", "federated.over_selection=0", "federated.min_count=1",
                            "federated.rounds=3", f"output.directory=runs/{name}")
        wait_until(lambda: (self.folder / "runs" / name).exists())
        heard, relay = relay_to(self.port)
        client = self.launch("client", f"127.0.0.1:{relay}", "--data", f"{name}.csv", "--name", "walker")
        self.result(server)
        self.ended(client)
        found, at = [], 0
        while at < len(heard):
            magic, kind, zero, size, _, last = struct.unpack_from("<4sHHQQQ", heard, at)
            self.assertEqual((magic, zero, last), (b"TRPC", 0, 0))
            body = bytes(heard[at + 32:at + 32 + size])
            numbers, texts = self.forms[kind]
            values = struct.unpack_from(f"<{numbers + texts}Q", body)
            found.append((kind, size, values[:numbers], body[8 * (numbers + texts):]))
            at += 32 + size
        return found

    def test_no_size_depends_on_rows_and_no_field_is_unknown(self):
        few, many = self.sent_by(10), self.sent_by(10_000)
        shapes = [[(kind, size) for kind, size, *_ in sent if kind != 10] for sent in (few, many)]
        self.assertEqual(*shapes)
        self.assertEqual([kind for kind, _ in shapes[0]], [0, 1, *[2, 3] * 3])
        parameters = 64 * 10 + 10
        for sent, rows in ((few, 10), (many, 10_000)):
            for kind, size, numbers, rest in sent:
                if kind == 0:
                    self.assertEqual((numbers, rest), ((1,), b"walker"))
                elif kind == 2:
                    self.assertRegex(rest, b"^[0-9a-f]{64}$")
                elif kind == 3:
                    self.assertEqual(len(rest), 4 * parameters)
                    self.assertEqual(numbers[2], rows)
                    self.assertLessEqual(numbers[4], 2 * rows)


class Refusals(ClientRuns):
    def test_rows_that_are_not_as_the_server_reads_them(self):
        server = self.serve()
        for name, change, words in (("class", lambda rows: rows[3].__setitem__(-1, "eleven"), "eleven"),
                                    ("column", lambda rows: rows[0].__setitem__(5, "other"), "pixel5")):
            rows = self.rows_of(self.folder / "clients/site-0.csv")
            change(rows)
            with (self.folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(rows)
            _, said = self.ended(self.client(0, file=f"{name}.csv"), 65)
            self.assertIn(words, said)
            self.assertIn(f"{name}.csv", said)
        self.assertIn("missing.csv", self.ended(self.client(0, file="missing.csv"), 66)[1])
        self.kill(server)

    def test_keys_that_are_not_a_clients_or_a_servers(self):
        for keys, words in ((("data.file=clients/site-0.csv",), "data.file"),
                            (("federated.drop_out=0.1",), "federated.drop_out"),
                            (("data.table=",), "data.table"),
                            (("federated.certificate=a.pem",), "federated.certificate"),
                            (("training.class_weights=balanced",), "training.class_weights")):
            _, said = self.ended(self.serve(*keys), 78)
            self.assertIn(words, said)
        server = self.serving()
        _, said = self.ended(self.client(0, *sets_of(("model.kind=neural-network",))), 2)
        self.assertIn("--set model.kind", said)
        _, said = self.ended(self.client(0, *sets_of(("data.test_fraction=0.5",))), 2)
        self.assertIn("--set data.test_fraction", said)
        self.kill(server)

    def test_a_server_that_is_not_there(self):
        _, said = self.ended(self.client(0, patience=1), 69)
        self.assertIn("the server does not answer", said)
        self.ended(self.launch("client", "nowhere", "--data", "clients/site-0.csv"), 78)
        _, said = self.ended(self.client(0, "--name", "x" * 64), 2)
        self.assertIn("is no client's name", said)

    def test_a_port_in_use(self):
        server = self.serving()
        other = self.serve("output.directory=other")
        self.assertIn("the port is in use", self.ended(other, 73)[1])
        self.kill(server)


class Secured(ClientRuns):
    keys = ("federated.ca=ca.pem", "federated.certificate=hub.pem", "federated.key=hub.key",
            "federated.admit=site-*", "federated.denied=denied.txt", "federated.cohort=3",
            "federated.over_selection=0", "federated.rounds=5")

    def setUp(self):
        super().setUp()
        self.troupe("certs", "ca")
        self.troupe("certs", "issue", "hub", "site-0", "site-1", "site-2", "site-3", "visitor")
        self.write("denied.txt", "# of last year\nsite-3\n")

    def secured(self, i, certificate=None, more=("--server-name", "hub")):
        name = certificate or self.name(i)
        return self.client(i, "--ca", "ca.pem", "--certificate", f"{name}.pem", "--key", f"{name}.key", *more)

    def test_names_are_proven(self):
        server = self.serving(*self.keys)
        for client, code, words in (
                (self.secured(3), 77, "on its list of clients that it refuses"),
                (self.secured(4, "visitor"), 77, "admits clients called site-*, not visitor"),
                (self.secured(0, more=("--server-name", "hub", "--name", "site-1")), 77,
                 "does not prove the name site-1"),
                (self.secured(0, more=()), 77, "127.0.0.1 proves itself with a certificate for hub"),
                (self.client(0, patience=0), 77,
                 "secures its connections (TLS), and this one does not")):
            self.assertIn(words, self.ended(client, code)[1])
        clients = [self.secured(i) for i in range(3)]
        result = self.result(server)
        for client in clients:
            self.ended(client)
        self.assertEqual({one["name"] for x in self.record() for one in x["clients"]},
                         {"site-0", "site-1", "site-2"})
        self.expect_replay(result)

    def test_a_server_that_is_not_secured_is_not_believed(self):
        server = self.serving()
        self.assertIn("does not secure its connections", self.ended(self.secured(0), 77)[1])
        self.kill(server)

    def test_a_client_put_on_the_list_leaves(self):
        server = self.serve(*self.keys, "federated.rounds=1000", "federated.min_count=2", "federated.round_time=2")
        clients = [self.secured(i) for i in range(3)]
        self.wait_for_round(3)
        self.write("denied.txt", "site-1\n")
        self.assertIn("put this client on its list", self.ended(clients[1], 77)[1])
        self.wait_for_round(len(self.record()) + 3)
        self.kill(server)
        last = [one["name"] for one in self.record()[-1]["clients"]]
        self.assertEqual(last, ["site-0", "site-2"])


if __name__ == "__main__":
    main()
