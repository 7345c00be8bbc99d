"""Test released models against enumeration and calculations by hand, and test simulated releases of synthetic
records.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta as beta_law
from scipy.stats import dirichlet as dirichlet_law
from scipy.stats import t as student

from dpmultinomial._files.published import open_release
from dpmultinomial._models import coded_table
from dpmultinomial._results.expressions import Names
from dpmultinomial._seeding import stream
from reproduction import kind
from reproduction.config import config, question_rules, scenario_settings
from reproduction.scenarios import making, sentences
from reproduction.scenarios.classifier import answer, histogram, model, rehearsal, rules
from reproduction.scenarios.classifier.histogram import Mechanism

PEOPLE = "block,tenure,age\n" + "".join(f"{i % 4},{'own' if i % 3 else 'rent'},{20 + i % 7}\n" for i in range(240))
MODEL = {
    "data": "confidential/people.csv",
    "levels": {"tenure": ["own", "rent"], "block": ["0", "1", "2", "3"]},
    "numeric": "age",
    "bounds": {"age": [18, 30]},
    "bins": 4,
}
BAYES = MODEL | {"mechanism": "naive_bayes", "target": "tenure", "noise": "dirichlet", "epsilon": 3.0, "order": 5.0}
NETWORK = MODEL | {"mechanism": "bayesian_network", "noise": "discrete_laplace", "epsilon": 6.0}
NETWORK |= {"network": {"age": ["tenure", "block"], "tenure": [], "block": ["tenure"]}}


def test_shares_of_a_dirichlet_release_by_moments():
    """Check the estimated shares of a Dirichlet release against moments derived by hand. With r = 1/2, alpha = 2 and
    ten records in four cells, a0 is 5 + 8 = 13 and E y = (5 f + 2)/13, so the estimate is f = (13 y - 2)/5. The
    standard deviation of f follows from the standard deviation of y.

    The variance of y under Dirichlet(a) is y (1 - y)/(a0 + 1), and the standard deviation of f is 13/5 times that of y.
    """
    how = Mechanism(law="dirichlet", words="", r=0.5, alpha=2.0)
    shares, sd = how.share(np.array([0.25, 0.4, 0.2, 0.15]), 10)
    assert shares == pytest.approx(np.array([1.25, 3.2, 0.6, -0.05]) / 5)
    assert sd == pytest.approx(13 / 5 * np.sqrt(np.array([0.1875, 0.24, 0.16, 0.1275]) / 14))


@pytest.mark.parametrize(("law", "times"), [("discrete_laplace", np.sqrt(2)), ("discrete_gaussian", 1.0)])
def test_shares_of_a_release_with_noise(law, times):
    """Check that the estimated shares of a noisy release equal the released shares. The standard deviation of a share
    is the standard deviation of the noise divided by the total.
    """
    shares, sd = Mechanism(law=law, words="", scale=3.0, floor=1.0).share(np.array([0.3, 0.7]), 60.0)
    assert shares.tolist() == [0.3, 0.7]
    assert sd == pytest.approx(times * 3 / 60)


def test_the_posterior_of_a_released_histogram_is_the_enumerated_one():
    """Check the posterior of a released histogram of 12 records in three cells against an enumeration of all counts f.
    The expected values use the Dirichlet density of scipy and a flat prior.
    """
    r, alpha, total = 0.8, 2.5, 12
    y = np.array([0.2, 0.5, 0.3])
    every = np.array([(a, b, total - a - b) for a, b in itertools.product(range(13), repeat=2) if a + b <= total])
    # under a flat prior, all f are equally likely
    weights = np.array([dirichlet_law(r * f + alpha).pdf(y) for f in every])
    weights /= weights.sum()
    means = (every + 1) / (total + 3)
    law = histogram.posterior(y, total=total, mechanism=Mechanism(law="dirichlet", words="", r=r, alpha=alpha))
    assert np.asarray(law.mean()) == pytest.approx(weights @ means, rel=1e-11)
    variance = weights @ (means * (1 - means) / (total + 4) + means**2) - (weights @ means) ** 2
    assert np.asarray(law.variance()) == pytest.approx(variance, rel=1e-10)


@pytest.mark.parametrize("law", ["discrete_laplace", "discrete_gaussian"])
def test_weights_of_discrete_noise_take_a_lifted_count_as_one_below_the_floor(law):
    how = Mechanism(law=law, words="", scale=1.5, floor=1.5)
    # 0.9 corresponds to a count of 9; 0.1 is below the floor, so the noise is at most 1 - s
    logs = how.log_weights(np.array([0.9, 0.1]), 10)
    k = np.arange(-200, 201)
    pmf = np.exp(-np.abs(k) / 1.5) if law == "discrete_laplace" else np.exp(-(k**2) / (2 * 1.5**2))
    pmf /= pmf.sum()
    s = np.arange(11)
    first, second = np.log(pmf[200 + 9 - s]), np.log([pmf[k <= 1 - x].sum() for x in s])
    assert logs[0] - logs[0][0] == pytest.approx(first - first[0], rel=1e-9, abs=1e-9)
    assert logs[1] - logs[1][0] == pytest.approx(second - second[0], rel=1e-6, abs=1e-6)


def test_moments_of_a_large_conditional_histogram_are_those_of_the_exact_law():
    """Check that the normal approximation with matched moments differs from the exact posterior by at most 2 %. The
    check uses 5,000 records, for which the prior has a weight of only 4 in 5,000.
    """
    how = Mechanism(law="dirichlet", words="", r=0.9, alpha=8.0)
    y = np.array([0.1, 0.2, 0.3, 0.4])
    settings = {"total": 5000, "mechanism": how, "prior": 1.0, "level": 0.95}
    exact = histogram.summary(list("abcd"), y, public=True, **settings)
    normal = histogram.summary(list("abcd"), y, public=False, **settings)
    assert set(exact["status"]) == {"exact"}
    assert set(normal["status"]) == {"approximate"}
    for column in ("mean", "sd", "lower", "upper"):
        assert normal[column].to_numpy() == pytest.approx(exact[column].to_numpy(), rel=0.02)


@pytest.mark.parametrize("settings", [BAYES, NETWORK], ids=["naive Bayes", "network"])
def test_a_release_chooses_the_kind_and_has_a_rate_a_probability(tmp_path, monkeypatch, settings):
    releases = pytest.importorskip("dpmultinomial._releases.room")
    pytest.importorskip("opendp", reason="releases draw their noise with opendp")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential/people.csv").write_text(PEOPLE)
    folder = releases.make("m", settings, root=tmp_path)
    more = {"more": {"probability": "'P(tenure = own)' > 'P(tenure = rent)'"}}
    written = {"release": str(folder.relative_to(tmp_path)), "questions": more}
    scenario = scenario_settings.single("mine", written, kind.discover())
    assert scenario.kind.name == "classifier"
    files = making.files("mine", tmp_path)
    making.part(scenario, files, root_seed=1)
    rows, _, facts = making.read(files)
    question, rows = rows.iloc[-1], rows.iloc[:-1]
    assert (question["quantity"], question["type"]) == ("more", "question")
    assert question["mean"] > 0.99  # 160 of 240
    assert set(rows["type"]) == {"rate"}
    table = model.table(open_release(folder), prior=1.0, level=0.95)
    assert rows["mean"].tolist() == pytest.approx(table["mean"].tolist(), rel=1e-12)
    assert table.groupby(["node", "given"])["mean"].sum().to_numpy() == pytest.approx(1.0, abs=1e-9)
    own = rows[rows["quantity"] == "P(tenure = own)"].iloc[0]
    # 160 of 240 records; the noise differs in every run, and the test fails with probability 1e-8 by chance
    assert abs(own["mean"] - 2 / 3) < 6 * own["sd"]
    assert own["status"] == ("exact" if settings["noise"] == "dirichlet" else "approximate")
    said = " ".join(sentences.assumptions(facts, facts["points"][0]))
    assert "240 records (public)" in said
    assert "probabilities are those of a population of which the records are an independent random sample." in said


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"rank": "all"}, "rank must have the form {of: all, top: 5}"),
        ({"rank": {"of": ["a", "b"], "top": 1.5}}, "top must be an integer, got 1.5"),
        ({"rank": {"of": ["a", "b"], "top": True}}, "top must be an integer, got True"),
        ({"share": {"of": ["a"]}}, "share must have the form {of: [..], among: [..]}"),
        ({"share": {"of": ["a"], "among": ["a", "b"], "top": 1}}, "share must have the form {of: [..], among: [..]}"),
        ({"share": ["a", "b"]}, "share must have the form"),
        ({"probability": 5}, "probability requires a comparison such as 'a > b', got 5"),
        ({"difference": ["a"]}, "difference requires two sides"),
        ({"ratio": "a"}, "ratio requires two sides"),
        ({"sum": {"a": 1}}, "sum requires names"),
    ],
)
def test_questions_of_a_wrong_shape_are_refused_before_names_are_known(question, said):
    found = list(question_rules.mistakes({"q": question}, ()))
    assert [place for place, _ in found] == [".questions.q"]
    assert said in found[0][1]


HOW = Mechanism(law="dirichlet", words="", r=0.8, alpha=2.5)
RELEASED = {"mark": [0.2, 0.5, 0.3], "age": [0.7, 0.3]}


def released_table(total=12, public=True, **given):
    """Return probability tables in the format of `model.table`. By default, the model has two columns without parents.
    Keyword arguments give other tables.
    """
    rows = []
    for node, values in (given or RELEASED).items():
        rows += [
            {"quantity": f"P({node} = {c})", "node": node, "given": "", "released": p, "total": float(total),
             "public": public, "status": "exact" if public else "approximate"}
            for c, p in zip("abc", values, strict=False)
        ]  # fmt: skip
    return pd.DataFrame(rows)


def enumerated(values, total=12):
    """Return all vectors of counts with the given total, and the posterior weight of each vector for the released
    values. The weights are computed with the Dirichlet density of scipy.
    """
    k = len(values)
    every = np.array([f for f in itertools.product(range(total + 1), repeat=k) if sum(f) == total])
    weights = np.array([dirichlet_law(HOW.r * f + HOW.alpha).pdf(values) for f in every])
    return every, weights / weights.sum()


def asked(questions, table=None, level=0.9):
    table = released_table() if table is None else table
    rng = stream(1, "questions")
    return answer.answers(table, questions, mechanism=HOW, prior=1.0, level=level, rng=rng).set_index("quantity")


def test_questions_within_a_table_are_exact_where_a_share_answers_them():
    """Check that questions about shares within one probability table have exact answers. Given counts f, p is
    Dirichlet(f + 1), so a/(a + b) is Beta(f_a + 1, f_b + 1).
    """
    every, weights = enumerated(RELEASED["mark"])
    a, b, c = (every[:, i] + 1.0 for i in range(3))
    questions = {
        "more": {"probability": "'P(mark = b)' > 'P(mark = a)'"},
        "less": {"probability": "'P(mark = b)' <= 'P(mark = a)'"},
        "twice": {"probability": "'P(mark = b)' > 2 * 'P(mark = a)'"},
        "alone": {"probability": "'P(mark = c)' < 0.25"},
        "share": {"share": {"of": ["P(mark = a)"], "among": ["P(mark = a)", "P(mark = b)"]}},
    }
    found = asked(questions)
    assert list(found.index) == list(questions)
    assert (found["status"] == "exact").all()
    assert (found["error"] == 0).all()
    wanted = {
        "more": weights @ beta_law(b, a).sf(1 / 2),
        "less": weights @ beta_law(b, a).cdf(1 / 2),
        "twice": weights @ beta_law(b, a).sf(2 / 3),
        "alone": weights @ beta_law(c, a + b).cdf(1 / 4),
        "share": weights @ (a / (a + b)),
    }
    assert found["mean"].to_dict() == pytest.approx(wanted, rel=1e-9)
    low, high = found.loc["share", ["lower", "upper"]].astype(float)
    assert weights @ beta_law(a, b).cdf(low) == pytest.approx(0.05, rel=1e-7)
    assert weights @ beta_law(a, b).sf(high) == pytest.approx(0.05, rel=1e-7)


def test_other_questions_are_drawn_with_their_monte_carlo_error():
    """Check the answers, computed from draws, to questions about differences within a probability table and between two
    tables. Two tables are independent given the release.
    """
    (every, weights), (other, chances) = (enumerated(values) for values in RELEASED.values())
    a, b, _ = (every[:, i] + 1.0 for i in range(3))
    middle, two = (b - a) / 15, (other[:, 0] + 1) / 14
    found = asked(
        {
            "classes": {"difference": ["P(mark = b)", "P(mark = a)"]},
            "columns": {"difference": ["P(age = a)", "P(mark = b)"]},
            "order": {"probability": "'P(age = a)' > 'P(mark = b)'"},
            "ranks": {"rank": {"of": ["P(mark = a)", "P(mark = b)", "P(mark = c)"], "top": 1}},
        }
    )
    assert (found["status"] == "approximate").all()
    assert (found["error"] > 0).all()
    for label, mean in (("classes", weights @ middle), ("columns", chances @ two - weights @ (b / 15))):
        assert abs(found.loc[label, "mean"] - mean) < 5 * found.loc[label, "error"]
    grid = np.linspace(0, 1, 4001)
    above = chances @ np.array([beta_law(n + 1, 13 - n).sf(grid) for n in other[:, 0]])
    own = weights @ np.array([beta_law(n + 1, 14 - n).cdf(grid) for n in every[:, 1]])
    exact = float((0.5 * (above[1:] + above[:-1]) * np.diff(own)).sum())
    assert abs(found.loc["order", "mean"] - exact) < 5 * found.loc["order", "error"]
    variance = weights @ ((a + b) / 15 - ((b - a) / 15) ** 2) / 16 + weights @ middle**2 - (weights @ middle) ** 2
    assert found.loc["classes", "sd"] == pytest.approx(variance**0.5, rel=0.02)


def test_a_table_with_an_estimated_total_makes_the_answer_approximate():
    table = pd.concat([released_table(age=[0.7, 0.3]), released_table(public=False, mark=[0.2, 0.5, 0.3])])
    found = asked(
        {"own": {"probability": "'P(mark = b)' > 'P(mark = a)'"}, "one": {"probability": "'P(age = a)' > 0.5"}}, table
    )
    assert found["status"].tolist() == ["approximate", "exact"]
    assert np.isnan(found.loc["own", "error"])


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"sum": ["P(mark = a)", "P(age = a)"]}, "(different conditions or columns): use a difference"),
        (
            {"share": {"of": ["P(mark = a)"], "among": ["P(mark = a)", "P(age = a)"]}},
            "the key 'share' must contain names from a single table, got names from 2 tables",
        ),
        (
            {"rank": {"of": ["P(mark = a)", "P(age = a)"]}},
            "the key 'rank' must contain names from a single table, got names from 2 tables",
        ),
        ({"rank": {"of": "all"}}, "the key 'of' must list probabilities of a single table, got 'all'"),
        (
            {"sum": ["P(mark = a)"], "about": "counts"},
            "the key 'about' is 'rates' (the default), got 'counts'",
        ),
        ({"difference": ["P(mark = a)", "P(mark = z)"]}, "unknown name"),
    ],
)
def test_questions_without_a_meaning_for_a_model_are_refused_with_the_reason(question, said):
    with pytest.raises((ValueError, KeyError)) as caught:
        asked({"q": question})
    assert "q: " in str(caught.value)
    assert said in str(caught.value)


def test_cells_that_are_taken_as_normal_one_by_one_answer_no_question():
    table = released_table(total=5000, public=False)
    with pytest.raises(ValueError, match="more than 2,000 records, or its number of records is estimated"):
        asked({"q": {"probability": "'P(mark = b)' > 'P(mark = a)'"}}, table)
    single = pd.concat([released_table(mark=[0.2, 0.5, 0.3]), released_table(age=[1.0])])
    with pytest.raises(ValueError, match="so it is 1"):
        asked({"q": {"difference": ["P(mark = b)", "P(age = a)"]}}, single)


def test_a_rehearsal_has_nothing_to_ask(tmp_path):
    with pytest.raises(config.ConfigError, match="has scores of methods but no posterior of a probability"):
        scenario_settings.single(
            "mine", rehearsed(tmp_path) | {"questions": {"q": {"probability": "'a' > 1"}}}, kind.discover()
        )


def rehearsed(tmp_path, **changed):
    path = tmp_path / "made_up.csv"
    rows = [f"{i % 2},{'a' if i % 2 else 'b'},{i % 7}" for i in range(60)]
    path.write_text("\n".join(["class,mark,size", *rows]) + "\n")
    asked = {"csv": str(path), "target": "class", "numeric": ["size"], "repeats": 3, "epsilons": [10.0], **changed}
    return {"kind": "classifier", "rehearsal": asked}


def test_a_rehearsal_scores_what_a_release_would_be_worth(tmp_path):
    scenario = scenario_settings.single("mine", rehearsed(tmp_path), kind.discover())
    files = making.files("mine", tmp_path)
    making.part(scenario, files, root_seed=1)
    rows = pd.read_csv(files.csv).set_index("quantity")
    assert rows.loc["test accuracy, non-private", "mean"] == 1.0  # the mark equals the class
    assert "test accuracy, dirichlet, epsilon = 10" in rows.index
    assert rows.loc["test accuracy, majority", "mean"] <= 0.75


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"target": "clas"}, "mine.rehearsal.target: the file has no column 'clas'"),
        ({"numeric": ["mark"]}, "mine.rehearsal.numeric: the column 'mark' contains 'b' in line 2"),
        (
            {"network": {"mark": ["size"], "size": ["mark"]}},
            "mine.rehearsal.network: must not contain a cycle, got a cycle through mark, size",
        ),
        ({"csv": "nowhere.csv"}, "mine.rehearsal.csv: the file 'nowhere.csv' was not found"),
        ({"floor": "sigmaa"}, "mine.rehearsal.floor"),
    ],
)
def test_mistakes(tmp_path, change, said):
    with pytest.raises(config.ConfigError) as caught:
        scenario_settings.single("mine", rehearsed(tmp_path, **change), kind.discover())
    assert said in str(caught.value)


def test_what_a_rehearsal_costs(tmp_path):
    """Check the estimated CPU time for simulated releases of synthetic records. The estimate is 1 s plus, for each
    release, 1e-4 s and 1e-8 s per byte of the records.
    """
    path = tmp_path / "mine.csv"
    path.write_text("x" * 5000)
    asked = {"csv": str(path), "epsilons": [1.0, 2.0], "repeats": 7, "mechanisms": ["dirichlet"]}
    assert rules.work({"rehearsal": asked}) == pytest.approx((1 + 14 * (1e-4 + 5e-5), 0.15))


def test_nodes_come_after_their_parents_whatever_else_is_done():
    assert model._order({"c": ["a"], "d": ["c", "b"], "a": [], "b": []}) == ["a", "b", "c", "d"]


A, B, C = (f"P(mark = {c})" for c in "abc")


@pytest.mark.parametrize(
    ("question", "exact"),
    [
        ({"share": {"of": A, "among": [A, B]}}, True),
        ({"share": {"of": [A], "among": [A, B, C]}}, True),
        ({"share": {"of": [A, B], "among": [A, B, C]}}, False),
        ({"share": {"of": A, "among": [A]}}, False),
        ({"share": {"of": A, "among": [B, C]}}, False),
        ({"probability": f"'{A}' > '{B}'"}, True),
        ({"probability": f"2 * '{A}' <= 3 * '{B}'"}, True),
        ({"probability": f"'{A}' > '{B}' + 0.1"}, False),
        ({"probability": f"'{A}' = '{B}'"}, False),
        ({"probability": f"'{A}' != '{B}'"}, False),
        ({"probability": f"'{A}' + '{B}' > 0"}, False),
        ({"probability": f"'{A}' > 0"}, False),
        ({"probability": f"'{A}' > '{B}' + '{C}'"}, False),
        ({"sum": [A, B]}, False),
    ],
)
def test_only_questions_about_a_share_of_one_table_are_exact(question, exact):
    table = released_table(mark=RELEASED["mark"])
    one = answer._Table(table, HOW, 1.0)
    found = answer._exact(question, one, Names((A, B, C)), 0.9)
    assert (found is not None) == exact


@pytest.mark.parametrize(
    ("question", "tables", "words"),
    [
        ({"sum": [A]}, 2, "the key 'sum' must contain names from a single table, got names from 2 tables"),
        ({"share": {}}, 2, "the key 'share' must contain names from a single table"),
        ({"rank": {"of": [A]}}, 3, "got names from 3 tables"),
        ({"rank": {"of": "all"}}, 1, "must list probabilities of a single table, got 'all'"),
        (
            {"sum": [A], "about": "counts"},
            1,
            r"the key 'about' is 'rates' \(the default\), got 'counts'",
        ),
        ({"sum": [A], "about": "rates"}, 1, None),
        ({"difference": [A, B]}, 2, None),
        ({"rank": {"of": [A, B]}}, 1, None),
    ],
)
def test_sums_shares_and_ranks_are_of_one_table(question, tables, words):
    if words is None:
        answer._judge(question, tables)
    else:
        with pytest.raises(ValueError, match=words):
            answer._judge(question, tables)


@pytest.mark.parametrize(("total", "public", "known"), [(2000, False, True), (2001, False, False), (2001, True, True)])
def test_a_table_with_an_estimated_number_of_records_is_listed_up_to_2000(total, public, known):
    one = answer._Table(released_table(total, public, mark=RELEASED["mark"]), HOW, 1.0)
    assert (one.law is not None) == known
    assert one.state.status == ("exact" if public else "approximate")
    single = answer._Table(released_table(mark=[1.0]), HOW, 1.0)
    assert single.law is None


def test_no_error_is_stated_for_a_release_whose_error_is_unknown():
    rows = pd.DataFrame({"status": ["exact", "approximate"], "error": [0.0, np.nan], "type": ["rate", "rate"]})
    told = sentences.accuracy(answer._told(rows, [answer.EXACT, answer._ESTIMATED]))
    assert any(text.startswith("1 of the numbers is approximate, with an unknown error: the normal") for text in told)
    drawn = answer.Accuracy("approximate", 0.01, "draws")
    told = sentences.accuracy(answer._told(rows, [answer.EXACT, drawn, answer._ESTIMATED]))
    assert [text.partition(":")[0] for text in told[1:]] == [
        "1 of the numbers is approximate, with the stated error",
        "1 of the numbers is approximate, with an unknown error",
    ]


def test_a_rehearsal_without_additive_noise_does_not_mention_raised_counts():
    point = {"records": 120, "order": 5.0, "floor": "sigma", "unusual": []}
    assert "noisy counts" not in rules.assumptions(point | {"mechanisms": ["dirichlet"]})[0]
    stated = rules.assumptions(point | {"mechanisms": ["dirichlet", "laplace"]})[0]
    assert "noisy counts below the standard deviation of the noise are raised" in stated
    assert "below 0.5 are raised" in rules.assumptions(point | {"floor": 0.5, "mechanisms": ["laplace"]})[0]


def test_the_interval_of_a_simulated_score_by_hand():
    """Check the scores 0.2, 0.4, 0.6 and 0.8 with mean 0.5 and sd sqrt(0.2/3); t has 3 degrees of freedom."""
    row = rehearsal._row("m", "accuracy", 1.0, np.array([0.2, 0.4, 0.6, 0.8]), 0.9)
    sd = (0.2 / 3) ** 0.5
    half = student.ppf(0.95, 3) * sd / 2
    found = [row[key] for key in ("mean", "sd", "lower", "upper", "error")]
    assert found == pytest.approx([0.5, sd, 0.5 - half, 0.5 + half, sd / 2])


def test_a_rehearsal_shares_epsilon_among_the_features_and_the_classes(monkeypatch):
    """Check two features: each of three histograms has a third of epsilon. The column c has one value."""
    frame = pd.DataFrame({"a": list("xyxyxyxyxy"), "b": list("uuvvuuvvuv"), "c": "z", "y": list("pqqpqppqpq")})
    data, spent = coded_table.encode(frame, name="d", target="y", numeric=[]), []

    def calibrated(mechanism, each, *, order):
        spent.append((mechanism, np.asarray(each).tolist(), order))
        raise InterruptedError

    monkeypatch.setattr(rehearsal.calibrated_noise, "calibrated", calibrated)
    keys = {"order": 4.0, "epsilons": [1.5, 6.0], "repeats": 2, "bins": 10, "floor": 1.0, "mechanisms": ["laplace"]}
    with pytest.raises(InterruptedError):
        rehearsal.scores(data, rehearsal.Design(**keys, network={}), level=0.9, rng=np.random.default_rng(1))
    assert spent == [("laplace", [0.5, 2.0], 4.0)]
