"""scikit-learn's habits: seeds, weights, sparse rows, names, going on from a model, searches in a pipeline, pickles.

    python3 tests/scripts/python/habits_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import contextlib
import io
import os
import pickle
import sys
import unittest

try:
    import joblib
    import numpy as np
    import scipy.sparse
    from sklearn.datasets import load_diabetes, load_iris
    from sklearn.linear_model import LinearRegression
    from sklearn.metrics import recall_score
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils.estimator_checks import check_sample_weights_invariance
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
sys.path.insert(0, f"{sys.path[0]}/..")
from command import BUILD, CommandTest, finished  # noqa: E402

sys.path.insert(0, str(BUILD / "python"))
os.environ.update({"PYTHONPATH": str(BUILD / "python"), "PYTHONWARNINGS": "ignore"})  # of joblib's processes
import troupe  # noqa: E402
from troupe import TroupeClassifier, TroupeRegressor  # noqa: E402


def rare(count=600):
    """Rows of two classes that overlap; one row of 15 is of the class "yes"."""
    random = np.random.default_rng(5)
    rows = random.normal(size=(count, 3)).astype(np.float32)
    return rows, np.where(rows[:, 0] + random.normal(size=count) > 2.1, "yes", "no")


class Frame:
    """A data frame as far as scikit-learn looks."""

    def __init__(self, names, rows):
        self.columns, self.rows, self.shape, self.dtypes = names, np.asarray(rows), np.shape(rows), []

    def __array__(self, dtype=None):
        return self.rows.astype(dtype)

    def __len__(self):
        return len(self.rows)


class Habits(CommandTest):
    def refused(self, words, model, *given, kind=ValueError, **more):
        with self.assertRaisesRegex(kind, words):
            model.fit(*given, **more)

    def test_random_state_is_the_seed(self):
        rows, classes = rare()
        bits = [TroupeClassifier(hidden=4, epochs=1, random_state=state).fit(rows, classes).parameters_sha256_
                for state in (None, 0, np.int64(0), 1, np.random.RandomState(3), np.random.RandomState(3))]
        self.assertEqual(bits[0], bits[1])
        self.assertEqual(bits[1], bits[2])
        self.assertEqual(bits[4], bits[5])
        self.assertEqual(len(set(bits)), 3)
        with self.assertRaisesRegex(TypeError, "no option 'seed': it is called random_state"):
            TroupeClassifier(seed=1)
        with self.assertRaisesRegex(TypeError, "no option 'alpha'$"):
            TroupeRegressor(alpha=1)

    def test_a_threshold_finds_more_of_the_rare_class(self):
        rows, classes = rare()
        options = {"hidden": (), "epochs": 30, "validation_fraction": 0.3}
        plain = TroupeClassifier(**options).fit(rows, classes)
        for rule in ("f1", {"cost": 10}, {"precision": 0.4}):
            chosen = TroupeClassifier(**options, threshold=rule).fit(rows, classes)
            self.assertEqual(chosen.parameters_sha256_, plain.parameters_sha256_, "it is chosen afterwards")
            self.assertGreater(recall_score(classes, chosen.predict(rows), pos_label="yes"),
                               recall_score(classes, plain.predict(rows), pos_label="yes"), rule)
            path = str(self.folder / "m.safetensors")
            chosen.save(path)
            np.testing.assert_array_equal(TroupeClassifier.load(path).predict(rows), chosen.predict(rows))
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(chosen)).predict(rows), chosen.predict(rows))
        self.refused("no validation rows", TroupeClassifier(threshold="f1"), rows, classes)
        self.refused("'recall' is none of", TroupeClassifier(threshold="recall"), rows, classes)
        for wrong in ("precision", {"f1": 0.5}):
            self.refused("threshold: write 'f1', ", TroupeClassifier(threshold=wrong), rows, classes)

    def test_class_weight(self):
        rows, classes = rare()
        recalls = []
        for weight in (None, "balanced", {"yes": 14}, {"no": 0.5, "yes": 7}):
            model = TroupeClassifier(hidden=(), epochs=30, class_weight=weight).fit(rows, classes)
            recalls.append(recall_score(classes, model.predict(rows), pos_label="yes"))
        self.assertLess(recalls[0], 0.6)
        for recall in recalls[1:]:
            self.assertGreater(recall, 0.8)
        self.refused("'maybe'.* none of the classes", TroupeClassifier(class_weight={"maybe": 2}), rows, classes)
        self.refused("class_weight: cannot be 3", TroupeClassifier(class_weight=3), rows, classes)
        self.refused("class_weight: cannot be 'heavy'", TroupeClassifier(class_weight="heavy"), rows, classes)

    def test_sample_weight(self):
        rows, classes = rare()
        weights = np.where(classes == "yes", 14.0, 1.0)
        weighted = TroupeClassifier(hidden=(), epochs=10).fit(rows, classes, sample_weight=weights)
        by_class = TroupeClassifier(hidden=(), epochs=10, class_weight={"yes": 14}).fit(rows, classes)
        np.testing.assert_allclose(weighted.predict_proba(rows), by_class.predict_proba(rows), atol=1e-4)
        self.assertNotEqual(weighted.score(rows, classes), weighted.score(rows, classes, sample_weight=weights))
        X, y = load_diabetes(return_X_y=True)
        half = np.arange(len(y)) % 2
        solved = TroupeRegressor(hidden=(), optimizer="closed-form")
        solved.fit(X, np.where(half, y, 1e4), sample_weight=half)
        expected = LinearRegression().fit(X[half == 1], y[half == 1])
        self.assertAlmostEqual(solved.score(X, y), expected.score(X, y), places=3)
        self.refused("Negative values", TroupeClassifier(), rows, classes, sample_weight=-weights)
        self.refused("sample_weight.shape", TroupeClassifier(), rows, classes, sample_weight=weights[1:])
        for model in (TroupeClassifier(), TroupeRegressor()):
            check_sample_weights_invariance(type(model).__name__, model, kind="ones")

    def test_sparse_rows(self):
        random = np.random.default_rng(2)
        dense = np.where(random.random((400, 50)) < 0.1, random.normal(size=(400, 50)), 0).astype(np.float32)
        classes = dense[:, :10].sum(1) > 0.1
        sparse = scipy.sparse.csr_matrix(dense)
        backwards = np.concatenate([np.arange(end - 1, begin - 1, -1)
                                    for begin, end in zip(sparse.indptr, sparse.indptr[1:])])
        unsorted = scipy.sparse.csr_matrix((sparse.data[backwards], sparse.indices[backwards], sparse.indptr))
        self.assertFalse(unsorted.has_sorted_indices)
        models = [TroupeClassifier(hidden=8, epochs=20).fit(rows, classes)
                  for rows in (sparse, unsorted, sparse.tocoo())]
        self.assertEqual(len({model.parameters_sha256_ for model in models}), 1)
        self.assertGreater(models[0].score(sparse, classes), 0.9)
        np.testing.assert_array_equal(models[0].predict_proba(dense), models[0].predict_proba(sparse))
        on_dense = TroupeClassifier(hidden=8, epochs=5).fit(dense, classes)
        np.testing.assert_array_equal(on_dense.predict_proba(sparse), on_dense.predict_proba(dense))
        layers = TroupeClassifier(layers="dense units=8 activation=relu", epochs=5)
        self.assertEqual(layers.fit(sparse, classes).parameters_sha256_, layers.fit(dense, classes).parameters_sha256_)
        path = str(self.folder / "sparse.safetensors")
        models[0].save(path)
        np.testing.assert_array_equal(troupe.load_model(path).predict_proba(sparse), models[0].predict_proba(sparse))

    def test_names_iterations_and_words(self):
        X, y = load_iris(return_X_y=True)
        names = ["sepal length", "sepal width", "petal length", "petal width"]
        lines = io.StringIO()
        with contextlib.redirect_stdout(lines):
            model = TroupeClassifier(hidden=8, epochs=3, verbose=True).fit(Frame(names, X), y)
        self.assertRegex(lines.getvalue(), r"^(epoch \d: train_loss [\d.]+\n){3}$")
        self.assertEqual(list(model.feature_names_in_), names)
        self.assertEqual((model.n_features_in_, model.n_iter_), (4, 3))
        np.testing.assert_allclose(np.exp(model.predict_log_proba(Frame(names, X))),
                                   model.predict_proba(Frame(names, X)))
        path = str(self.folder / "iris.safetensors")
        model.save(path)
        self.assertEqual(list(TroupeClassifier.load(path).feature_names_in_), names)
        with self.assertWarnsRegex(UserWarning, "does not have valid feature names"):
            model.predict(X)
        with self.assertRaisesRegex(ValueError, "feature names should match"):
            model.predict(Frame(names[::-1], X))
        self.assertFalse(hasattr(model.set_params(verbose=False).fit(X, y), "feature_names_in_"))
        self.assertRegex(troupe.__version__, r"^\d+\.\d+\.\d+$")
        self.assertIn(troupe.__version__, self.troupe("--version").stdout)

    def test_linear_regression_is_scikit_learns(self):
        X, y = load_diabetes(return_X_y=True)
        expected = LinearRegression().fit(X, y)
        solved = TroupeRegressor(hidden=(), optimizer="closed-form").fit(X, y)
        np.testing.assert_allclose(solved.predict(X), expected.predict(X), rtol=1e-3)
        self.assertGreater(TroupeRegressor(hidden=()).fit(X, y).score(X, y), expected.score(X, y) - 0.01)


class GoingOn(CommandTest):
    def test_a_warm_start_begins_where_the_last_fit_ended(self):
        X, y = load_diabetes(return_X_y=True)
        model = TroupeRegressor(hidden=8, epochs=40, warm_start=True).fit(X, y)
        first, bits = model.history_["train_loss"], model.parameters_sha256_
        model.fit(X, y)
        self.assertLess(model.history_["train_loss"][0], first[1])
        self.assertNotEqual(model.parameters_sha256_, bits)
        again = pickle.loads(pickle.dumps(TroupeRegressor(hidden=8, epochs=40, warm_start=True).fit(X, y))).fit(X, y)
        self.assertEqual(again.parameters_sha256_, model.parameters_sha256_)
        cold = model.set_params(warm_start=False).fit(X, y)
        self.assertEqual(cold.parameters_sha256_, bits)
        model.set_params(warm_start=True, hidden=9)
        with self.assertRaisesRegex(ValueError, "given tensor 'layers.0.weight' .8 x 10. has another shape"):
            model.fit(X, y)

    def test_a_warm_start_keeps_the_classes(self):
        rows, classes = rare()
        path = str(self.folder / "m.safetensors")
        TroupeClassifier(hidden=(4,), epochs=5).fit(rows, classes).save(path)
        model = TroupeClassifier.load(path).set_params(hidden=(4,), epochs=5, warm_start=True)
        before = model.score(rows, classes)
        model.fit(rows, classes)
        self.assertGreaterEqual(model.score(rows, classes), before - 0.01)
        self.assertEqual(list(model.classes_), ["no", "yes"])
        with self.assertRaisesRegex(ValueError, "warm_start goes on with the classes"):
            model.fit(rows, classes == "yes")
        with self.assertRaisesRegex(ValueError, "2 features, but TroupeClassifier is expecting 3"):
            model.fit(rows[:, :2], classes)

    def test_partial_fit_learns_from_parts(self):
        X, y = load_iris(return_X_y=True)
        order = np.random.default_rng(1).permutation(len(y))
        X, y = X[order], y[order]

        def learned():
            model = TroupeClassifier(hidden=8, batch_size=8)
            for begin in list(range(0, 150, 50)) * 20:
                model.partial_fit(X[begin:begin + 50], y[begin:begin + 50], classes=[0, 1, 2])
            return model
        model = learned()
        self.assertGreater(model.score(X, y), 0.93)
        self.assertEqual(model.n_iter_, 60)
        self.assertEqual(learned().parameters_sha256_, model.parameters_sha256_)
        parts = [TroupeClassifier(hidden=8).partial_fit(X, y, classes=[0, 1, 2]) for _ in range(2)]
        parts[0].partial_fit(X, y)
        parts[1].set_params(random_state=-1).partial_fit(X, y)
        self.assertNotEqual(parts[0].parameters_sha256_, parts[1].parameters_sha256_, "seed 1 at the second call, not 0")
        model.partial_fit(X[y == 0], y[y == 0])
        with self.assertRaisesRegex(ValueError, "not told of the classes .7."):
            model.partial_fit(X, np.where(y == 0, 7, y))
        with self.assertRaisesRegex(ValueError, "classes must be passed"):
            TroupeClassifier().partial_fit(X, y)
        with self.assertRaisesRegex(ValueError, "no optimizer that solves"):
            TroupeRegressor(hidden=(), optimizer="closed-form").partial_fit(X, y)
        X, y = load_diabetes(return_X_y=True)
        regressor = TroupeRegressor(hidden=(), batch_size=8)
        for begin in list(range(0, 440, 110)) * 10:
            regressor.partial_fit(X[begin:begin + 110], y[begin:begin + 110])
        self.assertGreater(regressor.score(X, y), 0.4)


class Elsewhere(CommandTest):
    def test_a_pipeline_is_searched_in_two_processes_as_in_one(self):
        rows, classes = rare()
        grid = {"troupeclassifier__class_weight": [None, "balanced", {"yes": 5}],
                "troupeclassifier__hidden": [(), 4, (8, 4)]}
        found = []
        for jobs in (1, 2):
            search = GridSearchCV(make_pipeline(StandardScaler(), TroupeClassifier(epochs=10)), grid, cv=2, n_jobs=jobs,
                                  scoring="balanced_accuracy").fit(rows, classes)
            found.append((search.best_params_, list(search.cv_results_["mean_test_score"])))
        self.assertEqual(found[0], found[1])
        self.assertIsNotNone(found[0][0]["troupeclassifier__class_weight"])

    def test_processes_of_joblib_learn_the_same_bits(self):
        rows, classes = rare()
        models = [TroupeClassifier(hidden=4, epochs=3, random_state=seed) for seed in (0, 1)]
        here = [model.fit(rows, classes).parameters_sha256_ for model in models]
        there = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(model.fit)(rows, classes) for model in models)
        self.assertEqual([model.parameters_sha256_ for model in there], here)
        self.assertEqual(list(there[0].predict(rows)), list(models[0].predict(rows)))

    def test_another_process_loads_a_pickle(self):
        rows, classes = rare()
        model = TroupeClassifier(hidden=4, epochs=3, class_weight="balanced", random_state=np.random.RandomState(2))
        path = self.folder / "m.pickle"
        path.write_bytes(pickle.dumps((model.fit(rows, classes), rows)))
        told = finished(sys.executable, "-c", f"""
import pickle
model, rows = pickle.load(open({str(path)!r}, "rb"))
print(model.parameters_sha256_, model.class_weight, *model.predict(rows[:40]))
""").stdout.split()
        self.assertEqual(told, [model.parameters_sha256_, "balanced", *model.predict(rows[:40])])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], warnings="ignore")  # short runs do not converge
