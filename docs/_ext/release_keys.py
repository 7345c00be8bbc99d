"""Write the keys of every release mechanism from the package's table when the site is built."""

from collections.abc import Iterator
from pathlib import Path

from papers import plain
from sphinx.application import Sphinx

from dpmultinomial._releases import _keys

_PAGE = "how-to/release-keys.md"
_HEAD = "| key | type | range | default | meaning |\n| --- | --- | --- | --- | --- |"


def page() -> str:
    """Return one Markdown table per mechanism."""
    return "\n".join(
        [
            "# Keys of a release",
            "",
            "The tables list the keys below `releases.<name>` for each mechanism.",
            "",
            *_tables(),
        ]
    )


def _tables() -> Iterator[str]:
    rows = _keys.table()
    for mechanism in dict.fromkeys(row["mechanism"] for row in rows):
        yield f"## {mechanism}\n\n{_HEAD}"
        for row in (row for row in rows if row["mechanism"] == mechanism):
            cells = (f"`{row['key']}`", *(plain(row[c]) for c in ("type", "range", "default", "description")))
            yield f"| {' | '.join(cells)} |"
        yield ""


def _write(app: Sphinx) -> None:
    path = Path(app.srcdir, _PAGE)
    if not path.is_file() or path.read_text(encoding="utf-8") != page():
        path.write_text(page(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the page, which is written before Sphinx looks for sources."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
