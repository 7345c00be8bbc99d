"""Compute the posterior of counts, shares and underlying rates, given shares that were released by the Dirichlet
mechanism.
"""

from typing import Any

import numpy as np

from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.dirichlet import Dirichlet, calibrate

from .. import standard
from ..case import REHEARSAL, Answer, Case
from . import rules


def answer(case: Case) -> Answer:
    """Return the results of one case of a noisy-shares scenario."""
    settings = case.settings
    names, listed = rules.stated(settings)
    facts: dict[str, Any] = {"origin": "published"}
    if "epsilon" in settings:
        r, alpha = calibrate(settings["epsilon"], order=settings["order"])
        facts["cost"] = {"epsilon": settings["epsilon"], "order": settings["order"], "relation": "replace a record"}
    else:
        r, alpha = settings["r"], settings["alpha"]
    mechanism = Dirichlet(r=r, alpha=alpha)
    shares, total = np.asarray(listed, dtype=np.float64), settings.get("total")
    if REHEARSAL in settings:
        total, facts["origin"] = int(shares.sum()), REHEARSAL
        shares = mechanism.sample(shares, rng=case.rng)
    shares = shares / shares.sum()
    published = shares if REHEARSAL in settings else np.asarray(listed, dtype=np.float64)
    release = Release(shares, mechanism=mechanism, names=names, total=total)
    inferred = posterior(release, prior=settings["prior"], rng=case.rng)
    facts |= {"total": total, "r": r, "alpha": alpha}
    result = standard.answer(inferred, case, facts=facts, released={}, about=settings["about"])
    of_file = (result.rows["type"] == "share") & result.rows["quantity"].isin(names)
    released = dict(zip(names, published.tolist(), strict=True))
    rows = result.rows.assign(released=result.rows["quantity"].map(released).where(of_file))
    return Answer(rows=rows, facts=result.facts, densities=result.densities)
