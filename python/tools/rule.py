"""Sweep rule: which trial of a search runs next, and which are given up.

A trial is a job of its own. All are judged at rungs: numbers of epochs, the last one the full length. A rung decides when all
its trials stand there, so what comes of a search depends on no order and no speed:

    rung 0: all trials --all there--> the best third goes on to rung 1 --all there--> .. --> the last rung
    (successive halving; Jamieson & Talwalkar 2016, with a factor of `keep_one_of`)

Without halving there is one rung. Equal losses go by the trial's number, and a trial without a loss (it failed or diverged)
comes after all that have one, and never goes on.
"""

import math


def divided_up(x, by):
    return (x + by - 1) // by


def halving_rungs(trials, epochs, keep_one_of):
    """Epochs for a full length of E: .., E/9, E/3, E, each rounded up; as many as leave one trial at the last, none below one
    epoch."""
    result = [epochs]
    while trials > 1 and result[0] > 1:
        result.insert(0, divided_up(result[0], keep_one_of))
        trials = divided_up(trials, keep_one_of)
    return result


class SweepRule:
    """States are waiting, running, standing (at its rung), dropped, done and failed. A loss is that of the rung where the trial
    stands, or was left; `reached` is the highest rung that the trial was to reach."""

    def __init__(self, trials, rungs, keep_one_of):
        self.rungs, self.keep_one_of, self.rung = rungs, keep_one_of, 0
        self.states = ["waiting"] * trials
        self.losses = [None] * trials
        self.reached = [0] * trials

    def epochs(self):
        """Of the rung under way."""
        return self.rungs[self.rung]

    def next(self):
        """The waiting trial of the lowest number, to be trained up to `epochs()`; None: none may start now."""
        return self.states.index("waiting") if "waiting" in self.states else None

    def on_started(self, trial):
        self.states[trial] = "running"

    def on_stopped(self, trial):
        """It was stopped on its way."""
        self.states[trial] = "waiting"

    def on_reached(self, trial, loss):
        """It stands at the rung; None, or what is not finite: it has no loss."""
        self.losses[trial] = loss if loss is not None and math.isfinite(loss) else None
        self.states[trial] = "standing"
        self.decide()

    def on_failed(self, trial):
        self.losses[trial] = None
        self.states[trial] = "failed"
        self.decide()

    def is_finished(self):
        return "waiting" not in self.states and "running" not in self.states

    def decide(self):
        """When no trial of the rung waits or runs any more."""
        if not self.is_finished():
            return
        good = [trial for trial in self.ranking() if self.states[trial] == "standing"]
        is_last = self.rung + 1 == len(self.rungs)
        kept = divided_up(self.reached.count(self.rung), self.keep_one_of)
        for place, trial in enumerate(good):
            goes_on = place < kept and self.losses[trial] is not None
            self.states[trial] = "done" if is_last else "waiting" if goes_on else "dropped"
            if not is_last and goes_on:
                self.reached[trial] = self.rung + 1
        if not self.is_finished():
            self.rung += 1

    def ranking(self):
        """The best first: by the rung reached, then by loss."""
        return sorted(range(len(self.states)), key=lambda trial: (self.losses[trial] is None, -self.reached[trial],
                                                                  self.losses[trial] or 0.0))
