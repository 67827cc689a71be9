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
    names = (source / "cmake/troupe_decoders.cmake").read_text()
    names = names[names.index("set(troupe_decoder_files") + len("set(troupe_decoder_files"):names.index(")\nlist(")]
    yield from (pathlib.Path(name + ".cpp") for name in names.split())


def objects_by_source(source, build):
    """Each file's own object, or that of several files of its folder (cmake/troupe_unity.cmake)."""
    for folder, room in ((build, ""), (build / "app", "app/")):
        for target in folder.glob("CMakeFiles/*.dir"):
            for file in target.rglob("*.cpp.o"):
                yield pathlib.Path(room + str(file.relative_to(target))[:-len(".o")]), file
            for unit in target.glob("Unity/*.cxx"):
                for file in re.findall(r'#include "(.+)"', unit.read_text()):
                    if pathlib.Path(file).is_relative_to(source):
                        yield pathlib.Path(file).relative_to(source), unit.with_name(unit.name + ".o")


def names_in(objects, which):
    out = subprocess.run(["nm", "--demangle", which, *objects], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        found = re.match(r"[0-9a-f]* +\w (troupe::.*)", line)
        if found:
            yield found[1]


def main(source, build):
    made = [(object_file.stat().st_mtime, str(file), object_file)
            for file, object_file in objects_by_source(source, build) if object_file.exists()]
    known = {pathlib.Path(file): newest for _, file, newest in sorted(made)}
    objects, listed = set(), list(listed_sources(source))
    for file in listed:
        assert file in known, f"{file} is listed for the decoders, and nobody compiles it"
        objects.add(known[file])
    missing = set(names_in(objects, "--undefined-only")) - set(names_in(objects, "--defined-only"))
    assert len(listed) > 100, f"only {len(listed)} sources: is the list read?"
    assert not missing, "add to cmake/troupe_decoders.cmake who defines " + "; ".join(sorted(missing)[:9])
    print(f"the objects of {len(listed)} sources want nothing of the library that none of them defines")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
