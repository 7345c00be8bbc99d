"""Beyond the paper: posteriors of all fifty components from one release, and the privacy statement as it is."""

from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._accounting import privacy_profiles
from dpmultinomial._mechanisms.additive.additive_counts import release_from_noisy
from dpmultinomial._mechanisms.laplace import TwoSidedGeometric
from dpmultinomial._posteriors.additive import additive_counts

from . import examples


def fifty_components(*, epsilon: float, support: int, level: float, rng: np.random.Generator) -> pd.DataFrame:
    """Exact posterior of every component of Example 2 from one noise: release (by algorithm, or the noisy counts),
    component, true, released, mean, sd, lower, upper (central interval), ``log10_pairs`` of the paper's brute force.
    """
    counts = examples.example_2()
    noise = TwoSidedGeometric(epsilon=epsilon, support=support)
    noisy, total = noise.sample(counts, rng=rng), int(noise.sample(counts.sum(), rng=rng))
    model: dict[str, Any] = {"epsilon": epsilon, "support": support}
    laws = {}
    for name, algorithm in {"Algorithm 1 (ind)": "1-independent", "Algorithm 2": "2", "Algorithm 3": "3"}.items():
        released = release_from_noisy(noisy[None], np.array([total]), algorithm=algorithm, rng=rng, **model)[0]
        laws[name] = released, additive_counts.posterior(released, algorithm=algorithm, window=None, **model)
    laws["noisy counts"] = noisy, additive_counts.posterior_of_noisy(noisy, noisy_total=total, **model)
    parts = []
    for name, (released, law) in laws.items():
        bounds = np.array([law.interval(i, level=level) for i in range(len(counts))])
        columns = {"component": list(examples.SEATS), "true": counts, "released": released, "mean": law.mean()}
        columns |= {"sd": np.sqrt(law.variance()), "lower": bounds[:, 0], "upper": bounds[:, 1]}
        parts.append(pd.DataFrame({"release": name, **columns}))
    return pd.concat(parts, ignore_index=True)


def privacy(*, epsilon: float, support: int, claims: list[float]) -> pd.DataFrame:
    """Smallest delta of a claimed epsilon for what an additive release uses: claimed, counts, changed, delta.

    The total alone changes one count; the paper's release uses the total and one component, two counts.
    """
    rows = [
        {"claimed": claim, "counts": counts, "changed": changed,
         "delta": privacy_profiles.geometric_delta(claim, epsilon=epsilon, changed=changed, support=support)}
        for counts, changed in (("the total alone", 1), ("total and components", 2))
        for claim in claims
    ]  # fmt: skip
    return pd.DataFrame(rows)
