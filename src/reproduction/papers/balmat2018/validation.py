"""What a configuration of balmat2018 must obey beyond its schema. Plain Python: it runs before any kernel exists."""

from collections.abc import Iterator
from typing import Any

LARGEST_TOTAL = 1_000_000
FIRST_NAMES = ("S1", "S0", "Serr")
SOURCES = ("release", "noisy_counts", "rehearsal")
STATED = ("total", "epsilon", "noise", "sensitivity", "categories")  # what a release's record states
_WAYS = "give one of release (made under `releases`), noisy_counts (already published), rehearsal (made-up counts)"
_TRUE_COUNTS = (
    "true counts are refused here: the noise of a scenario can be repeated by anyone, and what it hides computed. "
    "Release them under `releases` (docs/how-to/release.md) and name that release here; "
    "made-up counts go under rehearsal: {counts: [..]}"
)


def names(size: int, categories: list[str] | None) -> list[str]:
    """Names of the categories: as given, the paper's for three, else c1, c2, .."""
    return categories or (list(FIRST_NAMES) if size == 3 else [f"c{i + 1}" for i in range(size)])


def work(scenario: dict[str, Any]) -> tuple[float, float]:
    """CPU seconds and MB of a scenario: its sums grow like the total times the number of categories."""
    counts = (scenario.get("rehearsal") or {}).get("counts") or scenario.get("noisy_counts") or []
    size, shares = scenario.get("total", sum(counts)) * len(counts), len(counts) + len(scenario.get("given") or ())
    thresholds = len(scenario.get("thresholds") or ())
    return 0.2 + 0.04 * shares * (1 + thresholds) + 4e-6 * size, 7e-5 * size + 0.1 * shares


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, message) of every broken rule."""
    for name, scenario in section["scenarios"].items():
        if isinstance(scenario, dict):
            for key, text in _scenario(scenario):
                yield f"scenarios.{name}{key}", text
    for artefact in ("figure_1", "figure_1_laws", "figure_1_moments", "realised_share", "trapped"):
        for name, setting in section[artefact]["settings"].items():
            if sum(setting) != section[artefact]["total"] or setting[0] + setting[1] == 0:
                rule = f"must add up to {artefact}.total, {section[artefact]['total']}, with S1 + S0 > 0"
                yield f"{artefact}.settings.{name}", f"{setting} {rule}"
    p = section["choosing_epsilon"]["probabilities"]
    if abs(sum(p) - 1) > 1e-9:
        yield "choosing_epsilon.probabilities", f"{p} adds up to {sum(p):g}, not to 1"


def _scenario(scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "counts" in scenario:
        yield ".counts", _TRUE_COUNTS
        return
    found = [key for key in SOURCES if scenario.get(key) is not None]
    if len(found) != 1:
        yield "", f"has {' and '.join(found) or 'no counts'}; {_WAYS}"
    elif found == ["release"]:
        for key in STATED:
            if key in scenario:
                yield f".{key}", "the record of the release states it; leave it out"
    else:
        yield from _numbers(scenario, found[0])


def _numbers(scenario: dict[str, Any], source: str) -> Iterator[tuple[str, str]]:
    rehearsal = scenario.get("rehearsal")
    values = rehearsal.get("counts") if isinstance(rehearsal, dict) else scenario.get("noisy_counts")
    if not isinstance(values, list) or not all(isinstance(v, (int, float)) for v in values):
        return  # the schema says so
    if "epsilon" not in scenario:
        yield ".epsilon", f"missing epsilon: {source} need it for the scale of the noise"
    total = scenario.get("total")
    if source == "noisy_counts":
        if total is None:
            yield "", "noisy_counts need total, the public number of partitions; noisy sums cannot tell it"
        if scenario.get("noise") == "discrete_laplace" and any(v != round(v) for v in values):
            yield ".noisy_counts", f"{values} are no whole numbers: discrete_laplace noise never gives a fraction"
    elif total is not None:
        yield ".total", f"{total}: a rehearsal has the sum of its counts, {sum(values)}; leave it out"
    elif sum(values) > LARGEST_TOTAL:
        yield ".rehearsal.counts", f"add up to {sum(values)}; the largest total is {LARGEST_TOTAL}"
    yield from _by_category(scenario, len(values))


def _by_category(scenario: dict[str, Any], size: int) -> Iterator[tuple[str, str]]:
    found = names(size, scenario.get("categories"))
    if len(found) != size:
        yield ".categories", f"{len(found)} names for {size} counts"
    elif len(set(found)) != size:
        yield ".categories", f"{found} names something twice"
    alpha = scenario.get("alpha", 1.0)
    if isinstance(alpha, list) and len(alpha) != size:
        yield ".alpha", f"{len(alpha)} entries for {size} counts; give one number or one for each"
    unknown = [str(g) for g in scenario.get("given") or () if g not in found]
    if unknown:
        yield ".given", f"{', '.join(unknown)} not among the categories {', '.join(found)}"
