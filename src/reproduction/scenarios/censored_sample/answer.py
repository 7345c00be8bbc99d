"""Compute the posterior of the mean, the variance and the numbers of censored records, given noisy statistics of a
censored sample.
"""

from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.reading import read
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.sufficient_statistics import STATISTICS, CensoredStatistics
from dpmultinomial._posteriors.censored import normal_model
from dpmultinomial._posteriors.censored.censored_statistics import CensoredPosterior
from dpmultinomial._posteriors.censored.normal_model import Prior

from .. import standard
from ..case import REHEARSAL, Answer, Case, compared

_PARTS = ("mu0", "var0", "shape0", "rate0")
_TYPES = {"mu": "parameter", "sigma2": "parameter"}


def answer(case: Case) -> Answer:
    """Return the results of one case of a censored-sample scenario. For comparison, the results include an analysis
    with a weaker prior and an analysis that ignores the noise.
    """
    release, facts = _release(case)
    mechanism = release.mechanism
    default = Prior.from_limits(mechanism.lower, mechanism.upper)
    used = Prior(**{**dict(zip(_PARTS, default, strict=True)), **case.settings["prior"]})
    inferred = posterior(release, prior=used, rng=case.rng)
    weaker = Prior(used.mu0, 4 * used.var0, used.shape0 / 2, used.rate0 / 2)
    other = posterior(release, prior=weaker, rng=case.rng)
    scales = np.broadcast_to(np.asarray(mechanism.scale, dtype=float), 4)
    facts |= {
        "lower": mechanism.lower,
        "upper": mechanism.upper,
        "scales": dict(zip(STATISTICS, scales.tolist(), strict=True)),
    }
    facts |= {"on_grid": bool(np.any(np.asarray(mechanism.grid) > 0))}
    by_name = dict(zip(release.names, release.values.tolist(), strict=True))
    statistics = {name: by_name[name] for name in STATISTICS}  # a user may write them in another order
    facts |= {"statistics": statistics, "records": release.total}
    law = inferred.source
    assert isinstance(law, CensoredPosterior)
    result = standard.answer(inferred, case, facts=facts, released={})
    result.facts["prior"] = dict(zip(_PARTS, used, strict=True)) | {"law": "normal and inverse gamma"}
    suspect = bool(law.conflict.found)
    result.facts["fit"] = {"probability": law.conflict.least, "suspect": suspect, "sentence": str(law.conflict)}
    level, n = case.settings["level"], release.total
    assert isinstance(n, int)
    naive = normal_model.naive(statistics, n=n, lower=mechanism.lower, upper=mechanism.upper, prior=used).summary(level)
    comparison = [
        compared(f"with a weaker prior, {weaker!r}", other.summary(level)),
        compared("ignoring the noise", naive.assign(type=naive["quantity"].map(_TYPES))),
    ]
    return Answer(
        rows=result.rows,
        facts=result.facts,
        densities=result.densities,
        comparison=pd.concat(comparison, ignore_index=True),
    )


def _release(case: Case) -> tuple[Release, dict[str, Any]]:
    settings = case.settings
    if case.release:
        release = read(case.release)
        return release, {"origin": "release", **release.facts}
    lower, upper = float(settings["lower"]), float(settings["upper"])
    if REHEARSAL in settings:
        return _rehearsed(case, lower, upper)
    n = int(settings["records"])
    facts: dict[str, Any] = {"origin": "published"}
    if "scales" in settings:
        scale = tuple(float(settings["scales"][name]) for name in STATISTICS)
    else:
        least = CensoredStatistics(lower=lower, upper=upper).sensitivity(n)
        used = settings.get("sensitivity", least)
        scale = (used / settings["epsilon"],) * 4
        facts["cost"] = {"epsilon": settings["epsilon"] * max(1.0, least / used), "relation": "replace a record"}
    law = CensoredStatistics(lower=lower, upper=upper, scale=scale)
    return Release(settings["statistics"], mechanism=law, total=n), facts


def _rehearsed(case: Case, lower: float, upper: float) -> tuple[Release, dict[str, Any]]:
    """Return a simulated release of the statistics of synthetic records, and the metadata of this release. Each of the
    four statistics is measured with a quarter of epsilon.
    """
    made_up, epsilon = case.settings[REHEARSAL], case.settings["epsilon"]
    mechanism, n = CensoredStatistics(lower=lower, upper=upper), int(made_up["records"])
    records = made_up["mu"] + made_up["sigma2"] ** 0.5 * case.rng.standard_normal(n)
    scale = mechanism.sensitivities(n) * 4 / epsilon
    values = mechanism.of(records) + scale * case.rng.laplace(size=4)
    law = CensoredStatistics(lower=lower, upper=upper, scale=tuple(scale.tolist()))
    facts = {"origin": REHEARSAL, "cost": {"epsilon": epsilon, "relation": "replace a record"}}
    return Release(values, mechanism=law, names=list(STATISTICS), total=n), facts
