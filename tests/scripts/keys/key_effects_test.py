"""Each key of a job has the part in the result that the table of keys says: small jobs are trained with another value
of the key, and their identities and parameters compared.

    bits  another identity, and other parameters
    rows  another identity, by the fingerprint of the rows
    end   the same identity, but another last version, or another one that is kept
    none  the same identity and the same parameters

A new key needs a line in CHANGES.

    tests/scripts/keys/key_effects_test.py BUILD SOURCE
"""

import json
import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, f"{sys.path[0]}/..")
from command import TROUPE, finished, main, sets_of

BASE = ["job.seed=1", "data.synthetic=classification", "data.rows=60", "data.features=4", "data.classes=3",
        "model.hidden=[8]", "training.epochs=2", "training.batch_size=16", "training.slices=2", "runtime.threads=1",
        "optimizer.learning_rate=0.1"]
REGRESSION = ["data.synthetic=regression"]
CSV = ["data.synthetic=", "data.file=rows.csv", "data.target=y", "data.ignore=[\"who\", \"when\", \"gap\", \"colour\"]"]
PLAN = ["data.synthetic=", "data.file=rows.csv", "data.target=y", "data.ignore=[\"who\", \"when\", \"colour\"]",
        "data.missing=mean"]
LIBSVM = ["data.synthetic=", "data.file=rows.libsvm"]
TEXT = ["data.synthetic=", "data.file=rows.txt", "data.format=text", "data.window=4"]
LANES = ["data.shuffle=lanes", "data.chunk_rows=8", "data.window_rows=32"]
BINARY = ["model.kind=logistic-regression", "model.hidden=", "data.classes=2"]
CHAIN = ["model.kind=chain", "model.hidden=", "model.layers=dense units=8 activation=gelu"]
ADAM = ["optimizer.kind=adam", "optimizer.learning_rate=0.01"]
LBFGS = ["optimizer.kind=lbfgs", "training.batch_size=all", "optimizer.learning_rate=", "training.epochs=6"]
PLATEAU = ["optimizer.plateau.patience=1", "training.epochs=12", "optimizer.plateau.tolerance=100"]
VALIDATED = ["data.validation_fraction=0.3", "training.epochs=8", "optimizer.learning_rate=5", "optimizer.momentum=0.9",
             "data.noise=1"]
MERGED = ["training.strategy=parameters", "training.slices=", "training.members=5", "training.local_steps=2"]
SGD_OUTER = [*MERGED, "merge.outer=sgd"]
CLIENTS = ["training.strategy=federated", "training.epochs=", "training.slices=", "federated.clients=10",
           "federated.cohort=4", "federated.rounds=3"]
LATE = ["training.consistency=asynchronous", "training.slices=", "training.replicas=2"]
PRIVATE = [*CLIENTS, "merge.weighting=equal", "privacy.clip_norm=1", "privacy.noise_multiplier=1",
           "privacy.delta=1e-3", "privacy.key_file=run.key"]
START = ["model.hidden=[4, 4]", "model.start_from=start.safetensors", 'model.start_fresh=["*.bias"]']
NAMED = [*START, 'model.start_names={ "layers.0.weight" = "p.weight" }']
FRESH = ["model.hidden=[4, 4]", "model.start_from=start.safetensors", 'model.start_ignore=["q.weight"]',
         'model.start_fresh=["*.bias", "layers.0.weight"]']


def schedule(kind, *more):
    return [f"optimizer.schedule.kind={kind}", *[f"optimizer.schedule.{text}" for text in more]]


# key: (the other value, what the job is beside BASE, what else changes)
# Of kinds that only an application has: tests/scripts/kinds/own_kinds_test.py.
OF_APPLICATIONS = ("optimizer.plateau.rule", "training.stop_rule")
# Of a server whose clients dial in: tests/scripts/federated/clients_test.py.
OF_SERVERS = tuple(f"federated.{key}" for key in ("listen", "admit", "denied", "round_time", "clients_max", "ca",
                                                  "certificate", "key"))

CHANGES = {
    "job.name": ("other", []),
    "job.seed": ("2", []),
    "data.file": ("others.csv", CSV),
    "data.holdings": ("others.csv", [*CSV, "data.file=", "data.holdings=rows.csv", "model.loss=categorical-cross-entropy"]),
    "data.synthetic": ("regression", []),
    "data.rows": ("70", []),
    "data.features": ("5", []),
    "data.classes": ("4", []),
    "data.targets": ("2", REGRESSION),
    "data.noise": ("0.5", REGRESSION),
    "data.format": ("csv", ["data.synthetic=", "data.file=numbers.csv"]),
    "data.header": ("false", ["data.synthetic=", "data.file=numbers.csv", "data.header=true"]),
    "data.target": ("a", CSV),
    "data.ignore": ('["who", "when", "gap", "colour", "b"]', CSV),
    "data.weight": ("b", CSV),
    "data.split_by": ("b", [*CSV, "data.test_fraction=0.3"]),
    "data.categorical": ('["a"]', CSV),
    "data.categories_max": ("100", [*CSV, 'data.categorical=["a"]']),
    "data.boolean": ('["flag"]', CSV),
    "data.date": ('["when"]', CSV, 'data.ignore=["who", "gap", "colour"]'),
    "data.datetime": ('["when"]', CSV, 'data.ignore=["who", "gap", "colour"]'),
    "data.date_order": ("month-first", [*CSV, 'data.date=["when"]', 'data.ignore=["who", "gap", "colour"]',
                                        "data.file=days.csv", "data.date_order=day-first"]),
    "data.amount": ('["a"]', CSV),
    "data.missing": ("drop", PLAN),
    "data.missing_cells": ('["", "3"]', PLAN),
    "data.missing_indicator": ("true", PLAN),
    "data.separator": (";", ["data.synthetic=", "data.file=numbers.csv"], "data.file=semicolons.csv"),
    "data.quote": ("'", CSV),
    "data.decimal": (",", ["data.synthetic=", "data.file=semicolons.csv", "data.separator=;"], "data.file=commas.csv"),
    "data.comment": ("#", ["data.synthetic=", "data.file=numbers.csv"]),
    "data.skip_lines": ("1", ["data.synthetic=", "data.file=numbers.csv", "data.header=false"]),
    "data.index_base": ("0", LIBSVM),
    "data.dense": ("false", LIBSVM),
    "data.hash_bits": ("4", LIBSVM),
    "data.table": ("other_table.json", [*CSV, "data.table=table.json"]),
    "data.window": ("5", TEXT),
    "data.stride": ("2", TEXT),
    "data.labels_file": ("other_labels.npy", ["data.synthetic=", "data.file=rows.npy", "data.labels_file=labels.npy"]),
    "data.test_fraction": ("0.2", []),
    "data.validation_fraction": ("0.2", []),
    "data.stratify": ("true", ["data.test_fraction=0.3"]),
    "data.folds": ("4", ["data.folds=3", "data.fold=1"]),
    "data.fold": ("0", ["data.folds=3", "data.fold=1"]),
    "data.standardize": ("true", []),
    "data.target_scale": ("none", REGRESSION),
    "data.test_file": ("others.csv", CSV),
    "data.validation_file": ("others.csv", CSV),
    "data.shuffle": ("lanes", []),
    "data.chunk_rows": ("4", LANES),
    "data.window_rows": ("16", LANES),
    "model.kind": ("logistic-regression", ["model.hidden=", "data.classes=2"]),
    "model.hidden": ("[9]", []),
    "model.activation": ("tanh", []),
    "model.loss": ("huber", REGRESSION),
    "model.link": ("probit", BINARY),
    "model.huber_threshold": ("0.1", [*REGRESSION, "model.loss=huber"]),
    "model.bias": ("false", []),
    "model.dropout": ("0.5", []),
    "model.start_from": ("other_start.safetensors", NAMED),
    "model.start_fresh": ('["*.bias", "layers.1.weight"]', FRESH),
    "model.start_ignore": ('["p.weight"]', FRESH),
    "model.start_names": ('{ "layers.0.weight" = "q.weight" }', NAMED),
    "model.cuts": ("2", ["model.hidden=[64, 64]"]),
    "model.cut": ('["none", "outputs", "inputs"]', ["model.hidden=[64, 64]", "model.cuts=2",
                                                    'model.cut=["outputs", "inputs", "none"]']),
    "model.initialization": ("normal", []),
    "model.initialization_scale": ("0.3", ["model.initialization=normal"]),
    "model.shape": ("[2, 2]", [*CHAIN[:-1], "model.layers=layer-norm", "model.shape=[1, 4]"]),
    "model.layers": ("dense units=9", CHAIN),
    "model.head": ("false", [*CHAIN[:-1], "model.layers=dense units=3"]),
    "model.parts": ("2", [*CHAIN[:-1], "model.layers=residual { dense units=256 activation=relu; dense units=4 }"]),
    "optimizer.kind": ("rmsprop", []),
    "optimizer.learning_rate": ("0.2", []),
    "optimizer.momentum": ("0.9", []),
    "optimizer.nesterov": ("true", ["optimizer.momentum=0.9"]),
    "optimizer.beta1": ("0.8", ADAM),
    "optimizer.beta2": ("0.9", ADAM),
    "optimizer.rho": ("0.8", ["optimizer.kind=rmsprop"]),
    "optimizer.epsilon": ("0.1", ADAM),
    "optimizer.weight_decay": ("0.1", ["optimizer.kind=adamw"]),
    "optimizer.damping": ("0.1", [*REGRESSION, "model.hidden=[4]", "optimizer.kind=gauss-newton",
                                  "optimizer.learning_rate=", "training.batch_size=all", "training.slices="]),
    "optimizer.history_size": ("1", LBFGS),
    "optimizer.l1": ("0.01", []),
    "optimizer.l2": ("0.01", []),
    "optimizer.clip_value": ("0.001", []),
    "optimizer.clip_norm": ("0.001", []),
    "optimizer.schedule.kind": ("cosine", []),
    "optimizer.schedule.steps": ("3", schedule("cosine", "steps=5")),
    "optimizer.schedule.factor": ("0.7", schedule("step", "steps=2")),
    "optimizer.schedule.minimum": ("0.5", schedule("cosine")),
    "optimizer.schedule.start": ("0.5", schedule("warmup", "steps=4")),
    "optimizer.schedule.end": ("0.5", schedule("linear")),
    "optimizer.schedule.power": ("2", schedule("polynomial")),
    "optimizer.schedule.milestones": ("[2]", schedule("multi-step", "milestones=[3]")),
    "optimizer.schedule.parts": ('[{ kind = "cosine" }]', schedule("chained", 'parts=[{ kind = "linear", start = 0.5 }]')),
    "optimizer.schedule.then": ('{ kind = "cosine" }', schedule("warmup", "steps=2")),
    "optimizer.plateau.patience": ("2", PLATEAU),
    "optimizer.plateau.factor": ("0.7", PLATEAU),
    "optimizer.plateau.tolerance": ("100", [*PLATEAU[:2], "optimizer.learning_rate=2"]),
    "optimizer.plateau.minimum": ("0.9", PLATEAU),
    "training.strategy": ("parameters", []),
    "training.consistency": ("asynchronous", ["training.slices=", "training.replicas=1"]),
    "training.batch_size": ("15", []),
    "training.slices": ("3", []),
    "training.replicas": ("2", ["training.replicas=1"]),
    "training.exchange": ("bf16", []),
    "training.epochs": ("3", []),
    "training.steps": ("5", []),
    "training.target_loss": ("100", []),
    "training.patience": ("1", [*VALIDATED, "training.keep_best=false"]),
    "training.tolerance": ("100", ["data.validation_fraction=0.3", "training.epochs=8", "training.patience=2"]),
    "training.evaluate_every": ("3", VALIDATED),
    "training.history_every": ("2", []),
    "training.keep_best": ("false", VALIDATED),
    "training.watch": ("accuracy", VALIDATED),
    "training.metrics": ('["macro-f1"]', ["data.test_fraction=0.3"]),
    "training.class_weights": ("[1, 2, 3]", []),
    "training.freeze": ('["layers.0.*"]', []),
    "training.threshold": ("f1", [*BINARY, "data.validation_fraction=0.3"]),
    "training.threshold_class": ('"0"', [*BINARY, "data.validation_fraction=0.3", "training.threshold=f1"]),
    "training.members": ("4", MERGED),
    "training.local_steps": ("1", MERGED),
    "training.late_steps": ("inverse", LATE),
    "training.delay_compensation": ("0.1", LATE),
    "merge.rule": ("median", MERGED),
    "merge.weighting": ("equal", [*MERGED, "data.rows=58"]),
    "merge.trimmed_count": ("2", [*MERGED, "merge.rule=trimmed-mean"]),
    "merge.faulty_count": ("1", [*MERGED, "merge.rule=multi-krum"]),
    "merge.kept_count": ("2", [*MERGED, "merge.rule=multi-krum"]),
    "merge.elastic_alpha": ("0.1", MERGED),
    "merge.outer": ("adam", MERGED),
    "merge.outer_rate": ("0.5", SGD_OUTER),
    "merge.outer_momentum": ("0.5", SGD_OUTER),
    "merge.outer_nesterov": ("true", [*SGD_OUTER, "merge.outer_momentum=0.5"]),
    "merge.averaging": ("mean", MERGED),
    "merge.averaging_decay": ("0.5", [*MERGED, "merge.averaging=exponential"]),
    "merge.flipped_members": ("1", MERGED),
    "merge.flip_factor": ("2", [*MERGED, "merge.flipped_members=1"]),
    "federated.clients": ("12", CLIENTS),
    "federated.partition": ("{ dirichlet = 0.3 }", CLIENTS),
    "federated.cohort": ("3", CLIENTS),
    "federated.sampling": ("poisson", CLIENTS),
    "federated.rounds": ("4", CLIENTS),
    "federated.local_epochs": ("2", CLIENTS),
    "federated.local_steps": ("3", CLIENTS),
    "federated.proximal": ("0.5", [*CLIENTS, "federated.local_epochs=3"]),
    "federated.drop_out": ("0.5", CLIENTS),
    "federated.over_selection": ("1", CLIENTS),
    "federated.deadline": ("1", [*CLIENTS, "federated.speed_spread=2", "federated.deadline=100"]),
    "federated.speed_spread": ("3", [*CLIENTS, "federated.deadline=6"]),
    "federated.min_count": ("3", [*CLIENTS, "federated.drop_out=0.5"]),
    "federated.groups": ("2", [*CLIENTS, "merge.rule=median", "federated.groups=4"]),
    "federated.update_range": ("0.001", CLIENTS),
    "federated.weight_max": ("2", [*CLIENTS, "federated.partition={ sizes = 1 }"]),
    "federated.evaluate_clients": ("true", [*CLIENTS, "data.test_fraction=0.3"]),
    "privacy.clip_norm": ("0.1", PRIVATE),
    "privacy.noise_multiplier": ("2", PRIVATE),
    "privacy.epsilon": ("1", [*PRIVATE, "privacy.noise_multiplier=", "privacy.epsilon=3"]),
    "privacy.delta": ("1e-4", [*PRIVATE, "privacy.noise_multiplier=", "privacy.epsilon=3"]),
    "privacy.key_file": ("other.key", PRIVATE),
    "parallel.data": ("2", ["training.replicas="]),
    "parallel.tensor": ("2", ["model.hidden=[64]", "model.cuts=2"]),
    "parallel.pipeline": ("2", []),
    "parallel.schedule": ("gpipe", ["parallel.pipeline=2"]),
    "parallel.stages": ("[2, 1]", ["parallel.pipeline=2", "model.hidden=[8, 8]"]),
    "parallel.sharded": ("true", []),
    "runtime.threads": ("2", []),
    "runtime.policy": ("stealing", []),
    "runtime.instructions": ("portable", []),
    "runtime.device": ("auto", []),
    "runtime.attempts": ("5", []),
    "runtime.lease": ("5", []),
    "checkpoint.every_steps": ("3", []),
    "checkpoint.directory": ("kept", ["checkpoint.every_steps=3"]),
    "checkpoint.keep": ("1", ["checkpoint.every_steps=3"]),
    "output.directory": ("elsewhere", []),
}

# Rows that are read in another way, and may be the same.
SAME_ROWS = {"data.format", "data.separator", "data.quote", "data.decimal", "data.comment", "data.categories_max"}

# Only a cluster has these: tests/scripts/rows/home_test.py.
CLUSTERS = ["data.at_nodes"]

# Only training that repeats its bits proves something, and one replica is late for none. Others come to rows for
# testing, or to the same numbers by another way.
UNPROVEN = {"training.late_steps", "training.delay_compensation", "training.consistency", "data.test_file",
            "data.validation_file", "data.boolean", "data.amount"}


def write_npy(path, rows):
    """32-bit numbers, version 1.0 of the format."""
    shape = (len(rows), len(rows[0])) if len(rows[0]) > 1 else (len(rows),)
    header = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    values = [value for row in rows for value in row]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                     struct.pack(f"<{len(values)}f", *values))


def write_tensors(path, first):
    """Two weights of four units for four, one of three for four."""
    header, values = {}, []
    for name, rows in (("p", 4), ("q", 4), ("r", 3)):
        begin = 4 * len(values)
        values += [(first + 7 * len(values) + i * i) % 11 / 16 - 0.3 for i in range(4 * rows)]
        header[f"{name}.weight"] = {"dtype": "F32", "shape": [rows, 4], "data_offsets": [begin, 4 * len(values)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + struct.pack(f"<{len(values)}f", *values))


def write_table(path, mean):
    """Of rows.csv, but for what CSV ignores."""
    form = {"features": ["a", "b", "flag"], "feature_count": 3, "sparse": False, "targets": ["y"], "target_count": 0,
            "classes": ["0", "1", "2"], "fill": []}
    learned = {"fill": [], "mean": [mean] * 3, "deviation": [2] * 3, "target_scale": "none", "target_mean": [],
               "target_deviation": []}
    path.write_text(json.dumps({"format": "troupe-table-1", "form": form, "learned": learned}), encoding="utf-8")


def write_rows(folder):
    write_table(folder / "table.json", 1)
    write_table(folder / "other_table.json", 2)
    write_tensors(folder / "start.safetensors", 1)
    write_tensors(folder / "other_start.safetensors", 5)
    def table(name, rows, separator=",", header="a,b,flag,who,when,gap,colour,y"):
        lines = [header.replace(",", separator)] if header else []
        lines += [separator.join(map(str, row)) for row in rows]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def row(i, shift=0):
        return (i * 7 % 5 + shift, i * 3 % 4 + 1, i % 2, f"p{i % 9}", f"2024-02-{i % 28 + 1:02}", "" if i % 7 == 3 else i % 4,
                ("red", "green")[i % 2], i % 3)

    table("rows.csv", [row(i) for i in range(60)])
    table("others.csv", [row(i, 1) for i in range(50)])
    table("days.csv", [(*row(i)[:4], f"{i % 12 + 1}/{i % 7 + 1}/2024", *row(i)[5:]) for i in range(60)])
    numbers = [(10, 11, 2), *((i * 7 % 5, i * 3 % 4, i % 3) for i in range(60))]
    table("numbers.csv", numbers, header="")
    table("semicolons.csv", numbers, ";", "")
    table("commas.csv", [(f"{x},5", y, z) for x, y, z in numbers], ";", "")
    (folder / "rows.libsvm").write_text("".join(f"{i % 3} 1:{i * 7 % 5} 2:{i * 3 % 4}\n" for i in range(60)))
    write_npy(folder / "rows.npy", [[i * 7 % 5, i * 3 % 4] for i in range(60)])
    write_npy(folder / "labels.npy", [[i % 3] for i in range(60)])
    write_npy(folder / "other_labels.npy", [[i % 4 // 2] for i in range(60)])
    (folder / "rows.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 4)


class Effects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (cls.folder / "job.toml").write_text("")
        write_rows(cls.folder)

    def train(self, sets):
        words = sets_of(["output.directory=run", *BASE, *sets])
        return json.loads(finished(TROUPE, "train", "job.toml", "--json", "--quiet", "--overwrite", *words,
                                   cwd=self.folder).stdout)

    def test_each_key_has_the_part_in_the_result_that_its_row_says(self):
        keys = json.loads(finished(TROUPE, "config", "keys", "--json").stdout)
        self.assertEqual(sorted(keys), sorted([*CHANGES, *CLUSTERS, *OF_APPLICATIONS, *OF_SERVERS]), "a new key needs a line in CHANGES")
        for path, (value, beside, *more) in CHANGES.items():
            with self.subTest(key=path, effect=keys[path]["effect"]):
                changed = self.train([*beside, *more, f"{path}={value}"])
                self.compare(path, keys[path]["effect"], self.train(beside), changed)

    def compare(self, path, effect, before, after):
        same_job = before["job_sha256"] == after["job_sha256"]
        same_bits = before["parameters_sha256"] == after["parameters_sha256"]
        if path in SAME_ROWS:
            self.assertEqual(same_job, same_bits)
            return
        self.assertEqual(same_job, effect in ("end", "none"), "identity")
        if path not in UNPROVEN:
            self.assertEqual(same_bits, effect == "none", "parameters")


main()
