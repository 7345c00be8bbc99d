"""Tests of noise with scales from 1 to 1e12: a result confirmed by a formula, or an error with the size."""

import numpy as np
import pytest
from scipy import stats

import dpmultinomial as dpm
from dpmultinomial._posteriors.published import cells, conflict, windows
from dpmultinomial._posteriors.published.cells import cells_of
from dpmultinomial._posteriors.published.priors import Flat, Geometric
from dpmultinomial._seeding import stream

SCALES = 10.0 ** np.arange(13)
LAWS = {
    "Laplace": lambda scale: dpm.Laplace(scale=scale),
    "DiscreteLaplace": lambda scale: dpm.DiscreteLaplace(scale=scale),
    "Gaussian": lambda scale: dpm.Gaussian(sigma=scale),
    "DiscreteGaussian": lambda scale: dpm.DiscreteGaussian(sigma=scale),
}
RELEASED = 12


def mean_of_geometric_sides(y, scale):
    """Return the mean of n >= 0 with weights exp(-|y - n|/scale): finite sums below y, geometric series from y on."""
    n, rate = np.arange(y), 1 / scale
    below = np.exp(-(y - n) * rate)
    mass = -1 / np.expm1(-rate)  # sum over j >= 0 of exp(-j rate)
    above = y * mass + np.exp(-rate) / np.expm1(-rate) ** 2
    return (below @ n + above) / (below.sum() + mass)


@pytest.mark.parametrize("law", LAWS)
def test_one_count_has_the_mean_of_the_formula_or_an_error_with_the_number_of_counts(law):
    """Check that the means are those of truncated normal distributions: a relative difference below 1/scale."""
    answered = 0
    for scale in SCALES:
        release = dpm.Release({"a": RELEASED}, mechanism=LAWS[law](scale))
        message, found = "", np.nan
        try:
            found = dpm.posterior(release, prior="flat").summary()["mean"].iloc[0]
        except ValueError as error:
            message = str(error)
        if message:
            assert scale >= 1e6
            assert "a: the released value 12 is invalid: its noise is too wide" in message
            size = float(message.partition("too wide: ")[2].partition(" true counts")[0])
            assert size >= windows.WIDEST
            assert 8 * scale < size < 100 * scale  # 40 units of the exponent, or 9 standard deviations
            continue
        answered += 1
        if "Laplace" in law:
            assert found == pytest.approx(mean_of_geometric_sides(RELEASED, scale), rel=1e-9)
        else:
            reference = stats.truncnorm.mean((-0.5 - RELEASED) / scale, np.inf, loc=RELEASED, scale=scale)
            assert found == pytest.approx(reference, rel=0.1 / scale)
    assert answered >= 6


def test_windows_at_the_limit_are_answered_and_wider_ones_are_not(monkeypatch):
    monkeypatch.setattr(windows, "WIDEST", 500)
    law = dpm.DiscreteLaplace(scale=5.0)
    reach = windows.spans(cells_of([1000], law), Flat(), 40.0)
    width = int(reach[1][0] - reach[0][0]) + 1
    for limit, reason in ((width, ""), (width - 1, f"{width} true counts are possible, and at most {width - 1}")):
        monkeypatch.setattr(windows, "WIDEST", limit)
        found = windows.answers(cells_of([1000], law), Flat(), 0.9)
        assert reason in found.reasons[0]
        assert (found.reasons[0] == "") == (reason == "")


def rows(size, rng):
    scales = rng.choice([2.0, 3.5], size)
    law = dpm.DiscreteLaplace(scale=scales)
    released = rng.integers(-5, 30, size).astype(float)
    released[rng.random(size) < 0.05] = np.nan
    return cells_of(released, law, lower=rng.choice([0.0, 2.0], size), upper=rng.choice([40.0, 50.0], size))


def test_equal_rows_have_the_same_answer_as_each_row_alone():
    """Check that equal rows are computed once, with bit-identical results, and with the reason of an invalid row."""
    noisy = rows(3 * windows.MANY, stream(1, "kinds"))
    noisy = noisy.with_reason(np.arange(len(noisy)) % 97 == 0, "stated reason")
    kinds = noisy.kinds[0]
    assert len(kinds) < len(noisy) / 2
    for prior in (Flat(), Geometric(7.0)):
        found = windows.answers(noisy, prior, 0.9)
        alone = [windows.answers(noisy.take(np.array([i])), prior, 0.9) for i in range(0, len(noisy), 61)]
        for name in ("mean", "sd", "lower", "upper", "error"):
            single = [getattr(one, name)[0] for one in alone]
            np.testing.assert_array_equal(getattr(found, name)[::61], single)
        assert found.reasons[::61].tolist() == [one.reasons[0] for one in alone]
        tails = conflict.tails(noisy, prior)
        single = [conflict.tails(noisy.take(np.array([i])), prior)[0] for i in range(0, len(noisy), 61)]
        np.testing.assert_allclose(tails[::61], single, rtol=1e-12)


def test_kinds_are_the_distinct_rows_in_order():
    """Compare with sorted tuples; fractions and integers use different methods."""
    rng = stream(2, "kinds")
    whole = rows(2000, rng)
    for released in (whole.released, whole.released / 7, np.array([1e15, 3.0, np.nan, np.nan, 1e15] * 400)):
        noisy = cells.Cells(released, whole.noise, whole.lower, whole.upper, whole.measured, whole.reasons)
        columns = zip(released, whole.lower, whole.upper, whole.measured, noisy.noise.parameter, strict=True)
        keys = [(np.isnan(r), 0.0 if np.isnan(r) else r, *rest) for r, *rest in columns]
        order = sorted(set(keys))
        kinds, which = noisy.kinds
        assert [keys[i] for i in kinds] == order
        assert [order[k] for k in which] == keys
        assert all(keys.index(order[k]) == kinds[k] for k in range(0, len(order), 50))
