"""Training begins from a model file: what it learned goes on, fresh heads, frozen tensors, the same bits everywhere.

    python3 tests/scripts/kinds/start_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import json
import random
import struct
import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from command import TROUPE, CommandTest, finished, header_and_values, main

NETWORK = '[model]\nhidden = [12, 12]\n[optimizer]\nlearning_rate = 0.1\n'
FAST = '[training]\nbatch_size = 32\nslices = 4\nepochs = 4\n'


def table(seed, rows, shift=0.0, classes=("no", "yes")):
    """Two numbers, a category, and a class that they decide."""
    numbers = random.Random(seed)
    lines = ["size,weight,colour,answer"]
    for _ in range(rows):
        size, weight, colour = numbers.gauss(50 + shift, 10), numbers.gauss(0, 1), numbers.choice(["red", "blue"])
        score = (size - 50 - shift) / 10 + weight + (1 if colour == "red" else -1)
        lines.append(f"{size:.4f},{weight:.4f},{colour},{classes[score > 0 if len(classes) == 2 else int(score > 0) + (score > 1)]}")
    return "\n".join(lines) + "\n"


def tensors_of(path):
    header, values = header_and_values(path)
    return {name: values[slice(*entry["data_offsets"])] for name, entry in header.items() if name != "__metadata__"}


class StartTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("first.csv", table(1, 600))
        self.write("second.csv", table(2, 600, shift=30))
        data = '[data]\nfile = "{}"\ntarget = "answer"\ncategorical = ["colour"]\nstandardize = {}\ntest_fraction = 0.25\n'
        self.write("first.toml", data.format("first.csv", "true") + NETWORK + FAST)
        self.write("second.toml", data.format("second.csv", "false") + NETWORK.replace(
            "[model]\n", '[model]\nstart_from = "runs/first/model.safetensors"\n') + FAST)
        self.first = self.train("first.toml")

    def test_what_was_learned_goes_on(self):
        """Columns, scale and classes are the file's; with a rate of nearly 0 so is the result."""
        said = finished(TROUPE, "train", "second.toml", "--set", "optimizer.learning_rate=1e-12", "--set",
                        "data.file=first.csv", "--set", "output.directory=same", cwd=self.folder)
        self.assertIn("data.standardize does not count", said.stdout + said.stderr)
        self.assertIn("begins from 'runs/first/model.safetensors'", said.stdout + said.stderr)
        self.assertIn("; standardised", said.stdout + said.stderr)
        header, _ = header_and_values(self.folder / "same/model.safetensors")
        own, _ = header_and_values(self.folder / "runs/first/model.safetensors")
        for key in ("feature_mean", "feature_deviation", "columns", "classes"):
            self.assertEqual(header["__metadata__"][key], own["__metadata__"][key], key)
        for name, values in tensors_of("{}/same/model.safetensors".format(self.folder)).items():
            before = struct.unpack(f"{len(values) // 4}f", tensors_of(self.folder / "runs/first/model.safetensors")[name])
            for a, b in zip(struct.unpack(f"{len(values) // 4}f", values), before):
                self.assertAlmostEqual(a, b, delta=1e-6)
        mean_of = {name: self.result_of("evaluate", f"{name}/model.safetensors", "first.csv")["loss"]
                   for name in ("same", "runs/first")}
        self.assertAlmostEqual(mean_of["same"], mean_of["runs/first"], places=5)

    def test_bits_are_those_of_any_placement(self):
        bits = self.train("second.toml", "output.directory=one", "training.replicas=1")
        for number, keys in enumerate((["training.replicas=4"], ["model.cuts=2", "parallel.tensor=2"],
                                       ["parallel.pipeline=2"], ["parallel.sharded=true", "training.replicas=2"])):
            if keys[0] == "model.cuts=2":
                bits_of = self.train("second.toml", "output.directory=cut", "model.cuts=2")
            else:
                bits_of = bits
            self.expect_figures(self.train("second.toml", f"output.directory=x{number}", *keys), bits_of, what=keys)
        node = '[[node]]\nname = "{}"\naddress = "127.0.0.1:0"\n'
        self.write("two.toml", 'job = "second.toml"\n' + node.format("a") + "director = true\n" + node.format("b"))
        launched = self.result_of("launch", "two.toml", "--quiet", "--set", "output.directory=two")
        self.expect_figures(launched, bits, what="two processes")
        fresh = self.train("second.toml", "output.directory=none", 'model.start_from=""')
        self.assertNotEqual(fresh["job_sha256"], bits["job_sha256"])

    def test_frozen_tensors_stay_in_every_mode(self):
        frozen = ('training.freeze=["layers.0.*", "layers.2.bias"]', "training.epochs=2")
        before = tensors_of(self.folder / "runs/first/model.safetensors")
        modes = {"gradients": [], "decay": ["optimizer.kind=adamw", "optimizer.learning_rate=0.01"],
                 "clipped": ["optimizer.clip_norm=0.01", "optimizer.l2=0.1"],
                 "lbfgs": ["optimizer.kind=lbfgs", "training.batch_size=all"],
                 "adafactor": ["optimizer.kind=adafactor", "optimizer.learning_rate=0.01"],
                 "bf16": ["training.exchange=bf16"],
                 "parameters": ["training.strategy=parameters", "training.members=3", "training.slices="],
                 "median": ["training.strategy=parameters", "training.members=3", "training.slices=",
                            "merge.rule=geometric-median", "merge.outer=sgd", "merge.outer_momentum=0.9"],
                 "elastic": ["training.strategy=parameters", "training.members=3", "training.slices=",
                             "merge.elastic_alpha=0.3"],
                 "asynchronous": ["training.consistency=asynchronous", "training.slices="],
                 "asynchronous decay": ["training.consistency=asynchronous", "training.slices=", "optimizer.l2=0.1",
                                        "optimizer.kind=adamw", "optimizer.learning_rate=0.01"],
                 "members' decay": ["training.strategy=parameters", "training.members=3", "training.slices=",
                                    "optimizer.l1=0.1", "optimizer.kind=adamw", "optimizer.learning_rate=0.01"],
                 "federated": ["training.strategy=federated", "federated.clients=6", "federated.cohort=3",
                               "federated.rounds=4", "training.epochs=", "training.slices="],
                 "tensor": ["model.cuts=2", "parallel.tensor=2"], "pipeline": ["parallel.pipeline=2"],
                 "sharded": ["parallel.sharded=true", "training.replicas=2"]}
        for name, keys in modes.items():
            with self.subTest(name):
                self.train("second.toml", f"output.directory={name}", *frozen, *keys)
                for tensor, values in tensors_of(self.folder / name / "model.safetensors").items():
                    stays = tensor.startswith("layers.0.") or tensor == "layers.2.bias"
                    self.assertEqual(values == before[tensor], stays, tensor)

    def test_frozen_bits_do_not_depend_on_placement(self):
        keys = ('training.freeze=["layers.1.*"]', "optimizer.clip_norm=0.5", "optimizer.l2=0.01")
        bits = self.train("second.toml", "output.directory=a", "training.replicas=1", *keys)
        for number, more in enumerate((["training.replicas=4"], ["parallel.pipeline=2"],
                                       ["parallel.sharded=true", "training.replicas=2"])):
            self.expect_figures(self.train("second.toml", f"output.directory=b{number}", *keys, *more), bits, what=more)

    def test_a_fresh_head_learns_other_classes(self):
        self.write("third.csv", table(3, 600, classes=("low", "mid", "high")))
        keys = ("data.file=third.csv", "output.directory=third")
        said = finished(TROUPE, "train", "second.toml", "--set", keys[0], code=None, cwd=self.folder)
        self.assertIn("'high' is none of those of the model to start from", said.stderr)
        shown = finished(TROUPE, "train", "second.toml", *(word for key in (
            keys[0], "output.directory=shown", 'model.start_fresh=["layers.2.*"]', 'training.freeze=["layers.0.bias"]')
            for word in ("--set", key)), cwd=self.folder)
        self.assertIn("2 of 6 tensors by the seed; 12 parameters frozen", shown.stdout + shown.stderr)
        result = self.train("second.toml", *keys, 'model.start_fresh=["layers.2.*"]', "training.epochs=15")
        self.assertGreater(result["test_accuracy"], 0.85)

    def test_whole_numbers_are_amounts_where_they_were(self):
        """Without the model they would be taken for classes."""
        numbers = random.Random(5)
        self.write("stars.csv", "a,y\n" + "".join(f"{x:.3f},{round(3 * x)}\n" for x in (
            numbers.gauss(0, 1) for _ in range(200))))
        self.write("stars.toml", '[data]\nfile = "stars.csv"\ntarget = "y"\n[model]\nhidden = [6]\n' + FAST)
        self.train("stars.toml", "model.loss=squared")
        result = self.train("stars.toml", "model.start_from=runs/stars/model.safetensors", "output.directory=more")
        self.assertIsNone(result["test_accuracy"])
        header, _ = header_and_values(self.folder / "more/model.safetensors")
        self.assertEqual(header["__metadata__"]["loss"], "squared")

    def test_other_columns_are_refused(self):
        self.write("odd.csv", table(2, 100).replace("size,", "length,", 1))
        said = finished(TROUPE, "train", "second.toml", "--set", "data.file=odd.csv", code=None, cwd=self.folder)
        self.assertIn("size", said.stderr)
        self.assertNotEqual(said.returncode, 0)

    def test_a_resumed_run_begins_where_it_was(self):
        whole = self.train("second.toml", "output.directory=whole")
        keys = ("output.directory=part", "checkpoint.every_steps=5")
        self.train("second.toml", *keys, "training.steps=20")
        self.expect_figures(self.train("second.toml", *keys, more=("--resume",)), whole, keys=("parameters_sha256",))

    def test_another_value_is_another_job(self):
        other = self.folder / "other.safetensors"
        content = bytearray((self.folder / "runs/first/model.safetensors").read_bytes())
        content[-1] ^= 1
        other.write_bytes(content)
        one, another = (self.result_of("train", "second.toml", "--quiet", *sets)
                        for sets in (("--set", "output.directory=p"),
                                     ("--set", "output.directory=q", "--set", f"model.start_from={other}")))
        self.assertNotEqual(one["job_sha256"], another["job_sha256"])

    def test_names_of_another_program_need_a_table_that_the_error_has(self):
        header, values = header_and_values(self.folder / "runs/first/model.safetensors")
        del header["__metadata__"]
        names = {f"layers.{i}.{kind}": f"net.{2 * i}.{kind}" for i in range(3) for kind in ("weight", "bias")}
        text = json.dumps({names[name]: entry for name, entry in header.items()}).encode()
        (self.folder / "torch.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + values)
        words = ("train", "second.toml", "--quiet", "--json", "--set", "output.directory=torch", "--set",
                 "model.start_from=torch.safetensors")
        said = finished(TROUPE, *words, code=None, cwd=self.folder)
        lines = [line.strip() for line in said.stderr.splitlines() if "start_names = {" in line]
        self.assertEqual(len(lines), 1, said.stderr)
        table_text = lines[0].split("start_names = ", 1)[1]
        self.assertIn('"layers.0.bias" = "net.0.bias"', table_text)
        finished(TROUPE, *words, "--set", f"model.start_names={table_text}", code=0, cwd=self.folder)

    def test_odd_keys_are_refused(self):
        for keys, why in (((f'training.freeze=["layers.7.*"]',), 'no tensor of the model is called "layers.7.*"'),
                          (('training.freeze=["*"]',), "nothing is left to learn"),
                          (('model.start_from=""', 'model.start_fresh=["layers.2.*"]'), "model.start_from"),
                          (("model.start_from=nowhere.safetensors",), "nowhere.safetensors"),
                          (("model.start_from=first.csv",), "no safetensors file"),
                          (("model.hidden=[12]",), "layers.1.weight")):
            said = finished(TROUPE, "train", "second.toml", *[word for key in keys for word in ("--set", key)], code=None,
                            cwd=self.folder)
            self.assertIn(why, said.stderr, keys)
            self.assertNotEqual(said.returncode, 0)


if __name__ == "__main__":
    main()
