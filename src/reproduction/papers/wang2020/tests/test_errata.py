"""Check the claims of the errata against formulas for the noise, against loops in Python, and against the paper's
tables.
"""

import re
from fractions import Fraction
from math import exp
from pathlib import Path

import numpy as np
import pytest

from dpmultinomial._mechanisms.laplace import TwoSidedGeometric
from dpmultinomial._seeding import stream
from reproduction import evidence
from reproduction.papers.wang2020 import errata, examples, literal
from reproduction.verdicts import agreement

A = exp(-1)
VARIANCE = 2 * A / (1 - A) ** 2  # variance of the two-sided geometric noise at epsilon = 1: 1.8413
PUBLISHED = agreement.read_published(Path(__file__).parents[1] / "published.tsv").set_index(["artefact", "quantity"])
RUNS = 10_000  # number of runs of every printed moment


def said(number, size=40):
    return evidence.show(errata.ERRATA, number, rng=stream(3, "errata"), size=size)


def numbers(pattern, text):
    return [float(n) for n in re.search(pattern, text).groups()]


def printed(table, algorithm, representative):
    """Return the mean and the variance that are printed in the paper, with a tolerance for each number. The tolerance
    is four standard errors plus half a unit of the last digit.
    """
    mean, variance = (PUBLISHED.loc[table, f"{algorithm}, {representative}: {what}"] for what in ("mean", "variance"))
    round_off = [0.5 * 10 ** -cell["digits"] for cell in (mean, variance)]
    spread = variance["value"]  # for a variance, the fourth moment is at most 12 times its square
    errors = 4 * np.sqrt([spread / RUNS, 12 * spread**2 / RUNS])
    return [cell["value"] for cell in (mean, variance)], errors + round_off


def test_draws_above_zero_or_not():
    """Check the mean of the released value of a component with the count 1, among fifty components with the sum 863.
    The count gets noise, is replaced by a draw of at least 1 or at least 0, and becomes a share of a noisy total.

    If the centre is below the smallest value, the draw exceeds this value by a geometric number, wherever the centre
    is.
    """
    rng = stream(4, "positive")
    noise = TwoSidedGeometric(epsilon=1.0, support=50)
    for least, found in zip((1, 0), numbers(r"is ([\d.]+) with draws > 0 and ([\d.]+) with", said(1)), strict=True):
        counts = np.broadcast_to(np.sort(examples.example_2()), (20_000, 50))
        noisy = noise.sample(counts, rng=rng)
        drawn = noise.sample(np.maximum(noisy, least), rng=rng)
        below = noisy < least
        drawn[below] = least + rng.geometric(1 - A, below.sum()) - 1
        while (drawn < least).any():
            again = np.nonzero(drawn < least)
            drawn[again] = noise.sample(noisy[again], rng=rng)
        shares = 863.0 * drawn[:, 0] / drawn.sum(axis=1)  # the noise of the total has mean 0 and does not reach 0
        assert found == pytest.approx(shares.mean(), abs=4 * shares.std() / 20_000**0.5 + 5e-4)


def test_windows():
    """Check the ten largest probabilities of pairs of counts against the quadruple sum of section 3.2, truncated to
    windows (ranges) of +-9, +-10 and +-11.
    """
    text = said(2)
    for window in (9, 10, 11):
        top = np.sort(literal.pair_table([250, 357], epsilon=1.0, window=window).ravel())[:-11:-1]
        assert f"windows of +-{window}, they are {' '.join(f'{p:.4f}' for p in top)}." in text
    assert [f"{w}, they are 0.0" in text for w in ("+-30", "Without a window")] == [True, True]
    first, whole = numbers(r"\+-30, they are ([\d.]+) .* Without a window, they are ([\d.]+)", text)
    assert 0.98 < whole / first < 1  # a window neglects the small probability beyond it


def test_captions():
    """Check the first of the ten probabilities printed in Tables 4 and 5. Table 4 was computed with smaller windows,
    and Table 5 was not.
    """
    text = said(3)
    third = PUBLISHED.loc[("table_5", "row 1: probability")]
    assert round(numbers(r"and ([\d.]+) for algorithm 3", text)[0], int(third["digits"])) == third["value"]
    assert numbers(r"is ([\d.]+) for algorithm 2", text)[0] == pytest.approx(
        np.sort(literal.pair_table([250, 357], epsilon=1.0, window=11).ravel())[-1], rel=0.5
    )


def test_the_total_has_the_noise_of_one_count():
    text = said(4, 20_000)
    mean, variance = numbers(r"mean ([\d.]+) \(N = 863\) and the variance (\d\.\d+)\.", text)
    assert mean == pytest.approx(863, abs=4 * (VARIANCE / 20_000) ** 0.5 + 0.005)
    assert variance == pytest.approx(VARIANCE, rel=4 * (6 / 20_000) ** 0.5)  # the excess kurtosis is 3 + 1/variance < 4


def test_sums_of_noises():
    """Check that the variance of a sum of noise terms is the sum of their variances. Noise with probabilities
    proportional to the squared probabilities for epsilon = 1 has the variance for epsilon = 2.
    """
    b = exp(-2)
    squared = 50 * 2 * b / (1 - b) ** 2
    text = said(5)
    assert f"is {3 * VARIANCE:.2f} for 3 components and {50 * VARIANCE:.2f} for 50 components. If the draws" in text
    assert text.endswith(f"re-weighted by their own probability, the variance for 50 components is {squared:.2f}.")


def test_a_component_of_weight_zero():
    """Check that a component with weight zero has the value 0 in the mode. For the weights (1, 0, 3), the two largest
    quotients among 1/1, 1/2, 3/1, 3/2, .. are 3 and 3/2, so the third component gets both units.
    """
    assert "the mode [0, 0, 2] for the weights [1, 0, 3] and the total 2." in said(6)


def modes_by_fractions(total, weights):
    """Return two modes of a multinomial distribution, computed in exact rational arithmetic. In the first mode, the
    first component wins ties, and in the second mode, the last component wins ties.
    """
    quotients = sorted((Fraction(int(w), k), -i) for i, w in enumerate(weights) for k in range(1, int(w) + 50))[::-1]
    least = quotients[total - 1][0]
    tied = sorted(-i for q, i in quotients if q == least)
    sure = [-i for q, i in quotients if q > least]
    found = []
    for chosen in (tied, tied[::-1]):
        k = np.bincount(sure, minlength=len(weights))
        for i in chosen[: total - len(sure)]:
            k[i] += 1
        found.append(k)
    return found


def test_ties():
    """Compare the exact modes of ten releases with the modes by Theorem 1 as printed in the paper. The exact modes are
    computed with fractions, and the modes by Theorem 1 are computed in floating point. Both computations use the same
    noise.
    """
    counts, rng = examples.example_2(), stream(3, "errata")
    noise = TwoSidedGeometric(epsilon=1.0, support=50)
    noisy = np.maximum(noise.sample(np.broadcast_to(counts, (10, 50)), rng=rng), 0)
    totals = noise.sample(np.full(10, 863), rng=rng)
    exact = [modes_by_fractions(m, x) for m, x in zip(totals, noisy, strict=True)]
    doubles = [literal.theorem_1(m, (x / x.sum()).tolist()) for m, x in zip(totals, noisy, strict=True)]
    several = np.mean([(first != last).any() for first, last in exact])
    same = np.mean([(first == other).all() for (first, _), other in zip(exact, doubles, strict=True)])
    smallest = int(np.argmin(counts))
    ones = [first[smallest] for first, _ in exact], [last[smallest] for _, last in exact]
    means = ", ".join(f"{np.mean(k):.2f} ({n})" for n, k in zip(("first", "last"), ones, strict=True))
    text = said(7, 10)
    assert text.startswith(f"In {100 * several:.1f} % of 10 releases, the mode is not unique. In {100 * same:.1f} % of")
    assert f"{means}, {np.mean([k[smallest] for k in doubles]):.2f} (ieee)" in text


@pytest.mark.parametrize(
    ("number", "table", "name", "place", "pattern"),
    [
        (8, "table_1", "Algorithm 1 (ind)", "N_min", r"([\d.]+) and ([\d.]+) for algorithm 1-independent"),
        (8, "table_1", "Algorithm 2", "N_min", r"([\d.]+) and ([\d.]+) for algorithm 2"),
        (8, "table_1", "Algorithm 3", "N_min", r"([\d.]+) and ([\d.]+) for algorithm 3 \(simulated\)\.$"),
        (13, "table_3", "Algorithm 1 (ind)", "N_max", r"is ([\d.]+) for algorithm 1-independent"),
        (13, "table_3", "Algorithm 2", "N_max", r"and ([\d.]+) for algorithm 2"),
        (13, "table_3", "Algorithm 3", "N_max", r"the mean is ([\d.]+) and the variance is ([\d.]+) in"),
    ],
)
def test_moments_are_those_that_the_paper_prints(number, table, name, place, pattern):
    found = numbers(pattern, said(number, RUNS))
    for ours, theirs, error in zip(found, *printed(table, name, place), strict=False):
        assert ours == pytest.approx(theirs, abs=error * (2**0.5 if name == "Algorithm 3" else 1))


def test_simulated_variances_are_unbiased():
    """Check that variances are estimated from simulated releases without bias, with the divisor n - 1 for n releases.
    Two releases a and b have the mean (a + b)/2 and the unbiased variance (a - b)^2/2.
    """
    for number, pattern in (
        (8, r"([\d.]+) and ([\d.]+) for algorithm 3"),
        (13, r"the mean is ([\d.]+) and the variance is ([\d.]+) in 2 runs"),
    ):
        found = set()
        for seed in range(4):
            text = evidence.show(errata.ERRATA, number, rng=stream(seed, "two"), size=2)
            mean, variance = numbers(pattern, text)
            gap = (2 * variance) ** 0.5  # an integer with the parity of 2 mean
            assert gap == pytest.approx(round(gap), abs=0.02)
            assert (round(gap) + round(2 * mean)) % 2 == 0
            found.add(round(gap))
        assert found != {0}


def test_states_and_quartiles():
    """Check the numbers of states and seats in the data of Example 2. The data contain 49 states with 428 of the 435
    seats after the census of 2010. Alabama's 7 seats are missing. Seven states have 1 seat, five have 2, and three have
    3.

    The default quantile of R, at 1 + 49/4 = 13.25, is a 3; type 3 uses the 12th of fifty counts, a 2.
    """
    text = said(9)
    assert text.startswith(
        "The data contain 49 states with 428 seats, and the national total 435. The states with seven seats are "
        "Colorado and South Carolina, whereas Alabama is missing."
    )
    assert text.endswith("quartile is 3 with the default quantile type of R and 2 with type 3.")
    assert 435 - 428 == 7


def test_alpha_and_what_a_release_costs():
    """Check that the delta of an additive release at epsilon = 1 is (1 + a)^-2 (1 - 1/e), with a = 1/e. Each of the two
    shifts has a privacy loss of 1 with probability 1/(1 + a), and of -1 otherwise.

    At epsilon = 2, only the ends of the support remain: 2 P(50) of the truncated distribution.
    """
    assert "P(0)/P(1) = 2.7183 = exp(1)" in said(10)
    ends = 2 * (1 - A) / (1 + A) * A**50
    text = said(11)
    assert f"epsilon = 1 requires delta = {(1 - A) / (1 + A) ** 2:.3f}. For epsilon = 2, delta = {ends:.1e} is" in text


def test_weights_that_are_all_zero():
    """Check the means of the released counts if the total is 0. The mean released total is E max(noise, 0) = a/(1 -
    a^2), and each component has half of this mean.
    """
    found = np.array(numbers(r"means are \[([\d.]+), ([\d.]+)\]", said(12, 20_000)))
    assert found == pytest.approx(A / (1 - A**2) / 2, abs=4 * (VARIANCE / 20_000) ** 0.5)


def test_the_largest_count_and_its_noise():
    text = said(13)
    assert text.startswith("In Example 2, the largest count is N_max = 435. Its exact mean is")
    assert text.endswith(f"in 40 runs. The standard deviation of the noise is {VARIANCE**0.5:.2f}.")


def test_spreads_of_the_posteriors():
    """Check the posterior standard deviations of the total N and of the count N1 under each algorithm. For N,
    algorithms 2 and 3 add one noise term, and algorithm 1 (ind) adds two. For N1, the variance is the sum of the
    variance of a binomial share of 607 and of the noise.

    Given N, the variance of the share is n p q = 607 x 250 x 357/607^2 = 147.0. The noise of the total adds p^2 times
    its variance, and the noise of the two counts q^2 + p^2 times its variance. For algorithm 3, the noise of the counts
    and rounding remain.
    """
    text = said(14)
    p, q = 250 / 607, 357 / 607
    one, two, three = (numbers(rf"{name}: ([\d.]+) and (\d+\.\d+)", text) for name in ("1-independent", "2", "3"))
    assert (one[1], two[1], three[1]) == pytest.approx(((2 * VARIANCE) ** 0.5, VARIANCE**0.5, VARIANCE**0.5), abs=0.01)
    assert two[0] == pytest.approx((607 * p * q + (p**2 + q**2) * VARIANCE) ** 0.5, rel=0.01)
    assert one[0] ** 2 - two[0] ** 2 == pytest.approx((p**2 + q**2) * VARIANCE, abs=0.7)
    assert 0.5 * VARIANCE**0.5 < three[0] < VARIANCE**0.5
    between = numbers(r"1-summed: ([\d.]+) and ([\d.]+)", text)[1]
    assert VARIANCE**0.5 < between < (2 * VARIANCE) ** 0.5
