"""Example programs print what their first lines say they print.

    python3 tests/scripts/examples_test.py BUILD_FOLDER SOURCE_FOLDER NAME...

The head comment of examples/NAME.cpp ends its prose with "It prints:"; the lines after it are the
program's whole standard output. Programs run in a folder of their own that holds the examples' data.
"""

import os
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
NAMES = sys.argv[3:]


def promised(name):
    """The lines that the head comment shows."""
    lines = open(os.path.join(SOURCE, "examples", name + ".cpp"), encoding="utf-8").read().split("\n")
    head = [line[2:].strip() for line in lines[:lines.index("")]]
    start = next(i for i, line in enumerate(head) if line.lower().endswith("prints:"))
    return [line for line in head[start + 1:] if line]


class Examples(unittest.TestCase):
    def test_each_prints_what_it_promises(self):
        self.assertTrue(NAMES, "name the examples to run")
        for name in NAMES:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                os.symlink(os.path.join(SOURCE, "examples"), os.path.join(folder, "examples"))
                run = subprocess.run([os.path.join(BUILD, "bin", "example_" + name)], cwd=folder,
                                     capture_output=True, text=True, timeout=120)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertEqual(run.stdout.splitlines(), promised(name))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
