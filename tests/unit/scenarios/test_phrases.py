"""Tests of the words of numbers, intervals, names, priors, costs and conflicts in sentences, written by hand."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dpmultinomial as dpm
from dpmultinomial._files.table_columns import Hierarchy
from reproduction import kind
from reproduction.config import scenario_settings
from reproduction.scenarios import making, sentences, summary
from reproduction.scenarios.additive_counts import answer as additive
from reproduction.scenarios.noisy_counts import rules, without_prior

ADD = "add or remove a record"


@pytest.mark.parametrize(
    ("mean", "status", "error", "certain", "text"),
    [
        (1.0, "exact", 0.0, True, "100 %"),
        (0.0, "exact", 0.0, True, "0 %"),
        (1.0, "exact", 0.0, False, "more than 99.99 %"),
        (0.0, "exact", 0.0, False, "less than 0.01 %"),
        (0.5, "exact", 0.0, False, "50 %"),
        (1.0, "approximate", 3e-5, True, "at least 99.997 %"),
        (0.0, "approximate", 3e-5, False, "at most 0.003 %"),
        (0.5, "approximate", 1e-3, True, "50 %"),
        (5e-19, "approximate", 0.0148, False, "at most 4.44 %"),  # 5e-19 + 3 * 0.0148
        (1 - 1e-9, "approximate", 0.02, False, "at least 93.999 %"),  # 1 - 1e-9 - 0.06, rounded downwards
        (3e-5, "approximate", 1.732e-5, False, "at most 0.009 %"),  # 3e-5 + 3 * 1.732e-5 = 0.0082 %, rounded upwards
        (0.0, "approximate", 2e-17, False, "less than 0.001 %"),
        (1.0, "approximate", 2e-17, True, "more than 99.999 %"),
        (0.0, "converged", float("nan"), True, "less than 1 %"),  # by the rule of three, 400 draws exclude 3/400
        (0.992, "converged", float("nan"), False, "more than 99 %"),
        (0.02, "converged", float("nan"), False, "2 %"),
    ],
)
def test_a_probability_from_draws_is_never_certain(mean, status, error, certain, text):
    assert sentences.chance(mean, status, error, certain) == text


@pytest.mark.parametrize(("value", "told"), [(3.7e-23, "below 1e-12"), (0.004, "0.004"), (2e-12, "2e-12")])
def test_p_values_of_sums_are_not_more_precise_than_their_error_bounds(value, told):
    check = {"found": True, "names": ["total"], "counts": 1, "smallest": value, "tested": 4}
    assert f"(smallest p-value {told} among 4)" in next(sentences._conflict(check))


def test_equal_distributions_are_one_statement():
    """Levels of a released tree with equal shares have equal noise."""
    laplace, gauss = {"law": "discrete_laplace", "scale": 2.0}, {"law": "discrete_gaussian", "sigma": 3.0}
    told = rules.noise_sentence({"laws": [{**laplace, "rows": 1}, {**laplace, "rows": 2}]})
    assert told == "Each count has discrete Laplace noise of scale 2, independently of the other counts."
    told = rules.noise_sentence({"laws": [{"law": "exact", "rows": 1}, {**gauss, "rows": 2}, {**gauss, "rows": 3}]})
    assert told.endswith(": no noise (1 count); discrete Gaussian noise with parameter sigma 3 (5 counts).")


@pytest.mark.parametrize(("rows", "noun"), [(1, "The number is"), (2, "Both numbers are"), (3, "All 3 numbers are")])
def test_the_number_of_numbers_is_stated(rows, noun):
    (said,) = sentences.accuracy({"accuracy": [{"rows": rows, "status": "exact", "reason": ""}]})
    assert said == f"{noun} exact up to floating-point rounding."


def test_the_uncertain_prior_of_every_group_is_a_warning():
    prior = {
        name: {"uncertain": name != "b", "mean": mean, "mean_error": 2.0}
        for name, mean in zip("abc", (4, 5, 6), strict=True)
    }
    said = [text for text in sentences.accuracy({"prior": {"groups": prior}}) if text.startswith("WARNING")]
    assert [
        re.search(r"of group (\w) .* its mean, (\d)\.0, has a standard error of 2\.0\.", text).groups() for text in said
    ] == [("a", "4"), ("c", "6")]


@pytest.mark.parametrize(
    ("low", "high", "between", "cell"),
    [
        (sentences.percent(0.0001), sentences.percent(0.078), "below 7.8 %", "below 7.8 %"),
        (sentences.percent(0.9), sentences.percent(0.9999), "above 90 %", "above 90 %"),
        (sentences.percent(0.0001), sentences.percent(0.9999), "between 0 % and 100 %", "0 % to 100 %"),
        (sentences.percent(0.0001), sentences.percent(0.0002), "less than 0.1 %", "less than 0.1 %"),
        (sentences.percent(0.0), sentences.percent(0.078), "between 0 % and 7.8 %", "0 % to 7.8 %"),
        (sentences.count(3), sentences.count(math.inf), "at least 3", "at least 3"),
        (sentences.real(-math.inf, math.inf), sentences.real(2.5, math.inf), "at most 2.5", "at most 2.5"),
        (sentences.count(3), sentences.count(1200), "between 3 and 1,200", "3 to 1,200"),
        (sentences.count(3), sentences.count(3), "3", "3"),
    ],
)
def test_an_interval_is_one_phrase(low, high, between, cell):
    assert sentences.ends(low, high) == between
    assert sentences.ends(low, high, "{} to {}") == cell


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0, 1, "0 %"),
        (0.000499, 1, "less than 0.1 %"),  # 0.0499 % would be rounded to 0 %
        (0.000501, 1, "0.1 %"),
        (0.005, 0, "less than 1 %"),  # 0.5 % would be rounded to the even number 0
        (0.999499, 1, "99.9 %"),
        (0.999501, 1, "more than 99.9 %"),  # 99.9501 % would be rounded to 100 %
        (1.0, 1, "100 %"),
        (0.00499, 0, "less than 1 %"),
        (0.9995, 1, "more than 99.9 %"),  # 1,999 of 2,000
        (0.9949, 0, "99 %"),
        (0.9951, 0, "more than 99 %"),
        (0.9999949, 3, "99.999 %"),
        (0.9999951, 3, "more than 99.999 %"),
    ],
)
def test_a_share_that_would_be_rounded_to_0_or_100_percent_has_a_bound(value, digits, text):
    assert sentences.percent(value, digits) == text


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [2, 0], [0, 1, 2, 3]])
def test_confidence_intervals_belong_to_the_names_of_their_rows(order):
    """By hand: with a = exp(-1/2), P(|noise| > d) = 2 a^(d + 1)/(1 + a) is at most 5 % from d = 6 on, so the interval
    of 12 is 6 to 18; no count fits -19, and the last row is not a count of the release.
    """
    release = dpm.Release({"a": 12, "b": -19, "c": 5}, mechanism=dpm.DiscreteLaplace(scale=2.0))
    rows = pd.DataFrame({"quantity": ["a", "b", "c", "a"], "type": ["count"] * 3 + ["share"]}).iloc[order]
    found = without_prior.columns(rows, release, 0.95)
    wanted = {0: (6.0, 18.0), 1: (0.0, 0.0), 2: (0.0, 11.0), 3: (np.nan, np.nan)}
    np.testing.assert_array_equal(found[["ci_lower", "ci_upper"]], [wanted[i] for i in order])
    methods = {0: "tails", 1: "tails: no count fits at this level; the nearest is 0", 2: "tails", 3: ""}
    assert found["ci_method"].tolist() == [methods[i] for i in order]


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (1234.5678, 0.34, "1,234.57"),  # 0.34 has two decimals
        (1234.5678, 0.99, "1,234.57"),
        (1234.5678, 1.0, "1,234.6"),
        (1234.5678, 9.9, "1,234.6"),
        (1234.5678, 10.0, "1,235"),
        (1234.5678, 5000.0, "1,235"),
        (0.5, 4e-12, "0.500000000000"),  # at most twelve decimals
        (2 / 3, 1e-16, "0.6667"),  # a width of a rounding error is 0
        (1234.5678, 0.0, "1235"),
        (1234.5678, -1.0, "1235"),
        (1234.5678, math.inf, "1235"),
        (math.nan, 1.0, "no bound"),
    ],
)
def test_a_real_number_has_the_decimals_of_two_digits_of_the_width(value, width, text):
    assert sentences.real(value, width) == text


@pytest.mark.parametrize(
    ("width", "decimals"),
    [(0.5, 0), (0.1, 0), (0.099, 1), (0.01, 1), (0.0099, 2), (0.001, 2), (1e-4, 3), (1e-5, 4), (1e-6, 4), (1e-9, 4),
     (0.0, 1), (-0.1, 1), (math.inf, 1), (math.nan, 1)],
)  # fmt: skip
def test_a_percentage_has_the_decimals_of_two_digits_of_the_width(width, decimals):
    """A width of 0.0099 is 0.99 %, whose second digit is the second decimal."""
    assert sentences.digits_of(width) == decimals
    third = f"{100 / 3:.{max(decimals, 1)}f} %"
    assert sentences.shares(1 / 3, width=width) == [third]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234.0, "1,234"), (1234.56, "1,234.6"), (-3.0, "-3"), (0.04, "0.0"), (math.inf, "no bound")],
)
def test_a_count_has_no_decimals_and_a_mean_has_one(value, text):
    assert sentences.count(value) == text


@pytest.mark.parametrize(
    ("names", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")]
)
def test_names_are_listed_with_a_word_before_the_last(names, text):
    assert sentences.listed(names, "or") == text
    assert sentences.listed(names) == text.replace(" or ", " and ")


@pytest.mark.parametrize(
    ("prior", "text"),
    [
        ("1/(1+n)", "1/(1+n)"),
        ({"law": "Dirichlet", "concentration": [1.0, 1.0]}, "flat Dirichlet on the rates"),
        (
            {"law": "Dirichlet", "concentration": [0.5, 0.5]},
            "Jeffreys' prior on the rates (Dirichlet, concentration 0.5 for each)",
        ),
        (
            {"law": "Dirichlet", "concentration": [2.0, 2.0]},
            "Dirichlet on the rates, with concentration 2 for each",
        ),
        (
            {"law": "Dirichlet", "concentration": [float(i) for i in range(1, 15)]},
            "Dirichlet on the rates, with concentration 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, .. (14 values)",
        ),
        ({"law": "Dirichlet", "mean": 3, "parts": [1]}, "Dirichlet (mean 3)"),
        ({"law": "flat"}, "flat"),
        ({"mean": 3, "sd": 2}, "as stated (mean 3, sd 2)"),
    ],
)
def test_a_prior_is_described_by_its_law_and_its_numbers(prior, text):
    assert sentences.prior_text(prior) == text


@pytest.mark.parametrize(
    ("point", "text"),
    [
        ({}, ""),
        ({"cost": {}}, ""),
        ({"cost": "unknown"}, ""),
        ({"cost": {"epsilon": 0.5, "note": "x"}}, "Privacy cost of the release: epsilon = 0.5."),
        (
            {"cost": {"rho": 0.25, "relation": "replace a record"}},
            "Privacy cost of the release: rho = 0.25 (neighbouring files: replace a record).",
        ),
        (
            # both changes of a replacement change other counts: the rho of the sum of the changes is (1 + 1)^2 rho
            {"cost": {"rho": 0.25, "relation": "replace a record"}, "neighbours": "add or remove a record"},
            "Privacy cost of the release: rho = 0.25 (neighbouring files: add or remove a record; rho at most 1 to "
            "replace a record).",
        ),
        (
            {"cost": {"rho": 0.25, "relation": ADD}, "cost_to_replace": {"rho": 0.5}},
            "Privacy cost of the release: rho = 0.25 (neighbouring files: add or remove a record; rho = 0.5 to replace "
            "a record).",
        ),
        # for (epsilon, delta) without the noise, the text states no cost of a replacement
        (
            {"cost": {"epsilon": 1.0, "delta": 1e-6, "relation": ADD}},
            "Privacy cost of the release: epsilon = 1, delta = 1e-06 (neighbouring files: add or remove a record).",
        ),
        # 2 epsilon = 2 (2 - 1)/(2 - 1) = 3 at order 4/3, by Hölder's inequality
        (
            {"cost": {"epsilon": 1.0, "order": 2.0, "relation": ADD}},
            "Privacy cost of the release: Rényi epsilon at most 1, order = 2 (neighbouring files: add or remove a "
            "record; epsilon at most 3, order 1.33334 to replace a record).",
        ),
    ],
)
def test_a_cost_is_stated_with_its_neighbours(point, text):
    assert sentences.cost_text(point) == text


def _delta(first: tuple[int, int], second: tuple[int, int], epsilon: float) -> tuple[float, float]:
    """Return the largest finite loss and the hockey-stick divergence at epsilon = 1.4 of two files of two counts, by a
    sum over all noisy counts and noisy totals. The noise has P(z) proportional to exp(-epsilon |z|), |z| <= 5.
    """
    size = np.arange(-5, 6)
    noise = np.exp(-epsilon * abs(size)) / np.exp(-epsilon * abs(size)).sum()

    def law(counts: tuple[int, int]) -> np.ndarray:
        parts = [np.pad(noise, (value, 14 - value)) for value in (*counts, sum(counts))]
        return np.einsum("i,j,k->ijk", *parts)

    p, q = law(first), law(second)
    both = (p > 0) & (q > 0)
    return float(np.log(p[both] / q[both]).max()), float(np.maximum(p - math.exp(2 * epsilon) * q, 0).sum())


def test_replacing_a_record_costs_additive_counts_no_more_than_adding_one():
    """Replacing changes two counts by 1, and adding changes one count and the total by 1: the losses are equal. The
    general bound would be 4 epsilon, with delta (1 + exp(2 epsilon)) times as large.
    """
    settings = {"released": [4, 3], "epsilon": 0.7, "support": 5, "algorithm": "2", "ties": "random"}
    _, facts = additive._release(SimpleNamespace(settings=settings, release=None, columns=None))
    for second, key in (((5, 3), "cost"), ((5, 2), "cost_to_replace")):
        largest, delta = _delta((4, 3), second, 0.7)
        assert facts[key]["epsilon"] == pytest.approx(1.4) == pytest.approx(largest)
        assert facts[key]["delta"] == pytest.approx(delta, rel=1e-9)
    assert re.search(r"; epsilon = 1\.4, delta = 0\.0\d+ to replace a record\)", sentences.cost_text(facts))


TREES = {  # parents of the nodes, in an order in which the root need not be the first
    "chain": [1, 2, -1],
    "star": [-1, 0, 0, 0],
    "two deep leaves below one child": [-1, 0, 0, 2, 3, 4, 2, 6, 7],
    "unequal depths": [2, 0, -1, 2, 3, 3, 5],
}


@pytest.mark.parametrize("parents", TREES.values(), ids=TREES)
@pytest.mark.parametrize("power", [1, 2])
def test_the_cost_of_a_tree_is_that_of_the_worst_pair_of_files(parents, power):
    """Compare the counts of all nodes for all pairs of neighbouring files: every leaf has one record, and one more
    record is added to any leaf, or moved between any two leaves.
    """
    leaves = [node for node in range(len(parents)) if node not in parents]

    def counts(records: list[int]) -> np.ndarray:
        total = np.zeros(len(parents))
        for node in records:
            while node >= 0:
                total[node] += 1
                node = parents[node]
        return total

    def depth(node: int) -> int:
        return 0 if parents[node] < 0 else 1 + depth(parents[node])

    weights = np.random.default_rng(5).exponential(size=len(parents)).round(3)
    shape = Hierarchy(parents, [depth(node) for node in range(len(parents))])
    added = max(abs(counts([*leaves, leaf]) - counts(leaves)) ** power @ weights for leaf in leaves)
    replaced = max(
        abs(counts([*leaves, one]) - counts([*leaves, other])) ** power @ weights for one in leaves for other in leaves
    )
    assert shape.largest_sums(weights) == pytest.approx((added, replaced), abs=1e-12)


def test_each_accuracy_is_stated_with_its_number_of_rows_and_its_reason():
    states = [
        {"rows": 1, "status": "exact", "reason": ""},
        {"rows": 2, "status": "approximate", "reason": "from draws"},
        {"rows": 1000, "status": "not converged", "reason": ""},
    ]
    told = sentences.accuracy({"accuracy": states, "fit": {"sentence": "the fit is good"}, "omitted": "no rates"})
    assert told == [
        "1 of the numbers is exact up to floating-point rounding.",
        "2 of the numbers are approximate, with the stated error: from draws.",
        "1,000 of the numbers are from a Markov chain that did NOT pass its checks: do not use these numbers.",
        "The fit is good.",
        "Omitted: no rates.",
    ]


@pytest.mark.parametrize(
    ("counts", "start"),
    [(1, "CONFLICT: a is improbable"), (2, "CONFLICT: a and b are"), (5, "CONFLICT: a and b and 3 ")],
)
def test_a_conflict_names_its_counts(counts, start):
    names = ["a", "b"][:counts]
    check = {"found": True, "names": names, "counts": counts, "smallest": 0.00042, "tested": 1234}
    (told,) = sentences.accuracy({"conflict": check})
    assert told.startswith(start)
    assert "(smallest p-value 0.0004 among 1,234)" in told
    assert sentences.accuracy({"conflict": {**check, "found": False}}) == []


@pytest.mark.parametrize(
    ("tables", "told"), [(0, None), (1, "in 1 table, released"), (1200, "in 1,200 tables, released")]
)
def test_tables_in_conflict_are_counted(tables, told):
    found = list(sentences.warnings_of({"conflicts": tables}))
    assert len(found) == (told is not None)
    assert not found or told in found[0]


def test_counts_that_depend_on_the_prior_are_counted():
    (told,) = sentences.accuracy({"flat_comparison": {"prior_matters": 3, "of": 1500}})
    assert told.startswith("The prior matters for 3 of 1,500 counts: ")
    assert sentences.accuracy({"flat_comparison": {"prior_matters": 0, "of": 1500}}) == []


@pytest.mark.parametrize(
    ("matters", "of", "other", "told"),
    [
        (3, 1500, 2, ["The prior matters for 3 of the 1,500 counts that can be ", "2 counts cannot be "]),
        (1, 1, 1200, ["The prior matters for the only count that can be ", "1,200 counts cannot be "]),
        (0, 4, 1, ["1 count cannot be "]),
        (0, 0, 1, ["The count cannot be "]),
        (0, 0, 2, ["2 counts cannot be "]),
    ],
)
def test_counts_without_a_posterior_under_a_flat_prior_are_counted_separately(matters, of, other, told):
    beside = {"prior_matters": matters, "of": of, "not_compared": other, "reason": "no bound"}
    found = sentences.accuracy({"flat_comparison": beside})
    assert len(found) == len(told)
    for text, begins in zip(found, told, strict=True):
        assert text.startswith(f"{begins}compared with a flat prior")
    assert found[-1].endswith(", which gives no result: no bound.")


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ({"number": 0, "are": "zero"}, "Every cell of the table is listed in the file."),
        ({"number": 1, "are": "zero"}, "1 cell is not listed in the file; for this cell, 0 was released."),
        ({"number": 2, "are": "unknown"}, "2 cells are not listed in the file; for these cells, no value is known."),
        (
            {"number": 2000, "are": "withheld", "below": 10},
            "2,000 cells are not listed in the file; for these cells, the value was withheld (values below 10).",
        ),
        (
            {"number": 2, "are": "withheld"},
            "2 cells are not listed in the file; for these cells, the value was withheld.",
        ),
    ],
)
def test_cells_that_are_not_listed_are_counted(stated, told):
    assert list(sentences._absent({"absent": stated})) == [told]


@pytest.mark.parametrize(
    ("point", "bounded", "noun"),
    [
        ({"noise": {"law": "laplace"}}, False, "noise"),
        ({"noise": {"law": "exact"}}, True, ""),
        ({"noise": {"law": "exact", "threshold": 10}}, True, "suppression"),
        ({"noise": {"law": "exact", "rounded": 5}}, True, "rounding"),
        ({"noise": {"law": "random_rounding", "base": 3}}, True, "rounding"),
        ({"noise": {"law": "table"}}, True, "noise"),
        ({"noise": {"laws": [{"law": "exact"}, {"law": "laplace"}]}}, False, "noise"),
        ({"noise": {"laws": [{"law": "exact"}, {"law": "table"}]}}, True, "noise"),
        ({"strata": 1, "noise": {"law": "laplace"}}, True, "swapping"),
        ({}, False, "noise"),
    ],
)
def test_only_some_protections_bound_the_counts(point, bounded, noun):
    assert sentences.bounded(point) == bounded
    assert sentences._protection(point) == noun


@pytest.mark.parametrize(
    ("question", "quantity", "noun", "whole", "text"),
    [
        ({"sum": ["a", "b"]}, "q", "sum", True, "the total count of a and b"),
        ({"sum": "all", "about": "shares"}, "q", "sum", False, "the total share of all"),
        ({"difference": ["a", ["b", "c"]]}, "q", "difference", True, "the count of a minus the count of b and c"),
        ({"ratio": ["a", "b"], "about": "rates"}, "q", "ratio", False, "the rate of a divided by the rate of b"),
        ({"share": {"of": "a", "among": ["a", "b"]}}, "q", "share", False, "the share of a among a and b"),
        ({"rank": {"of": "all"}}, "q: a", "rank", True, "all counts"),
        ({"rank": {"of": "a", "among": "all"}, "about": "parameters"}, "q: a", "rank", True, "all parameters"),
        ({"rank": {"of": "a", "among": ["a", "b"]}}, "q: P(a in top 2)", "probability", True, "a and b"),
        ({"rank": {"of": list("abcdef")}, "about": "rates"}, "q: a", "rank", True, "the 6 rates of the question"),
        ({"probability": "a > b"}, "q", "probability", False, "the answer"),
        ({"other": 1}, "q", "question", False, "the answer"),
        ({"sum": ["a"]}, "another", "question", False, "the total count of a"),
    ],
)
def test_the_nouns_of_questions(question, quantity, noun, whole, text):
    assert sentences.question_noun(quantity, {"p": {"ratio": ["x", "y"]}, "q": question}) == noun
    assert sentences.about_counts(quantity, {"p": {"ratio": ["x", "y"]}, "q": question}) == whole
    assert sentences._asked(question) == text


@pytest.mark.parametrize(("tested", "told"), [(1000, False), (1001, True)])
def test_a_conflict_of_a_large_total_names_its_most_frequent_causes(tested, told):
    """An error of 1 % in the mean of 1,001 counts changes their sum by 10 counts."""
    check = {"found": True, "names": ["the total"], "counts": 1, "smallest": 1e-5, "tested": tested}
    (sentence,) = sentences._conflict(check)
    words = (
        " Among many counts, even a small error in the prior mean or in the noise is visible in the sum of all counts."
    )
    assert sentence.endswith(words) == told
    assert not next(iter(sentences._conflict(check | {"names": ["a"]}))).endswith(words)


HALF_WAY = "a value half-way between two multiples to the"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"law": "laplace", "scale": 2.5}, "Laplace noise of scale 2.5"),
        ({"law": "laplace"}, "Laplace noise of scale as stated"),
        (
            {"law": "gaussian", "sd": {"smallest": 1.5, "largest": 3}},
            "Gaussian noise with standard deviation between 1.5 and 3",
        ),
        ({"law": "gaussian", "sd": {"smallest": 2, "largest": 2}}, "Gaussian noise with standard deviation 2"),
        ({"law": "random_rounding", "base": 5}, "random rounding to a multiple of 5"),
        ({"law": "random_rounding", "base": 5, "fixed": "up"}, "rounding up to a multiple of 5"),
        ({"law": "random_rounding", "base": 5, "fixed": "nearest"}, "rounding to the nearest multiple of 5"),
        ({"law": "laplace", "scale": 2, "rounded": 10}, "Laplace noise of scale 2, then rounding to multiples of 10"),
        (
            {"law": "discrete_laplace", "scale": 1, "rounded": 5},
            "discrete Laplace noise of scale 1, then rounding to multiples of 5",
        ),
        (
            {"law": "discrete_laplace", "scale": 1, "rounded": 10},
            f"discrete Laplace noise of scale 1, then rounding to multiples of 10 ({HALF_WAY} even one)",
        ),
        (
            {"law": "discrete_gaussian", "sigma": 1, "rounded": {"step": 4, "ties": "away"}},
            "discrete Gaussian noise with parameter sigma 1, then rounding to multiples of 4 "
            f"({HALF_WAY} one farther from 0)",
        ),
        (
            {"law": "discrete_laplace", "scale": 1, "rounded": {"step": 10, "ties": "up"}, "clipped": {"at": 0}},
            f"discrete Laplace noise of scale 1, then rounding to multiples of 10 ({HALF_WAY} upper one) and clipping "
            "at 0 from below",
        ),
        (
            {"law": "laplace", "scale": 2, "rounded": {"step": 3}, "clipped": {"at": 0}, "threshold": 4},
            "Laplace noise of scale 2, then rounding to multiples of 3, clipping at 0 from below and suppression of "
            "values below 4",
        ),
        (
            {"laws": [{"law": "exact", "rows": 1}, {"law": "laplace", "scale": 1, "rows": 1200}]},
            "no noise (1 count); Laplace noise of scale 1 (1,200 counts)",
        ),
        ({"law": "other"}, "other"),
    ],
)  # fmt: skip
def test_noise_is_described_with_its_steps(words, text):
    assert rules.noise_text(words) == text
    sentence = rules.noise_sentence(words)
    if "laws" in words:
        assert sentence == f"The noise of the counts is independent, with these distributions: {text}."
    elif words.get("law") != "random_rounding":
        assert sentence == f"Each count has {text}, independently of the other counts."


@pytest.mark.parametrize(
    ("asked", "limits", "sure"),
    [
        ({"sum": ["a"]}, (0.0004, 0.9996), "between 0.00 and 1.00 with probability at least 95 %"),
        ({"sum": ["a"]}, (0.0004, 0.4), "between 0.00 and 0.40 with probability at least 95 %"),
        ({"sum": ["a"]}, (0.2, 0.4), "between 0.20 and 0.40 with probability 95 %"),
        ({"difference": ["a", "b"]}, (-0.47, 0.98), "between -0.5 and 1.0 with probability at least 95 %"),
        ({"difference": ["a", "b"]}, (-0.47, 0.58), "between -0.5 and 0.6 with probability 95 %"),
    ],
)
def test_a_limit_rounded_to_the_end_of_the_range_excludes_nothing(asked, limits, sure):
    row = {"quantity": "q", "type": "question", "mean": 0.3, "sd": 0.1, "level": 0.95, "status": "exact", "error": 0.0}
    (row,) = pd.DataFrame([{**row, "lower": limits[0], "upper": limits[1]}]).itertuples()
    facts = {"kind": "noisy_counts", "settings": {"questions": {"q": {**asked, "about": "rates"}}}}
    assert sentences.sentence(row, facts, {"noise": {"law": "laplace", "scale": 1.0}}).endswith(f" is {sure}.")


@pytest.mark.parametrize(
    ("prior", "text"),
    [
        ("flat", "flat on the counts"),
        ("1/(1+n)", "weight 1/(1 + n) for a count n >= 0"),
        ({"law": "geometric", "mean": 3}, "geometric (mean 3)"),
        ({"law": "table", "counts": [0, 7], "probabilities": [0.5, 0.5]}, "table of 2 counts with their probabilities"),
        (
            {"x": "fitted", "y": {"law": "geometric", "mean": 3}},
            "x: fitted to the counts of the group in all tables; y: geometric (mean 3)",
        ),
    ],
)
def test_the_prior_of_a_batch_of_counts_is_described_as_for_a_single_table(prior, text):
    assert summary._prior_of_batch("noisy_counts", {"prior": prior}, ["group"]) == text


@pytest.mark.parametrize("prior", [[1.0, 2.0], {"law": "multinomial", "alpha": [1.0, 2.0]}])
def test_concentrations_of_a_batch_are_those_of_its_rates(prior):
    """The total of a table is known, so it has no prior."""
    text = summary._prior_of_batch("noisy_counts", {"prior": prior}, ["total"])
    assert text == "Dirichlet on the rates, with concentration 1, 2"


def test_keys_of_a_grid_do_not_replace_columns_of_the_results(tmp_path):
    """The results of a grid over bounds are those of a scenario with each of the bounds."""
    stated = {"kind": "noisy_counts", "counts": {"a": 12, "b": 7}, "noise": {"law": "discrete_laplace", "scale": 2.0}}

    def rows(upper):
        files = making.files("mine", tmp_path)
        scenario = scenario_settings.single("mine", {**stated, "bounds": {"upper": upper}}, kind.discover())
        making.part(scenario, files, root_seed=1)
        return making.read(files)[0]

    grid = rows([15, 50])
    assert grid.columns.is_unique
    for upper, part in grid.groupby("bounds_upper"):
        pd.testing.assert_frame_equal(part.drop(columns="bounds_upper").reset_index(drop=True), rows(int(upper)))


@pytest.mark.parametrize(
    ("level", "types", "begins"),
    [
        (None, ["count"], []),
        (0.9, [], ["No 90 % confidence interval is stated."]),
        (0.9, ["count"], ["The 90 % confidence intervals need no prior: ", "If no count fits at this level, "]),
    ],
)
def test_a_batch_without_confidence_intervals_says_so(level, types, begins):
    """No table has an interval if all tables are rejected, so no reason within a table is stated."""
    said = summary._sure(level, types)
    assert len(said) == len(begins)
    assert all(text.startswith(begin) for text, begin in zip(said, begins, strict=True))


@pytest.mark.parametrize(
    ("kind_", "about", "start"),
    [
        ("noisy_counts", {}, "the probability"),
        ("noisy_counts", {"about": "counts"}, "the probability"),
        ("noisy_counts", {"about": "shares"}, "for the true shares, the probability"),
        ("noisy_counts", {"about": "rates"}, "for the underlying rates, the probability"),
        ("swapped_table", {"about": "rates"}, "for the underlying rates, the probability"),
        ("protected_rates", {}, "the probability"),  # all questions of this kind refer to rates
    ],
)
def test_a_probability_states_the_quantities_that_are_compared(kind_, about, start):
    """The same comparison has another probability for the rates than for the counts of the file."""
    question = {"probability": "a > b", **about}
    row = SimpleNamespace(
        quantity="q", type="question", mean=0.75, sd=math.nan, lower=math.nan, upper=math.nan, level=0.95,
        status="exact", error=0.0,
    )  # fmt: skip
    facts = {"kind": kind_, "settings": {"questions": {"q": question}}}
    point = {"noise": {"law": "laplace", "scale": 1.0}}
    assert sentences.sentence(row, facts, point) == f"q: {start} that a > b is 75 %."
