"""Check a configuration of pan2023 against the rules that its schema cannot express. The module is plain Python,
because it runs before any kernel is compiled.
"""

from collections.abc import Iterator
from typing import Any

_SUM = 1e-9


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a pair (path, message) for every mistake in the paper's section of the configuration."""
    for artefact in ("phi_examples", "phi_density", "phi_by_rate", "phi_draws", "closer_or_farther", "coverage"):
        settings = section[artefact]
        for i, theta in enumerate(settings["thetas"]):
            if abs(sum(theta) - 1) > _SUM:
                yield f"{artefact}.thetas[{i}]", f"{theta} must sum to 1, got {sum(theta):g}"
            elif artefact in ("phi_density", "phi_by_rate", "phi_draws", "closer_or_farther"):
                for total in settings["totals"]:
                    if any(abs(total * t - round(total * t)) > 1e-6 for t in theta):
                        yield (
                            f"{artefact}.totals",
                            f"the products of {total} and {theta} must be integers; use a multiple of 100",
                        )
