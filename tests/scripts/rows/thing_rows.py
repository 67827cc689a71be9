"""Rows of which tests of holdings make files: a kind of things, to be told from size, weight and city."""

import random

COLUMNS = ["size", "city", "weight", "kind"]
# How a job reads them, and what it trains; a rule of the section optimizer is to follow.
JOB_OF_THINGS = """target = "kind"
categorical = ["city"]
missing = "mean"
standardize = true
test_fraction = 0.2
validation_fraction = 0.1
[model]
hidden = [12]
dropout = 0.1
loss = "categorical-cross-entropy"
[optimizer]
"""


def things(count, seed, cities=("Bergen", "Oslo", "Rome"), kinds=("cat", "dog", "emu")):
    """Rows whose kind follows from size, weight and city, more or less."""
    chance = random.Random(seed)
    for _ in range(count):
        kind = chance.choice(kinds)
        at = ["cat", "dog", "emu"].index(kind)
        size = "" if chance.random() < 0.05 else f"{chance.gauss(2 * at, 1):.3f}"
        yield {"size": size, "city": chance.choice(cities), "weight": f"{chance.gauss(-at, 1):.3f}", "kind": kind}


def text_of(rows, names=COLUMNS, separator=","):
    return "\n".join([separator.join(names)] + [separator.join(row[name] for name in names) for row in rows]) + "\n"
