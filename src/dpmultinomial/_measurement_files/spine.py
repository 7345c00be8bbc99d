"""The geographic spine: nodes and their parents from geocodes, and which nodes make up a tabulation geography.

Codes of one level have one length, and a parent's code begins its children's. The spine has branches with and without
American Indian and Alaska Native areas, and groups of blocks of its own; only a block's code holds its GEOID, in the
last 16 characters, with the digit of the block group twice. So a county or a block group is a sum of nodes.
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
    """Nodes of one state, from the top down.

    Parameters
    ----------
    levels : names of the levels, one a distance from the root.
    codes : geocodes of all nodes, level by level, each sorted; that of a root that no file has is ``State SS``.
    parent : int64 (n,), position of each node's parent, -1 of the root.
    starts : where each level starts, and the end.
    """

    levels: tuple[str, ...]
    codes: Texts
    parent: Whole
    starts: tuple[int, ...]

    def rows(self, level: str) -> Whole:
        """Positions of the nodes of a level."""
        depth = self.levels.index(level)
        return np.arange(self.starts[depth], self.starts[depth + 1])

    @cached_property
    def blocks(self) -> Texts | None:
        """GEOIDs of the blocks, in the order of the last level; None where there are none."""
        if self.levels[-1] != "Block":
            return None
        codes = self.codes[self.rows("Block")]
        length = len(str(codes[0]))
        tail = _cut(codes, length - _TAIL, length)
        doubled = _cut(tail, 11, 12) == _cut(tail, 12, 13)
        if not doubled.all():
            raise ValueError(
                f"{codes[~doubled][0]} is no block's code: its last 16 characters have no block group twice"
            )
        return np.char.add(_cut(tail, 0, 11), _cut(tail, 12, 16))

    def knows_geoids(self, level: str) -> bool:
        """Whether the GEOIDs of a level follow from the codes: of tracts and below where blocks are there."""
        digits = GEOID_DIGITS.get(level)
        return digits is not None and (self.blocks is not None or digits <= GEOID_DIGITS["County"])

    def places(self, level: str) -> dict[str, list[int]]:
        """What each geography of a level is the sum of: GEOID -> positions of nodes, as few as possible.

        Parameters
        ----------
        level : one of `levels`. Where the GEOIDs of its nodes are not known (a level that exists on the spine alone, or
            tracts where blocks are missing), geocodes stand in their place.
        """
        depth, own = self.levels.index(level), self.rows(level)
        if not self.knows_geoids(level):
            return {str(self.codes[i]): [int(i)] for i in own}
        digits = GEOID_DIGITS[level]
        if self.blocks is None:
            labels = [_county(str(code))[:digits] for code in self.codes[own]]
            found: dict[str, list[int]] = {}
            for label, i in zip(labels, own.tolist(), strict=True):
                found.setdefault(label, []).append(i)
            return found
        return self._covers(_cut(self.blocks, 0, digits), depth)

    def _covers(self, labels: Texts, depth: int) -> dict[str, list[int]]:
        """Label of every block -> the largest nodes, not above `depth`, all of whose blocks have it."""
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
    """The nodes of a state from the codes in its files.

    Parameters
    ----------
    codes : level -> geocodes, from the state's level down; nodes that only their children's codes name are added.
    state : FIPS code.

    Raises
    ------
    ValueError
        If codes are of another state, of a level differ in length, or are no longer than those above.
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
            raise ValueError(f"geocodes of level {level} must have one length above {lengths[-1:] or 0}, have {sizes}")
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
    """State and county of a code of these two levels: branch, state 2, .., county 3."""
    return code[1:3] + (code[-3:] if len(code) > 3 else "")


def _cut(texts: Texts, first: int, end: int) -> Texts:
    """Characters first .. end - 1 of texts of one length."""
    wide = np.ascontiguousarray(texts).view(np.uint32).reshape(len(texts), -1)
    return np.ascontiguousarray(wide[:, first:end]).view(f"<U{end - first}").ravel()
