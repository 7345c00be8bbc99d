"""Products of the noisy measurement files: the files of each histogram, and the levels of the geographic spine at which
it was measured. Plain Python.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from pathlib import Path

from .._files import places
from . import axes
from .axes import WHOLE, Axis

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
GEOID_DIGITS = {"State": 2, "County": 5, "Tract": 11, "Block_Group": 12, "Block": 15}  # of tabulation geographies


@dataclass(frozen=True)
class Product:
    """Histogram that was measured at the nodes of a spine.

    Parameters
    ----------
    product, table : names that a user gives.
    ending : end of its folder's name, after ``US_`` or ``PR_``.
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
        """Return whether all binnings of a query are binnings of the histogram's axes."""
        return all(spec in axis.all_binnings for axis, spec in zip(self.axes, specs, strict=True))

    def query_shape(self, specs: tuple[str, ...]) -> tuple[int, ...]:
        """Return the number of cells along each axis of a query whose binnings are known."""
        return tuple(len(axis.all_binnings[spec]) for axis, spec in zip(self.axes, specs, strict=True))

    def name(self, specs: tuple[str, ...]) -> str:
        """Return the name of a query from its binnings, as a user may give it: ``total``, ``votingage*hispanic``,
        ``detailed``.
        """
        if set(specs) == {axes.SINGLE}:
            return axes.SINGLE
        return "*".join(spec for spec in specs if spec != WHOLE) or "total"

    def specs(self, name: str) -> tuple[str, ...]:
        """Return the binnings of a query from its `name`; ValueError if a part of it is not a binning."""
        if name == axes.SINGLE:
            return (axes.SINGLE,) * len(self.axes)
        parts = [] if name == "total" else name.split("*")
        found = tuple(next((p for p in parts if p in axis.all_binnings), WHOLE) for axis in self.axes)
        if lost := set(parts) - set(found):
            raise ValueError(f"{name}: {', '.join(sorted(lost))} is not a binning of {self.product} {self.table}")
        return found


_PEOPLE = (axes.HHGQ, axes.VOTINGAGE, axes.HISPANIC, axes.CENRACE)
PRODUCTS = {
    (p.product, p.table): p
    for p in (
        Product("pl94", "person", "Person_PL_PROD", _PEOPLE, _SPINE),
        Product("pl94", "unit", "Unit_PL_PROD", (axes.H1,), _SPINE),
        Product(
            "dhc", "person", "DHCP_PROD", (axes.RELGQ, axes.SEX, axes.AGE, axes.HISPANIC, axes.CENRACE), _DHC_SPINE
        ),
    )
}
_ELSEWHERE = {"sex": "dhc person", "age": "dhc person", "relgq": "dhc person", "hhgq": "pl94 person",
              "votingage": "pl94 person", "h1": "pl94 unit", "cenrace": "pl94 person and dhc person",
              "hispanic": "pl94 person and dhc person"}  # fmt: skip


def product_of(product: str, table: str) -> Product:
    """Return the product with the given names of product and table.

    Raises
    ------
    ValueError
        If there is no such product.
    """
    found = PRODUCTS.get((product, table))
    if found is None:
        known = ", ".join(f"{p} with table {t}" for p, t in PRODUCTS)
        raise ValueError(f"product {product} with table {table} is not supported; choose one of {known}")
    return found


def masks(product: Product, cell: dict[str, object]) -> tuple[axes.Mask, ...]:
    """Return one boolean mask per axis for the levels that make up a cell.

    Parameters
    ----------
    product : product with the histogram.
    cell : axis -> level, group, or a list of them; axes that are not named are summed over.

    Raises
    ------
    ValueError
        If the product has no such axis or level; the message names the product that has.
    """
    names = [axis.name for axis in product.axes]
    for name in cell:
        if name not in names:
            other = f"; {_ELSEWHERE[name]} has it" if name in _ELSEWHERE else ""
            raise ValueError(
                f"{name}: {product.product} {product.table} has no axis of that name{other}; its axes are "
                + ", ".join(names)
            )
    return tuple(axis.mask(cell.get(axis.name, list(axis.levels))) for axis in product.axes)


def state_number(state: str) -> int:
    """Return the FIPS code of a state from its two letters or digits; raise ValueError if the state is unknown."""
    text = str(state).strip().upper()
    if text in STATES:
        return STATES[text]
    if text.isascii() and text.isdigit() and int(text) in STATES.values():
        return int(text)
    raise ValueError(f"{state!r} is not a state; write two letters, such as VT, or the two digits of its FIPS code")


def cells_of(shape: tuple[int, ...]) -> int:
    """Return the number of cells of a query."""
    return prod(shape)


def data_folder(folder: Path, product: Product, state: int) -> Path:
    """Return the folder of a product's data within the folder that a user names.

    Parameters
    ----------
    folder : the folder that the user names, or the product's folder itself.
    product : product of the files.
    state : FIPS code.

    Returns
    -------
    Path : folder of the product.

    Raises
    ------
    ValueError
        If the folder does not exist; the message lists those that do.
    """
    name = f"{'PR' if state == STATES['PR'] else 'US'}_{product.ending}"
    if folder.name == name:
        return folder
    if not (folder / name).is_dir():
        there = sorted(path.name for path in folder.glob("*_PROD")) if folder.is_dir() else []
        have = f"it has {', '.join(there)}" if there else "it has no folder of noisy measurements"
        raise ValueError(f"{str(folder)!r} lacks {name}, the folder of {product.product} {product.table}; {have}")
    return folder / name


def levels_there(data: Path, product: Product, state: int) -> dict[str, list[Path]]:
    """Return the folders of the levels of a state that exist, of both branches of the spine.

    Parameters
    ----------
    data : folder of the product.
    product : product with the levels.
    state : FIPS code.

    Returns
    -------
    dict : level -> folders; levels without any are omitted.

    Raises
    ------
    ValueError
        If there is none; the message lists the available states.
    """
    found: dict[str, list[Path]] = {}
    others: set[str] = set()
    for level in product.spine:
        for kind in (DPQUERY, CONSTRAINT):
            for path in sorted((data / f"{level}.parquet" / kind).glob("State=*")):
                code = path.name.removeprefix("State=")
                if code.isascii() and code.isdigit() and int(code) % 100 == state and int(code) < 200:
                    found.setdefault(level, []).append(path)
                else:
                    others.add(code)
    if not found:
        have = f"it has State={', State='.join(sorted(others)[:20])}" if others else "it has no State=.. folders"
        raise ValueError(f"{str(data)!r} has no files for state {state:02d}; {have}")
    return found


def parts(folders: Iterable[Path], kind: str) -> list[Path]:
    """Return the Parquet files of one kind (``DPQuery`` or ``Constraint``) in the folders of a state, including files
    split by county.

    Parameters
    ----------
    folders : folders of a state at one level.
    kind : ``DPQuery`` or ``Constraint``.

    Raises
    ------
    ValueError
        If a path leads to a confidential file, or to no file.
    """
    found = [path for folder in folders if folder.parent.name == kind for path in sorted(folder.rglob("*.parquet"))]
    for path in found:
        if not places.public(path).is_file():
            raise ValueError(f"{str(path)!r} must be a file")
    return found
