"""Proves that each law of scripts/check-laws fires on a made-up tree, and that ours is clean.

    python3 tests/scripts/check_laws_test.py
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HEADER = "// A header of this test only.\n\n#pragma once\n"


def check(tree):
    """Exit code and lines of the checker on a tree given as {path: content}."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in tree.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        run = subprocess.run([sys.executable, ROOT / "scripts/check-laws", folder],
                             capture_output=True, text=True, check=False)
    return run.returncode, run.stdout.splitlines() + run.stderr.splitlines()


class check_laws(unittest.TestCase):
    def refused(self, path, content, *words, line=1):
        code, lines = check({path: content})
        self.assertEqual(code, 1, lines)
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(f"{path}:{line}: "), lines[0])
        for word in words:
            self.assertIn(word, lines[0])

    def clean(self, path, content):
        code, lines = check({path: content})
        self.assertEqual((code, lines), (0, ["1 files keep the laws"]))

    def test_our_own_tree_is_clean(self):
        run = subprocess.run([ROOT / "scripts/check-laws"], capture_output=True, text=True,
                             check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)

    def test_a_folder_without_sources_is_refused(self):
        self.assertEqual(check({}), (1, ["0 files keep the laws"]))

    def test_all_violations_are_reported_at_once(self):
        code, lines = check({"models/a.cpp": "#include <thread>\n\n#include <chrono>\n",
                             "data/b.cpp": "#include <caf/send.hpp>\n"})
        self.assertEqual(code, 1)
        self.assertEqual([line.split(": ")[0] for line in lines],
                         ["models/a.cpp:1", "models/a.cpp:3", "data/b.cpp:1"])

    def test_own_headers_are_named_in_full_and_in_quotes(self):
        self.clean("models/a.cpp", '#include "troupe/models/buffer.hpp"\n')
        self.clean("app/a.cpp", '#include "troupe/version.hpp"\n')
        for name in ("models/buffer.hpp", "buffer.hpp", "../models/buffer.hpp", "zlib.h",
                     "troupe/models/../data/csv.hpp", "troupe/nowhere/a.hpp", "troupe/buffer.hpp"):
            self.refused("app/a.cpp", f'\n#include "{name}"\n', name, "full form", line=2)
        self.refused("models/a.cpp", "#include <troupe/models/buffer.hpp>\n",
                     '#include "troupe/models/buffer.hpp"')
        self.refused("models/a.cpp", "#  include SOME_HEADER\n", "without a name")

    def test_rooms_look_only_where_they_may(self):
        for room, others in {"models": ("data", "coordinators", "actors", "app", "tests"),
                             "data": ("coordinators", "actors", "app", "tests"),
                             "coordinators": ("data", "actors", "app", "tests"),
                             "actors": ("app", "tests", "benchmarks"), "app": ("tests",),
                             "tests": ("benchmarks",), "examples": ("app", "tests")}.items():
            for other in others:
                self.refused(f"{room}/a.cpp", f'#include "troupe/{other}/a.hpp"\n',
                             f"{room}/ may not include troupe/{other}/a.hpp")
        for room, others in {"models": ("models",), "data": ("models", "data"),
                             "coordinators": ("models", "coordinators"),
                             "actors": ("models", "data", "coordinators", "actors"),
                             "app": ("actors", "app"), "tests": ("actors", "app", "tests"),
                             "benchmarks": ("app", "tests"), "examples": ("actors",)}.items():
            for other in others:
                self.clean(f"{room}/a.cpp", f'#include "troupe/{other}/a.hpp"\n')

    def test_rooms_use_only_their_libraries(self):
        refused = {
            "models": ("caf/send.hpp", "zlib.h", "xsimd/xsimd.hpp", "unistd.h", "cblas.h",
                       "xtensor-blas/xblas.hpp", "boost/any.hpp"),
            "data": ("caf/send.hpp", "Random123/philox.h", "cblas.h", "CLI/CLI.hpp"),
            "coordinators": ("caf/send.hpp", "xtensor/xtensor.hpp", "zlib.h", "Random123/philox.h"),
            "actors": ("Random123/philox.h", "cblas.h", "zmq.h"),
            "examples": ("xtensor/xtensor.hpp", "nlohmann/json.hpp"),
        }
        for room, names in refused.items():
            for name in names:
                self.refused(f"{room}/a.cpp", f"#include <{name}>\n", f"{room}/ may not", name)
        allowed = {
            "models": ("vector", "xtensor/xtensor.hpp", "Random123/philox.h", "xmmintrin.h"),
            "data": ("fstream", "zlib.h", "nlohmann/json.hpp", "xxhash.h", "openssl/evp.h",
                     "sys/mman.h"),
            "coordinators": ("vector", "chrono"),
            "actors": ("caf/send.hpp", "openssl/ssl.h", "thread", "poll.h"),
            "app": ("toml++/toml.h",), "tests": ("gtest/gtest.h",), "examples": ("caf/send.hpp",),
        }
        for room, names in allowed.items():
            for name in names:
                self.clean(f"{room}/a.cpp", f"#include <{name}>\n")

    def test_one_source_alone_sees_blas(self):
        self.clean("models/blas.cpp", "#include <xtensor-blas/xblas.hpp>\n")
        self.refused("models/layers/blas.cpp", "#include <xtensor-blas/xblas.hpp>\n", "models/")

    def test_the_catch_all_header_of_caf_is_refused_everywhere(self):
        for room in ("actors", "app", "tests", "examples"):
            self.refused(f"{room}/a.cpp", "#include <caf/all.hpp>\n", "the headers that are used")

    def test_public_headers_show_only_std_xtensor_and_caf(self):
        for path, name in {"models/a.hpp": "Random123/philox.h", "data/a.hpp": "nlohmann/json.hpp",
                           "actors/a.hpp": "openssl/ssl.h"}.items():
            self.refused(path, HEADER + f"#include <{name}>\n", "in a public header", line=4)
        self.clean("actors/a.hpp", HEADER + "#include <caf/fwd.hpp>\n#include <vector>\n")
        self.clean("data/a.hpp", HEADER + "#include <xtensor/xtensor.hpp>\n")
        self.clean("tests/support/a.hpp", HEADER + "#include <gtest/gtest.h>\n")

    def test_pure_rooms_have_no_threads_files_or_clocks(self):
        for name in ("thread", "chrono", "fstream", "filesystem", "future", "ctime"):
            self.refused("models/a.cpp", f"#include <{name}>\n", "models are pure")
        for name in ("thread", "mutex", "fstream", "ctime"):
            self.refused("coordinators/a.cpp", f"#include <{name}>\n", "plain objects")
        for call in ("std::chrono::steady_clock::now()", "clock::system_clock::now()",
                     "clock_gettime(0, &t)", "std::time(nullptr)"):
            for room in ("models", "coordinators"):
                self.refused(f"{room}/a.cpp", f"auto t =\n  {call};\n", "reads a clock", "`now`",
                             line=2)
        self.clean("actors/a.cpp", "auto t = std::chrono::steady_clock::now();\n")

    def test_standard_distributions_are_refused_outside_tests(self):
        for code in ("std::normal_distribution<float> x;", "std::shuffle(a, b, c);",
                     "std::ranges::shuffle(a, c);", "std::sample(a, b, c, 3, d);",
                     "std::default_random_engine x;"):
            for room in ("models", "app", "benchmarks", "examples"):
                self.refused(f"{room}/a.cpp", code + "\n", "troupe/models/random.hpp")
            self.clean("tests/a.cpp", code + "\n")

    def test_words_in_comments_and_strings_are_free(self):
        self.clean("models/a.cpp", "// std::shuffle, -ffast-math\n/* steady_clock::now\n"
                                   '#include <thread>\n*/\nauto a = R"(\n#include <thread>\n'
                                   ')";\nauto b = "std::shuffle // ";\n')
        self.clean("cmake/a.cmake", "# never -ffast-math\n")

    def test_a_string_or_separator_does_not_hide_what_follows(self):
        for code in ('auto a = "/*"; std::shuffle(b); auto c = "*/";',
                     "auto a = '\"'; std::shuffle(b); auto c = '\"';",
                     "auto a = 4'096; std::shuffle(b); auto c = 1'0;",
                     'auto a = "\\"; "; std::shuffle(b);'):
            self.refused("data/a.cpp", f"/* two\n lines */\n{code}\n", "std::shuffle", line=3)

    def test_files_have_at_most_400_lines(self):
        self.clean("data/a.cpp", "\n" * 400)
        self.refused("data/a.cpp", "\n" * 401, "401 lines", line=401)
        self.refused("scripts/a", "\n" * 401, "401 lines", line=401)
        self.refused("tests/a.py", "\n" * 400 + "1", "401 lines", line=401)

    def test_headers_say_what_they_are_for_and_are_read_once(self):
        self.refused("data/a.hpp", "// What this is.\n", "#pragma once")
        self.refused("data/a.hpp", "#pragma once\n// What this is.\n", "leading comment")
        self.refused("data/a.hpp", "// a.hpp\n#pragma once\n", "leading comment")
        self.refused("data/a.hpp", "\n// What this is.\n#pragma once\n", "leading comment")

    def test_no_flag_reorders_arithmetic(self):
        for flag in ("-ffast-math", "-Ofast", "-funsafe-math-optimizations"):
            for path in ("CMakeLists.txt", "CMakePresets.json", "cmake/a.cmake", "scripts/a",
                         "app/CMakeLists.txt"):
                self.refused(path, f"\nset(x {flag})\n", flag, "docs/numerics.md", line=2)
        self.refused("data/a.cpp", '__attribute__((optimize("fast-math"))) int x();\n', "fast-math")


if __name__ == "__main__":
    unittest.main()
