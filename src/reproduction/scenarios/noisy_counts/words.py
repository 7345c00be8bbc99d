"""Sentences of noisy counts."""

from collections.abc import Mapping
from math import ceil, exp, log
from typing import Any

from ..words import listed, prior_words

_LAWS = {
    "laplace": "Laplace noise of scale {scale}",
    "discrete_laplace": "discrete Laplace noise of scale {scale}",
    "gaussian": "Gaussian noise with standard deviation {sd}",
    "discrete_gaussian": "discrete Gaussian noise with parameter sigma {sigma}",
    "exact": "no noise at all",
    "table": "a perturbation by a published table of probabilities",
}


def assumed(point: Mapping[str, Any]) -> list[str]:
    """How the counts were made, and what is public."""
    found = [f"Every count has {noise(point.get('noise') or {})}, independently."]
    if near := within(point.get("noise") or {}):
        found.append(f"Each published count is within {near} of the true one with probability 95 %.")
    if "tree" in point:
        return [*found, *_tree(point["tree"])]
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


def _tree(tree: Mapping[str, Any]) -> list[str]:
    """What the counts of a tree are, and what stands beside them."""
    levels = listed([f"{level['nodes']:,} at level {level['level']}" for level in tree["levels"]])
    found = [f"The counts are those of a tree, in which each is the sum of those below it: {levels}."]
    several, none = tree["measured_more_than_once"], tree["not_measured"]
    if several or none:
        found.append(f"Counts that were measured more than once: {several:,}; that were not measured: {none:,}.")
    least = "estimate and standard deviation of the same measurements, without a prior and without 0 as a bound"
    return [*found, f"Least squares stand beside: {least}."]


def within(words: Mapping[str, Any]) -> str:
    """How far noise takes a count with probability 95 % at most; empty where it differs by row or is modified."""
    scale = words.get("scale")
    if set(words) != {"law", "scale"} or not isinstance(scale, (int, float)):
        return ""
    if words["law"] == "laplace":  # P(|noise| > x) = exp(-x/scale)
        return f"{scale * log(20):.3g}"
    if words["law"] == "discrete_laplace":  # P(|noise| > k) = 2 a^(k + 1)/(1 + a)
        a = exp(-1 / scale)
        return f"{max(ceil(log(0.05 * (1 + a) / 2) / log(a)) - 1, 0)}"
    return ""


def prior(words: Mapping[str, Any]) -> str:
    """A prior in words, and who chose it; of several groups each."""
    if "groups" in words:
        parts = [f"{name}: {_prior(part)}" for name, part in words["groups"].items()]
        return f"{'; '.join(parts)} ({words['chosen']})"
    return _prior(words) + (f" ({words['chosen']})" if "chosen" in words else "")


def _prior(words: Mapping[str, Any]) -> str:
    law = words.get("law")
    if law == "splits":
        each = listed([f"{value:.4g} at level {level}" for level, value in words.get("concentrations", {}).items()])
        fitted = words.get("fitted_on")
        how = f", fitted on {fitted['nodes']:,} of {fitted['of']:,} counts" if fitted else ""
        return (
            "the count of the root is as likely to be one number as any other, and a count is split among those below "
            f"it by a Dirichlet-multinomial law, with concentration {each}{how}"
        )
    if law == "fitted":
        return f"counts follow a distribution fitted to {words['fitted_on']:,} of them, with mean {words['mean']:.4g}"
    if law == "multinomial":
        return "every total is as likely as any other, and rates have a Dirichlet law"
    if law == "flat":
        return "every count is as likely as any other"
    if law == "1/(1+n)":
        return "a count n has weight 1/(1 + n)"
    if law == "table":
        return f"one of {words['counts']:,} listed counts, with their probabilities"
    return prior_words({key: value for key, value in words.items() if key not in ("rows", "chosen")})


def noise(words: Mapping[str, Any]) -> str:
    """A law of noise in words."""
    if "laws" in words:
        return "noise of a law of its own: " + "; ".join(
            f"{noise({k: v for k, v in law.items() if k != 'rows'})} ({law['rows']} counts)" for law in words["laws"]
        )
    text = _LAWS.get(str(words.get("law")), str(words.get("law")))
    shown = {key: _number(value) for key, value in words.items()}
    text = text.format(**{"scale": "as stated", "sigma": "as stated", "sd": "as stated", **shown})
    after = [made(words[key]) for key, made in _AFTER.items() if key in words]
    return f"{text}, then {listed(after)}" if after else text


_AFTER = {
    "rounded": lambda step: f"rounding to multiples of {step['step'] if isinstance(step, Mapping) else step:g}",
    "clipped": lambda limit: f"{limit['at']:g} for all that is below it",
    "threshold": lambda least: f"no value where it is below {least:g}",
}


def _number(value: Any) -> str:
    if isinstance(value, Mapping) and {"smallest", "largest"} <= set(value):
        return f"between {value['smallest']:g} and {value['largest']:g}"
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)
