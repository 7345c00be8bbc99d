"""Tests of noise distributions: tails to sixty digits, modifiers by sums, draws, costs, and settings of all forms."""

import itertools
import pickle
from collections import Counter
from functools import cache

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpmultinomial._accounting import composition
from dpmultinomial._accounting.loss_composition import epsilon
from dpmultinomial._mechanisms.coarsened import Coarsened
from dpmultinomial._mechanisms.exact import Exact
from dpmultinomial._mechanisms.gaussian import DiscreteGaussian, Gaussian
from dpmultinomial._mechanisms.laplace import DiscreteLaplace, Laplace
from dpmultinomial._mechanisms.law_settings import LAWS, law_of
from dpmultinomial._mechanisms.noise_law import LawByRow
from dpmultinomial._mechanisms.perturbation import Perturbation
from dpmultinomial._seeding import stream

KINDS = {"laplace": Laplace, "discrete_laplace": DiscreteLaplace, "gaussian": Gaussian, "discrete": DiscreteGaussian}
CASES = [
    *(("laplace", p) for p in (0.3, 4.0, 250.0)),
    *(("discrete_laplace", p) for p in (0.3, 4.0, 250.0)),
    *(("gaussian", p) for p in (0.3, 4.0, 250.0)),
    *(("discrete", p) for p in (0.3, 0.9, 3.2, 19.9, 20.1, 89.2, 300.0)),
]
FIXED = 240  # bits: 72 digits, of which 24,000 terms lose 9


def make(kind, parameter):
    return KINDS[kind](**{"scale" if "laplace" in kind else "sigma": parameter})


@cache
def normaliser(sigma):
    return mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * mpmath.mpf(sigma) ** 2)))


def density(kind, parameter, z):
    p, z = mpmath.mpf(parameter), mpmath.mpf(z)
    if kind == "laplace":
        return mpmath.exp(-abs(z) / p) / (2 * p)
    if kind == "gaussian":
        return mpmath.exp(-z * z / (2 * p * p)) / (p * mpmath.sqrt(2 * mpmath.pi))
    if kind == "discrete_laplace":
        a = mpmath.exp(-1 / p)
        return (1 - a) / (1 + a) * a ** abs(z)
    return mpmath.exp(-z * z / (2 * p * p)) / normaliser(parameter)


def at_least(kind, parameter, z):
    """Return P(noise >= z); the terms of the discrete Gaussian, relative to the first, are integers over 2^FIXED."""
    p = mpmath.mpf(parameter)
    if z == np.inf:
        return mpmath.mpf(0)
    if z <= 0:
        if kind in ("laplace", "gaussian"):
            return 1 - at_least(kind, parameter, -z) if z < 0 else mpmath.mpf(1) / 2
        return 1 - at_least(kind, parameter, 1 - z)
    if kind == "laplace":
        return mpmath.exp(-mpmath.mpf(z) / p) / 2
    if kind == "gaussian":
        return mpmath.erfc(mpmath.mpf(z) / p / mpmath.sqrt(2)) / 2
    if kind == "discrete_laplace":
        a = mpmath.exp(-1 / p)
        return a ** mpmath.mpf(z) / (1 + a)
    d = mpmath.mpf(z)
    ratio, bend, term = (int(mpmath.exp(-e / (2 * p * p)) * 2**FIXED) for e in (2 * d + 1, 2, 0))
    total = 0
    while term > total // 10**30:
        total, term, ratio = total + term, term * ratio >> FIXED, ratio * bend >> FIXED
    total = mpmath.exp(-d * d / (2 * p * p)) * total / mpmath.mpf(2) ** FIXED
    return total / normaliser(parameter)


@pytest.mark.parametrize(("kind", "parameter"), CASES)
def test_densities_and_intervals_keep_twelve_digits_down_to_1e_minus_300(kind, parameter):
    law, step = make(kind, parameter), 0 if kind in ("laplace", "gaussian") else 1
    far = 690 * parameter if "laplace" in kind else 37 * parameter
    places = np.unique(np.floor([0, 1, 2, 0.1 * far, 0.5 * far, far]))
    with mpmath.workdps(50):
        for z in places:
            assert float(law.log_likelihood(z + 3, 3)) == pytest.approx(
                float(mpmath.log(density(kind, parameter, z))), abs=1e-12
            )
            for low, high in ((z, z + 1), (z, z + 40), (z, np.inf), (-z, 7), (-2, z + 3), (-np.inf, -z)):
                a, b = (-high, -low) if high < 0 else (low, high)  # the law is symmetric
                exact = at_least(kind, parameter, a) if a > -np.inf else mpmath.mpf(1)
                exact -= at_least(kind, parameter, b + step) if b < np.inf else 0
                found = law.log_within(low, high, parameter)
                assert float(found) == pytest.approx(float(mpmath.log(exact)), abs=1e-12), (low, high)
            for end in (z, -z - 1):
                exact = at_least(kind, parameter, -end)  # the law is symmetric
                assert float(law.log_at_most(end, parameter)) == pytest.approx(float(mpmath.log(exact)), abs=1e-12), end


@pytest.mark.parametrize("log_mass", [3.0, 40.0, 160.0])
def test_normal_noise_is_within_its_half_width(log_mass):
    """Check that the two tails are less probable than exp(-log_mass), but not than exp(-log_mass - 8)."""
    for sigma in (0.7, 30.0):
        tails = np.log(2) + stats.norm.logsf(Gaussian(sigma=sigma).halfwidth(log_mass) / sigma)
        assert -log_mass - 8 < tails <= -log_mass


def test_variances_of_narrow_noise_by_row_are_sums():
    sigma, d = np.array([0.3, 0.9, 1.0, 1.01, 1.2]), np.arange(-40, 41)
    p = np.exp(-((d / sigma[:, None]) ** 2) / 2)
    found = DiscreteGaussian(sigma=sigma).variance()
    assert found == pytest.approx((p @ d**2) / p.sum(axis=1), rel=1e-13)


@pytest.mark.parametrize(("kind", "parameter"), [c for c in CASES if c[1] < 100])
def test_probabilities_add_up_and_moments_are_those_of_the_law(kind, parameter):
    law = make(kind, parameter)
    width = law.halfwidth(40.0)
    if law.discrete:
        d = np.arange(-int(width) - 1, int(width) + 2)
        p = np.exp(law.log_likelihood(0, d))
        assert p.sum() == pytest.approx(1, abs=1e-13)
        assert p @ d**2 == pytest.approx(law.variance(), rel=1e-12)
        assert p[np.abs(d) > law.halfwidth(3.0)].sum() < np.exp(-3.0)
    else:
        nodes, weights = np.polynomial.legendre.leggauss(400)
        z = width * (nodes + 1) / 2
        p = np.exp(law.log_likelihood(z, 0)) * weights * width
        assert p.sum() == pytest.approx(1, abs=1e-9)
        assert p @ z**2 == pytest.approx(law.variance(), rel=1e-9)
        assert 2 * np.exp(float(law.log_within(law.halfwidth(3.0), np.inf, parameter))) <= np.exp(-3.0) * (1 + 1e-12)


def test_parameters_by_row_are_the_laws_of_the_rows():
    """Check one release and a grid of counts per row: the first axis contains the parameters."""
    sizes, released, counts = np.array([0.5, 3.0, 40.0]), np.array([2, 7, -5]), np.arange(12)
    for kind in KINDS:
        law, alone = make(kind, sizes), [make(kind, float(p)) for p in sizes]
        together = law.log_likelihood(released[:, None], counts[None])
        for i, one in enumerate(alone):
            assert together[i] == pytest.approx(one.log_likelihood(released[i], counts), abs=1e-13)
            assert law.take(np.array([i])).log_likelihood(released[[i]], 3)[0] == one.log_likelihood(released[i], 3)
        assert law.variance() == pytest.approx([one.variance() for one in alone], rel=1e-14)
        assert law.halfwidth(9.0) == pytest.approx([one.halfwidth(9.0) for one in alone])
        assert law.log_weights(released[:, None], counts).shape == (3, 12)
        assert law.row_count == 3
        assert law == pickle.loads(pickle.dumps(law)) != make(kind, sizes + 1)
        assert hash(law) == hash(make(kind, sizes.copy()))
        with pytest.raises(ValueError, match="one number per row, got 3 numbers for"):
            law.log_likelihood([1, 2], 0)
        with pytest.raises(ValueError, match=r"must be finite and > 0, got -1.0 \(index 1\)"):
            make(kind, np.array([1.0, -1.0]))


def chi_squared(draws, law_of_values, name):
    """Return the p-value of draws against a distribution on integers, cells of 20 expected; false alarm 1e-4."""
    values, p = law_of_values
    expected = p * len(draws)
    kept = expected >= 20
    seen = np.array([(draws == v).sum() for v in values[kept]])
    seen, expected = np.append(seen, len(draws) - seen.sum()), np.append(expected[kept], expected[~kept].sum())
    if expected[-1] < 1e-6:
        assert seen[-1] == 0, name
        seen, expected = seen[:-1], expected[:-1]
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, len(seen) - 1) > 1e-4, name


@pytest.mark.parametrize("kind", ["discrete_laplace", "discrete"])
def test_draws_with_a_parameter_a_row_follow_their_laws(kind):
    sizes = np.repeat([0.4, 2.0, 11.0], 40_000)
    draws = make(kind, sizes).sample(np.full(len(sizes), 5), rng=stream(7, "rows", kind)) - 5
    d = np.arange(-400, 401)
    for i, p in enumerate((0.4, 2.0, 11.0)):
        law = np.exp(make(kind, p).log_likelihood(0, d))
        chi_squared(draws[40_000 * i : 40_000 * (i + 1)], (d, law), (kind, p))
        alone = make(kind, p).sample(np.full(40_000, -7), rng=stream(7, "alone", kind)) + 7
        chi_squared(alone, (d, law), (kind, p, "alone"))


def test_draws_of_wide_noise_need_no_table():
    draws = DiscreteGaussian(sigma=3e9).sample(np.zeros(20_000, dtype=np.int64), rng=stream(7, "wide"))
    assert stats.kstest(draws / 3e9, stats.norm.cdf).pvalue > 1e-4


@pytest.mark.parametrize(("kind", "test"), [("laplace", stats.laplace), ("gaussian", stats.norm)])
def test_real_draws_with_a_parameter_a_row_follow_their_laws(kind, test):
    sizes = np.repeat([0.4, 2.0], 20_000)
    draws = make(kind, sizes).sample(np.full(len(sizes), 5.0), rng=stream(7, "rows", kind)) - 5
    assert stats.kstest(draws / sizes, test.cdf).pvalue > 1e-4


MODIFIED = {
    "clipped": {"at": 0.0},
    "smaller values are clipped": {"at": 3.0},
    "withheld": {"least": 4.0},
    "rounded": {"step": 3.0},
    "rounded to even multiples": {"step": 4.0},
    "rounded up": {"step": 4.0, "ties": "up"},
    "rounded away": {"step": 4.0, "ties": "away"},
    "all": {"step": 4.0, "at": 0.0, "least": 7.0},
    "clipped between multiples": {"step": 4.0, "at": 1.0, "least": 2.5},
}


def seen(value, how):
    """Return the released value for a noisy value: rounding, clipping and withholding, one after the other."""
    if "step" in how:
        low = np.floor(value / how["step"])
        rest = value / how["step"] - low
        ties = how.get("ties", "even")
        up = {"even": low % 2 == 1, "up": True, "away": value > 0}[ties]
        value = (low + (rest > 0.5 or (rest == 0.5 and up))) * how["step"]
    value = max(value, how.get("at", -np.inf))
    return value if value >= how.get("least", -np.inf) else np.nan


@pytest.mark.parametrize("name", MODIFIED)
@pytest.mark.parametrize("noise", [DiscreteLaplace(scale=2.0), DiscreteGaussian(sigma=2.5), Exact()])
def test_a_modified_whole_number_has_the_sum_over_what_it_stands_for(noise, name):
    how = MODIFIED[name]
    law = Coarsened(noise, **how)
    raw = np.arange(-200, 201)
    released = np.array([seen(v, how) for v in raw])
    for n in (0, 1, 2, 6, 30):
        p = np.exp(noise.log_likelihood(raw, n))
        total = 0.0
        for value in np.unique(released):
            if abs(value) > 150:
                continue  # its noisy values are not all listed
            same = np.isnan(released) if np.isnan(value) else released == value
            exact, found = p[same].sum(), np.exp(float(law.log_likelihood(value, n)))
            assert found == pytest.approx(exact, rel=1e-12, abs=1e-300), (n, value)
            total += found
        assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", MODIFIED)
@pytest.mark.parametrize("noise", [Laplace(scale=2.0), Gaussian(sigma=2.5)])
def test_a_modified_real_number_has_the_probability_of_its_interval(noise, name):
    """Check that probabilities at points and the density elsewhere integrate to 1, and that draws agree."""
    how = MODIFIED[name]
    law, n = Coarsened(noise, **how), 2
    draws = law.sample(np.full(100_000, n), rng=stream(3, name, repr(noise)))
    points = {np.nan} if "least" in how else set()
    points |= {how["at"]} if "at" in how and how["at"] >= how.get("least", -np.inf) else set()
    if "step" in how:
        points = set(np.unique(draws[~np.isnan(draws)])) | points
    mass = 0.0
    for value in points:
        p = float(np.exp(law.log_likelihood(value, n)))
        same = np.isnan(draws) if np.isnan(value) else draws == value
        assert same.mean() == pytest.approx(p, abs=4.5 * np.sqrt(max(p, 1e-5) / 100_000) + 1e-5)
        mass += p
    if "step" not in how:
        lowest = max(how.get("at", -60.0), how.get("least", -60.0))
        nodes, weights = np.polynomial.legendre.leggauss(200)
        for low, high in ((lowest, 2.0), (2.0, 80.0)) if lowest < 2 else ((lowest, 80.0),):
            z = low + (high - low) * (nodes + 1) / 2
            mass += np.exp(law.log_likelihood(z, n)) @ weights * (high - low) / 2
    assert mass == pytest.approx(1, abs=1e-4 if "step" in how else 1e-9)


def test_tails_of_modified_laws_keep_their_digits():
    """Check a released 0 for a count of 180: P(D <= -180) at sigma 5, and the two-sided geometric tail."""
    with mpmath.workdps(40):
        exact = float(mpmath.log(at_least("discrete", 5.0, 180)))
    assert float(DiscreteGaussian(sigma=5.0).clipped(0).log_likelihood(0, 180)) == pytest.approx(exact, abs=1e-12)
    assert exact < -640
    a = np.exp(-1 / 0.5)
    closed = 340 * np.log(a) - np.log1p(a)
    assert float(DiscreteLaplace(scale=0.5).threshold(11).log_likelihood(np.nan, 350)) == pytest.approx(
        closed, abs=1e-12
    )
    assert float(Laplace(scale=0.5).clipped(0).log_likelihood(0.0, 340)) == pytest.approx(-680 - np.log(2), abs=1e-12)


def stands_for(kind, p, rng, far):
    """Return a modifier, its released value, and the smallest and largest noisy value for it, by the definition."""
    whole = kind in ("discrete_laplace", "discrete")
    name = ("clipped", "withheld", "rounded")[rng.integers(3)]
    if name == "clipped":
        at = float(rng.integers(-3, 5)) if rng.random() < 0.5 else float(int(rng.uniform(-far, far) / 2))
        return {"at": at}, at, -np.inf, at
    if name == "withheld":
        least = float(rng.integers(1, 20))
        return {"least": least}, np.nan, -np.inf, least - whole
    step = float(np.ceil(np.exp(rng.uniform(0, 6))) / (1 if whole else 8))
    k = int(rng.uniform(-far, far) / step)
    low, high = (k - 0.5) * step, (k + 0.5) * step
    if whole:  # halves go to even multiples
        near = range(int(low) - 2, int(high) + 3)
        behind = [v for v in near if low < v < high or (k % 2 == 0 and v in (low, high))]
        low, high = (min(behind), max(behind)) if behind else (np.inf, -np.inf)
    return {"step": step}, k * step, low, high


@pytest.mark.parametrize("kind", KINDS)
def test_modified_laws_keep_twelve_digits_down_to_1e_minus_300(kind):
    """Check 150 random distributions, modifiers, counts and releases, scales 0.06 to 2,000, against fifty digits."""
    rng, tried, last = stream(11, "modified", kind), 0, 0 if kind in ("laplace", "gaussian") else 1
    while tried < 150:
        p = float(np.exp(rng.uniform(np.log(0.06), np.log(2000))))
        far = (690 if "laplace" in kind else 37) * p
        how, value, low, high = stands_for(kind, p, rng, far)
        n = int(rng.integers(0, 5) if rng.random() < 0.3 else rng.uniform(0, far))
        if low > high:
            continue  # an odd multiple of 1 or 2, which nothing is rounded to
        with mpmath.workdps(50):
            a, b = (n - high, n - low) if high < n else (low - n, high - n)  # the law is symmetric
            exact = at_least(kind, p, a) if a > -np.inf else mpmath.mpf(1)
            exact -= at_least(kind, p, b + last) if b < np.inf else 0
            exact = float(mpmath.log(exact)) if exact > 0 else -np.inf
        if exact < -690.7:  # 1e-300
            continue
        tried += 1
        found = float(Coarsened(make(kind, p), **how).log_likelihood(value, n))
        assert found == pytest.approx(exact, abs=1e-12, rel=0), (p, how, value, n)


def test_multiples_of_a_step_are_known_however_large():
    law = Laplace(scale=5.0).rounded(0.1)
    values = 0.1 * np.arange(10**9, 10**9 + 2000, dtype=float)
    assert law.possible(values).all()
    assert not law.possible(values + 0.01).any()


def test_what_a_law_never_releases_is_refused_by_name():
    law = DiscreteGaussian(sigma=2.0)
    for modified, value, words in [
        (law.clipped(0), -1, ">= 0, because smaller values are clipped, got -1"),
        (law.threshold(5), 4, ">= 5, because smaller values are withheld, got 4"),
        (law.rounded(5), 7, "multiples of 5, got 7"),
        (law.clipped(0), np.nan, "noisy_counts must not contain missing values"),
        (law.clipped(0), 1.5, "must be integers, got 1.5"),
        (law.threshold(0), np.inf, "must be finite"),
    ]:
        with pytest.raises(ValueError, match=words):
            modified.log_likelihood([3 * 5, value], 0)
    with pytest.raises(ValueError, match="no count would be withheld"):
        law.clipped(5).threshold(5)
    with pytest.raises(ValueError, match=r"step must be an integer for a discrete distribution, got 2\.5"):
        law.rounded(2.5)
    with pytest.raises(TypeError, match="must be a noise distribution for single counts"):
        Coarsened(law.clipped(0), least=3)
    with pytest.raises(ValueError, match="noisy_counts must contain only integers"):
        law.log_likelihood(1.5, 0)
    with pytest.raises(ValueError, match="noisy_counts must be finite, got nan"):
        Laplace(scale=1.0).log_likelihood([1.0, np.nan], 0)


def test_reach_leaves_out_less_than_it_says():
    """Check that counts outside the reach of a release have a likelihood of at most exp(-log_mass)."""
    n = np.arange(-400, 401)
    for law in (
        DiscreteLaplace(scale=2.0), DiscreteGaussian(sigma=3.0), DiscreteGaussian(sigma=3.0).clipped(0),
        DiscreteLaplace(scale=2.0).threshold(5), DiscreteGaussian(sigma=3.0).rounded(5), Exact(),
    ):  # fmt: skip
        for value in (0, 10) if not (isinstance(law, Coarsened) and law.least) else (np.nan, 10):
            low, high = law.reach(value, 20.0)
            outside = (n < low) | (n > high)
            assert np.exp(law.log_likelihood(value, n))[outside].max() <= np.exp(-20.0)
            assert not outside[np.abs(n - (value if value == value else 5)) <= 0].any()


CELL_KEYS = {
    "true": [0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3],
    "released": [0, 0, 1, 2, 0, 1, 2, 4, 1, 2, 3, 4, 5],
    "probability": [1.0, 0.5, 0.25, 0.25, 0.2, 0.2, 0.4, 0.2, 0.1, 0.2, 0.4, 0.2, 0.1],
}


def test_a_table_is_the_law_it_lists():
    law = Perturbation(CELL_KEYS)
    listed = dict(
        zip(zip(CELL_KEYS["true"], CELL_KEYS["released"], strict=True), CELL_KEYS["probability"], strict=True)
    )
    for y in range(-1, 8):
        for n in range(6):
            found = float(np.exp(law.log_likelihood(y, n)))
            assert found == pytest.approx(listed.get((n, y), 0.0))
    assert [float(end) for end in law.reach(4, 9.0)] == [2.0, 3.0]
    assert [float(end) for end in law.reach(9, 9.0)] == [np.inf, -np.inf]
    assert law.halfwidth(9.0) == 2.0
    assert law.variance() == pytest.approx(0.2 * 1 + 0.4 * 4 + 0.2 * 16 - 1.8**2)  # of true 2
    draws = law.sample(np.full(50_000, 3), rng=stream(5, "table"))
    chi_squared(draws, (np.arange(1, 6), np.array([0.1, 0.2, 0.4, 0.2, 0.1])), "table")
    with pytest.raises(ValueError, match=r"true counts of the noise table \(0 to 3\), got 4"):
        law.sample([1, 4], rng=stream(5, "table"))


SHIFTING = {  # CELL_KEYS with true 4, whose row is that of true 3 moved by 1
    "true": [*CELL_KEYS["true"], *[4] * 5],
    "released": [*CELL_KEYS["released"], *range(2, 7)],
    "probability": [*CELL_KEYS["probability"], 0.1, 0.2, 0.4, 0.2, 0.1],
}


def test_beyond_its_last_row_a_table_may_move_with_the_count():
    law = Perturbation(SHIFTING, beyond="shift")
    assert np.exp(law.log_likelihood([98, 100, 102, 103], 100)) == pytest.approx([0.1, 0.4, 0.1, 0.0])
    assert [float(end) for end in law.reach(100, 9.0)] == [98.0, 102.0]
    assert [float(end) for end in law.reach(4, 9.0)] == [2.0, 6.0]
    draws = law.sample(np.full(50_000, 50), rng=stream(5, "shifted")) - 50
    chi_squared(draws, (np.arange(-2, 3), np.array([0.1, 0.2, 0.4, 0.2, 0.1])), "shifted")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"probability": [0.9, *CELL_KEYS["probability"][1:]]},
            "probabilities for the true count 0 must sum to 1, got 0.9",
        ),
        ({"released": [0, 0, 1, 1, *CELL_KEYS["released"][4:]]}, "true count 1 and released value 1 is listed 2 times"),
        ({"true": [-1, *CELL_KEYS["true"][1:]]}, "true must contain only integers >= 0"),
        ({"probability": [1.0, -0.5, 1.25, *CELL_KEYS["probability"][3:]]}, "probability must be >= 0, got -0.5"),
        ({"released": [0, 1]}, "must have the same length, got lengths 13, 2 and 13"),
    ],
)
def test_a_wrong_table_is_refused_by_its_row(change, words):
    with pytest.raises(ValueError, match=words):
        Perturbation({**CELL_KEYS, **change})
    with pytest.raises(ValueError, match="but lacks probability"):
        Perturbation({"true": [0], "released": [0]})


def test_costs_of_disjoint_counts():
    """Check Laplace: sum of |change|/scale; Gaussian: sum of change^2/(2 sigma^2), over the rows of one record."""
    add, replace = composition.RELATIONS[:2]
    for law in (Laplace(scale=4.0), DiscreteLaplace(scale=4.0)):
        assert (law.cost(add).epsilon, law.cost(replace).epsilon) == (0.25, 0.5)
        assert law.cost(replace, sensitivity=3.0).epsilon == 0.75
        rows = type(law)(scale=np.array([4.0, 1.0, 2.0]))
        assert (rows.cost(add).epsilon, rows.cost(replace).epsilon, rows.cost(add, sensitivity=3).epsilon) == (
            1,
            1.5,
            3,
        )
    for law in (Gaussian(sigma=2.0), DiscreteGaussian(sigma=2.0)):
        assert (law.cost(add).rho, law.cost(replace).rho) == (0.125, 0.25)
        assert law.cost(replace, sensitivity=3.0, source="x") == composition.ZCDP(
            rho=9 / 8, source="x", relation=replace
        )
        rows = type(law)(sigma=np.array([2.0, 1.0, 0.5]))
        assert (rows.cost(add).rho, rows.cost(replace).rho) == (2.0, 2.5)
        assert type(law).calibrated(law.cost(replace).rho, l2_squared=2.0).sigma == pytest.approx(2.0, rel=1e-15)
    assert Gaussian(sigma=2.0).clipped(0).cost(add).rho == 0.125
    with pytest.raises(
        ValueError, match="got the neighbouring relation 'exchange within invariants': pass sensitivity="
    ):
        Laplace(scale=1.0).cost("exchange within invariants")
    with pytest.raises(ValueError, match="relation must be one of"):
        Laplace(scale=1.0).cost("neighbours", sensitivity=1.0)
    with pytest.raises(ValueError, match="no finite privacy cost"):
        Exact().cost(add)


@pytest.mark.parametrize("kind", [Laplace, DiscreteLaplace, Gaussian, DiscreteGaussian])
def test_rows_with_different_noise_have_the_losses_of_their_worst_rows(kind):
    """Composed ten times: never below the losses of any row or pair of rows, and those of the worst up to the grid."""
    add, replace = composition.RELATIONS[:2]
    values, often = [6.0, 2.0, 9.0, 2.5], 10
    rows = kind(**{kind._name: np.array(values)})

    def composed(*parameters):
        return epsilon(Counter([kind(**{kind._name: p}).loss(1.0) for p in parameters] * often), 1e-3)

    for relation, sets in ((add, [(p,) for p in values]), (replace, list(itertools.combinations(values, 2)))):
        found = composition.compose(*[rows.cost(relation)] * often).dp(1e-3)
        assert found.method == "loss distributions"
        largest = max(composed(*one) for one in sets)
        below, above = (1e-9, 1e-9) if kind is not DiscreteGaussian else (1e-9 if relation == add else 1e-3, 0.02)
        assert -below <= found - largest < above  # 1e-3: the losses of two sigmas are themselves an upper bound
        assert found < rows.cost(relation).dp(1e-3) * often
    one = kind(**{kind._name: 2.0})
    if kind is DiscreteGaussian:  # the rows that change are not known
        assert rows.cost(add, changes=(1, 1)).mechanisms is None
        many = kind(**{kind._name: np.linspace(2.0, 5.0, 60)})
        assert many.cost(add).mechanisms is None
    else:
        assert rows.cost(add, changes=(1, 2)).mechanisms == one.cost(add, changes=(1, 2)).mechanisms
        assert rows.cost(add, sensitivity=2).mechanisms == one.cost(add, sensitivity=2).mechanisms
    same, single = kind(**{kind._name: np.array([2.0, 2.0, 2.0])}), kind(**{kind._name: np.array([2.0])})
    assert same.cost(replace).mechanisms == one.cost(replace).mechanisms
    assert single.cost(replace).mechanisms == one.cost(add).mechanisms  # one row: the other count is not released


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_two_rows_with_the_same_smallest_noise_may_both_change(kind):
    """Check two releases of three rows against four changes of a single row, up to the grid of losses."""
    rows, replace = kind(**{kind._name: np.array([2.0, 6.0, 2.0])}), composition.RELATIONS[1]
    twice = epsilon(Counter([kind(**{kind._name: 2.0}).loss(1.0)] * 4), 1e-3)
    assert -1e-9 <= composition.compose(*[rows.cost(replace)] * 2).dp(1e-3) - twice < 0.02


def test_a_table_costs_its_largest_ratio_of_neighbours():
    add, replace = composition.RELATIONS[:2]
    geometric = {"true": [0, 0, 1, 1], "released": [0, 1, 0, 1], "probability": [0.8, 0.2, 0.2, 0.8]}
    assert Perturbation(geometric).cost(add).epsilon == pytest.approx(np.log(4))
    assert Perturbation(geometric).cost(replace).epsilon == pytest.approx(2 * np.log(4))
    with pytest.raises(ValueError, match="no finite epsilon, because a released value is possible for only one"):
        Perturbation(CELL_KEYS).cost(add)
    moving = {"true": [0, 0, 1, 1], "released": [0, 1, 1, 2], "probability": [0.8, 0.2, 0.8, 0.2]}
    with pytest.raises(ValueError, match="no finite epsilon"):
        Perturbation(moving, beyond="shift").cost(add)  # 0 never follows from 2


def test_the_persons_budget_of_the_2020_census_is_what_was_printed_with_it():
    """Check global scale 339/542, shares of rho by level and query: epsilon 17.14 at delta 1e-10 (Redistricting)."""
    replace = composition.RELATIONS[1]
    whole = DiscreteGaussian(sigma=339 / 542).cost(replace).rho
    shares = np.array([0.5, 0.25, 0.15, 0.1])
    queries = [DiscreteGaussian.calibrated(whole * s, l2_squared=2.0) for s in shares]
    assert [law.sigma for law in queries] == pytest.approx(339 / 542 / np.sqrt(shares))
    (total,) = composition.total([law.cost(replace) for law in queries]).values()
    assert total.rho == pytest.approx(whole, rel=1e-14)
    assert total.converted(1e-10) == pytest.approx(17.14, abs=0.005)
    assert 16.464 < total.dp(1e-10) < 16.466  # composed losses; 88 equal ones with the same rho have 16.46479


def test_different_laws_by_row():
    laws = [Laplace(scale=2.0), DiscreteGaussian(sigma=3.0), Laplace(scale=2.0), Exact()]
    law = LawByRow.of(laws)
    assert (len(law.laws), law.row_count, law.discrete) == (3, 4, False)
    released, counts = np.array([1.5, 4, -2.5, 6]), np.arange(9)
    found = law.log_likelihood(released[:, None], counts[None])
    for i, one in enumerate(laws):
        assert np.array_equal(found[i], one.log_likelihood(released[i], counts))
        assert law.variance()[i] == one.variance()
        assert law.halfwidth(4.0)[i] == one.halfwidth(4.0)
        assert [end[i] for end in law.reach(released, 4.0)] == [float(end) for end in one.reach(released[i], 4.0)]
    per_row = np.arange(36).reshape(4, 9)
    assert np.array_equal(law.log_likelihood(released[:, None], per_row)[1], laws[1].log_likelihood(4, per_row[1]))
    assert np.array_equal(law.take(np.array([3, 0])).which, [2, 0])
    draws = law.sample(np.array([5, 5, 5, 5]), rng=stream(1, "laws"))
    assert draws[3] == 5
    assert law.settings()["laws"][0] == {"law": "laplace", "scale": 2.0, "rows": 2}
    with pytest.raises(ValueError, match=r"one value per row \(4 rows\)"):
        law.log_likelihood([1.0], counts)
    with pytest.raises(ValueError, match="do not have a single cost"):
        law.cost(composition.RELATIONS[0])
    with pytest.raises(ValueError, match="scalar parameters, got a distribution with 2 rows"):
        LawByRow([Laplace(scale=np.array([1.0, 2.0]))], [0])


ADD = "add or remove a record"
GOOD = [
    ({"law": "laplace", "scale": 2}, Laplace(scale=2.0)),
    ({"law": "laplace", "epsilon": 1.0}, Laplace(scale=2.0)),
    ({"law": "laplace", "epsilon": 0.5, "sensitivity": 3}, Laplace(scale=6.0)),
    ({"law": "laplace", "epsilon": 0.5, "relation": ADD}, Laplace(scale=2.0)),
    ({"law": "discrete_laplace", "scale": 1.5}, DiscreteLaplace(scale=1.5)),
    ({"law": "discrete_laplace", "epsilon": 4.0}, DiscreteLaplace(scale=0.5)),
    ({"law": "gaussian", "sd": 3.0}, Gaussian(sigma=3.0)),
    ({"law": "gaussian", "variance": 9.0}, Gaussian(sigma=3.0)),
    ({"law": "gaussian", "rho": 0.125, "sensitivity": 1.0}, Gaussian(sigma=2.0)),
    ({"law": "gaussian", "rho": 0.25}, Gaussian(sigma=2.0)),
    ({"law": "discrete_gaussian", "sigma": 5.0}, DiscreteGaussian(sigma=5.0)),
    ({"law": "discrete_gaussian", "variance": 25.0}, DiscreteGaussian(sigma=5.0)),
    ({"law": "discrete_gaussian", "rho": 0.5, "relation": ADD}, DiscreteGaussian(sigma=1.0)),
    ({"law": "exact"}, Exact()),
    ({"law": "gaussian", "sd": np.array([1.0, 2.0])}, Gaussian(sigma=np.array([1.0, 2.0]))),
    ({"law": "discrete_gaussian", "variance": np.array([1.0, 4.0])}, DiscreteGaussian(sigma=np.array([1.0, 2.0]))),
    (
        {"law": "discrete_gaussian", "sigma": 5.0, "clipped": {"at": 0}},
        Coarsened(DiscreteGaussian(sigma=5.0), at=0),
    ),
    (
        {"law": "discrete_laplace", "scale": 5.0, "threshold": 20, "rounded": 5},
        Coarsened(DiscreteLaplace(scale=5.0), least=20, step=5),
    ),
    (
        {"law": "laplace", "scale": 5.0, "rounded": {"step": 0.5, "ties": "up"}},
        Coarsened(Laplace(scale=5.0), step=0.5, ties="up"),
    ),
    ({"law": "exact", "rounded": 5}, Coarsened(Exact(), step=5)),
]


@pytest.mark.parametrize(("words", "law"), GOOD)
def test_words_make_the_law(words, law):
    assert law_of(words) == law


def test_a_law_says_itself_in_words_that_make_it_again():
    for words, law in GOOD:
        if law.row_count is None:
            own = law.settings()
            assert law_of(own) == law, words
    assert Gaussian(sigma=np.array([3.0, 1.0])).settings()["sd"] == {"smallest": 1.0, "largest": 3.0, "rows": 2}


def test_a_table_is_made_from_its_columns():
    table = {"true": [0, 1], "released": [0, 1], "probability": [1.0, 1.0]}
    law = law_of({"law": "table", "table": table, "beyond": "shift"})
    assert isinstance(law, Perturbation)
    assert law.beyond == "shift"


WRONG = [
    ({"scale": 2.0}, "law must be one of laplace, discrete_laplace, gaussian, .* got None$"),
    ({"law": "gausian", "sd": 1}, "did you mean gaussian"),
    ({"law": "normal", "sd": 1}, "did you mean gaussian"),
    ({"law": "discrete-gausian", "sigma": 1}, "did you mean discrete_gaussian"),
    ({"law": "discrete gauss", "sigma": 1}, "did you mean discrete_gaussian"),
    ({"law": "two_sided_geometric", "scale": 1}, "did you mean discrete_laplace"),
    ({"law": "Integer Laplace", "scale": 1}, "did you mean discrete_laplace"),
    ({"law": "Integer Gaussian", "scale": 1}, "did you mean discrete_gaussian"),
    ({"law": "tulap", "scale": 1}, "did you mean discrete_laplace"),
    ({"law": "Laplace", "scale": 1}, "did you mean laplace"),
    ({"law": "discrete_laplce", "scale": 1}, "did you mean discrete_laplace"),
    ({"law": "exakt"}, "did you mean exact"),
    ({"law": "poisson", "mean": 1}, "got 'poisson'$"),
    ({"law": "laplace"}, "laplace requires exactly one of the keys scale, epsilon, got none"),
    ({"law": "laplace", "scale": 1, "epsilon": 1}, "exactly one of the keys scale, epsilon, got scale and epsilon"),
    ({"law": "discrete_gaussian", "sd": 1}, "discrete_gaussian has no parameter sd: set sigma"),
    ({"law": "gaussian", "sigma": 1}, "gaussian has no parameter sigma: set sd or variance"),
    ({"law": "laplace", "variance": 1}, r"laplace has no parameter variance: set scale \(the variance is 2 scale\^2\)"),
    ({"law": "laplace", "scale": 1, "sensitivity": 2}, "sensitivity may be given only together with epsilon"),
    ({"law": "gaussian", "sd": 1, "cliped": {"at": 0}}, "gaussian has no key cliped. .* did you mean clipped"),
    ({"law": "gaussian", "epsilon": 1}, "gaussian has no key epsilon. The allowed keys are sd, variance, rho"),
    ({"law": "laplace", "rho": 1}, "threshold and, together with epsilon, sensitivity or relation$"),
    (
        {"law": "laplace", "epsilon": 1, "foo": 1},
        "are scale, epsilon, sensitivity, relation, rounded, clipped, threshold$",
    ),
    (
        {"law": "gaussian", "rho": 1, "sensitivity": 1, "relation": ADD},
        "sensitivity and relation must not both be given, got sensitivity = ",
    ),
    ({"law": "gaussian", "sd": -1}, "sd must be finite and > 0, got -1"),
    ({"law": "discrete_gaussian", "variance": [1.0, 0.0]}, r"variance must be finite and > 0, got 0.0 \(index 1\)"),
    ({"law": "gaussian", "sd": 1, "clipped": 0}, r"clipped must have the form {at: number}, got 0"),
    ({"law": "gaussian", "sd": 1, "rounded": {"to": 5}}, "rounded must be a number"),
    ({"law": "table"}, "distribution 'table' requires the key 'table'"),
    ({"law": "table", "table": {}, "clipped": {"at": 0}}, "must have the columns"),
    ({"law": "exact", "scale": 1}, "exact has no key scale"),
]


@pytest.mark.parametrize(("words", "told"), WRONG)
def test_a_wrong_word_is_told_what_is_right(words, told):
    with pytest.raises(ValueError, match=told):
        law_of(words)


def test_no_other_familys_law_is_ever_suggested():
    """Check every misspelling of a name by one letter: the suggestion, if any, is the name."""
    for law in LAWS[:4]:
        for i in range(len(law)):
            for wrong in (law[:i] + law[i + 1 :], law[:i] + "x" + law[i:], law.upper()):
                with pytest.raises(ValueError, match="law must be one of") as told:
                    law_of({"law": wrong})
                hint = str(told.value).partition("did you mean ")[2].rstrip("?")
                assert hint in ("", law), wrong


def test_noise_that_is_no_mapping_is_refused():
    with pytest.raises(TypeError, match="noise must be a mapping such as"):
        law_of("laplace")
