"""Tables as practitioners have them, made anew from a seed: a rare class, skewed amounts, many classes.

    /usr/bin/python3 tests/scripts/practice/practice_tables.py FOLDER     writes NAME_train.csv and NAME_test.csv

Each is split 80 : 20 into files, so that other programs train and are judged on the same rows.
"""

import csv
import datetime
import sys
from pathlib import Path

import numpy


def choice(random, names, count, weights=None):
    return numpy.array(names)[random.choice(len(names), count, p=weights)]


def with_gaps(random, values, share, mark=""):
    gone = random.random(len(values)) < share
    return [mark if missing else value for value, missing in zip(values, gone)]


def churn(count=50_000):
    """2.8 % of customers leave: `churned` is Yes or No."""
    random = numpy.random.default_rng(2024)
    tenure = random.gamma(2.0, 14.0, count)
    fee = random.normal(45, 14, count).clip(9)
    calls = random.poisson(2.2, count)
    tickets = random.poisson(0.6, count)
    age = random.normal(44, 14, count).clip(18, 95)
    usage = random.lognormal(3.0, 0.8, count)
    plan = choice(random, ["basic", "family", "plus", "student"], count, [0.45, 0.2, 0.25, 0.1])
    region = choice(random, ["east", "mid", "north", "south", "west"], count)
    pays = choice(random, ["no", "yes"], count, [0.35, 0.65])
    day = random.integers(0, 2500, count)
    odds = (-3.6 - 0.045 * tenure + 0.05 * (fee - 45) + 0.45 * calls + 0.8 * tickets - 0.01 * (age - 44)
            - 0.25 * numpy.log(usage) + 0.7 * (plan == "student") - 0.4 * (plan == "family")
            + 0.3 * (region == "west") - 0.7 * (pays == "yes") + 0.5 * (day > 2200))
    leaves = random.random(count) < 1 / (1 + numpy.exp(-odds))
    first = datetime.date(2018, 1, 1)
    rows = zip([f"C{i:06d}" for i in range(count)],
               [(first + datetime.timedelta(int(d))).isoformat() for d in day],
               plan, region, with_gaps(random, [f"{x:.0f}" for x in age], 0.04),
               [f"{x:.1f}" for x in tenure], [f"{x:.2f}" for x in fee], calls, tickets, pays,
               with_gaps(random, [f"{x:.1f}" for x in usage], 0.02), numpy.where(leaves, "Yes", "No"))
    return ["customer_id", "signed_up", "plan", "region", "age", "tenure_months", "monthly_fee", "calls", "tickets",
            "auto_pay", "usage_gb", "churned"], list(rows)


def houses(count=20_000):
    """Prices above 0 with a long tail; days are written first."""
    random = numpy.random.default_rng(7)
    area = random.lognormal(4.6, 0.35, count)
    rooms = (area / 24 + random.normal(0, 0.8, count)).round().clip(1, 12)
    built = random.integers(1890, 2022, count)
    distance = random.gamma(2.0, 4.0, count)
    condition = random.integers(1, 6, count)
    districts = [f"district {chr(65 + i)}" for i in range(12)]
    number = random.integers(0, 12, count)
    garden = choice(random, ["no", "yes"], count, [0.6, 0.4])
    day = random.integers(0, 1800, count)
    worth = numpy.random.default_rng(1).normal(0, 0.25, 12)
    age = 2022 - built
    log_price = (8.6 + 0.85 * numpy.log(area) + 0.03 * rooms - 0.004 * age + 0.00003 * age * age
                 - 0.03 * distance + 0.06 * condition + worth[number] + 0.09 * (garden == "yes")
                 + 0.00015 * day + random.normal(0, 0.09, count))
    first = datetime.date(2017, 1, 1)
    rows = zip([(first + datetime.timedelta(int(d))).strftime("%d/%m/%Y") for d in day],
               [f"{x:.1f}" for x in area], rooms.astype(int), built, [f"{x:.2f}" for x in distance], condition,
               numpy.array(districts)[number], garden, [f"{x:.0f}" for x in numpy.exp(log_price)])
    return ["sold_on", "area", "rooms", "year_built", "distance_km", "condition", "district", "garden", "price"], list(rows)


def products(count=30_000, classes=40):
    """Which of 40 kinds an article is of, by its measures and labels."""
    random = numpy.random.default_rng(11)
    names = [f"kind {i:02d}" for i in range(classes)]
    shares = random.dirichlet(numpy.full(classes, 3.0))
    kind = random.choice(classes, count, p=shares)
    centres = random.normal(0, 1.3, (classes, 12))
    values = centres[kind] + random.normal(0, 1, (count, 12))
    colours, makers = ["black", "blue", "green", "red", "white"], [f"maker {i}" for i in range(9)]
    colour = numpy.array([random.choice(5, p=p) for p in random.dirichlet(numpy.full(5, 0.8), classes)[kind]])
    maker = numpy.array([random.choice(9, p=p) for p in random.dirichlet(numpy.full(9, 0.8), classes)[kind]])
    rows = [[*(f"{x:.4f}" for x in values[i]), colours[colour[i]], makers[maker[i]], names[kind[i]]]
            for i in range(count)]
    return [*(f"measure_{j}" for j in range(12)), "colour", "maker", "kind"], rows


TABLES = {"churn": churn, "houses": houses, "products": products}


def write(folder, name, header, rows):
    """NAME_train.csv and NAME_test.csv: every fifth row is for testing."""
    for part, chosen in (("train", lambda i: i % 5 != 4), ("test", lambda i: i % 5 == 4)):
        with open(Path(folder) / f"{name}_{part}.csv", "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(header)
            out.writerows(row for i, row in enumerate(rows) if chosen(i))


def main(folder):
    for name, make in TABLES.items():
        write(folder, name, *make())


if __name__ == "__main__":
    main(*sys.argv[1:])
