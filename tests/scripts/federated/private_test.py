"""Private runs: same key, same bits; noise is never used again, and every release counts.

    python3 tests/scripts/federated/private_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import os
import signal
import subprocess
import time

from private_runs import (OTHER_KEY, ROUNDS, TROUPE, PrivateRuns, forget_end, parameters,
                          releases, releases_so_far, run_file, table)
from command import main
from patience import HANG


class Bits(PrivateRuns):
    def test_the_same_key_gives_the_same_bits_whoever_computes(self):
        expected = self.summary(self.folder("a"))
        self.assertEqual(expected["privacy"]["releases"], ROUNDS)
        for name, options in (("b", ["--set", "training.replicas=1"]),
                              ("c", ["--set", "training.replicas=3", "--set", "runtime.threads=2"])):
            found = self.summary(self.folder(name), *options)
            self.assertEqual(found["parameters_sha256"], expected["parameters_sha256"])
        found = self.summary(self.folder("d"), command="launch", job="cluster.toml")
        self.assertEqual(found["nodes"], 2)
        self.assertEqual(found["parameters_sha256"], expected["parameters_sha256"])
        self.assertEqual(found["privacy"], expected["privacy"])
        other = self.summary(self.folder("e", OTHER_KEY))
        self.assertNotEqual(other["parameters_sha256"], expected["parameters_sha256"])
        self.assertNotEqual(other["job_sha256"], expected["job_sha256"])

    def test_a_key_is_made_once_and_for_its_owner(self):
        folder = self.folder("a")
        path = os.path.join(folder, "run.key")
        os.remove(path)
        first = self.summary(folder)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        again = self.summary(folder, "--overwrite")
        self.assertEqual(first["parameters_sha256"], again["parameters_sha256"])
        os.chmod(path, 0o644)
        refused = self.run_it(folder, "--overwrite", code=77)
        self.assertIn("run.key", refused.stderr)

    def test_training_ends_before_epsilon_is_exceeded(self):
        folder = self.folder("a")
        all_of_it = self.summary(folder)["privacy"]["epsilon"]
        ends = {}
        for share in (0.6, 0.9):
            found = self.summary(folder, "--overwrite", "--set", f"privacy.epsilon={share * all_of_it}")
            self.assertEqual(found["stopped_by"], "epsilon")
            self.assertLessEqual(found["privacy"]["epsilon"], share * all_of_it)
            self.assertEqual(found["privacy"]["releases"], found["steps"])
            self.assertIsNotNone(found["test_loss"])
            ends[share] = found["steps"]
        self.assertLess(ends[0.6], ends[0.9])
        self.assertLess(ends[0.9], ROUNDS)
        still = self.run_it(folder, "--resume", "--set", f"privacy.epsilon={0.9 * all_of_it}")
        self.assertIn("finished", still.stderr)
        more = self.summary(folder, "--resume", "--set", f"privacy.epsilon={2 * all_of_it}")
        self.assertEqual(more["steps"], ROUNDS)


class Attempts(PrivateRuns):
    def test_a_round_that_is_made_again_has_other_noise(self):
        """Where clients change nothing a model is what noise made of the first one."""
        models, still = [], ["--set", "optimizer.learning_rate=1e-30", "--set", "federated.rounds=1",
                             "--set", "checkpoint.every_steps=0"]
        folder = self.folder("a")
        self.run_it(folder, *still)
        models.append(parameters(folder))
        for _ in range(2):
            forget_end(folder)
            self.run_it(folder, "--resume", *still)
            models.append(parameters(folder))
        self.assertEqual(releases(folder), [(0, 0), (0, 1), (0, 2)])
        for i, one in enumerate(models):
            for other in models[:i]:
                moved = [x - y for x, y in zip(one, other)]
                # z C / (q n), twice: 650 figures say it to some 3 in a hundred.
                deviation = (sum(x * x for x in moved) / len(moved)) ** 0.5
                self.assertAlmostEqual(deviation / (2 ** 0.5 * 0.5 / 20), 1, delta=0.2)

    def test_rounds_since_the_checkpoint_are_released_and_counted_again(self):
        folder, straight = self.folder("a"), self.folder("b")
        once = self.summary(straight)
        self.run_it(folder)
        forget_end(folder, 17)  # the newest checkpoint is that of 16 rounds
        again = self.summary(folder, "--resume")
        self.assertEqual(releases(folder),
                         [(i, 0) for i in range(ROUNDS)] + [(i, 1) for i in range(16, ROUNDS)])
        self.assertEqual(again["privacy"]["releases"], ROUNDS + 4)
        self.assertGreater(again["privacy"]["epsilon"], once["privacy"]["epsilon"])
        self.assertNotEqual(again["parameters_sha256"], once["parameters_sha256"])
        self.assertEqual([row["round"] for row in table(run_file(folder, "rounds.csv"))],
                         [str(i + 1) for i in range(ROUNDS)])
        last = table(run_file(folder, "rounds.csv"))[-1]
        self.assertEqual(float(last["epsilon"]), again["privacy"]["epsilon"])

    def test_what_was_released_and_lost_leaves_less_for_the_rest(self):
        folder = self.folder("a")
        budget = ["--set", f"privacy.epsilon={self.summary(folder)['privacy']['epsilon']}"]
        forget_end(folder, 17)
        again = self.summary(folder, "--resume", *budget)
        self.assertEqual((again["stopped_by"], again["steps"]), ("epsilon", 16))
        self.assertEqual(again["privacy"]["releases"], ROUNDS)

    def test_a_killed_run_never_makes_the_same_attempt_twice(self):
        folder = self.folder("a")
        more = ["--set", "federated.rounds=400"]
        before, kills = [], 0
        for _ in range(100):  # three kills while it trains, or fewer where it is quicker than they are
            run = subprocess.Popen([TROUPE, "train", "job.toml", "--resume", *more], cwd=folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            ledger = run_file(folder, "releases.csv")
            deadline = time.monotonic() + HANG
            while run.poll() is None and time.monotonic() < deadline:
                if os.path.exists(ledger) and len(releases_so_far(ledger)) > len(before) + 10:
                    run.send_signal(signal.SIGKILL)
                    break
            run.wait(timeout=HANG)
            now = releases_so_far(ledger)
            self.assertEqual(now[:len(before)], before, "the ledger only grows")
            self.assertEqual(len(set(now)), len(now), "no attempt twice")
            before = now
            kills += 1 if run.returncode == -signal.SIGKILL else 0
            if kills == 3 or run.returncode == 0:
                break
        end = self.summary(folder, "--resume", *more)
        now = releases(folder)
        self.assertEqual(now[:len(before)], before)
        self.assertEqual(len(set(now)), len(now))
        self.assertEqual(sorted({round_ for round_, _ in now}), list(range(400)))
        self.assertEqual(end["privacy"]["releases"], len(now))

    def test_a_run_without_its_ledger_does_not_go_on(self):
        folder = self.folder("a")
        self.run_it(folder)
        forget_end(folder, 17)
        os.remove(run_file(folder, "releases.csv"))
        refused = self.run_it(folder, "--resume", code=74)
        self.assertIn("the ledger of releases has 0 of the 16 rounds", refused.stderr)


if __name__ == "__main__":
    main()
