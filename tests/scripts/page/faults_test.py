"""A page in a browser while processes of the run die: what it shows is what `troupe status` says.

    python3 tests/scripts/page/faults_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...

Four processes train. One is killed and started again: both are events on the page. Then one is
stopped, so that no figure of training moves, and the page, `troupe status --json` and /metrics are
held against each other.
"""

import json
import os
import re
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from served_page import ADDRESS, BrowserTest, Served  # noqa: E402
from cluster_run import (Cluster, cluster_text, nodes_on_loopback, settings_of,  # noqa: E402
                         timeouts)
from command import main  # noqa: E402
from patience import wait_until  # noqa: E402

STILL_SECONDS = 4  # processes report once a second
SHAPES = [(1, 1), (1, 1), (1, 1), (1, 1)]
# What has another value with every question, and the job's name, which the page has beside it.
MOVING = {"job", "seconds", "still_seconds", "seconds_left", "steps_per_second", "samples_per_second",
          "last_heard_seconds", "waits_for", "explanation", "behind", "bytes_per_second", "late_seconds",
          "writes_for_seconds", "works_at", "slow", "seconds_elapsed", "goodput"}


class Director:
    """The page of a director that was started as a node, to be asked as what `Served` starts."""

    host, scheme, key = Served.host, "http", None
    url, link, get, json, step = Served.url, Served.link, Served.get, Served.json, Served.step

    def __init__(self, process):
        def said():
            return "\n".join(line for _, line in list(process.lines))
        wait_until(lambda: ADDRESS.search(said()), said)
        self.port = int(ADDRESS.search(said()).group(3))


def at_rest(x):
    """Of an answer what stays as it is while nothing moves."""
    if isinstance(x, dict):
        return {key: at_rest(value) for key, value in x.items() if key not in MOVING}
    return [at_rest(one) for one in x] if isinstance(x, list) else x


class Faults(BrowserTest):
    def start(self):
        nodes = nodes_on_loopback(SHAPES)
        text = cluster_text(nodes, settings_of(1_000_000)
                            + f'[output]\ndirectory = "{self.folder}/faults"\n', timeouts(60))
        cluster = Cluster(text, nodes, [], self.folder)
        self.addCleanup(cluster.leave)
        for node in nodes:
            page = ["--dashboard-at=0"] if node.name == "main" else []
            cluster.start(node.name, f"--trace={node.name}.json", *page)
        return cluster, Director(cluster.director())

    def events(self):
        return self.driver.find_element("id", "events").text

    def status(self):
        return self.result_of("status", "cluster.toml")

    def standing_still(self, page):
        """The status, when every process has reported that nothing moves, and the browser knows."""
        self.wait(f"before.still_seconds >= {STILL_SECONDS}")
        status = at_rest(self.status())
        self.assertEqual(at_rest(page.json("/api/status")["status"]), status)
        return status

    def test_a_loss_and_a_return_are_events_and_all_figures_agree(self):
        cluster, page = self.start()
        self.open(page)
        self.wait("Number(document.body.dataset.drawn) > 0")
        cluster.processes["left"].signal(signal.SIGKILL)
        self.wait("document.getElementById('events').innerText.includes('left was lost')")
        step = page.step()
        wait_until(lambda: page.step() > step, cluster.messages)
        cluster.start("left", "--trace=left.json")
        self.wait("/left joined/.test(document.getElementById('events').innerText)")
        self.wait("[...document.querySelectorAll('#company-body tbody tr')].every("
                  "x => x.innerText.includes('takes part'))")
        wait_until(lambda: all(x["step"] for x in self.status()["nodes"]), cluster.messages)
        self.js("document.getElementById('events').scrollIntoView({block: 'end'})")
        self.take_picture("page-events")
        self.expect_figures_to_agree(cluster, page)
        self.expect_no_error()
        cluster.director().signal(signal.SIGINT)
        cluster.result()
        self.expect_files(cluster)

    def expect_figures_to_agree(self, cluster, page):
        cluster.processes["right"].signal(signal.SIGSTOP)
        try:
            status = self.standing_still(page)
            self.wait(f"Number(document.body.dataset.drawn) === {status['step']}")
            self.wait("document.getElementById('verdict').innerText.startsWith('Right holds up')")
            self.driver.find_element("tag name", "body").send_keys("p")
            self.expect_tiles(status)
            self.expect_tables(status)
            self.expect_metrics(status, page)
            self.driver.find_element("tag name", "body").send_keys("p")
        finally:
            cluster.processes["right"].signal(signal.SIGCONT)
        self.wait(f"Number(document.body.dataset.drawn) > {status['step']}")

    def expect_tiles(self, status):
        shown = self.shown()
        row = status["newest_row"] or {}
        for key, value in (("train_loss", status["train_loss"]),
                           ("test_accuracy", row.get("test_accuracy")),
                           ("learning_rate", status["learning_rate"])):
            if value is not None and key in shown:
                self.assertEqual(shown[key], value, key)
        self.assertIn("test_accuracy", shown)
        self.assertIn(f'step {status["step"]:,} of', self.driver.find_element("id", "step").text)

    def expect_tables(self, status):
        def rows(place):
            return self.js("return [...document.querySelectorAll('#' + arguments[0] + ' tbody tr')]"
                           ".map(x => [...x.querySelectorAll('td')].map(y => y.innerText))", place)
        self.assertEqual([(x[0], x[1], x[2], x[4], x[5], x[6]) for x in rows("company-body")],
                         [(x["name"], x["role"], x["state"], f'{x["step"]:,}', str(x["slices"]),
                           str(x["spans"])) for x in status["nodes"]])
        self.assertEqual({x[0]: (x[1], x[2]) for x in rows("trainers")},
                         {f'{x["process"]}/{x["replica"]}': (f'{x["results"]:,}',
                                                             f'{x["last_count"]:,}')
                          for x in status["trainers"]})

    def expect_metrics(self, status, page):
        metrics = {name: float(value) for name, value in
                   re.findall(r"^(troupe_\S+) (\S+)$", page.get("/metrics")[1], re.MULTILINE)}
        row = status["newest_row"]
        for name, value in (("troupe_step", status["step"]),
                            ("troupe_train_loss", status["train_loss"]),
                            ("troupe_replicas_lost_total", status["replicas_lost"]),
                            ("troupe_wire_sent_bytes_total", status["bytes_sent"]),
                            ("troupe_test_accuracy_ratio", row["test_accuracy"])):
            if value is not None:
                self.assertEqual(metrics[name], value, name)
        for node in status["nodes"]:
            self.assertEqual(metrics[f'troupe_node_step{{node="{node["name"]}"}}'], node["step"])
            self.assertEqual(metrics[f'troupe_node_takes_part{{node="{node["name"]}"}}'], 1)

    def expect_files(self, cluster):
        events = [json.loads(line) for line in self.read("faults", "events.jsonl").splitlines()]
        told = " ".join(x["text"] for x in events)
        self.assertIn("left was lost", told)
        self.assertIn("left joined", told)
        self.assertEqual((events[0]["kind"], events[-1]["kind"]), ("begin", "end"))
        files = [f"{name}.json" for name in cluster.nodes]
        self.troupe("trace", "merge", *files, "-o", "all.json")
        names = {x["args"]["name"] for x in json.loads(self.read("all.json"))["traceEvents"]
                 if x["name"] == "process_name"}
        self.assertEqual(names, set(cluster.nodes))


if __name__ == "__main__":
    main()
