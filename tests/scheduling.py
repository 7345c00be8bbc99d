"""Which worker of ``pytest -n`` runs what: a file is one worker's, the longest files are begun first.

A worker that is given a long file last leaves the others idle, so files are begun in the order of the seconds they
took when they were last weighed, those that are not listed last. ``make test ARGS=--weigh`` writes the list anew; it
changes nothing but the order. Files that look at the run of the whole workflow are one worker's: it is made once.
"""

from collections import Counter
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("seconds.tsv")
OF_ONE_RUN = (
    *("tests/workflow/test_archive.py", "tests/workflow/test_smoke.py"),
    "tests/attacks/test_results_on_disk.py",  # damages copies
)
_LEAST = 1.0  # seconds of a file that is listed


def scope(nodeid):
    """The file of a test; files of one run have one name."""
    file = nodeid.partition("::")[0]
    return OF_ONE_RUN[0] if file in OF_ONE_RUN else file


def weighed(path=LIST):
    """Scope -> seconds."""
    seconds = Counter()
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        file, _, taken = line.partition("\t")
        seconds[scope(file)] += float(taken)
    return seconds


def longest_first(nodeids, seconds):
    """The same tests, those of long files first; within a file, and between files of equal seconds, as they were."""
    return sorted(nodeids, key=lambda nodeid: -seconds[scope(nodeid)])


def scheduling(config, log):
    """xdist's own scheduling by files, with these scopes in this order."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return scope(nodeid)

    return Scheduling(config, log)


class Scales:
    """Adds up the seconds of every file's tests and writes those of long files."""

    def __init__(self):
        self.seconds = Counter()

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self):
        """Files that did not run keep their seconds, unless they are gone."""
        known = [line.split("\t") for line in LIST.read_text(encoding="utf-8").splitlines()[1:]]
        kept = {file: float(taken) for file, taken in known if (LIST.parents[1] / file).is_file()}
        LIST.write_text(listed(kept | self.seconds), encoding="utf-8")


def listed(seconds):
    """The list: file and whole seconds, the longest first."""
    found = sorted(((-round(taken), file) for file, taken in seconds.items() if taken >= _LEAST))
    return "\n".join(["file\tseconds", *(f"{file}\t{-taken}" for taken, file in found), ""])


def pytest_addoption(parser):
    parser.addoption("--weigh", action="store_true", help="write tests/seconds.tsv: what the tests of each file take")


def pytest_configure(config):
    if config.getoption("weigh") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Scales())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Every worker collects in the order in which files are handed out."""
    if hasattr(config, "workerinput"):
        order = {nodeid: place for place, nodeid in enumerate(longest_first([i.nodeid for i in items], weighed()))}
        items.sort(key=lambda item: order[item.nodeid])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return scheduling(config, log) if config.getvalue("dist") == "loadfile" else None
