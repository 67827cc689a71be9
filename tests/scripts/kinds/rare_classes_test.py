"""Rare classes: weights by name, thresholds that are kept in the model file, and what evaluate says of both.

    python3 tests/scripts/kinds/rare_classes_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import csv
import io
import random
import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from command import JobTest, main

JOB = """[data]
file = "rows.csv"
test_fraction = 0.25
validation_fraction = 0.25
standardize = true
[model]
kind = "logistic-regression"
[optimizer]
kind = "adam"
learning_rate = 0.05
[training]
batch_size = 64
slices = 4
epochs = 8
"""


def rows():
    """2,000 customers of whom 5 % leave, the likelier the greater x is."""
    chance = random.Random(5)
    lines = ["x,y,leaves"]
    for _ in range(2000):
        leaves = chance.random() < 0.05
        lines.append(f"{chance.gauss(1.5 if leaves else 0, 1):.6g},{chance.gauss(0, 1):.6g},{'Yes' if leaves else 'No'}")
    return "\n".join(lines) + "\n"


class RareClasses(JobTest):
    job_text = JOB

    def setUp(self):
        super().setUp()
        self.write("rows.csv", rows())

    def judged(self, run, part="test"):
        result = self.result_of("evaluate", run, "--rows", part)
        return result, {one["class"]: one for one in result["classes"]}

    def test_weights_by_name_are_those_in_the_order_of_classes(self):
        listed = self.train("listed", "training.class_weights=[1, 10]")
        named = self.train("named", "training.class_weights={ Yes = 10, No = 1 }")
        one = self.train("one", "training.class_weights={ Yes = 10 }")
        self.assertEqual(named["parameters_sha256"], listed["parameters_sha256"])
        self.assertEqual(named["job_sha256"], listed["job_sha256"])
        self.assertEqual(one["parameters_sha256"], listed["parameters_sha256"], "others count 1")
        self.assertNotEqual(self.train("plain")["parameters_sha256"], listed["parameters_sha256"])
        refused = self.train("refused", "training.class_weights={ Maybe = 10 }", code=78)["error"]
        self.assertIn("there is no class 'Maybe': 'No'", refused["what"])

    def test_the_threshold_finds_more_of_the_rare_class(self):
        plain = self.train("plain")
        chosen = self.train("f1", "training.threshold=f1")
        self.assertEqual(chosen["parameters_sha256"], plain["parameters_sha256"], "it is chosen afterwards")
        self.assertLess(chosen["threshold"], 0.5)
        recall = {}
        for run in ("plain", "f1"):
            recall[run] = self.judged(run)[1]["Yes"]["recall"]
        self.assertGreater(recall["f1"], recall["plain"] + 0.1)
        judged, _ = self.judged("f1")
        self.assertEqual((judged["threshold"], judged["threshold_class"]), (chosen["threshold"], "Yes"))

    def test_each_rule_is_best_on_the_validation_rows(self):
        figures = {}
        for name, rule in (("f1", "f1"), ("precision", "{ precision = 0.6 }"), ("cost", "{ cost = 8 }"), ("none", "none")):
            self.train(name, f"training.threshold={rule}")
            result, classes = self.judged(name, "validation")
            (no_no, alarms), (missed, right) = result["confusion_matrix"]
            del no_no
            figures[name] = {"f1": classes["Yes"]["f1"], "cost": -(8 * missed + alarms),
                             "precision": right if right >= 0.6 * (right + alarms) else -1}
        for rule in ("f1", "precision", "cost"):
            for other, values in figures.items():
                self.assertGreaterEqual(figures[rule][rule], values[rule], (rule, other))

    def test_predictions_go_by_it_and_bits_do_not_depend_on_replicas(self):
        summary = self.train("run", "training.threshold={ cost = 5 }", "training.replicas=1")
        again = self.train("again", "training.threshold={ cost = 5 }", "training.replicas=3")
        self.assertEqual(again["threshold"], summary["threshold"])
        told = self.troupe("predict", "run/model.safetensors", "rows.csv", "--probabilities").stdout
        for row in csv.DictReader(io.StringIO(told)):
            probability = float(row["p(Yes)"])
            self.assertEqual(row["leaves"], "Yes" if probability >= summary["threshold"] - 1e-9 else "No", row)
        other = self.train("other", "training.threshold=f1", "training.threshold_class=No")
        self.assertEqual(self.judged("other")[0]["threshold_class"], "No")
        self.assertGreater(other["threshold"], 0)

    def test_what_cannot_be_chosen_is_refused(self):
        for sets, why in [
                (["training.threshold=f1", "data.validation_fraction=0"], "no validation rows to choose it on"),
                (["training.threshold=f1", "training.threshold_class=Maybe"], "there is no class 'Maybe'"),
                (["training.threshold=f1", "model.kind=neural-network", "model.loss=hinge"], "is one of probabilities"),
                (["training.threshold=f1", "model.kind=linear-regression", "data.target=x", "data.ignore=leaves"],
                 "the targets are numbers"),
                (["training.threshold={ precision = 2 }"], "precision"),
                (["training.threshold=recall"], "got the string")]:
            refused = self.train("refused", *sets, code=78)["error"]
            self.assertIn(why, str(refused), sets)


if __name__ == "__main__":
    main()
