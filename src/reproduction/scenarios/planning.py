"""Plans: the smallest epsilon at which a release is decisive and correct often enough, from settings to files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpmultinomial import __version__
from dpmultinomial._inference.planning import Plan, plan
from dpmultinomial._releases.spending import ADD_OR_REMOVE, REPLACE
from dpmultinomial._seeding import stream

from .. import style, tables
from ..config import plan_settings
from .making import write_facts
from .sentences import percent


def made(name: str, settings: Mapping[str, Any], *, root_seed: int, folder: str | Path = ".") -> Plan:
    """Find a plan's epsilon and write ``results/plans/<name>.csv`` (the curve) and ``.json``.

    Parameters
    ----------
    name : of the plan, which also names its random stream.
    settings : checked, as written.
    root_seed : of all streams.
    folder : working directory.

    Raises
    ------
    ValueError
        If no epsilon in the range is enough, or the smallest is.
    """
    asked = plan_settings.filled(settings)
    found = plan(
        asked["names"],
        asked["total"],
        **{key: asked["want"].get(key) for key in ("interval", "narrower", "question")},
        **{key: asked[key] for key in ("level", "mechanism", "sensitivity", "of", "releases")},
        probability=asked["want"]["probability"],
        among=asked.get("among"),
        rng=stream(root_seed, "plans", name),
    )
    target = Path(folder, "results", "plans", f"{name}.csv")
    target.parent.mkdir(parents=True, exist_ok=True)
    tables.write(found.curve, target)
    answer = {key: getattr(found, key) for key in ("epsilon", "frequency", "wrong", "standard_error", "releases")}
    facts = {"plan": name, "settings": asked, "found": answer, "versions": {"dpmultinomial": __version__}}
    write_facts(facts | {"planned": found.facts, "sentence": sentence(found, asked)}, target.with_suffix(".json"))
    return found


def sentence(found: Plan, asked: Mapping[str, Any]) -> str:
    """Return the result of a plan as a sentence."""
    want = asked["want"]
    if "question" in want:
        sure = f"with probability {percent(asked['level'])}"
        goal = f"the question whether {want['question']} is answered correctly, {sure},"
    else:
        noun = {"shares": "true share", "counts": "true count", "rates": "underlying rate"}
        width = f"{want['narrower']:g}" if asked["of"] == "counts" else percent(want["narrower"])
        goal = (
            f"the {percent(asked['level'])} interval of the {noun[asked['of']]} of {want['interval']} is narrower than "
        )
        goal += f"{width} and contains the true value"
    paid = epsilons(found.epsilon, asked["sensitivity"])
    return (
        f"With {paid}, {goal} in {percent(found.frequency)} of {found.releases} new "
        f"releases (standard error {percent(found.standard_error)}), and the release is decisive but wrong in "
        f"{percent(found.wrong)}."
    )


def epsilons(epsilon: float, sensitivity: float) -> str:
    """Return a plan's epsilon with the neighbour relation to which it refers, and the epsilon of the other relation.

    Parameters
    ----------
    epsilon : sensitivity divided by the scale of the noise.
    sensitivity : L1 change of the counts: 2 if a record is replaced, 1 if it is added or removed.
    """
    words = {2.0: (REPLACE, ADD_OR_REMOVE, 0.5), 1.0: (ADD_OR_REMOVE, REPLACE, 2.0)}
    if sensitivity not in words:
        return f"epsilon = {epsilon:.3g} (for an L1 change of {sensitivity:g})"
    own, other, factor = words[sensitivity]
    return f"epsilon = {epsilon:.3g} ({own}; {factor * epsilon:.3g} to {other})"


def draw(found: Plan, png: str | Path, pdf: str | Path) -> None:
    """Draw the frequencies against epsilon, with the chosen epsilon marked, in PNG and PDF."""
    with style.applied():
        style.save(found.plot(), png, pdf)
