"""examples/deploy/ssh_launch.sh with an ssh server of this test's own, on the loopback.

    python3 tests/scripts/ssh_launch_test.py BUILD_FOLDER SOURCE_FOLDER

Exit code 77 (skipped) where there is no ssh server, or none can be started.
"""

import getpass
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from cluster_run import cluster_text, free_ports, nodes_on_loopback, trained_alone
from command import JOB, SOURCE, TROUPE, CommandTest, finished, nodes_of
from patience import HANG, lenient, wait_until

SCRIPT = os.path.join(SOURCE, "examples", "deploy", "ssh_launch.sh")
SSHD = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
EPOCHS = 3


class Server:
    """An ssh server that lets nobody in but this test."""

    def __init__(self):
        self.place = tempfile.TemporaryDirectory()
        folder = self.place.name
        host, user = os.path.join(folder, "host"), os.path.join(folder, "user")
        for path in (host, user):
            finished("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)
        port = free_ports(1)[0]
        if os.getuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        options = {"ListenAddress": f"127.0.0.1:{port}", "HostKey": host, "UsePAM": "no",
                   "AuthorizedKeysFile": user + ".pub", "StrictModes": "no", "PidFile": "none",
                   "PermitRootLogin": "yes", "PasswordAuthentication": "no"}
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        self.process = subprocess.Popen([SSHD, "-D", "-e", "-f", "/dev/null", *words],
                                        stderr=subprocess.DEVNULL)
        self.command = (f"ssh -F /dev/null -o BatchMode=yes -i {user} -p {port} "
                        f"-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
                        f"-o LogLevel=ERROR -l {getpass.getuser()}")

    def works(self):
        deadline = time.monotonic() + lenient(10)
        while time.monotonic() < deadline and self.process.poll() is None:
            if finished(*self.command.split(), "127.0.0.1", "true", code=None).returncode == 0:
                return True
            time.sleep(0.1)
        return False

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.place.cleanup()


class SshLaunch(CommandTest):
    server = None

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="a folder ")))
        self.file = str(self.write("cluster.toml", cluster_text(nodes_on_loopback([(1, 1)] * 3))))

    def tearDown(self):
        for number in nodes_of(self.file).values():
            os.kill(number, signal.SIGKILL)

    def start(self, epochs, *arguments):
        """In a process group of its own, as a terminal would."""
        self.messages = open(os.path.join(self.folder, "messages"), "w+", encoding="utf-8")
        self.addCleanup(self.messages.close)
        return subprocess.Popen(
            [SCRIPT, self.file, "--json", "--set", f"training.epochs={epochs}", *arguments],
            cwd=self.folder, env={**os.environ, "TROUPE": TROUPE, "SSH": self.server.command},
            stdout=subprocess.PIPE, stderr=self.messages, text=True, start_new_session=True)

    def said(self):
        self.messages.seek(0)
        return self.messages.read()

    def test_all_nodes_train_and_the_result_comes_here(self):
        launch = self.start(EPOCHS)
        result = json.loads(launch.communicate(timeout=HANG)[0])
        self.assertEqual(launch.returncode, 0, self.said())
        self.assertEqual(result["nodes"], 3)
        alone = trained_alone(JOB, [f"training.epochs={EPOCHS}"])
        self.assertEqual(result["parameters_sha256"], alone["parameters_sha256"])
        self.assertEqual(nodes_of(self.file), {})

    def test_interrupt_ends_everything_everywhere_and_keeps_the_run(self):
        launch = self.start(1_000_000)
        wait_until(lambda: "Epoch " in self.said(), self.said)
        self.assertEqual(len(nodes_of(self.file)), 3)
        os.killpg(launch.pid, signal.SIGINT)
        result = json.loads(launch.communicate(timeout=HANG)[0])
        self.assertEqual(launch.returncode, 130, self.said())
        self.assertEqual(result["stopped_by"], "interrupt")
        self.assertTrue(os.path.exists(os.path.join(self.folder, result["model_file"])))
        self.assertEqual(nodes_of(self.file), {})

    def test_nothing_outlives_a_launcher_that_was_killed(self):
        launch = self.start(1_000_000)
        wait_until(lambda: "Epoch " in self.said(), self.said)
        launch.kill()
        launch.wait(HANG)
        launch.stdout.close()
        wait_until(lambda: not nodes_of(self.file))

    def test_node_that_refuses_ends_the_run_with_its_code(self):
        launch = self.start(EPOCHS, "--set", "runtime.instructions=neon")
        launch.communicate(timeout=HANG)
        self.assertEqual(launch.returncode, 76, self.said())
        self.assertIn("failed first: exit code 76", self.said())
        self.assertEqual(nodes_of(self.file), {})


if __name__ == "__main__":
    if not SSHD or not shutil.which("ssh"):
        sys.exit(77)
    SshLaunch.server = Server()
    try:
        if not SshLaunch.server.works():
            print("the ssh server does not work here")
            sys.exit(77)
        unittest.main(argv=["ssh_launch_test"], verbosity=1)
    finally:
        SshLaunch.server.end()
