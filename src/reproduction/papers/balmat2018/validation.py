"""Check a configuration of balmat2018 against the rules that its schema cannot express. The module is plain Python,
because it runs before any kernel is compiled.
"""

from collections.abc import Iterator
from typing import Any


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a pair (path, message) for every mistake in the paper's section of the configuration."""
    for artefact in ("figure_1", "figure_1_laws", "figure_1_moments", "realised_share", "trapped"):
        for name, setting in section[artefact]["settings"].items():
            if sum(setting) != section[artefact]["total"] or setting[0] + setting[1] == 0:
                rule = f"must sum to {artefact}.total ({section[artefact]['total']}), and S1 + S0 must be > 0"
                yield f"{artefact}.settings.{name}", f"{setting} {rule}"
    p = section["choosing_epsilon"]["probabilities"]
    if abs(sum(p) - 1) > 1e-9:
        yield "choosing_epsilon.probabilities", f"{p} must sum to 1, got {sum(p):g}"
