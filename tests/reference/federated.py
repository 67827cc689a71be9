"""Makes federated.json: rounds of federated training of a linear model, the papers' formulas in NumPy.

    /usr/bin/python3 tests/reference/federated.py      (needs python3-numpy)

`rows` (24 x 3) and `targets` (24) belong to four clients, `offsets` says where each one's begin. In each
of six rounds every client takes three steps of plain SGD on the mean squared error of all its rows
(FedAvg, McMahan et al. 2017); with `proximal` mu (FedProx, Li et al. 2020) mu (w - w_round) is added to
its gradient, the bias's too. Clients weigh their rows. What they come to is the target of the server's
rule (Reddi et al. 2021, algorithm 2: FedAvgM, FedAdam, FedYogi), `outer` as in merging.py. `after`: three
weights and a bias after each round. Arithmetic is in float64; parameters are float32 between rounds.
"""

from pathlib import Path

import compact_json
import numpy

ROUNDS, STEPS, RATE = 6, 3, 0.05
OFFSETS = [0, 4, 7, 15, 24]
START = [0.25, -0.5, 0.125, 0.0]

CASES = {
    "fedavg": {"outer": {"kind": "replace"}, "proximal": 0.0},
    "fedprox": {"outer": {"kind": "replace"}, "proximal": 1.5},
    "fedavgm": {"outer": {"kind": "sgd", "learning_rate": 0.8, "momentum": 0.9}, "proximal": 0.0},
    "fedadam": {"outer": {"kind": "adam", "learning_rate": 0.1}, "proximal": 0.0},
    "fedyogi": {"outer": {"kind": "yogi", "learning_rate": 0.1}, "proximal": 0.0},
    "fedprox_with_adam": {"outer": {"kind": "adam", "learning_rate": 0.1}, "proximal": 0.5},
}


def make_rows():
    x = numpy.array([[((7 * i + 11 * j + 3 * i * j) % 19 - 9) / 8 for j in range(3)] for i in range(24)],
                    dtype=numpy.float32)
    y = numpy.array([((5 * i * i + 2 * i) % 23 - 11) / 8 for i in range(24)], dtype=numpy.float32)
    return x, y


def train_client(start, x, y, proximal):
    w = start.copy()
    ones = numpy.column_stack([x, numpy.ones(len(x))])
    for _ in range(STEPS):
        gradient = 2 * ones.T @ (ones @ w - y) / len(x) + proximal * (w - start)
        w = w - RATE * gradient
    return w


class Server:
    def __init__(self, options):
        self.options = options
        self.m = numpy.zeros(4)
        self.v = numpy.full(4, 1e-3 ** 2)

    def move(self, main, target):
        kind, rate = self.options["kind"], self.options.get("learning_rate", 1.0)
        delta = target - main
        if kind == "replace":
            return target
        if kind == "sgd":
            self.m = self.options["momentum"] * self.m + delta
            return main + rate * self.m
        self.m = 0.9 * self.m + 0.1 * delta
        if kind == "adam":
            self.v = 0.99 * self.v + 0.01 * delta ** 2
        else:
            self.v = self.v - 0.01 * delta ** 2 * numpy.sign(self.v - delta ** 2)
        return main + rate * self.m / (numpy.sqrt(self.v) + 1e-3)


def run(case, x, y):
    server = Server(case["outer"])
    main = numpy.array(START, dtype=numpy.float32)
    after = []
    for _ in range(ROUNDS):
        start = main.astype(numpy.float64)
        total = numpy.zeros(4)
        for begin, end in zip(OFFSETS, OFFSETS[1:]):
            model = train_client(start, x[begin:end].astype(numpy.float64),
                                 y[begin:end].astype(numpy.float64), case["proximal"])
            total += (end - begin) * (model - start)
        main = server.move(start, start + total / OFFSETS[-1]).astype(numpy.float32)
        after.append(main)
    return {**case, "after": after}


def main():
    x, y = make_rows()
    compact_json.write(Path(__file__).with_name("federated.json"), {
        "start": START, "offsets": OFFSETS, "rows": x, "targets": y, "steps": STEPS, "rate": RATE,
        "cases": {name: run(case, x, y) for name, case in CASES.items()}})


if __name__ == "__main__":
    main()
