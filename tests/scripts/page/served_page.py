"""A page that a command serves, and a browser that looks at it: for the tests of pages.

The first two arguments of each test are the build folder and the source folder.
"""

import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from command import JOB, TROUPE, OneFolderTest  # noqa: E402
from patience import HANG, wait_until  # noqa: E402

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    webdriver = None

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
HAS_BROWSER = webdriver and os.path.exists(CHROMIUM) and os.path.exists(DRIVER)
ADDRESS = re.compile(r"(https?)://([\w.]+):(\d+)/(?:#key=([0-9a-f]+))?")


class Served:
    """A command that serves a page, from the line that says where to its end by Ctrl-C. It is
    visited at 127.0.0.1, whatever address it tells people."""

    host = "127.0.0.1"

    def __init__(self, *words, folder):
        self.process = subprocess.Popen([TROUPE, *words], cwd=folder, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.said = ""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        wait_until(lambda: ADDRESS.search(self.said) or not self.reader.is_alive())
        found = ADDRESS.search(self.said)
        if not found:
            raise AssertionError(self.said)
        self.scheme, self.told_host, self.key = found.group(1), found.group(2), found.group(4)
        self.port = int(found.group(3))

    def read(self):
        for line in self.process.stdout:
            self.said += line

    def url(self):
        return f"{self.scheme}://{self.host}:{self.port}/"

    def link(self):
        """A connection, secured as the page is. Who it is is tested elsewhere."""
        plain = socket.create_connection((self.host, self.port), timeout=HANG)
        return strangers_context().wrap_socket(plain) if self.scheme == "https" else plain

    def get(self, path, **headers):
        link = http.client.HTTPConnection(self.host, self.port, timeout=HANG)
        link.sock = self.link()
        link.request("GET", path, headers=headers)
        answer = link.getresponse()
        text = answer.read().decode()
        link.close()
        return answer.status, text, answer.headers

    def json(self, path, **headers):
        return json.loads(self.get(path, **headers)[1])

    def step(self, **headers):
        return (self.json("/api/status", **headers)["status"] or {}).get("step", 0)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=HANG)
        self.reader.join()
        self.process.stdout.close()
        return self.process.returncode


def strangers_context():
    result = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    result.check_hostname = False
    result.verify_mode = ssl.CERT_NONE
    return result


class PageTest(OneFolderTest):
    """A folder for runs, of which one has ended in it: `run`, with its summary."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.summary = cls().train(JOB, "training.epochs=4", "output.directory=run", 'training.metrics=["auc"]')

    def launch(self, directory, *words, more="", names=("main", "left")):
        """A cluster that trains, and does not miss anybody soon."""
        nodes = "".join(f'[[node]]\nname = "{name}"\naddress = "127.0.0.1:0"\n'
                        + ("director = true\n" if name == "main" else "") for name in names)
        self.write("cluster.toml",
                   f'job = "{JOB}"\ntraining.epochs = 1000000\ndata.validation_fraction = 0.2\n'
                   f'output.directory = "{directory}"\n[timeouts]\nlost_after = "100s"\n{more}{nodes}')
        return self.serve("launch", "cluster.toml", *(words or ["--dashboard-at=0"]))

    def launch_and_train(self, directory):
        cluster = self.launch(directory)
        wait_until(lambda: cluster.step() > 0)
        return cluster

    def serve(self, *words):
        served = Served(*words, folder=self.folder)
        self.addCleanup(served.end)
        return served


@unittest.skipUnless(HAS_BROWSER, "chromium, chromium-driver or python3-selenium is missing")
class BrowserTest(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        options.accept_insecure_certs = True  # of an authority that the browser does not know
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic",
                     "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
                     "--window-size=1280,1500", f"--user-data-dir={cls.folder}/browser"):
            options.add_argument(word)
        cls.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        cls.driver.set_page_load_timeout(HANG)

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        super().tearDownClass()

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script):
        WebDriverWait(self.driver, HANG).until(lambda x: x.execute_script("return " + script))

    def open(self, served, behind=""):
        self.driver.get("about:blank")
        self.driver.get_log("browser")  # what pages before this one have said
        self.driver.get(served.url() + behind)
        self.wait("document.body.dataset.drawn !== undefined")

    def expect_no_error(self):
        said = [x for x in self.driver.get_log("browser") if x["level"] == "SEVERE"]
        self.assertEqual(said, [])

    def on_a_phone(self):
        """Until the test ends."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": 390, "height": 800, "deviceScaleFactor": 1,
                                     "mobile": True})
        self.addCleanup(self.driver.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})

    def expect_that_a_phone_has_room(self):
        self.wait("document.documentElement.scrollWidth <= 390")  # once it is laid out for that

    def shown(self):
        """What the tiles show, by key."""
        return self.js("return Object.fromEntries([...document.querySelectorAll('[data-key]')]"
                       ".map(x => [x.dataset.key, Number(x.dataset.value)]))")

    def take_picture(self, name, height=1100):
        if folder := os.environ.get("TROUPE_PAGE_PICTURES"):
            self.driver.set_window_size(1280, height)
            self.driver.save_screenshot(os.path.join(folder, name + ".png"))
            self.driver.set_window_size(1280, 1500)
