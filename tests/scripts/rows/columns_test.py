"""Categories, gaps, dates and other cells that are no numbers, against NumPy: the features, what fills gaps, and the
best line, worked out here from the same CSV files by other means.

    /usr/bin/python3 tests/scripts/rows/columns_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import datetime
import json
import random
import sys
import unittest

try:
    import numpy
except ImportError:
    numpy = None

sys.path.insert(0, f"{sys.path[0]}/..")
from cluster_run import cluster_text, nodes_on_loopback
from command import SOURCE, CommandTest, header_and_values, main

sys.path.insert(0, str(SOURCE / "tests" / "reference"))
HEADER = ["city", "age", "member", "since", "note", "price"]
COLUMNS = {"categorical": ["city"], "boolean": ["member"], "date": ["since"], "ignore": ["note"],
           "missing": "mean", "missing_cells": ["NA"], "missing_indicator": True}
LINE = {"model": {"kind": "linear-regression", "bias": False}, "optimizer": {"kind": "closed-form"}}
FEATURES = ["city=Bergen", "city=Oslo", "city=Ålesund", "city is missing", "age", "age is missing", "member", "since days",
            "since month", "since weekday"]


def some_houses(count, seed, cities=("Oslo", "Bergen", "Ålesund", "")):
    chance = random.Random(seed)
    for number in range(count):
        city, age = chance.choice(cities), chance.randint(0, 90)
        member, day = chance.random() < 0.4, datetime.date(2019, 12, 1) + datetime.timedelta(chance.randint(0, 900))
        price = {"Oslo": 90, "Bergen": 60, "": 10}.get(city, 30) - age / 3 + 20 * member + day.month + chance.gauss(0, 2)
        yield {"city": city, "age": "NA" if chance.random() < 0.2 else str(age), "member": "yes" if member else "No",
               "since": day.isoformat(), "note": f"n{number}", "price": f"{price:.3f}"}


def features_of(rows, fill_age):
    """As the documents say, column by column."""
    result = []
    for row in rows:
        day = datetime.date.fromisoformat(row["since"])
        known = row["age"] != "NA"
        result.append([float(row["city"] == name) for name in ("Bergen", "Oslo", "Ålesund", "")] +
                      [float(row["age"]) if known else fill_age, float(not known), float(row["member"] == "yes"),
                       (day - datetime.date(2000, 1, 1)).days, day.month, (day.weekday() + 1)])
    return numpy.array(result)


def text_of(rows, columns=HEADER, separator=","):
    return "\n".join([separator.join(columns)] + [separator.join(row[name] for name in columns) for row in rows]) + "\n"


def job_text(file, data=None, **sections):
    sections = {"data": {"file": file, "target": "price", **(data or {})}, **(sections or LINE)}
    return "".join(f"[{name}]\n" + "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in keys.items())
                   for name, keys in sections.items())


class Columns(CommandTest):
    def setUp(self):
        super().setUp()
        self.houses, self.others = list(some_houses(300, 1)), list(some_houses(80, 2))
        self.write("houses.csv", text_of(self.houses))
        self.write("others.csv", text_of(self.others))

    def train(self, name, data=None, code=0, file="houses.csv", **sections):
        self.write(name + ".toml", job_text(file, data, **sections))
        result = super().train(name + ".toml", f"output.directory={name}", code=code)
        return result["error"] if code else result

    def predicted(self, name, file, *arguments):
        run = self.troupe("predict", f"{name}/model.safetensors", file, *arguments)
        return run.stdout.split()[1:], run.stderr

    def metadata(self, name):
        return header_and_values(self.folder / name / "model.safetensors")[0]["__metadata__"]

    @unittest.skipUnless(numpy, "needs NumPy: apt-get install python3-numpy")
    def test_features_gaps_and_the_best_line_are_those_of_numpy(self):
        import model_file
        for standardize in (False, True):
            name = f"line{standardize}"
            result = self.train(name, {**COLUMNS, "standardize": standardize, "test_file": "others.csv"})
            tensors, metadata = model_file.load(str(self.folder / name / "model.safetensors"))
            self.assertEqual(metadata["format"], "troupe-model-3")
            self.assertEqual(json.loads(metadata["features"]), FEATURES)
            ages = [float(row["age"]) for row in self.houses if row["age"] != "NA"]
            fill = model_file.floats(metadata["feature_fill"])
            self.assertEqual(fill[4], numpy.float32(sum(ages) / len(ages)))
            rows, others = features_of(self.houses, fill[4]), features_of(self.others, fill[4])
            self.assertTrue((model_file.read_cells(str(self.folder / "houses.csv"), metadata)
                             == rows.astype(numpy.float32)).all())
            if standardize:
                mean, deviation = rows.mean(axis=0), rows.std(axis=0)
                mean[[0, 1, 2, 3, 5]], deviation[[0, 1, 2, 3, 5]] = 0, 1
                numpy.testing.assert_allclose(model_file.floats(metadata["feature_mean"]), mean, rtol=1e-6)
                numpy.testing.assert_allclose(model_file.floats(metadata["feature_deviation"]), deviation, rtol=1e-5)
                rows, others = (rows - mean) / deviation, (others - mean) / deviation
            price = numpy.array([float(row["price"]) for row in self.houses])
            line = numpy.linalg.lstsq(rows, price, rcond=None)[0]
            predicted = numpy.array(self.predicted(name, "others.csv")[0], float)
            numpy.testing.assert_allclose(predicted, others @ line, atol=0.02)
            self.assertLess(abs(predicted - [float(row["price"]) for row in self.others]).mean(), 3)
            own = model_file.predict(tensors, metadata, model_file.read_cells(str(self.folder / "others.csv"), metadata))
            numpy.testing.assert_allclose(own[:, 0], predicted, atol=0.01)
            judged = self.result_of("evaluate", name, "others.csv")
            self.assertAlmostEqual(judged["loss"], result["test_loss"], delta=1e-6 * result["test_loss"])

    def test_the_mean_is_that_of_the_training_rows_and_the_model_that_of_a_filled_file(self):
        data = {"ignore": ["note", "since"], "categorical": ["city"], "boolean": ["member"], "missing": "mean",
                "missing_cells": ["NA"], "test_fraction": 0.3, "validation_fraction": 0.2}
        run = self.train("run", data, model={"kind": "linear-regression"}, training={"epochs": 3},
                         optimizer={"learning_rate": 1e-4})
        metadata = self.metadata("run")
        bits = metadata["feature_fill"].split()[json.loads(metadata["features"]).index("age")]
        ages = [float(row["age"]) for row in self.houses if row["age"] != "NA"]
        fill = __import__("struct").unpack(">f", bytes.fromhex(bits))[0]
        self.assertNotAlmostEqual(fill, sum(ages) / len(ages), places=4)
        # Columns of numbers that say the same, made here.
        names = json.loads(metadata["features"])
        filled = [[str(float(name == "city=" + row["city"] or (name == "city is missing" and not row["city"])))
                   if name.startswith("city") else
                   (repr(fill) if row["age"] == "NA" else row["age"]) if name == "age" else str(int(row["member"] == "yes"))
                   for name in names] + [row["price"]] for row in self.houses]
        self.write("filled.csv", "\n".join(",".join(row) for row in [names + ["price"]] + filled) + "\n")
        plain = self.train("plain", {"test_fraction": 0.3, "validation_fraction": 0.2}, file="filled.csv",
                           model={"kind": "linear-regression"}, training={"epochs": 3},
                           optimizer={"learning_rate": 1e-4})
        for key in ("parameters_sha256", "train_loss", "test_loss", "validation_loss"):
            self.assertEqual(run[key], plain[key], key)
        self.assertNotEqual(run["job_sha256"], plain["job_sha256"])
        self.assertEqual(self.predicted("run", "others.csv")[0][:3], self.predicted("run", "others.csv")[0][:3])

    def test_columns_are_found_by_name_and_surplus_ones_named(self):
        self.train("run", COLUMNS)
        expected = self.predicted("run", "others.csv")[0]
        for seed in range(3):
            order = random.Random(seed).sample(HEADER, len(HEADER))
            self.write("moved.csv", text_of(self.others, order))
            found, said = self.predicted("run", "moved.csv")
            self.assertEqual(found, expected)
            self.assertIn("'note' ignored", said)
        self.write("less.csv", text_of(self.others, [name for name in HEADER if name != "city"]))
        self.assertIn("missing 'city'", self.troupe("predict", "run/model.safetensors", "less.csv", code=65).stderr)
        bare = [name for name in HEADER if name != "note"]
        self.write("bare.csv", "\n".join(text_of(self.others, bare).split("\n")[1:]))
        found, said = self.predicted("run", "bare.csv", "--header", "no")
        self.assertEqual(found, expected)
        self.assertIn("features by position", said)
        self.troupe("data", "convert", "bare.csv", "-o", "rows.safetensors", "--quiet", "--header", "no", "--ignore",
                    "0", "--ignore", "1", "--ignore", "2", "--ignore", "3", "--target", "4", code=65)

    def test_an_unseen_category_is_none_of_those_seen_and_told_once(self):
        self.train("run", COLUMNS)
        self.write("new.csv", text_of(list(some_houses(50, 3, ("Paris", "Oslo", "Rome")))))
        found, said = self.predicted("run", "new.csv")
        self.assertEqual(len(found), 50)
        self.assertEqual(said.count("warning"), 1)
        for part in ("cells are categories that training has not seen", "'city' has 'Paris', 'Rome'"):
            self.assertIn(part, said.replace("'Rome', 'Paris'", "'Paris', 'Rome'"))

    def test_rows_with_gaps_are_dropped_and_counted(self):
        data = {**COLUMNS, "missing": "drop"}
        del data["missing_indicator"]
        run = self.train("run", data)
        whole = [row for row in self.houses if row["city"] and row["age"] != "NA"]
        self.write("whole.csv", text_of(whole))
        plain = self.train("plain", {**data, "missing": "error", "missing_cells": [""]}, file="whole.csv")
        self.assertEqual(run["parameters_sha256"], plain["parameters_sha256"])
        shown = self.troupe("train", "run.toml", "--overwrite", "--set", "output.directory=run").stderr
        self.assertIn(f"{300 - len(whole)} rows without a value", shown)
        error = self.troupe("predict", "run/model.safetensors", "others.csv", code=65).stderr
        self.assertIn("value is missing", error)
        judged = self.troupe("evaluate", "run", "others.csv", "--json")
        self.assertEqual(json.loads(judged.stdout)["rows"], sum(bool(row["city"]) and row["age"] != "NA" for row in self.others))
        self.assertIn("rows without a value", judged.stderr)

    def test_the_same_job_has_the_same_bits_in_lanes_clients_and_again(self):
        lanes = {**COLUMNS, "shuffle": "lanes", "chunk_rows": 16, "standardize": True, "test_fraction": 0.2}
        sections = {"model": {"hidden": [4]}, "training": {"epochs": 3, "replicas": 2}, "optimizer": {"kind": "adam"}}
        first, second = (self.train(name, lanes, **sections) for name in ("one", "two"))
        self.assertEqual(first["parameters_sha256"], second["parameters_sha256"])
        judged = self.result_of("evaluate", "one")
        self.assertAlmostEqual(judged["loss"], first["test_loss"], delta=1e-5 * first["test_loss"])

    def test_nodes_of_a_cluster_have_the_bits_of_one_process(self):
        sections = {"model": {"hidden": [4]}, "training": {"epochs": 3, "slices": 2}, "optimizer": {"kind": "adam"}}
        alone = self.train("alone", {**COLUMNS, "standardize": True, "test_fraction": 0.2}, **sections)
        self.write("cluster.toml", cluster_text(nodes_on_loopback([(1, 1), (1, 1)]), job="alone.toml"))
        run = self.result_of("launch", "cluster.toml", "--quiet", "--set", "output.directory=two")
        for key in ("parameters_sha256", "job_sha256", "train_loss", "test_loss"):
            self.assertEqual(run[key], alone[key], key)
        self.assertEqual((self.folder / "two" / "model.safetensors").read_bytes(),
                         (self.folder / "alone" / "model.safetensors").read_bytes())

    def test_other_separators_are_read_and_kept_in_the_model(self):
        plain = self.train("plain", COLUMNS)
        german = [{key: value.replace(".", ",") for key, value in row.items()} for row in self.houses]
        self.write("german.csv", "# from a spreadsheet\n" + text_of(german, separator=";"))
        run = self.train("german", {**COLUMNS, "separator": ";", "decimal": ",", "comment": "#"}, file="german.csv")
        self.assertEqual(run["parameters_sha256"], plain["parameters_sha256"])
        self.assertEqual(run["job_sha256"], plain["job_sha256"])
        self.assertEqual(self.predicted("german", "german.csv")[0], self.predicted("plain", "houses.csv")[0])

    def test_what_is_not_supported_is_refused_by_name(self):
        for data, code, parts in [
                ({**COLUMNS, "categories_max": 2}, 65, ["data.categories_max", "data.ignore"]),
                ({"ignore": ["note"]}, 65, ["data.categorical = [\\\"city\\\"]"]),
                ({"ignore": ["note", "city", "member", "since"]}, 65, ["data.missing_cells"]),
                ({"missing_cells": ["NA"]}, 78, ["data.missing_cells", "data.missing"]),
                ({"missing_indicator": True}, 78, ["data.missing_indicator"]),
                ({"categorical": ["city"], "boolean": ["city"]}, 78, ["named in data.categorical too"]),
                ({"date_order": "day-first"}, 78, ["data.date_order", "no column is one"]),
                ({"categorical": ["price"]}, 65, ["no feature", "take it out of data.categorical"]),
                ({"categorical": ["city"], "format": "libsvm"}, 78, ["data.categorical", "CSV"]),
                ({"separator": ""}, 78, ["data.separator"]), ({"separator": ";;"}, 78, ["data.separator"]),
                ({"decimal": ";"}, 78, ["data.decimal"]), ({"decimal": ","}, 78, ["data.separator", "data.decimal"])]:
            error = json.dumps(self.train("bad", data, code=code), ensure_ascii=False)
            for part in parts:
                self.assertIn(part, error, data)
        self.write("numbers.csv", "a,price\n1,2\n3,4\n5,6\n")
        self.troupe("data", "convert", "numbers.csv", "-o", "rows.safetensors", "--quiet", "--targets", "numbers")
        for shuffle in ("rows", "lanes"):
            error = self.train("bad", {"categorical": ["a"], "shuffle": shuffle}, code=78, file="rows.safetensors")
            self.assertIn("file of rows", json.dumps(error))
        private = {"training": {"strategy": "federated"}, "model": {"kind": "linear-regression"},
                   "merge": {"weighting": "equal"},
                   "privacy": {"clip_norm": 1.0, "epsilon": 2.0, "delta": 1e-5}}
        for data in ({"categorical": ["city"]}, {"amount": ["age"]}, {"missing": "mean"}):
            self.assertIn("data." + next(iter(data)), json.dumps(self.train("bad", data, code=78, **private)))
        self.write("bad.toml", job_text("x", {"categorical": ["city"]}).replace('file = "x"\n', "") +
                   '[training]\nstrategy = "federated"\n[federated]\npartition = { files = "h*.csv" }\n')
        self.assertIn("data.categorical", self.troupe("train", "bad.toml", "--quiet", code=78).stderr)

    def test_a_model_file_with_another_plan_is_refused(self):
        self.train("run", COLUMNS)
        path = self.folder / "run" / "model.safetensors"
        content = path.read_bytes()
        for old, new in [(b"Bergen", b"Berlin"), (b"category", b"categoty"), (b"missing_cells", b"missing_cellz"),
                         (b'\\"marks_missing\\":true', b'\\"marks_missing\\":null'), (b"troupe-model-3", b"troupe-model-6")]:
            self.assertIn(old, content, old)
            path.write_bytes(content.replace(old, new, 1))
            run = self.troupe("predict", path, "others.csv", code=65)
            if old != b"missing_cells":  # none are listed then: cells that say NA are no numbers
                self.assertIn("metadata", run.stderr, old)

    def test_init_proposes_how_to_read_what_it_finds(self):
        german = [{key: value.replace(".", ",") for key, value in row.items()} for row in self.houses]
        for name, text, more in [("plain.csv", text_of(self.houses), []),
                                 ("german.csv", text_of(german, separator=";"), ['separator = ";"', 'decimal = ","'])]:
            self.write(name, text)
            report = self.troupe("init", name, "-o", "job.toml", "--overwrite").stdout
            self.assertIn("reads   'since' as dates", report)
            job = self.read("job.toml")
            for line in ['categorical = ["city"]', 'boolean = ["member"]', 'date = ["since"]', 'missing = "mean"',
                         'missing_cells = ["NA"]', 'ignore = ["note"]', *more]:
                self.assertIn(line + "\n", job)
            self.assertRegex(job, r"# city: text of 3 values \(.*\), likely\.")
            self.assertRegex(job, r"# since: dates in all cells, for certain\.")
            run = super().train("job.toml", "output.directory=of_init", more=["--overwrite"])
            self.assertGreater(run["test_r2"], 0.9)
        self.write("codes.csv", "zip,y\n" + "".join(f"0{i % 3}15,{i % 3 + i / 100}\n" for i in range(60)))
        self.assertIn("as codes do", self.troupe("init", "codes.csv", "-o", "-").stdout)


if __name__ == "__main__":
    main()
