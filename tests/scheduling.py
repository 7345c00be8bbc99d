"""Scheduling of test files for ``pytest -n``: each file is run by one worker, and the longest files are started first.

If a worker gets a long file last, the other workers are idle at the end. Files are therefore started in the order of
the seconds that they took when they were last timed; files that are not listed come last. ``make test ARGS=--weigh``
regenerates the list, which only affects the order. All files that use the run of the whole workflow are run by one
worker, so that it is computed once.
"""

from collections import Counter
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("seconds.tsv")
OF_ONE_RUN = (
    *("tests/workflow/test_archive.py", "tests/workflow/test_smoke.py"),
    "tests/attacks/test_results_on_disk.py",  # damages copies
)
_LEAST = 1.0  # smallest number of seconds of a listed file


def scope(nodeid):
    """Return the file of a test; files that use the same run have one name."""
    file = nodeid.partition("::")[0]
    return OF_ONE_RUN[0] if file in OF_ONE_RUN else file


def weighed(path=LIST):
    """Return a mapping from each scope to its seconds."""
    seconds = Counter()
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        file, _, taken = line.partition("\t")
        seconds[scope(file)] += float(taken)
    return seconds


def longest_first(nodeids, seconds):
    """Return the tests with those of long files first; the order within a file and between equal files is unchanged."""
    return sorted(nodeids, key=lambda nodeid: -seconds[scope(nodeid)])


def scheduling(config, log):
    """The scheduler of xdist that assigns whole files, with these scopes in this order."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return scope(nodeid)

    return Scheduling(config, log)


class Scales:
    """Plugin that adds up the seconds of every test file and writes those of long files."""

    def __init__(self):
        self.seconds = Counter()

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self):
        """Write the list; files that did not run keep their seconds, unless they were deleted."""
        known = [line.split("\t") for line in LIST.read_text(encoding="utf-8").splitlines()[1:]]
        kept = {file: float(taken) for file, taken in known if (LIST.parents[1] / file).is_file()}
        LIST.write_text(listed(kept | self.seconds), encoding="utf-8")


def listed(seconds):
    """Return the list of files and integer seconds, the longest file first."""
    found = sorted(((-round(taken), file) for file, taken in seconds.items() if taken >= _LEAST))
    return "\n".join(["file\tseconds", *(f"{file}\t{-taken}" for taken, file in found), ""])


def pytest_addoption(parser):
    parser.addoption("--weigh", action="store_true", help="write tests/seconds.tsv: what the tests of each file take")


def pytest_configure(config):
    if config.getoption("weigh") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Scales())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Make every worker collect the tests in the order in which the files are assigned."""
    if hasattr(config, "workerinput"):
        order = {nodeid: place for place, nodeid in enumerate(longest_first([i.nodeid for i in items], weighed()))}
        items.sort(key=lambda item: order[item.nodeid])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return scheduling(config, log) if config.getvalue("dist") == "loadfile" else None
