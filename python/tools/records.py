"""Runs as their folders tell of them, and what the command itself says of jobs and runs."""

import json
import os
import subprocess
from dataclasses import dataclass, field

from terminal import Failure

# The figures of every row of history.csv: name, its place among curves ("loss/train"), whether more of it is better.
FIGURES = (("seconds", "", None), ("learning_rate", "learning_rate", None), ("train_loss", "loss/train", False),
           ("train_accuracy", "accuracy/train", True), ("test_loss", "loss/test", False),
           ("test_accuracy", "accuracy/test", True), ("test_r2", "r2/test", True),
           ("validation_loss", "loss/validation", False), ("validation_accuracy", "accuracy/validation", True),
           ("validation_r2", "r2/validation", True))
# Whether more of it is better, by what a figure is called without its part ("test_", "validation_").
MORE_IS_BETTER = {"loss": False, "accuracy": True, "r2": True, "auc": True, "average_precision": True, "macro_f1": True,
                  "balanced_accuracy": True, "brier": False, "calibration_error": False, "mae": False, "rmse": False}
COLUMNS = ["epoch", "steps", *(name for name, _, _ in FIGURES)]
HASHES = ["parameters_hash", "state_hash"]

# What is asked of summary.json, and what stands for a key that it lacks.
SUMMARY = {"stopped_by": "", "steps": 0, "epochs": 0, "seconds": 0.0, "samples_per_second": 0.0, "validation_accuracy": None,
           "test_accuracy": None, "test_r2": None, "parameters_sha256": "", "arithmetic": "", "best_version": None,
           "reproducible": True, "nodes": 1}


@dataclass
class Run:
    name: str
    history: list = field(default_factory=list)  # rows: figures by name; hash: of the row's version; metrics: their names
    summary: dict = None  # None: the run is not finished
    keys: dict = field(default_factory=dict)  # every key of its job: the value as TOML, None where it is unset
    identity: str = ""
    digests: dict = field(default_factory=dict)  # of checkpoints, by version


def text_of(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def read_history(path):
    """The rows whose line is whole. Raises ValueError when it is no history."""
    if not os.path.exists(path):
        return []
    names, *lines = (line.split(",") for line in text_of(path).split("\n")[:-1])
    if names[:len(COLUMNS)] != COLUMNS:
        raise ValueError("no history")
    metrics = [name for name in names[len(COLUMNS):] if name not in HASHES]
    rows = []
    for cells in lines:
        if len(cells) != len(names):
            raise ValueError("another number of cells")
        row = dict(zip(names, cells))
        hashes = tuple(row.pop(name, "") for name in HASHES)
        row = {name: float(cell) if cell else None for name, cell in row.items()}
        rows.append({**row, "epoch": int(cells[0]), "steps": int(cells[1]), "metrics": metrics,
                     "hash": hashes if hashes[0] else None})
    return rows


def read_summary(path):
    """None where there is none."""
    if not os.path.exists(path):
        return None
    found = json.loads(text_of(path))
    return {key: default if found.get(key) is None else found[key] for key, default in SUMMARY.items()}


def read_run(folder):
    return Run(folder, read_history(os.path.join(folder, "history.csv")), read_summary(os.path.join(folder, "summary.json")))


def is_run(folder):
    return all(os.path.exists(os.path.join(folder, name)) for name in ("job.toml", "identity.txt"))


def row_of_result(run):
    """The row that a run's figures are taken from: that of its result, else the last one."""
    found = [row for row in run.history if run.summary and row["steps"] == run.summary["steps"]]
    return (found[:1] or run.history[-1:] or [None])[0]


class Watched:
    """The figure that a job's `training.watch` names, the loss where it names none: `patience`, the best version and a search go
    by it."""

    PARTS = ("validation", "test", "train")

    def __init__(self, keys):
        self.name = (keys.get("training.watch") or "loss").strip("\"'").replace("-", "_")
        if self.name not in MORE_IS_BETTER:
            raise Failure("usage", f"trials cannot be ranked by {self.name}: whether more of it is better is not known",
                          "training.watch", "watch one of " + ", ".join(x.replace("_", "-") for x in MORE_IS_BETTER))
        self.columns = [f"{part}_{self.name}" for part in self.PARTS]
        self.sign = -1 if MORE_IS_BETTER[self.name] else 1  # of what is ranked, the least first

    def column(self, rows):
        """Of validation rows, else of test rows, else of training rows: one for all rows of a run, as rows that are not evaluated
        have a training loss alone."""
        return next((name for name in self.columns if any(row.get(name) is not None for row in rows)), self.columns[-1])


def all_figures(rows):
    """FIGURES, and behind them the metrics that one of the rows has: test_macro_f1 is macro_f1/test."""
    names = sorted({name for row in rows for name in row["metrics"]})
    return [*FIGURES, *((name, "/".join(reversed(name.split("_", 1))), MORE_IS_BETTER.get(name.split("_", 1)[-1])) for name in names)]


class Command:
    """The troupe command, where these programs ask it (app/tools/tool_lines.hpp)."""

    def __init__(self, path):
        self.path = path

    def ask(self, service, *words):
        """What it says. It fails as any other command does."""
        given = "".join(word + "\0" for word in words).encode("utf-8", "surrogateescape")
        run = subprocess.run([self.path, "serve-tools", service], input=given, capture_output=True, check=False)
        if run.returncode < 0:
            raise Failure("internal", f"the command was killed by signal {-run.returncode}")
        found = json.loads(run.stdout)
        if run.returncode:
            raise Failure(**found["error"], text=run.stderr.decode("utf-8", "surrogateescape"))
        return found

    def job(self, file, *choices):
        """Checks the job with each of these choices of `--set`. Gives name, keys and text of the last."""
        return self.ask("job", file, *(word for sets in choices for word in (str(len(sets)), *sets)))

    def draw(self, draws, seed):
        kinds = ["log"] * draws.is_log + ["whole"] * draws.is_whole
        return self.ask("draw", draws.key, *draws.bounds, str(draws.count), str(seed), *kinds)

    def runs(self, folders):
        """Of each: keys of the job, number of checkpoints, and digests of those that several have."""
        return self.ask("runs", *folders)

    def write_file(self, path, text):
        """Whole or not at all."""
        self.ask("write", path, text)

    def read_run(self, folder):
        """As the function; what is wrong with the files says the command."""
        try:
            return read_run(folder)
        except (ValueError, AttributeError, OSError):
            self.runs([folder])
            raise
