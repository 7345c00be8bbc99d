"""Axes of the histograms: their levels, and the binnings that measurements and constraints refer to.

Order and names of levels, binnings and files follow the Census Bureau's published Disclosure Avoidance System (2020
Redistricting and DHC production code).
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bins = tuple[tuple[int, ...], ...]
Mask = NDArray[np.bool_]
WHOLE, SINGLE = "*", "detailed"  # binnings: summed over the axis; every level separately


@dataclass(frozen=True)
class Axis:
    """Axis of a histogram, with its levels and binnings.

    Parameters
    ----------
    name : column of the axis in the files.
    levels : names of the levels, in their order.
    binnings : name in the files -> the levels of each bin; some binnings cover only part of the axis.
    groups : name that a user may give -> levels.
    """

    name: str
    levels: tuple[str, ...]
    binnings: dict[str, Bins]
    groups: dict[str, tuple[int, ...]]

    @cached_property
    def all_binnings(self) -> dict[str, Bins]:
        """Return all binnings of the axis: the named ones, the two that every axis has, and one per level under the
        name of the level.
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
        found = np.zeros(len(self.levels), dtype=bool)
        for name in wanted if isinstance(wanted, list | tuple) else [wanted]:
            if str(name) in self.levels:
                found[self.levels.index(str(name))] = True
            elif str(name) in self.groups:
                found[list(self.groups[str(name)])] = True
            else:
                some = [*self.levels[:10], *([".."] if len(self.levels) > 10 else []), *self.groups]
                raise ValueError(f"{self.name}: unknown level {name!r}; choose from {', '.join(some)}")
        if not found.any():
            raise ValueError(f"{self.name}: name at least one level")
        return found


def _axis(
    name: str, levels: tuple[str, ...], binnings: dict[str, Bins] | None = None, groups: dict[str, Any] | None = None
) -> Axis:
    return Axis(name, levels, binnings or {}, {key: tuple(value) for key, value in (groups or {}).items()})


def _spans(*starts: int, end: int) -> Bins:
    """Build bins of consecutive levels from the first level of every bin."""
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
_FORBIDDEN = {  # ages that a relation or a type of group quarters never has
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
