"""Files that a report takes with it: figures as they are, tables as CSV, large ones compressed."""

import gzip
import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from .. import trust

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
