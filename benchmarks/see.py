"""What it costs to look: steps a second of runs with everything that shows them, against runs with nothing.

    python3 benchmarks/see.py [BUILD_FOLDER] [ROUNDS] [WORK]...

"Everything" is the page with a visitor that asks for status, curves and events once a second, /metrics
scraped once a second, a timeline and TensorBoard files. Runs alternate (off on on off), so that what the
machine does meanwhile meets both; printed are the median and the quartiles of the rounds' ratios. All runs
of a work end with the same bits, or this ends with 1.

Works: `empty` (steps with next to nothing to compute, one process), `empty-2` (the same on two processes),
`mlp` (784-512-512-10, 128 rows a step), `mlp-2`.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
TROUPE = os.path.join(BUILD, "bin", "troupe")
ASKED = ["api/status", "api/curves", "api/events", "metrics"]

EMPTY = """[data]
synthetic = "regression"
rows = 64
features = 1
[model]
kind = "linear-regression"
[training]
batch_size = 64
slices = 4
epochs = {epochs}
evaluate_every = 0
"""
MLP = """[data]
synthetic = "classification"
rows = 1280
features = 784
classes = 10
[model]
kind = "neural-network"
hidden = [512, 512]
[training]
batch_size = 128
slices = 2
epochs = {epochs}
evaluate_every = 0
"""
CLUSTER = """job = "job.toml"
[[node]]
name = "main"
address = "127.0.0.1:0"
director = true
[[node]]
name = "right"
address = "127.0.0.1:0"
"""
WORKS = {  # job, epochs, processes
    "empty": (EMPTY, 200_000, 1),
    "empty-2": (EMPTY, 10_000, 2),
    "mlp": (MLP, 60, 1),
    "mlp-2": (MLP, 60, 2),
}


def visit(address, stop):
    """As a page and Prometheus do."""
    while not stop.wait(1):
        for path in ASKED:
            try:
                urllib.request.urlopen(address + path, timeout=5).read()
            except OSError:
                pass  # it has ended


def run(folder, processes, shows):
    """(steps a second, SHA-256 of the parameters)"""
    where = ["train", "job.toml"] if processes == 1 else ["launch", "cluster.toml"]
    more = ["--dashboard-at", "0", "--tensorboard", "--trace", "run.json"] if shows else []
    process = subprocess.Popen([TROUPE, *where, "--overwrite", "--json", *more], cwd=folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    stop = threading.Event()
    visitor = None
    for line in process.stderr:
        found = re.search(r"http://127\.0\.0\.1:\d+/", line)
        if found and visitor is None:
            visitor = threading.Thread(target=visit, args=[found[0], stop])
            visitor.start()
    result = json.loads(process.stdout.read())
    stop.set()
    if visitor:
        visitor.join()
    if process.wait() != 0 or (shows and visitor is None):
        sys.exit(f"a run failed: {result}")
    return result["steps"] / result["seconds"], result["parameters_sha256"]


def main():
    for work in sys.argv[3:] or WORKS:
        text, epochs, processes = WORKS[work]
        ratios, hashes, speeds = [], set(), []
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("job.toml", text.format(epochs=epochs)), ("cluster.toml", CLUSTER)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(content)
            for _ in range(ROUNDS):
                speed = {False: 0.0, True: 0.0}
                for shows in (False, True, True, False):
                    steps_per_second, sha256 = run(folder, processes, shows)
                    speed[shows] += steps_per_second
                    hashes.add(sha256)
                speeds.append(speed[False] / 2)
                ratios.append(speed[True] / speed[False])
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        print(f"{work:8} {statistics.median(speeds):10.0f} steps/s off; on : off {middle:.4f} "
              f"(quartiles {low:.4f} {high:.4f}, {ROUNDS} rounds, {time.monotonic() - begin:.0f} s)", flush=True)
        if len(hashes) != 1:
            sys.exit(f"{work}: {len(hashes)} different results")


if __name__ == "__main__":
    main()
