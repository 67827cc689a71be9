"""Makes schedules.json: PyTorch's learning-rate factors for steps 0 to 20, in double.

    /usr/bin/python3 tests/reference/schedules.py       (needs python3-numpy, python3-torch)

Each case holds the options in the words of a job file and `factors`. PyTorch computes a factor
from the one before, Troupe from the step's number: compare with a relative error of 1e-12.
PyTorch's cosine climbs again after its last step; Troupe's stays at the minimum, so the cases here
end there or go on by hand with the minimum (`cosine_that_ends`).
"""

import math
from pathlib import Path

import compact_json
import torch
from torch.optim import lr_scheduler

COUNT = 21


def factors(make, count=COUNT):
    """The rates of `count` steps of an optimizer whose base rate is 1."""
    rule = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = make(rule)
    rates = []
    for _ in range(count):
        rates.append(float(rule.param_groups[0]["lr"]))
        rule.step()
        schedule.step()
    return rates


def warmup(rule):
    return lr_scheduler.LinearLR(rule, start_factor=0.1, end_factor=1.0, total_iters=5)


CONSTANT = {"kind": "constant"}
STEP = {"kind": "step", "steps": 4, "factor": 0.5}
COSINE = {"kind": "cosine", "steps": 20, "minimum": 0.05}
SHORT_COSINE = {"kind": "cosine", "steps": 8, "minimum": 0.25}
WARMUP = {"kind": "warmup", "steps": 5, "start": 0.1}
WARMUP_STEP = dict(WARMUP, then=STEP)
MULTI_STEP = {"kind": "multi-step", "milestones": [3, 4, 11], "factor": 0.5}
LINEAR = {"kind": "linear", "steps": 7, "start": 0.25, "end": 0.75}
EXPONENTIAL = {"kind": "exponential", "factor": 0.9}
SLOW_EXPONENTIAL = {"kind": "exponential", "factor": 0.9, "steps": 7}
INVERSE_TIME = {"kind": "inverse-time", "steps": 5}
INVERSE_ROOT = {"kind": "inverse-square-root", "steps": 5}
POLYNOMIAL = {"kind": "polynomial", "steps": 15, "power": 2.5}
LINE_DOWN = {"kind": "polynomial", "steps": 10, "minimum": 0.2}
CHAINED = {"kind": "chained", "parts": [LINEAR, EXPONENTIAL, MULTI_STEP]}
SEQUENTIAL = {"kind": "sequential", "milestones": [4, 9], "parts": [LINEAR, EXPONENTIAL, STEP]}


def multi_step(rule):
    return lr_scheduler.MultiStepLR(rule, [3, 4, 11], gamma=0.5)


def linear(rule):
    return lr_scheduler.LinearLR(rule, start_factor=0.25, end_factor=0.75, total_iters=7)


def exponential(rule):
    return lr_scheduler.ExponentialLR(rule, gamma=0.9)


def polynomial(rule):
    return lr_scheduler.PolynomialLR(rule, total_iters=15, power=2.5)


def by_formula(formula):
    return factors(lambda rule: lr_scheduler.LambdaLR(rule, formula))


def chained(rule):
    return lr_scheduler.ChainedScheduler([linear(rule), exponential(rule), multi_step(rule)])


def new_cases():
    yield MULTI_STEP, "multi_step", factors(multi_step)
    yield LINEAR, "linear", factors(linear)
    yield EXPONENTIAL, "exponential", factors(exponential)
    yield SLOW_EXPONENTIAL, "exponential_slow", by_formula(lambda t: 0.9 ** (t / 7))
    yield INVERSE_TIME, "inverse_time", by_formula(lambda t: 5 / (5 + t))
    yield INVERSE_ROOT, "inverse_square_root", by_formula(lambda t: math.sqrt(5 / (5 + t)))
    yield POLYNOMIAL, "polynomial", factors(polynomial)
    yield LINE_DOWN, "line_down", by_formula(lambda t: 0.2 + 0.8 * (1 - min(t, 10) / 10))
    yield CHAINED, "chained", factors(chained)
    # One after the other, each from its own first step: PyTorch's SequentialLR does the same, but
    # in some versions starts with the rates its parts have multiplied while they were made.
    parts = factors(linear, 4) + factors(exponential, 5)
    parts += factors(lambda rule: lr_scheduler.StepLR(rule, 4, gamma=0.5), COUNT - len(parts))
    yield SEQUENTIAL, "sequential", parts


def cases():
    yield CONSTANT, "constant", factors(lambda rule: lr_scheduler.LambdaLR(rule, lambda _: 1.0))
    yield STEP, "step", factors(lambda rule: lr_scheduler.StepLR(rule, 4, gamma=0.5))
    yield COSINE, "cosine", factors(
        lambda rule: lr_scheduler.CosineAnnealingLR(rule, 20, eta_min=0.05))
    falling = factors(lambda rule: lr_scheduler.CosineAnnealingLR(rule, 8, eta_min=0.25), 9)
    yield SHORT_COSINE, "cosine_that_ends", falling + [0.25] * (COUNT - len(falling))
    yield WARMUP, "warmup", factors(warmup)
    # The second schedule counts from the end of the rise: the rates of one after the other.
    rise = factors(warmup, 5)
    rest = factors(lambda rule: lr_scheduler.StepLR(rule, 4, gamma=0.5), COUNT - 5)
    yield WARMUP_STEP, "warmup_then_step", rise + rest
    yield from new_cases()


def main():
    content = {name: {"options": options, "factors": rates} for options, name, rates in cases()}
    compact_json.write(Path(__file__).with_suffix(".json"), content)


main()
