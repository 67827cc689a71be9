"""Dates, amounts and gaps as people write them: `init` finds how cells are written or asks, what it writes trains, and the
model is that of a file of plain cells.

    /usr/bin/python3 tests/scripts/rows/cells_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
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
from command import SOURCE, CommandTest, main

sys.path.insert(0, str(SOURCE / "tests" / "reference"))
NAMES = ["sold", "size", "share", "price"]


def sales(count=300, seed=5):
    """(time, size, share in percent, price)"""
    chance = random.Random(seed)
    for _ in range(count):
        sold = datetime.datetime(2020, 1, 1) + datetime.timedelta(minutes=15 * chance.randint(0, 70_000))
        size, share = chance.randint(800, 90_000), chance.randint(1, 99) / 2
        yield sold, size, share, round(3 * size + 900 * share + 2000 * sold.hour + chance.gauss(0, 500), 2)


def grouped(value, mark=",", point="."):
    return f"{value:,}".replace(",", "\0").replace(".", point).replace("\0", mark)


def table(rows, separator=",", names=NAMES):
    return "\n".join([separator.join(names)] + [separator.join(row) for row in rows]) + "\n"


def quoted(text):
    return f'"{text}"'


def plain(rows):
    return table([sold.isoformat(), str(size), str(share), str(price)] for sold, size, share, price in rows)


def american(rows, shift=" $"):
    return table([f"{sold.month}/{sold.day}/{sold.year} {sold:%I:%M %p}", quoted(grouped(size)), f"{share}%",
                  quoted("$" + grouped(price))] for sold, size, share, price in rows)


def german(rows):
    return table(([f"{sold:%d.%m.%Y %H:%M}", grouped(size, ".", ","), str(share).replace(".", ",") + " %",
                   grouped(price, ".", ",") + " €"] for sold, size, share, price in rows), ";")


class Cells(CommandTest):
    def init(self, name, *more, code=0):
        return self.troupe("init", f"{name}.csv", "-o", f"{name}.toml", "--overwrite", *more, code=code)

    def trained(self, name, *keys):
        return self.train(f"{name}.toml", f"output.directory={name}", *keys, more=["--overwrite"])

    def test_one_table_is_one_model_however_its_cells_are_written(self):
        rows, others = list(sales()), list(sales(40, 6))
        predictions = {}
        for name, write in [("plain", plain), ("american", american), ("german", german)]:
            self.write(f"{name}.csv", write(rows))
            self.write(f"{name}_new.csv", write(others))
            self.init(name, "--target", "price")
            run = self.trained(name, "data.test_file=", "data.test_fraction=0.2")
            self.assertGreater(run["test_r2"], 0.99, name)
            predictions[name] = (run["parameters_sha256"], run["test_r2"],
                                 self.troupe("predict", f"{name}/model.safetensors", f"{name}_new.csv").stdout)
            judged = self.result_of("evaluate", name, f"{name}_new.csv")
            self.assertGreater(judged["r2"], 0.99, name)
            if numpy:
                import model_file
                tensors, metadata = model_file.load(str(self.folder / name / "model.safetensors"))
                if name != "german":  # cells with a decimal point
                    own = model_file.predict(tensors, metadata, model_file.read_cells(str(self.folder / f"{name}_new.csv"), metadata))
                    numpy.testing.assert_allclose(own[:, 0], [float(x) for x in predictions[name][2].split()[1:]], rtol=1e-3)
        self.assertEqual(predictions["american"], predictions["plain"])
        self.assertEqual(predictions["german"], predictions["plain"])
        job = self.read("american.toml")
        for line in ('datetime = ["sold"]', 'date_order = "month-first"', 'amount = ["size", "share", "price"]'):
            self.assertIn(line + "\n", job.replace('["price", "size", "share"]', '["size", "share", "price"]'))
        self.assertIn('date_order = "day-first"\n', self.read("german.toml"))

    def test_dates_that_may_be_read_in_two_ways_are_asked_for(self):
        chance = random.Random(1)
        rows = [[f"{chance.randint(1, 12)}/{chance.randint(1, 12)}/2021", str(i * 7 % 40), f"{i * 7 % 40 + i % 3 / 9:.3f}"]
                for i in range(80)]
        self.write("asked.csv", table(rows, names=["sold", "size", "price"]))
        run = self.init("asked")
        for text in ("1 of 3 columns are left out", "'sold'", "may all be day first or month first",
                     "troupe init --date-order day-first"):
            self.assertIn(text, run.stderr)
        self.assertIn('ignore = ["sold"]\n', self.read("asked.toml"))
        self.assertIn('date = ["sold"] and date_order = "day-first" or "month-first"', self.read("asked.toml"))
        self.trained("asked")
        for order in ("day-first", "month-first"):
            run = self.init("asked", "--date-order", order)
            self.assertNotIn("left out", run.stderr)
            self.assertIn(f'date = ["sold"]\ndate_order = "{order}"\n', self.read("asked.toml"))
            self.trained("asked")
        self.write("alone.csv", table([[row[0], row[2]] for row in rows], names=["sold", "price"]))
        self.assertIn("troupe init --date-order", self.init("alone", code=65).stderr)
        # Another column tells.
        self.write("told.csv", table([[*row, f"{i % 28 + 1}.3.2021"] for i, row in enumerate(rows)],
                                     names=["sold", "size", "price", "paid"]))
        self.init("told", "--target", "price")
        self.assertIn('date = ["sold", "paid"]\ndate_order = "day-first"\n', self.read("told.toml"))
        run = self.init("told", "--target", "price", "--date-order", "month-first")
        self.assertIn("'paid': its dates, such as '1.3.2021', are not month-first", run.stderr)
        self.trained("told")

    def test_what_init_writes_trains_and_what_cannot_be_trained_it_refuses(self):
        def rows(of, count=60):
            return "".join(of(i) + "\n" for i in range(count))

        def gap(i, word, text):
            return word if i % 20 == 3 else text

        ok = {  # name: (text, what the job or the report says)
            "dash": ("a,y\n" + rows(lambda i: f"{gap(i, '-', str(i * 7))},{i}"), ['missing_cells = ["-"]', "a: 3 cells are '-'"]),
            "words": ("a,b,y\n" + rows(lambda i: f"{gap(i, 'n.d.', f'{i},5')},{gap(i, 'unknown', f'2021-01-{i % 28 + 1:02}')},{i}".replace(f"{i},5", f'"{i},500"')),
                      ['missing_cells = ["n.d.", "unknown"]', 'amount = ["a"]', 'date = ["b"]']),
            "target_dash": ("a,y\n" + rows(lambda i: f"{i * 7 % 60},{gap(i, '-', f'${i}.5')}"), ['missing = "drop"', 'amount = ["y"]']),
            "target_gap": ("a,y\n" + rows(lambda i: f"{i * 7 % 60},{gap(i, '', 'yes' if i % 2 else 'no')}"), ['missing = "drop"']),
            "percent": ("a,y\n" + rows(lambda i: f"{i}%,{i % 7}.5"), ['amount = ["a"]']),
            "two_units": ("a,b,y\n" + rows(lambda i: f"{'$€'[i % 2]}{i},{i * 7 % 60},{i * 2}"), ["'a': 60 of 60 cells are no numbers"]),
            "bare_percent": ("a,b,y\n" + rows(lambda i: f"{i}{'%' * (i % 2)},{i * 7 % 60},{i * 2}"), ["left out"]),
            "short_year": ("a,b,y\n" + rows(lambda i: f"{i % 28 + 1}/1/{i % 9 + 10},{i * 7 % 60},{i * 2}"), ["write years with four digits"]),
            "few_names": ("a,b,y\n" + rows(lambda i: f"name {i},{i * 7 % 60},{i * 2}"), ["'a': 60 of 60 cells are no numbers"]),
            "bom": ("\ufeffa,y\n" + rows(lambda i: f"{i * 7 % 60},{i % 2}"), []),
            "crlf_end": ("a,y\r\n" + "".join(f"{i * 7 % 60},{i % 2}\r\n" for i in range(60)) + "\r\n\r\n", []),
            "tabs": ("a\tb\ty\n" + rows(lambda i: f"{i * 7 % 60}\t{i % 7}\t{i * 2}"), ['separator = "\\u0009"']),
            "thousands_semicolons": ("a;b;y\n" + rows(lambda i: f"{i}.500;{i},5;{i * 2}"), ['decimal = ","', 'amount = ["a"]']),
            "french": ("a;b;y\n" + rows(lambda i: f"{i + 1} 500,5;{i} €;{i * 2}"), ['amount = ["a", "b"]']),
            "times": ("a,b,y\n" + rows(lambda i: f"2021-01-{i % 28 + 1:02}T{i % 24:02}:05:00Z,{i * 7 % 60},{i * 2}"), ['datetime = ["a"]']),
            "midnights": ("a,b,y\n" + rows(lambda i: f"2021-01-{i % 28 + 1:02} 00:00:00,{i * 7 % 60},{i * 2}"), ['date = ["a"]']),
            "mixed_dates": ("a,b,y\n" + rows(lambda i: f"{'13/1/2021' if i % 2 else '2021-02-03'},{i * 7 % 60},{i * 2}"), ['date_order = "day-first"']),
        }
        for name, (text, parts) in ok.items():
            with self.subTest(file=name):
                self.write(f"{name}.csv", text)
                run = self.init(name)
                said = run.stdout + run.stderr + self.read(f"{name}.toml")
                for part in parts:
                    self.assertIn(part, said)
                self.trained(name, "training.epochs=1" if "neural" in said else "job.seed=2")
        refused = {
            "latin": ("größe,y\n" + rows(lambda i: f"{i * 7 % 60},{i % 2}"), "not UTF-8"),
            "latin_cells": ("a,y\n" + rows(lambda i: f"{'öß'[i % 2]},{i % 3}"), "not UTF-8"),
            "twice": ("a,a,y\n" + rows(lambda i: f"{i},{i},{i % 2}"), "both called 'a'"),
            "blank": ("a,y\n1,2\n\n" + rows(lambda i: f"{i * 7 % 60},{i % 2}"), "the line is empty"),
            "ragged": ("a,y\n1,2\n1,2,3\n" + rows(lambda i: f"{i * 7 % 60},{i % 2}"), "more cells"),
            "short": ("a,b,y\n" + rows(lambda i: f"{i},1,{i % 2}") + "1,2\n", "ends before"),
            "no_target": ("a,y\n" + rows(lambda i: f"{i}," + gap(i, "1", "")), "cannot be learned"),
        }
        for name, (text, part) in refused.items():
            with self.subTest(file=name):
                (self.folder / f"{name}.csv").write_bytes(text.encode("latin-1"))
                self.assertIn(part, self.init(name, code=65).stderr)
                self.assertFalse((self.folder / f"{name}.toml").exists())

    def test_a_rare_class_keeps_its_share_of_each_part(self):
        def text(rare):
            return "a,y\n" + "".join(f"{i * 7 % 400},{'yes' if i % 100 < rare else 'no'}\n" for i in range(400))

        self.write("rare.csv", text(3))
        report = self.init("rare").stdout
        self.assertIn("'yes' is in 3.0 % of the rows. To answer 'no' always is right in 97.0 %", report)
        self.assertIn("stratify = true\n", self.read("rare.toml"))
        self.trained("rare", "training.epochs=1")
        self.write("even.csv", text(20))
        self.init("even")
        self.assertNotIn("stratify", self.read("even.toml"))
        self.write("digits.csv", "a,y\n" + "".join(f"{i * 7 % 400},{i % 12}\n" for i in range(400)))
        self.init("digits")
        self.assertNotIn("stratify", self.read("digits.toml"))  # twelve classes of 8 % each

    def test_cells_of_no_value_name_the_key_in_train_and_predict(self):
        self.write("gaps.csv", "a,y\n" + "".join(f"{'-' if i == 7 else i},{i}\n" for i in range(40)))
        self.write("gaps.toml", '[data]\nfile = "gaps.csv"\n[model]\nkind = "linear-regression"\n[optimizer]\nkind = "closed-form"\n')
        error = self.troupe("train", "gaps.toml", code=65).stderr
        self.assertIn('data.missing = "mean" and data.missing_cells = ["-"]', error)
        self.trained("gaps", "data.missing=mean", 'data.missing_cells=["-"]')
        self.write("new.csv", "a\n1\nN/A\n")
        error = self.troupe("predict", "gaps/model.safetensors", "new.csv", code=65).stderr
        self.assertIn('data.missing = "mean" and data.missing_cells = ["N/A"]', error)

    def test_a_model_file_of_another_plan_is_refused(self):
        self.write("american.csv", american(sales(60)))
        self.init("american", "--target", "price")
        self.trained("american")
        path = self.folder / "american" / "model.safetensors"
        content = path.read_bytes()
        columns = json.loads(json.loads(content[8:8 + int.from_bytes(content[:8], "little")])["__metadata__"]["columns"])
        self.assertEqual(columns["target"], {"kind": "amount", "name": "price", "unit": "$"})
        self.assertEqual(columns["columns"][0], {"kind": "datetime", "name": "sold", "order": "month-first"})
        for old, new in [(b"month-first", b"month-furst"), (b'\\"unit\\":\\"%\\"', b'\\"unit\\":null'.ljust(14)), (b"datetime", b"daytimes")]:
            self.assertIn(old, content)
            path.write_bytes(content.replace(old, new, 1))
            self.assertIn("metadata", self.troupe("predict", path, "american.csv", code=65).stderr, old)


if __name__ == "__main__":
    main()
