"""What the papers' tests of sabotage flip: ``sabotage.tsv`` beside this file, one line a paper.

Runs every ``test_sabotage.py`` of the papers and listens to `reproduction.verdicts.in_process.verdicts`. The first
verdicts of a paper are those of the honest run; each later one that differs from them is a sabotage. A row counts as
flipped if any sabotage changed its verdict. Rows of numbers that are not printed anywhere (``not_stated``) are not
judged. What needs files that are not here is skipped, and so are its rows.
"""

import csv
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

TREE = Path(__file__).parents[2]
TABLE = TREE / "tests/mutants/sabotage.tsv"
KEY = ["artefact", "quantity"]
COLUMNS = ("paper", "sabotages", "judged rows", "flipped", "flips by the strongest")


class Listener:
    """Plugin: keeps the honest verdicts of every paper and the rows that each later call changes."""

    def __init__(self) -> None:
        self.honest: dict[str, pd.Series] = {}
        self.flips: dict[str, list[set[Any]]] = {}

    def pytest_configure(self) -> None:
        """Stand between the tests and the function that judges."""
        from reproduction.verdicts import in_process

        judge = in_process.verdicts

        def heard(slug: str, made: Any) -> pd.Series:
            found = judge(slug, made)
            before = self.honest.setdefault(slug, found)
            changed = set(before.index[before != found.reindex(before.index)])
            if changed:
                self.flips.setdefault(slug, []).append(changed)
            return found

        in_process.verdicts = heard


def main(wanted: list[str]) -> int:
    """Run the tests of all papers, or of those named, and write the table."""
    sys.path.insert(0, str(TREE))  # the tests' own plugins are found from there
    papers = TREE / "src/reproduction/papers"
    slugs = wanted or sorted(path.parent.name for path in papers.glob("*/paper.yaml"))
    listener = Listener()
    files = [str(papers / slug / "tests/test_sabotage.py") for slug in slugs]
    code = pytest.main(
        ["-q", "-m", "not slow and not attack and not site", "-p", "no:cacheprovider", *files], plugins=[listener]
    )
    rows = {row[0]: row for row in _known()} | {slug: _row(slug, listener.flips[slug]) for slug in slugs}
    with TABLE.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerows([COLUMNS, *(rows[slug] for slug in sorted(rows))])
    return int(code)


def _known() -> list[list[str]]:
    """Rows of the table as it stands: those of papers that are not asked for stay."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream, delimiter="\t"))[1:]


def _row(slug: str, flips: list[set[Any]]) -> list[Any]:
    from reproduction.verdicts import agreement

    published = agreement.read_published(TREE / "src/reproduction/papers" / slug / "published.tsv")
    nothing = (published["kind"] == "number") & published["value"].isna()
    judged = set(published[published["kind"].isin(agreement.JUDGED) & ~nothing].set_index(KEY).index)
    of_judged = [changed & judged for changed in flips if changed & judged]
    return [slug, len(of_judged), len(judged), len(set().union(*of_judged)), max(map(len, of_judged))]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
