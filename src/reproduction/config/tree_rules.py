"""What a file of noisy counts with a column `parent` must obey: a tree, some of whose nodes were measured once or more.

Plain Python: it runs before any kernel exists. Every row is a measurement of a node, or names a node without one; rows
of one name are several measurements of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import question_rules

Columns = Mapping[str, Sequence[str]]
Mistakes = Iterator[tuple[str, str]]
_LEAVES = ("flat", "1/(1+n)", "fitted")
_SHARE = "questions: {name: {share: {of: [..], among: [..]}}}"


def is_tree(columns: Columns | None) -> bool:
    """Whether a file has a column of parents."""
    return columns is not None and "parent" in columns


def parents(columns: Columns) -> dict[str, str | None]:
    """Name of each node -> name of its parent, None of the root; in the order of the file.

    Parameters
    ----------
    columns : of the file, as texts; checked (`mistakes`).
    """
    return {name: above or None for name, above in zip(columns["name"], columns["parent"], strict=True)}


def depths(columns: Columns) -> dict[str, int]:
    """Distance of each node from the root.

    Parameters
    ----------
    columns : of the file, as texts.

    Raises
    ------
    ValueError
        If parents make no tree: the node and the rule.
    """
    above = parents(columns)
    for name, stated in zip(columns["name"], columns["parent"], strict=True):
        if (above[name] or "") != stated:
            first, other = (f"{text!r}" if text else "none" for text in (above[name], stated))
            raise ValueError(f"{name!r} has two parents, {first} and {other}; rows of one name are of one node")
        if stated and stated not in above:
            raise ValueError(f"the parent of {name!r} is {stated!r}, which is no name in the file; give it a row")
    roots = [name for name, parent in above.items() if parent is None]
    if len(roots) != 1:
        some = f": {', '.join(map(repr, roots[:3]))}" if roots else ""
        raise ValueError(f"a tree has one root, a row with an empty parent; the file has {len(roots) or 'none'}{some}")
    found = {roots[0]: 0}
    for name in above:
        path: list[str] = []
        node = name
        while node not in found and len(path) <= len(above):
            path.append(node)
            node = above[node] or ""
        if node not in found:
            raise ValueError(f"{name!r} is its own ancestor, or below one that is")
        for step, below in enumerate(reversed(path), start=1):
            found[below] = found[node] + step
    return found


def levels(columns: Columns) -> list[str] | None:
    """Names of the levels, the root's first, from the column `level`; None where there is none.

    Parameters
    ----------
    columns : of the file, as texts.

    Raises
    ------
    ValueError
        If nodes at one distance from the root have different names of levels, or two distances one name.
    """
    if "level" not in columns:
        return None
    depth = depths(columns)
    found: dict[int, str] = {}
    for name, level in zip(columns["name"], columns["level"], strict=True):
        own = found.setdefault(depth[name], level)
        if own != level or not level:
            raise ValueError(
                f"{name!r} has level {level!r}, other nodes {depth[name]} steps below the root {own!r}; a level is a "
                "distance from the root"
            )
    named = [found[depth] for depth in sorted(found)]
    if len(set(named)) < len(named):
        raise ValueError(f"levels at different distances from the root have one name: {', '.join(named)}")
    return named


def mistakes(settings: Mapping[str, Any], columns: Columns) -> Mistakes:
    """(key, message) of every rule of a tree that is broken.

    Parameters
    ----------
    settings : of a scenario.
    columns : of its file, as texts.
    """
    try:
        depth = depths(columns)
        levels(columns)
    except ValueError as error:
        yield ".file", str(error)
        return
    if "among" in settings:
        yield ".among", f"shares among counts of a tree are a question: {_SHARE}"
    if settings.get("about") == "rates":
        yield ".about", "a tree says what the counts are, not by which rates they were made; write about: counts"
    if isinstance(settings.get("total"), Mapping):
        yield ".total", "a noisy total is a measurement of the root: give it a row of the file"
    below, prior = max(depth.values()), settings.get("prior")
    if (isinstance(prior, str) and prior not in _LEAVES) or (
        isinstance(prior, Mapping) and prior.get("law") == "multinomial"
    ):
        yield (
            ".prior",
            f"{prior!r} is none of a tree; there are a concentration, one a level, {', '.join(_LEAVES)}, "
            "or a law of the leaves such as {law: geometric, mean: 10}",
        )
    if isinstance(settings.get("prior"), list) and len(settings["prior"]) != below:
        yield (
            ".prior",
            f"has {len(settings['prior'])} concentrations for {below} levels below the root; give one for each",
        )
    yield from question_rules.mistakes(settings.get("questions") or {}, list(depth))
