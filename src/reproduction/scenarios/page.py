"""One self-contained page about a scenario, to hand out: no network, no script, at most 300 kB."""

import base64
import io
import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from .. import style
from . import figure
from .making import Files
from .told import Told, told

LARGEST = 300_000  # bytes of a page
_TEMPLATE = Path(__file__).with_name("page.html")


def write(files: Files, path: str | Path, *, budgets: Mapping[str, Mapping[str, float]] | None = None) -> Told:
    """Write the page of a scenario.

    Parameters
    ----------
    files : that were made of it.
    path : of the page; its folder is made.
    budgets : source -> ceiling of what its releases may cost together, to say which part a release is.

    Returns
    -------
    Told
        What the page says.

    Raises
    ------
    ValueError
        If the page would have more than 300 kB.
    """
    found = told(files)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    about: dict[str, Any] = {"svg": Markup(_svg(files)), "protected": protected(found, budgets or {})}  # escaped in it
    about["unusable"] = any(not line.usable for line in found.lines)
    raw = files.csv.read_bytes()
    csv = base64.b64encode(raw).decode("ascii") if len(raw) <= LARGEST else ""
    content = template.render(told=found, csv=csv, **about).encode()
    if len(content) > LARGEST:  # the file of results has the table
        content = template.render(told=found, csv="", **about).encode()
    if len(content) > LARGEST:
        raise ValueError(f"{path}: the page has {len(content):,} bytes; a page has at most {LARGEST:,}")
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    making = target.with_name(target.name + ".part")
    making.write_bytes(content)
    os.replace(making, target)
    return found


def protected(found: Told, budgets: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What was protected and what it cost, of which budget, in sentences."""
    point = found.facts["points"][0] if "points" in found.facts else {}
    cost = point.get("cost")
    if point.get("origin") == "rehearsal":
        return ["Nothing was protected: this is a rehearsal with made-up numbers."]
    if not isinstance(cost, Mapping) or not cost:
        return ["What the numbers cost is not stated: whoever released them knows it."]
    paid = {key: value for key, value in cost.items() if isinstance(value, (int, float)) and key != "sensitivity"}
    words = " and ".join(f"{key} = {value:g}" for key, value in paid.items())
    relation = point.get("neighbours") or cost.get("relation")
    against = f": two files that differ by one step ({relation}) are hard to tell apart" if relation else ""
    said = [f"Single records were protected with {words}{against}."]
    source = str(point.get("source", ""))
    ceiling = budgets.get(source) or {}
    part = [f"{key} = {value:g} of {ceiling[key]:g}" for key, value in paid.items() if key in ceiling]
    return [*said, f"This release spent {' and '.join(part)}, the budget of {source}."] if part else said


def _svg(files: Files) -> str:
    """The figure of a scenario, its texts as texts, so that the reader's fonts write them."""
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "page"}
    with warnings.catch_warnings(), style.applied(), mpl.rc_context(settings):
        drawing = figure.drawn(files, fonts_of="reader")
        stream = io.StringIO()
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # the reader's fonts have them
        drawing.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = re.sub(r' id="interval-\d+"', "", text[text.index("<svg") :])  # bars and their marks share it
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return text.replace("<svg ", '<svg role="img" aria-label="means and intervals, as in the table" ', 1)
