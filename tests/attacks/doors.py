"""Attacks that bypass the mechanism: every way around a release that was found, and a version without its check.

Each entry has several attacks. An attack runs in a separate folder and returns whether it did harm. Against the project
none succeeds; against the weakened version, with fewer checks (mostly those of version 0.2), the expected ones succeed.
"""

import hashlib
import json
import math
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from snakemake.common.configfile import load_configfile

from dpmultinomial._files import places, published
from dpmultinomial._measurement_files import reading as measurement_files
from dpmultinomial._releases import (
    _budget_records,
    _confidential,
    _keys,
    _places,
    _protocol,
    _statistics,
    checks,
    room,
    spending,
)
from reproduction import paper, provenance, tables, trust
from reproduction.config import checks as config_checks
from reproduction.config import config, overlays, reading, user_files
from tests.unit.files.test_lookalikes import SAME

from . import test_configuration_attacks as configurations
from . import test_ledger_attacks as ledgers
from . import test_second_doors as second

COUNTS = "category,count\nnorth,812\nsouth,390\nwest,77\n"
LAPLACE = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 1.0, "source": "s"}
ADDITIVE = LAPLACE | {"mechanism": "additive_counts"}
CEILING = {"s": {"epsilon": 1.0}}
Attack = Callable[[Path], bool]


@dataclass(frozen=True)
class Door:
    """A way around a release.

    Parameters
    ----------
    name : what the attacks try to obtain.
    attacks : mapping from a name to an attack on a folder, which returns True if it did harm.
    weaken : function that makes the weakened version.
    withstood : attacks that the weakened version also withstands, or that do not apply to it.
    """

    name: str
    attacks: Mapping[str, Attack]
    weaken: Callable[[pytest.MonkeyPatch], None]
    withstood: Collection[str] = ()

    @property
    def against_double(self) -> list[str]:
        """Return the attacks that must succeed against the weakened version."""
        return [name for name in self.attacks if name not in self.withstood]


def succeeded(door: Door, attack: str, folder: Path, *, double: bool) -> bool:
    """Run one attack in a folder, with an account whose memory is empty."""
    with pytest.MonkeyPatch.context() as patch:
        folder.mkdir(parents=True)
        patch.chdir(folder)
        patch.setenv("XDG_STATE_HOME", str(folder.with_name(f"{folder.name}_account")))
        if double:
            door.weaken(patch)
        return door.attacks[attack](folder)


def project(root: Path, text: str = COUNTS) -> Path:
    """Write a confidential file and return its folder."""
    place = root / "confidential"
    place.mkdir(mode=0o700)
    (place / "c.csv").write_text(text, encoding="utf-8")
    return place


def made(root: Path, name: str = "a", budgets=None, **settings) -> bool:
    """Return whether a release is made; a rejection has a message, and any other error is an error of the attack."""
    try:
        room.make(name, LAPLACE | settings, root=root, budgets=budgets)
    except (ValueError, OSError):
        return False
    return True


# Configurations that run a program.


def _read(spelling: str) -> Attack:
    def attack(root):
        (root / "mine.yaml").write_text(configurations.SPELLINGS[spelling])
        with suppress(config.ConfigError):
            overlays.merged([Path("mine.yaml")])
        return (root / "ran").exists()

    return attack


CONFIGURATION = Door(
    "a configuration that runs a program",
    {name: _read(name) for name in configurations.SPELLINGS},
    lambda patch: patch.setattr(reading, "read", load_configfile),
)


# Spending that is forgotten.


def _forgotten(loss: str) -> Attack:
    def attack(root):
        spent = ledgers.spend_twice(root)
        ledgers.LOSSES[loss](spent)
        try:
            ledgers.release(spent, "c")
        except ValueError:
            return False
        return True

    return attack


LEDGER = Door(
    "budget records lost, truncated, edited or rolled back",
    {name: _forgotten(name) for name in ledgers.LOSSES},
    ledgers.trust_the_ledger,
    [name for name in ledgers.LOSSES if name not in ledgers.UNTOLD],
)


# Other paths into the confidential folder.


def _named(key: str, name: str) -> Attack:
    def attack(root):
        second.furnish(root)
        base, settings = second.KEYS[key]
        try:
            config_checks.checked(settings(name.format(base)), paper.discover())
        except config.ConfigError:
            return False
        return True

    return attack


def _measured(way: str) -> Attack:
    def attack(root):
        second.furnish(root)
        try:
            found = measurement_files.read(second.measured(root, way), product="pl94", table="person", state="VT")
        except ValueError:
            return False
        return found.levels["County"].released.tolist() == [second.SECRET]

    return attack


def _unasked(patch):
    patch.setattr(places, "is_confidential", lambda path, known=None: False)
    patch.setattr(user_files, "refusal", lambda text, **_: None)


SECOND = Door(
    "inference that opens a confidential file",
    {f"{key}: {name}": _named(key, name) for key in second.KEYS for name in second.NAMES}
    | {f"measurement files: {way}": _measured(way) for way in second.LINKS},
    _unasked,
    [f"scenarios.y.file: {name}" for name in second.NAMES],  # the columns of that file are of another kind
)


# A budget that disappears under another name.


def _renamed(change: Callable[[Path], dict]) -> Attack:
    def attack(root):
        place = project(root)
        assert made(root, "a", CEILING)
        settings = change(place)
        budgets = settings.pop("budgets", CEILING)
        return made(root, "b", budgets, **settings)

    return attack


def _beside(write: Callable[[Path], object], source: str = "t") -> Callable[[Path], dict]:
    def change(place):
        write(place)
        return {"source": source, "data": "confidential/d.csv", "budgets": CEILING | {source: {"epsilon": 5.0}}}

    return change


NAMES = Door(
    "a budget avoided by a different name",
    {
        name: _renamed(change)
        for name, change in {
            "a slip in the source": lambda place: {"source": "ss"},
            "no source": lambda place: {"source": None},
            "no budgets at all and another source": lambda place: {"source": "t", "budgets": None},
            "another source with a budget": lambda place: {"source": "t", "budgets": {"t": {"epsilon": 5.0}}},
            "a link": _beside(lambda place: (place / "d.csv").symlink_to(place / "c.csv")),
            "a hard link": _beside(lambda place: os.link(place / "c.csv", place / "d.csv")),
            "a copy": _beside(lambda place: shutil.copyfile(place / "c.csv", place / "d.csv")),
            "a ceiling of exchanges alone": lambda place: {"budgets": {"s": {"exchange": 1.0}}},
            "another encoding": _beside(lambda place: (place / "d.csv").write_bytes(COUNTS.encode("utf-16"))),
            "another order": _beside(lambda place: (place / "d.csv").write_text(
                "count,category\n77,west\n390,south\n812,north\n")),
            "other names of categories": _beside(lambda place: (place / "d.csv").write_text(
                "category,count\nNorden,812\nSouth,390\nthe west,+77\n")),
            "a tree over its categories": _beside(lambda place: (place / "d.csv").write_text(
                "category,parent,count\nall,,1279\nplain,all,1202\na,plain,812\nb,plain,390\nc,all,77\n")),
            "a category of nobody": _beside(lambda place: (place / "d.csv").write_text(COUNTS + "east,0\n")),
            "another delimiter": _beside(lambda place: (place / "d.csv").write_text(COUNTS.replace(",", ";"))),
        }.items()
    },
    lambda patch: [
        patch.setattr(checks, "_bounded", lambda *_: []),
        patch.setattr(_protocol, "one_source", lambda *_, **__: None),
    ],
)  # fmt: skip


# Results that were moved on disk.


def _damaged(damage: Callable[[Path], object]) -> Attack:
    def attack(root):
        import pandas as pd

        path = root / "results/toy/numbers.csv"
        path.parent.mkdir(parents=True)
        tables.write(pd.DataFrame({"quantity": list("abc"), "value": [0.25, 0.5, 0.125]}), path)
        job = provenance.Job("toy", provenance.digest(["1"]))
        provenance.write(provenance.short(function="toy.numbers", job=job), path)
        good = trust.table(path)
        damage(path)
        try:
            return not trust.table(path).equals(good)
        except trust.Damaged:
            return False
        except (ValueError, OSError):  # a file that no reader of tables can read
            return False

    return attack


RESULTS = Door(
    "results truncated, edited or rolled back",
    {
        name: _damaged(damage)
        for name, damage in {
            "torn in a number": lambda path: path.write_bytes(path.read_bytes()[:-3]),
            "torn in a row": lambda path: path.write_bytes(path.read_bytes()[: path.read_bytes().index(b"\nb")]),
            "edited": lambda path: path.write_bytes(path.read_bytes().replace(b"0.5", b"0.6")),
            "a row twice": lambda path: path.write_bytes(path.read_bytes() + b"c,0.125\n"),
            "emptied to its header": lambda path: path.write_bytes(path.read_bytes().split(b"\n")[0] + b"\n"),
            "edited, its provenance lost": lambda path: (
                path.write_bytes(path.read_bytes().replace(b"0.5", b"0.6")),
                path.with_suffix(".provenance.json").unlink(),
            ),
            "edited, its provenance torn": lambda path: (
                path.write_bytes(path.read_bytes().replace(b"0.5", b"0.6")),
                path.with_suffix(".provenance.json").write_text("{"),
            ),
        }.items()
    },
    lambda patch: patch.setattr(trust, "table", tables.read),
)


# Confidential files in git.


def git(root: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True
    )


def _in_git(state: Callable[[Path], object]) -> Attack:
    def attack(root):
        git(root, "init", "-q")
        project(root)
        (root / "config.yaml").write_text("run: []\n")
        git(root, "add", "config.yaml")
        git(root, "commit", "-q", "-m", "x")
        assert made(root)
        state(root)
        return made(root, "b")

    return attack


def _committed_and_removed(root, name):
    git(root, "add", "-f", name)
    git(root, "commit", "-q", "-m", "y")
    git(root, "rm", "-q", "--cached", name)
    git(root, "commit", "-q", "-m", "z")


def _only_the_data(patch):
    """Apply the check of version 0.2: whether this one file is tracked; every failure of git counts as no."""

    def tracked(root, home, path):
        command = ["git", "-C", str(root), "ls-files", "--error-unmatch", "confidential/c.csv"]
        return ["tracked"] if subprocess.run(command, check=False, capture_output=True).returncode == 0 else []

    patch.setattr(_places, "_tracked", tracked)


GIT = Door(
    "confidential files in git",
    {
        name: _in_git(state)
        for name, state in {
            "the data, staged": lambda root: git(root, "add", "-f", "confidential/c.csv"),
            "the key, staged": lambda root: git(root, "add", "-f", "confidential/.release_key"),
            "the journal, staged": lambda root: git(root, "add", "-f", "confidential/.spent"),
            "a report, staged": lambda root: (
                (root / "confidential/a_1_changes.csv").write_text("x"),
                git(root, "add", "-f", "confidential/a_1_changes.csv"),
            ),
            "the data, behind an inner repository": lambda root: (
                _committed_and_removed(root, "confidential/c.csv"),
                git(root / "confidential", "init", "-q"),
            ),
            "the data, in the history": lambda root: _committed_and_removed(root, "confidential/c.csv"),
            "the key, in the history": lambda root: _committed_and_removed(root, "confidential/.release_key"),
            "the key, in another branch": lambda root: (
                git(root, "checkout", "-q", "-b", "other"),
                git(root, "add", "-f", "confidential/.release_key"),
                git(root, "commit", "-q", "-m", "y"),
                git(root, "rm", "-q", "--cached", "confidential/.release_key"),
                git(root, "commit", "-q", "-m", "z"),
                git(root, "checkout", "-q", "-"),
            ),
            "a repository that git cannot read": lambda root: (root / ".git/HEAD").write_text("garbage"),
            "an index that git cannot read": lambda root: (root / ".git/index").write_bytes(b"garbage"),
        }.items()
    },
    _only_the_data,
    ["the data, staged"],
)


# One budget, spent once per relation.


def _in_turn(*asked: dict) -> Attack:
    def attack(root):
        project(root)
        for number, settings in enumerate(asked):
            made(root, f"r{number}", CEILING, **settings)
        spent = _budget_records.Ledger(root / "releases/ledger.tsv").entries()
        lost = math.fsum(entry.spent.replaced.epsilon for entry in spent if entry.spent.relation != spending.EXCHANGE)
        return lost > 1 + 1e-9

    return attack


def _by_relation(costs, ceiling):
    """Add costs as in version 0.2: only within the relation of the last release."""
    epsilon = spending.epsilon_at([c for c in costs if c.relation == costs[-1].relation], delta=0.0)
    return None if "epsilon" not in ceiling or epsilon <= ceiling["epsilon"] * (1 + 1e-12) else "above"


RELATIONS = Door(
    "a budget spent once per neighbouring relation",
    {
        "replace, then add or remove": _in_turn(LAPLACE, ADDITIVE | {"epsilon": 0.5}),
        "add or remove, then replace": _in_turn(ADDITIVE | {"epsilon": 0.25}, LAPLACE),
        "add or remove alone": _in_turn(ADDITIVE | {"epsilon": 0.5}),
        "a little of each": _in_turn(
            *(LAPLACE | {"epsilon": 0.25}, ADDITIVE | {"epsilon": 0.125}) * 2, ADDITIVE | {"epsilon": 0.125}
        ),
    },
    lambda patch: patch.setattr(spending, "beyond", _by_relation) or patch.setattr(_protocol, "beyond", _by_relation),
)


# Public files that were changed.


def _edited(change: Callable[[dict, str], str | None]) -> Attack:
    def attack(root):
        project(root)
        folder = room.make("a", LAPLACE, root=root)
        _write(folder, change)
        return _opens(folder)

    return attack


def _tree(change: Callable[[dict, str], str | None]) -> Attack:
    """Apply `_edited` to a release of a tree."""

    def attack(root):
        project(root, "category,parent,count\nall,,10\nleft,all,4\nright,all,6\nx,left,4\ny,right,6\n")
        levels = {"levels": ["whole", "half", "part"], "shares": {"whole": 0.2, "half": 0.3, "part": 0.5}}
        folder = room.make("a", LAPLACE | levels, root=root)
        return _rewritten(folder, change)

    return attack


def _write(folder, change):
    """Rewrite both public files with changes and matching digests."""
    record, text = json.loads((folder / "record.json").read_text()), (folder / "release.csv").read_text()
    data = (change(record, text) or text).encode()
    record["sha256"] = hashlib.sha256(data).hexdigest()
    for name, raw in (("release.csv", data), ("record.json", json.dumps(record).encode())):
        (folder / name).chmod(0o600)
        (folder / name).write_bytes(raw)


def _rewritten(folder, change):
    _write(folder, change)
    shutil.copytree(folder, folder.parents[2] / "elsewhere")  # without a ledger nearby
    return _opens(folder) or _opens(folder.parents[2] / "elsewhere")


def _opens(folder):
    try:
        published.open_release(folder)
    except (ValueError, OSError):
        return False
    return True


def _copied(root):
    """Rename the release, so that the ledger does not know it."""
    project(root)
    folder = room.make("a", LAPLACE, root=root)
    shutil.copytree(folder, root / "releases/b/1")
    return _opens(root / "releases/b/1")


def _as_written(patch):
    """Apply the check of version 0.2: only the digest stated in the record itself."""
    patch.setattr(published, "parsed", lambda raw, place: json.loads(raw))
    patch.setattr(published, "_named_by_ledger", lambda *_: None)
    patch.setattr(published, "check", lambda *_: None)


RECORDS = Door(
    "a public file changed together with its record",
    {
        "scale": _edited(lambda record, text: record.update(scale=0.02)),
        "scale and cost": _edited(lambda record, text: record.update(
            scale=0.02, cost=record["cost"] | {"epsilon": 100.0})),
        "a scale of nothing": _edited(lambda record, text: record.update(scale=1e-300)),
        "total": _edited(lambda record, text: record.update(total=0.5)),
        "an endless total": _edited(lambda record, text: record.update(total=math.inf)),
        "mechanism": _edited(lambda record, text: record.update(mechanism="none")),
        "neighbours": _edited(lambda record, text: record.update(neighbours="nobody")),
        "a key more": _edited(lambda record, text: record.update(more=1)),
        "a count": _edited(lambda record, text: text.replace("north,", "north,1")),
        "a category twice": _edited(lambda record, text: text.replace("south", "north")),
        "a column more": _edited(lambda record, text: text.replace("\n", ",1\n")),
        "a row less": _edited(lambda record, text: text[: text.index("west")]),
        "a copy under another name": _copied,
        "the scale of a level": _tree(lambda record, text: record["scale"].update(part=0.2)),
        "the scale and cost of a level": _tree(lambda record, text: [
            record["scale"].update(part=0.2), record["cost_of_each"].update(part=5.0)].clear()),
        "scales of two levels exchanged": _tree(lambda record, text: record["scale"].update(
            half=record["scale"]["part"], part=record["scale"]["half"])),
        "a share": _tree(lambda record, text: record["shares"].update(part=0.3, half=0.5)),
        "a level that was not measured": _tree(lambda record, text: record["scale"].pop("part") and None),
        "levels in another order": _tree(lambda record, text: record["levels"].reverse()),
        "a root that is public": _tree(lambda record, text: record.update(total=10)),
        "no levels": _tree(lambda record, text: record.pop("levels") and None),
        "a node below another": _tree(lambda record, text: text.replace("y,right", "y,all")),
        "a node below nobody": _tree(lambda record, text: text.replace("y,right", "y,nobody")),
        "a circle": _tree(lambda record, text: text.replace("left,all", "left,x")),
        "no column parent": _tree(lambda record, text: re.sub(r"(?m)^(\w+),\w*,", r"\1,", text)),
    },
    _as_written,
)  # fmt: skip


# Errors in public settings that are reported too late.


def _late(**settings) -> Attack:
    def attack(root):
        place = project(root)
        (place / "p.csv").write_text("x,y\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(40)))
        before = set(root.rglob("*"))
        get = {k: v for k, v in (LAPLACE | settings).items() if v is not None}
        try:
            room.make("a", get, root=root)
        except (ValueError, OSError, RuntimeError):
            return set(root.rglob("*")) != before
        return True

    return attack


def _bad_line(cost: str) -> Attack:
    def attack(root):
        project(root)
        assert made(root)
        path = root / "releases/ledger.tsv"
        lines = [line.split("\t") for line in path.read_text().split("\n")]
        lines[1][_budget_records.COLUMNS.index("cost")] = cost
        path.write_text("\n".join("\t".join(line) for line in lines))
        try:
            room.make("b", LAPLACE, root=root)
        except ValueError as error:
            return "line 2: cost must be" not in str(error)
        except (RuntimeError, TypeError, KeyError):
            return True
        return True

    return attack


def _unprepared(patch):
    """Apply the checks of version 0.2: neither scales nor the costs in a ledger."""
    patch.setattr(_statistics, "problems", lambda *_: ())

    def of_line(values, place):
        named = dict(zip(_budget_records.COLUMNS, values, strict=True))
        return _budget_records.Entry(generation=int(named.pop("generation")), **named)

    patch.setattr(_budget_records, "of_line", of_line)


_STATISTICS = {"mechanism": "censored_statistics", "data": "confidential/p.csv", "column": "x", "lower": 0, "upper": 30}
LATE = Door(
    "a mistake in public settings reported too late",
    {
        "epsilon": _late(epsilon=1e-300),
        "a little less than can be drawn": _late(epsilon=1.8e-12),
        "sensitivity": _late(epsilon=1e-7, sensitivity=10**6),
        "rho": _late(mechanism="discrete_gaussian", epsilon=None, rho=1e-300),
        "epsilon of additive counts": _late(mechanism="additive_counts", epsilon=1e-300),
        "epsilon of statistics": _late(**_STATISTICS, epsilon=1e-12),
        "limits far from 0": _late(**_STATISTICS | {"lower": 1e9, "upper": 1e9 + 1}, epsilon=1.0),
        **{f"a ledger's cost {cost}": _bad_line(cost) for cost in ("-5", "{}", "no JSON", "[1]")},
        "a ledger's cost below 0": _bad_line('{"epsilon": -5, "relation": "replace a record"}'),
        "a ledger's cost that is no number": _bad_line('{"epsilon": NaN, "relation": "replace a record"}'),
    },
    _unprepared,
)


# Permissions and locations of files.


def _placed(prepare: Callable[[Path], str | None]) -> Attack:
    def attack(root):
        project(root)
        data = prepare(root)
        return made(root, **({"data": data} if data else {}))

    return attack


def _moved(name: str) -> Callable[[Path], str]:
    def prepare(root):
        path = root / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(COUNTS)
        return name

    return prepare


def _denied(patch):
    """Apply the check of version 0.2: three folders and no others."""

    def problems(data, root):
        first = Path(data).parts[0]
        return ["not there"] if first in ("results", "figures", "releases") else []

    patch.setattr(_places, "problems", problems)
    patch.setattr(_places, "folder", lambda root: Path(root).resolve())
    patch.setattr(_places, "own_folder", lambda home: None)


PLACES = Door(
    "permissions and places of the data",
    {
        "a folder for all": _placed(lambda root: (root / "confidential").chmod(0o777)),
        "a folder that others read": _placed(lambda root: (root / "confidential").chmod(0o755)),
        "a folder for a group": _placed(lambda root: (root / "confidential").chmod(0o750)),
        "data that anybody can change": _placed(lambda root: (root / "confidential/c.csv").chmod(0o666)),
        **{name: _placed(_moved(name)) for name in (
            "c.csv", "tests/c.csv", "envs/c.csv", "build/c.csv", "report/c.csv", "public/c.csv", "results/c.csv",
            "confidentially/c.csv", "confidential.csv", "docs/confidential/c.csv", "confidential/../c.csv")},
        "a link out of the folder": _placed(
            lambda root: (_moved("public.csv")(root), (root / "confidential/l.csv").symlink_to(root / "public.csv"))
            and "confidential/l.csv"),
    },
    _denied,
    ["results/c.csv"],
)  # fmt: skip


# Categories that look equal to a reader.


def _alike(how: str) -> Attack:
    def attack(root):
        one, other = SAME[how]
        project(root, f'category,count\n"{one}",5\n"{other}",6\nz,7\n')
        return made(root)

    return attack


LOOKALIKES = Door(
    "one category under two names",
    {name: _alike(name) for name in SAME},
    lambda patch: (
        patch.setattr(_keys, "shown_name", str),
        patch.setattr(_keys, "has_controls", lambda name: False),
    ),
)


# An image of the process's memory on disk.


def _image(root):
    project(root)
    child = os.fork()
    if child == 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
        room.make("a", LAPLACE, root=root)
        os._exit(resource.getrlimit(resource.RLIMIT_CORE)[0] != 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


MEMORY = Door(
    "a memory image of a release",
    {"a core dump": _image},
    lambda patch: patch.setattr(_confidential, "keep_in_memory", lambda: None),
)

DOORS = (*(CONFIGURATION, LEDGER, SECOND, NAMES, RESULTS, GIT, RELATIONS, RECORDS, LATE, PLACES, LOOKALIKES, MEMORY),)
