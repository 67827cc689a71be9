"""Proves that scripts/count-tests counts cases, and that nothing that failed is lost.

    python3 tests/scripts/laws/count_tests_test.py
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts/count-tests"
PASSED = '<testcase classname="a" name="p" status="run" result="completed"/>'
FAILED = '<testcase classname="a" name="f" result="completed"><failure message="m"/></testcase>'
SKIPPED = '<testcase classname="a" name="s" result="skipped"><skipped message="m"/></testcase>'


def count(tests, reports):
    """Exit code and lines for tests given as {name: status} and reports as {name: cases}."""
    with tempfile.TemporaryDirectory() as folder:
        rows = "".join(f'<testcase name="{name}" status="{status}"/>'
                       for name, status in tests.items())
        Path(folder, "ctest.xml").write_text(f"<testsuite>{rows}</testsuite>", encoding="utf-8")
        for name, cases in reports.items():
            Path(folder, f"{name}_tests.xml").write_text(
                f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>",
                encoding="utf-8")
        run = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True,
                             check=False)
    return run.returncode, run.stdout.splitlines()


class count_tests(unittest.TestCase):
    def test_a_binary_counts_its_cases_and_a_script_counts_once(self):
        self.assertEqual(count({"models": "run", "script": "run"}, {"models": [PASSED, PASSED]}),
                         (0, ["3 passed, 0 failed"]))

    def test_a_failed_case_is_counted_once(self):
        self.assertEqual(count({"models": "fail"}, {"models": [PASSED, FAILED]}),
                         (1, ["1 passed, 1 failed"]))

    def test_a_failed_script_fails(self):
        self.assertEqual(count({"script": "fail"}, {}), (1, ["0 passed, 1 failed"]))

    def test_a_binary_that_dies_without_a_report_fails(self):
        self.assertEqual(count({"models": "fail", "data": "run"}, {"data": [PASSED]}),
                         (1, ["1 passed, 1 failed"]))

    def test_a_binary_that_dies_after_a_clean_report_fails(self):
        self.assertEqual(count({"models": "fail"}, {"models": [PASSED]}),
                         (1, ["1 passed, 1 failed"]))

    def test_skipped_cases_are_named_and_not_counted(self):
        self.assertEqual(count({"data": "run", "consumer": "notrun"}, {"data": [PASSED, SKIPPED]}),
                         (0, ["skipped: a.s", "skipped: consumer", "1 passed, 0 failed"]))

    def test_a_run_of_nothing_is_not_a_success(self):
        self.assertEqual(count({}, {}), (1, ["0 passed, 0 failed"]))


if __name__ == "__main__":
    unittest.main()
