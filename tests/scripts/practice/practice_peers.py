"""What scikit-learn makes of the tables of practice_tables.py, and of its own: the figures practice_test.py is held against.

    /usr/bin/python3 tests/scripts/practice/practice_peers.py FOLDER      (python3-sklearn; some minutes)

Cells are coded as a practitioner would: dates as days, month and weekday, texts as categories, gaps as means. Prints a
line for each table and model: AUC, accuracy or R2 on the test rows.
"""

import csv
import datetime
import sys
import warnings
from pathlib import Path

import numpy
import sklearn.datasets
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

LEFT_OUT = {"customer_id"}
REAL = {"diabetes": sklearn.datasets.load_diabetes, "breast_cancer": sklearn.datasets.load_breast_cancer,
        "wine": sklearn.datasets.load_wine, "iris": sklearn.datasets.load_iris, "digits": sklearn.datasets.load_digits}


def write_real(folder):
    """scikit-learn's own tables as CSV files, every fifth row for testing."""
    import practice_tables

    for name, load in REAL.items():
        data = load()
        order = numpy.random.default_rng(3).permutation(len(data.target))
        target = data.target if name == "diabetes" else [f"class {label}" for label in data.target]
        rows = [[*(f"{value:.9g}" for value in data.data[i]), target[i]] for i in order]
        names = [str(one).replace(",", " ") for one in data.feature_names]
        practice_tables.write(folder, name, [*names, "target"], rows)


def read(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def day_of(text):
    parts = [int(part) for part in text.replace("/", "-").split("-")]
    return datetime.date(*parts) if parts[0] > 31 else datetime.date(*reversed(parts))


def columns_of(train, name):
    """A function from rows to columns of numbers."""
    cells = [row[name] for row in train]
    present = [cell for cell in cells if cell]
    try:
        mean = numpy.mean([float(cell) for cell in present])
        return lambda rows: [[float(row[name]) if row[name] else mean for row in rows]]
    except ValueError:
        pass
    if all(cell.count("-") == 2 or cell.count("/") == 2 for cell in present[:50]):
        def dates(rows):
            days = [day_of(row[name]) for row in rows]
            return [[day.toordinal() for day in days], [day.month for day in days], [day.isoweekday() for day in days]]
        return dates
    names = sorted(set(present))
    return lambda rows: [[float(row[name] == one) for row in rows] for one in names]


def coded(train, test, target):
    makers = [columns_of(train, name) for name in train[0] if name != target and name not in LEFT_OUT]
    parts = [numpy.array(sum((make(rows) for make in makers), [])).T for rows in (train, test)]
    scaler = StandardScaler().fit(parts[0])
    return [scaler.transform(part) for part in parts]


def classes(name, train, test, target):
    x, more = coded(train, test, target)
    y, truth = ([row[target] for row in rows] for rows in (train, test))
    for model in (LogisticRegression(max_iter=2000), MLPClassifier((32,), early_stopping=True, random_state=0),
                  HistGradientBoostingClassifier(random_state=0, max_iter=20 if len(set(y)) > 10 else 100)):
        model.fit(x, y)
        probabilities = model.predict_proba(more)
        auc = (roc_auc_score(truth, probabilities[:, 1]) if len(model.classes_) == 2
               else roc_auc_score(truth, probabilities, multi_class="ovr"))
        print(f"{name} {type(model).__name__} auc {auc:.4f} accuracy {accuracy_score(truth, model.predict(more)):.4f}",
              flush=True)


def amounts(name, train, test, target):
    x, more = coded(train, test, target)
    y, truth = (numpy.array([float(row[target]) for row in rows]) for rows in (train, test))
    by_log = y.min() > 0
    for model in (Ridge(), MLPRegressor((32,), early_stopping=True, random_state=0, max_iter=1000),
                  HistGradientBoostingRegressor(random_state=0)):
        scale = y.std()
        print(f"{name} {type(model).__name__} r2 {r2_score(truth, model.fit(x, y / scale).predict(more) * scale):.4f}",
              flush=True)
        if by_log:
            guesses = numpy.exp(model.fit(x, numpy.log(y)).predict(more))
            print(f"{name} {type(model).__name__}, log, r2 {r2_score(truth, guesses):.4f}", flush=True)


def main(folder):
    warnings.simplefilter("ignore", ConvergenceWarning)
    sys.path.insert(0, str(Path(__file__).parent))
    import practice_tables

    practice_tables.main(folder)
    write_real(folder)
    targets = {"churn": "churned", "houses": "price", "products": "kind"}
    for name in [*practice_tables.TABLES, *REAL]:
        train, test = (read(Path(folder) / f"{name}_{part}.csv") for part in ("train", "test"))
        run = amounts if name in ("houses", "diabetes") else classes
        run(name, train, test, targets.get(name, "target"))


if __name__ == "__main__":
    main(*sys.argv[1:])
