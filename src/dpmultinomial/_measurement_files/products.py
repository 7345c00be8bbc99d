"""Products of the noisy measurement files: their files, the axes of their histograms, and the levels of the geographic
spine at which each histogram was measured. Each axis has levels and the binnings that measurements and constraints use.

Order and names of levels, binnings and files follow the Census Bureau's published Disclosure Avoidance System (2020
Redistricting and DHC production code).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import places

Bins = tuple[tuple[int, ...], ...]
Mask = NDArray[np.bool_]
WHOLE, SINGLE = "*", "detailed"  # binnings: all levels summed; every level separate


@dataclass(frozen=True)
class Axis:
    """Axis of a histogram, with the levels and the binnings of the axis.

    Parameters
    ----------
    name : column of the axis in the files.
    levels : names of the levels, in the order of the files.
    binnings : mapping from names in the files to the levels of each bin; some binnings cover only part of the axis.
    groups : mapping from names that a user may pass to levels.
    """

    name: str
    levels: tuple[str, ...]
    binnings: dict[str, Bins]
    groups: dict[str, tuple[int, ...]]

    @cached_property
    def all_binnings(self) -> dict[str, Bins]:
        """Return all binnings of the axis: the named binnings, the two binnings that every axis has, and one binning
        per level with the name of the level.
        """
        every = tuple(range(len(self.levels)))
        single = tuple((i,) for i in every)
        return {WHOLE: (every,), SINGLE: single, self.name: single, **self.binnings}

    def mask(self, wanted: Any) -> Mask:
        """Return a boolean mask of the levels that a user selects.

        Parameters
        ----------
        wanted : name of a level or group, or a list of them.

        Raises
        ------
        ValueError
            If a level or group is unknown; the message lists the names.
        """
        selected = np.zeros(len(self.levels), dtype=bool)
        for name in wanted if isinstance(wanted, list | tuple) else [wanted]:
            if str(name) in self.levels:
                selected[self.levels.index(str(name))] = True
            elif str(name) in self.groups:
                selected[list(self.groups[str(name)])] = True
            else:
                choices = [*self.levels[:10], *([".."] if len(self.levels) > 10 else []), *self.groups]
                raise ValueError(f"{self.name}: the level {name!r} is not known: choose from {', '.join(choices)}")
        if not selected.any():
            raise ValueError(
                f"at least one level must be given for {self.name}, got none: choose from {', '.join(self.levels[:10])}"
            )
        return selected


def _axis(
    name: str, levels: tuple[str, ...], binnings: dict[str, Bins] | None = None, groups: dict[str, Any] | None = None
) -> Axis:
    return Axis(name, levels, binnings or {}, {key: tuple(value) for key, value in (groups or {}).items()})


def _spans(*starts: int, end: int) -> Bins:
    """Build bins of consecutive levels, given the first level of every bin."""
    return tuple(tuple(range(a, b)) for a, b in zip(starts, [*starts[1:], end], strict=True))


_RACES = ("white", "black", "aian", "asian", "nhopi", "sor")
_COMBINED = tuple("-".join(some) for size in range(1, 7) for some in combinations(_RACES, size))
CENRACE = _axis(
    "cenrace",
    _COMBINED,
    groups={
        "two or more races": range(6, 63),
        **{f"{race} in combination": [i for i, n in enumerate(_COMBINED) if race in n.split("-")] for race in _RACES},
    },
)
HISPANIC = _axis("hispanic", ("not hispanic", "hispanic"))
VOTINGAGE = _axis("votingage", ("nonvoting", "voting"), {"nonvoting": ((0,),), "voting": ((1,),)})
_QUARTERS = (
    "correctional", "juvenile", "nursing", "other institutional", "college", "military", "other noninstitutional",
)  # fmt: skip
_INSTITUTIONS = {"institutional": range(1, 5), "noninstitutional": range(5, 8), "group quarters": range(1, 8)}
HHGQ = _axis(
    "hhgq",
    ("household", *_QUARTERS),
    {"hhinstlevels": _spans(0, 1, 5, end=8), "gqNursingTotal": ((3,),)},
    _INSTITUTIONS,
)
H1 = _axis("h1", ("vacant", "occupied"))
SEX = _axis("sex", ("male", "female"))

# 18 relationships to the householder, then 24 types of group quarters in the order of their codes 101 .. 997
_RELATIONS = (
    "householder alone", "householder not alone", "opposite-sex spouse", "opposite-sex partner", "same-sex spouse",
    "same-sex partner", "biological child", "adopted child", "stepchild", "sibling", "parent", "grandchild",
    "parent-in-law", "child-in-law", "other relative", "roommate", "foster child", "other nonrelative",
)  # fmt: skip
_TYPES = (101, 102, 103, 104, 105, 106, 201, 202, 203, 301, 401, 402, 403, 404, 405, 501, 601, 602, 701, 801, 802, 900,
          901, 997)  # fmt: skip
_MAJOR = _spans(18, 24, 27, 28, 33, 34, 36, end=42)
_EACH = tuple((i,) for i in range(18))
RELGQ = _axis(
    "relgq",
    (*_RELATIONS, *(f"GQ {code}" for code in _TYPES)),
    {
        "relgq_4_groups": _spans(0, 2, 18, 33, end=42),
        "popSehsdTargetsRelship": (*_EACH, tuple(range(18, 42))),
        "relship_and_eight_level_GQ": (*_EACH, *_MAJOR),
        "gq_constr_groups": (
            tuple(range(18)), (32,), tuple(range(18, 23)), (33, 37, 38, 39, 40, 41), (23, 31, 34, 35),
            (24, 25, 26, 27, 28, 29, 30, 36),
        ),
        "gqlevels": (tuple(range(18)), *((i,) for i in range(18, 42))),
        "hhgq8lev": (tuple(range(18)), *_MAJOR),
        **{f"relgq{i}": ((i,),) for i in range(42)},
    },
    {
        "household": range(18), "householder": (0, 1), "group quarters": range(18, 42),
        **dict(zip(_QUARTERS, _MAJOR, strict=True)), "institutional": range(18, 33), "noninstitutional": range(33, 42),
    },
)  # fmt: skip
_OLDER = (18, 20, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85, 90, 95, 100, 105, 110)
_FORBIDDEN = {  # ages that do not occur for a relationship or a type of group quarters
    "age_lessthan15": (15, 116), "age_lessthan20": (20, 116), "age_lessthan30": (30, 116), "age_lt16": (16, 116),
    "age_greaterthan25": (0, 26), "age_greaterthan89": (0, 90), "age_gt20": (0, 21), "age_gt74": (0, 75),
    "age_lt15_gt89": (15, 90), "age_lt16_gt75": (16, 76), "age_lt16gt65": (16, 66), "age_lt17gt65": (17, 66),
    "age_lt3_gt30": (3, 31),
}  # fmt: skip
AGE = _axis(
    "age",
    tuple(str(year) for year in range(116)),
    {
        "age_18_64_116": _spans(0, 18, 65, end=116),
        "age_10_groups": _spans(0, 3, 15, 16, 17, 18, 20, 25, 30, 35, end=116),
        "age_38_groups": _spans(*range(16), *_OLDER, end=116),
        "age_40_groups": _spans(*range(18), *_OLDER, end=116),
        "votingage": _spans(0, 18, end=116),
        **{name: (tuple(y for y in range(116) if not a <= y < b),) for name, (a, b) in _FORBIDDEN.items()},
    },
    {"0-17": range(18), "18-64": range(18, 65), "65+": range(65, 116), "voting": range(18, 116)},
)


DPQUERY, CONSTRAINT = "DPQuery", "Constraint"
STATES = {
    "AL": 1, "AK": 2, "AZ": 4, "AR": 5, "CA": 6, "CO": 8, "CT": 9, "DE": 10, "DC": 11, "FL": 12, "GA": 13, "HI": 15,
    "ID": 16, "IL": 17, "IN": 18, "IA": 19, "KS": 20, "KY": 21, "LA": 22, "ME": 23, "MD": 24, "MA": 25, "MI": 26,
    "MN": 27, "MS": 28, "MO": 29, "MT": 30, "NE": 31, "NV": 32, "NH": 33, "NJ": 34, "NM": 35, "NY": 36, "NC": 37,
    "ND": 38, "OH": 39, "OK": 40, "OR": 41, "PA": 42, "RI": 44, "SC": 45, "SD": 46, "TN": 47, "TX": 48, "UT": 49,
    "VT": 50, "VA": 51, "WA": 53, "WV": 54, "WI": 55, "WY": 56, "PR": 72,
}  # fmt: skip
_SPINE = ("State", "County", "Tract", "Block_Group", "Block")
_DHC_SPINE = ("State", "County", "Prim", "Tract_Subset_Group", "Tract_Subset", "Block_Group", "Block")
# number of GEOID digits of tabulation geographies
GEOID_DIGITS = {"State": 2, "County": 5, "Tract": 11, "Block_Group": 12, "Block": 15}


@dataclass(frozen=True)
class Product:
    """Histogram that was measured at the nodes of a geographic spine.

    Parameters
    ----------
    product, table : names that a user passes.
    ending : end of the name of the product's folder, after ``US_`` or ``PR_``.
    axes : axes in the order of the histogram.
    spine : levels below the nation, the state's first.
    """

    product: str
    table: str
    ending: str
    axes: tuple[Axis, ...]
    spine: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the histogram."""
        return tuple(len(axis.levels) for axis in self.axes)

    def knows(self, specs: tuple[str, ...]) -> bool:
        """Return whether every binning of a query is defined for the corresponding axis of the histogram."""
        return all(spec in axis.all_binnings for axis, spec in zip(self.axes, specs, strict=True))

    def query_shape(self, specs: tuple[str, ...]) -> tuple[int, ...]:
        """Return the number of cells along each axis of a query. The binnings of the query must be known."""
        return tuple(len(axis.all_binnings[spec]) for axis, spec in zip(self.axes, specs, strict=True))

    def name(self, specs: tuple[str, ...]) -> str:
        """Return the name of the query with given binnings. Examples are ``total``, ``votingage*hispanic`` and
        ``detailed``.
        """
        if set(specs) == {SINGLE}:
            return SINGLE
        return "*".join(spec for spec in specs if spec != WHOLE) or "total"

    def specs(self, name: str) -> tuple[str, ...]:
        """Return the binnings of a query, parsed from its `name`. ValueError is raised if a part of the name is not a
        binning.
        """
        if name == SINGLE:
            return (SINGLE,) * len(self.axes)
        parts = [] if name == "total" else name.split("*")
        binnings = tuple(next((p for p in parts if p in axis.all_binnings), WHOLE) for axis in self.axes)
        if lost := set(parts) - set(binnings):
            raise ValueError(
                f"the query {name} must contain only binnings of {self.product} {self.table}, got "
                f"{', '.join(sorted(lost))}"
            )
        return binnings


_PEOPLE = (HHGQ, VOTINGAGE, HISPANIC, CENRACE)
PRODUCTS = {
    (p.product, p.table): p
    for p in (
        Product("pl94", "person", "Person_PL_PROD", _PEOPLE, _SPINE),
        Product("pl94", "unit", "Unit_PL_PROD", (H1,), _SPINE),
        Product("dhc", "person", "DHCP_PROD", (RELGQ, SEX, AGE, HISPANIC, CENRACE), _DHC_SPINE),
    )
}
_ELSEWHERE = {"sex": "dhc person", "age": "dhc person", "relgq": "dhc person", "hhgq": "pl94 person",
              "votingage": "pl94 person", "h1": "pl94 unit", "cenrace": "pl94 person and dhc person",
              "hispanic": "pl94 person and dhc person"}  # fmt: skip


def product_of(product: str, table: str) -> Product:
    """Return the data product with the given product name and table name.

    Raises
    ------
    ValueError
        If there is no such product.
    """
    match = PRODUCTS.get((product, table))
    if match is None:
        known = ", ".join(f"{p} with table {t}" for p, t in PRODUCTS)
        raise ValueError(
            f"the product {product} with the table {table} is not supported. The supported products are {known}"
        )
    return match


def masks(product: Product, cell: dict[str, object]) -> tuple[Mask, ...]:
    """Return a boolean mask for each axis of the histogram, which selects the levels of a given cell.

    Parameters
    ----------
    product : product with the histogram.
    cell : mapping from axes to a level, a group, or a list of them; the cell is summed over axes that are not in the
        mapping.

    Raises
    ------
    ValueError
        If the product does not have such an axis or level; the message names the product that does.
    """
    names = [axis.name for axis in product.axes]
    for name in cell:
        if name not in names:
            other = f" but of {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
            raise ValueError(
                f"{name!r} is not an axis of {product.product} {product.table}{other}. The available axes are "
                + ", ".join(names)
            )
    return tuple(axis.mask(cell.get(axis.name, list(axis.levels))) for axis in product.axes)


def state_number(state: str) -> int:
    """Return the FIPS code of a state, given the postal abbreviation of the state or the digits of the code. Raise
    ValueError if the state is unknown.
    """
    text = str(state).strip().upper()
    if text in STATES:
        return STATES[text]
    if text.isascii() and text.isdigit() and int(text) in STATES.values():
        return int(text)
    raise ValueError(f"state must be two letters, such as VT, or the two digits of the FIPS code, got {state!r}")


def cells_of(shape: tuple[int, ...]) -> int:
    """Return the number of cells of a query."""
    return prod(shape)


def data_folder(folder: Path, product: Product, state: int) -> Path:
    """Return the folder that contains the data of a product, given the folder that the user specified.

    Parameters
    ----------
    folder : the folder that the user names, or the folder of the product.
    product : product of the files.
    state : FIPS code.

    Returns
    -------
    Path : folder of the product.

    Raises
    ------
    ValueError
        If the folder does not exist; the message lists the existing folders.
    """
    name = f"{'PR' if state == STATES['PR'] else 'US'}_{product.ending}"
    if folder.name == name:
        return folder
    if not (folder / name).is_dir():
        there = sorted(path.name for path in folder.glob("*_PROD")) if folder.is_dir() else []
        have = f"The folder contains {', '.join(there)}" if there else "The folder contains no noisy measurements"
        raise ValueError(
            f"{str(folder)!r} does not contain {name}, the folder of {product.product} {product.table}. {have}"
        )
    return folder / name


def levels_there(data: Path, product: Product, state: int) -> dict[str, list[Path]]:
    """Return the existing folders of a state for each geographic level, in both branches of the spine.

    Parameters
    ----------
    data : folder of the product.
    product : product with the levels.
    state : FIPS code.

    Returns
    -------
    dict : mapping from levels to folders; levels without folders are omitted.

    Raises
    ------
    ValueError
        If there are no folders; the message lists the available states.
    """
    folders: dict[str, list[Path]] = {}
    others: set[str] = set()
    for level in product.spine:
        for kind in (DPQUERY, CONSTRAINT):
            for path in sorted((data / f"{level}.parquet" / kind).glob("State=*")):
                code = path.name.removeprefix("State=")
                if code.isascii() and code.isdigit() and int(code) % 100 == state and int(code) < 200:
                    folders.setdefault(level, []).append(path)
                else:
                    others.add(code)
    if not folders:
        have = (
            f"The folder contains State={', State='.join(sorted(others)[:20])}"
            if others
            else "The folder contains no folder State=.."
        )
        raise ValueError(f"{str(data)!r} contains no files for the state {state:02d}. {have}")
    return folders


def parts(folders: Iterable[Path], kind: str) -> list[Path]:
    """Return the Parquet files of one kind (``DPQuery`` or ``Constraint``) in the folders of a state, including the
    separate files of counties.

    Parameters
    ----------
    folders : folders of a state at one level.
    kind : ``DPQuery`` or ``Constraint``.

    Raises
    ------
    ValueError
        If a path resolves to a confidential file, or there are no files.
    """
    files = [path for folder in folders if folder.parent.name == kind for path in sorted(folder.rglob("*.parquet"))]
    for path in files:
        if not places.public(path).is_file():
            raise ValueError(
                f"{str(path)!r} must be a file, got a folder or a broken link: move this folder or link to another "
                "folder"
            )
    return files
