"""Tests of what pages of the documentation state.

Commands, R code and Python examples are run, and scenarios are answered. Numbers are checked against enumerations and
against the studies at their full size; those quoted in methods and errata are linked to the table that contains them,
or marked as given. Every line of the table "the agency, you write" of docs/how-to/scenario.md runs on a file of such an
agency.
"""

import doctest
import itertools
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
from PIL import Image
from scipy.special import betainc, gammaln, logsumexp

import dpmultinomial as dpm
from dpmultinomial._measurement_files import products
from dpmultinomial._measurement_files.places import COLUMNS
from reproduction import command, kind, paper, studies, synthetic_census
from reproduction.config import scenario_settings
from reproduction.paper import discover
from reproduction.scenarios import making
from reproduction.scenarios.noisy_measurements import example
from reproduction.verdicts import in_process, quotes

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
        files = {"person": "person files", "unit": "housing unit files"}[table]
        assert f"{float(1 / scale**2):.2f} for the {files} ($g = {fraction}$)" in " ".join(METHODS.split())


R_PAGE = Path(__file__).parents[2] / "docs/how-to/r.md"


@pytest.mark.thorough
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
    (tmp_path / "c.csv").write_text("name,len\na,30\nb,60\n")
    text = (SCENARIOS.parents[2] / "README.md").read_text(encoding="utf-8")
    table = text.partition("| the agency | you write under the key `noise` |")[2].partition("\n\n")[0]
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


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
EXAMPLES = [path for path in PAGES if "_build" not in path.parts and ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_run_and_show_what_they_say(path):
    result = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0


def test_the_readme_is_short_and_has_its_pictures():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    pictures = re.findall(r"!\[[^\]]{20,}\]\(([^)]+)\)", text)
    assert pictures == ["docs/gallery/balmat2018.figure_1.png", "docs/gallery/report.png"]
    with Image.open(ROOT / pictures[1]) as picture:  # tests/browser/picture.py
        assert picture.width == 1300
    assert (ROOT / pictures[1]).stat().st_size < 100_000


def test_the_readme_has_a_kind_for_all_data_and_its_scores_add_up():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("| your data | kind |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", table))
    assert set(kind.discover()) <= named
    assert {"parent", "table"} <= named  # columns that make a tree, and a batch
    said = re.search(r"full run is as follows: \*(.*?)\*", re.sub(r"\s+", " ", text))[1]
    scores = [part for part in said.split(". ") if part]
    assert [re.sub(r"\d+ ", "", part).partition(":")[0] for part in scores] == [
        "printed statements checked",
        "verbal statements judged with thresholds chosen by this project",
        "tests of the samples and curves of this project",
    ]
    for part in scores:
        judged, *parts = map(int, re.findall(r"\d+", part))
        assert judged == sum(parts)


def test_the_readmes_numbers_are_those_of_a_plain_enumeration():
    """Return the posterior of p1/(p1 + p0) for M = 50 from all compositions, by Beta distributions."""
    noisy, total, scale = (12.3, -4.1, 44.2), 50, 2.0
    cells = [(a, b, total - a - b) for a, b in itertools.product(range(total + 1), repeat=2) if a + b <= total]
    counts = np.array(cells, dtype=float)
    # Dirichlet(1/2, 1/2, 1/2) rates weigh the counts s by the product of Gamma(s + 1/2)/s!
    log_weights = (gammaln(counts + 0.5) - gammaln(counts + 1)).sum(axis=1) - np.abs(np.array(noisy) - counts).sum(
        axis=1
    ) / scale
    weights = np.exp(log_weights - logsumexp(log_weights))
    a, b = counts[:, 0] + 0.5, counts[:, 1] + 0.5
    assert weights @ (a / (a + b)) == pytest.approx(0.902, abs=5e-4)
    assert weights @ betainc(a, b, 0.513) == pytest.approx(0.025, abs=2e-4)
    assert weights @ betainc(a, b, 0.9999) == pytest.approx(0.975, abs=5e-4)


def walked_through(folder):
    """Write the files that docs/how-to/add-a-paper.md shows into `folder`."""
    text = (ROOT / "docs/how-to/add-a-paper.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)```", text, flags=re.DOTALL)
    folder.mkdir()
    for name, content in blocks:
        (folder / name).write_text(content, encoding="utf-8")
    return [name for name, _ in blocks]


def test_the_paper_that_the_walk_through_writes_is_one(tmp_path):
    names = walked_through(tmp_path / "toy2026")
    assert len(names) == 7
    found = paper.read(tmp_path / "toy2026")
    assert [artefact.name for artefact in found.artefacts] == ["table_1", "errata"]
    assert found.figures() == ["figures/toy2026/table_1.png"]


PAPERS = discover()
DOCUMENTS = [(s, d) for s, p in PAPERS.items() for d in ("methods.md", "errata.md") if (p.folder / d).is_file()]
QUOTES = [(slug, quote) for slug, paper in PAPERS.items() for quote in quotes.of(paper)[0]]


def cheap(slug, name):
    """Return whether a table can be computed at full size in seconds, from settings only."""
    table = next(a.table for a in PAPERS[slug].artefacts if a.name == name)
    return table.by == "compute" and table.minutes <= 0.1 and not set(table.inputs) - {"published"}


@pytest.fixture(scope="module")
def table_of():
    made = {}

    def get(slug, name):
        if (slug, name) not in made:
            made[slug, name] = in_process.tables_of(slug, only=[name])[name] if name else pd.DataFrame()
        return made[slug, name]

    return get


@pytest.mark.site  # tables at their full size
@pytest.mark.parametrize(("slug", "quote"), QUOTES, ids=[f"{s}-{i}" for i, (s, _) in enumerate(QUOTES)])
def test_a_quote_holds(slug, quote, table_of):
    text = quotes.one_line((PAPERS[slug].folder / quote.document).read_text())
    assert quote.words in text, "the document says something else"
    assert quote.numbers, "a quote has its numbers in double braces"
    if not quote.table or cheap(slug, quote.table):
        assert not quotes.broken(quote, table_of(slug, quote.table))
    else:
        assert quote.table in {a.name for a in PAPERS[slug].artefacts if a.table}


@pytest.mark.parametrize(("slug", "document"), DOCUMENTS)
def test_every_number_of_a_document_is_accounted_for(slug, document):
    said, given = quotes.of(PAPERS[slug])
    text = (PAPERS[slug].folder / document).read_text()
    assert quotes.unaccounted(document, text, said, given.get(document, ())) == []


@pytest.mark.parametrize(
    ("written", "number", "half"),
    [
        ("0.128", 0.128, 0.0005),
        ("−0.099", -0.099, 0.0005),
        ("5,400", 5400, 0.5),
        ("1.8·10⁻²²", 1.8e-22, 0.05e-22),
        (r"6 \cdot 10^{-16}", 6e-16, 0.5e-16),
        ("2.1e-4", 2.1e-4, 0.05e-4),
        ("19 %", 0.19, 0.005),
        ("-3", -3, 0.5),
    ],
)
def test_what_a_number_says(written, number, half):
    said, error = quotes.value(written)
    assert said == pytest.approx(number, rel=1e-12)
    assert error == pytest.approx(half, rel=1e-12)
    assert written in list(quotes.numbers_in(f"as {written} here")) or abs(number) < 100


def test_a_number_that_the_table_does_not_give_is_found():
    table = pd.DataFrame({"value": [0.1284, 0.5]})
    right = quotes.Quote("errata.md", "from {{0.128}} to {{0.5}}", "t", lambda t: t["value"])
    assert not quotes.broken(right, table)
    assert "0.128 is quoted, but t contains 0.1286" in quotes.broken(right, table.assign(value=[0.1286, 0.5]))
    assert "quoted, but t contains nan" in quotes.broken(right, table.assign(value=[float("nan"), 0.5]))
    assert "2 numbers are quoted, but t contains 1 numbers" in quotes.broken(right, table.head(1))
    assert quotes.unaccounted("errata.md", "from 0.128 to 0.5, then 0.7", [right], ()) == ["0.7"]
    assert quotes.unaccounted("errata.md", "from 0.128 to 0.6", [right], ("0.6",)) == ["0.128"]


def test_the_example_of_the_module_is_in_braces():
    assert re.findall(r"\{\{.*?\}\}", quotes.__doc__) == ["{{0.500}}", "{{0.128}}"]
