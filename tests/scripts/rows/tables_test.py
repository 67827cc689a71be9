"""Tables as they are: columns that are no features are left out when training, and found again by name.

    python3 tests/scripts/rows/tables_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import json
import random
import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from command import SOURCE, CommandTest, main

COLUMNS = ["id", "name", "age", "ticket", "fare", "survived", "note"]
USED = ["age", "fare", "survived"]
JOB = """[data]
file = "{file}"
target = "{target}"
{more}
test_fraction = 0.25
standardize = true
[model]
kind = "logistic-regression"
[optimizer]
learning_rate = 0.2
[training]
batch_size = 16
epochs = 20
"""


def some_people():
    random.seed(3)
    for number in range(200):
        age, fare = random.randint(1, 80), round(random.uniform(5, 100), 2)
        survived = "yes" if fare - age / 2 + random.gauss(0, 5) > 20 else "no"
        yield {"id": number, "name": f'"Doe, ""J"" {number}"', "age": age, "ticket": f"A/{number}", "fare": fare,
               "survived": survived, "note": "" if number % 3 else "é"}


def text_of(rows, columns, header=True):
    lines = [",".join(columns)] if header else []
    lines += [",".join(str(row[column]) for column in columns) for row in rows]
    return "\n".join(lines) + "\n"


class Tables(CommandTest):
    def setUp(self):
        super().setUp()
        self.people = list(some_people())
        self.write("people.csv", text_of(self.people, COLUMNS))
        self.write("used.csv", text_of(self.people, USED))

    def train(self, name, file, ignore=None, target="survived", code=0):
        more = "" if ignore is None else f"ignore = {json.dumps(ignore)}"
        self.write(name + ".toml", JOB.format(file=file, target=target, more=more))
        return super().train(name + ".toml", f"output.directory={name}", code=code)

    def test_columns_left_out_are_as_if_they_were_not_there(self):
        plain = self.train("plain", "used.csv")
        by_name = self.train("by_name", "people.csv", ["id", "name", "ticket", "note"])
        by_index = self.train("by_index", "people.csv", [0, 1, "3", "note"])
        for run in (by_name, by_index):
            for key in ("parameters_sha256", "job_sha256", "train_loss", "test_loss", "test_accuracy"):
                self.assertEqual(run[key], plain[key], key)
        self.assertGreater(plain["test_accuracy"], 0.75)
        judged = self.result_of("evaluate", "by_name")
        self.assertEqual(judged["accuracy"], plain["test_accuracy"])
        shown = self.troupe("config", "show", "by_index.toml").stdout
        self.assertIn('ignore = ["0", "1", "3", "note"]\n', shown)

    def test_files_to_predict_have_columns_in_any_order(self):
        self.train("run", "people.csv", ["id", "name", "ticket", "note"])
        expected = self.troupe("predict", "run/model.safetensors", "used.csv").stdout
        for seed in range(5):
            columns = random.Random(seed).sample(COLUMNS, len(COLUMNS))
            self.write("other.csv", text_of(self.people, columns))
            self.assertEqual(self.troupe("predict", "run/model.safetensors", "other.csv").stdout, expected)
        without = [column for column in COLUMNS if column != "fare"]
        self.write("other.csv", text_of(self.people, without))
        run = self.troupe("predict", "run/model.safetensors", "other.csv", code=65)
        self.assertIn("missing 'fare'", run.stderr)
        for cell in ("", "much"):  # a feature of the model cannot be left out
            self.write("other.csv", f"age,fare\n3,4\n5,{cell}\n")
            run = self.troupe("predict", "run/model.safetensors", "other.csv", code=65)
            self.assertNotIn("data.ignore", run.stderr)

    def test_without_a_header_columns_are_known_by_their_index(self):
        self.write("bare.csv", text_of(self.people, COLUMNS, header=False))
        self.write("narrow.csv", text_of(self.people, USED, header=False))
        run = self.train("run", "bare.csv", [0, 1, 3, 6], target="5")
        self.assertEqual(run["parameters_sha256"], self.train("plain", "narrow.csv", target="2")["parameters_sha256"])
        expected = self.troupe("predict", "plain/model.safetensors", "narrow.csv").stdout
        for file in ("bare.csv", "narrow.csv"):
            self.assertEqual(self.troupe("predict", "run/model.safetensors", file).stdout, expected, file)
        self.troupe("predict", "plain/model.safetensors", "bare.csv", code=65)  # it cannot know which

    def test_a_model_knows_how_the_file_it_was_trained_on_was_read(self):
        # y = 2x, and an id that is left out; the file to predict has no target.
        self.write("line.csv", "".join(f"{100 + i},{i},{2 * i}\n" for i in range(20)))
        self.write("line.toml", '[data]\nfile = "line.csv"\nheader = false\nignore = [0]\ntarget = 2\n'
                   '[model]\nkind = "linear-regression"\n[optimizer]\nkind = "closed-form"\n')
        self.troupe("train", "line.toml", "--quiet")
        self.write("new.csv", "200,0\n201,1\n202,2\n")
        self.assertIn("--target last", self.troupe("predict", "runs/line/model.safetensors", "new.csv", code=65).stderr)
        self.write("new.csv", "200,0,\n201,1,\n202,2,\n")
        found = self.troupe("predict", "runs/line/model.safetensors", "new.csv").stdout.split()[1:]
        self.assertEqual([round(float(x), 3) for x in found], [0, 2, 4])
        # Rows of texts, none of which is a header.
        texts = "".join(f"{colour},{size},{label}\n" for colour, size, label in
                        [("red", "s", "yes"), ("blue", "m", "no"), ("green", "l", "no")] * 12)
        self.write("texts.csv", texts)
        self.write("texts.toml", '[data]\nfile = "texts.csv"\nheader = false\ncategorical = [0, 1]\ntarget = 2\n'
                   '[model]\nkind = "logistic-regression"\n[training]\nepochs = 30\n')
        self.troupe("train", "texts.toml", "--quiet")
        self.write("new.csv", "red,s\nblue,m\ngreen,l\n")
        self.assertEqual(self.troupe("predict", "runs/texts/model.safetensors", "new.csv").stdout, "prediction\nyes\nno\nno\n")
        judged = self.result_of("evaluate", "runs/texts/model.safetensors", "texts.csv")
        self.assertEqual((judged["rows"], judged["accuracy"]), (36, 1.0))
        for words in (["train", "texts.toml", "--overwrite", "--set", "data.header=auto"], ["init", "texts.csv", "-o", "other.toml"]):
            self.assertIn("data.header = false", self.troupe(*words, code=65).stderr)
        # Features that are counted from 0, and a header of numbers.
        self.write("zero.svm", "".join(f"{'ab'[i % 2]} 1:0.5 3:{1 - 2 * (i % 2)}\n" for i in range(40)))
        self.write("zero.toml", '[data]\nfile = "zero.svm"\nindex_base = 0\n[model]\nkind = "logistic-regression"\n'
                   '[optimizer]\nlearning_rate = 0.5\n')
        self.troupe("train", "zero.toml", "--quiet")
        judged = self.result_of("evaluate", "runs/zero/model.safetensors", "zero.svm")
        self.assertEqual(judged["accuracy"], 1.0)
        self.write("named.csv", "0,2,5\n" + "".join(f"{i},{i % 3},{2 * i}\n" for i in range(20)))
        self.write("named.toml", self.read("line.toml").replace("line.csv", "named.csv")
                   .replace("false", "true").replace("ignore = [0]", 'ignore = ["2"]').replace("target = 2", "target = 5"))
        self.troupe("train", "named.toml", "--quiet")
        self.write("new.csv", "2,0\n7,1\n8,2\n")
        found = self.troupe("predict", "runs/named/model.safetensors", "new.csv").stdout.split()[1:]
        self.assertEqual([round(float(x), 3) for x in found], [2, 4])

    def test_converted_files_are_the_same_rows(self):
        words = [word for column in ("id", "name", "ticket", "note") for word in ("--ignore", column)]
        self.troupe("data", "convert", "people.csv", "-o", "people.safetensors", "--target", "survived",
                    "--quiet", *words)
        self.assertEqual(self.train("rows", "people.safetensors")["parameters_sha256"],
                         self.train("plain", "used.csv")["parameters_sha256"])
        run = self.troupe("data", "convert", "people.safetensors", "-o", "again.safetensors", "--ignore", "age",
                          code=2)
        self.assertIn("--ignore", run.stderr)

    def test_what_cannot_be_left_out_is_told(self):
        for ignore, why in [
                (["id", "name", "ticket", "note", "survived"], "is the target too"),
                (["tikcet"], "did you mean 'ticket'?"), ([9], "there is no column '9'"),
                (["id", "name", "ticket", "note", "age", "fare"], "no feature is left"),
                (["id", "id"], "'id' is named twice"), ([""], "a column has no name"), ([-1], "from 0"),
                ([[1]], "expected")]:
            self.assertIn(why, json.dumps(self.refused(ignore)), ignore)
        error = self.refused(None)
        self.assertIn("data.ignore = [\"name\"]", error["hint"])
        error = self.refused(["name", "ticket"])
        self.assertIn("data.ignore", error["hint"])  # of a cell without a value

    # ---- troupe init

    def init(self, *arguments, code=0):
        run = self.troupe("init", *arguments, code=code)
        return run.stderr if code else run.stdout

    def trained(self, job, *sets):
        return super().train(job, "output.directory=of_init", *sets, more=["--overwrite"])

    def test_two_commands_lead_from_a_file_to_a_model(self):
        data = SOURCE / "examples" / "data"
        for file, target, key, least in [("people.csv", "survived", "test_accuracy", 0.75),
                                         (data / "iris.csv", None, "test_accuracy", 0.9),
                                         (data / "digits.csv.gz", None, "test_accuracy", 0.93),
                                         (data / "diabetes.csv", None, "test_r2", 0.35)]:
            named = ["--target", target] if target else []
            report = self.init(file, "-o", "job.toml", "--overwrite", *named)
            self.assertIn("next: troupe train job.toml", report)
            result = self.trained("job.toml")
            self.assertGreater(result[key], least, file)
            self.assertEqual(len(result["metrics"]), 4 if result["validation_loss"] is not None else 2)

    def test_a_proposal_says_what_it_takes_for_what(self):
        report = self.init("people.csv")
        self.assertIn("learns  'survived' (a guess by its name; 2 values ('no', 'yes'), some are text: classes",
                      report)
        self.assertIn("from    'age', 'fare'\n", report)
        job = self.read("people.toml")
        for line in ('file = "people.csv"', 'target = "survived"', 'ignore = ["id", "name", "ticket", "note"]',
                     "# No feature: id, for it counts the rows.",
                     "# No feature: name, for 200 of 200 cells are no numbers, such as 'Doe, \"J\" 0'.",
                     "# What to learn: a guess by its name."):
            self.assertIn(line + "\n", job)
        self.assertIn("you named it", self.init("people.csv", "--target", "fare", "-o", "-"))
        self.assertIn("amounts", self.init("people.csv", "--target", "fare", "-o", "-"))
        (self.folder / "jobs").mkdir()
        self.init("people.csv", "-o", "jobs/job.toml")
        self.assertIn('file = "../people.csv"', self.read("jobs", "job.toml"))
        self.trained("jobs/job.toml", "training.epochs=2")
        self.write("bare.csv", text_of(self.people, ["age", "fare", "survived"], header=False))
        self.assertIn('target = "2"', self.init("bare.csv", "-o", "-"))

    def test_init_says_what_training_would_refuse(self):
        rows = [f"{i},{i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(40)]
        for name, text, why in [("blank.csv", "a,b,y\n" + "".join(rows[:5]) + "\n" + "".join(rows[5:]), "the line is empty"),
                                ("twice.csv", "a,a,y\n" + "".join(rows), "both called 'a'"),
                                ("again.csv", "c,y\n" + "u,yes\nv,no\n" * 8 + "c,y\n", "header once more")]:
            self.write(name, text)
            self.assertIn(why, self.init(name, code=65), name)
            self.assertFalse((self.folder / name).with_suffix(".toml").exists())
        (self.folder / "latin.csv").write_bytes(("größe,b,y\n" + "".join(rows)).encode("latin-1"))
        self.assertIn("not UTF-8", self.init("latin.csv", code=65))
        self.write("gaps.csv", "a,b,y\n" + "".join(rows) + "1,2,\n3,4,NA\n")
        report = self.init("gaps.csv", "-o", "gaps.toml")
        self.assertIn("drops   y in 2 of 42 rows", report)
        self.assertIn("2 rows without a value", self.troupe("train", "gaps.toml").stderr)
        self.write("times.csv", "when,b,y\n" + "".join(f"{1.7e12 + 100 * (i * 7 % 40):.0f},{i % 7},{'yes' if i % 2 else 'no'}\n" for i in range(40)))
        self.assertIn("'when' loses digits", self.troupe("init", "times.csv").stderr)
        self.assertIn("'when' loses digits", self.troupe("train", "times.toml").stderr)

    def test_init_refuses_what_it_cannot_use(self):
        self.init("people.csv")
        self.assertIn("--overwrite", self.init("people.csv", code=73))
        self.init("people.csv", "--overwrite")
        self.assertIn("did you mean 'fare'?", self.init("people.csv", "--target", "farre", "-o", "-", code=65))
        self.assertIn("cannot be learned", self.init("people.csv", "--target", "note", "-o", "-", code=65))
        for name, text, why in [("text.csv", "a,b\nx,1\ny,2\n", "no column can be a feature"),
                                ("one.csv", "a\n1\n2\n", "1 columns"), ("empty.csv", "", "is empty"),
                                ("head.csv", "a,b\n", "0 rows"),
                                ("ragged.csv", "a,b\n1,2\n1,2,3\n", "more cells than row 1 with its 2")]:
            self.write(name, text)
            self.assertIn(why, self.init(name, "-o", "-", code=65), name)
        self.troupe("data", "convert", "used.csv", "-o", "rows.safetensors", "--quiet")
        self.assertIn("format rows", self.init("rows.safetensors", code=2))
        self.init("absent.csv", code=66)
        self.assertFalse((self.folder / "rows.toml").exists())

    def refused(self, ignore):
        more = "" if ignore is None else f"ignore = {json.dumps(ignore)}"
        self.write("refused.toml", JOB.format(file="people.csv", target="survived", more=more))
        run = self.troupe("train", "refused.toml", "--json", "--quiet", code=None)
        self.assertIn(run.returncode, (65, 78), run.stderr)
        return json.loads(run.stdout)["error"]


if __name__ == "__main__":
    main()
