"""A user's swapped table, or a release of swapped records -> the posterior of the cells, naive and swap-aware."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from dpmultinomial._files.published import Published
from dpmultinomial._honesty import EXACT, LEVEL, Honesty
from dpmultinomial._posteriors.counts.dirichlet_mixture import DirichletMixture, ExplicitLaw
from dpmultinomial._posteriors.swapping import swapped_table, unswapped
from dpmultinomial._posteriors.swapping.common_odds import common_odds_ratio
from dpmultinomial._posteriors.swapping.log_odds import LogOddsMixture

from .scenario_case import REHEARSAL, Case, case, loss

COLUMNS = (
    *("quantity", "analysis", "mean", "sd", "lower", "upper", "level", "status", "note"),
    *("statistic", "x", "density"),
)
SUMMARY, DENSITY = "summary", "density"
AWARE, NAIVE = "swap-aware", "naive"
MOST_CELLS = 200  # of all strata together
_CURVES = 12  # cells up to which densities are given
_ORIGINALS, _RARE = 8, 1e-4  # of the likeliest originals that are named, and the least probability of one
_NAIVE = "takes the swapped table for the original: shown for comparison only"


def table(
    *,
    release: Published | None = None,
    table: list[list[int]] | None = None,
    strata: list[list[list[int]]] | None = None,
    rehearsal: Mapping[str, object] | None = None,
    rate: float | None = None,
    swapped: list[str] | None = None,
    held: list[str] | None = None,
    alpha: float | list[float] = 1.0,
    level: float = LEVEL,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Posterior of the originals of swapped tables. Parameters are the keys of a scenario (settings.yaml).

    Returns
    -------
    DataFrame with `COLUMNS`: first one row a quantity (statistic ``summary``): mean, sd, central interval at `level`,
        status and a note in words; then densities (statistic ``density``: density at x).

    Raises
    ------
    ValueError
        If the tables have more than 200 cells together, or the release does not fit (`scenario_case.of_release`).
    """
    found = case(
        release=release, table=table, strata=strata, rehearsal=rehearsal, rate=rate, swapped=swapped, held=held, rng=rng
    )
    if found.counts.size > MOST_CELLS and found.counts.shape[1:] != (2, 2):
        raise ValueError(f"the tables of a scenario must have at most {MOST_CELLS} cells, got {found.counts.size}")
    assumed = _assumptions(found, alpha)
    parts = [*_odds_ratios(found, alpha, level, assumed)]
    if found.counts.size <= MOST_CELLS:
        parts += _cells(found, alpha, level, assumed, rng)
    parts += [_costs(found), _truth(found)]
    frame = pd.concat([part for part in parts if len(part)], ignore_index=True)
    first = frame["statistic"].eq(SUMMARY)
    return pd.concat([frame[first], frame[~first]], ignore_index=True)[list(COLUMNS)]


def _assumptions(found: Case, alpha: float | Sequence[float]) -> str:
    prior = f"{alpha:g} in every cell" if isinstance(alpha, (int, float)) else f"{list(alpha)}"
    weight = float(np.sum(np.broadcast_to(alpha, found.counts.size)))
    strata = "one stratum" if len(found.strata) == 1 else f"{len(found.strata)} strata"
    return (
        f"{found.origin}; permutation swapping at rate {found.rate:g} in {strata}, no other noise; Dirichlet prior "
        f"{prior}, worth {weight:g} records beside {found.counts.sum()}"
    )


def _row(
    quantity: str, analysis: str, numbers: Sequence[float], level: float, state: Honesty, note: str
) -> dict[str, object]:
    mean, sd, lower, upper = (float(number) for number in numbers)
    return {
        "quantity": quantity,
        "analysis": analysis,
        "mean": mean,
        "sd": sd,
        "lower": lower,
        "upper": upper,
        "level": level,
        "status": state.word,
        "note": f"{note}; {state.reason}" if state.reason else note,
        "statistic": SUMMARY,
        "x": np.nan,
        "density": np.nan,
    }


def _density(quantity: str, analysis: str, x: np.ndarray, y: np.ndarray, state: Honesty) -> pd.DataFrame:
    frame = pd.DataFrame({"x": x, "density": np.where(np.isfinite(y), y, np.nan)})
    return frame.assign(quantity=quantity, analysis=analysis, status=state.word, statistic=DENSITY)


def _cells(
    found: Case, alpha: float | Sequence[float], level: float, assumed: str, rng: np.random.Generator
) -> list[pd.DataFrame]:
    """theta of every cell, under the posterior that knows the swap and under the naive one."""
    aware = unswapped.infer(found.counts, rate=found.rate, alpha=alpha, rng=rng)
    naive = DirichletMixture(aware.alpha, ExplicitLaw(found.counts.reshape(1, -1), np.ones(1)))
    tails, grid, parts = [(1 - level) / 2, (1 + level) / 2], np.linspace(0, 1, 401), []
    laws: tuple[tuple[str, DirichletMixture, str], ...] = ((AWARE, aware, assumed), (NAIVE, naive, _NAIVE))
    for analysis, law, note in laws:
        for i, name in enumerate(found.cells()):
            marginal = law.beta(i)
            numbers = (marginal.mean(), marginal.variance() ** 0.5, *marginal.quantile(tails))
            quantity = f"theta{name}"
            parts.append(pd.DataFrame([_row(quantity, analysis, numbers, level, law.honesty, note)]))
            if found.counts.size <= _CURVES:
                parts.append(_density(quantity, analysis, grid, marginal.pdf(grid), law.honesty))
    return parts


def _odds_ratios(found: Case, alpha: float | Sequence[float], level: float, assumed: str) -> list[pd.DataFrame]:
    """log phi of a 2 x 2 table, or the one that several strata share."""
    if found.counts.shape[1:] != (2, 2):
        return []
    if len(found.counts) > 1:
        return [_common(found, level)]
    aware = swapped_table.exact(found.counts[0], rate=found.rate, alpha=alpha)
    naive = swapped_table.naive(found.counts[0], alpha=alpha)
    parts = []
    for analysis, law, note in ((AWARE, aware, assumed), (NAIVE, naive, _NAIVE)):
        parts += _odds(law.log_odds(), analysis, level, law.honesty, note)
    return [*parts, _originals(aware, found)]


def _odds(law: LogOddsMixture, analysis: str, level: float, state: Honesty, note: str) -> list[pd.DataFrame]:
    lower, median, upper = law.quantile([(1 - level) / 2, 0.5, (1 + level) / 2])
    above = float(1 - law.cdf(0.0))
    rows = [
        _row("log phi", analysis, (law.mean(), law.variance() ** 0.5, lower, upper), level, state, note),
        _row(
            "phi", analysis, (law.mean_odds(), np.nan, np.exp(lower), np.exp(upper)), level, state,
            f"median {np.exp(median):.4g}; its mean is infinite where an original may have an empty cell; {note}",
        ),
        _row("P(phi > 1)", analysis, (above, np.nan, np.nan, np.nan), np.nan, state, note),
    ]  # fmt: skip
    low, high = law.quantile([0.001, 0.999])
    span = np.linspace(low, high, 301)
    return [pd.DataFrame(rows), _density("log phi", analysis, span, law.pdf(span), state)]


def _common(found: Case, level: float) -> pd.DataFrame:
    law = common_odds_ratio(found.counts, rate=found.rate)
    numbers = (law.mean(), law.sd(), *law.quantile([(1 - level) / 2, (1 + level) / 2]))
    note = (
        f"{found.origin}; one odds ratio for all {law.strata} strata that say something, log phi normal(0, 5) "
        f"beforehand, margins as published, swap rate {found.rate:g}"
    )
    row = pd.DataFrame([_row("common log phi", AWARE, numbers, level, law.honesty, note)])
    return pd.concat([row, _density("common log phi", AWARE, law.grid, law.density, law.honesty)], ignore_index=True)


def _originals(law: swapped_table.SwappedTablePosterior, found: Case) -> pd.DataFrame:
    """The likeliest originals, and how probable the published table was under the prior."""
    rows, nothing = [], (np.nan, np.nan, np.nan)
    for i in np.argsort(-law.weights, kind="stable")[:_ORIGINALS]:
        original, weight = law.tables[i], float(law.weights[i])
        same = " of the published table itself" if np.array_equal(original, found.counts[0]) else ""
        if weight > _RARE:
            name, note = f"P(original = {original.tolist()})", f"posterior probability{same}"
            rows.append(_row(name, AWARE, (weight, *nothing), np.nan, law.honesty, note))
    note = "probability of the published table under prior and swap; compare priors by it"
    rows.append(_row("P(published table)", AWARE, (law.acceptance, *nothing), np.nan, law.honesty, note))
    return pd.DataFrame(rows)


def _costs(found: Case) -> pd.DataFrame:
    change = loss(found)
    if change is None:
        return pd.DataFrame()
    about = (
        f"largest stratum {found.largest} records, rate {found.rate:g}; an exchange of two records' swapped values is "
        "the least change the invariants allow; margins are published as they are and not protected"
    )
    said = f"2 epsilon by the theorem, epsilon = {change.per_record:.4g} per record of distance; {about}"
    exact = f"all values distinct; {about}"
    losses = (("theorem", change.stated, said), ("exact", change.exact, exact))
    return pd.DataFrame(
        [
            _row(f"loss of one exchange, {kind}", "privacy", (value, np.nan, np.nan, np.nan), np.nan, EXACT, note)
            for kind, value, note in losses
        ]
    )


def _truth(found: Case) -> pd.DataFrame:
    """The made-up shares of a rehearsal."""
    if found.made_up is None:
        return pd.DataFrame()
    shares = (found.made_up / found.made_up.sum()).ravel()
    note = f"{REHEARSAL}; made-up share before the swap"
    return pd.DataFrame(
        [
            _row(f"theta{name}", "made up", (share, np.nan, np.nan, np.nan), np.nan, EXACT, note)
            for name, share in zip(found.cells(), shares, strict=True)
        ]
    )
