"""Noisy counts -> the counts and shares of the file, and the rates that the file is taken to be a sample of."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpmultinomial._files import csv_table
from dpmultinomial._inference.posterior import posterior
from dpmultinomial._inference.reading import read
from dpmultinomial._inference.release import Release
from dpmultinomial._mechanisms.law_words import law_of
from dpmultinomial._mechanisms.noise_law import NoiseLaw
from dpmultinomial._posteriors.published.counts import PublishedCounts
from dpmultinomial._posteriors.trees.tree_posterior import TreeLaw
from dpmultinomial._results.posterior import Posterior

from ...config import tree_rules
from .. import standard, tree
from ..case import REHEARSAL, Answer, Case
from . import alone, fit, rules
from .many import many as many


def answer(case: Case) -> Answer:
    """The answer to one case.

    Parameters
    ----------
    case : with the keys of settings.yaml, or about a release.

    Raises
    ------
    ValueError
        If a file breaks a rule, or the release has probability 0 under what is stated of it.
    """
    settings = case.settings
    release, facts = _release(case)
    if release.total is None and "among" in settings:
        raise ValueError("among: shares among some counts need the total of all")
    found = posterior(release, prior=settings.get("prior"), rng=case.rng)
    facts |= {"total": release.total if isinstance(release.total, int) else found.facts.get("total")}
    facts |= {"noise": dict(release.mechanism.words()), "counts": len(release)}
    if (check := fit.of(release, found)) is not None:
        facts["fit"] = {"probability": check.least, "suspect": check.least < fit.SUSPECT, "sentence": str(check)}
    released = dict(zip(release.names, release.values.tolist(), strict=True))
    if isinstance(found.source, TreeLaw):
        return _of_tree(found, case, facts)
    table = alone.rows(found.source, settings["level"]) if isinstance(found.source, PublishedCounts) else None
    about = settings["about"] if table is None else "counts"
    made = standard.answer(found, case, facts=facts, released=released, about=about, table=table)
    return replace(made, comparison=alone.decided(found, settings["level"]))


def _of_tree(found: Posterior, case: Case, facts: Mapping[str, Any]) -> Answer:
    """Counts of a tree: one row a node, least squares beside them and beside sums and differences."""
    law, settings = found.source, case.settings
    assert isinstance(law, TreeLaw)
    if settings["about"] == "rates" or "among" in settings:
        raise ValueError("a tree says what its counts are: about: counts, without among; a share is a question")
    table, told = tree.rows(law, settings["level"]), {**facts, **tree.facts(law)}
    made = standard.answer(found, case, facts=told, released={}, about="counts", table=table, honesty=law.honesty)
    return replace(made, rows=tree.beside_questions(made.rows, settings.get("questions") or {}, law))


def _release(case: Case) -> tuple[Release, dict[str, Any]]:
    """What is known, and where it is from."""
    settings, columns = case.settings, case.columns
    if case.release:
        found = read(case.release)
        return found, {"origin": "release", **found.facts}
    names, numbers = rules.names(settings, columns), rules.values(settings, columns)
    listed = np.array([np.nan if value is None else value for value in numbers], dtype=np.float64)
    law = noise_of(settings, columns, whole=bool((np.isnan(listed) | (listed == np.floor(listed))).all()))
    facts: dict[str, Any] = {"origin": "published"}
    if spent := spent_of(settings):
        facts["cost"] = spent
    total = settings.get("total")
    if REHEARSAL in settings:
        total, facts["origin"] = int(listed.sum()), REHEARSAL
        listed = np.asarray(law.sample(listed.astype(np.int64), rng=case.rng), dtype=np.float64)
    if isinstance(total, Mapping):
        total = {"released": total["released"], "noise": law_of(_mapping(total["noise"]))}
    limits = settings.get("bounds")
    bounds = (limits.get("lower", 0), limits.get("upper", np.inf)) if limits else None
    groups = _groups(settings, names, columns)
    shape: dict[str, Any] = {}
    if columns is not None and tree_rules.is_tree(columns):
        shape = {"parents": tree_rules.parents(columns), "levels": tree_rules.levels(columns)}
    release = Release(listed, mechanism=law, names=names, total=total, bounds=bounds, groups=groups, **shape)
    return release, facts


def noise_of(settings: Mapping[str, Any], columns: rules.Columns, *, whole: bool) -> NoiseLaw:
    """The law of the noise, from the settings and the file's columns."""
    words = rules.noise(settings, columns, whole)
    for key in rules.stated_scales(columns):
        assert columns is not None
        unmeasured = [not value and "threshold" not in words for value in columns["value"]]
        free = unmeasured if tree_rules.is_tree(columns) else [False] * len(unmeasured)
        if missing := [i + 1 for i, text in enumerate(columns[key]) if not text and not free[i]]:
            raise ValueError(f"{settings['file']}, column {key!r}: is empty in row {missing[0]}")
        some = next((text for text in columns[key] if text), "1")  # of a node without a measurement it is not read
        words[key] = np.array([float(text or some) for text in columns[key]])
    if "file" in words:
        path = words.pop("file")
        table = csv_table.read(Path(path))
        words["table"] = pd.DataFrame(
            {"true": table.whole("true"), "released": table.numbers("released"), "p": table.numbers("probability")}
        ).rename(columns={"p": "probability"})
    return law_of(words)


def spent_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the noise cost, as far as it is stated."""
    stated = settings.get("noise", settings)
    keys = ("epsilon", "rho", "sensitivity", "relation")
    found = {key: stated[key] for key in keys if isinstance(stated, Mapping) and key in stated}
    return found if {"epsilon", "rho"} & set(found) else {}


def _mapping(noise: Any) -> dict[str, Any]:
    return {"law": noise} if isinstance(noise, str) else dict(noise)


def _groups(settings: Mapping[str, Any], names: list[str], columns: rules.Columns) -> list[str] | None:
    """Group of every count, for priors that are fitted."""
    if columns is not None and "group" in columns:
        return list(columns["group"])
    if "groups" not in settings:
        return None
    of = {name: group for group, members in settings["groups"].items() for name in members}
    if missing := [name for name in names if name not in of]:
        raise ValueError(f"groups: {missing[0]!r} is in none of them")
    return [of[name] for name in names]
