"""Check that every number quoted in methods and errata is linked to the table that contains it, or marked as given."""

import re

import pandas as pd
import pytest

from reproduction.paper import discover
from reproduction.verdicts import in_process, quotes

PAPERS = discover()
DOCUMENTS = [(s, d) for s, p in PAPERS.items() for d in ("methods.md", "errata.md") if (p.folder / d).is_file()]
QUOTES = [(slug, quote) for slug, paper in PAPERS.items() for quote in quotes.of(paper)[0]]


def cheap(slug, name):
    """Return whether a table can be computed at full size in seconds, from settings only."""
    table = next(a.table for a in PAPERS[slug].artefacts if a.name == name)
    return table.by == "compute" and table.minutes <= 0.1 and not set(table.inputs) - {"published"}


@pytest.fixture(scope="module")
def table_of():
    made = {}

    def get(slug, name):
        if (slug, name) not in made:
            made[slug, name] = in_process.tables_of(slug, only=[name])[name] if name else pd.DataFrame()
        return made[slug, name]

    return get


@pytest.mark.site  # tables at their full size
@pytest.mark.parametrize(("slug", "quote"), QUOTES, ids=[f"{s}-{i}" for i, (s, _) in enumerate(QUOTES)])
def test_a_quote_holds(slug, quote, table_of):
    text = quotes.one_line((PAPERS[slug].folder / quote.document).read_text())
    assert quote.words in text, "the document says something else"
    assert quote.numbers, "a quote has its numbers in double braces"
    if not quote.table or cheap(slug, quote.table):
        assert not quotes.broken(quote, table_of(slug, quote.table))
    else:
        assert quote.table in {a.name for a in PAPERS[slug].artefacts if a.table}


@pytest.mark.parametrize(("slug", "document"), DOCUMENTS)
def test_every_number_of_a_document_is_accounted_for(slug, document):
    said, given = quotes.of(PAPERS[slug])
    text = (PAPERS[slug].folder / document).read_text()
    assert quotes.unaccounted(document, text, said, given.get(document, ())) == []


@pytest.mark.parametrize(
    ("written", "number", "half"),
    [
        ("0.128", 0.128, 0.0005),
        ("−0.099", -0.099, 0.0005),
        ("5,400", 5400, 0.5),
        ("1.8·10⁻²²", 1.8e-22, 0.05e-22),
        (r"6 \cdot 10^{-16}", 6e-16, 0.5e-16),
        ("2.1e-4", 2.1e-4, 0.05e-4),
        ("19 %", 0.19, 0.005),
        ("-3", -3, 0.5),
    ],
)
def test_what_a_number_says(written, number, half):
    said, error = quotes.value(written)
    assert said == pytest.approx(number, rel=1e-12)
    assert error == pytest.approx(half, rel=1e-12)
    assert written in list(quotes.numbers_in(f"as {written} here")) or abs(number) < 100


def test_a_number_that_the_table_does_not_give_is_found():
    table = pd.DataFrame({"value": [0.1284, 0.5]})
    right = quotes.Quote("errata.md", "from {{0.128}} to {{0.5}}", "t", lambda t: t["value"])
    assert not quotes.broken(right, table)
    assert "0.128 is quoted, but t gives 0.1286" in quotes.broken(right, table.assign(value=[0.1286, 0.5]))
    assert "quoted, but t gives nan" in quotes.broken(right, table.assign(value=[float("nan"), 0.5]))
    assert "2 numbers are quoted, but t gives 1" in quotes.broken(right, table.head(1))
    assert quotes.unaccounted("errata.md", "from 0.128 to 0.5, then 0.7", [right], ()) == ["0.7"]
    assert quotes.unaccounted("errata.md", "from 0.128 to 0.6", [right], ("0.6",)) == ["0.128"]


def test_the_example_of_the_module_is_in_braces():
    assert re.findall(r"\{\{.*?\}\}", quotes.__doc__) == ["{{0.500}}", "{{0.128}}"]
