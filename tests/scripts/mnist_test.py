"""MNIST from its own IDX files: 8,000 rows to train on, 2,000 to test with, at least 94 % right.

    python3 tests/scripts/mnist_test.py BUILD_FOLDER SOURCE_FOLDER

The files are looked for in the folder TROUPE_DATA_DIR; without them the test says so and ends with
exit code 77, which ctest counts as skipped.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from patience import HANG

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
TROUPE = os.path.join(BUILD, "bin", "troupe")
JOB = os.path.join(SOURCE, "examples", "mnist.toml")
DATA = os.environ.get("TROUPE_DATA_DIR", "")
IMAGES = os.path.join(DATA, "mnist-10k-images-idx3-ubyte.gz")
LABELS = os.path.join(DATA, "mnist-10k-labels-idx1-ubyte.gz")
SKIPPED = 77


def run(folder, *settings, environment=None):
    arguments = [TROUPE, "train", JOB, "--json", "--quiet", "--overwrite"]
    for setting in settings:
        arguments += ["--set", setting]
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=HANG,
                          check=False, env=dict(os.environ, **(environment or {})))


class Mnist(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.folder = self.place.name

    def tearDown(self):
        self.place.cleanup()

    def train(self, *settings, environment=None):
        result = run(self.folder, *settings, environment=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_the_example_reaches_what_it_promises(self):
        result = self.train(f"data.file={IMAGES}")
        self.assertEqual(result["samples"], 8000 * result["epochs"])
        self.assertLessEqual(result["epochs"], 10)
        print("test accuracy", result["test_accuracy"])
        self.assertGreaterEqual(result["test_accuracy"], 0.94)

    def test_names_compression_and_the_way_of_naming_change_nothing(self):
        for path, name in ((IMAGES, "digits"), (LABELS, "answers")):
            with gzip.open(path) as packed, open(os.path.join(self.folder, name), "wb") as plain:
                shutil.copyfileobj(packed, plain)
        named = self.train(f"data.file={IMAGES}", "training.epochs=1")
        found = self.train("data.labels_file=answers", "training.epochs=1",
                           environment={"TROUPE_DATA__FILE": "digits"})
        self.assertEqual(named["job_sha256"], found["job_sha256"])
        self.assertEqual(named["parameters_sha256"], found["parameters_sha256"])

    def test_without_the_files_the_example_names_what_is_missing(self):
        result = run(self.folder, "data.file=nowhere-images-idx3-ubyte")
        self.assertEqual(result.returncode, 66, result.stderr)
        self.assertIn("nowhere-images-idx3-ubyte", result.stderr)
        shutil.copy(IMAGES, os.path.join(self.folder, "a-images-idx3-ubyte.gz"))
        result = run(self.folder, "data.file=a-images-idx3-ubyte.gz")
        self.assertEqual(result.returncode, 66, result.stderr)
        self.assertIn("a-labels-idx1-ubyte.gz", result.stderr)


if __name__ == "__main__":
    if not (os.path.isfile(IMAGES) and os.path.isfile(LABELS)):
        print("skipped: no mnist-10k-images-idx3-ubyte.gz and its labels in the folder TROUPE_DATA_DIR",
              repr(DATA))
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
