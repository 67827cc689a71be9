"""Who may read the page of a run, and what others do to it: they get nothing, and keep nobody out.

    python3 tests/scripts/page/visitors_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import os
import socket
import ssl
import stat
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from served_page import BrowserTest, PageTest, strangers_context  # noqa: E402
from command import JOB, main  # noqa: E402
from secured_cluster import make_certificates, tls_text  # noqa: E402
from patience import HANG, wait_until  # noqa: E402

VISIT_SECONDS = 5  # for a request to come and its answer to go (page_server.hpp)
DATA = ("/api/status", "/api/curves", "/api/rounds", "/api/events", "/metrics")


class Locked(PageTest):
    """A page that other machines can reach."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_certificates(os.path.join(cls.folder, "keys"), "page", "main", "left")

    def setUp(self):
        for name in ("token", "cluster.toml"):
            if os.path.exists(os.path.join(self.folder, name)):
                os.remove(os.path.join(self.folder, name))

    def options(self, *which):
        return [word for name, words in (
            ("token", ["--dashboard-token-file", "token"]),
            ("tls", ["--dashboard-certificate", "keys/page.pem", "--dashboard-key",
                     "keys/page.key"])) if name in which for word in words]

    def serve_locked(self, *words):
        return self.serve("watch", "run", "--address", "0.0.0.0:0",
                          *self.options("token", "tls"), *words)

    def test_it_is_served_with_tls_and_a_token_or_not_at_all(self):
        for have, lack in (((), ("--dashboard-token-file", "--dashboard-certificate")),
                           (("token",), ("--dashboard-certificate",)),
                           (("tls",), ("--dashboard-token-file",))):
            end = self.troupe("watch", "run", "--address", "0.0.0.0:0", *self.options(*have), code=77)
            self.assertIn("0.0.0.0:0", end.stderr)
            for option in ("--dashboard-token-file", "--dashboard-certificate"):
                self.assertEqual(option in end.stderr, option in lack, end.stderr)
        end = self.troupe("train", JOB, "--quiet", "--set", "output.directory=open",
                          "--dashboard-at=0.0.0.0:0", code=77)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "token")))

    def test_the_token_is_told_once_and_opens(self):
        first = self.serve_locked()
        self.assertEqual((first.scheme, first.told_host), ("https", "page"))
        path = os.path.join(self.folder, "token")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(self.read(path), first.key + "\n")
        self.assertGreaterEqual(len(first.key), 32)  # of 4 bits each
        again = self.serve_locked()
        self.assertIsNone(again.key)
        self.assertNotIn(first.key, again.said)
        for served in (first, again):
            for path in DATA:
                self.assertEqual(served.get(path, Authorization="Bearer " + first.key)[0], 200)

    def test_without_the_token_there_is_nothing(self):
        served = self.serve_locked()
        wrong = ("0" if served.key[0] != "0" else "1") + served.key[1:]
        for path in (*DATA, "/api/status?key=" + served.key, "/nothing"):
            for headers in ({}, {"Authorization": "Bearer " + wrong},
                            {"Authorization": "Bearer " + served.key[:-1]},
                            {"Authorization": "Basic " + served.key},
                            {"Cookie": "key=" + served.key}):
                status, text, said = served.get(path, **headers)
                self.assertEqual((status, text), (401, "401\n"), (path, headers))
                self.assertEqual(said["WWW-Authenticate"], "Bearer")
        for path in ("/", "/page.js", "/healthz", "/readyz"):
            self.assertEqual(served.get(path)[0], 200, path)

    def test_its_names_are_those_it_was_given(self):
        served = self.serve_locked()
        allowed = {"Authorization": "Bearer " + served.key}
        for host, status in ((f"page:{served.port}", 200), (f"localhost:{served.port}", 200),
                             (f"127.0.0.1:{served.port}", 200), (f"main:{served.port}", 421),
                             (f"127.0.0.1.nip.io:{served.port}", 421), ("page", 421)):
            self.assertEqual(served.get("/metrics", Host=host, **allowed)[0], status, host)
        own = f"https://127.0.0.1:{served.port}"
        self.assertEqual(served.get("/metrics", Origin=own, **allowed)[0], 200)
        self.assertEqual(served.get("/metrics", Origin=own.replace("https", "http"), **allowed)[0],
                         403)

    def test_it_proves_itself_and_takes_new_files(self):
        folder = os.path.join(self.folder, "turning")
        make_certificates(folder, "page")
        served = self.serve("watch", "run", "--address", "0", "--dashboard-certificate",
                            "turning/page.pem", "--dashboard-key", "turning/page.key")

        def proof():
            context = ssl.create_default_context(cafile=os.path.join(folder, "ca.pem"))
            with socket.create_connection((served.host, served.port), timeout=HANG) as plain, \
                    context.wrap_socket(plain, server_hostname="page") as link:
                self.assertIn(link.version(), ("TLSv1.2", "TLSv1.3"))
                return link.getpeercert()["serialNumber"]

        first = proof()
        make_certificates(os.path.join(self.folder, "new"), "page")
        for name in os.listdir(folder):
            os.replace(os.path.join(self.folder, "new", name), os.path.join(folder, name))
        self.assertNotEqual(proof(), first)

    def test_old_versions_of_tls_and_none_are_refused(self):
        served = self.serve_locked()
        old = strangers_context()
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        old.set_ciphers("ALL:@SECLEVEL=0")
        with socket.create_connection((served.host, served.port), timeout=HANG) as plain:
            with self.assertRaises(ssl.SSLError) as refusal:
                old.wrap_socket(plain)
        self.assertIn("ALERT_PROTOCOL_VERSION", refusal.exception.reason)
        with socket.create_connection((served.host, served.port), timeout=HANG) as plain:
            plain.sendall(b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s"
                          b"\r\n\r\n" % (served.port, served.key.encode()))
            answer = b""
            while piece := plain.recv(65536):
                answer += piece
        self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer)
        self.assertNotIn(b"digits", answer)

    def test_files_that_do_not_fit_are_refused(self):
        path = os.path.join(self.folder, "token")
        for text, mode, code, words in (("a" * 64 + "\n", 0o644, 77, "chmod 600"),
                                        ("secret\n", 0o600, 65, "64 hexadecimal digits")):
            self.write("token", text)
            os.chmod(path, mode)
            end = self.troupe("watch", "run", "--address", "0.0.0.0:0",
                              *self.options("token", "tls"), code=code)
            self.assertIn(words, end.stderr)
        os.remove(path)
        for certificate, key, code in (("keys/page.pem", "keys/main.key", 77),
                                       ("keys/none.pem", "keys/page.key", 66),
                                       ("token", "keys/page.key", 65)):
            self.write("token", "nonsense")
            end = self.troupe("watch", "run", "--address", "0", "--dashboard-certificate",
                              certificate, "--dashboard-key", key, code=code)

    def test_a_secured_clusters_page_has_the_certificate_of_its_node(self):
        cluster = self.launch("secured", "--dashboard-at=0.0.0.0:0", "--dashboard-token-file=token",
                              more=tls_text("keys"))
        self.assertEqual((cluster.scheme, cluster.told_host), ("https", "main"))
        allowed = {"Authorization": "Bearer " + cluster.key}
        wait_until(lambda: cluster.step(**allowed) > 0)
        self.assertEqual(cluster.get("/metrics")[0], 401)
        self.assertEqual(cluster.end(), 130)

    def test_a_token_may_be_asked_for_on_this_machine_too(self):
        served = self.serve("watch", "run", "--address", "0", *self.options("token"))
        self.assertEqual(served.scheme, "http")
        self.assertEqual(served.get("/metrics")[0], 401)
        self.assertEqual(served.get("/metrics", Authorization="Bearer " + served.key)[0], 200)


class Hostile(PageTest):
    """Nobody who is up to no good gets anything, stops training, or keeps others from the page."""

    SECURED = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_certificates(os.path.join(cls.folder, "keys"), "page")

    def setUp(self):
        words = ["--dashboard-certificate", "keys/page.pem", "--dashboard-key", "keys/page.key"]
        self.served = self.serve("train", JOB, "--overwrite", "--set", "training.epochs=1000000",
                                 "--set", "output.directory=live", "--dashboard-at=0",
                                 *(words if self.SECURED else []))
        self.host = f"Host: 127.0.0.1:{self.served.port}\r\n".encode()
        wait_until(lambda: self.served.step() > 0)

    def expect_that_all_is_well(self):
        """A visitor is answered, and training goes on."""
        before = self.served.step()
        wait_until(lambda: self.served.step() > before)
        self.assertEqual(self.served.get("/healthz")[1], "alive\n")

    def ask(self, text):
        """The status of the answer; None when there was none."""
        with self.served.link() as link:
            answer = b""
            try:
                link.sendall(text)
                while piece := link.recv(65536):
                    answer += piece
            except (ConnectionError, ssl.SSLError):
                pass  # it was told, and what came after that was too much
        self.assertNotIn(b"train_loss", answer)
        self.assertNotIn(b"root:", answer)
        return int(answer.split(b" ")[1]) if answer else None

    def test_bad_requests_get_a_number_and_no_more(self):
        host = self.host
        get = b"GET /api/status HTTP/1.1\r\n"
        many = b"".join(b"A%d: b\r\n" % i for i in range(10_000))
        for head, statuses in (
                (get + b"\r\n", [421]),
                (get + b"Host: evil.example\r\n\r\n", [421]),
                (get + b"Host: 127.0.0.1.nip.io:%d\r\n\r\n" % self.served.port, [421]),
                (get + host + b"Host: evil.example\r\n\r\n", [400]),
                (get + host + host + b"\r\n", [400]),
                (get + host + b"Authorization: a\r\nAuthorization: b\r\n\r\n", [400]),
                (get + host + b"Origin: null\r\n\r\n", [403]),
                (get + host + b"Origin: http://evil.example\r\n\r\n", [403]),
                (get + host + b"Sec-Fetch-Site: cross-site\r\n\r\n", [403]),
                (b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + host + b"\r\n", [404]),
                (b"GET /../run/summary.json HTTP/1.1\r\n" + host + b"\r\n", [404]),
                (b"GET //etc/passwd HTTP/1.1\r\n" + host + b"\r\n", [404]),
                (b"GET http://evil.example/ HTTP/1.1\r\n" + host + b"\r\n", [400]),
                (b"GET * HTTP/1.1\r\n" + host + b"\r\n", [400]),
                (b"GET /api/status\0 HTTP/1.1\r\n" + host + b"\r\n", [400]),
                (get + host + b"A: b\0c\r\n\r\n", [400]),
                (get + host + b"A: b\rc\r\n\r\n", [400]),
                (get + host + b"A : b\r\n\r\n", [400]),
                (get + host + b"A: b\r\n c\r\nOrigin:\r\n  null\r\n\r\n", [400, 403]),
                (b"PUT /api/status HTTP/1.1\r\n" + host + b"\r\n", [405]),
                (b"POST /api/status HTTP/1.1\r\n" + host + b"Content-Length: 5\r\n\r\nhello", [405, 413]),
                (get + host + b"Content-Length: 5\r\n\r\nhello", [413]),
                (get + host + b"Content-Length: 99999999999999999999\r\n\r\n", [400, 413]),
                (get + host + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\nhello", [400, 413]),
                (get + host + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", [413]),
                (get + host + b"A: " + b"x" * 9000 + b"\r\n\r\n", [431]),
                (get + host + b"A: " + b"x" * 1_000_000 + b"\r\n\r\n", [431, None]),
                (get + host + many + b"\r\n", [431, None]),
                (b"x" * 1_000_000, [431, 400, None]),
                (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", [400]),
                (b"\0" * 9000, [400, 431]),
                (b"GET / HTTP/9.9\r\n" + host + b"\r\n", [400, 505])):
            with self.subTest(head=head[:90]):
                self.assertIn(self.ask(head), statuses)
        self.expect_that_all_is_well()
        self.assertEqual(self.served.end(), 130)

    def test_a_thousand_silent_connections_keep_nobody_out(self):
        silent = [socket.create_connection((self.served.host, self.served.port))
                  for _ in range(1000)]
        try:
            self.expect_that_all_is_well()
        finally:
            for link in silent:
                link.close()
        self.assertEqual(self.served.end(), 130)

    def test_a_byte_each_few_seconds_is_no_visit(self):
        slow = [self.served.link() for _ in range(20)]
        over = set()

        def drip():
            for byte in b"GET / HTTP/1.1\r\n" * 100:
                for link in slow:
                    try:
                        link.sendall(bytes([byte]))
                    except OSError:
                        over.add(link)
                if len(over) == len(slow):
                    return
                time.sleep(1)

        dripping = threading.Thread(target=drip)
        dripping.start()
        self.expect_that_all_is_well()
        dripping.join(HANG)
        self.assertEqual(len(over), len(slow))
        for link in slow:
            link.close()
        self.assertEqual(self.served.end(), 130)

    def test_a_visitor_that_never_reads_is_left(self):
        deaf = []
        for _ in range(20):
            plain = socket.socket()
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            plain.connect((self.served.host, self.served.port))
            link = strangers_context().wrap_socket(plain) if self.SECURED else plain
            link.sendall(b"GET /dygraph.js HTTP/1.1\r\n" + self.host + b"\r\n")
            deaf.append(link)
        self.expect_that_all_is_well()
        for link in deaf:
            link.close()
        self.assertEqual(self.served.end(), 130)


class HostileToTls(Hostile):
    SECURED = True

    def hello(self):
        """What a client says first."""
        said = ssl.MemoryBIO()
        session = strangers_context().wrap_bio(ssl.MemoryBIO(), said)
        self.assertRaises(ssl.SSLWantReadError, session.do_handshake)
        return said.read()

    def test_hellos_that_are_cut_off_or_wrong_are_left(self):
        hello = self.hello()
        pieces = [hello[:1], hello[:5], hello[:len(hello) // 2], hello[:-1], hello + b"x" * 100,
                  hello[:20] + os.urandom(len(hello) - 20), b"\x16\x03\x01\xff\xff" + b"a" * 70000,
                  b"\x15\x03\x01\x00\x02\x02\x28", b"\x80\x2e\x01\x00\x02", b"\0" * 100]
        links = []
        for piece in pieces * 10:
            link = socket.create_connection((self.served.host, self.served.port), timeout=HANG)
            try:
                link.sendall(piece)
            except ConnectionError:
                pass
            links.append(link)
        self.expect_that_all_is_well()
        for link in links:  # none is kept for longer than a visit lasts
            try:
                while link.recv(65536):
                    pass
            except ConnectionError:
                pass
            link.close()
        self.expect_that_all_is_well()
        self.assertEqual(self.served.end(), 130)


class LockedBrowser(BrowserTest):
    def test_a_browser_takes_the_key_from_the_address_and_shows_the_run(self):
        make_certificates(os.path.join(self.folder, "keys"), "page")
        served = self.serve("watch", "run", "--address", "0.0.0.0:0", "--dashboard-token-file",
                            "token", "--dashboard-certificate", "keys/page.pem",
                            "--dashboard-key", "keys/page.key")
        self.driver.get(served.url())
        self.wait("document.getElementById('verdict').innerText.startsWith('This page needs its key')")
        self.assertEqual(self.shown(), {})
        self.assertFalse(self.driver.find_element("id", "curves").is_displayed())
        self.take_picture("page-locked")
        self.open(served, "#key=" + served.key)
        self.assertEqual(self.shown()["test_accuracy"], self.summary["test_accuracy"])
        self.assertTrue(self.driver.find_element("id", "curves").is_displayed())
        self.assertFalse(self.driver.find_element("id", "raw").is_displayed())
        self.assertEqual(self.js("return location.hash"), "")
        self.assertNotIn(served.key, self.js("return document.documentElement.outerHTML"))
        self.driver.refresh()
        self.wait("document.body.dataset.drawn !== undefined")
        self.expect_no_error()


if __name__ == "__main__":
    main()
