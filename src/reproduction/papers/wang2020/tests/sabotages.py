"""Functions that introduce deliberate errors for tests. Each function recomputes the affected tables from unmodified
tables.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reproduction.papers.wang2020 import beyond, comparison, draws, examples, releases
from reproduction.verdicts import in_process

SLUG = "wang2020"
SIZES = in_process.settings(__file__)
TABLES = (
    *("figure_1", "table_1", "table_2", "table_3", "table_4", "table_5", "precision", "release_checks", "many_zeros"),
    *("comparison", "privacy", "tie_fit", "readings"),
)
Tables = dict[str, pd.DataFrame]
Wrong = Callable[[pytest.MonkeyPatch, Tables], Tables]


def again(honest: Tables, *names: str, settings: Mapping[str, Any] | None = None) -> Tables:
    """Recompute the tables in `names` and the tables that depend on them, and return all tables."""
    above = {"releases": ("table_1", "table_3", "tie_rules", "tie_fit")}
    stale = {*names, *(table for name in names for table in above.get(name, ()))}
    kept = {name: table for name, table in honest.items() if name not in stale}
    return kept | in_process.tables_of(
        SLUG, in_process.settings(__file__, **(settings or {})), only=stale & {*TABLES}, made=kept
    )


def released_as(patch: pytest.MonkeyPatch, change: Callable[..., Any]) -> None:
    """Replace every simulated release by `change(released, counts, epsilon, rng)`, where `released` is an array of
    shape (algorithms, size, S).
    """
    true = releases.additive_counts.release_all

    def wrong(counts, *, rng, **settings):
        return change(true(counts, rng=rng, **settings), np.asarray(counts), settings["epsilon"], rng)

    patch.setattr(releases.additive_counts, "release_all", wrong)


def with_moments(honest: Tables, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Tables:
    """Return the tables that are computed if the exact moments are changed, as a deliberate error."""
    exact = change(honest["exact_moments"].copy())
    return again(honest | {"exact_moments": exact}, "table_1", "table_3")


def of(table: pd.DataFrame, *algorithms: str) -> "pd.Series[bool]":
    return table["algorithm"].isin(algorithms)


def remade(honest: Tables, exact: pd.DataFrame | None = None) -> Tables:
    """Recompute the releases, Tables 1 and 3 and the release checks while samplers are patched, and return all tables.
    The exact moments are given and are not recomputed.
    """
    return again(honest if exact is None else honest | {"exact_moments": exact}, "releases", "release_checks")


def posterior_of(
    patch: pytest.MonkeyPatch, change: Callable[[Any, dict[str, Any]], tuple[Any, dict[str, Any]]]
) -> None:
    """Call the function for the posterior of a pair of counts with modified arguments, as a deliberate error. The
    function `change(released, settings)` returns the modified arguments.
    """
    true = beyond.additive_counts.posterior

    def wrong(released, **settings):
        other, rest = change(released, settings)
        return true(other, **rest)

    patch.setattr(beyond.additive_counts, "posterior", wrong)


def cauchy(patch, honest):
    def change(released, counts, epsilon, rng):
        noise = np.clip(rng.standard_cauchy(released.shape) * 3, -1e6, 1e6)
        return np.maximum(counts + np.rint(noise).astype(np.int64), 0)

    released_as(patch, change)
    return remade(honest)


def every_second_again(patch, honest):
    released_as(patch, lambda released, *_: np.repeat(released[:, ::2], 2, axis=1)[:, : released.shape[1]])
    return again(honest, "release_checks")


def frozen(patch, honest):
    released_as(patch, lambda released, counts, epsilon, rng: np.repeat(released[:, :1], released.shape[1], axis=1))
    return remade(honest)


def identity(patch, honest):
    """Release the true counts without noise, and use the corresponding exact moments, as a deliberate error."""
    released_as(patch, lambda released, counts, epsilon, rng: np.broadcast_to(counts, released.shape))
    true = honest["table_3"].drop_duplicates("representative").set_index("representative")["true"]
    exact = honest["exact_moments"].copy()
    second = exact["example"] == "example_2"
    exact.loc[second, "exact_mean"] = exact.loc[second, "representative"].map(true).astype(float)
    return remade(honest, exact)


def at_least_one(patch, honest):
    """Release every count of 0 as 1, as a deliberate error."""
    released_as(patch, lambda released, counts, epsilon, rng: np.maximum(released, 1))
    exact = honest["exact_moments"].copy()
    exact.loc[(exact["representative"] == "N_min") & (exact["example"] == "example_1"), "exact_mean"] = 1.0
    return remade(honest, exact)


def one_for_all(patch, honest):
    """Replace the releases of all algorithms by releases of algorithm 2, as a deliberate error."""
    released_as(
        patch, lambda released, counts, epsilon, rng: np.repeat(released[2:3], 4, 0) if len(released) == 4 else released
    )
    exact = honest["exact_moments"].copy()
    second = exact[of(exact, "Algorithm 2")].set_index(["example", "representative"])
    for what in ("exact_mean", "exact_variance"):
        places = pd.MultiIndex.from_frame(exact[["example", "representative"]])
        exact[what] = second[what].reindex(places).to_numpy()
    return remade(honest, exact)


def noisy_counts(patch, honest):
    """Replace the counts released by algorithm 3 with noisy counts, as a deliberate error. The noisy counts do not add
    up to the total.
    """

    def change(released, counts, epsilon, rng):
        noise = beyond.TwoSidedGeometric(epsilon=epsilon, support=50)
        released = released.copy()
        released[-1] = np.maximum(noise.sample(np.broadcast_to(counts, released[-1].shape), rng=rng), 0)
        return released

    released_as(patch, change)
    return remade(honest)


def doubled_noise(patch, honest):
    """Check releases that have a tenth of the stated epsilon, and therefore ten times the noise, as a deliberate
    error.
    """
    return again(honest, "release_checks", settings={"release_checks": {"epsilon": 0.1}})


def no_noise(patch, honest):
    patch.setattr(draws.TwoSidedGeometric, "sample", lambda self, counts, rng: np.asarray(counts).copy())
    return again(honest, "release_checks")


def tied_noise(patch, honest):
    """Use the same noise for the noisy total and for the first component, as a deliberate error."""
    true, kept = draws.TwoSidedGeometric.sample, []

    def wrong(self, counts, rng):
        found = true(self, counts, rng=rng)
        if np.ndim(counts) == 2:
            kept[:] = [found[:, 0] - counts[:, 0]]
            return found
        return np.asarray(counts) + kept[0]

    patch.setattr(draws.TwoSidedGeometric, "sample", wrong)
    return again(honest, "release_checks")


def no_mode(patch, honest):
    """Move one unit from the first nonzero component of the mode by Theorem 1 to the last component, as a deliberate
    error.
    """
    true = draws.additive_release.modes

    def wrong(totals, weights, **settings):
        found = true(totals, weights, **settings)
        rows = np.arange(len(found))
        found[rows, np.argmax(found > 0, axis=1)] -= 1
        found[rows, -1] += 1
        return found

    patch.setattr(draws.additive_release, "modes", wrong)
    return again(honest, "release_checks")


def biased_moments(patch, honest):
    def change(exact):
        exact["exact_mean"] += 2.0
        exact["exact_variance"] *= 1.2
        return exact

    return with_moments(honest, change)


def swapped_classes(patch, honest):
    """Exchange the exact moments of algorithm 1 (ind) and algorithm 2, as a deliberate error."""

    def change(exact):
        names = {"Algorithm 1 (ind)": "Algorithm 2", "Algorithm 2": "Algorithm 1 (ind)"}
        return exact.assign(algorithm=exact["algorithm"].replace(names))

    return with_moments(honest, change)


def better_sums(patch, honest):
    """Reduce the exact variances of the counts that algorithm 1 (summed) releases by 10 %, as a deliberate error."""

    def change(exact):
        exact.loc[of(exact, "Algorithm 1 (summed)"), "exact_variance"] *= 0.9
        return exact

    return with_moments(honest, change)


def doubled_first(patch, honest):
    """Double the exact variances of the counts that both variants of algorithm 1 release, as a deliberate error."""

    def change(exact):
        exact.loc[of(exact, "Algorithm 1 (ind)", "Algorithm 1 (summed)"), "exact_variance"] *= 2
        return exact

    return with_moments(honest, change)


def shifted(patch, honest):
    posterior_of(patch, lambda released, rest: ([released[0] + 20, released[1] - 19], rest))
    return again(honest, "table_4", "table_5", "precision")


def no_window(patch, honest):
    posterior_of(patch, lambda released, rest: (released, rest | {"window": None}))
    return again(honest, "table_4", "table_5")


def swapped_algorithms(patch, honest):
    """Exchange the posteriors of algorithms 2 and 3, and the posteriors of the summed and the independent variant of
    algorithm 1, as a deliberate error.
    """
    other = {"2": "3", "3": "2", "1-independent": "1-summed", "1-summed": "1-independent"}
    posterior_of(patch, lambda released, rest: (released, rest | {"algorithm": other[rest["algorithm"]]}))
    return again(honest, "table_4", "table_5", "precision")


def always_third(patch, honest):
    """Use the posterior of algorithm 3 for all algorithms, as a deliberate error."""
    posterior_of(patch, lambda released, rest: (released, rest | {"algorithm": "3"}))
    return again(honest, "precision")


def dropped_normaliser(patch, honest):
    table = honest["precision"].copy()
    first = table["release"].str.startswith("Algorithm 1")
    table.loc[first, "probability"] *= 2
    return honest | {"precision": table}


def half_accounted(patch, honest):
    true = beyond.privacy_profiles.geometric_delta
    patch.setattr(
        beyond.privacy_profiles, "geometric_delta", lambda claim, **rest: true(claim, **rest | {"changed": 1})
    )
    return again(honest, "privacy")


def unbiased_zeros(patch, honest):
    def wrong(counts, components, **settings):
        return np.asarray(counts, dtype=float)[components], np.ones(len(components))

    patch.setattr(draws.release_moments, "moments", wrong)
    return again(honest, "many_zeros")


def exchanged_methods(patch, honest):
    """Exchange algorithms 1 and 3 in the comparison of methods, as a deliberate error."""
    true = comparison.release_from_noisy
    other = {"1-independent": "3", "3": "1-independent"}

    def wrong(noisy, totals, *, algorithm, **settings):
        return true(noisy, totals, algorithm=other.get(algorithm, algorithm), **settings)

    patch.setattr(comparison, "release_from_noisy", wrong)
    return again(honest, "comparison")


def crowded(patch, honest):
    """Reduce the counts of Example 1 to a third, as a deliberate error. The counts are then no longer uniform up to
    1000.
    """
    true = examples.example_1
    patch.setattr(examples, "example_1", lambda vector: true(vector) // 3)
    return again(honest, "figure_1")


def not_numbers(patch, honest):
    wrong = {}
    for name, table in honest.items():
        numbers = table.select_dtypes("float").columns.difference(["window", "claimed", "delta", "n"])
        wrong[name] = table.assign(**dict.fromkeys(numbers, np.nan)) if name != "tie_fit" else table
    return wrong
