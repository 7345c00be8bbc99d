"""Check that what a scenario states on the screen is true: units, probabilities of intervals, what was measured, what
the noise does, and how accurate the answers are.
"""

import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats
from scipy.special import digamma, polygamma

from dpmultinomial._releases.spending import Cost
from reproduction import command
from reproduction.scenarios import making, page, sentences, summary
from reproduction.scenarios.swapped_table import rules as swapped

LAPLACE = {"law": "discrete_laplace", "scale": 2.0}
TREE = """name,value,parent,level,sigma
state,1281,,state,2
north,1199,state,region,2
north,1204,state,region,5
south,,state,region,
essex,806,north,county,3
orange,391,north,county,3
union,79,south,county,3
"""


QUESTIONS = {
    "gap": {"difference": ["a", "b"]},
    "odds": {"ratio": ["a", "b"]},
    "part": {"share": {"of": ["a"], "among": ["a", "b"]}},
    "best": {"rank": {"of": ["a", "b"], "top": 1}},
    "rates": {"difference": ["a", "b"], "about": "rates"},
}
COUNT = {"type": "count", "released": 5.0, "mean": 4.4, "sd": 2.0, "lower": 1.0, "upper": 9.0}
SHARE = {"mean": 0.2, "sd": 0.06, "lower": 0.1, "upper": 0.35}
REAL = {"mean": 4.0, "sd": 2.0, "lower": 1.3, "upper": 9.5}
ROWS = [
    (COUNT, "The true count of a is between 1 and 9 of 50 with probability at least 90 %; the posterior mean is 4.4."),
    ({**COUNT, "lower": 4.0, "upper": 4.0}, "The true count of a is exactly 4 of 50 with probability at least 90 %; "),
    (
        {"type": "share", **SHARE},
        "The true share of a is between 10 % and 35 % with probability at least 90 %; the posterior mean is 20 %.",
    ),
    (
        {"type": "rate", **SHARE},
        "The underlying rate of a is between 10 % and 35 % with probability 90 %; the posterior mean is 20 %.",
    ),
    (
        {"type": "rate", **REAL, "point": {"rate_unit": "per 1,000 births"}},
        "The underlying rate of a per 1,000 births is between 1.3 and 9.5 with probability 90 %; the posterior mean",
    ),
    (
        {"type": "parameter", **REAL, "quantity": "mu", "kind": "censored_sample"},
        "The mean mu of the normal distribution of the records is between 1.3 and 9.5 with probability 90 %; ",
    ),
    (
        {"type": "question", "quantity": "gap", "mean": 4.5, "sd": 3.0, "lower": -3.0, "upper": 12.0},
        "gap: the count of a minus the count of b is between -3 and 12 with probability at least 90 %.",
    ),
    (
        {"type": "question", "quantity": "odds", **REAL},
        "odds: the count of a divided by the count of b is between 1.3 and 9.5 with probability at least 90 %.",
    ),
    (
        {"type": "question", "quantity": "part", **SHARE},
        "part: the share of a among a and b is between 10 % and 35 % with probability at least 90 %.",
    ),
    (
        {"type": "question", "quantity": "best: a", "mean": 1.3, "sd": 0.5, "lower": 1.0, "upper": 2.0},
        "best: the rank of a among a and b is between 1 and 2 with probability at least 90 %.",
    ),
    (
        {"type": "question", "quantity": "rates", "mean": 0.1, "sd": 0.1, "lower": -0.1, "upper": 0.25},
        "rates: the rate of a minus the rate of b is between -0.10 and 0.25 with probability 90 %.",
    ),
]


@pytest.mark.parametrize(("given", "told"), ROWS, ids=[told[:24] for _, told in ROWS])
def test_a_sentence_has_the_numbers_of_its_row(given, told):
    """Compare with sentences written by hand; the ends, the mean and the level of a row are all different."""
    row = {"quantity": "a", "released": math.nan, "level": 0.9, "status": "exact", "error": 0.0, **given}
    point = {"noise": {"law": "laplace", "scale": 2.0}, "total": 50, **row.pop("point", {})}
    facts = {"kind": row.pop("kind", "noisy_counts"), "settings": {"questions": QUESTIONS}}
    sentence = sentences.sentence(SimpleNamespace(**row), facts, point)
    assert sentence == told or (not told.endswith(".") and sentence.startswith(told))
    cells = summary._line({**row, "ci_lower": 0.15, "ci_upper": 0.3}, [], facts, point)
    ends = re.search(r"between (.+?) and (.+?)(?: of 50)? with", told)
    if ends:
        assert cells.interval == f"{ends[1]} to {ends[2]}"
    if row["type"] in ("share", "rate") and "rate_unit" not in point:
        assert (cells.mean, cells.confidence) == ("20 %", "15 % to 30 %")
    if row["type"] == "count":
        assert (cells.released, cells.mean) == ("5", "4.4")


def test_least_squares_and_confidence_intervals_have_cells_of_their_own():
    row = {"quantity": "a", **COUNT, "level": 0.9, "status": "exact", "error": 0.0}
    row |= {"least_squares": 6.2, "least_squares_sd": 3.0, "ci_lower": 0.0, "ci_upper": 11.0}
    cells = summary._line(row, [], {"kind": "noisy_counts", "settings": {}}, {})
    assert (cells.interval, cells.least_squares, cells.confidence) == ("1 to 9", "6.2 ± 3.0", "0 to 11")


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """Return a function from the settings of a scenario to its text on the screen."""
    monkeypatch.chdir(tmp_path)

    def text(**settings):
        written = {"kind": "noisy_counts", **settings}
        Path("mine.yaml").write_text(yaml.safe_dump({"run": [], "scenarios": {"mine": written}}))
        command.main(["answer", "mine", "--configfile", "mine.yaml"])
        return summary.as_text(making.files("mine", "."))

    return text


def line(text, start):
    """Return the cells of the row of the table that begins with `start`."""
    return next(row for row in text.splitlines() if row.startswith(start)).split()


def test_rates_have_their_unit_and_the_released_value_is_a_count(shown):
    rows = "".join(f"k{i},{9 + i},{1000 + 50 * i}\n" for i in range(12))
    Path("deaths.csv").write_text(f"name,value,births\n{rows}")
    noise = {"law": "discrete_gaussian", "sigma": 2.0}
    text = shown(kind="protected_rates", file="deaths.csv", exposure="births", per=1000, noise=noise)
    head, _, table = text.partition("\n")
    assert head.startswith("The underlying rate of k0 per 1,000 births is between ")
    assert "%" not in "".join(row for row in table.splitlines() if row.startswith("k"))
    cells = line(table, "k3 ")
    assert cells[3] == "12"
    assert 5 < float(cells[4]) < 20
    assert "Each count has discrete Gaussian noise with parameter sigma 2, independently of the other counts." in text
    assert "rates are per 1,000 births." in text


def test_a_share_of_persons_is_in_per_cent(shown):
    rows = "".join(f"k{i},{30 + i},{100 + i}\n" for i in range(12))
    Path("ill.csv").write_text(f"name,value,asked\n{rows}")
    noise = {"law": "discrete_gaussian", "sigma": 2.0}
    text = shown(kind="protected_rates", file="ill.csv", exposure="asked", family="shares", noise=noise)
    assert " % and " in text.partition("\n")[0]
    assert line(text, "k3 ")[3] == "33"


def test_a_count_with_two_measurements_is_not_called_unmeasured(shown):
    Path("tree.csv").write_text(TREE)
    text = shown(file="tree.csv", noise="discrete_gaussian", total=1279)
    assert "measured several times" in next(row for row in text.splitlines() if row.startswith("north"))
    assert "not measured" in next(row for row in text.splitlines() if row.startswith("south"))
    assert "1 count was measured more than once, and 1 count was not measured." in text
    assert text.startswith("The true count of north is between")  # the root is public, not a result


def test_the_accuracy_of_answers_to_questions_is_stated(shown):
    Path("tree.csv").write_text(TREE)
    questions = {
        "first": {"rank": {"of": ["essex", "orange", "union"], "top": 1}},
        "gap": {"difference": ["essex", "orange"]},
        "part": {"share": {"of": ["essex"], "among": ["essex", "orange"]}},
    }
    text = shown(file="tree.csv", noise="discrete_gaussian", questions=questions)
    rows = making.read(making.files("mine", "."))[0]
    exact, drawn = (int((rows["status"] == status).sum()) for status in ("exact", "approximate"))
    assert (exact, drawn) == (8, 2)
    counted = re.findall(r"^(\d+) of the numbers are exact up to floating-point rounding", text, flags=re.MULTILINE)
    assert sum(map(int, counted)) == exact  # of counts and of questions, which have different reasons
    reason = re.search(rf"{drawn} of the numbers are approximate, with the stated error: (.*)", text)[1]
    assert "100,000 independent draws; error: one standard error" in reason
    assert line(text, "first: P(essex in top 1)")[-5:-1] == ["at", "least", "99.997", "%"]  # no draw of 100,000 differs
    assert line(text, "gap")[3:5] == ["407", "to"]
    assert "%" in line(text, "part")
    told = page.write(making.files("mine", "."), "page.html").sentences
    assert "first: the rank of essex among essex, orange and union is 1 with probability at least 95 %." in told
    assert any(text.startswith("gap: ") and text.endswith("with probability at least 95 %.") for text in told)


def test_an_event_is_certain_only_if_the_published_values_bound_the_counts(shown):
    questions = {"more": {"probability": "a > b"}, "top": {"rank": {"of": "all", "top": 1}}}
    counts = {"a": 1000, "b": 0, "c": 500}
    text = shown(counts=counts, noise={"law": "discrete_gaussian", "sigma": 5.0}, questions=questions)
    assert line(text, "more")[2:6] == ["more", "than", "99.99", "%"]
    assert line(text, "top: P(a in top 1)")[-5:-1] == ["more", "than", "99.99", "%"]
    told = page.write(making.files("mine", "."), "page.html").sentences
    assert "top: the rank of a among all counts is 1 with probability at least 95 %." in told
    text = shown(counts=counts, noise={"law": "exact", "rounded": 10}, questions=questions)
    assert line(text, "more")[2:4] == ["100", "%"]
    assert "top: the rank of a among all counts is 1." in page.write(making.files("mine", "."), "page.html").sentences


def test_a_rank_is_certainly_at_most_the_number_of_ranked_counts(shown):
    """Check ranks of two of three counts with a public total, which are drawn, and of all counts, which are exact."""
    questions = {"two": {"rank": {"of": ["a", "b"]}}, "one": {"rank": {"of": ["a", "b"], "top": 1}}}
    noise = {"law": "discrete_gaussian", "sigma": 5.0}
    text = shown(counts={"a": 1000, "b": 0, "c": 500}, noise=noise, total=1500, questions=questions)
    assert line(text, "two: P(a in top 2)")[-4:] == ["probability", "100", "%", "exact"]
    assert line(text, "one: P(a in top 1)")[-5:-1] == ["at", "least", "99.997", "%"]
    told = page.write(making.files("mine", "."), "page.html").sentences
    assert "two: the probability of b in top 2 among a and b is 100 %." in told
    questions = {"all": {"rank": {"of": "all"}}, "same": {"probability": "2 * a >= a + a"}}
    text = shown(counts={"a": 1000, "b": 0}, noise=noise, questions=questions)
    assert line(text, "same")[-4:] == ["probability", "100", "%", "exact"]
    assert line(text, "all: P(b in top 2)")[-4:] == ["probability", "100", "%", "exact"]
    text = shown(counts={"a": 1000}, noise=noise, questions={"all": {"rank": {"of": "all"}}})
    assert "all: the rank of a among all counts is 1." in page.write(making.files("mine", "."), "page.html").sentences


def test_all_components_are_ranked_and_added_up_without_their_total(shown):
    questions = {"top": {"rank": {"of": "all", "top": 3}}, "sum": {"sum": "all"}}
    released = {"x": 4, "y": 0, "z": 11}
    text = shown(kind="additive_counts", released=released, epsilon=0.7, algorithm="3", questions=questions)
    assert "top: total" not in text
    rows = making.read(making.files("mine", "."))[0].set_index("quantity")
    assert rows.loc["sum", "mean"] == pytest.approx(rows.loc["total", "mean"], abs=0.1)  # draws, sd 2.2/sqrt(1e5)
    questions["top"]["rank"]["top"] = 4  # there are three components
    with pytest.raises(SystemExit, match="1 mistake"):
        shown(kind="additive_counts", released=released, epsilon=0.7, algorithm="3", questions=questions)


def test_shares_and_ratios_are_stated_to_be_conditional(shown):
    noise = {"law": "discrete_laplace", "scale": 4.0}
    sentence = "Shares among some names, and ratios, are given that their denominators are not 0."
    assert sentence in shown(counts={"a": 3, "b": 1}, noise=noise, questions={"r": {"ratio": ["a", "b"]}})
    assert sentence in shown(counts={"a": 3, "b": 1, "c": 9}, noise=noise, total=13, among=["a", "b"])
    assert sentence not in shown(counts={"a": 3, "b": 1}, noise=noise, questions={"d": {"difference": ["a", "b"]}})
    ranked = shown(counts={"a": 3, "b": 1}, noise=noise, questions={"r": {"rank": {"of": "all", "top": 1}}})
    assert "\nRanks begin with the largest value; tied values have the better rank.\n" in ranked


@pytest.mark.parametrize(
    ("noise", "noun", "told"),
    [
        ({"law": "exact", "rounded": 10}, "rounding", "No noise was added to the counts, so there is no guarantee"),
        (
            {"law": "random_rounding", "base": 3, "fixed": "down"},
            "rounding",
            "No noise was added to the counts, so there",
        ),
        ({"law": "random_rounding", "base": 3}, "rounding", "Rounding at random changes a count by less than 3, so"),
        ({"law": "laplace", "scale": 3.0}, "noise", "The privacy cost of the published numbers is not stated"),
    ],
)
def test_rounding_is_not_called_noise(shown, noise, noun, told):
    counts = {"a": 120, "b": 30, "c": 0}
    text = shown(counts=counts, noise=noise, total=151)
    found = page.write(making.files("mine", "."), "page.html")
    assert found.sentences[0].startswith(f"The {noun} accounts for ")
    assert page.protected(found, {})[0].startswith(told)
    assert ("rounded at random" in text) == (noise == {"law": "random_rounding", "base": 3})
    assert ("each count was rounded down to a multiple of 3." in text) == ("fixed" in noise)


def test_a_grid_states_at_which_point_a_sentence_holds(shown):
    """Counts of an assumed epsilon of 0.1 have noise of scale 2/0.1 = 20, and of 1.0 of scale 2."""
    text = shown(rehearsal={"counts": [7, 0, 60]}, epsilon=[0.1, 1.0], about="rates")
    for epsilon, scale in ((0.1, 20), (1.0, 2)):
        noise = f"Each count has discrete Laplace noise of scale {scale}, independently of the other counts."
        assert f"\nWith epsilon {epsilon}: {noise}\n" in text
        assert f"With epsilon {epsilon}: Privacy cost of such a release: epsilon = {epsilon:g} (" in text
    assert "\nThe total of 67 records is public and exact.\n" in text
    assert "\nAt each point: All 3 numbers are exact" in text
    found = page.write(making.files("mine", "."), "page.html")
    assert all(line.startswith(("The scenario has 2 points", "With epsilon 0.1: ")) for line in found.sentences)
    text = shown(counts={"a": -90, "b": 9}, epsilon=[1.0, 0.05], prior={"law": "geometric", "mean": 5})
    head = text.partition("\n\n")[0].splitlines()
    assert [line[:27] for line in head[1:]] == ["With epsilon 1.0: CONFLICT:"]  # scale 40: no contradiction
    told = page.protected(summary.summarise(making.files("mine", ".")), {})
    paid = [f"With epsilon {e}: Individual records were protected with epsilon = {e:g} (" for e in (1.0, 0.05)]
    assert all(any(line.startswith(words) for line in told) for words in paid)


def test_no_sentence_about_noise_if_the_counts_were_not_changed(shown):
    shown(counts={"a": 12, "b": 14}, noise="exact", total=26)
    assert not any("accounts for" in text for text in summary.summarise(making.files("mine", ".")).sentences)


def test_rows_for_comparison_state_their_point(shown):
    """Only the count 0 depends strongly on the prior, so the row for comparison is the third row of each point."""
    shown(counts={"a": 40, "b": 30, "c": 0}, noise={"law": "discrete_laplace", "scale": [1, 2]}, prior="1/(1+n)")
    files = making.files("mine", ".")
    assert making.read(files)[1]["scale"].tolist() == [1.0, 2.0]
    other = summary.summarise(files).comparison
    assert [(line.key, line.quantity) for line in other] == [(f"{s}, flat prior on the counts", "c") for s in (1, 2)]


def test_the_p_value_of_a_public_total_is_a_bound(shown):
    """The released counts sum to 42 instead of 100. For three discrete Laplace terms of scale 1, the two-sided
    probability of a difference of at least 58 is 3.7e-23, by direct convolution.
    """
    q = math.exp(-1.0)
    one = (1 - q) / (1 + q) * q ** abs(np.arange(-200, 201))
    three = np.convolve(np.convolve(one, one), one)
    assert 2 * three[: 600 - 58 + 1].sum() == pytest.approx(3.7e-23, rel=0.01, abs=0)
    text = shown(counts={"a": 15, "b": 20, "c": 7}, noise={"law": "discrete_laplace", "scale": 1}, total=100)
    assert (
        "CONFLICT: the total is improbable under the stated noise and prior (smallest p-value below 1e-12 among 4)"
        in text
    )


def test_means_of_counts_are_the_same_in_sentences_and_rows(shown):
    """With scale 0.2, the interval is a single count, and the mean has four digits, as it is close to an integer."""
    shown(counts={"a": 3, "b": 9}, noise={"law": "discrete_laplace", "epsilon": 10})
    found = summary.summarise(making.files("mine", "."))
    assert found.sentences[0].endswith(f"the posterior mean is {found.lines[0].mean}.")
    assert 2.95 < float(found.lines[0].mean) < 3
    assert sentences.count_mean(1e-44, 0.0) == "less than 0.001"
    assert sentences.real(-0.01, 8.0) == "0.0"


def test_levels_and_titles_do_not_form_a_grid(shown):
    for key, values in (("level", [0.5, 0.9]), ("title", ["one", "two"])):
        with pytest.raises(SystemExit, match=f"{key}: must be a single value, got a list"):
            shown(counts={"a": 3, "b": 9}, noise={"law": "discrete_laplace", "scale": 1}, **{key: values})


def test_a_count_below_the_threshold_needs_no_total(shown):
    """The empty count is at most 9, and the weights 1/(1 + n) of 0 .. 9 have the mean 10/H(10) - 1 = 2.41."""
    text = shown(counts={"a": 15, "b": 20, "c": None}, noise={"law": "exact", "threshold": 10})
    assert re.search(r"c +true count +withheld +2\.4 +0 to 9 ", text)
    noise = {"law": "discrete_gaussian", "sigma": 5, "threshold": 12}
    with pytest.raises(SystemExit, match="'c' is not available"):
        shown(counts={"a": 15, "b": 20, "c": ".."}, missing=[".."], noise=noise, total=50)


def test_the_default_prior_of_counts_that_may_be_negative(shown):
    text = shown(counts={"a": -50, "b": 5}, noise={"law": "discrete_laplace", "scale": 1}, bounds={"lower": -100})
    assert "Prior: flat on the counts (default: " in text
    assert "; flat if counts may be negative)." in text


def test_a_tree_states_its_total_and_the_prior_of_its_leaves(shown):
    Path("tree.csv").write_text(TREE, encoding="utf-8")
    text = shown(file="tree.csv", noise="discrete_gaussian", prior="flat", total=1279)
    assert "\nThe total of 1,279 records is public and exact.\n" in text
    assert "Prior: the counts of the leaves are independent, and the prior of each leaf is: flat on the counts." in text
    assert "total of" not in shown(file="tree.csv", noise="discrete_gaussian", prior="flat")


def test_a_batch_states_the_prior_of_all_tables(shown):
    """Without a total, one prior is fitted to all tables; with a total, the prior of every table is Jeffreys' prior."""
    rows = "".join(f"t{i},a,{i % 9}\nt{i},b,{i}\n" for i in range(20))
    Path("many.csv").write_text(f"table,name,value\n{rows}", encoding="utf-8")
    noise = {"law": "discrete_laplace", "scale": 1}
    told = "Prior: fitted to the counts of all tables; weight 1/(1 + n) if there are fewer than 30 "
    assert told in shown(file="many.csv", noise=noise)
    told = "Prior: Jeffreys' prior on the rates (Dirichlet, concentration 0.5 for each).\n"
    text = shown(file="many.csv", noise=noise, total=20)
    assert told in text
    assert "\nThe total of 20 records in each table is public and exact.\n" in text
    sampled = "\nThe rates (but not the counts) also assume that the records are an independent random sample.\n"
    assert sampled not in text
    assert sampled in shown(file="many.csv", noise=noise, total=20, about="rates")
    Path("many.csv").write_text("table,name,value,total\nt,a,3,8\nt,b,5,8\n", encoding="utf-8")
    assert "\nThe total of each table is public and exact.\n" in shown(file="many.csv", noise=noise)
    Path("many.csv").write_text("table,name,value\nt,a,30\nt,b,*\n", encoding="utf-8")
    told = "noise of scale 1, then suppression of values below 9, independently"
    assert told in shown(file="many.csv", noise=noise, withheld={"symbol": "*", "below": 9})
    Path("many.csv").write_text("table,name,value\nt,a,3\nt,b,oops\nu,a,3\nu,b,5\n", encoding="utf-8")
    text = shown(file="many.csv", noise=noise)  # a is analysed in both tables
    assert text.startswith("Tables analysed completely: 1 of 2; rejected, in whole or in part: 1.\n")
    assert "\nThe numbers of 1 completely analysed table are exact" in text
    text = shown(file="many.csv", epsilon=1.0, confidence=0.9)
    assert "The 90 % confidence intervals need no prior: intervals made this way cover the true count in at" in text
    told = page.protected(page.write(making.files("mine", "."), "page.html"), {})
    assert told[0] == "The noise of each table is that of epsilon = 1, as stated in the settings."
    Path("many.csv").write_text("table,name,value,epsilon\nt,a,3,1\nu,a,3,2\n", encoding="utf-8")
    words = "The noise of each table is that of the epsilon in the column epsilon of the file and sensitivity {}."
    for more, change in (({}, 2), ({"sensitivity": 1}, 1)):  # a replaced record changes two counts by 1
        assert f"\n{words.format(change)}\n" in shown(file="many.csv", **more)
        assert page.protected(page.write(making.files("mine", "."), "page.html"), {})[0] == words.format(change)
    Path("many.csv").write_text("table,name,value,scale\nt,a,3,1\nu,a,3,2\n", encoding="utf-8")
    words = "The noise of each count has the scale in the column scale of the file."
    assert f"\n{words}\n" in shown(file="many.csv")
    assert page.protected(page.write(making.files("mine", "."), "page.html"), {})[0] == words
    Path("many.csv").write_text("table,name,value\nt,a,3\nt,b,5\n", encoding="utf-8")
    shown(file="many.csv", noise="exact")
    told = page.protected(page.write(making.files("mine", "."), "page.html"), {})
    assert told == ["No noise was added to the counts, so there is no guarantee of differential privacy."]
    rates = shown(file="many.csv", noise=noise, total=8, about="rates")
    assert line(rates, "t      a")[3:5] == ["rate", "3"]  # the released count, and not 300 %
    text = shown(file="many.csv", noise=noise, total=8)
    assert text.startswith("Tables analysed: 1 of 1; rejected: 0.\n")
    assert "\nThe numbers of 1 table are exact" in text


def test_a_swapped_table_states_what_the_swapping_protects(shown):
    shown(kind="swapped_table", table=[[5, 2], [3, 4]], rate=0.25)
    found = page.write(making.files("mine", "."), "page.html")
    assert found.sentences[0].startswith("The swapping accounts for ")
    one, two, three = page.protected(found, {})
    stated = next(text for text in found.assumptions if text.startswith("An exchange of two records' swapped values"))
    assert stated.startswith(one.removesuffix("."))
    assert two == "The margins of the table are published exactly and are not protected."
    # the numbers of derangements of 14 and 12 records are D = 32,071,101,049 and 176,214,841, and the odds of the rate
    # are 1/3: exp(epsilon) = 9 D(14)/D(12) = 1637.9999993, and epsilon = 7.4
    assert "(exchange within invariants) equally likely can become at most 1,638 : 1 (99.939 %) sure" in three
    assert three.endswith(" Above epsilon = 5, this is a weak guarantee.")
    point = found.facts["points"][0] | {"cost": {"epsilon": 2.0, "relation": "exchange within invariants"}}
    released = swapped.assumptions(point)  # the record of a release states one epsilon, which is rounded up
    assert released[-1] == "The margins are published exactly and are not protected."
    assert not any("epsilon" in text for text in released)


@pytest.mark.parametrize(
    ("strata", "largest"),
    [
        ([[[20, 10], [10, 10]], [[40, 20], [0, 0]]], 50),  # all 60 records of the second stratum are in one row
        ([[[20, 10], [10, 10]], [[40, 0], [20, 0]]], 50),  # or in one column
        ([[[20, 10], [10, 10]], [[59, 0], [0, 1]]], 60),  # two rows and two columns are in use
        ([[[50, 0], [0, 0]], [[30, 0], [0, 1]]], 31),
    ],
)
def test_a_stratum_that_no_swap_can_change_does_not_count_in_the_protection(shown, strata, largest):
    """Check epsilon = ln(D_b/D_(b-2)) - 2 ln(o), where D_b/D_(b-2) = b (b - 1) up to 1e-20 for b > 30, and o = 1/9."""
    shown(kind="swapped_table", strata=strata, rate=0.1)
    point = page.write(making.files("mine", "."), "page.html").facts["points"][0]["protects"]
    assert point["largest_stratum"] == largest
    assert point["epsilon_of_an_exchange"] == pytest.approx(math.log(largest * (largest - 1)) + 2 * math.log(9))


@pytest.mark.parametrize(("last", "largest"), [("b,p,4", 39), ("b,r,0", None)])
def test_a_published_file_of_one_row_of_records_has_no_protection_to_state(shown, last, largest):
    """Check 35 records in row a: no swap can change them unless there are records in a second row."""
    Path("cells.csv").write_text(f"row,column,value\na,p,20\na,r,15\n{last}\n")
    shown(kind="swapped_table", file="cells.csv", rate=0.1)
    found = page.write(making.files("mine", "."), "page.html")
    stated = [text for text in found.assumptions if text.startswith("An exchange of two records' swapped values")]
    assert len(stated) == (largest is not None)
    if stated:  # ln(39 38) + 2 ln 9 = 11.695597, rounded upwards
        assert "protected with epsilon = 11.6956;" in stated[0]


@pytest.mark.parametrize(
    ("cost", "used", "sure"),
    [
        # a replacement removes one record and adds another: twice the epsilon and four times the rho
        ({"epsilon": 1.0, "relation": "replace a record"}, "epsilon 1 of 4 (replace a record)", "2.72 : 1 (73.2 %) s"),
        (
            {"epsilon": 1.0, "relation": "add or remove a record"},
            "epsilon 2 of 4 (replace a record)",
            "2.72 : 1 (73.2 %) sure of the true one.",
        ),
        # rho + 2 sqrt(rho log(10^6)) = 1.0713, whose exponential is 2.919, and 2.919/3.919 = 0.7448
        (
            {"rho": 0.02, "relation": "add or remove a record"},
            "rho 0.08 of 0.5 (replace a record)",
            "2.92 : 1 (74.5 %) sure of the true one (with probability at most 1e-06, the reader may learn more).",
        ),
        (
            {"rho": 0.02, "relation": "replace a record"},
            "rho 0.02 of 0.5 (replace a record)",
            "2.92 : 1 (74.5 %) sure of the true one (with probability at most 1e-06, the reader may learn more).",
        ),
    ],
)
def test_a_page_states_the_guarantee_and_the_part_of_the_budget_for_each_neighbouring_relation(cost, used, sure):
    budget = {"epsilon": 4.0} if "epsilon" in cost else {"rho": 0.5}
    told = " ".join(page._protected({"cost": cost, "source": "survey"}, {"survey": budget}))
    assert f"that differ by one step ({cost['relation']}) equally likely can become at most {sure}" in told
    assert f"Of the budget of survey, this release used {used}." in told
    bound = "Budgets count an upper bound on the cost of replacing a record: twice the epsilon, or four times the rho, "
    assert (bound in told) == (cost["relation"] == "add or remove a record")


def test_equal_scales_and_one_kind_of_measurement_are_one_statement(shown):
    Path("tree.csv").write_text(
        "name,value,parent,scale\nall,9,,3\na,,all,3\nb,4,all,3\na1,2,a,3\na2,1,a,3\n", encoding="utf-8"
    )
    text = shown(file="tree.csv", noise="discrete_laplace")
    assert "Each count has discrete Laplace noise of scale 3, independently of the other counts." in text
    assert "\n1 count was not measured.\n" in text


@pytest.mark.parametrize("family", ["rates", "shares"])
def test_naive_rates_and_batches_have_the_unit_of_the_rates(shown, family):
    """9 deaths among 1000 births are 900 per 100,000, or 0.9 %."""
    rows = "".join(f"{{}}k{i},{9 + i},{1000 + 50 * i}\n" for i in range(12))
    Path("one.csv").write_text("name,value,births\n" + rows.format(*[""] * 12), encoding="utf-8")
    Path("many.csv").write_text("table,name,value,births\n" + rows.format(*["t,"] * 12), encoding="utf-8")
    further = rows.replace("\n", ",2000\n").format(*["t,"] * 12)
    Path("further.csv").write_text("table,name,value,births,persons\n" + further, encoding="utf-8")
    settings = {"kind": "protected_rates", "exposure": "births", "noise": {"law": "discrete_gaussian", "sigma": 2.0}}
    settings |= {"family": family} if family == "shares" else {"per": 100_000}
    shown(file="one.csv", **settings)
    naive = summary.summarise(making.files("mine", ".")).comparison[0]
    assert (naive.quantity, naive.mean) == ("k0", "900" if family == "rates" else "0.9 %")
    found = summary.summarise(making.files("mine", "."))
    # log 4 = 1.386 and log 10 = 2.303
    noun, mean = ("shape", 1.39) if family == "rates" else ("concentration", 2.3)
    prior = f"Prior: the logarithm of the {noun} is normal with mean {mean} and standard deviation 2, the intercept is "
    prior += "normal with mean 0 and standard deviation 10."
    assert prior in found.assumptions
    text = shown(file="many.csv", **settings)
    assert f"\n{prior}\n" in text
    with_covariates = prior.replace("intercept is", "intercept and the coefficients of standardised covariates are")
    further = {"file": "further.csv", "covariates": ["births"], "exposure": "persons"}
    assert f"\n{with_covariates}\n" in shown(**{**settings, **further})
    assert ("%" in line(text, "t ")) == (family == "shares")
    assert line(text, "t ")[:5] == ["t", "k0", "underlying", "rate", "9"]  # the released count
    assert ("Given its rate, a count is Poisson; rates are per 100,000 births." in text) == (family == "rates")
    assert "An interval contains the underlying rate with the stated probability on average over areas, and not" in text
    assert (
        "The numbers of 1 table are approximate (see the column error; the error is unknown if this column is " in text
    )
    assert "intervals may be too short (measured coverage 0.93 of 95 % intervals for 50 areas).\n" in text
    assert "Each count has discrete Gaussian noise with parameter sigma 2, independently of the other counts." in text


@pytest.mark.parametrize("scale", [0.2, 0.3, 2.0, 4.0])
def test_the_noise_is_within_its_bound_with_at_least_the_stated_probability(shown, scale):
    text = shown(counts={"a": 31, "b": 13}, noise={"law": "discrete_laplace", "scale": scale})
    a = math.exp(-1 / scale)
    within = np.cumsum(np.where(np.arange(99) == 0, 1, 2) * (1 - a) / (1 + a) * a ** np.arange(99))
    near = int(np.argmax(within >= 0.95))
    how = f"is within {near} of" if near else "equals"
    assert f"With probability at least 95 %, a published count {how} the true count." in text


def test_continuous_noise_has_exactly_this_probability(shown):
    text = shown(counts={"a": 31, "b": 13}, noise={"law": "laplace", "scale": 2.0})
    assert f"With probability 95 %, a published count is within {2 * math.log(20):.3g} of the true count." in text
    text = shown(counts={"a": 31, "b": 13}, noise={"law": "laplace", "scale": 400.0})
    assert "a published count is within 1,198 of the true count." in text  # 400 log(20) = 1198.3


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"noise": "exact"}, "No noise was added to the counts."),
        (
            {"noise": {"law": "exact", "rounded": 1}},
            "No noise was added to the counts; they were changed by rounding to multiples of 1.",
        ),
        (
            {"noise": {"law": "exact", "rounded": {"step": 10, "ties": "up"}}, "counts": {"a": 20, "b": 0}},
            "No noise was added to the counts; they were changed by rounding to multiples of 10 (a value half-way "
            "between two multiples to the upper one).",
        ),
        *(  # a count is half-way between two multiples only if the base is even
            (
                {"noise": {"law": "random_rounding", "base": base, "fixed": "nearest"}, "counts": {"a": 30, "b": 0}},
                f"No noise was added to the counts; each count was rounded to the nearest multiple of {base}{ties}.",
            )
            for base, ties in ((5, ""), (10, " (a value half-way between two multiples to the upper one)"))
        ),
        (
            {"noise": {"law": "random_rounding", "base": 5}, "counts": {"a": 15, "b": 0}},
            "Each count was rounded at random to a multiple of 5, independently of the others.",
        ),
        ({"noise": LAPLACE, "bounds": {"lower": 2, "upper": 25}}, "Every true count is between 2 and 25, by the st"),
        ({"noise": LAPLACE, "bounds": {"lower": 2}}, "Every true count is at least 2, by the stated bounds."),
        (
            {"noise": LAPLACE, "total": {"released": 21, "noise": {"law": "gaussian", "sd": 3.0}}},
            "The total was published as 21, with Gaussian noise with standard deviation 3.",
        ),
        *(
            (
                {"noise": LAPLACE, "total": {"released": number, "noise": {"law": "gaussian", "sd": 3.0}}},
                f"The total was published as {shown}, with Gaussian noise with standard deviation 3.",
            )
            for number, shown in ((-0.01, "-0.01"), (1712.375, "1,712.375"), (-0.0, "0"))
        ),
        (  # the release has no records, although its noisy total is not 0
            {
                **{"noise": "exact", "counts": {"a": 0, "b": 0}, "prior": "1/(1+n)"},
                "total": {"released": 1, "noise": {"law": "discrete_laplace", "scale": 1.0}},
            },
            "Omitted: shares of the file, because the file has no records.",
        ),
        (
            {"noise": LAPLACE, "prior": {"law": "multinomial"}, "total": 20},
            "on the rates with concentration 0.5 for each.",
        ),
        (
            {"noise": LAPLACE, "total": 20, "counts": {"a": 3, "b": None}},
            "Dirichlet on the rates with concentration 0.5",
        ),
        (
            {"epsilon": 0.5},
            "Privacy cost of the release: epsilon = 0.5 (neighbouring files: replace a record).",
        ),
        (
            {"epsilon": 0.5, "sensitivity": 1},
            "epsilon = 0.5 (neighbouring files: add or remove a record; epsilon = 1 to replace a record)",
        ),
        ({"noise": LAPLACE}, "Both numbers are exact"),
        (
            {"noise": LAPLACE, "total": 20, "about": "rates", "confidence": 0.9},
            "cover the underlying rate in at least 90 % of samples and their releases, whatever the rate.",
        ),
    ],
)
def test_what_was_assumed_is_stated(shown, settings, told):
    assert told in shown(**{"counts": {"a": 13, "b": 4}, **settings})


def test_ranges_are_no_stated_bounds(shown):
    ranges = {"noise": "exact", "counts": {"a": "5-30", "b": "<10"}}
    assert "stated bounds" not in shown(**ranges)
    text = shown(**ranges, bounds={"lower": 2})
    assert "Every true count is at least 2, by the stated bounds." in text


def test_quantities_with_a_single_possible_value_are_certain(shown):
    noise, total = {"law": "laplace", "scale": 2.0}, {"released": 7, "noise": {"law": "laplace", "scale": 1.0}}
    shown(counts={"a": 8}, noise=noise, total=total, prior="flat")
    assert "The true share of a is 100 %." in summary.summarise(making.files("mine", ".")).sentences
    text = shown(counts={"a": 8}, noise=noise, bounds={"lower": 5, "upper": 5})
    assert text.startswith("The true count of a is exactly 5.\n")


def test_rates_without_a_model_of_rates_are_refused(shown):
    with pytest.raises(SystemExit, match="about must be one of counts, shares for this release, got rates"):
        shown(counts={"a": 5, "b": 7}, noise=LAPLACE, total=13, prior={"law": "geometric", "mean": 5.0}, about="rates")


def test_an_uncertain_prior_is_a_warning_before_the_table(shown):
    rows = "".join(f"k{i},{value}\n" for i, value in enumerate([40, -35, 22, -60, 5] * 6))
    Path("few.csv").write_text(f"name,value\n{rows}")
    noise = {"law": "discrete_gaussian", "sigma": 60.0}
    text = shown(file="few.csv", noise=noise, prior="fitted")
    assert text.splitlines()[1].startswith(
        "WARNING: the prior was fitted to too few counts for their noise: its mean, "
    )
    assert "has a standard error of 11. The intervals, which take the fitted prior as known, are too short" in text
    assert "WARNING" not in shown(file="few.csv", noise=noise)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.5, 1.0, 2.0, 3.9, 4.0, 7.3, 14.3155, 19.0, 29.9, 35.0, 40.0])
def test_a_bound_on_what_a_reader_learns_is_rounded_upwards(epsilon):
    """Compare with exp(epsilon) : 1 and 1/(1 + exp(-epsilon)), which no number on the page may be below."""
    text = page._guarantee(Cost(relation="replace a record", epsilon=epsilon), "replace a record")
    odds, sure = re.search(r"at most (\S+) : 1 \((.+?) %\)", text).groups()
    odds = 10.0 ** int(odds[3:]) if odds.startswith("10^") else float(odds.replace(",", ""))
    assert np.exp(epsilon) <= odds <= np.exp(epsilon) * (1.01 if epsilon < 30 else 10)
    if sure.startswith("more than"):
        assert 1 / (1 + np.exp(-epsilon)) > 0.999999
    else:
        assert 0 <= float(sure) / 100 - 1 / (1 + np.exp(-epsilon)) <= (0.001 if epsilon < 4 else 1e-6)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 10, 19, 99, 100, 102, 196, 197, 199, 249, 999, 2008, 10**14, 10**15])
def test_a_bound_that_is_a_round_number_is_not_increased(n):
    """Check odds of exactly n : 1; in floating-point numbers, exp(ln 196) and n/(n + 1) can be larger."""
    odds, sure = re.search(
        r"at most (\S+) : 1 \((.+?) %\)", page._guarantee(Cost(relation="replace a record", epsilon=np.log(n)), "")
    ).groups()
    assert odds == (f"10^{len(str(n)) - 1}" if n >= 10**14 else f"{n:.2f}" if n < 10 else f"{n:,.{int(n < 100)}f}")
    if n in (3, 4, 7, 19, 99, 249, 999):  # finite decimals: 3/4, 4/5, 7/8, 19/20, 99/100, 249/250 and 999/1000
        assert float(sure) == pytest.approx(100 * n / (n + 1), abs=1e-12)


@pytest.mark.parametrize(
    ("sensitivity", "sigma", "where"),
    [  # sigma^2 = (squared L2 change)/(2 rho); a replaced record changes two counts by 1
        ({}, "1.41421", "rho = 0.5 (neighbouring files: replace a record)."),
        (
            {"sensitivity": 1},
            "1,",
            "rho = 0.5 (neighbouring files: add or remove a record; rho = 1 to",
        ),
        ({"sensitivity": 2}, "2,", "rho = 0.5 for a change of the counts by the stated sensitivity, 2."),
    ],
)
def test_a_stated_rho_has_the_relation_of_its_noise(sensitivity, sigma, where, shown):
    text = shown(counts={"a": 5, "b": 2}, noise={"law": "discrete_gaussian", "rho": 0.5, **sensitivity})
    assert f"parameter sigma {sigma}" in text
    assert f"Privacy cost of the release: {where}" in text


@pytest.mark.parametrize(
    ("kind", "type_", "name", "point", "text"),
    [
        ("noisy_counts", "count", "a", {}, "not measured"),
        ("noisy_counts", "count", "a", {"noise": {"law": "laplace", "threshold": 5}}, "withheld"),
        ("noisy_counts", "count", "a", {"tree": {"several": ["a"]}}, "measured several times"),
        (
            "noisy_counts",
            "count",
            "a",
            {"tree": {"several": ["a"]}, "noise": {"threshold": 5}},
            "measured several times",
        ),
        ("noisy_counts", "count", "a", {"published_as": {"a": "published as 1 to 4"}}, "published as 1 to 4"),
        ("noisy_counts", "share", "a", {}, ""),
        ("protected_rates", "rate", "a", {}, "not measured"),
        ("protected_rates", "count", "a", {}, ""),
        ("swapped_table", "count", "a", {}, ""),
    ],
)
def test_the_reason_of_an_empty_cell_is_stated(kind, type_, name, point, text):
    assert sentences.missing(type_, name, math.nan, {"kind": kind}, point) == text
    assert sentences.missing(type_, name, 3.0, {"kind": kind}, point) == ""
    row = SimpleNamespace(**{"quantity": name, **COUNT, "type": type_, "released": math.nan}, level=0.9, status="exact")
    told = sentences.sentence(row, {"kind": kind, "settings": {}}, point)
    word = "This" if type_ == "count" else "Its"
    assert told.endswith(f" {word} count was {text}.") if text else "count was" not in told


def test_a_weak_guarantee_is_stated_for_the_bound_and_not_for_the_stated_cost():
    """At order 2, the bound on the loss is 0.01 + log(10^6)/(2 - 1) = 13.826, although epsilon is 0.01."""
    told = page._guarantee(Cost(relation="replace a record", epsilon=0.01, order=2.0), "replace a record")
    assert "This is a bound of 13.9 on the privacy loss; above 5, a guarantee is weak." in told
    assert "Above epsilon" not in told


PRIOR = {"mu0": 7.0, "var0": 0.01, "shape0": 30.0, "rate0": 20.0}


def test_a_sample_is_compared_with_the_analysis_of_statistics_without_noise(shown):
    """Integrate the density of 60 records inside the limits, times the stated prior, over mu and sigma2. The settings
    list the statistics in alphabetical order, in which high is first.
    """
    statistics = {"high": 0.0, "low": 0.0, "mean": 5.0, "sse": 300.0}
    scales = {"mean": 0.1, "sse": 1.0, "low": 0.1, "high": 0.1}
    given = {"records": 60, "lower": 0, "upper": 10, "statistics": statistics, "scales": scales, "prior": PRIOR}
    shown(kind="censored_sample", level=0.8, **given)
    table = pd.read_csv("results/scenarios/mine_comparison.csv")
    naive = table[table["analysis"] == "ignoring the noise"].set_index("quantity")
    assert page.write(making.files("mine", "."), "page.html").facts["points"][0]["statistics"] == statistics
    mu, sigma2 = np.linspace(6.0, 7.5, 1501)[:, None], np.linspace(1.0, 20.0, 1501)
    logs = -30 * np.log(sigma2) - (300 + 60 * (5 - mu) ** 2) / (2 * sigma2)
    logs = logs - (mu - 7) ** 2 / (2 * 0.01) - 31 * np.log(sigma2) - 20 / sigma2
    density = np.exp(logs - logs.max())
    for name, x, mass in (("mu", mu[:, 0], density.sum(axis=1)), ("sigma2", sigma2, density.sum(axis=0))):
        p = mass / mass.sum()
        row, mean = naive.loc[name], p @ x
        assert row["mean"] == pytest.approx(mean, rel=1e-4)
        assert row["sd"] == pytest.approx(np.sqrt(p @ (x - mean) ** 2), rel=5e-3)
        ends = np.interp([0.1, 0.9], np.cumsum(p) - p / 2, x)
        assert row[["lower", "upper"]].tolist() == pytest.approx(ends.tolist(), rel=2e-3)


def test_the_weaker_prior_of_a_sample_is_wider(shown):
    """Check a release without information: mu has twice the standard deviation, sigma2 half the shape and the rate."""
    statistics, scales = dict.fromkeys(("mean", "sse", "low", "high"), 1.0), dict.fromkeys(("mean", "sse"), 1e7)
    given = {"records": 9, "lower": 0, "upper": 10, "statistics": statistics, "prior": PRIOR | {"var0": 2.25}}
    shown(kind="censored_sample", scales=scales | {"low": 1e7, "high": 1e7}, **given)
    table = pd.read_csv("results/scenarios/mine_comparison.csv").set_index("quantity")
    weaker = table[table["analysis"].str.startswith("with a weaker prior")]
    assert "mu ~ N(7, 3^2), sigma2 ~ IG(15, 10): " in weaker["analysis"].iloc[0]
    assert weaker.loc["mu", "sd"] == pytest.approx(3.0, rel=0.15)  # 400 effective draws: 5 standard errors of .035
    assert weaker.loc["sigma2", "mean"] == pytest.approx(10 / 14, rel=0.08)  # the sd is 0.28 times the mean


def test_a_rehearsed_sample_has_a_quarter_of_epsilon_for_each_statistic(shown):
    """A replaced record changes the mean of 0..10 by 10, the sum of squares by 100 (1 - 1/50), and each count by 1."""
    made_up = {"records": 50, "mu": 5.0, "sigma2": 4.0}
    text = shown(kind="censored_sample", lower=0, upper=10, epsilon=2.0, rehearsal=made_up)
    assert "independent Laplace noise, with scale mean 20, sse 196, low 2, high 2." in text
    assert "epsilon = 2 " in text


def _beside(numbers, counts, alpha, level):
    """Compare means, standard deviations and central intervals with the Beta distributions of unswapped counts."""
    counts = np.asarray(counts, dtype=float)
    laws = stats.beta(counts + alpha, counts.sum() - counts + (len(counts) - 1) * alpha)
    expected = [laws.mean(), laws.std(), laws.ppf((1 - level) / 2), laws.ppf((1 + level) / 2)]
    columns = ["mean", "sd", "lower", "upper"]
    np.testing.assert_allclose(numbers[columns].to_numpy(dtype=float).T, expected, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.5, 2.5])
def test_the_analysis_without_the_swap_has_the_same_prior_and_level(shown, alpha):
    """The log odds ratio of a Dirichlet distribution is a sum of log gamma variables with the signs +, -, -, +."""
    shown(kind="swapped_table", table=[[5, 2], [3, 4]], rate=0.25, prior=alpha, level=0.9)
    table = pd.read_csv("results/scenarios/mine_comparison.csv")
    _beside(table[table["type"] == "rate"], [5, 2, 3, 4], alpha, 0.9)
    odds = table[table["type"] == "parameter"].iloc[0]
    a = np.array([5, 2, 3, 4]) + alpha
    assert odds["mean"] == pytest.approx(digamma(a) @ [1, -1, -1, 1], rel=1e-10)
    assert odds["sd"] == pytest.approx(np.sqrt(polygamma(1, a).sum()), rel=1e-10)


@pytest.mark.parametrize("alpha", [0.5, 2.5])
def test_the_analysis_without_the_swap_of_many_tables(shown, alpha):
    """Check tables of 2 x 2 and 2 x 3 cells, of which two are not listed in the file and are 0."""
    Path("many.csv").write_text(
        "table,row,column,value\nt,a,p,5\nt,a,q,2\nt,b,p,3\nt,b,q,4\nu,a,p,1\nu,a,q,2\nu,b,q,7\nu,b,r,1\n"
    )
    shown(kind="swapped_table", file="many.csv", rate=0.25, prior=alpha, level=0.9)
    table = pd.read_csv("results/scenarios/mine_comparison.csv")
    assert table.loc[table["table"] == "u", "quantity"].tolist() == ["a/p", "a/q", "a/r", "b/p", "b/q", "b/r"]
    for name, counts in (("t", [5, 2, 3, 4]), ("u", [1, 2, 0, 0, 7, 1])):
        _beside(table[table["table"] == name], counts, alpha, 0.9)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_strata_without_information_leave_the_prior_of_the_common_odds_ratio(shown, level):
    """Check strata with an empty row or column: the posterior is N(0, 5^2)."""
    shown(kind="swapped_table", strata=[[[0, 0], [4, 1]], [[3, 0], [2, 0]]], rate=0.25, level=level)
    table = pd.read_csv(making.files("mine", ".").csv).set_index("quantity")
    row = table.loc["common log odds ratio"]
    assert row["sd"] == pytest.approx(5.0, rel=1e-9)
    assert [row["mean"], row["lower"], row["upper"]] == pytest.approx(
        [0.0, *stats.norm.interval(level, scale=5.0)], rel=1e-8, abs=1e-8
    )


def test_no_odds_ratio_is_certain(shown):
    text = shown(kind="swapped_table", table=[[150, 1], [1, 160]], rate=0.02)
    assert "The probability that the odds ratio underlying the table is above 1 is more than 99.99 %." in text


def test_scores_of_simulated_releases_are_not_called_posterior_means(shown):
    """With two releases, the t interval has one degree of freedom, and the scores without noise have no interval."""
    rows = "".join(f"{'yes' if i % 2 else 'no'},{'rg'[i % 3 == 0]}\n" for i in range(60))
    Path("made_up.csv").write_text(f"outcome,colour\n{rows}", encoding="utf-8")
    rehearsal = {"csv": "made_up.csv", "target": "outcome", "epsilons": [1.0], "repeats": 2, "mechanisms": ["laplace"]}
    assert "posterior mean" not in shown(kind="classifier", rehearsal=rehearsal)
    found = page.write(making.files("mine", "."), "page.html")
    assert "the mean over the simulated releases is" in found.headline
    assert "(95 % t interval for the mean: " in found.headline
    written = Path("page.html").read_text(encoding="utf-8")
    assert "Intervals are 95 % t intervals for the mean over the simulated releases." in written
    assert "credible intervals" not in written


def test_a_conflict_of_a_censored_sample_is_shown_first(shown):
    """The noise of scale 32.8 exceeds 880 with probability exp(-880/32.8)/2 = 1e-12, far below 1/2000."""
    statistics = {"mean": 0.43, "sse": 7.2, "low": -1.6, "high": 900.0}
    limits = {"lower": -2.0, "upper": 2.0, "records": 20, "epsilon": 0.5}
    head = shown(kind="censored_sample", statistics=statistics, **limits).splitlines()[1]
    assert head == "CONFLICT: prior and release disagree: the released high has a prior p-value of at most 0.0005."


def test_the_coverage_that_is_stated_for_few_areas_was_measured(shown):
    table = pd.read_csv(Path(__file__).parents[3] / "docs/methods/rates.tsv", sep="\t", index_col="case")
    measured = table.loc["50 areas, noise", "rates, exact likelihood"]
    Path("one.csv").write_text("name,value,births\nA,17,1000\n", encoding="utf-8")
    text = shown(
        kind="protected_rates", file="one.csv", exposure="births", noise={"law": "discrete_laplace", "scale": 1}
    )
    stated = re.search(r"Warning: only 1 area: .*measured coverage ([0-9.]+) of 95 % intervals for 50 areas", text)
    assert float(stated[1]) == round(measured, 2)
    assert "rates are per unit of births." in text
    Path("two.csv").write_text("name,value,births\nA,7,1000\nB,9,1500\n", encoding="utf-8")
    files = {"file": "two.csv", "exposure": "births", "noise": {"law": "discrete_laplace", "scale": 1}}
    assert "With per 1000: " in shown(kind="protected_rates", per=[1000, 10], **files)
