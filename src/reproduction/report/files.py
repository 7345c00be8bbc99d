"""Files that a report takes with it: figures as they are, tables as CSV, large ones compressed."""

import gzip
import shutil
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

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
        """A copy of the run's figure at `path`, or None where it was not drawn."""
        source = self.run / path
        if not source.is_file():
            return None
        self._copy(source, path)
        with Image.open(source) as image:
            return Figure(path, image.width, image.height, alt, caption)

    def table(self, path: str) -> str:
        """Address of a copy of the run's table at `path`; empty where it is missing or too large to be copied."""
        source = self.run / path
        if not source.is_file():
            return ""
        place = path.replace("results/", "data/", 1)
        if source.stat().st_size <= PLAIN_BYTES:
            self._copy(source, place)
            return place
        packed = gzip.compress(source.read_bytes(), mtime=0)
        if len(packed) > MOST_BYTES:
            return ""
        self.write(f"{place}.gz", packed)
        return f"{place}.gz"

    def write(self, place: str, content: bytes | str) -> None:
        """Write a file of the report."""
        target = self.target / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    def _copy(self, source: Path, place: str) -> None:
        target = self.target / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
