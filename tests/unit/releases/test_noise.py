"""Tests of exact noise: distribution by chi-squared, cost by the closed form, no dependence on process state."""

import numpy as np
import pytest
from scipy import stats

from dpmultinomial._releases import _noise


def pmf(kind, scale, reach):
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(k) / scale) if kind == "laplace" else np.exp(-(k**2) / (2 * scale**2))
    return weights / weights.sum()


# The draws cannot be seeded, so every run draws anew: a threshold of 1e-9 a case is its false-alarm rate.
@pytest.mark.parametrize(
    ("kind", "scale"), [("laplace", 0.4), ("laplace", 2.0), ("laplace", 7.3), ("gaussian", 0.6), ("gaussian", 4.0)]
)
def test_law(kind, scale):
    size, reach = 40_000, 300
    draw = _noise.discrete_laplace if kind == "laplace" else _noise.discrete_gaussian
    found = draw(np.full(size, 11, dtype=np.int64), scale=scale) - 11
    expected = size * pmf(kind, scale, reach)
    kept = np.flatnonzero(expected >= 8)
    inner = slice(kept[0], kept[-1] + 1)
    counts = np.bincount(found + reach, minlength=2 * reach + 1)
    observed = [counts[: kept[0]].sum(), *counts[inner], counts[kept[-1] + 1 :].sum()]
    wanted = np.array([expected[: kept[0]].sum(), *expected[inner], expected[kept[-1] + 1 :].sum()])
    chi2 = float(((np.array(observed) - wanted) ** 2 / np.maximum(wanted, 1e-9)).sum())
    assert stats.chi2.sf(chi2, len(wanted) - 1) > 1e-9


def test_costs_are_the_closed_forms_rounded_upwards():
    for epsilon in (1e-9, 0.01, 0.1, 0.3, 1.0, 7.0, 1000.0):
        for sensitivity in (1, 2, 5):
            scale = _noise.laplace_scale(epsilon, sensitivity=sensitivity)
            assert scale == pytest.approx(sensitivity / epsilon, rel=1e-14)
            assert scale >= sensitivity / epsilon
            stated = _noise.laplace_epsilon(scale, sensitivity=sensitivity)
            assert epsilon * (1 - 1e-14) <= stated <= epsilon
            scale = _noise.gaussian_scale(epsilon, l2_squared=sensitivity)
            assert scale == pytest.approx((sensitivity / (2 * epsilon)) ** 0.5, rel=1e-14)
            assert epsilon * (1 - 1e-13) <= _noise.gaussian_rho(scale, l2_squared=sensitivity) <= epsilon
            assert _noise.gaussian_rho(scale, l2_squared=sensitivity) >= sensitivity / (2 * scale**2)


def test_nothing_that_can_be_seeded_repeats_it():
    values = np.zeros(64, dtype=np.int64)
    drawn = []
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002
        streams = _noise.private_stream().integers(0, 2**63, 4)
        drawn.append((*_noise.discrete_laplace(values, scale=1e6), *streams))
    # equal by chance in one of 68 places: below 68/1e6
    assert not any(a == b for a, b in zip(*drawn, strict=True))


def test_the_stream_is_chacha20_under_a_key_of_256_bits():
    state = _noise.private_stream().bit_generator.state
    assert state["bit_generator"].endswith("ChaCha")
    assert state["state"]["rounds"] == 20
    assert sum(int(w != 0) for w in np.asarray(state["state"]["keysetup"]).ravel()[:8]) >= 7  # one word 0: 2^-29


def test_the_generator_is_the_cipher():
    # the first 8 bytes of the keystream under the zero key and nonce (RFC 8439, appendix A.1, test vector 1)
    randomgen = pytest.importorskip("randomgen")
    assert int(randomgen.ChaCha(key=0, rounds=20).random_raw()).to_bytes(8, "little").hex() == "76b8e0ada0f13d90"


def test_extremes():
    big = np.array([2**53, -(2**53)])
    assert np.abs(_noise.discrete_laplace(big, scale=0.01) - big).max() <= 1  # P(|k| > 1) = 2 exp(-200)
    assert _noise.discrete_laplace(np.zeros(0, dtype=np.int64), scale=1.0).shape == (0,)
    assert np.abs(_noise.discrete_laplace(np.zeros(9, dtype=np.int64), scale=2.0**40)).max() > 2**30


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (np.zeros(3), 1.0),
        (np.zeros((2, 2), dtype=np.int64), 1.0),
        (np.array([2**53 + 1]), 1.0),
        (np.array([-(2**63)]), 1.0),
        (np.zeros(3, dtype=np.int64), 0.0),
        (np.zeros(3, dtype=np.int64), float("nan")),
        (np.zeros(3, dtype=np.int64), 2.0**41),
        (np.zeros(3, dtype=np.int64), "1"),
    ],
)
@pytest.mark.parametrize("draw", [_noise.discrete_laplace, _noise.discrete_gaussian])
def test_bad_input_is_refused(draw, values, scale):
    with pytest.raises((ValueError, TypeError)):
        draw(values, scale=scale)
