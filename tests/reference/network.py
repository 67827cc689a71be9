"""Makes network.json: losses, gradients and predictions of small 5-4-3 networks, by PyTorch in double.

    /usr/bin/python3 tests/reference/network.py         (needs python3-numpy, python3-torch)

Content: `features` (6 x 5), `classes` (6), `targets` (6 x 3), `parameters` (layers.N.weight
[out, in], layers.N.bias [out]) and `cases`: hidden activation, loss, `scores` (6 x 3, the raw
outputs), `predictions` (class probabilities for cross-entropy, else the scores), `loss_sum` and
`gradients`. Losses and gradients are sums over the six samples; a sample's squared loss is the
mean over its three outputs. Inputs and parameters are multiples of 1/64: exact in float32.
"""

from pathlib import Path

import compact_json
import torch

ACTIVATIONS = {"identity": lambda x: x, "relu": torch.relu, "tanh": torch.tanh,
               "sigmoid": torch.sigmoid}
LOSSES = ("squared", "categorical-cross-entropy")
CLASSES = [0, 2, 1, 1, 0, 2]


def grid(rows, columns, first, second):
    """A table of multiples of 1/64 in (-1, 1) that looks arbitrary and has no symmetry."""
    return [[((first * row + second * column + 29 * row * column + 17) % 127 - 63) / 64
             for column in range(columns)] for row in range(rows)]


FEATURES = grid(6, 5, 41, 53)
TARGETS = grid(6, 3, 71, 11)
PARAMETERS = {
    "layers.0.weight": grid(4, 5, 31, 67),
    "layers.0.bias": grid(1, 4, 0, 47)[0],
    "layers.1.weight": grid(3, 4, 59, 23),
    "layers.1.bias": grid(1, 3, 0, 83)[0],
}


def tensor(values, **options):
    return torch.tensor(values, dtype=torch.float64, **options)


def loss_sum(name, scores):
    if name == "squared":
        return ((scores - tensor(TARGETS)) ** 2).mean(dim=1).sum()
    return torch.nn.functional.cross_entropy(scores, torch.tensor(CLASSES), reduction="sum")


def case(activation, loss):
    weights = {name: tensor(value, requires_grad=True) for name, value in PARAMETERS.items()}
    before = tensor(FEATURES) @ weights["layers.0.weight"].T + weights["layers.0.bias"]
    # Near the kink of relu, rounding in float32 could decide the gradient.
    assert before.abs().min() > 0.01, before
    hidden = ACTIVATIONS[activation](before)
    scores = hidden @ weights["layers.1.weight"].T + weights["layers.1.bias"]
    total = loss_sum(loss, scores)
    total.backward()
    predictions = scores if loss == "squared" else torch.softmax(scores, dim=1)
    return {"activation": activation, "loss": loss, "scores": scores.tolist(),
            "predictions": predictions.tolist(), "loss_sum": total.item(),
            "gradients": {name: value.grad.tolist() for name, value in weights.items()}}


def main():
    torch.set_num_threads(1)
    cases = [case(activation, loss) for activation in ACTIVATIONS for loss in LOSSES]
    compact_json.write(Path(__file__).with_suffix(".json"),
                       {"features": FEATURES, "classes": CLASSES, "targets": TARGETS,
                        "parameters": PARAMETERS, "cases": cases})


main()
