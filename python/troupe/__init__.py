"""Troupe for Python: estimators in scikit-learn's manner, trained by a company of actors.

    from troupe import TroupeClassifier
    model = TroupeClassifier(hidden=(64,), epochs=20).fit(images, digits)
    model.score(more_images, more_digits)
    model.save("digits.safetensors")           # `troupe predict` reads it too

docs/python.md says what is copied, what Ctrl-C does and which of scikit-learn's checks do not apply.
"""

import os
import tempfile
import warnings
from collections.abc import Mapping

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import _check_partial_fit_first_call, check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _troupe, named_rows
from .onnx_export import export_onnx

HIDDEN, LEARNING_RATE = (100,), 0.01  # by default
SOLVERS = ("closed-form", "gauss-newton")  # which take no learning rate
# Of scikit-learn's checks, as its own SGDClassifier has it.
NOT_REMOVED = {"check_sample_weights_invariance": "a row of weight 0 is still one of its batch"}

__all__ = ["TroupeClassifier", "TroupeRegressor", "export_onnx", "load_model", "save_tensors"]
__version__ = _troupe.version


class _TroupeEstimator(BaseEstimator):
    """What both have in common. None is the library's own default (docs/jobs.md).

    hidden: units of each hidden layer, or of the one there is. layers: a text of layers, such as "convolution
    channels=8; pool size=2", in place of hidden (docs/layers.md), for rows of `shape`. activation, optimizer: names as
    in job files. learning_rate: None is the optimizer's own. batch_size: 0 is all rows. slices: pieces of a step, part
    of the result. replicas: who compute them, no part of the result. standardize: features to mean 0 and
    deviation 1, by a map that the model file has. validation_fraction: rows that are not trained on; the model is that of the epoch with their least loss, and
    training ends after `patience` epochs without a lesser one. plateau: epochs without a lesser loss, of these rows or
    else of those trained on, after which the rate is multiplied by `plateau_factor` (None is 0.1). random_state: None
    is 0, as results never change by themselves; of a RandomState a number is drawn at each fit. warm_start: `fit`
    begins from the parameters there are. verbose: a line for each epoch. start_from: the path of a safetensors file
    that the first fit begins from, Troupe's or PyTorch's (`save_tensors`), or a dict with "path" and "names", "fresh",
    "ignore" (docs/jobs.md). freeze: patterns of names of tensors that stay as they begin.
    """

    def _keep(self, options):
        for name, value in options.items():
            if name not in ("self", "renamed"):
                setattr(self, name, value)
        for name in options["renamed"]:
            hint = ": it is called random_state" if name == "seed" else ""
            raise TypeError(f"{type(self).__name__} has no option '{name}'{hint}")

    def _learn(self, X, targets, classes, weights, callbacks, start=None, ended=0, **changes):
        """Sets what was learned also when Ctrl-C or a callback's error ended training."""
        options = {**self.get_params(deep=False), **self._options_by_classes(), **changes}
        if self.patience is not None and not self.validation_fraction:
            raise ValueError("patience watches rows that are not trained on, and there are none: set "
                             "validation_fraction, to 0.1 say")
        if self.layers is not None:
            if self.hidden is not None and np.ravel(self.hidden).tolist() not in ([], list(HIDDEN)):
                raise ValueError("layers are in place of hidden: give one of them")
            options["hidden"] = ()
        if self.optimizer in SOLVERS and self.learning_rate == LEARNING_RATE:
            options["learning_rate"] = None
        if options.pop("verbose"):
            callbacks = [*callbacks, self._print_epoch]
        options["random_state"] = _seed_of(self.random_state) + ended
        del options["warm_start"]
        core = _troupe.Estimator(**options)
        if start is not None:
            core.start_from(start)
        rows = _rows_of(X, is_dense=self.layers is not None or self.optimizer in SOLVERS)
        names = [] if isinstance(rows, tuple) else getattr(self, "feature_names_in_", range(X.shape[1]))
        try:
            core.fit(rows, targets, [str(name) for name in classes], weights, [str(name) for name in names], list(callbacks))
        finally:
            if core.has_model:
                self._core = core
                self._reads_names = False
                self.history_ = _columns(core.history())
                self.n_iter_ = int(max(self.history_["epoch"], default=0))
        self._warn_if_unfinished()
        return self

    def _check_rows(self, X, y, sample_weight, reset=True, **how):
        X, y = self._validate_data(X, y, accept_sparse="csr", dtype=np.float32, order="C", reset=reset, **how)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float32, only_non_negative=True)
        return X, y, sample_weight

    _reads_names = False  # columns by the names that a file's model has
    _options_by_classes = dict

    def _start(self):
        return self._core if self.warm_start and hasattr(self, "_core") else None

    def _learn_part(self, X, targets, classes, weights):
        """One epoch from the parameters there are, in another order each time."""
        if self.optimizer in SOLVERS or self.validation_fraction:
            raise ValueError("partial_fit takes steps from one part of the rows to the next: no optimizer that solves "
                             "for all rows, and no validation_fraction")
        ended = getattr(self, "n_iter_", 0)
        self._learn(X, targets, classes, weights, (), getattr(self, "_core", None), ended, epochs=1)
        self.n_iter_ = ended + 1
        return self

    def _print_epoch(self, row):
        figures = ", ".join(f"{name} {row[name]:.6g}" for name in ("train_loss", "validation_loss")
                            if row.get(name) is not None)
        print(f"epoch {row['epoch']}: {figures}", flush=True)

    def _warn_if_unfinished(self):
        """When the last tenth of all epochs lowered the loss by more than 2 % of what all of them did."""
        losses = self.history_.get("validation_loss", self.history_.get("train_loss", []))
        part = max(1, len(losses) // 10)
        if self.n_iter_ != self.epochs or len(losses) < 2 * part + 1:
            return
        fell = np.mean(losses[-2 * part:-part]) - np.mean(losses[-part:])
        if fell > max(0.02 * (losses[0] - losses[-1]), 1e-4 * losses[0]):
            warnings.warn(f"the loss was still falling when training ended after {self.epochs} epochs: give it more "
                          "epochs or a higher learning_rate, or let validation_fraction and patience end it",
                          ConvergenceWarning, stacklevel=4)

    def _raw_predictions(self, X):
        """In the precision of X, though all is computed in float32."""
        check_is_fitted(self)
        if named_rows.are_named(X) or self._core.has_coded_cells or (self._reads_names and named_rows.is_frame(X)):
            return named_rows.predict(self._core, X).astype(np.float64)
        wide = getattr(X, "dtype", None) != np.float32
        rows = self._validate_data(X, reset=False, accept_sparse="csr", dtype=np.float32, order="C")
        result = self._core.predict(_rows_of(rows, not self._core.is_sparse))
        return result.astype(np.float64) if wide else result

    @classmethod
    def load(cls, path):
        """A model file, whoever trained it; classes are integers if all are."""
        core = _troupe.Estimator.load(os.fspath(path))
        if not issubclass(cls, _kind_of(core)):
            raise ValueError(f"{path}: the model predicts {'classes' if core.classes else 'numbers'}: "
                             f"use {_kind_of(core).__name__}")
        return cls._of(core)

    @classmethod
    def _of(cls, core):
        """An estimator that has a file's model."""
        result = cls()
        result._core = core
        result._reads_names = True
        result.n_features_in_ = len(core.columns) or core.feature_count
        if not all(name.isdigit() for name in core.columns):
            result.feature_names_in_ = np.array(core.columns, dtype=object)
        result.n_iter_ = 0
        result.history_ = _columns([])
        result._set_targets(core)
        return result

    def save(self, path):
        """Writes the model file, which `troupe predict` and `load` read."""
        check_is_fitted(self)
        self._core.save(os.fspath(path))

    def state_dict(self, like=None, names=None):
        """The parameters by name, as PyTorch orders their values: `net.load_state_dict(model.state_dict(net.state_dict()))`.

        `like`: another state_dict, whose names and kinds of tensors they get; None gives arrays with Troupe's names.
        `names`: a dict from Troupe's names to others, where equal names or shapes do not say which is which.
        """
        check_is_fitted(self)
        shapes = [(name, tuple(value.shape)) for name, value in (like or {}).items()]
        found = dict(self._core.tensors(dict(names or {}), shapes))
        if like is None:
            return found
        return {name: value.new_tensor(found[name]).reshape(value.shape) if hasattr(value, "new_tensor")
                else found[name].reshape(value.shape) for name, value in like.items()}

    @property
    def parameters_sha256_(self):
        """Of the model file's data section: two models with the same have the same bits."""
        check_is_fitted(self)
        return self._core.parameters_sha256

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_core")

    def __getstate__(self):
        state = self.__dict__.copy()
        if "_core" in state:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.safetensors")
                state["_core"].save(path)
                with open(path, "rb") as file:
                    state["_core"] = file.read()
        return state

    def __setstate__(self, state):
        state = dict(state)
        if "_core" in state:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.safetensors")
                with open(path, "wb") as file:
                    file.write(state["_core"])
                state["_core"] = _troupe.Estimator.load(path)
        self.__dict__.update(state)


class TroupeClassifier(ClassifierMixin, _TroupeEstimator):
    """A network (without hidden layers: softmax regression) that tells classes, of any type.

    class_weight: what a row of each class counts in the loss: None (1), "balanced" (N / (K n) for a class of n of the N
    rows trained on) or a dict of weights by class, in which a class that is left out counts 1. threshold: from which
    probability on `predict` decides for the rarer of two classes, chosen on the validation rows: "f1",
    {"precision": p} or {"cost": c} (docs/jobs.md); None decides for the likeliest.
    """

    def __init__(self, hidden=HIDDEN, activation="relu", dropout=0.0, optimizer="adam", learning_rate=LEARNING_RATE,
                 l2=0.0, epochs=100, batch_size=32, slices=None, replicas=None, validation_fraction=0.0, patience=None,
                 standardize=True, random_state=None, layers=None, shape=None, plateau=None, plateau_factor=None,
                 warm_start=False, verbose=False, start_from=None, freeze=None, class_weight=None, threshold=None, **renamed):
        self._keep(locals())

    def fit(self, X, y, sample_weight=None, callbacks=()):
        """Each of `callbacks` is called with a dict after each epoch; False stops training soon."""
        start = self._start()
        X, y, weights = self._check_rows(X, y, sample_weight, reset=start is None)
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError("a classifier needs two classes; all rows are of 1 class")
        if start and not np.array_equal(classes, self.classes_):
            raise ValueError(f"warm_start goes on with the classes {self.classes_}, these rows are of {classes}")
        self.classes_ = classes
        return self._learn(X, labels, classes.tolist(), weights, callbacks, start)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """One epoch over these rows. The first call tells all `classes`; the optimizer begins anew with each."""
        is_first = _check_partial_fit_first_call(self, classes) and not hasattr(self, "_core")
        X, y, weights = self._check_rows(X, y, sample_weight, reset=is_first)
        check_classification_targets(y)
        number_of = {name: number for number, name in enumerate(self.classes_.tolist())}
        unknown = set(y.tolist()) - set(number_of)
        if unknown:
            raise ValueError(f"partial_fit was not told of the classes {sorted(unknown)} in its first call")
        return self._learn_part(X, [number_of[name] for name in y.tolist()], self.classes_.tolist(), weights)

    def predict_proba(self, X):
        return self._raw_predictions(X)

    def predict_log_proba(self, X):
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X):
        probabilities = self._raw_predictions(X)
        if self._core.threshold is None:
            return self.classes_[np.argmax(probabilities, axis=1)]
        label, least = self._core.threshold
        return self.classes_[np.where(probabilities[:, label] >= least, label, 1 - label)]

    def _options_by_classes(self):
        given = self.class_weight
        if given is None or (isinstance(given, str) and given == "balanced"):
            return {}
        if not isinstance(given, Mapping):
            raise ValueError(f"class_weight: cannot be {given!r}: None, 'balanced' or a dict of weights by class")
        classes = self.classes_.tolist()
        unknown = [name for name in given if name not in classes]
        if unknown:
            raise ValueError(f"class_weight: {unknown} are none of the classes {classes}")
        return {"class_weight": [float(given.get(name, 1)) for name in classes]}

    def _set_targets(self, core):
        try:
            self.classes_ = np.array([int(name) for name in core.classes])
        except ValueError:
            self.classes_ = np.array(core.classes)

    def _more_tags(self):
        return {"_xfail_checks": NOT_REMOVED}


class TroupeRegressor(RegressorMixin, _TroupeEstimator):
    """A network (without hidden layers: linear regression) that tells one number or several.

    target_scale: what is learned in place of targets, scaled to mean 0 and deviation 1: "standardize", "log", "log1p",
    "asinh" or "none" (docs/jobs.md); None is "standardize" for networks. Predictions are in the targets' own unit.
    """

    def __init__(self, hidden=HIDDEN, activation="relu", dropout=0.0, optimizer="adam", learning_rate=LEARNING_RATE,
                 l2=0.0, epochs=100, batch_size=32, slices=None, replicas=None, validation_fraction=0.0, patience=None,
                 standardize=True, random_state=None, layers=None, shape=None, plateau=None, plateau_factor=None,
                 warm_start=False, verbose=False, start_from=None, freeze=None, target_scale=None, **renamed):
        self._keep(locals())

    def fit(self, X, y, sample_weight=None, callbacks=()):
        """Each of `callbacks` is called with a dict after each epoch; False stops training soon."""
        start = self._start()
        X, targets, weights = self._check_numbers(X, y, sample_weight, start is None)
        return self._learn(X, targets, (), weights, callbacks, start)

    def partial_fit(self, X, y, sample_weight=None):
        """One epoch over these rows; the optimizer begins anew with each call."""
        X, targets, weights = self._check_numbers(X, y, sample_weight, not hasattr(self, "_core"))
        return self._learn_part(X, targets, (), weights)

    def _check_numbers(self, X, y, sample_weight, reset):
        X, y, weights = self._check_rows(X, y, sample_weight, reset, multi_output=True, y_numeric=True)
        self._is_flat = y.ndim == 1
        return X, np.asarray(y, dtype=np.float32).reshape(len(y), -1), weights

    def predict(self, X):
        result = self._raw_predictions(X)
        return result.ravel() if self._is_flat else result

    def _set_targets(self, core):
        self._is_flat = core.target_count == 1

    def _more_tags(self):
        return {"multioutput": True, "_xfail_checks": NOT_REMOVED}


def load_model(path):
    """A TroupeClassifier or TroupeRegressor with the model of a file, whoever trained it.

    Its predictions are for rows as `troupe predict` reads them too: a list of dicts, an array with names, a data frame
    (columns by name, others are ignored) or the path of a file. None and NaN are cells without a value.
    """
    core = _troupe.Estimator.load(os.fspath(path))
    return _kind_of(core)._of(core)


def save_tensors(path, tensors):
    """Writes a safetensors file of float32 values: `save_tensors("start.safetensors", net.state_dict())` for
    `start_from`. `tensors`: arrays, or whatever NumPy takes for one, by name."""
    _troupe.save_tensors(os.fspath(path), [(name, _array_of(value)) for name, value in tensors.items()])


def _array_of(value):
    if hasattr(value, "detach"):  # PyTorch's
        value = value.detach().cpu().float()
    return np.ascontiguousarray(value, dtype=np.float32)


def _kind_of(core):
    return TroupeClassifier if core.classes else TroupeRegressor


def _seed_of(random_state):
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _rows_of(X, is_dense):
    """As the module takes them: an array, or the parts of sparse rows."""
    if not issparse(X):
        return X
    if is_dense:
        return np.ascontiguousarray(X.toarray())
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X.indptr, X.indices, X.data, X.shape[1]


def _columns(rows):
    """Arrays by name, without what was never measured; NaN where it was not."""
    names = rows[0] if rows else ["epoch"]
    result = {name: np.array([np.nan if row[name] is None else row[name] for row in rows])
              for name in names}
    return {name: column for name, column in result.items()
            if name == "epoch" or not np.all(np.isnan(column))}
