"""Makes merging.json: how a main model moves, the papers' formulas written down in NumPy.

    /usr/bin/python3 tests/reference/merging.py      (needs python3-numpy)

`outer`: for each case the options and eight parameters after each of 12 rounds; `merged` (12 x 8) is
what the children's models merged to in each. Reddi et al. 2021, algorithm 2, for adam and yogi;
Douillard et al. 2023 with PyTorch's form of Nesterov's momentum for diloco. Arithmetic is in float64,
and the model is kept in float32 between rounds.
`compensated`: gradients (12 x 8, means) after DC-ASGD (Zheng et al. 2017), constant and adaptive.
`elastic`: centre and three models after each of 5 rounds of EASGD (Zhang et al. 2015, eq. 5 and 6)
with no training in between.
`averaged`: the averages of the rows of `merged` up to each, all weighted alike (mean) or by powers of
the decay, as NumPy's weighted average.
`geometric_median`: of five points in four dimensions, one far off: 5,000 of Weiszfeld's steps.
"""

from pathlib import Path

import compact_json
import numpy

ROUNDS = 12
START = [0.5, -0.25, 1.0, -2.0, 0.125, 0.75, 3.0, -0.01]
SCALES = [100, 100, 100, 1000, 10000, 0, 10, 1000]

CASES = {
    "all_the_way": {"kind": "sgd"},
    "half_the_way": {"kind": "sgd", "learning_rate": 0.5},
    "momentum": {"kind": "sgd", "learning_rate": 0.5, "momentum": 0.9},
    "diloco": {"kind": "sgd", "learning_rate": 0.7, "momentum": 0.9, "nesterov": True},
    "adam": {"kind": "adam"},
    "adam_other_constants": {"kind": "adam", "learning_rate": 0.1, "beta1": 0.5, "beta2": 0.9,
                             "tau": 0.01},
    "yogi": {"kind": "yogi"},
    "yogi_other_constants": {"kind": "yogi", "learning_rate": 0.1, "beta1": 0.5, "beta2": 0.9,
                             "tau": 0.01},
}


def wave(round_, element):
    if SCALES[element] == 0:
        return 0.0
    whole = (37 * round_ + 101 * element * element + 13 * round_ * element) % 201 - 100
    return whole / SCALES[element]


def table(offset):
    return numpy.array([[wave(r + offset, e) for e in range(8)] for r in range(ROUNDS)],
                       dtype=numpy.float32)


def run_outer(options, merged):
    x = numpy.array(START, dtype=numpy.float32)
    adaptive = options["kind"] in ("adam", "yogi")
    rate = options.get("learning_rate", 0.01 if adaptive else 1.0)
    u = options.get("momentum", 0.0)
    b1, b2, tau = options.get("beta1", 0.9), options.get("beta2", 0.99), options.get("tau", 1e-3)
    m = numpy.zeros(8)
    v = numpy.full(8, tau ** 2)
    after = []
    for target in merged:
        main = x.astype(numpy.float64)
        delta = target.astype(numpy.float64) - main
        if not adaptive:
            m = u * m + delta
            main = main + rate * (delta + u * m if options.get("nesterov") else m)
        else:
            m = b1 * m + (1 - b1) * delta
            if options["kind"] == "adam":
                v = b2 * v + (1 - b2) * delta ** 2
            else:
                v = v - (1 - b2) * delta ** 2 * numpy.sign(v - delta ** 2)
            main = main + rate * m / (numpy.sqrt(v) + tau)
        x = main.astype(numpy.float32)
        after.append(x)
    return {"options": options, "after": after}


def run_compensated(options, gradients, read, current):
    s = numpy.zeros(8)
    after = []
    for g, old, new in zip(gradients, read, current):
        g = g.astype(numpy.float64)
        move = new.astype(numpy.float64) - old.astype(numpy.float64)
        rate = options["lambda"]
        if options["adaptive"]:
            s = 0.95 * s + 0.05 * g * g
            rate = rate / numpy.sqrt(s + 1e-7)
        after.append((g + rate * g * g * move).astype(numpy.float32))
    return {"options": options, "after": after}


def run_elastic(alpha):
    centre = numpy.array(START, dtype=numpy.float32)
    locals_ = [row.copy() for row in table(5)[:3]]
    rounds = []
    for _ in range(5):
        moves = [x.astype(numpy.float64) - centre.astype(numpy.float64) for x in locals_]
        locals_ = [(x - alpha * d).astype(numpy.float32) for x, d in zip(locals_, moves)]
        centre = (centre + alpha * sum(moves)).astype(numpy.float32)
        rounds.append([centre] + locals_)
    return {"alpha": alpha, "centre": START, "locals": list(table(5)[:3]), "after": rounds}


def run_geometric_median():
    points = numpy.array([[0, 0, 0, 1], [1, 0, 2, 0], [0, 3, 1, 0], [2, 1, 0, 0.5], [40, -30, 20, 9]])
    y = points.mean(axis=0)
    for _ in range(5000):
        share = 1 / numpy.linalg.norm(points - y, axis=1)
        y = (points * share[:, None]).sum(axis=0) / share.sum()
    return {"points": points.astype(numpy.float32), "median": y}


def run_averaged(kind, decay, merged):
    after = []
    for n in range(1, ROUNDS + 1):
        weights = numpy.ones(n) if kind == "mean" else decay ** numpy.arange(n - 1, -1, -1.0)
        after.append(numpy.average(merged[:n].astype(numpy.float64), axis=0, weights=weights))
    return {"kind": kind, "decay": decay, "after": after}


def main():
    merged, read, current = table(0), table(40), table(77)
    compensated = [run_compensated({"lambda": rate, "adaptive": adaptive}, merged, read, current)
                   for rate, adaptive in ((0.04, False), (2.0, True))]
    compact_json.write(Path(__file__).with_suffix(".json"), {
        "start": START, "merged": list(merged), "read": list(read), "current": list(current),
        "outer": {name: run_outer(options, merged) for name, options in CASES.items()},
        "compensated": compensated, "elastic": run_elastic(0.25),
        "averaged": [run_averaged("mean", 0.0, merged), run_averaged("exponential", 0.0, merged),
                     run_averaged("exponential", 0.6, merged),
                     run_averaged("exponential", 0.999, merged)],
        "geometric_median": run_geometric_median()})


main()
