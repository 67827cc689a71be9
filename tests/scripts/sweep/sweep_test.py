"""A search over real runs: its trials have the bits of single runs, also after kills.

    python3 tests/scripts/sweep/sweep_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import glob
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, f"{sys.path[0]}/..")
from command import JOB, TROUPE, CommandTest, main, rows_of_csv
from patience import HANG, wait_until

CHOICES = ["--grid", "optimizer.learning_rate=0.02,0.005", "--grid", "model.hidden=[16],[32]"]


class Sweep(CommandTest):
    def sweep(self, *words, code=0):
        run = self.troupe("sweep", JOB, "--json", "-o", "all", *words, code=code)
        return json.loads(run.stdout), run.stderr

    def single(self, trial, epochs):
        """The hash of the same job in a run of its own."""
        keys = [f"{key}={value}" for key, value in trial["values"].items()]
        return self.train(JOB, f"training.epochs={epochs}", *keys, more=["--overwrite"])["parameters_sha256"]

    def trials_that_run(self):
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    words = file.read().split("\0")
            except OSError:
                continue  # it has ended
            if "train" in words and any(word.startswith("output.directory=all/") for word in words):
                found.append(words)
        return found

    def test_all_trials_have_the_bits_of_single_runs(self):
        result, said = self.sweep("--set", "training.epochs=3", *CHOICES)
        self.assertEqual(len(result["trials"]), 4)
        losses = [trial["loss"] for trial in result["trials"]]
        self.assertEqual(losses, sorted(losses))
        self.assertEqual(result["best"], result["trials"][0]["trial"])
        self.assertIn("4 trials", said)
        for trial in result["trials"]:
            self.assertEqual(trial["parameters_sha256"], self.single(trial, 3))
        rows = rows_of_csv(self.folder / "all" / "sweep.csv")
        self.assertEqual([int(row["trial"]) for row in rows], [x["trial"] for x in result["trials"]])
        self.assertEqual(rows[0]["model.hidden"], result["trials"][0]["values"]["model.hidden"])
        self.assertIn("<svg", self.read("all", "curves.svg"))
        again = self.train("all/best.toml", "output.directory=again")
        self.assertEqual(again["parameters_sha256"], result["trials"][0]["parameters_sha256"])

    def test_a_line_of_the_table_is_of_the_model_that_the_trial_keeps(self):
        keep = ["--set", "data.validation_fraction=0.2", "--set", "training.epochs=12"]
        result, said = self.sweep(*keep, "--grid", "optimizer.learning_rate=0.1,0.02")
        losses = [trial["loss"] for trial in result["trials"]]
        self.assertEqual(losses, sorted(losses))
        ends = []
        for trial in result["trials"]:
            run = self.folder / "all" / f"{trial['trial']:03}"
            kept = json.loads((run / "summary.json").read_text(encoding="utf-8"))
            self.assertEqual((trial["loss"], trial["steps"]), (kept["validation_loss"], kept["best_version"]))
            best = min(rows_of_csv(run / "history.csv"), key=lambda row: float(row["validation_loss"]))
            self.assertEqual((trial["epochs"], trial["steps"]), (int(best["epoch"]), int(best["steps"])))
            last = rows_of_csv(run / "history.csv")[-1]["epoch"]
            self.assertIn(f"trial {trial['trial']:03}  epoch {trial['epochs']} of {last}  ", said)
            ends.append(trial["epochs"] < 12)
        self.assertIn(True, ends, "else the last row is the best, and this shows nothing")

    def test_a_search_that_is_killed_or_stopped_is_gone_on_from(self):
        words = ["--set", "training.epochs=800", "--set", "checkpoint.every_steps=200", *CHOICES]
        for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
            process = self.start(TROUPE, "sweep", JOB, "--json", "-o", "all", *words, "--resume",
                                 stdout=subprocess.DEVNULL)
            wait_until(self.trials_that_run)
            time.sleep(0.2)  # some steps
            process.send_signal(number)
            said = process.communicate(timeout=HANG)[1]
            self.assertIn(process.returncode, (code, 0))
            wait_until(lambda: not self.trials_that_run(), lambda: "something is left behind")
        self.assertRegex(said, r"stopped   [0-4] of 4 trials have ended, [0-4] are half-trained(: .* anew)?\n")
        line = next(line for line in said.split("\n") if line.startswith("go on     troupe "))
        result = json.loads(self.troupe(*shlex.split(line)[3:]).stdout)
        self.assertEqual([trial["state"] for trial in result["trials"]], ["done"] * 4)
        refused, _ = self.sweep(*words, code=73)
        self.assertIn(line[10:], refused["error"]["hint"])
        for trial in result["trials"]:
            self.assertEqual(trial["parameters_sha256"], self.single(trial, 800))
        begin = time.monotonic()
        again, _ = self.sweep(*words, "--resume")
        self.assertEqual(again, result)
        print(f"a finished search is told again after {time.monotonic() - begin:.2f} s")

    def test_halving_trains_the_best_in_full_with_the_bits_of_a_single_run(self):
        result, _ = self.sweep("--set", "training.epochs=9", "--halve", "3", "--random",
                               "optimizer.learning_rate=1e-4..1e-1:log:9")
        states = [trial["state"] for trial in result["trials"]]
        self.assertEqual(states, ["done"] + ["dropped"] * 8)
        self.assertEqual([trial["epochs"] for trial in result["trials"]], [9, 3, 3] + [1] * 6)
        best = result["trials"][0]
        self.assertEqual(best["parameters_sha256"], self.single(best, 9))
        for trial in result["trials"][1:]:
            self.assertEqual(trial["parameters_sha256"], self.single(trial, trial["epochs"]))

    def test_a_trial_that_fails_is_named_and_the_others_go_on(self):
        result, said = self.sweep("--set", "training.epochs=2", "--grid",
                                  "optimizer.learning_rate=0.01,1e30")
        self.assertEqual([trial["state"] for trial in result["trials"]], ["done", "failed"])
        self.assertIn("warning: trial 002 (optimizer.learning_rate=1e30) failed: exit code 1 (diverged)\n", said)
        # Of another search in the same place nothing is left, though this one has no best trial.
        result, _ = self.sweep("--overwrite", "--grid", "optimizer.learning_rate=1e30,1e31", code=1)
        self.assertEqual(result["best"], None)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "all", "best.toml")))

    def test_mistakes_are_told_before_anything_is_trained(self):
        for words, code, text in (
                ([], 2, "needs --grid, --random or --folds"),
                (["--grid", "optimizer.learning_rat=1"], 78, "did you mean"),
                (["--grid", "model.hidden=[16],nonsense"], 78, "nonsense"),
                (["--random", "optimizer.learning_rate=1..0:3"], 2, "the lower one first"),
                (["--grid", "job.seed=1,2", "--halve", "3", "--set", "training.steps=5"], 2, "counts epochs")):
            result, said = self.sweep(*words, code=code)
            self.assertIn(text, result["error"]["what"] + said)
            self.assertFalse(os.path.exists(os.path.join(self.folder, "all")), words)
        self.sweep("--set", "training.epochs=1", "--grid", "job.seed=1,2")
        refused, _ = self.sweep("--set", "training.epochs=1", "--grid", "job.seed=1,2", code=73)
        self.assertIn("there is a sweep already", refused["error"]["what"])
        other, _ = self.sweep("--set", "training.epochs=1", "--grid", "job.seed=1,3", "--resume", code=73)
        self.assertIn("other trials", other["error"]["what"])
        done, _ = self.sweep("--set", "training.epochs=1", "--grid", "job.seed=5", "--overwrite")
        self.assertEqual(len(done["trials"]), 1)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "all", "002")))

    def test_another_sweep_of_a_job_goes_beside_the_first_where_nobody_names_a_folder(self):
        def told(seeds, *more, code=0):
            return self.troupe("sweep", JOB, "--set", "training.epochs=1", "--grid", "job.seed=" + seeds, *more, code=code).stderr
        for seeds, folder in (("1,2", "digits-sweep"), ("1,3", "digits-sweep-2"), ("4", "digits-sweep-3")):
            self.assertIn(f"at once, in runs/{folder}\n", told(seeds))
        self.assertIn("in runs/digits-sweep-2\n", told("1,3", "--resume"))
        self.assertIn("runs/digits-sweep-2: there is a sweep already", told("1,3", code=73))
        self.assertIn("runs/digits-sweep: the sweep there has other trials", told("5", "--resume", code=73))

    def test_what_is_no_trial_is_neither_removed_nor_taken_for_one(self):
        mine = os.path.join(self.folder, "all", "001", "mine")
        os.makedirs(mine)
        for words in ([], ["--overwrite"], ["--resume"]):
            refused, _ = self.sweep("--set", "training.epochs=1", "--grid", "job.seed=1,2", *words, code=73)
            self.assertIn("it is no trial", refused["error"]["what"])
            self.assertTrue(os.path.exists(mine))
        os.rmdir(mine)
        os.rmdir(os.path.dirname(mine))
        self.sweep("--set", "training.epochs=1", "--grid", "job.seed=1,2")
        shutil.rmtree(os.path.dirname(mine))  # the first is gone, the second is not
        result, _ = self.sweep("--set", "training.epochs=1", "--grid", "job.seed=3,4", "--overwrite")
        for trial in result["trials"]:
            self.assertEqual(trial["parameters_sha256"], self.single(trial, 1))


if __name__ == "__main__":
    main()
