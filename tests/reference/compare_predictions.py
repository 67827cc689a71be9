"""Holds predictions of Troupe against those that NumPy makes from the model file alone.

    /usr/bin/python3 tests/reference/compare_predictions.py MODEL FEATURES.csv PREDICTIONS.csv

PREDICTIONS.csv has a row of predictions for each row of FEATURES.csv. Prints the greatest
difference, relative where a prediction exceeds 1; fails above 1e-6, or 2e-6 for regressions.
"""

import sys

import model_file
import numpy

model, features, predictions = sys.argv[1:]
tensors, metadata = model_file.load(model)
rows = numpy.loadtxt(features, delimiter=",", dtype=numpy.float32, ndmin=2)
expected = numpy.loadtxt(predictions, delimiter=",", dtype=numpy.float64, ndmin=2)
ours = model_file.predict(tensors, metadata, rows)
difference = (abs(ours - expected) / numpy.maximum(abs(expected), 1)).max()
print(f"greatest difference {difference:.2e} over {expected.size} predictions")
sys.exit(0 if difference <= (1e-6 if metadata.get("classes") else 2e-6) else 1)
