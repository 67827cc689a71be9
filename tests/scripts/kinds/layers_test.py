"""Chains of layers go through everything that other models go through, with the same bits.

    python3 tests/scripts/kinds/layers_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import json
import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from cluster_run import (Cluster, cluster_text, nodes_on_loopback, results_with_a_kill, resumed_after_a_kill,
                         timeouts)
from command import SOURCE, JobTest, main

IMAGES = """
convolution channels=8 activation=relu padding=same
pool size=2
residual { convolution channels=8 kernel=[3,3] padding=same activation=gelu; dropout rate=0.1 }
dense units=32 activation=tanh
"""
TABLES = """
[[model.layers]]
kind = "convolution"
channels = 8
activation = "relu"
padding = "same"
[[model.layers]]
kind = "pool"
size = 2
[[model.layers]]
kind = "residual"
layers = [
  { kind = "convolution", channels = 8, kernel = [3, 3], padding = "same", activation = "gelu" },
  { kind = "dropout", rate = 0.1 },
]
[[model.layers]]
kind = "dense"
units = 32
activation = "tanh"
"""
SEQUENCES = """
dense units=16
positions
block repeat=2 {
  residual { layer-norm; attention heads=4 causal=true }
  residual { layer-norm; dense units=32 activation=gelu; dense units=16 }
}
layer-norm
pool over=last
"""
KINDS = {"images": ("[8, 8, 1]", IMAGES), "sequences": ("[8, 8]", SEQUENCES)}


def job_of(kind, epochs=3):
    shape, layers = KINDS[kind]
    return f"""[data]
file = "{SOURCE}/examples/data/digits.csv.gz"
test_fraction = 0.2
standardize = true
[model]
kind = "chain"
shape = {shape}
layers = \"\"\"{layers}\"\"\"
[optimizer]
kind = "adam"
learning_rate = 0.003
[training]
batch_size = 64
slices = 4
epochs = {epochs}
"""


class Layers(JobTest):
    figures = ("parameters_sha256", "job_sha256", "steps", "epochs", "train_loss", "test_loss")

    def test_bits_do_not_depend_on_who_computes(self):
        for kind, least in (("images", 0.85), ("sequences", 0.7)):
            self.write("job.toml", job_of(kind))
            alone = self.train(kind + "-alone", "training.replicas=1", "runtime.threads=1")
            self.assertGreater(alone["test_accuracy"], least, kind)
            self.expect_equal(self.train(kind + "-many", "training.replicas=3", "runtime.threads=2"), alone)
            self.assertNotEqual(self.train(kind + "-other", "job.seed=2")["parameters_sha256"],
                                alone["parameters_sha256"])

    def test_a_chain_is_split_over_actors_and_nodes(self):
        file = self.write("job.toml", job_of("sequences"))
        alone = self.train("alone", "model.parts=2", "training.replicas=1")
        for number, split in enumerate((["parallel.tensor=2", "parallel.pipeline=2"], ["parallel.pipeline=4"],
                                        ["parallel.tensor=2", "parallel.data=2"], ["parallel.sharded=true"])):
            self.expect_equal(self.train(f"split{number}", "model.parts=2", *split), alone)
        nodes = nodes_on_loopback([(2, 1), (2, 1)])
        text = cluster_text(nodes, "[model]\nparts = 2\n[parallel]\ntensor = 2\npipeline = 2\n",
                            timeouts(join=20), job=file)
        with Cluster(text, nodes) as cluster:
            self.expect_equal(cluster.result(), alone)
        whole = self.train("whole", "model.parts=1")
        self.assertNotEqual(whole["parameters_sha256"], alone["parameters_sha256"])
        self.assertLess(abs(whole["train_loss"] - alone["train_loss"]), 0.05)

    def test_a_worker_that_is_killed_does_not_show(self):
        file = self.write("job.toml", job_of("images", epochs=20))
        alone = self.train("alone")
        for result, messages in results_with_a_kill(self.folder, file, "[checkpoint]\nevery_steps = 100\n"):
            with self.subTest(messages=messages):
                self.expect_equal(result, alone)

    def test_a_killed_run_goes_on_and_ends_like_one_that_was_not(self):
        self.write("job.toml", job_of("sequences", epochs=6))
        sets = ["checkpoint.every_steps=10"]
        undisturbed = self.train("undisturbed", *sets)
        self.expect_equal(resumed_after_a_kill(self.folder, self.job, sets), undisturbed)

    def test_a_model_file_says_what_layers_there_are(self):
        self.write("job.toml", job_of("images"))
        trained = self.train("run")
        self.assertEqual(self.result_of("evaluate", "run")["accuracy"], trained["test_accuracy"])
        shown = self.result_of("inspect", "run/model.safetensors")
        options = json.loads(shown["metadata"]["options"])
        self.assertTrue(options["layers"].startswith('convolution activation="relu" bias=true channels=8 '))
        self.assertEqual(options["shape"], [8, 8, 1])
        self.assertIn("model.kind = chain 1\n", self.read("run", "identity.txt"))
        # Written otherwise, it is the same job.
        self.write("job.toml", job_of("images").replace("pool size=2\n", "pool   size=2 over=max # as by default\n"))
        self.expect_equal(self.train("again"), trained)
        self.write("job.toml", job_of("images").replace("[optimizer]", TABLES + "[optimizer]").replace(
            f'layers = """{IMAGES}"""\n', ""))
        self.expect_equal(self.train("tables"), trained)

    def test_what_is_wrong_with_layers_is_told(self):
        self.write("job.toml", job_of("images"))
        for setting, why in [
                ("model.layers=dens units=3", "this program has no layer of kind 'dens'"),
                ("model.layers=dense units=0", "dense: units: expected integer from 1"),
                ("model.layers=dense units", "line 1: expected = and a value behind 'units'"),
                ("model.shape=[8,8]", "takes rows of height x width x channels, not 8 x 8"),
                ("model.shape=[8,7,1]", "a shape of 8 x 7 x 1 is none of rows of 64 features"),
                ("model.head=false", "scores are wanted"),
                ("model.hidden=[3]", "chain takes no hidden"),
                ("model.layers=[{units=3}]", "each with a kind and its options"),
                ("model.layers=[{kind='dense',units=0}]", "dense: units: expected integer from 1"),
                ("model.parts=0", "expected integer from 1 to 64"),
                ("parallel.tensor=2", "set model.parts = 2: another job, with other bits"),
                ("parallel.pipeline=5", "5 stages for 4 segments")]:
            self.assertIn(why, self.troupe("train", "job.toml", "--set", setting, code=78).stderr, setting)


if __name__ == "__main__":
    main()
