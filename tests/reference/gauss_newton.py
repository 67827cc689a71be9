"""Makes gauss_newton.json: Gauss-Newton in double on targets and features of any size.

    /usr/bin/python3 tests/reference/gauss_newton.py     (needs python3-numpy)

`features` (N x F) and `targets` (N, around 1) belong to all cases. `network`: `start` are the
parameters of a network with one hidden layer of tanh (weight H x F, bias H, weight 1 x H, bias 1);
for each `scale` of the targets `shares` are the residual sums of squares, divided by the sum of
squares of the targets around their mean, before the first and after each of five steps with `damping`.
`linear`: the same for one step, undamped, of a linear model on features multiplied by `scale`.
"""

from pathlib import Path

import compact_json
import numpy

ROWS, FEATURES, HIDDEN, STEPS, DAMPING = 120, 3, 3, 5, 1.0


def scores_and_jacobian(x, theta):
    """Scores (N) and their derivatives (N x P) by all parameters."""
    w1, b1 = theta[:9].reshape(HIDDEN, FEATURES), theta[9:12]
    w2, b2 = theta[12:15], theta[15]
    h = numpy.tanh(x @ w1.T + b1)
    back = (1 - h * h) * w2
    jacobian = numpy.hstack([(back[:, :, None] * x[:, None, :]).reshape(len(x), -1), back, h,
                             numpy.ones((len(x), 1))])
    return h @ w2 + b2, jacobian


def linear(x, theta):
    return x @ theta[:-1] + theta[-1], numpy.hstack([x, numpy.ones((len(x), 1))])


def descend(function, x, y, theta, steps, damping):
    total = ((y - y.mean()) ** 2).sum()
    shares = []
    for _ in range(steps + 1):
        s, j = function(x, theta)
        r = s - y
        shares.append(float((r * r).sum() / total))
        # As a least squares problem, not by J^T J: no squared condition.
        whole = numpy.vstack([j, numpy.sqrt(damping) * numpy.eye(j.shape[1])])
        theta = theta - numpy.linalg.lstsq(whole, numpy.concatenate([r, 0 * theta]), rcond=None)[0]
    return shares


def main():
    random = numpy.random.default_rng(6)
    x = random.normal(size=(ROWS, FEATURES)).astype(numpy.float32)
    wide = x.astype(float)
    y = 1 + 0.3 * numpy.sin(2 * wide[:, 0]) + 0.2 * wide[:, 1] + 0.1 * random.normal(size=ROWS)
    y = y.astype(numpy.float32)
    start = (0.5 * random.normal(size=16)).astype(numpy.float32)
    networks = [{"scale": scale,
                 "shares": descend(scores_and_jacobian, wide, (y * numpy.float32(scale)).astype(float),
                                   start.astype(float), STEPS, DAMPING)}
                for scale in (1e3, 1e6, 8e6, 3e7, 1e8, 1e9)]
    linears = [{"scale": scale,
                "shares": descend(linear, (x * numpy.float32(scale)).astype(float), y.astype(float),
                                  numpy.zeros(FEATURES + 1) + 0.5, 1, 0)}
               for scale in (1.0, 1e5, 1e10)]
    compact_json.write(Path(__file__).with_suffix(".json"), {
        "features": list(x), "targets": y, "damping": DAMPING, "start": start,
        "network": networks, "linear": linears})


main()
