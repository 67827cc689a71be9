"""Time to a test loss when one node of four is ten times slower than the others.

    python3 benchmarks/slow_node.py BUILD_FOLDER SOURCE_FOLDER [RUNS]

Four `troupe node` processes with a replica each train examples/digits.toml in each mode until its
test loss is at most TARGET. The process of one of them is let run 5 ms and then stands still for
45 ms, again and again, from the first epoch on: it gets a tenth of the time. Prints the median of
RUNS (5) runs, beside that of runs in which nobody is slowed. The machine should be quiet: with
fewer cores than nodes the others share them, in all modes alike.
"""

import os
import statistics
import sys

SOURCE = os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(SOURCE, "tests", "scripts"))

from brake import Brake  # noqa: E402
from cluster_run import Cluster, cluster_text, nodes_on_loopback, timeouts  # noqa: E402

RUNS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
TARGET = 0.1
SLOW = "right"
MODES = {
    "synchronous": "slices = 4\n",
    "asynchronous": 'consistency = "asynchronous"\nslices = 1\n',
    "staleness 4": "consistency = { staleness = 4 }\nslices = 1\n",
    "staleness 16": "consistency = { staleness = 16 }\nslices = 1\n",
    "first 3": "consistency = { first = 3 }\nslices = 1\n",
}


def seconds_to_target(mode, slowed):
    settings = (f"[training]\n{MODES[mode]}epochs = 500\ntarget_loss = {TARGET}\n"
                "[optimizer]\nlearning_rate = 0.003\n")
    nodes = nodes_on_loopback([(1, 1), (1, 0), (1, 0), (1, 0)])
    with Cluster(cluster_text(nodes, settings, timeouts(10, 60)), nodes) as cluster:
        cluster.wait_until(lambda: cluster.director().said("everybody is here"))
        brake = Brake(cluster.processes[SLOW]) if slowed else None
        try:
            result = cluster.result(600)
        finally:
            if brake:
                brake.release()
        if result.get("stopped_by") != "target-loss" or result["views"] != 1:
            raise SystemExit(f"{mode}: this run does not count\n" + cluster.messages())
        return result["seconds"], result["steps"]


def main():
    print(f"seconds until the test loss is {TARGET} or less, median of {RUNS} runs, 4 nodes")
    print(f"{'mode':14} {'all alike':>12} {'one slowed':>12} {'of synchronous':>16} {'steps':>8}")
    synchronous = None
    for mode in MODES:
        alike = statistics.median(seconds_to_target(mode, False)[0] for _ in range(RUNS))
        slowed = [seconds_to_target(mode, True) for _ in range(RUNS)]
        seconds = statistics.median(x[0] for x in slowed)
        synchronous = synchronous or seconds
        print(f"{mode:14} {alike:12.3f} {seconds:12.3f} {seconds / synchronous:16.2f} "
              f"{statistics.median(x[1] for x in slowed):8.0f}", flush=True)


if __name__ == "__main__":
    main()
