"""`PrivateNaiveBayes`, a scikit-learn classifier that stores released probabilities and never stores counts.

The K features and the class give K + 1 releases, each with an equal part of the budget. A record is in one class and in
one category of each feature, so each release has the cost of a single histogram (methods of Ponnoprat, 2022, in the
documentation).

The class `Counts` contains the class counts and category counts of naive Bayes and draws the private releases of these
counts (Ponnoprat 2022, section 5.1).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .. import _checks
from . import _model_card, _support, calibrated_noise, private_blocks
from ._model_card import Card
from ._support import Bounds, Key, Levels, Scalar, learn, plain, warn_of_data
from .calibrated_noise import Array, Noise

DIRECTIONS = ("categories", "classes")


class Counts:
    """Training counts of every (class, category) pair of a naive Bayes model, in the layout of the releases.

    Parameters
    ----------
    categories : int32 (n, features); -1 if the value was not seen in training.
    labels : int32 (n,).
    sizes : number of categories of each feature.
    classes : number of classes. Features with one category are dropped, because they have no information and no cost.
    """

    def __init__(
        self, categories: NDArray[np.int32], labels: NDArray[np.int32], *, sizes: Sequence[int], classes: int
    ) -> None:
        self.kept = np.flatnonzero(np.asarray(sizes) > 1)
        if not len(self.kept):
            raise ValueError(
                "a naive Bayes model requires at least one feature with two or more categories, got the numbers of "
                f"categories {np.asarray(sizes).tolist()}"
            )
        self.sizes = np.asarray(sizes)[self.kept]
        self.starts = np.append(0, np.cumsum(self.sizes)).astype(np.int64)
        self.classes = classes
        if (categories >= np.asarray(sizes)).any():
            raise ValueError(
                "the category codes of each feature must be below the number of categories of the feature "
                f"({np.asarray(sizes).tolist()}), got the largest codes {categories.max(axis=0).tolist()}"
            )
        if (labels < 0).any() or (labels >= classes).any():
            raise ValueError(f"labels must lie in [0, {classes}), got values from {labels.min()} to {labels.max()}")
        cells, width = self.cells(categories), int(self.starts[-1])
        seen = cells >= 0
        places = cells + width * labels[:, None].astype(np.int64)
        self.table = np.bincount(places[seen], minlength=classes * width).reshape(classes, width)
        self.labels = np.bincount(labels, minlength=classes)

    @property
    def features(self) -> int:
        """Number K of features with more than one category."""
        return len(self.kept)

    def cells(self, categories: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the index of the row of a released table for each of the given categories, or -1 for an unseen
        category.
        """
        kept = categories[:, self.kept]
        return np.ascontiguousarray(np.where(kept >= 0, kept + self.starts[:-1], -1), dtype=np.int32)

    def release(
        self,
        noise: Noise,
        *,
        floor: float | str,
        rng: np.random.Generator,
        direction: str = "categories",
        smoothing: float = 0.0,
    ) -> tuple[Array, Array]:
        """Draw private releases of a naive Bayes model. Each release has log priors (releases, classes) and log
        probability tables (releases, cells, classes).

        Parameters
        ----------
        noise : noise with one entry per release, already divided over the K + 1 histograms.
        floor : lower bound on noisy counts before the logarithm, see `calibrated_noise.floors`; not used for the
            Dirichlet mechanism.
        direction : ``"categories"``: Pr[category | class], with sum 1 for each class. ``"classes"`` follows the paper's
            text literally: the Dirichlet variables are drawn over the classes of each category, and additive noise is
            divided by the noisy class counts.
        rng : numpy Generator.
        smoothing : lower limit of the floor of additive noise.

        Raises
        ------
        ValueError, TypeError
            For an unknown direction, an invalid floor, or a missing Generator.
        """
        _checks.one_of("direction", direction, DIRECTIONS)
        additive = noise.law != "dirichlet"
        low = calibrated_noise.floors(floor, noise, smoothing=smoothing) if additive else None

        def blocks(counts: Array, starts: NDArray[np.int64], normalise: bool) -> Array:
            return private_blocks.release(
                counts,
                starts,
                law=noise.law,
                scale=noise.scale,
                alpha=noise.alpha,
                floors=low,
                normalise=normalise,
                rng=rng,
            )

        prior_starts = np.array([0, self.classes], dtype=np.int64)
        log_priors = blocks(self.labels.astype(float), prior_starts, not additive)
        by_class = direction == "categories"
        flat, starts = (self.table, self._by_class()) if by_class else (self.table.T, self._by_category())
        values = np.ascontiguousarray(flat, dtype=float).ravel()
        log_table = blocks(values, starts, by_class or not additive)
        log_table = log_table.reshape(len(noise.scale), *flat.shape)
        if by_class:
            log_table = np.ascontiguousarray(log_table.transpose(0, 2, 1))
        elif additive:
            log_table = log_table - log_priors[:, None, :]
        if additive:
            log_priors = log_priors - np.logaddexp.reduce(log_priors, axis=1, keepdims=True)
        return log_priors, log_table

    def smoothed(self, smoothing: float) -> tuple[Array, Array]:
        """Return the non-private naive Bayes model, computed from the counts plus `smoothing`, as arrays with the
        shapes of a single release.
        """
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
    model: tuple[Array, Array],
    cells: NDArray[np.int32],
    labels: NDArray[np.int32],
    *,
    cap: float = 0.0,
) -> Array:
    """Return the cross-entropy and the accuracy of released naive Bayes models on test records, as a float64 array of
    shape (releases, 2).

    Parameters
    ----------
    model : released log probabilities.
    cells, labels : int32, test records.
    cap : number >= 0 that is added to the probability, see `private_blocks.scores`.

    Returns
    -------
    float64 (releases, 2)
    """
    return private_blocks.scores(*model, cells, np.ascontiguousarray(labels), cap=cap)


__all__ = ["Counts", "PrivateNaiveBayes", "score"]

FORMAT = "dpmultinomial naive Bayes 1"


class PrivateNaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Naive Bayes classifier for categorical or binned features, fitted to counts that are released by a differentially
    private mechanism.

    Parameters
    ----------
    mechanism : ``"dirichlet"``, ``"gaussian"``, ``"laplace"``, or ``"none"`` for the non-private model.
    epsilon : Rényi budget of the whole model, divided equally among its K + 1 histograms; not used without privacy.
    order : Rényi order lambda >= 1. Neighbouring data sets differ by replacing one record.
    floor : lower bound on noisy counts, for additive noise: a number > 0 or ``"sigma"``, the public standard deviation
        of the noise. The bound is never below `smoothing`.
    smoothing : lower limit of noisy counts, > 0; the non-private model adds it to every count.
    exact : whether to calibrate the Dirichlet mechanism to its exact worst case.
    levels : mapping from a column name or index to all values that the column can have.
    bounds : (lower, upper) of all numeric columns without levels, or mapping from a column name or index to
        (lower, upper).
    bins : number of intervals of equal width of a bounded column, 2 or more.
    classes : all values that y can have.
    random_state : None (fresh randomness from the operating system), a seed, a RandomState or a Generator. A seed that
        is known to others removes the privacy protection.

    Attributes
    ----------
    classes_ : the distinct values of y.
    class_log_prior_ : float64 (classes,).
    feature_log_prob_ : a float64 (categories, classes) array for each column; zeros if a column has only one category
        and is dropped.
    supports_ : `Levels` or `Bins` of every column.
    card_ : description of the release and its cost, as values for JSON.
    n_features_in_, feature_names_in_ : attributes as in scikit-learn.

    Notes
    -----
    Fitted models and their pickles do not contain counts. If `levels`, `bounds` or `classes` are missing, they are
    derived from the records with a `SupportFromData` warning, and the budget does not cover them. Source: Ponnoprat
    (2022), section 5.1. Cost: O(n K) for fitting and for prediction.
    """

    def __init__(
        self,
        mechanism: str = "dirichlet",
        *,
        epsilon: float = 1.0,
        order: float = 5.0,
        floor: float | str = "sigma",
        smoothing: float = 1.0,
        exact: bool = False,
        levels: Mapping[Key, Sequence[Scalar]] | None = None,
        bounds: Mapping[Key, Bounds] | Bounds | None = None,
        bins: int = 10,
        classes: Sequence[Scalar] | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.epsilon = epsilon
        self.order = order
        self.floor = floor
        self.smoothing = smoothing
        self.exact = exact
        self.levels = levels
        self.bounds = bounds
        self.bins = bins
        self.classes = classes
        self.random_state = random_state

    def fit(
        self, X: pd.DataFrame | ArrayLike, y: ArrayLike, rng: np.random.Generator | None = None
    ) -> "PrivateNaiveBayes":
        """Fit a differentially private naive Bayes model to the records. Each call is one release of a model.

        Parameters
        ----------
        X : (n, columns) numbers or text without missing cells, a data frame or an array.
        y : (n,) classes, at least two distinct values.
        rng : Generator that draws the noise, instead of `random_state`.

        Returns
        -------
        PrivateNaiveBayes
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            For missing or infinite cells, columns with numbers and text, values that are not among the levels, a single
            class, or parameters outside their range; the message states the column or parameter.
        """
        _checks.one_of("mechanism", self.mechanism, (*calibrated_noise.MECHANISMS, "none"))
        _checks.positive("smoothing", self.smoothing)
        columns, y = _support.read_records(self, X, y)
        check_classification_targets(y)
        self.classes_, labels, public = _labels(y, self.classes)
        self.supports_ = learn(columns, levels=self.levels, bounds=self.bounds, bins=self.bins)
        if self.mechanism != "none":
            warn_of_data(columns, self.supports_, classes=public)
        codes = np.column_stack([s.codes(c) for s, c in zip(self.supports_, columns, strict=True)])
        counts = Counts(codes, labels, sizes=[s.size for s in self.supports_], classes=len(self.classes_))
        (priors, table), self.card_ = self._release(counts, rng)
        self.card_["public_support"] = public and all(s.public for s in self.supports_)
        self.class_log_prior_ = priors
        self.feature_log_prob_ = self._tables(table, counts)
        return self

    def predict_log_proba(self, X: pd.DataFrame | ArrayLike) -> Array:
        """Return the log probability of every class for every record. Values that are not among the levels of their
        column are ignored.

        Parameters
        ----------
        X : (n, columns), as in `fit`.

        Returns
        -------
        float64 (n, classes)
        """
        check_is_fitted(self, "class_log_prior_")
        columns, _ = _support.read_records(self, X, reset=False)
        logits = np.tile(self.class_log_prior_, (len(columns[0].values), 1))
        for column, support, table in zip(columns, self.supports_, self.feature_log_prob_, strict=True):
            logits += np.vstack([table, np.zeros(len(self.classes_))])[support.codes(column)]
        return np.asarray(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))

    def predict_proba(self, X: pd.DataFrame | ArrayLike) -> Array:
        """Return the probabilities of the classes of every record, as a float64 array of shape (n, classes). The
        argument `X` is as in `predict_log_proba`.
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: pd.DataFrame | ArrayLike) -> NDArray[np.generic]:
        """Return the most probable class of every record, as an array of shape (n,). The argument `X` is as in
        `predict_log_proba`.
        """
        log_shares = self.predict_log_proba(X)
        return np.asarray(self.classes_[np.argmax(log_shares, axis=1)])

    def export(self) -> dict[str, object]:
        """Return the released model as a dict of JSON values, with the layout, the log probabilities and the model
        card. The dict does not contain counts.

        Returns
        -------
        dict
            Dict with keys format, columns, classes, class_log_prior, feature_log_prob and card.
        """
        check_is_fitted(self, "class_log_prior_")
        return {
            "format": FORMAT,
            "columns": _support.described(self, self.supports_),
            "classes": list(plain("classes", self.classes_)),
            "class_log_prior": self.class_log_prior_.tolist(),
            "feature_log_prob": [table.tolist() for table in self.feature_log_prob_],
            "card": self.card_,
        }

    @classmethod
    def from_export(cls, exported: Mapping[str, object]) -> "PrivateNaiveBayes":
        """Build a fitted classifier from a dict that `export` returned.

        Parameters
        ----------
        exported : result of `export`, e.g. read from JSON.

        Returns
        -------
        PrivateNaiveBayes

        Raises
        ------
        ValueError, TypeError
            If `exported` has another format, or its parts are inconsistent.
        """
        parts = _model_card.opened(exported, FORMAT, ("classes", "class_log_prior", "feature_log_prob"))
        classes = plain("classes", exported["classes"])  # type: ignore[arg-type]
        if len(classes) < 2:
            raise ValueError(f"classes must contain at least two classes, got {classes}")
        stated: list[object] = exported["feature_log_prob"]  # type: ignore[assignment]
        if len(stated) != len(parts.supports):
            raise ValueError(
                f"feature_log_prob must have one list per column ({len(parts.supports)} columns), got {len(stated)} "
                "lists"
            )
        shapes = [(s.size, len(classes)) for s in parts.supports]
        model = cls(mechanism=parts.mechanism)
        _support.name_columns(model, parts.names)
        model.supports_, model.card_, model.classes_ = parts.supports, parts.card, np.array(classes)
        model.class_log_prior_ = _model_card.logs("class_log_prior", exported["class_log_prior"], (len(classes),))
        tables = [_model_card.logs("feature_log_prob", t, s) for t, s in zip(stated, shapes, strict=True)]
        _model_card.add_up("class_log_prior", np.exp(model.class_log_prior_), axis=0)
        for table in tables:
            _model_card.add_up("feature_log_prob", np.exp(table), axis=0)
        model.feature_log_prob_ = tables
        return model

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _release(self, counts: Counts, rng: np.random.Generator | None) -> tuple[tuple[Array, Array], Card]:
        releases = counts.features + 1
        if self.mechanism == "none":
            priors, table = counts.smoothed(self.smoothing)
            return (priors[0], table[0]), _model_card.open_card("naive Bayes", releases, self.smoothing)
        budget = _checks.positive("epsilon", self.epsilon) / releases
        noise = calibrated_noise.calibrated(self.mechanism, [budget], order=self.order, exact=self.exact)
        source, stated = _model_card.randomness(self.random_state, rng)
        priors, table = counts.release(noise, floor=self.floor, smoothing=self.smoothing, rng=source)
        low = calibrated_noise.floors(self.floor, noise, smoothing=self.smoothing)
        card = _model_card.card(
            "naive Bayes", noise, epsilon=self.epsilon, order=self.order, releases=releases, floor=low[0], random=stated
        )
        return (priors[0], table[0]), card

    def _tables(self, table: Array, counts: Counts) -> list[Array]:
        tables = [np.zeros((s.size, len(self.classes_))) for s in self.supports_]
        for place, k in enumerate(counts.kept):
            tables[k] = table[counts.starts[place] : counts.starts[place + 1]].copy()
        return tables


def _labels(
    y: NDArray[np.generic], classes: Sequence[Scalar] | None
) -> tuple[NDArray[np.generic], NDArray[np.int32], bool]:
    """Return the classes, the index of the class of every record, and whether the caller provided the classes."""
    if classes is None:
        known, labels = np.unique(y, return_inverse=True)
        if len(known) < 2:
            raise ValueError(f"y must contain at least two classes, got one class: {known[0]!r}")
        return known, labels.astype(np.int32), False
    values = plain("classes", classes)
    labels = Levels(values, True).codes(_support.column("y", y))
    if len(values) < 2:
        raise ValueError(f"classes must contain at least two classes, got {list(values)}")
    if labels.min() < 0:
        raise ValueError(
            f"every value of y must be in classes, got the value {y[labels < 0][:1].tolist()[0]!r} and the classes "
            f"{list(values)}"
        )
    return np.array(values), labels, True
