"""Targets that nothing makes, refused by name before Snakemake says that it knows no such rule."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ..config.config import nearest

SECTIONS = {"scenario": "scenarios", "page": "scenarios", "plan": "plans", "release": "releases"}


def refusal(
    targets: Iterable[str],
    *,
    rules: Iterable[str],
    files: Iterable[str],
    made: Callable[[str], bool],
    sections: Mapping[str, Iterable[str]],
) -> str:
    """What is wrong with targets, a line each; empty where each is a rule or a file that is there or can be made.

    Parameters
    ----------
    targets : as asked for.
    rules : names of all rules.
    files : that rules make, without those of wildcards.
    made : whether a rule makes a file.
    sections : section of the configuration -> names in it.
    """
    known, lines = set(rules), []
    for target in targets:
        if target in known or made(target) or Path(target).exists():
            continue
        near = nearest(target, files if "/" in target else sorted(known - {"all"}))
        section = SECTIONS.get(target.partition("_")[0], "")
        there = list(sections.get(section, ()))
        names = f"; {section} are {', '.join(there[:20]) or 'none'}, others with --configfile" if section else ""
        lines.append(f"{target!r} is no target{names}{near}")
    return "\n".join([*lines, "Nothing was run."]) if lines else ""
