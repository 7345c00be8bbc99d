"""Before a run: what lies in its folder and cannot be trusted is taken away, so that the run makes it again."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import trust
from ..paper import Paper
from . import artefacts

# Words with which Snakemake makes nothing.
_DRY = re.compile(r"-[a-zA-Z]*n[a-zA-Z]*|--dry-?run")
_LOOKS = re.compile(
    r"-[a-zA-Z]*[tlDShv][a-zA-Z]*|--(touch|unlock|lint|report|summary|detailed-summary|list.*|dag|rulegraph|filegraph|"
    r"d3dag|archive|cleanup-.*|export-cwl|generate-unit-tests|containerize|help|version)(=.*)?"
)
_SHOWN = 20  # files that are named, of each run


def taken_away(papers: Mapping[str, Paper], settings: Mapping[str, Any], words: Sequence[str]) -> list[Path]:
    """Remove torn, edited, lost and older results below the working directory, and say so.

    Snakemake makes again what it is asked for, and a piece of a long loop only where a table still waits for it.

    Parameters
    ----------
    papers : by slug.
    settings : the whole configuration.
    words : for Snakemake; where they make nothing, nothing is
        removed, and a dry run says what a run would make again.

    Returns
    -------
    list of Path
        What was removed, or would be.
    """
    dry = any(_DRY.fullmatch(word) for word in words)
    if not dry and any(_LOOKS.fullmatch(word) for word in words):
        return []
    faults = list(trust.untrusted(Path(), expected(papers, settings)))
    for fault in faults[:_SHOWN]:
        print(f"{fault.why}: {'would be' if dry else 'is'} taken away and made again.", file=sys.stderr)
    if len(faults) > _SHOWN:
        print(f"and {len(faults) - _SHOWN} more.", file=sys.stderr)
    files = [path for fault in faults for path in fault.files]
    if not dry:
        for path in files:
            path.unlink(missing_ok=True)
    return files


def expected(papers: Mapping[str, Paper], settings: Mapping[str, Any]) -> Iterator[str]:
    """Files of the papers that must not stand there without a provenance.

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
