"""Where the raw files lie, and which job runs what on which set.

The standard library alone: the workflow asks this before anything is installed.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from . import catalogue
from .catalogue import File

FUNCTIONS = {  # experiment -> function that runs it on one data set
    "naive_bayes": "naive_bayes.runs",
    "naive_bayes_dp": "naive_bayes.approximate",
    "networks": "networks.runs",
    "networks_dp": "networks.approximate",
}
_GROUPS = {
    "naive_bayes": ("datasets", "bundled"),
    "naive_bayes_dp": ("datasets",),
    "networks": ("networked",),
    "networks_dp": ("networked",),
}
MODULES = ("artefacts", "datasets", "naive_bayes", "networks")  # that these jobs run
DOWNLOADED = "downloaded"  # marks a folder whose files came from the archive, not from the user


def places(name: str, file: File, folders: Sequence[str | Path]) -> Iterator[Path]:
    """Every path at which a file of the data set `name` is looked for, in this order; not all of them exist."""
    for folder in map(Path, folders):
        for path in (folder / name / file.name, folder / file.name):
            yield path
            yield path.with_name(path.name + ".gz")


def brought(name: str, folders: Sequence[str | Path]) -> list[str]:
    """Files of a data set that the user has put into a folder: when one comes, the set is prepared again.

    Downloads are ignored: they are what a preparation left over, not a reason for another one.
    """
    source = catalogue.SOURCES.get(name)
    if source is None:
        return []
    files = (*source.files, *source.archive_files)
    found = [path for file in files for path in places(name, file, folders) if path.is_file()]
    return [str(path) for path in found if not (path.parent / DOWNLOADED).exists()]


def tables(wanted: str, groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Tables a gathered one reads: <kind>/<group> stands for one table a data set of the group."""
    kind, group = wanted.split("/")
    return [f"results/ponnoprat2022/{kind}/{name}.csv" for name in groups[group]]


def shared(groups: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Name of a job -> its data sets: one for each set of the UCI, one for all that scikit-learn carries."""
    alone = dict.fromkeys([*groups["datasets"], *groups["networked"]])
    jobs = {name: [name] for name in alone}
    bundled = [name for name in groups["bundled"] if name not in alone]
    return jobs | ({"bundled": bundled} if bundled else {})


def experiments(sets: Sequence[str], groups: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """(experiment, data set) of everything that is run on `sets`."""
    return [(kind, name) for kind, which in _GROUPS.items() for name in sets if any(name in groups[g] for g in which)]
