"""Trains the jobs of tests/golden/jobs.toml with each instruction set that is here, and on the first OpenCL device: the
parameters have the SHA-256 that stands there, which was computed elsewhere.

    tests/golden/golden_test.py BUILD SOURCE [--write]        --write: takes what comes out here, by the fastest
"""

import json
import os
import re
import signal
import sys
import tempfile
import tomllib
import unittest

sys.path.insert(0, f"{sys.path[0]}/../scripts")
from cluster_run import Cluster, cluster_text, nodes_on_loopback, settings_of, trained_alone
from command import JOB, SOURCE, TROUPE, finished, sets_of

TABLE = SOURCE / "tests/golden/jobs.toml"


def instructions():
    return json.loads(finished(TROUPE, "version", "--json").stdout)["instructions"]


def sha256_of(job, *settings):
    """Of the parameters that it comes to; or what was said."""
    with tempfile.TemporaryDirectory() as folder:
        words = sets_of([*job.get("set", []), *settings, f"output.directory={folder}/run"])
        run = finished(TROUPE, "train", SOURCE / job["from"], "--json", "--quiet", *words, code=None)
        return json.loads(run.stdout)["parameters_sha256"] if run.returncode == 0 else run.stderr


class Golden(unittest.TestCase):
    def test_each_job_comes_to_its_hash_by_every_instruction_set(self):
        jobs = tomllib.loads(TABLE.read_text(encoding="utf-8"))["job"]
        self.assertGreater(len(jobs), 40)
        for job in jobs:
            for name in instructions():
                with self.subTest(job=job["name"], instructions=name):
                    self.assertEqual(sha256_of(job, f"runtime.instructions={name}"), job["sha256"])
            for settings in job.get("also", []):
                with self.subTest(job=job["name"], also=settings):
                    self.assertEqual(sha256_of(job, *settings), job["sha256"])


    def test_each_job_comes_to_its_hash_on_a_device(self):
        on_device = 0
        for job in tomllib.loads(TABLE.read_text(encoding="utf-8"))["job"]:
            with self.subTest(job=job["name"]):
                found = sha256_of(job, "runtime.device=0")
                if "computed on the processor" not in found:
                    self.assertEqual(found, job["sha256"])
                    on_device += 1
        self.assertGreater(on_device, 40)


class MixedMachines(unittest.TestCase):
    def test_processes_with_different_instructions_end_as_one_whichever_is_killed(self):
        here = instructions()
        for attempt in range(20):
            nodes = nodes_on_loopback([(1, 1), (1, 0), (1, 1)])
            with Cluster(cluster_text(nodes, settings_of(60)), nodes, []) as cluster:
                for i, node in enumerate(nodes):
                    cluster.start(node.name, "--set", f"runtime.instructions={here[(i + attempt) % len(here)]}")
                cluster.wait_for_epoch(5)
                cluster.processes["left"].signal(signal.SIGKILL)
                result = cluster.result()
                self.assertEqual(result["parameters_sha256"], trained_alone(JOB, ["training.epochs=60"])[
                    "parameters_sha256"], cluster.messages())
            if result["replicas_lost"] > 0:
                return
        self.fail("the kill was always too late")


def write():
    parts = TABLE.read_text(encoding="utf-8").split("[[job]]")
    for i, job in enumerate(tomllib.loads("[[job]]".join(parts))["job"], start=1):
        found = sha256_of(job)
        if not re.fullmatch("[0-9a-f]{64}", found):
            sys.exit(f"{job['name']}: {found}")
        parts[i] = re.sub(r'\nsha256 = "\w+"', "", parts[i]).rstrip("\n") + f'\nsha256 = "{found}"\n\n'
    TABLE.write_text("[[job]]".join(parts).rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.pop("TROUPE_RUNTIME_INSTRUCTIONS", None)
    if "--write" in sys.argv:
        write()
    else:
        unittest.main(argv=sys.argv[:1])
