"""Kinds of an application's own go through everything that the library's go through.

    python3 tests/scripts/kinds/own_kinds_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...

The program (own_kinds.cpp) is the command with a model ("wave") and an optimizer ("drag") of its own, and with a loss,
an activation, a schedule, a merge rule and rules of results that are the library's once more: a job with them has the
parameters of the job with the library's.
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
# With one kind of each table; in place of them the library's.
VALUES_JOB = """[data]
file = "wave.csv"
test_fraction = 0.25
validation_fraction = 0.1
[model]
kind = "neural-network"
hidden = [12, 8]
activation = ["hinge", "relu"]
loss = "power"
[optimizer]
kind = "adam"
learning_rate = 0.02
[optimizer.schedule]
kind = "halves"
every = 90
[training]
batch_size = 30
slices = 3
epochs = 40
"""
KNOWN = ["model.activation=relu", "model.loss=squared", "optimizer.schedule.kind=step", "optimizer.schedule.steps=90",
         "optimizer.schedule.factor=0.5", "optimizer.schedule.every="]
EPOCHS = 40
LONG = 1000  # epochs: a second or more, so that something can befall the run

class WithProgram(JobTest):
    figures = ("parameters_sha256", "job_sha256", "steps", "epochs", "train_loss", "test_loss")

    def setUp(self):
        super().setUp()
        rows = [(x, 3 * math.sin(2 * x) + 0.5) for x in (-1 + i / 100 for i in range(200))]
        self.write("wave.csv", "x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in rows))

    def run_program(self, *arguments, program=PROGRAM, code=0, **variables):
        return finished(program, *arguments, code=code, cwd=self.folder, env={**os.environ, **variables})

    def train(self, directory, sets=()):
        words = sets_of([f"output.directory={directory}", *sets])
        return json.loads(self.run_program("train", self.job, "--json", "--quiet", "--overwrite", *words).stdout)

    def refusal(self, *arguments, code=78, **how):
        return self.run_program(*arguments, code=code, **how).stderr

    def cluster_file(self, *more):
        nodes = nodes_on_loopback([(1, 1), (1, 1)])
        return self.write("cluster.toml", cluster_text(nodes, *more, job=self.job))

    def expect_refused_by_name(self, variables, why):
        nodes = nodes_on_loopback([(1, 1), (1, 0)])
        for node in nodes:
            node.program = PROGRAM
        nodes[1].wrapper = ["env", *(f"{key}={value}" for key, value in variables.items())]
        with Cluster(cluster_text(nodes, "", timeouts(join=60), job=self.job), nodes) as cluster:
            worker = cluster.processes["left"]
            worker.end(HANG)
            self.assertEqual(worker.process.returncode, 76, cluster.messages())
            self.assertRegex("\n".join(line for _, line in worker.lines), why)
            cluster.processes[DIRECTOR].signal(signal.SIGKILL)


class OwnKinds(WithProgram):
    job_text = JOB

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
                (TROUPE, {}, ": a model of kind 'wave', version '1', which this program does not have"),
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
            self.expect_refused_by_name(variables, why)


class OwnValues(WithProgram):
    """Kinds that stand in place of a value of an enumeration."""
    job_text = VALUES_JOB
    figures = ("parameters_sha256", "steps", "epochs", "train_loss", "test_loss")

    def expect_twin(self, own=(), known=()):
        result = self.train("own", sets=own)
        self.expect_equal(result, self.train("known", sets=[*KNOWN, *known]))
        return result

    def test_they_are_what_the_librarys_are(self):
        self.expect_twin()
        identity = self.read("own", "identity.txt")
        for line in ("model.loss = power", "model.activation = hinge relu", "loss.kind = power 1",
                     "loss.power.power = 4000000000000000", "activation.kind = hinge 1", "schedule.kind = halves 1",
                     "schedule.halves.every = 90"):
            self.assertIn(line + "\n", identity)

    def test_options_are_part_of_the_job(self):
        shas = [self.train(f"run{i}", sets=sets)["job_sha256"]
                for i, sets in enumerate((["model.power=1"], ["model.power=2"], ["optimizer.schedule.every=91"], []))]
        self.assertEqual(len(set(shas)), 3)
        self.assertEqual(shas[1], shas[3], "the default")
        self.expect_twin(["model.power=1"], ["model.loss=absolute"])

    def test_a_schedule_within_others(self):
        inner = '{ kind = "halves", every = 30 }'
        parts = [f'optimizer.schedule={{ kind = "sequential", milestones = [40, 80], parts = [{", ".join(one)}] }}'
                 for one in ([f'{{ kind = "halves", every = {n} }}' for n in order] for order in ((30, 50, 30), (30, 50, 50)))]
        first, second = (self.train("run", sets=["optimizer.schedule.every=", one]) for one in parts)
        self.assertNotEqual(first["job_sha256"], second["job_sha256"])
        self.expect_twin(["optimizer.schedule.every=", f'optimizer.schedule={{ kind = "warmup", steps = 20, then = {inner} }}'],
                         ['optimizer.schedule={ kind = "warmup", steps = 20, then = '
                          '{ kind = "step", steps = 30, factor = 0.5 } }'])

    def test_models_are_merged(self):
        mode = ["training.strategy=parameters", "training.local_steps=2", "training.members=3"]
        for replicas in (1, 3):
            result = self.expect_twin([*mode, "merge.rule=middle", f"training.replicas={replicas}"],
                                      [*mode, "merge.rule=median"])
            self.assertNotEqual(result["parameters_sha256"], self.train("other", sets=mode)["parameters_sha256"])
        self.assertIn("merge.kind = middle 1\n", self.read("own", "identity.txt"))

    def test_results_end_training_and_lower_the_rate(self):
        many = f"training.epochs={LONG}"
        result = self.expect_twin([many, "training.stop_rule=rises", "training.count=2"], [many, "training.patience=2"])
        self.assertEqual(result["stopped_by"], "rule")
        self.assertLess(result["epochs"], LONG)
        steps = result["steps"] // result["epochs"]
        self.expect_twin(["optimizer.plateau.rule=each", "optimizer.plateau.count=5", "training.epochs=12"],
                         ["training.epochs=12", f"optimizer.schedule={{ kind = \"chained\", parts = [{{ kind = \"step\", "
                          f"steps = 90, factor = 0.5 }}, {{ kind = \"multi-step\", factor = 0.1, "
                          f"milestones = [{5 * steps}, {10 * steps}] }}] }}"])

    def test_a_killed_run_goes_on_and_ends_like_one_that_was_not(self):
        sets = [f"training.epochs={LONG}", "checkpoint.every_steps=50", "training.stop_rule=rises",
                "training.count=400", "optimizer.plateau.rule=each", "optimizer.plateau.count=90"]
        undisturbed = self.train("undisturbed", sets=sets)
        self.expect_equal(resumed_after_a_kill(self.folder, self.job, sets, program=PROGRAM), undisturbed)

    def test_a_rule_goes_by_evaluations_that_were_made(self):
        sets = ["training.stop_rule=each", "training.count=8", "checkpoint.every_steps=1", "optimizer.schedule.steps=200"]
        self.assertEqual(self.train("run", sets=[*sets, "training.epochs=10", "training.evaluate_every=2"])["epochs"], 10)
        words = sets_of([*sets, "output.directory=run", "training.evaluate_every=1"])
        result = json.loads(self.run_program("train", self.job, "--json", "--quiet", "--resume", *words).stdout)
        self.assertEqual((result["stopped_by"], result["epochs"]), ("rule", 13), "five before, three since")

    def test_two_nodes_and_a_killed_worker(self):
        settings = f"[training]\nepochs = {LONG}\n[checkpoint]\nevery_steps = 500\n"
        alone = self.train("alone", sets=[f"training.epochs={LONG}"])
        for result, messages in results_with_a_kill(self.folder, self.job, settings, PROGRAM):
            with self.subTest(messages=messages):
                self.expect_equal(result, alone)

    def test_owners_of_parts_merge_them(self):
        mode = ["training.strategy=parameters", "training.local_steps=2", "training.members=3", "merge.rule=middle"]
        alone = self.train("alone", sets=mode)
        words = sets_of([*mode, "output.directory=two"])
        run = self.run_program("launch", self.cluster_file(), "--json", *words)
        self.expect_equal(json.loads(run.stdout), alone)

    def test_a_model_file_is_read_by_the_program_alone(self):
        self.train("run", sets=["model.power=1"])
        shown = json.loads(self.run_program("inspect", "run/model.safetensors", "--json").stdout)["metadata"]
        self.assertEqual(shown["format"], "troupe-model-5")
        self.assertEqual([(one["table"], one["kind"], one["version"], one["options"])
                          for one in json.loads(shown["added"])],
                         [("loss", "power", 1, {"power": 1.0}), ("activation", "hinge", 1, {})])
        told = json.loads(self.run_program("evaluate", "run", "--json").stdout)
        summary = json.loads(self.read("run", "summary.json"))
        self.assertEqual(told["loss"], summary["test_loss"])
        self.write("rows.csv", "x\n0.25\n")
        self.run_program("predict", "run/model.safetensors", "rows.csv")
        for program, variables, why in [
                (TROUPE, {}, ": an activation of kind 'hinge', version '1', which this program does not have"),
                (PROGRAM, {"TROUPE_TEST_KIND_VERSION": "2"}, "this program has version 2")]:
            self.assertIn(why, self.refusal("predict", "run/model.safetensors", "rows.csv", program=program, code=76,
                                            **variables))
        path = self.folder / "run" / "model.safetensors"
        content = path.read_bytes()
        for old, new, why in [(b'\\"power\\":1.0', b'\\"power\\":1.5', "power: the power is 1 or 2"),
                              (b'\\"power\\":1.0', b'\\"power\\":9.0', "the metadata's 'options' are none of power"),
                              (b'\\"table\\":\\"loss', b'\\"table\\":\\"lass', "the metadata's 'loss' is 'power'")]:
            self.assertIn(old, content)
            path.write_bytes(content.replace(old, new, 1))
            self.assertIn(why, self.refusal("predict", "run/model.safetensors", "rows.csv", code=65))
        self.train("run", sets=["model.activation=relu"])
        self.assertIn(": a loss of kind 'power', version '1', which",
                      self.refusal("predict", "run/model.safetensors", "rows.csv", program=TROUPE, code=76))

    def test_job_files_are_checked_like_any_other(self):
        self.assertIn('got the string "hinge"', self.refusal("train", self.job, program=TROUPE))
        for setting, why in [
                ("model.powr=2", "did you mean 'model.power'?"),
                ("model.power=3", "expected number in [1, 2], got the integer 3"),
                ("model.power=1.5", "power: the power is 1 or 2"),
                ("model.loss=squared", "squared, hinge, relu takes no power"),
                ("optimizer.schedule.kind=constant", "constant takes no every"),
                ("model.loss=powers", "did you mean 'power'?"),
                ("training.count=3", "none takes no count"),
                ("training.stop_rule=falls", "expected one of \"none\" | \"rises\" | \"each\""),
                ("merge.rule=middles", "did you mean 'middle'?")]:
            self.assertIn(why, self.refusal("train", self.job, "--set", "model.power=2", "--set", setting), setting)
        shown = self.run_program("config", "show", self.job, "--set", "model.power=1").stdout
        for line in ('loss = "power"', "power = 1.0", 'activation = ["hinge", "relu"]', "every = 90"):
            self.assertIn(line + "\n", shown)
        self.write("shown.toml", shown)
        self.assertEqual(self.run_program("config", "show", "shown.toml").stdout, shown)

    def test_other_versions_and_other_arithmetic_are_refused_by_name(self):
        for variables, why in [
                ({"TROUPE_TEST_KIND_VERSION": "2"}, "loss.kind = power 1 and power 2"),
                ({"TROUPE_TEST_LOSS_CHANGED": "1"}, r"loss power 1 = [0-9a-f]{16} and [0-9a-f]{16}")]:
            self.expect_refused_by_name(variables, why)


if __name__ == "__main__":
    main()
