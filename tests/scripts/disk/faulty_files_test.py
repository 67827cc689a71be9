"""Faulty job files and data, as whoever gives them to the command sees it (K1, K2).

    python3 tests/scripts/disk/faulty_files_test.py BUILD_FOLDER SOURCE_FOLDER

Each is refused before anything is trained or written: file, line and column, what is wrong there,
within a second, with exit code 78 (a job) or 65 (data).
"""

import os
import sys
import time

sys.path.insert(0, f"{sys.path[0]}/..")
from command import JOB, CommandTest, main
from patience import lenient

REFUSAL_SECONDS = 1
HUGE_BYTES = 100_000_000

GOOD_JOB = '[data]\nfile = "rows.csv"\n[model]\nkind = "linear-regression"\n'

# What is wrong -> text of the job file, what is said of it.
JOBS = {
    "syntax": ("[data\n", ["job.toml:1:6: "]),
    "unknown key": (GOOD_JOB + "[optimizer]\nlearning_rat = 1\n",
                    ["job.toml:6:1: ", "'optimizer.learning_rat'", "'optimizer.learning_rate'"]),
    "type": (GOOD_JOB + '[training]\nepochs = "three"\n', ["job.toml:6:10: ", '"three"', "an integer"]),
    "range": (GOOD_JOB + "[training]\nepochs = -3\n", ["job.toml:6:10: ", "-3"]),
    "choice": (GOOD_JOB + '[optimizer]\nkind = "adm"\n', ["job.toml:6:8: ", '"adm"', "'adam'"]),
    "twice": (GOOD_JOB + "[training]\nepochs = 3\nepochs = 4\n", ["job.toml:7:", "'epochs'"]),
    "binary": ("\x00\x01\x02", ["job.toml:1:1: "]),
    "several": (GOOD_JOB + "[training]\nepochs = -3\nbatch_size = true\nslyces = 4\n",
                ["job.toml:6:10: ", "job.toml:7:14: ", "job.toml:8:1: "]),
}

# What is wrong -> bytes of the data, place, what is said of it.
ROWS = {
    "ragged": (b"a,b,y\n1,2,3\n1,2\n", "3:4", "2 cells"),
    "missing": (b"a,b,y\n1,,3\n", "2:3", "missing"),
    "text": (b"a,b,y\n1,2,3\nred,2,3\n", "3:1", "'red'"),
    "text after a mark": (b"\xef\xbb\xbfa,y\r\n1,2\r\nx,2\r\n", "3:1", "'x'"),
    "open quotes": (b'a,y\n1,"2\n3,4\n', "2:3", "never closed"),
    "nan": (b"1,2\nnan,2\n", "2:1", "'nan'"),
    "1e400": (b"1,2\n1e400,2\n", "2:1", "'1e400'"),
    "NUL": (b"1,2\n1\0,2\n", "2:2", "NUL"),
    "empty": (b"", "1:1", "empty"),
    "header only": (b"a,y\n", "1:1", "no rows"),
    "UTF-16": ("1,2\n".encode("utf-16"), "1:1", "UTF-16"),
}


class FaultyFiles(CommandTest):
    def write(self, name, content):
        (self.folder / name).write_bytes(content)

    def expect_refusal(self, code, words, *command):
        begin = time.monotonic()
        run = self.troupe(*(command or ("train", "job.toml")), code=code)
        self.assertLess(time.monotonic() - begin, lenient(REFUSAL_SECONDS), run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertEqual(run.stdout, "")
        written = [name for _, _, names in os.walk(os.path.join(self.folder, "runs"))
                   for name in names]
        self.assertEqual(written, [])

    def test_jobs(self):
        self.write("rows.csv", b"1,2\n2,3\n")
        for what, (text, words) in JOBS.items():
            with self.subTest(what):
                self.write("job.toml", text.encode())
                self.expect_refusal(78, words)

    def test_huge_jobs(self):
        line = b"# nothing but remarks\n"
        for what, text in (("lines", line * (HUGE_BYTES // len(line))),
                           ("zeros", bytes(HUGE_BYTES)),
                           ("one list", b"a = [" + b"1," * (HUGE_BYTES // 2))):
            with self.subTest(what):
                self.write("job.toml", text)
                self.expect_refusal(78, ["job.toml", "1048576"])

    def test_rows(self):
        self.write("job.toml", GOOD_JOB.encode())
        for what, (rows, place, words) in ROWS.items():
            with self.subTest(what):
                self.write("rows.csv", rows)
                self.expect_refusal(65, [f"rows.csv:{place}: ", words])

    def test_a_good_pair_is_accepted(self):
        """So that nothing above is refused for another reason."""
        self.write("rows.csv", b"\xef\xbb\xbfa,y\r\n1,2\r\n\"2\",3\r\n")
        self.write("job.toml", GOOD_JOB.encode())
        self.troupe("train", "job.toml", "--quiet")
        self.troupe("config", "check", JOB)


if __name__ == "__main__":
    main()
