"""Made-up people of a made-up state: where they live, and their level along every axis."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .products import Product

Whole = NDArray[np.int64]
Codes = dict[str, NDArray[np.str_]]
COUNTY = 8  # characters of a county's code
_QUARTERED = 0.03  # share of blocks that are one facility of group quarters


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is made up.

    Parameters
    ----------
    counties, tracts, groups : of the state; tracts a county and block groups a tract are spread evenly.
    blocks : populated ones.
    people : mean number of people (of units, a fifth of it) a block.
    reservation : whether the last county lies on the branch of American Indian areas with a half of its tracts.
    """

    counties: int = 4
    tracts: int = 20
    groups: int = 60
    blocks: int = 600
    people: float = 40.0
    reservation: bool = False


@dataclass(frozen=True)
class People:
    """Everyone, in the order of their blocks' codes.

    Parameters
    ----------
    product : whose axes the levels are of.
    codes : level of the spine -> sorted geocodes.
    block : int64 (people,), position of the block.
    levels : one int64 (people,) an axis.
    units : int64 (blocks, 8), housing units and facilities by type.
    """

    product: Product
    codes: Codes
    block: Whole
    levels: tuple[Whole, ...]
    units: Whole
    _nodes: dict[str, tuple[Whole, Whole]] = field(default_factory=dict, repr=False)

    def nodes(self, level: str) -> tuple[Whole, Whole]:
        """Node of every block at a level, and where the people of each node start, with the end."""
        if level not in self._nodes:
            short = self.codes["Block"].astype(f"<U{_lengths(self.product)[level]}")
            above = np.searchsorted(self.codes[level], short)
            number = len(self.codes[level])
            self._nodes[level] = above, np.searchsorted(above[self.block], np.arange(number + 1))
        return self._nodes[level]

    def branches(self, level: str) -> Iterator[tuple[str, int, int]]:
        """Each branch of the spine and its first and last but one node at a level."""
        branch = self.codes[level].astype("<U3")
        for code in np.unique(branch):
            first, end = np.searchsorted(branch, code), np.searchsorted(branch, code, side="right")
            yield str(code), int(first), int(end)

    def counts(self, level: str, first: int, end: int, specs: tuple[str, ...]) -> Whole:
        """Counts of a query in nodes first .. end - 1, (nodes, cells)."""
        above, starts = self.nodes(level)
        rows = slice(starts[first], starts[end])
        place = above[self.block[rows]] - first
        inside = np.ones(len(place), dtype=bool)
        cells = 1
        for axis, spec, own in zip(self.product.axes, specs, self.levels, strict=True):
            bins = axis.all_binnings[spec]
            which = np.full(len(axis.levels), -1)
            for k, part in enumerate(bins):
                which[list(part)] = k
            place, cells = place * len(bins) + which[own[rows]], cells * len(bins)
            inside &= which[own[rows]] >= 0
        return np.bincount(place[inside], minlength=(end - first) * cells).reshape(-1, cells)

    def facilities(self, level: str, first: int, end: int) -> Whole:
        """Housing units and facilities by type in nodes first .. end - 1."""
        found = np.zeros((len(self.codes[level]), self.units.shape[1]), dtype=np.int64)
        np.add.at(found, self.nodes(level)[0], self.units)
        return found[first:end]

    def truth(self) -> pa.Table:
        """Everyone counted: block, level of every axis, count."""
        sizes = self.product.shape
        cell = np.ravel_multi_index(self.levels, sizes)
        total = int(np.prod(sizes))
        keys, counts = np.unique(self.block * total + cell, return_counts=True)
        axes = np.unravel_index(keys % total, sizes)
        columns = {axis.name: pa.array(own) for axis, own in zip(self.product.axes, axes, strict=True)}
        codes = pa.array(self.codes["Block"].tolist())
        return pa.table({"geocode": codes.take(pa.array(keys // total)), **columns, "count": pa.array(counts)})


def made(product: Product, state: int, size: Size, rng: np.random.Generator) -> People:
    """Make up a state.

    Parameters
    ----------
    product : whose people (or housing units) are made.
    state : FIPS code.
    size : how much.
    rng : numpy Generator.

    Returns
    -------
    People : everyone with block and levels of the axes, and the blocks' units.
    """
    codes, tract = _spine(product, state, size, rng)
    blocks = len(codes["Block"])
    mean = size.people if product.table == "person" else size.people / 5
    number = 1 + rng.negative_binomial(0.8, 0.8 / (0.8 + mean - 1), blocks) if mean > 1 else np.ones(blocks, np.int64)
    block = np.repeat(np.arange(blocks), number)
    kind = np.where(rng.random(blocks) < _QUARTERED, rng.integers(1, 8, blocks), 0)
    levels = tuple(_levels(axis.name, len(axis.levels), tract[block], kind[block], rng) for axis in product.axes)
    levels = _consistent(product, levels, rng)
    units = np.zeros((blocks, 8), dtype=np.int64)
    units[np.arange(blocks), kind] = np.where(kind == 0, 1 + number // 3, 1)
    return People(product, codes, block, levels, units)


def _levels(axis: str, size: int, tract: Whole, kind: Whole, rng: np.random.Generator) -> Whole:
    """Level of everyone: shares differ by tract."""
    people, tracts = len(tract), int(tract.max()) + 1
    if axis == "hhgq":
        return kind.astype(np.int64)
    if axis == "relgq":
        return np.where(kind > 0, rng.integers(18, size, people), rng.integers(0, 18, people))
    if axis == "age":
        return np.minimum(rng.gamma(2.5, 16.0, people).astype(np.int64), size - 1)
    if axis == "cenrace":
        base = np.concatenate([[0.62, 0.12, 0.01, 0.06, 0.002, 0.08], np.full(size - 6, 0.108 / (size - 6))])
        below = np.cumsum(rng.dirichlet(60 * base, tracts) if size > 1 else np.ones((tracts, 1)), axis=1)
        below[:, -1] = 1.0
        places = np.searchsorted((below + np.arange(tracts)[:, None]).ravel(), tract + rng.random(people), side="right")
        return np.asarray(np.minimum(places - tract * size, size - 1))
    mean = {"hispanic": 0.12, "votingage": 0.78, "sex": 0.51, "h1": 0.9}[axis]
    return (rng.random(people) < rng.beta(8 * mean, 8 * (1 - mean), tracts)[tract]).astype(np.int64)


def _consistent(product: Product, levels: tuple[Whole, ...], rng: np.random.Generator) -> tuple[Whole, ...]:
    """Without what never is: minors in nursing homes, householders younger than 15."""
    own = dict(zip([axis.name for axis in product.axes], levels, strict=True))
    if "votingage" in own:
        own["votingage"] = np.where(own["hhgq"] == 3, 1, own["votingage"])
    if "age" in own:
        young = (own["relgq"] == 0) & (own["age"] < 15)
        own["age"] = np.where(young, rng.integers(15, 90, len(young)), own["age"])
    return tuple(own.values())


def _spine(product: Product, state: int, size: Size, rng: np.random.Generator) -> tuple[Codes, Whole]:
    """Geocodes of all levels, and the tract of every block. A block group of the spine is none of the tabulation's."""
    county = np.arange(size.tracts) % size.counties
    more = rng.integers(0, size.groups, size.blocks - size.groups)
    group = rng.permutation(np.concatenate([np.arange(size.groups), more]))
    tract = group % size.tracts
    branch = np.zeros(size.tracts, dtype=np.int64)
    if size.reservation:
        own = np.flatnonzero(county == size.counties - 1)
        branch[own[len(own) // 2 :]] = 1
    order = np.argsort(tract, kind="stable")
    rank = np.empty(size.blocks, dtype=np.int64)
    starts = np.searchsorted(tract[order], np.arange(size.tracts))
    rank[order] = np.arange(size.blocks) - starts[tract[order]]
    deep, found = product.product == "dhc", []
    for g, t, r in zip(group.tolist(), tract.tolist(), rank.tolist(), strict=True):
        c, digit = 2 * int(county[t]) + 1, 1 + r % 4
        head = (
            f"{branch[t]}{state:02d}1{c:04d}" + (f"{t % 2}{t % 3}" if deep else "") + f"{t:04d}{g // size.tracts:03d}"
        )
        found.append(f"{head}{state:02d}{c:03d}{100 * (t + 1):06d}{digit}{digit}{r // 4:03d}")
    blocks, first = np.unique(np.array(found), return_index=True)
    lengths = _lengths(product)
    return {level: np.unique(blocks.astype(f"<U{lengths[level]}")) for level in product.spine}, tract[first]


def _lengths(product: Product) -> dict[str, int]:
    """Characters of a code at every level."""
    steps = {
        "County": 5,
        "Prim": 1,
        "Tract_Subset_Group": 1,
        "Tract": 4,
        "Tract_Subset": 4,
        "Block_Group": 3,
        "Block": 16,
    }
    found, length = {}, 3
    for level in product.spine:
        length += steps.get(level, 0)
        found[level] = length
    return found
