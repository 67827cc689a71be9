"""The page of a run: what it serves, to whom, and what a browser shows of it.

    python3 tests/scripts/page/page_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...

Chromium (headless) draws the page of a finished run, whose figures are compared with summary.json;
without Chromium and its driver that part is skipped. Metrics are read by the parsers of Prometheus'
own Python client.
"""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster_run import SOURCE, TROUPE, child_of  # noqa: E402
from patience import HANG  # noqa: E402

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    webdriver = None
try:
    from prometheus_client.openmetrics import parser as openmetrics
    from prometheus_client import parser as prometheus
except ImportError:
    openmetrics = None

DIGITS = os.path.join(SOURCE, "examples", "digits.toml")
CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
HAS_BROWSER = webdriver and os.path.exists(CHROMIUM) and os.path.exists(DRIVER)


class Served:
    """A command that serves a page, from the line that says where to its end by Ctrl-C."""

    def __init__(self, *words, folder):
        self.process = subprocess.Popen([TROUPE, *words], cwd=folder, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if found := re.search(r"http://([\d.]+):(\d+)/", line):
                self.host, self.port = found.group(1), int(found.group(2))
                return
        raise AssertionError(self.said)

    def url(self):
        return f"http://{self.host}:{self.port}/"

    def get(self, path, **headers):
        link = http.client.HTTPConnection(self.host, self.port, timeout=HANG)
        link.request("GET", path, headers=headers)
        answer = link.getresponse()
        return answer.status, answer.read().decode(), answer.headers

    def json(self, path):
        return json.loads(self.get(path)[1])

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.said += self.process.communicate(timeout=HANG)[0]
        return self.process.returncode


def wait_until(condition):
    end = time.monotonic() + HANG
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited for too long")
        time.sleep(0.05)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = cls.place.name
        run = subprocess.run([TROUPE, "train", DIGITS, "--quiet", "--json", "--set",
                              "training.epochs=4", "--set", "output.directory=run", "--set",
                              'training.metrics=["auc"]'],
                             cwd=cls.folder, capture_output=True, text=True, timeout=HANG,
                             check=True)
        cls.summary = json.loads(run.stdout)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def launch(self, directory):
        """A cluster of two that trains, and does not miss anybody soon."""
        with open(os.path.join(self.folder, "cluster.toml"), "w", encoding="utf-8") as file:
            file.write(f'job = "{DIGITS}"\ntraining.epochs = 1000000\n'
                       f'data.validation_fraction = 0.2\noutput.directory = "{directory}"\n[timeouts]\nlost_after = "100s"\n'
                       '[[node]]\nname = "main"\naddress = "127.0.0.1:0"\ndirector = true\n'
                       '[[node]]\nname = "left"\naddress = "127.0.0.1:0"\n')
        cluster = self.serve("launch", "cluster.toml", "--dashboard-at=0")
        wait_until(lambda: (cluster.json("/api/status")["status"] or {}).get("step", 0) > 0)
        return cluster

    def serve(self, *words):
        served = Served(*words, folder=self.folder)
        self.addCleanup(served.end)
        return served


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
        served = self.serve("train", DIGITS, "--set", "training.epochs=1000000", "--set",
                            "output.directory=live", "--dashboard-at=0")
        wait_until(lambda: (served.json("/api/status")["status"] or {}).get("epoch", 0) > 1)
        status = served.json("/api/status")
        self.assertEqual(status["source"], "live")
        self.assertEqual(status["status"]["phase"], "training")
        self.assertGreater(len(served.json("/api/curves")["rows"]), 0)
        self.assertIn("troupe_step ", served.get("/metrics")[1])
        self.assertEqual(served.end(), 130)
        alone = subprocess.run(
            [TROUPE, "train", DIGITS, "--quiet", "--json", "--set", "training.epochs=4", "--set",
             "output.directory=again", "--dashboard-at=0"], cwd=self.folder, capture_output=True,
            text=True, timeout=HANG, check=True)
        self.assertEqual(json.loads(alone.stdout)["parameters_sha256"],
                         self.summary["parameters_sha256"])

    def test_a_cluster_is_visited(self):
        cluster = self.launch("cluster")
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
        with open(os.path.join(SOURCE, "examples", "monitoring", "grafana.json"),
                  encoding="utf-8") as file:
            panels = json.load(file)["panels"]
        targets = [(re.findall(r"troupe_\w+", x["expr"]), re.findall(r"{{(\w+)}}", x["legendFormat"]))
                   for panel in panels for x in panel["targets"]]
        self.assertGreater(len(targets), 15)
        self.assertTrue(all(names for names, _ in targets), targets)
        served = self.launch("figures")

        def missing():
            """Figures of replicas and of test rows come with the first report and the first row."""
            there = {name: set(re.findall(r'(\w+)="', labels)) for name, labels in re.findall(
                r"^(troupe_\w+)(\S*) ", served.get("/metrics")[1], re.MULTILINE)}
            return [x for x in targets if any(
                name not in there or not set(x[1]) <= there[name] for name in x[0])]

        end = time.monotonic() + HANG
        while missing() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(missing(), [])
        self.assertEqual(served.end(), 130)

    def test_wrong_addresses_are_refused_with_what_to_do(self):
        for address, code, words in (("0.0.0.0:0", 2, "loopback"), ("nonsense", 2, ""),
                                     ("99999", 2, "")):
            end = subprocess.run([TROUPE, "watch", "run", "--address", address], cwd=self.folder,
                                 capture_output=True, text=True, timeout=HANG, check=False)
            self.assertEqual(end.returncode, code, end.stderr)
            self.assertIn(words, end.stderr)
        taken = self.serve("watch", "run", "--address", "0")
        end = subprocess.run([TROUPE, "watch", "run", "--address", str(taken.port)],
                             cwd=self.folder, capture_output=True, text=True, timeout=HANG,
                             check=False)
        self.assertEqual(end.returncode, 73, end.stderr)
        end = subprocess.run([TROUPE, "watch", "."], cwd=self.folder, capture_output=True,
                             text=True, timeout=HANG, check=False)
        self.assertEqual(end.returncode, 66, end.stderr)


class Strangers(PageTest):
    """Nobody who is up to no good gets anything, or keeps others from the page."""

    def ask(self, served, text):
        with socket.create_connection((served.host, served.port), timeout=HANG) as link:
            link.sendall(text)
            answer = b""
            while piece := link.recv(65536):
                answer += piece
        return int(answer.split(b" ")[1]) if answer else None

    def test_bad_requests_get_a_number_and_no_more(self):
        served = self.serve("watch", "run", "--address", "0")
        host = f"Host: 127.0.0.1:{served.port}\r\n\r\n".encode()
        for head, status in ((b"GET /api/status HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
                             (b"GET / HTTP/1.1\r\n\r\n", 421),
                             (b"GET / HTTP/1.1\r\nOrigin: null\r\n" + host, 403),
                             (b"GET / HTTP/1.1\r\nSec-Fetch-Site: cross-site\r\n" + host, 403),
                             (b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + host, 404),
                             (b"GET /../run/summary.json HTTP/1.1\r\n" + host, 404),
                             (b"PUT / HTTP/1.1\r\n" + host, 405),
                             (b"GET / HTTP/1.1\r\nA: " + b"x" * 9000 + b"\r\n" + host, 431),
                             (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 400)):
            with self.subTest(head=head[:40]):
                self.assertEqual(self.ask(served, head), status)

    def test_a_thousand_silent_connections_keep_nobody_out(self):
        served = self.serve("watch", "run", "--address", "0")
        silent = [socket.create_connection((served.host, served.port)) for _ in range(1000)]
        try:
            for _ in range(3):
                self.assertEqual(served.get("/api/status")[0], 200)
        finally:
            for link in silent:
                link.close()

    def test_a_visitor_that_never_reads_is_left(self):
        served = self.serve("watch", "run", "--address", "0")
        with socket.socket() as link:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            link.connect((served.host, served.port))
            link.sendall(f"GET /dygraph.js HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n"
                         .encode())
            self.assertEqual(served.get("/healthz")[1], "alive\n")
        self.assertEqual(served.end(), 130)


@unittest.skipUnless(HAS_BROWSER, "chromium, chromium-driver or python3-selenium is missing")
class Browser(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic",
                     "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
                     "--window-size=1280,1500", "--user-data-dir=" + cls.folder + "/browser"):
            options.add_argument(word)
        cls.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        cls.driver.set_page_load_timeout(HANG)

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        super().tearDownClass()

    def wait(self, script):
        WebDriverWait(self.driver, HANG).until(lambda x: x.execute_script("return " + script))

    def open(self, served):
        self.driver.get("about:blank")
        self.driver.get_log("browser")  # what pages before this one have said
        self.driver.get(served.url())
        self.wait("document.body.dataset.drawn !== undefined")

    def expect_no_error(self):
        said = [x for x in self.driver.get_log("browser") if x["level"] == "SEVERE"]
        self.assertEqual(said, [])

    def shown(self):
        return self.driver.execute_script(
            "return Object.fromEntries([...document.querySelectorAll('[data-key]')]"
            ".map(x => [x.dataset.key, Number(x.dataset.value)]))")

    def test_the_page_shows_the_figures_of_the_run(self):
        served = self.serve("watch", "run", "--address", "0")
        self.open(served)
        shown = self.shown()
        for key in ("train_loss", "test_accuracy", "samples_per_second"):
            self.assertEqual(shown[key], self.summary[key], key)
        text = self.driver.find_element("tag name", "main").text
        self.assertIn("Finished: " + format(self.summary["steps"], ",") + " steps", text)
        self.assertEqual(self.driver.execute_script(
            "return [...document.querySelectorAll('.chart:not([hidden]) h3')]"
            ".map(x => x.firstChild.textContent)"), ["Loss", "Accuracy", "Auc"])
        self.assertEqual(self.driver.execute_script("return charts['metric auc'].points.at(-1)[2]"),
                         self.summary["metrics"]["test_auc"])
        self.assertEqual(self.driver.execute_script(
            "return charts.loss.points.filter(x => is_number(x[3])).length"), 4)
        self.driver.find_element("id", "as-table").click()
        self.assertIn("0.9", self.driver.find_element("id", "rows").text)
        self.assertIn("test auc", self.driver.find_element("id", "rows").text)
        self.expect_no_error()
        if picture := os.environ.get("TROUPE_PAGE_PICTURE"):
            self.driver.save_screenshot(picture)

    def test_a_phone_needs_no_sideways_scrolling_and_keys_work(self):
        served = self.serve("watch", "run", "--address", "0")
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": 390, "height": 800, "deviceScaleFactor": 1,
                                     "mobile": True})
        try:
            self.open(served)
            self.assertLessEqual(self.driver.execute_script(
                "return document.documentElement.scrollWidth"), 390)
            theme = "return document.documentElement.dataset.theme"
            first = self.driver.execute_script(theme)
            self.driver.find_element("tag name", "body").send_keys("t")
            self.assertNotEqual(self.driver.execute_script(theme), first)
        finally:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.expect_no_error()

    def test_who_holds_up_a_run_is_said_first(self):
        served = self.launch("held")
        left = child_of(served.process.pid, "left")
        self.open(served)
        os.kill(left, signal.SIGSTOP)
        try:
            self.wait("document.getElementById('verdict').innerText.startsWith('Left holds up the run: ')")
            said = self.driver.find_element("id", "verdict").text
            self.assertRegex(said, r"Because .*main waits for left: .*\. What to do: its process is stopped")
        finally:
            os.kill(left, signal.SIGCONT)
        self.wait("document.getElementById('verdict').innerText.startsWith('All work.')")
        self.expect_no_error()
        self.assertEqual(served.end(), 130)

    def test_a_run_is_followed_until_its_server_is_gone(self):
        served = self.serve("train", DIGITS, "--set", "training.epochs=1000000", "--set",
                            "output.directory=followed", "--dashboard-at=0")
        self.open(served)
        self.wait("Number(document.body.dataset.drawn) > 0")
        seen = self.driver.execute_script("return Number(document.body.dataset.drawn)")
        self.wait(f"Number(document.body.dataset.drawn) > {seen}")
        self.assertIn("All work", self.driver.find_element("id", "verdict").text)
        if picture := os.environ.get("TROUPE_PAGE_PICTURE"):
            self.wait("charts.speed.points && charts.speed.points.length > 5")
            self.driver.save_screenshot(picture.replace(".png", "-live.png"))
        self.expect_no_error()
        self.assertEqual(served.end(), 130)
        self.wait("document.getElementById('verdict').innerText.includes('lost its server')")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
