"""Kinds of an application's own go through everything that the library's go through.

    python3 tests/scripts/kinds/own_kinds_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...

The program (own_kinds.cpp) is the command with a model ("wave") and an optimizer ("drag") of its own.
"""

import json
import math
import os
import signal
import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from cluster_run import (DIRECTOR, Cluster, cluster_text, nodes_on_loopback, results_with_a_kill,
                         resumed_after_a_kill, timeouts)
from command import BUILD, TROUPE, JobTest, finished, main, sets_of
from patience import HANG

PROGRAM = str(BUILD / "bin" / "own_kinds")
JOB = """[data]
file = "wave.csv"
test_fraction = 0.25
[model]
kind = "wave"
harmonics = 2
frequency = 1.5
[optimizer]
kind = "drag"
share = 0.5
learning_rate = 0.02
[training]
batch_size = 32
slices = 4
epochs = 40
"""
EPOCHS = 40
LONG = 1000  # epochs: a second or more, so that something can befall the run

class OwnKinds(JobTest):
    job_text = JOB
    figures = ("parameters_sha256", "job_sha256", "steps", "epochs", "train_loss", "test_loss")

    def setUp(self):
        super().setUp()
        rows = [(x, 3 * math.sin(2 * x) + 0.5) for x in (-1 + i / 100 for i in range(200))]
        self.write("wave.csv", "x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in rows))

    def run_program(self, *arguments, program=PROGRAM, code=0, **variables):
        return finished(program, *arguments, code=code, cwd=self.folder, env={**os.environ, **variables})

    def train(self, directory, sets=()):
        words = sets_of([f"output.directory={directory}", *sets])
        return json.loads(self.run_program("train", self.job, "--json", "--quiet", *words).stdout)

    def refusal(self, *arguments, code=78, **how):
        return self.run_program(*arguments, code=code, **how).stderr

    # ---- One process

    def test_they_learn_and_leave_what_others_leave(self):
        result = self.train("run")
        self.assertGreater(result["test_r2"], 0.9)
        identity = self.read("run", "identity.txt")
        for line in ("model.kind = wave 1", "model.wave.harmonics = 2", "optimizer.kind = drag 1",
                     "model.wave.frequency = 3ff8000000000000", "model.loss = squared",
                     "optimizer.drag.share = 3fe0000000000000"):
            self.assertIn(line + "\n", identity)
        self.assertNotIn("model.hidden", identity)
        self.assertNotIn("optimizer.momentum", identity)
        self.assertEqual(len(self.read("run", "history.csv").splitlines()), 1 + EPOCHS)

    def test_bits_do_not_depend_on_who_computes(self):
        alone = self.train("alone", sets=["training.replicas=1", "runtime.threads=1"])
        self.expect_equal(self.train("many", sets=["training.replicas=4", "runtime.threads=3"]), alone)
        other = self.train("other", sets=["model.harmonics=3"])
        self.assertNotEqual(other["job_sha256"], alone["job_sha256"])

    def test_stop_rules_and_the_best_version_work(self):
        result = self.train("run", sets=["training.patience=2", "training.tolerance=1000",
                                         "data.validation_fraction=0.2"])
        self.assertEqual(result["stopped_by"], "patience")
        self.assertLess(result["epochs"], EPOCHS)

    def test_members_apart_become_one(self):
        sets = ["training.strategy=parameters", "training.members=3", "training.local_steps=2",
                "training.slices="]
        alone = self.train("alone", sets=[*sets, "training.replicas=1"])
        self.expect_equal(self.train("two", sets=[*sets, "training.replicas=2"]), alone)

    def test_a_killed_run_goes_on_and_ends_like_one_that_was_not(self):
        sets = [f"training.epochs={LONG}", "checkpoint.every_steps=50"]
        undisturbed = self.train("undisturbed", sets=sets)
        self.expect_equal(resumed_after_a_kill(self.folder, self.job, sets, program=PROGRAM), undisturbed)

    # ---- Files

    def test_a_model_file_is_read_by_the_program_alone(self):
        self.train("run")
        self.refusal("evaluate", "run", "wave.csv", code=0)
        shown = json.loads(self.run_program("inspect", "run/model.safetensors", "--json").stdout)
        self.assertEqual(shown["kind"], "wave")
        self.assertEqual(shown["metadata"]["format"], "troupe-model-2")
        self.assertEqual(shown["metadata"]["options"].count("\"harmonics\": 2"), 1)
        self.write("rows.csv", "x\n0.25\n")
        predicted = self.run_program("predict", "run/model.safetensors", "rows.csv")
        value = float(predicted.stdout.splitlines()[-1].split(",")[-1])
        self.assertLess(abs(value - (3 * math.sin(0.5) + 0.5)), 0.5)
        for program, variables, why in [
                (TROUPE, {}, "a model of kind 'wave', version '1', which this program does not have"),
                (PROGRAM, {"TROUPE_TEST_KIND_VERSION": "2"}, "this program has version 2")]:
            self.assertIn(why, self.refusal("predict", "run/model.safetensors", "rows.csv",
                                            program=program, code=76, **variables))

    def test_job_files_are_checked_like_any_other(self):
        for program in ("train", "launch", "node"):
            file = self.job if program == "train" else self.cluster_file()
            self.assertIn('got the string "wave"', self.refusal(program, file, program=TROUPE))
        self.assertIn("start that one", self.refusal("train", self.job, program=TROUPE))
        for setting, why in [
                ("model.harmonic=2", "did you mean 'model.harmonics'?"),
                ("model.harmonics=65", "expected integer from 1 to 64, got the integer 65"),
                ("model.window=hamming", "expected \"none\" | \"hann\", got the string \"hamming\""),
                ("model.weights=[1,-1]", "expected list of numbers >= 0, got a list"),
                ("model.kind=waves", "did you mean 'wave'?"),
                ("optimizer.kind=adam", "adam takes no share"),
                ("optimizer.beta1=0.5", "drag takes no beta1"),
                ("optimizer.momentum=0.5", "drag takes no momentum"),
                ("model.hidden=[3]", "wave takes no hidden"),
                ("model.dropout=0.5", "wave takes no dropout"),
                ("model.cuts=2", "wave takes no cuts"),
                ("parallel.pipeline=2", "wave is computed as a whole"),
                ("parallel.sharded=true", "wave is computed as a whole"),
                ("data.dense=false", "wave reads dense rows")]:
            self.assertIn(why, self.refusal("train", self.job, "--set", setting), setting)
        keys = self.run_program("config", "keys").stdout
        self.assertIn("| `model.harmonics` | integer from 1 to 64 |", keys)
        self.assertIn("\\| \"wave\"", keys)
        shown = self.run_program("config", "show", self.job).stdout
        for line in ('kind = "wave"', "harmonics = 2", "shifts = false", 'window = "none"',
                     "weights = []", "share = 0.5"):
            self.assertIn(line + "\n", shown)
        self.write("shown.toml", shown)
        self.assertEqual(self.run_program("config", "show", "shown.toml").stdout, shown)

    def test_the_contract_is_kept(self):
        self.assertEqual(self.run_program("verify").stdout, "")

    # ---- Clusters

    def cluster_file(self, *more):
        nodes = nodes_on_loopback([(1, 1), (1, 1)])
        return self.write("cluster.toml", cluster_text(nodes, *more, job=self.job))

    def test_launch_starts_this_program(self):
        alone = self.train("alone")
        run = self.run_program("launch", self.cluster_file(), "--json", "--set", "output.directory=two")
        self.expect_equal(json.loads(run.stdout), alone)

    def test_a_worker_that_is_killed_does_not_show(self):
        settings = f"[training]\nepochs = {LONG}\n[checkpoint]\nevery_steps = 500\n"
        alone = self.train("alone", sets=[f"training.epochs={LONG}"])
        for result, messages in results_with_a_kill(self.folder, self.job, settings, PROGRAM):
            with self.subTest(messages=messages):
                self.expect_equal(result, alone)

    def test_other_versions_and_other_arithmetic_are_refused_by_name(self):
        for variables, why in [
                ({"TROUPE_TEST_KIND_VERSION": "2"}, "model.kind = wave 1 and wave 2"),
                ({"TROUPE_TEST_KIND_CHANGED": "1"}, r"optimizer drag 1 = [0-9a-f]{16} and [0-9a-f]{16}")]:
            nodes = nodes_on_loopback([(1, 1), (1, 0)])
            for node in nodes:
                node.program = PROGRAM
            nodes[1].wrapper = ["env", *(f"{key}={value}" for key, value in variables.items())]
            text = cluster_text(nodes, "", timeouts(join=60), job=self.job)
            with Cluster(text, nodes) as cluster:
                worker = cluster.processes["left"]
                worker.end(HANG)
                self.assertEqual(worker.process.returncode, 76, cluster.messages())
                self.assertRegex("\n".join(line for _, line in worker.lines), why)
                cluster.processes[DIRECTOR].signal(signal.SIGKILL)


if __name__ == "__main__":
    main()
