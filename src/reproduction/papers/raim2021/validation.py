"""Check a configuration of raim2021 against the rules that its schema cannot express. The module is plain Python,
because it runs before any kernel is compiled.
"""

from collections.abc import Iterator
from typing import Any

_LIMITED = (
    *("gibbs_traces", "gibbs_posteriors", "geweke", "coverage", "coverage_asymmetric", "release_designs"),
    *("statistics_laws", "counts_in_turn", "privacy_loss"),
)


def mistakes(section: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a pair (path, message) for every mistake in the paper's section of the configuration."""
    for name in _LIMITED:
        if not section[name]["lower"] < section[name]["upper"]:
            yield f"{name}.lower", f"{section[name]['lower']} must be below upper ({section[name]['upper']})"
    for place, (lower, upper) in enumerate(section["sensitivity"]["limits"]):
        if not lower < upper:
            yield (
                f"sensitivity.limits[{place}]",
                f"the lower limit must be below the upper limit, got {lower} and {upper}",
            )
