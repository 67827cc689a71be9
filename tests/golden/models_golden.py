"""Builds tests/golden/models_golden.cpp and the models' room, with nothing else, and compares what they compute with
models_golden.txt.

    tests/golden/models_golden.py SOURCE FOLDER COMPILER [OPTION]... [-- RUNNER [WORD]...]

FOLDER takes what is built. For another processor, say
`.. aarch64-linux-gnu-g++ -static -- qemu-aarch64-static`. Exit code 77 where the compiler or the runner is missing.
"""

import concurrent.futures
import os
import shutil
import subprocess
import sys
from pathlib import Path

# As CMakeLists.txt has it for this room (docs/numerics.md).
FLAGS = ["-std=c++20", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-w"]
OF_KERNELS = {"products_avx512.cpp": ["-mavx512f", "-mprefer-vector-width=512"], "products_avx2.cpp": ["-mavx2", "-mfma"]}


def built(source, folder, compiler, options):
    includes = folder / "include"
    (includes / "troupe").mkdir(parents=True, exist_ok=True)
    third = folder / "third"  # of the system's headers only those that have no code of their own
    third.mkdir(exist_ok=True)
    for link, to in [(includes / "troupe/models", source / "models"),
                     *((third / name, Path("/usr/include") / name) for name in ("xtensor", "xtl", "Random123"))]:
        if not link.is_symlink():
            link.symlink_to(to)
    sources = [*sorted((source / "models").rglob("*.cpp")), source / "tests/golden/models_golden.cpp"]
    if "x86_64" not in subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, check=True).stdout:
        sources = [x for x in sources if x.name not in OF_KERNELS]

    def compiled(numbered):
        number, file = numbered
        result = folder / f"{number}.o"
        subprocess.run([compiler, *FLAGS, *OF_KERNELS.get(file.name, []), "-I", includes, "-idirafter", third, "-c", file,
                        "-o", result], check=True)
        return result

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        objects = list(workers.map(compiled, enumerate(sources)))
    program = folder / "models_golden"
    subprocess.run([compiler, *objects, *options, "-o", program], check=True)
    return program


def main(source, folder, compiler, *more):
    at = more.index("--") if "--" in more else len(more)
    options, runner = more[:at], more[at + 1:]
    if any(shutil.which(word) is None for word in (compiler, *runner[:1])):
        print(f"skipped: {compiler} or {' '.join(runner)} is not installed")
        return 77
    source, folder = Path(source).resolve(), Path(folder).resolve()
    run = subprocess.run([*runner, built(source, folder, compiler, options)], capture_output=True, text=True, check=True)
    expected = (source / "tests/golden/models_golden.txt").read_text(encoding="utf-8").splitlines()
    wrong = sets = 0
    for part in run.stdout.split("instructions: ")[1:]:
        name, *lines = part.splitlines()
        sets += 1
        print(f"{name}: {'as everywhere' if lines == expected else 'WRONG'}")
        for line in sorted(set(lines) - set(expected)):
            print("  " + line)
        wrong += lines != expected
    return 1 if wrong or sets == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
