"""Rows in several files, each a holding: the model follows from the rows alone, whoever computes on them and whatever their
files are called, and each refusal names its file.

    /usr/bin/python3 tests/scripts/rows/holdings_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import os
import random
import signal
import sys
import unittest

sys.path.insert(0, f"{sys.path[0]}/..")
from command import TROUPE, JobTest, main, rows_of_csv, sets_of
from patience import HANG, wait_until
from thing_rows import COLUMNS, JOB_OF_THINGS, text_of, things

JOB = """[job]
seed = 5
[data]
holdings = "parts/*.csv"
""" + JOB_OF_THINGS + """kind = "adam"
learning_rate = 0.01
[training]
batch_size = 48
epochs = 4
metrics = ["auc", "macro-f1"]
"""
CLUSTER = """job = "job.toml"
[output]
directory = "cluster"
""" + "".join(f"""[[node]]
name = "{name}"
address = "127.0.0.1:0"
replicas = {replicas}
{more}""" for name, replicas, more in (("a", 1, "director = true\n"), ("b", 2, ""), ("c", 1, "")))
FIGURES = ("parameters_sha256", "job_sha256", "train_loss", "test_loss", "validation_loss", "steps")


class Holdings(JobTest):
    job_text = JOB
    figures = FIGURES

    def setUp(self):
        super().setUp()
        (self.folder / "parts").mkdir()

    def part(self, name, rows, names=None):
        return self.write(f"parts/{name}", text_of(rows, names or COLUMNS))

    def usual_parts(self):
        """Of very different sizes; two lack a class and a city, one has its columns in another order."""
        self.part("north.csv", things(2000, 1))
        self.part("south.csv", things(230, 2, ["Rome"], ["cat", "dog"]), ["kind", "weight", "city", "size"])
        self.part("tiny.csv", things(6, 3, ["Oslo"], ["emu"]))

    def test_the_model_depends_on_the_rows_alone(self):
        self.usual_parts()
        first = self.train("first")
        self.assertGreater(first["test_accuracy"], 0.7)
        for replicas, threads in ((1, 1), (2, 2), (3, 1), (5, 2)):
            keys = f"training.replicas={replicas}", f"runtime.threads={threads}"
            self.expect_equal(self.train(f"run{replicas}", *keys), first)
        for name, new in (("north", "z"), ("tiny", "a"), ("south", "m")):
            os.rename(self.folder / "parts" / f"{name}.csv", self.folder / "parts" / f"{new}.csv")
        self.expect_equal(self.train("renamed"), first)
        self.write("cluster.toml", CLUSTER)
        self.expect_equal(self.result_of("launch", "cluster.toml", "--quiet"), first)
        rows = [[{key: cell for key, cell in row.items() if key != "seconds"}
                 for row in rows_of_csv(self.folder / name / "history.csv")] for name in ("first", "cluster")]
        self.assertEqual(*rows)
        self.expect_equal(self.train("other", "training.slices=9"), self.train("others", "training.slices=9",
                                                                               "training.replicas=4"))
        for change in ("training.slices=9", "job.seed=6"):
            self.assertNotEqual(self.train("changed", change, more=["--overwrite"])["parameters_sha256"],
                                first["parameters_sha256"])

    def test_a_killed_run_goes_on_to_the_same_bits(self):
        self.usual_parts()
        first = self.train("first", "training.epochs=300")
        run = self.start(TROUPE, "train", self.job, "--quiet", *sets_of(
            ["output.directory=killed", "training.epochs=300", "checkpoint.every_steps=20"]))
        with run:
            checkpoints = self.folder / "killed" / "checkpoints"
            wait_until(lambda: run.poll() is not None or (checkpoints.exists() and any(checkpoints.iterdir())))
            run.send_signal(signal.SIGKILL)
            run.communicate(timeout=HANG)
        self.expect_equal(self.train("killed", "training.epochs=300", "checkpoint.every_steps=20", more=["--resume"]), first)

    def test_one_file_and_copies_of_it_are_that_file(self):
        one = self.part("one.csv", things(300, 4))
        held = self.train("held")
        self.expect_equal(held, self.train("file", f'data.file="{one}"', "data.holdings=\"\""))
        self.part("copy.csv", things(300, 4))
        again = self.troupe("train", self.job, "--json", *sets_of(["output.directory=copies"]))
        self.assertIn("one.csv: these are the rows of", again.stderr)
        self.assertIn(held["parameters_sha256"], again.stdout)

    def test_equal_halves_that_are_trained_on_whole_are_one_file(self):
        """Outside witness: a full batch of two lanes is that of the two files one behind the other, in two slices."""
        keys = ['data.missing="error"', "data.standardize=false", "data.test_fraction=0", "data.validation_fraction=0",
                'training.batch_size="all"', "training.slices=2", "data.categorical=[]", 'data.ignore=["city"]',
                "model.dropout=0", "training.metrics=[]"]
        halves = [[row | {"size": row["size"] or "0"} for row in things(150, seed)] for seed in (1, 2)]
        for name, rows in zip("ab", halves):
            self.part(f"{name}.csv", rows)
        held = self.train("held", *keys)
        hashes = []
        for name, (one, other) in (("ab", halves), ("ba", reversed(halves))):
            whole = self.write(f"{name}.csv", text_of(one + other))
            found = self.train(name, *keys, f'data.file="{whole}"', 'data.holdings=""')
            hashes.append(found["parameters_sha256"])
            self.assertNotEqual(found["job_sha256"], held["job_sha256"], "it is another job all the same")
        self.assertIn(held["parameters_sha256"], hashes)

    def test_a_run_says_before_it_trains_who_holds_what_and_names_rows_of_their_files(self):
        self.usual_parts()
        told = self.troupe("train", self.job).stderr
        self.assertRegex(told, r"holding +.*tiny\.csv': 5 rows to train on, in 1 of 3 slices; 1 for testing")
        self.assertRegex(told, r"holding +.*north\.csv': 1400 rows to train on, in 1 of 3 slices; 200 for validation; 400 for")
        for row in range(100, 140):  # of each holding; one that is kept for testing ends nobody
            run = self.troupe("train", self.job, "--overwrite", "--quiet", code=None,
                              env={**os.environ, "TROUPE_TEST_CRASHING_ROW": f"{row} throws"})
            if run.returncode != 0:
                break
        self.assertRegex(run.stderr, r"rows [\d, and]+ of .*parts/(north|south)\.csv")

    def test_test_rows_in_a_file_of_their_own_are_nobodys(self):
        self.usual_parts()
        test = self.write("test.csv", text_of(things(90, 9)))
        first = self.train("first", "data.test_fraction=0", f'data.test_file="{test}"')
        self.expect_equal(self.train("more", "data.test_fraction=0", f'data.test_file="{test}"', "training.replicas=3"), first)
        judged = self.result_of("evaluate", "first/model.safetensors", test)
        self.assertAlmostEqual(judged["loss"], first["test_loss"], places=6)

    def test_the_rows_of_a_run_are_found_again(self):
        self.usual_parts()
        first = self.train("first")
        judged = self.result_of("evaluate", "first/model.safetensors", "--rows", "test")
        self.assertAlmostEqual(judged["loss"], first["test_loss"], places=6)
        refused = self.troupe("predict", "first/model.safetensors", "--rows", "test", code=2).stderr
        self.assertIn("in no file of their own", refused)

    def test_a_model_to_start_from_is_the_table(self):
        self.usual_parts()
        self.train("first")
        more = self.train("more", 'model.start_from="first/model.safetensors"', "job.seed=6")
        self.assertGreater(more["test_accuracy"], 0.7)

    def test_members_train_alone_on_their_own_rows_and_are_merged(self):
        self.part("north.csv", things(600, 1))
        self.part("south.csv", things(200, 2, ["Rome"], ["cat", "dog"]))
        keys = ['training.strategy="parameters"', "training.local_steps=3"]
        first = self.train("first", *keys, "training.members=4")
        self.assertGreater(first["test_accuracy"], 0.6)
        for replicas in (1, 2, 5):
            self.expect_equal(self.train(f"run{replicas}", *keys, "training.members=4", f"training.replicas={replicas}"), first)
        self.expect_refusal(78, "training.members", "each of the 2 holdings", "", *keys, "training.members=1")
        self.part("tiny.csv", things(6, 3, ["Oslo"], ["emu"]))
        self.expect_refusal(78, "training.members", "has no row in some round", "local_steps", keys[0], "training.local_steps=1")

    def test_files_of_rows_have_their_columns_in_any_order_too(self):
        keys = ['data.missing="error"', "data.categorical=[]", 'data.ignore=["city"]']
        for name, order in (("a", COLUMNS), ("b", ["weight", "city", "size", "kind"])):
            self.part(f"{name}.csv", [row | {"size": row["size"] or "0"} for row in things(150, ord(name))], order)
        first = self.train("first", *keys)
        (self.folder / "files").mkdir()
        for name in "ab":
            self.troupe("data", "convert", f"parts/{name}.csv", "-o", f"files/{name}.safetensors", "--target", "kind",
                        "--ignore", "city")
        again = self.train("again", 'data.missing="error"', "data.categorical=[]", 'data.holdings="files/*"', "data.target=last")
        self.expect_figures(again, first, ("parameters_sha256", "test_loss"))

    def test_sparse_rows(self):
        chance = random.Random(1)
        for name, rows, width in (("a", 400, 40), ("b", 90, 25)):
            lines = []
            for _ in range(rows):
                features = sorted(chance.sample(range(1, width + 1), 6))
                label = int(sum(features) % 3 == 0)
                lines.append(f"{label} " + " ".join(f"{i}:{chance.gauss(label, 1):.2f}" for i in features))
            self.write(f"parts/{name}.svm", "\n".join(lines) + "\n")
        keys = ['data.holdings="parts/*.svm"', "data.target=\"last\"", "data.categorical=[]", 'data.missing="error"',
                "data.dense=false"]
        first = self.train("first", *keys)
        self.expect_equal(self.train("more", *keys, "training.replicas=4"), first)

    def test_every_refusal_names_the_file_and_what_to_do(self):
        self.usual_parts()
        self.part("odd.csv", things(20, 7), ["size", "city", "kind"])
        self.expect_refusal(65, "odd.csv", "no column 'weight'", "data.ignore")
        text = self.part("odd.csv", things(20, 7))
        text.write_text(text.read_text(encoding="utf-8") + "1.0,Oslo,heavy,cat\n", encoding="utf-8")
        self.expect_refusal(65, "odd.csv:22", "heavy")
        self.part("odd.csv", things(20, 7), ["size", "weight", "kind", "city"])
        self.expect_refusal(65, "odd.csv", "the column 'city' is to be read in its own way, but it is no feature", "",
                            'data.target="last"')
        text.unlink()
        self.expect_refusal(78, "training.slices", "each of the 3 holdings", "", "training.slices=2")
        self.expect_refusal(78, "training.batch_size", "below the 3 slices", "", "training.batch_size=2", "training.slices=3")
        self.expect_refusal(78, "model.loss", "is not given", "squared", 'model.loss=""', text=JOB.replace(
            'loss = "categorical-cross-entropy"\n', ""))
        self.expect_refusal(78, "data.holdings", "other rows", "keep one", 'data.file="test.csv"')
        self.expect_refusal(78, "data.holdings", "fewer steps", "asynchronous", "training.consistency={ staleness = 1 }")
        self.expect_refusal(78, "data.holdings", "row by row", "", 'data.shuffle="lanes"')
        self.part("odd.csv", things(20, 7, ["Oslo", "Paris"]))
        self.expect_refusal(78, "data.categories_max", "4 categories", "data.ignore", "data.categories_max=3")
        self.expect_refusal(66, "nowhere", "no file is called so", "", 'data.holdings="nowhere/*.csv"')

    def expect_refusal(self, code, where, why, hint="", *keys, text=JOB):
        self.write("job.toml", text)
        keys = [key for key in keys if key != 'model.loss=""']
        said = self.troupe("train", self.job, "--overwrite", *sets_of(keys), code=code).stderr
        for word in (where, why, hint):
            self.assertIn(word, said)


if __name__ == "__main__":
    main()
