"""Check privacy losses against dp-accounting, and counts with a noisy total against OpenDP's consistency routine."""

from collections import Counter

import numpy as np
import pytest

from dpmultinomial._accounting import composition, loss_composition, privacy_loss, renyi
from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.published import counts_with_total
from dpmultinomial._seeding import stream

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


def composed(parts, *, pessimistic):
    """Epsilon of their loss distributions at 1e-6, above or below the exact one."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    made = {
        privacy_loss.DiscreteGaussianLoss: pld.from_discrete_gaussian_mechanism,
        privacy_loss.DiscreteLaplaceLoss: lambda b, **how: pld.from_discrete_laplace_mechanism(1 / b, **how),
        privacy_loss.LaplaceLoss: pld.from_laplace_mechanism,
        privacy_loss.GaussianLoss: pld.from_gaussian_mechanism,
    }
    total = None
    for one, k in parts.items():
        first, _ = (getattr(one, name) for name in one.__dataclass_fields__)
        found = made[type(one)](
            first, sensitivity=one.change, pessimistic_estimate=pessimistic, value_discretization_interval=1e-4,
            use_connect_dots=pessimistic,
        )  # fmt: skip
        found = found.self_compose(k) if k > 1 else found
        total = found if total is None else total.compose(found)
    return total.get_epsilon_for_delta(1e-6)


@pytest.mark.parametrize(
    "parts",
    [
        {privacy_loss.LaplaceLoss(4.0, 1.0): 20},
        {privacy_loss.GaussianLoss(3.0, 1.0): 5},
        {privacy_loss.DiscreteGaussianLoss(10.0, 2): 10, privacy_loss.DiscreteLaplaceLoss(5.0, 1): 5},
        {privacy_loss.DiscreteGaussianLoss(10.0, 1): 10, privacy_loss.LaplaceLoss(4.0, 1.0): 2},
    ],
)
def test_composed_losses_are_between_the_two_bounds(parts):
    pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    ours = loss_composition.epsilon(Counter(parts), 1e-6)
    assert composed(parts, pessimistic=False) - 1e-6 <= ours <= composed(parts, pessimistic=True) + 2e-3


transformations = pytest.importorskip("opendp.transformations")


@pytest.fixture
def consistent():
    """Return the children of one root, made consistent with the root."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return lambda root, leaves: transformations.make_consistent_b_ary_tree(len(leaves), int, float)([root, *leaves])


@pytest.mark.parametrize("children", [2, 3, 8])
@pytest.mark.parametrize("noise", [{"law": "gaussian", "sd": 4.0}, {"law": "discrete_gaussian", "sigma": 4.0}])
def test_means_equal_the_consistent_tree(children, noise, consistent):
    rng = stream(1, "tree", children)
    leaves = 2000 + rng.integers(-40, 40, children)
    root = int(leaves.sum() + rng.integers(-20, 20))
    law = law_of(noise)
    found = counts_with_total.posterior(leaves, noise=law, prior="flat", total={"released": root, "noise": law})
    assert found.counts.mean().to_numpy() == pytest.approx(np.array(consistent(root, leaves.tolist())), abs=1e-8)
