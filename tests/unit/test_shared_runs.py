"""Which worker runs what: the run of the whole workflow is made once, however many workers there are."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
TAKES_THE_RUN = re.compile(r"^def \w+\([^)]*\bsmoke\b", re.MULTILINE)


def test_all_files_that_look_at_the_whole_run_are_one_workers(pytestconfig):
    pytest.importorskip("xdist")
    settings = {"dist": "loadfile", "tx": ["2*popen"]}
    scheduling = pytestconfig.hook.pytest_xdist_make_scheduler(config=SimpleNamespace(getvalue=settings.get), log=None)
    files = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    scopes = {file: scheduling._split_scope(f"{file}::test_something") for file in files}
    shared = [file for file in files if TAKES_THE_RUN.search((ROOT / file).read_text())]
    assert len(shared) >= 2
    assert len({scopes[file] for file in shared}) == 1
    assert len({*scopes.values()}) == len(files) - len(shared) + 1
