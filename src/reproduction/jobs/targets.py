"""Rejection of targets that no rule makes, with a list of the valid names, before Snakemake reports a missing rule."""

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
    """Return one line per invalid target. The text is empty if every target is a rule, an existing file, or a file that
    a rule makes.

    Parameters
    ----------
    targets : targets of the command line.
    rules : names of all rules.
    files : output files of rules without wildcards.
    made : function that returns whether a rule makes a file.
    sections : section of the configuration -> names of its entries.
    """
    known, lines = set(rules), []
    for target in targets:
        if target in known or made(target) or Path(target).exists():
            continue
        near = nearest(target, files if "/" in target else sorted(known - {"all"}))
        section = SECTIONS.get(target.partition("_")[0], "")
        there = list(sections.get(section, ()))
        names = f"; {section} are {', '.join(there[:20]) or 'none'}; add others with --configfile" if section else ""
        lines.append(f"{target!r} is not a target{names}{near}")
    return "\n".join([*lines, "Nothing was run."]) if lines else ""
