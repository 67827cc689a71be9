"""Makes optimizers.json: what PyTorch's optimizers do to eight parameters in 50 steps, in float32.

    /usr/bin/python3 tests/reference/optimizers.py      (needs python3-numpy, python3-torch)

Content: `start` (8), `gradients` (50 x 8, the gradient of each step) and, for each case, the
options in the words of a job file and the parameters after steps 1, 2, 3 and 50.
Element 5 never sees a gradient; elements 6 and 7 see very large and very small ones.
"""

from pathlib import Path

import compact_json
import numpy
import torch

STEPS = 50
KEPT = (1, 2, 3, 50)
START = [0.5, -0.25, 1.0, -2.0, 0.125, 0.75, 3.0, -0.01]
SCALES = [100, 100, 100, 1000, 10000, 0, 1, 1000000]  # gradient = whole number / scale; 0 means 0

CASES = {
    "sgd": {"kind": "sgd", "learning_rate": 0.05},
    "sgd_momentum": {"kind": "sgd", "learning_rate": 0.05, "momentum": 0.9},
    "sgd_nesterov": {"kind": "sgd", "learning_rate": 0.05, "momentum": 0.9, "nesterov": True},
    "adam": {"kind": "adam", "learning_rate": 0.001},
    "adam_other_constants": {"kind": "adam", "learning_rate": 0.01, "beta1": 0.8, "beta2": 0.99,
                             "epsilon": 0.001},
}


def gradient(step, element):
    if SCALES[element] == 0:
        return 0.0
    whole = (37 * step + 101 * element * element + 13 * step * element) % 201 - 100
    return whole / SCALES[element]


def optimizer(parameters, options):
    rate = options["learning_rate"]
    if options["kind"] == "sgd":
        return torch.optim.SGD([parameters], lr=rate, momentum=options.get("momentum", 0),
                               nesterov=options.get("nesterov", False), foreach=False)
    betas = (options.get("beta1", 0.9), options.get("beta2", 0.999))
    return torch.optim.Adam([parameters], lr=rate, betas=betas, eps=options.get("epsilon", 1e-8),
                            foreach=False)


def run(options, gradients):
    parameters = torch.nn.Parameter(torch.tensor(START, dtype=torch.float32))
    rule = optimizer(parameters, options)
    after = {}
    for step, values in enumerate(gradients, start=1):
        parameters.grad = torch.tensor(values, dtype=torch.float32)
        rule.step()
        if step in KEPT:
            after[str(step)] = parameters.detach().numpy().astype(numpy.float32)
    return {"options": options, "after": after}


def main():
    torch.set_num_threads(1)
    gradients = [[gradient(step, element) for element in range(8)] for step in range(STEPS)]
    cases = {name: run(options, gradients) for name, options in CASES.items()}
    compact_json.write(Path(__file__).with_suffix(".json"),
                       {"start": START, "gradients": gradients, "cases": cases})


main()
