#!/usr/bin/env python3
"""Prints the files below FOLDER that name one of the paths, and ends with 1 if there are any.

    tests/scripts/package/mentions.py FOLDER PATH...

A path is named where it stands whole: "/src" is named by "/src/models", not by "data/src_book.hpp".
"""

import os
import re
import sys

# Bytes that go on with a name, before the path or after it.
NAME = rb"[^\x00-\x1f \"'`,:;=()<>|/]"


def named(paths):
    """What finds a path that neither begins nor ends within a longer one; -I and -L may precede."""
    whole = b"|".join(re.escape(os.fsencode(path)) for path in paths)
    return re.compile(rb"(?:(?<!" + NAME + rb")|(?<=-[IL]))(?:" + whole + rb")(?!" + NAME + rb")")


def files_that_name(folder, paths):
    pattern = named(paths)
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    if pattern.search(file.read()):
                        yield path


if __name__ == "__main__":
    found = sorted(files_that_name(sys.argv[1], sys.argv[2:]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
