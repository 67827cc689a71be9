"""What surrounds a run and has no part in it: the time of day, language, home, standard streams (K3).

    python3 tests/scripts/surroundings_test.py BUILD_FOLDER SOURCE_FOLDER

Trains examples/digits.toml, alone and on two nodes, where one of them is not as usual, and compares
the bits with those of a run where all are.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

from cluster_run import JOB, TROUPE, cluster_text, nodes_on_loopback, trained_alone
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
        subprocess.run(["localedef", "--no-archive", "-i", COMMA_LOCALE, "-f", "UTF-8",
                        os.path.join(folder, name)], capture_output=True, timeout=HANG, check=False)
    return {"LC_ALL": name, "LANG": name, "LANGUAGE": "de", "LOCPATH": folder}


class Surroundings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.usual = trained_alone(JOB, [f"training.epochs={EPOCHS}"])

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = place.name
        text = cluster_text(nodes_on_loopback([(1, 1), (1, 1)]), f"[training]\nepochs = {EPOCHS}\n")
        self.cluster = os.path.join(self.folder, "cluster.toml")
        with open(self.cluster, "w", encoding="utf-8") as file:
            file.write(text)

    def alone(self):
        return [TROUPE, "train", JOB, "--json", "--quiet", "--overwrite",
                "--set", f"training.epochs={EPOCHS}"]

    def launch(self):
        return [TROUPE, "launch", self.cluster, "--json", "--quiet", "--overwrite"]

    def start(self, command, environment, **more):
        return subprocess.Popen(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **more)

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
        year = subprocess.run(["date", "+%Y"], env=environment, capture_output=True, text=True,
                              timeout=HANG, check=True).stdout
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
        history = os.path.join(self.folder, "runs", "digits", "history.csv")
        with open(history, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual({line.count(",") for line in lines}, {lines[0].count(",")})

    def test_nothing_is_needed_of_the_environment(self):
        for command in (self.alone(), self.launch()):
            with self.subTest(command=command[1]):
                # But for what chooses the arithmetic itself: another one has other bits.
                chosen = {key: value for key, value in os.environ.items()
                          if key.startswith("OPENBLAS_")}
                self.expect_usual(self.start(command, chosen))

    def test_closed_standard_streams_are_nobodys_file(self):
        """Nothing of the run goes where they were, and the model is whole; that the result could
        not be printed is said by the exit code."""
        for command in (self.alone(), self.launch()):
            for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
                with self.subTest(command=command[1], closed=closed):
                    run = self.start(["sh", "-c", f'"$@" {closed}', "sh", *command], os.environ)
                    output, said = run.communicate(timeout=HANG)
                    self.assertEqual(run.returncode, 74 if ">&-" in closed.split() else 0, said)
                    if output:
                        self.assertEqual(json.loads(output)["parameters_sha256"],
                                         self.usual["parameters_sha256"])
                    self.assertEqual(self.model_sha256(), self.usual["parameters_sha256"])

    def test_little_address_space_ends_the_command_at_once_with_its_words(self):
        """OpenBLAS's threads ask for their scratch for ever where they cannot have it."""
        alone = [*self.alone(), "--set", "training.replicas=1", "--set", "runtime.threads=1"]
        for megabytes, command, code in ((120, [TROUPE, "--version"], 0),
                                         (150, alone, 78), (400, alone, 0)):
            with self.subTest(megabytes=megabytes):
                run = self.start(["prlimit", f"--as={megabytes << 20}", *command], os.environ)
                _, said = run.communicate(timeout=HANG)
                self.assertEqual(run.returncode, code, said)
                if code == 78:
                    self.assertIn("left of its address space (ulimit -v)", said)

    def model_sha256(self):
        model = os.path.join(self.folder, "runs", "digits", "model.safetensors")
        shown = subprocess.run([TROUPE, "inspect", model, "--json"], capture_output=True, text=True,
                               timeout=HANG, check=True)
        os.remove(model)
        return json.loads(shown.stdout)["parameters_sha256"]


if __name__ == "__main__":
    unittest.main(argv=["surroundings_test"], verbosity=1)
