"""Mutants: files with one change, drawn at random by cosmic-ray or listed by hand, and the records of their results.

A mutant is identified by (file, before, after): `before` consists of the changed lines, with as many lines above them
as are needed to make them unique in the file, with single blanks. If a file has changed since, the records of its
other lines are still valid.

A sample draws places without replacement and one operator for each place, so that an operator with eleven replacements
does not count eleven times. Changes that have no effect or fail at once are excluded, because they would only increase
the kill rate: annotations, docstrings, decorators that cache, operators that are not defined for numbers (``@``,
shifts, bits instead of arithmetic), the star of a signature, code that does not compile, benchmarks, scripts that only
pass arguments on, and ``quoted.py``, which is a test of the documents. Modules that draw figures are a package of their
own, ``drawing``: there, places that only decide sizes, distances and styles are excluded as well (`_STYLE`).
"""

import ast
import csv
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "src/reproduction/papers"
LIST, EQUIVALENT, RATES = (Path(__file__).with_name(n) for n in ("listed.yaml", "equivalent.tsv", "rates.tsv"))
KERNELS = (".pyx", ".pxd", ".h")
LISTED = "by hand"
ENOUGH = 0.9  # minimum kill rate of the sampled mutants that are not equivalent; all listed mutants must be killed
_RATES = ("package", "sample", "rate", "mutants", "killed", "out of time", "equivalent", "survived")
_ARITHMETIC = {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"}
_SETS = {"BitOr", "BitAnd", "BitXor", "Sub"}
_REPLACED = re.compile(r"ReplaceBinaryOperator_(\w+)_(\w+)$")
_BITS_OF_NUMBERS = re.compile(r"ReplaceBinaryOperator_Sub_Bit")
_DRAWS = re.compile(r"^\s*(import matplotlib|from matplotlib)", re.MULTILINE)
DRAWING = "drawing"
# keyword arguments and functions of matplotlib that decide how something looks, not what is drawn
_STYLE = {
    *(
        "alpha",
        "bbox_to_anchor",
        "borderaxespad",
        "capsize",
        "constrained_layout",
        "dpi",
        "figsize",
        "fontsize",
        "frameon",
    ),
    *("ha", "handlelength", "height_ratios", "hspace", "labelpad", "labelsize", "layout", "length", "linewidth", "loc"),
    *(
        "lw",
        "markersize",
        "mew",
        "ms",
        "ncols",
        "pad",
        "parse_math",
        "rasterized",
        "rotation",
        "s",
        "size",
        "snap",
        "top",
    ),
    *("va", "width_ratios", "wspace", "xytext", "zorder"),
}
_STYLING = {"set_size_inches", "subplots_adjust", "tick_params", "margins", "tight_layout", "set_major_locator"}


@dataclass(frozen=True)
class Mutant:
    """A file below the root, the changed line, the kind of change, a description, and the mutated text."""

    file: str
    line: int
    operator: str
    before: str
    after: str
    text: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the key that identifies the mutant."""
        return self.file, self.before, self.after


@dataclass(frozen=True)
class Row:
    """Result of a mutant: ``killed`` (by which test), ``timeout``, ``survived``, or ``equivalent`` (why)."""

    file: str
    line: int
    operator: str
    before: str
    after: str
    outcome: str
    by: str
    seconds: float

    def __str__(self) -> str:
        place = f"{Path(self.file).name}:{self.line}"
        return f"{self.outcome:10} {place} {self.before!r} -> {self.after!r} {self.by} {self.seconds:.1f} s"


def words(text: str) -> str:
    """Return the text with single blanks."""
    return " ".join(text.split())


def mutant(file: str, operator: str, text: str, mutated: str) -> Mutant:
    """Return the mutant that replaces `text` by `mutated`."""
    old, new, everything = text.splitlines(), mutated.splitlines(), words(text)
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    most, same = min(len(old), len(new)) - start, 0
    while same < most and old[-1 - same] == new[-1 - same]:
        same += 1
    above = 0
    while not (before := words("\n".join(old[start - above : len(old) - same]))) or everything.count(before) > 1:
        above += 1
    after = words("\n".join(new[start - above : len(new) - same]))
    return Mutant(file, start + 1, operator, before, after, mutated)


def listed(path: Path = LIST, folder: Path = ROOT / "src") -> list[Mutant]:
    """Return the mutants of a list with entries ``file`` (below `folder`), ``before`` and ``after``.

    Raises
    ------
    ValueError
        If a file does not exist, or `before` does not occur exactly once in it; the message lists all such entries.
    """
    found, wrong = [], []
    for number, entry in enumerate(yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else [], 1):
        file, before = folder / entry["file"], entry["before"]
        where = f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}, entry {number} ({before!r})"
        if not file.is_file():
            wrong.append(f"{where}: there is no file {entry['file']}; write where it is now")
            continue
        text = file.read_text(encoding="utf-8")
        if text.count(before) != 1:
            wrong.append(f"{where} is {text.count(before)} times in {entry['file']}, not once; change `before`")
            continue
        name = str(file.relative_to(ROOT) if file.is_relative_to(ROOT) else file)
        found.append(mutant(name, LISTED, text, text.replace(before, entry["after"])))
    if wrong:
        raise ValueError("\n".join(wrong))
    return found


def all_listed() -> list[Mutant]:
    """Return the mutants of all lists: that of the library, kernels and shared code, and one list per paper."""
    return listed() + [
        m for path in sorted(PAPERS.glob("*/tests/mutations.yaml")) for m in listed(path, path.parents[1])
    ]


def package(file: str) -> str:
    """Return the package of a file: drawing, kernels, a paper, reproduction, or a package of the library."""
    parts = Path(file).parts[1:]
    if file.endswith(".py") and (ROOT / file).is_file() and _DRAWS.search((ROOT / file).read_text(encoding="utf-8")):
        return DRAWING
    if file.endswith(KERNELS):
        return "kernels"
    if parts[0] == "reproduction":
        return parts[2] if parts[1] == "papers" else parts[0]
    return parts[1].lstrip("_") if len(parts) > 2 else "ground"


@cache
def modules() -> dict[str, list[str]]:
    """Return a mapping from each package to its Python modules that are mutated."""
    found = defaultdict(list)
    for path in sorted((ROOT / "src").rglob("*.py")):
        apart = {"tests", "report"} & set(path.parts) or path.name in ("__init__.py", "bench.py", "quoted.py")
        if not apart and not path.stem.endswith("_script"):
            file = str(path.relative_to(ROOT))
            found[package(file)].append(file)
    return found


def sampled(files: list[str], count: int, seed: int, root: Path = ROOT) -> list[Mutant]:
    """Return at most `count` mutants by cosmic-ray, at places drawn uniformly from all `files` with the seed."""
    rng = random.Random(seed)
    texts = {file: (root / file).read_text(encoding="utf-8") for file in files}
    options = {file: _places(text) for file, text in texts.items()}
    places = [(file, place) for file in files for place in sorted(options[file])]
    rng.shuffle(places)
    drawn: list[Mutant] = []
    for file, place in places:
        if len(drawn) == count:
            break
        for name, occurrence in rng.sample(options[file][place], len(options[file][place])):
            if _BITS_OF_NUMBERS.search(name):
                continue
            mutated = _mutated(texts[file], name, occurrence)
            if mutated is not None and _differs(texts[file], mutated):
                drawn.append(mutant(file, name.partition("/")[2], texts[file], mutated))
                break
    return drawn


def _mutated(text: str, name: str, occurrence: int) -> str | None:
    """Return the mutated text, or None if cosmic-ray cannot change a dotted name in a tuple of exceptions."""
    try:
        return mutate_code(text, get_operator(name)(), occurrence)
    except AttributeError:
        return None


def _places(text: str) -> dict[Any, list[tuple[str, int]]]:
    """Return a mapping from each place to the (operator, occurrence) pairs that can change it."""
    tree, silent, lines = get_ast(text), list(_annotations(text)), text.splitlines()
    places = defaultdict(list)
    for name in sorted(operator_names()):
        operator, replaced = get_operator(name), _REPLACED.search(name)
        kinds = set(replaced.groups()) if replaced else set()
        if operator.arguments() or not (kinds <= _ARITHMETIC or kinds <= _SETS):
            continue
        positions = (found for node in ast_nodes(tree) for found in operator().mutation_positions(node))
        for occurrence, (start, stop) in enumerate(positions):
            cached = re.match(r"\s*@(functools\.)?(lru_)?cache\b", lines[start[0] - 1])
            if not cached and not any(first <= start < last for first, last in silent):
                places[start, stop].append((name, occurrence))
    return places


def _annotations(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for node in ast.walk(ast.parse(text)):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(part, ast.expr):
                yield _extent(part)
    if _DRAWS.search(text):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.keyword) and node.arg in _STYLE:
                yield _extent(node.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _STYLING:
                yield _extent(node)


def _extent(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _differs(text: str, mutated: str) -> bool:
    try:
        (code, by_position), (other, as_before) = _code(mutated), _code(text)
        return code != other and by_position == as_before
    except SyntaxError:
        return False


def _code(text: str) -> tuple[str, int]:
    """Return the code without docstrings, and the number of positional-only arguments."""
    parsed = ast.parse(text)
    compile(parsed, "mutant", "exec")
    for node in ast.walk(parsed):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    by_position = sum(len(node.posonlyargs) for node in ast.walk(parsed) if isinstance(node, ast.arguments))
    return ast.dump(parsed), by_position


@cache
def equivalents() -> dict[tuple[str, str, str], str]:
    """Return a mapping from a key to the reason why the mutant is equivalent."""
    return {(r["file"], r["before"], r["after"]): r["reason"] for r in table(EQUIVALENT)}


def table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a tab-separated table; no rows if the file does not exist."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def write(path: Path, header: tuple[str, ...], rows: list[Any]) -> None:
    """Write a tab-separated table."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, delimiter="\t", lineterminator="\n").writerows([header, *rows])


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write rows of mutants."""
    write(path, tuple(f.name for f in fields(Row)), [astuple(row) for row in rows])


def rows_of(path: Path) -> dict[tuple[str, str, str], Row]:
    """Return a mapping from key to row, from a table written by `write_rows`."""
    found = [Row(**{**r, "line": int(r["line"]), "seconds": float(r["seconds"])}) for r in table(path)]
    return {(row.file, row.before, row.after): row for row in found}


def rates(package: str, sample: str, rows: list[Row]) -> list[tuple[str, ...]]:
    """Return the rows of ``rates.tsv`` for a package, separately for sampled and listed mutants."""
    found = []
    for name, part in (
        (sample, [r for r in rows if r.operator != LISTED]),
        (LISTED, [r for r in rows if r.operator == LISTED]),
    ):
        if part:
            counts = [sum(r.outcome == o for r in part) for o in ("killed", "timeout", "equivalent", "survived")]
            able = len(part) - counts[2]
            rate = f"{100 * (counts[0] + counts[1]) / able:.0f} %" if able else ""
            found.append((package, name, rate, str(len(part)), *map(str, counts)))
    return found


def keep_rates(found: list[tuple[str, ...]]) -> None:
    """Write rows to ``rates.tsv``, replacing those of the same sample."""
    kept = {(r["package"], r["sample"]): tuple(r.values()) for r in table(RATES)} | {row[:2]: row for row in found}
    write(RATES, _RATES, [kept[key] for key in sorted(kept)])


def enough(rows: list[Row]) -> bool:
    """Return whether all listed mutants that are not equivalent were killed, and `ENOUGH` of the sampled ones."""
    able = [row for row in rows if row.outcome != "equivalent"]
    alive = [row for row in able if row.outcome == "survived"]
    sampled = sum(row.operator != LISTED for row in able)
    return all(row.operator != LISTED for row in alive) and len(alive) <= (1 - ENOUGH) * sampled + 1e-9
