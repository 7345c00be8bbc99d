"""What a configuration of balmat2018 must obey beyond its schema. Plain Python: it runs before any kernel exists."""

from collections.abc import Iterator
from typing import Any

LARGEST_TOTAL = 10_000
FIRST_NAMES = ("S1", "S0", "Serr")


def categories(scenario: dict[str, Any]) -> list[str]:
    """Names of a scenario's categories: as given, the paper's for three, else c1, c2, .."""
    size = len(scenario.get("counts") or scenario.get("noisy_counts") or ())
    return scenario.get("categories") or (list(FIRST_NAMES) if size == 3 else [f"c{i + 1}" for i in range(size)])


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(path, message) of every broken rule."""
    for name, scenario in section["scenarios"].items():
        if isinstance(scenario, dict):
            for key, text in _scenario(scenario):
                yield f"scenarios.{name}{key}", text
    for artefact in ("figure_1", "figure_1_moments", "realised_share"):
        for name, setting in section[artefact]["settings"].items():
            if sum(setting) != section[artefact]["total"] or setting[0] + setting[1] == 0:
                rule = f"must add up to {artefact}.total, {section[artefact]['total']}, with S1 + S0 > 0"
                yield f"{artefact}.settings.{name}", f"{setting} {rule}"
    p = section["choosing_epsilon"]["probabilities"]
    if abs(sum(p) - 1) > 1e-9:
        yield "choosing_epsilon.probabilities", f"{p} adds up to {sum(p):g}, not to 1"


def _scenario(scenario: dict[str, Any]) -> Iterator[tuple[str, str]]:
    counts, noisy, total = (scenario.get(k) for k in ("counts", "noisy_counts", "total"))
    if (counts is None) == (noisy is None):
        found = "has both" if counts is not None else "has neither counts nor noisy_counts"
        yield "", f"{found}; give counts (noise is added), or noisy_counts (your release) and total"
        return
    if noisy is not None and total is None:
        yield "", "noisy_counts need total, the public number of partitions; noisy sums cannot tell it"
    if counts is not None and total is not None and total != sum(counts):
        yield ".total", f"{total} is not the sum of counts, {sum(counts)}; leave it out"
    if counts is not None and sum(counts) > LARGEST_TOTAL:
        yield ".counts", f"add up to {sum(counts)}; the largest total is {LARGEST_TOTAL}"
    size = len(counts if counts is not None else noisy)
    names = categories(scenario)
    if len(names) != size:
        yield ".categories", f"{len(names)} names for {size} counts"
    elif len(set(names)) != size:
        yield ".categories", f"{names} names something twice"
    alpha = scenario.get("alpha", 1.0)
    if isinstance(alpha, list) and len(alpha) != size:
        yield ".alpha", f"{len(alpha)} entries for {size} counts; give one number or one for each"
    given = scenario.get("given")
    if given is not None:
        unknown = [g for g in given if g not in names]
        if unknown:
            yield ".given", f"{', '.join(unknown)} not among the categories {', '.join(names)}"
