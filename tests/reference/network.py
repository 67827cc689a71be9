"""Makes network.json: losses, gradients and predictions of small networks, by PyTorch in double.

    /usr/bin/python3 tests/reference/network.py         (needs python3-numpy, python3-torch)

Content: `features` (6 x 5), `classes` (6), `binary_classes` (6), `targets` (6 x 3),
`positive_targets` (6 x 3), `parameters` of a 5-4-3 and `binary_parameters` of a 5-4-1 network
(layers.N.weight [out, in], layers.N.bias [out]) and `cases`: hidden activation, loss, its `link` if
it is the binary cross-entropy, `scores` (6 x 3 or 6 x 1, the raw outputs), `predictions`,
`loss_sum` and `gradients`. Losses and gradients are sums over the six samples; a sample's
regression loss is the mean over its three outputs. Inputs and parameters are multiples of 1/64:
exact in float32.
"""

import math
from pathlib import Path

import compact_json
import torch
from torch.nn import functional

ACTIVATIONS = {"identity": lambda x: x, "relu": torch.relu, "tanh": torch.tanh,
               "sigmoid": torch.sigmoid, "leaky-relu": functional.leaky_relu,
               "elu": functional.elu, "gelu": functional.gelu, "silu": functional.silu,
               "softplus": functional.softplus}
LINKS = {
    "sigmoid": torch.sigmoid,
    "tanh": lambda z: (1 + torch.tanh(z)) / 2,
    "probit": torch.special.ndtr,
    "arctan": lambda z: 0.5 + torch.atan(math.pi / 2 * z) / math.pi,
    "gudermannian": lambda z: 2 / math.pi * torch.atan(torch.exp(math.pi / 2 * z)),
    "algebraic": lambda z: (1 + z / torch.sqrt(1 + z * z)) / 2,
    "softsign": lambda z: (1 + functional.softsign(z)) / 2,
}
REGRESSIONS = ("squared", "absolute", "huber", "poisson", "gamma")
HINGES = ("hinge", "squared-hinge")
HUBER_THRESHOLD = 0.75
CLASSES = [0, 2, 1, 1, 0, 2]
BINARY_CLASSES = [0, 1, 1, 0, 1, 0]


def grid(rows, columns, first, second):
    """A table of multiples of 1/64 in (-1, 1) that looks arbitrary and has no symmetry."""
    return [[((first * row + second * column + 29 * row * column + 17) % 127 - 63) / 64
             for column in range(columns)] for row in range(rows)]


FEATURES = grid(6, 5, 41, 53)
TARGETS = grid(6, 3, 71, 11)
POSITIVE_TARGETS = [[value + 65 / 64 for value in row] for row in TARGETS]


def parameters(outputs):
    return {"layers.0.weight": grid(4, 5, 31, 67), "layers.0.bias": grid(1, 4, 0, 47)[0],
            "layers.1.weight": grid(outputs, 4, 59, 23), "layers.1.bias": grid(1, outputs, 0, 83)[0]}


def tensor(values, **options):
    return torch.tensor(values, dtype=torch.float64, **options)


def elements(loss, scores):
    """A regression's losses, one for each output."""
    targets = tensor(TARGETS)
    if loss == "squared":
        return (scores - targets) ** 2
    if loss == "absolute":
        return functional.l1_loss(scores, targets, reduction="none")
    if loss == "huber":
        return functional.huber_loss(scores, targets, reduction="none", delta=HUBER_THRESHOLD)
    y, mean = tensor(POSITIVE_TARGETS), torch.exp(scores)
    if loss == "poisson":
        return 2 * (y * torch.log(y / mean) - y + mean)
    return 2 * (y / mean - torch.log(y / mean) - 1)


def loss_sum(loss, link, scores):
    if loss in REGRESSIONS:
        return elements(loss, scores).mean(dim=1).sum()
    if loss == "categorical-cross-entropy":
        return functional.cross_entropy(scores, torch.tensor(CLASSES), reduction="sum")
    labels = tensor(BINARY_CLASSES)
    if loss == "binary-cross-entropy":
        return functional.binary_cross_entropy(LINKS[link](scores[:, 0]), labels, reduction="sum")
    gap = torch.relu(1 - (2 * labels - 1) * scores[:, 0])
    return gap.sum() if loss == "hinge" else (gap ** 2).sum()


def predictions(loss, link, scores):
    if loss == "categorical-cross-entropy":
        return torch.softmax(scores, dim=1)
    if loss == "binary-cross-entropy":
        return torch.cat([LINKS[link](-scores), LINKS[link](scores)], dim=1)
    if loss in HINGES:
        return torch.cat([-scores, scores], dim=1)
    return torch.exp(scores) if loss in ("poisson", "gamma") else scores


def case(activation, loss, link=None):
    outputs = 1 if link or loss in HINGES else 3
    weights = {name: tensor(value, requires_grad=True) for name, value in parameters(outputs).items()}
    before = tensor(FEATURES) @ weights["layers.0.weight"].T + weights["layers.0.bias"]
    # Near the kink of relu, rounding in float32 could decide the gradient.
    assert before.abs().min() > 0.01, before
    hidden = ACTIVATIONS[activation](before)
    scores = hidden @ weights["layers.1.weight"].T + weights["layers.1.bias"]
    total = loss_sum(loss, link, scores)
    total.backward()
    return {"activation": activation, "loss": loss, "link": link, "scores": scores.tolist(),
            "predictions": predictions(loss, link, scores).tolist(), "loss_sum": total.item(),
            "gradients": {name: value.grad.tolist() for name, value in weights.items()}}


def main():
    torch.set_num_threads(1)
    cases = [case(activation, loss) for activation in ACTIVATIONS
             for loss in ("squared", "categorical-cross-entropy")]
    cases += [case("tanh", loss) for loss in REGRESSIONS[1:] + HINGES]
    cases += [case("tanh", "binary-cross-entropy", link) for link in LINKS]
    compact_json.write(Path(__file__).with_suffix(".json"),
                       {"features": FEATURES, "classes": CLASSES, "binary_classes": BINARY_CLASSES,
                        "targets": TARGETS, "positive_targets": POSITIVE_TARGETS,
                        "huber_threshold": HUBER_THRESHOLD, "parameters": parameters(3),
                        "binary_parameters": parameters(1), "cases": cases})


main()
