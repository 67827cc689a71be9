#!/usr/bin/env python3
"""Writes the sources of the mutated simulation: a copy of each file that mutants.toml edits, in which
every edit takes effect when its mutant is in force, and the table of mutants.

    make_mutants.py ROOT OUT            writes OUT/<room>/<file> and OUT/table.cpp
    make_mutants.py ROOT OUT --list     prints the files it would write, separated by ;

Blanks and line breaks do not count. An edit whose text is not there exactly once makes its mutant stale: the build goes on without it, and
the test simulation_mutants names it. A file is written when it changed only, so little is compiled.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

TABLE = """// Written by make_mutants.py.
#include "tests/simulation/mutants/mutant.hpp"

namespace troupe::simulation {{

const std::vector<mutant>& mutants() {{
  static const std::vector<mutant> all{{
{rows}
  }};
  return all;
}}

}} // namespace troupe::simulation
"""
EXPECTATIONS = ("found", "rare", "unseen")
TRIALS = ("clients", "clusters", "federated", "home", "kept", "modes", "notice", "partitions", "privacy", "spans", "split", "tiles")


def read_mutants(path):
    mutants = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    names = [x["name"] for x in mutants]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"{path}: two mutants are called {name}")
    for x in mutants:
        if x.get("expect", "found") not in EXPECTATIONS:
            sys.exit(f"{path}: {x['name']}: expect is one of {', '.join(EXPECTATIONS)}")
        if x.get("of", "clusters") not in TRIALS:
            sys.exit(f"{path}: {x['name']}: of is one of {', '.join(TRIALS)}")
    return mutants


def files_of(mutants):
    return sorted({edit[0] for x in mutants for edit in x["edits"]})


def apply(mutants, sources):
    """Edits `sources`; returns why the mutant is stale, by name."""
    stale = {}
    for index, x in enumerate(mutants):
        edited = dict(sources)
        for file, old, new in x["edits"]:
            letters = [re.escape(letter) for letter in "".join(old.split())]
            indent = r"[ \t]*" if old[:1] == " " else ""
            places = list(re.finditer(indent + r"\s*".join(letters), edited[file]))
            if len(places) != 1:
                stale[x["name"]] = f"{file} has {len(places)} times: {old}"
                break
            edited[file] = (edited[file][:places[0].start()]
                            + new.replace("MUTANT", f"(::troupe::mutant_in_force == {index})")
                            + edited[file][places[0].end():])
        else:
            sources.update(edited)
    return stale


def table(mutants, stale):
    def row(x):
        words = [x["name"], x["what"], x.get("why", ""), stale.get(x["name"], "")]
        texts = ", ".join(json.dumps(word, ensure_ascii=False) for word in words)
        of = x.get("of", "clusters")
        return f"    {{{texts}, expectation::{x.get('expect', 'found')}, trial_kind::{of}}},"
    return TABLE.format(rows="\n".join(map(row, mutants)))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(root, out, *options):
    mutants = read_mutants(Path(__file__).with_name("mutants.toml"))
    files = files_of(mutants)
    if "--list" in options:
        print(";".join(files), end="")
        return
    sources = {file: (root / file).read_text(encoding="utf-8") for file in files}
    stale = apply(mutants, sources)
    first = '#include "tests/simulation/mutants/mutant_in_force.hpp"\n'
    for file, source in sources.items():
        write(out / file, first + source)
    write(out / "table.cpp", table(mutants, stale))
    for name, why in stale.items():
        print(f"warning: mutant {name} is stale: {why}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
