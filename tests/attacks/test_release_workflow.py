"""Tests of a release in the workflow: once, by one command, and without confidential content in the files of a run."""

import base64
import json
import re
import stat

import pytest

from tests.workflow.running import Folder

pytestmark = pytest.mark.thorough

CANARY = 7_310_246_589  # a count that stands nowhere else, in any base or format that a file might hold it in
OTHER = 4_120_967_338
RELEASE = {"data": "confidential/county.csv", "mechanism": "discrete_laplace", "epsilon": 1.0, "source": "survey"}
NAMES = ("north", "<b>east</b>", "</script><script>window.broken=1</script>")


def confidential(folder, counts=(CANARY, OTHER, 12)):
    place = folder.path / "confidential"
    place.mkdir(exist_ok=True, mode=0o700)
    rows = "".join(f'"{name}",{count}\n' for name, count in zip(NAMES, counts, strict=True))
    (place / "county.csv").write_text("category,count\n" + rows)


def shown(number):
    """Return every form in which an integer may be written into a file."""
    text = str(number)
    words = {text, f"{number:,}", f"{number}.0", f"{number:x}", f"{float(number):.6g}", f"{number:e}"[:9]}
    raw = {word.encode() for word in words} | {word.encode("utf-16-le") for word in words}
    raw |= {base64.b64encode(f"{pad}{text}".encode())[4:-4] for pad in ("", " ", "  ")}
    return raw | {number.to_bytes(8, "little"), number.to_bytes(8, "big")}


def leaks(folder, numbers):
    """Return the files outside ``confidential/`` that contain a number."""
    wanted = set().union(*map(shown, numbers))
    files = [p for p in folder.path.rglob("*") if p.is_file() and "confidential" not in p.parts]
    assert len(files) >= 3
    return [str(p) for p in files if any(word in p.read_bytes() for word in wanted)]


def released(folder, name):
    lines = (folder.path / f"releases/{name}/1/release.csv").read_text().splitlines()[1:]
    return [int(line.rpartition(",")[2]) for line in lines]


@pytest.fixture
def county(tmp_path):
    folder = Folder(tmp_path, run=["balmat2018"], releases={"county": RELEASE}, budgets={"survey": {"epsilon": 1.5}})
    confidential(folder)
    return folder


def test_one_command_makes_a_release_once_and_leaks_nothing(county):
    output = county.snakemake("release_county", cores=1)
    made = county.path / "releases/county/1"
    assert "release county: releases/county/1" in output
    assert stat.S_IMODE((made / "release.csv").stat().st_mode) == 0o444
    first = (made / "release.csv").read_bytes()
    county.snakemake("release_county", cores=1)
    assert (made / "release.csv").read_bytes() == first
    record = json.loads((made / "record.json").read_text())
    assert record["cost"] == {"relation": "replace a record", "epsilon": 1.0}
    published = released(county, "county")
    assert leaks(county, [n for n in (CANARY, OTHER) if n not in published]) == []
    assert b"confidential" not in b"".join(county.files("releases/**/*").values())


def test_two_releases_of_one_source_do_not_undo_each_other(county):
    """Check that with repeatable noise, scale 2 and scale 1 of the same stream give the truth as 2a - b."""
    both = {"county": RELEASE, "again": {**RELEASE, "epsilon": 0.5}}
    overlay = county.path / "both.json"
    overlay.write_text(json.dumps({"releases": both}))
    county.snakemake("release_county", "release_again", "--configfile", str(overlay), cores=1)
    a, b = (released(county, name) for name in ("county", "again"))
    truth = [CANARY, OTHER, 12]
    assert [a, b] != [truth, truth]  # by chance once in 35,000 runs: noise of scales 2 and 4 is 0 in 24 and 12 % of all
    assert [2 * x - y for x, y in zip(a, b, strict=True)] != truth  # once in 3,500


def test_changed_data_or_settings_under_one_generation_are_refused(county):
    county.snakemake("release_county", cores=1)
    confidential(county, counts=(CANARY + 1, OTHER, 12))
    output = county.snakemake("release_county", cores=1, good=False)
    assert "set generation to 2" in output
    assert leaks(county, [n for n in (CANARY + 1,) if n not in released(county, "county")]) == []
    overlay = county.path / "more.json"
    overlay.write_text(json.dumps({"releases": {"county": {"generation": 2}}}))
    output = county.snakemake("release_county", "--configfile", str(overlay), cores=1, good=False)
    assert re.search(r"survey.*(1\.5|budget|ceiling)", output), output  # 2 x 1.0 is beyond the ceiling of 1.5


def test_mistakes_stop_before_any_job_and_before_any_file_is_opened(county):
    overlay = county.path / "wrong.json"
    wrong = {"data": "results/county.csv", "mechanism": "discrete_laplace", "epsilon": 100.0, "sensitivity": 1}
    overlay.write_text(json.dumps({"releases": {"county": {"epsilno": 1}, "loud": wrong}}))
    output = county.snakemake("release_county", "--configfile", str(overlay), cores=1, good=False)
    for part in ("releases.county.epsilno", "releases.loud.sensitivity", "nothing was run"):
        assert part in output, output
    assert "Traceback" not in output
    assert not (county.path / "releases").exists()


def test_a_job_that_fails_says_where_and_shows_no_value(county):
    (county.path / "confidential/county.csv").write_text(f"category,count\nnorth,{CANARY}\neast,{OTHER}x\n")
    output = county.snakemake("release_county", cores=1, good=False)
    assert "line 3" in output
    assert str(OTHER) not in output
    assert str(CANARY) not in output
    assert leaks(county, [CANARY, OTHER]) == []
    assert not (county.path / "releases/county").exists()


def test_a_plain_run_makes_no_release_and_says_which_command_does(county):
    overlay = county.path / "scenario.json"
    overlay.write_text(json.dumps({"scenarios": {"county": {"release": "county"}}}))
    target = "results/scenarios/county.csv"
    output = county.snakemake(target, "--configfile", str(overlay), cores=1, good=False)
    assert "snakemake --cores 1 release_county" in output
    assert not (county.path / "releases").exists()


def test_from_a_release_to_its_posterior_and_report_nothing_confidential_appears(county):
    confidential(county, counts=(812, 390, 77))
    overlay = county.path / "scenario.json"
    overlay.write_text(json.dumps({"scenarios": {"county": {"release": "county"}}}))
    county.snakemake("release_county", cores=1)
    targets = ("results/scenarios/county.csv", "figures/scenarios/county.png")
    county.snakemake(*targets, "--configfile", str(overlay), cores=1)
    assert (county.path / targets[0]).stat().st_size > 100
    report = county.path / "report.html"
    county.snakemake(*targets, "--configfile", str(overlay), "--report", str(report))
    text = report.read_text()
    assert "window.broken=1</script>" not in text


def test_names_of_categories_in_the_configuration_cannot_end_a_script_of_the_report(county):
    numbers = {"kind": "noisy_counts", "counts": [3.0, 4.0, 5.0], "total": 12, "epsilon": 1.0, "names": list(NAMES)}
    overlay = county.path / "names.json"
    overlay.write_text(json.dumps({"scenarios": {"named": numbers}}))
    target = "results/scenarios/named.csv"
    county.snakemake(target, "--configfile", str(overlay), cores=1)
    report = county.path / "report.html"
    county.snakemake(target, "--configfile", str(overlay), "--report", str(report))
    assert NAMES[2] not in report.read_text()
