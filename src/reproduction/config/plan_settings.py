"""What a configuration says about plans: every mistake, before any release is simulated. Plain Python."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from . import config, question_rules

_SUM = 1e-9


@cache
def schema() -> dict[str, Any]:
    """Of one plan."""
    return config.read(Path(__file__).with_name("plans.yaml"))


def filled(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan with all defaults."""
    return config.with_defaults(dict(plan), schema())


def mistakes(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(path below `plans`, message) of every broken rule."""
    for name, plan in section.items():
        if not isinstance(plan, dict):
            continue  # the whole configuration's schema says so
        wrong = config.broken(filled(plan), schema())
        for place, text in wrong or _rules(filled(plan)):
            yield f"{name}{'' if place == '(top level)' else f'.{place}'}", text


def _rules(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names, want = list(plan["names"]), plan["want"]
    if abs(sum(plan["names"].values()) - 1) > _SUM:
        yield "names", f"add up to {sum(plan['names'].values()):g}, not to 1"
    if ("interval" in want) == ("question" in want) or ("interval" in want) != ("narrower" in want):
        yield "want", "give interval and narrower, or question"
        return
    for place, name in [
        ("want.interval", want.get("interval")),
        *(("among", name) for name in plan.get("among") or ()),
    ]:
        if name is not None and name not in names:
            yield place, f"{name!r} is none of {', '.join(names)}"
    if "question" in want:
        for _, text in question_rules.mistakes({"q": {"probability": want["question"]}}, names):
            yield "want.question", text
    elif want["probability"] >= plan["level"]:
        yield "want.probability", f"must be below level, {plan['level']:g}: an interval is right no more often"
