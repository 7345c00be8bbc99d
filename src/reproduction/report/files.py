"""Files that a report takes with it: figures as they are, tables as CSV, large ones compressed.

`Run` reads what a run made from its folder: tables, figures, verdicts, the origin of each, and the settings as used.
"""

import gzip
import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from PIL import Image

from .. import paper as folders
from .. import results, trust
from ..paper import Paper
from ..verdicts import agreement as statements

PLAIN_BYTES = 250_000  # a larger table is compressed
MOST_BYTES = 3_000_000  # one that is larger even so stays where it is


@dataclass(frozen=True)
class Figure:
    """A figure on a page: address, size in pixels, what it shows in words."""

    src: str
    width: int
    height: int
    alt: str
    caption: str


@dataclass(frozen=True)
class Folder:
    """The report's folder.

    Parameters
    ----------
    run : folder of the run.
    target : folder of the report.
    """

    run: Path
    target: Path

    def figure(self, path: str, *, alt: str, caption: str) -> Figure | None:
        """A copy of the run's figure at `path`, or None where it was not drawn; raises as `trust.content`."""
        source = self.run / path
        if not source.is_file():
            return None
        raw = trust.content(source)
        self.write(path, raw)
        with Image.open(io.BytesIO(raw)) as image:
            return Figure(path, image.width, image.height, alt, caption)

    def table(self, path: str) -> str:
        """Address of a copy of the run's table at `path`; empty where missing or too large; raises as `figure`."""
        source = self.run / path
        if not source.is_file():
            return ""
        place = path.replace("results/", "data/", 1)
        raw = trust.content(source)
        if len(raw) <= PLAIN_BYTES:
            self.write(place, raw)
            return place
        packed = gzip.compress(raw, mtime=0)
        if len(packed) > MOST_BYTES:
            return ""
        self.write(f"{place}.gz", packed)
        return f"{place}.gz"

    def write(self, place: str, content: bytes | str) -> None:
        """Write a file of the report."""
        target = self.target / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)


EFFECTIVE = "results/config.effective.yaml"


@dataclass(frozen=True)
class Run:
    """A run in its folder; whatever is not there counts as not made.

    Parameters
    ----------
    root : folder that holds ``results/``, ``figures/`` and ``releases/``.
    """

    root: Path

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration as used, with its defaults; empty if it was not written."""
        path = self.root / EFFECTIVE
        return dict(yaml.safe_load(trust.content(path)) or {}) if path.is_file() else {}

    @cached_property
    def papers(self) -> list[Paper]:
        """The papers under `run`, and any other of which something was made, in the order of `discover`."""
        asked = self.config.get("run", [])
        return [p for slug, p in folders.discover().items() if slug in asked or any(map(self.exists, p.tables()))]

    @cached_property
    def agreement(self) -> pd.DataFrame:
        """Every statement of the papers that were compared, numbered within its paper (column `number`)."""
        parts = [self.read(f"results/{paper.slug}/agreement.csv") for paper in self.papers]
        numbered = [part.assign(number=range(1, len(part) + 1)) for part in parts if part is not None]
        if not numbered:
            return pd.DataFrame(columns=[*statements.COLUMNS, "number"])
        return pd.concat(numbered, ignore_index=True)

    def exists(self, path: str) -> bool:
        """Whether a file of the run is there."""
        return (self.root / path).is_file()

    def read(self, path: str) -> pd.DataFrame | None:
        """A table of the run, or None; `trust.Damaged` where it is not what its provenance states."""
        if not self.exists(path):
            return None
        try:
            return results.read(self.root / path)
        except pd.errors.EmptyDataError:
            return pd.DataFrame()

    def provenance(self, slug: str, name: str) -> dict[str, Any]:
        """Where a table came from; empty if it was not made, or states no more than its bytes."""
        path = f"results/{slug}/{name}.csv"
        found = trust.stated(self.root / path) if self.exists(path) else {}
        return found if "settings" in found else {}
