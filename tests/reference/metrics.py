"""Metrics of made-up predictions, by NumPy in double, straight from their definitions.

    /usr/bin/python3 tests/reference/metrics.py        (python3-numpy; writes metrics.json)
"""

import pathlib

import numpy

import compact_json

ROWS, CLASSES, TARGETS = 60, 5, 2


def macro(labels, guesses):
    figures = []
    for label in range(CLASSES):
        hits = numpy.sum((labels == label) & (guesses == label))
        predicted, actual = numpy.sum(guesses == label), numpy.sum(labels == label)
        if predicted + actual == 0:
            continue
        precision = hits / predicted if predicted else 0.0
        recall = hits / actual if actual else 0.0
        both = precision + recall
        figures.append((precision, recall, 2 * precision * recall / both if both else 0.0))
    return [float(value) for value in numpy.mean(figures, axis=0)]


def regression(predictions, targets):
    errors = predictions.astype(float) - targets.astype(float)
    squares = (targets.astype(float) - targets.astype(float).mean(axis=0)) ** 2
    return [float(numpy.mean(errors ** 2)), float(numpy.mean(numpy.abs(errors))),
            float(1 - numpy.sum(errors ** 2) / numpy.sum(squares))]


def main():
    random = numpy.random.default_rng(3)
    labels = random.integers(0, CLASSES - 1, ROWS)  # the last class does not occur as a label
    guesses = numpy.where(random.random(ROWS) < 0.6, labels, random.integers(0, CLASSES, ROWS))
    targets = random.normal(10, 2, (ROWS, TARGETS)).astype(numpy.float32)
    predictions = (targets + random.normal(0, 1, (ROWS, TARGETS))).astype(numpy.float32)
    compact_json.write(pathlib.Path(__file__).with_suffix(".json"), {
        "labels": labels.tolist(), "guesses": guesses.tolist(), "macro": macro(labels, guesses),
        "targets": targets, "predictions": predictions,
        "regression": regression(predictions, targets)})


if __name__ == "__main__":
    main()
