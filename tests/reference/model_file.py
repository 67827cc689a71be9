"""Reads a model file of Troupe with nothing but NumPy, and predicts: the format hides nothing.

    /usr/bin/python3 tests/reference/model_file.py MODEL.safetensors FEATURES.csv    (python3-numpy)

FEATURES.csv (plain or .gz, no header) may hold more columns than the model has features: the first
ones are used. Prints one line per row: the class counted from 0 for a classifier, else the outputs.
"""

import json
import sys

import numpy

ACTIVATIONS = {"identity": lambda x: x, "relu": lambda x: numpy.maximum(x, 0), "tanh": numpy.tanh,
               "sigmoid": lambda x: 1 / (1 + numpy.exp(-x))}


def load(path):
    """The tensors by name, as float32 arrays, and the metadata."""
    content = open(path, "rb").read()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        values = numpy.frombuffer(content[start + first:start + last], "<f4")
        tensors[name] = values.reshape(entry["shape"])
    return tensors, metadata


def floats(text):
    """Floats from their bits: "3f800000 40000000" is [1, 2]."""
    return numpy.array([int(bits, 16) for bits in text.split()], numpy.uint32).view(numpy.float32)


def predict(tensors, metadata, rows):
    """The raw outputs (rows, outputs) for features as they stand in a data file."""
    if metadata.get("feature_mean"):
        rows = (rows - floats(metadata["feature_mean"])) / floats(metadata["feature_deviation"])
    layers = sum(name.endswith(".weight") for name in tensors)
    for layer in range(layers):
        rows = rows @ tensors[f"layers.{layer}.weight"].T + tensors[f"layers.{layer}.bias"]
        if layer + 1 < layers:
            rows = ACTIVATIONS[metadata["activation"]](rows)
    return rows


def main(model, features):
    tensors, metadata = load(model)
    rows = numpy.loadtxt(features, delimiter=",", dtype=numpy.float32, ndmin=2)
    outputs = predict(tensors, metadata, rows[:, :tensors["layers.0.weight"].shape[1]])
    if metadata.get("classes"):
        print("\n".join(str(row.argmax()) for row in outputs))
    else:
        print("\n".join(",".join(f"{value:.9g}" for value in row) for row in outputs))


if __name__ == "__main__":
    main(*sys.argv[1:])
