"""Mutations of a module: cosmic-ray's, drawn at random by place, and those listed by hand.

A place is a piece of source that some operator changes; a sample draws places without replacement and one operator for
each, since an operator of eleven replacements must not count eleven times. Excluded is what cannot matter or fails at
once and so would only flatter the rate: annotations, docstrings, decorators that cache, operators that numbers do not
have (``@``, shifts and bits in place of arithmetic), the star of a signature as a product, and mutants that do not
compile. A paper's ``quoted.py`` is passed over too: it is itself a test, of the documents against a full run.
"""

import ast
import difflib
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

_ARITHMETIC = {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"}
_SETS = {"BitOr", "BitAnd", "BitXor", "Sub"}
_REPLACED = re.compile(r"ReplaceBinaryOperator_(\w+)_(\w+)$")
TESTS_OF_DOCUMENTS = "quoted.py"
_BITS_OF_NUMBERS = re.compile(r"ReplaceBinaryOperator_Sub_Bit")
_CACHING = re.compile(r"@(functools\.)?(lru_)?cache\b")

Place = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Mutation:
    """A module's source with one change; `before` and `after` are the lines that differ, `lines` their numbers."""

    module: str
    lines: tuple[int, ...]
    operator: str
    before: str
    after: str
    source: str


def sampled(tree: Path, modules: tuple[str, ...], count: int, seed: int) -> list[Mutation]:
    """At most `count` mutations of cosmic-ray at places drawn uniformly from all of `modules`.

    Parameters
    ----------
    tree : where the modules are. seed : of the draw; modules, count and seed decide it.
    """
    rng = random.Random(seed)
    sources = {module: (tree / module).read_text(encoding="utf-8") for module in modules}
    options = {module: _places(source) for module, source in sources.items()}
    places = [(module, place) for module in modules for place in sorted(options[module])]
    rng.shuffle(places)
    drawn: list[Mutation] = []
    for module, place in places:
        if len(drawn) == count:
            break
        if Path(module).name == TESTS_OF_DOCUMENTS:
            continue
        for name, occurrence in rng.sample(options[module][place], len(options[module][place])):
            if _BITS_OF_NUMBERS.search(name):
                continue
            mutated = mutate_code(sources[module], get_operator(name)(), occurrence)
            if mutated is not None and _differs(sources[module], mutated):
                drawn.append(_mutation(module, name.partition("/")[2], sources[module], mutated))
                break
    return drawn


def by_hand(tree: Path, listed: str, modules: tuple[str, ...]) -> list[Mutation]:
    """Mutations of a list: entries ``file`` (a module's path or its end), ``old``, ``new``.

    Raises
    ------
    ValueError
        If `old` does not stand exactly once in its file: the code has moved on and the list must follow.
    """
    if not (tree / listed).exists():
        return []
    made = []
    for entry in yaml.safe_load((tree / listed).read_text(encoding="utf-8")):
        fitting = [module for module in modules if module.endswith("/" + entry["file"])]
        if not fitting:
            continue  # of another package
        source = (tree / fitting[0]).read_text(encoding="utf-8")
        if source.count(entry["old"]) != 1:
            raise ValueError(f"{listed}: {entry['old']!r} must stand once in {entry['file']}; change the entry")
        made.append(_mutation(fitting[0], "by hand", source, source.replace(entry["old"], entry["new"])))
    return made


def _places(source: str) -> dict[Place, list[tuple[str, int]]]:
    """Place -> (operator, occurrence) of everything that may happen there."""
    tree, silent = get_ast(source), list(_annotations(source))
    places: dict[Place, list[tuple[str, int]]] = defaultdict(list)
    for name in sorted(operator_names()):
        operator = get_operator(name)
        if operator.arguments() or not _fits(name):
            continue
        positions = (found for node in ast_nodes(tree) for found in operator().mutation_positions(node))
        for occurrence, (start, stop) in enumerate(positions):
            cached = _CACHING.match(source.splitlines()[start[0] - 1].strip())
            if not cached and not any(first <= start < last for first, last in silent):
                places[start, stop].append((name, occurrence))
    return places


def _fits(name: str) -> bool:
    replaced = _REPLACED.search(name)
    return replaced is None or set(replaced.groups()) <= _ARITHMETIC or set(replaced.groups()) <= _SETS


def _annotations(source: str) -> Iterator[Place]:
    for node in ast.walk(ast.parse(source)):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(part, ast.expr):
                yield (part.lineno, part.col_offset), (part.end_lineno or 0, part.end_col_offset or 0)


def _differs(source: str, mutated: str) -> bool:
    try:
        (code, by_position), (other, as_before) = _code(mutated), _code(source)
        return code != other and by_position == as_before
    except SyntaxError:
        return False


def _code(source: str) -> tuple[str, int]:
    """The code without its docstrings, and how many arguments it takes by position alone."""
    parsed = ast.parse(source)
    compile(parsed, "mutant", "exec")
    by_position = 0
    for node in ast.walk(parsed):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
        if isinstance(node, ast.arguments):
            by_position += len(node.posonlyargs)
    return ast.dump(parsed), by_position


def _mutation(module: str, operator: str, source: str, mutated: str) -> Mutation:
    old, new = source.splitlines(), mutated.splitlines()
    changed = [c for c in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if c[0] != "equal"]
    lines = [line + 1 for _, first, last, _, _ in changed for line in range(first, last)] or [changed[0][1] + 1]
    before = " / ".join(old[line - 1].strip() for line in lines)
    after = " / ".join(line.strip() for _, _, _, first, last in changed for line in new[first:last])
    return Mutation(module, tuple(lines), operator, before, after, mutated)
