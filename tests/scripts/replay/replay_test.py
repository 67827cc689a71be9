"""Asynchronous runs are repeated bit for bit from their record: alone, of a cluster, killed, resumed.

    python3 tests/scripts/replay/replay_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import hashlib
import json
import os
import shutil
import signal
import sys
import time

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from cluster_run import child_of  # noqa: E402
from command import TROUPE, JobTest, main, rows_of_csv, sets_of  # noqa: E402
from patience import HANG, wait_until  # noqa: E402

JOB = """[data]
synthetic = "classification"
rows = 3000
features = 20
classes = 4
noise = 1.5
test_fraction = 0.2
[model]
hidden = [40]
dropout = 0.1
[optimizer]
kind = "adam"
clip_norm = 1.0
[training]
consistency = "asynchronous"
replicas = 3
batch_size = 16
epochs = 12
"""
MODES = ['"asynchronous"', "{ staleness = 2 }", "{ first = 2 }", "{ lag = 0.5 }"]
CLUSTER = """job = "job.toml"
[output]
directory = "cluster"
""" + "".join(f"""[[node]]
name = "{name}"
address = "127.0.0.1:0"
replicas = 2
{more}""" for name, more in (("a", "director = true\nshards = 1\n"), ("b", "shards = 0\n")))


class ReplayTest(JobTest):
    job_text = JOB

    def begin(self, command, *keys):
        """A run that a test ends, and its history."""
        return self.start(TROUPE, *command, "--quiet", *sets_of(keys))

    def rows_in(self, folder):
        history = self.folder / folder / "history.csv"
        return history.read_text(encoding="utf-8").count("\n") if history.exists() else 0

    def summary_in(self, folder):
        return json.loads(self.read(folder, "summary.json"))

    def repeat(self, folder, *keys, code=0):
        """What a repeated run says, and its summary if it ends well."""
        run = self.troupe("train", "--replay", folder, "--json", "--quiet", "--overwrite", *sets_of(keys), code=code)
        return run.stderr, json.loads(run.stdout) if code == 0 else {}

    def expect_same(self, folder, first, *keys):
        told, again = self.repeat(folder, *keys)
        self.expect_figures(again, first, ("parameters_sha256", "steps", "train_loss", "test_loss"), folder)
        self.assertIn(f"the parameters are those of {folder}, bit for bit", told)
        here, there = ([{key: cell for key, cell in row.items() if key != "seconds"}
                        for row in rows_of_csv(self.folder / name / "history.csv")] for name in (folder, f"{folder}-replay"))
        self.assertEqual(here, there)

    def test_every_mode_is_repeated_by_any_number_of_replicas(self):
        for number, mode in enumerate(MODES):
            with self.subTest(mode=mode):
                first = self.train(f"run{number}", f"training.consistency={mode}")
                self.assertFalse(first["reproducible"])
                self.expect_same(f"run{number}", first)
                self.expect_same(f"run{number}", first, "training.replicas=4", "runtime.threads=1")

    def test_a_cluster_that_lost_a_node_is_repeated_by_one_process(self):
        self.write("cluster.toml", CLUSTER)
        with self.begin(["launch", "cluster.toml"], "training.epochs=300", "training.consistency={ first = 3 }") as run:
            wait_until(lambda: self.rows_in("cluster") > 10)
            os.kill(child_of(run.pid, "b"), signal.SIGKILL)
            run.communicate(timeout=HANG)
        first = self.summary_in("cluster")
        self.assertEqual((first["replicas_lost"], first["replicas"]), (2, 2))
        # The job stays what it was: that of two replicas could not have the first three gradients.
        identity = self.read("cluster", "identity.txt").encode()
        self.assertEqual(first["job_sha256"], hashlib.sha256(identity).hexdigest())
        self.expect_same("cluster", first)

    def test_a_killed_run_is_repeated_as_far_as_its_record_goes_and_a_resumed_one_as_a_whole(self):
        keys = ["output.directory=killed", "checkpoint.every_steps=300"]
        with self.begin(["train", self.job], *keys, "training.epochs=4000") as run:
            wait_until(lambda: self.rows_in("killed") > 10)
            time.sleep(0.2)
            run.kill()
        told, again = self.repeat("killed")
        self.assertIn("has not ended: its record was repeated up to step", told)
        self.assertEqual(again["stopped_by"], "record")
        self.assertGreaterEqual(again["steps"], 1500)
        epochs = again["steps"] // 150 + 20
        first = super().train("killed", "checkpoint.every_steps=300", f"training.epochs={epochs}", more=["--resume"])
        self.expect_same("killed", first)

    def test_a_run_that_was_stopped_is_repeated_up_to_there(self):
        with self.begin(["train", self.job], "output.directory=stopped", "training.epochs=4000") as run:
            wait_until(lambda: self.rows_in("stopped") > 5)
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=HANG)
        self.expect_same("stopped", self.summary_in("stopped"))

    def test_what_cannot_be_repeated_is_refused_with_the_reason(self):
        self.train("first")
        for change, code, said in (
                (["model.hidden=[41]"], 76, "differs in model.hidden"),
                (["data.rows=2999"], 76, "differs in data"),
                (["training.consistency=\"synchronous\""], 76, "differs in")):
            self.assertIn(said, self.repeat("first", *change, code=code)[0], change)
        record = self.folder / "first" / "sequence.txt"
        whole = record.read_text()
        record.write_text(whole.replace("take 9 1\n", "take 9 0.5\n"))
        self.assertIn("came to other parameters", self.repeat("first", code=76)[0])
        record.write_text(whole.replace("take 9 1\n", "take 9 2\n"))
        self.assertIn("sequence.txt: line", self.repeat("first", code=65)[0])
        lines = whole.splitlines(keepends=True)
        record.write_text("".join(lines[:len(lines) // 2]))
        self.assertIn("ended at step", self.repeat("first", code=76)[0])
        record.unlink()
        self.assertIn("the run has no sequence.txt", self.repeat("first", code=66)[0])
        shutil.rmtree(self.folder / "first")
        self.assertIn("this is no folder of a run", self.repeat("first", code=66)[0])
        self.train("same", 'training.consistency="synchronous"')
        self.assertFalse((self.folder / "same" / "sequence.txt").exists())
        self.assertIn("the bits of all others follow from their job", self.repeat("same", code=66)[0])
        self.assertIn("excludes", self.troupe("train", self.job, "--replay", "same", code=None).stderr)


if __name__ == "__main__":
    main()
