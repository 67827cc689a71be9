"""Five tables with strings, gaps, dates and ids: `troupe init` and `troupe train` make a model that is as good on rows
put aside as scikit-learn's pipeline of the same kind, and that finds its columns in any order.

    /usr/bin/python3 tests/scripts/rows/pipelines_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import datetime
import gzip
import json
import math
import random
import unittest

from table_runs import TableRuns
from command import SOURCE, main

try:
    import numpy
    import sklearn.compose
    import sklearn.datasets
    import sklearn.impute
    import sklearn.linear_model
    import sklearn.neural_network
    import sklearn.pipeline
    import sklearn.preprocessing
except ImportError:
    sklearn = None

DAY = datetime.date(2000, 1, 1)
ROOM = 0.02


def some_day(chance):
    return datetime.date(2018, 1, 1) + datetime.timedelta(chance.randrange(1500))


def customers():
    """Who leaves: ids, names, a city with gaps, an age with gaps, a date."""
    chance = random.Random(11)
    for number in range(1600):
        city, plan = chance.choice(["Oslo", "Bergen", "Tromsø", "Ålesund", ""]), chance.choice(["free", "basic", "full"])
        age, day, member = chance.randint(18, 80), some_day(chance), chance.random() < 0.5
        score = {"Oslo": 1, "": -1.5}.get(city, 0) + {"free": 1, "full": -1}.get(plan, 0) + (age - 50) / 15 - member
        score += (day - datetime.date(2020, 1, 1)).days / 400
        yield {"customer_id": 1000 + number, "name": f"\"Doe, {number}\"", "city": city, "plan": plan,
               "age": "NA" if chance.random() < 0.1 else age, "joined": day, "member": "yes" if member else "no",
               "churned": "yes" if score + chance.gauss(0, 0.7) > 0 else "no"}


def flats():
    """What they cost, with German commas: references, a date whose month counts, a garden that is not always known."""
    chance = random.Random(12)
    for number in range(1600):
        town, area, day, rooms = chance.choice("ABCDEF"), chance.uniform(20, 150), some_day(chance), chance.randint(1, 6)
        garden = chance.random() < 0.3
        price = area * (2 + "ABCDEF".index(town) / 2) + 20 * rooms + 40 * garden + 15 * math.cos(day.month / 2)
        yield {"reference": f"F{number:05}x", "town": town, "area": f"{area:.2f}".replace(".", ","), "sold": day, "rooms": rooms,
               "garden": "" if chance.random() < 0.15 else "true" if garden else "false",
               "price": f"{price + chance.gauss(0, 15):.2f}".replace(".", ",")}


def visits():
    """Which of four wards: codes with leading zeros, categories with gaps, three numbers of which one has gaps."""
    chance = random.Random(13)
    for _ in range(2000):
        code, arrival = chance.choice(["0115", "0220", "0307", "0412", "0519"]), chance.choice(["car", "foot", "NA"])
        heat, pulse, age = chance.gauss(37.5, 1), chance.gauss(85, 15), chance.randint(0, 95)
        scores = [heat - 37 + (code == "0115") * 2, (pulse - 80) / 10 + (arrival == "car"), (age - 45) / 15, (code > "0400") * 1.5]
        scores = [x + chance.gauss(0, 0.3) for x in scores]
        yield {"code": code, "arrival": arrival, "heat": f"{heat:.1f}", "pulse": "NA" if chance.random() < 0.1 else f"{pulse:.0f}",
               "age": age, "seen": some_day(chance), "ward": ["east", "west", "north", "south"][scores.index(max(scores))]}


def tumours():
    data = sklearn.datasets.load_breast_cancer()
    for number, (row, label) in enumerate(zip(data.data, data.target)):
        yield {"id": 5000 + number, **{str(name): repr(float(x)) for name, x in zip(data.feature_names, row)},
               "diagnosis": data.target_names[label]}


def digits():
    with gzip.open(SOURCE / "examples" / "data" / "digits.csv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            cells = line.strip().split(",")
            yield {**{f"p{i}": cell for i, cell in enumerate(cells[:-1])}, "digit": "d" + cells[-1].split(".")[0]}


def number_of(cell):
    text = str(cell).replace(",", ".")
    return float("nan") if text in ("", "NA") else {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}.get(text) \
        if text.isalpha() else float(text)


@unittest.skipUnless(sklearn, "needs scikit-learn: apt-get install python3-sklearn")
class Pipelines(TableRuns):
    def compare(self, rows, target, categories=(), dates=(), ids=(), separator=",", is_class=True):
        chance, rows = random.Random(5), list(rows)
        chance.shuffle(rows)
        if ids and not isinstance(rows[0][ids[0]], str):  # ids rise in the file
            rows.sort(key=lambda row: row[ids[0]])
        tested = set(chance.sample(range(len(rows)), len(rows) * 3 // 10))
        train = [row for i, row in enumerate(rows) if i not in tested]
        test = [row for i, row in enumerate(rows) if i in tested]
        names = list(rows[0])

        def text(part, columns):
            return "\n".join(separator.join(str(row[name]) for name in columns) for row in [dict(zip(names, names))] + part) + "\n"

        self.write("train.csv", text(train, names))
        self.write("test.csv", text(test, names))
        self.troupe("init", "train.csv", "-o", "job.toml")
        run = json.loads(self.troupe("train", "job.toml", "--json", "--quiet", "--set", "data.test_fraction=0", "--set",
                                     "data.test_file=test.csv", "--set", "output.directory=run").stdout)
        ours = run["test_accuracy"] if is_class else run["test_r2"]
        # The same model by other means: one-hot, mean for gaps, standardised; 64 units, adam, early stopping
        # for classes, the best line for numbers.
        numbers = [name for name in names if name not in (target, *categories, *dates, *ids)]

        def features(part):
            return numpy.array([[number_of(row[name]) for name in numbers] +
                                [x for name in dates for x in ((row[name] - DAY).days, row[name].month, row[name].isoweekday())] +
                                [str(row[name]) for name in categories] for row in part], dtype=object)

        width = len(numbers) + 3 * len(dates)
        plain = sklearn.pipeline.make_pipeline(sklearn.impute.SimpleImputer(), sklearn.preprocessing.StandardScaler())
        columns = sklearn.compose.ColumnTransformer(
            [("numbers", plain, list(range(width))),
             ("categories", sklearn.preprocessing.OneHotEncoder(handle_unknown="ignore"),
              list(range(width, width + len(categories))))], sparse_threshold=0)
        network = sklearn.neural_network.MLPClassifier((64,), early_stopping=True, max_iter=1000, random_state=1)
        model = sklearn.pipeline.make_pipeline(columns, network if is_class else sklearn.linear_model.LinearRegression())
        targets = [[row[target] if is_class else number_of(row[target]) for row in part] for part in (train, test)]
        model.fit(features(train), targets[0])
        theirs = model.score(features(test), targets[1])
        print(f"{self.id().rsplit('.', 1)[1]}: {ours:.4f}, scikit-learn {theirs:.4f}")
        self.assertGreaterEqual(ours, theirs - ROOM)
        # Columns in any order, without those that are no features.
        expected = self.predicted("run", "test.csv")
        self.assertEqual(len(expected.split("\n")), len(test) + 2)
        for seed in range(2):
            self.write("moved.csv", text(test, random.Random(seed).sample(names, len(names))))
            self.assertEqual(self.predicted("run", "moved.csv"), expected)
        self.write("moved.csv", text(test, [name for name in reversed(names) if name not in (target, *ids)]))
        self.assertEqual(self.predicted("run", "moved.csv"), expected)

    def test_customers(self):
        self.compare(customers(), "churned", ["city", "plan"], ["joined"], ["customer_id", "name"])

    def test_flats(self):
        self.compare(flats(), "price", ["town"], ["sold"], ["reference"], separator=";", is_class=False)

    def test_visits(self):
        self.compare(visits(), "ward", ["code", "arrival"], ["seen"])

    def test_tumours(self):
        self.compare(tumours(), "diagnosis", ids=["id"])

    def test_digits(self):
        self.compare(digits(), "digit")


if __name__ == "__main__":
    main()
