"""Tests of the archive of a whole run, unpacked in another folder: verified, falsified, and used to redraw a figure."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from reproduction import provenance, tables, trust
from reproduction.archive import crate, verifying
from reproduction.jobs import making
from reproduction.verdicts import agreement

from .running import ROOT, snakemake

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout: an archive holds what git knows"),
]

FIGURE = "figures/wang2020/calibration"


@pytest.fixture(scope="module")
def unpacked(smoke, tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    subprocess.run(
        [sys.executable, "-m", "reproduction.archive", str(folder / "a.tar")], cwd=smoke.path, check=True, timeout=300
    )
    subprocess.run(["tar", "-xf", "a.tar"], cwd=folder, check=True)
    return next(path for path in folder.iterdir() if path.is_dir())


def test_its_agreement_follows_from_its_tables(unpacked):
    assert "follows from the tables" in verifying.verified(unpacked)


def test_a_table_changed_with_all_its_checksums_no_longer_gives_the_agreement(unpacked, tmp_path):
    """Check a changed file whose provenance and digests were all adjusted."""
    other = shutil.copytree(unpacked, tmp_path / "other")
    _falsify(other, other / "results/wang2020/table_3.csv")
    with pytest.raises(verifying.Differs, match=r"results/wang2020/agreement\.csv does not follow from the tables"):
        verifying.verified(other)


def test_a_table_changed_together_with_the_agreement_does_not_follow_from_the_sources(unpacked, tmp_path, monkeypatch):
    """Check a sender who also computes the agreement tables of all papers from the changed table."""
    other = shutil.copytree(unpacked, tmp_path / "other")
    place = other / "results/wang2020"
    _falsify(other, place / "table_3.csv")
    record = json.loads((place / f"agreement{provenance.SUFFIX}").read_text())
    record[provenance.INPUTS]["table_3.csv"] = provenance.sha256(place / "table_3.csv")
    ours = making.find("wang2020.agreement.ours")(
        {Path(name).stem: trust.table(place / name) for name in record[provenance.INPUTS]}
    )
    published = agreement.read_published(other / "src/reproduction/papers/wang2020/published.tsv")
    tables.write(agreement.compare(published, ours, paper="wang2020"), place / "agreement.csv")
    tables.write(agreement.variants(published, ours), place / "agreement_tables.csv")
    provenance.write(record, place / "agreement.csv", place / "agreement_tables.csv")
    whole = other / "results/agreement.tsv"
    papers = dict.fromkeys(trust.table(whole)["paper"])
    parts = [tables.read(other / f"results/{slug}/agreement.csv") for slug in papers]
    tables.write(pd.concat(parts, ignore_index=True), whole)
    record = json.loads(whole.with_suffix(provenance.SUFFIX).read_text())
    provenance.write(record, whole)
    _sealed(other)
    assert [*verifying._agreement(other, "wang2020"), *verifying._together(other, sorted(papers))] == []
    for part in ("_described", "_summarised"):  # the sender adjusts the description and the summary too
        monkeypatch.setattr(verifying, part, lambda *arguments: iter(()))
    with pytest.raises(verifying.Differs) as error:
        verifying.verified(other)
    name = "results/wang2020/table_3.csv"
    assert str(error.value) == f"{name} does not follow from the sources and the configuration of the archive"


def _falsify(folder, path):
    """Increase every number of a table by one percent, and adjust its provenance and SHA256SUMS."""
    table = pd.read_csv(path)
    numbers = table.select_dtypes("float").columns
    table[numbers] *= 1.01
    table.to_csv(path, index=False)
    beside = path.with_suffix(provenance.SUFFIX)
    record = json.loads(beside.read_text())
    record["files_sha256"][path.name] = provenance.sha256(path)
    record[provenance.OWN] = provenance.own_digest(record)
    beside.write_text(json.dumps(record))
    _sealed(folder)


def _sealed(folder):
    sums = folder / crate.SUMS
    names = [line.partition("  ")[2] for line in sums.read_text().splitlines()]
    sums.write_text("".join(f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names))


def test_a_figure_is_made_again_from_nothing_but_the_archive(unpacked, tmp_path):
    source = shutil.copytree(unpacked, tmp_path / "source")
    for path in (ROOT / "src").rglob("*.so"):
        shutil.copyfile(path, source / path.relative_to(ROOT))
    empty = tmp_path / "empty"
    empty.mkdir()
    shutil.copyfile(unpacked / "results/config.effective.yaml", empty / "config.yaml")
    where = ["--snakefile", str(source / "Snakefile"), "--directory", str(empty), "--cores", "2"]
    snakemake([f"{FIGURE}.png", *where], PYTHONPATH=str(source / "src"))
    for end in ("png", "pdf"):
        name = f"{FIGURE}.{end}"
        assert (empty / name).read_bytes() == (unpacked / name).read_bytes(), name
    assert Path(empty, "results/wang2020/calibration.csv").is_file()
