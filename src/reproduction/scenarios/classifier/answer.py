"""A released model -> the probabilities of the population; made-up records -> what a release would be worth."""

from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._files.published import open_release
from dpmultinomial._models import coded_table

from ..case import COLUMNS, REHEARSAL, Answer, Case


def answer(case: Case) -> Answer:
    """The answer to one case."""
    if REHEARSAL in case.settings:
        return _rehearsed(case)
    from . import model

    release, settings = open_release(case.release), case.settings
    table = model.table(release, prior=settings["prior"], level=settings["level"])
    kept = ("release", "generation", "source", "neighbours", "cost", "records", "mechanism")
    facts: dict[str, Any] = {"origin": "release"} | {key: release.record[key] for key in kept if key in release.record}
    facts |= {
        "how": model.mechanism(release).words,
        "prior": {"law": "Dirichlet", "concentration": [settings["prior"]]},
    }
    approximate = table["status"] != "exact"
    rows = table.assign(type="rate", error=np.where(approximate, np.nan, 0.0)).reindex(columns=list(COLUMNS))
    return Answer(rows=rows, facts=facts | _told(rows))


def _rehearsed(case: Case) -> Answer:
    from . import rehearsal  # scikit-learn

    asked = case.settings[REHEARSAL]
    data = rehearsal.read(asked["csv"], target=asked["target"], numeric=asked["numeric"])
    keys = ("order", "epsilons", "repeats", "bins", "floor", "mechanisms", "network")
    design = rehearsal.Design(**{key: asked[key] for key in keys})
    rows = rehearsal.scores(data, design, level=case.settings["level"], rng=case.rng).reindex(columns=list(COLUMNS))
    facts = {"origin": REHEARSAL, "records": len(data.codes), "order": asked["order"], "floor": asked["floor"]}
    facts["unusual"] = [finding.text for finding in coded_table.examine(data)]
    return Answer(rows=rows, facts=facts | _told(rows))


def _told(rows: pd.DataFrame) -> dict[str, Any]:
    reasons = {"approximate": "totals below parents are estimated, or scores vary between releases"}
    counted = rows["status"].value_counts()
    states = [
        {"status": str(word), "reason": reasons.get(str(word), ""), "rows": int(n)} for word, n in counted.items()
    ]
    return {"accuracy": states, "groups": sorted(set(rows["type"])), "among": [], "method": "one table after the other"}
