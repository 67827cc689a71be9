"""Whoever stops a run seldom sends one signal, nor at a good moment: timeout tells the child and its
group, a service manager each process of a cluster, a user presses Ctrl-C while data are read.

    python3 tests/scripts/signals_test.py BUILD_FOLDER SOURCE_FOLDER

However it comes: model, history and summary are written or nothing was begun, the lock is gone, and
nobody is said to have failed.
"""

import json
import os
import random
import signal
import subprocess
import time

from cluster_run import children_of, nodes_text
from command import TROUPE, CommandTest, main, rows_of_csv
from patience import HANG, SLOWNESS

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
JOB = """[data]
synthetic = "classification"
rows = 600
features = 8
test_fraction = 0.25
[model]
kind = "neural-network"
hidden = [16]
[training]
epochs = 1000000000
replicas = 2
slices = 2
[checkpoint]
every_steps = 0
"""
CLUSTER = 'job = "job.toml"\n' + nodes_text([(1, 1), (1, 1)])
RESULT_FILES = {"model.safetensors", "history.csv", "summary.json", "job.toml", "identity.txt"}


class Stopped(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("job.toml", JOB)
        self.write("cluster.toml", CLUSTER)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def start(self, *command, **options):
        return super().start(*command, start_new_session=True, **options)

    def train(self, *options, **more):
        return self.start(TROUPE, "train", "job.toml", "--json", "--overwrite", *options, **more)

    def assert_kept(self, out, said):
        """A whole result, and a checkpoint of it if a step was made."""
        result = json.loads(out)
        self.assertEqual(result.get("stopped_by"), "interrupt", said)
        names = set(os.listdir(self.path("runs", "job")))
        self.assertLessEqual(RESULT_FILES, names)
        self.assertNotIn("lock", names)
        rows = rows_of_csv(self.path("runs", "job", "history.csv"))
        steps = int(rows[-1]["steps"]) if rows else 0
        self.assertEqual(result["steps"], steps)
        if steps > 0:
            self.assertIn(f"checkpoint-{steps:012}.troupe", names)
        self.assertNotIn("failed first", said)
        return result

    def assert_nothing_left(self):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(self.before))

    def signal_both(self, run, number):
        """As `timeout` does: the child, then its group."""
        os.kill(run.pid, number)
        os.killpg(run.pid, number)


class Training(Stopped):
    def test_timeout_keeps_the_model(self):
        for number in STOP_SIGNALS * 3:
            with self.subTest(number):
                run = self.start("timeout", "--preserve-status", "-s", str(int(number)),
                                 str(1.5 * SLOWNESS), TROUPE, "train", "job.toml", "--json",
                                 "--overwrite")
                out, said = run.communicate(timeout=HANG)
                self.assertEqual(run.returncode, 128 + number, said)
                self.assert_kept(out, said)

    def test_signals_at_once_are_one_at_any_moment(self):
        chance = random.Random(7)
        self.before = os.listdir(self.folder)
        kept = 0
        for round_number in range(24):
            number = STOP_SIGNALS[round_number % 2]
            run = self.train()
            time.sleep(chance.random() ** 2 * 0.6)
            self.signal_both(run, number)
            out, said = run.communicate(timeout=HANG)
            with self.subTest(round_number, said=said[-1000:]):
                self.assertIn(run.returncode, (128 + number, -number))
                if not os.path.exists(self.path("runs")):  # it had not begun
                    self.assert_nothing_left()
                    continue
                try:
                    self.assert_kept(out, said)
                finally:
                    subprocess.run(["rm", "-r", self.path("runs")], check=True)
                kept += 1
        self.assertGreater(kept, 0, "no signal found a run that trains")

    def test_a_user_is_told(self):
        for every in ("50", "0"):
            run = self.train("--set", "training.replicas=1", "--set", "checkpoint.every_steps=" + every)
            self.said_until(run, "Epoch ")
            self.said_until(run, "Epoch ")
            os.kill(run.pid, signal.SIGINT)
            said = self.said_until(run, "troupe: SIGINT: stopping")
            out, more = run.communicate(timeout=HANG)
            self.assertEqual(run.returncode, 130, said + more)
            steps = self.assert_kept(out, said + more)["steps"]
            self.assertIn(f"stopped   --resume goes on from step {steps}\n", more)


class Reading(Stopped):
    def stop(self, run, number):
        time.sleep(0.5)  # most often it waits for bytes by then; sooner is as good
        self.signal_both(run, number)
        out, said = run.communicate(timeout=HANG)
        self.assertIn(run.returncode, (128 + number, -number), said)
        if run.returncode > 0:
            error = json.loads(out)["error"]
            self.assertEqual(error["code"],
                             "interrupted" if number == signal.SIGINT else "terminated")
            self.assertIn("stopped while the data were read", error["what"])
        self.assert_nothing_left()

    def read(self, source, *more, **options):
        self.write("job.toml", f'[data]\nfile = "{source}"\nformat = "csv"\n'
                   '[model]\nkind = "logistic-regression"\n')
        self.before = os.listdir(self.folder)
        return self.train(*more, **options)

    def test_a_named_pipe_nobody_writes_to(self):
        os.mkfifo(self.path("rows"))
        for number in STOP_SIGNALS:
            self.stop(self.read("rows"), number)

    def test_a_pipe_that_falls_silent(self):
        for number in STOP_SIGNALS:
            ends = os.pipe()
            try:
                os.write(ends[1], b"a,b,c\n1,2,0\n2,1,1\n")
                self.stop(self.read("/dev/stdin", stdin=ends[0]), number)
            finally:
                os.close(ends[0])
                os.close(ends[1])

    def test_a_large_file(self):
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            for _ in range(400):
                file.write("0.125,1.5,2.25,3.125,4.5,5.75,6.125,0\n1,2,3,4,5,6,7,1\n" * 3000)
        run = self.read("rows.csv")
        time.sleep(0.05)
        self.signal_both(run, signal.SIGTERM)
        _, said = run.communicate(timeout=HANG)
        self.assertIn(run.returncode, (143, -15), said)
        self.assertNotIn("Epoch", said)
        self.assert_nothing_left()


class Launched(Stopped):
    def launch(self):
        run = self.start(TROUPE, "launch", "cluster.toml", "--json", "--overwrite")
        said = self.said_until(run, "Epoch ") + self.said_until(run, "Epoch ")
        return run, said

    def test_a_signal_to_every_process_keeps_the_model(self):
        for round_number in range(6):
            number = STOP_SIGNALS[round_number % 2]
            run, said = self.launch()
            everybody = [run.pid, *children_of(run.pid).values()]
            self.assertEqual(len(everybody), 3)
            random.Random(round_number).shuffle(everybody)
            for process in everybody:
                os.kill(process, number)
            out, more = run.communicate(timeout=HANG)
            with self.subTest(round_number, said=(said + more)[-1000:]):
                self.assertEqual(run.returncode, 128 + number)
                self.assert_kept(out, said + more)

    def test_a_signal_to_every_node_and_not_to_the_launcher_too(self):
        run, said = self.launch()
        for process in children_of(run.pid).values():
            os.kill(process, signal.SIGTERM)
        out, more = run.communicate(timeout=HANG)
        self.assertEqual(run.returncode, 143, said + more)
        self.assert_kept(out, said + more)

    def test_timeout_keeps_the_model(self):
        run = self.start("timeout", "--preserve-status", str(4 * SLOWNESS), TROUPE, "launch",
                         "cluster.toml", "--json", "--overwrite")
        out, said = run.communicate(timeout=HANG)
        self.assertEqual(run.returncode, 143, said)
        self.assert_kept(out, said)

    def test_a_stopped_cluster_is_gone_on_with_where_it_was(self):
        run, said = self.launch()
        os.kill(run.pid, signal.SIGTERM)
        out, more = run.communicate(timeout=HANG)
        self.assertEqual(run.returncode, 143, said + more)
        steps = self.assert_kept(out, said + more)["steps"]
        length = ["training.epochs=1000000000", f"training.steps={steps + 200}"]
        words = [word for key in length for word in ("--set", key)]
        resumed = self.troupe("launch", "cluster.toml", "--json", "--resume", *words)
        self.assertIn(f"training goes on from step {steps}\n", resumed.stderr)
        result = json.loads(resumed.stdout)
        alone = self.result_of("train", "job.toml", "--quiet", *words, "--set", "output.directory=alone")
        self.expect_figures(result, alone, ("parameters_sha256", "job_sha256", "steps", "train_loss", "test_loss"))
        self.assertEqual(result["lives"], 2)

    def test_a_worker_that_is_told_alone_leaves_and_the_run_goes_on(self):
        run, said = self.launch()
        worker = max(children_of(run.pid).values())
        os.kill(worker, signal.SIGTERM)
        said += self.said_until(run, "left on request")
        said += self.said_until(run, "Epoch ")
        os.kill(run.pid, signal.SIGTERM)
        out, more = run.communicate(timeout=HANG)
        self.assertEqual(run.returncode, 143, said + more)
        self.assert_kept(out, said + more)


if __name__ == "__main__":
    main()
