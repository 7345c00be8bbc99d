"""Tests of scenarios: kinds found by their folders, grids, batches, shards, facts, and self-contained pages."""

import base64
import gzip
import importlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpmultinomial._accuracy import Accuracy
from dpmultinomial._releases.spending import Cost
from dpmultinomial._results.distributions import Discrete, Draws
from reproduction import kind
from reproduction.config import config, scenario_settings
from reproduction.scenarios import batch, figure, making, page, sentences, standard, summary

GRID = {"kind": "noisy_counts", "counts": [12.3, 3, 40], "epsilon": [0.5, 1, 2.0], "total": [50, 60]}


def single(settings, name="mine"):
    return scenario_settings.single(name, settings, kind.discover())


def test_a_grid_has_the_same_bytes_for_any_number_of_shards(tmp_path):
    scenario = single(GRID)
    assert scenario.form == "grid"
    assert scenario.points[:3] == [
        {"epsilon": 0.5, "total": 50},
        {"epsilon": 0.5, "total": 60},
        {"epsilon": 1, "total": 50},
    ]
    whole = making.Files(tmp_path / "whole")
    making.part(scenario, whole, root_seed=1)
    for shards in (1, 2, 3, 6):
        parts = [making.Files(tmp_path / f"{i + 1}_of_{shards}") for i in range(shards)]
        for i, part in enumerate(parts):
            making.part(scenario, part, root_seed=1, shard=i + 1, of=shards)
        gathered = making.Files(tmp_path / "gathered")
        making.together(parts, gathered)
        for one, other in zip(whole.all, gathered.all, strict=True):
            assert one.read_bytes() == other.read_bytes(), (shards, one)


def test_a_batch_has_the_same_bytes_for_any_number_of_shards_and_pieces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    lines = ["table,name,value,total"]
    for t in range(23):
        lines += [f"t{t},{name},{rng.uniform(0, 60):.3f},{90 + (name == 'b' and t == 7)}" for name in "abc"]
    (tmp_path / "many.csv").write_text("\n".join(lines) + "\n")
    scenario = single({"kind": "noisy_counts", "file": "many.csv", "epsilon": 1.0})
    whole = making.Files(tmp_path / "whole")
    making.part(scenario, whole, root_seed=1)
    facts = json.loads(whole.facts.read_bytes())
    refused = "refused: total must be the same in all rows of a table"
    table = pd.read_csv(whole.csv).drop_duplicates("table")
    found = int((table["conflict"] < 0.05).sum())
    assert 10 < found < 22  # most sums differ from the total by much more than the noise
    assert facts["tables"] == {"all": 23, "refused": 1, "statuses": {"exact": 22, refused: 1}, "conflicts": found}
    monkeypatch.setattr(batch, "_PIECE", 5)
    for shards in (1, 3, 30):
        parts = [making.Files(tmp_path / f"{i + 1}_of_{shards}") for i in range(shards)]
        for i, part in enumerate(parts):
            making.part(scenario, part, root_seed=1, shard=i + 1, of=shards)
        gathered = making.Files(tmp_path / "gathered")
        making.together(parts, gathered)
        for one, other in zip(whole.all, gathered.all, strict=True):
            assert one.read_bytes() == other.read_bytes(), (shards, one)


TOY = {
    "settings.yaml": "about: a coin\ndata: tosses\nsources: [heads]\nproperties:\n"
    "  heads: {type: integer, minimum: 0, description: heads}\n"
    "  of: {type: integer, minimum: 1, default: 10, description: tosses}\n",
    "__init__.py": "",
    "rules.py": "def mistakes(settings, columns, batch):\n"
    "    if settings['heads'] > settings['of']:\n        yield '.heads', 'are more than tosses'\n"
    "def work(settings):\n    return 0.0, 0.0\n"
    "def assumptions(point):\n    return ['A fair toss.']\n",
    "answer.py": "import pandas as pd\nfrom ..case import COLUMNS, Answer\n"
    "def answer(case):\n"
    "    x = case.settings['heads'] / case.settings['of']\n"
    "    rows = [('heads', 'share', None, x, 0.0, x, x, case.settings['level'], 'exact', 0.0)]\n"
    "    return Answer(rows=pd.DataFrame(rows, columns=list(COLUMNS)), facts={})\n",
}
USED = """
import sys
from pathlib import Path
from reproduction import kind
from reproduction.config import config, scenario_settings
from reproduction.scenarios import making, sentences
try:
    scenario_settings.single("mine", {"kind": "toy", "heads": [3, 11]}, kind.discover())
except config.ConfigError as error:
    print(error)
scenario = scenario_settings.single("mine", {"kind": "toy", "heads": [3, 4]}, kind.discover())
files = making.Files(Path(sys.argv[1]))
making.part(scenario, files, root_seed=1)
rows, _, facts = making.read(files)
print(rows["mean"].tolist())
print(sentences.sentence(next(rows.itertuples()), facts, facts["points"][0]))
"""


def test_a_kind_is_found_by_being_there(tmp_path):
    """Add a toy kind to a copy of the tree: its keys, grid and answer, which no other file names."""
    copy = tmp_path / "reproduction"
    left_out = shutil.ignore_patterns("__pycache__", "tests", "papers", "report")
    shutil.copytree(kind.FOLDER.parent, copy, ignore=left_out)
    (copy / "scenarios/toy").mkdir()
    for name, text in TOY.items():
        (copy / "scenarios/toy" / name).write_text(text)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{kind.FOLDER.parents[1]}"}
    command = [sys.executable, "-c", USED, str(tmp_path / "out")]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == [
        "mine.heads: are more than tosses (at heads=11)",
        "[0.3, 0.4]",
        "The true share of heads is 30 %.",
    ]


def test_a_kind_with_parts_missing_is_told_whole(tmp_path):
    shutil.copy(kind.FOLDER / "shared.yaml", tmp_path)
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/settings.yaml").write_text("about: x\nkeys: {}\nproperties: {a: {type: integer}}\n")
    with pytest.raises(kind.KindError) as caught:
        kind.discover(tmp_path)
    said = str(caught.value)
    for part in (
        "rules.py: is missing",
        "answer.py: is missing",
        "keys: unknown key",
        "sources: is missing",
    ):
        assert f"scenarios/toy/{part}" in said or f"scenarios/toy/settings.yaml: {part}" in said


def test_every_kind_says_what_its_keys_are_and_fits_eight_small_files():
    for found in kind.discover().values():
        parts = [path for path in found.folder.iterdir() if path.is_file()]
        assert len(parts) <= 8, found.name
        for key, part in found.schema["properties"].items():
            assert kind.resolved(part, found.schema).get("description"), f"{found.name}: {key}"


def test_a_scenario_survives_the_way_to_its_job():
    scenario = single(GRID)
    again = scenario_settings.restored(json.loads(json.dumps(scenario_settings.as_text(scenario))))
    assert again == scenario


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"kind": "noisy_count"}, "mine.kind: must be one of "),
        ({}, "mine.kind: must be one of "),
        ({"kind": "noisy_counts"}, "mine: must contain exactly one of the keys counts, file, rehearsal, got none"),
        ({"release": "nowhere"}, "mine.release: 'nowhere' is neither a release"),
        (
            {**GRID, "epsilon": [1.0, 1.0]},
            "mine.epsilon: a list that defines a grid must have at least one value and no duplicates",
        ),
        ({**GRID, "epsilon": [1.0, -1.0]}, "mine.epsilon: -1.0 is not allowed"),
        ({**GRID, "epsilon": [i + 1.0 for i in range(101)]}, "mine: must have at most 200 points, got 202"),
        ({"kind": "noisy_counts", "file": "nowhere.csv", "epsilon": 1.0}, "mine.file: 'nowhere.csv' is not a file"),
    ],
)
def test_mistakes_of_the_machinery(written, said):
    with pytest.raises(config.ConfigError) as caught:
        single(written)
    assert said in str(caught.value)


def test_a_scenario_of_a_release_states_no_noise_before_it_is_made_and_after(tmp_path, monkeypatch):
    from dpmultinomial._releases import room
    from reproduction.config import checks

    monkeypatch.chdir(tmp_path)
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential/c.csv").write_text("category,count\na,812\nb,390\n")
    asked = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 1.0, "source": "s"}
    settings = {"run": [], "releases": {"county": asked}, "scenarios": {"mine": {"release": "county"}}}
    assert "mine" in checks.checked(settings, {})["scenarios"]
    room.make("county", asked, root=tmp_path)
    assert "mine" in checks.checked(settings, {})["scenarios"]
    settings["scenarios"]["mine"]["epsilon"] = 1.0
    with pytest.raises(ValueError, match=r"scenarios\.mine\.epsilon: must be omitted"):
        checks.checked(settings, {})


@pytest.mark.parametrize("rows", [["a,x,3.5,9", "a,y,4.5,9"], ["a,x,3.5,9", "a,y,4.5,8"]], ids=["one", "none"])
def test_the_smallest_batches_have_a_figure(tmp_path, monkeypatch, rows):
    """Check that all widths of a table of two counts are equal, and that an invalid table has none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "many.csv").write_text("\n".join(["table,name,value,total", *rows]) + "\n")
    files = making.Files(tmp_path / "many")
    making.part(single({"kind": "noisy_counts", "file": "many.csv", "epsilon": 1.0}), files, root_seed=1)
    figure.save(files, tmp_path / "many.png", tmp_path / "many.pdf")
    assert (tmp_path / "many.png").stat().st_size > 1000


def test_a_batch_that_cannot_be_read_leaves_nothing(tmp_path, monkeypatch):
    """Check a Parquet file whose columns have types that are not found before it is read."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"table": ["t", "t"], "name": ["a", "b"], "value": [[1], [2]]}), "many.parquet")
    scenario = single({"kind": "noisy_counts", "file": "many.parquet", "epsilon": 1.0})
    files = making.Files(tmp_path / "many")
    with pytest.raises(ValueError, match="cannot be read as a file of tables"):
        making.part(scenario, files, root_seed=1)
    assert [path.name for path in tmp_path.iterdir()] == ["many.parquet"]


NAMES = ["met with spaces", "Île-de-France", "東京都", "القاهرة", "a" * 60, "</script><script>alert(1)</script>"]


def written(tmp_path, budgets=None, **settings):
    scenario = scenario_settings.single("mine", {"kind": "noisy_counts", **settings}, kind.discover())
    files = making.files("mine", tmp_path)
    making.part(scenario, files, root_seed=1)
    target = tmp_path / "pages/mine.html"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = page.write(files, target, budgets=budgets)
    return target.read_text(encoding="utf-8"), told


@pytest.mark.parametrize("size", [2, 6, 200])
def test_a_page_is_small_and_asks_nobody(tmp_path, size):
    names = (NAMES + [f"c{i}" for i in range(200)])[:size]
    counts = {name: 10.5 + i % 7 for i, name in enumerate(names)}
    text, _ = written(tmp_path, counts=counts, epsilon=1.0, total=13 * size, among=names[:2])
    assert len(text.encode()) <= page.LARGEST
    outside = re.findall(r'(?:src|href|url)\s*[=(]\s*"?(?!data:|#)([^"\s>)]+)', text.partition("<svg")[0])
    outside += re.findall(r'(?:src|href)="(?!data:|#)([^"]+)"', text.partition("</svg>")[2])
    assert outside == []
    assert "<script>alert" not in text
    assert "<svg" in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids)) > 10  # a name is one element's
    assert text.count("<h2>") == 5


def test_a_page_says_what_was_protected_and_of_which_budget(tmp_path):
    text, told = written(tmp_path, counts={"a": 5, "b": 9}, epsilon=1.0, total=14)
    assert told.headline in text
    assert "Individual records were protected with epsilon = 1 (replace a record)." in text
    assert "can become at most 2.72 : 1 (73.2 %) sure of the true one." in text  # e = 2.718, e/(1 + e) = 0.7311
    assert "With probability at least 95 %, a published count is within 6 of the true count." in text
    text, _ = written(tmp_path, rehearsal={"counts": [5, 9]}, epsilon=1.0)
    assert "No data were protected: this is a rehearsal with invented data." in text
    text, _ = written(tmp_path, counts={"a": 5, "b": 9}, noise={"law": "laplace", "scale": 2.0}, total=14)
    assert "The privacy cost of the published numbers is not stated" in text


def test_a_page_says_the_epsilon_of_the_loss_distribution(tmp_path):
    """rho .02 under replacement: sigma^2 = 2/(2 * .02), exact epsilon at 1e-6 by a sum over the noise."""
    noise = {"law": "discrete_gaussian", "rho": 0.02, "relation": "replace a record"}
    text, _ = written(tmp_path, counts={"a": 5, "b": 9}, noise=noise, total=14)
    x = np.arange(-120, 121)
    p = np.exp(-(x**2) * 0.02 / 2)
    both = np.convolve(p, p) / p.sum() ** 2
    loss = (2 * np.arange(-240, 241) + 2) * 0.02 / 2
    at = next(e for e in np.arange(0.8, 1.0, 1e-4) if (both * np.maximum(-np.expm1(e - loss), 0)).sum() <= 1e-6)
    said = re.search(r"with epsilon = ([0-9.]+) at delta = 1e-06; budgets count rho", text)
    assert float(said[1]) == pytest.approx(at, abs=3e-4)
    assert page.composed({"law": "laplace", "scale": 2.0}, Cost(relation="replace a record", epsilon=1.0)) == []
    assert page.composed({"law": "gaussian", "sd": 2.0}, Cost(relation="replace a record", rho=0.02)) == []


def test_densities_of_an_answer():
    """Counts have their probabilities, at most 1,005 of them; draws have a histogram of 60 bins."""
    state = Accuracy("exact", 0.0, "")
    p = np.append(np.full(2010, (1 - 1e-9) / 2010), 1e-9)  # the last count is too improbable to be shown
    count = Discrete(np.arange(10, 2021), p, name="a", type="count", accuracy=state)
    few = Discrete(np.arange(3), np.array([0.5, 0.3, 0.2]), name="b", type="count", accuracy=state)
    alike, spread = (Draws(x, name=n, type="rate", accuracy=state) for n, x in (("c", [0.0] * 50), ("d", [0.0, 0.5])))
    found = standard.densities([count, few, alike, spread]).groupby("quantity")
    a, b, c, d = (found.get_group(name) for name in "abcd")
    assert a["x"].tolist() == list(range(10, 2020, 2))
    assert a["density"].to_numpy() == pytest.approx(p[0], rel=1e-9)
    assert (b["x"].tolist(), b["density"].tolist()) == ([0, 1, 2], [0.5, 0.3, 0.2])
    assert c["x"].to_numpy() == pytest.approx(
        (np.arange(60) - 29.5) / 30 * 1e-9, rel=1e-9, abs=0
    )  # around the only value
    assert (c["density"] > 0).sum() == 1
    assert c["density"].max() == pytest.approx(30 / 1e-9)
    low, high = np.quantile([0.0, 0.5], [0.001, 0.999])
    assert d["x"].to_numpy() == pytest.approx(low + (high - low) * (np.arange(60) + 0.5) / 60)


def test_equal_results_give_equal_pages(tmp_path):
    asked = {"counts": {"a": 5, "b": 9}, "epsilon": 1.0, "total": 14}
    first, _ = written(tmp_path / "one", **asked)
    second, _ = written(Path(tmp_path / "two"), **asked)
    assert first == second


def test_a_page_has_the_title_the_source_and_the_date_that_the_scenario_states(tmp_path):
    asked = {"counts": {"a": 5, "b": 9}, "epsilon": 1.0, "total": 14}
    text, _ = written(tmp_path, **asked, title="Deaths <1 year", source="Office, table 3", date="26 November 2026")
    assert "<h1><bdi>Deaths &lt;1 year</bdi></h1>" in text
    assert "<p>Source: <bdi>Office, table 3</bdi></p>" in text
    assert "<p>Date: <bdi>26 November 2026</bdi></p>" in text
    assert "Date:" not in written(tmp_path, **asked)[0]


def test_a_page_of_many_counts_is_short_and_has_them_all(tmp_path):
    """Check the order: answers, then the thirty largest counts; the whole table compressed; the same in the figure."""
    counts = {f"c{i}": 7 * i % 1000 for i in range(900)}
    asked = {"questions": {"more": {"probability": "c142 > c1"}}}
    text, told = written(tmp_path, counts=counts, noise={"law": "laplace", "scale": 2.0}, **asked)
    assert told.headline.startswith("more: the probability that c142 > c1 is ")
    assert [line.noun for line in told.lines[:2]] == ["probability", "true count"]
    assert [line.quantity for line in told.lines[1:4]] == sorted(counts, key=counts.get, reverse=True)[:3]
    assert len(told.lines) == 31
    assert "870 more rows are in the results file." in text
    assert "the 30 largest of 900" in text
    raw = base64.b64decode(re.search(r"application/gzip;base64,([^\"]+)", text)[1])
    assert gzip.decompress(raw) == (tmp_path / "results/scenarios/mine.csv").read_bytes()
    assert len(text) < 200_000


@pytest.mark.parametrize(("size", "shown"), [(60, 60), (61, 30)])
def test_a_page_of_sixty_counts_shows_them_all(tmp_path, monkeypatch, size, shown):
    monkeypatch.setattr(page, "_svg", lambda files: "<svg></svg>")
    counts = {f"c{i}": i for i in range(size)}
    _, told = written(tmp_path, counts=counts, noise={"law": "discrete_laplace", "scale": 0.1})
    assert (len(told.lines), told.more) == (shown, size - shown)


def frame(*rows):
    """Return a table of results with a made-up row for every (quantity, type, mean, sd)."""
    made = [{"quantity": q, "type": t, "released": 7.0, "mean": m, "sd": s, "lower": m - 2.0, "upper": m + 2.0,
             "level": 0.9, "status": "exact", "error": 0.0} for q, t, m, s in rows]  # fmt: skip
    return pd.DataFrame(made)


MADE = {
    "kind": "noisy_counts",
    "scenario": "mine",
    "release": "",
    "settings": {"level": 0.9, "questions": {"gap": {"difference": ["a", "b"]}}},
}


@pytest.mark.parametrize(
    ("rows", "point", "start"),
    [
        ([("a", "count", 5.0, 1.0), ("b", "count", 9.0, 1.0)], {}, "The true count of b is between 7 and 11"),
        ([("a", "count", 5.0, 1.0), ("b", "count", 9.0, 0.0)], {}, "The true count of a is between 3 and 7"),
        ([("a", "count", 5.0, 0.0), ("b", "count", 9.0, 0.0)], {}, "The true count of b is"),
        ([("m", "parameter", 5.0, 1.0), ("n", "parameter", 9.0, 1.0)], {}, "M is between 3.0 and 7.0"),
        (
            [("a", "count", 5.0, 1.0), ("a of ab", "share", 0.5, 0.1)],
            {"among_labels": {"a of ab": "a"}, "among": ["a", "b"]},
            "The true share of a among a and b is",
        ),
        (
            [("a", "rate", 0.5, 0.1)],
            {"among_labels": {"a": "x"}, "among": ["x", "y"]},
            "The underlying rate of x among x",
        ),
        (
            [*[(f"c{i}", "count", 5.0, 1.0) for i in range(23)], ("gap", "question", 3.0, 1.0)],
            {},
            "The true count of c0",
        ),
        (
            [*[(f"c{i}", "count", 5.0, 1.0) for i in range(24)], ("gap", "question", 3.0, 1.0)],
            {},
            "gap: the count of a",
        ),
    ],
)
def test_the_main_result_comes_first(rows, point, start):
    """The largest count that is not known; of more than 24 rows, the answer to a question."""
    assert sentences.headline(frame(*rows), MADE, point).startswith(start)


def test_numbers_of_chains_that_did_not_converge_are_no_main_result():
    rows = frame(("a", "count", 5.0, 1.0), ("b", "count", 9.0, 1.0))
    rows["status"] = ["exact", "not converged"]
    assert sentences.headline(rows, MADE, {}).startswith("The true count of a ")
    rows["status"] = "not converged"
    assert sentences.headline(rows, MADE, {}) == "The Markov chains did not converge: do not use any of these numbers."
    told = sentences.sentence(next(rows.itertuples()), MADE, {})
    assert told == "The Markov chain for a did not converge: do not use this number."


def test_the_part_of_the_noise_is_that_of_the_first_rate():
    point = {"noise": {"law": "laplace"}, "noise_part_of_rate_variance": {"a": 0.256, "b": 0.5}}
    assert sentences.noise_part(point).startswith("The noise accounts for 26 % of the posterior variance of the underl")
    assert " rate of a; the rest is" in sentences.noise_part(point)
    point |= {"among_labels": {"b": "beta"}, "among": ["beta", "g"]}
    assert "variance of the underlying rate of beta among beta and g; the rest" in sentences.noise_part(point)
    assert sentences.noise_part({**point, "among_labels": {"c": "c"}}) == ""
    assert sentences.noise_part({}) == ""


@pytest.fixture
def summarised(monkeypatch):
    """Return a function from a made-up table of results to the text on the screen and the summary."""

    def of(rows, points=({"at": {}},), form="case", comparison=(), **more):
        facts = {**MADE, "form": form, "points": list(points)}
        monkeypatch.setattr(summary.making, "facts_of", lambda files: facts)
        monkeypatch.setattr(summary.making, "read", lambda files: (rows, pd.DataFrame(list(comparison)), facts))
        files = making.Files(Path("results/mine"))
        return summary.as_text(files), summary.summarise(files, **more)

    return of


@pytest.mark.parametrize(
    ("size", "shown", "rest"),
    [
        (24, 24, None),
        (25, 24, ".. 1 more row is in results/mine.csv"),
        (26, 24, ".. 2 more rows are in results/mine.csv"),
    ],
)
def test_the_terminal_shows_twenty_four_rows(summarised, size, shown, rest):
    text, found = summarised(frame(*[(f"c{i:02}", "count", 100.0 + i, 1.0) for i in range(size)]))
    assert len([row for row in text.splitlines() if re.match(r"c\d\d ", row)]) == shown
    assert [row for row in text.splitlines() if row.startswith("..")] == ([rest] if rest else [])
    assert (len(found.lines), found.more) == (size, 0)
    assert len(found.sentences) == 6  # sentences on a page


def test_answers_come_first_in_a_table_of_more_than_twenty_four_rows(summarised):
    counts = [(f"c{i:02}", "count", 100.0 + i, 1.0) for i in range(23)]
    answer = ("gap", "question", 3.0, 1.0)
    assert summarised(frame(*counts, answer))[1].lines[0].quantity == "c00"
    assert summarised(frame(*counts, counts[0], answer))[1].lines[0].quantity == "gap"
    assert summarised(frame(*counts, answer))[1].sentences[0].startswith("gap: ")


def test_a_table_that_is_cut_has_the_largest_counts_and_the_number_of_the_others(summarised):
    """On a page, the largest are shown; a table of more than 400 rows keeps its order."""
    rows = frame(*[(f"c{i}", "count", float(i * 37 % 101), 1.0) for i in range(101)], ("gap", "question", 3.0, 1.0))
    failed = {"status": "not converged", "reason": "", "rows": 1}
    points = [{"at": {}, "rows_left_out": 900, "accuracy": [failed]}]
    found = summarised(rows, points, most=2)[1]
    assert found.unusable  # also if the row is not shown
    assert [line.mean for line in found.lines] == ["3", "100", "99"]
    assert found.more == 102 + 900 - 3
    long = frame(*[(f"c{i}", "count", float(i * 37 % 401), 1.0) for i in range(401)])
    found = summarised(long)[1]
    assert not found.unusable
    assert [line.quantity for line in found.lines] == [f"c{i}" for i in range(400)]
    assert found.more == 1


def test_points_of_a_grid_are_listed_and_the_first_is_described(summarised):
    points = [{"at": {"epsilon": e, "total": 9}, "accuracy": []} for e in (0.5, 1.0, 2.0)]
    one = frame(("a", "count", 5.0, 1.0), ("b", "count", 4.0, 1.0))
    rows = pd.concat([one.assign(**point["at"]) for point in points], ignore_index=True)
    text, found = summarised(rows, points, form="grid")
    assert found.sentences[0] == "The scenario has 3 points: epsilon 0.5, 1.0, 2.0; total 9."
    assert [told[:36] for told in found.sentences[1:]] == ["With epsilon 0.5, total 9: The true "] * 2
    assert found.headline.startswith("With epsilon 0.5, total 9: The true count of a is")
    assert [line.key for line in found.lines] == ["0.5, 9", "0.5, 9", "1, 9", "1, 9", "2, 9", "2, 9"]
    assert "epsilon, total  quantity  type" in text


@pytest.mark.parametrize("size", [1, 2, 6, 7, 9])
def test_sentences_of_points_are_stated_for_six_points(size):
    points = [{"at": {"epsilon": i}} for i in range(size)]
    texts = [["same", f"noise {i}"] for i in range(size)]
    found = summary.by_point(points, texts, "At each point: ")
    if size == 1:
        assert found == ["same", "noise 0"]
        return
    wanted = ["At each point: same", *[f"With epsilon {i}: noise {i}" for i in range(min(size, 6))]]
    if size > 6:
        wanted.append(f"The JSON file describes {'1 more point' if size == 7 else '3 more points'}.")
    assert found == wanted
    assert summary.by_point(points, [["same"]] * size) == ["same"]


@pytest.mark.parametrize(
    ("value", "kind", "width", "key", "text"),
    [
        (4.25, "count", 1.0, "mean", "4.25"),
        (4.25, "count", 2.0, "mean", "4.2"),
        (0.04, "count", 2.0, "mean", "0.04"),  # a mean of 0 would be a count that is certainly 0
        (4.25, "count", 9.0, "released", "4.25"),
        (4.3, "count", 0.5, "released", "4.3"),
        (12345.678, "count", 0.5, "mean", "12,345.7"),
        (1234.0, "count", 0.5, "mean", "1,234"),
        (0.256, "share", 0.2, "mean", "25.6 %"),
        (0.256, "rate", 0.2, "mean", "25.6 %"),
        (0.256, "per unit", 0.2, "mean", "0.26"),
        (math.nan, "count", 1.0, "mean", ""),
    ],
)
def test_a_cell_has_as_many_digits_as_its_interval_allows(value, kind, width, key, text):
    assert summary._number(value, kind, width, key) == text


def test_columns_are_aligned_by_their_width_on_the_screen_up_to_sixty():
    """A Chinese character takes two columns; a cell of 61 characters shifts the next cell."""
    assert summary.table([["ab", "x"], ["名", "yy"], ["c", "z"]]) == ["ab  x", "名  yy", "c   z"]
    assert summary.table([["a" * 60, "x"], ["b", "y"]]) == [f"{'a' * 60}  x", f"b{' ' * 59}  y"]
    assert summary.table([["a" * 61, "x"], ["b", "y"]]) == [f"{'a' * 61}  x", f"b{' ' * 59}  y"]


def test_tables_of_a_batch_are_counted_with_the_reasons_of_the_rejected_ones(monkeypatch):
    statuses = {"exact": 1200, **{f"refused: reason {i}": 2 - (i > 0) for i in range(21)}}
    tables = {"all": 1222, "refused": 22, "statuses": statuses, "conflicts": 0}
    settings = {"level": 0.9, "noise": "exact", "prior": "flat", "rate": 0.25}
    facts = {**MADE, "form": "batch", "tables": tables, "settings": settings}
    monkeypatch.setattr(summary.making, "facts_of", lambda files: facts)
    rows = frame(*[(f"c{i}", "count", 5.0, 1.0) for i in range(401)]).assign(table="t1")
    monkeypatch.setattr(summary.batch, "read", lambda *_: iter([rows, rows]))
    found = summary.summarise(making.Files(Path("results/mine")))
    headline = "Tables analysed completely: 1,200 of 1,222; rejected, in whole or in part: 22."  # no total
    assert found.headline == headline
    assert found.sentences[0] == "Rejected, in whole or in part, 2 tables: reason 0."
    assert found.sentences[1] == "Rejected, in whole or in part, 1 table: reason 1."
    assert found.sentences[20:] == ["The column status contains 1 more reason."]
    assert (len(found.lines), found.more, found.level, found.lines[0].key) == (400, 402, "90 %", "t1")
    assert found.accuracy == [
        "The numbers of 1,200 completely analysed tables are exact up to floating-point rounding."
    ]
    assert found.assumptions[1:] == [
        "No noise was added to the counts.", "No totals are stated.",
        "Each record was selected for swapping with probability 25 %; if only one "
        "record of a table was selected, the selection in this table was repeated. The margins of each table are those "
        "of the original records, and there is no other noise.",
        "Prior: flat on the counts.",
    ]  # fmt: skip
    assert ".. 778 more rows are in results/mine.csv" in summary.as_text(making.Files(Path("results/mine")))
    tables |= {"all": 1201, "refused": 1}
    assert summary.summarise(making.Files(Path("results/mine"))).headline.endswith("rejected, in whole or in part: 1.")
    settings |= {"noise": None, "epsilon": 0.5}
    told = summary.summarise(making.Files(Path("results/mine"))).assumptions
    assert "The noise is that of epsilon = 0.5 and sensitivity 2." in told  # the default


RULES = {name: importlib.import_module(f"reproduction.scenarios.{name}.rules") for name in kind.discover()}
ADDITIVE = {"released": [3, 4], "epsilon": 1.0, "algorithm": "3", "ties": "random", "prior": "flat"}
SHARES = {"shares": [0.4, 0.6], "total": 10, "r": 1.0, "alpha": 2.0, "prior": "flat"}
SAMPLE = {"records": 9, "lower": -1.0, "upper": 1.0, "epsilon": 1.0}
SWAPPED = {"table": [[1, 2], [3, 4]], "rate": 0.1, "prior": "flat"}
RATES = {"noise": {"law": "laplace", "scale": 2.0}, "exposure": "births", "covariates": [], "family": "rates", "per": 1}


@pytest.mark.parametrize(
    ("name", "settings", "change", "key", "words"),
    [
        ("additive_counts", ADDITIVE, {}, None, ""),
        ("additive_counts", ADDITIVE, {"epsilon": None}, ".epsilon", "is missing"),
        ("additive_counts", ADDITIVE, {"epsilon": None, "release": "r"}, None, ""),
        ("additive_counts", ADDITIVE, {"prior": "flat total"}, None, ""),
        ("additive_counts", ADDITIVE, {"prior": 3}, None, ""),
        ("additive_counts", ADDITIVE, {"prior": "x"}, ".prior", "must be flat or flat total, or a number, got 'x'"),
        ("additive_counts", ADDITIVE, {"names": ["a"]}, ".names", "one name per count (2 counts), got 1 names"),
        ("additive_counts", ADDITIVE, {"names": ["a", "a"]}, ".names", "names must not contain duplicates"),
        ("additive_counts", ADDITIVE, {"released": {"total": 1}}, ".released", "must not contain 'total'"),
        ("additive_counts", ADDITIVE, {"released": [0, 0]}, None, ""),
        ("additive_counts", ADDITIVE, {"released": [-1, 3]}, ".released", "must contain only integers >= 0"),
        ("additive_counts", ADDITIVE, {"released": [1.5, 3]}, ".released", "must contain only integers >= 0"),
        ("additive_counts", ADDITIVE, {"released": [math.nan, 3]}, ".released", "must contain only integers >= 0"),
        ("additive_counts", ADDITIVE, {"released": [10**8, 0]}, None, ""),
        (
            "additive_counts",
            ADDITIVE,
            {"released": [10**8, 1]},
            ".released",
            "must be <= 100000000, got 100000001",
        ),
        (
            "additive_counts",
            ADDITIVE,
            {"released": None, "rehearsal": {"counts": [-1]}},
            ".rehearsal.counts",
            "integers",
        ),
        ("additive_counts", ADDITIVE, {"algorithm": "1-summed"}, None, ""),
        (
            "additive_counts",
            ADDITIVE,
            {"algorithm": "1-summed", "released": [1]},
            ".algorithm",
            "for two counts, got 1 c",
        ),
        ("additive_counts", ADDITIVE, {"algorithm": "1-summed", "prior": 1}, ".prior", "must be flat if algorithm is"),
        ("additive_counts", ADDITIVE, {"ties": "ieee", "released": [1, 2, 3]}, ".ties", "for two counts, got 3 counts"),
        ("additive_counts", ADDITIVE, {"ties": "ieee", "algorithm": "2", "released": [1]}, None, ""),
        ("additive_counts", ADDITIVE, {"questions": {"q": {"sum": ["1", "total"]}}}, None, ""),
        ("additive_counts", ADDITIVE, {"questions": {"q": {"sum": ["x"]}}}, ".questions.q", "unknown name 'x'"),
        ("noisy_shares", SHARES, {}, None, ""),
        ("noisy_shares", SHARES, {"total": None}, ".total", "is missing"),
        ("noisy_shares", SHARES, {"shares": [0.4, 0.6019]}, None, ""),
        ("noisy_shares", SHARES, {"shares": [0.4, 0.6021]}, ".shares", "must sum to 1, got 1.0021"),
        ("noisy_shares", SHARES, {"shares": [0.4, 0.5979]}, ".shares", "must sum to 1, got 0.9979"),
        ("noisy_shares", SHARES, {"alpha": None}, "", "or r and alpha, got r"),
        ("noisy_shares", SHARES, {"alpha": None, "r": None}, "", "got none"),
        ("noisy_shares", SHARES, {"alpha": None, "r": None, "epsilon": 1, "order": 2}, None, ""),
        ("noisy_shares", SHARES, {"epsilon": 1, "order": 2}, "", "got alpha, epsilon, order, r"),
        ("noisy_shares", SHARES, {"names": ["a"]}, ".names", "one name per share (2 shares), got 1 names"),
        ("noisy_shares", SHARES, {"prior": "x"}, ".prior", "must be flat, jeffreys or a number, got 'x'"),
        ("noisy_shares", SHARES, {"prior": "jeffreys"}, None, ""),
        ("noisy_shares", SHARES, {"prior": [1]}, ".prior", "one number per share (2 shares), got 1 numbers"),
        ("noisy_shares", SHARES, {"prior": [1, 2]}, None, ""),
        ("noisy_shares", SHARES, {"among": ["1", "x"]}, ".among", "'x': unknown share. The shares are 1, 2"),
        ("noisy_shares", SHARES, {"shares": None, "rehearsal": {"counts": [4, 6]}}, ".total", "the counts (10)"),
        (
            "noisy_shares",
            SHARES,
            {"shares": None, "total": None, "rehearsal": {"counts": [0]}},
            ".rehearsal.counts",
            "at",
        ),
        ("censored_sample", SAMPLE, {}, None, ""),
        ("censored_sample", SAMPLE, {"lower": None}, ".lower", "is missing"),
        ("censored_sample", SAMPLE, {"upper": None}, ".upper", "is missing"),
        ("censored_sample", SAMPLE, {"lower": 1.0}, ".lower", "must be below upper, got lower = 1.0 and upper = 1.0"),
        ("censored_sample", SAMPLE, {"records": None}, ".records", "is missing"),
        ("censored_sample", SAMPLE, {"epsilon": None}, "", "must contain epsilon"),
        ("censored_sample", SAMPLE, {"scales": {}}, "", "must contain epsilon"),
        ("censored_sample", SAMPLE, {"scales": {}, "epsilon": None}, None, ""),
        (
            "censored_sample",
            SAMPLE,
            {"scales": {}, "epsilon": None, "sensitivity": 1},
            ".sensitivity",
            "because scales",
        ),
        ("censored_sample", SAMPLE, {"sensitivity": 1}, None, ""),
        ("censored_sample", SAMPLE, {"rehearsal": {}, "records": None}, None, ""),
        ("censored_sample", SAMPLE, {"rehearsal": {}}, ".records", "because rehearsal contains this key"),
        ("censored_sample", SAMPLE, {"rehearsal": {}, "records": None, "scales": {}}, ".scales", "derives this value"),
        ("censored_sample", SAMPLE, {"rehearsal": {}, "records": None, "epsilon": None}, ".epsilon", "is missing"),
        ("censored_sample", SAMPLE, {"questions": {"q": {"sum": ["below"], "about": "counts"}}}, None, ""),
        ("censored_sample", SAMPLE, {"questions": {"q": {"sum": "mu", "about": "parameters"}}}, None, ""),
        ("censored_sample", SAMPLE, {"questions": {"q": {"sum": ["below"]}}}, ".questions.q", "unknown name 'below'"),
        ("swapped_table", SWAPPED, {}, None, ""),
        ("swapped_table", SWAPPED, {"release": "r"}, ".held", "is missing"),
        ("swapped_table", SWAPPED, {"release": "r", "held": ["a"]}, None, ""),
        ("swapped_table", SWAPPED, {"held": ["a"]}, ".held", "is allowed only for a release"),
        ("swapped_table", SWAPPED, {"swapped": ["a"]}, ".swapped", "is allowed only for a release"),
        ("swapped_table", SWAPPED, {"rate": None}, ".rate", "is missing"),
        ("swapped_table", SWAPPED, {"prior": [1] * 4}, None, ""),
        ("swapped_table", SWAPPED, {"prior": [1] * 3}, ".prior", "one number per cell (4 cells), got 3 numbers"),
        ("swapped_table", SWAPPED, {"names": {"rows": ["a", "b"], "columns": ["c", "d"]}}, None, ""),
        ("swapped_table", SWAPPED, {"names": {"columns": ["c"]}}, ".names.columns", "1 names for 2 columns"),
        ("swapped_table", SWAPPED, {"table": [[1, 2], [3, 4, 5]]}, "", "got rows with 2, 3 entries"),
        (
            "swapped_table",
            SWAPPED,
            {"table": None, "strata": [[[1, 2], [3, 4]], [[1, 2, 3], [4, 5, 6]]]},
            ".strata",
            "same",
        ),
        ("swapped_table", SWAPPED, {"table": [[1] * 20] * 10}, None, ""),
        (
            "swapped_table",
            SWAPPED,
            {"table": [[1] * 67] * 3},
            "",
            "at most 200 cells (except for strata of 2 x 2 tables)",
        ),
        ("swapped_table", SWAPPED, {"table": None, "strata": [[[1, 2], [3, 4]]] * 51}, None, ""),
        ("swapped_table", SWAPPED, {"table": [[100_000, 0], [0, 0]]}, None, ""),
        (
            "swapped_table",
            SWAPPED,
            {"table": [[100_000, 0], [1, 0]]},
            "",
            "100000 records per stratum, got 100001 records",
        ),
        ("swapped_table", SWAPPED, {"table": [[0, 0], [0, 0]]}, "", "must contain at least one record"),
        ("swapped_table", SWAPPED, {"table": [[0, 0], [0, 1]]}, None, ""),
        ("protected_rates", RATES, {}, None, ""),
        ("protected_rates", RATES, {"exposure": None}, ".exposure", "is missing"),
        ("protected_rates", RATES, {"covariates": ["births"]}, ".covariates", "must not contain the exposure 'births'"),
        ("protected_rates", RATES, {"per": 1000}, None, ""),
        ("protected_rates", RATES, {"family": "shares"}, None, ""),
        ("protected_rates", RATES, {"family": "shares", "per": 2}, ".per", "must be omitted for shares, got 2"),
        ("protected_rates", RATES, {"noise": "laplace"}, ".noise", "scale"),
        (
            "protected_rates",
            RATES,
            {"noise": "random_rounding"},
            ".noise",
            "'random_rounding' requires the base: write",
        ),
    ],
)
def test_a_mistake_of_each_kind_is_told_under_its_key(name, settings, change, key, words):
    written = {k: v for k, v in {**settings, **change}.items() if v is not None}
    found = dict(RULES[name].mistakes(written, None, False))
    assert list(found) == ([] if key is None else [key])
    assert key is None or words in found[key]


@pytest.mark.parametrize(
    ("name", "settings", "column", "key"),
    [("additive_counts", ADDITIVE, "epsilon", ".epsilon"), ("swapped_table", SWAPPED, "rate", ".rate")],
)
def test_a_batch_states_a_parameter_in_its_settings_or_in_a_column(name, settings, column, key):
    left = {k: v for k, v in settings.items() if k != column}
    assert not dict(RULES[name].mistakes(settings, {"value": ()}, True))
    assert not dict(RULES[name].mistakes(left, {"value": (), column: ()}, True))
    assert list(dict(RULES[name].mistakes(left, {"value": ()}, True))) == [key]
    assert list(dict(RULES[name].mistakes(left, None, True))) == [key]


def test_a_batch_of_swapped_tables_has_one_concentration():
    rules, columns = RULES["swapped_table"], {"value": ()}
    settings = {"rate": 0.1, "file": "many.csv", "prior": [1.0, 2.0, 1.0, 2.0]}
    assert dict(rules.mistakes(settings, columns, True)) == {".prior": "must be one number for a batch, got 4 numbers"}
    assert not dict(rules.mistakes(settings | {"prior": 0.5}, columns, True))
    assert not dict(rules.mistakes(settings, columns, False))


@pytest.mark.parametrize(
    ("name", "settings", "seconds", "memory"),
    [
        ("additive_counts", {}, 60.0, 200.0),
        ("additive_counts", {**ADDITIVE, "support": 5000}, 2 * 2.1, 2 * 12.5),
        ("additive_counts", {**ADDITIVE, "epsilon": 0.01}, 2 * 2.1, 2 * 12.5),  # 50/0.01 = 5,000 points
        ("additive_counts", {**ADDITIVE, "epsilon": 2.0, "released": [1]}, 0.1 + 2 * 0.01**1.5, 0.125),
        ("additive_counts", {"file": "x", "epsilon": 0.01}, 100 * 2.1, 100 * 12.5),
        ("noisy_shares", SHARES, 1.2 + 4e-6 * 20, 7e-5 * 20 + 0.4),
        ("noisy_shares", {"rehearsal": {"counts": [30, 20]}}, 1.2 + 4e-6 * 100, 7e-5 * 100 + 0.4),
        ("censored_sample", SAMPLE, 5.0, 50.0),
        ("censored_sample", {"rehearsal": {"records": 10**6}}, 5.0, 150.0),
        ("swapped_table", SWAPPED, 30.0, 300.0),
        ("protected_rates", RATES, 5.0, 200.0),
        ("classifier", {}, 1.0, 0.0),
    ],
)
def test_the_work_of_each_kind_is_estimated(name, settings, seconds, memory):
    assert RULES[name].work(settings) == pytest.approx((seconds, memory))


def test_the_work_of_a_rehearsal_grows_with_its_releases_and_its_file(tmp_path):
    """Two budgets, 10 releases each by default, one mechanism: 0.1 ms and 10 ns a byte for each release."""
    (tmp_path / "x.csv").write_bytes(b"x" * 10_000)
    asked = {"csv": str(tmp_path / "x.csv"), "epsilons": [1, 2], "mechanisms": ["laplace"]}
    assert RULES["classifier"].work({"rehearsal": asked}) == pytest.approx((1 + 20 * 2e-4, 0.3))
    assert RULES["classifier"].work({"rehearsal": {**asked, "repeats": 5}})[0] == pytest.approx(1 + 10 * 2e-4)


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        ({}, None, ""),
        ({"csv": "no.csv"}, ".csv", "the file 'no.csv' was not found"),
        ({"target": "z"}, ".target", "the file has no column 'z'. The columns are x, y, one, none, word"),
        ({"target": "one"}, ".target", "'one' must have at least two classes, got 1"),
        ({"numeric": ["z"]}, ".numeric", "the file has no column 'z'"),
        ({"numeric": ["x"]}, None, ""),
        ({"numeric": ["none"]}, ".numeric", "the column 'none' contains no values"),
        ({"numeric": ["word"]}, ".numeric", "the column 'word' contains 'a' in line 3"),
        ({"numeric": ["y"]}, ".numeric", "must not contain the target 'y'"),
        ({"network": {"x": [], "y": ["x"]}}, None, ""),
        ({"network": {"w": []}}, ".network.w", "the node is not a column. The columns are x, y, one, none, word"),
    ],
)
def test_a_mistake_of_a_rehearsal_is_told_under_its_key(tmp_path, monkeypatch, change, key, words):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{i % 2},1,,{'a' * (i > 0)}\n" for i in range(10))
    Path("few.csv").write_text("x,y,one,none,word\n" + rows)
    asked = {"csv": "few.csv", "target": "y", "numeric": [], **change}
    found = dict(RULES["classifier"].mistakes({"rehearsal": asked}, None, False))
    assert list(found) == ([] if key is None else [f".rehearsal{key}"])
    assert key is None or words in found[f".rehearsal{key}"]


@pytest.mark.parametrize(("size", "wrong"), [(9, True), (10, False)])
def test_a_rehearsal_needs_ten_records(tmp_path, size, wrong):
    path = tmp_path / "few.csv"
    path.write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(size)))
    asked = {"csv": str(path), "target": "y", "numeric": []}
    found = dict(RULES["classifier"].mistakes({"rehearsal": asked}, None, False))
    assert list(found) == [".rehearsal.csv"] * wrong
    assert not wrong or found[".rehearsal.csv"].endswith("for training and test, got 9 records")
    asked = {"rehearsal": asked, "questions": {"q": {"sum": ["a", "b"], "about": "counts"}}}
    assert {".questions", ".questions.q.about"} <= set(dict(RULES["classifier"].mistakes(asked, None, False)))


@pytest.mark.parametrize(("size", "text"), [(12, "r10 and r11"), (13, "r11, .. (13)")])
def test_twelve_names_of_a_side_are_listed(size, text):
    assert RULES["swapped_table"]._few([f"r{i}" for i in range(size)]).endswith(text)


def test_the_assumptions_of_rates_count_the_areas():
    prior = {"family": "rates", "covariates": ["x", "y"]}
    point = {"noise": {"law": "laplace", "scale": 2.0}, "prior": prior, "areas": 1500, "measured": 1493,
             "withheld": 1, "ranges": 2, "per": 1000, "exposure_column": "births",
             "warnings": ["w"]}  # fmt: skip
    found = RULES["protected_rates"].assumptions(point)
    assert found[1:6] == [
        "For 1 of the 1,500 areas, the noisy count was withheld.",
        "For 2 of the 1,500 areas, only bounds of the count were published.",
        "For 5 of the 1,500 areas, no count was published.",
        "The rates of areas vary around a mean, which depends on x, y: they have gamma distributions of one shape. The "
        "analysis includes 1,500 areas.",
        "Given its rate, a count is Poisson; rates are per 1,000 births.",
    ]
    assert found[-1] == "Warning: w."
    point |= {"prior": {"family": "shares", "covariates": []}, "withheld": 0, "ranges": 0, "measured": 1500}
    assert RULES["protected_rates"].assumptions(point)[1:3] == [
        "The shares of areas vary around a mean: they have beta distributions. The analysis includes 1,500 areas.",
        "Given its share, a count is binomial among births.",
    ]
