"""Troupe for Python: estimators in scikit-learn's manner, trained by a company of actors.

    from troupe import TroupeClassifier
    model = TroupeClassifier(hidden=(64,), epochs=20).fit(images, digits)
    model.score(more_images, more_digits)
    model.save("digits.safetensors")           # `troupe predict` reads it too

docs/python.md says what is copied, what Ctrl-C does and which of scikit-learn's checks do not apply.
"""

import json
import os
import tempfile
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _troupe
from .onnx_export import export_onnx

HIDDEN, LEARNING_RATE = (100,), 0.01  # by default
SOLVERS = ("closed-form", "gauss-newton")  # which take no learning rate

__all__ = ["TroupeClassifier", "TroupeRegressor", "export_onnx"]


class _TroupeEstimator(BaseEstimator):
    """What both have in common. None is the library's own default (docs/jobs.md).

    hidden: units of each hidden layer, or of the one there is. layers: a text of layers, such as "convolution channels=8; pool size=2",
    in place of hidden (docs/layers.md), for rows of `shape`. activation, optimizer: names as in job files. learning_rate: None is
    the optimizer's own. batch_size: 0 is all rows. slices: pieces of a step, part of the result. replicas: who
    compute them, no part of the result. standardize: features, and a regressor's targets, to mean 0 and deviation 1;
    the model file has the map of the features, and predicts in the targets' own unit. validation_fraction: rows that are not trained on; the model is that of the epoch with their least loss,
    and training ends after `patience` epochs without a lesser one. plateau: epochs without a lesser loss, of these
    rows or else of those trained on, after which the rate is multiplied by `plateau_factor` (None is 0.1).
    """

    def __init__(self, hidden=HIDDEN, activation="relu", dropout=0.0, optimizer="adam",
                 learning_rate=LEARNING_RATE, l2=0.0, epochs=100, batch_size=32, slices=None, replicas=None,
                 validation_fraction=0.0, patience=None, standardize=True, seed=0, layers=None, shape=None,
                 plateau=None, plateau_factor=None):
        self.hidden = hidden
        self.activation = activation
        self.dropout = dropout
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.l2 = l2
        self.epochs = epochs
        self.batch_size = batch_size
        self.slices = slices
        self.replicas = replicas
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.standardize = standardize
        self.seed = seed
        self.layers = layers
        self.shape = shape
        self.plateau = plateau
        self.plateau_factor = plateau_factor

    def _train(self, method, features, targets, callbacks):
        """Sets what was learned also when Ctrl-C or a callback's error ended training."""
        options = self.get_params(deep=False)
        if self.patience is not None and not self.validation_fraction:
            raise ValueError("patience watches rows that are not trained on, and there are none: set "
                             "validation_fraction, to 0.1 say")
        if self.layers is not None:
            if self.hidden is not None and np.ravel(self.hidden).tolist() not in ([], list(HIDDEN)):
                raise ValueError("layers are in place of hidden: give one of them")
            options["hidden"] = ()
        if self.optimizer in SOLVERS and self.learning_rate == LEARNING_RATE:
            options["learning_rate"] = None
        core = _troupe.Estimator(**options)
        try:
            getattr(core, method)(features, targets, list(callbacks))
        finally:
            if core.has_model:
                self._core = core
                self.history_ = _columns(core.history())
                self.n_iter_ = int(max(self.history_["epoch"], default=0))
        self._warn_if_unfinished()
        return self

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
        wide = getattr(X, "dtype", None) != np.float32
        rows = self._validate_data(X, reset=False, dtype=np.float32, order="C")
        result = self._core.predict(rows)
        return result.astype(np.float64) if wide else result

    def _set_model(self, core):
        self._core = core
        self.n_features_in_ = core.feature_count
        self.n_iter_ = 0
        self.history_ = _columns([])
        return self

    def _class_names(self):
        return None

    def save(self, path):
        """Writes the model file, which `troupe predict` and `load` read."""
        check_is_fitted(self)
        self._core.save(os.fspath(path), self._class_names())

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
    """A network (without hidden layers: softmax regression) that tells classes, of any type."""

    def fit(self, X, y, callbacks=()):
        """Each of `callbacks` is called with a dict after each epoch; False stops training soon."""
        X, y = self._validate_data(X, y, dtype=np.float32, order="C")
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError("a classifier needs two classes; all rows are of 1 class")
        self.classes_ = classes
        return self._train("fit_labels", X, labels.astype(np.int32), callbacks)

    def predict_proba(self, X):
        return self._raw_predictions(X)

    def predict(self, X):
        likeliest = np.argmax(self._raw_predictions(X), axis=1)
        return self.classes_[likeliest]

    def _class_names(self):
        return json.dumps([str(name) for name in self.classes_], ensure_ascii=False)

    @classmethod
    def load(cls, path):
        """A model file of a classification, whoever trained it; classes are integers if all are."""
        core = _troupe.Estimator.load(os.fspath(path))
        if not core.classes:
            raise ValueError(f"{path}: the model predicts numbers: use TroupeRegressor")
        result = cls()._set_model(core)
        try:
            result.classes_ = np.array([int(name) for name in core.classes])
        except ValueError:
            result.classes_ = np.array(core.classes)
        return result


class TroupeRegressor(RegressorMixin, _TroupeEstimator):
    """A network (without hidden layers: linear regression) that tells one number or several."""

    def fit(self, X, y, callbacks=()):
        """Each of `callbacks` is called with a dict after each epoch; False stops training soon."""
        X, y = self._validate_data(X, y, dtype=np.float32, order="C", multi_output=True, y_numeric=True)
        self._is_flat = y.ndim == 1
        targets = np.asarray(y, dtype=np.float32).reshape(len(y), -1)
        return self._train("fit_targets", X, targets, callbacks)

    def predict(self, X):
        result = self._raw_predictions(X)
        return result.ravel() if self._is_flat else result

    @classmethod
    def load(cls, path):
        """A model file of a regression, whoever trained it."""
        core = _troupe.Estimator.load(os.fspath(path))
        if core.classes:
            raise ValueError(f"{path}: the model predicts classes: use TroupeClassifier")
        result = cls()._set_model(core)
        result._is_flat = core.target_count == 1
        return result

    def _more_tags(self):
        return {"multioutput": True}


def _columns(rows):
    """Arrays by name, without what was never measured; NaN where it was not."""
    names = rows[0] if rows else ["epoch"]
    result = {name: np.array([np.nan if row[name] is None else row[name] for row in rows])
              for name in names}
    return {name: column for name, column in result.items()
            if name == "epoch" or not np.all(np.isnan(column))}
