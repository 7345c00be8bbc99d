"""Noise of the 2020 Redistricting files of the states, as the Census Bureau published its settings. Plain Python.

A query at a level has variance (published: the discrete Gaussian's sigma^2) global^2/(share of the level x share of the
query), the same for all its cells: one replaced record changes two cells of each by one, so that its rho is 1/sigma^2.
"""

from fractions import Fraction

from .axes import SINGLE

GLOBAL = {("pl94", "person"): Fraction(339, 542), ("pl94", "unit"): Fraction(12343, 3379)}
_LEVELS = ("US", "State", "County", "Tract", "Block_Group", "Block")
_LEVEL_SHARES = {
    ("pl94", "person"): ((104, 1440, 447, 687, 1256, 165), 4099),
    ("pl94", "unit"): ((20, 20, 350, 1456, 1759, 495), 4100),
}
QUERIES = (
    "total", "cenrace", "hispanic", "votingage", "hhinstlevels", "hhgq", "hispanic*cenrace", "votingage*cenrace",
    "votingage*hispanic", "votingage*hispanic*cenrace", SINGLE,
)  # fmt: skip
_QUERY_SHARES = {  # in the order of QUERIES
    "US": ((0, 52, 26, 26, 26, 26, 130, 130, 26, 442, 3213), 4097),
    "State": ((3773, 6, 6, 6, 6, 6, 12, 12, 6, 34, 230), 4097),
    "County": ((3126, 10, 10, 10, 10, 10, 28, 28, 10, 101, 754), 4097),
    "Tract": ((1567, 8, 5, 5, 5, 5, 1933, 20, 5, 67, 482), 4102),
    "Block_Group": ((1705, 3, 3, 3, 3, 3, 1055, 9, 3, 24, 1288), 4099),
    "Block": ((5, 9, 5, 5, 5, 5, 21, 21, 5, 71, 3945), 4097),
}


def variances(product: str, table: str, level: str) -> dict[str, Fraction]:
    """Published variance of one cell of every query at a level; queries that the level lacks are omitted.

    Parameters
    ----------
    product, table : ``pl94`` with ``person`` or ``unit``.
    level : of the spine, or ``US``.

    Returns
    -------
    dict
        Name of a query (`Product.name`) -> sigma^2.

    Raises
    ------
    ValueError
        If the product's settings are not here.
    """
    key = (product, table)
    if key not in GLOBAL:
        raise ValueError(f"scales of {product} {table} are not known here; there are pl94 person and pl94 unit")
    shares, of = _LEVEL_SHARES[key]
    own = Fraction(shares[_LEVELS.index(level)], of)
    if table == "unit":
        return {SINGLE: GLOBAL[key] ** 2 / own}
    parts, whole = _QUERY_SHARES[level]
    return {q: GLOBAL[key] ** 2 / (own * Fraction(part, whole)) for q, part in zip(QUERIES, parts, strict=True) if part}
