"""Posterior distributions of the rates or shares of many areas, given protected counts and a regression on
covariates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks
from .._accuracy import Accuracy
from .._mechanisms.dirichlet import Dirichlet
from .._posteriors.published.cells import Cells, cells_of, refuse
from .._posteriors.rates.area_rates import AreaRates, Numbers, neglected
from .._posteriors.rates.integration import Hyperparameters, ShapeLaw, SlopeLaw
from .._posteriors.rates.likelihoods import Likelihoods, likelihoods_of, nodes_of
from .._posteriors.rates.model import Fit, Model, Prior
from .._results.distributions import Continuous, Discrete, Marginal
from .._results.posterior import Posterior
from .._results.quantities import Columns, Quantities
from .regression import INTERCEPT, Design, Regression, aligned, columns_of, covariates_of, design_of
from .release import Release

Array = NDArray[np.float64]
FEW_AREAS = 50  # with fewer areas, intervals of the rates are too short on average
COVERAGE = "measured coverage 0.93 of 95 % intervals"  # as in docs/methods/rates.tsv
FEWEST_AREAS = 12  # with fewer areas, the error of the integration is not known
NEGLECTED = 1e-12
_MOST_COUNTS = 5_000_000  # largest listed value of a count that was not measured
_LARGEST_MEAN = 1e18  # of a Poisson distribution whose draws are 64-bit integers
EVIDENCE = 10.0  # smallest Bayes factor at which a shape that depends on the exposure is reported
_ALL_ZERO = 1e-3  # largest likelihood of rates of 0, relative to the mode
_LOG_MASS = (40.0, 160.0, 640.0)
_SHAPE = {"rates": "log shape", "shares": "log concentration"}
_CHECKS = 500  # number of replicates of a check of the prior


@dataclass(frozen=True)
class Areas:
    """Areas of a regression, with their protected counts, exposures and covariates.

    Parameters
    ----------
    names : names of the areas.
    cells : noisy counts of the areas.
    exposure, log_node : float64 (n, nodes), exposures > 0 and the log weights of their quadrature nodes.
    design : covariates.
    dropped : names of areas without exposure.
    ignored : dependences between the counts that the model ignores, one sentence each.
    """

    names: tuple[str, ...]
    cells: Cells
    exposure: Array
    log_node: Array
    design: Design
    dropped: tuple[str, ...]
    ignored: tuple[str, ...]

    @property
    def mean_exposure(self) -> Array:
        """Expected exposures of all areas, as a float64 array of shape (n,)."""
        return np.asarray((np.exp(self.log_node) * self.exposure).sum(axis=1))


def posterior(release: Release, *, prior: Regression, method: str, rng: np.random.Generator | None) -> Posterior:
    """Compute the posterior distribution of the rates of all areas, given a `Release` of counts.

    Parameters
    ----------
    release : noisy counts of separate areas.
    prior : the regression.
    method : ``"auto"``.
    rng : not used.

    Returns
    -------
    RegressionPosterior
        Rates, true counts, and the parameters of the regression; all are approximate, with a stated error.

    Raises
    ------
    ValueError, TypeError
        If exposures or covariates do not match the areas, only the prior determines the rates, or a release is
        impossible.
    """
    _checks.one_of("method", method, ("auto",))
    areas = _areas(release, prior)
    crude = _crude(areas, prior)
    model, fit = _fitted(areas, prior, crude)
    _not_all_zero(model, fit)
    return RegressionPosterior(release, prior, areas, model, fit)


def refuse_areas(release: Release, prior: Regression) -> None:
    """Raise an error if `posterior` would reject a release, its exposures or its covariates. The posterior is not
    computed.

    Parameters
    ----------
    release, prior : arguments of `posterior`.

    Raises
    ------
    ValueError, TypeError
        As `posterior`.
    """
    _crude(_areas(release, prior), prior)


def _fitted(areas: Areas, regression: Regression, crude: float) -> tuple[Model, Fit]:
    """Compute the posterior mode of the hyperparameters of a regression. The window of a count is widened if its
    neglected mass exceeds `NEGLECTED`.
    """
    table = likelihoods_of(areas.cells, _LOG_MASS[0])
    exposure = np.where(table.measured[:, None], areas.exposure, 0.0)
    prior, shares = Prior(*regression.shape, regression.slopes), regression.family == "shares"
    start: Array | None = None
    for log_mass in (*_LOG_MASS[1:], None):
        model = Model(table, exposure, areas.log_node, areas.design.matrix, prior, shares=shares)
        fit = model.fit(model.start(crude) if start is None else start)
        rows = np.flatnonzero(neglected(model, fit.parameters) > NEGLECTED)
        if log_mass is None or not len(rows):
            break
        table, start = table.widened(areas.cells, rows, log_mass), fit.parameters
    return model, fit


def _not_all_zero(model: Model, fit: Fit) -> None:
    """Raise an error if the true counts of all areas can be 0. If all counts are 0, the mean rate has no positive lower
    limit except by its prior, and the approximation of its posterior by normal distributions around the mode is wrong.
    """
    table = model.table
    at_zero = np.where(table.low == 0, table.values[table.start[:-1]], 0.0)
    if not (at_zero > 0).all():
        return
    gain = float((np.log(at_zero) + table.log_top - model.terms(fit.parameters).log_evidence).sum())
    ratio = float(np.exp(min(gain, 0.0)))
    if ratio > _ALL_ZERO:
        raise ValueError(
            "the released values are compatible with counts of 0 in all areas: their likelihood is then "
            f"{ratio:.2g} of the likelihood at the mode, and must be at most {_ALL_ZERO:g}. Otherwise, the prior would "
            "determine the posterior of the rates"
        )


def _areas(release: Release, regression: Regression) -> Areas:
    kept, ignored = _separate(release, regression)
    names = tuple(release.names[i] for i in kept)
    if isinstance(release.mechanism, Dirichlet) or not (
        isinstance(release.mechanism, Sequence) or hasattr(release.mechanism, "log_likelihood")
    ):
        raise ValueError(
            f"a regression requires counts with independent noise, got the mechanism {release.mechanism!r}"
        )
    lower, upper = release.bounds or (0, np.inf)
    cells = cells_of(release.values.ravel(), release.mechanism, lower=lower, upper=upper).take(np.array(kept))
    refuse(cells, names)
    if isinstance(regression.exposure, Release):
        exposure, log_node = _noisy_exposure(regression.exposure, names)
        zero = np.zeros(len(names), dtype=bool)
    else:
        public = _public_exposure(regression, names)
        zero = public == 0
        exposure, log_node = public[:, None], np.zeros((len(names), 1))
    used = np.flatnonzero(~zero)
    _without_exposure(cells, names, np.flatnonzero(zero))
    if not len(used):
        raise ValueError(
            f"exposure must be > 0 for at least one area, but the exposures of all {len(names)} areas are 0"
        )
    dropped = tuple(names[i] for i in np.flatnonzero(zero))
    names, cells = tuple(names[i] for i in used), cells.take(used)
    if regression.family == "shares":
        cells = _at_most(cells, names, exposure[used, 0])
    design = design_of(_by_name(regression.covariates, release), names)
    return Areas(names, cells, exposure[used], log_node[used], design, dropped, ignored)


def _by_name(covariates: Any, release: Release) -> dict[str, dict[str, float]]:
    """Return the covariates of a regression as mappings from the names of areas to numbers. Covariates without names
    must be in the order of the release.
    """
    return {
        label: dict(zip(release.names, aligned(label, column, release.names).tolist(), strict=True))
        for label, column in columns_of(covariates).items()
    }


def _separate(release: Release, regression: Regression) -> tuple[list[int], tuple[str, ...]]:
    """Return the positions of the counts that the regression uses, and sentences that state which parts of the release
    the regression ignores.
    """
    every = list(range(len(release)))
    ignored = []
    if release.queries is not None:
        sums = set(release.queries)
        every = [i for i in every if release.names[i] not in sums]
        ignored.append("sums over several cells are not used: only the measurements of single cells are used")
    elif release.parents is not None:
        areas = regression.exposure.names if isinstance(regression.exposure, Release) else regression.exposure
        if not isinstance(areas, Mapping | pd.Series | tuple):
            raise ValueError(
                "exposure of a tree must be a mapping from names of areas to exposures, got "
                f"{type(regression.exposure).__name__}: pass a mapping whose keys are the areas of the regression"
            )
        chosen = {str(name) for name in (areas.index if isinstance(areas, pd.Series) else areas)}
        every = [i for i in every if release.names[i] in chosen]
        for i in every:
            above, node = set(), release.parents[release.names[i]]
            while node is not None:
                above.add(node)
                node = release.parents[node]
            if above & chosen:
                raise ValueError(
                    f"the area {release.names[i]} is part of the area {min(above & chosen)}, but areas "
                    "must not overlap: give the exposures of a single level"
                )
        areas_measured = [release.names[i] for i in every]
        if twice := [name for name in areas_measured if areas_measured.count(name) > 1]:
            raise ValueError(
                f"the area {twice[0]} of the tree was measured twice: combine the two measurements into one value"
            )
        ignored.append(
            "measurements of other nodes of the tree are not used: only the measurements of the areas are used"
        )
    if release.total is not None:
        ignored.append("the total is not used: counts are treated as independent given their rates")
    if not every:
        raise ValueError(
            f"exposure must contain at least one area of the release ({release.names[0]}, ..), got only other names: "
            "use the names of the release"
        )
    return every, tuple(ignored)


def _public_exposure(regression: Regression, names: tuple[str, ...]) -> Array:
    exposures = aligned("exposure", regression.exposure, names)
    bad = np.flatnonzero(~(np.isfinite(exposures) & (exposures >= 0)))
    if len(bad):
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        got = "none" if np.isnan(exposures[bad[0]]) else f"{exposures[bad[0]]:g}"
        raise ValueError(f"exposure must be a number >= 0 for every area, got {got} for {names[bad[0]]}{more}")
    if regression.family == "shares" and (exposures != np.floor(exposures)).any():
        i = int(np.flatnonzero(exposures != np.floor(exposures))[0])
        raise ValueError(
            f"for shares, exposure must contain integers (population sizes), got {exposures[i]:g} for {names[i]}"
        )
    return exposures


def _noisy_exposure(release: Release, names: tuple[str, ...]) -> tuple[Array, Array]:
    """Return quadrature nodes and log weights for the exposures of all areas if the exposures are protected counts."""
    places = {name: i for i, name in enumerate(release.names)}
    if missing := [name for name in names if name not in places]:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise ValueError(f"exposure must contain a value for each area, but contains no value for {missing[0]}{more}")
    lower, upper = release.bounds or (1, np.inf)
    least = np.maximum(np.asarray(lower, dtype=np.float64), 1.0)
    cells = cells_of(release.values.ravel(), release.mechanism, lower=least, upper=upper)
    cells = cells.take(np.array([places[name] for name in names]))
    refuse(cells, names)
    if not cells.measured.all():
        raise ValueError(
            "exposure must contain a measured value for each area, but the value of "
            f"{names[int((~cells.measured).argmax())]} was not measured"
        )
    return nodes_of(cells)


def _without_exposure(cells: Cells, names: tuple[str, ...], rows: NDArray[np.int64]) -> None:
    """Raise an error if an area has an exposure of 0 and a released value that excludes a count of 0."""
    for i in rows:
        part = cells.take(np.array([i]))
        possible = part.lower[0] <= 0 <= part.upper[0]
        if part.measured[0]:
            possible &= bool(part.noise.log_likelihood(part.released[:, None], np.zeros((1, 1)))[0, 0] > -40.0)
        if not possible:
            raise ValueError(
                f"{names[i]}: the exposure is 0, so the count must be 0, but the release excludes a count of 0: "
                "correct the exposure, or remove the area"
            )


def _at_most(cells: Cells, names: tuple[str, ...], persons: Array) -> Cells:
    """Return the noisy counts of all areas, with an upper bound on each count that is at most the population size of
    the area. Raise ValueError if a lower bound is larger than the population size.
    """
    upper = np.minimum(cells.upper, persons)
    bounded = Cells(cells.released, cells.noise, cells.lower, upper, cells.measured, cells.reasons)
    bad = np.flatnonzero(cells.lower > persons)
    if len(bad):
        raise ValueError(
            f"{names[bad[0]]}: the lower bound of the count is {cells.lower[bad[0]]:g}, but the area has only "
            f"{persons[bad[0]]:g} persons: correct the bounds or the exposure"
        )
    return bounded


def _crude(areas: Areas, regression: Regression) -> float:
    """Return the crude rate over all areas, and raise an error if the release contains no information about
    the rates.
    """
    cells, n = areas.cells, len(areas.names)
    values = cells.released[cells.measured]
    bounded = ~cells.measured & np.isfinite(cells.upper)
    if regression.family == "rates" and bounded.any():  # if bounds such as 10 to 50 are released, the midpoint is used
        values = np.append(values, (cells.lower + cells.upper)[bounded] / 2)
    if not len(values):
        raise ValueError(
            f"at least one of the {n} counts must be measured, got none: without a measured count, the posterior of "
            "the rates would equal the prior"
        )
    if np.isnan(values).all():
        raise ValueError(
            f"at least one of the {len(values)} counts must be published, got only withheld counts: without a "
            "published count, the posterior of the rates would equal the prior"
        )
    if not np.nanmax(values) > 0:
        raise ValueError(
            f"at least one of the {len(values)} released counts must be > 0, got a maximum of {np.nanmax(values):g}: "
            "without a positive count, the prior would determine the posterior of the rates"
        )
    if not (cells.released[cells.measured] > 0).any() and not (cells.lower[bounded] > 0).any():
        raise ValueError(
            f"at least one of the {len(values)} counts must be > 0, but the released values and bounds allow 0 for all "
            "of them: without a positive count, the prior would determine the posterior of the rates"
        )
    coefficients = areas.design.matrix.shape[1]
    if regression.se == "sandwich" and len(values) <= coefficients:  # the scores of all areas are then almost 0
        raise ValueError(
            "se must be 'model', because sandwich standard errors require more areas than coefficients, got "
            f"{len(values)} areas with counts and {coefficients} coefficients"
        )
    total = np.nansum(np.maximum(values, 0.0)) + 0.5
    rate = total / areas.mean_exposure[cells.measured | bounded].sum()
    return float(min(rate, 0.99)) if regression.family == "shares" else float(rate)


class RegressionPosterior(Posterior):
    """Joint posterior distribution of the rates of all areas, of their true counts, and of the parameters of the
    regression.

    Parameters
    ----------
    release : the release.
    regression : the prior.
    areas : areas with exposures and covariates.
    model : log posterior of the hyperparameters.
    fit : posterior mode of the hyperparameters.
    """

    def __init__(self, release: Release, regression: Regression, areas: Areas, model: Model, fit: Fit) -> None:
        self.areas, self.regression = areas, regression
        self._model, self._fit = model, fit
        self._hyper = Hyperparameters(model, fit)
        self._rates = AreaRates(model, self._hyper)
        self._tables: dict[float, Numbers] = {}
        self._more = release.facts
        groups = {"rates": self._rate_group(), "counts": self._count_group(), "parameters": self._parameter_group()}
        super().__init__(
            groups, joint=self._draw, method="exact likelihood, hyperparameters integrated", facts=self._all_facts,
            source=self._rates, log_evidence=lambda: self._hyper.log_evidence,
        )  # fmt: skip

    def predicted(self, exposure: Any = None, covariates: Any = None, names: Sequence[str] | None = None) -> Quantities:
        """Return the posterior predictive distributions of new counts.

        Parameters
        ----------
        exposure : exposures of the new counts: by name of the area, in the order of the areas, or one number for all.
        covariates : covariates of areas that are not part of the release, as in `Regression`, on the user's scale.
            None: the new counts belong to the areas of the release, with the same rates.
        names : names of the new areas; by default the names in `exposure`, or 1, 2, ..

        Returns
        -------
        Quantities
            Counts, by name.

        Raises
        ------
        ValueError, TypeError
            If exposures or covariates do not match the areas.
        """
        rates, labels, wanted = self._rates, self.areas.names, exposure
        if covariates is not None:
            labels = tuple(names or (exposure if isinstance(exposure, Mapping) else map(str, _counted(covariates))))
            covariate_names, columns = covariates_of(covariates, labels)
            if covariate_names != self.areas.design.names:
                known = self.areas.design.names
                rule = f"have exactly the columns {', '.join(known)}" if known else "be omitted for this regression"
                raise ValueError(f"covariates must {rule}, got the columns {', '.join(covariate_names)}")
            rates = self._elsewhere(self.areas.design.of(columns))
        each = np.full(len(labels), exposure) if np.ndim(wanted) == 0 and not isinstance(wanted, Mapping) else wanted
        sizes = aligned("exposure", each, labels)
        if not (np.isfinite(sizes) & (sizes > 0)).all():
            raise ValueError(
                "exposure must be finite and > 0 for every new count, got "
                f"{sizes[~(np.isfinite(sizes) & (sizes > 0))][0]:g}"
            )
        binomial = self.regression.family == "shares"
        if binomial and (sizes != np.floor(sizes)).any():
            raise ValueError(
                "for shares, exposure must contain integers (population sizes), got "
                f"{sizes[sizes != np.floor(sizes)][0]:g}"
            )
        state = self._state(self._rates.error)

        def one(i: int) -> Discrete:
            about = {"name": labels[i], "type": "count", "accuracy": state}
            return _predictive(rates, i, np.ones(1), sizes[[i]], about)

        def joint(size: int, rng: np.random.Generator) -> NDArray[Any]:
            drawn = rates.draw(size, rng)[0]
            return (
                rng.binomial(sizes.astype(np.int64), drawn)
                if binomial
                else rng.poisson(np.minimum(drawn * sizes, _LARGEST_MEAN))
            )

        return Quantities(labels, one, joint=joint)

    def prior_check(self, *, rng: np.random.Generator, size: int = _CHECKS) -> pd.DataFrame:
        """Compare statistics of the release with the same statistics of releases that are simulated from the fitted
        regression.

        Parameters
        ----------
        rng : numpy Generator.
        size : number of simulated releases. For each release, hyperparameters are drawn from their posterior, followed
            by new rates, new counts and new noise.

        Returns
        -------
        DataFrame
            One row per statistic of the released values: observed value, median, lower and upper end of the central 95
            % of the simulated releases, and p, twice the smaller tail probability. The observed value counts as one of
            the releases, so that p is at least 2/(size + 1).
        """
        size, rng = _checks.integer("size", size, least=20), _checks.generator(rng)
        model, cells = self._model, self.areas.cells
        seen = np.flatnonzero(cells.measured)
        noise = cells.noise.take(seen)
        points, weights = self._hyper.joint()
        which = rng.choice(len(points), size=size, p=weights)
        rows = []
        for h in which:
            first, second = model.pair(points[h])
            if model.shares:
                counts = rng.binomial(self.areas.exposure[:, 0].astype(np.int64), rng.beta(first, second))
            else:
                node = (np.cumsum(np.exp(self.areas.log_node), axis=1) < rng.random((len(first), 1))).sum(axis=1)
                node = np.minimum(node, np.isfinite(self.areas.log_node).sum(axis=1) - 1)
                exposure = np.take_along_axis(self.areas.exposure, node[:, None], axis=1)[:, 0]
                counts = rng.poisson(rng.standard_gamma(first) * second / first * exposure)
            rows.append(_statistics(np.asarray(noise.sample(counts[seen], rng=rng), dtype=np.float64)))
        drawn, observed = np.array(rows), np.array(_statistics(cells.released[seen]))
        low, middle, high = np.quantile(drawn, [0.025, 0.5, 0.975], axis=0)
        tails = (1 + np.minimum((drawn <= observed).sum(axis=0), (drawn >= observed).sum(axis=0))) / (size + 1)
        names = ["mean", "standard deviation", "largest", "fraction at most 0", "fraction withheld"]
        columns = {"statistic": names, "observed": observed, "median": middle, "lower": low, "upper": high}
        return pd.DataFrame(columns | {"p": np.minimum(2 * tails, 1.0)})

    def _elsewhere(self, design: Array) -> AreaRates:
        """Return the posterior distributions of the rates of areas for which no count was released."""
        n = len(design)
        zeros = np.zeros(n, dtype=np.int64)
        table = Likelihoods(
            np.ones(n), np.arange(n + 1), zeros, zeros, np.zeros(n), np.full(n, -np.inf), np.zeros(n, dtype=bool)
        )
        model = Model(table, np.zeros((n, 1)), np.zeros((n, 1)), design, self._model.prior, shares=self._model.shares)
        return AreaRates(model, self._hyper)

    def _numbers(self, level: float) -> Numbers:
        if level not in self._tables:
            self._tables[level] = self._rates.numbers(level)
        return self._tables[level]

    @cached_property
    def _held(self) -> list[str]:
        """Names of the regression parameters for which the prior, and not the data, determines the posterior
        distribution.
        """
        shape, slopes = self._hyper.held
        names = (INTERCEPT, *(f"slope of {name}" for name in self.areas.design.names))
        return [_SHAPE[self.regression.family]] * shape + [n for n, held in zip(names, slopes, strict=True) if held]

    def _state(self, error: float, how: str = "") -> Accuracy:
        """Return the accuracy of a quantity, given an estimate of its error and the method if it is not integration."""
        how = how or f"hyperparameters integrated by {self._hyper.nodes.rule}"
        reason = f"{how}; error: an estimate of the numerical error"
        if not self._fit.done:
            return Accuracy("approximate", float("nan"), "the search for the hyperparameters did not end at a mode")
        if len(self.areas.names) < FEWEST_AREAS:
            error = float("nan")
            reason = f"{how}; the error cannot be estimated with fewer than {FEWEST_AREAS} areas"
        if self._held:
            reason += f"; determined mainly by the prior: {', '.join(self._held)}"
        return Accuracy("approximate", error, reason)

    def _rate_group(self) -> Quantities:
        names = self.areas.names

        def one(i: int) -> Continuous:
            state = self._state(self._rates.error)
            return Continuous(self._rates.law(i), name=names[i], type="rate", accuracy=state)

        def columns(level: float) -> Columns:
            summaries = self._numbers(level)
            return Columns(
                summaries.mean, summaries.sd, summaries.lower, summaries.upper, self._state(self._rates.error)
            )

        return Quantities(names, one, joint=lambda size, rng: self._draw(size, rng)["rates"], numbers=columns)

    def _count_group(self) -> Quantities:
        names = self.areas.names

        def one(i: int) -> Discrete:
            about: dict[str, Any] = {"name": names[i], "type": "count", "accuracy": self._state(self._rates.error)}
            if self._model.table.measured[i]:
                return Discrete(*self._rates.count(i), **about)
            return _predictive(self._rates, i, np.exp(self.areas.log_node[i]), self.areas.exposure[i], about)

        def columns(level: float) -> Columns:
            counts = self._numbers(level).counts.copy()
            for i in np.flatnonzero(~self._model.table.measured):
                law = one(int(i))
                counts[i] = law.mean(), law.sd(), *law.interval(level)
            mean, sd, lower, upper = np.ascontiguousarray(counts.T)
            return Columns(mean, sd, lower, upper, self._state(self._rates.error))

        return Quantities(names, one, joint=lambda size, rng: self._draw(size, rng)["counts"], numbers=columns)

    def _parameter_group(self) -> Quantities:
        design = self.areas.design
        names = (_SHAPE[self.regression.family], INTERCEPT, *(f"slope of {name}" for name in design.names))
        how = "normal distribution with sandwich standard errors" if self.regression.se == "sandwich" else ""

        def one(i: int) -> Marginal:
            if i == 0:
                shape_law = ShapeLaw(self._hyper.grid)
                state = self._state(shape_law.error(self._hyper.grid))
                return Continuous(shape_law, name=names[0], type="parameter", accuracy=state)
            return Continuous(
                self._slope(design.user()[i - 1]),
                name=names[i],
                type="parameter",
                accuracy=self._state(self._hyper.bend, how),
            )

        return Quantities(names, one, joint=lambda size, rng: self._draw(size, rng)["parameters"])

    def _slope(self, combination: Array) -> SlopeLaw:
        """Return the posterior distribution of a linear combination of the coefficients of the regression."""
        if self.regression.se == "sandwich":
            sd = np.sqrt(combination @ self._sandwich[1:, 1:] @ combination)
            return SlopeLaw(np.ones(1), np.array([combination @ self._fit.parameters[1:]]), np.array([sd]))
        grid = self._hyper.grid
        weights = np.exp(grid.log_marginal - grid.log_marginal.max())
        means = np.array([combination @ self._hyper.mean(fit) for fit in grid.fits])
        sds = np.sqrt([combination @ fit.covariance @ combination for fit in grid.fits])
        return SlopeLaw(weights / weights.sum(), means, np.asarray(sds))

    @cached_property
    def _sandwich(self) -> Array:
        """Sandwich covariance matrix of the hyperparameters, computed from the outer products of the scores of the
        areas.
        """
        terms = self._model.terms(self._fit.parameters)
        scores = np.column_stack([terms.shape, self._model.design * terms.mean[:, None]])
        return np.asarray(self._fit.covariance @ (scores.T @ scores) @ self._fit.covariance)

    def _draw(self, size: int, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        rates, counts, parameters = self._rates.draw(size, rng)
        for i in np.flatnonzero(~self._model.table.measured):  # the model gives these areas the exposure 0
            exposure = rng.choice(self.areas.exposure[i], size=size, p=np.exp(self.areas.log_node[i]))
            binomial = self.regression.family == "shares"
            counts[:, i] = (
                rng.binomial(exposure.astype(np.int64), rates[:, i])
                if binomial
                else rng.poisson(np.minimum(rates[:, i] * exposure, _LARGEST_MEAN))
            )
        user = np.column_stack([parameters[:, 0], parameters[:, 1:] @ self.areas.design.user().T])
        return {"rates": rates, "counts": counts, "parameters": user}

    @cached_property
    def _by_exposure(self) -> dict[str, float]:
        """Test whether the variation of the rates around the regression depends on the exposure, and return the Bayes
        factor and the slope. The log of the shape is log a + c z, where z is the standardised log exposure. The prior c
        ~ N(0, 1) is compared with c = 0 in a quadratic approximation of the log evidence.
        """
        log = np.log(self.areas.mean_exposure)
        if not log.std() > 1e-9:
            return {"bayes_factor": 0.0, "slope": 0.0}
        z = (log - log.mean()) / log.std()
        terms = self._model.terms(self._fit.parameters)
        score = float(z @ terms.shape)
        cross = -np.r_[z @ terms.shape_shape, (z * terms.shape_mean) @ self._model.design]
        curvature = -float(z * z @ terms.shape_shape) - float(cross @ self._fit.covariance @ cross)
        if not curvature > 0:
            return {"bayes_factor": 0.0, "slope": 0.0}
        log_factor = score**2 / (2 * (curvature + 1)) - np.log1p(curvature) / 2
        return {"bayes_factor": float(np.exp(min(log_factor, 50.0))), "slope": score / (curvature + 1)}

    def _all_facts(self) -> dict[str, object]:
        areas, cells = self.areas, self.areas.cells
        withheld = int((cells.measured & np.isnan(cells.released)).sum())
        noisy = isinstance(self.regression.exposure, Release)
        exposure: dict[str, object] = {"kind": "protected counts" if noisy else "public"}
        if noisy:
            exposure |= {"nodes": int(areas.exposure.shape[1]), "prior": "flat on 1, 2, .."}
        return {
            "noise": cells.noise.settings(),
            "prior": self.regression.settings(),
            "areas": len(areas.names),
            "measured": int(cells.measured.sum()),
            "withheld": withheld,
            "unmeasured": [n for n, seen in zip(areas.names, self._model.table.measured, strict=True) if not seen][:20],
            "dropped": list(areas.dropped),
            "exposure": exposure,
            "rule": self._hyper.nodes.rule,
            "held by its prior": self._held,
            "neglected": float(neglected(self._model, self._fit.parameters).max()),
            "shape by exposure": self._by_exposure,
            "warnings": self._all_warnings(),
        } | self._more

    def _all_warnings(self) -> list[str]:
        warnings = list(self.areas.ignored)
        n = len(self.areas.names)
        if self.areas.dropped:
            more = f" and {len(self.areas.dropped) - 5} more" if len(self.areas.dropped) > 5 else ""
            warnings.append(f"dropped, because the exposure is 0: {', '.join(self.areas.dropped[:5])}{more}")
        if n < FEW_AREAS:
            areas = "area" if n == 1 else "areas"
            warnings.append(f"only {n} {areas}: intervals may be too short ({COVERAGE} for 50 areas)")
        if self._held:
            warnings.append(f"determined mainly by the prior: {', '.join(self._held)}")
        if self._by_exposure["bayes_factor"] > EVIDENCE:
            grows = "falls" if self._by_exposure["slope"] > 0 else "grows"
            warnings.append(
                f"the variation of the rates around their means {grows} with the exposure (Bayes factor "
                f"{self._by_exposure['bayes_factor']:.3g}): intervals of areas with small or large exposure are "
                "unreliable"
            )
        return warnings


class _Unmeasured(Discrete):
    """Count that was not measured. The value infinity represents the long upper tail, so the mean and the standard
    deviation are computed from those of the rate.

    Parameters
    ----------
    values, probabilities : arguments of `Discrete`.
    mean, sd : moments of the count.
    **about : name, type and accuracy.
    """

    def __init__(self, values: Array, probabilities: Array, mean: float, sd: float, **about: Any) -> None:
        super().__init__(values, probabilities, **about)
        self._moments = mean, sd

    def mean(self) -> float:
        """Return the expected value of the count."""
        return self._moments[0]

    def sd(self) -> float:
        """Return the standard deviation of the count."""
        return self._moments[1]


def _predictive(rates: AreaRates, i: int, weights: Array, exposure: Array, about: Mapping[str, Any]) -> _Unmeasured:
    """Return the distribution of a count of one area that was not measured.

    Parameters
    ----------
    rates : rates of the areas.
    i : position of the area.
    weights, exposure : float64 (nodes,), distribution of the exposure, which is independent of the rate.
    about : name, type and accuracy.
    """
    rate = rates.law(i)
    high = 1000 / exposure.min() + 20 * float(rate.quantile(0.999))  # tails can be long
    nodes = zip(weights, exposure, strict=True)
    laws = [(weight, *rates.predicted(i, float(e), min(high * e, _MOST_COUNTS))) for weight, e in nodes if weight]
    probabilities = np.zeros(1 + max(int(values[-1]) for _, values, _ in laws))
    for weight, values, p in laws:
        probabilities[values] += weight * p
    beyond = 1.0 - float(probabilities.sum())
    listed = np.arange(len(probabilities), dtype=np.float64)
    if beyond > NEGLECTED:
        listed, probabilities = np.append(listed, np.inf), np.append(probabilities, beyond)
    first, second = rate.mean(), rate.variance() + rate.mean() ** 2
    within = first - second if rates.model.shares else first  # variance of a count per exposure
    mean = float(weights @ exposure) * first
    variance = float(weights @ exposure * within + weights @ exposure**2 * second) - mean**2
    return _Unmeasured(listed, probabilities, mean, float(np.sqrt(variance)), **about)


def _counted(covariates: Any) -> range:
    columns = [covariates[name] for name in covariates]
    return range(1, len(columns[0]) + 1)


def _statistics(values: Array) -> list[float]:
    known = values[~np.isnan(values)]
    if not len(known):
        return [0.0, 0.0, 0.0, 0.0, 1.0]
    withheld = 1 - len(known) / len(values)
    return [float(known.mean()), float(known.std()), float(known.max()), float((known <= 0).mean()), withheld]
