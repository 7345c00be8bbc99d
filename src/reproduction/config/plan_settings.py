"""Check the plans of a configuration and report every mistake before any release is simulated. Plain Python."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from . import config, question_rules

_SUM = 1e-9


@cache
def schema() -> dict[str, Any]:
    """Return the schema of one plan."""
    return config.read(Path(__file__).with_name("plans.yaml"))


def filled(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan with all defaults filled in."""
    return config.with_defaults(dict(plan), schema())


def mistakes(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return (path below `plans`, message) for every mistake in the plans."""
    for name, plan in section.items():
        if not isinstance(plan, dict):
            continue  # the schema of the whole configuration reports it
        wrong = config.broken(filled(plan), schema())
        for place, text in wrong or _rules(filled(plan)):
            yield f"{name}{'' if place == '(top level)' else f'.{place}'}", text


def _rules(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names, want = list(plan["names"]), plan["want"]
    if abs(sum(plan["names"].values()) - 1) > _SUM:
        yield "names", f"must add up to 1, got {sum(plan['names'].values()):g}"
    if ("interval" in want) == ("question" in want) or ("interval" in want) != ("narrower" in want):
        yield "want", "give interval and narrower, or question"
        return
    for place, name in [
        ("want.interval", want.get("interval")),
        *(("among", name) for name in plan.get("among") or ()),
    ]:
        if name is not None and name not in names:
            yield place, f"{name!r} must be one of {', '.join(names)}"
    if "question" in want:
        for _, text in question_rules.mistakes({"q": {"probability": want["question"]}}, names):
            yield "want.question", text
    elif want["probability"] >= plan["level"]:
        yield (
            "want.probability",
            f"must be below level ({plan['level']:g}), the probability that an interval contains the true value",
        )
