"""Every line of the table "the agency, you write" of docs/how-to/scenario.md runs on a file of such an agency."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import dpmultinomial as dpm
from reproduction import kind
from reproduction.config import scenario_settings
from reproduction.scenarios import making

PAGE = Path(__file__).parents[2] / "docs/how-to/scenario.md"
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
    text = PAGE.read_text(encoding="utf-8").partition("| the agency | you write |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()[2:]]
    return {row[0].strip(): row[1] for row in rows}


LINES = lines()


def test_the_lines_of_readme_are_valid(tmp_path, monkeypatch):
    """Check every mapping of README's shorter table: it is a key of a scenario, or a part of its noise."""
    monkeypatch.chdir(tmp_path)
    for name, text in {**OTHER, "ptable.csv": KEYS.replace("true,released,probability", "i,j,p")}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "c.csv").write_text("name,len\na,20\nb,5\n")
    text = (PAGE.parents[2] / "README.md").read_text(encoding="utf-8")
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
