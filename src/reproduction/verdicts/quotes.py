"""Numbers quoted in documents, each tied to its table: ``python -m reproduction.verdicts.quotes [results]``.

A paper's ``quoted.py`` repeats a document's words with the numbers in double braces and says how they follow from
tables of a run with the default settings::

    QUOTES = [Quote("errata.md", "E r = {{0.500}} in place of {{0.128}}", "equation_3", _means)]
    GIVEN = {"errata.md": ("5.2", "6.4")}  # numbers that no table gives: sections, settings, inputs

The table may be empty, ``""``, for what follows from arithmetic alone.

A quote holds where every number of the tables rounds to what is written, with as many digits as are written.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pandas as pd

from ..paper import Paper, discover
from ..results import read

_NUMBER = re.compile(
    r"(?<![\w/.,{-])(?P<digits>[-−]?\d[\d,]*(?:\.\d+)?)"
    r"(?:e(?P<e>-?\d+)|\s?(?:·|\\cdot)\s?10(?:\^\{?(?P<power>-?\d+)\}?|(?P<raised>[⁻⁰¹²³⁴-⁹]+)))?(?P<percent>\s?%)?"
)
_BRACED = re.compile(r"\{\{((?:[^{}]|\{[^{}]*\})*)\}\}")  # 10^{-16} has braces of its own
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


@dataclass(frozen=True)
class Quote:
    """A phrase of a document of the paper's folder, its numbers in double braces, and how a table gives them."""

    document: str
    phrase: str
    table: str
    values: Callable[[pd.DataFrame], Sequence[float]]

    @property
    def words(self) -> str:
        """The phrase as the document has it, on one line."""
        return one_line(_BRACED.sub(r"\1", self.phrase))

    @property
    def numbers(self) -> list[str]:
        """The numbers as they are written."""
        return _BRACED.findall(self.phrase)


def value(written: str) -> tuple[float, float]:
    """What a number in a document says (``1.8·10⁻²²``, ``19 %``, ``5,400``), and half a unit of its last digit."""
    found = _NUMBER.fullmatch(written.strip())
    if not found:
        raise ValueError(f"{written!r} is not a number as documents write them")
    digits = found["digits"].replace(",", "").replace("−", "-")
    power = int(found["e"] or found["power"] or (found["raised"] or "0").translate(_RAISED))
    power -= 2 if found["percent"] else 0
    decimals = len(digits.partition(".")[2])
    return float(f"{digits}e{power}"), 0.5 * 10.0 ** (power - decimals)


def at(table: pd.DataFrame, column: str, **where: object) -> float:
    """The one number of a column in the one row where other columns have these values."""
    rows = table[(table[list(where)] == pd.Series(where)).all(axis=1)]
    if len(rows) != 1:
        raise ValueError(f"{len(rows)} rows have {where}; a quote needs one")
    return float(rows[column].iloc[0])


def told(table: pd.DataFrame, number: int, pattern: str) -> list[float]:
    """Numbers in the evidence of an erratum: the groups of a regular expression that its text must match."""
    text = table.loc[table["number"] == number, "evidence"].iloc[0]
    found = re.search(pattern, text)
    if not found:
        raise ValueError(f"the evidence of erratum {number} does not say {pattern!r}: {text!r}")
    return [float(group) for group in found.groups()]


def broken(quote: Quote, table: pd.DataFrame) -> str:
    """Why a quote does not hold, or nothing."""
    try:
        ours = [float(x) for x in quote.values(table)]
    except (ValueError, KeyError) as error:
        return f"{quote.table}: {error}"
    if len(ours) != len(quote.numbers):
        return f"{len(quote.numbers)} numbers are quoted, {quote.table} gives {len(ours)}"
    wrong = []
    for written, number in zip(quote.numbers, ours, strict=True):
        said, half = value(written)
        if not abs(number - said) <= half * (1 + 1e-9):
            wrong.append(f"{written} is quoted, {quote.table} gives {number:.6g}")
    return "; ".join(wrong)


def numbers_in(text: str) -> Iterator[str]:
    """Numbers of a text that could be results: decimals, percentages, powers of ten and whole numbers from 100 on."""
    for found in _NUMBER.finditer(text):
        whole = found["digits"].strip("-−").replace(",", "")
        if "." in whole or found["percent"] or found["e"] or found["power"] or found["raised"] or len(whole) >= 3:
            yield found.group().strip().rstrip(",")


def unaccounted(document: str, text: str, quotes: Iterable[Quote], given: Collection[str]) -> list[str]:
    """Numbers of a document that no quote covers and that are not said to be given."""
    text = one_line(text)
    for quote in (q for q in quotes if q.document == document):
        text = text.replace(quote.words, one_line(_BRACED.sub("", quote.phrase)))
    return [number for number in numbers_in(text) if number not in given]


def one_line(text: str) -> str:
    """A text without its line breaks: phrases may run over them."""
    return " ".join(text.split())


def of(paper: Paper) -> tuple[Sequence[Quote], Mapping[str, Collection[str]]]:
    """A paper's quotes, and the numbers of its documents that are given; none where it has no ``quoted.py``."""
    if not (paper.folder / "quoted.py").is_file():
        return (), {}
    module = import_module(f"{paper.package}.quoted")
    return module.QUOTES, module.GIVEN


def check(results: Path, papers: Iterable[Paper]) -> Iterator[tuple[str, Quote, str]]:
    """Every quote whose table lies in a folder of results: slug, quote, why it does not hold (or nothing)."""
    for paper in papers:
        for quote in of(paper)[0]:
            path = results / paper.slug / f"{quote.table}.csv"
            if not quote.table or path.is_file():
                yield paper.slug, quote, broken(quote, read(path) if quote.table else pd.DataFrame())


def main() -> None:
    """Print what does not hold; exit with 1 if there is any."""
    checked = list(check(Path(*sys.argv[1:2] or ["results"]), discover().values()))
    wrong = [f"{slug}/{quote.document}: {quote.words!r}: {why}" for slug, quote, why in checked if why]
    print("\n".join([*wrong, f"{len(checked)} quotes, {len(wrong)} do not hold."]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
