"""How often intervals hold the true count, by its size: a table, and what is seen in it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._seeding import stream

from ...style import CYCLE, DOUBLE, GREY, MARKERS, letters
from .by_true_value import by_true_value, words

MULTINOMIAL = "multinomial"  # the default beside a total: the file is a sample, every total is as likely
CASES = {"alone": "no total", "with_total": "noisy total"}
_LOOKS = tuple(zip((*CYCLE, GREY), (*MARKERS, "*"), strict=True))


def table(
    root_seed: int,
    *,
    truth: Mapping[str, float],
    sigma: float,
    level: float,
    edges: Sequence[float],
    alone: Mapping[str, Any],
    with_total: Mapping[str, Any],
) -> pd.DataFrame:
    """Coverage, width, bias and error of intervals, by method and true count.

    Parameters
    ----------
    root_seed : of all streams.
    truth : ``mean`` and ``shape`` of the negative binomial law of the true counts.
    sigma : of the discrete Gaussian noise on every count.
    level : of the intervals.
    edges : of the true counts, rising.
    alone : ``counts`` in a file, ``files``, ``priors``.
    with_total : the same, and ``sigma``, of the noise on the total; the prior `MULTINOMIAL` is the default there.

    Returns
    -------
    DataFrame
        Columns case (`CASES`) and level, then those of `by_true_value`.
    """
    shape, chance = truth["shape"], truth["shape"] / (truth["shape"] + truth["mean"])
    parts = []
    for case, setting in (("alone", alone), ("with_total", with_total)):
        size = int(setting["counts"])

        def draw(rng: np.random.Generator, size: int = size) -> NDArray[np.int64]:
            return rng.negative_binomial(shape, chance, size)

        found = by_true_value(
            draw,
            DiscreteGaussian(sigma=sigma),
            total=DiscreteGaussian(sigma=setting["sigma"]) if "sigma" in setting else None,
            priors={name: None if name == MULTINOMIAL else name for name in setting["priors"]},
            edges=edges,
            replications=int(setting["files"]),
            rng=stream(root_seed, "studies", "coverage", case),
            level=level,
        )
        found.insert(0, "case", CASES[case])
        found.insert(1, "level", level)
        parts.append(found)
    return pd.concat(parts, ignore_index=True)


def figure(table: pd.DataFrame) -> Figure:
    """Coverage and width by true count, a column of panels a case."""
    made = Figure(figsize=(DOUBLE, 4.2))
    panels = made.subplots(2, table["case"].nunique(), sharex=True, sharey="row", squeeze=False)
    methods = list(dict.fromkeys(table["method"]))
    looks = {method: _LOOKS[i % len(_LOOKS)] for i, method in enumerate(methods)}
    for column, (case, rows) in zip(panels.T, table.groupby("case", sort=False), strict=True):
        labels = ranges(rows)
        for i, (method, own) in enumerate(rows.groupby("method", sort=False)):
            colour, marker = looks[str(method)]
            x = np.arange(len(own)) + 0.08 * (i - 3)
            error = 2 * own["coverage_se"]
            look: dict[str, Any] = {"color": colour, "marker": marker, "lw": 0.8, "label": method}
            column[0].errorbar(x, own["coverage"], error, elinewidth=0.6, **look)
            column[1].plot(x, own["width"], **look)
        column[0].axhline(rows["level"].iloc[0], color=GREY, ls="--", lw=0.8, zorder=0)
        column[0].set_title(str(case))
        column[1].set_xticks(np.arange(len(labels)), labels)
        column[1].set_xlabel("true count")
    panels[0, 0].set_ylabel("coverage")
    panels[1, 0].set_ylabel("mean width")
    handles = {label: handle for a in panels[0] for handle, label in zip(*a.get_legend_handles_labels(), strict=True)}
    made.legend(handles.values(), handles, loc="outside lower center", ncols=4)
    letters(panels.ravel())
    return made


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """The table of the documentation: bins in words, coverage to three decimals."""
    labels = [words(low, high, _last(table)) for low, high in table[["from", "to"]].to_numpy()]
    found = table[["case", "method", "counts", "coverage", "width", "bias", "rmse"]].copy()
    found.insert(2, "true count", labels)
    return found.round({"coverage": 3, "width": 1, "bias": 2, "rmse": 2})


def ranges(rows: pd.DataFrame) -> list[str]:
    """Words for the bins of one method's rows, in their order."""
    bins = rows.loc[rows["method"] == rows["method"].iloc[0], ["from", "to"]].to_numpy()
    return [words(low, high, _last(rows)) for low, high in bins]


def _last(rows: pd.DataFrame) -> float:
    """The highest edge of the bins."""
    return float(rows.loc[np.isfinite(rows["to"]), "to"].max())
