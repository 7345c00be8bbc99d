"""Sentences of noisy counts."""

from collections.abc import Mapping
from typing import Any

_LAWS = {
    "laplace": "Laplace noise of scale {scale}",
    "discrete_laplace": "discrete Laplace noise of scale {scale}",
    "gaussian": "Gaussian noise with standard deviation {sigma}",
    "discrete_gaussian": "discrete Gaussian noise with parameter sigma {sigma}",
    "exact": "no noise at all",
    "table": "a perturbation by a published table of probabilities",
}


def assumed(point: Mapping[str, Any]) -> list[str]:
    """How the counts were made, and what is public."""
    found = [f"Every count has {noise(point.get('noise') or {})}, independently."]
    total = point.get("total")
    if isinstance(total, int):
        found.append(f"The total of {total:,} records is public and exact.")
    elif isinstance(total, Mapping):
        found.append("The total is known with noise only.")
    else:
        found.append("Nothing is known of the total.")
    if "rates" in point.get("groups", ()):
        found.append("For the rates alone the file is taken to be a sample of independent records.")
    return found


def noise(words: Mapping[str, Any]) -> str:
    """A law of noise in words."""
    text = _LAWS.get(str(words.get("law")), str(words.get("law")))
    shown = {key: _number(value) for key, value in words.items()}
    text = text.format(**{"scale": "as stated", "sigma": "as stated", **shown})
    rest = [f"{key} {value}" for key, value in shown.items() if key not in ("law", "scale", "sigma")]
    return f"{text} ({', '.join(rest)})" if rest else text


def _number(value: Any) -> str:
    if isinstance(value, Mapping) and {"least", "most"} <= set(value):
        return f"between {value['least']:g} and {value['most']:g}"
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)
