"""Models of CSV files in Python: rows with names get the predictions of `troupe predict`.

    python3 tests/scripts/python/named_rows_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import csv
import datetime
import io
import pickle
import sys
import unittest
import warnings

try:
    import numpy as np
    import sklearn  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
sys.path.insert(0, f"{sys.path[0]}/..")
from command import BUILD, CommandTest  # noqa: E402

sys.path.insert(0, str(BUILD / "python"))
import troupe  # noqa: E402

NAMES = ["id", "age", "city", "member", "since", "left"]


def shop(separator=",", decimal="."):
    """300 rows of a shop's clients, with gaps, as a CSV file's text."""
    random = np.random.default_rng(4)
    text = io.StringIO()
    write = csv.writer(text, delimiter=separator, lineterminator="\n").writerow
    write(NAMES)
    for i in range(300):
        age, city = random.uniform(18, 80), random.choice(["Oslo", "Bergen", "Mo, i Rana", 'the "town"'])
        leaves = random.random() < (age > 50) * 0.6 + (city == "Oslo") * 0.3
        write([f"c{i}", "" if i % 9 == 0 else f"{age:.3f}".replace(".", decimal), city,
               ["yes", "no"][random.integers(2)],
               datetime.date(2020, 1, 1) + datetime.timedelta(int(random.integers(999))),
               ["stays", "leaves"][int(leaves)]])
    return text.getvalue()


class Frame:
    """Columns by name, as data frames have them."""

    def __init__(self, columns):
        self.columns, self.of = list(columns), columns

    def __getitem__(self, name):
        return self.of[name]


class Table(Frame):
    """As Arrow has it: names beside columns."""

    def __init__(self, columns):
        super().__init__(columns)
        self.column_names, self.columns = self.columns, list(columns.values())


class NamedRows(CommandTest):
    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "run" / "model.safetensors")

    def trained(self, text, *more):
        """The model of this file, and what the command predicts for its rows."""
        self.write("shop.csv", text)
        job = self.write("job.toml", '''model = {hidden = [8]}
training.epochs = 5
[data]
file = "shop.csv"
ignore = ["id"]
categorical = ["city"]
boolean = ["member"]
date = ["since"]
missing = "mean"
standardize = true
''')
        self.train(job, "output.directory=run", *more)
        run = self.troupe("predict", self.path, "shop.csv", "--probabilities", "-o", "told.npy")
        self.assertEqual(run.returncode, 0)
        return troupe.load_model(self.path), np.load(self.folder / "told.npy")

    def test_all_forms_of_rows_get_the_predictions_of_the_command(self):
        model, told = self.trained(shop())
        rows = list(csv.DictReader(io.StringIO(shop())))
        columns = {name: [row[name] for row in rows] for name in NAMES}
        typed = {**columns, "age": [float(x) if x else None for x in columns["age"]],
                 "since": [datetime.date.fromisoformat(x) for x in columns["since"]],
                 "member": [x == "yes" for x in columns["member"]]}
        arrays = {name: np.array(column) for name, column in columns.items()}
        arrays["age"] = np.array([x or "nan" for x in columns["age"]]).astype(float)
        arrays["since"] = arrays["since"].astype("datetime64[D]")
        structured = np.array([(a, c.encode(), m, s) for a, c, m, s in
                               zip(arrays["age"], columns["city"], columns["member"], columns["since"])],
                              [("age", "f8"), ("city", "S20"), ("member", "U3"), ("since", "U10")])
        features = np.array([[row[name] or None for name in NAMES[1:-1]] for row in rows], dtype=object)
        for form in (rows, [dict(zip(typed, row)) for row in zip(*typed.values())], structured, Frame(typed),
                     Frame(arrays), Table(columns), features, features.tolist(), str(self.folder / "shop.csv"),
                     self.folder / "shop.csv", [{name: f" {cell}\t" for name, cell in row.items()} for row in rows],
                     [{name: cell for name, cell in reversed(row.items()) if cell} for row in rows]):
            np.testing.assert_array_equal(model.predict_proba(form), told)
        self.assertEqual(list(model.predict(rows[:3])), list(model.classes_[told[:3].argmax(1)]))
        self.assertEqual(list(model.classes_), ["leaves", "stays"])
        self.assertEqual(list(model.feature_names_in_), NAMES[1:-1])
        self.assertEqual(model.n_features_in_, 4)
        for same in (troupe.TroupeClassifier.load(self.path), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(same.predict_proba(rows), told)
        self.assertEqual(model.score(rows, columns["left"]),
                         np.mean(model.classes_[told.argmax(1)] == columns["left"]))

    def test_a_file_of_another_dialect(self):
        text = shop(";", ",")
        model, told = self.trained(text, 'data.separator=";"', 'data.decimal=","')
        rows = list(csv.DictReader(io.StringIO(text), delimiter=";"))
        np.testing.assert_array_equal(model.predict_proba(rows), told)
        np.testing.assert_array_equal(model.predict_proba(self.folder / "shop.csv"), told)
        numbers = [{**row, "age": float(row["age"].replace(",", ".")) if row["age"] else float("nan")} for row in rows]
        np.testing.assert_array_equal(model.predict_proba(numbers), told)

    def test_numbers_by_name(self):
        rows = np.random.default_rng(1).normal(size=(80, 2)).round(3)
        self.write("plane.csv", "a,b,y\n" + "".join(f"{a},{b},{2 * a - b}\n" for a, b in rows))
        self.write("job.toml", "")
        self.train("job.toml", "data.file=plane.csv", "model.kind=linear-regression", "optimizer.kind=closed-form",
                   "output.directory=run")
        model = troupe.load_model(self.path)
        self.assertIsInstance(model, troupe.TroupeRegressor)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = model.predict(rows)
        a, b = rows.T
        for form in (Frame({"b": b, "other": ["x"] * 80, "a": a}), [{"b": y, "a": x} for x, y in rows],
                     self.folder / "plane.csv"):
            np.testing.assert_allclose(model.predict(form), expected, rtol=1e-6)
        here = troupe.TroupeRegressor(hidden=(), optimizer="closed-form").fit(rows, 2 * a - b)
        with self.assertRaisesRegex(ValueError, "columns have no names: give it an array"):
            here.predict([{"a": 1, "b": 2}])

    def test_what_is_wrong_with_them(self):
        model, _ = self.trained(shop())
        rows = list(csv.DictReader(io.StringIO(shop())))[:3]
        rows[1]["city"] = "two\nlines"
        with self.assertWarnsRegex(UserWarning, "^the rows: 1 cell is a category that training has not seen.*lines"):
            model.predict(rows)
        for wrong, words in [([*rows, {**rows[0], "age": "old"}], "^row 3: 'old' in column 1 'age' is not a number"),
                             ([{**rows[0], "member": "perhaps"}], "^row 0: 'perhaps'"),
                             ([{"age": 3, "city": "Oslo"}], "missing 'member', 'since'"),
                             ([{**rows[0], "since": None, "member": "yes"}, {**rows[0], "age": float("inf")}],
                              "^row 1: 'inf'.* not a finite number"),
                             (np.zeros(3), "expected rows: dicts, an array of two dimensions"), ([], "expected rows"),
                             (np.zeros((3, 3)), "has 3 columns; the model takes 4 features")]:
            with self.assertRaisesRegex(ValueError, words):
                model.predict(wrong)
        with self.assertRaisesRegex(OSError, "nowhere"):
            model.predict("/nowhere.csv")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
