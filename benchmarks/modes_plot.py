"""Loss against time in each training mode, drawn as an SVG.

    python3 benchmarks/modes_plot.py TROUPE JOB.toml OUT.svg [--set a.b=value]...
    python3 benchmarks/modes_plot.py --slow SLOW_REPLICA JOB.toml OUT.svg [--set a.b=value]...

Trains the job once in each mode of docs/coordinators.md with two replicas on two threads, reads the
test loss and the time of each epoch from the history, and draws one line a mode. Prints the time
and loss at the end of each. Bits of most modes do not repeat, so lines differ from run to run.

With --slow time is virtual: the program slow_replica (benchmarks/slow_replica.cpp) trains with four
replicas, one of them ten times slower. Lines are cut at four times what the quickest mode took.
"""

import csv
import math
import subprocess
import sys
import tempfile
from pathlib import Path

COMMON = ["training.replicas=2", "runtime.threads=2"]
MODES = {
    "synchronous": ["training.slices=2"],
    "asynchronous": ["training.consistency=asynchronous", "training.slices=1"],
    "staleness 2": ["training.consistency={ staleness = 2 }", "training.slices=1"],
    "first 1 of 2": ["training.consistency={ first = 1 }", "training.slices=1"],
    "local rounds of 5": ["training.strategy=parameters", "training.slices=2",
                          "training.local_steps=5"],
}
COLOURS = ["#1b6ca8", "#d1495b", "#3a7d44", "#edae49", "#6a4c93", "#5c5c5c"]
WIDTH, HEIGHT, LEFT, BOTTOM = 720, 420, 60, 40


def curve(troupe, job, settings):
    """(seconds, test loss) at the end of each epoch."""
    with tempfile.TemporaryDirectory() as folder:
        command = [troupe, "train", job, "--quiet", "--set", f"output.directory={folder}/run"]
        for setting in settings:
            command += ["--set", setting]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(Path(folder) / "run" / "history.csv", encoding="utf-8") as file:
            return [(float(row["seconds"]), float(row["test_loss"]))
                    for row in csv.DictReader(file) if row["test_loss"]]


def slow_curves(program, job, settings):
    """The same of each mode, in virtual time."""
    table = subprocess.run([program, job, "10", *settings], check=True, stdout=subprocess.PIPE,
                           text=True).stdout
    curves = {}
    for mode, seconds, loss in csv.reader(table.splitlines()):
        curves.setdefault(mode, []).append((float(seconds), float(loss)))
    return curves


def cut(curves, factor=4):
    """Up to so many times what the quickest took: beyond it only the slow ones are left."""
    end = factor * min(points[-1][0] for points in curves.values())
    return {name: [p for p in points if p[0] <= end] for name, points in curves.items()}


def time_to(points, loss):
    """Seconds until this loss; None when it was not reached."""
    return next((seconds for seconds, x in points if x <= loss), None)


def drawn(curves, across="seconds"):
    """The SVG: time, or another number, to the right, the loss's logarithm upwards."""
    times = [t for points in curves.values() for t, _ in points]
    logs = [math.log10(loss) for points in curves.values() for _, loss in points]
    low, high = min(logs), max(logs)

    def place(seconds, loss):
        x = LEFT + (WIDTH - LEFT - 150) * seconds / max(times)
        share = (math.log10(loss) - low) / max(high - low, 1e-9)
        return f"{x:.1f},{(HEIGHT - BOTTOM) - (HEIGHT - BOTTOM - 20) * share:.1f}"

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="sans-serif" font-size="13">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             f'<text x="{LEFT}" y="{HEIGHT - 10}">{across}, up to {max(times):.3g}</text>',
             f'<text x="5" y="15">test loss, {10 ** low:.2g} to {10 ** high:.2g} (logarithm)</text>']
    for i, (name, points) in enumerate(curves.items()):
        path = " ".join(place(*point) for point in points)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[i]}" '
                     'stroke-width="2"/>')
        lines.append(f'<text x="{WIDTH - 140}" y="{40 + 20 * i}" fill="{COLOURS[i]}">{name}</text>')
    return "\n".join(lines + ["</svg>", ""])


def main_slow(program, job, out, *settings):
    curves = slow_curves(program, job, [x for x in settings if x != "--set"])
    worst = 1.05 * max(min(loss for _, loss in points) for points in curves.values())
    for name, points in curves.items():
        print(f"{name:18} {points[-1][0]:8.3f} s  test loss {points[-1][1]:.4f}, "
              f"{worst:.4f} after {time_to(points, worst):.3f} s")
    Path(out).write_text(drawn(cut(curves)), encoding="utf-8")


def main(troupe, job, out, *settings):
    if troupe == "--slow":
        return main_slow(job, out, *settings)
    common = COMMON + [x for x in settings if x != "--set"]
    curves = {}
    for name, mode in MODES.items():
        curves[name] = curve(troupe, job, common + mode)
        print(f"{name:18} {curves[name][-1][0]:8.3f} s  test loss {curves[name][-1][1]:.4f}")
    Path(out).write_text(drawn(curves), encoding="utf-8")
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
