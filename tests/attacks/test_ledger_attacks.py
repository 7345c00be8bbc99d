"""Tests that spending is not forgotten: budget records that are lost, emptied, torn, edited or replaced by old copies.

Each loss is tested against `_releases`, which rejects it and names the command that restores the records, and against a
weakened version that trusts only the ledger, as version 0.2 did. After restoring, the budget holds.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpmultinomial._releases import _budget_records, _noise, _places, _protocol, restoring, room
from tests.workflow.running import ROOT, environment

pytestmark = pytest.mark.thorough

COUNTS = "category,count\nnorth,120\nsouth,75\nwest,5\n"
BUDGETS = {"survey": {"epsilon": 2.0}}
RESTORE = "python -P -m dpmultinomial._releases restore"


def asked(**more):
    settings = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 1.0, "source": "survey"}
    return settings | more


def release(root, name, **more):
    return room.make(name, asked(**more), root=root, budgets=BUDGETS)


def spend_twice(folder):
    """Return a project whose whole budget was spent by two releases, and an older copy with one release."""
    root = folder / "project"
    (root / "confidential").mkdir(parents=True, mode=0o700)
    (root / "confidential/c.csv").write_text(COUNTS)
    release(root, "a")
    shutil.copytree(root, folder / "older")
    release(root, "b")
    return root


@pytest.fixture
def spent(tmp_path):
    return spend_twice(tmp_path)


def ledger(root):
    return root / "releases/ledger.tsv"


def journal(root):
    return root / "confidential/.spent"


def memories():
    return list((Path(os.environ["XDG_STATE_HOME"]) / "dpmultinomial/spent").glob("*.json"))


def memory(root):
    (found,) = memories()
    return found


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


def without_last(path, lines):
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-lines]))


def edited(path, old, new):
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new))


def older(path):
    """Replace a file by the same file of the older copy."""
    copy = path.parents[1].parent / "older" / path.relative_to(path.parents[1])
    shutil.copyfile(copy, path)


def all_older(root):
    shutil.rmtree(root)
    shutil.copytree(root.parent / "older", root)


def cleaned(root):
    """Run git clean -fdX, which removes everything that is ignored; the data are then copied back."""
    shutil.rmtree(root / "releases")
    shutil.rmtree(root / "confidential")
    (root / "confidential").mkdir(mode=0o700)
    (root / "confidential/c.csv").write_text(COUNTS)


LOSSES = {
    "ledger lost": lambda r: ledger(r).unlink(),
    "ledger emptied": lambda r: ledger(r).write_bytes(b""),
    "ledger torn to 40 bytes": lambda r: cut(ledger(r), 40),
    "ledger cut to its header": lambda r: cut(ledger(r), ledger(r).read_bytes().index(b"\n") + 1),
    "ledger cut by a release": lambda r: without_last(ledger(r), 2),
    "ledger torn in a line": lambda r: cut(ledger(r), len(ledger(r).read_bytes()) - 700),
    "ledger edited in its cost": lambda r: edited(ledger(r), b'"epsilon": 1.0', b'"epsilon": 0.1'),
    "ledger edited in its source": lambda r: edited(ledger(r), b"\tsurvey\t", b"\tother\t"),
    "ledger edited in its generation": lambda r: edited(ledger(r), b"\tb\t1\t", b"\tb\t9\t"),
    "ledger with a line twice": lambda r: ledger(r).write_bytes(
        ledger(r).read_bytes() + ledger(r).read_bytes().splitlines(keepends=True)[-1]
    ),
    "ledger without its first line": lambda r: ledger(r).write_bytes(
        b"".join(x for i, x in enumerate(ledger(r).read_bytes().splitlines(keepends=True)) if i != 1)
    ),
    "ledger of garbage": lambda r: ledger(r).write_bytes(bytes(range(256)) * 4),
    "ledger with a bad cost": lambda r: edited(ledger(r), b'"epsilon": 1.0', b'"epsilon": NaN'),
    "older ledger": lambda r: older(ledger(r)),
    "releases lost": lambda r: shutil.rmtree(r / "releases"),
    "journal lost": lambda r: journal(r).unlink(),
    "journal emptied": lambda r: journal(r).write_bytes(b""),
    "journal torn to 40 bytes": lambda r: cut(journal(r), 40),
    "journal cut to its first line": lambda r: cut(journal(r), journal(r).read_bytes().index(b"\n") + 1),
    "journal cut by a line": lambda r: without_last(journal(r), 1),
    "journal cut by a release": lambda r: without_last(journal(r), 2),
    "journal torn in a line": lambda r: cut(journal(r), len(journal(r).read_bytes()) - 300),
    "journal edited": lambda r: edited(journal(r), b'"epsilon": 1.0', b'"epsilon": 0.1'),
    "journal edited in its chain": lambda r: cut(journal(r), -2) or edited(journal(r), b"published", b"publishes"),
    "journal without its second line": lambda r: journal(r).write_bytes(
        b"".join(x for i, x in enumerate(journal(r).read_bytes().splitlines(keepends=True)) if i != 1)
    ),
    "journal with two lines exchanged": lambda r: journal(r).write_bytes(
        b"".join(journal(r).read_bytes().splitlines(keepends=True)[i] for i in (0, 3, 4, 1, 2))
    ),
    "journal of another project": lambda r: journal(r).write_bytes(
        b"dpmultinomial, spent 1\t" + b"0" * 32 + b"\t" + b"0" * 64 + b"\n"
    ),
    "older journal": lambda r: older(journal(r)),
    "older journal and ledger": lambda r: (older(journal(r)), older(ledger(r))),
    "everything put back from an older copy": all_older,
    "journal and ledger lost": lambda r: (journal(r).unlink(), ledger(r).unlink()),
    "journal, ledger and releases lost": lambda r: (journal(r).unlink(missing_ok=True), shutil.rmtree(r / "releases")),
    "git clean": cleaned,
    "key lost": lambda r: (r / "confidential/.release_key").unlink(),
    "memory torn": lambda r: memory(r).write_text("{"),
    "memory torn after its place": lambda r: cut(memory(r), memory(r).read_bytes().index(b'", "text"') + 1),
    "memory, a folder": lambda r: (path := memory(r), path.unlink(), path.mkdir()),
    "memory, a pipe": lambda r: (path := memory(r), path.unlink(), os.mkfifo(path)),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_is_refused_and_restored_and_the_ceiling_holds(spent, loss):
    LOSSES[loss](spent)
    before = {p: p.read_bytes() for p in (spent / "releases").rglob("release.csv")}
    with pytest.raises(ValueError, match=RESTORE):
        release(spent, "c")
    with pytest.raises(ValueError, match=r"restore|cannot be read"):
        release(spent, "a", generation=2)
    assert restoring.restored(spent)[-1] == "number of recorded releases: 2; all budget records agree"
    assert restoring.state(spent)[-1] == "ledger and journal agree"
    with pytest.raises(ValueError, match=r"budgets/survey: epsilon would rise from 2 to 3 \(replace a record\)"):
        release(spent, "c")
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 3"):
        release(spent, "b", generation=2)
    assert {p: p.read_bytes() for p in (spent / "releases").rglob("release.csv")} == before
    assert restoring.restored(spent) == [
        "number of recorded releases: 2; all budget records agree"
    ]  # and again: nothing to do


WRONG_TYPES = {
    "ledger, a folder": ("releases/ledger.tsv", Path.mkdir),
    "ledger, a pipe": ("releases/ledger.tsv", os.mkfifo),
    "ledger, a link to a lost file": ("releases/ledger.tsv", lambda path: path.symlink_to("nowhere")),
    "journal, a folder": ("confidential/.spent", Path.mkdir),
    "journal, a pipe": ("confidential/.spent", os.mkfifo),
    "journal, a link to nothing": ("confidential/.spent", lambda path: path.symlink_to("nowhere")),
    "key, a folder": ("confidential/.release_key", lambda path: path.mkdir(0o700)),
    "key, a pipe": ("confidential/.release_key", os.mkfifo),
    "key, empty": ("confidential/.release_key", lambda path: path.touch(0o600)),
    "releases, a file": ("releases", Path.touch),
    "releases, a pipe": ("releases", os.mkfifo),
}


@pytest.mark.parametrize("case", WRONG_TYPES)
def test_another_type_of_file_is_refused_with_a_way_out(spent, case):
    name, make = WRONG_TYPES[case]
    (spent / name).rename(spent.parent / "lost")
    make(spent / name)
    for call in (lambda: release(spent, "c"), lambda: restoring.restored(spent)):
        with pytest.raises((ValueError, OSError), match=r"move the [a-z, ]+ to another (place|folder)"):
            call()
    (spent / name).rename(spent.parent / "moved")
    assert restoring.restored(spent)[-1] == "number of recorded releases: 2; all budget records agree"
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 3"):
        release(spent, "c")


def test_a_planted_link_to_another_file_of_the_account_is_not_written_to(tmp_path):
    """Check the first release of a project, whose ledger somebody else made a link to an empty or missing file."""
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential/c.csv").write_text(COUNTS)
    (tmp_path / "releases").mkdir()
    (tmp_path / "releases/ledger.tsv").symlink_to(tmp_path / "profile")
    for create in (lambda: None, (tmp_path / "profile").touch):
        create()
        with pytest.raises(ValueError, match=r"ledger\.tsv must be a regular file, got a link"):
            release(tmp_path, "a")
        assert not (tmp_path / "profile").exists() or (tmp_path / "profile").read_bytes() == b""
    assert not (tmp_path / "releases/a").exists()


def written_over(path):
    path.chmod(0o600)
    path.write_bytes(b"")


@pytest.mark.parametrize("harm", [Path.unlink, written_over])
@pytest.mark.parametrize("names", [["release.csv"], ["record.json"], ["release.csv", "record.json"]])
def test_damaged_files_of_a_release_cost_nothing_more(spent, harm, names):
    folder = spent / "releases/b/1"
    for name in names:
        harm(folder / name)
    if len(names) == 2 and harm is written_over:
        with pytest.raises(ValueError, match="The journal contains the cost of releases/b/1, so if there is no backup"):
            restoring.restored(spent)
        folder.rename(spent.parent / "moved")
    assert restoring.restored(spent)[-1] == "number of recorded releases: 2; all budget records agree"
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 3"):
        release(spent, "c")


@pytest.mark.parametrize("new", ["x/1", "b/2", "a/2"])
def test_a_renamed_or_copied_release_is_recognised(spent, new):
    old, place = spent / "releases/b/1", spent / "releases" / new
    shutil.copytree(old, place)
    restoring.restored(spent)
    with pytest.raises(ValueError, match=f"releases/{new} contains the files of releases/b/1, so the folder was"):
        release(spent, "c")
    shutil.rmtree(old)
    with pytest.raises(ValueError, match=f"releases/{new} contains the files of releases/b/1, so the folder was"):
        release(spent, "c")
    place.rename(old)
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 3"):
        release(spent, "c")


@pytest.mark.parametrize("loss", ["journal and ledger lost", "journal torn to 40 bytes", "older journal and ledger"])
def test_releases_with_equal_noise_count_each(tmp_path, loss):
    """Use noise of scale 1/200, which is 0 except once in 10^86: the public files of all releases are equal."""
    root, weak = tmp_path / "project", {"epsilon": 400.0, "accept_weak_privacy": True}
    (root / "confidential").mkdir(parents=True, mode=0o700)
    (root / "confidential/c.csv").write_text(COUNTS)
    budgets = {"survey": {"epsilon": 1200.0}}
    room.make("a", asked(**weak), root=root, budgets=budgets)
    shutil.copytree(root, tmp_path / "older")
    for name, generation in (("b", 1), ("a", 2)):
        room.make(name, asked(**weak, generation=generation), root=root, budgets=budgets)
    assert len({p.read_bytes() for p in (root / "releases").rglob("release.csv")}) == 1
    LOSSES[loss](root)
    assert restoring.restored(root)[-1] == "number of recorded releases: 3; all budget records agree"
    with pytest.raises(ValueError, match="epsilon would rise from 1200 to 1600"):
        room.make("c", asked(**weak), root=root, budgets=budgets)


# Losses of which a ledger alone knows nothing; the others break its form, or are of what version 0.2 did not have.
UNTOLD = (
    *("ledger lost", "ledger emptied", "ledger torn to 40 bytes", "ledger cut to its header", "older ledger"),
    *("ledger cut by a release", "ledger torn in a line", "ledger edited in its cost", "ledger edited in its source"),
    *("releases lost", "git clean", "everything put back from an older copy", "journal, ledger and releases lost"),
)


def trust_the_ledger(monkeypatch):
    """Use the records of version 0.2: only what the ledger states."""

    def trusting(self):
        self.ledger.path.parent.mkdir(exist_ok=True)
        self.ledger.mend()
        return [_budget_records.Line(entry=entry) for entry in self.ledger.entries()]

    monkeypatch.setattr(_budget_records.Books, "agreed", trusting)
    monkeypatch.setattr(_budget_records.Books, "spend", lambda self, line, files: self.ledger.add(line.entry))
    monkeypatch.setattr(_budget_records.Books, "elsewhere", lambda self, files: None)
    monkeypatch.setattr(_budget_records, "_spent_before", lambda *_: "")
    monkeypatch.setattr(_protocol, "one_source", lambda *_, **__: None)
    monkeypatch.setattr(_budget_records, "read", lambda kept: kept.lines())


@pytest.mark.parametrize("loss", UNTOLD)
def test_the_double_that_trusts_the_ledger_spends_again(spent, monkeypatch, loss):
    trust_the_ledger(monkeypatch)
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 3"):
        release(spent, "c")
    LOSSES[loss](spent)
    assert release(spent, "c").is_dir()  # a third time, over the ceiling


def test_what_one_crash_leaves_behind_is_mended_without_a_word(spent):
    without_last(ledger(spent), 1)
    assert release(spent, "b").name == "1"
    assert restoring.state(spent)[-1] == "ledger and journal agree"
    ledger(spent).write_bytes(ledger(spent).read_bytes() + b"2026-01-01T00:00:00Z\tc\t1")
    journal(spent).write_bytes(journal(spent).read_bytes() + b"2026-01-01T00:00:00Z\tc\t1")
    assert release(spent, "b").name == "1"
    assert len(_budget_records.Ledger(ledger(spent)).lines()) == 4


# A second checkout.


def second(spent, name="second"):
    """Clone the project, without the files that git ignores."""
    root = spent.parent / name
    root.mkdir()
    return root


def test_a_second_checkout_that_links_the_data_is_told_to_restore_its_ledger(spent):
    root = second(spent)
    (root / "confidential").symlink_to(spent / "confidential")
    with pytest.raises(ValueError, match="lacks 4 of 4 lines.*another checkout.*" + RESTORE):
        release(root, "c")
    restoring.restored(root)
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 3"):
        release(root, "c")
    with pytest.raises(ValueError, match="belong to another checkout"):
        release(root, "a")


def test_a_second_checkout_with_a_copy_of_the_file_is_told_where_its_spending_is_kept(spent):
    root = second(spent)
    (root / "confidential").mkdir(mode=0o700)
    for name, text in {
        "c": COUNTS, "d": COUNTS.replace(",", ";"), "e": "\n".join(COUNTS.split("\n")[:1] + COUNTS.split("\n")[:0:-1]),
    }.items():  # fmt: skip
        (root / f"confidential/{name}.csv").write_text(text.strip("\n") + "\n")
        with pytest.raises(
            ValueError,
            match=rf"recorded in another journal \(in {spent}/confidential\). Make confidential/ a symbolic link",
        ):
            release(root, "c", data=f"confidential/{name}.csv")
    shutil.rmtree(spent)
    with pytest.raises(ValueError, match=rf"This folder no longer exists: run {RESTORE} {spent}/confidential"):
        release(root, "c")
    assert restoring.restored(root, take_over=[f"{spent}/confidential"])[-1].startswith(
        "number of recorded releases: 2"
    )
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 3"):
        release(root, "c")


def test_two_copies_that_both_spend_find_out(spent):
    """Check an older copy that released `a`, a newer one also `b`: the account knows the spending of both."""
    copy = spent.parent / "older"
    with pytest.raises(
        ValueError, match=f"is older than the copy in the user account.*{spent}/confidential.*{RESTORE}"
    ):
        release(copy, "other")
    restoring.restored(copy)
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 3"):
        release(copy, "other")


def test_copies_that_parted_behind_the_accounts_back_are_brought_together(spent, monkeypatch, tmp_path):
    """Check a copy that spent under another account, before this account sees both."""
    copy, here = spent.parent / "older", os.environ["XDG_STATE_HOME"]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    release(copy, "other")
    monkeypatch.setenv("XDG_STATE_HOME", here)
    with pytest.raises(ValueError, match=f"differs from the copy in the user account.*{RESTORE}"):
        release(copy, "more")
    assert restoring.restored(copy)[-1] == "number of recorded releases: 3; all budget records agree"
    with pytest.raises(ValueError, match="epsilon would rise from 3 to 4"):
        release(copy, "more")


# One file, one source.


@pytest.mark.parametrize(
    "disguise",
    [
        lambda home: home / "c.csv",
        lambda home: shutil.copyfile(home / "c.csv", home / "d.csv"),
        lambda home: os.link(home / "c.csv", home / "d.csv") or home / "d.csv",
        lambda home: (home / "d.csv").symlink_to(home / "c.csv") or home / "d.csv",
        lambda home: (home / "deep").mkdir(mode=0o700) or shutil.copyfile(home / "c.csv", home / "deep/c.csv"),
        lambda home: written(home, COUNTS.encode("utf-16")),
        lambda home: written(home, COUNTS.replace(",", ";").encode()),
        lambda home: written(home, COUNTS.replace("\n", "\r\n").encode()),
        lambda home: written(home, COUNTS.replace("north", '"north"').encode()),
        lambda home: written(home, b"\xef\xbb\xbf" + COUNTS.encode()),
        lambda home: written(home, b"category,count\nwest,+5\nsouth,075\nnorth,120\n"),
        lambda home: written(home, b"count,category\n120,north\n75,south\n5,west\n"),
        lambda home: written(home, COUNTS.encode(), "c.csv", "\n"),
    ],
)
def test_a_file_spends_one_budget_under_every_name(tmp_path, disguise):
    home = tmp_path / "confidential"
    home.mkdir(mode=0o700)
    (home / "c.csv").write_text(COUNTS)
    room.make("a", asked(), root=tmp_path)
    data = str(Path(disguise(home)).relative_to(tmp_path))
    for other in ("other", None):
        with pytest.raises(
            ValueError,
            match=r"already released from the source survey \(releases/a, generation 1\).*set source to survey$",
        ):
            room.make("b", asked(data=data, source=other), root=tmp_path)
    room.make("b", asked(data=data), root=tmp_path)  # as the same source, beside what is spent
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 3"):
        room.make("c", asked(data=data), root=tmp_path, budgets=BUDGETS)


def written(home, raw, name="d.csv", end=""):
    (home / name).write_bytes(raw + end.encode())
    return home / name


def test_a_changed_file_keeps_the_source_of_its_name(tmp_path):
    """Check that one more record under another source would be a second budget for the same people."""
    home = tmp_path / "confidential"
    home.mkdir(mode=0o700)
    (home / "c.csv").write_text(COUNTS)
    room.make("a", asked(), root=tmp_path)
    (home / "c.csv").write_text(COUNTS.replace("120", "121"))
    with pytest.raises(
        ValueError, match=r"a file of this name was already released from the source survey .*rename the file$"
    ):
        room.make("b", asked(source="other"), root=tmp_path)
    (home / "others.csv").write_text(COUNTS.replace("120", "500"))  # other people, in a file of their own
    room.make("b", asked(source="other", data="confidential/others.csv"), root=tmp_path)


def test_a_ledger_without_a_journal_is_carried_over_by_one_command(tmp_path, monkeypatch):
    """Check the state of version 0.2, a key and a ledger: the existing generation is unchanged."""
    home = tmp_path / "confidential"
    home.mkdir(mode=0o700)
    (home / "c.csv").write_text(COUNTS)
    folder = room.make("a", asked(), root=tmp_path)
    before = (folder / "release.csv").read_bytes()
    journal(tmp_path).unlink()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "new account"))
    with pytest.raises(
        ValueError, match=f"missing, but releases/ledger.tsv contains releases .1..*version 0.2.*{RESTORE}"
    ):
        room.make("a", asked(), root=tmp_path)
    run = subprocess.run(
        [sys.executable, "-m", "dpmultinomial._releases", "restore"],
        cwd=tmp_path, env=environment(PYTHONPATH=str(ROOT / "src")), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.stdout.splitlines() == [
        "confidential/.spent: 2 lines added",
        "number of recorded releases: 1; all budget records agree",
    ], run.stderr
    assert room.make("a", asked(), root=tmp_path) == folder
    assert (folder / "release.csv").read_bytes() == before
    with pytest.raises(ValueError, match="source survey"):  # the bytes are known by their older fingerprint
        room.make("b", asked(source="other"), root=tmp_path)


def test_the_command_says_what_was_spent_and_refuses_what_it_does_not_know(spent):
    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "dpmultinomial._releases", *words],
            cwd=spent, env=environment(PYTHONPATH=str(ROOT / "src")), capture_output=True, text=True, check=False,
        )  # fmt: skip

    said = run().stdout.splitlines()
    assert said[0] == "a, generation 1, source survey: epsilon 1 (replace a record); published"
    assert said[-1] == "ledger and journal agree"
    assert "usage" in run("burn").stderr
    assert "the user account contains no backup of the journal of /nowhere: choose" in run("restore", "/nowhere").stderr
    assert (
        "can be transferred only from a folder that no longer exists"
        in run("restore", str(spent / "confidential")).stderr
    )
    edited(ledger(spent), b'"epsilon": 1.0', b'"epsilon": 0.5')
    assert "differ" in run().stdout.splitlines()[-1]


@pytest.mark.parametrize("torn", ["{", '{"place": "/elsewhere/confidential", "te', "null", "[]", ""])
def test_a_torn_file_of_the_account_stops_its_own_project_only(spent, tmp_path, torn):
    other = tmp_path / "other"
    (other / "confidential").mkdir(parents=True, mode=0o700)
    (other / "confidential/c.csv").write_text(COUNTS.replace("120", "9"))
    release(other, "a")
    (mine,) = [p for p in memories() if str(other) not in p.read_text()]
    mine.write_text(torn)
    release(other, "b")
    assert restoring.restored(other)[-1] == "number of recorded releases: 2; all budget records agree"
    assert mine.read_text() == torn
    with pytest.raises(
        ValueError,
        match=r"cannot be read. This file is the backup copy of the journal confidential/\.spent\.",
    ):
        release(spent, "c")
    first, last = restoring.restored(spent)
    assert first == f"{mine} cannot be read and was renamed to {mine.name}.unreadable.0"
    assert last == "number of recorded releases: 2; all budget records agree"
    assert mine.with_name(f"{mine.name}.unreadable.0").read_text() == torn
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 3"):
        release(spent, "c")


def test_a_torn_file_is_kept_where_journal_and_ledger_differ(spent):
    """Check a copy that might contain the release which ledger and journal lack."""
    memory(spent).write_text("{")
    without_last(ledger(spent), 2)
    with pytest.raises(ValueError, match=r"cannot be read, and it may contain spending"):
        restoring.restored(spent)
    assert memory(spent).read_text() == "{"


def test_nothing_is_restored_where_nothing_was_spent(tmp_path):
    with pytest.raises(ValueError, match="run the command in the folder that contains config"):
        restoring.restored(tmp_path)
    assert not (tmp_path / "confidential").exists()
    assert not (tmp_path / "releases").exists()


@pytest.mark.parametrize("place", ["releases/c", "releases/c/1", "releases/c/.staged-1"])
@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
def test_what_lies_in_the_place_of_a_release_is_refused_before_anything_is_drawn(tmp_path, monkeypatch, place, kind):
    root = tmp_path / "project"
    (root / "confidential").mkdir(parents=True, mode=0o700)
    (root / "confidential/c.csv").write_text(COUNTS)
    (root / place).parent.mkdir(parents=True)
    if kind == "file":
        (root / place).write_text("x")
    else:
        (root / place).symlink_to(tmp_path if kind == "link" else "nowhere")
    monkeypatch.setattr(_noise, "discrete_laplace", lambda *_, **__: pytest.fail("noise was drawn"))
    if (place, kind) != ("releases/c", "link"):  # a link to a folder may lead to another disk
        with pytest.raises(ValueError, match=r"must be a folder.*: remove or rename"):
            release(root, "c")
    assert not _budget_records.Ledger(ledger(root)).entries()


def test_two_releases_of_one_name_count_twice(spent):
    """Check a journal and a ledger of two copies: both releases called c were spent, under any name."""
    journal(spent).unlink()
    memory(spent).unlink()
    for row in ("1.0", "0.75"):
        raw = ledger(spent).read_bytes()
        line = raw.splitlines(keepends=True)[-1].replace(b"\tb\t1\t", b"\tc\t1\t")
        line = line.replace(b'"epsilon": 1.0', f'"epsilon": {row}'.encode())
        digest = line.split(b"\t")[6]
        ledger(spent).write_bytes(raw + line.replace(digest, row.encode() * 16))
    assert restoring.restored(spent)[-1] == "number of recorded releases: 4; all budget records agree"
    assert [e.name for e in _budget_records.Ledger(ledger(spent)).entries()] == [("a", 1), ("b", 1), ("c", 1), ("c", 2)]
    with pytest.raises(ValueError, match=r"epsilon would rise from 3\.75 to 4\.75"):
        release(spent, "d")


def test_of_two_unvouched_costs_the_higher_is_kept(spent):
    journal(spent).unlink()
    memory(spent).unlink()
    edited(ledger(spent), b'"epsilon": 1.0', b'"epsilon": 0.1')  # the record of the release says 1.0
    restoring.restored(spent)
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 3"):
        release(spent, "c")


@pytest.mark.parametrize("damage", ["empty", "short", "pipe", "link"])
def test_a_damaged_key_of_the_account_is_refused_and_makes_no_guessable_fingerprints(tmp_path, damage):
    root = tmp_path / "project"
    (root / "confidential").mkdir(parents=True, mode=0o700)
    (root / "confidential/c.csv").write_text(COUNTS)
    key = Path(os.environ["XDG_STATE_HOME"]) / "dpmultinomial/spent/key"
    key.parent.mkdir(parents=True, exist_ok=True)
    key.unlink(missing_ok=True)
    if damage == "pipe":
        os.mkfifo(key)
    elif damage == "link":
        key.symlink_to("nowhere")
    else:
        key.write_bytes(b"" if damage == "empty" else b"0" * 31)
    with pytest.raises(_places.Refused, match="key of the user account must be a regular file of 32 bytes"):
        release(root, "a")
    assert not ledger(root).exists() or _budget_records.Ledger(ledger(root)).entries() == []
    key.unlink()
    release(root, "a")


def account():
    return Path(os.environ["XDG_STATE_HOME"]) / "dpmultinomial/spent"


NEW_KEY = "python -P -m dpmultinomial._releases new-account-key"


@pytest.mark.parametrize("damage", ["missing", "short", "folder"])
def test_a_lost_key_of_the_account_is_not_drawn_again_unasked(spent, tmp_path, damage):
    """Check that a copy of a released file in another project does not get a new budget after the key is lost."""
    root = second(spent)
    (root / "confidential").mkdir(mode=0o700)
    (root / "confidential/c.csv").write_text(COUNTS)
    key = account() / "key"
    key.rename(tmp_path / "backup")
    if damage == "short":
        key.write_bytes(b"0" * 31)
    elif damage == "folder":
        key.mkdir()
    for project, name in ((root, "a"), (spent, "c")):
        with pytest.raises(
            ValueError, match=rf"{key}.*Restore the key from a backup\. If there is no backup, run {NEW_KEY}"
        ):
            release(project, name)
    assert not (root / "releases/a").exists()
    assert release(spent, "a") == spent / "releases/a/1"  # a release that exists
    assert damage != "missing" or not key.exists()
    if damage != "missing":
        key.rename(tmp_path / "moved")
    shutil.copyfile(tmp_path / "backup", key)
    with pytest.raises(ValueError, match="recorded in another journal"):
        release(root, "a")


@pytest.mark.parametrize("damage", ["missing", "short", "pipe"])
def test_a_new_key_of_the_account_is_accepted_by_a_command(spent, tmp_path, damage):
    root = second(spent)
    (root / "confidential").mkdir(mode=0o700)
    (root / "confidential/c.csv").write_text(COUNTS)
    key = account() / "key"
    with pytest.raises(ValueError, match="is a valid key, so no new key was generated"):
        restoring.new_account_key()
    key.unlink()
    if damage == "short":
        key.write_bytes(b"0" * 31)
    elif damage == "pipe":
        os.mkfifo(key)
    run = subprocess.run(
        [sys.executable, "-m", "dpmultinomial._releases", "new-account-key"],
        cwd=tmp_path, env=environment(PYTHONPATH=str(ROOT / "src")), capture_output=True, text=True, check=True,
    )  # fmt: skip
    *moved, drawn, follows = run.stdout.splitlines()
    assert len(moved) == (damage != "missing")
    assert drawn == f"{key}: a new key was generated"
    assert follows.endswith(f"which spends no budget: {spent / 'confidential'}")
    assert len(key.read_bytes()) == 32
    assert key.stat().st_mode & 0o777 == 0o600
    release(spent, "a")  # exists: its file is known under the new key, and nothing is spent
    with pytest.raises(ValueError, match="recorded in another journal"):
        release(root, "a")
    with pytest.raises(ValueError, match="epsilon would rise from 2 to 3"):
        release(spent, "c")


def test_the_first_release_of_an_account_draws_a_key_and_a_torn_copy_is_no_first_use(tmp_path):
    root = tmp_path / "project"
    (root / "confidential").mkdir(parents=True, mode=0o700)
    (root / "confidential/c.csv").write_text(COUNTS)
    account().mkdir(parents=True)
    torn = account() / f"{'0' * 32}.json"
    torn.write_text("{")
    with pytest.raises(ValueError, match="the key of the user account, is missing"):
        release(root, "a")
    torn.unlink()
    release(root, "a")
    assert len((account() / "key").read_bytes()) == 32


def test_a_home_that_cannot_be_written_is_told_in_the_last_line(spent, monkeypatch):
    assert "is not copied" not in room.spent("b", asked(), root=spent, budgets=BUDGETS)
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    root = second(spent)
    (root / "confidential").mkdir(mode=0o700)
    (root / "confidential/c.csv").write_text(COUNTS.replace("120", "9"))
    release(root, "a")
    said = room.spent("a", asked(), root=root, budgets=BUDGETS)
    assert said.startswith("source survey: epsilon 1 or rho 0.5 (replace a record), of a budget of epsilon 2;")
    assert said.endswith("the journal is not copied to the user account, because its folder is not writable")


def test_the_last_words_of_a_release_say_what_bounds_its_source(tmp_path):
    home = tmp_path / "confidential"
    home.mkdir(mode=0o700)
    (home / "c.csv").write_text(COUNTS)
    (home / "p.csv").write_text("a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(12)))
    folder = room.make("a", asked(), root=tmp_path)
    assert room.spent("a", asked(), root=tmp_path).endswith(
        "the source has no budget, so the total cost of its releases is not limited"
    )
    assert "none: the total cost of the releases of this source is not limited" in (folder / "record.json").read_text()
    swap = asked(mechanism="swap", data="confidential/p.csv", swap="b", rate=0.4)
    del swap["epsilon"]
    folder = room.make("s", swap, root=tmp_path, budgets=BUDGETS)
    said = room.spent("s", swap, root=tmp_path, budgets=BUDGETS)
    assert "epsilon 5.94083 (exchange within invariants), of a budget of epsilon 2" in said  # 2 ln(13 6/4)
    assert "the budget does not limit exchanges" in said
    assert "outside: the cost of an exchange within invariants" in (folder / "record.json").read_text()
    additive = room.make("d", asked(mechanism="additive_counts", epsilon=0.25), root=tmp_path, budgets=BUDGETS)
    assert (
        '"against_ceiling": {\n  "relation": "replace a record",\n  "epsilon": 1.0'
        in (additive / "record.json").read_text()
    )
