"""What trials of a search came to, read from their run folders, and the tables made of that."""

import math

from records import Watched, row_of_result
from terminal import json_text
from trials import NUMBER, without_fold

FIGURES = ("steps", "seconds", "validation_accuracy", "test_accuracy", "test_r2", "parameters_sha256")  # of a summary
LOSS = Watched({})


def folder_name(trial):
    """Of a trial within the search's folder, counted from 1: "001"."""
    return f"{trial + 1:03}"


# ---- One trial ----


def has_diverged(run):
    """It would do so again."""
    return run.summary is not None and run.summary["stopped_by"] == "diverged"


def has_reached(run, epochs):
    """Whether the run has got so far, or was ended before by a rule of its own."""
    if not run.summary or run.summary["stopped_by"] in ("interrupt", "diverged"):
        return False
    by_rule = run.summary["stopped_by"] not in ("epochs", "steps")
    return by_rule or bool(run.history and run.history[-1]["epoch"] >= epochs)


def judged(run, epochs, watched):
    """(row, figure) that searches judge by, or (None, None): of the rows up to so many epochs the last with a watched figure, and
    of a run that keeps its best version the best one."""
    name = watched.column(run.history)
    keeps_best = run.summary is not None and run.summary["best_version"] is not None
    least, result = math.inf, (None, None)
    for row in run.history:
        value = row.get(name)
        if row["epoch"] <= epochs and value is not None and (not keeps_best or watched.sign * value < least):
            least, result = watched.sign * value, (row, value)
    return result


def trial_object(trials, runs, rule, trial, watched):
    """Figures that are not there are null, or not told. All are of the version that the trial keeps."""
    run, state = runs[trial], rule.states[trial]
    row = row_of_result(run) if run else None
    result = {"trial": trial + 1, "state": "half-trained" if row and state == "waiting" else state, "values": dict(trials[trial]),
              "loss": row[LOSS.column(run.history)] if row and rule.losses[trial] is not None else None,
              "epochs": row["epoch"] if row else 0}
    if run and run.summary:
        result.update((key, run.summary[key]) for key in FIGURES[:-1])
        names = [*row["metrics"], *([watched.column(run.history)] if watched.name != LOSS.name else [])] if row else []
        result.update((name, row.get(name)) for name in names)
        result[FIGURES[-1]] = run.summary[FIGURES[-1]]
    return result


# ---- Tables: rows of cells, the first of names ----


def cell_text(x):
    return "" if x is None else x if isinstance(x, str) else json_text(x)


def shown_number(x):
    """Three significant digits, and of a large one all before the point."""
    return f"{x:.3g}" if abs(x) < 1000 or not math.isfinite(x) else f"{x:.0f}"


def shown_cell(x):
    """For people: hashes and drawn values are cut, as the files have them whole."""
    if isinstance(x, float):
        return shown_number(x)
    text = cell_text(x)
    if NUMBER.fullmatch(text) and len(text) > 8 and "." in text:
        return shown_number(float(text))
    return text[:12] if len(text) == 64 else text


def table(objects, first, names, last=""):
    """A row for each object: its number, its values and its figures, without columns that would have a name alone."""
    figures = [key for x in objects for key in x if key not in (first, "values", last)]
    rows = [[first, *names, *dict.fromkeys(figures), *([last] if last else [])]]
    rows += ([x[first], *(x["values"][name] for name in names), *(x.get(key) for key in rows[0][1 + len(names):])] for x in objects)
    return [list(row) for row in zip(*(column for column in zip(*rows) if any(x not in (None, "") for x in column[1:])))]


def trial_cells(trials, objects):
    return table(objects, "trial", [key for key, _ in trials[0]], FIGURES[-1])


def setting_cells(settings):
    return table(settings, "setting", list(settings[0]["values"]))


def cells_text(rows):
    rows = [[shown_cell(cell).encode("utf-8", "surrogateescape") for cell in row] for row in rows]
    widths = [max(map(len, column)) + 2 for column in zip(*rows)]
    lines = [b"".join(cell.ljust(width) for cell, width in zip(row[:-1], widths)) + row[-1] + b"\n" for row in rows]
    return b"".join(lines).decode("utf-8", "surrogateescape")


def cells_csv(rows):
    def quoted(cell):
        return '"' + cell.replace('"', '""') + '"' if any(x in cell for x in ',"\n\r') else cell
    return "".join(",".join(quoted(cell_text(cell)) for cell in row) + "\n" for row in rows)


# ---- Folds ----


def over_folds(values):
    """Mean and deviation (divisor k - 1) of a figure over the folds; None where a fold has none."""
    if not values or None in values:
        return None, None
    mean = squares = 0.0
    for x in values:
        mean += x / len(values)
    for x in values:
        squares += (x - mean) * (x - mean)
    return mean, math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else None


def settings_object(objects, folds, watched):
    """The settings, the best first, of the trials in their order."""
    known = dict.fromkeys(key for x in objects for key in x if x[key] is not None)
    figures = ["loss", *(key for key in known if key.split("_", 1)[0] in watched.PARTS)]
    ranked_by = next((name for name in watched.columns if name in figures), "loss")
    result = []
    for first in range(0, len(objects), folds):
        trials = objects[first:first + folds]
        setting = {"setting": first // folds + 1, "values": dict(without_fold(trials[0]["values"].items())),
                   "folds": sum(x["loss"] is not None for x in trials)}
        for figure in figures:
            setting[figure], setting[figure + "_deviation"] = over_folds([x.get(figure) for x in trials])
        result.append(setting)
    return sorted(result, key=lambda x: (x["loss"] is None or x[ranked_by] is None, watched.sign * (x[ranked_by] or 0.0)))
