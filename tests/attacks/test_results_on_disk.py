"""Tests of results that were torn, edited, lost or restored from an older run: verdicts do not change, files do.

The weakened version is the reader of version 0.2, which accepted any file.
"""

import json
import shutil
from pathlib import Path

import pytest

from reproduction import tables, trust
from reproduction.jobs import making
from reproduction.paper import discover
from reproduction.verdicts import agreement
from tests.workflow import running

pytestmark = pytest.mark.thorough

SLUG = "wang2020"
TABLE = f"results/{SLUG}/table_4.csv"
FIGURE = f"figures/{SLUG}/figure_1.png"
VERDICTS = f"results/{SLUG}/agreement.csv"
OURS, OTHER = b"0.039", b"0.029"  # digits of probabilities that the paper prints


@pytest.fixture(scope="module")
def finished(request, tmp_path_factory):
    """Return the results of one paper with verdicts and one figure, from the run of all papers if there is one."""
    folder = running.Folder(tmp_path_factory.mktemp("finished"), run=[SLUG])
    if any("smoke" in item.fixturenames for item in request.session.items):
        _taken(request.getfixturevalue("smoke").path, folder.path)
        assert folder.planned(VERDICTS, FIGURE) == {}
    else:
        folder.snakemake(VERDICTS, FIGURE)
    return folder


def _taken(whole, path):
    """Copy the files of a run of this paper, and Snakemake's metadata."""
    for name in (f"results/{SLUG}", f"figures/{SLUG}", ".snakemake/metadata"):
        shutil.copytree(whole / name, path / name)


@pytest.fixture
def copied(finished, tmp_path):
    shutil.copytree(finished.path, tmp_path / "copy")
    found = running.Folder.__new__(running.Folder)
    found.path, found.source = tmp_path / "copy", finished.source
    return found


def make(folder, *words):
    return running.make(folder.path, "--cores", "2", *words)


def bytes_of(folder):
    """Return every table and figure, without the files of timings."""
    kept = folder.files("results/**/*.csv") | folder.files("figures/**/*.png")
    return {name: raw for name, raw in kept.items() if "benchmarks" not in name and "timings" not in name}


def verdicts(folder, read):
    """Return the verdicts of the paper from the tables in a folder."""
    paper = discover()[SLUG]
    made = {Path(path).stem: read(folder.path / path) for path in paper.tables()}
    ours = making.find(f"{SLUG}.agreement.ours")(made)
    return agreement.compare(agreement.read_published(paper.folder / "published.tsv"), ours, paper=SLUG)["verdict"]


DAMAGES = {
    "cut to 200 bytes": lambda path: path.write_bytes(path.read_bytes()[:200]),
    "cut to one row": lambda path: path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2])),
    "edited": lambda path: path.write_bytes(path.read_bytes().replace(OURS, OTHER)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_double_that_reads_what_lies_there_moves_verdicts(finished, copied, damage):
    before = verdicts(finished, tables.read)
    DAMAGES[damage](copied.path / TABLE)
    try:
        assert (verdicts(copied, tables.read) != before).any()
    except (ValueError, KeyError, IndexError) as error:  # a row that is gone may stop it, which is no verdict either
        assert "table_4" not in str(error)  # noqa: PT017


def beside(path):
    return path.with_suffix(".provenance.json")


def older_pair(path):
    """Return a table and its provenance, which agree, of a run with another seed."""
    path.write_bytes(path.read_bytes().replace(b"0.", b"1."))
    stated = json.loads(beside(path).read_text())
    stated["files_sha256"][path.name] = trust.provenance.sha256(path)
    beside(path).write_text(json.dumps(stated | {"params_sha256": "0" * 64}))


OF_PROVENANCE = {
    "lost": lambda path: beside(path).unlink(),
    "torn": lambda path: beside(path).write_bytes(beside(path).read_bytes()[:100]),
    "of another file": lambda path: shutil.copyfile(beside(path.with_name("table_1.csv")), beside(path)),
    "without digests": lambda path: beside(path).write_text(
        json.dumps({k: v for k, v in json.loads(beside(path).read_text()).items() if k != "files_sha256"})
    ),
}


@pytest.mark.parametrize("damage", [*DAMAGES, *OF_PROVENANCE])
def test_a_reader_stops_with_the_name_and_what_makes_it_again(copied, damage):
    path = copied.path / TABLE
    (DAMAGES | OF_PROVENANCE)[damage](path)
    with pytest.raises(trust.Damaged, match="table_4") as told:
        verdicts(copied, trust.table)
    assert f"snakemake --cores 1 --force {path}" in str(told.value)


def test_a_bare_run_stops_before_any_verdict(copied):
    DAMAGES["edited"](copied.path / TABLE)
    said = copied.snakemake("--force", VERDICTS, good=False)
    assert f"{TABLE} does not match its provenance" in said
    assert not (copied.path / VERDICTS).exists()


def test_make_makes_all_of_it_again(finished, copied):
    """Damage different files in all ways; the same bytes are restored, and a further run has nothing to do."""
    names = ("table_1", "table_2", "table_4", "table_3", "table_5", "windows", "many_zeros", "privacy")
    kinds = [*DAMAGES.values(), *OF_PROVENANCE.values(), older_pair]
    paths = [copied.path / f"results/{SLUG}/{name}.csv" for name in names]
    for path, damaged in zip(paths, kinds, strict=True):
        damaged(path)
    figure = copied.path / FIGURE
    figure.write_bytes(figure.read_bytes()[:300])
    targets = [str(path.relative_to(copied.path)) for path in paths]
    code, said = make(copied, "--dry-run", *targets, FIGURE, VERDICTS)
    assert said.count("would be removed and regenerated") == len(kinds) + 1, said
    code, said = make(copied, *targets, FIGURE, VERDICTS)
    assert code == 0, said
    assert bytes_of(copied) == bytes_of(finished)
    assert list(trust.untrusted(copied.path)) == []
    assert (verdicts(copied, trust.table) == verdicts(finished, trust.table)).all()
    assert "made again" not in make(copied, "--dry-run", *targets, FIGURE, VERDICTS)[1]


def test_a_torn_piece_of_a_long_loop_reaches_no_table(finished, copied):
    piece = copied.path / f"results/{SLUG}/simulated/calibration_1_of_1.csv"
    piece.write_bytes(piece.read_bytes()[:-40])
    with pytest.raises(trust.Damaged, match="calibration_1_of_1"):
        trust.table(piece)
    target = f"results/{SLUG}/calibration.csv"
    (copied.path / target).unlink()
    said = copied.snakemake(target, good=False)
    assert f"{piece.name} does not match its provenance" in said
    code, said = make(copied, target, FIGURE, VERDICTS)  # all tables of the damaged piece were removed with it
    assert code == 0, said
    assert bytes_of(copied) == bytes_of(finished)


def test_what_was_made_is_read_by_every_reader_as_it_is(finished):
    assert list(trust.untrusted(finished.path)) == []
    for path in finished.path.glob("results/*/*.csv"):
        assert len(trust.table(path)) == len(tables.read(path))
