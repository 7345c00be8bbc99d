"""Check that verdicts change if a sampler, a distribution, a mechanism or a table is replaced with a wrong version."""

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._posteriors.counts import laplace_multinomial
from dpmultinomial._posteriors.counts.dirichlet_mixture import DirichletMixture
from reproduction.paper import discover
from reproduction.papers.balmat2018 import beyond, figure_1, figure_2, laws, tables
from reproduction.papers.balmat2018.algorithms import enumerated
from reproduction.verdicts import drawn, in_process
from reproduction.verdicts.agreement import JUDGED, read_published

from . import sabotage_times as times

pytestmark = pytest.mark.sabotage

SLUG = "balmat2018"
JUDGED_FROM = (
    *("table_1", "table_1_categories", "table_2", "r_timings", "equation_3", "privacy", "figure_1"),
    *(
        "figure_1_laws",
        "figure_1_moments",
        "trapped",
        "figure_2",
        "figure_2_digits",
        "figure_2_tiny_p",
        "figure_2_laws",
        "figure_3",
    ),
    *("figure_3_growth", "calibration", "calibration_coverage"),
)
SIZES = in_process.settings(__file__)
PANELS = "abcd"
EXACT = {f"panel {p}: r follows the posterior, exact draws" for p in PANELS}
GIBBS = {f"panel {p}: r follows the posterior, Gibbs draws" for p in PANELS}
MISPRINT = "row 5: M!/((M - 2)!0!2!) is the coefficient"
COEFFICIENTS = "the coefficients are M!/(S1! S0! Serr!)"
COLUMN = "last column: (M - k + 1)/(k - S0), and the last row of a block copies its first"
WORDS = "the coefficient of row i is that of row i - k times (M - k + 1)/k"
LISTINGS = {f"listing {n} gives the same posterior in every run" for n in ("5.2", "6.4")}
NOISES = {f"privacy cost of the noise in the {n} at epsilon = 1" for n in ("text", "listings")}
JOINT = {f"equation (3) is the joint distribution: mean of r{given}" for given in ("", " given S")}
DIPS = {f"dip near the end points of {p}, digits" for p in figure_2.PROBABILITIES}
STAGES = {f"{p} follows the three stages" for p in figure_2.PROBABILITIES}
FOOTNOTE = "the digits are computed as in footnote 12"
TWELVE = "all differences are beyond the twelfth digit"
GROWTH = "the improved algorithm's time grows linearly in M"
FASTER = "the improved algorithm is faster at every M"
FIGURE_2 = ("figure_2_digits", "figure_2_laws")

real_table, real_exact, real_gibbs = (
    tables.compositions.multinomial_table,
    laplace_multinomial.exact,
    laplace_multinomial.gibbs,
)
real_digits, real_move, real_table_1 = figure_2.composition_tables.fewest_digits, laws._last_move, tables.table_1


def coefficients(change):
    """Return a function that computes a table of multinomial coefficients with deliberately changed values."""

    def table(total, categories=3):
        counts, values = real_table(total, categories)
        return counts, change(counts, values.copy(), total)

    return table


def row_5_halved(counts, values, total):
    values[4] /= 2
    return values


def by_the_words(counts, values, total):
    for i in range(1, len(values)):
        k = total - counts[i, 0]
        values[i] = values[i - k] * (total - k + 1) / k
    return values


def other_model(change):
    """Return a function that computes the exact posterior with a changed noise scale or prior, as a deliberate
    error.
    """
    return lambda noisy, *, total, scale, alpha: real_exact(noisy, total=total, **change(scale, alpha))


def without_denominator(p, rows, log_noise, real=beyond.given_p):
    conditional, z = real(p, rows, log_noise)
    return conditional * z[:, None], z


def digits(change):
    def fewest(*arguments):
        found, skipped = real_digits(*arguments)
        return change(found), skipped

    return fewest


def carried(p, counts, *, total, scale, alpha=1.0):
    law = real_exact([15, 30, 5], total=total, scale=2.0, alpha=alpha)
    return np.full(len(p), law.mean(**figure_1.SHARE)), np.full(len(p), law.variance(**figure_1.SHARE))


def not_shuffled(size, *, rng):
    first = rng.random(size)
    second = rng.random(size) * (1 - first)
    return np.column_stack([first, second, 1 - first - second])


def crowded_at_the_top(size, *, rng):
    perr = rng.uniform(0.8, 0.9, size)
    p1 = (1 - perr) * rng.random(size)
    return np.column_stack([p1, 1 - perr - p1, perr])


def table_1_with(**columns):
    return lambda *, total: real_table_1(total=total).assign(**columns)


# name: (replacements, tables that are recomputed, synthetic tables, all quantities whose verdicts must change)
SABOTAGES = {
    "prior in place of the posterior's draws": (
        [(DirichletMixture, "sample", lambda self, size, *, rng: rng.dirichlet(np.ones(3), size))],
        ["figure_1_laws"], {}, EXACT,
    ),
    "Cauchy draws": (
        [(laws, "share", lambda p: np.clip(np.random.default_rng(1).standard_cauchy(len(p)) / 9 + p.mean(), 0, 1))],
        ["figure_1_laws"], {}, EXACT | GIBBS,
    ),
    "frozen chains": (
        [(laplace_multinomial, "gibbs", lambda *a, **k: real_gibbs(*a, **(k | {"frozen": True})))],
        ["figure_1_laws", "figure_1_moments"], {}, GIBBS | LISTINGS,
    ),
    "listings with p carried": ([(enumerated, "moments_given", carried)], ["figure_1_moments"], {}, LISTINGS),
    "prior doubled": (
        [(laplace_multinomial, "exact", other_model(lambda scale, alpha: {"scale": scale, "alpha": 2 * alpha}))],
        ["figure_1_moments"], {}, {"without noise, the posterior has a closed form"},
    ),
    "curves of another prior": (
        [(laplace_multinomial, "exact", other_model(lambda scale, alpha: {"scale": scale, "alpha": 1.02 * alpha}))],
        ["figure_1"], {}, {"the curves are the posterior's density"},
    ),
    "alpha forgotten": (
        [(laws, "_last_move", lambda rows, static, alpha, *rest: real_move(rows, static, 0.0, *rest))],
        ["trapped"], {}, {"alpha keeps draws from being trapped"},
    ),
    "alpha always there": (
        [(laws, "_last_move", lambda rows, static, alpha, *rest: real_move(rows, static, 1.0, *rest))],
        ["trapped"], {}, {"alpha keeps draws from being trapped", "step 6.4 without alpha keeps moving"},
    ),
    "scales swapped": (
        [(beyond, "_DISTANCE", {beyond.TEXT: 2.0, beyond.LISTINGS: 1.0})], ["privacy"], {}, NOISES,
    ),
    "one draw kept": (
        [(beyond, "KEPT", 0.02)], ["privacy"], {}, {"starting from the true counts preserves the privacy guarantee"},
    ),
    "coefficients doubled": (
        [(tables.compositions, "multinomial_table", coefficients(lambda counts, values, total: 2 * values))],
        ["table_1", "table_1_categories"], {}, {COEFFICIENTS, "the table extends to any number of categories"},
    ),
    "row 5 halved": (
        [(tables.compositions, "multinomial_table", coefficients(row_5_halved))],
        ["table_1"], {}, {COEFFICIENTS, COLUMN, MISPRINT},
    ),
    "coefficients by the rule in words": (
        [(tables.compositions, "multinomial_table", coefficients(by_the_words))],
        ["table_1"], {}, {COEFFICIENTS, COLUMN, WORDS},
    ),
    "a row too few": (
        [(tables, "table_1", lambda *, total: real_table_1(total=total).iloc[:-1])],
        ["table_1"], {}, {"rows at M = 50"},
    ),
    "NaN in a coefficient": (
        [(tables, "table_1", table_1_with(coefficient=lambda t: t["coefficient"].where(t["i"] != 7)))],
        ["table_1"], {}, {COEFFICIENTS, COLUMN},
    ),
    "k by row": (
        [(tables, "table_1", table_1_with(k=lambda t: t["i"] - 1))],
        ["table_1"], {}, {COLUMN, "the integers in the ratio are linear in the row index"},
    ),
    "denominator dropped": (
        [(beyond, "given_p", without_denominator)], ["equation_3"], {},
        JOINT | {"equation (4) is the distribution of S"},
    ),
    "closed form at another scale": (
        [(beyond.laplace_multinomial, "exact", other_model(lambda scale, alpha: {"scale": 2 * scale, "alpha": alpha}))],
        ["equation_3"], {}, {"numerical evaluation is unavoidable"},
    ),
    "two digits lost": (
        [(figure_2.composition_tables, "fewest_digits", digits(lambda found: found - 2))],
        ["figure_2"], {}, {f"{TWELVE}, no p below 1e-6", FOOTNOTE},
    ),
    "two percent of the digits lost": (
        [(figure_2.composition_tables, "fewest_digits", digits(lambda found: 0.98 * found))],
        ["figure_2"], {}, {FOOTNOTE},
    ),
    "14 digits everywhere": (
        [(figure_2.composition_tables, "fewest_digits", digits(lambda found: np.full_like(found, 14.0)))],
        ["figure_2", "figure_2_tiny_p"], {}, DIPS | {f"{TWELVE}, at any p", FOOTNOTE},
    ),
    "NaN digits": (
        [(figure_2.composition_tables, "fewest_digits", digits(lambda found: found * np.nan))],
        ["figure_2"], {}, DIPS | {f"{TWELVE}, no p below 1e-6", FOOTNOTE},
    ),
    "triplets not shuffled": (
        [(figure_2, "triplets", not_shuffled)], ["figure_2"], {}, STAGES | {"the points become sparser as p increases"},
    ),
    "one p always large": (
        [(figure_2, "triplets", crowded_at_the_top)], ["figure_2"], {},
        STAGES | DIPS | {"the points become sparser as p increases"},
    ),
    "methods of Table 2 reversed": (
        [], ["table_2"], {"r_timings": times.in_r(ratios={1: 1.0, 2: 1.4, 3: 1.8})},
        {"logarithms are faster than powers", "compiled C is faster than both R methods"},
    ),
    "calls reversed": (
        [], [], {"r_timings": times.in_r(calls={
            **{"dmultinom": 0.002, "product": 0.02, "coefficient": 0.0018},
            **{"weights by apply": 0.04, "weights in C": 0.2, "weights in C by powers": 0.04},
        })},
        {"dmultinom takes longer than the bare product", "the coefficients take most of the time of dmultinom",
         "in C, exp of logarithms is faster than powers"},
    ),
    "linear table": (
        [], ["figure_3", "figure_3_growth"],
        {"r_timings": times.in_r(times.growing(times.IMPROVED, lambda m: 0.1 + 0.02 * m))}, {GROWTH},
    ),
    "posteriors of twice the noise": (
        [(laplace_multinomial, "exact", other_model(lambda scale, alpha: {"scale": 2 * scale, "alpha": alpha}))],
        ["calibration", "calibration_coverage"], {}, {"the integral transform of the true r is uniform, exact"},
    ),
    "chains that do not move": (
        [(laplace_multinomial, "gibbs", lambda *a, **k: real_gibbs(*a, **(k | {"frozen": True})))],
        ["calibration", "calibration_coverage"], {}, {"the integral transform of the true r is uniform, gibbs"},
    ),
    "faster at large M": (
        [], ["figure_3", "figure_3_growth"],
        {"r_timings": times.in_r(times.growing(times.IMPROVED, lambda m: 0.9 - 0.01 * m))},
        {GROWTH},
    ),
    "slow table": (
        [], ["figure_3", "figure_3_growth"],
        {"r_timings": times.in_r(times.growing(times.IMPROVED, lambda m: 3 + 0.03 * m * m))}, {FASTER},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def honest():
    made = in_process.tables_of(SLUG, SIZES, only=JUDGED_FROM, made={"r_timings": times.in_r(), **times.here()})
    return made | times.here()


@pytest.fixture(scope="module")
def judge(honest):
    return in_process.Judge(SLUG, honest)


@pytest.fixture(scope="module")
def flips(honest, judge):
    """Return a mapping from each deliberate error to the quantities whose verdicts change. Each replacement is computed
    once.
    """
    before, found = judge.verdicts, {}

    def of(name):
        if name not in found:
            patches, anew, made_up, _ = SABOTAGES[name]
            with pytest.MonkeyPatch.context() as patch:
                for where, what, wrong in patches:
                    patch.setattr(where, what, wrong)
                kept = {key: table for key, table in honest.items() if key not in anew} | made_up
                after = judge(in_process.tables_of(SLUG, SIZES, only=JUDGED_FROM, made=kept))
            found[name] = set(before.index[before != after].get_level_values("quantity"))
        return found[name]

    return of


def test_the_honest_run_leaves_nothing_open(judge):
    verdicts = judge.verdicts
    assert set(verdicts) <= {"reproduced", "differs", "machine_dependent", "input", "derived", "not_stated"}
    assert (verdicts == "differs").sum() == 15


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_sabotage_flips_what_it_touches(name, flips):
    assert flips(name) == SABOTAGES[name][3]


def test_every_judged_row_is_flipped_by_a_sabotage(flips):
    printed = read_published(discover()[SLUG].folder / "published.tsv")
    silent = (printed["kind"] == "number") & printed["value"].isna()
    judged = set(printed.loc[printed["kind"].isin(JUDGED) & ~silent, "quantity"])
    assert judged - set().union(*map(flips, SABOTAGES)) == set()


def test_what_is_drawn_is_judged(honest):
    assert list(drawn.unjudged(discover()[SLUG], honest, SIZES)) == []


def test_without_r_its_rows_are_not_run_and_nothing_else_changes(honest, judge):
    missing = pd.DataFrame({"what": ["figure_3", "table_2", "calls"], "method": [times.STANDARD, 1, "dmultinom"]})
    none = missing.assign(seconds=np.nan, note="Rscript was not found", environment="R")
    kept = {key: table for key, table in honest.items() if key not in ("table_2", "figure_3", "figure_3_growth")}
    made = in_process.tables_of(
        SLUG, SIZES, only=JUDGED_FROM, made=kept | {"r_timings": none.reindex(columns=list(honest["r_timings"]))}
    )
    before, after = judge.verdicts, judge(made)
    changed = after[before != after]
    assert set(changed) == {"not_run"}
    assert set(changed.index.get_level_values("artefact")) == {"table_2", "r_timings", "figure_3", "figure_3_growth"}
