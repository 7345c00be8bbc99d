"""Check that what a scenario states on the screen is true: units, probabilities of intervals, what was measured, what
the noise does, and how accurate the answers are.
"""

import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from reproduction import command
from reproduction.scenarios import making, page, sentences, summary

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
    assert f"{exact} of the numbers are exact up to floating-point rounding" in text
    assert f"{drawn} of the numbers are approximate, with the stated error: answers to questions, from ind" in text
    assert line(text, "first: P(essex in top 1)")[-5:-1] == ["at", "least", "99.997", "%"]  # no draw of 100,000 differs
    assert line(text, "gap")[3:5] == ["407", "to"]
    assert "%" in line(text, "part")
    told = page.write(making.files("mine", "."), "page.html").sentences
    assert "first: the rank of essex is 1 with probability at least 95 %." in told
    assert any(text.startswith("gap: ") and text.endswith("with probability at least 95 %.") for text in told)


@pytest.mark.parametrize(
    ("mean", "status", "error", "text"),
    [
        (1.0, "exact", 0.0, "100 %"),
        (0.0, "exact", 0.0, "0 %"),
        (1.0, "approximate", 3e-5, "at least 99.997 %"),
        (0.0, "approximate", 3e-5, "at most 0.003 %"),
        (0.5, "approximate", 1e-3, "50 %"),
    ],
)
def test_a_probability_from_draws_is_never_certain(mean, status, error, text):
    assert sentences.chance(mean, status, error) == text


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


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"noise": "exact"}, "No noise was added to the counts."),
        (
            {"noise": {"law": "exact", "rounded": 1}},
            "No noise was added to the counts; they were changed by rounding to multiples of 1.",
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
            "epsilon = 0.5, sensitivity = 1 (neighbouring files: add or remove a record; epsilon = 1 to replace a rec",
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
