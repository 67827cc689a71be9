"""Makes plateau.json: where PyTorch's ReduceLROnPlateau lowers the rate.

    /usr/bin/python3 tests/reference/plateau.py       (needs python3-numpy, python3-torch)

Each case holds the options in the words of a job file, the losses of evaluations 1, 2, .. and `reductions`: the
numbers of those after which the rate was lower. PyTorch lowers it after *more* than its patience of bad
evaluations, Troupe after as many as its patience. Where there is a `minimum`, PyTorch's last reduction, which it cuts to
its min_lr, is not there: Troupe leaves it out.
"""

from pathlib import Path

import compact_json
import numpy
import torch
from torch.optim import lr_scheduler


def reductions(losses, patience, factor, tolerance, minimum=0.0):
    rule = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    plateau = lr_scheduler.ReduceLROnPlateau(rule, factor=factor, patience=patience - 1, threshold=tolerance,
                                             threshold_mode="abs", eps=0, min_lr=minimum)
    found = []
    for number, loss in enumerate(losses, 1):
        before = rule.param_groups[0]["lr"]
        plateau.step(loss)
        after = rule.param_groups[0]["lr"]
        if after < before and after == before * factor:
            found.append(number)
    return found


def main():
    random = numpy.random.default_rng(11)
    cases = []
    for patience in (1, 2, 5):
        for tolerance in (0.0, 0.05):
            for falling in (0.0, 0.02):
                noise = random.normal(size=40) * 0.1
                losses = [float(2 - falling * i + noise[i]) for i in range(40)]
                cases.append({"patience": patience, "factor": 0.5, "tolerance": tolerance, "losses": losses,
                              "reductions": reductions(losses, patience, 0.5, tolerance)})
    for factor, minimum in ((0.1, 0.05), (0.5, 0.3), (0.5, 0.25), (0.4, 0.03)):
        losses = cases[0]["losses"]
        cases.append({"patience": 2, "factor": factor, "tolerance": 0.0, "minimum": minimum, "losses": losses,
                      "reductions": reductions(losses, 2, factor, 0.0, minimum)})
    compact_json.write(Path(__file__).with_name("plateau.json"), cases)


if __name__ == "__main__":
    main()
