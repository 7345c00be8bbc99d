"""Geographic spine: nodes and their parents from geocodes, and the nodes that make up a tabulation geography.

Codes of one level have one length, and a parent's code is a prefix of its children's codes. The spine has two branches
(outside and inside American Indian and Alaska Native areas, AIAN) and its own block groups. A county's code is the
branch (1 digit), the state (2), ``10``, the county (3) and at most a running number; other codes at the level of
counties are AIAN areas, which have no GEOID. Below counties, only a block's code holds a GEOID: its last 16 characters,
with the digit of the block group twice. A tabulated county, tract or block group is therefore a sum of nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .products import GEOID_DIGITS

Texts = NDArray[np.str_]
Whole = NDArray[np.int64]
_TAIL = 16  # characters of a block's code that hold its GEOID
TOP = "whole state"


@dataclass(frozen=True)
class Spine:
    """Nodes of one state, from the root down.

    Parameters
    ----------
    levels : names of the levels, one per distance from the root.
    codes : geocodes of all nodes, level by level, each sorted; that of a root that no file has is ``State SS``.
    parent : int64 (n,), position of each node's parent, -1 for the root.
    starts : first position of each level, and the end.
    """

    levels: tuple[str, ...]
    codes: Texts
    parent: Whole
    starts: tuple[int, ...]

    def rows(self, level: str) -> Whole:
        """Return the positions of the nodes on a level."""
        depth = self.levels.index(level)
        return np.arange(self.starts[depth], self.starts[depth + 1])

    @cached_property
    def blocks(self) -> Texts | None:
        """GEOIDs of the blocks, in the order of the last level; None if the spine has no blocks."""
        if self.levels[-1] != "Block":
            return None
        codes = self.codes[self.rows("Block")]
        length = len(str(codes[0]))
        tail = _cut(codes, length - _TAIL, length)
        doubled = _cut(tail, 11, 12) == _cut(tail, 12, 13)
        if not doubled.all():
            raise ValueError(
                f"{codes[~doubled][0]} is not the code of a block: characters 12 and 13 of its last 16 must both be "
                "the digit of the block group"
            )
        return np.char.add(_cut(tail, 0, 11), _cut(tail, 12, 16))

    def knows_geoids(self, level: str) -> bool:
        """Return whether the GEOIDs of a level can be derived from the geocodes; below counties, the blocks are
        required.
        """
        digits = GEOID_DIGITS.get(level)
        return digits is not None and (self.blocks is not None or digits <= GEOID_DIGITS["County"])

    def geoid(self, level: str, place: str) -> str:
        """Return the GEOID of a geographic unit in `places`; empty if the unit is a node without a GEOID."""
        return place if self.knows_geoids(level) and len(place) == GEOID_DIGITS[level] else ""

    def lacks_aian_parts(self, level: str) -> bool:
        """Return whether the counties of a level contain only their parts outside AIAN areas.

        Without the blocks, the AIAN areas of a state cannot be divided among its counties.
        """
        if level != "County" or self.blocks is not None or level not in self.levels:
            return False
        return any(not _county(str(code)) for code in self.codes[self.rows(level)])

    @property
    def tabulated(self) -> tuple[str, ...]:
        """Levels whose units can be named: the levels of the spine and, if the spine has blocks, all tabulation
        geographies.
        """
        more = tuple(level for level in GEOID_DIGITS if level not in self.levels) if self.blocks is not None else ()
        return self.levels + more

    def places(self, level: str) -> dict[str, list[int]]:
        """Return the nodes whose sum is each unit of a level, as a mapping from GEOID to as few positions as possible.

        Parameters
        ----------
        level : one of `tabulated`. A node without a GEOID (a level that exists only on the spine, an AIAN area, a tract
            if there are no blocks) is a separate place, named by its geocode.
        """
        if self.blocks is not None and level in GEOID_DIGITS:
            above = [self.levels.index(name) for name in GEOID_DIGITS if name in self.levels[: self._depth(level)]]
            depth = self._depth(level) if level in self.levels else max(above, default=0) + 1
            return self._covers(_cut(self.blocks, 0, GEOID_DIGITS[level]), depth)
        found: dict[str, list[int]] = {}
        for i in self.rows(level).tolist():
            code = str(self.codes[i])
            label = {"State": code[1:3], "County": _county(code)}.get(level, "")
            found.setdefault(label or code, []).append(i)
        return found

    def _depth(self, level: str) -> int:
        """Return the distance of a level from the root; for a level that is not in the spine, the distance of the next
        finer level.
        """
        if level in self.levels:
            return self.levels.index(level)
        finer = [name for name, digits in GEOID_DIGITS.items() if digits > GEOID_DIGITS[level] and name in self.levels]
        return min(map(self.levels.index, finer))

    def _covers(self, labels: Texts, depth: int) -> dict[str, list[int]]:
        """Return, for every label of blocks, the largest nodes (not above `depth`) whose blocks all have that label."""
        names, numbers = np.unique(labels, return_inverse=True)
        least, most = np.full(len(self.codes), len(names)), np.full(len(self.codes), -1)
        least[self.starts[-2] :] = most[self.starts[-2] :] = numbers
        for first, end in reversed(list(pairwise(self.starts[1:]))):
            np.minimum.at(least, self.parent[first:end], least[first:end])
            np.maximum.at(most, self.parent[first:end], most[first:end])
        pure = least == most
        pure[: self.starts[depth]] = False
        largest = pure & ~np.where(self.parent >= 0, pure[self.parent], False)
        rows = np.flatnonzero(largest)
        order = rows[np.argsort(least[rows], kind="stable")]
        ends = np.searchsorted(least[order], np.arange(len(names) + 1))
        return {str(name): order[ends[k] : ends[k + 1]].tolist() for k, name in enumerate(names)}


def spine_of(codes: Mapping[str, Texts], state: int) -> Spine:
    """Build the spine of a state from the geocodes in its files.

    Parameters
    ----------
    codes : level -> geocodes, from the state's level down; nodes that occur only as parents in the codes of their
        children are added.
    state : FIPS code.

    Raises
    ------
    ValueError
        If codes belong to another state, differ in length within a level, or are not longer than those above.
    """
    levels = [level for level in codes if len(codes[level])]
    lengths: list[int] = []
    for level in levels:
        own = codes[level]
        branches = f"0{state:02d}", f"1{state:02d}"
        good = np.char.startswith(own, branches[0]) | np.char.startswith(own, branches[1])
        if not good.all():
            strange = str(own[~good][0])
            raise ValueError(f"geocodes of level {level} must begin with {' or '.join(branches)}, got {strange!r}")
        sizes = np.unique(np.char.str_len(own))
        if len(sizes) > 1 or (lengths and sizes[0] <= lengths[-1]):
            raise ValueError(
                f"geocodes of level {level} must all have the same length, greater than "
                f"{lengths[-1] if lengths else 0}, got lengths {sizes.tolist()}"
            )
        lengths.append(int(sizes[0]))
    found: list[Texts] = []
    for i in range(len(levels) - 1, -1, -1):
        own = codes[levels[i]]
        found.insert(0, np.unique(np.concatenate([own, _cut(found[0], 0, lengths[i])]) if found else own))
    if len(found[0]) > 1:
        levels, found = [TOP, *levels], [np.array([f"State {state:02d}"]), *found]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in found])])
    parent = [np.array([-1])]
    for i, (above, own) in enumerate(pairwise(found)):
        if len(above) == 1:
            place = np.zeros(len(own), dtype=np.int64)
        else:
            place = np.searchsorted(above, _cut(own, 0, len(str(above[0]))))
        parent.append(place + starts[i])
    return Spine(tuple(levels), np.concatenate(found), np.concatenate(parent), tuple(starts.tolist()))


def _county(code: str) -> str:
    """Return the GEOID of a county from its geocode; empty if the geocode is not a county's."""
    return code[1:3] + code[5:8] if len(code) >= 8 and code[3:5] == "10" else ""


def _cut(texts: Texts, first: int, end: int) -> Texts:
    """Return the characters first .. end - 1 of every string in an array of strings of equal length."""
    wide = np.ascontiguousarray(texts).view(np.uint32).reshape(len(texts), -1)
    return np.ascontiguousarray(wide[:, first:end]).view(f"<U{end - first}").ravel()
