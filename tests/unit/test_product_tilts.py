"""Tilted sums over products of counts and their total, against every combination."""

from itertools import product

import numpy as np
import pytest

from dpmultinomial._posteriors.additive import _mode_levels
from dpmultinomial._posteriors.additive._share_transforms import Frame, Tilted
from dpmultinomial._seeding import stream


@pytest.mark.parametrize("theta", [-0.4, 0.0, 0.3])
def test_cumulants_are_those_of_every_combination(theta):
    """Two components of one value share a column, a third has its own; totals of which one is impossible."""
    rng = stream(4, "tilts")
    columns = _mode_levels.columns(np.array([3, 3, 5]), np.full(3, 0.5), together=True)
    repeats = columns.repeats.astype(int)
    assert sorted(repeats) == [1, 2]
    factors = 20.0 * rng.random((2, 4))
    totals, log_g = np.arange(9, 14), np.append(rng.normal(size=4) - 800.0, -np.inf)  # of which exp is 0
    frame = Frame(columns, np.array([2, 4]), totals, log_g, np.zeros((2, 4)), rate=1.0, endless=True)
    which = np.repeat([0, 1], repeats)
    logs, values = [], []
    for place in product(range(4), repeat=3):
        for total, log_total in zip(totals, log_g, strict=True):
            values.append(sum(place) + frame.start - total)
            logs.append(np.log(factors[which, place]).sum() + log_total + theta * values[-1])
    weights = np.exp(np.array(logs) - max(logs))
    whole, shares = np.log(weights.sum()) + max(logs), weights / weights.sum()
    mean = shares @ np.array(values)
    tilted = Tilted(frame, factors)
    expected = whole, mean, shares @ (np.array(values) - mean) ** 2
    assert tilted.cumulants(theta) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert tilted.log_sum(theta) == pytest.approx(whole, rel=1e-14)
