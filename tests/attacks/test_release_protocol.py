"""Tests of crashes, parallel calls and a full disk: at every step, no file without a line and nothing drawn twice."""

import errno
import fcntl
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from contextlib import nullcontext, suppress

import pytest

from dpmultinomial._releases import _budget_records, _durable, _protocol, restoring, room

pytestmark = pytest.mark.thorough

SETTINGS = {"mechanism": "swap", "data": "confidential/people.csv", "swap": "b", "rate": 0.4}
BUDGETS = {"r": {"exchange": 15.0}}  # covers one release (2 ln(13 6/4) = 5.9) and not the third


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Return a project with its own data and an account whose memory is empty."""

    def made(name):
        root = tmp_path / str(name)
        account = tmp_path / "accounts" / str(name)
        account.mkdir(parents=True)
        monkeypatch.setenv("XDG_STATE_HOME", str(account))
        (root / "confidential").mkdir(parents=True, mode=0o700)
        (root / "confidential" / "people.csv").write_text("a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(12)))
        return root

    return made


def make(root, **more):
    return room.make("r", SETTINGS | more, root=root, budgets=BUDGETS)


def steps_of(call):
    """Return the names of the steps of a call."""
    names = []
    _durable.at = names.append
    try:
        call()
    finally:
        _durable.at = _durable.nothing
    return names


def killed(call, number):
    """Run `call` in a fork that kills itself (-9) before step `number`; return True if it was killed."""
    child = os.fork()
    if child == 0:
        left = [number]

        def at(name):
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1

        _durable.at = at
        try:
            call()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def entries(root):
    return _budget_records.Ledger(root / "releases" / "ledger.tsv").entries()


def judge(root):
    """Check the state after any crash: a published file has a line with its hash, and every line has a valid state."""
    folder = root / "releases" / "r" / "1"
    found = {e.generation: e for e in entries(root)}
    published = folder.is_dir() and any(folder.iterdir())
    if published:
        assert found[1].sha256 == hashlib.sha256((folder / "release.csv").read_bytes()).hexdigest()
        assert (folder / "record.json").exists()
    elif found:
        assert found[1].state == "spent, not published"
    return found.get(1), published


def recover(root, before):
    """Check that the next call finishes: the release that was spent is published, and it is spent once."""
    folder = make(root)
    (after,) = entries(root)
    assert after.state == _budget_records.PUBLISHED
    assert after.sha256 == hashlib.sha256((folder / "release.csv").read_bytes()).hexdigest()
    if before is not None:
        assert (after.sha256, after.record_sha256, after.cost) == (before.sha256, before.record_sha256, before.cost)
    assert sorted(p.name for p in (root / "releases" / "r").iterdir()) == ["1"]
    raw = _budget_records.Ledger(root / "releases" / "ledger.tsv").path.read_text()
    assert raw.count(_budget_records.SPENT) == 1


def test_kill_9_at_every_step(fresh):
    names = steps_of(lambda: make(fresh("count")))
    assert len(names) >= 60, names
    seen = set()
    for number in range(len(names)):
        root = fresh(number)
        assert killed(lambda root=root: make(root), number), names[number]
        entry, published = judge(root)
        seen.add((entry.state if entry else "none", published))
        recover(root, entry)
    assert {
        ("none", False),
        (_budget_records.SPENT, False),
        (_budget_records.SPENT, True),
        (_budget_records.PUBLISHED, True),
    } >= seen
    assert {("none", False), (_budget_records.SPENT, False), (_budget_records.SPENT, True)} <= seen


def test_kill_9_at_every_step_of_a_tree(fresh):
    """Check that counts of a tree follow the same protocol: all levels are spent before any noise is drawn."""
    asked = {"mechanism": "discrete_gaussian", "rho": 0.5, "levels": ["whole", "part"], "narrow": "part"}

    def tree(root):
        text = "category,parent,count\nall,,21\na,all,10\nb,all,11\n"
        (root / "confidential" / "tree.csv").write_text(text)
        return room.make("r", asked | {"data": "confidential/tree.csv"}, root=root, budgets={"r": {"rho": 2.0}})

    names = steps_of(lambda: tree(fresh("count")))
    assert len(names) >= 60, names
    for number in range(len(names)):
        root = fresh(number)
        assert killed(lambda root=root: tree(root), number), names[number]
        before, _ = judge(root)
        folder = tree(root)
        (after,) = entries(root)
        assert after.state == _budget_records.PUBLISHED
        assert after.spent.rho == pytest.approx(0.5)
        assert after.sha256 == hashlib.sha256((folder / "release.csv").read_bytes()).hexdigest()
        assert before is None or (after.sha256, after.cost) == (before.sha256, before.cost)
        with pytest.raises(ValueError, match="rho would rise from 2 to 4"):
            room.make("r", asked | {"data": "confidential/tree.csv", "generation": 2}, root=root,
                      budgets={"r": {"rho": 2.0}})  # fmt: skip


@pytest.mark.parametrize("first", ["give the release its name", "named"])
def test_kill_9_at_every_step_of_the_recovery_too(fresh, first):
    names = steps_of(lambda: make(fresh("count")))
    root = fresh("recovery")
    assert killed(lambda: make(root), names.index(first))
    number = 0
    while killed(lambda: make(root), number):
        judge(root)
        number += 1
        if number > 60:
            break
        if (entry := judge(root)[0]) is not None and entry.state == _budget_records.PUBLISHED:
            break
    assert number >= 5
    recover(root, judge(root)[0])


def wanted(root):
    """Return the generation to request: the last one until it is published, then the next."""
    found = entries(root)
    return len(found) + (not found or found[-1].state == _budget_records.PUBLISHED)


def known(root):
    """Return the spending by generation; check that every published file has its entry."""
    found = {e.generation: (e.sha256, e.cost) for e in entries(root)}
    for path in (root / "releases").glob("r/*/release.csv"):
        if not path.parent.name.startswith("."):
            assert found[int(path.parent.name)][0] == hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def random_kills(fresh, projects, kills, seed):
    """Kill calls at random times and before random steps, each in the state left by the previous one."""
    chance, unbounded = random.Random(seed), {"budgets": {"r": {"exchange": 1000.0}}}
    for number in range(projects):
        root, done, before = fresh(f"random {number}"), 0, {}
        while done < kills:
            generation = wanted(root)

            def call(root=root, generation=generation):
                room.make("r", SETTINGS | {"generation": generation}, root=root, **unbounded)

            if chance.random() < 0.5:
                done += killed(call, chance.randrange(95))
            else:
                child = os.fork()
                if child == 0:
                    try:
                        call()
                    finally:
                        os._exit(0)
                time.sleep(chance.random() * 0.06)
                os.kill(child, signal.SIGKILL)
                done += os.WIFSIGNALED(os.waitpid(child, 0)[1])
            after = known(root)
            assert after.items() >= before.items()  # spent is spent, and the same file, whatever was killed since
            before = after
        last = wanted(root)
        room.make("r", SETTINGS | {"generation": last}, root=root, **unbounded)
        assert known(root).items() >= before.items()
        assert {e.state for e in entries(root)} == {_budget_records.PUBLISHED}
        assert restoring.state(root)[-1] == "ledger and journal agree"


def test_kills_at_random_moments_lose_and_repeat_nothing(fresh):
    random_kills(fresh, projects=3, kills=5, seed=1)


@pytest.mark.attack
def test_300_kills_at_random_moments_lose_and_repeat_nothing(fresh):
    random_kills(fresh, projects=30, kills=10, seed=20261122)


def test_kill_9_at_every_step_of_a_restoration(fresh):
    """Tear the records, and kill the command that restores them before each of its steps, then run it again."""

    def torn(name):
        root = fresh(name)
        make(root)
        make(root, generation=2)
        (root / "releases/ledger.tsv").unlink()
        journal = root / "confidential/.spent"
        journal.write_bytes(journal.read_bytes().replace(b"published", b"publishes", 1))
        return root

    first = torn("count")
    names = steps_of(lambda: restoring.restored(first))
    assert len(names) >= 15, names
    for number in range(len(names)):
        root = torn(number)
        assert killed(lambda root=root: restoring.restored(root), number), names[number]
        restoring.restored(root)
        assert restoring.state(root)[-1] == "ledger and journal agree"
        assert sorted(e.name for e in entries(root)) == [("r", 1), ("r", 2)]
        with pytest.raises(ValueError, match="exchange would rise from 11"):
            make(root, generation=3)


def test_a_full_disk_at_every_step(fresh):
    names = steps_of(lambda: make(fresh("count")))
    for number in range(len(names)):
        root, left = fresh(number), [number]

        def at(name, left=left):
            left[0] -= 1
            if left[0] == -1:
                raise OSError(errno.ENOSPC, "No space left on device")

        _durable.at = at
        try:
            with pytest.raises(OSError, match="No space left"):
                make(root)
        finally:
            _durable.at = _durable.nothing
        entry, _ = judge(root)
        recover(root, entry)


def fails_then_goes_on(root, call, freed):
    """Return whether a full disk stopped a call; after space is freed, the call continues from what was spent."""
    try:
        call()
    except OSError:
        failed = True
    else:
        failed = False
    freed()
    recover(root, judge(root)[0])
    return failed


@pytest.fixture
def small_disk(tmp_path):
    """Mount a file system of 256 kB in memory; the test is skipped if this is not possible."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(words, check=False, capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_is_full_but_for_some_pages(fresh, small_disk, monkeypatch):
    """Run project and account on a disk with 0, 1, 2, .. free pages, until a release fits."""
    failures = []
    for pages in range(40):
        root = fresh(small_disk / str(pages))
        monkeypatch.setenv("XDG_STATE_HOME", str(small_disk / f"account {pages}"))
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)) == 4096:
                pass
        os.truncate(ballast, max(ballast.stat().st_size // 4096 - pages, 0) * 4096)
        failures.append(fails_then_goes_on(root, lambda root=root: make(root), ballast.unlink))
        shutil.rmtree(root)
        shutil.rmtree(small_disk / f"account {pages}", ignore_errors=True)
        if not failures[-1]:
            break
    assert sum(failures) >= 5
    assert not failures[-1]


def test_files_that_cannot_grow_at_every_size(fresh):
    """Check a limit on file sizes, which stops a write in the middle of a line or a file."""
    failures, before = [], resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in (0, 1, 10, 31, 33, 60, 120, 250, 400, 700, 1000, 1500, 2000, 10_000):
        root = fresh(f"limit {size}")
        child = os.fork()
        if child == 0:
            code = 2
            try:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
                make(root)
                code = 0
            except OSError:
                code = 1
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 1), size
        failures.append(code)
        entry, _ = judge(root)
        recover(root, entry)
    assert failures[0] == 1
    assert failures[-1] == 0
    assert sum(failures) >= 8


def test_lost_staged_files_are_spent_and_never_drawn_again(fresh):
    names = steps_of(lambda: make(fresh("count")))
    root = fresh("lost")
    assert killed(lambda: make(root), names.index("give the release its name"))
    staged = root / "releases" / "r" / ".staged-1"
    assert {p.name for p in staged.iterdir()} == {"release.csv", "record.json"}
    (staged / "release.csv").chmod(0o600)
    (staged / "release.csv").write_bytes(b"half")
    with pytest.raises(ValueError, match="but the files of the release are lost: set generation to 2"):
        make(root)
    assert make(root, generation=2).name == "2"
    assert [e.state for e in entries(root)] == [_budget_records.SPENT, _budget_records.PUBLISHED]
    with pytest.raises(ValueError, match="exchange would rise from 11"):  # what was lost counts as spent
        make(root, generation=3)


def test_a_staged_folder_is_its_owners_alone_until_the_line_is_on_disk(fresh):
    root, modes = fresh("modes"), {}

    def at(name):
        staged = root / "releases" / "r" / ".staged-1"
        if staged.exists():
            modes[name] = staged.stat().st_mode & 0o777, any(e.release == "r" for e in entries(root))

    _durable.at = at
    try:
        make(root)
    finally:
        _durable.at = _durable.nothing
    assert modes
    assert all(mode == 0o700 or spent for mode, spent in modes.values())


def test_two_at_once(fresh):
    root = fresh("two")
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                make(root)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(c, 0)[1] for c in children] == [0] * 4
    (entry,) = entries(root)
    assert entry.state == _budget_records.PUBLISHED
    assert judge(root)[1]


def eight_under_one_ceiling(root, gate=None):
    """Start eight processes for eight releases of a source whose budget covers two; return how many were spent."""
    children = []
    for number in range(8):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if gate is not None:
                    _durable.at = gate
                room.make(f"r{number}", SETTINGS | {"source": "r"}, root=root, budgets=BUDGETS)
                code = 0
            except (ValueError, OSError):
                code = 1
            finally:
                os._exit(code)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return len(entries(root))


def test_eight_at_once_stay_below_their_ceiling(fresh):
    assert eight_under_one_ceiling(fresh("eight")) == 2


def test_the_double_without_a_lock_passes_its_ceiling(fresh, monkeypatch):
    """Let all eight processes read the spending before one of them spends; then they write one after the other."""
    root = fresh("open")
    make(root)  # the key and the books are there
    here = root.parent / "gate"
    here.mkdir()

    def gate(name):
        if name == "make the staging folder":
            turn = os.open(root.parent / "turn", os.O_CREAT | os.O_RDWR, 0o600)
            (here / str(os.getpid())).touch()
            end = time.monotonic() + 20
            while len(list(here.iterdir())) < 8 and time.monotonic() < end:
                time.sleep(0.005)
            fcntl.flock(turn, fcntl.LOCK_EX)  # until this process ends

    monkeypatch.setattr(_protocol, "locked", lambda *_, **__: nullcontext())
    assert eight_under_one_ceiling(root, gate) > 2


def test_who_comes_second_is_refused_when_waiting_takes_too_long(fresh):
    root = fresh("wait")
    with _protocol.locked(root):
        start = time.monotonic()
        with pytest.raises(TimeoutError, match="another process is making a release"):
            room.make("r", SETTINGS, root=root, wait=0.1)
        assert time.monotonic() - start < 5
    make(root)


COUNTED = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 1.0, "source": "s"}
OF_COUNTS = {"s": {"epsilon": 1.0}}  # the budget of the file covers one release


def two_projects(tmp_path, monkeypatch, name):
    """Return two projects of one account, with copies of one confidential file."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / f"account {name}"))
    roots = [tmp_path / f"{name} {which}" for which in "ab"]
    for root in roots:
        (root / "confidential").mkdir(parents=True, mode=0o700)
        (root / "confidential/c.csv").write_text("category,count\nnorth,812\nsouth,390\nwest,77\n")
    return roots


def at_once(roots, meeting, step, seconds):
    """Release the copies of a file in two processes, which meet before `step` and wait at most `seconds` there. Return
    the sum of what both projects spent.
    """
    meeting.mkdir()
    children = []
    for root in roots:
        child = os.fork()
        if child == 0:

            def gate(name, root=root):
                if name == step:
                    (meeting / root.name).touch()
                    end = time.monotonic() + seconds
                    while len(list(meeting.iterdir())) < len(roots) and time.monotonic() < end:
                        time.sleep(0.001)

            code = 1
            try:
                _durable.at = gate
                room.make("r", COUNTED, root=root, budgets=OF_COUNTS)
                code = 0
            except (ValueError, OSError):
                code = 1
            finally:
                os._exit(code)
        children.append(child)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    spent = sum(entry.spent.epsilon for root in roots for entry in entries(root))
    return codes, spent


def test_two_projects_that_release_copies_of_one_file_at_once_spend_one_budget(tmp_path, monkeypatch):
    """Check the moment after both have looked for earlier spending, and 20 rounds of processes that start together."""
    room.make("r", COUNTED, root=two_projects(tmp_path, monkeypatch, "first")[0])  # loads OpenDP, before the forks
    roots = two_projects(tmp_path, monkeypatch, "pause")
    assert at_once(roots, tmp_path / "pause", "make the staging folder", 1.0) == ([0, 1], 1.0)
    for number in range(20):
        roots = two_projects(tmp_path, monkeypatch, number)
        assert at_once(roots, tmp_path / str(number), "open the lock", 5.0) == ([0, 1], 1.0)


def test_the_double_without_a_lock_of_the_account_spends_the_budget_of_a_file_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(_protocol, "account_locked", lambda *_, **__: nullcontext())
    roots = two_projects(tmp_path, monkeypatch, "open")
    _budget_records.of_account().fingerprint(b"")  # generates the key
    assert at_once(roots, tmp_path / "open", "make the staging folder", 20.0) == ([0, 0], 2.0)


def test_a_crash_at_any_step_leaves_no_budget_to_a_copy_in_another_project(tmp_path, monkeypatch):
    """Kill the release of one project before each step. Its spending is then known to the other project."""
    roots = two_projects(tmp_path, monkeypatch, "count")
    names = steps_of(lambda: room.make("r", COUNTED, root=roots[0], budgets=OF_COUNTS))
    for number in range(len(names)):
        first, second = two_projects(tmp_path, monkeypatch, number)
        assert killed(lambda root=first: room.make("r", COUNTED, root=root, budgets=OF_COUNTS), number)
        for root in (second, first):  # the kernel has released the locks of the killed process
            with suppress(ValueError):
                room.make("r", COUNTED, root=root, budgets=OF_COUNTS)
        assert sum(entry.spent.epsilon for root in (first, second) for entry in entries(root)) == 1.0, names[number]


def test_one_process_waits_for_the_account_while_another_project_makes_a_release(tmp_path, monkeypatch):
    first, second = two_projects(tmp_path, monkeypatch, "wait")
    with _protocol.locked(first):
        with pytest.raises(
            TimeoutError, match=r"spent/\.lock was still locked after 0\.1 s: run the command again later"
        ):
            room.make("r", COUNTED, root=second, wait=0.1)
        assert room.check("r", COUNTED, budgets=OF_COUNTS, root=second) == []  # reads no lock
    room.make("r", COUNTED, root=second, budgets=OF_COUNTS)
    lock = tmp_path / "account wait/dpmultinomial/spent/.lock"
    lock.unlink()
    lock.symlink_to("nowhere")
    with pytest.raises(ValueError, match=r"spent/\.lock must be a regular file, got a link"):
        room.make("q", COUNTED, root=second)


def test_a_process_that_waits_for_a_lock_says_so_once(tmp_path, monkeypatch, capsys):
    first, second = two_projects(tmp_path, monkeypatch, "told")
    monkeypatch.setattr(_protocol, "_QUIET", 0.05)
    with _protocol.locked(first), pytest.raises(TimeoutError, match=r"still locked after 0\.3 s"):
        room.make("r", COUNTED, root=second, wait=0.3)
    lock = tmp_path / "account told/dpmultinomial/spent/.lock"
    assert (
        capsys.readouterr().err == f"{lock} is locked by another process: waiting for at most 0.3 s (keep this file)\n"
    )


def test_a_lock_whose_file_was_removed_while_a_process_waited_is_not_held(tmp_path, monkeypatch):
    """The first process holds the removed file, the second waits for it, and the third locks the new file. After the
    first has ended, the second must wait for the third.
    """
    path, order = tmp_path / ".lock", []
    first, third = _protocol._held(path, "a", wait=0), _protocol._held(path, "c", wait=0)
    first.__enter__()

    def sleep(_):
        if not order:
            path.unlink()
            third.__enter__()
            first.__exit__(None, None, None)
        order.append("the second waits")
        if len(order) == 3:
            order.append("the third ends")
            third.__exit__(None, None, None)

    monkeypatch.setattr(_protocol.time, "sleep", sleep)
    with _protocol._held(path, "b", wait=60):
        order.append("the second holds")
    assert order == ["the second waits"] * 3 + ["the third ends", "the second holds"]


@pytest.mark.parametrize("shared", ["folder", "hard link"])
def test_a_process_never_waits_for_its_own_lock(tmp_path, monkeypatch, shared):
    first, second = two_projects(tmp_path, monkeypatch, "own")
    account = tmp_path / "account own/dpmultinomial/spent"
    room.make("r", COUNTED, root=first, budgets=OF_COUNTS)
    if shared == "folder":
        (second / "confidential").rename(tmp_path / "moved")
        (second / "confidential").symlink_to(account)
        (account / "c.csv").write_text("category,count\na,1\nb,2\n")
        message = "confidential/ must not be the folder with the budget records of the user account, got .*spent: move"
    else:
        os.link(account / ".lock", second / "confidential/.lock")
        message = (
            r"\.lock must not be a hard link to .*spent/\.lock, the lock file of the user account: remove the hard link"
        )
    with pytest.raises(ValueError, match=message):
        room.make("r", COUNTED, root=second, wait=0.1)
    if shared == "hard link":
        (second / "confidential/.lock").unlink()
        with pytest.raises(ValueError, match="recorded in another journal"):
            room.make("r", COUNTED, root=second, wait=0.1)


@pytest.mark.parametrize("state", ["", "state", "./state", "../state"])
def test_a_relative_folder_of_states_is_ignored(tmp_path, monkeypatch, state):
    """The XDG Base Directory Specification: paths in the variables must be absolute, and relative ones are ignored.
    Otherwise every current folder would have a separate account, and a copy of a file a second budget.
    """
    first, second = two_projects(tmp_path, monkeypatch, "relative")
    monkeypatch.setenv("XDG_STATE_HOME", state)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(first)
    room.make("r", COUNTED, root=first, budgets=OF_COUNTS)
    assert len(list((tmp_path / "home/.local/state/dpmultinomial/spent").glob("*.json"))) == 1
    monkeypatch.chdir(second)
    with pytest.raises(ValueError, match="recorded in another journal"):
        room.make("r", COUNTED, root=second, budgets=OF_COUNTS)


def test_a_file_system_without_locks_is_refused(fresh, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(_protocol.fcntl, "flock", no_locks)
    with pytest.raises(
        ValueError,
        match=r"\.lock cannot be locked \(No locks available\).* to a file system that supports file locking",
    ):
        make(fresh("no locks"))


def publishes_first(asked, books, line, *, data, record, files):
    """Use the weakened version: the folder gets its name before the line is written."""
    _protocol.stage(asked, data=data, record=record)
    os.rename(asked.staged, asked.folder)
    _durable.step("between")
    books.spend(line, files=files)
    _protocol._published(line.entry, books)
    return asked.folder


def test_the_judge_convicts_a_protocol_that_publishes_first(fresh, monkeypatch):
    monkeypatch.setattr(_protocol, "release", publishes_first)
    names = steps_of(lambda: make(fresh("count")))
    root = fresh("weak")
    assert killed(lambda: make(root), names.index("between") + 1)
    with pytest.raises(KeyError):
        judge(root)
