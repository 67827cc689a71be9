"""The trials and the rule of `troupe sweep` (python/tools), and what its and `troupe compare`'s processes owe their users.

    python3 tests/scripts/tools/tools_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import fcntl
import json
import math
import os
import random
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, f"{sys.path[0]}/..")
from command import JOB, SOURCE, TROUPE, CommandTest, main  # noqa: E402
from patience import HANG  # noqa: E402

sys.path.insert(0, str(SOURCE / "python" / "tools"))
from records import Command  # noqa: E402
from rule import SweepRule, halving_rungs  # noqa: E402
from terminal import Failure, json_text, number_text  # noqa: E402
from trials import sweep_trials, with_folds  # noqa: E402


class Texts(unittest.TestCase):
    def test_numbers_are_as_the_command_writes_them(self):
        for number, text in ((0.1, "0.1"), (1e-4, "0.0001"), (1e-5, "1e-05"), (5, "5"), (1e5, "100000.0"), (-0.25, "-0.25"), (1e15, "1e+15"),
                             (1234567890123456.0, "1.234567890123456e+15"), (1e300, "1e+300"), (math.inf, "null")):
            self.assertEqual(number_text(number), text)
        self.assertEqual(json_text({"a": [1, None, True, math.nan], "é\n": "\x7f\\\""}),
                         '{"a":[1,null,true,null],"é\\n":"\x7f\\\\\\""}')


def trials_of(grids, randoms, seed=0):
    return sweep_trials(grids, randoms, lambda draws: Command(TROUPE).draw(draws, seed))


class Trials(unittest.TestCase):
    def drawn(self, span, count, seed=1, key="a.b"):
        return [float(trial[0][1]) for trial in trials_of([], [f"{key}={span}:{count}"], seed)]

    def test_grids_are_crossed_in_the_order_of_the_command_line(self):
        self.assertEqual(trials_of(["a.b=1,2", "c={x = 1, y = 2},[3,4],\"5,6\""], [], 0),
                         [[("a.b", x), ("c", y)] for x in "12" for y in ("{x = 1, y = 2}", "[3,4]", '"5,6"')])

    def test_keys_are_drawn_together_and_crossed_with_grids(self):
        found = trials_of(["g=1,2"], ["a=0.0..1.0:3", "b=5..9:3"], 4)
        self.assertEqual([x[0][1] for x in found], list("111222"))
        self.assertEqual([x[1:] for x in found[:3]], [x[1:] for x in found[3:]])
        self.assertNotEqual(found[0][1], found[1][1])

    def test_draws_follow_from_seed_key_and_number_alone(self):
        few = self.drawn("0.0..1.0", 5)
        self.assertEqual(self.drawn("0.0..1.0", 9)[:5], few)
        self.assertNotEqual(self.drawn("0.0..1.0", 5, 2), few)
        self.assertNotEqual(self.drawn("0.0..1.0", 5, 1, "a.c"), few)
        self.assertEqual([x[1][1] for x in trials_of([], ["x=0.0..1.0:5", "a.b=0.0..1.0:5"], 1)], [str(x) for x in few])

    def test_draws_are_those_of_every_release(self):
        """The first and the last of many that an earlier release drew."""
        for text, seed, first, last, count in DRAWS:
            found = [trial[0][1] for trial in trials_of([], [text], seed)]
            self.assertEqual((found[:len(first)], found[-1], len(found)), (first, last, count))

    def test_draws_are_spread_over_their_range(self):
        found = self.drawn("2..6", 4000)
        self.assertTrue(all(2 <= x <= 6 for x in found))
        self.assertAlmostEqual(sum(found) / 4000, 4, delta=0.1)
        found = self.drawn("1e-4..1e-1:log", 4000)
        self.assertTrue(all(1e-4 <= x <= 1e-1 for x in found))
        self.assertAlmostEqual(sum(map(math.log10, found)) / 4000, -2.5, delta=0.05)
        self.assertEqual(set(self.drawn("1..4", 400)), {1, 2, 3, 4})

    def test_what_is_no_choice_is_refused_with_the_option(self):
        for grid in ("a.b", "=1", "a=", "a=1,,2", "a=1,"):
            self.assertRaises(Failure, trials_of, [grid], [])
        for draws in ("a", "a=1..2", "a=1..2:0", "a=1..2:x", "a=2..1:3", "a=1:3", "a=x..2:3", "a=0..1:log:3", "a=1..inf:3",
                      "a=1..2:10001", "a=+1..2:3", "a= 1..2:3"):
            self.assertRaises(Failure, trials_of, [], [draws])
        self.assertRaises(Failure, trials_of, [], ["a=0..1:3", "b=0..1:4"])
        self.assertRaises(Failure, trials_of, ["a=1,2"], ["b=0..1:9999"])
        self.assertRaises(Failure, with_folds, [[("data.fold", "1")]], 3)
        with self.assertRaises(Failure) as refused:
            trials_of([], ["a=2..1:3"], 0)
        self.assertEqual(refused.exception.code, "usage")
        self.assertIn("--random a=2..1:3", refused.exception.what)


# (--random, seed, first draws, last draw, count).
DRAWS = (
    ("optimizer.learning_rate=1e-4..1e-1:log:3000", 0,
     ["0.000523049476219406", "0.0030619184432986134", "0.0010318856618991518"], "0.0001484986716046759", 3000),
    ("optimizer.learning_rate=1e-12..1e3:log:3000", 18446744073709551615,
     ["671.0762823240285", "36.76985113114902", "0.022848162384489765"], "5.928972545942023e-07", 3000),
    ("job.seed=0..1000000:3000", 5,
     ["287500", "656725", "271891"], "642009", 3000),
    ("job.seed=1..100000000:log:3000", 6,
     ["2", "49", "5130958"], "37052316", 3000),
    ("optimizer.learning_rate=0.0..0.001:3000", 12345678901,
     ["0.00015842370933387428", "0.0004194557183654979", "0.0007498721805168316"], "0.0007572471195599064", 3000),
)


def run_of_sweep(shape, losses, slots, chance):
    """A whole sweep with so many slots; which trial ends first is drawn."""
    rule, running = SweepRule(*shape), []
    while not rule.is_finished() or running:
        while len(running) < slots and rule.next() is not None:
            running.append(rule.next())
            rule.on_started(running[-1])
        if not running:
            break
        trial = running.pop(chance.randrange(len(running)))
        if chance.randrange(4) == 0:
            rule.on_stopped(trial)
        elif losses[trial] is not None:
            rule.on_reached(trial, losses[trial])
        else:
            rule.on_failed(trial)
    return rule


class Rule(unittest.TestCase):
    def test_rungs_end_at_the_full_length_and_leave_one_trial(self):
        for arguments, rungs in (((27, 90, 3), [4, 10, 30, 90]), ((9, 9, 3), [1, 3, 9]), ((100, 4, 2), [1, 2, 4]),
                                 ((1, 10, 3), [10])):
            self.assertEqual(halving_rungs(*arguments), rungs)

    def test_without_halving_every_trial_is_trained_once(self):
        rule = run_of_sweep((4, [10], 1), [0.4, 0.1, None, 0.2], 2, random.Random(1))
        self.assertEqual(rule.ranking(), [1, 3, 0, 2])
        self.assertEqual(rule.states, ["done", "done", "failed", "done"])

    def test_a_rung_decides_when_all_stand_there(self):
        rule = SweepRule(4, [1, 3], 2)
        for trial in range(4):
            rule.on_started(trial)
        for trial, loss in ((3, 0.1), (1, 0.3), (0, 0.3)):
            rule.on_reached(trial, loss)
        self.assertEqual((rule.rung, rule.next()), (0, None), "one is under way, and might be better")
        rule.on_reached(2, 0.4)
        self.assertEqual((rule.rung, rule.epochs(), rule.next()), (1, 3, 0), "of equal ones the first")
        rule.on_started(0)
        self.assertEqual((rule.next(), rule.states[1]), (3, "dropped"))
        rule.on_started(3)
        rule.on_reached(0, 0.05)
        rule.on_reached(3, 0.06)
        self.assertTrue(rule.is_finished())
        self.assertEqual(rule.ranking(), [0, 3, 1, 2])

    def test_a_trial_without_a_loss_never_goes_on(self):
        rule = SweepRule(3, [1, 2], 1)
        for trial in range(3):
            rule.on_started(trial)
        rule.on_reached(0, math.nan)
        rule.on_reached(1, None)
        rule.on_failed(2)
        self.assertTrue(rule.is_finished())
        self.assertEqual(rule.states, ["dropped", "dropped", "failed"])

    def test_what_comes_of_it_depends_on_no_order_and_no_number_of_slots(self):
        chance = random.Random(7)
        for _ in range(300):
            count = chance.randint(1, 30)
            losses = [None if chance.randrange(10) == 0 else float(chance.randrange(8)) for _ in range(count)]
            shape = count, halving_rungs(count, chance.randint(1, 40), chance.randint(2, 4)), chance.randint(2, 4)
            first = run_of_sweep(shape, losses, 1, chance)
            self.assertTrue(first.is_finished())
            for slots in (2, 5, 40):
                self.assertEqual(vars(run_of_sweep(shape, losses, slots, chance)), vars(first))


class Processes(CommandTest):
    def path(self, *names):
        return os.path.join(self.folder, *names)

    def train(self, name, *sets):
        super().train(JOB, "training.epochs=2", "checkpoint.every_steps=10", "output.directory=" + name, *sets)

    def test_nothing_of_the_folder_or_the_environment_is_imported(self):
        for name in ("json", "terminal", "sweep", "records", "sitecustomize"):
            self.write(name + ".py", "raise SystemExit(99)\n")
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONSTARTUP": self.path("json.py"), "PYTHONHOME": str(self.folder)}
        told = self.result_of("sweep", JOB, "--grid", "job.seed=1", "--set", "training.epochs=1", env=environment)
        self.assertEqual(len(told["trials"]), 1)

    def test_two_sweeps_exclude_each_other(self):
        words = ["sweep", JOB, "--grid", "job.seed=1", "--set", "training.epochs=1", "-o", "all"]
        os.mkdir(self.path("all"))
        with open(self.path("all", "lock"), "w", encoding="utf-8") as lock:
            lock.write("77\n")
            lock.flush()
            fcntl.flock(lock, fcntl.LOCK_EX)
            refused = self.troupe(*words, code=73).stderr
        self.assertIn("all: the sweep directory is in use by process 77\n", refused)
        self.troupe(*words)
        self.assertFalse(os.path.exists(self.path("all", "lock")))

    def test_a_result_that_cannot_be_printed_is_an_error_but_for_a_reader_who_left(self):
        self.train("a")
        with open("/dev/full", "w", encoding="utf-8") as full:
            run = self.start(TROUPE, "compare", "a", "a", stdout=full)
            said = run.communicate(timeout=HANG)[1]
        self.assertEqual(run.returncode, 74)
        self.assertIn("standard output: cannot write the result: No space left on device", said)
        ends = os.pipe()
        os.close(ends[0])
        run = self.start(TROUPE, "compare", "a", "a", stdout=ends[1])
        said = run.communicate(timeout=HANG)[1]
        os.close(ends[1])
        self.assertEqual((run.returncode, said), (74, ""))

    def test_checkpoints_of_runs_that_are_not_finished_are_compared(self):
        self.train("a")
        self.train("b", "runtime.threads=2")
        self.train("c", "optimizer.learning_rate=0.02")
        for name in "abc":
            os.remove(self.path(name, "summary.json"))
            os.remove(self.path(name, "history.csv"))
        same, other = self.result_of("compare", *"abc")["bits"]
        self.assertEqual((same["state"], same["evidence"]), ("equal-so-far", "checkpoint"))
        self.assertEqual((other["state"], other["evidence"]), ("differ", "checkpoint"))
        for name in os.listdir(self.path("b")):
            if name.startswith("checkpoint"):
                os.truncate(self.path("b", name), 100)  # one that cannot be read is passed over
        same, _ = self.result_of("compare", *"abc")["bits"]
        self.assertEqual(same["state"], "unknown")

    def test_files_of_runs_that_are_damaged_are_named(self):
        self.train("a")
        for name, text, where in (("history.csv", "x\n", "history.csv:1"), ("summary.json", "[]", "summary.json"),
                                  ("job.toml", "[job]\nname = 3\n", "job.toml:2")):
            shutil.copytree(self.path("a"), self.path("b"))
            self.write("b/" + name, text)
            run = self.troupe("compare", "a", "b", "--json", code=78 if name == "job.toml" else 65)
            self.assertIn(where, json.loads(run.stdout)["error"]["where"])
            self.assertIn("troupe: error: b/" + where, run.stderr)
            shutil.rmtree(self.path("b"))


if __name__ == "__main__":
    main()
