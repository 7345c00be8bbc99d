"""Tests of counts with parents through the public interface: distributions by enumeration, exact questions."""

import numpy as np
import pytest
from reference.tree_enumeration import Enumeration, splits
from scipy.stats import betabinom, norm

import dpmultinomial as dpm

PARENTS = {"state": None, "north": "state", "south": "state", "a": "north", "b": "north", "c": "north", "d": "south"}
VALUES = {"state": 14, "north": 9, "a": 6, "b": -1, "c": 3, "d": 4}
SIGMA = 1.4
WORDS = {"law": "discrete_gaussian", "sigma": SIGMA}
NAMES = list(PARENTS)
PARENT = [-1, 0, 0, 1, 1, 1, 2]


@pytest.fixture(scope="module")
def both():
    release = dpm.Release(VALUES, mechanism=dpm.DiscreteGaussian(sigma=SIGMA), parents=PARENTS, levels=["s", "r", "t"])
    found = dpm.posterior(release, prior={"r": 1.5, "t": 0.5})
    each = np.array([1.0, 1.5, 1.5, 0.5, 0.5, 0.5, 0.5])
    measured = [(NAMES.index(name), WORDS, float(value)) for name, value in VALUES.items()]
    law = Enumeration(PARENT, 30, lambda n: splits(PARENT, each, n, np.ones(7, bool)), measured, [0] * 7, [np.inf] * 7)
    return found, law


def test_counts_are_those_of_enumeration_with_least_squares_beside(both):
    found, law = both
    for i, name in enumerate(NAMES):
        p = law.law(i)
        assert found.counts[name].mean() == pytest.approx(np.arange(len(p)) @ p, abs=1e-11)
    assert found.facts["log_evidence"] == pytest.approx(law.log_evidence, abs=1e-11)
    assert found.accuracy.status == "exact"
    rows = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    expected = np.linalg.lstsq(rows, np.array(list(VALUES.values()), dtype=float), rcond=None)[0]
    got = [found.facts["least_squares"][name][0] for name in "abcd"]
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert found.facts["conflict"]["tested"] == len(VALUES)
    assert not found.facts["conflict"]["found"]


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ({"sum": ["a", "b", "c"]}, lambda n: n["a"] + n["b"] + n["c"]),
        ({"sum": ["a", "c"]}, lambda n: n["a"] + n["c"]),
        ({"difference": [["a", "b"], ["c"]]}, lambda n: n["a"] + n["b"] - n["c"]),
        ({"difference": ["north", "south"]}, lambda n: n["north"] - n["south"]),
        ({"difference": ["d", "b"]}, lambda n: n["d"] - n["b"]),
        ({"difference": ["state", "a"]}, lambda n: n["state"] - n["a"]),
        ({"sum": ["c", "d"]}, lambda n: n["c"] + n["d"]),
        ({"ratio": ["a", "state"]}, lambda n: n["a"] / n["state"]),
        ({"share": {"of": ["a"], "among": ["a", "b"]}}, lambda n: n["a"] / (n["a"] + n["b"])),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "value",
)
def test_questions_about_siblings_and_pairs_are_exact(both, question, value):
    found, law = both
    row = found.ask({"asked": question}).iloc[0]
    counts = {name: law.counts[i].astype(float) for i, name in enumerate(NAMES)}
    with np.errstate(divide="ignore", invalid="ignore"):
        each = value(counts)
    defined = np.isfinite(each)
    p = law.p[defined] / law.p[defined].sum()
    mean = each[defined] @ p
    assert (row["status"], row["error"]) == ("exact", 0.0)
    assert row["mean"] == pytest.approx(mean, abs=1e-10)
    assert row["sd"] == pytest.approx(np.sqrt((each[defined] - mean) ** 2 @ p), abs=1e-7)


def test_probabilities_are_exact_of_pairs_and_drawn_beyond(both):
    found, law = both
    n = {name: law.counts[i] for i, name in enumerate(NAMES)}
    assert float(found.probability("north > south")) == pytest.approx(law.p[n["north"] > n["south"]].sum(), abs=1e-12)
    assert float(found.probability("a > 2 * d")) == pytest.approx(law.p[n["a"] > 2 * n["d"]].sum(), abs=1e-12)
    assert float(found.probability("a + b > c")) == pytest.approx(law.p[n["a"] + n["b"] > n["c"]].sum(), abs=1e-12)
    with pytest.raises(ValueError, match="rng"):
        found.probability("a + d > c")
    chance = found.probability("a + d > c", rng=dpm.stream(1, "wide"))
    assert chance.accuracy.status == "approximate"
    exact = law.p[n["a"] + n["d"] > n["c"]].sum()
    assert abs(float(chance) - exact) < norm.isf(5e-7) * chance.accuracy.error


def test_bounds_unmeasured_and_withheld_counts():
    values = {"state": 14, "north": None, "a": 6, "b": None, "c": 3, "d": 4}
    bounds = (0, [14, np.inf, np.inf, np.inf, 3, np.inf])
    withheld = {"law": "discrete_gaussian", "sigma": SIGMA, "threshold": 2}
    laws = [WORDS, WORDS, WORDS, withheld, WORDS, WORDS]
    release = dpm.Release(values, mechanism=laws, parents=PARENTS, bounds=bounds)
    found = dpm.posterior(release, prior="1/(1+n)")
    measured = [(0, WORDS, 14.0), (3, WORDS, 6.0), (4, withheld, np.nan), (5, WORDS, 3.0), (6, WORDS, 4.0)]
    upper = [14, np.inf, np.inf, np.inf, np.inf, 3, np.inf]
    law = Enumeration(PARENT, 30, lambda n: -sum(np.log1p(n[v]) for v in range(3, 7)), measured, [0] * 7, upper)
    for i, name in enumerate(NAMES):
        p = law.law(i)
        assert found.counts[name].mean() == pytest.approx(np.arange(len(p)) @ p, abs=1e-11)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (
            {"parents": {"state": None}},
            "parents must have an entry for every count, but the entry is missing for north, a, b, c, d",
        ),
        ({"parents": {**PARENTS, "south": "nowhere"}}, "parent of south must be a node, got 'nowhere'"),
        ({"parents": PARENTS, "total": {"released": 14, "noise": {"law": "exact"}}}, "as a measurement of the root"),
        (
            {"parents": PARENTS, "total": 14, "bounds": (0, 9)},
            "bounds must satisfy 0 <= lower <= upper, got 14 to 9 for the node state",
        ),
        ({"parents": PARENTS, "levels": ["s", "r"]}, "levels must contain one name per level .3 levels., got 2"),
        ({"levels": ["s"]}, "only together with parents, got levels = "),
        ({"parents": {**PARENTS, "state": "d"}}, "parent must be -1 for exactly one node .the root., got -1 for 0"),
    ],
)
def test_what_is_no_tree_is_refused(rest, message):
    with pytest.raises(ValueError, match=message):
        dpm.posterior(dpm.Release(VALUES, mechanism=dpm.Laplace(scale=1.0), **rest))


def test_a_mechanism_of_something_else_is_refused():
    swap = dpm.Release(VALUES, mechanism=dpm.Swap(rate=0.1), parents=PARENTS)
    with pytest.raises(TypeError, match="mechanism must be a noise distribution for counts"):
        dpm.posterior(swap)


SCALES = [1.0, 10.0, 100.0, 3e3, 1e4, 3e4, 1e5, 1e6, 1e9, 1e12]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("law", [dpm.Laplace, dpm.DiscreteLaplace])
def test_a_tree_of_large_counts_has_an_answer_or_an_error_with_the_size_at_every_scale(law, scale):
    """Compare the mean of the root with least squares: far from 0, prior and bounds hardly matter (under .3 sd)."""
    released = {"all": 300_100, "a": 100_000, "b": 100_300, "c": 99_800}
    parents = {"all": None, "a": "all", "b": "all", "c": "all"}
    release = dpm.Release(released, mechanism=law(scale=scale), parents=parents)
    if scale >= 3e3:
        with pytest.raises(ValueError, match=r"(all|c): about .* counts are possible given its"):
            dpm.posterior(release)
        return
    found = dpm.posterior(release, prior=1.0)
    assert found.accuracy.status == "exact"
    estimate, sd = found.facts["least_squares"]["all"]
    assert abs(found.counts["all"].mean() - estimate) < 0.3 * sd


@pytest.mark.parametrize("scale", [1.0, 10.0, 30.0, 1e6, 1e9, 1e12])
def test_a_tree_of_small_counts_has_an_answer_or_an_error_with_the_size_at_every_scale(scale):
    """Compare with full sums over both counts, with the weights of the noise, the splits and a flat total."""
    released, parents = {"all": 13, "a": 7, "b": 4}, {"all": None, "a": "all", "b": "all"}
    release = dpm.Release(released, mechanism=dpm.DiscreteLaplace(scale=scale), parents=parents)
    if scale > 100:
        with pytest.raises(ValueError, match=r"(all|a|b): about .* counts are possible"):
            dpm.posterior(release, prior=1.0)
        return
    n = np.arange(60 * scale + 60)
    logs = -(np.abs(n[:, None] - 7) + np.abs(n - 4) + np.abs(n[:, None] + n - 13)) / scale
    weights = np.exp(logs) / (n[:, None] + n + 1)  # (N + 1) splits of each total N are equally likely
    found = dpm.posterior(release, prior=1.0)
    assert found.counts["a"].mean() == pytest.approx((weights.sum(axis=1) @ n) / weights.sum(), rel=1e-9)


@pytest.mark.parametrize("scale", [1e6, 1e9, 1e12])
def test_counts_with_a_total_tend_to_their_prior_under_wide_noise(scale):
    """Check the limit: beta-binomial counts of 3,000 records, with concentrations 1/2 and 1."""
    release = dpm.Release({"a": 3000, "b": 100, "c": 5}, mechanism=dpm.DiscreteLaplace(scale=scale), total=3000)
    count = dpm.posterior(release).counts["a"]
    limit = betabinom(3000, 0.5, 1.0)
    assert count.mean() == pytest.approx(limit.mean(), rel=5000 / scale)
    assert count.sd() == pytest.approx(limit.std(), rel=5000 / scale)


@pytest.mark.parametrize("scale", [1e6, 1e9, 1e12])
def test_single_counts_under_too_wide_noise_are_rejected_with_the_number_of_counts(scale):
    """Check the number of possible counts: 40 scales above the released value, and the value below."""
    release = dpm.Release({"a": 3000, "b": 100}, mechanism=dpm.DiscreteLaplace(scale=scale))
    with pytest.raises(ValueError, match=r"a: .* the noise is too large: .* true counts are possible") as error:
        dpm.posterior(release)
    assert float(str(error.value).split("too large: ")[1].split()[0]) == pytest.approx(40 * scale, rel=0.01)
