"""Check counts and their noisy total against OpenDP's consistency routine: least squares on a tree of one level.

Far from 0 and under a flat prior, the posterior mean is the least-squares estimate, which for equal noise on all nodes
is the consistent estimate of Hay et al. (2010).
"""

import numpy as np
import pytest

from dpmultinomial._mechanisms.law_settings import law_of
from dpmultinomial._posteriors.published import counts_with_total
from dpmultinomial._seeding import stream

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
