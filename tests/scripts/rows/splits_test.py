"""Which rows are for what: files for validation, shares of classes, groups, folds, and a search over folds.

    python3 tests/scripts/rows/splits_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import json
import random
import statistics

from table_runs import TableRuns, csv_text
from command import main, rows_of_csv

QUICK = {"model": {"kind": "softmax-regression"}, "training": {"epochs": 3}, "optimizer": {"learning_rate": 0.1}}


def some_rows(count, seed):
    chance = random.Random(seed)
    for _ in range(count):
        who, x = chance.randrange(40), round(chance.gauss(0, 1), 4)
        yield {"who": f"p{who}", "x": x, "z": round(chance.gauss(0, 1), 4),
               "kind": "rare" if chance.random() < 0.06 else "up" if x + chance.gauss(0, 0.5) > 0.4 else "down"}


class Splits(TableRuns):
    def setUp(self):
        super().setUp()
        self.rows, self.others = list(some_rows(400, 1)), list(some_rows(100, 2))
        self.write("rows.csv", csv_text(self.rows))
        self.write("others.csv", csv_text(self.others))

    def data(self, **more):
        return {"file": "rows.csv", "target": "kind", **({} if "split_by" in more else {"ignore": ["who"]}), **more}

    def counts(self, name, part):
        return {one["class"]: one["rows"] for one in self.evaluate(name, "--rows", part)["classes"]}

    def split_line(self, name):
        said = self.troupe("train", name + ".toml", "--overwrite", "--set", f"output.directory={name}").stderr
        return next((line for line in said.split("\n") if line.startswith("split ")), "")

    def test_rows_for_validation_may_come_in_a_file(self):
        given = self.train("given", data=self.data(validation_file="others.csv", test_fraction=0.2), **QUICK)
        judged = self.evaluate("given", "others.csv")
        self.assertAlmostEqual(judged["loss"], given["validation_loss"], delta=1e-6)
        self.assertEqual(self.counts("given", "validation"),
                         {name: sum(row["kind"] == name for row in self.others) for name in ("down", "rare", "up")})
        said = self.troupe("train", "given.toml", "--overwrite", "--set", "output.directory=given").stderr
        self.assertIn("data      'rows.csv' and 'others.csv': 500 rows of 2 features; ", said)
        # The rows for testing are those without it, and the job is another one.
        alone = self.train("alone", data=self.data(test_fraction=0.2), training={**QUICK["training"], "keep_best": False},
                           **{key: QUICK[key] for key in ("model", "optimizer")})
        self.assertEqual(self.counts("alone", "test"), self.counts("given", "test"))
        tested = self.train("tested", data=self.data(test_file="others.csv"), **QUICK)
        both = self.train("both", data=self.data(test_file="others.csv", validation_file="others.csv"), **QUICK)
        valid = self.train("valid", data=self.data(validation_file="others.csv"), **QUICK)
        self.assertEqual(both["test_loss"], both["validation_loss"])
        self.assertEqual(len({x["job_sha256"] for x in (given, alone, tested, both, valid)}), 5)
        self.write_job("lanes", data=self.data(validation_file="others.csv", shuffle="lanes", chunk_rows=16), **QUICK)
        self.troupe("train", "lanes.toml", "--quiet")

    def test_whether_targets_are_classes_is_known_by_the_rows_to_train_on(self):
        numbers = [{"x": i + 0.01 * j, "kind": i} for i in range(8) for j in range(6)]
        self.write("numbers.csv", csv_text(numbers))
        self.write("each.csv", csv_text(numbers[::6]))  # whole numbers that do not repeat
        self.write("one.csv", csv_text(numbers[:3]))
        self.write("libsvm.svm", "".join(f"{row['kind']} 1:{row['x']}\n" for row in numbers))
        self.write("one.svm", "3 1:3.1\n")
        either = {"model": {"hidden": [4]}, "training": {"epochs": 3}, "optimizer": {"learning_rate": 1e-4}}
        for file, part in [("numbers.csv", "each.csv"), ("numbers.csv", "one.csv"), ("libsvm.svm", "one.svm")]:
            for key in ("test_file", "validation_file"):
                run = self.train("run", data={"file": file, key: part}, **either)
                judged = self.evaluate("run", part)
                self.assertAlmostEqual(run[key.replace("file", "loss")], judged["loss"], delta=1e-6)
        self.write("amounts.csv", csv_text([{"x": i, "kind": i / 2} for i in range(20)]))
        self.write("whole.csv", csv_text([{"x": i, "kind": i % 2} for i in range(20)]))  # amounts too
        self.train("run", data={"file": "amounts.csv", "test_file": "whole.csv"}, **either)

    def test_a_file_for_validation_that_does_not_fit_is_refused(self):
        self.write("wrong.csv", csv_text([{**row, "kind": "new"} for row in self.others]))
        error = self.train("bad", code=65, data=self.data(validation_file="wrong.csv"), **QUICK)
        self.assertIn("wrong.csv", error["where"])
        self.write("narrow.csv", csv_text([{"who": 1, "x": 2, "kind": "up"}, {"who": 1, "x": 2, "kind": "down"}]))
        error = self.train("bad", code=65, data=self.data(validation_file="narrow.csv"), **QUICK)
        self.assertIn("1 features to validate on, 2 to train on", error["what"])
        error = self.train("bad", code=66, data=self.data(validation_file="absent.csv"), **QUICK)
        self.assertIn("data.validation_file", json.dumps(error))

    def test_classes_keep_their_shares(self):
        data = self.data(stratify=True, test_fraction=0.25, validation_fraction=0.1)
        self.train("run", data=data, **QUICK)
        everywhere = {name: sum(row["kind"] == name for row in self.rows) for name in ("down", "rare", "up")}
        for part, share, total in (("test", 0.25, 100), ("validation", 0.1, 40)):
            found = self.counts("run", part)
            self.assertEqual(sum(found.values()), total)
            for name, count in found.items():
                self.assertLess(abs(count - share * everywhere[name]), 1, (part, name))
        self.assertIn("by class", self.split_line("run"))
        numbers = {"model": {"kind": "linear-regression"}}
        error = self.train("bad", code=78, data={"file": "rows.csv", "target": "z", "ignore": ["who", "kind"],
                                                 "stratify": True, "test_fraction": 0.2}, **numbers)
        self.assertIn("data.stratify", json.dumps(error))

    def test_groups_are_in_one_part(self):
        # A feature that tells the group apart from others: each group's rows are one point, and its mean target too.
        groups = [{"who": f"p{i % 25}", "x": i % 25, "y": i % 25} for i in range(300)]
        self.write("groups.csv", csv_text(groups))
        line = {"model": {"kind": "linear-regression"}, "optimizer": {"kind": "closed-form", "l2": 1e-9}}
        data = {"file": "groups.csv", "target": "y", "split_by": "who", "test_fraction": 0.3, "validation_fraction": 0.2}
        run = self.train("run", data=data, **line)
        metadata = self.tensors_and_metadata("run")[1]
        self.assertEqual(json.loads(metadata["features"]), ["x"])
        rows = {part: self.evaluate("run", "--rows", part)["rows"] for part in ("train", "validation", "test")}
        self.assertEqual(sum(rows.values()), 300)
        for part, count in rows.items():
            self.assertEqual(count % 12, 0, part)  # whole groups of twelve rows
        self.assertEqual(rows["test"], 84)  # seven: eight would be more than 90
        self.assertEqual(rows["validation"], 60)
        self.assertIn("7 of 25 groups for testing, 0.28 of the rows; 5 of 25 groups for validation, 0.2 of the rows",
                      self.split_line("run"))
        other = self.train("other", data={**data, "split_by": "0"}, **line)  # the same by its index
        self.assertEqual(other["parameters_sha256"], run["parameters_sha256"])
        error = self.train("bad", code=78, data={**data, "test_fraction": 0.01}, **line)
        self.assertIn("at most 3", error["what"])

    def test_folds_take_turns(self):
        seen = {"down": 0, "rare": 0, "up": 0}
        for fold in range(4):
            self.train(f"fold{fold}", data=self.data(stratify=True, test_fraction=0.2, folds=4, fold=fold), **QUICK)
            for name, count in self.counts(f"fold{fold}", "validation").items():
                seen[name] += count
        tested = self.counts("fold0", "test")
        self.assertEqual(tested, self.counts("fold3", "test"))
        for name, count in seen.items():
            self.assertEqual(count + tested[name], sum(row["kind"] == name for row in self.rows))
        self.assertIn("fold 1 of 4", self.split_line("fold1"))

    def sweep(self, *words, code=0):
        self.write_job("job", data=self.data(stratify=True, test_fraction=0.2), **QUICK)
        return self.troupe("sweep", "job.toml", "-o", "all", *words, code=code)

    def test_a_search_over_folds_tells_mean_and_deviation(self):
        words = ["--folds", "3", "--grid", "optimizer.learning_rate=0.5,1e-6,0.05"]
        result = json.loads(self.sweep("--json", *words).stdout)
        self.assertEqual(len(result["trials"]), 9)
        losses = [setting["loss"] for setting in result["settings"]]
        self.assertEqual(losses, sorted(losses))
        self.assertEqual(result["best"], result["settings"][0]["setting"])
        for setting in result["settings"]:
            rate, folds = setting["values"]["optimizer.learning_rate"], []
            for fold in range(3):
                run = self.train("one", data=self.data(stratify=True, test_fraction=0.2, folds=3, fold=fold),
                                 **{**QUICK, "optimizer": {"learning_rate": float(rate)}})
                trial = next(x for x in result["trials"] if x["values"] == {
                    "optimizer.learning_rate": rate, "data.fold": str(fold)})
                self.assertEqual(trial["parameters_sha256"], run["parameters_sha256"])
                folds.append(trial)
            for figure in ("loss", "validation_accuracy", "test_accuracy"):
                values = [trial[figure] for trial in folds]
                self.assertAlmostEqual(setting[figure], statistics.mean(values), delta=1e-12)
                self.assertAlmostEqual(setting[figure + "_deviation"], statistics.stdev(values), delta=1e-12)
            self.assertEqual(setting["folds"], 3)
        self.assertEqual([float(row["loss"]) for row in rows_of_csv(self.folder / "all" / "folds.csv")], losses)
        again = self.sweep(*words, "--resume").stdout.split("\n")
        self.assertEqual(again[0].split()[:5], ["setting", "optimizer.learning_rate", "folds", "loss", "loss_deviation"])
        self.assertEqual(len(again), 5)
        best = self.troupe("train", "all/best.toml", "--json", "--quiet", "--set", "output.directory=best")
        self.assertIsNone(json.loads(best.stdout).get("validation_loss"))  # on all rows that are not for testing

    def test_a_setting_without_all_its_folds_is_last(self):
        result = json.loads(self.sweep("--json", "--folds", "2", "--grid", "optimizer.learning_rate=3.4e38,0.1").stdout)
        self.assertEqual([x["setting"] for x in result["settings"]], [2, 1])
        self.assertIsNone(result["settings"][1]["loss"])
        alone = json.loads(self.sweep("--json", "--folds", "2", "--overwrite").stdout)
        self.assertEqual([x["folds"] for x in alone["settings"]], [2])

    def test_a_job_that_splits_nothing_but_folds_has_a_best_one_too(self):
        for name, keys in (("classes", {"stratify": True}), ("groups", {"split_by": "who"})):
            self.write_job(name, data=self.data(**keys), **QUICK)
            self.troupe("sweep", name + ".toml", "-o", name, "--folds", "3", "--quiet")
            best = self.troupe("train", f"{name}/best.toml", "--json", "--quiet", "--set", f"output.directory={name}/best")
            self.assertIsNone(json.loads(best.stdout).get("test_loss"))
            self.assertEqual(json.loads(self.tensors_and_metadata(f"{name}/best")[1]["features"]), ["x", "z"])

    def test_folds_take_the_place_of_the_rows_that_the_job_keeps_for_validation(self):
        for name, fraction in (("job", {}), ("other", {"validation_fraction": 0.2})):
            self.write_job(name, data=self.data(**fraction), **QUICK)
            self.troupe("sweep", f"{name}.toml", "-o", name, "--folds", "3", "--grid", "job.seed=1,2", "--json")
        self.assertEqual(self.read("job", "folds.csv"), self.read("other", "folds.csv"))
        best = self.result_of("train", "other/best.toml", "--set", "output.directory=best")
        self.assertIsNotNone(best["validation_loss"], "its own rows again")

    def test_folds_that_cannot_be_are_told_before_training(self):
        for words, code, part in ((["--folds", "1"], 2, "--folds"), (["--folds", "3", "--halve", "3"], 2, "--halve"),
                                  (["--folds", "3", "--grid", "data.fold=0,1"], 2, "names data.fold"),
                                  (["--folds", "3", "--set", "data.validation_fraction=0.1"], 78, "the fold is for validation")):
            self.assertIn(part, self.sweep(*words, code=code).stderr)
            self.assertFalse((self.folder / "all").exists())


if __name__ == "__main__":
    main()
