"""Weights of rows: a row of weight 2 is the row twice, models are those of NumPy, and bits do not depend on who computes.

    /usr/bin/python3 tests/scripts/rows/weights_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import json
import random
import unittest

from table_runs import TableRuns, csv_text
from cluster_run import cluster_text, nodes_on_loopback
from command import main

try:
    import numpy
except ImportError:
    numpy = None

LINE = {"model": {"kind": "linear-regression"}, "optimizer": {"kind": "closed-form"}}
SOFTMAX = {"model": {"kind": "softmax-regression", "initialization": "zero"}, "optimizer": {"learning_rate": 0.5},
           "training": {"batch_size": "all", "epochs": 12, "slices": 2, "class_weights": [0.5, 1, 2.5]}}
NETWORK = {"model": {"hidden": [6]}, "optimizer": {"kind": "adam"},
           "training": {"batch_size": 20, "epochs": 4, "slices": 2, "class_weights": [0.5, 1, 2.5]}}
CHAIN = {**SOFTMAX, "model": {"kind": "chain", "layers": "dense units=5 activation=tanh"}}
needs_numpy = unittest.skipUnless(numpy, "needs NumPy: apt-get install python3-numpy")


def some_rows(count, seed):
    chance = random.Random(seed)
    for _ in range(count):
        x = [round(chance.gauss(0, 1), 4) for _ in range(3)]
        price = round(3 * x[0] - 2 * x[1] + x[2] ** 2 + chance.gauss(0, 1), 4)
        yield {"a": x[0], "times": chance.randint(0, 3), "b": x[1], "c": x[2],
               "kind": "low" if price < -2 else "mid" if price < 2 else "top", "price": price}


def unfolded(rows):
    return [{**row, "times": 1} for row in rows for _ in range(row["times"])]


class Weights(TableRuns):
    def setUp(self):
        super().setUp()
        self.rows, self.others = list(some_rows(200, 1)), list(some_rows(90, 2))
        self.write("rows.csv", csv_text(self.rows))
        self.write("often.csv", csv_text(unfolded(self.rows)))
        self.write("others.csv", csv_text(self.others))

    def data(self, target, **more):
        ignored = {"kind", "price"} - {target}
        return {"file": "rows.csv", "target": target, "ignore": sorted(ignored), "weight": "times", **more}

    def numbers(self, rows, *names):
        return numpy.array([[float(row[name]) for name in names] for row in rows])

    @needs_numpy
    def test_the_best_line_is_the_weighted_one_of_numpy(self):
        self.train("line", data=self.data("price"), **LINE)
        root = numpy.sqrt(self.numbers(self.rows, "times"))
        rows = numpy.c_[self.numbers(self.rows, "a", "b", "c"), numpy.ones(len(self.rows))]
        line = numpy.linalg.lstsq(root * rows, (root * self.numbers(self.rows, "price"))[:, 0], rcond=None)[0]
        tensors, _ = self.tensors_and_metadata("line")
        found = numpy.concatenate([numpy.ravel(tensors[name]) for name in sorted(tensors, reverse=True)])
        numpy.testing.assert_allclose(sorted(found), sorted(line), atol=2e-6)
        for kind in ({"kind": "gauss-newton", "damping": 0.0}, {"kind": "lbfgs"}):
            self.train("other", data=self.data("price"), model=LINE["model"], optimizer=kind,
                       training={"batch_size": "all", "epochs": 1 if kind["kind"] == "gauss-newton" else 60})
            other, _ = self.tensors_and_metadata("other")
            for name in tensors:
                numpy.testing.assert_allclose(other[name], tensors[name], atol=2e-4, err_msg=str(kind))

    def test_a_row_of_weight_two_is_the_row_twice(self):
        # The mean loss divides by the number of rows, so the rate makes up for more rows.
        for target, sections in (("kind", SOFTMAX), ("kind", CHAIN), ("price", {"model": {"kind": "linear-regression"}, "training": {
                "batch_size": "all", "epochs": 12}, "optimizer": {"learning_rate": 0.05}})):
            rate = sections["optimizer"]["learning_rate"]
            once = self.train("once", data=self.data(target), **sections)
            count = len(unfolded(self.rows))
            often = {**sections, "optimizer": {"learning_rate": rate * count / len(self.rows)}}
            twice = self.train("often", data=self.data(target, file="often.csv"), **often)
            unweighed = self.data(target, file="often.csv", ignore=sorted({"kind", "price", "times"} - {target}))
            del unweighed["weight"]
            plain = self.train("plain", data=unweighed, **often)
            room = 1e-5 * max(1, plain["train_loss"])
            self.assertAlmostEqual(once["train_loss"] * len(self.rows) / count, plain["train_loss"], delta=room)
            self.assertAlmostEqual(twice["train_loss"], plain["train_loss"], delta=room)
            if numpy:
                (a, _), (b, _) = self.tensors_and_metadata("once"), self.tensors_and_metadata("plain")
                for name in a:
                    numpy.testing.assert_allclose(a[name], b[name], atol=2e-5)

    def test_rows_that_count_nothing_are_not_a_whole_part(self):
        self.write("late.csv", "a,times,price\n" + "".join(f"{i % 7},{0 if i < 40 else 1},{i % 5}\n" for i in range(41)))
        for part, more in (("testing", {"file": "late.csv", "test_fraction": 0.05}),
                           ("validation", {"file": "late.csv", "validation_fraction": 0.05}),
                           ("training", {"file": "late.csv", "test_fraction": 0.95})):
            data = {"target": "price", "weight": "times", **more}
            error = self.train("bad", code=65, data=data, **LINE)
            self.assertIn(f"all rows for {part}", error["what"])
            self.assertIn("weight 0", error["what"])
            self.assertEqual(error["where"], "data.weight")

    @needs_numpy
    def test_gradients_are_those_of_numpy_with_classes_weighted_too(self):
        result = self.train("run", data=self.data("kind", test_file="others.csv"), **SOFTMAX)
        names = ["low", "mid", "top"]

        def loss_and_gradient(rows, parameters):
            x = numpy.c_[self.numbers(rows, "a", "b", "c"), numpy.ones(len(rows))]
            label = numpy.array([names.index(row["kind"]) for row in rows])
            weight = numpy.array([0.5, 1, 2.5])[label] * self.numbers(rows, "times")[:, 0]
            scores = x @ parameters.T
            scores -= scores.max(axis=1, keepdims=True)
            chance = numpy.exp(scores) / numpy.exp(scores).sum(axis=1, keepdims=True)
            loss = -(weight * numpy.log(chance[range(len(rows)), label])).mean()
            chance[range(len(rows)), label] -= 1
            return loss, (weight[:, None] * chance).T @ x / len(rows), (scores.argmax(axis=1) == label).mean()

        parameters = numpy.zeros((3, 4))
        for _ in range(12):
            parameters -= 0.5 * loss_and_gradient(self.rows, parameters)[1]
        tensors, _ = self.tensors_and_metadata("run")
        bias, weights = sorted((numpy.array(value) for value in tensors.values()), key=numpy.size)
        found = numpy.c_[weights.reshape(3, 3) if weights.shape == (3, 3) else weights, bias.ravel()]
        numpy.testing.assert_allclose(found, parameters, atol=2e-5)
        loss, _, accuracy = loss_and_gradient(self.others, parameters)
        self.assertAlmostEqual(result["test_loss"], loss, delta=1e-5)
        self.assertAlmostEqual(result["test_accuracy"], accuracy, delta=1e-9)  # a metric, and not weighted

    def test_bits_do_not_depend_on_who_computes(self):
        data = self.data("kind", test_fraction=0.2, validation_fraction=0.1, standardize=True)
        one, two = (self.train(f"of{n}", data=data, **{**NETWORK, "training": {**NETWORK["training"], "replicas": n}})
                    for n in (1, 2))
        self.write_job("both", data=data, **NETWORK)
        self.write("cluster.toml", cluster_text(nodes_on_loopback([(1, 1), (1, 1)]), job="both.toml"))
        run = self.troupe("launch", "cluster.toml", "--json", "--quiet", "--set", "output.directory=three")
        for other in (two, json.loads(run.stdout)):
            for key in ("parameters_sha256", "job_sha256", "train_loss", "test_loss", "validation_loss"):
                self.assertEqual(other[key], one[key], key)
        # Whoever judges the rows afterwards weighs them too.
        for part in ("test", "validation"):
            judged = self.evaluate("of1", "--rows", part)
            self.assertAlmostEqual(judged["loss"], one[part + "_loss"], delta=1e-6)
        whole = {**NETWORK, "model": {"hidden": [6], "cuts": 2, "cut": ["none", "outputs"]}}
        split = {**whole, "parallel": {"tensor": 2}}
        cut, shared = (self.train(f"cut{i}", data=data, **x) for i, x in enumerate((whole, split)))
        self.assertEqual(cut["parameters_sha256"], shared["parameters_sha256"])
        self.assertAlmostEqual(cut["test_loss"], shared["test_loss"], delta=1e-12)

    def test_lanes_have_weights_too(self):
        data = self.data("kind", shuffle="lanes", chunk_rows=16, window_rows=32, test_fraction=0.2)
        one, two = (self.train(f"of{n}", data=data, **{**NETWORK, "training": {**NETWORK["training"], "replicas": n}})
                    for n in (1, 2))
        self.assertEqual(one["parameters_sha256"], two["parameters_sha256"])
        plain = self.data("kind", shuffle="lanes", chunk_rows=16, window_rows=32, test_fraction=0.2)
        plain["ignore"] += [plain.pop("weight")]
        self.assertNotEqual(self.train("plain", data=plain, **NETWORK)["parameters_sha256"], one["parameters_sha256"])

    def test_the_job_is_another_one_with_the_key_alone(self):
        weighed = self.train("run", data=self.data("price"), **LINE)
        plain = self.data("price")
        plain["ignore"] += [plain.pop("weight")]
        ignored = self.train("plain", data=plain, **LINE)
        self.assertNotEqual(weighed["job_sha256"], ignored["job_sha256"])
        self.write("ones.csv", csv_text([{**row, "times": 1} for row in self.rows]))
        ones = self.train("ones", data=self.data("price", file="ones.csv"), **LINE)
        self.assertEqual(ones["parameters_sha256"], ignored["parameters_sha256"])
        # A model does not want the column, wherever it stands.
        expected = self.predicted("run", "others.csv")
        self.write("moved.csv", csv_text([{key: row[key] for key in ("c", "b", "a")} for row in self.others]))
        self.assertEqual(self.predicted("run", "moved.csv"), expected)

    def test_a_run_that_is_stopped_goes_on_with_weights(self):
        sections = {**NETWORK, "training": {**NETWORK["training"], "epochs": 6}, "checkpoint": {"every_steps": 5}}
        whole = self.train("whole", data=self.data("kind"), **sections)
        short = {**sections, "training": {**sections["training"], "steps": 23}}
        self.write_job("part", data=self.data("kind"), **short)
        self.troupe("train", "part.toml", "--quiet", "--set", "output.directory=part")
        self.write_job("part", data=self.data("kind"), **sections)
        run = self.troupe("train", "part.toml", "--quiet", "--json", "--resume", "--set", "output.directory=part")
        self.assertEqual(json.loads(run.stdout)["parameters_sha256"], whole["parameters_sha256"])

    def test_what_cannot_be_weighed_is_refused_by_name(self):
        for cells, line, part in (((-1, 2), 2, "finite number of 0 or more"), ((2, "many"), 3, "finite number of 0 or more"),
                                  ((2, ""), 3, "missing"), ((0, 0), 0, "all weights")):
            self.write("bad.csv", "a,times,price\n" + "".join(f"1,{cell},2\n" for cell in cells))
            error = self.train("bad", code=65, data={"file": "bad.csv", "target": "price", "weight": "times"}, **LINE)
            self.assertIn(part, error["what"])
            self.assertIn(f"bad.csv:{line}" if line else "bad.csv", error["where"])
        for code, part, sections in ((78, "data.weight", {"training": {"strategy": "federated"}}),
                                     (65, "'times'?", {"data": self.data("kind", weight="tims")}),
                                     (78, "data.weight", {"data": self.data("kind", weight="a", categorical=["a"])})):
            error = self.train("bad", code=code, **{"data": self.data("kind"), **sections})
            self.assertIn(part, json.dumps(error))
        self.troupe("data", "convert", "rows.csv", "-o", "rows.safetensors", "--quiet", "--ignore", "kind")
        for shuffle in ("rows", "lanes"):
            error = self.train("bad", code=78, data={"file": "rows.safetensors", "weight": "times", "shuffle": shuffle})
            self.assertIn("data.weight", json.dumps(error))


if __name__ == "__main__":
    main()
