"""The trials of a search: which values of which keys each has, in an order that follows from the command line alone.

    --grid a.b=1,2,3                    every value, with every value of the other grids
    --random a.b=1e-4..1e-1:log:8      eight draws; of several such keys each draw has a value of each

Draws are functions of (seed, key, draw). Bounds that are written as whole numbers give whole numbers. A trial is a list of
(key, value as TOML or text), in the order of the command line.
"""

import math
import re

from terminal import Failure

TRIALS_MAX = 10_000
FOLD_KEY = "data.fold"
TOO_MANY = f"that is more than {TRIALS_MAX} trials"
WHOLE = re.compile(r"-?\d+", re.ASCII)
NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def refusal(option, text, why):
    example = "learning_rate=0.1,0.01" if option == "--grid" else "learning_rate=1e-4..1e-1:log:8"
    return Failure("usage", f"{option} {text}: {why}", "", f"as {option} optimizer.{example}")


def split_key(option, text):
    key, _, rest = text.partition("=")
    if not key or not rest:
        raise refusal(option, text, "expected KEY=VALUES")
    return key, rest


def split_values(text, values):
    """At commas, but for those within brackets, braces and quotation marks."""
    result, depth, quote = [""], 0, ""
    for x in values:
        if quote:
            quote = "" if x == quote else quote
        elif x in "\"'":
            quote = x
        else:
            depth += (x in "[{") - (x in "]}")
        if x == "," and depth == 0 and not quote:
            result.append("")
        else:
            result[-1] += x
    if "" in result:
        raise refusal("--grid", text, "a value is empty")
    return result


class Draws:
    """What is drawn for one key. The numbers themselves draws the command, which has them from the models' generator."""

    def __init__(self, text):
        self.key, rest = split_key("--random", text)
        span, colon, count = rest.rpartition(":")
        if not (colon and count.isascii() and count.isdigit() and 1 <= int(count) <= TRIALS_MAX):
            raise refusal("--random", text, f"expected LOW..HIGH:COUNT, with 1 to {TRIALS_MAX} draws")
        self.count, self.is_log = int(count), span.endswith(":log")
        bounds = (span[:-4] if self.is_log else span).partition("..")[::2]
        low, high = (float(x) if NUMBER.fullmatch(x) else math.nan for x in bounds)
        if not low < high or not math.isfinite(low) or not math.isfinite(high):
            raise refusal("--random", text, "expected two numbers LOW..HIGH, the lower one first")
        if self.is_log and low <= 0:
            raise refusal("--random", text, "a logarithmic range is above zero")
        self.bounds = bounds
        self.is_whole = all(WHOLE.fullmatch(x) and -2 ** 63 <= int(x) < 2 ** 63 for x in bounds)


def sweep_trials(grids, randoms, draw):
    """Grids outermost first, draws innermost. `draw` is given Draws and gives texts."""
    result = [[]]
    for text in grids:
        key, rest = split_key("--grid", text)
        values = split_values(text, rest)
        if len(result) * len(values) > TRIALS_MAX:
            raise refusal("--grid", text, TOO_MANY)
        result = [[*before, (key, value)] for before in result for value in values]
    draws = []
    for text in randoms:
        draws.append(Draws(text))
        if draws[-1].count != draws[0].count:
            raise refusal("--random", text, f"all keys are drawn together, {draws[0].key} {draws[0].count} times")
    if not draws:
        return result
    if len(result) * draws[0].count > TRIALS_MAX:
        raise refusal("--random", randoms[0], TOO_MANY)
    drawn = list(zip(*([(x.key, text) for text in draw(x)] for x in draws)))
    return [[*before, *values] for before in result for values in drawn]


def with_folds(settings, folds):
    """Each setting once for each fold: trials s k .. s k + k - 1 of setting s and k folds."""
    if len(settings) > TRIALS_MAX // folds:
        raise Failure("usage", f"--folds: {TOO_MANY}", "", "try fewer values")
    if any(key == FOLD_KEY for setting in settings for key, _ in setting):
        raise Failure("usage", "--folds: a setting names data.fold too", "", "leave one of the two out")
    return [[*setting, (FOLD_KEY, str(fold))] for setting in settings for fold in range(folds)]


def without_fold(trial):
    return [(key, value) for key, value in trial if key != FOLD_KEY]
