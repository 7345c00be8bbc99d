"""Tests of confidential files: their location, which is closed to other users, reading, keys, and fingerprints."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dpmultinomial._files.csv_table import parse
from dpmultinomial._releases import _budget_records, _confidential, _counts, _places, restoring, room


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
    with pytest.raises(ValueError, match="must contain 32 bytes, got 5"):
        _confidential.key(tmp_path)
    marks = [
        _confidential.fingerprint(b"k" * 32, *parts) for parts in [(b"a", b"b"), (b"ab",), (b"ab", b""), (b"b", b"a")]
    ]
    assert len(set(marks)) == 4


def test_a_confidential_file_that_is_too_large_is_rejected_with_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(_confidential, "LARGEST_FILE", 1234)
    path = tmp_path / "f"
    path.write_bytes(b"a" * 1234)
    assert len(_confidential.read(path)) == 1234
    path.write_bytes(b"a" * 1235)
    with pytest.raises(ValueError, match="the confidential file must have at most 1,234 bytes, got 1,235 bytes: use a"):
        _confidential.read(path)


@pytest.mark.parametrize(("header", "tree", "fault"), [
    ("category,secret,other", False, "category, count (missing columns: count; number of other columns: 2): correct"),
    ("secret,other,more", False, "category, count (missing columns: category, count; number of other columns: 3)"),
    ("category,secret,count", False, "category, count (missing columns: none; number of other columns: 1)"),
    ("category,count", True, "category, parent, count (missing columns: parent; number of other columns: 0)"),
])  # fmt: skip
def test_wrong_columns_of_counts_are_rejected_without_their_names(header, tree, fault):
    """Check that the message states the missing columns and the number of other columns, but not the names of these."""
    row = ",".join("1" * len(header.split(",")))
    table = parse(f"{header}\n{row}\n".encode(), name="f.csv", confidential=True)
    with pytest.raises(ValueError, match=re.escape(f"f.csv: the columns must be exactly {fault}")) as stopped:
        _counts.read(table, tree=tree)
    assert "secret" not in str(stopped.value)


def _content(text):
    return _confidential.content(parse(text.encode(), name="f.csv", confidential=True))


def test_a_table_of_counts_is_known_by_them_where_they_are_enough(tmp_path):
    """Check 812, 390 and 77 in any order: log2(813 * 391 * 78 / 6) = 21.98 bits; 120, 75 and 5: 13.16."""
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


COUNTS = b"category,count\na,1\nb,2\n"


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
        ("confidential/c.csv", 0o666, "run chmod o-w confidential/c.csv"),
        ("confidential", 0o700, None),
        ("confidential/c.csv", 0o644, None),
    ],
)
def test_who_could_read_or_replace_the_data_is_asked_of_the_file_system(tmp_path, name, mode, words):
    root = project(tmp_path)
    (root / name).chmod(mode)
    found = _places.problems("confidential/c.csv", root)
    assert (words is None and not found) or words in found[0]


def owned_by(monkeypatch, path, user):
    """Let the file system say that a path belongs to another user."""
    real = Path.stat

    def stat(self, **more):
        found = real(self, **more)
        own = os.path.realpath(self) == str(path)
        return os.stat_result([*found[:4], user, *found[5:]]) if own else found

    monkeypatch.setattr(Path, "stat", stat)


@pytest.mark.parametrize("linked", [False, True])
def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch, linked):
    """Check that the owner of the folder, who could read and replace the data and the budget records, is this user."""
    root = project(tmp_path)
    home, away = root / "confidential", tmp_path / "shared"
    if linked:  # a link to a shared place is followed
        home.rename(away)
        home.symlink_to(away)
    assert _places.problems("confidential/c.csv", root) == []
    owned_by(monkeypatch, os.path.realpath(home), 4242)
    (why,) = _places.problems("confidential/c.csv", root)
    assert why == (
        "confidential/ belongs to another user (user ID 4242), who can read and change the data and the budget "
        f"records: run the command as this user, or run chown -R {os.geteuid()} {os.path.realpath(home)}"
    )
    settings = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 1.0}
    for refused in (
        lambda: room.make("r", settings, root=root),
        lambda: restoring.restored(root, take_over=["x"]),
    ):
        with pytest.raises(ValueError, match=r"belongs to another user \(user ID 4242\)"):
            refused()
    assert not (home / ".release_key").exists()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o750])
def test_budget_records_in_a_folder_that_others_can_open_are_not_restored(tmp_path, mode):
    root = project(tmp_path)
    (root / "confidential").chmod(mode)
    with pytest.raises(ValueError, match=r"^confidential/ can be opened by other users: run chmod 700 confidential$"):
        restoring.restored(root, take_over=["x"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can give a folder to another user")
def test_a_folder_that_was_given_to_another_user_is_refused(tmp_path):
    root = project(tmp_path)
    os.chown(root / "confidential", 4242, -1)
    (why,) = _places.problems("confidential/c.csv", root)
    assert "belongs to another user (user ID 4242)" in why
    os.chown(root / "confidential", os.geteuid(), -1)
    assert _places.problems("confidential/c.csv", root) == []


def test_a_folder_that_cannot_be_opened_is_an_error_with_a_way_out(tmp_path, monkeypatch):
    root = project(tmp_path)
    monkeypatch.setattr(Path, "is_file", lambda _: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    (why,) = _places.problems("confidential/c.csv", root)
    assert why.startswith("must be a file that you can open, got confidential/c.csv (Permission denied)")
    assert "chown" in why


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
        assert "git tracks files of confidential/" in why
        assert name.split("/")[0] in why
        git(root, "rm", "-q", "--cached", f"confidential/{name}")
        assert _places.problems("confidential/c.csv", root) == []
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "another"))  # no variable of git's leads it astray
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    git_add = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    subprocess.run(["git", "add", "-f", "confidential/c.csv"], cwd=root, check=True, env=git_add)
    assert "git tracks files" in _places.problems("confidential/c.csv", root)[0]


@pytest.mark.parametrize("inner", ["confidential", "confidential/deep"])
def test_a_repository_within_another_does_not_hide_what_the_outer_one_tracks(tmp_path, inner):
    root = project(tmp_path)
    (root / "confidential/deep").mkdir()
    (root / "confidential/deep/d.csv").write_bytes((root / "confidential/c.csv").read_bytes())
    git(root, "init", "-q")
    git(root, "add", "-f", "confidential/c.csv")
    git(root / inner, "init", "-q")
    assert "git tracks files" in _places.problems("confidential/deep/d.csv", root)[0]
    git(root, "rm", "-q", "--cached", "confidential/c.csv")
    assert _places.problems("confidential/deep/d.csv", root) == []
    git(root / inner, "add", ".")
    assert "git tracks files" in _places.problems("confidential/deep/d.csv", root)[0]


def test_what_was_once_committed_stays_in_the_history(tmp_path):
    root = project(tmp_path)
    git(root, "init", "-q")
    git(root, "add", "-f", "confidential/c.csv")
    git(root, "commit", "-q", "-m", "oh")
    git(root, "rm", "-q", "--cached", "confidential/c.csv")
    git(root, "commit", "-q", "-m", "taken out")
    (why,) = _places.problems("confidential/c.csv", root)
    assert "remove them from the history" in why
    assert "commit" in why


def test_what_git_cannot_tell_is_refused(tmp_path, monkeypatch):
    root = project(tmp_path)
    git(root, "init", "-q")
    (root / ".git" / "index").write_bytes(b"torn")
    assert "git cannot determine" in _places.problems("confidential/c.csv", root)[0]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install git" in _places.problems("confidential/c.csv", root)[0]
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
    assert "git tracks files" in _places.problems("confidential/c.csv", root)[0]


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_a_folder_of_the_account_that_others_can_change_is_refused(tmp_path, monkeypatch, mode):
    """Others could replace the copies of journals, or plant a key that they know."""
    root, settings = project(tmp_path), {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 1.0}
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    account = tmp_path / "state/dpmultinomial/spent"
    account.mkdir(parents=True)
    account.chmod(mode)
    for refused in (lambda: room.make("r", settings, root=root), restoring.new_account_key):
        with pytest.raises(ValueError, match=rf"^{account} can be changed by other users: run chmod 700 {account}$"):
            refused()
    account.chmod(0o755)  # all files in it have mode 0600
    owned_by(monkeypatch, account, 4242)
    with pytest.raises(
        ValueError, match=rf"^{account} belongs to another user \(user ID 4242\), .* to a folder of your own$"
    ):
        room.make("r", settings, root=root)
    assert not list(account.glob("*.json"))
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert room.make("r", settings, root=root).is_dir()


def test_a_folder_of_the_account_that_can_only_be_read_is_still_compared(tmp_path, monkeypatch):
    settings = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 1.0}
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    roots = []
    for name in ("first", "second", "other"):
        (tmp_path / name).mkdir()
        roots.append(project(tmp_path / name))
    data = roots[2] / "confidential/c.csv"
    data.write_text("category,count\nnorth,31415\nsouth,92653\n")
    room.make("r", settings, root=roots[0])
    monkeypatch.setattr(_budget_records.Memory, "there", False)
    with pytest.raises(ValueError, match="recorded in another journal"):
        room.make("r", settings, root=roots[1])
    assert room.make("r", settings, root=roots[2]).is_dir()  # another file
    assert len(list((tmp_path / "state/dpmultinomial/spent").glob("*.json"))) == 1
