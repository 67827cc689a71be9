"""Keeps the examples true: each program prints what its head comment says, each job file is right.

    examples_test.py program PROGRAM SOURCE.cpp
    examples_test.py jobs TROUPE FOLDER
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def expected_output(source):
    """The lines that stand indented below "It prints:" in the source's head comment."""
    head = source.split("\n\n#include", 1)[0]
    after = re.split(r"It prints:\n//\n", head, maxsplit=1)
    if len(after) != 2:
        sys.exit("the head comment does not say what the program prints")
    return "".join(line[5:] for line in re.match(r"(//   .*\n?)+", after[1])[0].splitlines(True))


def check_program(program, source):
    expected = expected_output(Path(source).read_text(encoding="utf-8")).rstrip("\n") + "\n"
    run = subprocess.run([program], cwd=ROOT, capture_output=True, text=True, check=False)
    if (run.returncode, run.stdout, run.stderr) != (0, expected, ""):
        sys.exit(f"exit code {run.returncode}\n--- printed\n{run.stdout}--- promised\n{expected}"
                 f"--- standard error\n{run.stderr}")
    print(f"{len(expected.splitlines())} lines as promised")


def check_jobs(troupe, folder):
    jobs = sorted(Path(folder).rglob("*.toml"))
    if not jobs:
        sys.exit(f"no job files in {folder}")
    for job in jobs:
        run = subprocess.run([troupe, "config", "check", job], capture_output=True, text=True,
                             check=False)
        if (run.returncode, run.stdout) != (0, f"{job}: ok\n"):
            sys.exit(f"{job}: exit code {run.returncode}\n{run.stdout}{run.stderr}")
    print(f"{len(jobs)} job files are right")


if __name__ == "__main__":
    {"program": check_program, "jobs": check_jobs}[sys.argv[1]](*sys.argv[2:])
