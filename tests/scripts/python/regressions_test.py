"""Regressions in Python: targets of any unit, models in their unit, the exact solver, an end that comes too early.

    python3 tests/scripts/python/regressions_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import hashlib
import pickle
import sys
import unittest
import warnings

try:
    import numpy as np
    from sklearn.exceptions import ConvergenceWarning
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
sys.path.insert(0, f"{sys.path[0]}/..")
from command import BUILD, CommandTest, header_and_values  # noqa: E402

sys.path.insert(0, str(BUILD / "python"))
from troupe import TroupeRegressor  # noqa: E402


def plane():
    rows = np.random.default_rng(3).normal(size=(300, 2)).astype(np.float32)
    return rows, 2 * rows[:, 0] - rows[:, 1] + 1


class Regressions(CommandTest):
    """Targets of any unit are learned as well, and told in their own."""

    def test_large_targets_are_learned_as_small_ones_are(self):
        rows, targets = plane()
        for hidden in ((), (16,)):
            options = {"hidden": hidden, "epochs": 100}
            small = TroupeRegressor(**options).fit(rows, targets)
            large = TroupeRegressor(**options).fit(rows, 1e5 * targets + 1e6)
            self.assertGreater(small.score(rows, targets), 0.99)
            self.assertAlmostEqual(large.score(rows, 1e5 * targets + 1e6), small.score(rows, targets), places=4)
            np.testing.assert_allclose(large.history_["train_loss"], small.history_["train_loss"], rtol=0.01, atol=1e-6)
        self.assertLess(TroupeRegressor(**options, target_scale="none").fit(rows, 1e5 * targets + 1e6)
                        .score(rows, 1e5 * targets + 1e6), 0, "as they are, if that is asked for")

    def test_a_saved_model_predicts_in_the_unit_of_each_target(self):
        rows, targets = plane()
        both = np.stack([1e4 * targets + 5e4, 7 - 0.01 * targets], 1).astype(np.float32)
        for options in ({"hidden": (8,)}, {"hidden": ()}, {"layers": "dense units=8 activation=tanh"}):
            model = TroupeRegressor(**options, epochs=100).fit(rows, both)
            self.assertGreater(model.score(rows, both), 0.98)
            path = str(self.folder / "m.safetensors")
            model.save(path)
            self.assertEqual(hashlib.sha256(header_and_values(path)[1]).hexdigest(), model.parameters_sha256_)
            loaded = TroupeRegressor.load(path)
            np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(rows), model.predict(rows))

    def test_unscaled_ones_have_the_bits_of_the_command(self):
        rows, targets = plane()
        np.savetxt(self.folder / "rows.csv", np.column_stack([rows, targets]), delimiter=",", fmt="%.9g")
        result = self.train(self.write("job.toml", ""), "data.file=rows.csv", "model.kind=neural-network",
                            "model.hidden=[16]", "optimizer.kind=adam", "optimizer.learning_rate=0.01",
                            "training.epochs=3", "training.batch_size=32", "output.directory=run")
        model = TroupeRegressor(hidden=(16,), epochs=3, standardize=False).fit(rows, targets)
        self.assertEqual(result["parameters_sha256"], model.parameters_sha256_)

    def test_skewed_targets_are_learned_by_their_logarithm(self):
        rows, plain = plane()
        prices = np.exp(3 * plain).astype(np.float32)
        options = {"hidden": (16,), "epochs": 60}
        by_log = TroupeRegressor(**options, target_scale="log").fit(rows, prices)
        self.assertGreater(by_log.score(rows, prices), 0.97)
        self.assertGreater(by_log.score(rows, prices), TroupeRegressor(**options).fit(rows, prices).score(rows, prices))
        path = str(self.folder / "m.safetensors")
        by_log.save(path)
        np.testing.assert_array_equal(TroupeRegressor.load(path).predict(rows), by_log.predict(rows))
        with self.assertRaisesRegex(ValueError, "log needs targets above 0, the lowest is -"):
            TroupeRegressor(target_scale="log").fit(rows, plain)
        with self.assertRaisesRegex(ValueError, "target_scale: 'ln' is none of"):
            TroupeRegressor(target_scale="ln").fit(rows, prices)

    def test_a_line_by_gradients_is_as_good_as_least_squares(self):
        from sklearn.datasets import load_diabetes
        from sklearn.linear_model import LinearRegression
        rows, targets = load_diabetes(return_X_y=True)
        line = LinearRegression().fit(rows, targets).score(rows, targets)
        self.assertGreater(TroupeRegressor(hidden=()).fit(rows, targets).score(rows, targets), line - 0.01)
        solved = TroupeRegressor(hidden=(), optimizer="closed-form").fit(rows, targets)
        self.assertAlmostEqual(solved.score(rows, targets), line, places=4)

    def test_without_hidden_layers_the_closed_form_solves_them(self):
        rows, targets = plane()
        model = TroupeRegressor(hidden=(), optimizer="closed-form").fit(rows, 1000 * targets)
        self.assertGreater(model.score(rows, 1000 * targets), 0.999999)
        self.assertEqual(model.n_iter_, 1)
        with self.assertRaisesRegex(ValueError, "linear-regression only"):
            TroupeRegressor(optimizer="closed-form").fit(rows, targets)

    def test_a_loss_that_still_falls_is_warned_of(self):
        rows, targets = plane()
        with self.assertWarnsRegex(ConvergenceWarning, "still falling when training ended after 20 epochs"):
            TroupeRegressor(hidden=(), epochs=20, learning_rate=0.0005).fit(rows, targets)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            TroupeRegressor(hidden=(), epochs=50, learning_rate=0.05).fit(rows, targets)
            TroupeRegressor(hidden=(), optimizer="gauss-newton").fit(rows, targets + np.sin(30 * targets))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], warnings="ignore")
