"""Copy the figures and tables of a run into a report, with large tables in compressed form.

`Run` reads the results of a run from its folder: tables, figures, verdicts, provenance, and the settings as used.
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
from .. import trust
from ..paper import Paper
from ..verdicts import agreement as statements

PLAIN_BYTES = 250_000  # number of bytes above which a table is compressed
MOST_BYTES = 3_000_000  # number of bytes above which a compressed table is not copied


@dataclass(frozen=True)
class Figure:
    """Figure on a page of a report, with its address, size in pixels, alternative text and caption."""

    src: str
    width: int
    height: int
    alt: str
    caption: str


@dataclass(frozen=True)
class Folder:
    """Folder that contains the report of a run.

    Parameters
    ----------
    run : folder of the run.
    target : folder of the report.
    """

    run: Path
    target: Path

    def figure(self, path: str, *, alt: str, caption: str) -> Figure | None:
        """Copy the figure of a run at `path` into the report and return the copied figure, or return None if the file
        does not exist. The same errors are raised as by `trust.content`.
        """
        source = self.run / path
        if not source.is_file():
            return None
        raw = trust.content(source)
        self.write(path, raw)
        with Image.open(io.BytesIO(raw)) as image:
            return Figure(path, image.width, image.height, alt, caption)

    def table(self, path: str) -> str:
        """Copy the table at `path` into the report, and return the address of the copy. The address is empty if the
        table is missing or too large. The errors are those of `figure`.
        """
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
        """Write a file with the given content into the folder of the report."""
        target = self.target / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)


EFFECTIVE = "results/config.effective.yaml"


@dataclass(frozen=True)
class Run:
    """Results of a run, which are read from the folder of the run. A file that does not exist is treated as not
    computed.

    Parameters
    ----------
    root : folder that contains ``results/``, ``figures/`` and ``releases/``.
    """

    root: Path

    @cached_property
    def config(self) -> dict[str, Any]:
        """Return the configuration that the run used, with its default values. The dictionary is empty if the
        configuration was not written.
        """
        path = self.root / EFFECTIVE
        return dict(yaml.safe_load(trust.content(path)) or {}) if path.is_file() else {}

    @cached_property
    def papers(self) -> list[Paper]:
        """Return the papers that the configuration lists under `run`, and all other papers that have results. The
        papers are in the order of `discover`.
        """
        asked = self.config.get("run", [])
        return [p for slug, p in folders.discover().items() if slug in asked or any(map(self.exists, p.tables()))]

    @cached_property
    def agreement(self) -> pd.DataFrame:
        """Return the statements in the agreement tables of all papers, with one row per statement. The column `number`
        numbers the statements within each paper.
        """
        parts = [self.read(f"results/{paper.slug}/agreement.csv") for paper in self.papers]
        numbered = [part.assign(number=range(1, len(part) + 1)) for part in parts if part is not None]
        if not numbered:
            return pd.DataFrame(columns=[*statements.COLUMNS, "number"])
        return pd.concat(numbered, ignore_index=True)

    def exists(self, path: str) -> bool:
        """Return whether a results file of the run exists."""
        return (self.root / path).is_file()

    def read(self, path: str) -> pd.DataFrame | None:
        """Return a table of the run, or None if the table does not exist. Raise `trust.Damaged` if the table does not
        match its provenance.
        """
        if not self.exists(path):
            return None
        try:
            return trust.table(self.root / path)
        except pd.errors.EmptyDataError:
            return pd.DataFrame()

    def provenance(self, slug: str, name: str) -> dict[str, Any]:
        """Return the provenance record of a table of results. The dictionary is empty if the table does not exist, or
        if only its SHA-256 is recorded.
        """
        path = f"results/{slug}/{name}.csv"
        record = trust.stated(self.root / path) if self.exists(path) else {}
        return record if "settings" in record else {}
