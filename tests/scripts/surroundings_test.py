"""What surrounds a run and has no part in it: the time of day, language, home, standard streams (K3).

    python3 tests/scripts/surroundings_test.py BUILD_FOLDER SOURCE_FOLDER

Trains examples/digits.toml, alone and on two nodes, where one of them is not as usual, and compares
the bits with those of a run where all are.
"""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from cluster_run import cluster_text, nodes_on_loopback, of_thread, threads_of, trained_alone
from command import JOB, TROUPE, CommandTest, finished, sets_of
from patience import HANG

EPOCHS = 120
JUMPS = ["+0", "+20000d", "-10000d", "+1d", "-1s", "+300s", "-300s", "+0"]
JUMP_SECONDS = 0.02
FAKETIME = f"/usr/lib/{os.uname().machine}-linux-gnu/faketime/libfaketimeMT.so.1"
COMMA_LOCALE = "de_DE"  # writes 0,5 for 0.5 and 1.000 for 1000


def comma_locale(folder):
    """Variables of a language with other numbers; without its description one that is not there,
    which is strange as well."""
    name = COMMA_LOCALE + ".UTF-8"
    if shutil.which("localedef"):
        finished("localedef", "--no-archive", "-i", COMMA_LOCALE, "-f", "UTF-8", folder / name, code=None)
    return {"LC_ALL": name, "LANG": name, "LANGUAGE": "de", "LOCPATH": str(folder)}


class Surroundings(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.usual = trained_alone(JOB, [f"training.epochs={EPOCHS}"])

    def setUp(self):
        super().setUp()
        nodes = nodes_on_loopback([(1, 1), (1, 1)])
        self.cluster = str(self.write("cluster.toml", cluster_text(nodes, f"[training]\nepochs = {EPOCHS}\n")))

    def alone(self):
        return [TROUPE, "train", JOB, "--json", "--quiet", "--overwrite",
                "--set", f"training.epochs={EPOCHS}"]

    def launch(self):
        return [TROUPE, "launch", self.cluster, "--json", "--quiet", "--overwrite"]

    def start(self, command, environment=None, **more):
        return super().start(*command, env=environment, **more)

    def expect_usual(self, run):
        output, said = run.communicate(timeout=HANG)
        self.assertEqual(run.returncode, 0, said)
        result = json.loads(output)
        self.assertEqual(result["parameters_sha256"], self.usual["parameters_sha256"])
        self.assertEqual(result["replicas_lost"], 0, said)
        self.assertLess(0, result["seconds"])
        self.assertLess(result["seconds"], HANG)
        return result

    @unittest.skipUnless(os.path.exists(FAKETIME), "there is no libfaketime")
    def test_the_time_of_day_may_jump(self):
        clock = os.path.join(self.folder, "clock")

        def jump(offset):
            with open(clock + ".new", "w", encoding="utf-8") as file:
                file.write(offset + "\n")
            os.replace(clock + ".new", clock)

        environment = {**os.environ, "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": clock,
                       "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                       "DONT_FAKE_MONOTONIC": "1"}
        jump(JUMPS[1])
        year = finished("date", "+%Y", env=environment).stdout
        self.assertGreater(int(year), time.gmtime().tm_year + 50, "the clock does not jump")
        for command in (self.alone(), self.launch()):
            with self.subTest(command=command[1]):
                jumps = 0
                while jumps <= len(JUMPS):  # a run may be over before the clock has had its turns
                    run = self.start(command, environment)
                    while run.poll() is None and jumps < 5000:
                        time.sleep(JUMP_SECONDS)
                        jumps += 1
                        jump(JUMPS[jumps % len(JUMPS)])
                    self.expect_usual(run)

    def test_language_changes_no_number(self):
        environment = {**os.environ, **comma_locale(self.folder)}
        for command in (self.alone(), self.launch()):
            with self.subTest(command=command[1]):
                self.expect_usual(self.start(command, environment))
        lines = self.read("runs", "digits", "history.csv").splitlines()
        self.assertEqual({line.count(",") for line in lines}, {lines[0].count(",")})

    def test_nothing_is_needed_of_the_environment(self):
        for command in (self.alone(), self.launch()):
            with self.subTest(command=command[1]):
                self.expect_usual(self.start(command, {}))

    def test_closed_standard_streams_are_nobodys_file(self):
        """Nothing of the run goes where they were, and the model is whole; that the result could
        not be printed is said by the exit code."""
        for command in (self.alone(), self.launch()):
            for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
                with self.subTest(command=command[1], closed=closed):
                    run = self.start(["sh", "-c", f'"$@" {closed}', "sh", *command])
                    output, said = run.communicate(timeout=HANG)
                    self.assertEqual(run.returncode, 74 if ">&-" in closed.split() else 0, said)
                    if output:
                        self.assertEqual(json.loads(output)["parameters_sha256"],
                                         self.usual["parameters_sha256"])
                    self.assertEqual(self.model_sha256(), self.usual["parameters_sha256"])

    def test_little_address_space_ends_the_command_at_once_with_its_words(self):
        alone = [*self.alone(), "--set", "training.replicas=1", "--set", "runtime.threads=1"]
        for megabytes, command, code in ((60, [TROUPE, "--version"], 0),
                                         (70, alone, 78), (200, alone, 0)):
            with self.subTest(megabytes=megabytes):
                run = self.start(["prlimit", f"--as={megabytes << 20}", *command])
                _, said = run.communicate(timeout=HANG)
                self.assertEqual(run.returncode, code, said)
                if code == 78:
                    self.assertIn("left of its address space (ulimit -v)", said)

    @unittest.skipUnless(os.geteuid() == 0, "a limit counts all processes of a user")
    def test_threads_that_cannot_be_started_are_told(self):
        os.chmod(self.folder, 0o777)
        nobody = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
        cores = os.cpu_count()
        codes = set()
        for count in [*range(1, 8), cores, cores + 1, cores + 4, 60 + 2 * cores]:
            run = self.start([*nobody, "prlimit", f"--nproc={count}", *self.alone()])
            output, said = run.communicate(timeout=HANG)
            code = run.returncode
            if code == 74:
                self.assertIn("more threads and is permitted", json.loads(output)["error"]["what"], said)
            elif code == -signal.SIGINT:  # by OpenBLAS, before the command begins
                self.assertIn("pthread_create failed", said)
            else:
                self.assertEqual(code, 0, said)
            codes.add(code)
        self.assertEqual(code, 0)
        self.assertIn(74, codes)

    def test_files_that_cannot_be_opened_are_told(self):
        codes = {}
        for count in range(6, 40, 2):
            for command in (self.alone(), [TROUPE, "node", self.cluster, "--name", "main", "--json",
                                           "--quiet", "--overwrite", "--set", "timeouts.join=100ms"]):
                with self.subTest(count=count, command=command[1]):
                    run = self.start(["prlimit", f"--nofile={count}", *command])
                    output, said = run.communicate(timeout=HANG)
                    codes[command[1], count] = run.returncode
                    self.assertIn(run.returncode, (0, 69, 74), said)
                    if run.returncode == 74:
                        self.assertIn("ulimit -n", said)
        self.assertEqual(codes["train", 38], 0)
        self.assertEqual(codes["node", 38], 0)

    def test_files_that_may_not_grow_end_nobody(self):
        for kibibytes, code in ((4, 74), (1024, 0)):
            with self.subTest(kibibytes=kibibytes):
                run = self.start(["prlimit", f"--fsize={kibibytes << 10}", *self.alone()])
                output, said = run.communicate(timeout=HANG)
                self.assertEqual(run.returncode, code, said)
                self.assertIn("File too large", said)  # of the recorder, and of the model
                self.assertTrue(json.loads(output))

    def stopped_by(self, number, command, ignored=False):
        """What a run said that was sent this signal as it trained."""
        ignore = (lambda: signal.signal(number, signal.SIG_IGN)) if ignored else None
        long = ["--set", "training.epochs=200000", "--set", "checkpoint.every_steps=0"]
        run = self.start([*(x for x in command if x != "--quiet"), *long], preexec_fn=ignore)
        self.said_until(run, "Epoch")
        run.send_signal(number)
        if ignored:
            time.sleep(1.5)  # longer than two signals are one
            self.assertIsNone(run.poll())
            run.send_signal(signal.SIGTERM)
        output, said = run.communicate(timeout=HANG)
        self.assertEqual(run.returncode, 143, said)
        self.assertEqual(json.loads(output)["parameters_sha256"], self.model_sha256())

    def test_a_terminal_that_is_closed_or_a_batch_system_that_warns_keeps_the_model(self):
        launch = [TROUPE, "launch", self.cluster, "--json", "--overwrite"]
        for number, command in ((signal.SIGHUP, self.alone()), (signal.SIGHUP, launch),
                                (signal.SIGUSR1, self.alone()), (signal.SIGXCPU, launch)):
            with self.subTest(number=number, command=command[1]):
                self.stopped_by(number, command)

    def test_nohup_is_heeded(self):
        for command in (self.alone(), [TROUPE, "launch", self.cluster, "--json", "--overwrite"]):
            with self.subTest(command=command[1]):
                self.stopped_by(signal.SIGHUP, command, ignored=True)

    @unittest.skipUnless(os.geteuid() == 0, "a namespace of processes needs root")
    def test_two_containers_whose_processes_have_one_number_find_each_other(self):
        own = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child"]
        if subprocess.run([*own, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("namespaces are not permitted here")
        more = [TROUPE, "node", self.cluster, "--name"]
        other = self.start([*own, *more, "left"])
        main = self.start([*own, *more, "main", "--json", "--overwrite"])
        result = self.expect_usual(main)
        self.assertEqual(result["nodes"], 2)
        other.communicate(timeout=HANG)

    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "one core")
    def test_who_shares_a_model_computes_on_threads_of_its_own(self):
        for split in ("parallel.tensor=2", "parallel.pipeline=2", "parallel.data=2"):
            with self.subTest(split=split):
                settings = [split, "model.cuts=2", "model.hidden=[512, 512]", "training.epochs=100000",
                            "training.batch_size=128"]
                run = self.start([TROUPE, "train", JOB, "--json", "--overwrite",
                                  *sets_of(settings)])
                self.said_until(run, "Epoch")
                used = [0, 0]  # hundredths of a second, the most used thread last
                while used[-2] < 20 and used[-1] < 1000:
                    time.sleep(0.1)
                    stats = [of_thread(run.pid, thread, "stat").rpartition(")")[2].split()
                             for thread in threads_of(run.pid, "troupe-worker")]
                    used = sorted([0, 0, *(int(fields[11]) + int(fields[12]) for fields in stats)])
                run.send_signal(signal.SIGINT)
                run.communicate(timeout=HANG)
                # Two wait for each other in each step, so both get on, however busy the machine is;
                # what one did before (preparing, evaluating) is outrun by what the other does later.
                self.assertGreaterEqual(used[-2], 20, used)

    def model_sha256(self):
        model = self.folder / "runs" / "digits" / "model.safetensors"
        shown = self.result_of("inspect", model)
        os.remove(model)
        return shown["parameters_sha256"]


if __name__ == "__main__":
    unittest.main(argv=["surroundings_test"], verbosity=1)
