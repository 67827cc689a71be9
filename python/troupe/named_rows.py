"""Predictions for rows with names, or of a file: their cells become features as `troupe predict` has it.

Rows in memory become the text of a CSV file, also in memory, which the library reads: what a cell means is decided in
one place.
"""

import csv
import io
import numbers
import os
import re
import warnings
from collections.abc import Mapping

import numpy as np

GAPS = ("None", "nan", "NaN", "NaT", "<NA>")  # as texts of what is no text


def are_named(rows):
    """Whether rows are a file, or themselves say what their columns are called. Frames are no such rows."""
    if isinstance(rows, (list, tuple)):
        return len(rows) > 0 and all(isinstance(row, Mapping) for row in rows)
    return isinstance(rows, (str, os.PathLike)) or getattr(getattr(rows, "dtype", None), "names", None) is not None


def is_frame(rows):
    return hasattr(rows, "columns") and hasattr(rows, "__getitem__")


def predict(core, rows):
    """N x T targets, or N x K probabilities, float32. A warning says which cells are categories that training has not
    seen. ValueError: columns that the model needs are missing, or a cell is not what its column holds; rows are counted
    from 0."""
    if isinstance(rows, (str, os.PathLike)):
        result, remarks = core.predict_file(os.fspath(rows), "auto", False)
        path, words = None, str
    else:
        names, text = _table(rows, core)
        with os.fdopen(os.memfd_create("rows"), "wb") as file:
            file.write(text.encode())
            file.flush()
            path = f"/proc/self/fd/{file.fileno()}"
            words = lambda said: _told_by_rows(said, path, text, names is not None)  # noqa: E731
            try:
                result, remarks = core.predict_file(path, "yes" if names else "no", True)
            except ValueError as error:
                raise ValueError(words(str(error))) from None
    for remark in remarks:
        warnings.warn(words(remark), stacklevel=4)
    return result


def _table(rows, core):
    """Names of columns, or None, and the text of a CSV file."""
    names, columns = _columns(rows)
    if names is not None and all(name.isdigit() for name in core.columns):
        raise ValueError("the model's columns have no names: give it an array, whose columns are in the order of the "
                         "file that it was trained on")
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
    if names is not None:
        writer.writerow(names)
    writer.writerows(zip(*([_text(cell, core.decimal) for cell in _cells(column)] for column in columns)))
    return names, stream.getvalue()


def _columns(rows):
    if isinstance(rows, np.ndarray) and rows.dtype.names:
        return list(rows.dtype.names), [rows[name] for name in rows.dtype.names]
    if isinstance(rows, (list, tuple)) and are_named(rows):
        names = list(dict.fromkeys(name for row in rows for name in row))
        return names, [[row.get(name) for row in rows] for name in names]
    if is_frame(rows):  # Arrow's tables have names beside their columns
        names = list(getattr(rows, "column_names", rows.columns))
        return [str(name) for name in names], [rows[name] for name in names]
    table = np.asarray(rows, dtype=object)
    if table.ndim != 2:
        raise ValueError("expected rows: dicts, an array of two dimensions or with names, a data frame, or the path of "
                         f"a file; got {type(rows).__name__}")
    return None, table.T


def _cells(column):
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        return column.astype(str).tolist()
    for name in ("to_pylist", "to_list", "tolist"):  # of Arrow, frames, arrays
        if hasattr(column, name):
            return getattr(column, name)()
    return list(column)


def _text(cell, decimal):
    if isinstance(cell, bytes):
        cell = cell.decode()
    if isinstance(cell, str):
        return cell.strip(" \t")
    text = str(cell)
    if text in GAPS:
        return ""
    return text.replace(".", decimal) if isinstance(cell, numbers.Number) else text


def _told_by_rows(said, path, text, has_names):
    """Lines of the text become rows."""
    def place(found):
        if not found[1]:
            return "the rows"
        lines = csv.reader(io.StringIO(text, newline=""))
        row = next(i for i, _ in enumerate(lines) if lines.line_num >= int(found[1])) - has_names
        return f"row {row}" if row >= 0 else "the names of columns"
    return re.sub(re.escape(path) + r"(?::(\d+))?(?::\d+)?", place, said)
