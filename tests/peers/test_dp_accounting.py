"""Rényi divergences against dp-accounting, an independent library."""

import pytest

from dpmultinomial._accounting import composition, renyi

dp_accounting = pytest.importorskip("dp_accounting")
rdp = pytest.importorskip("dp_accounting.rdp")

ORDERS = [1.5, 2, 5, 20, 200]


def accountant(event):
    return rdp.RdpAccountant(ORDERS).compose(event)


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.0, 300.0])
def test_laplace_and_gaussian_rdp(scale):
    noisy = accountant(dp_accounting.LaplaceDpEvent(scale))._rdp
    assert noisy == pytest.approx([renyi.laplace(scale, order=o, l1=1) for o in ORDERS], rel=1e-9)
    noisy = accountant(dp_accounting.GaussianDpEvent(scale))._rdp
    assert noisy == pytest.approx([renyi.gaussian(scale, order=o, l2_squared=1) for o in ORDERS], rel=1e-12)


def test_conversion_is_the_same():
    theirs = accountant(dp_accounting.GaussianDpEvent(3.0)).get_epsilon(1e-5)
    ours = min(composition.rdp_to_dp(renyi.gaussian(3.0, order=o, l2_squared=1), order=o, delta=1e-5) for o in ORDERS)
    assert ours == pytest.approx(theirs, rel=1e-12)
