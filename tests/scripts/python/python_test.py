"""The Python module: scikit-learn's own checks, the bits of the command, files, signals, bad input.

    python3 tests/scripts/python/python_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""

import csv
import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

sys.path.insert(0, f"{sys.path[0]}/..")
from command import BUILD, SOURCE, CommandTest, finished, header_and_values  # noqa: E402
from patience import HANG, lenient  # noqa: E402

MODULE = str(BUILD / "python")
try:
    import joblib
    import numpy as np
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.model_selection import GridSearchCV
    from sklearn.utils.estimator_checks import check_estimator
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
sys.path.insert(0, MODULE)
os.environ["PYTHONPATH"] = MODULE  # of the processes that joblib starts
from troupe import TroupeClassifier, TroupeRegressor  # noqa: E402

DIGITS = os.path.join(SOURCE, "examples", "data", "digits.csv.gz")
QUICK = {"hidden": (16,), "epochs": 5}


def digits():
    table = np.loadtxt(DIGITS, delimiter=",", dtype=np.float32)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int32)


def plane():
    rows = np.random.default_rng(3).normal(size=(300, 2)).astype(np.float32)
    return rows, 2 * rows[:, 0] - rows[:, 1] + 1


class Manners(unittest.TestCase):
    def test_scikit_learns_checks_pass(self):
        # A row of weight 0 counts in its batch: the one check that scikit-learn excuses its SGDClassifier from, too.
        for model in (TroupeClassifier(), TroupeRegressor()):
            skipped, count = [], 0
            for estimator, check in check_estimator(model, generate_only=True):
                with self.subTest(check=str(check)):
                    try:
                        check(estimator)
                    except unittest.SkipTest as reason:
                        skipped.append(str(reason))
                count += 1
            self.assertGreater(count, 45)
            for reason in skipped:
                self.assertRegex(reason, "check_sample_weights_invariance|pandas is not installed")

    def test_classes_are_of_any_type(self):
        rows, numbers = digits()
        for classes in (numbers, numbers - 5, numbers.astype(str), numbers > 4, numbers.astype(np.float64)):
            model = TroupeClassifier(**QUICK).fit(rows, classes)
            guesses = model.predict(rows)
            self.assertEqual(model.classes_.dtype, classes.dtype)
            self.assertEqual(guesses.dtype, classes.dtype)
            self.assertGreater(np.mean(guesses == classes), 0.9)

    def test_a_search_in_two_processes_finds_what_one_finds(self):
        rows, classes = digits()
        for backend in ("loky", "multiprocessing"):
            with joblib.parallel_backend(backend):
                found = [GridSearchCV(TroupeClassifier(**QUICK), {"learning_rate": [0.0001, 0.01]}, cv=2,
                                      n_jobs=jobs).fit(rows, classes) for jobs in (1, 2)]
            self.assertEqual(found[0].best_params_, {"learning_rate": 0.01})
            self.assertEqual(list(found[0].cv_results_["mean_test_score"]),
                             list(found[1].cv_results_["mean_test_score"]))

    def test_what_it_learned_is_told(self):
        rows, classes = digits()
        model = TroupeClassifier(**QUICK, validation_fraction=0.2).fit(rows, classes)
        self.assertEqual(model.n_iter_, 5)
        self.assertEqual(list(model.history_["epoch"]), [1, 2, 3, 4, 5])
        self.assertEqual(len(model.history_["validation_loss"]), 5)
        self.assertNotIn("validation_r2", model.history_)
        flat, other = plane()
        regressor = TroupeRegressor(hidden=(), learning_rate=0.05).fit(flat, other)
        self.assertGreater(regressor.score(flat, other), 0.999)
        several = TroupeRegressor(hidden=(), learning_rate=0.05).fit(flat, np.stack([other, -other], 1))
        self.assertEqual(several.predict(flat).shape, (300, 2))
        self.assertGreater(several.score(flat, np.stack([other, -other], 1)), 0.999)


class Bits(CommandTest):
    def test_are_those_of_the_command(self):
        rows, classes = digits()
        model = TroupeClassifier(hidden=(16,), epochs=3, random_state=7, batch_size=64, slices=4,
                                 validation_fraction=0.25).fit(rows, classes)
        job = self.write("job.toml", f'''job.seed = 7
data = {{file = "{DIGITS}", standardize = true, validation_fraction = 0.25}}
model = {{kind = "neural-network", hidden = [16]}}
optimizer = {{kind = "adam", learning_rate = 0.01}}
training = {{epochs = 3, batch_size = 64, slices = 4, replicas = 2}}
''')
        result = self.train(job, "output.directory=run")
        self.assertEqual(result["parameters_sha256"], model.parameters_sha256_)
        loaded = TroupeClassifier.load(str(self.folder / "run" / "model.safetensors"))
        np.testing.assert_array_equal(loaded.classes_, np.arange(10))
        np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))

    def test_layers_are_those_of_the_command(self):
        rows, classes = digits()
        layers = "convolution channels=6 activation=relu; pool size=2; dense units=16 activation=tanh"
        model = TroupeClassifier(epochs=8, layers=layers, shape=[8, 8, 1]).fit(rows, classes)
        self.assertGreater(model.score(rows, classes), 0.9)
        self.assertEqual(TroupeClassifier(epochs=8, layers=layers + " # the same", shape=(8, 8, 1), replicas=1)
                         .fit(rows, classes).parameters_sha256_, model.parameters_sha256_)
        path = str(self.folder / "m.safetensors")
        model.save(path)
        options = json.loads(header_and_values(path)[0]["__metadata__"]["options"])
        self.assertEqual(options["shape"], [8, 8, 1])
        self.assertTrue(np.array_equal(TroupeClassifier.load(path).predict(rows), model.predict(rows)))
        for wrong, why in [({"layers": "dens"}, "no layer of kind 'dens'"),
                           ({"layers": layers}, "takes rows of height x width x channels"),
                           ({"shape": [8, 8, 1]}, "shape"), ({"layers": 3}, "layers: cannot be 3")]:
            with self.assertRaisesRegex(ValueError, why):
                TroupeClassifier(**wrong).fit(rows, classes)

    def test_do_not_depend_on_replicas_copies_or_callbacks(self):
        rows, classes = digits()
        options = {**QUICK, "batch_size": 64, "slices": 4}
        expected = TroupeClassifier(**options, replicas=1).fit(rows, classes).parameters_sha256_
        for others in (rows, rows.astype(np.float64), np.asfortranarray(rows), rows.tolist()):
            model = TroupeClassifier(**options, replicas=2)
            model.fit(others, classes, callbacks=[lambda row: None])
            self.assertEqual(model.parameters_sha256_, expected)
        other = TroupeClassifier(**options, replicas=2, random_state=1).fit(rows, classes)
        self.assertNotEqual(other.parameters_sha256_, expected)

    def test_follow_a_rate_that_results_lower(self):
        rows, classes = digits()
        options = {**QUICK, "epochs": 20, "learning_rate": 0.05, "validation_fraction": 0.2}
        model = TroupeClassifier(**options, plateau=1, plateau_factor=0.5).fit(rows, classes)
        again = TroupeClassifier(**options, plateau=1, plateau_factor=0.5, replicas=2).fit(rows, classes)
        self.assertEqual(again.parameters_sha256_, model.parameters_sha256_)
        rates = model.history_["learning_rate"]
        self.assertLess(rates[-1], 0.05)
        for before, after in zip(rates, rates[1:]):
            self.assertIn(after, (before, before / 2))
        with self.assertRaisesRegex(ValueError, "optimizer.plateau.factor"):
            TroupeClassifier(plateau=1, plateau_factor=2.0).fit(rows, classes)

    def test_need_no_copy_of_the_rows(self):
        """160 MB of float32 in C order, validation rows among them, standardised: trained on where they lie."""
        script = textwrap.dedent("""
            import numpy as np
            from troupe import TroupeRegressor
            def peak():
                with open("/proc/self/status") as file:
                    return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
            rows = np.empty((400_000, 100), dtype=np.float32)
            np.random.default_rng(1).standard_normal(out=rows, dtype=np.float32)
            targets = rows[:, 0].copy()
            warm = TroupeRegressor(hidden=(), epochs=1, batch_size=128, validation_fraction=0.2)
            warm.fit(rows[:1000], targets[:1000])
            before, first = peak(), rows[:3].tobytes()
            warm.fit(rows, targets)
            assert rows[:3].tobytes() == first
            print(peak() - before)
        """)
        beyond = int(finished(sys.executable, "-c", script).stdout)
        self.assertLess(beyond, 60_000, "KiB beyond the rows")

    def test_are_equal_from_threads_that_train_side_by_side(self):
        rows, classes = digits()
        models = [TroupeClassifier(**QUICK) for _ in range(3)]
        threads = [threading.Thread(target=model.fit, args=(rows, classes)) for model in models[1:]]
        for thread in threads:
            thread.start()
        models[0].fit(rows, classes)
        for thread in threads:
            thread.join()
        self.assertEqual(len({model.parameters_sha256_ for model in models}), 1)


class Files(CommandTest):
    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "model.safetensors")

    def test_a_pickle_holds_the_model(self):
        rows, classes = digits()
        model = TroupeClassifier(**QUICK).fit(rows, classes.astype(str))
        again = pickle.loads(pickle.dumps(model))
        self.assertEqual(again.parameters_sha256_, model.parameters_sha256_)
        self.assertEqual(again.get_params(), model.get_params())
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
        np.testing.assert_array_equal(again.history_["train_loss"], model.history_["train_loss"])
        with self.assertRaises(NotFittedError):
            pickle.loads(pickle.dumps(clone(model))).predict(rows)

    def test_the_command_predicts_from_a_saved_model(self):
        rows, numbers = digits()
        names = np.array(["nought", "one", 'two "2"', "three", "vier, 4", "fünf", "six", "7", "8", "9"])
        model = TroupeClassifier(**QUICK).fit(rows, names[numbers])
        model.save(self.path)
        header, values = header_and_values(self.path)
        self.assertEqual(hashlib.sha256(values).hexdigest(), model.parameters_sha256_)
        self.assertEqual(json.loads(header["__metadata__"]["classes"]), list(model.classes_))
        np.savetxt(self.folder / "rows.csv", rows, delimiter=",", fmt="%d")
        run = self.troupe("predict", self.path, "rows.csv")
        lines = list(csv.reader(run.stdout.splitlines()))[1:]
        self.assertEqual([line[0] for line in lines], list(model.predict(rows)))
        loaded = TroupeClassifier.load(self.path)
        np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))

    def test_a_regression_comes_back(self):
        rows, targets = plane()
        model = TroupeRegressor(**QUICK).fit(rows, targets)
        model.save(self.path)
        loaded = TroupeRegressor.load(self.path)
        np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
        with self.assertRaisesRegex(ValueError, "use TroupeRegressor"):
            TroupeClassifier.load(self.path)


ENDLESS = """
import os, pickle, sys
import numpy as np
from troupe import TroupeClassifier
rows = np.random.default_rng(1).normal(size=(2000, 20)).astype(np.float32)
labels = (rows[:, 0] > 0).astype(int)
model = TroupeClassifier(hidden=(32,), epochs=100_000_000)
told = []
def tell(row):
    if not told:
        print("trains", flush=True)
    told.append(row["epoch"])
try:
    model.fit(rows, labels, callbacks=[tell])
except KeyboardInterrupt:
    print("kept", model.n_iter_, model.score(rows, labels), flush=True)
    raise
"""


class Stopping(unittest.TestCase):
    def test_ctrl_c_ends_fit_and_keeps_the_model(self):
        process = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        try:
            self.assertEqual(process.stdout.readline(), "trains\n")
            time.sleep(0.3)
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=HANG)
            seconds = time.monotonic() - begin
        finally:
            process.kill()
        self.assertIn("KeyboardInterrupt", err)
        word, epochs, score = out.split()
        self.assertEqual(word, "kept")
        self.assertGreater(int(epochs), 0)
        self.assertGreater(float(score), 0.9)
        self.assertLess(seconds, lenient(3))

    def test_a_callback_sees_epochs_and_stops(self):
        rows, classes = digits()
        told = []

        def stop_at_3(row):
            told.append(row)
            return row["epoch"] < 3

        model = TroupeClassifier(hidden=(16,), epochs=1_000_000).fit(rows, classes, callbacks=[stop_at_3])
        self.assertEqual([row["epoch"] for row in told], [1, 2, 3])
        self.assertGreaterEqual(model.n_iter_, 3)
        self.assertLess(model.n_iter_, 1_000_000)
        self.assertEqual(told[2]["train_loss"], model.history_["train_loss"][2])

    def test_an_error_of_a_callback_is_raised_with_the_model_kept(self):
        rows, classes = digits()

        def fail(row):
            raise KeyError("mine")

        model = TroupeClassifier(hidden=(16,), epochs=1_000_000)
        with self.assertRaisesRegex(KeyError, "mine"):
            model.fit(rows, classes, callbacks=[fail])
        self.assertGreater(model.score(rows, classes), 0.5)

    def test_other_threads_of_python_run_while_it_trains(self):
        rows, classes = digits()
        model = TroupeClassifier(hidden=(16,), epochs=1_000_000)
        done = threading.Event()
        thread = threading.Thread(target=model.fit, args=(rows, classes), kwargs={
            "callbacks": [lambda row: not done.is_set()]})
        thread.start()
        total = sum(range(1_000_000))
        done.set()
        thread.join(HANG)
        self.assertFalse(thread.is_alive())
        self.assertEqual(total, 499_999_500_000)


class Refusals(unittest.TestCase):
    def refused(self, words, kind=ValueError, model=TroupeClassifier, data=None, **options):
        rows, targets = data or digits()
        with self.assertRaisesRegex(kind, words):
            model(**{**QUICK, **options}).fit(rows, targets)

    def test_options(self):
        self.refused("activation: 'step' is none of identity, relu", activation="step")
        self.refused("optimizer: 'best' is none of sgd, adam", optimizer="best")
        self.refused("epochs: cannot be -1", epochs=-1)
        self.refused("epochs: cannot be 2.5", epochs=2.5)
        self.refused("epochs", epochs=0)
        self.refused("learning_rate", learning_rate=-1.0)
        self.refused("hidden: cannot be 'many'", hidden="many")
        self.refused("validation_fraction", validation_fraction=1.5)
        self.refused("patience watches rows .* set validation_fraction", patience=3)
        self.refused("layers are in place of hidden", layers="dense units=8", hidden=(8,))

    def test_one_hidden_layer_needs_no_list(self):
        rows, classes = digits()
        bits = {TroupeClassifier(hidden=hidden, epochs=2).fit(rows, classes).parameters_sha256_
                for hidden in (16, (16,), np.int64(16), np.array([16]))}
        self.assertEqual(len(bits), 1)

    def test_data(self):
        rows, classes = digits()
        self.refused("1 class", data=(rows, np.zeros(len(rows))))
        self.refused("NaN", data=(np.where(rows == rows[0, 5], np.nan, rows), classes))
        self.refused("continuous", data=(rows, rows[:, 2] + 0.5))
        self.refused("inconsistent", data=(rows, classes[1:]))
        with np.errstate(over="ignore"):
            self.refused("too large", data=(rows.astype(np.float64) * 1e300, classes))
        model = TroupeClassifier(**QUICK).fit(rows, classes)
        with self.assertRaisesRegex(ValueError, "3 features"):
            model.predict(rows[:, :3])

    def test_divergence_and_files(self):
        rows, targets = plane()
        self.refused("lower the learning rate", kind=RuntimeError, model=TroupeRegressor,
                     data=(rows, targets), optimizer="sgd", learning_rate=1e9)
        with self.assertRaisesRegex(OSError, "nowhere"):
            TroupeRegressor.load("/nowhere/model.safetensors")
        with self.assertRaisesRegex(OSError, "nowhere"):
            TroupeRegressor(**QUICK).fit(rows, targets).save("/nowhere/model.safetensors")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], warnings="ignore")  # short runs do not converge
