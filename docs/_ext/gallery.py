"""Gallery: thumbnails of figures of a run, each with the caption from the folder of its paper or study.

``python docs/_ext/gallery.py figures <slug>/<artefact> studies/<name> ..`` makes thumbnails of these figures of a run
in ``docs/gallery/``; without names it renews those that are there. The page is written when the site is built.
"""

import sys
from pathlib import Path

from PIL import Image

FOLDER = Path(__file__).resolve().parents[1] / "gallery"
LARGEST = 20_000  # bytes of one thumbnail
_WIDTHS = (640, 560, 480, 400, 320)
_COLOURS = (64, 32, 16)


def thumbnail(figure: Path, target: Path) -> int:
    """Write `figure` as a small PNG of at most `LARGEST` bytes; the widest that fits. Returns its width in pixels.

    Raises
    ------
    ValueError
        If no width fits.
    """
    with Image.open(figure) as opened:
        image = opened.convert("RGB")
    for width in _WIDTHS:
        small = image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
        for colours in _COLOURS:
            # the median cut, which is Pillow's default, can give lines of two colours one colour
            reduced = small.quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
            reduced.save(target, optimize=True)
            if target.stat().st_size <= LARGEST:
                return width
    target.unlink()
    raise ValueError(f"{figure}: no thumbnail of at most {LARGEST} bytes; take another figure")


def page(folder: Path = FOLDER) -> str:
    """Return the gallery as MyST Markdown: one card per thumbnail, first of the papers, then of the studies."""
    from papers import plain, quoted

    from reproduction import paper as folders
    from reproduction import studies

    cards = []
    for slug, paper in folders.discover().items():
        for artefact in paper.artefacts:
            name = f"{slug}.{artefact.name}.png"
            if artefact.figure and (folder / name).is_file():
                cards.append(
                    f":::{{grid-item-card}} {plain(artefact.label)}\n:link: papers/{slug}\n:link-type: doc\n"
                    f":img-top: gallery/{name}\n:img-alt: {quoted(artefact.figure.alt)}\n\n"
                    f"`{slug}` {plain(artefact.figure.caption)}\n:::"
                )
    for study in studies.discover().values():
        name = f"studies.{study.name}.png"
        if (folder / name).is_file():
            target = study.name if (folder.parent / f"methods/{study.name}.md").is_file() else "index"
            cards.append(
                f":::{{grid-item-card}} {plain(study.title)}\n:link: methods/{target}\n:link-type: doc\n"
                f":img-top: gallery/{name}\n:img-alt: {quoted(study.alt)}\n\n"
                f"`study_{study.name}` {plain(study.caption)}\n:::"
            )
    head = (
        "# Gallery\n\nThe images on this page are small versions of figures from a run. Each card links to the page of "
        "its paper, or to the methods of its study."
    )
    return f"{head}\n\n::::{{grid}} 1 2 2 2\n:gutter: 3\n\n" + "\n\n".join(cards) + "\n\n::::\n"


def setup(app) -> dict[str, bool]:
    """Register the page, which is written before Sphinx looks for sources."""

    def write(app) -> None:
        path = Path(app.srcdir, "gallery.md")
        text = page(Path(app.srcdir, "gallery"))
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    figures, *names = sys.argv[1:] or ["figures"]
    for wanted in names or sorted(path.stem.replace(".", "/") for path in FOLDER.glob("*.*.png")):
        made = FOLDER / f"{wanted.replace('/', '.')}.png"
        print(f"{made.name}: {thumbnail(Path(figures, f'{wanted}.png'), made)} pixels wide")
