"""The clauses of a scenario's notes, sorted by what a reader asks: what was assumed, and what the prior decides."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import cells

# What a clause is about, by a word in it; the first that fits.
_ABOUT = (
    ("origin", re.compile(r"^(rehearsal|not a release|release \S+, generation|published|a release from|released )")),
    ("prior", re.compile(r"\bprior\b")),
    ("noise and cost", re.compile(r"\bnoise\b.*\bcosts?\b|\bmechanism\b.*\bcosts?\b")),
    ("cost", re.compile(r"\bcosts?\b|\bRényi\b")),
    ("protects", re.compile(r"^neighbours\b")),
    ("mechanism and noise", re.compile(r"\b(noise|mechanism|algorithm|swapping)\b", re.IGNORECASE)),
    ("public", re.compile(r"\(public\)")),
)
WEIGHT = re.compile(r"\bprior\b.*\b(worth|weighs)\b")  # a clause that says how many records the prior is worth
_OTHER = re.compile(r"^(?P<quantity>.*?), (?P<other>(if the prior were .*|weaker prior|noise ignored))$")
_STATED = re.compile(r"^with (?P<other>.*prior) the mean is (?P<mean>[-+.\de]+)$")


def of(note: Any) -> list[str]:
    """The clauses of a note."""
    return [part.strip() for part in str(note).split("; ") if part.strip()]


def shared(notes: Iterable[Any]) -> list[str]:
    """Clauses of the first note that another repeats, in their order: what is said once for all rows."""
    first, *others = [of(note) for note in notes] or [[]]
    return [clause for clause in dict.fromkeys(first) if any(clause in other for other in others)]


def labelled(clauses: Iterable[str]) -> list[tuple[str, str]]:
    """(what it is about, the clauses about it), in the order in which they are met."""
    found: dict[str, list[str]] = {}
    for clause in clauses:
        about = next((name for name, pattern in _ABOUT if pattern.search(clause)), "")
        said = re.sub(rf"^{about}:? ", "", clause) if about else clause
        found.setdefault(about, []).append(said)
    return [(about, "; ".join(texts)) for about, texts in found.items()]


def influences(rows: Sequence[Mapping[Any, Any]]) -> list[tuple[str, str]]:
    """(another assumption, how far the means move under it), from rows and clauses that state the mean under it."""
    own = {str(row["quantity"]): row for row in rows if row.get("quantity")}
    moved: dict[str, list[tuple[float, str]]] = {}
    for row in rows:
        quantity = str(row.get("quantity", ""))
        stated = [
            (match["other"], float(match["mean"]), row) for c in of(row.get("note")) if (match := _STATED.match(c))
        ]
        if (match := _OTHER.match(quantity)) and match["quantity"] in own:
            stated.append((match["other"], _number(row["mean"]), own[match["quantity"]]))
        for other, mean, base in stated:
            if _number(base["sd"]) > 0:
                shift = abs(mean - _number(base["mean"])) / _number(base["sd"])
                moved.setdefault(other, []).append((shift, str(base["quantity"])))
    return [(other, _words(shifts)) for other, shifts in moved.items()]


def _words(shifts: list[tuple[float, str]]) -> str:
    largest, quantity = max(shifts)
    which = f"the mean of {quantity} moves" if len(shifts) == 1 else f"means move at most (that of {quantity})"
    return f"{which} by {cells.number(largest, 2)} standard deviations"


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")
