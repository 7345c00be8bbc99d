"""Command ``python -m reproduction.verdicts.quotes [results]``, which checks the numbers quoted in documents against
the tables of a run.

The file ``quoted.py`` of a paper repeats phrases of a document with the numbers in double braces, and states how these
numbers are computed from tables of a run with the default settings::

    QUOTES = [Quote("errata.md", "E r = {{0.500}} in place of {{0.128}}", "equation_3", _means)]
    GIVEN = {"errata.md": ("5.2", "6.4")}  # numbers that no table gives: sections, settings, inputs

The name of the table may be empty, ``""``, if the numbers follow from arithmetic.

A quote is correct if every number from the tables, rounded to the number of digits in the document, equals the written
number.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pandas as pd

from ..paper import Paper, discover
from ..trust import table as read

_NUMBER = re.compile(
    r"(?<![\w/.,{-])(?P<digits>[-−]?\d[\d,]*(?:\.\d+)?)"
    r"(?:e(?P<e>-?\d+)|\s?(?:·|\\cdot)\s?10(?:\^\{?(?P<power>-?\d+)\}?|(?P<raised>[⁻⁰¹²³⁴-⁹]+)))?(?P<percent>\s?%)?"
)
_BRACED = re.compile(r"\{\{((?:[^{}]|\{[^{}]*\})*)\}\}")  # a number such as 10^{-16} contains braces itself
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


@dataclass(frozen=True)
class Quote:
    """Quoted phrase from a document about a paper, in which the numbers are in double braces. The numbers are computed
    from a table by a given function.
    """

    document: str
    phrase: str
    table: str
    values: Callable[[pd.DataFrame], Sequence[float]]

    @property
    def words(self) -> str:
        """Return the quoted phrase as it is written in the document, on one line."""
        return one_line(_BRACED.sub(r"\1", self.phrase))

    @property
    def numbers(self) -> list[str]:
        """Return the numbers in the quoted phrase, as they are written in the document."""
        return _BRACED.findall(self.phrase)


def value(written: str) -> tuple[float, float]:
    """Return the value of a number as written in a document (``1.8·10⁻²²``, ``19 %``, ``5,400``), and half a unit of
    the last digit.
    """
    match = _NUMBER.fullmatch(written.strip())
    if not match:
        raise ValueError(f"a quoted number must be written in digits, such as 1,234, 0.5 % or 2e-3, got {written!r}")
    digits = match["digits"].replace(",", "").replace("−", "-")
    power = int(match["e"] or match["power"] or (match["raised"] or "0").translate(_RAISED))
    power -= 2 if match["percent"] else 0
    decimals = len(digits.partition(".")[2])
    return float(f"{digits}e{power}"), 0.5 * 10.0 ** (power - decimals)


def at(table: pd.DataFrame, column: str, **where: object) -> float:
    """Return the value of a column in the only table row that satisfies the condition `where`."""
    rows = table[(table[list(where)] == pd.Series(where)).all(axis=1)]
    if len(rows) != 1:
        raise ValueError(f"the quote refers to {len(rows)} rows with {where}, but must refer to exactly one row")
    return float(rows[column].iloc[0])


def told(table: pd.DataFrame, number: int, pattern: str) -> list[float]:
    """Return the numbers that a regular expression extracts from the evidence for an erratum. Every group of the
    expression matches one number.
    """
    text = table.loc[table["number"] == number, "evidence"].iloc[0]
    match = re.search(pattern, text)
    if not match:
        raise ValueError(f"the evidence for erratum {number} must match the pattern {pattern!r}, got {text!r}")
    return [float(group) for group in match.groups()]


def broken(quote: Quote, table: pd.DataFrame) -> str:
    """Return the reason why the numbers in a quote are wrong, or an empty string if they are correct."""
    try:
        ours = [float(x) for x in quote.values(table)]
    except (ValueError, KeyError) as error:
        return f"{quote.table}: {error}"
    if len(ours) != len(quote.numbers):
        return f"{len(quote.numbers)} numbers are quoted, but {quote.table} contains {len(ours)} numbers"
    wrong = []
    for written, number in zip(quote.numbers, ours, strict=True):
        quoted, half = value(written)
        if not abs(number - quoted) <= half * (1 + 1e-9):
            wrong.append(f"{written} is quoted, but {quote.table} contains {number:.6g}")
    return "; ".join(wrong)


def numbers_in(text: str) -> Iterator[str]:
    """Yield the numbers that occur in a text and could be results: decimals, percentages, powers of ten and integers of
    at least 100.
    """
    for match in _NUMBER.finditer(text):
        whole = match["digits"].strip("-−").replace(",", "")
        if "." in whole or match["percent"] or match["e"] or match["power"] or match["raised"] or len(whole) >= 3:
            yield match.group().strip().rstrip(",")


def unaccounted(document: str, text: str, quotes: Iterable[Quote], given: Collection[str]) -> list[str]:
    """Return the numbers in a document that are neither part of a quotation nor in the list of input values."""
    text = one_line(text)
    for quote in (q for q in quotes if q.document == document):
        text = text.replace(quote.words, one_line(_BRACED.sub("", quote.phrase)))
    return [number for number in numbers_in(text) if number not in given]


def one_line(text: str) -> str:
    """Return a text as a single line, so that phrases that extend over several lines can be found."""
    return " ".join(text.split())


def of(paper: Paper) -> tuple[Sequence[Quote], Mapping[str, Collection[str]]]:
    """Return the quotes in the documents of a paper, and the numbers in these documents that do not follow from a
    table. Both are empty if the paper has no ``quoted.py``.
    """
    if not (paper.folder / "quoted.py").is_file():
        return (), {}
    module = import_module(f"{paper.package}.quoted")
    return module.QUOTES, module.GIVEN


def check(results: Path, papers: Iterable[Paper]) -> Iterator[tuple[str, Quote, str]]:
    """Yield a triple (slug of the paper, quote, reason) for every quote that can be checked. A quote can be checked if
    it does not refer to a table, or if the table is in the results folder. The reason states why the quote does not
    hold, and it is empty if the quote holds.
    """
    for paper in papers:
        for quote in of(paper)[0]:
            path = results / paper.slug / f"{quote.table}.csv"
            if not quote.table or path.is_file():
                yield paper.slug, quote, broken(quote, read(path) if quote.table else pd.DataFrame())


def main() -> None:
    """Print the quotes with wrong numbers, and exit with status 1 if there are any."""
    checked = list(check(Path(*sys.argv[1:2] or ["results"]), discover().values()))
    wrong = [f"{slug}/{quote.document}: {quote.words!r}: {why}" for slug, quote, why in checked if why]
    print("\n".join([*wrong, f"{len(checked)} quotes were checked, of which {len(wrong)} are wrong."]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
