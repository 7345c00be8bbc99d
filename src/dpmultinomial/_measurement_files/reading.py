"""Reader of a folder of noisy measurement files in the layout of the Census Bureau. The reader returns measurements on
a tree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._mechanisms.exact import Exact
from .._mechanisms.gaussian import DiscreteGaussian, Gaussian
from .._mechanisms.noise_law import LawByRow, NoiseLaw
from .._posteriors.trees.measurements import Measurements
from .._posteriors.trees.tree import Tree
from . import levels as one_level
from . import products
from .files import Spine, says_synthetic, spine_of
from .levels import Level
from .products import DPQUERY, parts

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MeasuredCell:
    """Measurements of one histogram cell at all nodes of the geographic spine of a state.

    Parameters
    ----------
    spine : nodes of the state.
    levels : mapping from levels to the measurements in their files.
    state : FIPS code.
    total : exact count of the whole state if the count is public; None if it is not known.
    synthetic : whether the files are marked as synthetic.
    bounds : further lower and upper bounds, float64 (n,) each, of all nodes.
    """

    spine: Spine
    levels: Mapping[str, Level]
    state: int
    total: int | None = None
    synthetic: bool = False
    bounds: tuple[Array, Array] | None = None

    @cached_property
    def whole(self) -> Level:
        """Measurements of all levels in one object, in the order of the nodes of the spine."""
        size = len(self.spine.codes)
        parts = {
            "released": np.nan,
            "variance": np.inf,
            "alone": False,
            "error": 0.0,
            "lower": 0.0,
            "upper": np.inf,
            "slope": 0.0,
        }
        out: dict[str, Any] = {key: np.full(size, empty) for key, empty in parts.items()}
        for name, level in self.levels.items():
            rows = self.spine.rows(name)
            places = rows[0] + np.searchsorted(self.spine.codes[rows], level.codes)
            for key, values in out.items():
                values[places] = getattr(level, key)
        if self.total is not None:
            root = int(np.flatnonzero(self.spine.parent < 0)[0])
            out["lower"][root] = out["upper"][root] = self.total
        if self.bounds is not None:
            out["lower"] = np.maximum(out["lower"], self.bounds[0])
            out["upper"] = np.minimum(out["upper"], self.bounds[1])
        return Level(codes=self.spine.codes, **out)

    @cached_property
    def tree(self) -> Tree:
        """Tree of totals whose nodes are named by geocodes. The bounds on the totals come from the constraints."""
        whole = self.whole
        return Tree(
            self.spine.parent,
            names=self.spine.codes.tolist(),
            levels=self.spine.levels,
            lower=np.ceil(whole.lower - 1e-6),
            upper=np.floor(whole.upper + 1e-6),
        )

    @cached_property
    def measured(self) -> NDArray[np.int64]:
        """Positions of the nodes with a measurement."""
        return np.flatnonzero(np.isfinite(self.whole.variance))

    @cached_property
    def measurements(self) -> Measurements:
        """Released values with their noise distributions. The noise is discrete Gaussian for a single released number,
        and Gaussian for a combination of several numbers.
        """
        whole, rows = self.whole, self.measured
        form = np.where(whole.variance[rows] == 0, 2, np.where(whole.alone[rows], 1, 0))
        kinds, which = np.unique(np.stack([form, whole.variance[rows]]), axis=1, return_inverse=True)
        laws = [_law(int(kind), float(variance)) for kind, variance in kinds.T]
        values = np.where(form > 0, np.rint(whole.released[rows]), whole.released[rows])
        return Measurements(self.tree, rows, values, LawByRow(laws, np.asarray(which).ravel()))

    @property
    def error(self) -> float:
        """Upper bound on the error of any probability due to the Gaussian approximation of combined noise. The bound is
        the sum of the errors at all nodes.
        """
        return float(min(self.whole.error[self.measured].sum(), 1.0))


def _law(form: int, variance: float) -> NoiseLaw:
    if form == 2:
        return Exact()
    return DiscreteGaussian.published(variance) if form else Gaussian(sigma=float(np.sqrt(variance)))


def read(
    folder: str | Path,
    *,
    product: str,
    table: str,
    state: str,
    cell: Mapping[str, object] | None = None,
    query: str | None = None,
    total: int | None = None,
) -> MeasuredCell:
    """Read the measurements of one cell from the noisy measurement files of a state.

    Parameters
    ----------
    folder : folder that contains ``US_Person_PL_PROD`` or a similar folder, or this subfolder.
    product, table : ``pl94`` with ``person`` or ``unit``, ``dhc`` with ``person``.
    state : postal abbreviation (two letters) or FIPS code.
    cell : mapping from axes to a level, a group of levels or a list of them; empty for the total.
    query : name of the only query to use; None combines, in each node, all informative queries by least squares.
    total : public count of the cell in the whole state.

    Returns
    -------
    MeasuredCell

    Raises
    ------
    ValueError
        If the product does not have the axis, level or state, or a file breaks the layout.

    Notes
    -----
    Files are read in batches per row group; only a few sums per node are kept.
    """
    opened = _Folder(folder, product, table, state, cell)
    levels = {
        name: one_level.read(opened.histogram, paths, opened.masks, query) for name, paths in opened.levels.items()
    }
    return opened.measured(levels, total)


@dataclass(frozen=True)
class CellOfTotal:
    """Measurements of a cell of a histogram, of its complement, and of the total, at all nodes of a state.

    Parameters
    ----------
    cell : measurements of the cell, as from `read`.
    total : measurements of the total, with the bounds that follow from those of the cell and of the rest.
    rest : measurements of the total minus the cell.
    given : measurements of the cell given the total of the node, `released + slope * total`.
    """

    cell: MeasuredCell
    total: MeasuredCell
    rest: MeasuredCell
    given: MeasuredCell


def read_with_total(
    folder: str | Path,
    *,
    product: str,
    table: str,
    state: str,
    cell: Mapping[str, object],
    total: int | None = None,
) -> CellOfTotal | MeasuredCell:
    """Read the measurements of a histogram cell, of its complement and of the total in one pass over the files.

    Parameters
    ----------
    folder, product, table, state, cell, total : as in `read`; all informative queries are combined.

    Returns
    -------
    CellOfTotal, or a MeasuredCell if the cell is the total.
    """
    opened = _Folder(folder, product, table, state, cell)
    if not one_level.restricted(opened.masks):
        return read(folder, product=product, table=table, state=state, cell=cell, total=total)
    each = {
        name: one_level.read_with_total(opened.histogram, paths, opened.masks) for name, paths in opened.levels.items()
    }
    part, whole, rest, given = (
        opened.measured({name: level[kind] for name, level in each.items()}, total if kind == "cell" else None)
        for kind in ("cell", "total", "rest", "given")
    )
    bounds = part.whole.lower + rest.whole.lower, part.whole.upper + rest.whole.upper
    return CellOfTotal(part, replace(whole, bounds=bounds), rest, given)


class _Folder:
    """Measurement files of one state, grouped by level."""

    def __init__(
        self, folder: str | Path, product: str, table: str, state: str, cell: Mapping[str, object] | None
    ) -> None:
        self.histogram, self.number = products.product_of(product, table), products.state_number(state)
        self.cell = ", ".join(f"{axis}={level}" for axis, level in (cell or {}).items()) or "total"
        self.masks = products.masks(self.histogram, dict(cell or {}))
        self.data = products.data_folder(Path(folder), self.histogram, self.number)
        self.levels = products.levels_there(self.data, self.histogram, self.number)

    def measured(self, read: Mapping[str, Level], total: int | None) -> MeasuredCell:
        """Return the measurements of one count at all levels as a `MeasuredCell`.

        Raises
        ------
        ValueError
            If no level has a measurement.
        """
        levels = {name: level for name, level in read.items() if len(level.codes)}
        if not any(np.isfinite(level.variance).any() for level in levels.values()):
            where = f" at any of the levels {', '.join(levels)}" if levels else ""
            raise ValueError(
                f"{str(self.data)!r} contains no measurement of the cell {self.cell} in state {self.number:02d}{where}"
                ": choose a cell that was measured"
            )
        spine = spine_of({name: level.codes for name, level in levels.items()}, self.number)
        first = [path for name in levels for path in parts(self.levels[name], DPQUERY)[:1]]
        return MeasuredCell(spine, levels, self.number, total, any(says_synthetic(path) for path in first))
