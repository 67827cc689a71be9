# Digits again, in scikit-learn's manner: prints the share of test rows that are read right, and the parameters' hash.
#
#   PYTHONPATH=build/python python3 examples/digits.py      docs/python.md says how to build the module
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from troupe import TroupeClassifier
rows, test_rows, digits, test_digits = train_test_split(*load_digits(return_X_y=True), random_state=0)
model = TroupeClassifier(hidden=(64,), epochs=20).fit(rows, digits)
print(model.score(test_rows, test_digits), model.parameters_sha256_)
