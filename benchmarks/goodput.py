"""What comings and goings cost a cluster: steps that are done again, and time in which none is done.

    python3 benchmarks/goodput.py BUILD_FOLDER SOURCE_FOLDER gaps [--count N] [--away S]
    python3 benchmarks/goodput.py BUILD_FOLDER SOURCE_FOLDER kills [--seconds S] [--every S] [--away S]
    python3 benchmarks/goodput.py BUILD_FOLDER SOURCE_FOLDER notices [--seconds S] [--every S] [--away S]
    python3 benchmarks/goodput.py BUILD_FOLDER SOURCE_FOLDER speeds [--seconds S] [--slices N]

Four `troupe node` processes train on this machine.

`gaps`: a worker without parameters is killed and started again after `--away` (1) seconds, N (10)
times. Prints how long training stood still around each loss and each return: the longest time
between two updates of the director's shard, beside the usual one. The timeline has the times.

`kills`: one of the others, each with a quarter of the parameters, is killed every `--every` (29)
seconds of a run that takes about `--seconds` (600) undisturbed, and started again. Prints the
seconds of the undisturbed run over those of the disturbed one (goodput), the steps that were done
again, and whether both hashes are equal.

`notices`: the same, but each is asked to end (SIGTERM), and started again `--away` seconds after it has left.

`speeds`: the processes may take 40, 40, 40 and 4 per cent of a core (control groups of Linux, so
root). Prints steps a second over `--seconds`, half a minute after the start and later, as a share of
what the sum of speeds would do: that of a run whose processes may take 40 per cent each.

`--program` is another `troupe` than that of the build. The machine should be quiet.
"""

import argparse
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time

SOURCE = os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(SOURCE, "tests", "scripts"))

from cluster_run import Cluster, cluster_text, nodes_on_loopback  # noqa: E402

ADAPTED = 40.0  # seconds after the start: slices have moved
PERIOD_US = 25_000  # of a quota
ROWS, STEPS_OF_EPOCH = 65_536, 2
SETTLED = 3.0  # seconds after a return: what it cost is over


# Digits, six steps of 256 rows an epoch: a million parameters, and steps are short.
DIGITS = "[model]\nhidden = [1024, 1024]\n[training]\nbatch_size = 256\nslices = 8\n"


def cluster_of(shapes, epochs, program, training=DIGITS, wrappers=()):
    nodes = nodes_on_loopback(shapes)
    for node in nodes:
        node.program = program or node.program
    for node, wrapper in zip(nodes, wrappers):
        node.wrapper = wrapper
    settings = f"{training}epochs = {epochs}\n[checkpoint]\nevery_steps = 500\n"
    timing = 'heartbeat = "1s"\nlost_after = "5s"\njoin = "60s"\n'
    text = cluster_text(nodes, settings, timing).replace("min_nodes = 1\n", "")
    return Cluster(text, nodes, [node.name for node in nodes if node.name != "main"])


def run_until_begun(cluster, *arguments):
    cluster.start("main", *arguments)
    if not cluster.wait_until(lambda: cluster.director().epoch >= 3):
        raise SystemExit("this run did not begin\n" + cluster.messages())


def updates_of(path):
    """When the director's shard finished each update, in seconds of the monotonic clock."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return sorted((event["ts"] + event["dur"]) / 1e6 for event in events
                  if event["name"] == "add and update")


def longest_gap(times, begin, end):
    near = [t for t in times if begin - 0.1 <= t <= end]
    return max((b - a for a, b in zip(near, near[1:])), default=float("nan"))


def gaps(count, away, program):
    killed, returned = [], []
    with cluster_of([(1, 1), (1, 1), (1, 1), (1, 0)], 1_000_000, program) as cluster:
        trace = os.path.join(cluster.folder, "main.json")
        run_until_begun(cluster, "--trace", trace)
        for _ in range(count):
            time.sleep(SETTLED)
            killed.append(time.monotonic())
            cluster.processes["up"].signal(signal.SIGKILL)
            time.sleep(away)
            returned.append(time.monotonic())
            cluster.start("up")
            if not cluster.wait_until(lambda: cluster.director().said("up joined", returned[-1]), 60):
                raise SystemExit("a worker did not come back\n" + cluster.messages())
        time.sleep(SETTLED)
        cluster.director().signal(signal.SIGINT)
        cluster.result(60)
        times = updates_of(trace)
    usual = statistics.median(b - a for a, b in zip(times, times[1:]))
    print(f"usual step {usual * 1000:.1f} ms, {len(times)} updates")
    losses = zip(killed, returned)
    returns = ((moment, moment + SETTLED) for moment in returned)
    for what, moments in (("loss", losses), ("return", returns)):
        found = sorted(longest_gap(times, *moment) for moment in moments)
        print(f"{what:7} gap, ms: median {statistics.median(found) * 1000:.0f}, all "
              + " ".join(f"{gap * 1000:.0f}" for gap in found), flush=True)


def seconds_of(epochs, every, away, program, number=signal.SIGKILL):
    """The run's result, with this signal to a process each `every` seconds, 0: never; and how many there were."""
    with cluster_of([(1, 1)] * 4, epochs, program) as cluster:
        run_until_begun(cluster)
        begin, kills = time.monotonic(), 0
        while cluster.is_running():
            due = begin + (kills + 1) * every if every else float("inf")
            cluster.wait_until(lambda due=due: time.monotonic() >= due, 3600)
            if not cluster.is_running():
                break
            victim = cluster.nodes[("left", "right", "up")[kills % 3]].name
            cluster.processes[victim].signal(number)
            cluster.processes[victim].end(60)
            if not cluster.is_running():
                break
            time.sleep(away)
            cluster.start(victim)
            kills += 1
        result = cluster.result(60)
        if "parameters_sha256" not in result:
            raise SystemExit("this run failed\n" + cluster.messages())
        return result, kills


def kills(seconds, every, away, program, number):
    probe, _ = seconds_of(200, 0, away, program)
    epochs = int(200 * seconds / probe["seconds"])
    quiet, _ = seconds_of(epochs, 0, away, program)
    disturbed, count = seconds_of(epochs, every, away, program, number)
    again = disturbed["steps_again"]
    print(f"{quiet['steps']} steps in {quiet['seconds']:.1f} s; with {count} {number.name} in "
          f"{disturbed['seconds']:.1f} s, {again} steps again in {disturbed['seconds_again']:.1f} s, "
          f"{disturbed['seconds_still']:.1f} s still")
    print(f"{disturbed['leaves']} left, goodput {quiet['seconds'] / disturbed['seconds']:.4f}, hashes "
          + ("equal" if quiet["parameters_sha256"] == disturbed["parameters_sha256"] else "DIFFER"))


class Quota:
    """A control group whose processes may take so much of a core."""

    def __init__(self, name, percent):
        self.folder = f"/sys/fs/cgroup/cpu/troupe-{os.getpid()}-{name}"
        os.mkdir(self.folder)
        self.write("cpu.cfs_period_us", PERIOD_US)
        self.write("cpu.cfs_quota_us", PERIOD_US * percent // 100)

    def write(self, file, value):
        with open(os.path.join(self.folder, file), "w", encoding="utf-8") as out:
            out.write(str(value))

    def wrapper(self):
        return ["sh", "-c", f'echo $$ > {self.folder}/tasks; exec "$@"', "sh"]


def rows_file(folder):
    """65,536 rows of 64 numbers and a class: a step of half of them is nearly all computing."""
    path = os.path.join(folder, "rows.csv")
    dice = random.Random(1)
    with open(path, "w", encoding="utf-8") as out:
        out.write(",".join(f"x{k}" for k in range(64)) + ",class\n")
        for _ in range(ROWS):
            row = [dice.gauss(0, 1) for _ in range(64)]
            out.write(",".join(f"{x:.3f}" for x in row) + f",{int(sum(row[:8]) > 0)}\n")
    return path


def steps_a_second(percents, seconds, slices, rows, program):
    """After a time in which slices may move."""
    training = (f'[data]\nfile = "{rows}"\ntest_fraction = 0\n[model]\nhidden = [512]\n'
                f"[training]\nbatch_size = {ROWS // STEPS_OF_EPOCH}\nslices = {slices}\n")
    quotas = [Quota(k, percent) for k, percent in enumerate(percents)]
    try:
        wrappers = [quota.wrapper() for quota in quotas]
        with cluster_of([(1, 1)] * 4, 1_000_000, program, training, wrappers) as cluster:
            run_until_begun(cluster)
            time.sleep(ADAPTED)
            begin, first = time.monotonic(), cluster.director().epoch
            time.sleep(seconds)
            epochs = cluster.director().epoch - first
            rate = STEPS_OF_EPOCH * epochs / (time.monotonic() - begin)
            moves = [line for _, line in cluster.director().lines if "by speed" in line]
            cluster.director().signal(signal.SIGINT)
            return rate, moves, cluster.result(120)
    finally:
        for quota in quotas:
            os.rmdir(quota.folder)


def speeds(seconds, slices, program):
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_file(folder)
        alike, _, _ = steps_a_second((40, 40, 40, 40), seconds, slices, rows, program)
        found, moves, _ = steps_a_second((40, 40, 40, 4), seconds, slices, rows, program)
    print(f"{slices} slices: alike {alike:.2f} steps/s, one at a tenth {found:.2f}: "
          f"{found / (alike * 3.1 / 4):.3f} of the sum of speeds, {len(moves)} moves")
    for line in moves:
        print("  " + line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("gaps", "kills", "notices", "speeds"))
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--away", type=float, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--every", type=float, default=29)
    parser.add_argument("--slices", type=int, default=32)
    parser.add_argument("--program", default="")
    given = parser.parse_args(sys.argv[3:])
    if given.mode == "gaps":
        gaps(given.count, given.away, given.program)
    elif given.mode == "speeds":
        speeds(given.seconds, given.slices, given.program)
    else:
        kills(given.seconds, given.every, given.away, given.program,
              signal.SIGTERM if given.mode == "notices" else signal.SIGKILL)


if __name__ == "__main__":
    main()
