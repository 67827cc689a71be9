"""The laws of scripts/check-laws on more than one file or line: the shape of the house.

    cycles    components do not include each other in a circle; one is x.hpp with x.cpp, and with
              x_part.cpp where that has no header of its own
    methods   of a class: at most 30, over all its sources
    members   of a class: at most 20
    folders   have at most 30 files, those in their subfolders not counted
    actors    know each other by protocol/ only: the header of an actor is for its own component, and
              for the code that spawns it

What does not keep them yet stands in scripts/house-debts.toml with its present figure, which may only
shrink.
"""

import re
import tomllib
from collections import defaultdict
from pathlib import Path

from class_figures import figures_of

PRODUCT_ROOMS = ("models", "data", "coordinators", "actors", "app")
FOLDERS = (*PRODUCT_ROOMS, "tests")
METHODS_MAX = 30
MEMBERS_MAX = 20
FILES_MAX = 30
SPAWNING = ("actors/run/process", "actors/run/company", "actors/run/train",
            "actors/net/process/networked_process",
            "actors/net/collective/networked_collective", "actors/net/names/networked_names")
DEBTS = Path("scripts/house-debts.toml")

INCLUDE = re.compile(r'^#include "([^"\n]+)"', re.MULTILINE)
BEHAVIOR = re.compile(r"\b(?:behavior_type|make_behavior)\b")


def house_problems(root, sources):
    """Yields (path, line, what, replacement). `sources` has the code of each file of the product
    rooms, by path, without comments and texts but for the names of includes."""
    house = components(sources)
    yield from law_of_cycles(house)
    text = (root / DEBTS).read_text(encoding="utf-8") if (root / DEBTS).is_file() else ""
    for table, law in {"methods": law_of_methods(sources), "members": law_of_members(sources),
                       "folders": law_of_folders(root), "actors": law_of_actors(house)}.items():
        yield from against_debts(table, text, law)


# ---- Debts --------------------------------------------------------------------------------------


def against_debts(table, text, law):
    """The law yields (name, figure, most, path, line, what, replacement) of all above the most."""
    debts = tomllib.loads(text).get(table, {})
    above = set()
    for name, figure, most, path, line, what, replacement in law:
        above.add(name)
        debt = debts.get(name)
        if debt is None:
            yield path, line, f"{what}, more than {most}", replacement
        elif figure > debt:
            yield path, line, f"{what}, more than the {debt} of its debt", replacement
        elif figure < debt:
            yield DEBTS, line_of(name, text), f"{name} has {figure} {table} by now", (
                f"write {figure} for {debt}")
    for name in debts.keys() - above:
        yield DEBTS, line_of(name, text), f"{name} keeps the law of {table}, or is gone", (
            "remove the line")


def line_of(name, text):
    start = re.search(rf'^"?{re.escape(name)}"? *=', text, re.MULTILINE).start()
    return text.count("\n", 0, start) + 1


# ---- Components ---------------------------------------------------------------------------------


class components:
    def __init__(self, sources):
        self.sources = sources
        self.headers = {path.with_suffix("").as_posix() for path in sources
                        if path.suffix == ".hpp"}
        self.edges = defaultdict(dict) # component -> component: (path, line) of an include
        for path, line, name in self.includes():
            if self.of(path) != self.of(Path(name)):
                self.edges[self.of(path)].setdefault(self.of(Path(name)), (path, line))

    def of(self, path):
        """Its own name, or the longest beginning of it that a header beside it has."""
        own = name = path.with_suffix("").as_posix()
        while name not in self.headers and "_" in name.rpartition("/")[2]:
            name = name.rpartition("_")[0]
        return name if name in self.headers else own

    def includes(self):
        """(path, line, name)"""
        for path, code in self.sources.items():
            for match in INCLUDE.finditer(code):
                yield path, code.count("\n", 0, match.start()) + 1, match[1]

    def cycles(self):
        """The sets of components that reach each other, found in the order of Tarjan."""
        index, low, stack, result = {}, {}, [], []

        def visit(one):
            index[one] = low[one] = len(index)
            stack.append(one)
            for other in self.edges.get(one, ()):
                if other not in index:
                    visit(other)
                if other in stack:
                    low[one] = min(low[one], low[other])
            if low[one] == index[one]:
                cut = stack.index(one)
                result.append(set(stack[cut:]))
                del stack[cut:]

        for one in list(self.edges):
            if one not in index:
                visit(one)
        return [found for found in result if len(found) > 1]


# ---- The laws -----------------------------------------------------------------------------------


def law_of_cycles(house):
    for cycle in house.cycles():
        edges = sorted((*place, other) for one in cycle
                       for other, place in house.edges[one].items() if other in cycle)
        text = "; ".join(f"{path}:{line} -> {other}" for path, line, other in edges)
        yield *edges[0][:2], f"a cycle of components: {text}", (
            "move what both need into a component below them")


def widest(sources, which):
    """name -> (figure, path, line) of the widest class of that name."""
    result = {}
    for path, code in sources.items():
        for name, line, *figures in figures_of(code):
            result[name] = max(result.get(name, (-1,)), (figures[which], path, line))
    return result


def law_of_methods(sources):
    for name, (count, path, line) in widest(sources, 0).items():
        if count > METHODS_MAX:
            yield name, count, METHODS_MAX, path, line, f"{name} has {count} methods", (
                "give a part of it to a class of its own")


def law_of_members(sources):
    for name, (count, path, line) in widest(sources, 1).items():
        if count > MEMBERS_MAX:
            yield name, count, MEMBERS_MAX, path, line, f"{name} has {count} data members", (
                "give those that belong together a class of their own")


def law_of_folders(root):
    for folder in FOLDERS:
        for place in sorted([root / folder, *(root / folder).rglob("*")]):
            if place.name == "__pycache__" or not place.is_dir():
                continue
            count = sum(file.is_file() for file in place.iterdir())
            name = place.relative_to(root)
            if count > FILES_MAX:
                yield name.as_posix(), count, FILES_MAX, name, 1, f"{count} files", (
                    "sort them into subfolders by what they are about")


def law_of_actors(house):
    actors = {house.of(path) for path, code in house.sources.items()
              if path.parts[0] == "actors" and path.suffix == ".hpp"
              and "protocol" not in path.parts and BEHAVIOR.search(code)}
    found = defaultdict(list)
    for path, line, name in house.includes():
        includer, included = house.of(path), house.of(Path(name))
        if path.parts[0] == "actors" and included in actors and included != includer and (
                includer not in SPAWNING):
            found[includer].append((path, line, included))
    for includer, edges in found.items():
        path, line, _ = edges[0]
        names = ", ".join(sorted({included for *_, included in edges}))
        yield includer, len(edges), 0, path, line, (
            f"{includer} includes {len(edges)} headers of actors ({names})"), (
            "include their protocol, and let spawning code make them")
