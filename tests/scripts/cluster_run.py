"""Clusters of real processes, for tests that let something befall them.

A `Cluster` writes a cluster file, starts one `troupe node` for each node of it, follows what they
say, and gives the director's result. Every wait has an end. What a test varies is in `Node` (where
a process listens and what starts it) and in `settings` (sections of the job file). `EqualRuns`
holds results against those of runs that nothing befell.

The first two arguments of each test are the build folder and the source folder.
"""

import ctypes
import json
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from command import JOB, TROUPE, CommandTest, finished, sets_of
from patience import HANG, SLOWNESS

DIRECTOR = "main"
HEARTBEAT = 0.2 * SLOWNESS  # seconds; of all clusters unless a test says otherwise
LOST_AFTER = 1.0 * SLOWNESS  # seconds
CHECKPOINT_STEPS = 100
# A process may grow by what is on its way between three of them: 16 MiB of credit for each link
# and direction.
GROWTH_BYTES_MAX = 64 << 20

# Name -> (replicas, shards) of the director's node and of two workers.
PLACEMENTS = {"peer": [(1, 1), (1, 1), (1, 1)], "server": [(0, 1), (1, 0), (1, 1)]}
NAMES = ["main", "left", "right", "up", "down"]


def free_ports(count):
    """Ports that nobody listens on, below those the kernel gives to connections of other tests."""
    ports = []
    while len(ports) < count:
        port = random.SystemRandom().randint(12000, 32000)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in ports:
            ports.append(port)
    return ports


def children_of(launcher):
    """Name -> number of a launcher's processes for its nodes."""
    children = {}
    for number in Path(f"/proc/{launcher}/task/{launcher}/children").read_text(encoding="utf-8").split():
        words = Path(f"/proc/{number}/cmdline").read_text(encoding="utf-8").split("\0")
        children[words[words.index("--name") + 1]] = int(number)
    return children


def child_of(launcher, name):
    return children_of(launcher)[name]


def hello_of(line):
    """A line of greeting that says this: with its checksum (actors/net/gate/hello.hpp)."""
    facts = {key: value for key, value in line.items() if key != "check"}
    text = json.dumps(facts, separators=(",", ":"), sort_keys=True)
    return json.dumps({**facts, "check": zlib.crc32(text.encode())}).encode() + b"\n"


def timeouts(lost_after=LOST_AFTER, join=20):
    """`join` is in seconds of a quiet machine."""
    return (f'heartbeat = "{int(HEARTBEAT * 1000)}ms"\nlost_after = "{int(1000 * lost_after)}ms"\n'
            f'join = "{int(1000 * SLOWNESS * join)}ms"\nsettle = "{int(1000 * SLOWNESS * join)}ms"\n')


@dataclass
class Node:
    """One node of a cluster file."""
    name: str
    replicas: int
    shards: int
    address: str
    listen: str = ""
    # What starts the process, such as ["ip", "netns", "exec", "left"].
    wrapper: list = field(default_factory=list)
    program: str = TROUPE

    def text(self):
        return (f'[[node]]\nname = "{self.name}"\naddress = "{self.address}"\n'
                + (f'listen = "{self.listen}"\n' if self.listen else "")
                + f"replicas = {self.replicas}\nshards = {self.shards}\n"
                + ("director = true\n" if self.name == DIRECTOR else ""))


def nodes_on_loopback(shapes, names=NAMES):
    return [Node(name, *shape, f"127.0.0.1:{port}")
            for name, port, shape in zip(names, free_ports(len(shapes)), shapes)]


def nodes_text(shapes, names=NAMES):
    """Of a file for `troupe launch`, which chooses the ports."""
    return "".join(Node(name, *shape, "127.0.0.1:0").text() for name, shape in zip(names, shapes))


CARRIERS = ["messages", "socket", "memory"]  # how pieces go between processes; else they choose


def settings_of(epochs, carrier="auto"):
    return (f'[network]\ncarrier = "{carrier}"\n[training]\nepochs = {epochs}\n'
            f"[checkpoint]\nevery_steps = {CHECKPOINT_STEPS}\n")


def cluster_text(nodes, settings="", timing=timeouts(), job=JOB):
    """Runs begin without whoever does not join in time."""
    return (f'job = "{job}"\nmin_nodes = 1\n{settings}\n[timeouts]\n{timing}'
            + "".join(node.text() for node in nodes))


class Process:
    """A process of the cluster. Its messages are read by a thread of its own."""

    def __init__(self, cluster, node, *arguments):
        self.name = node.name
        self.lines = []  # (seconds of the monotonic clock, text)
        self.ended_at = None  # likewise
        self.epoch = 0
        self.epoch_times = {}  # epoch -> when it was said to be finished first
        self.out = tempfile.TemporaryFile("w+", encoding="utf-8")
        command = [node.program, "node", cluster.file, "--name", node.name, *arguments]
        self.process = subprocess.Popen([*node.wrapper, *command], cwd=cluster.folder,
                                        stdout=self.out, stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            now = time.monotonic()
            self.lines.append((now, line.rstrip()))
            seen = re.search(r"(?:Epoch|Round) (\d+)/", line)
            if seen:
                self.epoch = int(seen.group(1))
                self.epoch_times.setdefault(self.epoch, now)

    def signal(self, number):
        self.process.send_signal(number)

    def is_running(self):
        return self.process.poll() is None

    def said(self, text, since=0.0):
        """When it first said this after `since`, or None."""
        for when, line in list(self.lines):
            if when >= since and text in line:
                return when
        return None

    def end(self, seconds):
        """What it wrote to standard output, when it has ended; it is killed after so long."""
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stderr.close()
        self.ended_at = self.ended_at or time.monotonic()
        if not self.out.closed:
            self.out.seek(0)
            self.output = self.out.read()
            self.out.close()
        return self.output


def memory_of(process):
    """Bytes that it has in memory."""
    with open(f"/proc/{process.process.pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Cluster:
    """Processes that were started, by name; end them with `leave`, or use it in a `with`. `folder`: where they run,
    which is their own without it. `starts`: the names to start at once; without it all."""

    def __init__(self, text, nodes, starts=None, folder=None):
        self.place = None if folder else tempfile.TemporaryDirectory()
        self.folder = folder or self.place.name
        folder = self.folder
        self.nodes = {node.name: node for node in nodes}
        self.file = os.path.join(folder, "cluster.toml")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)
        self.all = []
        self.processes = {}
        for name in self.nodes if starts is None else starts:
            self.start(name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()

    def start(self, name, *arguments):
        more = ["--json"] if name == DIRECTOR else []
        self.processes[name] = Process(self, self.nodes[name], *more, *arguments)
        self.all.append(self.processes[name])

    def director(self):
        return self.processes[DIRECTOR]

    def is_running(self):
        return self.director().is_running()

    def wait_until(self, condition, seconds=HANG):
        """True when `condition()` became true in time, and before the run was over."""
        deadline = time.monotonic() + seconds
        while not condition():
            if not self.is_running() or time.monotonic() > deadline:
                return bool(condition())
            time.sleep(0.002)
        return True

    def wait_for_epoch(self, epoch):
        return self.wait_until(lambda: self.director().epoch >= epoch)

    def result(self, seconds=HANG):
        """The director's object, or {}; afterwards every process has ended."""
        out = self.director().end(seconds)
        for process in self.processes.values():
            process.end(HANG)
        return json.loads(out) if out else {}

    def exit_codes(self):
        """Of each name's last process."""
        return {name: x.process.returncode for name, x in self.processes.items()}

    def leave(self):
        for process in self.all:
            if process.is_running():
                process.signal(signal.SIGCONT)
                process.process.kill()
            process.end(10)
        if self.place:
            self.place.cleanup()

    def messages(self):
        return "\n".join(f"{process.name}: {line}" for process in self.all
                         for _, line in process.lines if "Epoch" not in line and "Round" not in line)


def of_thread(pid, thread, what):
    with open(f"/proc/{pid}/task/{thread}/{what}", encoding="utf-8") as file:
        return file.read().strip()


def threads_of(pid, name):
    return [int(x) for x in os.listdir(f"/proc/{pid}/task") if of_thread(pid, x, "comm") == name]


def hang(pid, seconds, meanwhile=lambda: None, names=("troupe-worker",)):
    """The threads of this process that compute stop for so long, as in a debugger; all others go
    on: heartbeats, reports, answers. With the node's thread nothing but heartbeats do. False where that
    is not permitted."""
    seize, interrupt, detach, any_child, futex = 0x4206, 0x4207, 17, 0x40000000, "202"
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    held = []

    def let_go():
        while held:
            try:
                os.waitpid(held[-1], any_child)
                libc.ptrace(detach, held[-1], None, None)
            except ChildProcessError:
                pass
            held.pop()

    try:
        for _ in range(30):  # one that is in the midst of the node's turn holds its lock, and computes nothing
            if held:
                let_go()
                time.sleep(0.05)  # who has the turn ends it
            for thread in [x for name in names for x in threads_of(pid, name)]:
                if libc.ptrace(seize, thread, None, None) == 0:
                    libc.ptrace(interrupt, thread, None, None)
                    held.append(thread)
            time.sleep(1.3 if held else 0)  # the node reports each second
            if "troupe-node" in names or all(of_thread(pid, x, "syscall").split()[0] != futex for x in threads_of(pid, "troupe-node")):
                break
        meanwhile()
        time.sleep(seconds)
    except FileNotFoundError:
        pass  # it has ended
    was_held = bool(held)
    let_go()
    return was_held


def trained_alone(job, settings=()):
    """The result of `troupe train`: a run that nothing befalls."""
    with tempfile.TemporaryDirectory() as folder:
        return json.loads(finished(TROUPE, "train", job, "--json", "--quiet", *sets_of(settings), cwd=folder).stdout)


def deadly_row(folder, first=100):
    """A training row of JOB that ends whoever reads it, and how a run on threads ended by it: its
    error. Rows that are kept for testing end nobody."""
    for row in range(first, first + 40):
        run = finished(TROUPE, "train", JOB, "--json", "--quiet", "--overwrite", "--set", "training.epochs=1", code=None,
                       cwd=folder, env={**os.environ, "TROUPE_TEST_CRASHING_ROW": f"{row} throws"})
        if run.returncode != 0:
            return row, json.loads(run.stdout)["error"]
    raise AssertionError("no row is trained on")


def rows_in(text):
    """The numbers in "rows 3, 17 and 40 of digits.csv.gz"."""
    return [int(x) for x in re.findall(r"\d+", text[text.index("row"):text.index(" of ")])]


def results_with_a_kill(folder, job, settings, program=TROUPE):
    """Results of clusters of three whose worker is killed after an epoch, one after the other, until it has
    taken part by then; what was said with each."""
    for attempt in range(20):
        nodes = nodes_on_loopback([(1, 1), (1, 0), (1, 1)])
        for node in nodes:
            node.program = str(program)
        place = os.path.join(folder, f"cluster{attempt}")
        os.mkdir(place)
        with Cluster(cluster_text(nodes, settings, timeouts(join=20), job=job), nodes, folder=place) as cluster:
            if not cluster.wait_for_epoch(1):
                raise AssertionError(cluster.messages())
            cluster.processes["left"].signal(signal.SIGKILL)
            result = cluster.result()
            messages = cluster.messages()
        yield result, messages
        if result["replicas_lost"] > 0:
            return
    raise AssertionError("the kill was always too late: " + messages)


def resumed_after_a_kill(folder, job, settings, beyond=0, program=TROUPE):
    """The result of `troupe train` that is killed once it has a checkpoint beyond this step, and resumed."""
    for attempt in range(20):
        place = os.path.join(folder, f"killed{attempt}")
        arguments = [program, "train", str(job), *sets_of([*settings, f"output.directory={place}"])]
        with subprocess.Popen([*arguments, "--quiet"], cwd=folder, stdout=subprocess.DEVNULL) as run:
            while run.poll() is None and not any(int(file.stem.split("-")[1]) > beyond
                                                 for file in Path(place).glob("checkpoint-*.troupe")):
                pass
            run.kill()
        resumed = finished(*arguments, "--json", "--resume", code=None, cwd=folder)
        if "training goes on from step " in resumed.stderr:
            return json.loads(resumed.stdout)
    raise AssertionError("the kill was always too late: " + resumed.stderr)


class EqualRuns(CommandTest):
    """Tests of runs of examples/digits.toml that end as the undisturbed one of as many epochs."""

    undisturbed = {}  # epochs -> result

    def expect_equal(self, result, cluster, epochs):
        if epochs not in self.undisturbed:
            self.undisturbed[epochs] = trained_alone(JOB, [f"training.epochs={epochs}"])
        self.assertIn("parameters_sha256", result, cluster.messages())
        for key in ("parameters_sha256", "job_sha256", "steps", "test_accuracy"):
            self.assertEqual(result[key], self.undisturbed[epochs][key], cluster.messages())

    def stopped_as_alone(self, cluster, job=JOB, epochs=1_000_000):
        """The result of a run of so many epochs that is stopped now, which has the bits of one process up to that step."""
        cluster.director().signal(signal.SIGTERM)
        result = cluster.result()
        alone = trained_alone(job, [f"training.epochs={epochs}", f"training.steps={result['steps']}"])
        self.assertEqual(result["parameters_sha256"], alone["parameters_sha256"], cluster.messages())
        return result

    def expect_good_ends(self, cluster, lost=(), away=()):
        """Nobody failed: those in `lost` were killed and stayed so; those in `away` may have come
        back only after the end, when they found nobody."""
        for name, code in cluster.exit_codes().items():
            expected = (-signal.SIGKILL,) if name in lost else (0, 69) if name in away else (0,)
            self.assertIn(code, expected, cluster.messages())

    def expect_that_nobody_was_lost(self, result, cluster):
        self.assertEqual(result["views"], 1, cluster.messages())
        self.assertEqual(result["replicas_lost"], 0, cluster.messages())

    def expect_loss(self, result, cluster):
        self.assertGreaterEqual(result["replicas_lost"], 1, cluster.messages())
        self.assertGreaterEqual(result["views"], 2, cluster.messages())

    def expect_flat_memory(self, cluster, epoch):
        """From now until this epoch is over."""
        before = {name: memory_of(x) for name, x in cluster.processes.items()}
        cluster.wait_for_epoch(epoch)
        for name, process in cluster.processes.items():
            if process.is_running():
                self.assertLess(memory_of(process) - before[name], GROWTH_BYTES_MAX)
