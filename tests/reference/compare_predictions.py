"""Holds predictions of Troupe against those that NumPy makes from the model file alone.

    /usr/bin/python3 tests/reference/compare_predictions.py MODEL FEATURES.csv PREDICTIONS.csv

PREDICTIONS.csv has a row of class probabilities for each row of FEATURES.csv. Prints the greatest
difference; fails above 1e-6.
"""

import sys

import model_file
import numpy


def softmax(scores):
    powers = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


model, features, predictions = sys.argv[1:]
tensors, metadata = model_file.load(model)
rows = numpy.loadtxt(features, delimiter=",", dtype=numpy.float32, ndmin=2)
expected = numpy.loadtxt(predictions, delimiter=",", dtype=numpy.float64, ndmin=2)
difference = abs(softmax(model_file.predict(tensors, metadata, rows)) - expected).max()
print(f"greatest difference {difference:.2e} over {expected.size} probabilities")
sys.exit(0 if difference <= 1e-6 else 1)
