"""Predictions that can be joined with their rows, and columns that a model goes by.

    python3 tests/scripts/rows/predictions_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import csv
import io
import json
import random
import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from command import JobTest, main

JOB = """[data]
file = "rows.csv"
target = "leaves"
ignore = ["id"]
categorical = ["city"]
missing = "drop"
test_fraction = 0.25
validation_fraction = 0.2
standardize = true
[model]
kind = "logistic-regression"
[optimizer]
kind = "adam"
learning_rate = 0.05
[training]
batch_size = 32
epochs = 5
"""
CITIES = ("Bergen", "Oslo, old", "Tromso")


def table():
    """Rows of which x decides, y is noise, and some have no x."""
    chance = random.Random(9)
    rows = []
    for i in range(400):
        x = chance.gauss(0, 1)
        leaves = "yes" if x + chance.gauss(0, 0.4) > 0 else "no"
        rows.append({"id": f"C{i:03d}", "x": "" if i % 10 == 3 else f"{x:.5g}", "y": f"{chance.gauss(0, 1):.5g}",
                     "city": CITIES[i % 3], "leaves": leaves})
    return rows


class Predictions(JobTest):
    job_text = JOB

    def setUp(self):
        super().setUp()
        self.rows = table()
        out = io.StringIO()
        writer = csv.DictWriter(out, self.rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        self.write("rows.csv", out.getvalue())

    def told(self, *words):
        return list(csv.DictReader(io.StringIO(self.troupe("predict", *words).stdout)))

    def test_kept_columns_stand_before_each_prediction(self):
        self.train("run", "data.missing=mean")
        told = self.told("run", "rows.csv", "--keep", "id,city", "--keep", "leaves", "--probabilities")
        self.assertEqual(list(told[0]), ["id", "city", "leaves", "predicted leaves", "p(no)", "p(yes)"])
        self.assertEqual([(row["id"], row["city"], row["leaves"]) for row in told],
                         [(row["id"], row["city"], row["leaves"]) for row in self.rows])
        plain = self.told("run/model.safetensors", "rows.csv")
        self.assertEqual([row["leaves"] for row in plain], [row["predicted leaves"] for row in told])

    def test_rows_that_were_kept_aside_are_those_that_evaluate_judges(self):
        self.train("run")
        count = 0
        for part in ("test", "validation", "train"):
            told = self.told("run", "--rows", part, "--keep", "id,leaves")
            judged = self.result_of("evaluate", "run", "--rows", part)
            self.assertEqual(len(told), judged["rows"])
            right = sum(row["leaves"] == row["predicted leaves"] for row in told)
            self.assertAlmostEqual(right / len(told), judged["accuracy"], delta=1e-12)
            by_id = {row["id"]: row for row in self.rows}
            self.assertTrue(all(by_id[row["id"]]["x"] for row in told), "dropped rows are in no part")
            count += len({row["id"] for row in told})
        self.assertEqual(count, sum(bool(row["x"]) for row in self.rows), "each row is in one part")

    def test_split_by_class_and_files_of_their_own(self):
        self.train("run", "data.stratify=true")
        told = self.told("run", "--rows", "test", "--keep", "leaves")
        self.assertEqual(len(told), self.result_of("evaluate", "run")["rows"])
        self.write("more.csv", "\n".join(self.read("rows.csv").splitlines()[:31]) + "\n")
        self.train("own", "data.test_fraction=0", "data.test_file=more.csv")
        told = self.told("own", "--rows", "test", "--keep", "id")
        self.assertEqual([row["id"] for row in told], [row["id"] for row in self.rows[:30] if row["x"]])

    def test_what_cannot_be_kept_is_refused(self):
        self.train("run")
        for words, code, why in [
                (["run"], 2, "no rows are named"),
                (["run", "rows.csv", "--rows", "test"], 2, "leave one of the two out"),
                (["run", "--rows", "tests"], 2, "there are no rows called 'tests'"),
                (["run", "rows.csv", "--keep", "idd"], 65, "idd"),
                (["run", "rows.csv", "--keep", "id,id"], 65, "is named twice"),
                (["run", "--rows", "test", "--keep", "id", "-o", "out.npy"], 2, "numbers alone")]:
            self.assertIn(why, self.troupe("predict", *words, code=code).stderr, words)

    def test_rows_of_a_text_are_refused_as_its_file_has_others(self):
        self.write("some.txt", "what is said is said again, and again. " * 30)
        self.write("text.toml", '[data]\nfile = "some.txt"\nformat = "text"\nwindow = 4\nstride = 3\n'
                   'test_fraction = 0.2\n[model]\nkind = "chain"\nlayers = "embedding categories=30 width=4"\n'
                   '[training]\nepochs = 1\n')
        self.troupe("train", "text.toml", "--quiet", "--set", "output.directory=text")
        self.assertIn("in no file of their own",
                      self.troupe("predict", "text", "--rows", "test", code=2).stderr)

    # ---- Importance

    def test_importance_is_of_columns_and_the_same_for_any_replicas(self):
        self.train("run", "training.replicas=1")
        found = self.result_of("importance", "run", "--repeats", "4")
        loss = {one["column"]: one["loss"] for one in found["columns"]}
        self.assertEqual(list(loss), ["x", "y", "city"], "columns of the file, not features")
        self.assertGreater(loss["x"], 0.1)
        self.assertLess(max(loss["y"], loss["city"]), loss["x"] / 5)
        judged = self.result_of("evaluate", "run")
        self.assertAlmostEqual(found["loss"], judged["loss"], delta=1e-12)
        self.assertAlmostEqual(found["accuracy"], judged["accuracy"], delta=1e-12)
        self.assertEqual(json.loads(self.read("run", "importance.json")), found)
        self.train("again", "training.replicas=3", "training.slices=1")
        again = self.result_of("importance", "again", "--repeats", "4")
        self.assertEqual(again["columns"], found["columns"])
        shown = self.troupe("importance", "run").stdout
        self.assertRegex(shown, r"(?m)^x +0\.\d+")
        self.train("run", "training.epochs=1", more=["--overwrite"])
        self.assertFalse((self.folder / "run" / "importance.json").exists(), "it was of the model before")


if __name__ == "__main__":
    main()
