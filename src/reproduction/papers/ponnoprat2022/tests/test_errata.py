"""Test the claims of the errata against numbers that are computed by other methods."""

import re

import numpy as np
import pytest
from scipy.special import polygamma

from dpmultinomial._seeding import stream
from reproduction import evidence
from reproduction.papers.ponnoprat2022 import errata, experiment

COUNTS = np.array([119, 74, 618, 272, 13, 187])
DELTA = 1e-5


def said(number):
    return evidence.show(errata.ERRATA, number, rng=stream(1, "errata"), size=40)


def guarantee(r, order, squared):
    """Return the privacy cost by Theorem 1, including the offset of equation 14."""
    bound = order * r**2 * squared / 2 * polygamma(1, 1 + 3 * (order - 1) * r)
    return bound + np.log(order - 1) - (np.log(DELTA) + order * np.log(order)) / (order - 1)


def test_the_pair_of_figure_3():
    """Check the Rényi divergences of the two pairs of histograms in Figure 3 against multiprecision values. The pairs
    contain (11, 8, 65, 25, 38, 1) with 148 records and (11, 7, 65, 25, 38, 0) with 146 records.
    """
    words = (
        "148 and 146 records. At r = 1, D_2 is 0.2398 for the pair in the text and 0.3032 for the pair in the figure."
    )
    assert words in said(1)


def test_the_slip_of_figure_3():
    """Check the KL divergence in Figure 3 against an independent calculation. The offset of equation 14 is also checked
    at order 2. The offset is -log(delta) - 2 log 2 = 10.1266.
    """
    text = said(2)
    assert "gives r = 6.43 and the KL divergence 7.374e-04." in text
    assert "smallest epsilon_hat of equation 14 is 10.1266." in text
    r = 6.43  # two decimals: the cost is accurate to 0.02
    cost = float(re.search(r"release has a privacy cost of (\d+\.\d+)\.", text)[1])
    assert cost == pytest.approx(guarantee(r, 2, 2.0), abs=0.02)


def test_the_quadrature_of_figure_2():
    """Check that a quadrature rule of degree 301 agrees with the exact value for Figure 2. In addition, check that
    delta(gamma) = 1e-5 at the printed k = 171.87 and alpha = 4.88.
    """
    text = said(3)
    assert float(re.search(r"degree 301 gives ([\d.]+)", text)[1]) == pytest.approx(1.0, abs=2e-6)
    gamma = float(re.search(r"at gamma = (\d\.\d+e-\d+)\.$", text.strip())[1])
    assert gamma == pytest.approx(1.287e-3, abs=5e-7)


def test_the_sensitivity_of_figure_8():
    printed, needed = (f"{guarantee(10.0, 10, s):.3f}" for s in (1.0, 2.0))
    words = (
        f"{printed} with squared sensitivity 1, as printed, and {needed} with squared sensitivity 2, as the experiments"
    )
    assert words in said(4)


def test_theorem_2_for_small_alpha():
    """Check the erratum on Theorem 2: for beta = 200/(exp(0.15) - 1) = 1235.8, the divergence exceeds eta in all 40
    draws, although the theorem bounds the probability of this event by 0.0072.
    """
    text = said(5)
    assert "beta = 1236, the divergence exceeds eta in 40 of 40 draws, although" in text
    assert text.endswith("is 0.0072.")


def test_what_the_wrong_alpha_and_the_wrong_scales_cost():
    """Check the exact privacy cost of the Dirichlet mechanism with the published alpha, and the exact costs of Laplace
    noise with three scales. The scale for a change of one cell by 1 costs twice the target, and the scale for a change
    of two cells by 1 costs exactly the target.
    """
    assert float(re.search(r"exact privacy cost is ([\d.]+)", said(6))[1]) == pytest.approx(3.33, abs=0.005)
    costs = [float(cost) for cost in re.findall(r"exact cost is (\d\.\d+)", said(7))]
    assert costs[0] == 0.2
    assert costs[1] < 0.1
    assert costs[2] == 0.1


def test_the_bias_that_no_budget_lowers():
    """Check the KL divergence of a release by the Dirichlet mechanism in the limit of a large parameter r. For the
    counts f of six cells with the total N and c pseudo-records per cell, the limit is (f + c)/(N + 6 c). The number of
    pseudo-records per cell is c = 4 (order - 1).
    """
    text, p = said(8), COUNTS / COUNTS.sum()
    for order in (2, 20, 200):
        c = 4 * (order - 1)
        loss = np.sum(p * np.log(p / ((COUNTS + c) / (COUNTS.sum() + 6 * c))))
        found = float(re.search(rf"([\d.]+) \({c} pseudo-records", text)[1])
        assert found == pytest.approx(loss, abs=2e-4)


def test_the_introduction():
    """Check the KL divergence in the introduction, 0.1 log(0.1/0.001) + 0.9 log(0.9/0.862) = 0.4993. Normalising the
    sum 0.863 changes this value by log 0.863.
    """
    plain = 0.1 * np.log(100) + 0.9 * np.log(0.9 / 0.862)
    text = said(9)
    assert f"is {plain:.4f}. After normalisation of p + z2, the divergence is {plain + np.log(0.863):.4f}." in text


def test_laplace_and_gaussian_of_appendix_c():
    """Check the standard deviations of the noise that the erratum on Appendix C states. They follow from the Laplace
    scale 20 sqrt(log(5e4)/log(1e5)), multiplied by sqrt(2), and from the Gaussian 10 sqrt(2 log(1.25 28e5) 2).
    """
    laplace, gaussian = 20 * np.sqrt(2 * np.log(5e4) / np.log(1e5)), 10 * np.sqrt(4 * np.log(1.25 * 28 / DELTA))
    text = said(18)
    assert f"of the Laplace noise and of the Gaussian noise are {laplace:.1f} and {gaussian:.1f}." in text
    for target in (1.0, 100.0):
        asked = {"delta": DELTA, "releases": 14}
        first = np.sqrt(2) * experiment.laplace_for_dp(target, **asked)
        second = experiment.gaussian_for_dp(target, **asked)
        assert f"{first:.2f} and {second:.2f} for epsilon_hat = {target:g}" in text
