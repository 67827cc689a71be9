"""The page of a run: what it serves, to whom, and what a browser shows of it.

    python3 tests/scripts/page/page_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...

Chromium (headless) draws the page of a finished run, whose figures are compared with summary.json;
without Chromium and its driver that part is skipped. Metrics are read by the parsers of Prometheus'
own Python client.
"""

import json
import os
import re
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from served_page import BrowserTest, PageTest  # noqa: E402
from cluster_run import child_of  # noqa: E402
from command import JOB, SOURCE, main, rows_of_csv  # noqa: E402
from patience import wait_until  # noqa: E402

try:
    from prometheus_client.openmetrics import parser as openmetrics
    from prometheus_client import parser as prometheus
except ImportError:
    openmetrics = None


FEDERATED = os.path.join(SOURCE, "examples", "federated_digits.toml")
PRIVATE = os.path.join(SOURCE, "examples", "private_digits.toml")
SPLIT_JOB = """
[data]
file = "{data}/digits.csv.gz"
test_fraction = 0.25
standardize = true
[model]
hidden = [256, 256, 256]
cuts = 2
[training]
batch_size = 256
slices = 8
epochs = 1000000
[parallel]
data = 2
pipeline = 2
tensor = 2
"""


class Answers(PageTest):
    def test_a_finished_run_is_shown_by_its_files(self):
        served = self.serve("watch", "run", "--address", "0")
        status = served.json("/api/status")
        self.assertEqual(status["job"], "digits")
        self.assertEqual(status["status"]["phase"], "finished")
        self.assertEqual(status["status"]["test_accuracy"], self.summary["test_accuracy"])
        rows = served.json("/api/curves")["rows"]
        self.assertEqual([x["epoch"] for x in rows], [1, 2, 3, 4])
        self.assertEqual(rows[-1]["test_loss"], self.summary["test_loss"])
        self.assertEqual(served.end(), 130)

    def test_training_is_shown_while_it_lasts_with_the_same_bits(self):
        served = self.serve("train", JOB, "--set", "training.epochs=1000000", "--set",
                            "output.directory=live", "--dashboard-at=0")
        wait_until(lambda: (served.json("/api/status")["status"] or {}).get("epoch", 0) > 1)
        status = served.json("/api/status")
        self.assertEqual(status["source"], "live")
        self.assertEqual(status["status"]["phase"], "training")
        self.assertGreater(len(served.json("/api/curves")["rows"]), 0)
        self.assertIn("troupe_step ", served.get("/metrics")[1])
        self.assertEqual(served.end(), 130)
        alone = self.train(JOB, "training.epochs=4", "output.directory=again", more=["--dashboard-at=0"])
        self.assertEqual(alone["parameters_sha256"], self.summary["parameters_sha256"])

    def test_a_cluster_is_visited(self):
        cluster = self.launch_and_train("cluster")
        served = self.serve("watch", "cluster.toml", "--address", "0")
        wait_until(lambda: (served.json("/api/status")["status"] or {}).get("step", 0) > 0)
        for page in (served, cluster):
            nodes = page.json("/api/status")["status"]["nodes"]
            self.assertEqual([x["name"] for x in nodes], ["main", "left"])
        self.assertEqual(cluster.end(), 130)
        wait_until(lambda: served.json("/api/status")["problem"])
        self.assertEqual(served.end(), 130)

    @unittest.skipUnless(openmetrics, "python3-prometheus-client is missing")
    def test_metrics_are_read_by_prometheus_own_parsers(self):
        served = self.serve("watch", "run", "--address", "0")
        plain = served.get("/metrics")[1]
        strict = served.get("/metrics", Accept="application/openmetrics-text")[1]
        found = [{(x.name, tuple(sorted(x.labels.items()))): x.value
                  for family in parsed for x in family.samples}
                 for parsed in (prometheus.text_string_to_metric_families(plain),
                                openmetrics.text_string_to_metric_families(strict))]
        self.assertEqual(*found)
        self.assertEqual(found[0][("troupe_step", ())], self.summary["steps"])

    def test_the_example_dashboard_asks_for_what_there_is(self):
        panels = json.loads(self.read(SOURCE, "examples", "monitoring", "grafana.json"))["panels"]
        targets = [(re.findall(r"troupe_\w+", x["expr"]), re.findall(r"{{(\w+)}}", x["legendFormat"]))
                   for panel in panels for x in panel["targets"]]
        self.assertGreater(len(targets), 15)
        self.assertTrue(all(names for names, _ in targets), targets)
        served = self.launch_and_train("figures")

        def missing():
            """Figures of replicas and of test rows come with the first report and the first row."""
            there = {name: set(re.findall(r'(\w+)="', labels)) for name, labels in re.findall(
                r"^(troupe_\w+)(\S*) ", served.get("/metrics")[1], re.MULTILINE)}
            return [x for x in targets if any(
                name not in there or not set(x[1]) <= there[name] for name in x[0])]

        wait_until(lambda: not missing(), lambda: str(missing()))
        self.assertEqual(served.end(), 130)

    def test_wrong_addresses_are_refused_with_what_to_do(self):
        for address, code, words in (("nonsense", 2, ""),
                                     ("99999", 2, "")):
            end = self.troupe("watch", "run", "--address", address, code=code)
            self.assertIn(words, end.stderr)
        taken = self.serve("watch", "run", "--address", "0")
        end = self.troupe("watch", "run", "--address", str(taken.port), code=73)
        end = self.troupe("watch", ".", code=66)


class Browser(BrowserTest):
    def test_the_page_shows_the_figures_of_the_run(self):
        served = self.serve("watch", "run", "--address", "0")
        self.open(served)
        shown = self.shown()
        for key in ("train_loss", "test_accuracy", "samples_per_second"):
            self.assertEqual(shown[key], self.summary[key], key)
        text = self.driver.find_element("tag name", "main").text
        self.assertIn("Finished: " + format(self.summary["steps"], ",") + " steps", text)
        self.assertEqual(self.js(
            "return [...document.querySelectorAll('.chart:not([hidden]) h3')]"
            ".map(x => x.firstChild.textContent)"), ["Loss", "Accuracy", "Auc"])
        self.assertEqual(self.js("return charts['metric auc'].points.at(-1)[2]"),
                         self.summary["metrics"]["test_auc"])
        self.assertEqual(self.js(
            "return charts.loss.points.filter(x => is_number(x[3])).length"), 4)
        self.driver.find_element("id", "as-table").click()
        self.assertIn("0.9", self.driver.find_element("id", "rows").text)
        self.assertIn("test auc", self.driver.find_element("id", "rows").text)
        self.expect_no_error()
        self.take_picture("page-finished")

    def test_columns_that_a_model_goes_by_are_bars(self):
        self.troupe("train", JOB, "--quiet", "--set", "output.directory=explained", "--set", "training.epochs=2")
        found = self.result_of("importance", "explained", "--repeats", "1")
        columns = sorted(found["columns"], key=lambda one: -one["loss"])
        self.open(self.serve("watch", "explained", "--address", "0"))
        bars = self.js("return [...document.querySelectorAll('rect[data-column]')]"
                       ".map(x => [x.dataset.column, Number(x.getAttribute('width'))])")
        self.assertEqual([name for name, _ in bars], [one["column"] for one in columns[:len(bars)]])
        for (_, width), one in zip(bars, columns):
            self.assertAlmostEqual(width, 240 * max(one["loss"], 0) / columns[0]["loss"], delta=1e-6)
        self.assertIn("accuracy falls by", self.driver.find_element("id", "importance").text.lower())
        self.expect_no_error()
        self.take_picture("page-importance")

    def test_a_phone_needs_no_sideways_scrolling_and_keys_work(self):
        served = self.serve("watch", "run", "--address", "0")
        self.on_a_phone()
        self.open(served)
        self.expect_that_a_phone_has_room()
        self.take_picture("page-phone")
        theme = "return document.documentElement.dataset.theme"
        first = self.js(theme)
        self.driver.find_element("tag name", "body").send_keys("t")
        self.assertNotEqual(self.js(theme), first)
        self.expect_no_error()

    def test_who_holds_up_a_run_is_said_first(self):
        served = self.launch_and_train("held")
        left = child_of(served.process.pid, "left")
        self.open(served)
        os.kill(left, signal.SIGSTOP)
        try:
            self.wait("document.getElementById('verdict').innerText.startsWith('Left holds up the run: ')")
            said = self.driver.find_element("id", "verdict").text
            self.take_picture("page-held")
            self.assertRegex(said, r"Because .*main waits for left: .*\. What to do: its process is stopped")
        finally:
            os.kill(left, signal.SIGCONT)
        self.wait("document.getElementById('verdict').innerText.startsWith('All work.')")
        self.expect_no_error()
        self.assertEqual(served.end(), 130)

    def test_a_run_is_followed_until_its_server_is_gone(self):
        served = self.serve("train", JOB, "--set", "training.epochs=1000000", "--set",
                            "output.directory=followed", "--dashboard-at=0")
        self.open(served)
        self.wait("Number(document.body.dataset.drawn) > 0")
        seen = self.js("return Number(document.body.dataset.drawn)")
        self.wait(f"Number(document.body.dataset.drawn) > {seen}")
        self.assertIn("All work", self.driver.find_element("id", "verdict").text)
        if "TROUPE_PAGE_PICTURES" in os.environ:
            self.wait("charts.speed.points && charts.speed.points.length > 5")
            self.take_picture("page", 1500)
        self.expect_no_error()
        self.assertEqual(served.end(), 130)
        self.wait("document.getElementById('verdict').innerText.includes('lost its server')")


class Sections(BrowserTest):
    """What some runs have: rounds, a split model."""

    def columns(self):
        """Of each round that is drawn, the clients of each kind."""
        return self.js("return Object.fromEntries([...document.querySelectorAll('[data-round]')].map("
                       "x => [x.dataset.round, Object.fromEntries([...x.querySelectorAll('rect')].map("
                       "y => [y.className.baseVal, Number(y.dataset.count)]))]))")

    def expect_rounds_of(self, directory):
        rounds = {x["round"]: {key: int(x[key]) for key in x if key not in ("epsilon", "round")
                               and x[key].isdigit()} for x in rows_of_csv(self.folder / directory / "rounds.csv")}
        drawn = self.columns()
        self.assertGreater(len(drawn), 10)
        for number, column in drawn.items():
            x = rounds[number]
            kinds = {"merged": x["counted"], "spare": x["surplus"], "tardy": x["late"],
                     "gone": x["refused"] + x["dropped"]}
            self.assertEqual(column, {key: count for key, count in kinds.items() if count}, number)
            self.assertEqual(sum(column.values()), x["invited"])
        return rounds

    def test_a_federated_runs_rounds_are_columns(self):
        self.troupe("train", FEDERATED, "--quiet", "--set", "output.directory=fed", "--set",
                          "federated.rounds=40")
        self.open(self.serve("watch", "fed", "--address", "0"))
        self.wait("document.querySelectorAll('[data-round]').length > 0")
        rounds = self.expect_rounds_of("fed")
        self.assertEqual(set(self.columns()), set(rounds))
        self.take_picture("page-rounds")
        self.driver.find_element("id", "rounds-as-table").click()
        self.assertIn("never answered", self.driver.find_element("id", "rounds-table").text)
        self.on_a_phone()
        self.wait("document.querySelector('svg.rounds').clientWidth < 390")
        self.expect_that_a_phone_has_room()
        self.expect_rounds_of("fed")
        self.expect_no_error()

    def test_rounds_come_while_a_run_lasts_and_after_it_was_gone_on_from(self):
        words = ("train", FEDERATED, "--set", "output.directory=live-fed", "--set",
                 "federated.rounds=100000", "--set", "checkpoint.every_steps=1000", "--dashboard-at=0")
        served = self.serve(*words)
        self.open(served)
        self.wait("document.querySelectorAll('[data-round]').length > 10")
        last = max(map(int, self.columns()))
        self.wait(f"document.querySelector('[data-round]:last-of-type').dataset.round > {last}")
        self.driver.find_element("tag name", "body").send_keys("p")
        self.expect_no_error()
        self.assertEqual(served.end(), 130)
        self.expect_rounds_of("live-fed")
        before = len(rows_of_csv(self.folder / "live-fed" / "rounds.csv"))
        again = self.serve(*words, "--resume")
        wait_until(lambda: len(again.json("/api/rounds")["rounds"]) > min(before, 900))
        rounds = [x["round"] for x in again.json("/api/rounds")["rounds"]]
        self.assertEqual(rounds, list(range(rounds[0], rounds[0] + len(rounds))))
        self.assertEqual(again.end(), 130)

    def test_of_a_private_run_no_client_is_drawn(self):
        self.troupe("train", PRIVATE, "--quiet", "--set", "output.directory=private", "--set",
                          "federated.rounds=20", "--set", "privacy.key_file=private.key")
        self.open(self.serve("watch", "private", "--address", "0"))
        self.wait("!document.getElementById('rounds').hidden")
        self.assertEqual(self.columns(), {})
        self.assertIn("Epsilon so far", self.driver.find_element("id", "rounds").text)
        self.expect_no_error()

    def test_a_split_model_is_a_grid_of_groups_stages_and_parts(self):
        self.write("split.toml", SPLIT_JOB.format(data=os.path.join(SOURCE, "examples", "data")))
        nodes = "".join(f'[[node]]\nname = "{name}"\naddress = "127.0.0.1:0"\nreplicas = 2\n'
                        + ("director = true\n" if name == "a" else "") for name in "abcd")
        self.write("grid.toml", 'job = "split.toml"\n[timeouts]\nlost_after = "100s"\n' + nodes)
        served = self.serve("launch", "grid.toml", "--dashboard-at=0")
        self.open(served)
        self.wait("document.querySelectorAll('.part svg').length === 8")
        boxes = self.js("return [...document.querySelectorAll('.group')].map(x => "
                        "[...x.querySelectorAll('.stages li')].map(y => [y.querySelector('small').textContent,"
                        "[...y.querySelectorAll('.part')].map(z => z.dataset.who + ' ' + z.dataset.parts)]))")
        said = {f'{x["process"]}/{x["replica"]}': x["partition"] for x in
                served.json("/api/status")["status"]["trainers"]}
        self.assertEqual([len(x) for x in boxes], [2, 2])
        seen = set()
        for group in boxes:
            for layers, parts in group:
                self.assertEqual(len(parts), 2)
                for i, part in enumerate(parts):
                    who, number = part.split(" ")
                    self.assertEqual(int(number), i)
                    self.assertIn(f", {layers}, part {i} of 2", said[who])
                    seen.add(who)
        self.assertEqual(seen, set(said))
        self.wait("document.querySelectorAll('.part.busiest').length === 1")
        self.take_picture("page-split")
        self.on_a_phone()
        self.expect_that_a_phone_has_room()
        self.expect_no_error()
        self.assertEqual(served.end(), 130)


if __name__ == "__main__":
    main()
