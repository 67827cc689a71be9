"""Keeps the examples true: each program prints what its head comment says, each job file is right.

    examples_test.py program PROGRAM SOURCE.cpp
    examples_test.py embedded TROUPE PROGRAM SOURCE.cpp
    examples_test.py processes PROGRAM SOURCE.cpp
    examples_test.py shell TROUPE SCRIPT.sh
    examples_test.py jobs TROUPE FOLDER
    examples_test.py kinds PROGRAM SETTING...
    examples_test.py commands TROUPE
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from patience import HANG

ROOT = Path(__file__).resolve().parent.parent.parent


def expected_output(source):
    """The lines that stand indented below "It prints:" in the source's head comment."""
    head = source.split("\n\n#include", 1)[0]
    after = re.split(r"It prints:\n//\n", head, maxsplit=1)
    if len(after) != 2:
        sys.exit("the head comment does not say what the program prints")
    lines = re.match(r"(//(   .*)?\n?)+", after[1])[0].splitlines()
    return "".join(line[5:] + "\n" for line in lines)


def check_program(program, source, *arguments):
    expected = expected_output(Path(source).read_text(encoding="utf-8")).rstrip("\n") + "\n"
    run = subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if (run.returncode, run.stdout, run.stderr) != (0, expected, ""):
        sys.exit(f"exit code {run.returncode}\n--- printed\n{run.stdout}--- promised\n{expected}"
                 f"--- standard error\n{run.stderr}")
    print(f"{len(expected.splitlines())} lines as promised")


def free_address():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


def check_embedded(troupe, program, source):
    """An application and a `troupe node` train what `troupe train` trains."""
    cluster = Path(source).with_suffix(".toml")
    addresses = [free_address(), free_address()]
    with tempfile.TemporaryDirectory() as folder:
        text = cluster.read_text(encoding="utf-8")
        text = text.replace("../digits.toml", str(ROOT / "examples" / "digits.toml"))
        for written, free in zip(re.findall(r'"(127.0.0.1:\d+)"', text), addresses):
            text = text.replace(written, free)
        file = Path(folder) / "cluster.toml"
        file.write_text(text, encoding="utf-8")
        with subprocess.Popen([troupe, "node", file, "--name", "main", "--json", "--quiet"],
                              cwd=folder, stdout=subprocess.PIPE, text=True) as main:
            check_program(program, source, *addresses)
            trained = json.loads(main.communicate(timeout=HANG)[0])
        run = subprocess.run([troupe, "train", ROOT / "examples" / "digits.toml", "--json",
                              "--quiet"], cwd=folder, capture_output=True, text=True, check=True)
    alone = json.loads(run.stdout)
    if trained["parameters_sha256"] != alone["parameters_sha256"]:
        sys.exit(f"other parameters\n{trained}\n{alone}")
    if trained["nodes"] != 2 or trained["samples_by_replica"].count(0) > 0:
        sys.exit(f"the application did not take part\n{trained}")


class Member:
    """One of the three processes of the networked collectives."""

    def __init__(self, program, name, addresses, *more):
        self.run = subprocess.Popen([program, name, *addresses, *more], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
        port = re.search(r"port (\d+)", self.run.stderr.readline())
        self.address = f"127.0.0.1:{port[1]}" if port else sys.exit(f"{name} does not listen")

    def end(self):
        printed, problems = self.run.communicate(timeout=HANG)
        return self.run.returncode, printed, problems


def three_members(program, *more):
    members, addresses = [], ["127.0.0.1:0"] * 3
    for place, name in enumerate("abc"):
        members.append(Member(program, name, addresses, *(more if name == "c" else ())))
        addresses[place] = members[-1].address
    return members


def check_processes(program, source):
    """Members in three processes: the third goes by itself, or is killed."""
    expected = expected_output(Path(source).read_text(encoding="utf-8")).rstrip("\n") + "\n"
    first = expected.splitlines(keepends=True)[0]
    a, b, c = three_members(program)
    ends = [one.end() for one in (a, b, c)]
    if ends != [(0, expected, ""), (0, expected, ""), (0, first, "")]:
        sys.exit(f"--- ended with\n{ends}\n--- promised\n{expected}")
    for how in (signal.SIGKILL, signal.SIGSTOP):
        a, b, c = three_members(program, "stays")
        line = c.run.stdout.readline()
        c.run.send_signal(how)
        ends = [a.end(), b.end()]
        c.run.kill()
        c.end()
        # What c had still to say of a round that has ended for itself may be lost with it. Who hears
        # of c first leaves, and the other one may hear of that first.
        gone = re.compile(f"({re.escape(first)})?" + r'.*"round [012]: member ([12]) is lost: '
                          r'its process is gone"\)\n')
        said = [(code, gone.fullmatch(text)) for code, text, _ in ends]
        if line != first or any(code != 0 or not text for code, text in said) \
                or all(text[2] != "2" for _, text in said):
            sys.exit(f"{how.name}: ended with\n{ends}")
    print("three processes print what is promised, and name who was killed or froze")


def check_shell(troupe, script):
    """A script that runs the command says what it prints as programs do."""
    head = Path(script).read_text(encoding="utf-8").split("\nset -eu", 1)[0]
    expected = "".join(line[4:] + "\n" for line in
                       head.split("It prints:\n#\n", 1)[1].splitlines() if line.startswith("#   "))
    run = subprocess.run([script], cwd=ROOT, capture_output=True, text=True, check=False,
                         env={**os.environ, "TROUPE": troupe})
    if (run.returncode, run.stdout) != (0, expected):
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


def commands_in(text, mark):
    """What stands behind the mark, line by line; a backslash joins a line with the next."""
    for found in re.finditer(rf"^{mark}(build/bin/troupe (?:.*\\\n)*.*)", text, re.MULTILINE):
        yield re.sub(r"\\\n#? *", "", found[1])


def check_commands(troupe):
    """Every command of the README and of the examples' comments, in order in one folder: each finds what it names, and
    none stands in the way of another. One epoch or round each: what they print is promised and tested elsewhere."""
    files = [*sorted((ROOT / "examples").rglob("*.toml")), ROOT / "README.md"]
    commands = dict.fromkeys(command for file in files
                             for command in commands_in(file.read_text(encoding="utf-8"),
                                                        "#   " if file.suffix == ".toml" else ""))
    ended = {"status": 69, "--set merge.rule=average": 1}  # no run is under way; it may diverge
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        os.makedirs(Path(folder) / "build" / "bin")
        os.symlink(os.path.abspath(troupe), Path(folder) / "build" / "bin" / "troupe")
        ran = 0
        for command in commands:
            if "PATH/" in command or command.startswith("build/bin/troupe node"):
                continue  # files of others; a process that waits for another one
            job = Path(folder) / next((word for word in command.split() if word.endswith(".toml")), "README.md")
            is_federated = job.exists() and "[federated]" in job.read_text(encoding="utf-8")
            length = "TROUPE_FEDERATED__ROUNDS" if is_federated else "TROUPE_TRAINING__EPOCHS"
            run = subprocess.run(["bash", "-c", "set -o pipefail; " + re.sub(r"epochs=\d+", "epochs=1", command)],
                                 cwd=folder, capture_output=True, text=True, check=False, timeout=HANG,
                                 env={**os.environ, length: "1"})
            if run.returncode not in [0] + [code for word, code in ended.items() if word in command]:
                sys.exit(f"{command}\nexit code {run.returncode}\n{run.stdout}{run.stderr}")
            ran += 1
    print(f"{ran} commands as they stand")


def check_kinds(program, *settings):
    """A program with a kind of its own trains the digits with it, in one process and as two nodes."""
    sets = [word for setting in (*settings, "training.epochs=8", "output.directory=run")
            for word in ("--set", setting)]
    results = []
    for command, file in (("train", "digits.toml"), ("launch", "cluster/two_nodes.toml")):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([program, command, ROOT / "examples" / file, "--json", "--quiet", *sets],
                                 cwd=folder, capture_output=True, text=True, check=False)
            if run.returncode != 0:
                sys.exit(f"{command}: exit code {run.returncode}\n{run.stdout}{run.stderr}")
            results.append(json.loads(run.stdout))
    alone, two = results
    if alone["parameters_sha256"] != two["parameters_sha256"] or two["nodes"] != 2:
        sys.exit(f"other parameters\n{alone}\n{two}")
    if alone["test_accuracy"] < 0.93:
        sys.exit(f"learned too little\n{alone}")
    for name in alone.get("metrics", {}):
        if alone["metrics"][name] != two["metrics"][name] or alone["metrics"][name] < alone["test_accuracy"]:
            sys.exit(f"other or bad figures: {name}\n{alone}\n{two}")
    print(f"accuracy {alone['test_accuracy']:.3f}, the same bits on two nodes")


if __name__ == "__main__":
    {"kinds": check_kinds,
     "program": check_program, "embedded": check_embedded, "shell": check_shell,
     "commands": check_commands, "jobs": check_jobs, "processes": check_processes}[sys.argv[1]](*sys.argv[2:])
