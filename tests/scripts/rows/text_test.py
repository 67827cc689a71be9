"""Texts: rows of characters, split by position; a model that judges, predicts and writes with its own vocabulary.

    python3 tests/scripts/rows/text_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import csv
import io
import json
import random

from table_runs import TableRuns
from command import SOURCE, main

# Every line is one of four: what follows is known but for the first letter of a line.
LINES = ["the \"cat\" sat,\n", "on a mat. é\n", "so did I;\n", " and you €?\n"]
WINDOW = 6


def some_text(lines, seed):
    chance = random.Random(seed)
    return "".join(chance.choice(LINES) for _ in range(lines))


def codes(text, classes, window=WINDOW):
    """Rows as a file of numbers has them: a window's codes and the next character's."""
    number = {name: i for i, name in enumerate(classes)}
    return [[number.get(one, len(classes)) for one in text[i:i + window + 1]] for i in range(len(text) - window)]


class Texts(TableRuns):
    def setUp(self):
        super().setUp()
        self.text = some_text(60, 1)
        self.write("some.txt", self.text)
        self.classes = sorted(set(self.text))

    def job(self, data=(), training=(), **sections):
        layers = f"embedding categories={len(self.classes)} width=8\npositions\n" \
                 "residual { layer-norm; attention heads=2 causal=true }\nlayer-norm\npool over=last"
        return {"data": {"file": "some.txt", "format": "text", "window": WINDOW, "test_fraction": 0.2, **dict(data)},
                "model": {"kind": "chain", "layers": layers},
                "optimizer": {"kind": "adam", "learning_rate": 0.01},
                "training": {"batch_size": 32, "slices": 4, "epochs": 6, **dict(training)}, **sections}

    def test_any_number_of_replicas_trains_the_same_bits_and_learns(self):
        runs = [self.train(f"r{count}", **self.job(training={"replicas": count})) for count in (1, 3)]
        self.assertEqual(runs[0]["parameters_sha256"], runs[1]["parameters_sha256"])
        self.assertEqual(runs[0]["job_sha256"], runs[1]["job_sha256"])
        self.assertLess(runs[0]["test_loss"], 1.0)  # by how often each character comes: 3.1

    def test_parts_lie_one_behind_the_other_and_share_no_character(self):
        self.train("run", **self.job(data={"validation_fraction": 0.1}))
        rows = len(self.text) - WINDOW
        test, validation = rows * 2 // 10, rows // 10
        train = rows - test - validation - 2 * WINDOW
        self.assertEqual([self.evaluate("run", "--rows", part)["rows"] for part in ("train", "validation", "test")],
                         [train, validation, test])
        # The classes of the test rows are the last characters of the text.
        counts = {one["class"]: one["rows"] for one in self.evaluate("run")["classes"]}
        self.assertEqual(counts, {name: self.text[-test:].count(name) for name in self.classes})

    def test_a_run_and_the_text_itself_are_judged_alike(self):
        result = self.train("run", **self.job())
        own = self.evaluate("run")
        self.assertAlmostEqual(own["loss"], result["test_loss"], delta=1e-6)
        # The same rows as a text of their own.
        self.write("last.txt", self.text[-own["rows"] - WINDOW:])
        judged = self.evaluate("run/model.safetensors", "last.txt")
        self.assertEqual(judged["rows"], own["rows"])
        self.assertAlmostEqual(judged["loss"], own["loss"], delta=1e-9)
        self.assertEqual([one["class"] for one in judged["classes"]], self.classes)
        # A table on a screen shows new lines and blanks as such.
        table = self.troupe("evaluate", "run").stdout
        self.assertIn("\n'\\n' ", table)
        self.assertIn("\n' ' ", table)
        self.assertIn("classes            '\\n', ' ', \", ", self.troupe("inspect", "run/model.safetensors").stdout)

    def test_codes_in_a_csv_file_are_the_same_rows(self):
        self.train("run", **self.job())
        rows = codes(self.text, self.classes)
        names = [f"c{i}" for i in range(WINDOW)]
        self.write("codes.csv", "\n".join([",".join(names)] + [",".join(map(str, row[:-1])) for row in rows]) + "\n")
        self.write("most.txt", self.text[:-1])
        said = [self.troupe("predict", "run/model.safetensors", name, "--probabilities").stdout
                for name in ("codes.csv", "most.txt")]
        self.assertEqual(said[0], said[1])

    def test_every_window_has_its_prediction(self):
        self.train("run", **self.job())
        said = self.troupe("predict", "run/model.safetensors", "some.txt")
        self.assertIn("some.txt: a text, a row of 6 characters from each character on", said.stderr)
        rows = list(csv.reader(io.StringIO(said.stdout, newline="")))
        self.assertEqual(rows[0], ["next character"])
        self.assertEqual(len(rows) - 1, len(self.text) - WINDOW + 1)
        right = sum(row[0] == character for row, character in zip(rows[1:], self.text[WINDOW:]))
        self.assertGreater(right / len(self.text), 0.8)
        self.assertTrue(set(self.classes) >= {row[0] for row in rows[1:]} >= {"\n", " ", '"', "é"})

    def test_characters_that_the_model_does_not_know(self):
        self.train("run", **self.job())
        self.write("other.txt", "the Xcat\nsat so")
        said = self.troupe("predict", "run/model.safetensors", "other.txt")
        self.assertIn("1 character is none that the model was trained on: 'X'", said.stderr)
        self.assertEqual(len(list(csv.reader(io.StringIO(said.stdout, newline="")))), 1 + 15 - WINDOW + 1)
        self.write("class.txt", "the cat\nZ")
        said = self.troupe("evaluate", "run/model.safetensors", "class.txt", code=65)
        self.assertIn("class.txt:2: the model knows no class 'Z'", said.stderr)
        self.write("bad.txt", "short")
        self.assertIn("5 characters; a row takes 6",
                      self.troupe("predict", "run/model.safetensors", "bad.txt", code=65).stderr)
        (self.folder / "latin.txt").write_bytes("the cät sat".encode("latin-1"))
        self.assertIn("begins no character of UTF-8, at byte 5",
                      self.troupe("predict", "run/model.safetensors", "latin.txt", code=65).stderr)

    def test_texts_for_testing_have_the_codes_of_those_to_train_on(self):
        other = some_text(10, 7)
        self.write("other.txt", other)
        data = {"file": "some.txt", "format": "text", "window": WINDOW, "test_file": "other.txt"}
        result = self.train("run", **{**self.job(), "data": data})
        judged = self.evaluate("run/model.safetensors", "other.txt")
        self.assertEqual(judged["rows"], len(other) - WINDOW)
        self.assertAlmostEqual(judged["loss"], result["test_loss"], delta=1e-6)
        self.write("other.txt", "the catZ")
        error = self.train("bad", code=65, **{**self.job(), "data": data})
        self.assertIn("'Z' follows a row, and is none of the text to train on", json.dumps(error))

    def test_folds_are_stretches_of_the_text(self):
        for fold in range(3):
            self.train(f"f{fold}", **self.job(data={"test_fraction": 0, "folds": 3, "fold": fold}))
        judged = [self.evaluate(f"f{fold}", "--rows", "validation") for fold in range(3)]
        rows = len(self.text) - WINDOW
        self.assertEqual([one["rows"] for one in judged], [rows * (k + 1) // 3 - rows * k // 3 for k in range(3)])
        first = {one["class"]: one["rows"] for one in judged[0]["classes"]}
        self.assertEqual(first, {name: self.text[WINDOW:WINDOW + rows // 3].count(name) for name in self.classes})

    def test_a_model_of_a_text_writes(self):
        self.train("run", **self.job())
        write = ["predict", "run/model.safetensors", "--generate", "200", "--prompt", "did I;\n"]
        said = self.troupe(*write).stdout
        self.assertEqual(len(said), 201)
        self.assertTrue(set(said[:-1]) <= set(self.classes))
        self.assertEqual(said, self.troupe(*write).stdout)
        self.assertNotEqual(said, self.troupe(*write, "--seed", "1").stdout)
        greedy = self.troupe(*write, "--greedy").stdout
        self.assertEqual(greedy, self.troupe(*write, "--greedy", "--seed", "1").stdout)
        self.assertTrue(any(line[1:] in greedy for line in LINES), greedy)
        self.assertIn("trained on no 'Z' of the prompt",
                      self.troupe("predict", "run/model.safetensors", "--generate", "5", "--prompt", "Z", code=2).stderr)
        self.troupe("predict", "run/model.safetensors", "some.txt", "--generate", "5", code=2)
        self.troupe("predict", "run/model.safetensors", code=2)
        for odd in (["--generate", "-3"], ["--generate", "3", "--seed", "-1"], ["--generate=+3"]):
            said = self.troupe("predict", "run/model.safetensors", *odd, code=2).stderr
            self.assertIn("expected a whole number of 0 or more", said)
            self.assertIn("see 'troupe predict --help'", said)

    def test_a_model_of_numbers_reads_no_text(self):
        self.write("rows.csv", "a,b,kind\n" + "1,2,x\n3,4,y\n" * 10)
        self.train("run", data={"file": "rows.csv"}, model={"kind": "softmax-regression"}, training={"epochs": 1})
        said = self.troupe("predict", "run/model.safetensors", "some.txt", "--format", "text", code=65)
        self.assertIn("was not trained on a text", said.stderr)
        said = self.troupe("predict", "run/model.safetensors", "--generate", "5", code=2)
        self.assertIn("was not trained on a text", said.stderr)

    def test_an_embedding_of_too_few_codes_is_told(self):
        job = self.job()
        job["model"]["layers"] = job["model"]["layers"].replace(f"categories={len(self.classes)}", "categories=5")
        self.write_job("few", **job)
        self.assertIn(f"the text has {len(self.classes)} characters, and an embedding of 5",
                      self.troupe("train", "few.toml").stderr)

    def test_the_example_learns_more_than_pairs_of_characters(self):
        run = self.troupe("train", str(SOURCE / "examples" / "characters.toml"), "--json", "--quiet", "--set",
                          "training.epochs=2")
        self.assertLess(json.loads(run.stdout)["test_loss"], 2.3)  # pairs have 2.37, frequencies 3.11
        text = (SOURCE / "examples" / "data" / "sonnets.txt").read_text(encoding="utf-8")
        self.assertEqual(len(self.evaluate("runs/characters")["classes"]), len(set(text)))

    def test_what_a_text_has_no_use_for_is_refused_by_its_key(self):
        for key, value in (("standardize", True), ("stratify", True), ("weight", "c0"), ("target", "c0")):
            error = self.train("bad", code=78, **self.job(data={key: value}))
            self.assertIn("data." + key, json.dumps(error))


if __name__ == "__main__":
    main()
