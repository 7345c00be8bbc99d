"""Accuracy of the counts of a synthetic nation at each geographic level, computed from the Parquet files of its states.
Each file is written by one job, and all files are read by row group.

The states are synthetic, but they have the size of the states of a real nation. Each state has a tree, true counts, and
noisy counts with the noise scales of a census release. The population of each state in 2020 and its number of counties
are published (``nation.tsv``). The numbers of tracts, block groups and populated blocks are published for the nation.
For a state, they are approximated in proportion to its population (small states in fact have more blocks per person).
The records are drawn at random.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import ndtri

from dpmultinomial._mechanisms.exact import Exact
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._mechanisms.noise_law import LawByRow, NoiseLaw
from dpmultinomial._posteriors.trees.measurements import Measurements
from dpmultinomial._posteriors.trees.tree import Tree
from dpmultinomial._posteriors.trees.tree_posterior import infer
from dpmultinomial._seeding import stream

from ..style import CYCLE, DOUBLE, GREY, MARKERS, letters, log_scale
from .coverage import METHODS, answers


def part(root_seed: int, name: str, path: Path, **settings: Any) -> None:
    """Write the Parquet file for one state of the synthetic nation.

    Parameters
    ----------
    root_seed : root seed of all streams.
    name : abbreviation of a state with two letters.
    path : output file.
    **settings : settings of the study.
    """
    write(name, path, root_seed=root_seed, **settings)


def table(
    root_seed: int,
    *,
    parts: Sequence[Path],
    scale: float,
    sigmas: Mapping[str, float],
    level: float,
    deepest: str,
) -> pd.DataFrame:
    """Return the root mean square error of the estimates, and the coverage and the width of the intervals, for the
    counts of a synthetic nation, by level and method.

    Parameters
    ----------
    root_seed : not used, because all random draws are made in the parts.
    parts : files of the states.
    scale, sigmas, level, deepest : settings of the study (see `write`).

    Returns
    -------
    DataFrame
        The columns are ``COLUMNS``, and the level of the intervals.
    """
    frame = accuracy(parts)
    frame["interval"] = level
    return frame


def figure(table: pd.DataFrame) -> Figure:
    """Plot the root mean square error of estimates and the coverage of intervals by level of the tree, with one line
    per method.
    """
    figure_drawn = Figure(figsize=(DOUBLE, 2.6))
    panels = figure_drawn.subplots(1, 2)
    levels = list(dict.fromkeys(table["level"]))[1:]  # the count of the state is known exactly, so the state is omitted
    for i, (method, method_rows) in enumerate(table.groupby("method", sort=False)):
        rows = method_rows.set_index("level").loc[levels]
        look: dict[str, Any] = {"color": CYCLE[i], "marker": MARKERS[i], "lw": 0.8, "label": method}
        for panel, column in zip(panels, ("rmse", "coverage"), strict=True):
            panel.plot(np.arange(len(levels)) + 0.06 * (i - 1), rows[column], **look)
    log_scale(panels[0], "y")
    panels[0].set_ylabel("root mean square error")
    panels[1].set_ylabel("coverage")
    panels[1].axhline(table["interval"].iloc[0], color=GREY, ls="--", lw=0.8, zorder=0)
    for panel in panels:
        panel.set_xticks(range(len(levels)), levels)
    handles, labels = panels[0].get_legend_handles_labels()
    figure_drawn.legend(handles, labels, loc="outside lower center", ncols=3)
    letters(panels)
    return figure_drawn


Whole = NDArray[np.int64]
LEVELS = ("state", "county", "tract", "block group", "block")
# numbers in 2020; only populated blocks are counted
NATION = {"tract": 84_414, "block group": 239_780, "block": 5_769_942}
STATES = Path(__file__).with_name("nation.tsv")
CLUSTERED = 4.0  # shape of the gamma distribution of the relative populations of tracts
UNEQUAL = 0.9  # shape of the gamma distribution of the relative populations of blocks within a block group


class State(NamedTuple):
    """State of the synthetic nation, which consists of a tree of nodes, true counts and measurements.

    Parameters
    ----------
    tree : tree of its nodes.
    truth : int64 (n,), true counts; the count of the root is the published population if scale is 1.
    measured : measured counts, exact for the root and with noise for all other nodes.
    """

    tree: Tree
    truth: Whole
    measured: Measurements


def sizes(state: str, scale: float) -> tuple[int, int, int, int, int]:
    """Return the numbers of counties, tracts, block groups, populated blocks and people in one state of the synthetic
    nation.

    Parameters
    ----------
    state : abbreviation of a state with two letters.
    scale : size relative to the nation, in (0, 1]. Each number is at least 1 and at least the number of the level
        above.

    Returns
    -------
    (counties, tracts, block groups, blocks, people)
    """
    every = pd.read_csv(STATES, sep="\t").set_index("state")
    people, own_counties = (int(every[name].to_dict()[state]) for name in ("population", "counties"))
    share = people / int(every["population"].sum())
    numbers = [max(round(own_counties * scale), 1)]
    for level in LEVELS[2:]:
        numbers.append(max(round(NATION[level] * share * scale), numbers[-1]))
    counties, tracts, groups, blocks = numbers
    return counties, tracts, groups, blocks, max(round(people * scale), 1)


def drawn(state: str, *, scale: float, sigmas: dict[str, float], rng: np.random.Generator) -> State:
    """Generate a synthetic state with true counts and noisy measurements.

    Parameters
    ----------
    state : abbreviation of a state with two letters.
    scale : size relative to the nation, in (0, 1].
    sigmas : dictionary from each level below the state to the parameter of its discrete Gaussian noise.
    rng : numpy Generator.

    Returns
    -------
    State
    """
    counties, tracts, groups, blocks, people = sizes(state, scale)
    county = _above(tracts, counties, 0.7, rng)
    tract, group = _above(groups, tracts, 5.0, rng), _above(blocks, groups, 2.0, rng)
    starts = np.cumsum((0, 1, counties, tracts, groups))
    parents = [np.array([-1]), np.zeros(counties, dtype=np.int64), starts[1] + county, starts[2] + tract]
    tree = Tree(np.concatenate([*parents, starts[3] + group]), levels=LEVELS)
    weight = rng.gamma(UNEQUAL, size=blocks) * rng.gamma(CLUSTERED, size=tracts)[tract[group]]
    leaves = np.zeros(len(tree), dtype=np.int64)
    leaves[starts[4] :] = rng.multinomial(people, weight / weight.sum())
    truth = tree.sums(leaves)
    laws: list[NoiseLaw] = [Exact(), *(DiscreteGaussian(sigma=sigmas[level]) for level in LEVELS[1:])]
    law = LawByRow(laws, tree.depth)
    return State(tree, truth, Measurements(tree, np.arange(len(tree)), law.sample(truth, rng=rng), law))


def _above(size: int, parents: int, shape: float, rng: np.random.Generator) -> Whole:
    """Draw a random parent for every node on one level of a tree. Each parent has at least one child, and the other
    children are allocated with gamma-distributed weights.
    """
    weights = rng.gamma(shape, size=parents)
    more = rng.choice(parents, size - parents, p=weights / weights.sum())
    return np.sort(np.concatenate([np.arange(parents), more]))


Array = NDArray[np.float64]
ROWS = 65_536  # number of rows of a row group
SCHEMA = pa.schema(
    [
        ("node", pa.int32()),
        ("parent", pa.int32()),
        ("level", pa.dictionary(pa.int8(), pa.string())),
        *((name, pa.int32()) for name in ("truth", "released")),
        *((name, pa.float64()) for name in ("least_squares", "least_squares_sd", "mean", "sd")),
        *((name, pa.int32()) for name in ("lower", "upper")),
    ]
)
COLUMNS = ("level", "method", "nodes", "rmse", "coverage", "width", "status", "error")


def write(
    state: str, path: Path, *, root_seed: int, scale: float, sigmas: Mapping[str, float], level: float, deepest: str
) -> None:
    """Generate one synthetic state with noisy measurements, and write the analysis of the measurements to a file. The
    file contains the results for all nodes down to a given level.

    Parameters
    ----------
    state : abbreviation of a state with two letters.
    path : output file.
    root_seed : root seed of all streams; the file depends only on the root seed and on the settings.
    scale : size relative to the nation, in (0, 1].
    sigmas : dictionary from each level below the state to the parameter of its noise.
    level : probability of the intervals.
    deepest : lowest level of the geography that is written; all measurements are used in any case.
    """
    state_drawn = drawn(state, scale=scale, sigmas=dict(sigmas), rng=stream(root_seed, "studies", "nation", state))
    tree, depth = state_drawn.tree, LEVELS.index(deepest)
    inferred = infer(state_drawn.measured, level=level, deepest=deepest)
    least = inferred.least_squares
    kept = np.flatnonzero(tree.depth <= depth)
    names = pa.DictionaryArray.from_arrays(pa.array(tree.depth[kept], pa.int8()), pa.array(LEVELS))
    columns = [kept, tree.parent[kept], names, state_drawn.truth[kept], state_drawn.measured.released[kept]]
    columns += [x[kept] for x in (least.estimate, least.sd, inferred.mean, inferred.sd, inferred.lower, inferred.upper)]
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(np.asarray(column).astype(field.type.to_pandas_dtype()))
        for column, field in zip(columns, SCHEMA, strict=True)
    ]
    facts = {
        "state": state,
        "status": inferred.accuracy.status,
        "error": repr(inferred.accuracy.error),
        "level": repr(level),
    }
    facts["synthetic"] = "counts and noise are drawn at random; no agency data"
    table = pa.Table.from_arrays(arrays, schema=SCHEMA.with_metadata(facts))
    pq.write_table(table, path, row_group_size=ROWS, compression="zstd")


def groups(path: Path, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield the row groups of the Parquet file of one state, as data frames.

    Parameters
    ----------
    path : file of the state.
    columns : columns to read.

    Yields
    ------
    DataFrame
    """
    with pq.ParquetFile(path) as file:
        for i in range(file.num_row_groups):
            yield file.read_row_group(i, columns=list(columns)).to_pandas()


def facts(path: Path) -> dict[str, str]:
    """Return the metadata that are stored in the file of a state: the state, the accuracy status, the error, and the
    level of the intervals.
    """
    metadata = pq.read_schema(path).metadata
    return {key.decode(): value.decode() for key, value in metadata.items() if not key.startswith(b"ARROW")}


def accuracy(paths: Sequence[Path]) -> pd.DataFrame:
    """Return the root mean square error of the estimates, and the coverage and the width of the intervals, by level and
    method, for all states together. The files are read one row group at a time.

    Parameters
    ----------
    paths : files of the states.

    Returns
    -------
    DataFrame The columns are `COLUMNS`. The error of the posterior is the largest error bound of all states.
    """
    sums: dict[tuple[str, str], Array] = {}
    states = [facts(path) for path in paths]
    z = float(ndtri((1 + float(states[0]["level"])) / 2))
    needed = ["level", "truth", "least_squares", "least_squares_sd", "mean", "lower", "upper"]
    for path in paths:
        for rows in groups(path, needed):
            for level, level_rows in rows.groupby("level", observed=True):
                for method, (estimate, low, high) in answers(level_rows, z).items():
                    truth = level_rows["truth"].to_numpy()
                    held = (low <= truth) & (truth <= high)
                    each = [len(level_rows), ((estimate - truth) ** 2).sum(), held.sum(), (high - low).sum()]
                    sums[str(level), method] = sums.get((str(level), method), np.zeros(4)) + each
    status = max((state["status"] for state in states), key=("exact", "approximate").index)
    error = max(float(state["error"]) for state in states)
    out: list[tuple[Any, ...]] = []
    for level in LEVELS:
        for method in METHODS:
            if (level, method) in sums:
                n, squares, held, width = sums[level, method].tolist()
                state = (status, error) if method == "posterior" else ("comparison", np.nan)
                out.append((level, method, int(n), (squares / n) ** 0.5, held / n, width / n, *state))
    return pd.DataFrame(out, columns=list(COLUMNS))


def largest(paths: Sequence[Path], level: str, top: int) -> pd.DataFrame:
    """Return the nodes with the largest expected counts at one geographic level of the synthetic nation. At most one
    row group is in memory at a time.

    Parameters
    ----------
    paths : files of the states.
    level : level of the nodes.
    top : number of nodes to return.

    Returns
    -------
    DataFrame
        The columns are state, node, mean, sd, lower and upper. The largest counts come first.
    """
    best = pd.DataFrame()
    for path in paths:
        for rows in groups(path, ["node", "level", "mean", "sd", "lower", "upper"]):
            level_rows = rows[rows["level"] == level].drop(columns="level")
            level_rows.insert(0, "state", facts(path)["state"])
            best = pd.concat([best, level_rows]).sort_values(["mean", "state"], ascending=[False, True]).head(top)
    return best.reset_index(drop=True)
