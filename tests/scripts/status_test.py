"""A running cluster says how it goes: to `troupe status`, and by itself when it stands still.

    python3 tests/scripts/status_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

from cluster_run import NAMES, child_of, free_ports
from command import JOB, TROUPE, CommandTest, main
from patience import HANG, lenient, wait_until

ENDLESS = ["--set", "training.epochs=1000000"]


class Said:
    """A process and the lines that it has said, which a thread reads."""

    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen([TROUPE, *arguments], cwd=folder, text=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.lines = ""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.lines += line

    def wait_for(self, pattern):
        wait_until(lambda: re.search(pattern, self.lines), lambda: f"nothing like '{pattern}' in\n{self.lines}")
        return re.search(pattern, self.lines)

    def end(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(HANG)
        finally:
            self.process.kill()
            self.reader.join()
            self.process.stderr.close()
        return self.process.returncode


class Status(CommandTest):
    def setUp(self):
        super().setUp()
        self.file = str(self.folder / "cluster.toml")
        self.running = []

    def tearDown(self):
        for one in self.running:
            one.end(signal.SIGKILL)

    def write(self, ports, more=""):
        text = f'job = "{JOB}"\n{more}[timeouts]\nheartbeat = "500ms"\nlost_after = "60s"\n'
        for name, port in zip(NAMES, ports):
            text += (f'[[node]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\n'
                     + ("director = true\n" if name == "main" else "shards = 0\n"))
        super().write("cluster.toml", text)

    def start(self, *arguments):
        self.running.append(Said(self.folder, *arguments))
        return self.running[-1]

    def ask(self, *arguments, file=None):
        return self.troupe("status", file or self.file, *arguments, code=None)

    def status(self):
        return self.result_of("status", self.file)

    def status_once(self, condition):
        """Of a director that may not be there yet."""
        end = time.monotonic() + HANG
        while True:
            answer = self.ask("--json")
            status = json.loads(answer.stdout) if answer.returncode == 0 else None
            if status and condition(status):
                return status
            self.assertLess(time.monotonic(), end, answer.stdout)

    def explained_once(self, pattern):
        end = time.monotonic() + HANG
        while not re.match(pattern, said := self.ask("--explain").stdout):
            self.assertLess(time.monotonic(), end, said)

    def status_once_all_are_heard(self, and_also=lambda status: True):
        """A node that is frozen before its first report has never been heard."""
        return self.status_once(lambda status: and_also(status) and all(
            node["last_heard_seconds"] is not None for node in status["nodes"]))

    def test_frozen_worker_is_told_by_name_to_all_who_ask_and_by_the_director(self):
        self.write([0, 0, 0])
        launch = self.start("launch", self.file, *ENDLESS)
        launch.wait_for("Epoch ")
        before = self.status_once_all_are_heard(lambda status: status["steps_per_second"] > 0)
        self.assertEqual(before["phase"], "training")
        self.assertGreater(before["samples_per_second"], before["steps_per_second"])
        self.assertGreater(before["seconds_left"], 0)
        self.assertGreater(before["train_accuracy"], 0.5)
        self.assertGreater(before["train_loss"], 0)
        self.assertEqual(before["learning_rate"], 0.01)
        self.assertGreater(before["newest_row"]["test_accuracy"], 0.5)
        self.assertEqual([node["name"] for node in before["nodes"]], ["main", "left", "right"])
        self.assertEqual([node["role"] for node in before["nodes"]],
                         ["director", "worker", "worker"])
        self.assertEqual(before["behind"], [])
        address = os.path.join(self.folder, "runs", "digits", "director-address")
        self.assertTrue(os.path.exists(address))
        right = child_of(launch.process.pid, "right")
        os.kill(right, signal.SIGSTOP)
        try:
            line = None
            while line is None or line[1] is None:
                line = launch.wait_for(r"main +\| \S+ \S+ waiting for node right: "
                                       r"(?:gradients of step (\d+), slices? [\d-]+"
                                       r"|a sign of life) \(last heard \d+\.\d s ago\)")
                if line[1] is None:  # frozen at an epoch's end, where nobody computes: once more
                    os.kill(right, signal.SIGCONT)
                    time.sleep(0.3)
                    launch.lines = ""
                    os.kill(right, signal.SIGSTOP)
            during = self.status()
            self.assertEqual([one["node"] for one in during["behind"]], ["right"])
            self.assertGreater(during["behind"][0]["seconds"], 1)
            self.assertIn(f"gradients of step {line[1]}", during["behind"][0]["lacks"][0])
            self.assertTrue(during["waits_for"].startswith("waiting for node right: "))
            self.assertTrue(any("from right" in text for text in during["nodes"][0]["waits_for"]))
            self.assertGreater(during["nodes"][2]["last_heard_seconds"], 1)
            self.assertLess(during["nodes"][1]["last_heard_seconds"], lenient(1.5))
            table = self.ask()
            self.assertEqual(table.returncode, 0, table.stderr)
            self.assertRegex(table.stdout, r"\nbehind +right, by \d+\.\d s: gradients of step")
            self.assertRegex(table.stdout, r"\nright +worker +takes part ")
            why = self.status_once(lambda status: status["explanation"] and (
                status["explanation"]["rule"], status["explanation"]["culprits"]
            ) == ("silent", ["right"]))["explanation"]
            self.assertEqual([(one["who"], one["from"]) for one in why["chain"]],
                             [("main", "right")])
            self.assertIn(f"gradients of step {line[1]}", why["chain"][0]["what"])
            self.explained_once(r"verdict +right holds up the run: linked, and silent for \d+\.\d s\n"
                                rf"because +main waits for right: gradients of step {line[1]}, .*\n"
                                r"what to do +its process is stopped .*\n$")
        finally:
            os.kill(right, signal.SIGCONT)
        launch.wait_for(r"main +\| \S+ \S+ the wait is over, after \d+\.\d s")
        after = self.status_once_all_are_heard(lambda status: max(
            one["last_by_max_ms"] for one in status["trainers"]) > 1000)
        blamed = max(after["trainers"], key=lambda one: one["last_by_max_ms"])
        self.assertEqual((blamed["process"], blamed["replica"]), ("right", 0))
        self.assertRegex(self.ask().stdout, r"\nreplica +results +last +by ms(.*\n)+ *right/0 ")
        self.assertGreater(after["step"], before["step"])
        self.assertEqual(after["replicas_lost"], 0)
        self.explained_once(r"verdict +nothing holds up the run: training, step \d+ of \d+.*\n$")
        self.assertEqual(after["views"], 1, "visitors and a short freeze change nothing")
        self.assertEqual(launch.end(), 130)
        self.assertNotIn("refused a process", launch.lines)
        self.assertFalse(os.path.exists(address))
        gone = self.ask("--json")
        self.assertEqual(gone.returncode, 69)
        self.assertEqual(json.loads(gone.stdout)["error"]["code"], "unavailable")

    def test_who_waits_for_whom_at_the_start_is_told_on_both_sides(self):
        self.write(free_ports(3))
        left = self.start("node", self.file, "--name", "left", *ENDLESS)
        left.wait_for(r"waiting for the director \(main at [^)]*\): Connection refused \(\d+ s left\)")
        main = self.start("node", self.file, "--name", "main", *ENDLESS)
        main.wait_for(r"waiting for node right to join \(\d+ s left\)")
        left.wait_for(r"waiting for the director \(main\) to begin")
        status = self.status()
        self.assertEqual(status["phase"], "waiting")
        self.assertIn("right", status["waits_for"])
        self.assertEqual([node["state"] for node in status["nodes"]],
                         ["linked", "linked", "missing"])
        self.assertEqual(status["explanation"]["rule"], "missing")
        self.assertEqual(status["explanation"]["culprits"], ["right"])
        self.assertRegex(self.ask("--explain").stdout,
                         r"verdict +not linked with main: right \(waiting for right\)\n"
                         r"because +main waits for right: a link to it\n"
                         r"what to do +start what is missing \('troupe node .* --name right'\)")
        self.start("node", self.file, "--name", "right", "--quiet", *ENDLESS)
        main.wait_for("the wait is over, after")
        self.assertEqual(main.end(), 130)

    def test_quiet_nodes_say_nothing_of_waits_and_a_stop_ends_them(self):
        self.write(free_ports(3))
        nodes = [self.start("node", self.file, "--name", name, "--quiet", *ENDLESS)
                 for name in ("main", "left")]
        self.status_once(lambda status: status["nodes"][1]["state"] == "linked")
        self.assertEqual([node.end() for node in nodes], [130, 0])
        self.assertEqual([node.lines for node in nodes], [
            "troupe: SIGINT: stopping; a second one, after 1 s or later, ends at once and keeps "
            "nothing\n"
            "troupe: error: stopped before training began: waiting for right\n", ""])
        # The next start is in nobody's way.
        self.assertFalse(os.path.exists(os.path.join(self.folder, "runs", "digits", "job.toml")))

    def test_errors_have_the_exit_codes_of_the_contract(self):
        port = free_ports(1)[0]
        self.write([port, 0, 0])
        self.assertEqual(self.ask().returncode, 69)
        with socket.socket() as server:
            server.bind(("127.0.0.1", port))
            server.listen()
            silent = self.ask()
            self.assertEqual(silent.returncode, 69)
            self.assertIn("it has been silent for 5.0 s", silent.stderr)
            thread = threading.Thread(target=self.answer_with_another_version, args=[server])
            server.accept()[0].close()
            thread.start()
            other = self.ask("--json")
            thread.join()
        self.assertEqual(other.returncode, 76)
        self.assertEqual(json.loads(other.stdout)["error"]["what"], "another version")
        job = self.ask(file=JOB)
        self.assertEqual(job.returncode, 78)
        self.assertIn("'troupe train' can be asked by nobody: it has no port", job.stderr)
        self.write([0, 0, 0])
        self.assertEqual(self.ask().returncode, 69)
        text = self.read("cluster.toml").replace('"127.0.0.1:0"\ndirector', '"no-host.invalid:7\"\ndirector')
        super().write("cluster.toml", "insecure = true\n" + text)
        self.assertEqual(self.ask().returncode, 66)

    @staticmethod
    def answer_with_another_version(server):
        visitor = server.accept()[0]
        visitor.recv(4096)
        visitor.sendall(b'{"troupe":1,"answer":{"verdict":"refused","reason":"another version",'
                        b'"exit_code":76}}\n')
        visitor.close()


if __name__ == "__main__":
    main()
