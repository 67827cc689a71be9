"""What the decoders' fuzzing build compiles (tests/fuzz.cmake) is all that they need: scripts/fuzz links.

    python3 tests/fuzz/sources_test.py SOURCE BUILD

That build takes clang and many minutes, so the objects of this one stand in for its: no name of the
library may be wanted by one of them and defined by none.
"""
import pathlib
import re
import subprocess
import sys


def listed_sources(source):
    text = (source / "tests/fuzz.cmake").read_text()
    part = text[text.index("file(GLOB_RECURSE"):text.index("# Distances of words")]
    for pattern in re.findall(r"\$\{PROJECT_SOURCE_DIR\}/(\S+)/\*\.cpp", part):
        yield from (x.relative_to(source) for x in (source / pattern).rglob("*.cpp"))
    names = part[part.index("IN ITEMS") + len("IN ITEMS"):part.index("\n    list(")].rstrip(") \n")
    yield from (pathlib.Path(name + ".cpp") for name in names.split())


def names_in(objects, which):
    out = subprocess.run(["nm", "--demangle", which, *objects], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        found = re.match(r"[0-9a-f]* +\w (troupe::.*)", line)
        if found:
            yield found[1]


def main(source, build):
    objects = []
    for file in listed_sources(source):
        room, *rest = file.parts
        found = [*build.glob(f"CMakeFiles/*.dir/{file}.o"),
                 *(build / room).glob(f"CMakeFiles/*.dir/{'/'.join(rest)}.o")]
        assert found, f"{file} is listed in tests/fuzz.cmake, and nobody compiles it"
        objects.append(found[0])
    missing = set(names_in(objects, "--undefined-only")) - set(names_in(objects, "--defined-only"))
    assert len(objects) > 100, f"only {len(objects)} objects: is the list of sources read?"
    assert not missing, "add to the sources in tests/fuzz.cmake who defines " + "; ".join(sorted(missing)[:9])
    print(f"{len(objects)} objects want nothing of the library that none of them defines")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
