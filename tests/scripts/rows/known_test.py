"""Rows whose reading is known before they are read, by a table, a run's table or a model file.

    /usr/bin/python3 tests/scripts/rows/known_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import json
import sys

import numpy

sys.path.insert(0, f"{sys.path[0]}/..")
from command import JobTest, main, sets_of
from thing_rows import COLUMNS, JOB_OF_THINGS, text_of, things

JOB = """[job]
seed = 5
[data]
file = "all.csv"
""" + JOB_OF_THINGS + """kind = "adam"
learning_rate = 0.01
[training]
batch_size = 48
epochs = 4
"""
NUMBERS = ["data.categorical=[]", 'data.ignore=["city"]', 'data.missing="error"', "model.dropout=0"]


class KnownRows(JobTest):
    job_text = JOB
    figures = ("parameters_sha256", "train_loss", "test_loss", "validation_loss", "steps")

    def setUp(self):
        super().setUp()
        self.rows = list(things(600, 1))
        self.write("all.csv", text_of(self.rows))

    def table(self, *keys, name="table.json", more=(), code=0):
        return self.troupe("data", "table", self.job, "-o", name, *sets_of(keys), *more, code=code)

    def refused(self, code, *keys):
        return self.train("refused", *keys, code=code)["error"]

    def test_its_own_table_changes_no_bit_and_neither_does_the_order_of_columns(self):
        plain = self.train("plain")
        self.table()
        self.write("run.json", json.dumps(json.loads(self.read("table.json")) | {"facts": {}, "holdings": []}))
        self.write("moved.csv", text_of([row | {"note": "x"} for row in self.rows], ["weight", "note", "kind", "city", "size"]))
        for table in ("table.json", "plain/model.safetensors", "run.json"):
            by_table = self.train("known", f"data.table={table}", "data.standardize=false", more=["--overwrite"])
            self.expect_equal(by_table, plain)
            self.assertNotEqual(by_table["job_sha256"], plain["job_sha256"], "another table could train another model")
            told = self.troupe("train", self.job, "--overwrite", *sets_of(
                ["output.directory=moved", "data.file=moved.csv", f"data.table={table}"]))
            self.assertIn(plain["parameters_sha256"], told.stdout)
            self.assertIn("left out, for it is none of the known features: 'note'", told.stderr)
            self.assertNotIn("does not count", told.stderr)

    def test_rows_are_scaled_as_the_table_says_whatever_they_are(self):
        """Outside witness: NumPy scales the rows, and nothing else does."""
        self.rows = [row | {"size": row["size"] or "0"} for row in self.rows]
        self.write("all.csv", text_of(self.rows))
        self.table(*NUMBERS)
        learned = json.loads(self.read("table.json"))["learned"]
        some = [row | {"size": f"{float(row['size']) + 3:.3f}"} for row in self.rows[:200] if row["kind"] != "emu"]
        self.write("some.csv", text_of(some))
        raw = numpy.array([[row["size"], row["weight"]] for row in some]).astype(numpy.float32)
        mean, deviation = (numpy.array(learned[key], numpy.float32) for key in ("mean", "deviation"))
        scaled = (raw - mean) / deviation
        self.write("scaled.csv", text_of(row | {"size": repr(float(x)), "weight": repr(float(y))}
                                         for row, (x, y) in zip(some, scaled)))
        known = self.train("known", "data.file=some.csv", "data.table=table.json", *NUMBERS)
        unscaled = json.loads(self.read("table.json"))
        unscaled["learned"] |= {"mean": [], "deviation": []}
        self.write("unscaled.json", json.dumps(unscaled))
        self.expect_equal(self.train("scaled", "data.file=scaled.csv", "data.standardize=false",
                                     "data.table=unscaled.json", *NUMBERS), known)
        model = self.result_of("inspect", "known/model.safetensors")
        self.assertEqual(model["classes"], ["cat", "dog", "emu"], "those of the table")
        told = self.troupe("train", self.job, *sets_of([
            "output.directory=warned", "data.file=scaled.csv", "data.table=unscaled.json", *NUMBERS])).stderr
        self.assertIn("data.standardize does not count", told)

    def test_holdings_are_read_by_the_table(self):
        self.table()
        (self.folder / "parts").mkdir()
        self.write("parts/one.csv", text_of(things(40, 2, ["Rome"], ["dog"])))
        held = self.train("held", 'data.file=""', "data.holdings=parts/*.csv", "data.table=table.json")
        self.expect_equal(self.train("file", "data.file=parts/one.csv", "data.table=table.json"), held)
        self.write("parts/two.csv", text_of(things(30, 3, ["Oslo"], ["cat"]), COLUMNS[::-1]))
        self.train("both", 'data.file=""', "data.holdings=parts/*.csv", "data.table=table.json")
        learned = json.loads(self.read("table.json"))["learned"]
        self.table('data.file=""', "data.holdings=parts/*.csv", "data.table=table.json", name="again.json")
        self.assertEqual(json.loads(self.read("again.json"))["learned"], learned)

    def test_a_run_judges_its_rows_as_in_training(self):
        first = self.train("first")
        self.table()
        for keys in (["data.table=table.json"], ["model.start_from=first/model.safetensors"]):
            run = self.train("again", *keys, more=["--overwrite"])
            self.assertAlmostEqual(self.result_of("evaluate", "again")["loss"], run["test_loss"], 6)
        self.assertNotEqual(run["test_loss"], first["test_loss"])

    def test_regressions_keep_the_scale_of_targets(self):
        keys = ['data.target="weight"', 'data.ignore=["kind"]', 'model.loss="squared"']
        plain = self.train("plain", *keys)
        self.table(*keys)
        self.assertEqual(json.loads(self.read("table.json"))["learned"]["target_scale"], "standardize")
        self.expect_equal(self.train("known", *keys, "data.table=table.json"), plain)
        told = self.troupe("train", self.job, *sets_of(
            ["output.directory=warned", *keys, "data.table=table.json", 'data.target_scale="none"'])).stderr
        self.assertIn("data.target_scale does not count", told)

    def test_what_does_not_fit_is_refused(self):
        self.table()
        self.assertIn("there is a file already", self.table(code=73).stderr)
        self.table(more=["--overwrite"])
        for rows, names, wanted in (
                (self.rows, ["size", "city", "kind"], "no column 'weight'"),
                ([row | {"kind": "fox"} for row in self.rows], COLUMNS, "the class 'fox' is none of those of the table"),
                ([row | {"sort": row["kind"]} for row in self.rows], ["size", "city", "weight", "sort"],
                 "the target is 'sort', that of the table 'table.json' is 'kind'")):
            self.write("other.csv", text_of(rows, names))
            keys = ['data.target="sort"'] if "sort" in names else []
            error = self.refused(65, "data.file=other.csv", "data.table=table.json", *keys)
            self.assertIn(wanted, error["what"])
        for text, wanted in (("{}", "no table of rows"), ("[", ""), ("", ""),
                             (self.read("table.json").replace('"deviation":[', '"deviation":[0,'), "other columns"),
                             (self.read("table.json")[:-9], "no JSON object")):
            self.write("bad.json", text)
            self.assertIn(wanted, self.refused(65, "data.table=bad.json")["what"])
        self.refused(66, "data.table=none.json")
        self.write("numbers.csv", text_of(row | {"kind": str(i % 2)} for i, row in enumerate(self.rows)))
        self.troupe("data", "convert", "numbers.csv", "-o", "numbers.safetensors", "--targets", "numbers",
                    "--target", "kind", "--ignore", "city", "--ignore", "size")
        self.table(*NUMBERS, 'data.ignore=["city", "size"]', name="one.json")
        error = self.refused(65, "data.file=numbers.safetensors", "data.table=one.json", "data.missing=error",
                             "data.categorical=[]", "model.loss=squared")
        self.assertIn("has classes to learn, these rows have numbers", error["what"])
        self.train("first")
        error = self.refused(78, "data.table=table.json", "model.start_from=first/model.safetensors")
        self.assertIn("data.table", error["where"])


if __name__ == "__main__":
    main()
