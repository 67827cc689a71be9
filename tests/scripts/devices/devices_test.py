"""Training on an OpenCL device (Debian's pocl-opencl-icd makes one of the processor): the bits of the processor, in one
process and in clusters where others compute on the processor, with splits and losses; devices that are wrong or lost.

    tests/scripts/devices/devices_test.py BUILD SOURCE
"""

import os
import re
import signal
import sys
import unittest
from collections import Counter

sys.path.insert(0, f"{sys.path[0]}/..")
from cluster_run import Cluster, EqualRuns, cluster_text, nodes_on_loopback, nodes_text, settings_of, trained_alone  # noqa: E402
from command import JOB, CommandTest, sets_of  # noqa: E402

DEVICE = "runtime.device=0"


class Trace:
    """Of a process's devices: pocl records events."""

    def __init__(self, path, *words):
        self.path = path
        self.environment = dict(word.split("=", 1) for word in (*words, "POCL_TRACING=text", f"POCL_TRACING_OPT={path}"))
        self.wrapper = ["env", *(f"{name}={value}" for name, value in self.environment.items())]

    def done(self, what):
        return [line for line in self.path.read_text(encoding="utf-8").splitlines() if f"{what} | complete" in line]

    def kernels(self):
        """How many ended, by device."""
        return Counter(re.search(r"DEV (\d+)", line)[1] for line in self.done("ndrange_kernel"))

    def moves(self, way, numbers):
        """Of so many numbers: "write" there, or "read" back."""
        return [line for line in self.done(f"{way}_buffer") if re.search(rf"size={4 * numbers}\b", line)]


class Devices(CommandTest):
    def doctor(self, *words, code=0, **more):
        """Check -> its finding."""
        found = self.result_of("doctor", *words, code=code, **more)
        return {x["check"]: x for x in found["checks"]}

    def train(self, *keys, code=0, **more):
        return self.troupe("train", JOB, "--quiet", "--overwrite", *sets_of(("training.epochs=1", *keys)), code=code,
                           **more)

    def test_the_doctor_tries_devices_and_judges_what_a_job_wants(self):
        found = self.doctor()["device 0"]
        self.assertEqual(found["verdict"], "ok", found)
        self.assertRegex(found["what"], r"the bits of the processor; products [\d.]+ GFLOP/s")
        self.assertEqual(self.doctor(JOB, "--set", DEVICE).get("runtime.device"), None)
        missing = self.doctor(JOB, "--set", "runtime.device=nowhere", code=76)["runtime.device"]
        self.assertIn("there is no device 'nowhere'; here are 0: ", missing["what"])

    def test_a_device_with_other_bits_is_refused_and_auto_leaves_it_out(self):
        broken = {**os.environ, "TROUPE_TEST_BROKEN_DEVICE": "product"}
        found = self.doctor(env=broken)["device 0"]
        self.assertEqual(found["verdict"], "warn")
        self.assertIn("dense layers: other bits than the processor's", found["what"])
        said = self.train(DEVICE, code=76, env=broken).stderr
        self.assertIn("dense layers: other bits than the processor's", said)
        self.assertIn("runtime.device", said)
        self.assertEqual(self.doctor(JOB, "--set", DEVICE, code=76, env=broken)["runtime.device"]["verdict"], "fail")
        self.train("runtime.device=auto", env=broken)

    def test_what_cannot_be_had_is_told_before_training(self):
        self.assertIn("there is no device 'nowhere'", self.train("runtime.device=nowhere", code=76).stderr)
        self.assertIn("there is no device '99'", self.train("runtime.device=99", code=76).stderr)
        self.write("few.svm", "".join(f"{i % 2} {i * 97 + 1}:1\n" for i in range(40)))
        self.write("sparse.toml", '[data]\nfile = "few.svm"\n')
        said = self.troupe("train", "sparse.toml", "--set", DEVICE, code=76).stderr
        self.assertIn("sparse rows are computed on the processor", said)
        self.troupe("train", "sparse.toml", "--quiet", "--set", "runtime.device=auto")

    def test_a_model_that_a_device_has_no_room_for_is_told_with_the_numbers(self):
        said = self.train(DEVICE, "model.kind=neural-network", "model.hidden=[12000, 12000]", code=76,
                          env={**os.environ, "POCL_MEMORY_LIMIT": "1"}).stderr
        self.assertRegex(said, r"its replicas need is \d+ MiB of its memory, and it has 1024 MiB")

        said = self.train(DEVICE, "model.kind=neural-network", "model.hidden=[9000, 9000]", "training.slices=1", code=76,
                          env={**os.environ, "POCL_MEMORY_LIMIT": "1"}).stderr
        self.assertRegex(said, r"parameters in one piece are 31\d MiB, and it gives 256 MiB at a time")

    def test_stages_of_unequal_size_need_room_for_the_largest(self):
        said = self.train("runtime.device=pthread", "model.kind=neural-network", "model.hidden=[12000, 12000]", "model.cuts=1",
                          "parallel.pipeline=2", "training.slices=1", "training.replicas=1", code=76,
                          env={**os.environ, "POCL_DEVICES": "pthread pthread", "POCL_MEMORY_LIMIT": "1"}).stderr
        self.assertRegex(said, r"its replicas need is 11\d\d MiB of its memory, and it has 1024 MiB")

    def test_replicas_that_share_a_model_too_large_for_a_device_are_told_with_the_numbers(self):
        model = ("model.kind=neural-network", "model.hidden=[12000, 12000]", "model.cuts=2")
        limit = {**os.environ, "POCL_MEMORY_LIMIT": "1"}
        said = self.train(DEVICE, *model, "parallel.tensor=2", "training.replicas=1", code=76, env=limit).stderr
        self.assertRegex(said, r"its replicas need is \d+ MiB of its memory, and it has 1024 MiB")
        self.write("pair.toml", f'job = "{JOB}"\n[parallel]\ntensor = 2\n' + nodes_text([(1, 1), (1, 1)]))
        said = self.troupe("launch", "pair.toml", *sets_of((DEVICE, *model)), code=76, env=limit).stderr
        self.assertRegex(said, r"its replicas need is \d+ MiB of its memory, and it has 1024 MiB")

    def test_replicas_and_nodes_are_dealt_out_to_several_devices(self):
        trace, device = Trace(self.folder / "trace", "POCL_DEVICES=pthread pthread"), "runtime.device=pthread"
        self.doctor(env={**os.environ, **trace.environment})
        trial = trace.kernels()
        self.assertEqual(len(trial), 2, trial)
        for keys in (("training.epochs=2", "training.replicas=1", "parallel.tensor=2", "model.cuts=2"),
                     ("training.epochs=2", "training.replicas=2")):
            alone = trained_alone(JOB, keys)["parameters_sha256"]
            result = self.result_of("train", JOB, "--quiet", "--overwrite", *sets_of((*keys, device)),
                                    env={**os.environ, **trace.environment})
            self.assertEqual(result["parameters_sha256"], alone)
            for number, count in trace.kernels().items():
                self.assertGreater(count, 2 * trial[number], "each replica has one")
        nodes = nodes_on_loopback([(1, 1), (1, 1)])
        traces = [Trace(self.folder / node.name, "POCL_DEVICES=pthread pthread") for node in nodes]
        with Cluster(cluster_text(nodes, settings_of(2)).replace("min_nodes = 1", "min_nodes = 2"), nodes, []) as cluster:
            for node, one in zip(nodes, traces):
                cluster.nodes[node.name].wrapper = one.wrapper
                cluster.start(node.name, "--set", device)
            self.assertEqual(cluster.result()["parameters_sha256"], alone)
            cluster.exit_codes()
        for own, one in enumerate(traces):
            numbers = sorted(trial)
            kernels = one.kernels()
            self.assertGreater(kernels[numbers[own]], 2 * trial[numbers[own]], kernels)
            self.assertLess(kernels[numbers[1 - own]], 2 * trial[numbers[1 - own]], kernels)

    def test_a_device_that_is_lost_ends_a_run_with_its_name(self):
        said = self.train(DEVICE, "training.epochs=50", code=74,
                          env={**os.environ, "TROUPE_TEST_BROKEN_DEVICE": "lost"}).stderr
        self.assertIn("CL_DEVICE_NOT_AVAILABLE", said)
        self.assertRegex(said, r"step \d+, slice \d+")

    def test_parameters_go_there_once_a_version_and_one_gradient_a_step_comes_back(self):
        keys = ("training.batch_size=337", "training.slices=16", "training.replicas=1", "training.epochs=2")
        trace = Trace(self.folder / "trace")
        result = self.result_of("train", JOB, "--quiet", *sets_of((*keys, DEVICE)), env={**os.environ, **trace.environment})
        self.assertEqual(result["parameters_sha256"], trained_alone(JOB, keys)["parameters_sha256"])
        self.assertEqual(len(trace.moves("read", 9610)), 8, "steps")
        self.assertEqual(len(trace.moves("write", 9610)), 9, "versions, the last for its evaluation")

    def test_trainers_of_other_modes_compute_on_devices(self):
        for keys in (("training.strategy=parameters",), ("training.consistency=asynchronous",)):
            with self.subTest(keys=keys):
                result = self.result_of("train", JOB, "--quiet", "--overwrite", *sets_of((*keys, DEVICE, "training.epochs=2")))
                if keys == ("training.strategy=parameters",):
                    self.assertEqual(result["parameters_sha256"],
                                     trained_alone(JOB, (*keys, "training.epochs=2"))["parameters_sha256"])
                said = self.train(*keys, DEVICE, "training.epochs=200", code=74,
                                  env={**os.environ, "TROUPE_TEST_BROKEN_DEVICE": "lost"}).stderr
                self.assertIn("CL_DEVICE_NOT_AVAILABLE", said)


    def test_tiles_of_a_shared_model_go_there_once_a_version(self):
        keys = ("model.hidden=[64, 32]", "model.cuts=2", "parallel.tensor=2", "training.slices=8", "training.epochs=2",
                "training.batch_size=337", "training.replicas=1")
        trace = Trace(self.folder / "trace")
        result = self.result_of("train", JOB, "--quiet", *sets_of((*keys, DEVICE)), env={**os.environ, **trace.environment})
        self.assertEqual(result["parameters_sha256"], trained_alone(JOB, keys)["parameters_sha256"])
        # A part's units of both layers, what the parts have in common, and the last layer.
        for numbers in (32 * (64 + 1) + 32 * 32, 32, 10 * (32 + 1)):
            self.assertEqual(len(trace.moves("write", numbers)), 2 * 9, "two replicas, and nine versions")


class MixedClusters(EqualRuns):
    def test_processors_and_devices_share_a_job_that_one_of_them_leaves(self):
        nodes = nodes_on_loopback([(1, 1), (1, 0), (1, 1)])
        for attempt in range(20):
            text = cluster_text(nodes, settings_of(60)).replace('name = "left"', 'name = "left"\ndevice = "0"')
            with Cluster(text, nodes, []) as cluster:
                cluster.start("main")
                cluster.start("left")
                cluster.start("right", *sets_of((DEVICE,) if attempt % 2 else ()))
                cluster.wait_for_epoch(3)
                cluster.processes["left"].signal(signal.SIGKILL)
                cluster.wait_for_epoch(6)
                cluster.start("left")
                result = cluster.result()
                self.expect_equal(result, cluster, 60)
                if result["replicas_lost"] > 0:
                    return
        self.fail("the kill was always too late")

    def test_a_lost_device_is_a_lost_replica(self):
        nodes = nodes_on_loopback([(1, 1), (1, 0)])
        text = cluster_text(nodes, settings_of(60)).replace('name = "left"', 'name = "left"\ndevice = "0"')
        with Cluster(text, nodes, []) as cluster:
            cluster.nodes["left"].wrapper = ["env", "TROUPE_TEST_BROKEN_DEVICE=lost"]
            cluster.start("main")
            cluster.start("left")
            result = cluster.result()
            self.expect_equal(result, cluster, 60)
            self.expect_loss(result, cluster)
            self.assertEqual(cluster.exit_codes()["left"], 74, cluster.messages())

    def test_a_run_goes_on_from_the_processor_to_a_device(self):
        keys = ("training.epochs=4", "training.replicas=2")
        self.troupe("train", JOB, "--quiet", *sets_of((*keys, "training.steps=20", "checkpoint.every_steps=10")))
        result = self.result_of("train", JOB, "--quiet", "--resume", *sets_of((*keys, "checkpoint.every_steps=10", DEVICE)))
        self.assertEqual(result["parameters_sha256"], trained_alone(JOB, keys)["parameters_sha256"])


class Splits(CommandTest):
    def test_shared_models_have_the_bits_of_whole_ones(self):
        for keys in (("parallel.tensor=2", "model.hidden=[64, 32]", "model.cuts=2"),
                     ("parallel.pipeline=2", "model.hidden=[64, 32]", "model.activation=gelu", "model.dropout=0.2"),
                     ("parallel.tensor=2", "parallel.pipeline=2", "model.hidden=[64, 32, 16, 16]", "model.cuts=4"),
                     ("parallel.sharded=true", "model.hidden=[64, 32]")):
            with self.subTest(keys=keys):
                job = ("training.epochs=1", "training.replicas=2", "model.kind=neural-network", *keys)
                self.assertEqual(trained_alone(JOB, (*job, DEVICE))["parameters_sha256"],
                                 trained_alone(JOB, job)["parameters_sha256"])
                # It was the device: one that is lost ends the run.
                self.troupe("train", JOB, "--quiet", "--overwrite", *sets_of((*job, DEVICE, "training.epochs=50")), code=74,
                            env={**os.environ, "TROUPE_TEST_BROKEN_DEVICE": "lost"})

    def test_nodes_share_a_model_between_a_device_and_the_processor(self):
        trial = Trace(self.folder / "trial")
        self.troupe("doctor", env={**os.environ, **trial.environment})
        for table, keys in (("tensor = 2", ("model.cuts=2",)), ("sharded = true", ())):
            with self.subTest(table=table):
                nodes = nodes_on_loopback([(1, 1), (1, 1)])
                settings = f"[training]\nepochs = 2\n[parallel]\n{table}\n" + ("[model]\ncuts = 2\n" if keys else "")
                text = cluster_text(nodes, settings).replace('name = "left"', 'name = "left"\ndevice = "0"')
                text = text.replace("min_nodes = 1", "min_nodes = 2")
                trace = Trace(self.folder / table)
                with Cluster(text, nodes, []) as cluster:
                    cluster.nodes["left"].wrapper = trace.wrapper
                    cluster.start("main")
                    cluster.start("left")
                    result = cluster.result()
                    cluster.exit_codes()
                    self.assertGreater(trace.kernels().total(), 2 * trial.kernels().total(), "it was not the device")
                    alone = trained_alone(JOB, ("training.epochs=2", *keys))
                    self.assertEqual(result["parameters_sha256"], alone["parameters_sha256"], cluster.messages())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
