"""Tests of other paths into the confidential folder: no reader of public files opens one, for any name or key.

The weakened version is inference with a file whose path is not checked: exact counts and an unkeyed hash of the file
would be in the results.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpmultinomial._files import places
from dpmultinomial._measurement_files import reading
from reproduction import paper, provenance
from reproduction.config import checks, config, user_files
from reproduction.scenarios.noisy_counts import answer
from tests.measured_files import put
from tests.workflow.running import ROOT, Folder, environment

pytestmark = pytest.mark.thorough

SECRET = 81_237
COUNTS = f"component,count\nnorth,{SECRET}\nsouth,4\nwest,5\n"
TABLES = f"table,category,noisy_count,total,released,row,column,count\na,north,{SECRET},{SECRET + 4},{SECRET},x,y,1\n"
LAW = f"true,released,probability\n0,{SECRET},1\n"
NOISY = {"kind": "noisy_counts"}
RECORDS = "colour,size,class\n" + "red,1.5,a\nblue,2.5,b\ngreen,3.5,a\n" * 5


def furnish(root):
    """Write confidential files and every kind of second name for them."""
    place = root / "confidential"
    place.mkdir(mode=0o700)
    (place / "Adult").mkdir()
    for name, text in {
        "c.csv": COUNTS,
        "t.csv": TABLES,
        "r.csv": RECORDS,
        "n.csv": f"name,value\nnorth,{SECRET}\nsouth,4\n",
        "b.csv": f"table,name,value\na,north,{SECRET}\na,south,4\n",
        "l.csv": LAW,
        "Adult/adult.data": "39, State-gov\n",
    }.items():
        (place / name).write_text(text)
    for name in ("c.csv", "t.csv", "r.csv", "n.csv", "b.csv", "l.csv"):
        (root / f"soft_{name}").symlink_to(place / name)
        os.link(place / name, root / f"hard_{name}")
    (root / "linked").symlink_to(place)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a working directory with these files."""
    monkeypatch.chdir(tmp_path)
    furnish(tmp_path)
    return tmp_path


NAMES = ("confidential/{}", "soft_{}", "hard_{}", "linked/{}", "./confidential/../confidential/{}")
KEYS = {
    "scenarios.a.file": (
        "n.csv", lambda f: {"scenarios": {"a": {"kind": "additive_counts", "file": f, "epsilon": 1.0}}}
    ),
    "scenarios.a.rehearsal.csv": (
        "r.csv",
        lambda f: {"scenarios": {"a": {"kind": "classifier", "rehearsal": {"csv": f, "target": "class"}}}},
    ),
    "scenarios.x.file": (
        "b.csv", lambda f: {"scenarios": {"x": {"kind": "noisy_counts", "file": f, "epsilon": 1.0}}}
    ),
    "scenarios.y.file": ("t.csv", lambda f: {"scenarios": {"y": {"kind": "swapped_table", "file": f, "rate": 0.1}}}),
    "scenarios.n.file": ("n.csv", lambda f: {"scenarios": {"n": NOISY | {"file": f, "epsilon": 1.0}}}),
    "scenarios.b.file": ("b.csv", lambda f: {"scenarios": {"b": NOISY | {"file": f, "epsilon": 1.0}}}),
    "scenarios.l.noise.file": (
        "l.csv",
        lambda f: {"scenarios": {"l": NOISY | {"counts": [SECRET] * 2, "noise": {"law": "table", "file": f}}}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", NAMES)
def test_no_key_of_a_configuration_opens_a_confidential_file(home, monkeypatch, key, name):
    """Check the rejection by the configuration, and by the rules and readers of the paper without this check."""
    base, settings = KEYS[key]
    papers = paper.discover()
    with pytest.raises(config.ConfigError, match="confidential") as told:
        checks.checked(settings(name.format(base)), papers)
    assert key in str(told.value)
    assert str(SECRET) not in str(told.value)
    monkeypatch.setattr(user_files, "mistakes", lambda settings: ())
    asked = settings(name.format(base))

    def opened():
        if key == "scenarios.l.noise.file":  # by the job alone
            answer.noise_of(asked["scenarios"]["l"], None, asked["scenarios"]["l"]["noise"])
        checks.checked(asked, papers)

    with pytest.raises(ValueError, match="confidential") as told:
        opened()
    assert str(SECRET) not in str(told.value)


@pytest.mark.parametrize("name", ["confidential/rel", "linked/rel", "soft", "./confidential/../confidential/rel"])
def test_no_scenario_takes_a_release_from_the_confidential_folder(home, monkeypatch, name):
    """Check that Snakemake does not store a checksum of such a file."""
    folder = home / "confidential/rel"
    folder.mkdir()
    (folder / "record.json").write_text(json.dumps({"mechanism": "discrete_laplace", "scale": SECRET}))
    (folder / "release.csv").write_text(COUNTS)
    (home / "soft").symlink_to(folder)
    settings = {"scenarios": {"a": {"release": name}}}
    with pytest.raises(config.ConfigError, match=r"scenarios\.a\.release: .* is confidential"):
        checks.checked(settings, paper.discover())
    monkeypatch.setattr(user_files, "mistakes", lambda settings: ())
    with pytest.raises(config.ConfigError, match=r"scenarios\.a\.release: .* is neither a release") as told:
        checks.checked(settings, paper.discover())
    assert str(SECRET) not in str(told.value)


@pytest.mark.parametrize("folder", ["confidential", "linked", "{home}/confidential"])
def test_no_folder_of_a_configuration_is_the_confidential_one(home, folder):
    settings = {"ponnoprat2022": {"data": {"folders": [folder.format(home=home)]}}}
    with pytest.raises(config.ConfigError, match=r"ponnoprat2022\.data\.folders\[0\]: .*confidential"):
        checks.checked(settings, paper.discover())


LINKS = ("part", "hard link", "state", "product", "constraint")


def measured(root, way):
    """Return a measurement folder in which a part, a state's or a product's folder leads to a confidential one."""
    if way == "constraint":
        part = put(root / "nmf", "County", [("050007", "total_con", {}, [SECRET], "=")], kind="Constraint")
    else:
        part = put(root / "nmf", "County", [("050007", "total_dpq", {}, [SECRET], 4.0)])
    moved = {"state": part.parent, "product": root / "nmf/US_Person_PL_PROD"}.get(way, part)
    target = root / "confidential" / moved.name
    shutil.move(moved, target)
    if way == "hard link":
        os.link(target, moved)
    else:
        moved.symlink_to(target)
    return root / "nmf"


@pytest.mark.parametrize("way", LINKS)
def test_no_link_among_measurement_files_leads_to_a_confidential_one(home, way):
    """Check a public folder with confidential parts: rejected before a job, and by the readers."""
    folder = measured(home, way)
    stated = {"kind": "noisy_measurements", "folder": str(folder), "state": "VT"}
    with pytest.raises(config.ConfigError, match=r"scenarios\.m\.folder: .*is confidential") as told:
        checks.checked({"scenarios": {"m": stated}}, paper.discover())
    assert str(SECRET) not in str(told.value)
    with pytest.raises(ValueError, match="is confidential"):
        reading.read(folder, product="pl94", table="person", state="VT")


def test_files_that_are_tried_for_known_sets_are_not_opened(home, monkeypatch):
    """Check that an error about a wrong SHA-256 does not show the SHA-256 of the file."""
    from reproduction.papers.ponnoprat2022 import catalogue, datasets

    (home / "confidential/adult.data").write_text("39, State-gov\n")
    source = catalogue.SOURCES["Adult"]
    with pytest.raises(ValueError, match="is confidential") as told:
        datasets.obtain(source, folders=["confidential"], download=False)
    assert "SHA-256" not in str(told.value)


def test_many_paths_of_a_configuration_are_checked_with_one_listing(home, monkeypatch):
    """Check that 1,000 spellings of a path are quick in a large folder, and that one confidential path is found."""
    listings = []
    original = places._inodes
    monkeypatch.setattr(places, "_inodes", lambda place: listings.append(place) or original(place))
    Path("public.csv").write_text("x\n1\n")
    Path("linked.csv").hardlink_to(next(path for path in Path("confidential").rglob("*") if path.is_file()))
    paths = [f"{'./' * i}public.csv" for i in range(1000)]
    settings = {"scenarios": {"s": {"among": [*paths, "linked.csv"]}}}
    found = [place for place, _ in user_files.mistakes(settings)]
    assert found == ["scenarios.s.among[1000]"]
    assert len(listings) == 1


def test_a_text_that_is_no_path_stays_a_text(home):
    mine = {"kind": "noisy_counts", "counts": [1.0, 2.0], "total": 3, "epsilon": 1.0}
    settings = {"scenarios": {"a": mine | {"names": ["confidential", "public"]}}}  # a folder of that name is there
    assert checks.checked(settings, paper.discover())["scenarios"]["a"]["total"] == 3
    assert user_files.refusal("a\0b") is None
    assert user_files.refusal("x" * 10**5) is None


def test_the_double_that_asks_nobody_publishes_the_counts_and_their_hash(home, monkeypatch):
    """Check what version 0.2 did with the same configuration."""
    from reproduction.config import table_files

    monkeypatch.setattr(places, "is_confidential", lambda path, known=None: False)
    settings = KEYS["scenarios.a.file"][1]("confidential/n.csv")
    checks.checked(settings, paper.discover())
    assert str(SECRET) in table_files.texts("confidential/n.csv", {"value": "number"})["value"]
    stated = provenance.short(function="f", inputs=[home / "confidential/c.csv"])["inputs_sha256"]["c.csv"]
    assert stated == hashlib.sha256(COUNTS.encode()).hexdigest()


def test_through_the_workflow_nothing_runs_and_nothing_is_kept(tmp_path):
    folder = Folder(tmp_path, run=["wang2020"])
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential/c.csv").write_text(COUNTS)
    overlay = tmp_path / "mine.json"
    scenario = {"kind": "additive_counts", "file": "confidential/c.csv", "epsilon": 1.0}
    overlay.write_text(json.dumps({"scenarios": {"a": scenario}}))
    for command in (
        folder.command("results/scenarios/a.csv", "--configfile", str(overlay)),
        [sys.executable, "-m", "reproduction.run", "-s", str(ROOT / "Snakefile"), "--cores", "1",
         "results/scenarios/a.csv", "--configfile", str(overlay)],
    ):  # fmt: skip
        run = subprocess.run(
            command, cwd=tmp_path, env=environment(PYTHONPATH=str(ROOT / "src")), capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert run.returncode == 1
        assert "is confidential" in run.stdout + run.stderr
        assert "Traceback" not in run.stdout + run.stderr
    digest = hashlib.sha256(COUNTS.encode()).hexdigest()
    for path in tmp_path.rglob("*"):
        if path.is_file() and "confidential" not in path.parts:
            raw = path.read_bytes()
            assert str(SECRET).encode() not in raw, path
            assert digest.encode() not in raw, path
    assert not (tmp_path / "results").exists()


def test_a_confidential_file_is_no_configuration_whose_lines_an_error_shows(tmp_path):
    (tmp_path / "config.yaml").write_text("run: [wang2020]\n")
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential/c.csv").write_text(f'category,count\n"north,{SECRET}\n')
    words = ["-m", "reproduction.run", "-s", str(ROOT / "Snakefile"), "--configfile", "confidential/c.csv"]
    run = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, env=environment(PYTHONPATH=str(ROOT / "src")),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    assert "is confidential" in run.stderr
    assert str(SECRET) not in run.stdout + run.stderr
