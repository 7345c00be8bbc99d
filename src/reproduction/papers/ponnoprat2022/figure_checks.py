"""Compare the figures of the paper's theory with the paper's formulas."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import log_ndtr, ndtr

from ...verdicts.rows import claim, not_run
from . import laws
from .privacy import PRINTED_PAIR, USED_PAIR

Row = dict[str, Any]
_CLOSE = 1e-6  # relative


def rows(tables: dict[str, pd.DataFrame]) -> Iterator[Row]:
    """Yield rows of `agreement.ours` for the figures."""
    yield _figure_1(tables["figure_1"])
    yield _figure_2(tables["figure_2"])
    yield from _figure_3_top(tables["figure_3_top"])
    yield _figure_3_bottom(tables["figure_3_bottom"])
    yield _figure_8(tables["figure_8"])
    yield _theorem_2(tables["theorem_2"])
    yield from _lemma_3(tables["figure_3_bottom"], tables["figure_8"])
    yield _proposition_3()
    for artefact in ("figure_9", "figure_10"):
        yield _gaussian(artefact, tables[artefact])


def _figure_1(table: pd.DataFrame) -> Row:
    x = table["x"].to_numpy(dtype=float)
    wanted = {"trigamma": laws.trigamma(x), "lower": 1 / x + 1 / (2 * x**2), "upper": 1 / x + 1 / x**2}
    gaps = [_apart(table[name], value) for name, value in wanted.items()]
    note = "largest relative distance of the drawn function and bounds; the function by Euler and Maclaurin"
    about = ("figure_1", "the drawn curves are trigamma and equation 6")
    return claim(*about, gaps, "=", 0, note, rounding=_CLOSE)


def _figure_2(table: pd.DataFrame) -> Row:
    exact = table[table["variant"] == "corrected"]
    region = tuple(float(table[name].iloc[0]) for name in ("concentration", "eta", "eta_bar"))
    wanted = np.array([laws.some_below(gamma, *region) for gamma in exact["gamma"]])
    gaps = [_apart(exact["delta"], wanted)]
    gaps += [abs(laws.some_below(gamma, *region) / 1e-5 - 1) for gamma in set(table["gamma_for_1e-5"])]
    note = "largest relative distance of the drawn exact delta, and of delta at the drawn mark, from incomplete Betas"
    about = ("figure_2", "the drawn delta is the probability of a cell of gamma or less")
    return claim(*about, gaps, "=", 0, note, rounding=_CLOSE)


def _figure_3_top(table: pd.DataFrame) -> Iterator[Row]:
    gaps = []
    row: Any
    for row in table.itertuples():
        order, r = row.order, row.r
        alpha = 1 + 4 * (order - 1) * r
        pairs: dict[str, Any] = {"as_written": PRINTED_PAIR, "published": USED_PAIR}
        u, v = (r * np.array(f, dtype=float) + alpha for f in pairs.get(row.variant, ((1, 0), (0, 1))))
        wanted = float(laws.guarantee(r, order)) if row.series == "Algorithm 1" else laws.renyi(u, v, order)
        gaps.append(abs(row.epsilon / wanted - 1))
    note = "largest relative distance from line 1 of Algorithm 1 and from the closed divergence of two Dirichlet laws"
    yield claim("figure_3_top", "the drawn epsilon are the paper's formulas", gaps, "=", 0, note, rounding=_CLOSE)


def _figure_3_bottom(table: pd.DataFrame) -> Row:
    counts = np.array(str(table["counts"].iloc[0]).split(","), dtype=float)
    mean, sd = laws.divergence(counts, table["r"].to_numpy(), table["alpha"].to_numpy())
    share = counts / counts.sum()
    uniform = float(np.sum(share * np.log(share * len(share))))
    gaps = [_apart(table["kl_mean"], mean), _apart(table["kl_sd"], sd), _apart(table["kl_uniform"], uniform)]
    ours = table[(table["series"] == "Algorithm 1") & (table["variant"] == "corrected")]
    order, r = ours["order"].to_numpy(), ours["r"].to_numpy()
    gaps.append(_apart(ours["epsilon_hat"], laws.guarantee(r, order) + laws.floor(order, ours["delta"])))
    gaps.append(_apart(ours["alpha"], 1 + 4 * (order - 1) * r))
    note = "largest relative distance of mean, sd, uniform and of epsilon_hat, given r, from the closed forms"
    about = ("figure_3_bottom", "the drawn divergences and epsilon_hat are the paper's formulas")
    return claim(*about, gaps, "=", 0, note, rounding=_CLOSE)


def _figure_8(table: pd.DataFrame) -> Row:
    order, r = table["order"].to_numpy(), table["r"].to_numpy()
    text = table["variant"].map({"corrected": 2.0, "published": 1.0}).to_numpy(dtype=float)
    wanted = laws.guarantee(r, order, text) + laws.floor(order, table["delta"])
    note = "largest relative distance from line 1 of Algorithm 1 and equation 14, squared sensitivity 2 and 1"
    about = ("figure_8", "the drawn epsilon_hat is equation 14")
    return claim(*about, _apart(table["epsilon_hat"], wanted), "=", 0, note, rounding=_CLOSE)


def _theorem_2(table: pd.DataFrame) -> Row:
    eta, cells, alpha = (table[name].to_numpy(dtype=float) for name in ("eta", "cells", "alpha"))
    beta = cells * alpha / np.expm1(eta / 2)
    bound = np.exp(-beta * eta**2 / (2 * (2 + eta) * (4 + 3 * eta)))
    gaps = [np.abs(table["bound"] - bound).max(skipna=False)]
    gaps.append(np.abs(table["frequency"] - table["above"] / table["draws"]).max(skipna=False))
    note = (
        "largest distance of the drawn bound from the theorem's at its least beta, and of frequencies from the counts"
    )
    about = ("theorem_2", "the drawn bound is the theorem's, the frequencies are those judged")
    return claim(*about, gaps, "=", 0, note, rounding=1e-9)


def _lemma_3(exact: pd.DataFrame, drawn: pd.DataFrame) -> Iterator[Row]:
    """Yield rows that compare equation 13, at the drawn epsilon_hat of equation 14, with the exact profile."""
    rows = drawn[drawn["variant"] == "corrected"]
    order, spare = rows["order"].to_numpy(), rows["epsilon_hat"] - laws.guarantee(rows["r"], rows["order"])
    delta = np.exp(-(order - 1) * spare) / (order - 1) * (1 - 1 / order) ** order
    note = "largest relative distance of delta by equation 13 from the figure's, at epsilon_hat of equation 14"
    gap = _apart(delta, rows["delta"])
    yield claim("figure_8", "equation 14 is lemma 3 with line 1", gap, "=", 0, note, rounding=_CLOSE)
    about = ("figure_3_bottom", "equation 14 keeps its (epsilon_hat, delta)")
    if exact["r"].isna().any():
        yield claim(*about, np.nan, "<=", 1, "a number is missing")
        return
    wide = exact[exact["variant"] == "corrected"].pivot(index=["order", "epsilon_hat"], columns="series", values="r")
    wide = wide[wide["Algorithm 1"].notna() & wide["exact profile"].notna()]
    if wide.empty:
        yield not_run(*about, "no epsilon_hat of this run is above what equation 14 adds")
        return
    note = "largest ratio of r by equation 14 to that of the exact profile at the same epsilon_hat"
    yield claim(*about, wide["Algorithm 1"] / wide["exact profile"], "<=", 1, note)


def _gaussian(artefact: str, table: pd.DataFrame) -> Row:
    """Return the row on the noise of the Gaussian releases of Appendix C: exactly (epsilon_hat, delta)-DP in the
    corrected variant, and the author's formula in the published one.
    """
    about = (artefact, "the Gaussian noise is that of the drawn epsilon_hat")
    rows = table[table["method"] == "gaussian"]
    if rows.empty:
        return not_run(*about, "this run has no data set")
    exact, printed = (rows[rows["variant"] == variant] for variant in ("corrected", "published"))
    shift = np.sqrt(2 * exact["histograms"]) / exact["noise_sd"]  # in standard deviations, all histograms together
    far = exact["epsilon"] / shift
    delta = ndtr(shift / 2 - far) - np.exp(exact["epsilon"] + log_ndtr(-shift / 2 - far))
    one = printed["epsilon"] / (2 * np.sqrt(2 * (printed["histograms"] - 1) * np.log(0.5 / printed["delta"])))
    sd = np.sqrt(4 * np.log(2.5 * printed["histograms"] / printed["delta"])) / one
    gaps = [_apart(delta, exact["delta"]), _apart(sd, printed["noise_sd"])]
    note = "largest relative distance of delta, from the normal distribution function at the drawn epsilon_hat and the "
    note += "noise's sd, and of the published sd from the author's formula"
    return claim(*about, gaps, "=", 0, note, rounding=_CLOSE)


def _proposition_3() -> Row:
    """Return the row on the log ratio of the densities at the smallest float y_1, for the counts (0, 0) and (1, 0) and
    r = alpha = 1.
    """
    least = float(np.finfo(float).tiny)
    ratio = abs(np.log(2 * least))  # Beta(2, 1) has density 2 y, Beta(1, 1) has 1
    note = "log ratio of the two densities at y_1 = 2.2e-308, r = alpha = 1; it grows as log 1/y_1, without a bound"
    return claim("proposition_3", "no release is epsilon-DP, whatever epsilon", ratio, ">", 100, note)


def _apart(drawn: pd.Series, wanted: Any) -> float:
    """Return the largest relative difference between drawn and expected values; NaN if a number is missing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = np.abs(np.asarray(drawn, dtype=float) / np.asarray(wanted, dtype=float) - 1)
    return float(np.max(gaps)) if len(gaps) else np.nan
