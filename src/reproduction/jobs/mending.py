"""Remove results that cannot be trusted before a run, so that the run computes them again."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpmultinomial import _printing

from .. import trust
from ..paper import Paper
from . import artefacts

# Arguments with which Snakemake makes nothing.
_DRY = re.compile(r"-[a-zA-Z]*n[a-zA-Z]*|--dry-?run")
_LOOKS = re.compile(
    r"-[a-zA-Z]*[tlDShv][a-zA-Z]*|--(touch|unlock|lint|report|summary|detailed-summary|list.*|dag|rulegraph|filegraph|"
    r"d3dag|archive|cleanup-.*|export-cwl|generate-unit-tests|containerize|help|version)(=.*)?"
)
_SHOWN = 20  # number of files that are listed for each run


def taken_away(papers: Mapping[str, Paper], settings: Mapping[str, Any], words: Sequence[str]) -> list[Path]:
    """Remove incomplete, edited and outdated results, and results with missing files, below the working directory, and
    report them.

    Snakemake then regenerates the requested files, and a piece of a long loop only if a table still needs it.

    Parameters
    ----------
    papers : by slug.
    settings : the whole configuration.
    words : arguments of Snakemake; if they make nothing, nothing is removed, and a dry run reports what a run would
        regenerate.

    Returns
    -------
    list of Path
        Files that were removed, or would be in a dry run.

    Raises
    ------
    OSError
        If a folder is in the place of a result.
    """
    dry = any(_DRY.fullmatch(word) for word in words)
    if not dry and any(_LOOKS.fullmatch(word) for word in words):
        return []
    wanted = [*expected(papers, settings)]
    if folders := [name for name in wanted if Path(name).is_dir()]:
        raise NotADirectoryError(f"{folders[0]} is a folder in the place of a result: remove or rename it")
    faults = list(trust.untrusted(Path(), wanted, requested(papers, settings)))
    for fault in faults[:_SHOWN]:
        why = _printing.printable(fault.why)
        print(f"{why}; it {'would be' if dry else 'is'} removed and regenerated.", file=sys.stderr)
    if len(faults) > _SHOWN:
        print(f"and {len(faults) - _SHOWN} more.", file=sys.stderr)
    files = [path for fault in faults for path in fault.files]
    if not dry:
        for path in files:
            path.unlink(missing_ok=True)
    return files


def requested(papers: Mapping[str, Paper], settings: Mapping[str, Any]) -> Iterator[str]:
    """Return the tables, figures and agreements that a run without targets makes; arguments as for `expected`."""
    for slug in (slug for slug in papers if slug in settings["run"]):
        yield from (*papers[slug].tables(), *papers[slug].figures(), f"results/{slug}/agreement.csv")


def expected(papers: Mapping[str, Paper], settings: Mapping[str, Any]) -> Iterator[str]:
    """Return the files of the papers that are invalid if they have no provenance.

    Parameters
    ----------
    papers : by slug.
    settings : the whole configuration, with its defaults.
    """
    for slug, paper in papers.items():
        section = settings[slug]
        yield from (*paper.tables(), *paper.figures(), f"results/{slug}/agreement.csv")
        yield from (file for loop in artefacts.loops(paper, section, settings["shards"]) for file in loop.files)
    for name in settings["scenarios"]:
        yield from (f"results/scenarios/{name}.csv", f"results/scenarios/{name}.json", f"figures/scenarios/{name}.png")
