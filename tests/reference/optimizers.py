"""Makes optimizers.json: what PyTorch's optimizers do to eight parameters in 50 steps.

    /usr/bin/python3 tests/reference/optimizers.py      (needs python3-numpy, python3-torch)

Content: `start` (8), `gradients` (50 x 8, the gradient of each step) and, for each case, the
options in the words of a job file and the parameters after steps 1, 2, 3 and 50.
Element 5 never sees a gradient; elements 6 and 7 see very large and very small ones.
PyTorch computes in float32. Where its version 1.13 leaves the paper, the paper is written down in
NumPy, in float64: RAdam waits a step longer there (`radam_plain` never trusts its variance, so that
both agree), and NAdam multiplies the momentum's product by mu_t twice.
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
    "adamw": {"kind": "adamw", "learning_rate": 0.01},
    "adamw_strong_decay": {"kind": "adamw", "learning_rate": 0.05, "weight_decay": 0.5},
    "adamax": {"kind": "adamax", "learning_rate": 0.002},
    "nadam": {"kind": "nadam", "learning_rate": 0.002},
    "nadam_other_constants": {"kind": "nadam", "learning_rate": 0.02, "beta1": 0.6, "beta2": 0.9,
                              "epsilon": 0.001},
    "radam": {"kind": "radam", "learning_rate": 0.01},
    "radam_plain": {"kind": "radam", "learning_rate": 0.01, "beta2": 0.5},
    "adagrad": {"kind": "adagrad", "learning_rate": 0.01},
    "adadelta": {"kind": "adadelta"},
    "adadelta_other_constants": {"kind": "adadelta", "learning_rate": 0.5, "rho": 0.8,
                                 "epsilon": 0.01},
    "rmsprop": {"kind": "rmsprop", "learning_rate": 0.001},
    "rmsprop_other_constants": {"kind": "rmsprop", "learning_rate": 0.01, "rho": 0.99,
                                "epsilon": 0.01},
    "rprop": {"kind": "rprop", "learning_rate": 0.01},
}


def gradient(step, element):
    if SCALES[element] == 0:
        return 0.0
    whole = (37 * step + 101 * element * element + 13 * step * element) % 201 - 100
    return whole / SCALES[element]


def optimizer(parameters, options):
    def one(kind, **constants):
        return kind([parameters], lr=options.get("learning_rate", 1.0), foreach=False, **constants)

    library = torch.optim
    kind = options["kind"]
    betas = (options.get("beta1", 0.9), options.get("beta2", 0.999))
    epsilon = options.get("epsilon", 1e-8)
    if kind == "sgd":
        return one(library.SGD, momentum=options.get("momentum", 0),
                   nesterov=options.get("nesterov", False))
    if kind == "adamw":
        return one(library.AdamW, betas=betas, eps=epsilon,
                   weight_decay=options.get("weight_decay", 0.01))
    if kind == "adagrad":
        return one(library.Adagrad, eps=options.get("epsilon", 1e-10))
    if kind == "adadelta":
        return one(library.Adadelta, rho=options.get("rho", 0.95),
                   eps=options.get("epsilon", 1e-6))
    if kind == "rmsprop":
        return one(library.RMSprop, alpha=options.get("rho", 0.9), eps=epsilon)
    if kind == "rprop":
        return one(library.Rprop, etas=(0.5, 1.2), step_sizes=(1e-6, 50))
    kinds = {"adam": library.Adam, "adamax": library.Adamax, "radam": library.RAdam}
    return one(kinds[kind], betas=betas, eps=epsilon)


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


def constants_of(options):
    return (options["learning_rate"], options.get("beta1", 0.9), options.get("beta2", 0.999),
            options.get("epsilon", 1e-8))


def run_nadam(options, gradients):
    """Algorithm 8 of Dozat 2016, with the momentum schedule of its section on mu."""
    rate, beta1, beta2, epsilon = constants_of(options)
    p = numpy.array(START)
    m = numpy.zeros(8)
    v = numpy.zeros(8)
    product = 1.0
    after = {}
    for step, values in enumerate(gradients, start=1):
        g = numpy.array(values)
        mu, mu_next = (beta1 * (1 - 0.5 * 0.96 ** (0.004 * k)) for k in (step, step + 1))
        product *= mu
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        ahead = (1 - mu) * g / (1 - product) + mu_next * m / (1 - product * mu_next)
        p = p - rate * ahead / (numpy.sqrt(v / (1 - beta2 ** step)) + epsilon)
        if step in KEPT:
            after[str(step)] = p.astype(numpy.float32)
    return {"options": options, "after": after}


def run_radam(options, gradients):
    """Algorithm 2 of Liu et al. 2020, with epsilon beside the root of the second moment."""
    rate, beta1, beta2, epsilon = constants_of(options)
    longest = 2 / (1 - beta2) - 1
    p = numpy.array(START)
    m = numpy.zeros(8)
    v = numpy.zeros(8)
    after = {}
    for step, values in enumerate(gradients, start=1):
        g = numpy.array(values)
        v = beta2 * v + (1 - beta2) * g * g
        m = beta1 * m + (1 - beta1) * g
        corrected = m / (1 - beta1 ** step)
        length = longest - 2 * step * beta2 ** step / (1 - beta2 ** step)
        if length > 4:
            r = numpy.sqrt((length - 4) * (length - 2) * longest
                           / ((longest - 4) * (longest - 2) * length))
            p = p - rate * r * corrected * numpy.sqrt(1 - beta2 ** step) / (numpy.sqrt(v) + epsilon)
        else:
            p = p - rate * corrected
        if step in KEPT:
            after[str(step)] = p.astype(numpy.float32)
    return {"options": options, "after": after}


def main():
    torch.set_num_threads(1)
    gradients = [[gradient(step, element) for element in range(8)] for step in range(STEPS)]
    by_hand = {"nadam": run_nadam, "nadam_other_constants": run_nadam, "radam": run_radam}
    cases = {name: by_hand.get(name, run)(options, gradients) for name, options in CASES.items()}
    compact_json.write(Path(__file__).with_suffix(".json"),
                       {"start": START, "gradients": gradients, "cases": cases})


main()
