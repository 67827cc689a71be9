"""Keeps examples and documents true: each program and command prints what is shown, each job file is right.

    examples_test.py program PROGRAM SOURCE.cpp
    examples_test.py embedded TROUPE PROGRAM SOURCE.cpp
    examples_test.py own_rows TROUPE PROGRAM SOURCE.cpp
    examples_test.py gardens TROUPE PROGRAM SOURCE.cpp GARDENS.toml
    examples_test.py processes PROGRAM SOURCE.cpp
    examples_test.py shell TROUPE SCRIPT.sh
    examples_test.py jobs TROUPE FOLDER
    examples_test.py kinds PROGRAM SETTING...
    examples_test.py commands TROUPE
    examples_test.py documents TROUPE
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
import time
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
            check_program(program, source, file)
            trained = json.loads(main.communicate(timeout=HANG)[0])
        run = subprocess.run([troupe, "train", ROOT / "examples" / "digits.toml", "--json",
                              "--quiet"], cwd=folder, capture_output=True, text=True, check=True)
    alone = json.loads(run.stdout)
    if trained["parameters_sha256"] != alone["parameters_sha256"]:
        sys.exit(f"other parameters\n{trained}\n{alone}")
    if trained["nodes"] != 2 or trained["samples_by_replica"].count(0) > 0:
        sys.exit(f"the application did not take part\n{trained}")


def check_own_rows(troupe, program, source):
    """Two processes, which prove their names, learn what neither could alone."""
    addresses = [free_address(), free_address()]
    with tempfile.TemporaryDirectory() as folder:
        for words in (["ca"], ["issue", "north"], ["issue", "south"]):
            subprocess.run([troupe, "certs", *words], cwd=folder, check=True, capture_output=True)
        runs = [subprocess.Popen([program, name, *addresses], cwd=folder, stdout=subprocess.PIPE, text=True)
                for name in ("north", "south")]
        printed = "".join(run.communicate(timeout=HANG)[0] for run in runs)
    if printed != expected_output(Path(source).read_text(encoding="utf-8")):
        sys.exit(f"printed:\n{printed}")


def check_gardens(troupe, program, source, file):
    """All in one process; then in three over TLS, of which two are killed and started again before there are enough."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(file).read_text(encoding="utf-8").replace("../data/", f"{ROOT}/examples/data/")
        for address in re.findall(r"127\.0\.0\.1:\d+", text):
            text = text.replace(address, free_address())
        (Path(folder) / "gardens.toml").write_text(text, encoding="utf-8")
        run = subprocess.run([program, "gardens.toml"], cwd=folder, capture_output=True, text=True, check=False)
        expected = expected_output(Path(source).read_text(encoding="utf-8"))
        if (run.returncode, run.stdout, run.stderr) != (0, expected, ""):
            sys.exit(f"alone: exit code {run.returncode}, printed:\n{run.stdout}{run.stderr}")
        for words in (["ca"], ["issue", "home", "east", "west"]):
            subprocess.run([troupe, "certs", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (Path(folder) / "gardens.toml").write_text('[tls]\nca = "ca.pem"\n' + text, encoding="utf-8")

        def start(name):
            return subprocess.Popen([program, "gardens.toml", name], cwd=folder, stdout=subprocess.PIPE, text=True)
        for killed in (start("home"), start("east")):
            time.sleep(0.7)  # it may have joined
            killed.kill()
            killed.communicate()
        runs = [start("home"), start("east"), start("west")]
        printed = "".join(run.communicate(timeout=HANG)[0] for run in runs)
        codes = [run.returncode for run in runs]
        if printed != expected or any(codes):
            sys.exit(f"exit codes {codes}, printed:\n{printed}")


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


def commands_in(text):
    """The commands in a job file's comments, line by line; a backslash joins a line with the next."""
    for found in re.finditer(r"^#   (build/bin/troupe (?:.*\\\n)*.*)", text, re.MULTILINE):
        yield re.sub(r"\\\n#? *", "", found[1])


# Commands that may end with another code than 0, by what they say: no run is under way; it may diverge; a reader has enough.
ENDED = {" status ": 69, "--set merge.rule=average": 1, "| head": 141}


def run_command(command, folder, short):
    """Runs it in a folder with examples and build folder; short: of a training one epoch or round."""
    environment = {**os.environ, "PATH": f"{folder}/build/bin:{os.environ['PATH']}"}
    if short:
        command = re.sub(r"epochs=\d+", "epochs=1", command)
        job = Path(folder) / next((word for word in command.split() if word.endswith(".toml")), "none")
        is_federated = job.exists() and "[federated]" in job.read_text(encoding="utf-8")
        environment["TROUPE_FEDERATED__ROUNDS" if is_federated else "TROUPE_TRAINING__EPOCHS"] = "1"
    run = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=folder, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False, timeout=HANG, env=environment)
    if run.returncode not in [0] + [code for word, code in ENDED.items() if word in command]:
        sys.exit(f"{command}\nexit code {run.returncode}\n{run.stdout}")
    return run.stdout


def fresh_folder(folder, troupe):
    """What commands find where they run: examples of its own, and the build folder."""
    shutil.copytree(ROOT / "examples", Path(folder) / "examples")
    build = Path(troupe).resolve().parent.parent
    os.makedirs(Path(folder) / "build")
    for name in ("bin", "python"):
        os.symlink(build / name, Path(folder) / "build" / name)
    for name in ("benchmarks", "scripts", "tests"):
        os.symlink(ROOT / name, Path(folder) / name)


def check_commands(troupe):
    """Every command of the examples' comments, in order in one folder: each finds what it names, and none stands in the
    way of another. One epoch or round each: what they print is promised and tested elsewhere."""
    commands = dict.fromkeys(command for file in sorted((ROOT / "examples").rglob("*.toml"))
                             for command in commands_in(file.read_text(encoding="utf-8")))
    ran = 0
    with tempfile.TemporaryDirectory() as folder:
        fresh_folder(folder, troupe)
        for command in commands:
            if "PATH/" in command or command.startswith("build/bin/troupe node"):
                continue  # files of others; a process that waits for another one
            run_command(command, folder, short=True)
            ran += 1
    print(f"{ran} commands as they stand")


# Commands of documents that the test does not run as they stand: pattern, what it runs in its place (nothing: None), why.
NOT_AS_THEY_STAND = [
    (r"scripts/quickstart", "build/bin/troupe train examples/digits.toml --overwrite",
     "installs packages from the network and builds; what it prints is its last step's"),
    (r"(.*--dashboard --set training.epochs=)\d+", r"\g<1>1", "a reader looks at the page for minutes; the test sees its address"),
    (r".*(cmake|scripts/(configure|install-dependencies|test|fuzz|soak)|apt-get) ?.*", None,
     "builds, or installs from the network"),
    (r"(python3 )?benchmarks/.*|build/bin/(\w+_benchmark|cluster_model|troupe_mutants).*", None, "minutes of a quiet machine"),
    (r"troupe node .*", None, "waits for a process on another machine; launch_test.py"),
    (r"troupe watch .*", None, "serves a page until Ctrl-C; page_test.py"),
    (r"troupe launch .*# and somebody kills .*|troupe trace show .*", None, "somebody kills a process; flight_test.py"),
    (r".*trainer\.example.*", None, "a machine that is not here; page_test.py"),
    (r".* data.file=PATH/.*", None, "MNIST is not part of Troupe; mnist_test.py"),
    (r"tensorboard .*", None, "another program"),
    (r"troupe (compare|sweep) .*", None, "its table has seconds; model_commands_test.py, sweep_test.py"),
]

# What a machine's speed, clock and ports decide in what a command prints.
VARIES = [(r"\d[\d.e+-]* (us|ms|s|min)\b", "TIME"), (r"(?m)^(seconds|samples/s) +\S+", r"\1 TIME"),
          (r"\d{4}-\d\d-\d\d[ T][\d:.]+Z?", "DATE"), (r"127\.0\.0\.1:\d+", "ADDRESS")]


def masked(text):
    for pattern, word in VARIES:
        text = re.sub(pattern, word, text)
    return text


def is_shown(shown, printed):
    """Whether a command printed what a document shows: a line "..." is any lines, ".." and "..." in a line anything."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else
                      ".*".join(re.escape(part) for part in re.split(r"\.{2,3}", line)) + "\n"
                      for line in masked(shown).splitlines())
    return re.fullmatch(pattern, masked(printed))


def blocks(page):
    """The fenced blocks of a page: language, text."""
    return re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"))


def console_commands(block):
    """The commands of a console block, each behind "$ ", with the lines below it."""
    for found in re.finditer(r"(?m)^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block):
        yield found[1], found[2]


def anchors(page):
    """What a link may name behind the # of a page: its headings, as GitHub spells them."""
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", found.strip().lower()).replace(" ", "-") for found in re.findall(r"(?m)^#+ (.*)$", text)}


def check_links(page):
    """What a page links to, and the tests that it names, exist."""
    text = page.read_text(encoding="utf-8")
    for path, anchor in re.findall(r"\]\((?!http)([\w./-]*)(?:#([\w-]+))?\)", re.sub(r"(?ms)^```.*?^```$", "", text)):
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or anchor and anchor not in anchors(there):
            sys.exit(f"{page}: there is no {path}#{anchor}")
    for name in re.findall(r"`(?:tests/)?([\w./]+_test\.(?:cpp|py|sh))`", text):
        if not any((ROOT / "tests").rglob(name)):
            sys.exit(f"{page}: there is no test {name}")


def check_document(troupe, page, unused):
    """Runs the commands of a page in a folder of its own. Those that show no output train for one epoch or round."""
    commands = []
    previous = ("", "")
    for language, text in blocks(page):
        if language == "console":
            commands += console_commands(text)
        elif language == "" and previous[0] == "python":
            commands.append((f"PYTHONPATH=build/python /usr/bin/python3 - << 'END'\n{previous[1]}END", text))
        elif language == "" and re.search(r"(?m)^(\$ |build/bin/|scripts/|benchmarks/|troupe [a-z]+ [a-zA-Z])", text) \
                and not any(re.fullmatch(row[0], text.strip()) for row in NOT_AS_THEY_STAND):
            sys.exit(f"{page}: commands are shown in blocks of the language \"console\":\n{text}")
        previous = (language, text)
    ran = 0
    with tempfile.TemporaryDirectory() as folder:
        fresh_folder(folder, troupe)
        for command, shown in commands:
            row = next((row for row in NOT_AS_THEY_STAND if re.fullmatch(row[0], command, re.DOTALL)), None)
            unused.discard(row)
            if row and row[1] is None:
                continue
            printed = run_command(re.sub(*row[:2], command) if row else command, folder, short=not shown)
            if shown and not is_shown(shown, printed):
                sys.exit(f"{page}: {command}\n--- shown\n{shown}--- printed\n{printed}")
            ran += 1
    print(f"{page.relative_to(ROOT)}: {ran} of {len(commands)} commands were run")


def check_documents(troupe):
    """Every command and link of README and of the pages, and the programs that README shows."""
    script = (ROOT / "scripts" / "quickstart").read_text(encoding="utf-8")
    if NOT_AS_THEY_STAND[0][1] not in script:
        sys.exit("scripts/quickstart trains something else")
    files = [file.read_text(encoding="utf-8") for file in (ROOT / "examples").rglob("*.*") if file.suffix in (".cpp", ".py")]
    for language, text in blocks(ROOT / "README.md"):
        if language in ("cpp", "python") and not any(file.endswith(text) for file in files):
            sys.exit(f"README.md: no file of examples/ ends with\n{text}")
    unused = set(NOT_AS_THEY_STAND)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]:
        check_links(page)
        check_document(troupe, page, unused)
    if unused:
        sys.exit(f"no document has a command like {sorted(row[0] for row in unused)}")


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
     "program": check_program, "embedded": check_embedded, "own_rows": check_own_rows, "gardens": check_gardens, "shell": check_shell,
     "commands": check_commands, "documents": check_documents, "jobs": check_jobs, "processes": check_processes}[sys.argv[1]](*sys.argv[2:])
