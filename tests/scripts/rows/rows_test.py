"""Rows that stay on the disk: what they train to is what rows in memory do, however often a run is killed.

    python3 tests/scripts/rows/rows_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...

A file of TROUPE_ROWS_MEGABYTES (480) trains in less memory than it has bytes.
"""

import array
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, f"{sys.path[0]}/..")
from cluster_run import nodes_on_loopback, nodes_text
from command import TROUPE, OneFolderTest, main
from patience import HANG
from resume_test import Run, sets

MEGABYTES = int(os.environ.get("TROUPE_ROWS_MEGABYTES", 480))
# In memory beside the windows: code, libraries, pools of memory.
BASE_MEGABYTES = 64
WINDOW_MEGABYTES = 16
# Of addresses: all that a run may map, libraries, stacks and scratch that is never touched among it.
ADDRESS_MEGABYTES = 700_000 >> 10
# Of rows in files: more than one chunk, window and step to each slice.
LANES_JOB = """[data]
shuffle = "lanes"
chunk_rows = 32
window_rows = 512
standardize = true
test_fraction = 0.2
[model]
kind = "neural-network"
hidden = [30]
[training]
batch_size = 60
slices = 3
epochs = 8
[optimizer]
kind = "adam"
"""
# What trains, on threads and on nodes, and of which file.
COMMANDS = [("train", "job.toml"), ("launch", "cluster.toml")]


def write_rows(path, rows, features, classes):
    """CSV of clouds around their classes, sorted by class."""
    chance = random.Random(5)
    with open(path, "w", encoding="utf-8") as file:
        for i in range(rows):
            label = i * classes // rows
            file.write(",".join(f"{chance.gauss(label % (j + 2), 1):.4f}" for j in range(features))
                       + f",c{label}\n")


def write_large_rows(path, megabytes):
    """NPY of float32: features of 1,000 rows again and again, and a class behind each."""
    features, block = 255, 1000
    chance = random.Random(3)
    values = array.array("f")
    for i in range(block):
        values.extend(chance.random() + (j % 3 == i % 3) for j in range(features))
        values.append(i % 3)
    blocks = (megabytes << 20) // len(values.tobytes()) + 1
    header = (f"{{'descr': '<f4', 'fortran_order': False, "
              f"'shape': ({blocks * block}, {features + 1}), }}").ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for _ in range(blocks):
            file.write(values.tobytes())
    return blocks * block


class LargerThanMemory(OneFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows = write_large_rows(cls.folder / "rows.npy", MEGABYTES)
        cls().troupe("data", "convert", "rows.npy", "-o", "rows.safetensors")
        os.remove(cls.folder / "rows.npy")
        cls.bytes = os.path.getsize(cls.folder / "rows.safetensors")

    def write_job(self, replicas, slices, megabytes):
        self.write("job.toml", '[data]\nfile = "rows.safetensors"\nshuffle = "lanes"\n'
                   f"window_rows = {(megabytes << 20) // 1020}\n"
                   '[model]\nkind = "softmax-regression"\n[optimizer]\nkind = "sgd"\n'
                   f"[training]\nepochs = 1\nbatch_size = 512\nslices = {slices}\n{replicas}\n"
                   "[runtime]\nthreads = 2\n[checkpoint]\nevery_steps = 0\n")

    def test_a_file_trains_in_less_memory_than_it_has_bytes(self):
        self.write_job("replicas = 2", 2, WINDOW_MEGABYTES)
        limit = (BASE_MEGABYTES + 4 * WINDOW_MEGABYTES) << 20
        self.assertLess(limit, self.bytes)
        with open(os.path.join(self.folder, "out"), "w+", encoding="utf-8") as out:
            run = subprocess.Popen(
                ["prlimit", f"--as={ADDRESS_MEGABYTES << 20}", TROUPE, "train", "job.toml", "--json",
                 "--quiet", "--overwrite"], cwd=self.folder, stdout=out, stderr=subprocess.STDOUT)
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            text = out.read()
        self.assertEqual(run.returncode, 0, text)
        self.assertEqual(json.loads(text)["samples"], self.rows)
        self.assertLess(used.ru_maxrss << 10, limit, "bytes in memory at most")

    def test_each_process_reads_its_share_of_the_file(self):
        """By the kernel's count, of which the windows that one more or less was read of are let off."""
        count, slices, window = 3, 6, 2
        self.write_job("", slices, window)
        nodes = nodes_on_loopback([(1, 1)] * count)
        self.write("cluster.toml", 'job = "job.toml"\n' + "".join(node.text() for node in nodes))
        nodes = [self.start(TROUPE, "node", "cluster.toml", "--name", node.name, "--quiet", "--overwrite",
                            stdout=subprocess.DEVNULL) for node in nodes]
        for node in nodes:
            patience = threading.Timer(HANG, node.kill)
            patience.start()
            os.waitid(os.P_PID, node.pid, os.WEXITED | os.WNOWAIT)
            patience.cancel()
            with open(f"/proc/{node.pid}/io", encoding="ascii") as file:
                was_read = int(file.readline().split()[1])
            said = node.communicate(timeout=HANG)[1]
            self.assertEqual(node.returncode, 0, said)
            self.assertGreater(was_read, 0.95 * self.bytes / count)
            self.assertLess(was_read, 1.05 * self.bytes / count + (slices // count) * window * (1 << 20))


class Lanes(OneFolderTest):
    """Rows by lanes: the same bits from memory and from the disk, wherever and however often."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        write_rows(cls.folder / "rows.csv", 3000, 12, 4)
        cls().troupe("data", "convert", "rows.csv", "-o", "rows.safetensors", "--chunk-rows", "32")
        cls().write("job.toml", LANES_JOB)
        cls().write("cluster.toml", 'job = "job.toml"\n' + nodes_text([(1, 1)] * 3))
        cls.in_memory = Run(cls.folder, "--overwrite", *sets(data__file="rows.csv")).result()

    def train(self, *options, **settings):
        return Run(self.folder, *options, *sets(
            **{"data__file": "rows.safetensors", "output__directory": "runs/" + self.id(),
               **settings}))

    def assert_same(self, result):
        for figure in ("parameters_sha256", "train_loss", "test_loss", "test_accuracy", "samples"):
            self.assertEqual(result[figure], self.in_memory[figure], figure)

    def test_the_disk_gives_the_bits_of_memory_on_any_number_of_replicas(self):
        for replicas in (1, 3):
            with self.subTest(replicas=replicas):
                self.assert_same(self.train("--overwrite", training__replicas=replicas).result())

    def test_three_processes_read_a_share_each_and_get_the_same_bits(self):
        self.assert_same(self.result_of("launch", "cluster.toml", "--quiet", *sets(
            data__file="rows.safetensors", output__directory="runs/launched")))

    def test_kills_in_mid_epoch_are_gone_on_from(self):
        chance = random.Random(1)
        self.train("--overwrite", training__steps=1, checkpoint__every_steps=1).result()
        for _ in range(4):
            run = self.train("--resume", checkpoint__every_steps=7,
                             training__replicas=chance.randint(1, 3))
            time.sleep(chance.random() / 2)
            run.process.kill()
            run.end()
        self.assert_same(self.train("--resume").result())

    def test_a_file_sorted_by_class_is_said_to_be_until_it_is_shuffled(self):
        # A window of one chunk for each of three slices, of a file with four classes in a row.
        window = {"data__window_rows": 192, "data__chunk_rows": 64}
        results = {}
        for name, options in (("sorted", []), ("mixed", ["--shuffle"])):
            self.troupe("data", "convert", "rows.csv", "-o", name + ".safetensors", "--chunk-rows", "64", *options)
            run = self.train("--overwrite", data__file=name + ".safetensors", **window)
            results[name] = run.result()["test_accuracy"]
            (self.assertIn if name == "sorted" else self.assertNotIn)("rows look sorted", run.shown)
        by_rows = self.train("--overwrite", data__shuffle="rows", data__window_rows="",
                             data__chunk_rows="").result()
        self.assertAlmostEqual(results["mixed"], by_rows["test_accuracy"], delta=0.05)

    def test_rows_for_testing_may_lie_in_a_file_of_their_own(self):
        settings = {"data__test_fraction": 0, "data__test_file": "rows.csv"}
        result = self.train("--overwrite", **settings).result()
        self.assertGreater(result["test_accuracy"], 0.5)

    def write_damaged(self):
        """Rows of a chunk with a bit that is not theirs, and as many bytes as ever."""
        path = os.path.join(self.folder, "damaged.safetensors")
        shutil.copy(os.path.join(self.folder, "rows.safetensors"), path)
        with open(path, "r+b") as file:
            file.seek(-1000, os.SEEK_END)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ 1]))

    def start_for_ever(self, command, job, rows):
        process = self.start(TROUPE, command, job, "--json", "--overwrite", *sets(
            data__file=rows, output__directory="runs/" + self.id(), training__epochs=10**6))
        self.addCleanup(process.kill)
        return process

    def assert_ends_for_damage(self, process, rows, words):
        out, shown = process.communicate(timeout=HANG)
        self.assertEqual(process.returncode, 65, shown)
        self.assertEqual(json.loads(out)["error"]["code"], "bad-data")
        self.assertRegex(shown, rows + ": " + words + r" of chunk \d+ \(rows \d+ to \d+, from byte \d+\)")
        self.assertIn("make the file anew with 'troupe data convert'", shown)

    def test_rows_that_are_damaged_end_threads_and_nodes_as_bad_data_with_the_chunk(self):
        self.write_damaged()
        for command, job in COMMANDS:
            with self.subTest(command=command):
                self.assert_ends_for_damage(self.start_for_ever(command, job, "damaged.safetensors"),
                                            "damaged.safetensors", "the checksum is not that of the features")

    def test_a_file_cut_while_it_trains_ends_threads_and_nodes_as_bad_data_with_the_chunk(self):
        path = os.path.join(self.folder, "cut.safetensors")
        for command, job in COMMANDS:
            with self.subTest(command=command):
                shutil.copy(os.path.join(self.folder, "rows.safetensors"), path)
                process = self.start_for_ever(command, job, "cut.safetensors")
                self.assertTrue(any("Epoch 1/" in line for line in process.stderr), "it trains")
                os.truncate(path, os.path.getsize(path) // 2)
                self.assert_ends_for_damage(process, "cut.safetensors", "the .* features")

    def test_a_check_tells_damaged_rows_from_sound_ones(self):
        self.write_damaged()
        self.troupe("data", "check", "damaged.safetensors", code=65)
        self.assertEqual(self.troupe("data", "check", "rows.safetensors").stdout, "rows.safetensors: ok\n")

    def test_a_file_is_cut_and_shown(self):
        shown = self.result_of("data", "inspect", "rows.safetensors")
        self.assertEqual((shown["rows"], shown["features"], shown["chunk_rows"]), (3000, 12, 32))
        self.assertEqual(shown["class_rows"], [750] * 4)
        self.assertGreater(shown["chunks_of_few_classes"], 80)
        self.troupe("data", "split", "rows.safetensors", "-o", "part", "--parts", "3")
        part = self.result_of("data", "inspect", "part-1.safetensors")
        self.assertEqual(part["class_rows"], [0, 500, 500, 0])


if __name__ == "__main__":
    main()
