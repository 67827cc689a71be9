"""Loss against rounds of federated training, drawn as an SVG.

    python3 benchmarks/federated_plot.py TROUPE examples/federated_digits.toml OUT.svg [--set a.b=value]...

Trains the job once for each line of docs/federated.svg and prints the test accuracy at the end of each. The
bits follow from the job, so lines are the same wherever they are drawn. A model that is lost ends its line.
"""

import csv
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from modes_plot import drawn

# As examples/federated_byzantine.toml.
LIARS = ["merge.flipped_members=20", "merge.flip_factor=5", "federated.drop_out=0", "federated.over_selection=0",
         "federated.partition=iid", "federated.groups=0", "training.batch_size=4"]
METHODS = {
    "FedAvg": [],
    "FedProx": ["federated.proximal=0.1"],
    "FedAvgM": ["merge.outer=sgd", "merge.outer_momentum=0.7"],
    "liars, mean": LIARS,
    "liars, median": [*LIARS, "merge.rule=median"],
    "liars, multi-Krum": [*LIARS, "merge.rule=multi-krum", "merge.faulty_count=3"],
}
LOSS_MAX = 10


def curve(troupe, job, settings):
    """(round, test loss) of each round, and the accuracy at the end."""
    with tempfile.TemporaryDirectory() as folder:
        command = [troupe, "train", job, "--quiet", "--set", f"output.directory={folder}/run"]
        for setting in settings:
            command += ["--set", setting]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        with open(Path(folder) / "run" / "history.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    points = []
    for row in rows:
        loss = float(row["test_loss"])
        if not math.isfinite(loss) or loss > LOSS_MAX:
            break
        points.append((int(row["steps"]), loss))
    return points, float(rows[-1]["test_accuracy"])


def main(troupe, job, out, *settings):
    common = [x for x in settings if x != "--set"]
    curves = {}
    for name, method in METHODS.items():
        points, accuracy = curve(troupe, job, common + method)
        print(f"{name:18} {points[-1][0]:4} rounds  test accuracy at the end {accuracy:.4f}")
        curves[name] = points
    Path(out).write_text(drawn(curves, "rounds"), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
