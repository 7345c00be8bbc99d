"""Which worker runs what: the run of the whole workflow is made once, and no worker is given a long file last."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import scheduling

ROOT = Path(__file__).parents[2]
TAKES_THE_RUN = re.compile(r"^def \w+\([^)]*\bsmoke\b|getfixturevalue\(.smoke.\)", re.MULTILINE)


def test_all_files_that_look_at_the_whole_run_are_one_workers(pytestconfig):
    pytest.importorskip("xdist")
    settings = {"dist": "loadfile", "tx": ["2*popen"]}
    made = pytestconfig.hook.pytest_xdist_make_scheduler(config=SimpleNamespace(getvalue=settings.get), log=None)
    files = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    scopes = {file: made._split_scope(f"{file}::test_something") for file in files}
    shared = [file for file in files if TAKES_THE_RUN.search((ROOT / file).read_text())]
    assert len(shared) >= 2
    assert len({scopes[file] for file in shared}) == 1
    assert len({*scopes.values()}) == len(files) - len(shared) + 1


def test_longest_files_come_first_and_tests_of_a_file_stay_as_they_were(tmp_path):
    path = tmp_path / "seconds.tsv"
    path.write_text(
        "file\tseconds\nb.py\t7\na.py\t30\ntests/workflow/test_smoke.py\t20\ntests/workflow/test_archive.py\t15\n"
    )
    ids = ["z.py::test_2", "z.py::test_1", "b.py::test[a::b]", "tests/workflow/test_smoke.py::test", "a.py::test_2"]
    ids += ["a.py::test_1", "tests/workflow/test_archive.py::test", "y.py::test", "z.py::test_0"]
    found = scheduling.longest_first(ids, scheduling.weighed(path))
    assert found == [ids[i] for i in (3, 6, 4, 5, 2, 0, 1, 7, 8)]  # 20 + 15 are one worker's 35


def test_only_workers_change_the_order(monkeypatch):
    monkeypatch.setattr(scheduling, "weighed", lambda: {"b.py": 2.0, "a.py": 0.0})
    for config, order in (({"workerinput": {}}, "ba"), ({}, "ab")):
        items = [SimpleNamespace(nodeid=f"{name}.py::test") for name in "ab"]
        scheduling.pytest_collection_modifyitems(SimpleNamespace(**config), items)
        assert [item.nodeid[0] for item in items] == list(order)


def test_files_are_weighed_with_their_fixtures_and_short_ones_left_out(tmp_path, monkeypatch):
    """Of two files that are there one has run; one that is gone is gone from the list."""
    monkeypatch.setattr(scheduling, "LIST", tmp_path / "tests/seconds.tsv")
    (tmp_path / "tests").mkdir()
    for name in ("run", "kept"):
        (tmp_path / f"tests/test_{name}.py").touch()
    old = {"tests/test_run.py": 50, "tests/test_kept.py": 3, "tests/test_gone.py": 9}
    scheduling.LIST.write_text(scheduling.listed(old))
    scales = scheduling.Scales()
    for file, seconds in (("run", 1.5), ("run", 2.75), ("new", 0.5), ("new", 0.25)):
        scales.pytest_runtest_logreport(SimpleNamespace(nodeid=f"tests/test_{file}.py::test", duration=seconds))
    scales.pytest_sessionfinish()
    assert scheduling.LIST.read_text() == "file\tseconds\ntests/test_run.py\t4\ntests/test_kept.py\t3\n"


def test_every_file_of_the_list_is_there():
    lines = scheduling.LIST.read_text().splitlines()
    assert lines[0] == "file\tseconds"
    assert [line for line in lines[1:] if not (ROOT / line.split("\t")[0]).is_file()] == []
