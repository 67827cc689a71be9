"""The linear models among the examples reach what their first lines promise.

    python3 tests/scripts/examples/linear_examples_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import array
import gzip
import json
import math
import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from command import SOURCE, CommandTest, header_and_values, main, rows_of_csv

EXAMPLES = SOURCE / "examples"


def notes():
    """Rows of the sparse example: (subject, {word: count}), words counted from 0."""
    with gzip.open(EXAMPLES / "data" / "notes.svm.gz", "rt", encoding="utf-8") as file:
        rows = [line.split() for line in file if not line.startswith("#")]
    return [(row[0], {int(word) - 1: float(count) for word, count in
                      (entry.split(":") for entry in row[1:])}) for row in rows]


def tensors_of(path):
    header, values = header_and_values(path)
    return {name: array.array("f", values[slice(*tensor["data_offsets"])])
            for name, tensor in header.items() if name != "__metadata__"}


def diabetes_variance():
    values = [float(row["progression"]) for row in rows_of_csv(EXAMPLES / "data" / "diabetes.csv")]
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / len(values)


class LinearExamples(CommandTest):
    def train(self, name, *settings, **how):
        return super().train(EXAMPLES / name, *settings, more=["--overwrite"], **how)

    def check_diabetes(self, *settings, name="diabetes.toml"):
        result = self.train(name, *settings)
        self.assertAlmostEqual(result["train_loss"] / 2859.6963, 1, delta=1e-4)
        r2 = 1 - result["train_loss"] / diabetes_variance()
        self.assertAlmostEqual(r2 / 0.517748, 1, delta=1e-4)
        self.assertIsNone(result["test_loss"])
        return result

    def test_diabetes_reaches_least_squares_by_gradient_descent(self):
        self.check_diabetes()

    def test_diabetes_reaches_least_squares_by_adam(self):
        self.check_diabetes("optimizer.kind=adam", "optimizer.momentum=0",
                            "optimizer.learning_rate=2")

    def test_diabetes_reaches_least_squares_by_lbfgs(self):
        self.check_diabetes("optimizer.kind=lbfgs", "optimizer.momentum=0",
                            "optimizer.learning_rate=1", "training.epochs=40")

    def test_diabetes_reaches_least_squares_by_adafactor(self):
        self.check_diabetes("optimizer.kind=adafactor", "optimizer.momentum=0",
                            "optimizer.learning_rate=0.1", "training.epochs=3000",
                            'optimizer.schedule={kind="exponential", steps=500}')

    def test_diabetes_reaches_least_squares_by_gauss_newton(self):
        result = self.check_diabetes("optimizer.kind=gauss-newton", name="least-squares.toml")
        self.assertEqual(result["steps"], 10)

    def test_diabetes_reaches_least_squares_in_closed_form(self):
        result = self.check_diabetes(name="least-squares.toml")
        self.assertEqual([result[key] for key in ("steps", "epochs", "replicas", "slices")],
                         [1, 1, 1, 1])
        self.assertEqual(result["samples"], 442)

    def test_the_closed_form_judges_rows_it_never_saw(self):
        result = self.train("least-squares.toml", "data.test_fraction=0.25")
        self.assertGreater(result["test_r2"], 0.3)
        self.assertIsNotNone(result["test_loss"])

    def test_the_closed_form_refuses_other_models(self):
        refused = self.train("least-squares.toml", "model.kind=neural-network", code=78)
        self.assertIn("model.kind", json.dumps(refused))

    def test_sparse_rows_reach_the_penalised_optimum(self):
        """The gradient there, worked out here in double, is 0."""
        result = self.train("sparse.toml", "data.test_fraction=0", "output.directory=run", "training.epochs=200")
        tensors = tensors_of(self.folder / "run" / "model.safetensors")
        weight, bias = tensors["layers.0.weight"], tensors["layers.0.bias"]
        rows, width, subjects = notes(), len(weight) // 3, ["music", "sport", "travel"]
        self.assertEqual(len(rows), result["samples"] // result["epochs"])
        gradient, bias_gradient, loss = [0.01 * x for x in weight], [0.0] * 3, 0.0
        for subject, words in rows:
            scores = [bias[k] + sum(count * weight[k * width + word] for word, count in words.items())
                      for k in range(3)]
            total = sum(math.exp(score) for score in scores)
            loss += math.log(total) - scores[subjects.index(subject)]
            for k in range(3):
                delta = (math.exp(scores[k]) / total - (subjects[k] == subject)) / len(rows)
                bias_gradient[k] += delta
                for word, count in words.items():
                    gradient[k * width + word] += delta * count
        self.assertLess(max(map(abs, gradient + bias_gradient)), 1e-4)
        self.assertAlmostEqual(result["train_loss"], loss / len(rows), delta=1e-5)

    def test_sparse_rows_are_judged_as_dense_ones(self):
        runs = [self.train("sparse.toml", *settings) for settings in
                ([], ["training.replicas=1"], ["training.replicas=3", "runtime.threads=3"])]
        self.assertGreaterEqual(runs[0]["test_accuracy"], 0.85)
        self.assertEqual(len({run["parameters_sha256"] for run in runs}), 1)
        sparse, dense = [self.train("sparse.toml", "data.hash_bits=10", "data.dense=" + word)
                         for word in ("false", "true")]
        self.assertGreaterEqual(sparse["test_accuracy"], 0.7)
        self.assertNotEqual(sparse["job_sha256"], dense["job_sha256"])
        self.assertAlmostEqual(sparse["test_loss"], dense["test_loss"], delta=1e-3)

    def test_iris_recognises_flowers_it_never_saw(self):
        for seed in range(3):
            result = self.train("iris.toml", f"job.seed={seed}")
            self.assertGreaterEqual(result["test_accuracy"], 0.93, seed)
            self.assertEqual(result["samples"], 100 * 60)


if __name__ == "__main__":
    main()
