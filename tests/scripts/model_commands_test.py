"""predict and evaluate against NumPy, on a model of handwritten digits that the command trained; runs compared.

    python3 tests/scripts/model_commands_test.py BUILD_FOLDER SOURCE_FOLDER        (python3-numpy)

NumPy reads the same model file (tests/reference/model_file.py) and computes the same predictions;
and a file far larger than the memory a prediction may use is predicted part by part.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from command import JOB, SOURCE, TROUPE, OneFolderTest, main
from patience import HANG, wait_until

DIGITS = SOURCE / "examples" / "data" / "digits.csv.gz"
sys.path.insert(0, str(SOURCE / "tests" / "reference"))

try:
    import numpy
    import model_file
except ImportError:
    numpy = None


class ModelCommands(OneFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().train(JOB, "training.epochs=3", "output.directory=run")
        cls.model = str(cls.folder / "run" / "model.safetensors")

    @unittest.skipUnless(numpy, "needs NumPy: apt-get install python3-numpy")
    def test_numpy_reads_a_checkpoint(self):
        """Its parameters are those of the model file, its record and history those of the run."""
        summary = self.train(JOB, "training.epochs=3", "training.steps=60", "checkpoint.every_steps=20",
                             "output.directory=kept")
        model, _ = model_file.load(self.folder / "kept" / "model.safetensors")
        tensors, metadata = model_file.load(self.folder / "kept" / "checkpoint-000000000060.troupe")
        flat = numpy.concatenate([values.ravel() for values in model.values()])
        self.assertEqual(tensors["parameters"].tobytes(), flat.tobytes())
        self.assertEqual(tensors["optimizer_slots"].shape, (2, flat.size))
        self.assertTrue((tensors["optimizer_slots"][1] >= 0).all())  # Adam's mean squares
        self.assertEqual(tensors["chunk_checksums"].shape, (3, -(-flat.size // 2**18), 16))
        self.assertEqual(set(tensors), {"parameters", "optimizer_slots", "chunk_checksums", "record", "history.csv",
                                        "checksum"})
        self.assertEqual(metadata, {"format": "troupe-checkpoint-3", "job_sha256": summary["job_sha256"]})
        record = json.loads(tensors["record"].tobytes())
        self.assertEqual((record["version"], record["arithmetic"]), (60, summary["arithmetic"]))
        self.assertEqual(len(record["replicas"]), summary["replicas"])
        history = (self.folder / "kept" / "history.csv").read_text()
        kept = tensors["history.csv"].tobytes().decode()
        self.assertIn("\n", kept)
        self.assertTrue(history.startswith(kept), kept)
        run = self.troupe("inspect", "kept/checkpoint-000000000060.troupe", code=65)
        self.assertIn("the file is of the kind 'troupe-checkpoint-3'", run.stderr)

    @unittest.skipUnless(numpy, "needs NumPy: apt-get install python3-numpy")
    def test_numpy_predicts_and_judges_the_same(self):
        rows = numpy.loadtxt(DIGITS, delimiter=",", dtype=numpy.float32)
        tensors, metadata = model_file.load(self.model)
        expected = model_file.predict(tensors, metadata, rows[:, :-1])
        self.troupe("predict", self.model, DIGITS, "--probabilities", "-o", "p.npy")
        found = numpy.load(os.path.join(self.folder, "p.npy"))
        self.assertLess(numpy.abs(found - expected).max(), 1e-5)
        judged = self.result_of("evaluate", self.model, DIGITS)
        labels, guesses = rows[:, -1].astype(int), expected.argmax(axis=1)
        matrix = numpy.zeros((10, 10), int)
        numpy.add.at(matrix, (labels, guesses), 1)
        self.assertEqual(judged["confusion_matrix"], matrix.tolist())
        loss = -numpy.log(expected[numpy.arange(len(labels)), labels]).mean()
        self.assertAlmostEqual(judged["loss"], loss, places=5)
        for label, one in enumerate(judged["classes"]):
            own = found[labels == label, label][:, None]
            others = found[labels != label, label][None, :]
            exact = ((own > others) + 0.5 * (own == others)).mean()
            self.assertAlmostEqual(one["auc"], exact, delta=0.002)
        truth = numpy.eye(10)[labels]
        self.assertAlmostEqual(judged["brier"], ((found.astype(float) - truth) ** 2).sum(axis=1).mean(),
                               places=7)
        self.assertEqual(sum(bin["rows"] for bin in judged["calibration"]), len(labels))

    def predict_in_little_memory(self, path, row_count, *options):
        limit = 256 << 20  # of address space, most of it libraries
        self.assertGreater(os.path.getsize(path), limit)
        self.troupe("predict", self.model, path, "-o", "long.npy", *options,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(os.path.getsize(os.path.join(self.folder, "long.npy")),
                         128 + 8 * row_count)

    def test_a_text_larger_than_memory_is_predicted_part_by_part(self):
        lines = {"long.csv": ",".join(["12.0625"] * 64),
                 "long.svm": "0 " + " ".join(f"{i}:12.062" for i in range(1, 65))}
        for name, line in lines.items():
            row_count = 300_000_000 // len(line) // 1000 * 1000
            path = self.folder / name
            with open(path, "w") as file:
                for _ in range(row_count // 1000):
                    file.write((line + "\n") * 1000)
            self.predict_in_little_memory(path, row_count)
            os.remove(path)

    def test_an_array_larger_than_memory_is_predicted_part_by_part(self):
        path = os.path.join(self.folder, "zeros.npy")
        row_count = 1_200_000
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({row_count}, 64), }}"
        with open(path, "wb") as file:
            file.write(b"\x93NUMPY\1\0" + bytes([len(header), 0]) + header.encode())
            file.truncate(10 + len(header) + row_count * 64 * 4)  # zeros that take no disk
        self.predict_in_little_memory(path, row_count)

    def test_runs_are_compared_by_jobs_figures_and_bits(self):
        self.train(JOB, "training.epochs=3", "output.directory=twin", "training.replicas=3")
        self.train(JOB, "training.epochs=3", "output.directory=other", "optimizer.learning_rate=0.02")
        found = self.result_of("compare", "run", "twin", "other", "-o", "curves.svg")
        summary = json.loads(self.read("run", "summary.json"))
        self.expect_figures(found["runs"][0], summary, ("steps", "train_loss", "test_loss", "test_accuracy",
                                                        "parameters_sha256", "stopped_by"))
        differences = {x["key"]: x for x in found["differences"]}
        self.assertEqual(differences["optimizer.learning_rate"]["values"], ["0.01", "0.01", "0.02"])
        self.assertTrue(differences["optimizer.learning_rate"]["changes_bits"])
        self.assertFalse(differences["training.replicas"]["changes_bits"])
        twin, other = found["bits"]
        self.assertEqual((twin["state"], twin["equal_until"]), ("equal", summary["steps"]))
        self.assertEqual((other["state"], other["differ_from"]), ("differ", summary["steps"] // 3))
        self.assertEqual(other["reason"], "the jobs differ in optimizer.learning_rate")
        xml.etree.ElementTree.parse(os.path.join(self.folder, "curves.svg"))
        text = self.troupe("compare", "run", "twin").stdout
        self.assertIn("bits of twin and run: equal: the results have one hash", text)

    def test_folders_that_are_no_runs_are_refused(self):
        os.mkdir(os.path.join(self.folder, "empty"))
        for arguments, code, what in (
                (("none",), 66, "none: there is no such folder"),
                (("empty",), 65, "empty: this is no run directory: job.toml is missing"),
                (("run", "-o", "curves.png"), 2, "curves are written as .svg"),
                ((), 2, "run")):
            with self.subTest(arguments=arguments):
                self.assertIn(what, self.troupe("compare", "run", *arguments, code=code).stderr)

    def test_a_signal_leaves_nothing_of_an_unfinished_file(self):
        place = tempfile.mkdtemp(dir=self.folder)
        try:
            os.close(os.open(place, os.O_TMPFILE | os.O_WRONLY))
        except OSError:
            self.skipTest("this file system has no files without names")
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            for old in ([], ["out.npy"]):
                for name in old:
                    with open(os.path.join(place, name), "w") as file:
                        file.write("old")
                run = subprocess.Popen([TROUPE, "predict", self.model, pipe, "-o",
                                        os.path.join(place, "out.npy")], stderr=subprocess.DEVNULL)
                with open(pipe, "w") as rows:
                    rows.write((",".join(["1"] * 64) + "\n") * 10_000)
                    rows.flush()
                    wait_until(lambda: self.holds_file_in(run.pid, place))
                    run.send_signal(number)
                    self.assertEqual(run.wait(timeout=HANG), -number)
                self.assertEqual(os.listdir(place), old)
                for name in old:
                    with open(os.path.join(place, name)) as file:
                        self.assertEqual(file.read(), "old")
                    os.remove(os.path.join(place, name))

    @staticmethod
    def holds_file_in(process, folder):
        descriptors = f"/proc/{process}/fd"
        for name in os.listdir(descriptors):
            path = os.path.join(descriptors, name)
            try:
                if os.readlink(path).startswith(folder) and os.stat(path).st_size > 10_000:
                    return True
            except OSError:
                pass  # closed in between
        return False


if __name__ == "__main__":
    main()
