"""Check scenarios for trees of counts, from the YAML configuration to the HTML page. The tests use enumeration,
repeated measurements of a count, and least squares.
"""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml

import dpmultinomial as dpm
from dpmultinomial import DiscreteLaplace, Release, confidence
from dpmultinomial._releases import room
from reproduction import command, kind
from reproduction.config import scenario_settings
from reproduction.scenarios import making, page, sentences, summary
from reproduction.scenarios.noisy_counts import rules, without_prior
from reproduction.scenarios.summary import summarise

TREE = """name,value,parent,level,sigma
state,9,,state,1
north,,state,region,
south,4,state,region,0.8
south,6,state,region,1.2
a,3,north,county,1
b,-1,north,county,1
c,3,south,county,1
d,2,south,county,1
"""
SCENARIO = """
geo:
  kind: noisy_counts
  file: geo.csv
  noise: discrete_gaussian
  prior: 1.0
"""
LEAVES = {"state": "abcd", "north": "ab", "south": "cd", "a": "a", "b": "b", "c": "c", "d": "d"}
ROWS = [("state", 9, 1), ("south", 4, 0.8), ("south", 6, 1.2), ("a", 3, 1), ("b", -1, 1), ("c", 3, 1), ("d", 2, 1)]


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a function that computes the scenario with additional settings and returns the result files."""
    monkeypatch.chdir(tmp_path)

    def make(text=TREE, **more):
        (tmp_path / "geo.csv").write_text(text)
        written = yaml.safe_load(SCENARIO)["geo"] | more
        scenario = scenario_settings.single("geo", {k: v for k, v in written.items() if v is not None}, kind.discover())
        files = making.files("geo", tmp_path)
        making.part(scenario, files, root_seed=1)
        return files

    return make


def enumerated(total=None):
    """Return the joint posterior of all counts of the tree, computed from the definition by enumeration, as a pair (p,
    counts). With concentration 1, all N + 1 ways to split a count N between two children are equally likely.
    """
    axes = dict(zip("abcd", np.meshgrid(*[np.arange(24)] * 4, indexing="ij", sparse=True), strict=True))
    n = {node: sum(axes[leaf] for leaf in leaves) for node, leaves in LEAVES.items()}
    logs = sum(-((y - n[node]) ** 2) / (2 * sigma**2) for node, y, sigma in ROWS)
    logs = logs - np.log1p(n["north"]) - np.log1p(n["south"]) - np.log1p(n["state"])
    p = np.exp(logs - logs.max())
    if total is not None:
        p = np.where(n["state"] == total, p, 0.0)
    return p / p.sum(), {node: np.broadcast_to(value, p.shape) for node, value in n.items()}


def dense(rows=ROWS):
    """Return the design vectors of all nodes, and the least-squares estimates of the leaves with their covariance
    matrix, computed from the normal equations.
    """
    design = {node: np.array([float(leaf in leaves) for leaf in "abcd"]) for node, leaves in LEAVES.items()}
    x = np.stack([design[node] for node, _, _ in rows])
    variance = [float(dpm.DiscreteGaussian(sigma=sigma).variance()) for _, _, sigma in rows]
    covariance = np.linalg.inv(x.T @ (x / np.array(variance)[:, None]))
    leaves = covariance @ x.T @ (np.array([y for _, y, _ in rows]) / variance)
    return design, leaves, covariance


def table(files):
    rows, _, facts = making.read(files)
    return rows.set_index("quantity"), facts["points"][0]


@pytest.mark.parametrize("total", [None, 9])
def test_rows_of_one_name_are_several_measurements_of_one_count(made, total):
    rows, point = table(made(total=total))
    p, n = enumerated(total)
    for node, value in n.items():
        mean = float((p * value).sum())
        assert rows.loc[node, "mean"] == pytest.approx(mean, abs=1e-9)
        assert rows.loc[node, "sd"] == pytest.approx(np.sqrt(float((p * (value - mean) ** 2).sum())), abs=1e-8)
    assert np.isnan(rows.loc["south", "released"])  # the node was measured twice, so it has no single released value
    assert np.isnan(rows.loc["north", "released"])
    assert rows.loc["state", "released"] == 9
    assert list(rows["tree_level"]) == ["state", "region", "region", *["county"] * 4]
    assert point["counts"] == len(n) == 7  # the file has 8 rows
    assert point["tree"]["measured_more_than_once"] == point["tree"]["not_measured"] == 1
    assert [level["measurements"] for level in point["tree"]["levels"]] == [1, 2, 4]
    assert point["counts"] == len(rows) == 1 + 2 + 4  # the file has eight rows, because one count has two
    assert point["noise"]["sigma"] == {"smallest": 0.8, "largest": 1.2, "rows": 8}


def test_least_squares_stand_beside_counts_sums_and_differences(made):
    questions = {
        "gap": {"difference": ["north", "south"]},
        "two": {"sum": ["a", "c"]},
        "across": {"difference": [["a", "d"], "b"]},
        "more": {"probability": "north > south"},
    }
    rows, _ = table(made(questions=questions))
    design, leaves, covariance = dense()
    weights = {**design, "gap": design["north"] - design["south"], "two": design["a"] + design["c"]}
    weights["across"] = design["a"] + design["d"] - design["b"]
    for name, weight in weights.items():
        assert rows.loc[name, "least_squares"] == pytest.approx(weight @ leaves, abs=1e-9)
        assert rows.loc[name, "least_squares_sd"] == pytest.approx(np.sqrt(weight @ covariance @ weight), abs=1e-9)
    assert np.isnan(rows.loc["more", "least_squares"])
    p, n = enumerated()
    assert rows.loc["more", "mean"] == pytest.approx(float(p[n["north"] > n["south"]].sum()), abs=1e-9)
    gap = n["north"] - n["south"]
    assert rows.loc["gap", "mean"] == pytest.approx(float((p * gap).sum()), abs=1e-9)


def test_intervals_have_the_level_that_is_asked_for(made):
    p, n = enumerated()
    for level in (0.8, 0.95):
        rows, _ = table(made(level=level))
        below = np.cumsum(np.bincount(n["state"].ravel(), p.ravel()))
        assert rows.loc["state", "lower"] == np.argmax(below >= (1 - level) / 2)
        assert rows.loc["state", "upper"] == np.argmax(below >= 1 - (1 - level) / 2)


def test_without_a_column_of_levels_they_have_numbers_and_priors_of_leaves_are_taken(made):
    frame = pd.read_csv(pd.io.common.StringIO(TREE)).drop(columns="level")
    rows, point = table(made(frame.to_csv(index=False), prior="1/(1+n)"))
    assert list(rows["tree_level"])[:2] == ["level 0", "level 1"]
    axes = enumerated()[1]
    logs = sum(-((y - axes[node]) ** 2) / (2 * sigma**2) for node, y, sigma in ROWS)
    logs = logs - sum(np.log1p(axes[leaf]) for leaf in "abcd")
    p = np.exp(logs - logs.max())
    assert rows.loc["b", "mean"] == pytest.approx(float((p * axes["b"]).sum() / p.sum()), abs=1e-9)
    assert point["prior"]["law"] != "splits"


def test_a_page_and_the_screen_show_least_squares_and_say_what_is_assumed(made, tmp_path, capsys):
    files = made(questions={"two": {"sum": ["a", "c"]}}, prior=None)
    said = summarise(files)
    line = next(line for line in said.lines if line.quantity == "a")
    design, leaves, covariance = dense()
    value, sd = line.least_squares.split(" ± ")
    assert abs(float(value) - design["a"] @ leaves) <= 0.05
    assert abs(float(sd) - np.sqrt(covariance[0, 0])) <= 0.05
    assumed = " ".join(said.assumptions)
    assert "1 at level state, 2 at level region and 4 at level county" in assumed
    assert "1 count was measured more than once, and 1 count was not measured" in assumed
    assert "at level region and" in assumed.split("with concentration")[1]
    assert "fitted to 7 of the 7 nodes of the tree" in assumed
    assert "No total is stated" not in assumed
    page.write(files, tmp_path / "geo.html")
    html = (tmp_path / "geo.html").read_text()
    assert '<th scope="col">least squares</th>' in html
    assert f'<td data-label="least squares">{line.least_squares}</td>' in html
    command.main(["answer", "geo.csv", "--noise", "discrete_gaussian", "--prior", "1"])
    shown = capsys.readouterr().out
    assert "least squares" in shown.splitlines()[2]
    assert line.least_squares in shown


@pytest.mark.parametrize(
    ("noise", "estimate", "words"),
    [
        ({"law": "exact", "rounded": 5}, None, ["rounded or clipped without noise are not used"]),
        ({"law": "random_rounding", "base": 5}, 6.25, ["use the largest variance of a randomly rounded value"]),
        (
            {"law": "discrete_laplace", "scale": 2.0, "rounded": 5, "clipped": {"at": 0}},
            6.25,
            ["rounding errors of noisy values are treated as independent", "clipped noisy values are used as if"],
        ),
        ({"law": "discrete_laplace", "scale": 2.0, "threshold": 0}, 6.25, ["withheld noisy values are not used"]),
        ({"law": "discrete_laplace", "scale": 2.0}, 6.25, []),
    ],
)
def test_least_squares_of_changed_values_are_explained(made, noise, estimate, words):
    """Check a sum that exceeds its three parts by 5: with equal variances, a part grows by 5/4."""
    said = summarise(made("name,parent,value\nall,,40\na,all,5\nb,all,0\nc,all,30\n", noise=noise))
    shown = [line.least_squares.split(" ± ")[0] for line in said.lines if line.quantity == "a"]
    assert shown == ([""] if estimate is None else [f"{estimate:.1f}"])
    (text,) = (text for text in said.assumptions if text.startswith("Least-squares estimates"))
    begin, *rest = text.lower().rstrip(".").split(". ")
    assert begin.endswith("and can be negative")
    assert len(rest) == len(words)
    assert all(word in sentence for word, sentence in zip(words, rest, strict=True))


def test_published_ranges_are_not_called_unmeasured(made):
    text = "name,value,parent\ns,40,\na,<10,s\nb,20-30,s\nc,,s\n"
    assert "\n1 count was not measured.\n" in "\n".join(summarise(made(text, noise="exact")).assumptions)


@pytest.mark.parametrize(
    ("text", "total", "prior"),
    [
        ("name,value,parent\ns,40,\n", None, ["Prior: flat on the count of the root."]),
        ("name,value,parent\ns,40,\n", 40, []),
        ("name,value,parent\ns,40,\na,9,s\nb,30,s\n", 40, ["Prior: each count is split among its children"]),
    ],
)
def test_a_known_root_has_no_prior_and_a_single_node_has_no_concentration(made, text, total, prior):
    said = summarise(made(text, noise={"law": "laplace", "scale": 2}, total=total)).assumptions
    said = [one for one in said if one.startswith("Prior")]
    assert len(said) == len(prior)
    assert all(one.startswith(start) for one, start in zip(said, prior, strict=True))


def test_a_contradiction_is_among_the_warnings(made):
    many = "".join(f"k{i},{100 * (i % 2)},south,county,1\n" for i in range(30))
    text = TREE.replace("c,3,south,county,1\nd,2,south,county,1\n", many)
    said = summarise(made(text))
    assert said.warnings[0].startswith("CONFLICT: ")
    assert said.warnings[0] in said.accuracy
    assert not any("CONFLICT" in sentence for sentence in summarise(made()).accuracy)


WRONG = {
    "sigma in the file and beside it": (
        TREE,
        {"noise": {"law": "discrete_gaussian", "sigma": 50.0}},
        r"the key sigma must be omitted, because the file has a column sigma",
    ),
    "epsilon beside sigma": (TREE, {"noise": None, "epsilon": 1.0}, "the column sigma of the file also states"),
    "a prior of rates": (
        TREE,
        {"prior": "jeffreys"},
        "is not a prior of a tree: use a concentration",
    ),
    "a prior of a total's rates": (TREE, {"prior": {"law": "multinomial"}}, r"is not a prior of a tree"),
    "two parents": (TREE.replace("south,6,state", "south,6,north"), {}, "'south' has two parents, 'north' and 'state'"),
    "a parent that is no row": (TREE.replace("d,2,south", "d,2,west"), {}, "the parent of 'd' is 'west', which is no"),
    "two roots": (TREE.replace("d,2,south", "d,2,"), {}, "one root .*got 2: 'state', 'd'"),
    "no root": (TREE.replace("state,9,,", "state,9,a,"), {}, "one root .*got none"),
    "a circle": (TREE.replace("c,3,south", "c,3,c"), {}, r"the ancestors of 'c' contain a cycle \(c -> c\)"),
    "levels that differ": (
        TREE.replace("d,2,south,county", "d,2,south,tract"),
        {},
        r"'d' has level 'tract', but another node at the same depth \(2\)",
    ),
    "one level twice": (TREE.replace("county", "region"), {}, "must have different names, got state, region, region"),
    "no parents": (
        TREE.replace("parent", "x"),
        {"noise": {"law": "discrete_gaussian"}},
        "column 'level' .* no column 'parent'",
    ),
    "among": (TREE, {"among": ["a", "b"]}, "for shares among the counts of a tree, ask a question"),
    "rates": (TREE, {"about": "rates"}, "must be 'counts' for a tree, got 'rates'"),
    "a noisy total": (
        TREE,
        {"total": {"released": 9, "noise": {"law": "laplace", "scale": 1}}},
        "add the noisy total as a measurement",
    ),
    "a prior too short": (
        TREE,
        {"prior": [1.0]},
        "must contain one concentration per level below the root .2 levels., got 1",
    ),
    "a question of nobody": (TREE, {"questions": {"q": {"sum": ["a", "x"]}}}, "x"),
    "fractions": (
        TREE.replace("a,3,", "a,3.5,"),
        {},
        "must contain only integers under discrete_gaussian noise",
    ),
    "a batch": (
        "table," + TREE.replace("\n", "\nt,")[:-2],
        {"prior": None},
        "a batch cannot contain trees: use one scenario per tree",
    ),
}


def test_a_count_that_was_withheld_needs_its_scale(made):
    """Check that a row without a value is treated as a count without a measurement. Such a row does not need a scale.
    If a threshold withheld the value, the scale is required.
    """
    made(TREE)
    noise = {"law": "discrete_gaussian", "threshold": -5}
    made(TREE.replace("north,,state,region,", "north,,state,region,1.0"), noise=noise)
    with pytest.raises(ValueError, match=r"column 'sigma': the cell in row 2 must not be empty"):
        made(TREE, noise=noise)


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_tree_is_refused_in_words(tmp_path, monkeypatch, what):
    monkeypatch.chdir(tmp_path)
    text, more, words = WRONG[what]
    (tmp_path / "geo.csv").write_text(text)
    written = yaml.safe_load(SCENARIO)["geo"] | more
    whole = {"scenarios": {"geo": {k: v for k, v in written.items() if v is not None}}}
    found = [message for _, message in scenario_settings.mistakes(whole, kind.discover())]
    assert len(found) >= 1
    assert re.search(words, " ".join(found)), found


@pytest.mark.parametrize("relation", ["add or remove a record", "replace a record"])
def test_a_release_of_a_tree_is_answered_from_its_record_alone(tmp_path, monkeypatch, relation):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "confidential").mkdir(mode=0o700)
    text = "category,parent,count\nstate,,30\nnorth,state,18\nsouth,state,12\na,north,10\nb,north,8\n"
    (tmp_path / "confidential/t.csv").write_text(text)
    asked = {"mechanism": "discrete_gaussian", "rho": 0.5, "levels": ["state", "region", "county"], "narrow": "region"}
    asked |= {"data": "confidential/t.csv", "relation": relation}
    folder = room.make("t", asked, root=tmp_path)
    (tmp_path / "confidential/t.csv").unlink()
    command.main(["answer", "releases/t/1", "--ask", "north > south"])
    rows, _, _ = making.read(making.files("t", tmp_path))
    found = dpm.posterior(dpm.read(folder))
    for row in rows[rows["type"] == "count"].itertuples():
        law = found.counts[row.quantity]
        assert (row.mean, row.sd) == pytest.approx((law.mean(), law.sd()), abs=1e-9)
        assert (row.lower, row.upper) == law.interval(0.95)
    (chance,) = rows.loc[rows["type"] == "question", "mean"]
    assert chance == pytest.approx(float(found.probability("north > south")), abs=1e-12)
    public = relation == "replace a record"
    assert (rows.loc[rows["quantity"] == "state", "sd"].item() == 0) == public
    said = json.dumps(summarise(making.files("t", tmp_path)).assumptions)
    assert "release t, generation 1" in said
    assert "1 at level state, 2 at level region and 2 at level county" in said
    if not public:  # replacing a by south changes north, a and south; replacing a by b changes a and b
        scales = json.loads((folder / "record.json").read_text())["scale"]
        rho = {level: 1 / (2 * sd**2) for level, sd in scales.items()}
        worst = max(2 * rho["region"] + rho["county"], 2 * rho["county"])
        stated = re.search(r"rho = ([\d.]+) \(.*; rho = ([\d.]+) to replace a record", said)
        assert [float(part) for part in stated.groups()] == pytest.approx([sum(rho.values()), worst], rel=1e-5)
    with pytest.raises(SystemExit, match="about must be 'counts' for a tree, got 'rates'"):
        command.main(["answer", "releases/t/1", "--about", "rates"])


def test_the_library_reads_a_tree_as_the_scenario_does(made, tmp_path):
    rows, _ = table(made(TREE.replace(",0.8", ",1").replace(",1.2", ",1"), total=9))
    release = dpm.read(tmp_path / "geo.csv", mechanism=dpm.DiscreteGaussian(sigma=1.0), total=9)
    found = dpm.posterior(release, prior=1.0)
    for node in LEAVES:
        assert found.counts[node].mean() == pytest.approx(rows.loc[node, "mean"], abs=1e-12)
    (tmp_path / "geo.csv").write_text(TREE.replace("south,6,state", "south,6,north"))
    with pytest.raises(
        ValueError, match="line 5, column 'parent': must be the same in all rows with this name, got 'north'"
    ):
        dpm.read(tmp_path / "geo.csv", mechanism=dpm.DiscreteGaussian(sigma=1.0))


def test_bounds_of_a_count_that_is_given_twice_are_the_closer_ones():
    given = {"names": ["s", "a", "a", "b"], "parents": {"s": None, "a": "s", "b": "s"}}
    law = dpm.DiscreteGaussian(sigma=3.0)
    release = dpm.Release([9, 3, 4, 5], mechanism=law, bounds=([0, 2, 0, 0], [99, 99, 3, 99]), **given)
    found = dpm.posterior(release, prior=1.0)
    s, a, b = (
        np.array(part) for part in zip(*((i + j, i, j) for i, j in itertools.product((2, 3), range(60))), strict=True)
    )
    logs = -((9 - s) ** 2 + (3 - a) ** 2 + (4 - a) ** 2 + (5 - b) ** 2) / 18 - np.log1p(s)
    p = np.exp(logs - logs.max())
    assert found.counts["a"].mean() == pytest.approx(float(p @ a / p.sum()), abs=1e-9)
    assert found.counts["b"].mean() == pytest.approx(float(p @ b / p.sum()), abs=1e-9)
    with pytest.raises(ValueError, match="'a' twice"):
        dpm.Release([1, 2], mechanism=law, names=["a", "a"])


def test_levels_without_names_are_numbered(made):
    """Check that the description of a tree numbers the levels if the file has no column `level`. The levels are
    numbered, with one state at level 0, two regions at level 1 and four counties at level 2.
    """
    text = "".join(",".join(w for i, w in enumerate(line.split(",")) if i != 3) + "\n" for line in TREE.split())
    said = json.dumps(summarise(made(text)).assumptions)
    assert "1 at level 0, 2 at level 1 and 4 at level 2" in said
    assert "level level" not in said


def test_results_without_a_confidence_interval_state_the_reason(tmp_path, monkeypatch):
    """A count with two measurements has no confidence interval."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("name,value,parent\na,4,\na,6,\n", encoding="utf-8")
    stated = {"kind": "noisy_counts", "file": "t.csv", "noise": {"law": "discrete_laplace", "scale": 2.0}}
    files = making.files("t", tmp_path)
    making.part(scenario_settings.single("t", {**stated, "confidence": 0.9}, kind.discover()), files, root_seed=1)
    assert making.read(files)[0]["ci_lower"].isna().all()
    assert summarise(files).accuracy[-1] == (
        "No 90 % confidence interval is stated: every count was measured several times or has no interval with an "
        "upper limit."
    )


@pytest.mark.parametrize(
    ("size", "start"), [(23, "The true count of n22 is "), (24, "q: the total count of n0 and n1 is ")]
)
def test_the_headline_of_more_than_24_rows_is_the_first_answer(size, start):
    """Check tables of 24 and 25 rows, of which one is the answer to a question."""
    numbers = {"released": np.nan, "sd": 1.0, "level": 0.95, "status": "exact", "error": 0.0}
    listed = [
        {"quantity": f"n{i}", "type": "count", "mean": 10.0 + i, "lower": 5.0, "upper": 40.0} for i in range(size)
    ]
    listed.append({"quantity": "q", "type": "question", "mean": 21.0, "lower": 15.0, "upper": 27.0})
    facts = {"kind": "noisy_counts", "settings": {"questions": {"q": {"sum": ["n0", "n1"]}}}}
    point = {"noise": {"law": "laplace", "scale": 2.0}}
    assert sentences.headline(pd.DataFrame([numbers | one for one in listed]), facts, point).startswith(start)


@pytest.mark.parametrize("size", [12, 13])
def test_a_prior_lists_up_to_twelve_concentrations(size):
    text = sentences.prior_text({"law": "Dirichlet", "concentration": [float(i) for i in range(1, size + 1)]})
    listed = ", ".join(map(str, range(1, 13))) + (", .. (13 values)" if size == 13 else "")
    assert text == f"Dirichlet on the rates, with concentration {listed}"


@pytest.mark.parametrize(("beyond", "told"), [(10.0, False), (10.4, True)])
def test_intervals_differ_by_more_than_half_a_width(beyond, told):
    """Check a credible interval of width 20 that begins 10 or 10.4 below the confidence interval."""
    release = Release([50.0], names=["a"], mechanism=DiscreteLaplace(scale=2.0))
    low, high = confidence(release).counts.interval(0.95).to_numpy()[0]
    rows = pd.DataFrame({"quantity": ["a"], "type": "count", "lower": low - beyond, "upper": low - beyond + 20})
    assert abs(high - rows["upper"][0]) <= 10
    assert (without_prior.differing(rows, release, 0.95) != "") is told


def told(tmp_path, **settings):
    """Return the summary of a scenario as text, followed by the sentences of its page."""
    plain = {"kind": "noisy_counts", "noise": {"law": "laplace", "scale": 2.0}, **settings}
    files = making.files("told", tmp_path)
    making.part(scenario_settings.single("told", plain, kind.discover()), files, root_seed=1)
    return "\n".join([summary.as_text(files), *summary.summarise(files).sentences])


def test_bounds_of_counts_with_a_total_and_one_sided_limits_are_stated(tmp_path):
    """The 2.5 % quantile of a rate is above 0: a rate is below the upper limit with a probability of 97.5 %."""
    text = told(tmp_path, counts={"a": 5, "b": 30}, total=31, bounds={"upper": 30})
    assert "Every true count is between 0 and 30, by the stated bounds." in text
    text = told(tmp_path, counts={"a": 0, "b": 30}, total=30, noise="exact")
    assert re.search(r"underlying rate of a is below \S+ % with probability at least 95 %", text)
    text = told(tmp_path, counts={"a": 10, "b": 20}, total=31)
    assert re.search(r"rate of a is between \S+ % and \S+ % with probability 95 %", text)


def test_a_prior_has_its_numbers_without_a_decimal_point(tmp_path):
    prior = {"law": "negative_binomial", "mean": 50.0, "shape": 1.5}
    assert "Prior: negative binomial (mean 50, shape 1.5) (given" in told(tmp_path, counts={"a": 7}, prior=prior)


def test_rounding_changes_a_count(tmp_path):
    noise = {"law": "random_rounding", "base": 3, "threshold": 6}
    text = told(tmp_path, counts={"a": 12, "b": None}, noise=noise)
    assert "Each count was changed by random rounding to a multiple of 3, then suppression of values below 6, " in text


@pytest.mark.parametrize(("total", "ending"), [(None, " with probability at least 95 %."), (30, " of 30.")])
def test_a_count_of_a_tree_is_certain_if_it_is_public(made, total, ending):
    """Noise of scale 0.01 changes a count with probability 2/(1 + exp(100)), which is not 0; its variance is about
    2 exp(-100), so that of a least-squares estimate from y and a sum of two others is 2/3 of it.
    """
    text = "name,value,parent\nall,30,\na,10,all\nb,20,all\n"
    files = made(text, noise={"law": "discrete_laplace", "scale": 0.01}, **({} if total is None else {"total": total}))
    found = summarise(files)
    assert found.headline == f"The true count of all is exactly 30{ending}"
    of = "" if total is None else " of 30"
    assert f"The true count of a is exactly 10{of} with probability at least 95 %." in found.sentences
    sd = np.sqrt(4 / 3) * np.exp(-50)
    assert {line.least_squares for line in found.lines} == {f"{n} ± {sd:.2g}" for n in (30, 10, 20)}


def chain(size):
    """Return the columns of a file that describes a tree with a single path of `size` nodes below the root."""
    names = [str(i) for i in range(size + 1)]
    return {"name": names, "parent": ["", *names[:-1]]}


def test_the_distance_to_the_root_is_limited():
    from dpmultinomial._files.table_columns import DEEPEST

    for columns in (chain(DEEPEST - 1), {key: part[::-1] for key, part in chain(DEEPEST - 1).items()}):
        assert rules.depths(columns) == {str(i): i for i in range(DEEPEST)}
    for columns in (chain(DEEPEST), {key: part[::-1] for key, part in chain(DEEPEST).items()}):
        with pytest.raises(ValueError, match=f"the depth of '{DEEPEST}' must be < {DEEPEST}, got at lea"):
            rules.depths(columns)


@pytest.mark.parametrize(
    ("names", "parents", "words"),
    [
        ("ab", ["", "b"], r"the ancestors of 'b' contain a cycle \(b -> b\)"),
        ("abc", ["", "c", "b"], "the ancestors of 'b' contain a cycle"),
        ("ab", ["", ""], "got 2: 'a', 'b'"),
        ("abcd", ["", "", "", ""], "got 4: 'a', 'b', 'c'$"),
        ("ab", ["b", "a"], "got none"),
        ("aba", ["", "a", "b"], "'a' has two parents, 'b' and none"),
        ("abb", ["", "a", ""], "'b' has two parents, none and 'a'"),
        ("ab", ["", "x"], "the parent of 'b' is 'x'"),
    ],
)
def test_parents_that_are_no_tree(names, parents, words):
    with pytest.raises(ValueError, match=words):
        rules.depths({"name": list(names), "parent": parents})


def test_levels_are_named_once_in_the_order_of_their_distance():
    columns = {"name": list("cab"), "parent": ["b", "", "a"]}
    assert rules.levels(columns) is None
    assert rules.levels({**columns, "level": ["z", "x", "y"]}) == ["x", "y", "z"]
    with pytest.raises(ValueError, match=r"'c' has level '', but another node at the same depth \(2\) has level ''"):
        rules.levels({**columns, "level": ["", "x", "y"]})
    with pytest.raises(ValueError, match="must have different names, got x, y, x"):
        rules.levels({**columns, "level": ["x", "x", "y"]})
    assert rules.is_tree(columns)
    assert not rules.is_tree({"name": ["a"]})
    assert not rules.is_tree(None)
