"""What `troupe compare` and `troupe sweep` make of runs (python/tools), without a process.

    python3 tests/scripts/tools/comparison_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import math
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.abspath(sys.argv[2]), "python", "tools"))
from compare import bits_of, comparison_object, comparison_text, differences_of  # noqa: E402
from curves import curves_svg  # noqa: E402
from records import FIGURES, SUMMARY, Run, Watched, all_figures  # noqa: E402
from results import cells_csv, cells_text, judged, over_folds, settings_object, trial_cells, trial_object  # noqa: E402
from rule import SweepRule  # noqa: E402
from terminal import Failure  # noqa: E402

LOSS, AUC = Watched({}), Watched({"training.watch": '"auc"'})


def row_at(steps, loss, **more):
    return {**{name: None for name, _, _ in FIGURES}, "epoch": steps // 10, "steps": steps, "seconds": loss, "train_loss": loss,
            "learning_rate": 0.0, "test_loss": 1 / steps, "hash": None, "metrics": [], **more}


def some_run(name="a", **summary):
    return Run(name, [row_at(10, 0.5), row_at(20, 0.25), row_at(30, 0.125)],
               {**SUMMARY, "steps": 30, "parameters_sha256": "same", "arithmetic": "one", **summary},
               {"job.name": f'"{name}"', "optimizer.learning_rate": "0.1", "runtime.threads": "1", "training.target_loss": None},
               "optimizer.learning_rate = 0x1p-3\ndata.fingerprint = 00ff\n")


class Comparison(unittest.TestCase):
    def setUp(self):
        self.one, self.other = some_run(), some_run("b")

    def bits(self):
        return bits_of(self.one, self.other)

    def expect(self, **wanted):
        found = vars(self.bits())
        self.assertEqual({key: found[key] for key in wanted}, wanted)

    def test_runs_of_one_job_with_one_hash_are_equal(self):
        self.assertEqual(differences_of([self.one, self.other]), [], "the name is none")
        self.expect(state="equal", equal_until=30, reason=None)

    def test_hashes_of_rows_count_where_both_runs_have_them(self):
        self.one.summary = None
        for run in (self.one, self.other):
            for row in run.history:
                row["hash"] = (f"p{row['steps']}", f"s{row['steps']}")
        self.other.history[1]["train_loss"] = 7.0  # of other rows, perhaps: bits are what is asked for
        self.expect(state="equal-so-far", evidence="hash")
        self.other.history[2]["hash"] = ("p30", "another")
        self.expect(equal_until=20, differ_from=30, evidence="state-hash")
        self.other.history[1]["hash"] = ("another", "s20")
        self.expect(differ_from=20, evidence="hash")
        self.one.history[1]["hash"] = None  # of an earlier release
        self.expect(evidence="figures")

    def test_keys_that_change_bits_are_told_from_others(self):
        self.other.keys.update({"optimizer.learning_rate": "0.2", "runtime.threads": "4", "training.target_loss": "0.5"})
        self.other.identity = "optimizer.learning_rate = 0x1p-2\ndata.fingerprint = 00fe\n"
        self.other.summary["arithmetic"] = "another"
        self.assertEqual(differences_of([self.one, self.other]),
                         [("optimizer.learning_rate", ["0.1", "0.2"], True), ("runtime.threads", ["1", "4"], False),
                          ("training.target_loss", [None, "0.5"], False), ("data.fingerprint", ["00ff", "00fe"], True),
                          ("arithmetic", ["one", "another"], True)])

    def test_what_a_run_under_way_has_not_decided_is_no_difference(self):
        self.other.summary = self.other.keys["runtime.threads"] = None
        self.other.history.pop()
        self.assertEqual(differences_of([self.one, self.other]), [])
        self.expect(state="equal-so-far", equal_until=20, evidence="figures")

    def test_the_first_step_that_differs_is_named(self):
        self.other.summary["parameters_sha256"] = "other"
        self.expect(differ_from=30, evidence="result")
        self.other.history[1]["test_loss"] = math.nextafter(0.05, 1)  # one bit
        self.expect(state="differ", equal_until=10, differ_from=20, evidence="figures")

    def test_checkpoints_of_one_version_count(self):
        self.one.summary = self.other.summary = None
        self.one.digests, self.other.digests = {15: [1, 1], 25: [1, 1]}, {15: [1, 1], 25: [1, 2]}
        self.expect(equal_until=20, differ_from=25, evidence="checkpoint")

    def test_training_figures_of_other_steps_are_not_compared(self):
        """A run that was cut short has a row of its own: training figures after it are of fewer steps."""
        self.other.history.insert(1, row_at(15, 7.0))
        self.other.history[2]["train_loss"] = 8.0
        self.expect(state="equal")
        self.other.history[3]["train_loss"] = 8.0
        self.expect(differ_from=30)

    def test_nothing_in_common_is_unknown(self):
        self.other.summary["steps"], self.other.history = 31, [row_at(11, 0.5)]
        self.expect(state="unknown")

    def test_not_a_number_is_equal_to_itself(self):
        self.one.history[0]["train_loss"] = self.other.history[0]["train_loss"] = math.nan
        self.expect(state="equal")

    def test_the_likely_reason_is_told(self):
        self.other.summary["parameters_sha256"] = "other"
        self.assertIn("nothing that may change bits differs", self.bits().reason)
        self.other.summary["arithmetic"] = "two"
        self.expect(reason="the jobs are the same; the arithmetic differs (one / two)")
        self.other.summary["reproducible"] = False
        self.assertIn("this mode is not reproducible", self.bits().reason)
        self.other.identity += "seed = 2\n"
        self.expect(reason="the jobs differ in seed")

    def test_a_report_marks_the_best_and_says_where_bits_part(self):
        self.other.summary["parameters_sha256"] = "other"
        self.other.history[2]["train_loss"] = 0.0625
        runs, bits = [self.one, self.other], [self.bits()]
        text = comparison_text(runs, [], bits)
        self.assertIn("train_loss              0.125    0.0625*\n", text)
        self.assertNotIn("validation_loss", text, "nobody measured it")
        self.assertIn("the jobs are the same\n", text)
        self.assertIn("bits of b and a: nothing differs up to step 20 (epoch 2); different from step 30 (epoch 3) at the latest, "
                      "by the figures: ", text)
        told = comparison_object(runs, [], bits)
        self.assertEqual((told["runs"][1]["train_loss"], told["bits"][0]["differ_from"], told["bits"][0]["state"]),
                         (0.0625, 30, "differ"))


class Curves(unittest.TestCase):
    def path(self, text, part):
        return next(line for line in text.split("\n") if line.startswith(f'<path class="{part}"'))

    def test_names_are_escaped_and_what_is_not_finite_is_a_gap(self):
        run = some_run()
        run.history[1]["train_loss"] = math.inf
        text = curves_svg([("<&>", run.history)])
        self.assertIn("&lt;&amp;&gt;", text)
        self.assertEqual(self.path(text, "train").count("M"), 2)
        self.assertNotIn("inf", text)
        self.assertNotIn("nan", text)

    def test_long_ones_are_thinned_and_keep_their_end(self):
        text = curves_svg([("a", [row_at(steps, 1.0) for steps in range(1, 50_001)])])
        self.assertLess(len(text), 100_000)
        self.assertIn(">50000</text>", text)
        self.assertTrue(curves_svg([("a", [])]))

    def test_evaluations_that_are_rare_are_all_drawn(self):
        rows = [row_at(steps, 1.0, **({} if steps % 50 == 0 else {"test_loss": None})) for steps in range(1, 5_001)]
        line = self.path(curves_svg([("a", rows)]), "test")
        self.assertEqual(line.count("L") + line.count("M"), 100)


class Results(unittest.TestCase):
    def test_a_trial_is_judged_by_the_row_of_the_version_that_it_keeps(self):
        """Rows 2 and 4 are not evaluated: they have a training loss alone, which is no rival."""
        run = Run("a", [row_at(10 * epoch, 0.1, validation_loss=loss)
                        for epoch, loss in ((1, 0.5), (2, None), (3, 0.2), (4, None), (5, 0.4))], dict(SUMMARY))
        self.assertEqual([judged(run, epochs, LOSS)[1] for epochs in (5, 4)], [0.4, 0.2], "the last")
        run.summary["best_version"] = 3
        self.assertEqual([judged(run, epochs, LOSS)[1] for epochs in (2, 5)], [0.5, 0.2], "at a rung, the best up to there")
        self.assertEqual(judged(run, 5, LOSS)[0]["epoch"], 3)
        run.history[0]["validation_loss"] = math.nan
        self.assertEqual([judged(run, epochs, LOSS)[1] for epochs in (5, 2)], [0.2, None])

    def test_a_search_ranks_by_what_the_job_watches(self):
        """The loss likes trial 1, the AUC trial 2; of each the best version is kept, which is not the last."""
        runs = [Run(str(i), [row_at(10 * epoch, 0.1, validation_loss=loss, validation_auc=auc, test_auc=0.5, metrics=["validation_auc", "test_auc"])
                             for epoch, (loss, auc) in enumerate(rows, 1)], {**SUMMARY, "best_version": kept, "steps": kept})
                for i, (kept, rows) in enumerate(((20, ((0.3, 0.6), (0.212345, 0.7), (0.22, 0.65))), (10, ((0.5, 0.9), (0.4, 0.8)))))]
        trials, tables = [[("a.b", "0.0123456789")], [("a.b", "1")]], {}
        for watched, order in ((LOSS, [0, 1]), (AUC, [1, 0])):
            rule = SweepRule(2, [3], 1)
            for trial in range(2):
                rule.on_started(trial)
                rule.on_reached(trial, watched.sign * judged(runs[trial], 3, watched)[1])
            self.assertEqual(rule.ranking(), order)
            objects = [trial_object(trials, runs, rule, trial, watched) for trial in order]
            tables[watched.name] = trial_cells(trials, objects)
        self.assertEqual([x["validation_auc"] for x in objects], [0.9, 0.7])
        self.assertEqual([x["loss"] for x in objects], [0.5, 0.212345], "of the version that is kept")
        self.assertEqual([x["setting"] for x in settings_object(objects, 1, AUC)], [1, 2])
        self.assertEqual([x["setting"] for x in settings_object(objects, 1, LOSS)], [2, 1])
        self.assertEqual(tables["auc"][0], ["trial", "a.b", "state", "loss", "epochs", "steps", "seconds", "validation_auc", "test_auc"])
        self.assertIn("1      0.0123  done   0.212  ", cells_text(tables["loss"]))
        self.assertIn("1,0.0123456789,done,0.212345,", cells_csv(tables["loss"]))
        self.assertEqual(dict(x[::2] for x in all_figures(runs[0].history))["validation_auc"], True)

    def test_what_nobody_can_rank_by_is_refused(self):
        self.assertRaises(Failure, Watched, {"training.watch": '"my-own"'})

    def test_a_trial_that_was_stopped_on_its_way_is_half_trained_and_has_no_rank(self):
        told = trial_object([[]], [some_run()], SweepRule(1, [9], 1), 0, LOSS)
        self.assertEqual((told["state"], told["loss"], told["epochs"]), ("half-trained", None, 3))
        self.assertEqual(trial_object([[]], [None], SweepRule(1, [9], 1), 0, LOSS)["state"], "waiting")
        diverged = Run("a", [], dict(SUMMARY))  # at its first step: there is no row
        self.assertEqual(trial_object([[]], [diverged], SweepRule(1, [9], 1), 0, AUC)["epochs"], 0)

    def test_a_setting_has_a_mean_when_all_its_folds_have_the_figure(self):
        self.assertEqual(over_folds([1.0, 3.0]), (2.0, math.sqrt(2)))
        self.assertEqual(over_folds([1.0]), (1.0, None))
        self.assertEqual(over_folds([1.0, None]), (None, None))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
