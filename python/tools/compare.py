"""`troupe compare`: what differs between runs: their jobs, their figures, and from which version on their bits.

Bits are compared by what the folders hold of one and the same version: the SHA-256 of the result, the content of checkpoints, the
hash of each row's version and, where a row has none, its figures, which are functions of the parameters down to their last bit.
What differs in any of these differs; equal figures are strong evidence, but no proof."""

import math
import os
import struct
from dataclasses import dataclass

from curves import curves_svg
from records import FIGURES, Command, all_figures, row_of_result, text_of
from terminal import Failure, number_text, one_line, print_result

# Names and places of runs differ because they are several.
NAMES_OF_RUNS = ("job.name", "output.directory", "checkpoint.directory")

# By what two versions were compared; the last is the words for people.
EVIDENCE = {"figures": "the figures", "state-hash": "the hash of the optimizer's state (the parameters are equal)",
            "hash": "the hash of the parameters", "checkpoint": "the checkpoints", "result": "the results"}


def run(options, told):
    output = options.get("output", [""])[0]
    if output and not output.endswith(".svg"):
        raise Failure("usage", f"curves are written as .svg, not as '{output}'")
    command, runs = Command(options["troupe"][0]), []
    for folder, facts in zip(options["run"], command.runs(options["run"])):
        runs.append(command.read_run(folder))
        runs[-1].keys = facts["keys"]
        runs[-1].digests = {int(version): digest for version, digest in facts["digests"].items()}
        runs[-1].identity = text_of(os.path.join(folder, "identity.txt"))
    differences, bits = differences_of(runs), [bits_of(runs[0], other) for other in runs[1:]]
    if output:
        command.write_file(output, curves_svg([(x.name, x.history) for x in runs]))
    print_result(one_line(comparison_object(runs, differences, bits)) if "json" in options
                 else comparison_text(runs, differences, bits))
    return 0


# ---- What differs in the jobs: (key, values by run as TOML or None, whether it changes bits) ----


def lines_by_key(identity):
    """A key may have several lines."""
    result = {}
    for line in filter(None, identity.split("\n")):
        key, _, value = line.partition(" = ")
        result.setdefault(key, []).append(value)
    return result


def keys_that_differ(a, b):
    left, right = lines_by_key(a.identity), lines_by_key(b.identity)
    return sorted(key for key in {*left, *right} if left.get(key) != right.get(key))


def differences_of(runs):
    of_identity = {key for other in runs[1:] for key in keys_that_differ(runs[0], other)}
    result = []
    for key in runs[0].keys:
        values = [x.keys[key] for x in runs]
        # What a run that is not finished leaves unset may be decided at its start: that is no difference.
        decided = {value for x, value in zip(runs, values) if value is not None or x.summary}
        if key not in NAMES_OF_RUNS and len(decided) > 1:
            result.append((key, [value or None for value in values], key in of_identity))
            of_identity.discard(key)
    for key in sorted(of_identity):  # such as the content of the data
        result.append((key, ["; ".join(lines_by_key(x.identity).get(key, [])) or None for x in runs], True))
    for key, changes_bits in ("arithmetic", True), ("nodes", False):
        values = [str(x.summary[key]) if x.summary else "" for x in runs]
        if len({*values} - {""}) > 1:  # of runs that are not finished nothing is known
            result.append((key, [value or None for value in values], changes_bits))
    return result


# ---- What differs in the bits ----


@dataclass
class Bits:
    """Of a run and the first one. `state` is equal (the results are of one version and have one hash), equal-so-far (nothing that
    both runs have of one version differs), differ or unknown (they have nothing of one version)."""
    state: str = "unknown"
    equal_until: int = None  # the last version below `differ_from` that is equal
    differ_from: int = None  # the first one that is known to differ
    evidence: str = None  # for the last of these two
    reason: str = None  # why they differ, as far as that can be known


def is_same(a, b):
    return a is None or b is None or struct.pack("d", a) == struct.pack("d", b) or (a != a and b != b)


def compare_rows(a, b, since_same_row):
    """(evidence, whether it is equal). Means over the steps since the row before are of the same steps only where that is the
    same."""
    if not a["hash"] or not b["hash"]:
        names = [name for name, tag, more_is_better in FIGURES
                 if more_is_better is not None and (since_same_row or not tag.endswith("/train"))]
        return "figures", all(is_same(a[name], b[name]) for name in names)
    if a["hash"][0] != b["hash"][0]:
        return "hash", False
    return ("hash", True) if a["hash"] == b["hash"] else ("state-hash", False)


def evidences_of(a, b):
    """(version, evidence, whether it is equal), the versions rising."""
    result = []
    before_a = before_b = place = 0
    for row in a.history:
        while place < len(b.history) and b.history[place]["steps"] < row["steps"]:
            before_b, place = b.history[place]["steps"], place + 1
        if place < len(b.history) and b.history[place]["steps"] == row["steps"]:
            result.append((row["steps"], *compare_rows(row, b.history[place], before_a == before_b)))
        before_a = row["steps"]
    result += ((version, "checkpoint", digest == b.digests[version])
               for version, digest in sorted(a.digests.items()) if version in b.digests)
    if a.summary and b.summary and a.summary["steps"] == b.summary["steps"]:
        result.append((a.summary["steps"], "result", a.summary["parameters_sha256"] == b.summary["parameters_sha256"]))
    return sorted(result, key=lambda x: x[0])


def reason_for(a, b):
    keys = keys_that_differ(a, b)
    if keys:
        return "the jobs differ in " + ", ".join(keys)
    if any(x.summary and not x.summary["reproducible"] for x in (a, b)):
        return "this mode is not reproducible: what is applied depends on who comes first"
    if not a.summary or not b.summary:
        return "the jobs are the same; the arithmetic is known once both runs are finished"
    arithmetics = [x.summary["arithmetic"] for x in (a, b)]
    if arithmetics[0] != arithmetics[1]:
        return f"the jobs are the same; the arithmetic differs ({' / '.join(arithmetics)})"
    return ("nothing that may change bits differs: if both runs are of one version of Troupe this is a "
            "defect; please report both folders")


def bits_of(a, b):
    result, found = Bits(), evidences_of(a, b)
    first = next((x for x in found if not x[2]), None)
    for version, evidence, _ in found:
        if first is None or version < first[0]:
            result.state, result.equal_until, result.evidence = "equal-so-far", version, evidence
    if first is not None:
        result.state, result.differ_from, result.evidence, result.reason = "differ", first[0], first[1], reason_for(a, b)
    elif any(evidence == "result" for _, evidence, _ in found):
        result.state = "equal"
    return result


# ---- Reports ----


def run_object(x, figures):
    row, end = row_of_result(x) or {}, x.summary
    def told(key, of_row=None):
        return end[key] if end else row.get(of_row)
    result = {"run": x.name, "finished": end is not None, "stopped_by": told("stopped_by"), "steps": told("steps", "steps"),
              "epochs": told("epochs", "epoch"), "samples_per_second": told("samples_per_second")}
    for name, _, _ in figures:
        value = row.get(name)
        result[name] = value if value is not None and math.isfinite(value) else None
    if end:  # of the whole run, not only up to the row of its result
        result["seconds"] = end["seconds"]
    return {**result, **{key: told(key) for key in ("arithmetic", "reproducible", "parameters_sha256")}}


def objects_of(runs):
    figures = all_figures([row for row in map(row_of_result, runs) if row])
    return [run_object(x, figures) for x in runs], figures


def comparison_object(runs, differences, bits):
    """What is absent is null."""
    return {"runs": objects_of(runs)[0],
            "differences": [dict(zip(("key", "values", "changes_bits"), x)) for x in differences],
            "bits": [{"run": other.name, "against": runs[0].name, **vars(x)} for other, x in zip(runs[1:], bits)]}


def table_text(left_columns, rows):
    """The first columns are aligned to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "".join("  ".join(cell.ljust(width) if i < left_columns else cell.rjust(width)
                             for i, (cell, width) in enumerate(zip(row, widths))).rstrip(" ") + "\n" for row in rows)


def figure_text(x):
    """Six significant digits, a whole number in full."""
    if isinstance(x, float):
        return f"{x:.6g}"
    return "-" if x is None else x if isinstance(x, str) else number_text(x)


def figures_table(runs):
    """The best of a figure is marked, where not all have the same."""
    objects, figures = objects_of(runs)
    rows = [["run", *(x.name for x in runs)],
            ["state", *("finished" if x["finished"] else "not finished" for x in objects)]]
    for name, more_is_better in [*((name, None) for name in ("stopped_by", "epochs", "steps", "samples_per_second")),
                                 *((name, more_is_better) for name, _, more_is_better in figures)]:
        values = [x[name] for x in objects]
        known = [value for value in values if value is not None]
        best = None
        if more_is_better is not None and known and min(known) != max(known):
            best = max(known) if more_is_better else min(known)
        cells = [figure_text(value) + ("*" if best is not None and value == best else "") for value in values]
        if any(cell != "-" for cell in cells):
            rows.append([name, *cells])
    return table_text(1, rows)


def differences_table(runs, differences):
    if not differences:
        return "the jobs are the same\n"
    rows = [["what differs", *(x.name for x in runs), "changes bits"]]
    rows += ([key, *(value or "-" for value in values), "yes" if changes_bits else "no"]
             for key, values, changes_bits in differences)
    return table_text(len(rows[0]), rows)


def step_text(version, run):
    """ "step 469 (epoch 1)". """
    return f"step {version}" + "".join(f" (epoch {row['epoch']})" for row in run.history if row["steps"] == version)


def sentence_of(x, first):
    until = "" if x.equal_until is None else f"nothing differs up to {step_text(x.equal_until, first)}"
    if x.state == "equal":
        return "equal: the results have one hash"
    if x.state == "equal-so-far":
        return f"{until}, by {x.evidence}"
    if x.state == "unknown":
        return "unknown: the folders hold nothing of one and the same step"
    return (until + ("; " if until else "") + f"different from {step_text(x.differ_from, first)} at the latest, "
            f"by {EVIDENCE[x.evidence]}: {x.reason}")


def comparison_text(runs, differences, bits):
    sentences = (f"bits of {other.name} and {runs[0].name}: {sentence_of(x, runs[0])}\n" for other, x in zip(runs[1:], bits))
    return "\n".join([figures_table(runs), differences_table(runs, differences), "".join(sentences)])
