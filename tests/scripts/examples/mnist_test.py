"""MNIST from its own IDX files: 8,000 rows to train on, 2,000 to test with, at least 94 % right.

    python3 tests/scripts/examples/mnist_test.py BUILD_FOLDER SOURCE_FOLDER

The files are looked for in the folder TROUPE_DATA_DIR; without them the test says so and ends with
exit code 77, which ctest counts as skipped.
"""

import gzip
import os
import shutil
import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from command import SOURCE, CommandTest, main

JOB = SOURCE / "examples" / "mnist.toml"
DATA = os.environ.get("TROUPE_DATA_DIR", "")
IMAGES = os.path.join(DATA, "mnist-10k-images-idx3-ubyte.gz")
LABELS = os.path.join(DATA, "mnist-10k-labels-idx1-ubyte.gz")
SKIPPED = 77


class Mnist(CommandTest):
    def test_the_example_reaches_what_it_promises(self):
        result = self.train(JOB, f"data.file={IMAGES}")
        self.assertEqual(result["samples"], 8000 * result["epochs"])
        self.assertLessEqual(result["epochs"], 10)
        print("test accuracy", result["test_accuracy"])
        self.assertGreaterEqual(result["test_accuracy"], 0.94)

    def test_names_compression_and_the_way_of_naming_change_nothing(self):
        for path, name in ((IMAGES, "digits"), (LABELS, "answers")):
            with gzip.open(path) as packed, open(os.path.join(self.folder, name), "wb") as plain:
                shutil.copyfileobj(packed, plain)
        named = self.train(JOB, f"data.file={IMAGES}", "training.epochs=1")
        found = self.train(JOB, "data.labels_file=answers", "training.epochs=1",
                           env={**os.environ, "TROUPE_DATA__FILE": "digits"}, more=["--overwrite"])
        self.assertEqual(named["job_sha256"], found["job_sha256"])
        self.assertEqual(named["parameters_sha256"], found["parameters_sha256"])

    def test_without_the_files_the_example_names_what_is_missing(self):
        refused = self.troupe("train", JOB, "--set", "data.file=nowhere-images-idx3-ubyte", code=66).stderr
        self.assertIn("nowhere-images-idx3-ubyte", refused)
        shutil.copy(IMAGES, os.path.join(self.folder, "a-images-idx3-ubyte.gz"))
        refused = self.troupe("train", JOB, "--set", "data.file=a-images-idx3-ubyte.gz", code=66).stderr
        self.assertIn("a-labels-idx1-ubyte.gz", refused)


if __name__ == "__main__":
    if not (os.path.isfile(IMAGES) and os.path.isfile(LABELS)):
        print("skipped: no mnist-10k-images-idx3-ubyte.gz and its labels in the folder TROUPE_DATA_DIR",
              repr(DATA))
        sys.exit(SKIPPED)
    main()
