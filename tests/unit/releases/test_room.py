"""Tests of making releases: results, rejected input, messages, order of rows; numbers derived at the assertion."""

import hashlib
import json
import math
import shutil
import stat
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from dpmultinomial._files import csv_table, published
from dpmultinomial._files.csv_table import parse
from dpmultinomial._releases import (
    _budget_records,
    _confidential,
    _counts,
    _keys,
    _noise,
    _protocol,
    _statistics,
    checks,
    room,
    spending,
)
from dpmultinomial._seeding import stream

COUNTS = "category,count\nnorth,120\nsouth,75\n" + '"east, far",0\nwest,5\n'
PEOPLE = "id,block,tenure,age\n" + "".join(
    f"{i:03d},{i % 4},{'own' if i % 3 else 'rent'},{20 + i % 7}\n" for i in range(80)
)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential" / "counts.csv").write_text(COUNTS)
    (tmp_path / "confidential" / "people.csv").write_text(PEOPLE)
    return tmp_path


def counts(**more):
    asked = {"mechanism": "discrete_laplace", "data": "confidential/counts.csv", "epsilon": 1.0, "source": "survey"}
    return asked | more


def people(mechanism, **more):
    return {"mechanism": mechanism, "data": "confidential/people.csv", "source": "survey"} | more


MODEL = {
    "levels": {"tenure": ["own", "rent"], "block": ["0", "1", "2", "3"]},
    "numeric": "age",
    "bounds": {"age": [18, 30]},
}
SETTINGS = {
    "discrete_laplace": counts(),
    "discrete_gaussian": {
        "mechanism": "discrete_gaussian",
        "data": "confidential/counts.csv",
        "rho": 0.5,
        "source": "survey",
    },
    "additive_counts": counts(mechanism="additive_counts"),
    "censored_statistics": people("censored_statistics", column="age", lower=21, upper=25.5, epsilon=2.0),
    "swap": people("swap", swap="tenure", match="block", rate=0.3),
    "naive_bayes": people("naive_bayes", target="tenure", noise="dirichlet", epsilon=3.0, order=5.0, **MODEL),
    "bayesian_network": people(
        "bayesian_network", noise="discrete_laplace", epsilon=3.0, network={"age": ["tenure"], "tenure": []}, **MODEL
    ),
}


def record(folder):
    return json.loads((folder / "record.json").read_text())


@pytest.mark.parametrize("mechanism", _keys.MECHANISMS)
def test_every_mechanism_makes_a_write_once_release_with_its_record(root, mechanism):
    settings = SETTINGS[mechanism]
    assert room.check("r", settings, root=root) == []
    folder = room.make("r", settings, root=root)
    assert folder == root / "releases" / "r" / "1"
    assert sorted(p.name for p in folder.iterdir()) == ["record.json", "release.csv"]
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o444}
    said = record(folder)
    assert said["sha256"] == hashlib.sha256((folder / "release.csv").read_bytes()).hexdigest()
    wanted = {"release", "generation", "source", "mechanism", "law", "cost", "neighbours", "hardened", "versions"}
    assert wanted <= set(said)
    assert said["neighbours"] == said["cost"]["relation"]
    (entry,) = _budget_records.Ledger(root / "releases" / "ledger.tsv").entries()
    assert (entry.state, entry.sha256, entry.source) == (_budget_records.PUBLISHED, said["sha256"], "survey")
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    assert room.make("r", settings, root=root) == folder
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert len(_budget_records.Ledger(root / "releases" / "ledger.tsv").entries()) == 1
    found = published.open_release(folder)
    assert found.record == said
    assert found.table.columns == csv_table.read(folder / "release.csv").columns
    assert repr(found) == f"Published(r, generation 1: {mechanism})"


def test_a_published_file_that_was_changed_is_not_inferred_from(root):
    folder = room.make("r", counts(), root=root)
    assert published.open_release(folder).number("scale") == 2.0
    with pytest.raises(ValueError, match="the value of law must be a number"):
        published.open_release(folder).number("law")
    data = (folder / "release.csv").read_bytes()
    (folder / "release.csv").chmod(0o644)
    (folder / "release.csv").write_bytes(data.replace(b"north", b"North"))
    with pytest.raises(ValueError, match=r"the SHA-256 checksum is \w+, but record.json states \w+: restore both"):
        published.open_release(folder)
    (folder / "record.json").chmod(0o644)
    for text in ("{", "[]", "{}"):
        (folder / "record.json").write_text(text)
        with pytest.raises(ValueError, match=r"record\.json"):
            published.open_release(folder)


def test_a_swapped_file_in_another_encoding_is_read_as_its_record_says(root):
    text = "id;näme\r\n" + "".join(f"{i};ü{i}\r\n" for i in range(9))
    for encoding in ("latin-1", "utf-16", "utf-16-le"):
        (root / "confidential" / "e.csv").write_bytes(text.encode(encoding))
        stated = {} if encoding == "utf-16" else {"encoding": encoding}
        settings = {
            "mechanism": "swap",
            "data": "confidential/e.csv",
            "swap": "näme",
            "rate": 0.5,
            "source": "e",
        } | stated
        folder = room.make(encoding.replace("-", ""), settings, root=root)
        assert sorted(published.open_release(folder).table.texts("näme")) == [f"ü{i}" for i in range(9)]
        assert len((folder / "release.csv").read_bytes()) == len(text.encode(encoding))


def test_records_of_counts_state_law_scale_and_cost(root):
    said = record(room.make("a", counts(epsilon=0.5), root=root))
    # a replaced record moves two counts by one: L1 2, so scale 2/epsilon
    assert (said["law"], said["scale"], said["cost"]["epsilon"], said["total"]) == ("discrete Laplace", 4.0, 0.5, 200)
    said = record(room.make("b", SETTINGS["discrete_gaussian"], root=root))
    # squared L2 2: rho = 2/(2 scale^2), so scale 1/sqrt(rho)
    assert said["scale"] == pytest.approx(math.sqrt(2), rel=1e-14)
    assert said["cost"]["rho"] == pytest.approx(0.5, rel=1e-14)
    said = record(room.make("c", counts(sensitivity=4), root=root))
    assert (said["scale"], said["cost"]["epsilon"]) == (4.0, 1.0)
    said = record(room.make("d", counts(mechanism="additive_counts", epsilon=0.25), root=root))
    assert (said["scale"], said["cost"]["epsilon"], said["neighbours"]) == (4.0, 0.5, spending.ADD_OR_REMOVE)
    assert "total" not in said  # of an additive release the total is confidential and gets noise of its own


def test_released_counts_have_the_stated_law(root):
    (root / "confidential" / "many.csv").write_text(
        "category,count\n" + "".join(f"c{i:05},{i % 9}\n" for i in range(20_000))
    )
    folder = room.make("m", counts(data="confidential/many.csv"), root=root)
    table = csv_table.read(folder / "release.csv")
    assert table.texts("category") == [f"c{i:05}" for i in range(20_000)]
    error = table.whole("count") - np.arange(20_000) % 9
    q = math.exp(-1 / 2)
    expected = 20_000 * np.array([(1 - q) / (1 + q) * q ** abs(k) for k in range(-9, 10)])
    observed = np.array([(error == k).sum() for k in range(-9, 10)])
    rest = 20_000 - expected.sum(), 20_000 - observed.sum()
    chi2 = ((observed - expected) ** 2 / expected).sum() + (rest[1] - rest[0]) ** 2 / rest[0]
    assert stats.chi2.sf(chi2, 19) > 1e-9  # false alarm rate 1e-9


def test_a_swap_keeps_its_invariants_and_every_other_byte(root):
    folder = room.make("s", SETTINGS["swap"], root=root)
    before = parse(PEOPLE.encode(), name="people.csv", confidential=False)
    after = csv_table.read(folder / "release.csv")
    for column in ("id", "block", "age"):
        assert after.texts(column) == before.texts(column)
    pairs = [sorted(zip(t.texts("block"), t.texts("tenure"), strict=True)) for t in (before, after)]
    assert pairs[0] == pairs[1]
    assert after.exchanged(["tenure"], np.arange(80)) == (folder / "release.csv").read_bytes()
    said = record(folder)
    # b = 20 records a block, odds 3/7: epsilon = ln 21 - ln(3/7) a unit of distance, an exchange is two units
    assert said["cost"]["epsilon"] == pytest.approx(2 * math.log(21 * 7 / 3), rel=1e-12)
    assert list(said).index("cost") < list(said).index("epsilon_per_unit_of_distance")
    report = root / "confidential" / "s_1_changes.csv"
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert report.read_text().startswith(
        "marking,quantity,before,after\nconfidential,share of records with another tenure"
    )


def test_a_swap_that_cannot_change_anything_is_refused(root):
    (root / "confidential" / "flat.csv").write_text("a,b\n1,x\n1,y\n2,z\n")
    with pytest.raises(ValueError, match="would be equal to the confidential file"):
        room.make(
            "s",
            people("swap", swap="b", match="a", rate=0.1)
            | {"data": "confidential/flat.csv", "swap": "a", "match": "b"},
            root=root,
        )
    assert not (root / "releases" / "s" / "1").exists()


def test_censored_statistics_state_a_scale_and_a_fine_grid_for_each(root):
    shares = {"mean": 0.4, "sse": 0.4, "low": 0.1, "high": 0.1}
    settings = SETTINGS["censored_statistics"] | {"shares": shares}
    folder = room.make("c", settings, root=root)
    said, table = record(folder), csv_table.read(folder / "release.csv")
    w = 4.5
    sensitivity = {"mean": w, "sse": w**2 * (1 - 1 / 80), "low": 1.0, "high": 1.0}
    assert said["sensitivity"] == pytest.approx(sensitivity, rel=1e-15)
    for key, share in shares.items():
        assert said["scale"][key] == pytest.approx(sensitivity[key] / (2.0 * share), rel=1e-5)
        assert said["scale"][key] > sensitivity[key] / (2.0 * share)
        assert said["step"][key] <= said["scale"][key] / 1000
        assert math.log2(said["step"][key]).is_integer()
        value = dict(zip(table.texts("statistic"), table.texts("value"), strict=True))[key]
        assert (float(value) / said["step"][key]).is_integer()
    assert said["cost"]["epsilon"] == pytest.approx(2.0, rel=1e-12)
    assert said["cost"]["epsilon"] <= 2.0 * (1 + 1e-15)
    with pytest.raises(
        ValueError, match=r"sensitivities/sse must be >= the sensitivity that follows from the limits \(19\.99"
    ):
        room.make("d", settings | {"sensitivities": {"sse": 19.9}}, root=root)


def test_each_statistics_sensitivity_is_reached_by_brute_force():
    from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics

    mechanism = CensoredStatistics(lower=0.0, upper=2.5)
    for n in (2, 3, 4):
        pairs = mechanism._neighbours(n, 3)
        worst = np.max([np.abs(mechanism.of(x) - mechanism.of(y)) for x, y in pairs], axis=0)
        assert worst == pytest.approx(list(_statistics.sensitivities(2.5, n).values()), rel=1e-12)


def test_rounding_to_the_grid_never_passes_the_units_that_are_charged():
    rng = np.random.default_rng(5)
    step = _statistics.step(4.5, 2.0)
    assert step == 2.0 ** (1 - 20)  # 4.5/2 = 2.25, 2^1 below it
    units = math.ceil(4.5 / step) + _statistics.SPARE
    a = rng.uniform(-9, 9, 20_000)
    moved = np.abs(np.floor(a / step + 0.5) - np.floor((a + 4.5) / step + 0.5))
    assert moved.max() <= units - 1


def test_models_hold_probabilities_and_a_card(root):
    folder = room.make("m", SETTINGS["naive_bayes"], root=root)
    said, table = record(folder), csv_table.read(folder / "release.csv")
    assert said["hardened"] is False
    assert said["not_hardened_because"]
    assert (said["order"], said["cost"]["epsilon"], said["tables"]) == (5.0, 3.0, 3)
    sums = {}
    for node, given, share in zip(table.texts("node"), table.texts("given"), table.numbers("probability"), strict=True):
        sums[node, given] = sums.get((node, given), 0.0) + share
    assert len(sums) == 1 + 2 + 2
    assert list(sums.values()) == pytest.approx([1.0] * 5, abs=1e-12)
    said = record(room.make("n", SETTINGS["bayesian_network"], root=root))
    # two tables, two cells each move by one: L1 4, scale 4/3
    assert said["scale"] == pytest.approx(4 / 3, rel=1e-15)
    assert said["hardened"] is True
    wrong = SETTINGS["bayesian_network"] | {"levels": {"tenure": ["own", "lease"]}}
    with pytest.raises(ValueError, match=r"people\.csv, line 2, column 'tenure': must be one of the public levels$"):
        room.make("o", wrong, root=root)


@pytest.mark.parametrize("least", [-30, -3, -1, 0, 2, 40])
def test_conditioned_noise_has_its_law(least):
    drawn = _counts.conditioned(np.full(40_000, least), scale=2.5, rng=stream(3, "conditioned", least + 100))
    values = np.arange(least, max(least, 0) + 25)
    weights = np.exp(-np.abs(values) / 2.5)
    law = weights / (np.exp(-np.abs(np.arange(least, max(least, 0) + 400)) / 2.5).sum())
    kept = law * 40_000 >= 8
    observed = np.array([(drawn == v).sum() for v in values[kept]])
    expected = 40_000 * law[kept]
    assert drawn.min() >= least
    chi2 = ((observed - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(chi2, kept.sum() - 1) > 1e-4  # fixed streams: six cases, 6e-4 together


def test_law_of_summed_noise_is_the_convolution():
    q = math.exp(-1 / 1.5)
    k = np.arange(-60, 61)
    one = (1 - q) / (1 + q) * q ** np.abs(k)
    three = np.convolve(np.convolve(one, one), one)
    found = _counts.summed_law(np.arange(20), 3, 1.5)
    assert np.exp(found - found[0]) == pytest.approx(three[180:200] / three[180], rel=1e-10)


@pytest.mark.parametrize("algorithm", _keys.ALGORITHMS)
def test_arranged_counts_add_up_and_follow_their_total(algorithm):
    noisy = np.array([120, 70, -3, 9])
    drawn = [
        _counts.arranged(noisy, 200, scale=1.0, algorithm=algorithm, rng=stream(1, "arranged", i)) for i in range(400)
    ]
    assert np.min(drawn) >= 0
    totals = np.sum(drawn, axis=1)
    if algorithm in ("2", "3"):
        assert (totals == 200).all()
        expected = 200 * np.array([120, 70, 0, 9]) / 199
    else:
        low = totals.mean()
        assert abs(low - (200 if algorithm == "1-independent" else 199.8)) < 1.0  # sd of a mean below 0.1
        expected = low * np.array([120, 70, 0, 9]) / 199
    # multinomial sd of a component at most 7, of the mean of 400 at most 0.36
    assert np.abs(np.mean(drawn, axis=0) - expected).max() < 2.0
    empty = _counts.arranged(np.array([-2, 0]), 5, scale=1.0, algorithm="2", rng=stream(1, "empty"))
    assert empty.sum() == 5


# Refusals.


def test_all_mistakes_are_told_at_once_and_nothing_is_opened(root):
    opened = []
    original = _confidential.read
    settings = counts(epsilon=-1, sensitivity=1, generatoin=2, encoding="utf8", data="confidential/none.csv")
    try:
        _confidential.read = lambda path: opened.append(path)
        found = dict(room.check("r", settings, budgets={"survey": {"epsilom": 1}, "x": {"epsilon": 0}}, root=root))
        with pytest.raises(ValueError, match="generatoin") as caught:
            room.make("r", settings, root=root)
    finally:
        _confidential.read = original
    assert not opened
    assert set(found) == {
        "budgets/survey", "budgets/x/epsilon", "releases/r/generatoin", "releases/r/epsilon", "releases/r/sensitivity",
        "releases/r/encoding", "releases/r/data",
    }  # fmt: skip
    assert "did you mean 'generation'" in found["releases/r/generatoin"]
    assert "must be >= 2" in found["releases/r/sensitivity"]
    assert str(caught.value).count("\n") == 4
    assert not (root / "releases").exists()


@pytest.mark.parametrize(
    ("name", "settings", "path", "rule"),
    [
        ("Bad", counts(), "releases/Bad", "name"),
        ("r", [1], "releases/r", "mapping"),
        ("r", counts(mechanism="laplace"), "releases/r/mechanism", "discrete_laplace"),
        ("r", counts(counts=[1, 2]), "releases/r/counts", "does not have this key"),
        ("r", counts(epsilon=20.5), "releases/r/epsilon", "gives almost no protection"),
        (
            "r",
            counts(mechanism="additive_counts", epsilon=10.5),
            "releases/r/epsilon",
            "got 21; to accept this, set accept_weak_privacy: true (the release costs 2 epsilon)",
        ),
        ("r", counts(epsilon=True), "releases/r/epsilon", "must be a number"),
        ("r", counts(epsilon="1"), "releases/r/epsilon", "must be a number"),
        ("r", counts(epsilon=float("nan")), "releases/r/epsilon", "must be > 0"),
        ("r", counts(epsilon=float("inf")), "releases/r/epsilon", "must be finite, got inf"),
        ("r", counts(generation=0), "releases/r/generation", ">= 1"),
        ("r", counts(generation=1.0), "releases/r/generation", "integer"),
        ("r", counts(source="My Survey"), "releases/r/source", "lower-case letters, digits and _"),
        ("r", SETTINGS["swap"] | {"rate": 1}, "releases/r/rate", "< 1"),
        ("r", SETTINGS["swap"] | {"match": ["tenure"]}, "releases/r/match", "must not contain the columns in swap"),
        ("r", SETTINGS["swap"] | {"swap": []}, "releases/r/swap", "list of distinct strings"),
        ("r", SETTINGS["censored_statistics"] | {"upper": 21}, "releases/r/upper", "above"),
        ("r", SETTINGS["censored_statistics"] | {"shares": {"mean": 1.0}}, "releases/r/shares", "sum to 1"),
        ("r", SETTINGS["naive_bayes"] | {"rho": 1}, "releases/r/rho", "does not have this key"),
        ("r", SETTINGS["naive_bayes"] | {"delta": 1e-3}, "releases/r/delta", "allows the release of whole records"),
        ("r", SETTINGS["naive_bayes"] | {"bounds": {"age": [3, 3]}}, "releases/r/bounds", "low < high"),
        ("r", SETTINGS["naive_bayes"] | {"target": "age"}, "releases/r/levels", "target"),
        (
            "r",
            SETTINGS["bayesian_network"] | {"network": {"tenure": ["age"], "age": ["tenure"]}},
            "releases/r/network",
            "cycle among 'tenure', 'age'",
        ),
        ("r", SETTINGS["bayesian_network"] | {"network": {"tenure": ["age"]}}, "releases/r/network", "is not a node"),
        (
            "r",
            SETTINGS["bayesian_network"] | {"network": {"sex": []}},
            "releases/r/network",
            "columns that have levels or bounds",
        ),
    ],
)
def test_each_mistake_has_its_path_and_rule(root, name, settings, path, rule):
    found = dict(room.check(name, settings, root=root))
    assert list(found) == [path]
    assert rule in found[path]


def test_weak_privacy_needs_a_key_that_says_so(root):
    assert room.check("r", counts(epsilon=25, accept_weak_privacy=True), root=root) == []
    with pytest.raises(
        ValueError, match=r"epsilon must be <= 20, because a larger value gives almost no protection, got 2\d\.\d+"
    ):
        room.make("s", SETTINGS["swap"] | {"rate": 0.0001}, root=root)
    room.make("s", SETTINGS["swap"] | {"rate": 0.0001, "accept_weak_privacy": True}, root=root)


def test_a_folder_the_ledger_does_not_know_is_refused(root):
    (root / "releases" / "r" / "1").mkdir(parents=True)
    (root / "releases" / "r" / "1" / "mine.txt").write_text("x")
    with pytest.raises(ValueError, match=r"contains 'mine\.txt': remove all files"):
        room.make("r", counts(), root=root)
    assert (root / "releases" / "r" / "1" / "mine.txt").read_text() == "x"
    (root / "releases" / "r" / "1" / "mine.txt").unlink()
    assert room.make("r", counts(), root=root).is_dir()  # an empty folder is what a workflow makes beforehand


def test_changed_settings_or_data_under_one_generation_are_refused(root):
    budgets = {"survey": {"epsilon": 2.5}}
    folder = room.make("r", counts(), root=root, budgets=budgets)
    before = (folder / "release.csv").read_bytes()
    with pytest.raises(ValueError, match=r"settings changed .*generation to 2 .*, which spends epsilon 1 .* again"):
        room.make("r", counts(epsilon=0.5), root=root, budgets=budgets)
    path = root / "confidential" / "counts.csv"
    path.write_text(COUNTS.replace("75", "76"))
    with pytest.raises(ValueError, match="confidential file changed"):
        room.make("r", counts(), root=root, budgets=budgets)
    second = room.make("r", counts(generation=2), root=root, budgets=budgets)
    assert second.name == "2"
    with pytest.raises(
        ValueError, match=r"epsilon would rise from 2 to 3 \(replace a record\), but the budget is 2\.5"
    ):
        room.make("r", counts(generation=3), root=root, budgets=budgets)
    with pytest.raises(ValueError, match="generation must be 3"):
        room.make("r", counts(generation=5), root=root)
    assert (folder / "release.csv").read_bytes() == before
    path.write_text(COUNTS)
    assert room.make("r", counts(), root=root) == folder


def test_a_published_release_serves_where_the_confidential_file_is_not(root):
    folder = room.make("r", counts(), root=root)
    (root / "confidential" / "counts.csv").unlink()
    assert room.make("r", counts(), root=root) == folder
    assert room.spent("r", counts(), root=root).startswith("source survey: epsilon 1 or rho 0.5 (replace a record); ")
    (root / "releases" / "ledger.tsv").unlink()
    assert room.make("r", counts(), root=root) == folder
    said = room.spent("r", counts(), root=root)
    assert said == "source survey: unknown, because releases/ledger.tsv does not contain this release"


@pytest.mark.parametrize(
    ("stated", "asked", "key", "equal"),
    [  # a scale is rounded by a few last bits, so that the cost is lower by up to a millionth
        (1.0, 1.0, "epsilon", True),
        (0.9999991, 1.0, "epsilon", True),
        (0.9999989, 1.0, "epsilon", False),
        (1.0000001, 1.0, "rho", False),
        (0.9999991, 1.0, "sensitivity", False),
        ("a", "a", "source", True),
        ("a", "b", "source", False),
    ],
)
def test_a_stated_cost_may_be_a_millionth_below_the_cost_of_the_settings(stated, asked, key, equal):
    assert room._equal(stated, asked, key) == equal


def test_tampered_lost_and_keyless_releases_are_told(root):
    folder = room.make("r", counts(), root=root)
    (root / "confidential" / ".release_key").rename(root / "key")
    with pytest.raises(ValueError, match="release_key is missing"):
        room.make("r", counts(), root=root)
    (root / "key").rename(root / "confidential" / ".release_key")
    (root / "confidential" / ".release_key").chmod(0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        room.make("r", counts(), root=root)
    (root / "confidential" / ".release_key").chmod(0o600)
    (folder / "release.csv").chmod(0o644)
    (folder / "release.csv").write_text("category,count\n")
    with pytest.raises(ValueError, match="missing, were changed"):
        room.make("r", counts(), root=root)


@pytest.mark.parametrize(
    "text",
    ["category,count,more\na,1,2\nb,2,3\n", "category,count\na,1\n", "category,count\na,1\na,2\n",
     "category,count\n,1\nb,2\n",
     "category,count\na,-1\nb,2\n", "category,count\na,1.5\nb,2\n",
     "category,count\na,9007199254740992\nb,2\n",
     "category,count\na,1,\nb,2,\n"],
)  # fmt: skip
def test_bad_counts_spend_nothing(root, text):
    (root / "confidential" / "bad.csv").write_text(text)
    with pytest.raises(ValueError, match=r"confidential/bad\.csv"):
        room.make("r", counts(data="confidential/bad.csv"), root=root)
    assert _budget_records.Ledger(root / "releases" / "ledger.tsv").entries() == []


# Costs.


def test_costs_add_up_by_relation_and_never_across():
    pure = [spending.Cost(relation=spending.REPLACE, epsilon=e) for e in (0.5, 1.0)]
    assert spending.epsilon_at(pure, delta=0) == 1.5
    rho = spending.Cost(relation=spending.REPLACE, rho=0.1)
    assert spending.epsilon_at([rho], delta=0) == math.inf
    # the usual conversion rho + 2 sqrt(rho ln(1/delta)) is an upper bound of the tight one
    assert 0.7 < spending.epsilon_at([rho], delta=1e-6) < 0.1 + 2 * math.sqrt(0.1 * math.log(1e6))
    assert spending.rho_of([*pure, rho]) == pytest.approx(0.125 + 0.5 + 0.1, rel=1e-15)
    other = spending.Cost(relation=spending.EXCHANGE, epsilon=9.0)
    with pytest.raises(ValueError, match="all costs must have the same neighbouring relation"):
        spending.epsilon_at([*pure, other], delta=0)
    assert spending.beyond([other, *pure], {"epsilon": 1.5}) is None
    assert "from 0.5 to 1.5" in spending.beyond([other, *pure], {"epsilon": 1.4})
    assert "add a delta to the budget" in spending.beyond([pure[0], rho], {"epsilon": 99.0})
    # pure 0.5 is 0.125-zCDP, together 0.225; 0.225 + 2 sqrt(0.225 ln(10^6)) = 3.75 bounds the tight one
    assert spending.beyond([pure[0], rho], {"epsilon": 3.75, "delta": 1e-6}) is None
    assert spending.beyond([pure[0], rho], {"epsilon": 1.0, "delta": 1e-6}) is not None
    renyi = spending.Cost(relation=spending.REPLACE, epsilon=1.0, order=5.0)
    expected = 1.0 + math.log(4) - (math.log(1e-6) + 5 * math.log(5)) / 4  # equation 14 of Ponnoprat at order 5
    assert spending.epsilon_at([renyi], delta=1e-6) == pytest.approx(expected, rel=1e-12)
    assert spending.rho_of([renyi]) == math.inf
    for cost in (*pure, rho, renyi):
        assert spending.read(str(cost)) == cost


def test_a_check_finds_what_the_budget_left_does_not_cover(root):
    """Check that with 0.6 of 1 spent, 0.6 more would be 1.2, and that the published release is not counted twice."""
    budgets = {"survey": {"epsilon": 1.0}}
    assert room.check("b", counts(epsilon=0.6), root=root, budgets=budgets) == []
    room.make("a", counts(epsilon=0.6), root=root, budgets=budgets)
    assert room.check("a", counts(epsilon=0.6), root=root, budgets=budgets) == []
    assert room.check("b", counts(epsilon=0.4), root=root, budgets=budgets) == []
    ((place, why),) = room.check("b", counts(epsilon=0.6), root=root, budgets=budgets)
    assert place == "releases/b"
    assert "epsilon would rise from 0.6 to 1.2" in why
    ((_, why),) = room.check("b", counts(epsilon=1.0), root=root, budgets={"survey": {"epsilon": 0.5}})
    assert "epsilon would rise from 0.6 to 1.6 (" in why
    ((_, why),) = room.check("c", counts(epsilon=1.0), root=root / "none", budgets={"survey": {"epsilon": 0.5}})[:1]
    assert "epsilon would rise from 0 to 1 (" in why  # the settings are not reduced by the rounding tolerance
    (root / "releases" / "ledger.tsv").write_bytes(b"damaged\n")
    ((place, why),) = room.check("b", counts(epsilon=0.4), root=root, budgets=budgets)
    assert "line 1" in why


@pytest.mark.parametrize("mechanism", SETTINGS)
def test_the_cost_by_settings_is_the_cost_of_the_release(root, mechanism):
    """Check that the check before a release and the record after it state the same cost, up to rounding of a scale."""
    room.make("a", SETTINGS[mechanism], root=root)
    entry, *_ = _budget_records.Ledger(root / "releases" / "ledger.tsv").entries()
    cost = spending.by_settings(checks.filled(SETTINGS[mechanism]))
    if SETTINGS[mechanism]["mechanism"] == "swap":
        assert cost is None
        return
    assert (cost.relation, cost.order) == (entry.spent.relation, entry.spent.order)
    for name in ("epsilon", "rho"):
        asked, spent = getattr(cost, name), getattr(entry.spent, name)
        assert asked == (None if spent is None else pytest.approx(spent, rel=3e-6))
        assert spent is None or asked <= spent


@pytest.mark.parametrize("more", [{"levels": ["all", "part"]}, {"relation": "add or remove a record"}])
def test_the_cost_by_settings_of_a_tree_is_that_of_adding_a_record(root, more):
    """Check settings that only trees have: adding or removing a record, which counts twice against a budget."""
    (root / "confidential" / "counts.csv").write_text("category,parent,count\nall,,3\nx,all,1\ny,all,2\n")
    room.make("a", counts(**more), root=root)
    entry, *_ = _budget_records.Ledger(root / "releases" / "ledger.tsv").entries()
    cost = spending.by_settings(checks.filled(counts(**more)))
    assert cost.relation == entry.spent.relation == spending.ADD_OR_REMOVE
    assert cost.epsilon == pytest.approx(entry.spent.epsilon, rel=3e-6)
    ((_, why),) = room.check("b", counts(**more), root=root, budgets={"survey": {"epsilon": 1.0}})
    assert "epsilon would rise from 1 to" in why or "from 2 to 4" in why


def test_budgets_are_those_of_the_source(root):
    budgets = {"survey": {"epsilon": 1.0}}
    room.make("a", counts(source="survey", epsilon=0.6), root=root, budgets=budgets)
    with pytest.raises(ValueError, match=r"budgets/survey: epsilon would rise from 0\.6 to 1\.2"):
        room.make("b", counts(source="survey", epsilon=0.6), root=root, budgets=budgets)
    room.make("b", counts(source="survey", epsilon=0.4), root=root, budgets=budgets)
    with pytest.raises(
        ValueError, match="releases/c/source: the source c has no budget: add one, or did you mean survey"
    ):
        room.make("c", counts(epsilon=5.0, source=None), root=root, budgets=budgets)


def test_a_torn_last_line_of_the_ledger_is_cut(root):
    room.make("a", counts(), root=root)
    book = _budget_records.Ledger(root / "releases" / "ledger.tsv")
    whole = book.path.read_bytes()
    book.path.write_bytes(whole + b"2026-01-01T00:00:00Z\tb\t1")
    assert [e.release for e in book.entries()] == ["a"]
    room.make("b", counts(), root=root)
    assert [e.release for e in book.entries()] == ["a", "b"]
    assert book.path.read_bytes().startswith(whole)
    book.path.write_bytes(whole + b"nonsense\n")
    with pytest.raises(ValueError, match="line 4: the line must have 11 fields, got 1"):
        room.make("c", counts(), root=root)


def test_what_the_key_table_says(root):
    rows = _keys.table()
    assert {r["mechanism"] for r in rows} == set(_keys.MECHANISMS)
    assert all(r["description"] and r["type"] for r in rows)
    assert checks.filled(counts())["generation"] == 1
    assert _protocol.WAIT > 0
    assert _noise.LARGEST == 2**53


def test_a_release_whose_last_line_was_lost_is_finished_without_a_draw(root):
    """Check that with all files published and spent in the ledger, the next call only records the publication."""
    settings = counts(epsilon=0.5)
    folder = room.make("r", settings, root=root)
    path = root / "releases" / "ledger.tsv"
    before, data = path.read_bytes(), (folder / _protocol.DATA).read_bytes()
    path.write_bytes(before[: before.rstrip(b"\n").rfind(b"\n") + 1])
    assert room.make("r", settings, root=root) == folder
    assert path.read_text().count("\tpublished\n") == 1
    assert (folder / _protocol.DATA).read_bytes() == data
    assert path.read_text().count(_budget_records.SPENT) == 1
    shutil.rmtree(folder)
    with pytest.raises(ValueError, match="published files are missing, were changed"):
        room.make("r", settings, root=root)


def test_numbers_that_are_equal_are_the_same_settings(root):
    settings = counts(epsilon=1)
    folder = room.make("r", settings, root=root)
    before = (folder / "release.csv").read_bytes()
    for epsilon in (1.0, 1, np.float64(1.0).item()):
        assert room.make("r", settings | {"epsilon": epsilon}, root=root) == folder
    assert (folder / "release.csv").read_bytes() == before
    with pytest.raises(ValueError, match="settings changed"):
        room.make("r", settings | {"epsilon": 1.0000001}, root=root)
    people = {"mechanism": "censored_statistics", "data": "confidential/p.csv", "column": "x", "epsilon": 1}
    people |= {"lower": 0, "upper": 3, "sensitivities": {"low": 2}}
    (root / "confidential/p.csv").write_text("x\n1\n2\n3\n4\n")
    folder = room.make("s", people, root=root)
    people |= {"lower": 0.0, "upper": 3.0, "epsilon": 1.0, "sensitivities": {"low": 2.0}}
    assert room.make("s", people, root=root) == folder


def test_settings_kept_before_numbers_were_compared_as_numbers_are_known(root, monkeypatch):
    """Check that `epsilon: 1` is kept as written in version 0.2."""
    settings = counts(epsilon=1)
    with monkeypatch.context() as old:
        old.setattr(checks, "_plain", lambda value, kind: value)
        folder = room.make("r", settings, root=root)
    assert room.make("r", settings, root=root) == folder


@pytest.mark.thorough
def test_a_release_leaves_no_image_of_its_memory(root):
    """Check that a process that made a release writes no core dump, and that no other process may inspect it."""
    settings = counts(epsilon=0.5)
    program = (
        "import os, sys, json, resource, pathlib\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)\n"
        "from dpmultinomial._releases import room\n"
        "room.make('r', json.loads(sys.argv[1]), root=pathlib.Path(sys.argv[2]))\n"
        "import ctypes\n"
        "print(resource.getrlimit(resource.RLIMIT_CORE)[0], ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))\n"
    )
    words = [sys.executable, "-c", program, json.dumps(settings), str(root)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert said == ["0", "0"]  # PR_GET_DUMPABLE


FLAT = ["category,count", "pear,12", "apple,700", '"fig, dried",0', "cherry,31", "Ärger,5", "date,0", "élan,44"]
SWAPPED_COLUMNS = ["count,category", "12,pear", "700,apple", "0,fig", "31,cherry"]
TREE = ["category,parent,count", "all,,60", "east,all,31", "west,all,29", "b,east,20", "a,east,11", "d,west,29",
        "c,west,0"]  # fmt: skip
RECORDS = ["area,age,sex,x", *(f"{a},{age},{s},{x}" for a, age, s, x in zip(
    "ababbaabbaababab", [30, 31, 30, 9, 77, 8, 30, 9] * 2, "mfmfffmmfmfmmmff", [0.1, 0.7, 2.3, 1e9] * 4, strict=True
)), '"a",30,m,0.1', 'b,"9",f,1000000000.0']  # fmt: skip
LEVELS = {"sex": ["f", "m"], "area": ["a", "b"]}
CASES = {
    "laplace": (FLAT, {"mechanism": "discrete_laplace", "epsilon": 1.0}),
    "gaussian": (SWAPPED_COLUMNS, {"mechanism": "discrete_gaussian", "rho": 0.5}),
    "tree": (TREE, {"mechanism": "discrete_laplace", "epsilon": 1.0}),
    "narrow tree": (TREE, {"mechanism": "discrete_laplace", "epsilon": 1.0, "levels": ["root", "side", "leaf"],
                           "narrow": ["side", "leaf"]}),
    "public root": (TREE, {"mechanism": "discrete_gaussian", "rho": 1.0, "relation": "replace a record"}),
    "summed": (FLAT, {"mechanism": "additive_counts", "epsilon": 1.0, "algorithm": "1-summed"}),
    "independent": (FLAT, {"mechanism": "additive_counts", "epsilon": 1.0, "algorithm": "1-independent"}),
    "clipped": (FLAT, {"mechanism": "additive_counts", "epsilon": 1.0, "algorithm": "2"}),
    "mode": (FLAT, {"mechanism": "additive_counts", "epsilon": 1.0, "algorithm": "3"}),
    "statistics": (RECORDS, {"mechanism": "censored_statistics", "epsilon": 1.0, "column": "x", "lower": 0,
                           "upper": 3}),
    "swap": (RECORDS, {"mechanism": "swap", "swap": ["sex", "x"], "match": ["area"], "rate": 0.5,
                       "accept_weak_privacy": True}),
    "classifier": (RECORDS, {"mechanism": "naive_bayes", "target": "sex", "levels": LEVELS, "numeric": ["age"],
                             "bounds": {"age": [0, 90]}, "noise": "discrete_laplace", "epsilon": 1.0}),
    "dirichlet": (RECORDS, {"mechanism": "naive_bayes", "target": "sex", "levels": LEVELS, "noise": "dirichlet",
                            "epsilon": 3.0, "order": 5.0}),
    "network": (RECORDS, {"mechanism": "bayesian_network", "levels": LEVELS, "network": {"area": [], "sex": ["area"]},
                          "noise": "discrete_gaussian", "rho": 1.0}),
}  # fmt: skip


@pytest.fixture
def noise(monkeypatch):
    """Use the same noise at every position, in every release."""

    def added(values, *, scale):
        return values + np.random.default_rng(7).integers(-20, 20, len(values))

    monkeypatch.setattr(_noise, "discrete_laplace", added)
    monkeypatch.setattr(_noise, "discrete_gaussian", added)
    monkeypatch.setattr(_noise, "private_stream", lambda: np.random.default_rng(8))
    return monkeypatch


def published_bytes(root, lines, settings, *, end="\n", encoding="utf-8"):
    """Return the bytes of both public files and the ledger, without keyed fingerprints and times."""
    (root / "confidential").mkdir(parents=True, mode=0o700)
    (root / "confidential" / "c.csv").write_bytes((end.join(lines) + end).encode(encoding))
    settings = settings | {"data": "confidential/c.csv"}
    folder = room.make("r", settings, root=root)
    ledger = (root / "releases" / "ledger.tsv").read_text()
    digests = [part for line in ledger.splitlines() for part in line.split("\t")[3:8]]
    return (folder / "release.csv").read_bytes(), (folder / "record.json").read_bytes(), digests


@pytest.mark.parametrize("case", CASES)
def test_no_published_byte_depends_on_the_order_of_the_rows(tmp_path, noise, case):
    (header, *rows), settings = CASES[case]
    orders = [rows, rows[::-1], sorted(rows), *(np.random.default_rng(k).permutation(rows).tolist() for k in range(2))]
    found = []
    for k, order in enumerate(orders):
        noise.setenv("XDG_STATE_HOME", str(tmp_path / f"account {k}"))  # else one file spends one budget
        found.append(published_bytes(tmp_path / str(k), [header, *order], settings))
    for other in found[1:]:
        assert other == found[0]


def test_names_are_in_the_order_of_names(tmp_path, noise):
    data, _, _ = published_bytes(tmp_path / "flat", *CASES["laplace"])
    names = parse(data, name="c", confidential=False).texts("category")
    assert names == ["apple", "cherry", "date", "fig, dried", "pear", "Ärger", "élan"]
    data, _, _ = published_bytes(tmp_path / "tree", *CASES["tree"])
    assert parse(data, name="c", confidential=False).texts("category") == ["all", "east", "west", "a", "b", "c", "d"]


@pytest.mark.parametrize(("end", "encoding"), [("\r\n", "utf-8"), ("\n", "utf-8-sig"), ("\r\n", "utf-16")])
def test_a_swap_keeps_the_form_of_the_file_and_every_field_that_is_held(tmp_path, noise, end, encoding):
    lines, settings = CASES["swap"]
    data, _, _ = published_bytes(tmp_path, lines, settings, end=end, encoding=encoding)
    text = data.decode(encoding)
    header, *rows = text.removesuffix(end).split(end)
    assert (header, rows) == (lines[0], sorted(rows))
    for column in (0, 1):
        assert sorted(row.split(",")[column] for row in rows) == sorted(row.split(",")[column] for row in lines[1:])


def test_a_file_that_is_sorted_by_a_swapped_column_does_not_undo_the_swap(tmp_path):
    """Check one stratum of people sorted by income: the released rank is independent of the confidential rank."""
    names = np.random.default_rng(3).permutation(400).tolist()
    settings = {"mechanism": "swap", "swap": ["income"], "match": ["area"], "rate": 0.9, "accept_weak_privacy": True}
    data, _, _ = published_bytes(
        tmp_path, ["area,id,income", *(f"a,{name},{k}" for k, name in enumerate(names))], settings
    )
    incomes = [int(row.split(b",")[2]) for row in data.splitlines()[1:]]
    right = np.mean(np.array(incomes) == np.arange(400))
    assert right < 0.05  # 0.1 stay in place of a file in the order of incomes; 1/400 by chance


def test_a_table_is_sorted_by_the_bytes_of_its_records():
    table = parse(b'\n\na,b\r\n2,"x\r\ny"\n\n1,z', name="t", confidential=True)
    assert table.sorted().raw == b'a,b\r\n1,z\r\n2,"x\r\ny"\r\n'
    assert parse(b"a,b\n", name="t", confidential=True).sorted().raw == b"a,b\n"
