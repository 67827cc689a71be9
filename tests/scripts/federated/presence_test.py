"""What a server shows of the clients that dial in: on its page, in its metrics, and to people who wait.

    python3 tests/scripts/federated/presence_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import json
import re
import signal
import sys

sys.path.insert(0, f"{sys.path[0]}/../page")
from client_runs import ClientRuns, sets_of
from command import main
from patience import wait_until
from served_page import Served

PRIVATE = ("federated.sampling=poisson", "federated.clients=5", "federated.cohort=3", "federated.min_count=1",
           "federated.over_selection=0", "merge.weighting=equal", "privacy.clip_norm=0.5", "privacy.noise_multiplier=0.1",
           "privacy.delta=1e-3", "privacy.key_file=run.key")


class Presence(ClientRuns):
    def watched(self, *keys):
        served = Served("train", "job.toml", "--dashboard-at=0",
                        *sets_of((f"federated.listen=127.0.0.1:{self.port}", *keys)), folder=self.folder)
        self.addCleanup(served.end)
        return served

    @staticmethod
    def shown(served):
        return (served.json("/api/status")["status"] or {}).get("clients") or {}

    @staticmethod
    def metrics(served):
        text = served.get("/metrics")[1]
        return {name: float(value) for name, value in re.findall(r"^troupe_(clients?_\w+) (\S+)$", text, re.MULTILINE)}

    def test_who_is_here_what_a_round_waits_for_and_what_was_sent(self):
        served = self.watched("federated.rounds=1000000", "federated.round_time=100000", "federated.cohort=5",
                              "federated.over_selection=0", "federated.min_count=5")
        clients = [self.client(i, "--quiet") for i in range(3)]
        wait_until(lambda: self.shown(served).get("here") == 3)
        status = served.json("/api/status")["status"]
        self.assertEqual(status["waits_for"], "clients: 3 of 5 here")
        here = status["clients"]
        self.assertTrue(here["gathers"])
        self.assertEqual([here[x] for x in ("wanted", "invited", "answered", "counted", "refused")], [5, 0, 0, 0, 0])
        # Each has said who it is, and was told the table and the job.
        self.assertGreater(here["came_bytes"], 3 * 64)
        self.assertGreater(here["sent_bytes"], 3 * 1000)
        wait_until(lambda: "waiting for clients: 3 of 5 here" in served.said, lambda: served.said)
        # Nothing but pings is sent while all wait: sums without the bytes of a lost client would be smaller.
        before = self.shown(served)
        self.kill(clients[0])
        wait_until(lambda: self.shown(served).get("here") == 2)
        after = self.shown(served)
        for key in ("came_bytes", "sent_bytes"):
            self.assertGreaterEqual(after[key], before[key], key)
        clients[0] = self.client(0, "--quiet")
        clients += [self.client(i, "--quiet") for i in (3, 4)]
        wait_until(lambda: self.shown(served).get("counted", 0) >= 50)
        metrics = self.metrics(served)
        self.assertEqual(metrics["clients_here"], 5)
        self.assertEqual(metrics["clients_wanted"], 5)
        self.assertGreaterEqual(metrics["client_updates_total"], 50)
        self.assertEqual(metrics["client_updates_refused_total"], 0)
        # Each update is 650 numbers.
        self.assertGreater(metrics["client_came_bytes_total"], 2600 * metrics["client_updates_total"])
        self.kill(clients[2])
        wait_until(lambda: self.shown(served).get("here") == 4)
        after = self.shown(served)
        clients[2] = self.client(2, "--quiet")
        wait_until(lambda: self.shown(served).get("counted", 0) > after["counted"] + 10)
        served.process.send_signal(signal.SIGINT)
        self.assertEqual(served.end(), 130)
        for client in clients:
            client.kill()

    def test_who_dropped_out_is_named(self):
        served = self.watched("federated.rounds=1000000", "federated.round_time=30", "federated.cohort=5", "federated.min_count=2",
                              "federated.over_selection=0", "federated.local_epochs=100000")
        clients = [self.client(i, "--quiet") for i in range(5)]
        wait_until(lambda: self.shown(served).get("invited") == 5)
        self.kill(clients[1])
        self.kill(clients[3])
        wait_until(lambda: "site-1, site-3 dropped out" in served.said, lambda: served.said, seconds=300)
        events = [json.loads(line) for line in self.read("runs/job/events.jsonl").splitlines()]
        self.assertTrue(any("site-1, site-3 dropped out" in x["text"] for x in events))

    def test_of_a_private_run_only_who_is_here(self):
        served = self.watched(*PRIVATE, "federated.rounds=1000000")
        for i in range(5):
            self.client(i, "--quiet")
        wait_until(lambda: self.shown(served).get("here") == 5 and served.step() > 20)
        here = self.shown(served)
        self.assertEqual([here[x] for x in ("invited", "answered", "counted", "refused", "came_bytes", "sent_bytes")], [0] * 6)
        self.assertNotIn("updates:", served.json("/api/status")["status"]["waits_for"])
        metrics = self.metrics(served)
        self.assertEqual({name for name, value in metrics.items() if value}, {"clients_here", "clients_wanted"})
        self.assertNotIn("dropped out", served.said)

    def test_a_private_round_to_which_nobody_comes_has_an_end(self):
        server = self.serve(*PRIVATE, "federated.round_time=1")
        out, said = self.ended(server, 69)
        self.assertIn("no client came", out + said)

    def test_a_private_run_that_is_stopped_before_anybody_came_has_released_nothing(self):
        server = self.serve(*PRIVATE, "federated.round_time=100000")
        wait_until(lambda: (self.folder / "runs" / "job" / "events.jsonl").exists())
        server.send_signal(signal.SIGINT)
        self.assertEqual(self.result(server, 130)["privacy"]["releases"], 0)


if __name__ == "__main__":
    main()
