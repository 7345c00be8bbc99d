"""Refusals of releases that nothing else meets: files, ledgers, locks, settings that do not go together."""

import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from dpmultinomial._files.csv_table import parse
from dpmultinomial._releases import (
    _additive,
    _budget_records,
    _confidential,
    _costs,
    _counts,
    _microdata,
    _noise,
    _places,
    _protocol,
    checks,
    room,
)
from dpmultinomial._releases import _statistics as released

COUNTS = b"category,count\na,1\nb,2\n"
ENTRY = _budget_records.Entry(
    time="2026-01-01T00:00:00Z", release="r", generation=1, source="s", mechanism="discrete_laplace",
    cost=str(_costs.Cost(relation="replace a record", epsilon=0.5)), sha256="0", record_sha256="1", settings="2",
    data="3", state=_budget_records.SPENT,
)  # fmt: skip


def table(raw):
    return parse(raw, name="f.csv", confidential=True)


CENSORED, SWAPPED = {"column": "x", "lower": 0.0, "upper": 1.0}, {"swap": ["a"], "match": ["c"], "rate": 0.1}
PER_RECORD = {"relation": "replace a record"}
FEW, FAR = table(b"x\n1\n2\n3\n"), CENSORED | {"lower": 1e7, "upper": 1e7 + 1}
MANY, ENOUGH = table(b"category,count\na,400000001\nb,0\n"), table(b"x\n1\n2\n3\n4\n")
EMPTY, TWO = table(b"a,b,c\n1,2,x\n3,4,\n"), table(b"a,b\n1,2\n3,4\n")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: _additive.additive({"epsilon": 1.0, "algorithm": "2"}, MANY), "must stay below"),
        (lambda: _additive.additive({"epsilon": 1e-5, "algorithm": "1-summed"}, table(COUNTS)), "needs at least"),
        (lambda: _microdata.swap(SWAPPED | {"swap": ["a", "b"], "match": []}, TWO), "a column must be left"),
        (lambda: _microdata.swap(SWAPPED, EMPTY), "line 3.* a value to match on must not be empty"),
        (lambda: released.censored(CENSORED, FEW), "must have 4 to .* records, got 3"),
        (lambda: released.censored(FAR, ENOUGH), "lie too far from 0"),
        (lambda: _costs.Cost(**PER_RECORD), "epsilon, rho, or epsilon and order, got none"),
        (lambda: _costs.Cost(**PER_RECORD, epsilon=1.0, rho=1.0), "got epsilon, rho"),
        (lambda: _noise.laplace_scale(5e-324, sensitivity=1), "scale|finite"),
    ],
)
def test_what_cannot_be_released_is_refused(make, words):
    with pytest.raises((ValueError, ArithmeticError, OverflowError), match=words):
        make()


def test_a_ledger_takes_only_what_it_can_read_back(tmp_path):
    kept = _budget_records.Ledger(tmp_path / "ledger.tsv")
    assert kept.entries() == []
    kept.mend()
    kept.add(ENTRY)
    assert kept.entries() == [ENTRY]
    assert _budget_records.costs(kept.entries(), "s") == [ENTRY.spent]
    assert _budget_records.costs(kept.entries(), "other") == []
    assert ENTRY.name == ("r", 1)
    assert repr(kept).endswith("ledger.tsv: 1 releases)")
    kept.add(replace(ENTRY, state=_budget_records.PUBLISHED))
    assert [e.state for e in kept.entries()] == [_budget_records.PUBLISHED]
    for bad in ("a\tb", "a\nb", "a\rb"):
        with pytest.raises(ValueError, match="must not hold tabs or line ends"):
            kept.add(replace(ENTRY, source=bad))
    whole = kept.path.read_bytes()
    cost = str(ENTRY.spent).encode()
    for changed, words in [
        (whole.replace(cost, b"-5"), "line 2: cost must be what a release can cost, got '-5'"),
        (whole.replace(cost, b"NaN"), "line 2: cost must be what a release can cost, got 'NaN'"),
        (whole.replace(cost, b"{}"), "line 2: cost must be what a release can cost"),
        (whole.replace(cost, b"much"), "line 2: cost must be what a release can cost"),
        (whole.replace(cost, cost.replace(b"0.5", b"-0.5")), "line 2: cost must be what a release can cost"),
        (whole.replace(cost, cost.replace(b"0.5", b"NaN")), "line 2: cost must be what a release can cost"),
        (whole.replace(cost, cost.replace(b"0.5", b"0.50")), "line 2: cost must be written as"),
        (whole.replace(b"\ts\t", b"\tS\t"), "line 2: source must be"),
        (b"time\n", "line 1: must name the columns time, release"),
        (
            whole.replace(b"spent, not published", b"lost"),
            "line 2: state must be 'spent, not published'",
        ),
        (whole.replace(b"\tr\t1\t", b"\tr\tx\t"), "line 2: generation must be a whole number, got 'x'"),
        (whole.replace(b"\tr\t1\t", "\tr\t\u0661\t".encode()), "generation must be a whole number"),
        (whole + b"a\tb\n", "line 4: must have 11 fields, got 2"),
    ]:
        kept.path.write_bytes(changed)
        with pytest.raises(ValueError, match=words):
            kept.entries()
    kept.path.write_bytes(whole + b"half a li")
    assert len(kept.entries()) == 1
    kept.mend()
    assert kept.path.read_bytes() == whole


def test_all_faults_of_a_confidential_file_of_counts_come_at_once_and_show_nothing():
    wrong = table("category,count\nnord,812.5\n,7\nnord,-3\nsüd,\na\tb,1\n".encode())
    with pytest.raises(ValueError, match=r"f\.csv: 6 faults") as caught:
        _counts.read(wrong)
    assert str(caught.value).splitlines()[1:] == [
        "    line 2, column 'count': must be a whole number",
        "    line 3, column 'category': must not be empty",
        "    line 4, column 'category': must differ from that of line 2",
        f"    line 4, column 'count': must be in [0, {2**53 // 5}]",
        "    line 5, column 'count': must be a whole number",
        "    line 6, column 'category': must have no control characters",
    ]
    swapped = table(b"a,b,c\n1,2,\n3,4,x\n5,6,\n")
    with pytest.raises(ValueError, match=r"2 faults\n +line 2, column 'c': .* empty\n +line 4, column 'c'"):
        _microdata.swap(SWAPPED, swapped)


def _hold(root, held, done):
    with _protocol.locked(root):
        held.set()
        done.wait(20)


def test_who_comes_second_waits_then_is_refused(tmp_path):
    fork = multiprocessing.get_context("fork")
    held, done = fork.Event(), fork.Event()
    other = fork.Process(target=_hold, args=(tmp_path, held, done))
    other.start()
    try:
        assert held.wait(20)
        with pytest.raises(TimeoutError, match=r"another release is being made; waited 0.1 s"):
            _protocol.locked(tmp_path, wait=0.1).__enter__()
    finally:
        done.set()
        other.join(20)
    with _protocol.locked(tmp_path, wait=0.0):
        pass


def test_a_confidential_file_is_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    held = os.open(
        tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK
    )  # a pipe without a writer would keep its reader waiting
    with pytest.raises(ValueError, match="regular file"):
        _confidential.read(tmp_path / "pipe")
    os.close(held)
    (tmp_path / "f").write_bytes(b"abc")
    assert _confidential.read(tmp_path / "f") == b"abc"
    assert not _confidential.has_key(tmp_path)
    _confidential.key(tmp_path)
    assert _confidential.has_key(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "*\n"
    (tmp_path / _confidential.KEY).write_bytes(b"short")
    with pytest.raises(ValueError, match="must hold 32 bytes, got 5"):
        _confidential.key(tmp_path)
    marks = [
        _confidential.fingerprint(b"k" * 32, *parts) for parts in [(b"a", b"b"), (b"ab",), (b"ab", b""), (b"b", b"a")]
    ]
    assert len(set(marks)) == 4


def _settings(root):
    (root / "confidential").mkdir(mode=0o700)
    (root / "confidential" / "c.csv").write_bytes(COUNTS)
    return {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 0.5}


def test_a_release_whose_last_line_was_lost_is_finished_without_a_draw(tmp_path):
    """Its files are at their names, the ledger says spent: the next call only writes that they are there."""
    settings = _settings(tmp_path)
    folder = room.make("r", settings, root=tmp_path)
    path = tmp_path / "releases" / "ledger.tsv"
    before, data = path.read_bytes(), (folder / _protocol.DATA).read_bytes()
    path.write_bytes(before[: before.rstrip(b"\n").rfind(b"\n") + 1])
    assert room.make("r", settings, root=tmp_path) == folder
    assert path.read_text().count("\tpublished\n") == 1
    assert (folder / _protocol.DATA).read_bytes() == data
    assert path.read_text().count(_budget_records.SPENT) == 1
    shutil.rmtree(folder)
    with pytest.raises(ValueError, match="published files are gone or changed"):
        room.make("r", settings, root=tmp_path)


def test_an_error_nobody_expected_shows_its_kind_alone(tmp_path, monkeypatch):
    settings = _settings(tmp_path)
    monkeypatch.setattr(_noise, "discrete_laplace", lambda *_, **__: 1 / np.int64(0).item())
    with pytest.raises(RuntimeError, match="ZeroDivisionError while the confidential file was open") as told:
        room.make("r", settings, root=tmp_path)
    assert told.value.__cause__ is None
    (kept,) = (tmp_path / "confidential").glob("*error.txt")
    assert "ZeroDivisionError" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    assert not (tmp_path / "releases" / "ledger.tsv").exists()


def test_an_extra_that_is_not_there_is_named():
    with pytest.raises(ModuleNotFoundError, match=r"releases need nowhere: install dpmultinomial\[releases\]"):
        _noise._extra("nowhere.at.all")


@pytest.mark.parametrize(
    ("budgets", "place", "words"),
    [
        (["s"], "budgets", "must give each source its ceiling"),
        ({"S": {"epsilon": 1.0}}, "budgets/S", r"must be \[a-z\]"),
        ({"s": {"delta": 1e-6}}, "budgets/s", "must have epsilon"),
        ({"s": 3.0}, "budgets/s", "must have epsilon"),
        (
            {"s": {"epsilon": 1.0, "order": 2}},
            "budgets/s/order",
            "no such key; a ceiling has epsilon, delta, rho, exchange",
        ),
        ({"s": {"epsilon": 0}}, "budgets/s/epsilon", "must be"),
        ({"s": {"epsilon": 1.0, "delta": 1.0}}, "budgets/s/delta", "must be"),
        ({"s": {"epsilon": 1.0, "delta": 0.9999}}, "budgets/s/delta", "must be at most 0.0001"),
        ({"s": {"rho": 1.0, "delta": 1e-6}}, "budgets/s/delta", "belongs to an epsilon"),
        ({"s": {"exchange": -1.0}}, "budgets/s/exchange", "must be"),
        ({"survey": {"epsilon": 1.0}}, "releases/r/source", "r has no budget; did you mean survey"),
    ],
)
def test_a_ceiling_is_checked(tmp_path, budgets, place, words):
    found = dict(room.check("r", _settings(tmp_path), root=tmp_path, budgets=budgets))
    assert place in found
    assert re.search(words, found[place])


MODEL = {"mechanism": "naive_bayes", "data": "confidential/c.csv", "target": "t", "noise": "discrete_laplace"}
MODEL |= {"epsilon": 1.0, "levels": {"t": ["a", "b"], "x": ["c", "d"]}}
TARGET = {"t": ["a", "b"]}


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"levels": TARGET}, "levels", "needs a column besides its target"),
        ({"numeric": ["x"], "bounds": {"x": [0, 1]}}, "levels", "it has bounds, not levels"),
        ({"levels": TARGET, "numeric": ["x"]}, "bounds", "must give column 'x' its public"),
        ({"bounds": {"y": [0, 1]}}, "bounds", "column 'y' is not numeric"),
        ({"levels": {"x": ["a", "b"], "y": ["c", "d"]}}, "levels", "must give the target 't' its categories"),
        ({"order": 2.0}, "order", "does not take it"),
        ({"noise": "dirichlet"}, "order", "needs it"),
    ],
)
def test_keys_of_a_model_must_go_together(tmp_path, changes, key, words):
    _settings(tmp_path)
    found = room.check("r", MODEL | changes, root=tmp_path)
    assert any(place == f"releases/r/{key}" and words in text for place, text in found), found
    assert not room.check("r", MODEL, root=tmp_path)


def test_what_is_missing_is_named(tmp_path):
    found = dict(room.check("r", {"mechanism": "swap", "epsilom": 1}, root=tmp_path))
    assert found["releases/r/rate"].startswith("is missing: ")
    assert "no such key" in found["releases/r/epsilom"]
    assert json.dumps(sorted(found)) == json.dumps([f"releases/r/{k}" for k in ("data", "epsilom", "rate", "swap")])


def test_weak_privacy_needs_a_word(tmp_path):
    settings = _settings(tmp_path)
    for epsilon, weak in ((20.0, False), (20.001, True)):
        found = dict(room.check("r", settings | {"epsilon": epsilon}, root=tmp_path))
        assert ("protects nobody" in found.get("releases/r/epsilon", "")) is weak
    assert checks.weak(delta=1e-4) is None
    assert "gives records away" in str(checks.weak(delta=1.001e-4))
    assert checks.weak(rho=20.0) is None
    assert str(checks.weak(rho=20.5)).startswith("rho 20.5 above 20")


def test_association_is_that_of_a_chi_squared_table():
    """Cramer's V of a two by two table is |ad - bc| over the root of the product of its margins."""
    a, b = np.repeat([0, 0, 1, 1], [5, 2, 1, 4]), np.repeat([0, 1, 0, 1], [5, 2, 1, 4])
    assert _microdata.cramers_v(a, b) == pytest.approx((5 * 4 - 2 * 1) / (7 * 5 * 6 * 6) ** 0.5, rel=1e-12)
    assert np.isnan(_microdata.cramers_v(a, np.zeros_like(a)))


def project(tmp_path):
    root = tmp_path / "project"
    (root / "confidential").mkdir(parents=True, mode=0o700)
    (root / "confidential" / "c.csv").write_bytes(COUNTS)
    return root


def test_a_confidential_file_lies_in_one_folder_and_nowhere_else(tmp_path):
    root = project(tmp_path)
    for folder in (
        "",
        "results",
        "figures",
        "releases",
        "docs",
        "src",
        "tests",
        "envs",
        "build",
        "public",
        "a",
    ):
        (root / folder / "deep").mkdir(parents=True, exist_ok=True)
        (root / folder / "deep" / "c.csv").write_bytes(COUNTS)
        (why,) = _places.problems(f"{folder}/deep/c.csv".lstrip("/"), root)
        assert "must lie in confidential/" in why
    (tmp_path / "c.csv").write_bytes(COUNTS)
    (root / "link.csv").symlink_to(root / "results" / "deep" / "c.csv")
    (root / "confidential" / "out.csv").symlink_to(tmp_path / "c.csv")
    (root / "in.csv").symlink_to(root / "confidential" / "c.csv")
    for data in ("../c.csv", str(tmp_path / "c.csv"), "link.csv", "confidential/out.csv", ".", "confidential", "/"):
        (why,) = _places.problems(data, root)
        assert "must lie in confidential/" in why
    (root / "confidential" / "2026").mkdir(mode=0o700)
    (root / "confidential" / "2026" / "c.csv").write_bytes(COUNTS)
    for data in ("confidential/c.csv", "confidential/2026/c.csv", "in.csv", "results/../confidential/c.csv"):
        assert _places.problems(data, root) == []
    assert _places.problems("confidential/none.csv", root) == ["there is no file confidential/none.csv"]
    for data in ("confidential/\0x", "confidential/a\nb"):
        assert "control characters" in _places.problems(data, root)[0]


def test_the_folder_may_be_a_link_out_of_the_project_and_not_into_it(tmp_path):
    root, away = tmp_path / "project", tmp_path / "away"
    for place in (root / "docs", away):
        place.mkdir(parents=True, mode=0o700)
        (place / "c.csv").write_bytes(COUNTS)
    (root / "confidential").symlink_to(away)
    assert _places.problems("confidential/c.csv", root) == []
    assert _places.problems(str(away / "c.csv"), root) == []
    (root / "confidential").unlink()
    (root / "confidential").symlink_to(root / "docs")
    assert "must not be a link into the project" in _places.problems("confidential/c.csv", root)[0]
    (root / "build").mkdir()
    (root / ".git").mkdir()
    (root / "build" / "confidential").symlink_to(root / "docs")
    assert "must not be a link into the project" in _places.problems("confidential/c.csv", root / "build")[0]


@pytest.mark.parametrize(
    ("name", "mode", "words"),
    [
        ("confidential", 0o777, "chmod 700 confidential"),
        ("confidential", 0o755, "chmod 700 confidential"),
        ("confidential", 0o750, "chmod 700 confidential"),
        ("confidential", 0o701, "chmod 700 confidential"),
        ("confidential/c.csv", 0o666, "chmod o-w"),
        ("confidential", 0o700, None),
        ("confidential/c.csv", 0o644, None),
    ],
)
def test_who_could_read_or_replace_the_data_is_asked_of_the_file_system(tmp_path, name, mode, words):
    root = project(tmp_path)
    (root / name).chmod(mode)
    found = _places.problems("confidential/c.csv", root)
    assert (words is None and not found) or words in found[0]


def git(root, *words):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=root, check=True)


def test_nothing_of_the_folder_is_in_git_in_any_state(tmp_path, monkeypatch):
    root = project(tmp_path)
    git(root, "init", "-q")
    assert _places.problems("confidential/c.csv", root) == []
    for name in (".release_key", "r_1_changes.csv", "deep/error.txt", "c.csv"):
        path = root / "confidential" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(path.read_bytes() if path.exists() else b"x")
        git(root, "add", "-f", f"confidential/{name}")
        (why,) = _places.problems("confidential/c.csv", root)
        assert "git has files of confidential/" in why
        assert name.split("/")[0] in why
        git(root, "rm", "-q", "--cached", f"confidential/{name}")
        assert _places.problems("confidential/c.csv", root) == []
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "another"))  # no variable of git's leads it astray
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    git_add = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    subprocess.run(["git", "add", "-f", "confidential/c.csv"], cwd=root, check=True, env=git_add)
    assert "git has files" in _places.problems("confidential/c.csv", root)[0]


def test_what_was_once_committed_stays_in_the_history(tmp_path):
    root = project(tmp_path)
    git(root, "init", "-q")
    git(root, "add", "-f", "confidential/c.csv")
    git(root, "commit", "-q", "-m", "oh")
    git(root, "rm", "-q", "--cached", "confidential/c.csv")
    git(root, "commit", "-q", "-m", "taken out")
    (why,) = _places.problems("confidential/c.csv", root)
    assert "take them out of the history" in why
    assert "commit" in why


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to somebody else")
def test_a_repository_of_somebody_else_is_asked_all_the_same(tmp_path):
    root = project(tmp_path)
    git(root, "init", "-q")
    git(root, "add", "-f", "confidential/c.csv")
    for path in (root, *root.rglob("*")):
        os.chown(path, 54321, 54321)
    assert "git has files" in _places.problems("confidential/c.csv", root)[0]


def test_what_git_cannot_tell_is_refused(tmp_path, monkeypatch):
    root = project(tmp_path)
    git(root, "init", "-q")
    (root / ".git" / "index").write_bytes(b"torn")
    assert "git cannot tell" in _places.problems("confidential/c.csv", root)[0]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git is needed to tell" in _places.problems("confidential/c.csv", root)[0]
    shutil.rmtree(root / ".git")
    assert _places.problems("confidential/c.csv", root) == []


def test_a_link_that_git_tracks_is_found_too(tmp_path):
    root, away = tmp_path / "project", tmp_path / "away"
    root.mkdir()
    away.mkdir(mode=0o700)
    (away / "c.csv").write_bytes(COUNTS)
    (root / "confidential").symlink_to(away)
    git(root, "init", "-q")
    assert _places.problems("confidential/c.csv", root) == []
    git(root, "add", "-f", "confidential")
    assert "git has files" in _places.problems("confidential/c.csv", root)[0]


PEOPLE = {"data": "confidential/c.csv", "column": "x", "lower": 0.0, "upper": 1.0, "mechanism": "censored_statistics"}
NETWORK = MODEL | {"mechanism": "bayesian_network", "network": {"t": [], "x": ["t"]}}
NETWORK.pop("target")


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"mechanism": "discrete_laplace", "epsilon": 1e-300}, "epsilon"),
        ({"mechanism": "discrete_laplace", "epsilon": 2 / 2**40}, "epsilon"),  # 2^40 itself leaves no room for rounding
        ({"mechanism": "discrete_laplace", "sensitivity": 10**6, "epsilon": 1e-8}, "epsilon"),
        ({"mechanism": "discrete_gaussian", "rho": 1e-300}, "rho"),
        ({"mechanism": "discrete_gaussian", "rho": 8e-25}, "rho"),  # sqrt(1/rho) above 2^40 = 1.0995e12
        ({"mechanism": "additive_counts", "epsilon": 1e-13}, "epsilon"),
        (PEOPLE | {"epsilon": 1e-300}, "epsilon"),
        (PEOPLE | {"epsilon": 3e-6}, "epsilon"),
        (PEOPLE | {"epsilon": 1.0, "upper": 1e200}, "upper"),
        (PEOPLE | {"epsilon": 1.0, "lower": 1e7, "upper": 1e7 + 1}, "upper"),
        (MODEL | {"epsilon": 1e-13}, "epsilon"),
        (NETWORK | {"epsilon": 1e-13}, "epsilon"),
        (NETWORK | {"noise": "discrete_gaussian", "rho": 1e-30, "epsilon": None}, "rho"),
    ],
)  # fmt: skip
def test_noise_that_cannot_be_drawn_is_refused_before_anything_is_made(tmp_path, settings, key):
    asked = {"data": "confidential/c.csv"} | settings
    _settings(tmp_path)
    before = sorted((tmp_path / "confidential").iterdir())
    (place, why), *_ = room.check("r", asked, root=tmp_path)
    assert place == f"releases/r/{key}"
    assert "2^40" in why or "calibrated" in why or "2^20" in why
    with pytest.raises(ValueError, match=f"releases/r/{key}"):
        room.make("r", asked, root=tmp_path)
    assert sorted((tmp_path / "confidential").iterdir()) == before  # no key, no lock, no journal
    assert not (tmp_path / "releases").exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"mechanism": "discrete_laplace", "epsilon": 2.1 / 2**40},
        {"mechanism": "discrete_gaussian", "rho": 9e-25},
        {"mechanism": "additive_counts", "epsilon": 1e-12},
        PEOPLE | {"epsilon": 8e-6},
        MODEL | {"epsilon": 1e-11},
        NETWORK | {"noise": "dirichlet", "order": 2.0, "epsilon": 1e-3},
    ],
)
def test_small_budgets_that_can_be_drawn_are_taken(tmp_path, settings):
    _settings(tmp_path)
    assert room.check("r", {"data": "confidential/c.csv"} | settings, root=tmp_path) == []


def test_a_damaged_ledger_is_told_by_line_before_anything_is_made(tmp_path):
    settings = _settings(tmp_path)
    (tmp_path / "releases").mkdir()
    good = _budget_records.HEADER + replace(ENTRY, state=_budget_records.PUBLISHED).line
    for bad, words in (
        (b"nonsense\n", "line 3: must have 11 fields, got 1"),
        (
            ENTRY.line.replace(str(ENTRY.spent).encode(), b"-5"),
            "line 3: cost must be what a release can cost, got '-5'",
        ),
        (ENTRY.line.replace(str(ENTRY.spent).encode(), b"{}"), "line 3: cost must be what a release can cost"),
    ):
        (tmp_path / "releases/ledger.tsv").write_bytes(good + bad)
        with pytest.raises(ValueError, match=rf"ledger\.tsv, {words}.*{_budget_records.RESTORE}"):
            room.make("r", settings, root=tmp_path)
    assert [p.name for p in (tmp_path / "confidential").iterdir()] == ["c.csv"]


def test_numbers_that_are_equal_are_the_same_settings(tmp_path):
    settings = _settings(tmp_path) | {"epsilon": 1}
    folder = room.make("r", settings, root=tmp_path)
    before = (folder / "release.csv").read_bytes()
    for epsilon in (1.0, 1, np.float64(1.0).item()):
        assert room.make("r", settings | {"epsilon": epsilon}, root=tmp_path) == folder
    assert (folder / "release.csv").read_bytes() == before
    with pytest.raises(ValueError, match="settings changed"):
        room.make("r", settings | {"epsilon": 1.0000001}, root=tmp_path)
    people = {"mechanism": "censored_statistics", "data": "confidential/p.csv", "column": "x", "epsilon": 1}
    people |= {"lower": 0, "upper": 3, "sensitivities": {"low": 2}}
    (tmp_path / "confidential/p.csv").write_text("x\n1\n2\n3\n4\n")
    folder = room.make("s", people, root=tmp_path)
    people |= {"lower": 0.0, "upper": 3.0, "epsilon": 1.0, "sensitivities": {"low": 2.0}}
    assert room.make("s", people, root=tmp_path) == folder


def test_settings_kept_before_numbers_were_compared_as_numbers_are_known(tmp_path, monkeypatch):
    """Version 0.2 kept `epsilon: 1` as it was written."""
    settings = _settings(tmp_path) | {"epsilon": 1}
    with monkeypatch.context() as old:
        old.setattr(checks, "_plain", lambda value, kind: value)
        folder = room.make("r", settings, root=tmp_path)
    assert room.make("r", settings, root=tmp_path) == folder


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"epsilon": 0.25}, "epsilon is 0.25, the release that was made has 0.5"),
        ({"mechanism": "additive_counts"}, "mechanism is 'additive_counts'"),
        ({"source": "other"}, "source is 'other', the release that was made has 'r'"),
        ({"sensitivity": 4}, "sensitivity is 4, the release that was made has 2"),
        ({"epsilon": -1}, "releases/r/epsilon: must be"),
        ({"generation": 2}, "there is no file"),
    ],
)
def test_a_release_whose_data_are_gone_answers_for_itself_alone(tmp_path, changes, words):
    settings = _settings(tmp_path)
    folder = room.make("r", settings, root=tmp_path)
    (tmp_path / "confidential/c.csv").unlink()
    if words is None:
        assert room.make("r", settings, root=tmp_path) == folder
        (folder / "release.csv").chmod(0o600)
        (folder / "release.csv").write_text("category,count\na,1000000\nb,1\n")  # no noise of scale 4 gets there
        with pytest.raises(ValueError, match="SHA-256 must be"):
            room.make("r", settings, root=tmp_path)
    else:
        with pytest.raises(ValueError, match=re.escape(words)):
            room.make("r", settings | changes, root=tmp_path)


def test_a_release_leaves_no_image_of_its_memory(tmp_path):
    """A process that made a release is told to end in a core dump: none is written, nobody else may look into it."""
    settings = _settings(tmp_path)
    program = (
        "import os, sys, json, resource, pathlib\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)\n"
        "from dpmultinomial._releases import room\n"
        "room.make('r', json.loads(sys.argv[1]), root=pathlib.Path(sys.argv[2]))\n"
        "import ctypes\n"
        "print(resource.getrlimit(resource.RLIMIT_CORE)[0], ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))\n"
    )
    words = [sys.executable, "-c", program, json.dumps(settings), str(tmp_path)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert said == ["0", "0"]  # PR_GET_DUMPABLE


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda r: _linked(r / "confidential/.spent"), r"confidential/\.spent: must be a file of its own"),
        (lambda r: _linked(r / "confidential/.lock"), r"confidential/\.lock: must be a file of its own"),
        (lambda r: _linked(r / "confidential/.release_key"), r"\.release_key: must be a file of its own"),
        (lambda r: (r / "confidential/.spent").unlink() or (r / "confidential/.spent").mkdir(), "a file of its own"),
        (lambda r: (r / "confidential/.lock").unlink() or (r / "confidential/.lock").mkdir(), "a file of its own"),
        (lambda r: shutil.rmtree(r / "releases") or (r / "releases").symlink_to("confidential"), "must not lead into"),
        (
            lambda r: shutil.rmtree(r / "confidential") or (r / "confidential").symlink_to(r.parent),
            "must not be a link to a folder that holds the project",
        ),
    ],
)
def test_what_lies_beside_the_data_lies_nowhere_else(tmp_path, prepare, words):
    root = tmp_path / "project"
    root.mkdir()
    settings = _settings(root)
    room.make("r", settings, root=root)
    prepare(root)
    with pytest.raises(ValueError, match=words):
        room.make("s", settings | {"source": "r"}, root=root)
    assert not (root / "releases/s").exists()


def _linked(path):
    shutil.move(path, path.parents[2] / "elsewhere")
    path.symlink_to(path.parents[2] / "elsewhere")


def test_data_behind_links_in_a_circle_are_refused_in_words(tmp_path):
    settings = _settings(tmp_path)
    (tmp_path / "confidential/loop").symlink_to("loop")
    ((place, why),) = checks.problems("r", settings | {"data": "confidential/loop"}, budgets={}, root=tmp_path)
    assert place == "releases/r/data"
    assert why.startswith("must be a path that leads somewhere, got confidential/loop")


def test_a_ceiling_of_exchanges_alone_bounds_no_other_release(tmp_path):
    settings = _settings(tmp_path) | {"source": "s"}
    ((place, why),) = checks.problems("r", settings, budgets={"s": {"exchange": 9.0}}, root=tmp_path)
    assert (place, why) == ("releases/r/source", "s has a budget of exchanges alone; give it an epsilon or a rho")
    for more in ({"epsilon": 1.0}, {"rho": 1.0}):
        assert checks.problems("r", settings, budgets={"s": {"exchange": 9.0} | more}, root=tmp_path) == []
    said = _costs.so_far([_costs.Cost(relation="replace a record", epsilon=1.0)], {"exchange": 9.0})
    assert said.endswith("of a ceiling of exchange 9; no ceiling covers what is no exchange")


def _content(text):
    return _confidential.content(table(text.encode()))


def test_a_table_of_counts_is_known_by_them_where_they_are_enough(tmp_path):
    """812, 390 and 77 in any order: log2(813 * 391 * 78 / 6) = 21.98 bits; 120, 75 and 5: 13.16."""
    known = _content("category,count\na,812\nb,390\nc,77\n")
    for same in ("category,count\nx,+77\ny,0390\nz,812\n", "count,category\n812,1\n390,2\n0,3\n77,4\n"):
        assert _content(same) == known
    for other in ("category,count\na,812\nb,390\nc,78\n", "category,count\na,812\nb,390\nc,77\nd,77\n"):
        assert _content(other) != known
    few = _content("category,count\na,120\nb,75\nc,5\n")
    assert few != _content("category,count\nx,120\ny,75\nz,5\n")
    assert few == _content("category,count\nc,5\nb,75\na,+120\n")
    huge = "category,count\na,812\nb," + "9" * 5000 + "\n"  # is refused later, by its line
    assert _content(huge) != known
    at, below = "category,count\na,1447\nb,1448\n", "category,count\na,1447\nb,1446\n"  # 1448 * 1449 / 2 > 2^20 > ..
    assert _content(at).startswith(b"counts")
    assert not _content(below).startswith(b"counts")
