"""Compute the coverage and the mean width of intervals for a single count that is released without a total. Both are
exact sums over the possible released values.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dpmultinomial._inference.confidence import confidence
from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.law_settings import law_of

from ..style import CYCLE, DOUBLE, GREY, MARKERS, letters

INTERVALS = ("confidence", "credible, default prior", "credible, flat prior")
_LOG_MASS = 21.0  # the neglected probability of the noise is 8e-10


def table(root_seed: int, *, level: float, largest: int, noise: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the coverage and the mean width of three kinds of intervals for a count, for every true value of the
    count.

    Parameters
    ----------
    root_seed : not used, because nothing is drawn.
    level : level of the intervals.
    largest : largest true count.
    noise : settings of the noise distributions.

    Returns
    -------
    DataFrame
        The columns are noise, truth, interval (`INTERVALS`), coverage, width and level.
    """
    parts = [_of_noise(words, level, largest) for words in noise]
    return pd.concat(parts, ignore_index=True).assign(level=level)


def _of_noise(words: Mapping[str, Any], level: float, largest: int) -> pd.DataFrame:
    law: Any = law_of(dict(words))
    step = float(words.get("rounded", 1))
    far = np.ceil(float(np.max(law.halfwidth(_LOG_MASS))) / step)
    released = np.arange(-far, far + np.ceil(largest / step) + 1) * step
    truth = np.arange(largest + 1)
    chance = np.exp(law.log_likelihood(released[:, None], truth.astype(np.float64)))
    name = words["law"].replace("_", " ").replace("laplace", "Laplace").replace("gaussian", "Gaussian")
    name += "".join(f", {key} {value:g}" for key, value in words.items() if key != "law")
    frames = []
    for kind in INTERVALS:
        lower, upper = _ends(kind, released, law, level)
        inside = (lower[:, None] <= truth) & (truth <= upper[:, None])
        columns = {"truth": truth, "coverage": (chance * inside).sum(axis=0), "width": (upper - lower) @ chance}
        frames.append(pd.DataFrame(columns).assign(noise=name, interval=kind))
    frame = pd.concat(frames, ignore_index=True)
    return frame[["noise", "truth", "interval", "coverage", "width"]]


def _ends(kind: str, released: NDArray[np.float64], law: Any, level: float) -> NDArray[np.float64]:
    """Return the lower and upper limits of the intervals for an array of released values, as an array of shape
    (2, n).
    """
    release = Release(released, mechanism=law)
    if kind == "confidence":
        return confidence(release).counts.interval(level).to_numpy().T
    prior = "1/(1+n)" if "default" in kind else "flat"
    return posterior(release, prior=prior).counts.interval(level).to_numpy().T


def figure(table: pd.DataFrame) -> Figure:
    """Plot the coverage of the intervals against the true count, with one panel per noise distribution. The curve of
    the confidence intervals is above the others.
    """
    names = list(dict.fromkeys(table["noise"]))
    drawn = Figure(figsize=(DOUBLE, 0.8 + 1.5 * len(names)))
    panels = drawn.subplots(len(names), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, name in zip(panels, names, strict=True):
        for place, (colour, marker, kind) in enumerate(zip(CYCLE, MARKERS, INTERVALS, strict=False)):
            rows = table[(table["noise"] == name) & (table["interval"] == kind)]
            width, above = (1.4, 4) if place == 0 else (0.8, 3 - place / 10)
            axes.plot(
                rows["truth"], rows["coverage"], color=colour, marker=marker, ms=3, lw=width, zorder=above, label=kind
            )
        axes.axhline(table["level"].iloc[0], color=GREY, ls="--", lw=0.8, zorder=0, label="nominal level")
        axes.set_title(name, fontsize="small")
        axes.set_ylabel("coverage")
    panels[-1].set_xlabel("true count")
    handles, labels = panels[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=4)
    letters(panels)
    return drawn


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table for the documentation, with one row per noise distribution and kind of interval."""
    rows = []
    for (noise, kind), part in table.groupby(["noise", "interval"], sort=False):
        widths = part.set_index("truth")["width"]
        mean_widths = [float(widths[count].round(1)) for count in (0, 15, 60) if count in widths.index]
        rows.append(
            (noise, kind, round(float(part["coverage"].min()), 3), " / ".join(f"{one:g}" for one in mean_widths))
        )
    return pd.DataFrame(rows, columns=["noise", "interval", "least coverage", "mean width at 0 / 15 / 60"])
