"""Proves that each law of scripts/check-laws fires on a made-up tree, and that ours is clean.

    python3 tests/scripts/laws/check_laws_test.py
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
from class_figures import figures_of

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
        self.clean("models/a.cpp", '#include "models/base/buffer.hpp"\n')
        self.clean("app/a.cpp", '#include "troupe/version.hpp"\n')
        for name in ("troupe/models/base/buffer.hpp", "buffer.hpp", "../models/buffer.hpp", "zlib.h",
                     "models/../data/csv.hpp", "nowhere/a.hpp", "troupe/train.hpp"):
            self.refused("app/a.cpp", f'\n#include "{name}"\n', name, "full form", line=2)
        self.refused("models/a.cpp", "#include <troupe/models/base/buffer.hpp>\n",
                     '#include "ROOM/file.hpp"')
        self.refused("models/a.cpp", "#  include SOME_HEADER\n", "without a name")

    def test_examples_see_what_applications_see(self):
        self.clean("examples/a.cpp", "#include <troupe/train.hpp>\n")
        self.refused("examples/a.cpp", "#include <troupe/internal/models/base/buffer.hpp>\n", "not for applications")
        self.refused("examples/a.cpp", '#include "models/base/buffer.hpp"\n', "<troupe/NAME.hpp>")
        self.clean("include/troupe/a.hpp", HEADER + '#include "actors/run/train.hpp"\n#include "troupe/data.hpp"\n')
        self.refused("include/troupe/a.hpp", HEADER + "#include <vector>\n", "include/ may not include", line=4)

    def test_libm_decides_nothing(self):
        self.clean("models/a.cpp", "double a = std::sqrt(2.0) + elementary::pow(2, 3);\n")
        for name in ("exp", "log", "pow", "log10"):
            self.refused("coordinators/a.cpp", f"double a = std::{name}(2.0);\n", "elementary.hpp")

    def test_kernels_of_products_have_nothing_that_others_have_too(self):
        self.clean("models/math/products_sse.cpp", '#include "models/math/product_strip.hpp"\n'
                   "\n#include <immintrin.h>\n")
        self.refused("models/math/products_sse.cpp", "#include <algorithm>\n", "a source of kernels")
        self.refused("models/math/products_sse.cpp", "\nint a = std::max(1, 2);\n", "std::", line=2)

    def test_rooms_look_only_where_they_may(self):
        for room, others in {"models": ("data", "coordinators", "actors", "app", "tests"),
                             "data": ("coordinators", "actors", "app", "tests"),
                             "coordinators": ("data", "actors", "app", "tests"),
                             "actors": ("app", "tests", "benchmarks"), "app": ("tests",),
                             "tests": ("benchmarks",)}.items():
            for other in others:
                self.refused(f"{room}/a.cpp", f'#include "{other}/a.hpp"\n',
                             f"{room}/ may not include {other}/a.hpp")
        for room, others in {"models": ("models",), "data": ("models", "data"),
                             "coordinators": ("models", "coordinators"),
                             "actors": ("models", "data", "coordinators", "actors"),
                             "app": ("actors", "app"), "tests": ("actors", "app", "tests"),
                             "benchmarks": ("app", "tests")}.items():
            for other in others:
                self.clean(f"{room}/a.cpp", f'#include "{other}/a.hpp"\n')

    def test_rooms_use_only_their_libraries(self):
        refused = {
            "models": ("caf/send.hpp", "zlib.h", "xsimd/xsimd.hpp", "unistd.h", "cblas.h",
                       "xtensor-blas/xblas.hpp", "boost/any.hpp"),
            "data": ("caf/send.hpp", "Random123/philox.h", "cblas.h", "CLI/CLI.hpp"),
            "coordinators": ("caf/send.hpp", "xtensor/xtensor.hpp", "zlib.h", "Random123/philox.h"),
            "actors": ("Random123/philox.h", "cblas.h", "zmq.h"),
            "examples": ("zlib.h", "nlohmann/json.hpp"),
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

    def test_no_product_is_a_blas(self):
        self.refused("models/layers/dense.cpp", "#include <xtensor-blas/xblas.hpp>\n", "models/")
        self.refused("models/layers/dense.cpp", "#include <cblas.h>\n", "models/")

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
                self.refused(f"{room}/a.cpp", code + "\n", "models/base/random.hpp")
            self.clean("tests/a.cpp", code + "\n")

    def test_ranges_that_algorithms_give_back_are_refused(self):
        for code in ("auto x = std::ranges::unique(a);", "std::ranges::remove_if(a, f);",
                     "for (auto x : std::views::iota(1)) {}"):
            self.refused("data/a.cpp", code + "\n", "scripts/fuzz")
            self.clean("tests/a.cpp", code + "\n")
        self.clean("data/a.cpp", "std::ranges::sort(a);\nstd::unique(a, b);\n")

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

    def test_files_have_at_most_600_lines(self):
        self.clean("data/a.cpp", "\n" * 600)
        self.refused("data/a.cpp", "\n" * 601, "601 lines", line=601)
        self.refused("scripts/a", "\n" * 601, "601 lines", line=601)
        self.refused("tests/a.py", "\n" * 600 + "1", "601 lines", line=601)

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

    # ---- The shape of the house: scripts/house_laws.py ------------------------------------------

    def house(self, tree, *expected):
        """Each line begins with the first and holds the other words of its entry of `expected`."""
        code, lines = check(tree)
        self.assertEqual((code, len(lines)), (1, len(expected)), lines)
        for line, (start, *words) in zip(lines, expected):
            self.assertTrue(line.startswith(start), line)
            for word in words:
                self.assertIn(word, line)

    def kept(self, tree):
        code, lines = check(tree)
        self.assertEqual(code, 0, lines)

    def test_components_do_not_include_each_other_in_a_circle(self):
        def including(*names):
            return HEADER + "".join(f'#include "{name}.hpp"\n' for name in names)
        line = {"data/a.hpp": including("data/b"), "data/b.hpp": including("data/c"),
                "data/c.hpp": including()}
        self.kept(line)
        self.house(line | {"data/c.cpp": including("data/c", "data/a")},
                   ("data/a.hpp:4: a cycle of components: data/a.hpp:4 -> data/b; ",
                    "data/b.hpp:4 -> data/c; ", "data/c.cpp:5 -> data/a; "))
        # A part of a component without a header of its own belongs to it.
        self.house(line | {"data/c_end.cpp": including("data/c", "data/a")},
                   ("data/a.hpp:4: ", "data/c_end.cpp:5 -> data/a; "))
        self.kept(line | {"data/c_end.cpp": including("data/c", "data/a"),
                          "data/c_end.hpp": including()})
        self.kept({"tests/a.hpp": including("tests/b"), "tests/b.hpp": including("tests/a")})

    def test_a_class_has_at_most_thirty_methods(self):
        def wide(count):
            return HEADER + "class wide final : public base<int> {\npublic:\n  wide();\n" + "".join(
                f"  void f{i}(int x = (1 + 2)) const;\n" for i in range(count)) + "};\n"
        self.kept({"app/a.hpp": wide(30)})
        self.house({"app/a.hpp": wide(31)}, ("app/a.hpp:4: wide has 31 methods, more than 30",))
        self.kept({"tests/a.hpp": wide(31)})

    def test_a_class_has_at_most_twenty_data_members(self):
        def wide(count):
            return "namespace {\nstruct wide {\n" + "".join(
                f"  std::map<int, std::function<void(int)>> m{i}{{}};\n" for i in range(count)) + (
                "};\n}\n")
        self.kept({"app/a.cpp": wide(20)})
        self.house({"app/a.cpp": wide(21)}, ("app/a.cpp:2: wide has 21 data members",))

    def test_folders_have_at_most_thirty_files(self):
        def folder(name, count):
            return {f"{name}/f{i}.txt": "" for i in range(count)} | {"app/a.cpp": "\n"}
        for name in ("models", "actors/net", "tests", "tests/data/more"):
            self.kept(folder(name, 30) | folder(name + "/below", 30))
            self.house(folder(name, 31), (f"{name}:1: 31 files, more than 30", "subfolders"))
        self.kept(folder("docs", 31))

    def test_actors_know_each_other_by_protocol_only(self):
        actor = HEADER + "worker_actor::behavior_type worker();\n"
        include = '#include "actors/worker.hpp"\n'
        own = {"actors/worker.hpp": actor, "actors/worker.cpp": include,
               "actors/worker_talk.cpp": include}
        self.kept(own | {"actors/run/process.cpp": include, "app/worker.cpp": include})
        self.kept({"actors/protocol/worker.hpp": actor,
                   "actors/a.cpp": '#include "actors/protocol/worker.hpp"\n'})
        self.house(own | {"actors/other.cpp": "\n" + include},
                   ("actors/other.cpp:2: actors/other includes 1 ", "actors/worker", "protocol"))

    def test_debts_may_only_shrink(self):
        def tree(count, debt):
            return {f"data/f{i}.txt": "" for i in range(count)} | {
                "data/a.cpp": "\n", "scripts/house-debts.toml": f'[folders]\n"data" = {debt}\n'}
        self.kept(tree(31, 32))
        self.house(tree(32, 32), ("data:1: 33 files, more than the 32 of its debt",))
        self.house(tree(31, 33), ("scripts/house-debts.toml:2: ", "write 32 for 33"))
        self.house(tree(29, 33), ("scripts/house-debts.toml:2: ", "remove the line"))
        self.house({"data/a.cpp": "\n", "scripts/house-debts.toml": "[methods]\ngone = 31\n"},
                   ("scripts/house-debts.toml:2: gone keeps the law of methods", "remove the line"))


class class_figures(unittest.TestCase):
    def counted(self, code, **expected):
        """name = (methods, data members)"""
        found = {name.replace("::", "_in_"): (methods, members)
                 for name, _, methods, members in figures_of(code)}
        self.assertEqual(found, expected, code)

    def body(self, code, methods, members):
        self.counted(f"namespace n {{\nclass x final : public y<int> {{\n{code}\n}};\n}}\n",
                     x=(methods, members))

    def test_what_is_no_method(self):
        for code in ("x();", "explicit x(int a = 1);", "~x();", "virtual ~x() = default;",
                     "x(const x&) = delete;", "void f() = delete;", "x& operator=(x&&);",
                     "bool operator()(int a) const { return a < 1; }", "operator bool() const;",
                     "x() : y<int>(1), z{2} {}", "template <class T> x(T a) : x() { a(); }",
                     "friend bool operator==(const x&, const x&) = default;",
                     "friend void f() { g(); }", "friend class y;", "using t = void (*)(int);",
                     "static_assert(sizeof(int) == 4);", "enum class e : int { a, b = f(1) };",
                     "class hidden;", "public:"):
            self.body(code, 0, 0)

    def test_methods(self):
        for code in ("void f();", "static x make();", "virtual void f() const = 0;",
                     "std::map<int, void (*)(x)> f(int a = g(1), x b = {}) const;",
                     "template <class T, class U = y<T>> auto f(T a) -> y<T> { return {a}; }",
                     "auto& f() const& noexcept(true) override { if (a) { return b; } }",
                     "[[nodiscard]] constexpr bool f() const { return a < b; }",
                     "decltype(auto) f();", "#define ODD(a) \\\n  a(\nvoid f();"):
            self.body(code, 1, 0)
        self.body("public:\n  void f();\nprivate:\n  int g() { return 1; }\n  bool h() const;", 3, 0)

    def test_data_members(self):
        for code in ("int a;", "int a = f(1, 2);", "std::function<void(int)> a;", "int a{1};",
                     "std::array<int, (1 << 3)> a{};", "alignas(64) float a[4] = {1, 2};",
                     "size_t a = size_t{16} << 20;", "void (*a)(int) = nullptr;", "int a : 3;",
                     "const std::map<int, y<int>>& a;", "mutable bool a = b < c;"):
            self.body(code, 0, 1)
        self.body("int a = 1, b{2}, c;\nstd::map<int, int> d, e;", 0, 5)
        self.body("static constexpr int a = 1;\nstatic inline const char* b = c;", 0, 0)

    def test_a_class_within_a_class_has_its_own_figures(self):
        self.counted("class a {\n  struct b { int c; void d(); };\n  b e;\n  struct { int f; } g;\n"
                     "  class h;\n};\nstruct a::h : b { int i; };\ntemplate <>\nstruct j<a> {};\n"
                     "class k;\nstruct l m() { return {}; }\n",
                     a=(0, 2), a_in_b=(1, 1), a_in_h=(0, 1), j=(0, 0))


if __name__ == "__main__":
    unittest.main()
