"""Values of the kernels that follow by hand, where a reference on the same stream would meet them only by luck."""

import numpy as np
import pytest

from dpmultinomial._mechanisms.swapping import _subset_shuffles, exact_swapping
from dpmultinomial._models import private_blocks
from dpmultinomial._posteriors.swapping import unswapping
from dpmultinomial._seeding import stream


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_floors_lift_positive_cells_too(law):
    """Noise of scale 1e-12 leaves (0, 3, 10, 7); a floor of 5 makes it (5, 5, 10, 7), of sum 27."""
    found = private_blocks.release(
        np.array([0.0, 3, 10, 7]), np.array([0, 4]), law=law, scale=np.array([1e-12]), floors=np.array([5.0]),
        rng=stream(1, "floor", law),
    )  # fmt: skip
    assert np.exp(found[0]) == pytest.approx(np.array([5, 5, 10, 7]) / 27, rel=1e-10)


def test_two_records_are_the_smallest_class():
    """Two records at rate p: both are selected, and exchanged, with odds p^2/(1 - p)^2 (one alone is drawn again)."""
    p = 0.3
    both = p**2 / (p**2 + (1 - p) ** 2)
    tables, forward, backward = exact_swapping.class_law([[1, 0, 0], [0, 1, 0]], rate=p)
    assert tables.tolist() == [[[0, 1, 0], [1, 0, 0]], [[1, 0, 0], [0, 1, 0]]]
    assert np.exp(forward) == pytest.approx([both, 1 - both], rel=1e-13)
    assert np.exp(backward) == pytest.approx([both, 1 - both], rel=1e-13)


def test_a_list_may_be_as_long_as_allowed():
    """[[1, 1, 1], [1, 1, 1]] has 7 tables with its margins: itself and the 6 orders of (2, 1, 0) as a first row."""
    arguments = {"coefficients": np.ones(7), "most_work": 1e9}
    found, log_p, _ = _subset_shuffles.originals(np.ones((2, 3), dtype=int), most_tables=7, **arguments)
    assert len(found) == len(log_p) == 7
    assert {tuple(sorted(t[0])) for t in found.tolist()} == {(0, 1, 2), (1, 1, 1)}
    with pytest.raises(ValueError, match="over 6 originals"):
        _subset_shuffles.originals(np.ones((2, 3), dtype=int), most_tables=6, **arguments)


@pytest.mark.parametrize(("odds", "share"), [(1.0, 1 / 2), (1 / 3, 1 / 4), (3.0, 3 / 4)])
def test_a_stratum_of_two_records_has_its_law(odds, share):
    """Exchanged or not, with the odds of the weights under a flat prior: all four cells hold at most one record.

    Of the two proposals of a sweep each is made with chance min(1, odds)/2 one way and min(1, 1/odds)/2 back, so that
    a sweep keeps (1 - both)^2 of the distance to the share, which multiplies the variance of a mean by
    (1 + kept)/(1 - kept). False alarm 6e-5 each.
    """
    pair, rest, draws = np.eye(2, dtype=int), np.array([[2, 1], [1, 2]]), 20_000
    logs = [np.zeros(7), np.array([0.0, 0.0, np.log(odds)])]
    drawn = unswapping.permutation_chain(
        np.array([rest, pair]), logs, np.ones(8), draws=draws, burn_in=20, thin=1, rng=stream(2, "two", int(9 * odds))
    )[:, 4:]
    exchanged = (drawn == [0, 1, 1, 0]).all(axis=1)
    assert (exchanged | (drawn == [1, 0, 0, 1]).all(axis=1)).all()
    kept = (1 - min(1, odds) / 2 - min(1, 1 / odds) / 2) ** 2
    sd = np.sqrt(share * (1 - share) / draws * (1 + kept) / (1 - kept))
    assert abs(exchanged.mean() - share) < 4 * sd


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_stratum_of_one_record_keeps_it(place):
    """Nothing can move in it, and nothing of it in others: margins of every stratum stay."""
    alone, rest = np.array([[0, 0], [0, 1]]), np.array([[2, 1], [1, 2]])
    table = np.array([alone if k == place else rest for k in range(3)])
    logs = [np.zeros(int(t.sum()) + 1) for t in table]
    drawn = unswapping.permutation_chain(
        table, logs, np.ones(12), draws=300, burn_in=0, thin=1, rng=stream(2, "alone", place)
    ).reshape(300, 3, 2, 2)
    assert (drawn[:, place] == alone).all()
    for axis in (2, 3):
        assert (drawn.sum(axis=axis) == table.sum(axis=axis - 1)).all()
    assert (drawn != table).any()
