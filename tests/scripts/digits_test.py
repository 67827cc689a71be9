"""The promise on real data: one set of bits for any number of replicas and threads, idle or loaded.

    python3 tests/scripts/digits_test.py BUILD_FOLDER SOURCE_FOLDER

Trains examples/digits.toml, and those whose models are split over replicas, through the command and
compares runs with runs: never with a number kept in a file, which would hold for one kind of processor
only.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest

from patience import HANG

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
TROUPE = os.path.join(BUILD, "bin", "troupe")


def train(folder, *settings, job="digits"):
    """One run of an example in `folder`; the object that --json prints."""
    return run_job(folder, job, ["train", "--quiet", "--overwrite"], settings)


def run_job(folder, job, words, settings):
    arguments = [TROUPE, *words, "--json", os.path.join(SOURCE, "examples", job + ".toml")]
    for setting in settings:
        arguments += ["--set", setting]
    run = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=HANG)
    if run.returncode != 0:
        raise AssertionError(f"exit code {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def data_section_sha256(path):
    with open(path, "rb") as file:
        content = file.read()
    start = 8 + int.from_bytes(content[:8], "little")
    return hashlib.sha256(content[start:]).hexdigest()


class Digits(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.folder = self.place.name

    def tearDown(self):
        self.place.cleanup()

    def matrix(self):
        hashes = set()
        for replicas in (1, 2, 3, 4, 8):
            for threads in (1, 2, 4):
                result = train(self.folder, "training.slices=8", f"training.replicas={replicas}",
                               f"runtime.threads={threads}")
                self.assertEqual(result["replicas"], replicas)
                self.assertEqual(len(result["samples_by_replica"]), replicas)
                self.assertNotIn(0, result["samples_by_replica"])
                self.assertEqual(sum(result["samples_by_replica"]), result["samples"])
                hashes.add(result["parameters_sha256"])
        return hashes

    def test_one_hash_for_all_placements_idle_and_loaded(self):
        idle = self.matrix()
        self.assertEqual(len(idle), 1)
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                for _ in range(2 * (os.cpu_count() or 1))]
        try:
            loaded = self.matrix()
        finally:
            for process in busy:
                process.kill()
                process.wait()
        self.assertEqual(idle, loaded)

    def test_another_seed_or_one_more_slice_gives_another_hash(self):
        results = [train(self.folder, *settings) for settings in
                   (("training.slices=8",), ("training.slices=9",), ("training.slices=8", "job.seed=8"))]
        self.assertEqual(len({x["parameters_sha256"] for x in results}), 3)
        self.assertEqual(len({x["job_sha256"] for x in results}), 3)

    def test_placement_is_no_part_of_the_jobs_identity(self):
        results = [train(self.folder, *settings) for settings in
                   ((), ("training.replicas=3",), ("runtime.threads=1",), ("job.name=other",),
                    ("training.epochs=3",))]
        self.assertEqual(len({x["job_sha256"] for x in results}), 1)

    def test_hash_is_that_of_the_model_files_data_section(self):
        result = train(self.folder)
        path = os.path.join(self.folder, result["model_file"])
        self.assertEqual(result["parameters_sha256"], data_section_sha256(path))

    def test_the_example_reaches_what_it_promises(self):
        self.assertGreaterEqual(train(self.folder)["test_accuracy"], 0.96)


class Splits(unittest.TestCase):
    """Models that several replicas carry, as the plan says."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def check(self, job, accuracy, *placements):
        results = []
        for settings in [(), *placements]:
            plan = run_job(self.folder, job, ["config", "show", "--plan"], settings)
            results.append(train(self.folder, *settings, job=job))
            working = [sum(x["multiply_adds"] > 0 for x in plan["replicas"]),
                       sum(count > 0 for count in results[-1]["samples_by_replica"])]
            self.assertEqual(working, [plan["data"] * plan["tensor"] * plan["pipeline"]] * 2)
        self.assertGreaterEqual(results[0]["test_accuracy"], accuracy)
        self.assertEqual(len({x["parameters_sha256"] for x in results}), 1)
        self.assertEqual(len({x["job_sha256"] for x in results}), 1)

    def test_the_wide_network_is_one_whoever_carries_its_parts(self):
        self.check("wide_network", 0.97, ("parallel.tensor=1",), ("parallel.data=2",),
                   ("parallel.pipeline=2",))

    def test_the_pipeline_gives_what_one_replica_gives(self):
        self.check("pipeline", 0.96, ("parallel.pipeline=1",), ("parallel.pipeline=4",),
                   ("parallel.pipeline=5", "parallel.schedule=gpipe"),
                   ("parallel.stages=[4, 1]", "parallel.data=2"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
