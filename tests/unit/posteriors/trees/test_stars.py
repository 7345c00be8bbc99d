"""Tests of counts without a measured total: distributions by direct sums, bounds of the error, and refused noise."""

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from dpmultinomial._mechanisms.gaussian import DiscreteGaussian
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._mechanisms.perturbation import Perturbation
from dpmultinomial._posteriors.trees import _solver, conflict, tree_posterior
from dpmultinomial._posteriors.trees.measurements import Measurements
from dpmultinomial._posteriors.trees.tree import Leaves, Splits, Tree
from dpmultinomial._posteriors.trees.tree_posterior import infer
from dpmultinomial._seeding import stream

LAWS = [
    {"law": "discrete_gaussian", "sigma": 1.3},
    {"law": "discrete_gaussian", "sigma": 0.45},
    {"law": "discrete_laplace", "scale": 0.8},
    {"law": "laplace", "scale": 0.7},
    {"law": "gaussian", "sd": 1.1},
    {"law": "exact"},
    {"law": "discrete_gaussian", "sigma": 1.2, "clipped": {"at": 0}},
    {"law": "discrete_laplace", "scale": 0.6, "threshold": 3},
    {"law": "discrete_gaussian", "sigma": 1.0, "rounded": 3},
]


def star_of(law, seed, size):
    """Return measurements of all leaves of a star, with counts of about 6."""
    rng = stream(seed, "star")
    noise = law_of(law)
    released = noise.sample(rng.poisson(6, size), rng=rng)
    return Measurements(Tree([-1, *[0] * size]), np.arange(1, size + 1), released, noise)


def widened(law, low, size):
    """Return the probabilities of low, low + 1, .. for a distribution on a window."""
    out = np.zeros(size)
    out[law.values.astype(int) - low] = law.probabilities
    return out


@pytest.mark.parametrize("a", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_star_has_the_law_of_its_messages(law, a, monkeypatch):
    """Compare the mixture with messages: evidence, all counts, differences, sums, and the means of draws."""
    given = star_of(law, 7, 66)
    found = infer(given, prior=Splits(a))
    monkeypatch.setattr(tree_posterior, "is_star", lambda _: False)
    right = infer(given, prior=Splits(a))
    assert (found.method, right.method) == ("mixture of independent counts", "sum-product on a tree")
    assert found.accuracy.status == "exact"  # messages have a larger bound for one distribution
    assert found.log_evidence == pytest.approx(right.log_evidence, abs=1e-10)
    for one, other in zip(found.numbers(0.8), right.numbers(0.8), strict=True):
        assert one == pytest.approx(other, abs=1e-7, rel=1e-9)
    laws = [(found.law(v), right.law(v)) for v in (0, 1, 3, 66)]
    laws += [(getattr(found, kind)(1, 3), getattr(right, kind)(1, 3)) for kind in ("difference", "sum")]
    for one, other in laws:
        low = int(min(one.values[0], other.values[0]))
        size = int(max(one.values[-1], other.values[-1])) - low + 1
        assert np.abs(widened(one, low, size) - widened(other, low, size)).sum() < 1e-10
    draws = found.sample(20_000, rng=stream(8, "draws"))
    assert (draws[:, 0] == draws[:, 1:].sum(axis=1)).all()
    assert (np.abs(draws.mean(axis=0) - right.mean) <= 5 * right.sd / np.sqrt(20_000)).all()  # false alarm: 2e-6


def test_a_leaf_of_a_star_without_a_measurement_has_its_closed_form():
    """Check 65 exact counts with sum s, and the weights (s + n)! Gamma(n + A)/(n! Gamma(s + n + 66 A)) of the other."""
    a, counts = 0.8, stream(12, "exact leaves").poisson(6, 65)
    tree, exact = Tree([-1, *[0] * 66]), law_of({"law": "exact"})
    found = infer(Measurements(tree, np.arange(1, 66), counts, exact), prior=Splits(a))
    n, s = np.arange(3000.0), counts.sum()
    logs = gammaln(s + n + 1) - gammaln(s + n + 66 * a) + gammaln(n + a) - gammaln(n + 1)
    p = np.exp(logs - logs.max())
    p /= p.sum()
    assert found.accuracy.status == "exact"
    for node, more in ((66, 0), (0, s)):
        assert found.mean[node] == pytest.approx(p @ n + more, rel=1e-9)
        assert found.sd[node] == pytest.approx(np.sqrt(p @ n**2 - (p @ n) ** 2), rel=1e-9)
    assert found.mean[1:66].tolist() == counts.tolist()


@pytest.mark.parametrize(("most", "part"), [(200, 200), (199, 100), (90, 67)])
def test_the_concentration_of_a_star_is_fitted_to_every_second_or_third_leaf_if_there_are_many(monkeypatch, most, part):
    """Compare with the minimum of the closed form for exact counts: a Dirichlet-multinomial distribution of the counts
    of these leaves, a flat prior of their sum, and the weak prior of the log concentration.
    """
    counts = stream(16, "fitted star").negative_binomial(0.8, 0.02, 200)
    given = Measurements(Tree([-1, *[0] * 200]), np.arange(1, 201), counts, {"law": "exact"})
    monkeypatch.setattr(tree_posterior, "MOST_NODES", most)
    found = infer(given)
    n = counts[:: {200: 1, 199: 2, 90: 3}[most]]

    def cost(log):
        a = np.exp(log)
        logs = gammaln(n + a) - gammaln(n + 1) - gammaln(a)
        whole = gammaln(n.sum() + 1) + gammaln(len(n) * a) - gammaln(n.sum() + len(n) * a)
        return 0.5 * log**2 / tree_posterior.WEAK**2 - whole - logs.sum()

    best = minimize_scalar(cost, bounds=(-3, 3), method="bounded", options={"xatol": 1e-6})
    assert len(n) == part
    assert {key: found.facts["fitted_on"][key] for key in ("nodes", "of")} == {"nodes": part + 1, "of": 201}
    assert found.facts["concentrations"]["level 1"] == pytest.approx(np.exp(best.x), rel=5e-3)  # tolerance of the fit


@pytest.mark.parametrize("kind", ["narrow", "spread", "narrower than multinomial"])
def test_the_weak_prior_of_a_concentration_has_a_standard_deviation_of_two(kind):
    """Compare with the mode of the closed form for exact counts times a N(0, 2^2) density of the log concentration.

    For 70 leaves far from the concentration 1, a standard deviation that is 20 % larger would change the mode by more
    than the tolerance of the fit.
    """
    rng = stream(16, "narrow star")
    n = {
        "narrow": lambda: rng.negative_binomial(40, 4 / 7, 70),
        "spread": lambda: stream(16, "spread star").negative_binomial(0.08, 0.004, 70),
        "narrower than multinomial": lambda: rng.binomial(30, 0.7, 70),
    }[kind]()

    def mode(precision):
        def cost(log):
            a = np.exp(log)
            logs = gammaln(n + a) - gammaln(n + 1) - gammaln(a)
            whole = gammaln(n.sum() + 1) + gammaln(len(n) * a) - gammaln(n.sum() + len(n) * a)
            return precision * log**2 / 2 - whole - logs.sum()

        return np.exp(minimize_scalar(cost, bounds=(-6, 9), method="bounded", options={"xatol": 1e-7}).x)

    assert abs(np.log(mode(1 / 2**2) / mode(1 / 2.4**2))) > 0.005
    found = infer(Measurements(Tree([-1, *[0] * 70]), np.arange(1, 71), n, {"law": "exact"}))
    assert found.facts["concentrations"]["level 1"] == pytest.approx(mode(1 / 2**2), rel=5e-3)  # tolerance of the fit


@pytest.mark.parametrize(("size", "a"), [(100, 1000.0), (3000, 10.0)])
def test_the_bound_of_a_star_covers_rounding_errors(size, a):
    """Compare the weights of the nodes with their closed form, the density x^(N + 1) (1 - x)^(k A - 1) of exact counts.

    The logs are differences of numbers of about 3e5 and 1e5, which have an absolute error of about 1e-11.
    """
    counts = stream(15, "rounding").poisson(1000, size)
    found = infer(
        Measurements(Tree([-1, *[0] * size]), np.arange(1, size + 1), counts, {"law": "exact"}), prior=Splits(a)
    )
    tilts, shares = found.rule
    mp = mpmath.mp
    with mp.workdps(40):
        total, b = int(counts.sum()), size * int(a) - 1
        logs = [(total + 1) * mp.mpf(t) + b * mp.log(-mp.expm1(mp.mpf(t))) for t in tilts.tolist()]
        weights = [mp.exp(log - max(logs)) for log in logs]
        exact = np.array([float(w / mp.fsum(weights)) for w in weights])
    distance = np.abs(shares - exact).sum() / 2
    assert 1e-12 < distance <= found.facts["bound"] < 1e-9


def test_a_leaf_of_a_star_has_its_bounds(monkeypatch):
    """Compare with messages. A leaf without a measurement that has only a lower bound is unbounded."""
    noise, released = law_of({"law": "discrete_laplace", "scale": 2.0}), stream(13, "bounds").poisson(6, 70)
    lower, upper = np.zeros(72), np.full(72, np.inf)
    lower[71] = 50
    with pytest.raises(_solver.Unbounded, match="the count of 71 is unbounded"):
        infer(Measurements(Tree([-1, *[0] * 71], lower=lower), np.arange(1, 71), released, noise), prior=Splits(1.0))
    upper[71] = 90
    given = Measurements(Tree([-1, *[0] * 71], lower=lower, upper=upper), np.arange(1, 71), released, noise)
    found = infer(given, prior=Splits(1.0))
    monkeypatch.setattr(tree_posterior, "is_star", lambda _: False)
    right = infer(given, prior=Splits(1.0))
    assert (found.method, right.method) == ("mixture of independent counts", "sum-product on a tree")
    assert found.log_evidence == pytest.approx(right.log_evidence, abs=1e-9)
    for one, other in zip(found.numbers(0.9), right.numbers(0.9), strict=True):
        assert one == pytest.approx(other, rel=1e-7)


def test_the_root_of_a_star_can_have_gaps():
    """Check leaves that are 0 or 2: their sum is even."""
    law = Perturbation({"true": [0, 0, 1, 2], "released": [0, 1, 1, 0], "probability": [0.2, 0.8, 1.0, 1.0]})
    tree = Tree([-1, *[0] * 100], upper=[np.inf, *[2] * 100])
    root = infer(Measurements(tree, np.arange(1, 101), np.zeros(100), law), prior=Splits(1.0)).law(0)
    assert root.probabilities[root.values % 2 == 1].sum() < 1e-12
    assert root.probabilities.sum() == pytest.approx(1)


def test_a_leaf_of_a_star_with_too_many_possible_counts_is_rejected_before_its_distribution_is_computed():
    noise = law_of({"law": "discrete_laplace", "scale": 2.0})
    given = Measurements(Tree([-1, *[0] * 70]), np.arange(1, 70), stream(14, "many").poisson(2e4, 69), noise)
    with pytest.raises(_solver.Unsolved, match=r"the leaf '70' has about .* possible counts, more than the limit of"):
        infer(given, prior=Splits(0.5))


@pytest.mark.parametrize("b", [0.1, 3.0, 500.0])
def test_the_rule_of_a_star_is_exact_for_every_total(b):
    """Check sum_j h x^(N+1) (1 - x)^b = B(N + 1, b) with x = 1/(1 + exp(-u - h j)), at any u."""
    spacing = _solver._spacing(b)
    for total in (0, 7, 100):
        for start in (0.0, 0.3):
            u = np.arange(-60 / spacing, (60 + 60 / b) / spacing) * spacing + start
            logs = -(total + 1) * np.logaddexp(0, -u) - b * np.logaddexp(0, u)
            right = gammaln(total + 1) + gammaln(b) - gammaln(total + 1 + b)
            assert np.log(spacing * np.exp(logs - right).sum()) == pytest.approx(0, abs=1e-12)


def test_a_rule_of_a_star_that_ends_too_early_voids_the_bound(monkeypatch):
    given = star_of({"law": "laplace", "scale": 2.0}, 9, 70)
    right = infer(given, prior=Splits(1.0))
    monkeypatch.setattr(_solver, "NARROW", -1.0)
    monkeypatch.setattr(_solver, "BLOCK", 2)
    found = infer(given, prior=Splits(1.0))
    assert abs(found.sd[0] / right.sd[0] - 1) > 1e-6
    assert found.accuracy.status == "approximate"


@pytest.mark.parametrize(("prior", "way"), [(None, "give the concentration"), (Splits(1.0), "measure the root, use")])
@pytest.mark.parametrize("scale", [1e7, 1e12])
def test_a_star_with_too_wide_noise_is_rejected_with_its_size(prior, way, scale):
    given = star_of({"law": "discrete_laplace", "scale": scale}, 10, 70)
    with pytest.raises(_solver.Unsolved, match=r"possible counts") as error:
        infer(given, prior=prior)
    assert way in str(error.value) or "more than 2**26 possible counts" in str(error.value)


def test_a_large_star_without_a_measured_root():
    """Check 3,000 leaves: the mean of the total given its sum of noisy values, and the fitted concentration."""
    size, law = 3000, DiscreteGaussian(sigma=4.0)
    rng = stream(11, "large star")
    truth = rng.negative_binomial(0.7, 0.7 / 60, size)
    found = infer(Measurements(Tree([-1, *[0] * size]), np.arange(1, size + 1), law.sample(truth, rng=rng), law))
    assert found.accuracy.status == "exact"
    assert found.facts["concentrations"]["level 1"] == pytest.approx(0.7, abs=0.1)  # 5 standard deviations of .02
    assert found.sd[0] < 4.0 * np.sqrt(size)
    assert abs(found.mean[0] - truth.sum()) < 5 * found.sd[0]
    assert np.mean((found.lower <= [truth.sum(), *truth]) & ([truth.sum(), *truth] <= found.upper)) > 0.93


def test_windows_that_do_not_overlap_are_widened_by_squares(monkeypatch):
    """Check the neglected probabilities of the attempts, of which the last is the smallest that is tried."""
    drops = []
    monkeypatch.setattr(_solver, "_once", lambda *of: drops.append(of[-1]) or (3, "empty"))
    none = np.zeros(0)
    assert _solver._first(Tree([-1]), none, none, none, none, 1e-20) == (None, (3, "empty"))
    assert drops == pytest.approx([1e-20, 1e-40, 1e-80, 1e-160, 1e-250], rel=1e-9, abs=0)
    drops.clear()
    monkeypatch.setattr(_solver, "_once", lambda *of: drops.append(of[-1]) or (2, "wide"))
    assert _solver._first(Tree([-1]), none, none, none, none, 1e-20) == (None, (2, "wide"))
    assert len(drops) == 1  # wider windows do not help


@pytest.mark.parametrize("prior", [Leaves("flat"), Leaves("1/(1+n)"), Splits(1.0)])
def test_wide_bounds_are_no_evidence_against_a_value(prior):
    """Without bounds, the other leaf says nothing about a leaf; a flat prior up to 10^4 would give p = 2 * 38/10^4."""
    words = {"law": "discrete_gaussian", "sigma": 21.0}
    wide = infer(Measurements(Tree([-1, 0, 0], upper=[10**6, 10**4, 10**4]), [1, 2], [38.0, 148.0], words), prior=prior)
    assert conflict.p_value(wide, 0) == conflict.p_value(wide, 1) == 1.0
    narrow = infer(Measurements(Tree([-1, 0, 0], upper=[90, 20, 70]), [1, 2], [400.0, 30.0], words), prior=prior)
    assert conflict.p_value(narrow, 0) < 1e-12  # the count is at most 20, so the noise is at least 18 sigma
    assert conflict.facts(narrow)["found"]
