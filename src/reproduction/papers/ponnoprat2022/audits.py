"""Claims of the paper and of its experiments against the exact cost of the mechanisms."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from dpmultinomial._accounting import renyi
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._mechanisms.dirichlet import Dirichlet
from dpmultinomial._mechanisms.gaussian import Gaussian
from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._models import claims


def audits(*, order: float, epsilons: Sequence[float]) -> pd.DataFrame:
    """One row a mechanism, its calibration and epsilon: claimed and exact Rényi cost of one replaced record."""
    rows: list[dict[str, Any]] = []
    for epsilon in epsilons:
        r, alpha = dirichlet.calibrate(epsilon, order=order)
        exact = dirichlet.calibrate_exact(epsilon, order=order)
        one, both, tight = (
            renyi.laplace_scale(epsilon, order=order, l1=l1, cells=cells) for l1, cells in ((1, 1), (2, 1), (2, 2))
        )
        for variant, calibration, mechanism in (
            ("as_written", "Algorithm 1", Dirichlet(r=r, alpha=alpha)),
            (
                "published",
                "alpha = 1 + (order - 1) r, after the author's set_epsilon",
                Dirichlet(r=r, alpha=1 + (order - 1) * r),
            ),
            ("corrected", "exact worst case", Dirichlet(r=exact[0], alpha=exact[1])),
            ("as_written", "one cell moves by 1", Laplace(scale=one)),
            ("published", "one cell moves by 2", Laplace(scale=both)),
            ("corrected", "two cells move by 1", Laplace(scale=tight)),
            ("as_written", "variance order/epsilon", Gaussian.calibrated_renyi(epsilon, order=order)),
        ):
            found = claims.renyi_claim(mechanism, order=order, epsilon=epsilon)
            named = {"mechanism": type(mechanism).__name__, "calibration": calibration, "variant": variant}
            outcome = {"exact": found.exact, "holds": found.holds, "slack": found.slack}
            rows.append({**named, "order": order, "claimed": epsilon, **outcome})
    return pd.DataFrame(rows)
