"""Naive Bayes from privately released counts (Ponnoprat 2022, section 5.1).

K features and the class are K + 1 releases, each with an equal part of the budget: one record is in one class and in
one category of each feature, so each release costs what a single histogram costs (docs/methods.md).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _checks
from ..kernels import joint_counts, naive_bayes_scores, private_blocks
from . import calibrated_noise
from .calibrated_noise import Noise

DIRECTIONS = ("categories", "classes")


class Counts:
    """Training counts of every (class, category) pair, and the layout of the releases made from them.

    Parameters
    ----------
    categories : int32 (n, features); -1 is unseen. labels : int32 (n,). sizes : categories of each feature.
    classes : number of classes. Features with one category are left out: they say nothing and cost nothing.
    """

    def __init__(
        self, categories: NDArray[np.int32], labels: NDArray[np.int32], *, sizes: Sequence[int], classes: int
    ) -> None:
        self.kept = np.flatnonzero(np.asarray(sizes) > 1)
        self.sizes = np.asarray(sizes)[self.kept]
        self.starts = np.append(0, np.cumsum(self.sizes)).astype(np.int64)
        self.classes = classes
        kept = np.ascontiguousarray(categories[:, self.kept])
        self.table = joint_counts.count(kept, np.ascontiguousarray(labels), self.starts, classes)
        self.labels = np.bincount(labels, minlength=classes)

    @property
    def features(self) -> int:
        """K, the number of features that vary."""
        return len(self.kept)

    def cells(self, categories: NDArray[np.int32]) -> NDArray[np.int32]:
        """Row numbers in a released table, -1 for unseen categories."""
        kept = categories[:, self.kept]
        return np.ascontiguousarray(np.where(kept >= 0, kept + self.starts[:-1], -1), dtype=np.int32)

    def release(
        self,
        noise: Noise,
        *,
        floor: float | str,
        rng: np.random.Generator,
        direction: str = "categories",
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Log priors (releases, classes) and log tables (releases, cells, classes).

        Parameters
        ----------
        noise : one entry a release, already split over the K + 1 histograms.
        floor : lifts noisy counts before the logarithm; see `noise.floors`. The Dirichlet needs none.
        direction : ``"categories"``: Pr[category | class], each class sums to 1. ``"classes"`` takes the paper's text
            at its word: the Dirichlet is drawn over the classes of each category, and additive noise is divided by the
            noisy class counts.
        """
        _checks.one_of("direction", direction, DIRECTIONS)
        additive = noise.law != "dirichlet"
        low = calibrated_noise.floors(floor, noise) if additive else None
        common = {"law": noise.law, "scale": noise.scale, "alpha": noise.alpha, "floors": low, "rng": rng}
        priors = np.array([0, self.classes], dtype=np.int64)
        log_priors = private_blocks.release(self.labels.astype(float), priors, normalise=not additive, **common)
        by_class = direction == "categories"
        flat, starts = (self.table, self._by_class()) if by_class else (self.table.T, self._by_category())
        values = np.ascontiguousarray(flat, dtype=float).ravel()
        log_table = private_blocks.release(values, starts, normalise=by_class or not additive, **common)
        log_table = log_table.reshape(len(noise.scale), *flat.shape)
        if by_class:
            log_table = np.ascontiguousarray(log_table.transpose(0, 2, 1))
        elif additive:
            log_table = log_table - log_priors[:, None, :]
        if additive:
            log_priors = log_priors - np.logaddexp.reduce(log_priors, axis=1, keepdims=True)
        return log_priors, log_table

    def smoothed(self, smoothing: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The non-private model: counts plus `smoothing`, in the shape of one release."""
        with np.errstate(divide="ignore"):
            priors = np.log(self.labels + smoothing) - np.log(np.sum(self.labels + smoothing))
            table = self.table + smoothing
            totals = np.add.reduceat(table, self.starts[:-1], axis=1)
            table = np.log(table) - np.log(np.repeat(totals, self.sizes, axis=1))
        return priors[None], np.ascontiguousarray(table.T)[None]

    def _by_class(self) -> NDArray[np.int64]:
        starts = self.starts[:-1] + self.starts[-1] * np.arange(self.classes)[:, None]
        return np.append(starts.ravel(), self.table.size)

    def _by_category(self) -> NDArray[np.int64]:
        return np.arange(0, self.table.size + 1, self.classes, dtype=np.int64)


def score(
    model: tuple[NDArray[np.float64], NDArray[np.float64]],
    cells: NDArray[np.int32],
    labels: NDArray[np.int32],
    *,
    cap: float = 0.0,
) -> NDArray[np.float64]:
    """Cross-entropy and accuracy (releases, 2) of released models on test records; `cap` as in the kernel."""
    return naive_bayes_scores.scores(*model, cells, np.ascontiguousarray(labels), cap=cap)


class PrivateNaiveBayes(ClassifierMixin, BaseEstimator):
    """Naive Bayes on categories whose counts are released by a private mechanism.

    Parameters
    ----------
    mechanism : ``"dirichlet"``, ``"gaussian"``, ``"laplace"``, or ``"none"`` for the non-private model.
    epsilon : Rényi budget of the whole model, shared equally by its K + 1 histograms; unused without privacy.
    order : Rényi order lambda >= 1.
    floor : for additive noise, the least noisy count: a number > 0 or ``"sigma"``, the noise's public standard
        deviation. Without privacy: the smoothing added to every count.
    exact : calibrate the Dirichlet to its exact worst case.

    Attributes
    ----------
    classes_, categories_ : the values of y and of every column of X in training. They are published as they are:
        budget covers the counts, not the set of values.
    """

    def __init__(
        self,
        mechanism: str = "dirichlet",
        *,
        epsilon: float = 1.0,
        order: float = 5.0,
        floor: float | str = "sigma",
        exact: bool = False,
    ) -> None:
        self.mechanism = mechanism
        self.epsilon = epsilon
        self.order = order
        self.floor = floor
        self.exact = exact

    def fit(self, X: ArrayLike, y: ArrayLike, rng: np.random.Generator | None = None) -> "PrivateNaiveBayes":
        """Release one model. `X` holds categories (any finite numbers), `rng` draws the noise."""
        _checks.one_of("mechanism", self.mechanism, (*calibrated_noise.MECHANISMS, "none"))
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes, got one class: {self.classes_[0]!r}")
        self.categories_ = [np.unique(column) for column in X.T]
        sizes = [len(c) for c in self.categories_]
        self._counts = Counts(self._codes(X), labels.astype(np.int32), sizes=sizes, classes=len(self.classes_))
        if not self._counts.features:
            raise ValueError("X must hold at least one column that varies")
        if self.mechanism == "none":
            smoothing = 1.0 if self.floor == "sigma" else _checks.positive("floor", self.floor)
            self._model = self._counts.smoothed(smoothing)
            return self
        budget = _checks.positive("epsilon", self.epsilon) / (self._counts.features + 1)
        law = calibrated_noise.calibrated(self.mechanism, [budget], order=self.order, exact=self.exact)
        self._model = self._counts.release(law, floor=self.floor, rng=_checks.generator(rng))
        return self

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Log probabilities (n, classes); values that training did not hold say nothing."""
        check_is_fitted(self, "_model")
        cells = self._counts.cells(self._codes(validate_data(self, X, reset=False)))
        priors, table = self._model
        padded = np.vstack([table[0], np.zeros(len(self.classes_))])
        logits = priors[0] + padded[cells].sum(axis=1)
        return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities (n, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: ArrayLike) -> NDArray:
        """The most probable class of every row."""
        log_shares = self.predict_log_proba(X)
        return self.classes_[np.argmax(log_shares, axis=1)]

    def _codes(self, X: NDArray) -> NDArray[np.int32]:
        codes = np.empty(X.shape, dtype=np.int32)
        for k, known in enumerate(self.categories_):
            place = np.clip(np.searchsorted(known, X[:, k]), 0, len(known) - 1)
            codes[:, k] = np.where(known[place] == X[:, k], place, -1)
        return codes
