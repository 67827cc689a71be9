"""What trials of a search came to, read from their run folders, and the tables made of that."""

import math

from records import row_of_result
from terminal import json_text
from trials import without_fold

FIGURES = ("state", "loss", "epochs", "steps", "seconds", "validation_accuracy", "test_accuracy", "test_r2",
           "parameters_sha256")
FOLD_FIGURES = ("loss", "validation_accuracy", "test_accuracy", "test_r2")


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


def judged(run, epochs):
    """(row, loss) that searches judge by, or (None, None): of the rows up to so many epochs the last with a watched loss, and of a
    run that keeps its best version the one with the least. Watched are the validation rows, else the test rows, else training:
    one kind for all rows of a run, as rows that are not evaluated have a training loss alone."""
    watched = next((name for name in ("validation_loss", "test_loss")
                    if any(row[name] is not None for row in run.history)), "train_loss")
    keeps_best = run.summary is not None and run.summary["best_version"] is not None
    least, result = math.inf, (None, None)
    for row in run.history:
        loss = row[watched]
        if row["epoch"] <= epochs and loss is not None and (not keeps_best or loss < least):
            least, result = loss, (row, loss)
    return result


def trial_object(trials, runs, rule, trial):
    """Figures that are not there are null, or not told."""
    run = runs[trial]
    row = row_of_result(run) if run else None
    result = {"trial": trial + 1, "state": rule.states[trial], "values": dict(trials[trial]), "loss": rule.losses[trial],
              "epochs": row["epoch"] if row else 0}
    if run and run.summary:
        result.update((key, run.summary[key]) for key in FIGURES[3:])
    return result


# ---- Tables: rows of cells, the first of names ----


def cell_text(x):
    return "" if x is None else x if isinstance(x, str) else json_text(x)


def without_empty_columns(rows):
    """Without columns that have a name alone."""
    return [list(row) for row in zip(*(column for column in zip(*rows) if any(column[1:])))]


def trial_cells(trials, objects):
    return without_empty_columns([["trial", *(key for key, _ in trials[0]), *FIGURES], *(
        [str(x["trial"]), *(value for _, value in trials[x["trial"] - 1]), *(cell_text(x.get(key)) for key in FIGURES)]
        for x in objects)])


def setting_cells(settings):
    names, figures = list(settings[0]["values"]), [key for key in settings[0] if key not in ("setting", "values", "folds")]
    return without_empty_columns([["setting", *names, "folds", *figures], *(
        [str(x["setting"]), *(x["values"][name] for name in names), *(cell_text(x[key]) for key in ("folds", *figures))]
        for x in settings)])


def cells_text(rows):
    """For people: with long hashes cut, as the whole hash is in the files."""
    rows = [[cell.encode("utf-8", "surrogateescape") for cell in row] for row in rows]
    rows = [[cell[:12] if len(cell) == 64 else cell for cell in row] for row in rows]
    widths = [max(map(len, column)) + 2 for column in zip(*rows)]
    lines = [b"".join(cell.ljust(width) for cell, width in zip(row[:-1], widths)) + row[-1] + b"\n" for row in rows]
    return b"".join(lines).decode("utf-8", "surrogateescape")


def cells_csv(rows):
    def quoted(cell):
        return '"' + cell.replace('"', '""') + '"' if any(x in cell for x in ',"\n\r') else cell
    return "".join(",".join(map(quoted, row)) + "\n" for row in rows)


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


def settings_object(objects, folds):
    """The settings, the best first, of the trials in their order."""
    result = []
    for first in range(0, len(objects), folds):
        trials = objects[first:first + folds]
        setting = {"setting": first // folds + 1, "values": dict(without_fold(trials[0]["values"].items())),
                   "folds": sum(x["loss"] is not None for x in trials)}
        for figure in FOLD_FIGURES:
            setting[figure], setting[figure + "_deviation"] = over_folds([x.get(figure) for x in trials])
        result.append(setting)
    return sorted(result, key=lambda x: (x["loss"] is None, x["loss"] or 0.0))
