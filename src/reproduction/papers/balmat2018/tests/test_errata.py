"""Check the claims of the errata against sums over all compositions, recorded draws, and exact integer arithmetic."""

import re
import subprocess
from math import factorial, lgamma, log

import numpy as np
import pytest

from dpmultinomial._posteriors.counts import laplace_multinomial
from dpmultinomial._seeding import stream
from reproduction import evidence
from reproduction.papers.balmat2018 import errata
from reproduction.papers.balmat2018.algorithms import composition_tables


def said(number, size=20, rng=None):
    return evidence.show(errata.ERRATA, number, rng=rng or stream(8, "errata", number), size=size)


def numbers(pattern, text):
    return [float(n) for n in re.search(pattern.replace("#", r"(-?[\d.]+(?:e[+-]?\d+)?)"), text).groups()]


def compositions(total):
    return [(a, b, total - a - b) for a in range(total + 1) for b in range(total + 1 - a)]


class Recording:
    """Random number generator that records the arguments with which it is called."""

    def __init__(self, rng):
        self.rng, self.asked = rng, []

    def __getattr__(self, name):
        def call(*given):
            self.asked.append((name, *given))
            return getattr(self.rng, name)(*given)

        return call


def test_draws_that_start_from_the_confidential_counts():
    """Check the probability that a category with the count 1, among the counts (10, 39, 1), is never drawn in n = 4,000
    x 50 draws. The share q of this category is Beta(1, 49), so E (1 - q)^n = 49/(49 + n).
    """
    rng = Recording(stream(3, "start"))
    text = said(3, rng=rng)
    assert rng.asked == [("beta", 1, 49, 2_000_000)]
    expected, simulated = numbers(
        r"At the neighbouring counts \(10, 39, 1\), this probability is # \(simulated #\)", text
    )
    wanted = 49 / (49 + 200_000)
    assert expected == pytest.approx(wanted, rel=2e-3)
    # E (1 - q)^2n = 49/(49 + 2n): four standard errors of the mean, plus half a unit of the printed digit
    assert simulated == pytest.approx(wanted, abs=4 * (49 / 400_049 / 2_000_000) ** 0.5 + 5e-6)


def test_p_that_does_not_move():
    """Check that p takes a single value in all n iterations of a chain that follows the code listing as written. The
    chain contains n distinct values of p if p is carried over. The modes of the listing vary between runs, and those of
    the posterior do not.

    The mode 0.109 is that of the paper's Figure 1, computed by another program.
    """
    text = said(1, 12)
    assert "Of 12 iterations, the number with a distinct p at the start is 1 as written and 12 if p is" in text
    *modes, truth = numbers(r"as written are #, #, #, #, #, whereas the posterior mode is (0\.\d{3})\.", text)
    assert truth == 0.109
    assert max(modes) - min(modes) > 0.05


def test_draws_that_do_not_see_the_release():
    """Compare the draws of a listing in the paper for two different releases, using the same random stream. The draws
    are equal if the lines are as printed, and different if the lines are joined.
    """
    printed, joined = numbers("equal draws is # % as printed and # % with the lines joined", said(2, 400))
    assert printed == 100
    assert joined < 20


def test_chains_without_alpha_end_at_a_vertex():
    text = said(4, 300)
    assert text.startswith("Without alpha, ")
    assert "within 600 iterations." in text
    found = re.findall(r"(\d+) of 8 chains at \((\d+), (\d+), 5\)", text)
    assert [tuple(map(int, place)) for _, *place in found] == [(5, 40), (15, 30)]
    assert any(int(trapped) > 0 for trapped, *_ in found)
    assert text.endswith("with alpha is 0.")


def test_scales_of_text_and_listings():
    """Check that Laplace noise of scale b has variance 2 b^2 and a privacy cost of 2/b for counts that change by two in
    total.
    """
    assert said(5) == (
        "For epsilon = 1, the scale is 1 (variance 2) in the text and 2 (variance 8) in the listings. If one "
        "partition moves to another category, two counts change. Therefore, the privacy cost is 2 for the scale in "
        "the text and 1 for the scale in the listings."
    )


def test_small_totals_and_zero_counts():
    assert said(7).startswith(
        "The sequence 2:M counts down at M = 1 and at M = 0. The table of this project is [1.0] for M = 0 and "
        "[1.0, 1.0, 1.0] for M = 1."
    )
    assert said(8).startswith(
        "For S = 0 and p = 0, the formula exp(0 log 0) gives nan, although the probability is 1. This project computes "
        "1."
    )


def test_rows_that_underflow(monkeypatch):
    """Check that rows of the table underflow if the factor exp(sum s log p) is below 2.3e-308. The product of the
    coefficient and this factor does not underflow.
    """
    asked, right = [], composition_tables.fewest_digits
    monkeypatch.setattr(composition_tables, "fewest_digits", lambda *given: (asked.append(given[3]), right(*given))[1])
    text = said(9)
    assert np.array([p.sum() for p in asked]) == pytest.approx(np.ones(2), abs=1e-12)
    lost = []
    for total, p1 in ((50, 1e-8), (200, 1e-2)):
        logs = [log(p1), log((1 - p1) / 2), log((1 - p1) / 2)]
        count = 0
        for s in compositions(total):
            power = sum(x * q for x, q in zip(s, logs, strict=True))
            whole = power + lgamma(total + 1) - sum(lgamma(x + 1) for x in s)
            count += power < log(2.3e-308) < whole
        lost.append(count)
    found = re.findall(r"M = (\d+) and p1 = ([\d.e-]+), exp\(.\) is 0 or subnormal in (\d+) rows", text)
    assert [(int(m), float(p1), int(n)) for m, p1, n in found] == [(50, 1e-8, lost[0]), (200, 0.01, lost[1])]


def test_the_last_total_without_overflow():
    """Check that the largest multinomial coefficient of three categories is below 2^1024 up to M = 652. For equal
    counts s, this coefficient is M!/(s!)^3. The recurrence of the table does not overflow up to M = 647.
    """

    def largest(m):
        return factorial(m) // (factorial(m // 3) * factorial((m + 1) // 3) * factorial((m + 2) // 3))

    assert largest(652) < 2**1024 <= largest(653)
    text = said(10)
    assert text.startswith("At M = 647, all coefficients are finite. At M = 648, the table raises the error ")
    assert text.endswith("can be represented in float64 up to M = 652.")


def test_what_the_listings_return():
    """Check that the first of the two listings returns p1/(p1 + p0) and the second listing returns p1, if both use the
    same chain.
    """
    p = laplace_multinomial.gibbs(
        (5, 40, 5), total=50, scale=2.0, alpha=1.0, draws=30, burn_in=100, rng=stream(8, "errata", 12)
    )
    ratio = np.mean([p1 / (p1 + p0) for p1, p0, _ in p])
    assert said(12, 30).endswith(f"the mean of r is {ratio:.3f}, and the mean of p1 is {np.mean(p[:, 0]):.3f}.")


def test_equation_3_is_not_the_joint_law():
    """Check the mean of r = p1/(p1 + p0) under the model against a sum over all compositions. In this sum, S has a flat
    prior, and r given S has the distribution Beta(1 + S1, 1 + S0).
    """
    rows = np.array(compositions(50))
    weights = np.exp(-np.abs(rows - [5, 40, 5]).sum(axis=1) / 2)
    model = np.average((1 + rows[:, 0]) / (2 + rows[:, 0] + rows[:, 1]), weights=weights)
    under, again, quadrature, mixture = numbers(
        r"mean of r is # under \(3\) \(# by simulation\) and # under the model \(# by", said(13, 40)
    )
    assert (under, quadrature, mixture) == pytest.approx((0.5, model, model), abs=6e-5)
    # 800 draws of r, whose sd is slightly above 0.29: four standard errors
    assert again == pytest.approx(0.5, abs=0.06)


def test_r_that_fails_is_no_evidence(monkeypatch, tmp_path):
    """Check that an error is raised if Rscript prints text and fails. In addition, check that the output is quoted if
    Rscript succeeds.
    """
    script = tmp_path / "Rscript"
    monkeypatch.setattr(errata.shutil, "which", lambda _: str(script))
    for code in (0, 3):
        script.write_text(f"#!/bin/sh\necho five\nexit {code}\n")
        script.chmod(0o755)
        shown = errata._also_in_r(lambda rng, runs: "Python says: 5.", "2 + 3")
        if code:
            with pytest.raises(subprocess.CalledProcessError):
                shown(None, 1)
        else:
            assert shown(None, 1) == "Python says: 5. Output of R: five"


def test_absorbed_chains_are_those_of_the_counts_that_are_named(monkeypatch):
    asked, right = {}, errata.laws.trapped

    def recorded(*, settings, **rest):
        asked.update(settings)
        return right(settings=settings, **rest)

    monkeypatch.setattr(errata.laws, "trapped", recorded)
    errata._absorbed(stream(1, "absorbed"), 20)
    assert {name: str(tuple(counts)) for name, counts in asked.items()} == {name: name for name in asked}
    assert len(asked) == 2
