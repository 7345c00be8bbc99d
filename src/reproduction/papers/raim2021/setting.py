"""The two targets of the slides' last figures, xi_mean and xi_sse, from one group of settings."""

from typing import Any

from dpmultinomial._posteriors.censored import direct_sampling as ds

TARGETS = ("xi_mean", "xi_sse")


def weight(target: str, *, z_mean: float, z_sse: float, mu: float, sigma2: float, count: int) -> Any:
    """The weight function of a target; `count` is s_c."""
    if target == "xi_mean":
        return ds.NormalWeight(z_mean, mu=mu, sigma2=sigma2, count=count)
    return ds.GammaWeight(z_sse, sigma2=sigma2, count=count)


def exact(target: str, scale: float, *, z_mean: float, z_sse: float, mu: float, sigma2: float, count: int) -> Any:
    """The closed-form law of a target."""
    if target == "xi_mean":
        return ds.exact_normal(z_mean, mu=mu, sigma2=sigma2, count=count, scale=scale)
    return ds.exact_gamma(z_sse, sigma2=sigma2, count=count, scale=scale)
