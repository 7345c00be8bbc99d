"""Check the plans of a configuration and report every mistake before any release is simulated. The module is written in
plain Python.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dpmultinomial._releases import checks

from . import config, question_rules, table_files

_SUM = 1e-9
_RATES = (
    "a plan cannot contain rates with exposures or covariates: the widths of their intervals depend on how the rates "
    "vary, which is unknown before the release; plan the counts (release: ..), or change the cases of the study rates"
)


@cache
def schema(of_release: bool = False) -> dict[str, Any]:
    """Return the schema of a plan, which either states shares and a goal or refers to a configured release."""
    return config.read(Path(__file__).with_name("plans.yaml"))["release" if of_release else "shares"]


def filled(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan in which every missing key has been added with its default value."""
    return config.with_defaults(dict(plan), schema("release" in plan))


def mistakes(section: Mapping[str, Any], releases: Mapping[str, Any] | None = None) -> Iterator[tuple[str, str]]:
    """Yield a pair (path, message) for every mistake in the plans of a configuration. The path is relative to the key
    `plans`.

    Parameters
    ----------
    section : section `plans`.
    releases : section `releases`, to which plans of releases refer.
    """
    for name, plan in section.items():
        if not isinstance(plan, dict):
            continue  # the schema of the whole configuration reports this mistake
        if plan.get("kind") == "protected_rates" or {"exposure", "covariates", "per", "family"} & set(plan):
            yield name, _RATES
            continue
        wrong = list(config.broken(filled(plan), schema("release" in plan)))
        known = releases if isinstance(releases, Mapping) else {}
        rules = _release_rules(filled(plan), known) if "release" in plan else _rules(filled(plan))
        for place, text in wrong or rules:
            yield f"{name}{'' if place == '(top level)' else f'.{place}'}", text


def _release_rules(plan: Mapping[str, Any], releases: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the mistakes in a plan for a configured release."""
    name = plan["release"]
    if name not in releases:
        known = ", ".join(releases) or "none"
        yield (
            "release",
            f"{name!r} is not a release. The available releases are {known}{config.nearest(name, releases)}",
        )
        return
    settings = releases[name]
    if not isinstance(settings, Mapping) or settings.get("mechanism") not in checks.MECHANISMS:
        return  # reported under `releases`
    if checks.parameter(settings) == "rate" and any(value >= 1 for value in plan.get("values", ())):
        yield "values", f"the rate of a swap must be < 1, got {max(plan['values']):g}"
        return
    key = checks.parameter(settings)
    for value in plan.get("values", ()):
        changed = {**settings, key: value, "accept_weak_privacy": True}
        for place, why in checks.problems(name, changed, budgets={}, root=Path.cwd(), left=False):
            if place == f"releases/{name}/{key}":
                yield "values", f"{value:g}: {why}"
    if settings.get("narrow") and "shape" not in plan:
        yield (
            "shape",
            "is missing: narrow depends on the shape of the tree, so name a public file with this shape",
        )
    if "shape" in plan:
        if settings["mechanism"] not in checks.PARAMETERS or not settings.get("levels"):
            yield (
                "shape",
                f"may be given only for a tree of counts, but the release {name} does not have the key levels",
            )
        else:
            yield from (("shape", why) for why in _shape_problems(plan["shape"], list(settings["levels"])))


def _shape_problems(path: str, levels: Sequence[str]) -> Iterator[str]:
    """Yield the mistakes in the public file that describes a tree with the given levels."""
    try:
        names = table_files.header(Path(path))
    except (ValueError, OSError) as error:
        yield str(error)
        return
    if missing := [column for column in ("category", "parent") if column not in names]:
        yield f"{path!r} must have the columns category and parent, but lacks {missing[0]}"
        return
    from dpmultinomial._files import csv_table, table_columns  # NumPy is imported only for such a plan

    try:
        table = csv_table.read(path)
        depth = len(table_columns.of(table, table.texts("category")).sizes)
    except (ValueError, OSError) as error:
        yield str(error)
        return
    if depth != len(levels):
        yield f"{path!r} has {depth} levels, but the release has {len(levels)} levels ({', '.join(levels)})"


def _rules(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names, want = list(plan["names"]), plan["want"]
    if abs(sum(plan["names"].values()) - 1) > _SUM:
        yield "names", f"must sum to 1, got {sum(plan['names'].values()):.12g}"
    if ("interval" in want) == ("question" in want) or ("interval" in want) != ("narrower" in want):
        yield "want", "a plan must contain either question, or interval and narrower"
        return
    members = plan["among"] if set(plan.get("among") or [""]) <= set(names) else names
    for place, name, known in [
        ("want.interval", want.get("interval"), members),
        *(("among", name, names) for name in plan.get("among") or ()),
    ]:
        if name is not None and name not in known:
            yield place, f"must be one of {', '.join(known)}, got {name!r}"
    if plan.get("among") and plan["of"] == "counts":
        yield "among", "applies only to shares and rates: omit this key if the key 'of' is counts"
    if "question" in want:
        for _, text in question_rules.mistakes({"q": {"probability": want["question"]}}, members):
            yield "want.question", text
    elif want["probability"] >= plan["level"]:
        yield (
            "want.probability",
            f"must be below the level of the interval ({plan['level']:g}), got {want['probability']:g}",
        )
