"""Reads a model file of Troupe with nothing but NumPy, and predicts: the format hides nothing.

    /usr/bin/python3 tests/reference/model_file.py MODEL.safetensors FEATURES.csv    (python3-numpy)

FEATURES.csv (plain or .gz, with or without a header) may hold more columns than the model has
features: the first ones are used. Of a model with a plan for its columns (metadata "columns") it has a header, and columns
are found by name. Prints one line per row: the class counted from 0 for a classifier, else the predicted
values.
"""

import csv
import datetime
import gzip
import json
import math
import re
import signal
import sys

import numpy

ERF = numpy.vectorize(math.erf)

ACTIVATIONS = {"identity": lambda x: x, "relu": lambda x: numpy.maximum(x, 0), "tanh": numpy.tanh,
               "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
               "leaky-relu": lambda x: numpy.where(x > 0, x, 0.01 * x),
               "elu": lambda x: numpy.where(x > 0, x, numpy.expm1(numpy.minimum(x, 0))),
               "gelu": lambda x: x * (1 + ERF(x / math.sqrt(2))) / 2,
               "silu": lambda x: x / (1 + numpy.exp(-x)),
               "softplus": lambda x: numpy.logaddexp(0, x)}
# From one score to the probability of the second class.
LINKS = {"sigmoid": lambda z: 1 / (1 + numpy.exp(-z)),
         "tanh": lambda z: (1 + numpy.tanh(z)) / 2,
         "probit": lambda z: (1 + ERF(z / math.sqrt(2))) / 2,
         "arctan": lambda z: 0.5 + numpy.arctan(math.pi / 2 * z) / math.pi,
         "gudermannian": lambda z: 2 / math.pi * numpy.arctan(numpy.exp(math.pi / 2 * z)),
         "algebraic": lambda z: (1 + z / numpy.sqrt(1 + z * z)) / 2,
         "softsign": lambda z: (1 + z / (1 + abs(z))) / 2}


# From a score, times deviation plus mean, to the target.
TARGET_SCALES = {"standardize": lambda t: t, "log": numpy.exp, "log1p": numpy.expm1, "asinh": numpy.sinh}

DTYPES = {"F32": "<f4", "F64": "<f8", "U8": "u1", "I32": "<i4", "U64": "<u8"}


def load(path):
    """The tensors by name, as arrays, and the metadata: of a model, a checkpoint, or rows for training."""
    content = open(path, "rb").read()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        values = numpy.frombuffer(content[start + first:start + last], DTYPES[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"])
    return tensors, metadata


def floats(text):
    """Floats from their bits: "3f800000 40000000" is [1, 2]."""
    return numpy.array([int(bits, 16) for bits in text.split()], numpy.uint32).view(numpy.float32)


def activation_names(metadata, hidden_layers):
    """One name for each hidden layer: the file holds one for all or one for each."""
    names = metadata["activation"].split()
    return names * hidden_layers if len(names) == 1 else names


def scores(tensors, metadata, rows):
    """The raw outputs (rows, outputs) for features as they stand in a data file."""
    if metadata.get("feature_mean"):
        rows = (rows - floats(metadata["feature_mean"])) / floats(metadata["feature_deviation"])
    layers = sum(name.endswith(".weight") for name in tensors)
    names = activation_names(metadata, layers - 1)
    for layer in range(layers):
        rows = rows @ tensors[f"layers.{layer}.weight"].T + tensors.get(f"layers.{layer}.bias", 0)
        if layer + 1 < layers:
            rows = ACTIVATIONS[names[layer]](rows)
    return rows


def predict(tensors, metadata, rows):
    """Predictions (rows, classes or targets): class probabilities (margins for the hinge losses), or
    the predicted values."""
    raw, loss = scores(tensors, metadata, rows), metadata["loss"]
    if loss == "categorical-cross-entropy":
        powers = numpy.exp(raw - raw.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)
    if loss == "binary-cross-entropy":
        probability = LINKS[metadata["link"]](raw)
        return numpy.hstack([1 - probability, probability])
    if loss in ("hinge", "squared-hinge"):
        return numpy.hstack([-raw, raw])
    if "target_scale" in metadata:
        raw = raw * floats(metadata["target_deviation"]) + floats(metadata["target_mean"])
        return TARGET_SCALES[metadata["target_scale"]](raw)
    return numpy.exp(raw) if loss in ("poisson", "gamma") else raw


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_rows(path, columns):
    """The first columns of a CSV file as float32; row 1 is a header if no cell of it is a number."""
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
        is_header = not any(is_number(cell) for cell in file.readline().split(","))
    return numpy.loadtxt(path, delimiter=",", dtype=numpy.float32, ndmin=2, skiprows=int(is_header),
                         usecols=range(columns))


def is_category(category, cell, categories):
    """By text, or by value where all are numbers and no two of them have it."""
    if cell in categories or not all(is_number(text) for text in [cell, *categories]):
        return cell == category
    return float(cell) == float(category) and len(set(map(float, categories))) == len(categories)


def is_gap(column, cell, missing_cells):
    """By text, or by value in a column of numbers."""
    return cell == "" or cell in missing_cells or (
        column["kind"] in ("number", "amount") and is_number(cell) and
        any(is_number(mark) and float(mark) == float(cell) for mark in missing_cells))


def date_of(cell, order):
    """A date that begins with the year, or by the plan's order, and its hour, to a quarter."""
    match = re.match(r"(\d+)[-/.](\d+)[-/.](\d+)(?:[T ]+(\d+):(\d+)[:\d.,]* *([AP]M)?)?", cell, re.IGNORECASE)
    first, second, third, hour, minute = (int(text or 0) for text in match.groups()[:5])
    if first < 1000:
        first, second, third = (third, second, first) if order == "day-first" else (third, first, second)
    if match[6]:
        hour = hour % 12 + 12 * (match[6].upper() == "PM")
    return datetime.date(first, second, third), hour + minute // 15 / 4


def amount_of(cell):
    """A number without its unit and what stands between thousands; with a decimal point."""
    value = float(re.sub(r"[A-Z]{3}|[^\d.eE-]", "", cell.replace("\u2212", "-")))
    return -value if cell.startswith("(") else value


def features_of_cell(column, cell, missing_cells):
    """What a cell of this column of the plan is to the model; a gap is NaN."""
    gap = is_gap(column, cell, missing_cells)
    if column["kind"] == "category":
        values = [0.0 if gap else float(is_category(one, cell, column["categories"])) for one in column["categories"]]
    elif column["kind"] in ("date", "datetime"):
        day, hour = (datetime.date.min, 0) if gap else date_of(cell, column.get("order"))
        values = [(day - datetime.date(2000, 1, 1)).days, day.month, day.isoweekday(), hour]
        values = [math.nan if gap else value for value in values[:3 if column["kind"] == "date" else 4]]
    elif column["kind"] == "boolean":
        values = [math.nan if gap else float(cell.lower() in ("true", "yes", "t", "y", "1"))]
    elif column["kind"] == "amount":
        values = [math.nan if gap else amount_of(cell)]
    else:
        values = [math.nan if gap else float(cell)]
    return values + [float(gap)] * column.get("marks_missing", False)


def read_cells(path, metadata):
    """The model's features of a CSV file with a header, by the plan that the model has for its columns."""
    plan = json.loads(metadata["columns"])
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")) as file:
        rows = numpy.array([sum((features_of_cell(column, row[column["name"]].strip(), plan["missing_cells"])
                                 for column in plan["columns"]), [])
                            for row in csv.DictReader(file)], numpy.float32)
    if "feature_fill" in metadata:
        rows = numpy.where(numpy.isnan(rows), floats(metadata["feature_fill"]), rows)
    return rows


def decide(row, metadata):
    """The likeliest class, or what the model's threshold decides."""
    if "threshold" not in metadata:
        return row.argmax()
    label = int(metadata["threshold_class"])
    return label if row[label] >= floats(metadata["threshold"])[0] else 1 - label


def main(model, features):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # "| head" is no error
    tensors, metadata = load(model)
    rows = (read_cells(features, metadata) if "columns" in metadata
            else read_rows(features, tensors["layers.0.weight"].shape[1]))
    outputs = predict(tensors, metadata, rows)
    if metadata.get("classes"):
        print("\n".join(str(decide(row, metadata)) for row in outputs))
    else:
        print("\n".join(",".join(f"{value:.9g}" for value in row) for row in outputs))


if __name__ == "__main__":
    main(*sys.argv[1:])
