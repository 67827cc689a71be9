"""Makes whole_vector_optimizers.json: rules that need the whole gradient at once.

    /usr/bin/python3 tests/reference/whole_vector_optimizers.py    (needs python3-numpy, python3-torch)

`adafactor`: the paper's algorithms 4 to 6 (Shazeer & Stern 2018) written down in NumPy, in float64,
on a 3 x 4 matrix and a vector of 3; `gradients` (50 x 15) and the parameters after some steps.
`lbfgs`: PyTorch's LBFGS without a line search, in float64, on f(x) = sum(c (x - b)^2) / 2 +
sum(log(1 + exp(x))), whose gradient is c (x - b) + 1 / (1 + exp(-x)); the parameters after each step.
"""

from pathlib import Path

import compact_json
import numpy
import torch

STEPS = 50
KEPT = (1, 2, 3, 50)
START = [0.5, -0.25, 1.0, -2.0, 0.125, 0.75, 3.0, -0.01, 0.3, -0.6, 0.9, -1.2, 0.0, 0.5, -0.5]
CURVES = [1.0, 2.0, 5.0, 0.5, 10.0, 3.0]
CENTRES = [1.0, -1.0, 0.5, 2.0, -0.25, 0.0]


def gradient(step, element):
    whole = (37 * step + 101 * element * element + 13 * step * element) % 201 - 100
    return whole / 100


def rms(values):
    return numpy.sqrt(numpy.mean(values * values))


def adafactor_step(x, g, state, step):
    decay = 1 - step ** -0.8
    squares = g * g + 1e-30
    if x.ndim == 1:
        state["v"] = decay * state.get("v", 0) + (1 - decay) * squares
        v = state["v"]
    else:
        state["r"] = decay * state.get("r", 0) + (1 - decay) * squares.sum(axis=1)
        state["c"] = decay * state.get("c", 0) + (1 - decay) * squares.sum(axis=0)
        v = numpy.outer(state["r"], state["c"]) / state["r"].sum()
    u = g / numpy.sqrt(v)
    u = u / max(1.0, rms(u))
    return x - max(1e-3, rms(x)) * min(1e-2, 1 / numpy.sqrt(step)) * u


def run_adafactor(gradients):
    tensors = [numpy.array(START[:12]).reshape(3, 4), numpy.array(START[12:])]
    states = [{}, {}]
    after = {}
    for step, values in enumerate(gradients, start=1):
        parts = [numpy.array(values[:12]).reshape(3, 4), numpy.array(values[12:])]
        tensors = [adafactor_step(x, g, state, step)
                   for x, g, state in zip(tensors, parts, states)]
        if step in KEPT:
            after[str(step)] = numpy.concatenate([x.ravel() for x in tensors])
    return {"start": START, "gradients": gradients, "after": after}


def run_lbfgs(rate, history_size, steps):
    x = torch.nn.Parameter(torch.tensor(START[:6], dtype=torch.float64))
    curves = torch.tensor(CURVES, dtype=torch.float64)
    centres = torch.tensor(CENTRES, dtype=torch.float64)
    rule = torch.optim.LBFGS([x], lr=rate, max_iter=1, history_size=history_size,
                             tolerance_grad=0, tolerance_change=0)

    def closure():
        rule.zero_grad()
        loss = (curves * (x - centres) ** 2).sum() / 2 + torch.nn.functional.softplus(x).sum()
        loss.backward()
        return loss

    after = []
    for _ in range(steps):
        rule.step(closure)
        after.append(x.detach().numpy().tolist())
    return {"learning_rate": rate, "history_size": history_size, "after": after}


def main():
    torch.set_num_threads(1)
    gradients = [[gradient(step, element) for element in range(15)] for step in range(STEPS)]
    lbfgs = {"start": START[:6], "curves": CURVES, "centres": CENTRES,
             "cases": [run_lbfgs(1.0, 10, 10), run_lbfgs(0.5, 3, 12)]}
    compact_json.write(Path(__file__).with_suffix(".json"),
                       {"adafactor": run_adafactor(gradients), "lbfgs": lbfgs})


main()
