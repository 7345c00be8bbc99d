"""Class and category counts of naive Bayes and their private releases (Ponnoprat 2022, section 5.1).

K features and the class are K + 1 releases, each with an equal part of the budget: one record is in one class and in
one category of each feature, so each release costs what a single histogram costs (methods of Ponnoprat, 2022, in the
documentation).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from . import _naive_bayes_scores, calibrated_noise, private_blocks
from .calibrated_noise import Noise

Array = NDArray[np.float64]

DIRECTIONS = ("categories", "classes")


class Counts:
    """Training counts of every (class, category) pair, and the layout of the releases made from them.

    Parameters
    ----------
    categories : int32 (n, features); -1 is unseen.
    labels : int32 (n,).
    sizes : categories of each feature.
    classes : number of classes. Features with one category are dropped: they say nothing and cost nothing.
    """

    def __init__(
        self, categories: NDArray[np.int32], labels: NDArray[np.int32], *, sizes: Sequence[int], classes: int
    ) -> None:
        self.kept = np.flatnonzero(np.asarray(sizes) > 1)
        if not len(self.kept):
            raise ValueError("no feature has two categories: there is nothing to learn from")
        self.sizes = np.asarray(sizes)[self.kept]
        self.starts = np.append(0, np.cumsum(self.sizes)).astype(np.int64)
        self.classes = classes
        if (categories >= np.asarray(sizes)).any() or (labels < 0).any() or (labels >= classes).any():
            raise ValueError("categories and labels must lie below the sizes that are stated for them")
        cells, width = self.cells(categories), int(self.starts[-1])
        seen = cells >= 0
        places = cells + width * labels[:, None].astype(np.int64)
        self.table = np.bincount(places[seen], minlength=classes * width).reshape(classes, width)
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
        smoothing: float = 0.0,
    ) -> tuple[Array, Array]:
        """Log priors (releases, classes) and log tables (releases, cells, classes).

        Parameters
        ----------
        noise : one entry a release, already split over the K + 1 histograms.
        floor : lifts noisy counts before the logarithm; see `noise.floors`. The Dirichlet needs none.
        direction : ``"categories"``: Pr[category | class], each class sums to 1. ``"classes"`` takes the paper's text
            at its word: the Dirichlet is drawn over the classes of each category, and additive noise is divided by the
            noisy class counts.
        rng : numpy Generator.
        smoothing : least floor of additive noise.

        Raises
        ------
        ValueError, TypeError
            For an unknown direction, a floor that is none, or no Generator.
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

        whole = np.array([0, self.classes], dtype=np.int64)
        log_priors = blocks(self.labels.astype(float), whole, not additive)
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
    model: tuple[Array, Array],
    cells: NDArray[np.int32],
    labels: NDArray[np.int32],
    *,
    cap: float = 0.0,
) -> Array:
    """Cross-entropy and accuracy (releases, 2) of released models on test records; `cap` as in the kernel.

    Parameters
    ----------
    model : log probabilities as released.
    cells, labels : int32, test records.
    cap : as in the kernel, >= 0.

    Returns
    -------
    float64 (releases, 2)
    """
    return _naive_bayes_scores.scores(*model, cells, np.ascontiguousarray(labels), cap=cap)
