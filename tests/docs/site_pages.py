"""Addresses that a browser would request: those in all pages and style sheets of a built site."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {(tag, "src") for tag in ("img", "script", "iframe", "source", "video", "audio", "embed")}
_STYLES = {"stylesheet", "preload", "prefetch", "icon", "preconnect", "dns-prefetch", "modulepreload"}
_CSS_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    """Anchors, links and loaded files of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        self.loaded += [value for key, value in given.items() if (tag, key) in _LOADED]
        if tag == "link" and set(given.get("rel", "").split()) & _STYLES:
            self.loaded.append(given["href"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


def pages(root: Path) -> dict[Path, Page]:
    """Return every page of the site, without the files of the theme."""
    return {path: Page(path) for path in sorted(root.rglob("*.html")) if "_static" not in path.parts}


def broken(root: Path) -> Iterator[str]:
    """Return links within the site without a target, and missing files."""
    found = pages(root)
    for path, page in found.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{path.relative_to(root)}: {link}: no such file"
            elif parts.fragment and target in found and unquote(parts.fragment) not in found[target].anchors:
                yield f"{path.relative_to(root)}: {link}: no such place on the page"


def remote(root: Path) -> Iterator[str]:
    """Return addresses of other machines that a page or a style sheet would load."""
    for path, page in pages(root).items():
        for address in page.loaded:
            if urlsplit(address).netloc:
                yield f"{path.relative_to(root)}: {address}"
    for path in root.rglob("*.css"):
        for match in _CSS_URL.finditer(path.read_text(encoding="utf-8", errors="replace")):
            address = match[1] or match[2]
            if urlsplit(address).netloc:
                yield f"{path.relative_to(root)}: {address}"
