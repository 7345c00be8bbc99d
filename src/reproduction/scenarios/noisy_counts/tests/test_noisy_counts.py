"""Test noisy-counts scenarios: the posteriors, the example in the README, the checks for conflicts with the
assumptions, and the confidence intervals.
"""

from itertools import product
from math import exp, lgamma

import numpy as np
import pandas as pd
import pytest
from scipy.special import betainc, gammaln
from scipy.stats import betabinom

from dpmultinomial import DiscreteLaplace, Release, confidence
from dpmultinomial._posteriors.published import counts_with_total
from dpmultinomial._seeding import stream
from reproduction import command, kind
from reproduction.config import config, scenario_settings
from reproduction.scenarios import making, page, sentences, summary
from reproduction.scenarios.noisy_counts import rules

NOISY = {"met": 12.3, "not_met": -4.1, "failed": 44.2}
EXAMPLE = {
    **{"kind": "noisy_counts", "counts": NOISY, "noise": {"law": "laplace", "epsilon": 1.0}, "total": 50},
    **{"among": ["met", "not_met"], "questions": {"nobody": {"probability": "not_met = 0"}}},
}


def enumerated(alpha=1.0, scale=2.0, total=50):
    """Return all compositions of `total` into three parts, as an array of shape (n, 3), and the posterior probability
    of each composition.
    """
    rows = np.array([(a, b, total - a - b) for a, b in product(range(total + 1), repeat=2) if a + b <= total])
    logs = [
        sum(lgamma(n + alpha) - lgamma(n + 1) - abs(y - n) / scale for n, y in zip(row, NOISY.values(), strict=True))
        for row in rows.tolist()
    ]
    weights = np.exp(np.array(logs) - max(logs))
    return rows, weights / weights.sum()


def made(tmp_path, **settings):
    scenario = scenario_settings.single("mine", {**EXAMPLE, **settings}, kind.discover())
    files = making.files("mine", tmp_path)
    making.part(scenario, files, root_seed=1)
    return making.read(files)


def one(rows, name, what):
    found = rows[(rows["quantity"] == name) & (rows["type"] == what)]
    assert len(found) == 1
    return found.iloc[0]


def beta_mixture(x, a, b, p):
    return float(p @ betainc(a, b, x))


def test_the_screen_and_the_page_state_why_shares_are_omitted(tmp_path, monkeypatch):
    """Check the sentence that explains why shares are omitted. A noisy total has more possible pairs of a count and a
    total than the limit, which is 1,000 in this test.
    """
    monkeypatch.setattr(counts_with_total, "SHARES", 1000)
    noise = {"law": "discrete_laplace", "scale": 3.0}
    written = {"kind": "noisy_counts", "counts": {"a": 12, "b": 7, "c": 31}, "noise": noise}
    scenario = scenario_settings.single("wide", {**written, "total": {"released": 50, "noise": noise}}, kind.discover())
    files = making.files("wide", tmp_path)
    making.part(scenario, files, root_seed=1)
    rows, _, _ = making.read(files)
    assert set(rows["type"]) == {"count", "rate"}
    said = "more than the limit of 1,000: use counts and rates, or set tighter bounds."
    assert "Omitted: shares of the file: " in summary.as_text(files)
    assert said in summary.as_text(files)
    page.write(files, tmp_path / "wide.html", budgets={})
    assert said in (tmp_path / "wide.html").read_text()


@pytest.mark.parametrize("prior", [1.0, 0.5])
def test_the_readmes_example_is_right_by_enumeration(tmp_path, prior):
    rows, _, facts = made(tmp_path, prior=prior)
    counts, p = enumerated(alpha=prior)
    for i, name in enumerate(NOISY):
        found = one(rows, name, "count")
        mean = p @ counts[:, i]
        assert found["mean"] == pytest.approx(mean, rel=1e-12)
        assert found["sd"] == pytest.approx((p @ (counts[:, i] - mean) ** 2) ** 0.5, rel=1e-10)
        below = np.cumsum(np.bincount(counts[:, i], p, 51))
        assert (found["lower"], found["upper"]) == (np.argmax(below >= 0.025), np.argmax(below >= 0.975))
        assert found["released"] == NOISY[name]
        assert one(rows, name, "share")["mean"] == pytest.approx(mean / 50, rel=1e-12)
        # variance of E[rate | counts] = (n + a)/(50 + 3 a)
        spread = (p @ (counts[:, i] - mean) ** 2) / (50 + 3 * prior) ** 2
        rate = one(rows, name, "rate")
        part = facts["points"][0]["noise_part_of_rate_variance"][name]
        assert part == pytest.approx(spread / rate["sd"] ** 2, rel=1e-9)
    a, b = counts[:, 0], counts[:, 1]
    known = a + b > 0
    share, q = a[known] / (a + b)[known], p[known] / p[known].sum()
    found = one(rows, "met among met, not_met", "share")
    assert found["mean"] == pytest.approx(q @ share, rel=1e-12)
    rate = one(rows, "met among met, not_met", "rate")
    assert rate["mean"] == pytest.approx(p @ ((a + prior) / (a + b + 2 * prior)), rel=1e-10)
    assert beta_mixture(rate["lower"], a + prior, b + prior, p) == pytest.approx(0.025, abs=1e-9)
    assert beta_mixture(rate["upper"], a + prior, b + prior, p) == pytest.approx(0.975, abs=1e-9)
    assert one(rows, "nobody", "question")["mean"] == pytest.approx(p[b == 0].sum(), rel=1e-10)
    middle = (a + prior) / (a + b + 2 * prior)
    part = facts["points"][0]["noise_part_of_rate_variance"]["met among met, not_met"]
    assert part == pytest.approx((p @ (middle - p @ middle) ** 2) / rate["sd"] ** 2, rel=1e-8)


def test_the_readmes_numbers(tmp_path):
    """Check that the example in the README reproduces all digits of the numbers that are shown in the README."""
    rows, _, facts = made(tmp_path)
    share, rate = (one(rows, "met among met, not_met", what) for what in ("share", "rate"))
    assert [round(x, 3) for x in (share["mean"], share["lower"], share["upper"])] == [0.953, 0.667, 1.0]
    assert [round(x, 3) for x in (rate["mean"], rate["lower"], rate["upper"])] == [0.902, 0.513, 1.0]
    assert round(one(rows, "nobody", "question")["mean"], 3) == 0.754
    said = sentences.headline(rows, facts, facts["points"][0])
    assert said == (
        "The true share of met among met and not_met is between 66.7 % and 100 % with probability at least 95 %; the "
        "posterior mean is 95.3 %."
    )


def test_every_row_has_a_noun_and_a_sentence(tmp_path):
    rows, _, facts = made(tmp_path)
    assert set(rows["type"]) == {"count", "share", "rate", "question"}
    for row in rows.itertuples():
        said = sentences.sentence(row, facts, facts["points"][0])
        noun = {"count": "The true count of", "share": "The true share of", "rate": "The underlying rate of"}.get(
            row.type
        )
        assert said.endswith(".")
        assert noun is None or noun in said
        assert row.type in ("count", "question") or "%" in said
    assert "P(" not in " ".join(sentences.sentence(row, facts, facts["points"][0]) for row in rows.itertuples())


def test_epsilon_alone_means_the_discrete_law_of_whole_counts(tmp_path):
    short = {"counts": [12, -4, 44], "total": 50, "kind": "noisy_counts", "epsilon": 1.0}
    scenario = scenario_settings.single("mine", short, kind.discover())
    files = making.files("mine", tmp_path)
    making.part(scenario, files, root_seed=1)
    _, _, facts = making.read(files)
    assert facts["points"][0]["noise"]["law"] == "discrete_laplace"
    assert facts["points"][0]["noise"]["scale"] == 2.0  # the scale is the sensitivity 2 divided by epsilon 1
    assert made(tmp_path, counts=NOISY)[2]["points"][0]["noise"] == {"law": "laplace", "scale": 2.0}


def test_without_a_total_there_are_counts_alone(tmp_path):
    few = {key: value for key, value in EXAMPLE.items() if key not in ("total", "among", "questions")}
    scenario = scenario_settings.single("mine", few | {"prior": "flat"}, kind.discover())
    files = making.files("mine", tmp_path)
    making.part(scenario, files, root_seed=1)
    rows, _, facts = making.read(files)
    assert set(rows["type"]) == {"count"}
    n = np.arange(200)
    weights = np.exp(-np.abs(12.3 - n) / 2)
    assert one(rows, "met", "count")["mean"] == pytest.approx(weights @ n / weights.sum(), rel=1e-9)
    assert "No total is stated." in sentences.assumptions(facts, facts["points"][0])


def test_a_rehearsal_says_so_and_depends_on_seed_and_name_alone(tmp_path):
    made_up = {"kind": "noisy_counts", "rehearsal": {"counts": [15, 30, 5]}, "epsilon": 1.0}
    found = []
    for name, seed in (("a", 1), ("a", 1), ("b", 1), ("a", 2)):
        scenario = scenario_settings.single(name, made_up, kind.discover())
        files = making.files(name, tmp_path)
        making.part(scenario, files, root_seed=seed)
        rows, _, facts = making.read(files)
        found.append(rows["released"].dropna().tolist())
    assert found[0] == found[1] != found[2]
    assert found[0] != found[3]
    assert "Rehearsal" in sentences.assumptions(facts, facts["points"][0])[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"noise": {"law": "laplac", "scale": 2.0}}, "noise: law must be one of laplace, discrete_laplace, gaussian"),
        (
            {"noise": {"law": "gaussian", "sigma": 2.0}},
            "noise: the distribution gaussian has no parameter sigma: set sd or variance",
        ),
        ({"noise": "laplace"}, "noise: 'laplace' requires the scale of the noise"),
        (
            {"noise": {"law": "discrete_laplace", "scale": 2.0}},
            "counts: must contain only integers under discrete_laplace noise, got 12.3 in row 1.",
        ),
        ({"epsilon": 1.0}, "noise: noise and epsilon must not both be given"),
        ({"among": ["met", "nobody"]}, "among: 'nobody': unknown count. The counts are met, not_met, failed"),
        ({"total": 1.5}, "total: 1.5 is not an integer"),
        ({"names": ["a", "b", "c"]}, "names: must be omitted, because the counts have names"),
        ({"prior": [1.0, 2.0]}, "prior: must be one number or one number per count (3 counts), got 2 numbers"),
        ({"questions": {"q": {"probability": "mett > failed"}}}, "questions.q: unknown name 'mett'"),
        ({"questions": {"q": {"some": ["met"]}}}, "questions.q: a question must have exactly one of the keys sum,"),
        ({"questions": {"q": {"difference": ["met"]}}}, "questions.q: difference requires two sides"),
        ({"level": 1.0}, "level: 1.0 is not allowed: the value must be < 1"),
        (
            {"rehearsal": {"counts": [1, 2]}},
            "must contain exactly one of the keys counts, file, rehearsal, got counts and rehearsal",
        ),
        ({"totl": 3}, "totl: unknown key, did you mean 'total'?"),
    ],
)
def test_mistakes_name_key_rule_and_way_out(change, said):
    with pytest.raises(config.ConfigError) as caught:
        scenario_settings.single("mine", {**EXAMPLE, **change}, kind.discover())
    assert f"mine.{said}" in str(caught.value) or f"mine: {said}" in str(caught.value)


def test_all_mistakes_are_told_at_once():
    wrong = {**EXAMPLE, "among": ["met", "nobody"], "names": ["a", "b", "c"], "prior": [1.0]}
    with pytest.raises(config.ConfigError) as caught:
        scenario_settings.single("mine", wrong, kind.discover())
    assert len(str(caught.value).splitlines()) == 3


def test_a_file_states_scales_by_row_and_what_is_wrong_in_it_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.csv").write_text("name,value,sigma\na,3,1.5\nb,x,1\nb,,1\nc,7,y\n")
    asked = {"kind": "noisy_counts", "file": "c.csv", "noise": "discrete_gaussian", "prior": "flat"}
    with pytest.raises(config.ConfigError) as caught:
        scenario_settings.single("mine", asked, kind.discover())
    assert "2 invalid cells" in str(caught.value)
    assert "line 3, column 'value'" in str(caught.value)
    assert "line 5, column 'sigma'" in str(caught.value)
    (tmp_path / "c.csv").write_text("name,value,sigma\na,3,1.5\nb,20,4\n")
    files = making.files("mine", tmp_path)
    making.part(scenario_settings.single("mine", asked, kind.discover()), files, root_seed=1)
    rows, _, _ = making.read(files)
    n = np.arange(100)
    for name, value, sigma in (("a", 3, 1.5), ("b", 20, 4.0)):
        weights = np.exp(-((value - n) ** 2) / (2 * sigma**2))
        assert one(rows, name, "count")["mean"] == pytest.approx(weights @ n / weights.sum(), rel=1e-9)


def test_a_batch_tells_of_the_file_unless_it_is_asked_for_rates(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"t{t},{name},{value + t},50" for t in range(3) for name, value in NOISY.items()]
    (tmp_path / "many.csv").write_text("\n".join(["table,name,value,total", *lines, "bad,a,1,2", "bad,b,1,3"]) + "\n")
    asked = {"kind": "noisy_counts", "file": "many.csv", "noise": {"law": "laplace", "scale": 2.0}}
    for about, kinds in ((None, ["count", "share"]), ("rates", ["rate"]), ("both", ["count", "share", "rate"])):
        scenario = scenario_settings.single("many", asked | ({"about": about} if about else {}), kind.discover())
        assert scenario.form == "batch"
        files = making.files("many", tmp_path)
        making.part(scenario, files, root_seed=1)
        rows = pd.read_csv(files.csv)
        good = rows[rows["table"] != "bad"]
        assert good["type"].tolist() == [kind for kind in kinds for _ in NOISY] * 3
        assert good.loc[good["type"] == kinds[0], "released"].notna().all()
        assert good.loc[good["type"] != kinds[0], "released"].isna().all()
        single, _, _ = made(tmp_path)
        first = rows[rows["table"] == "t0"].set_index(["quantity", "type"])
        for key in first.index:
            wanted = one(single, *key)
            for number in ("mean", "sd", "lower", "upper"):
                assert first.loc[key, number] == pytest.approx(wanted[number], rel=1e-9)
        said = rows.loc[rows["table"] == "bad", "status"]
        assert len(said) == 1
        assert "total" in said.iloc[0]


@pytest.mark.parametrize("about", ["counts", "rates", "both"])
def test_a_batch_of_every_kind_of_answer_has_equal_bytes_in_any_shards(about, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = stream(4, "batch")
    lines = [f"t{t},{name},{rng.uniform(0, 60):.3f},{20 + 9 * t}" for t in range(11) for name in "abc"]
    (tmp_path / "many.csv").write_text("\n".join(["table,name,value,total", *lines]) + "\n")
    written = {"kind": "noisy_counts", "file": "many.csv", "epsilon": 1.0, "about": about}
    scenario = scenario_settings.single("many", written, kind.discover())
    whole = making.files("whole", tmp_path)
    making.part(scenario, whole, root_seed=1)
    for shards in (2, 5):
        parts = [making.files(f"{i}_of_{shards}", tmp_path) for i in range(shards)]
        for i, part in enumerate(parts):
            making.part(scenario, part, root_seed=1, shard=i + 1, of=shards)
        gathered = making.files("gathered", tmp_path)
        making.together(parts, gathered)
        assert [p.read_bytes() for p in gathered.all] == [p.read_bytes() for p in whole.all]


@pytest.mark.parametrize(
    ("about", "question", "told"),
    [("rates", {}, True), ("rates", {"about": "rates"}, False), ("both", {}, False), ("counts", {}, False)],
)
def test_results_about_rates_state_that_questions_refer_to_counts(tmp_path, about, question, told):
    asked = {"q": {"difference": ["met", "failed"], **question}}
    noise = {"law": "laplace", "scale": 2.0}
    _, _, _, facts = answered(tmp_path, counts=NOISY, noise=noise, total=50, about=about, questions=asked)
    sentence = "Questions without the key 'about' refer to the counts of the file."
    assert (sentence in sentences.assumptions(facts, facts["points"][0])) == told


def test_an_epsilon_by_table_without_a_total_says_what_counts_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "many.csv").write_text("table,name,value,epsilon\nx,a,3,1\nx,b,9,1\n")
    files = making.files("many", tmp_path)
    making.part(scenario_settings.single("many", {"kind": "noisy_counts", "file": "many.csv"}, kind.discover()), files,
                root_seed=1)  # fmt: skip
    rows = pd.read_csv(files.csv)
    assert rows["type"].tolist() == ["count", "count"]
    assert rows["status"].tolist() == ["exact", "exact"]


def test_gaussian_noise_with_a_total(tmp_path):
    rows, _, _ = made(tmp_path, noise={"law": "gaussian", "sd": 3.0})
    counts, _ = enumerated()
    logs = -((counts - np.array(list(NOISY.values()))) ** 2).sum(axis=1) / 18
    # under the prior Dirichlet(1/2, 1/2, 1/2) of the rates
    logs = logs + (gammaln(counts + 0.5) - gammaln(counts + 1)).sum(axis=1)
    p = np.array([exp(value - logs.max()) for value in logs])
    assert one(rows, "met", "count")["mean"] == pytest.approx(p @ counts[:, 0] / p.sum(), rel=1e-10)


@pytest.mark.parametrize(("total", "names"), [(50, set()), (500, {"the total"}), (3, {"the total", "failed"})])
def test_a_release_that_contradicts_its_public_total(tmp_path, total, names):
    """Check the warning that is shown if the released counts contradict the public total. With a total of 3, the count
    44.2 is also improbable, because it is 20 scales above the total.
    """
    files, _, _, facts = answered(tmp_path, counts=NOISY, noise={"law": "laplace", "scale": 2.0}, total=total)
    check = facts["points"][0]["conflict"]
    assert check["tested"] == 4
    assert names <= set(check.get("names", ()))
    assert summary.as_text(files).splitlines()[1].startswith("CONFLICT: ") == check["found"] == bool(names)


def test_a_scale_for_each_count_with_a_public_total(tmp_path):
    """Check the posterior means against an enumeration of all counts that sum to 50, for counts with different noise
    scales.
    """
    (tmp_path / "rows.csv").write_text(
        "name,value,scale\nmet,12.3,2\nnot_met,-4.1,1\nfailed,44.2,5\n", encoding="utf-8"
    )
    stated = {"file": str(tmp_path / "rows.csv"), "noise": "laplace", "total": 50, "about": "counts"}
    _, rows, _, _ = answered(tmp_path, **stated)
    counts, _ = enumerated()
    logs = -np.abs(counts - np.array(list(NOISY.values()))) @ np.array([1 / 2, 1.0, 1 / 5])
    logs += (gammaln(counts + 0.5) - gammaln(counts + 1)).sum(axis=1)
    p = np.exp(logs - logs.max())
    found = rows[rows["type"] == "count"]["mean"].to_numpy()
    assert found == pytest.approx(p @ counts / p.sum(), rel=1e-10)


GAUSS = {"kind": "noisy_counts", "noise": {"law": "discrete_gaussian", "sigma": 5.0}}


NARROW = {"law": "discrete_gaussian", "sigma": 2.0}


def answered(tmp_path, **settings):
    scenario = scenario_settings.single("mine", {**GAUSS, **settings}, kind.discover())
    files = making.files("mine", tmp_path)
    making.part(scenario, files, root_seed=1)
    return files, *making.read(files)


def test_columns_screen_and_page(tmp_path):
    """Check the confidence intervals in the table of results, in the terminal output and on the HTML page. The
    half-width at sigma 5 is h = 10, because P(N >= 10) = .028 is above .025 and P(N >= 11) = .018 is below .025.
    """
    files, rows, _, _ = answered(tmp_path, counts={"a": 17, "b": -2, "c": -15}, confidence=0.95)
    assert rows["ci_lower"].tolist() == [7, 0, 0]
    assert rows["ci_upper"].tolist() == [27, 8, 0]
    assert rows["ci_method"].tolist() == ["tails", "tails", "tails: no count fits at this level; the nearest is 0"]
    shown = summary.as_text(files)
    assert any(line.startswith("quantity") and "confidence interval" in line for line in shown.splitlines())
    assert "7 to 27" in shown
    assert "cover the true count in at least 95 % of releases, whatever the count." in shown
    page.write(files, tmp_path / "page.html")
    assert '<td data-label="confidence interval">7 to 27</td>' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_rates_with_a_total_and_questions(tmp_path):
    _, rows, _, _ = answered(
        tmp_path, counts={"a": 17, "b": 40}, total=55, confidence=0.9, questions={"more": {"probability": "b > a"}}
    )
    assert rows.loc[rows["type"] == "rate", "ci_method"].tolist() == ["exact binomial, all counts"] * 2
    lower, upper = rows.loc[rows["type"] == "rate", ["ci_lower", "ci_upper"]].to_numpy()[0]
    assert 0 < lower < 17 / 57 < upper < 0.6
    other = rows[rows["type"].isin(["share", "question"])]
    assert other[["ci_lower", "ci_upper"]].isna().all(axis=None)


def test_a_rate_that_no_value_explains_is_stated(tmp_path):
    """The statistic of b, 2 (-30) - (52 - 30) + 22 = -60, is 2 x plus noise with standard deviation 3, x >= 0."""
    files, rows, _, _ = answered(tmp_path, counts={"a": 52, "b": -30}, total=22, confidence=0.9, noise=NARROW)
    assert rows.loc[rows["type"] == "rate", "ci_upper"].tolist() == [1, 0]
    shown = summary.as_text(files)
    assert "For 2 counts, no count fits at this level, and the interval contains only the nearest count." in shown
    assert "For 2 rates, no rate fits at this level, and the interval contains only the nearest rate." in shown


def test_a_tree_has_intervals_of_each_measured_count(tmp_path):
    path = tmp_path / "tree.csv"
    path.write_text("name,parent,value\nall,,40\na,all,17\nb,all,\n", encoding="utf-8")
    _, rows, _, _ = answered(tmp_path, file=str(path), about="counts", confidence=0.95)
    assert rows["ci_upper"].tolist()[:2] == [50, 27]
    assert np.isnan(rows["ci_upper"].iloc[2])


@pytest.mark.parametrize(("value", "said"), [(-15, True), (17, False)])
def test_a_sentence_only_if_both_intervals_differ(tmp_path, value, said):
    """Check that a sentence about the confidence interval appears only if this interval differs from the credible
    interval. At the released value -15, no count fits, so the confidence interval is 0 to 0, whereas the credible
    interval under a flat prior is 0 to about 5.
    """
    files, rows, _, facts = answered(tmp_path, counts={"a": value}, prior="flat")
    assert ("confidence" in facts["points"][0]) == said
    stated = "a: 95 % confidence interval 0 to 0 (the nearest count; no count fits at this level), without a prior"
    assert (stated in summary.as_text(files)) == said
    assert "ci_lower" not in rows


def test_the_command_has_the_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.csv").write_text("name,value\na,17\nb,-2\n", encoding="utf-8")
    noise = ["--noise", "discrete_gaussian", "--sigma", "5"]
    command.main(["answer", "few.csv", *noise, "--confidence", ".95"])
    assert "7 to 27" in capsys.readouterr().out
    table = pd.read_csv("results/scenarios/few.csv")
    assert list(table.columns[-3:]) == ["ci_lower", "ci_upper", "ci_method"]
    with pytest.raises(SystemExit, match="confidence"):
        command.main(["answer", "few.csv", *noise, "--confidence", "1"])


def batch(tmp_path, text, shards=1, **settings):
    """Return the result files and the result rows of a batch of tables. The confidence intervals have the level 0.95 by
    default, and are omitted if `confidence` is None.
    """
    (tmp_path / "many.csv").write_text(text, encoding="utf-8")
    settings = {"kind": "noisy_counts", "file": str(tmp_path / "many.csv"), "confidence": 0.95, **settings}
    written = {key: value for key, value in settings.items() if value is not None}
    scenario, files = scenario_settings.single("many", written, kind.discover()), making.files("many", tmp_path)
    parts = [making.files(f"part{s}", tmp_path) for s in range(1, shards + 1)]
    for s, part in enumerate(parts, 1):
        making.part(scenario, part, root_seed=1, shard=s, of=shards)
    making.together(parts, files)
    return files, pd.read_csv(files.csv, keep_default_na=False, na_values=[""])


@pytest.mark.parametrize("shards", [1, 2])
def test_batches_have_the_intervals_of_single_files(tmp_path, shards):
    """Check that the confidence intervals of a batch equal the intervals of single files. Table x is the table of the
    test of a single file. The noise of table y is discrete Laplace, and its intervals are computed by hand.
    """
    noise = {"noise": {"law": "discrete_gaussian", "sigma": 5.0}}
    text = "table,name,value\nx,a,17\nx,b,-2\nx,c,-15\ny,a,17.5\nz,a,40\n"
    files, rows = batch(tmp_path, text, shards, **noise)
    assert list(rows.columns[-3:]) == ["ci_lower", "ci_upper", "ci_method"]
    found = rows.set_index(["table", "quantity"])
    assert found.loc["x", "ci_lower"].tolist() == [7, 0, 0]
    assert found.loc["x", "ci_upper"].tolist() == [27, 8, 0]
    assert found["ci_method"].iloc[2] == "tails: no count fits at this level; the nearest is 0"
    assert found.loc[("z", "a"), "ci_upper"] == 50
    assert rows["status"].str.startswith("refused").sum() == 1  # 17.5 is impossible with integer-valued noise
    assert rows.loc[rows["table"] == "y", "ci_lower"].isna().all()
    assert "40" in summary.as_text(files)


def test_batches_with_a_total_have_intervals_of_rates(tmp_path):
    text = "table,name,value,total\nx,a,17,55\nx,b,40,55\ny,a,3,20\ny,b,18,20\n"
    noise = {"law": "discrete_laplace", "scale": 2.0}
    _, rows = batch(tmp_path, text, noise=noise, about="both")
    assert set(rows["type"]) == {"count", "share", "rate"}
    for table, counts, total in (("x", {"a": 17, "b": 40}, 55), ("y", {"a": 3, "b": 18}, 20)):
        sure = confidence(Release(counts, mechanism=DiscreteLaplace(scale=2.0), total=total))
        for what, by_name in (("count", sure.counts), ("rate", sure.rates)):
            some = rows[(rows["table"] == table) & (rows["type"] == what)]
            expected = [by_name[name].interval(0.95) for name in counts]
            assert some[["ci_lower", "ci_upper"]].to_numpy() == pytest.approx(np.array(expected), abs=1e-9)
    assert rows.loc[rows["type"] == "share", "ci_lower"].isna().all()


def noise_tail(s, scale, terms):
    """Return the probability that a sum of discrete Laplace variables is at least s, computed by convolution."""
    d = np.arange(-150, 151)
    mass = np.exp(-abs(d) / scale) * np.tanh(0.5 / scale)  # (1 - a)/(1 + a) with a = exp(-1/scale)
    noise = mass
    for _ in range(terms - 1):
        noise = np.convolve(noise, mass)
    return noise[len(noise) // 2 + s :].sum()


@pytest.mark.parametrize("shards", [1, 2])
def test_a_batch_names_the_worst_value_of_each_table_in_conflict(tmp_path, shards):
    """Check the reported p-value of each table against direct calculations. This p-value is the smallest p-value in the
    table, multiplied by the number of tested values. The counts have Jeffreys' prior.
    """
    tables = {
        "sum": ({"a": 31, "b": 39}, 40), "low": ({"a": -30, "b": 64}, 30), "sound": ({"a": 12, "b": 19}, 30),
        "few": ({"a": 1, "b": 2, "c": -28}, 3), "bad": ({"a": 1}, 3),
    }  # fmt: skip
    lines = [f"{t},{name},{value},{total}" for t, (counts, total) in tables.items() for name, value in counts.items()]
    noise = {"law": "discrete_laplace", "scale": 2.0}
    text = "\n".join(["table,name,value,total", *lines]) + "\n"
    files, rows = batch(tmp_path, text, shards, noise=noise, confidence=None, about="both")
    assert list(rows.columns[-2:]) == ["conflict", "conflict_name"]
    found = rows.groupby("table")[["conflict", "conflict_name"]].agg(["nunique", "first"])
    expected = {"sum": ("the total", 2 * 3 * noise_tail(30, 2.0, 2))}
    for table, name in (("low", "b"), ("few", "c")):
        counts, total = tables[table]
        n = np.arange(total + 1)
        prior = betabinom.pmf(n, total, 0.5, 0.5 * (len(counts) - 1))
        side = 1 if counts[name] > total else -1
        tails = np.array([noise_tail(side * (counts[name] - m), 2.0, 1) for m in n])
        expected[table] = name, 2 * (len(counts) + 1) * prior @ tails
    for table, (name, p) in expected.items():
        assert found.loc[table, ("conflict_name", "first")] == name
        assert found.loc[table, ("conflict", "first")] == pytest.approx(p, rel=1e-6, abs=0)
        assert found.loc[table, ("conflict", "nunique")] == 1  # the same in all rows of a table
    assert rows.loc[rows["table"].isin(["sound", "bad"]), ["conflict", "conflict_name"]].isna().all(axis=None)
    assert making.facts_of(files)["tables"]["conflicts"] == 3
    warning = "CONFLICT: in 3 tables, released values are improbable under the stated noise and prior"
    (said,) = summary.summarise(files).warnings
    assert said.startswith(warning)
    assert warning in summary.as_text(files)


@pytest.mark.parametrize(
    "noise", [{"law": "gaussian", "sd": 2.0}, {"law": "laplace", "scale": 2.0, "clipped": {"at": -60}}]
)
def test_tables_that_are_analysed_one_by_one_have_the_conflict_of_a_single_file(tmp_path, noise):
    tables = {"x": ({"a": -9.5, "b": 27.0}, 30), "y": ({"a": 12.5, "b": 19.0}, 30), "z": ({"a": 31.0, "b": 39.5}, 40)}
    lines = [f"{t},{name},{value},{total}" for t, (counts, total) in tables.items() for name, value in counts.items()]
    text = "\n".join(["table,name,value,total", *lines]) + "\n"
    _, rows = batch(tmp_path, text, noise=noise, confidence=None)
    names = []
    for table, (counts, total) in tables.items():
        single = scenario_settings.single(
            "one", {"kind": "noisy_counts", "counts": counts, "total": total, "noise": noise}, kind.discover()
        )
        making.part(single, making.files("one", tmp_path), root_seed=1)
        check = making.facts_of(making.files("one", tmp_path))["points"][0]["conflict"]
        first = rows[rows["table"] == table].iloc[0]
        names.append(first["conflict_name"] if check["found"] else "")
        wanted = check["smallest"] * check["tested"] if check["found"] else np.nan
        assert first["conflict"] == pytest.approx(wanted, rel=1e-12, abs=0, nan_ok=True)
        assert not check["found"] or first["conflict_name"] == check["name"]
    assert names == ["a", "", "the total"]


@pytest.mark.parametrize("unmeasured", ["", "x,d,\nz,b,\nz,c,\n"], ids=["all measured", "some counts not measured"])
def test_a_batch_without_a_total_names_the_worst_count(tmp_path, unmeasured):
    """Check the p-values of tables in which a released count is below 0. Each p-value is the tail probability at the
    true count 0, times two for both tails, times the number of measured counts in the table.
    """
    text = "table,name,value\nx,a,3\nx,b,-14\nx,c,-17\ny,a,3\ny,b,-2\nz,a,-9\n" + unmeasured
    noise = {"law": "discrete_laplace", "scale": 2.0}
    files, rows = batch(tmp_path, text, noise=noise, confidence=None)
    first = rows.drop_duplicates("table").set_index("table")
    assert first.loc["x", "conflict_name"] == "c"
    assert first.loc["x", "conflict"] == pytest.approx(2 * 3 * noise_tail(17, 2.0, 1), rel=1e-9)
    assert first.loc["z", "conflict_name"] == "a"
    assert first.loc["z", "conflict"] == pytest.approx(2 * noise_tail(9, 2.0, 1), rel=1e-9)
    assert np.isnan(first.loc["y", "conflict"])
    assert making.facts_of(files)["tables"]["conflicts"] == 2


@pytest.mark.parametrize("noise", [{"law": "gaussian", "sd": 2.0}, {"law": "laplace", "scale": 2.0}])
def test_tables_with_two_totals_or_an_invalid_total_are_rejected_alone(tmp_path, noise):
    """Check that tables with two totals or an invalid total are rejected, and that the valid table of the batch is
    analysed. Tables with Gaussian noise are analysed separately, and tables with Laplace noise in one call.
    """
    rows = {"good": (30, 30), "two": (30, 31), "half": (30.5, 30.5), "less": (-1, -1)}
    lines = [f"{t},{name},{value},{total}" for t, totals in rows.items()
             for name, value, total in zip("ab", (12.5, 19.0), totals, strict=True)]  # fmt: skip
    text = "\n".join(["table,name,value,total", *lines, "word,a,x,9", "word,b,7,9"]) + "\n"
    _, found = batch(tmp_path, text, noise=noise, confidence=None)
    status = found.drop_duplicates("table").set_index("table")["status"]
    assert status["good"] == "exact"
    assert status["two"] == "refused: total must be the same in all rows of a table"
    assert all(status[name].startswith("refused: total") for name in ("half", "less"))
    assert status["word"] == "refused: value is not a number"


@pytest.fixture
def summed_up(tmp_path, monkeypatch):
    """Return a function from the settings of a scenario of noisy counts to its summary."""
    monkeypatch.chdir(tmp_path)

    def of(**settings):
        scenario = scenario_settings.single("mine", {"kind": "noisy_counts", **settings}, kind.discover())
        files = making.files("mine", tmp_path)
        making.part(scenario, files, root_seed=1)
        return summary.summarise(files)

    return of


NOISE = {"law": "discrete_laplace", "scale": 2.0}


def test_the_main_result_of_a_grid_is_that_of_its_first_point(summed_up):
    """The points have different numbers of rows: two rates, or two counts and two shares."""
    found = summed_up(counts={"a": 12, "b": 5}, total=17, noise=NOISE, about=["rates", "counts"])
    assert found.headline.startswith("With about rates: The underlying rate of a is")
    assert {text.partition(":")[0] for text in found.sentences[1:]} == {"With about rates"}
    assert all(" underlying rate of " in text for text in found.sentences[1:])


def test_a_batch_states_counts_without_a_number_and_the_prior(summed_up, tmp_path):
    file = tmp_path / "many.csv"
    file.write_text("table,name,value,total\nt,a,3,12\nt,b,*,12\nt,c,5-9,12\n", encoding="utf-8")
    found = summed_up(file=str(file), noise="exact", withheld={"symbol": "*", "below": 5})
    told = [line.released for line in found.lines]
    assert told == ["3", "no number", "no number", "", "", ""]  # counts, and shares, which were not released
    file.write_text("table,name,value,epsilon\nt,a,3,1\nt,b,4,1\nu,a,3,2\nu,b,9,2\n", encoding="utf-8")
    (prior,) = (text for text in summed_up(file=str(file)).assumptions if text.startswith("Prior: "))
    assert prior.startswith("Prior: fitted to the counts of each table; weight 1/(1 + n) if ")
    file.write_text("table,name,value,group\nt,a,3,x\nt,b,4,y\n", encoding="utf-8")
    (prior,) = (text for text in summed_up(file=str(file), noise=NOISE).assumptions if text.startswith("Prior: "))
    assert prior.startswith("Prior: fitted to the counts of each group in all tables; ")
    file.write_text("table,name,value,total\nt,a,0,0\nt,b,0,0\n", encoding="utf-8")  # without shares
    found = summed_up(file=str(file), noise=NOISE).assumptions
    assert "The total of each table is public and exact." in found
    assert found[-1].startswith("Prior: Jeffreys' prior on the rates")
    file.write_text("table,name,value\nt,a,3\nt,b,4\n", encoding="utf-8")
    assert "Prior: flat on the counts." in summed_up(file=str(file), noise=NOISE, bounds={"lower": -9}).assumptions
    told = "Each count has discrete Laplace noise of scale 2, then suppression of values below 5, independently of the "
    stated = summed_up(file=str(file), noise=NOISE, withheld={"symbol": "*", "below": 5}).assumptions
    assert any(text.startswith(told) for text in stated)
    limit = "If a cell contains a limit such as <10, the noisy value was withheld below this limit."
    assert limit not in summed_up(file=str(file), noise=NOISE).assumptions
    file.write_text("table,name,value,total\nt,a,3,7\nt,b,4,7\n", encoding="utf-8")
    for about in ("counts", "rates", "both"):  # rows of shares, and of rates beside counts, have no released values
        assert limit not in summed_up(file=str(file), noise=NOISE, about=about).assumptions
    file.write_text("table,name,value\nt,a,<8\nt,b,30\nu,a,12\nu,b,1\n", encoding="utf-8")
    assert limit in summed_up(file=str(file), noise=NOISE).assumptions
    file.write_text("table,name,value\nt,a,x\nt,b,30\n", encoding="utf-8")  # a rejected row contains no limit
    assert limit not in summed_up(file=str(file), noise=NOISE).assumptions
    rows = [f"t{i},a,30" for i in range(450)]  # the summary shows 400 rows, and the limit is in the last one
    file.write_text("\n".join(["table,name,value", *rows, "u,a,<8"]), encoding="utf-8")
    assert limit in summed_up(file=str(file), noise=NOISE).assumptions
    other = "If a cell contains another limit, the noisy values of its table were withheld below that limit."
    file.write_text("table,name,value\nt,a,*\nt,b,30\nu,a,<20\nu,b,25\n", encoding="utf-8")
    found = summed_up(file=str(file), noise=NOISE, withheld={"symbol": "*", "below": 5})
    assert found.headline == "Tables analysed: 2 of 2; rejected: 0."  # one with the limit 5, and one with the limit 20
    assert other in found.assumptions
    assert any(text.startswith(told) for text in found.assumptions)
    file.write_text("table,county,value\nt,a,*\nt,b,30\nu,a,12\n", encoding="utf-8")  # b is not listed in u
    for are, words in (
        ({"are": "zero"}, "0 was released"),
        ({"are": "unknown"}, "no value is known"),
        ({"are": "withheld", "below": 5}, "the value was withheld (values below 5)"),
    ):
        read = {"withheld": {"symbol": "*", "below": 5}, "columns": {"name": "county"}}
        found = summed_up(file=str(file), noise="exact", absent={"cells": ["a", "b"], **are}, **read)
        assert f"For each cell that is not listed in a table, {words}." in found.assumptions
        assert "Columns with other names: county is read as name." in found.assumptions
        assert [line.key for line in found.lines] == ["t", "t", "u", "u"]
    file.write_text("table,name,value\nt,a,*\nt,b,30\n", encoding="utf-8")
    found = summed_up(file=str(file), noise={**NOISE, "threshold": 5}, withheld={"symbol": "*", "below": 5})
    assert found.headline == "Tables analysed: 1 of 1; rejected: 0."
    assert not {limit, other} & set(found.assumptions)  # a stated threshold is that of all tables


@pytest.mark.parametrize(
    "form", [{}, {"noise": {"law": "gaussian", "sd": 2.0}}, {"prior": {"law": "geometric", "mean": 5}}]
)
@pytest.mark.parametrize("block", [1 << 24, 200])  # the smaller blocks end within tables
def test_a_batch_states_in_how_many_tables_shares_are_omitted(tmp_path, monkeypatch, summed_up, form, block):
    """A share of the file is not defined if its total is 0. A table that is rejected is not counted."""
    monkeypatch.setattr(summary.batch, "_BLOCK", block)
    file, full = tmp_path / "many.csv", "".join(f"f{i},a,3,9\nf{i},b,4,9\nf{i},c,1,9\n" for i in range(9))
    empty = [f"e{i},a,1,0\ne{i},b,-1,0\n" for i in range(3)]

    def stated(text, head="table,name,value,total\n", **settings):
        file.write_text(head + text, encoding="utf-8")
        found = summed_up(**{"file": str(file), "noise": NOISE, **form, **settings})
        return [text for text in found.accuracy if text.startswith("Omitted")]

    assert stated(full) == []
    one = "Omitted in 1 table: shares of the file, because its total is 0."
    assert stated(full + empty[0] + "bad,a,1,0.5\nbad,b,2,0.5\n") == [one]
    assert stated(empty[0]) == [one]
    three = "Omitted in 3 tables: shares of the file, because their totals are 0."
    assert stated(empty[0] + full + "".join(empty[1:])) == [three]
    if "prior" not in form:  # other priors have no rates
        assert stated("".join(empty) + full, about="rates") == []
    assert stated("t,a,3\nt,b,4\n", "table,name,value\n") == []  # without a total, there are no shares to omit


def test_a_table_is_counted_for_each_reason_of_its_rejected_rows(tmp_path, summed_up):
    file = tmp_path / "tables.csv"
    file.write_text(
        "table,name,value,scale\nt,a,3,2\nt,b,x,2\nt,c,4,-1\nt,d,4,-2\nu,a,5,2\nv,a,7,0\n", encoding="utf-8"
    )
    found = summed_up(file=str(file), noise={"law": "discrete_laplace"})
    assert found.headline == "Tables analysed completely: 1 of 3; rejected, in whole or in part: 2."
    assert found.sentences == [
        "Rejected, in whole or in part, 2 tables: the scale of the noise must be finite and > 0.",
        "Rejected, in whole or in part, 1 table: value is not a number.",
    ]


@pytest.mark.parametrize(("about", "sampled", "covers"), [("counts", False, "count"), ("both", True, "count or rate")])
def test_the_sentences_of_a_batch_hold_for_all_its_rows(tmp_path, summed_up, about, sampled, covers):
    """The summary shows the first 400 rows, which are of rejected tables, and the sentences are about all rows."""
    file = tmp_path / "tables.csv"
    rows = [f"t{i},a,x,9\nt{i},b,3,9" for i in range(450)]
    file.write_text("\n".join(["table,name,value,total", *rows, "u,a,3,7", "u,b,4,7"]), encoding="utf-8")
    found = summed_up(file=str(file), noise=NOISE, about=about, confidence=0.9)
    assert (rules.SAMPLED in found.assumptions) is sampled
    nearest = f"If no {covers} fits at this level, the interval contains only the nearest {covers} (see ci_method)."
    assert nearest in found.accuracy
    assert found.headline == "Tables analysed: 1 of 451; rejected: 450."


def told(tmp_path, **settings):
    """Return the summary of a scenario as text, followed by the sentences of its page."""
    plain = {"kind": "noisy_counts", "noise": {"law": "laplace", "scale": 2.0}, **settings}
    files = making.files("told", tmp_path)
    making.part(scenario_settings.single("told", plain, kind.discover()), files, root_seed=1)
    return "\n".join([summary.as_text(files), *summary.summarise(files).sentences])


def test_under_noise_without_bounds_no_count_is_certain(tmp_path):
    """Noise of scale 0.001 differs from 0 with a probability above 0, which is too small to be a number here."""
    counts, sure = {"a": 7, "b": 3}, " with probability at least 95 %."
    tiny = {"noise": {"law": "discrete_laplace", "scale": 0.001}}
    assert f"count of a is exactly 7{sure}" in told(tmp_path, counts=counts, **tiny)
    assert f"share of b is 30 %{sure}" in told(tmp_path, counts=counts, total=10, **tiny)
    assert "count of a is exactly 7." in told(tmp_path, counts=counts, noise="exact")
    assert "count of a is exactly 9 of 9." in told(tmp_path, counts={"a": 7}, total=9)
    assert "count of a is exactly 0 of 0." in told(tmp_path, counts=counts, total=0)
    assert "The noise accounts for less than 1 % of" in told(tmp_path, counts=counts, total=10, **tiny)


def test_a_count_without_a_bound_is_not_certain_if_the_other_counts_are_exact(tmp_path):
    missing = {"counts": {"a": 7, "c": "na"}, "missing": ["na"], "noise": "exact"}
    asked = {"p": {"probability": "c > 1300000"}}
    total = {"released": 1234567.0, "noise": {"law": "laplace", "scale": 2}}
    text = told(tmp_path, total=total, questions=asked, **missing)
    assert "p: the probability that c > 1300000 is less than 0.01 %." in text
    assert "The total was published as 1,234,567, with Laplace noise of scale 2." in text
    text = told(tmp_path, total=1000000, questions=asked, **missing)
    assert "p: the probability that c > 1300000 is 0 %." in text


def test_a_count_whose_noisy_value_was_withheld_can_exceed_the_limit(tmp_path):
    text = told(tmp_path, counts={"a": "<10", "b": 30.5})
    assert "suppression of values below 10" in text
    assert "This count was withheld." in text
    assert "at most 9" not in text


def test_a_released_value_below_the_limit_of_withheld_values_is_rejected(tmp_path, summed_up):
    """Noisy values below 8 were withheld, so a released 7 is a mistake, whether or not a value was withheld."""
    stated = {"noise": NOISE, "withheld": {"symbol": "*", "below": 8}}
    with pytest.raises(config.ConfigError, match="'b' is 7, which is below 8, the limit of withheld values"):
        told(tmp_path, counts={"a": 30, "b": 7}, **stated)
    assert "count of b is exactly 0." in told(tmp_path, counts={"a": 30, "b": 0}, **{**stated, "noise": "exact"})
    file = tmp_path / "many.csv"
    for total, whole in (("", ""), (",total", ",38")):
        rows = "".join(
            f"{t},{name},{value}{whole}\n" for t, v in (("t", 8), ("u", 7)) for name, value in (("a", 30), ("b", v))
        )
        file.write_text(f"table,name,value{total}\n{rows}", encoding="utf-8")
        found = summed_up(file=str(file), **stated)
        assert "1 of 2" in found.headline
        assert [line.state for line in found.lines if "below 8, the limit of withheld values" in line.state] != []


def test_a_question_about_rates_states_the_sampling_and_its_rates(tmp_path):
    """Questions about rates have the assumption of rates, even if the table contains only counts."""
    part = {"share": {"of": ["a"], "among": ["a", "b"]}}
    stated = {"counts": {"a": 12, "b": 3}, "total": 15, "about": "counts"}
    text = told(tmp_path, questions={"s": {**part, "about": "rates"}}, **stated)
    assert rules.SAMPLED in text
    assert "s: the share of the rate of a among the rates of a and b is between " in text
    text = told(tmp_path, questions={"s": part}, **stated)
    assert rules.SAMPLED not in text
    assert "s: the share of a among a and b is between " in text


def test_tables_without_rates_are_rejected_if_rates_are_asked_for(tmp_path, summed_up):
    """Independent priors of the counts imply no prior of rates. The standard deviation of the noise is 9^(1/2)."""
    file = tmp_path / "many.csv"
    file.write_text("table,name,value,total\nt,a,3,30\nt,b,26,30\n", encoding="utf-8")
    stated = {"noise": {"law": "gaussian", "variance": 9.0}, "prior": {"law": "geometric", "mean": 20.0}}
    found = summed_up(file=str(file), about="rates", **stated)
    reason = "about must be one of counts, shares for this release, got rates"
    assert found.sentences == [f"Rejected, 1 table: {reason}."]
    assert "Each count has Gaussian noise with standard deviation 3, independently of the other counts." in (
        summed_up(file=str(file), **stated).assumptions
    )
