"""The command in a folder of the test's own, for tests that run it and read what it leaves.

The first two arguments of each test are the build folder and the source folder.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from patience import HANG

BUILD, SOURCE = (Path(x).resolve() for x in sys.argv[1:3])
TROUPE = str(BUILD / "bin" / "troupe")
JOB = str(SOURCE / "examples" / "digits.toml")


def sets_of(keys):
    """The words that set these keys, each "key=value"."""
    return [word for key in keys for word in ("--set", key)]


def finished(*words, code=0, **more):
    """The process of these words once it has ended, with this exit code if any is asked for."""
    run = subprocess.run(words, capture_output=True, text=True, timeout=HANG, check=False, **more)
    if code not in (None, run.returncode):
        raise AssertionError(f"exit code {run.returncode} of {words}: {run.stdout}{run.stderr}")
    return run


def rows_of_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def nodes_of(cluster_file):
    """Name -> number of the `troupe node` processes that have this file as an argument."""
    found = {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{number}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
        except OSError:
            continue  # it has ended
        if str(cluster_file) in words and "node" in words:
            found[words[words.index("--name") + 1]] = int(number)
    return found


def header_and_values(model_file):
    """Of a model file: the header of the safetensors format, and the bytes of the values behind it."""
    content = Path(model_file).read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:end]), content[end:]


class CommandTest(unittest.TestCase):
    """Each test has a folder of its own, in which all its processes run."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, name, text):
        """The path of a file in the folder that has this text from now on."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def read(self, *names):
        return self.folder.joinpath(*names).read_text(encoding="utf-8")

    def troupe(self, *words, code=0, **more):
        return finished(TROUPE, *words, code=code, cwd=self.folder, **more)

    def result_of(self, *words, **more):
        """The object that a command prints."""
        return json.loads(self.troupe(*words, "--json", **more).stdout)

    def train(self, job, *keys, more=(), **options):
        """The object of a quiet run with these keys."""
        return self.result_of("train", job, "--quiet", *sets_of(keys), *more, **options)

    def start(self, *words, **more):
        return subprocess.Popen(words, text=True, **{
            "cwd": self.folder, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})

    def said_until(self, run, text):
        """Reads what a started process says until it says `text`; returns what was read."""
        said = ""
        while text not in said:
            line = run.stderr.readline()
            self.assertNotEqual(line, "", f"ended without saying '{text}':\n{said}")
            said += line
        return said

    def expect_figures(self, result, other, keys=("parameters_sha256", "job_sha256"), what=""):
        for key in keys:
            self.assertEqual(result[key], other[key], f"{key} {what}")


class OneFolderTest(CommandTest):
    """All tests of a class share a folder."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def setUp(self):
        pass


class JobTest(CommandTest):
    """Each test has a job of this text, job.toml in its folder."""

    job_text = ""
    figures = ()  # of runs that are to be equal

    def setUp(self):
        super().setUp()
        self.job = self.write("job.toml", self.job_text)

    def train(self, directory, *keys, **how):
        return super().train(self.job, f"output.directory={directory}", *keys, **how)

    def expect_equal(self, result, other):
        self.expect_figures(result, other, self.figures)


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
