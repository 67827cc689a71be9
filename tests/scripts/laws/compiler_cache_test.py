"""Proves that a build with the compiler cache compiles what it should after a comment of a precompiled header changed.

    python3 tests/scripts/laws/compiler_cache_test.py
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SETTINGS = Path(__file__).resolve().parents[3] / "cmake/troupe_settings.cmake"
PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(trial CXX)
include({SETTINGS})
add_library(trial user.cpp)
target_link_libraries(trial PRIVATE troupe_settings)
target_precompile_headers(trial PRIVATE header.hpp)
"""


@unittest.skipUnless(shutil.which("ccache"), "there is no ccache")
class compiler_cache(unittest.TestCase):
    def test_a_changed_comment_does_not_bring_an_old_precompiled_header(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
            for word in ("one", "two", "two"):
                header = f"#pragma once\n// {word}\nstruct entry {{ int x; }};\n"
                (folder / "header.hpp").write_text(header, encoding="utf-8")
                # Another object, or the cache would have it whole.
                user = f'#include "header.hpp"\nint {word}(entry x) {{ return x.x; }}\n'
                (folder / "user.cpp").write_text(user, encoding="utf-8")
                shutil.rmtree(folder / "build", ignore_errors=True)
                for step in (["-S", name, "-B", f"{name}/build", "-G", "Ninja"], ["--build", f"{name}/build"]):
                    run = subprocess.run(["cmake", *step], capture_output=True, text=True, check=False,
                                         env={**os.environ, "CCACHE_DIR": f"{name}/cache"})
                    self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            figures = subprocess.run(["ccache", "--print-stats"], capture_output=True, text=True, check=True,
                                     env={**os.environ, "CCACHE_DIR": f"{name}/cache"}).stdout
            hits = dict(line.split("\t") for line in figures.splitlines())
            self.assertEqual(hits["direct_cache_hit"], "2", figures)  # what did not change is not compiled again


if __name__ == "__main__":
    unittest.main()
