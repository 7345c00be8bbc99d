"""Estimate rates of sudden infant deaths in North Carolina, and the slope of a regression of these rates, from
unprotected and from protected counts.

The data are from Cressie, N., Read, T. R. C. (1985). Do sudden infant deaths come in clusters? Statistics and
Decisions, Supplement 2, 333-349, as distributed with libpysal. They are read from the wheel of libpysal and are not
copied.
"""

import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import rankdata

from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.regression import Regression
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.exact import Exact
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._seeding import stream

from ..style import CYCLE, DOUBLE, GREY, MARKERS, letters

Array = NDArray[np.float64]
METHODS = ("exact likelihood", "protection ignored")
UNPROTECTED = "unprotected"
_PART = "sids2/sids2.dbf"
_WITHHELD = 5.0  # value that replaces a withheld count in the analysis that ignores the protection
_Z = 1.959964


def table(
    root_seed: int, *, wheel: str, version: str, releases: int, protections: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Return the estimated slopes for each protection and method, and measures of the agreement between the estimated
    rates and the rates from unprotected counts.

    Parameters
    ----------
    root_seed : root seed of all streams.
    wheel : path of a wheel of libpysal; if it is empty, pip downloads the wheel.
    version : version of libpysal to download.
    releases : number of simulated releases for each random protection.
    protections : dictionary from names to the noise, as in the settings of a scenario.

    Returns
    -------
    DataFrame
        The columns are protection, method (`METHODS`), releases, slope and se (means over the releases), slope_sd
        (standard deviation over the releases), rank_correlation (with the rates from the unprotected counts) and inside
        (the proportion of the rates from the unprotected counts that are in the 95 % intervals).
    """
    deaths, births, x = counties(wheel, version)
    slope, se, rates, _, _ = analysed(deaths, Exact(), births, x)
    rows = [(UNPROTECTED, METHODS[0], 1, slope, se, 0.0, 1.0, 1.0)]
    for name, noise in protections.items():
        law = law_of(dict(noise))
        size = 1 if noise["law"] == "exact" else releases
        estimates: dict[str, list[list[float]]] = {method: [] for method in METHODS}
        for i in range(size):
            rng = stream(root_seed, "studies", "sids", name, str(i))
            released = np.asarray(law.sample(deaths.astype(np.int64), rng=rng), dtype=np.float64)
            ignored = np.round(np.maximum(np.where(np.isnan(released), _WITHHELD, released), 0.0))
            cases_of_methods: list[tuple[Any, Any]] = [(released, law), (ignored, Exact())]
            for method, (values, mechanism) in zip(METHODS, cases_of_methods, strict=True):
                one, error, mean, lower, upper = analysed(values, mechanism, births, x)
                inside = float(((lower <= rates) & (rates <= upper)).mean())
                correlation = float(np.corrcoef(rankdata(mean), rankdata(rates))[0, 1])
                estimates[method].append([one, error, correlation, inside])
        for method, listed in estimates.items():
            numbers = np.array(listed)
            mean_of, spread = numbers.mean(axis=0), float(numbers[:, 0].std())
            rows.append((name, method, size, mean_of[0], mean_of[1], spread, mean_of[2], mean_of[3]))
    names = ["protection", "method", "releases", "slope", "se", "slope_sd", "rank_correlation", "inside"]
    return pd.DataFrame(rows, columns=names)


def analysed(released: Array, law: Any, births: Array, x: Array) -> tuple[float, float, Array, Array, Array]:
    """Return the estimated slope with its standard deviation, and the estimated rates per 1000 births with their
    interval limits.
    """
    inferred = posterior(Release(released, mechanism=law), prior=Regression(births / 1000, {"x": x}))
    slope, rates = inferred.parameters["slope of x"], inferred.rates.numbers(0.95)
    return slope.mean(), slope.sd(), rates.mean, rates.lower, rates.upper


def counties(wheel: str, version: str) -> tuple[Array, Array, Array]:
    """Return the numbers of deaths and births in each county, and the standardised proportion of non-white births.

    Parameters
    ----------
    wheel : path of a wheel of libpysal; if it is empty, pip downloads the wheel.
    version : version of libpysal to download.

    Returns
    -------
    (deaths, births, x)
        float64 (counties,).

    Raises
    ------
    ValueError
        If the wheel does not contain the table.
    """
    if not wheel:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", f"libpysal=={version}", "-d", folder]
            subprocess.run(command, check=True)
            return counties(str(next(Path(folder).glob("*.whl"))), version)
    with zipfile.ZipFile(wheel) as packed:
        inside = [name for name in packed.namelist() if name.endswith(_PART)]
        if not inside:
            raise ValueError(f"{wheel} does not contain {_PART}: use a wheel of libpysal {version}")
        rows = dbf(packed.read(inside[0]))
    deaths, births, others = (np.array([float(row[key]) for row in rows]) for key in ("SID74", "BIR74", "NWBIR74"))
    share = others / births
    return deaths, births, (share - share.mean()) / share.std()


def dbf(data: bytes) -> list[dict[str, str]]:
    """Return the rows of a dBASE table, with all values as strings.

    Parameters
    ----------
    data : content of the file. It begins with a header of 32 bytes, which contains the number of rows, the length of
        the header and the length of a row. Then follow 32 bytes per column, with its name and width, up to a byte 13,
        and finally the rows, each preceded by one byte.
    """
    count, header, width = struct.unpack("<4xIHH20x", data[:32])
    columns, place = [], 32
    while data[place] != 13:
        columns.append((data[place : place + 11].split(b"\0")[0].decode("ascii"), data[place + 16]))
        place += 32
    rows = []
    for i in range(count):
        offset, row = header + i * width + 1, {}
        for name, size in columns:
            row[name] = data[offset : offset + size].decode("latin-1").strip()
            offset += size
        rows.append(row)
    return rows


def figure(table: pd.DataFrame) -> Figure:
    """Plot the estimated slopes with their 95 % intervals on the left, and the rank correlations of the rates on the
    right.
    """
    cases = list(dict.fromkeys(table["protection"]))
    drawn = Figure(figsize=(DOUBLE, 0.9 + 0.4 * len(cases)))
    axes = drawn.subplots(1, 2, sharey=True)
    for i, method in enumerate(METHODS):
        rows = table[table["method"] == method]
        place = rows["protection"].map({name: j for j, name in enumerate(cases)}) + 0.2 * (i - 0.5)
        look = {"fmt": MARKERS[i], "color": CYCLE[i], "ms": 4, "lw": 1.2}
        axes[0].errorbar(rows["slope"], place, xerr=_Z * rows["se"], label=method, **look)
        axes[1].plot(rows["rank_correlation"], place, MARKERS[i], color=CYCLE[i], ms=4)
    axes[0].axvline(table.loc[table["protection"] == UNPROTECTED, "slope"].iloc[0], color=GREY, ls="--", lw=0.8)
    axes[0].set(xlabel="slope", yticks=range(len(cases)), yticklabels=cases)
    axes[1].set_xlabel("rank correlation of the rates")
    axes[0].invert_yaxis()
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    letters(axes)
    return drawn
