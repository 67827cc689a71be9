"""Builds tests/golden/models_golden.cpp and the models' room, with nothing else, and compares what they compute with
models_golden.txt.

    tests/golden/models_golden.py SOURCE FOLDER COMPILER [--mutants] [OPTION]... [-- RUNNER [WORD]...]

FOLDER takes what is built. For another processor, say `.. aarch64-linux-gnu-g++ -static -- qemu-aarch64-static`. With
--mutants products that break the law of products.hpp in one place are computed too: each must come to something else.
Exit code 77 where the compiler or the runner is missing.
"""

import collections
import concurrent.futures
import os
import shutil
import subprocess
import sys
from pathlib import Path

# As CMakeLists.txt has it for this room (docs/numerics.md).
FLAGS = ["-std=c++20", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-w"]
OF_KERNELS = {"products_avx512.cpp": ["-mavx512f", "-mprefer-vector-width=512"], "products_avx2.cpp": ["-mavx2", "-mfma"]}


# Instruction set that notices, file of models/math, text, its replacement.
MUTANTS = {
    "blocks of 512 terms": ("portable", "product_kernels.hpp", "block_terms = 256", "block_terms = 512"),
    "blocks of 200 terms": ("portable", "product_kernels.hpp", "block_terms = 256", "block_terms = 200"),
    "not fused, AVX-512": ("avx512", "products_avx512.cpp", "_mm512_fmadd_ps(a, b, c)", "add(_mm512_mul_ps(a, b), c)"),
    "not fused, AVX2": ("avx2", "products_avx2.cpp", "_mm256_fmadd_ps(a, b, c)", "add(_mm256_mul_ps(a, b), c)"),
    "not fused, NEON": ("neon", "products_neon.cpp", "vfmaq_f32(c, a, b)", "vaddq_f32(c, vmulq_f32(a, b))"),
    "rounded twice": ("portable", "products_portable.cpp", "bits += (above", "bits += 0 & (above"),
    "one term for another": ("avx2", "product_lines.hpp", "size_t q = 0; p < k;", "size_t q = 1; p < k;"),
}


class Builder:
    def __init__(self, source, folder, compiler, options):
        self.source, self.folder, self.compiler, self.options = source, folder, compiler, options
        machine = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, check=True).stdout
        self.is_x86 = "x86_64" in machine
        self.third = folder / "third"  # of the system's headers only those that have no code of their own
        self.third.mkdir(parents=True, exist_ok=True)
        for name in ("xtensor", "xtl", "Random123", "CL"):
            link(self.third / name, Path("/usr/include") / name)

    def objects(self, models, sources, folder):
        """Of these sources, with the headers in this copy of models/."""
        (folder / "include").mkdir(parents=True, exist_ok=True)
        link(folder / "include/models", models)
        units, count = {}, collections.Counter()  # name -> sources that are compiled together, as CMake does
        for file in sources:
            if self.is_x86 or file.name not in OF_KERNELS:
                room = "-".join(file.parts[-3:-1])
                alone = file.name.startswith("products")
                units.setdefault(file.name if alone else f"{room}-{count[room] // 6}.cpp", []).append(file)
                count[room] += not alone

        def compiled(name):
            unit, result = folder / name, folder / (name + ".o")
            unit.write_text("".join(f'#include "{x}"\n' for x in units[name]), encoding="utf-8")
            subprocess.run([self.compiler, *FLAGS, *OF_KERNELS.get(name, []), "-I", folder / "include",
                            "-idirafter", self.third, "-c", unit, "-o", result], check=True)
            return result

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
            return dict(zip(units, workers.map(compiled, units)))

    def linked(self, objects, folder):
        program = folder / "models_golden"
        subprocess.run([self.compiler, *objects.values(), *self.options, "-o", program], check=True)
        return program

    def mutant(self, objects, instructions, file, text, replacement):
        """Changed for these instructions alone, which are those that are looked at."""
        folder = self.folder / "mutant"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.source / "models", folder / "models")
        path = folder / "models/math" / file
        before = path.read_text(encoding="utf-8")
        if before.count(text) != 1:
            sys.exit(f"mutants: {file} has '{text}' {before.count(text)} times, not once")
        path.write_text(before.replace(text, replacement), encoding="utf-8")
        changed = self.objects(folder / "models", [folder / "models/math" / f"products{x}.cpp"
                                                   for x in ("", "_" + instructions)], folder)
        return self.linked({**objects, **changed}, folder)


def link(path, to):
    if not path.is_symlink():
        path.symlink_to(to)


def results(runner, program):
    """Instruction set -> lines."""
    run = subprocess.run([*runner, program], capture_output=True, text=True, check=True)
    return {name: lines for name, *lines in (x.splitlines() for x in run.stdout.split("instructions: ")[1:])}


def main(source, folder, compiler, *more):
    at = more.index("--") if "--" in more else len(more)
    options, runner = [x for x in more[:at] if x != "--mutants"], more[at + 1:]
    if any(shutil.which(word) is None for word in (compiler, *runner[:1])):
        print(f"skipped: {compiler} or {' '.join(runner)} is not installed")
        return 77
    builder = Builder(Path(source).resolve(), Path(folder).resolve(), compiler, options)
    models = builder.source / "models"
    sources = [x for x in sorted(models.rglob("*.cpp")) if x.parent.name != "verify"]  # checks of others' models
    objects = builder.objects(models, [*sources, builder.source / "tests/golden/models_golden.cpp"], builder.folder)
    expected = (builder.source / "tests/golden/models_golden.txt").read_text(encoding="utf-8").splitlines()
    found = results(runner, builder.linked(objects, builder.folder))
    wrong = len(found) == 0
    for name, lines in found.items():
        print(f"{name}: {'as everywhere' if lines == expected else 'WRONG'}")
        for line in sorted(set(lines) - set(expected)):
            print("  " + line)
        wrong |= lines != expected
    for title, (instructions, *change) in MUTANTS.items() if "--mutants" in more else ():
        if instructions not in found or (title == "rounded twice" and not builder.is_x86):  # Arm has the instruction
            continue
        lines = results(runner, builder.mutant(objects, instructions, *change))[instructions]
        changed = [line.split(":")[0] for line in lines if line not in expected]
        print(f"mutant, {title}: {', '.join(changed) or 'NOT NOTICED'}")
        wrong |= not changed
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
