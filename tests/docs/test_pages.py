"""Tests of what pages of the documentation state: commands and R code are run, scenarios are answered, numbers are
checked against enumerations and against the studies at their full size, and every line of the table "the agency, you
write" of docs/how-to/scenario.md runs on a file of such an agency.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import dpmultinomial as dpm
from dpmultinomial._measurement_files import products
from dpmultinomial._measurement_files.places import COLUMNS
from reproduction import command, kind, studies, synthetic_census
from reproduction.config import scenario_settings
from reproduction.scenarios import making
from reproduction.scenarios.noisy_measurements import example

PAGE = Path(__file__).parents[2] / "docs/how-to/questions.md"
N = np.arange(120)


def law(released, sigma=5.0):
    """Return the posterior for the prior 1/(1 + n) and discrete Gaussian noise, whose constant cancels."""
    weights = np.exp(-((released - N) ** 2) / (2 * sigma**2)) / (1 + N)
    return weights / weights.sum()


def shown(name):
    """Return the numbers of the row that begins with this name."""
    (row,) = re.findall(rf"^ *{re.escape(name)} +(\S.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [float(part) for part in row.split()[:3]]


def interval(p):
    """Return the central 95 % interval, with at most 2.5 % beyond each end."""
    values, below = np.arange(len(p)), np.cumsum(p)
    return [float(values[np.argmax(below >= 0.025)]), float(values[np.argmax(below >= 0.975)])]


@pytest.fixture(scope="module")
def counts():
    return {"essex/men": law(31), "essex/women": law(22), "orange/men": law(9), "orange/women": law(14)}


def test_the_five_tasks_equal_enumeration(counts):
    sums = {
        "men in essex": counts["essex/men"],
        "men in orange": counts["orange/men"],
        "men in both": np.convolve(counts["essex/men"], counts["orange/men"]),
    }
    for name, p in sums.items():
        mean, *ends = shown(name)
        assert mean == pytest.approx(np.arange(len(p)) @ p, abs=0.0051)
        assert ends == interval(p)
    for county in ("essex", "orange"):
        joint = np.outer(counts[f"{county}/men"], counts[f"{county}/women"])
        assert shown(f"more men in {county}")[0] == pytest.approx(np.tril(joint, -1).sum(), abs=0.0051)


def test_the_ranks_equal_enumeration(counts):
    names, rng_free = list(counts), np.stack(list(counts.values()))
    above = {(i, j): rng_free[j][::-1].cumsum()[::-1] - rng_free[j] for i in range(4) for j in range(4) if i != j}
    for i, name in enumerate(names[:2]):
        others = [above[i, j] for j in range(4) if j != i]  # P(other > n)
        mean = 1 + sum(counts[name] @ chance for chance in others)
        none = np.prod([1 - chance for chance in others], axis=0)
        one = sum(chance * np.prod([1 - o for o in others if o is not chance], axis=0) for chance in others)
        assert shown(f"largest: {name}")[0] == pytest.approx(mean, abs=6e-4)
        assert shown(f"largest: P({name} in top 2)")[0] == pytest.approx(counts[name] @ (none + one), abs=6e-4)


def test_a_flat_prior_is_shown_where_it_says_otherwise():
    flat = np.exp(-((9 - N) ** 2) / 50)
    mean, other, *_ = [*shown("orange/men"), None]
    assert mean == pytest.approx(N @ law(9), abs=0.0051)
    assert other == pytest.approx(N @ flat / flat.sum(), abs=0.0051)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_five_tasks_in_yaml_run_and_equal_enumeration(counts, tmp_path, monkeypatch):
    """Check answers of at most eight lines each, with the numbers in full precision."""
    monkeypatch.chdir(tmp_path)
    (listed,) = blocks("text")
    (tmp_path / "census.csv").write_text(listed)
    found = {}
    for text in blocks("yaml"):
        assert len(text.strip().splitlines()) <= 8
        ((name, written),) = yaml.safe_load(text)["scenarios"].items()
        files = making.files(name)
        making.part(scenario_settings.single(name, written, kind.discover()), files, root_seed=1)
        rows = pd.read_csv(files.csv).set_index("quantity")
        assert (rows["status"] == "exact").all()
        assert rows.index[:4].tolist() == list(counts)
        found |= {name: rows}
    assert list(found) == ["essex", "orange", "majority", "elsewhere", "both"]
    both = np.convolve(counts["essex/men"], counts["orange/men"])
    sums = {"essex": ("essex/men", counts["essex/men"]), "orange": ("men in orange", counts["orange/men"])}
    for name, (label, p) in (sums | {"both": ("men in both", both)}).items():
        row = found[name].loc[label]
        assert row["mean"] == pytest.approx(np.arange(len(p)) @ p, rel=1e-9)
        assert [row["lower"], row["upper"]] == interval(p)
    for name, county in (("majority", "essex"), ("elsewhere", "orange")):
        joint = np.outer(counts[f"{county}/men"], counts[f"{county}/women"])
        chance = found[name].loc[f"more men in {county}", "mean"]
        assert chance == pytest.approx(np.tril(joint, -1).sum(), rel=1e-9)
        assert chance < 0.95


DOCS = Path(__file__).parents[2] / "docs"
MEASUREMENTS = (DOCS / "how-to/noisy-measurements.md").read_text(encoding="utf-8")
METHODS = (DOCS / "methods/noisy-measurements.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return the folder that the first command of the page makes."""
    folder = tmp_path_factory.mktemp("home")
    first = next(line for line in MEASUREMENTS.splitlines() if line.startswith("python -m "))
    words = shlex.split(first)
    assert words[2] == example.__name__
    example.main([str(folder / words[3])])
    return folder


def test_the_second_command_answers_tracts_and_the_question(home, monkeypatch, capsys):
    monkeypatch.chdir(home)
    line = next(line for line in MEASUREMENTS.splitlines() if line.startswith("dpm answer nmf"))
    command.main(shlex.split(line)[1:])
    said = capsys.readouterr().out
    assert "hispanic in tract 50001" in said
    assert "SYNTHETIC" in said
    rows = pd.read_csv("results/scenarios/nmf.csv", dtype={"geoid": str})
    assert rows["level"].value_counts().to_dict() == {"Tract": 20, "County": 4}
    assert 0 <= rows["mean"].iloc[-1] <= 1
    table = [
        name
        for row in re.findall(r"^\| (`.*?`) \|", MEASUREMENTS, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    ]
    assert set(COLUMNS) <= set(table)


def test_the_scenario_of_the_page_is_answered(home, monkeypatch):
    monkeypatch.chdir(home)
    (block,) = re.findall(r"```yaml\n(.*?)```", MEASUREMENTS, re.DOTALL)
    ((name, written),) = yaml.safe_load(block)["scenarios"].items()
    files = making.files(name, home)
    making.part(scenario_settings.single(name, written, kind.discover()), files, root_seed=1)
    assert pd.read_csv(files.csv)["quantity"].tolist()[-2:] == ["larger", "both"]


def test_cells_that_are_shown_are_cells():
    people, dhc = products.PRODUCTS["pl94", "person"], products.PRODUCTS["dhc", "person"]
    assert products.masks(people, {"hhgq": "institutional"})[0].sum() == 4
    assert products.masks(people, {"cenrace": "asian in combination"})[3].sum() == 32
    assert products.masks(dhc, {"age": "65+"})[2].sum() == 51
    for text in ("{hhgq: institutional}", "{cenrace: asian in combination}", "{age: 65+}"):
        assert text in MEASUREMENTS


def test_published_numbers_are_those_of_the_code():
    levels = ("State", "County", "Tract", "Block_Group", "Block")
    sds = [float(synthetic_census.variances("pl94", "person", level)["total"]) ** 0.5 for level in levels]
    for sd in (f"{sds[0]:.2f}", f"{sds[1]:.2f}", f"{sds[2]:.2f}", f"{sds[3]:.2f}", f"{sds[4]:.1f}"):
        assert sd in METHODS
    for table, fraction in (("person", "339/542"), ("unit", "12343/3379")):
        scale = synthetic_census.GLOBAL["pl94", table]
        assert f"{scale.numerator}/{scale.denominator}" == fraction
        assert fraction in METHODS
        assert f"{float(1 / scale**2):.2f} for {table}s" in METHODS


R_PAGE = Path(__file__).parents[2] / "docs/how-to/r.md"


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs Rscript")
def test_the_code_in_r_runs(tmp_path):
    code = "\n".join(re.findall(r"```r\n(.*?)```", R_PAGE.read_text(encoding="utf-8"), re.DOTALL))
    (tmp_path / "page.R").write_text(code, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(["Rscript", "page.R"], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True,
                         text=True, check=False)  # fmt: skip
    assert run.returncode == 0, run.stderr
    data = pd.read_csv(tmp_path / "counties.csv")
    release = dpm.Release(
        dict(zip(data["name"], data["value"], strict=True)), mechanism=dpm.DiscreteGaussian(sigma=2.0)
    )
    prior = dpm.Regression((data["births"] / 1000).tolist(), {"x": data["x"].tolist()})
    rates = dpm.posterior(release, prior=prior).rates.mean().sort_values(ascending=False)
    first = re.search(r"quantity +released.*\n *\d+ +(county \d+)", run.stdout)[1]
    assert first == rates.index[0]
    assert "slope of x" in run.stdout
    json_is_read = subprocess.run(["Rscript", "-e", "library(jsonlite)"], capture_output=True, check=False)
    assert ("The true count of" in run.stdout) == (json_is_read.returncode == 0)
    assert "'county 3' > 'county 4'" in run.stdout


ROOT = Path(__file__).parents[2]


@pytest.mark.site  # studies at their full size
@pytest.mark.parametrize(
    ("name", "shown"),
    [("coverage", "coverage.tsv"), ("rate_coverage", "rate_coverage.tsv"), ("confidence", "confidence.tsv")],
)
def test_the_table_of_the_documentation_is_the_studys(name, shown):
    study = studies.discover()[name]
    seed = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))["root_seed"]
    found = study.function("shown")(study.function("table")(seed, **study.settings))
    written = pd.read_csv(ROOT / "docs/methods" / shown, sep="\t")
    pd.testing.assert_frame_equal(written, found, check_dtype=False, rtol=0, atol=0.0101)


SCENARIOS = Path(__file__).parents[2] / "docs/how-to/scenario.md"
KEYS = "true,released,probability\n0,0,1\n1,0,.5\n1,1,.25\n1,3,.25\n2,0,.1\n2,1,.2\n2,2,.4\n2,3,.2\n2,4,.1\n"
ROUNDING = "true,released,probability\n" + "".join(
    f"{n},{y},{1 - abs(y - n) / 5}\n" for n in range(10) for y in sorted({n - n % 5, n + -n % 5})
)
OTHER = {
    "perturbation.csv": KEYS,
    "rounding.csv": ROUNDING,
    "summary.csv": "column,aggregate,distribution,scale\nlen,Frame Length,Integer Laplace,2.0\n",
}
PIPELINE = "partition_key,count,count_noise_stddev\na,20.5,3.0\nb,11.0,3.0\n"
# words of the agency -> file, and the same release with its mechanism, by hand
GAUSS = dpm.DiscreteGaussian(sigma=5.0)
AGENCIES = {
    "added noise with a known scale": ("20.5,11", [20.5, 11], dpm.Laplace(scale=2.0)),
    "added discrete Gaussian noise": ("20,-1", [20, -1], GAUSS),
    "rounded to the nearest multiple of 5": ("20,5", [20, 5], dpm.Exact().rounded(5)),
    "rounded at random to a multiple of 5": ("20,5", [20, 5], dpm.RandomRounding(base=5)),
    "rounded up to a multiple of 5": ("20,5", [20, 5], dpm.RandomRounding(base=5, fixed="up")),
    "rounded at random and withheld values below 10": ("20,", [20, np.nan], dpm.RandomRounding(base=5).threshold(10)),
    "withheld counts below 10, with empty cells": ("20,", [20, np.nan], dpm.Exact().threshold(10)),
    "withheld counts below 10, with a symbol": ("20,*", [20, np.nan], dpm.Exact().threshold(10)),
    "published ranges (`1-9`, `10–50`) or limits (`<10`, `100+`)": ("20,<10", [20, np.nan], dpm.Exact().threshold(10)),
    "added noise and set negative values to 0": ("20,0", [20, 0], GAUSS.clipped(0)),
    "added noise and withheld noisy values below 20": ("20,", [20, np.nan], GAUSS.threshold(20)),
    "published the probabilities of a cell-key method": ("20,1", [20, 1], "perturbation.csv"),
    "published the probabilities of random rounding": ("20,5", [20, 5], dpm.RandomRounding(base=5)),
    "used OpenDP, and wrote the result of `summarize()` to a file": ("20,1", [20, 1], dpm.DiscreteLaplace(scale=2.0)),
    "used PipelineDP with the standard deviation of the noise": (PIPELINE, [20.5, 11], dpm.Gaussian(sigma=3.0)),
}


def lines():
    text = SCENARIOS.read_text(encoding="utf-8").partition("| the agency | you write |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()[2:]]
    return {row[0].strip(): row[1] for row in rows}


LINES = lines()


def test_the_lines_of_readme_are_valid(tmp_path, monkeypatch):
    """Check every mapping of README's shorter table: it is a key of a scenario, or a part of its noise."""
    monkeypatch.chdir(tmp_path)
    for name, text in {**OTHER, "ptable.csv": KEYS.replace("true,released,probability", "i,j,p")}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "c.csv").write_text("name,len\na,20\nb,5\n")
    text = (SCENARIOS.parents[2] / "README.md").read_text(encoding="utf-8")
    table = text.partition("| the agency | you write |")[2].partition("\n\n")[0]
    found = [yaml.safe_load(one) for one in re.findall(r"`([^`]*)`", table) if re.search(r"[:{]", one)]
    assert len(found) >= 8
    for one in found:
        stated = one if {"noise", "withheld"} & set(one) else {"noise": {"law": "exact", **one}}
        both = {"kind": "noisy_counts", "file": "c.csv", "noise": "exact", "prior": "flat", **stated}
        law = both["noise"] if isinstance(both["noise"], str) else both["noise"]["law"]
        if law == "gaussian":  # the scale is a column of PipelineDP
            (tmp_path / "p.csv").write_text(PIPELINE)
            both["file"] = "p.csv"
        scenario_settings.single("mine", both, kind.discover())


def test_every_line_is_tried():
    assert set(LINES) - set(AGENCIES) == {"published noisy measurements of a geography"}  # its own pages are tested
    assert set(AGENCIES) <= set(LINES)


@pytest.mark.parametrize("agency", AGENCIES)
def test_a_line_of_the_table(agency, tmp_path, monkeypatch):
    """Check the answers against the release with its mechanism."""
    monkeypatch.chdir(tmp_path)
    for name, text in OTHER.items():
        (tmp_path / name).write_text(text)
    cells, values, law = AGENCIES[agency]
    column = "len" if "OpenDP" in agency else "value"
    rows = "".join(f"{name},{cell}\n" for name, cell in zip("ab", cells.split(","), strict=False))
    (tmp_path / "c.csv").write_text(cells if "\n" in cells else f"name,{column}\n{rows}")
    written = yaml.safe_load(re.findall(r"`([^`]*)`", LINES[agency])[0])
    prior = {"law": "geometric", "mean": 9}
    stated = {"kind": "noisy_counts", "file": "c.csv", "prior": prior, **written}
    files = making.files("mine", tmp_path)
    making.part(scenario_settings.single("mine", stated, kind.discover()), files, root_seed=1)
    found = making.read(files)[0]
    if law == "perturbation.csv":
        pairs = np.array([line.split(",") for line in KEYS.splitlines()[1:]], dtype=float).T
        law = dpm.Perturbation(dict(zip(("true", "released", "probability"), pairs, strict=True)), beyond="shift")
    expected = dpm.posterior(dpm.Release(values, mechanism=law), prior=prior).counts
    assert found["mean"].tolist() == pytest.approx([expected["1"].mean(), expected["2"].mean()], rel=1e-9)
    assert found["upper"].tolist() == [expected["1"].interval(0.95)[1], expected["2"].interval(0.95)[1]]
