"""Values of the kernels that follow by hand, where a twin on the same stream would meet them only by luck."""

import numpy as np
import pytest

from dpmultinomial.kernels import private_blocks
from dpmultinomial.seeding import stream


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_floors_lift_positive_cells_too(law):
    """Noise of scale 1e-12 leaves (0, 3, 10, 7); a floor of 5 makes it (5, 5, 10, 7), of sum 27."""
    found = private_blocks.release(
        np.array([0.0, 3, 10, 7]), np.array([0, 4]), law=law, scale=np.array([1e-12]), floors=np.array([5.0]),
        rng=stream(1, "floor", law),
    )  # fmt: skip
    assert np.exp(found[0]) == pytest.approx(np.array([5, 5, 10, 7]) / 27, rel=1e-10)
