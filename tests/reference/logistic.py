"""Makes logistic.json: coefficients of logistic regressions, by Newton's method in double.

    /usr/bin/python3 tests/reference/logistic.py         (needs python3-numpy)

Content: `cases`, each with `name`, `features` (N x F, float32), `labels` (N), `weight` (F) and `bias`
of the greatest likelihood, and the mean `loss` there. The first case is iris, species 1 against 2,
standardised (divisor N); the second is made from a rule with noise, so that no line separates it.
"""

from pathlib import Path

import compact_json
import numpy

HERE = Path(__file__)
IRIS = HERE.parents[2] / "examples" / "data" / "iris.csv"


def newton(features, labels):
    """Weight and bias where the gradient of the mean loss is 0 to double's accuracy."""
    x = numpy.hstack([features.astype(float), numpy.ones((len(features), 1))])
    theta = numpy.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + numpy.exp(-x @ theta))
        step = numpy.linalg.solve((x.T * (p * (1 - p))) @ x, x.T @ (p - labels))
        theta -= step
        if abs(step).max() < 1e-13:
            break
    else:
        raise RuntimeError("Newton's method does not converge")
    p = 1 / (1 + numpy.exp(-x @ theta))
    loss = -numpy.log(numpy.where(labels == 1, p, 1 - p)).mean()
    return theta[:-1], theta[-1], loss


def case(name, features, labels):
    weight, bias, loss = newton(features, labels)
    return {"name": name, "features": features, "labels": labels.tolist(),
            "weight": weight.tolist(), "bias": float(bias), "loss": float(loss)}


def iris():
    table = numpy.loadtxt(IRIS, delimiter=",", skiprows=1)
    table = table[table[:, -1] > 0]
    features = table[:, :-1]
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    return case("iris", features.astype(numpy.float32), (table[:, -1] == 2).astype(int))


def synthetic():
    random = numpy.random.default_rng(7)
    features = random.normal(size=(120, 3)).astype(numpy.float32)
    scores = features @ [1.5, -2, 0.5] + 0.7
    labels = (random.uniform(size=120) < 1 / (1 + numpy.exp(-scores))).astype(int)
    return case("synthetic", features, labels)


compact_json.write(HERE.with_suffix(".json"), {"cases": [iris(), synthetic()]})
