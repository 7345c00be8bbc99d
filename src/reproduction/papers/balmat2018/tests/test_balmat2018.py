"""Test the functions for this paper on small inputs, and the rules for configurations that the schema cannot
express.
"""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import compositions, laplace_multinomial
from dpmultinomial._seeding import stream
from reproduction import evidence
from reproduction.papers.balmat2018 import (
    beyond,
    calibration,
    errata,
    figure_1,
    figure_2,
    laws,
    speed,
    tables,
    validation,
)
from reproduction.papers.balmat2018.algorithms import composition_tables, enumerated
from reproduction.verdicts import agreement

PUBLISHED = Path(__file__).parents[1] / "published.tsv"


def test_every_row_of_table_1_follows_from_its_step():
    for total in (0, 1, 2, 9, 50):
        table = tables.table_1(total=total)
        values = np.append([1.0], table["coefficient"])
        steps = values[table["from"]] * table["multiplier"] / table["divisor"]
        assert np.array_equal(steps, table["coefficient"])
        assert table["exact"].map(int).sum() == 3**total
        assert (table["relative_error"] == 0).all() == (total <= 37)


def test_relative_errors_have_no_sign():
    """Check that relative errors are non-negative. The numbers 1.5 and 2.5 both have a relative error of 1/4 from 2,
    and the float64 next to 2^53 + 1 has a relative error of 1/(2^53 + 1).
    """
    values = np.array([1.5, 2.5, 2.0, 2.0**53])
    found = tables._relative_errors(values, [2, 2, 2, 2**53 + 1])
    assert found.tolist() == [0.25, 0.25, 0.0, 1 / (2**53 + 1)]


def test_table_accuracy_ends_in_a_note_not_in_a_number():
    table = tables.table_1_accuracy(totals=[37, 648]).set_index(["total", "method"])
    assert table.loc[(37, "recurrence"), "all_exact"]
    assert np.isnan(table.loc[(648, "recurrence"), "largest_error"])
    assert "647" in table.loc[(648, "recurrence"), "note"]
    assert table.loc[(648, "log table"), "largest_error"] < 2e-12


def test_triplets_are_probabilities():
    p = figure_2.triplets(1000, rng=stream(1, "triplets"))
    assert (p > 0).all()
    assert p.sum(axis=1) == pytest.approx(np.ones(1000), abs=1e-15)
    assert p.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=0.05)


def test_digits_against_50_digit_arithmetic():
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 50
    counts, table = compositions.multinomial_table(20)
    exact = tables.exact_coefficients(counts)
    p = figure_2.triplets(3, rng=stream(2, "digits"))
    ours, skipped = composition_tables.fewest_digits(counts, table, exact, p)
    for row, triplet in zip(ours, p, strict=True):
        errors = np.zeros(2)
        for s, c, e in zip(counts.tolist(), table, exact, strict=True):
            true = e * mpmath.mpf(triplet[0]) ** s[0] * mpmath.mpf(triplet[1]) ** s[1] * mpmath.mpf(triplet[2]) ** s[2]
            by_exp = c * np.exp(s[0] * np.log(triplet[0]) + s[1] * np.log(triplet[1]) + s[2] * np.log(triplet[2]))
            by_pow = c * triplet[0] ** s[0] * triplet[1] ** s[1] * triplet[2] ** s[2]
            errors = np.maximum(errors, [float(abs(v - true) / true) for v in (by_exp, by_pow)])
        assert row[[1, 4]] == pytest.approx(-np.log10(errors), abs=0.2)  # exp and pow may differ in the last bit
    assert not skipped.any()


def test_digits_of_the_paper_hold_and_fail_where_they_should():
    frame = figure_2.simulate(300, total=50, rng=stream(3, "figure_2")).assign(block=0)
    digits = figure_2.digits(frame, total=50).set_index(["formulation", "against", "scope"])["fewest"]
    assert 12.5 < digits["table_exp", "lgamma (dmultinom)", "min p > 1e-6"] < 13.2
    assert digits["table_pow", "exact", "min p > 1e-6"] >= 14.9
    tiny = figure_2.tiny_p(total=50, exponents=[2, 10]).set_index("p1")
    assert tiny.loc[1e-2, "table_exp"] > 12.5
    assert tiny.loc[1e-10, "table_exp"] < 1 < 12 < tiny.loc[1e-10, "lgamma"]


def test_rows_below_the_normal_range_are_counted_not_judged():
    counts, table = compositions.multinomial_table(12)
    p = np.array([[1e-30, 0.5, 0.5 - 1e-30], [0.2, 0.3, 0.5]])
    digits, skipped = composition_tables.fewest_digits(counts, table, tables.exact_coefficients(counts), p)
    assert skipped.tolist() == [int((counts[:, 0] >= 11).sum()), 0]
    assert (digits > 10).all()


def test_compiled_products_equal_numpy():
    counts = compositions.multinomial_table(15)[0]
    p = figure_2.triplets(len(counts), rng=stream(4, "products"))
    assert composition_tables.product_each(counts, p) == pytest.approx(np.prod(p**counts, axis=1), rel=1e-12, abs=0)
    assert composition_tables.product_block(counts, p[0]) == pytest.approx(
        np.prod(p[0] ** counts, axis=1), rel=1e-12, abs=0
    )
    assert composition_tables.product_of(1, 2, 3, 0.2, 0.3, 0.5) == pytest.approx(0.2 * 0.3**2 * 0.5**3, rel=1e-14)


def timings():
    python = speed.figure_3_timings(
        totals=[4, 6, 8],
        epsilons=[1.0],
        vectors=2,
        slow_vectors=1,
        standard_iterations=1,
        repeats=1,
        rng=stream(5, "time"),
    )
    table_2 = speed.table_2_timings(total=5, products_each=100, repeats=2, rng=stream(5, "time"))
    no_r = speed.r_timings(
        rscript="",
        script=None,
        root_seed=1,
        totals=[4],
        epsilons=[1.0],
        iterations=1,
        products_each=1,
        vectors=1,
        repeats=1,
    )
    return python, table_2, no_r


def test_without_r_the_tables_say_so():
    python, table_2, no_r = timings()
    figure = speed.figure_3(figure_3_timings=python, r_timings=no_r)
    missing = figure[figure["median"].isna()]
    assert set(missing["method"]) == {"standard (R dmultinom)", "table (R and C)"}
    assert (missing["note"] == speed.NOT_FOUND).all()
    grown = speed.figure_3_growth(figure_3=figure).set_index("method")
    assert grown.loc["table (compiled)", "times_table"] == 1
    printed = agreement.read_published(PUBLISHED)
    ratios = speed.table_2(table_2_timings=table_2, r_timings=no_r, published=printed)
    assert set(ratios["environment"]) == {"Python", "paper"}
    assert ratios.loc[ratios["variant"] == "published", "ratio"].tolist() == [0.47, 0.29]


def test_times_below_the_clock_resolution_give_no_ratio():
    """Check the ratios of computing times to method 1 if some measured times are 0, that is, below the clock
    resolution.
    """
    times = pd.DataFrame(
        [
            *({"method": 1, "repeat": i, "seconds": s} for i, s in enumerate([0.0, 0.002, 0.004])),
            *({"method": 2, "repeat": i, "seconds": s} for i, s in enumerate([0.001, 0.001, 0.004])),
            *({"method": 3, "repeat": i, "seconds": 0.0} for i in range(3)),
        ]
    ).assign(setup="own p", environment="R", what="table_2")
    printed = agreement.read_published(PUBLISHED)
    table = speed.table_2(table_2_timings=times.iloc[:0], r_timings=times, published=printed)
    own = table[table["variant"] == "as_written"].set_index("method")
    assert own["repeats"].tolist() == [2, 2, 0]
    assert own.loc[2, "ratio"] == pytest.approx((0.5 + 1.0) / 2)
    assert np.isnan(own.loc[3, "ratio"])


def test_an_r_script_that_fails_is_an_error_not_a_missing_number(tmp_path):
    script = tmp_path / "bad.sh"
    script.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    script.chmod(0o755)
    with pytest.raises(RuntimeError, match=r"exit status 3(.|\n)*broken"):
        speed.r_timings(
            rscript=str(script),
            script=script,
            root_seed=1,
            totals=[4],
            epsilons=[1.0],
            iterations=1,
            products_each=1,
            vectors=1,
            repeats=1,
        )


def test_realised_share_and_six_categories_add_up():
    table = beyond.realised_share(settings={"a": [2, 3, 1]}, total=6, epsilon=1.0)
    assert table.loc[table["kind"] == "share", "y"].sum() == pytest.approx(1)
    six = beyond.six_categories(counts=[4, 3, 2, 1, 0, 2], epsilon=1.0, rng=stream(6, "six"))
    assert six.loc[six["kind"] == "mean", "y"].sum() == pytest.approx(1, abs=1e-12)
    for _, rows in six[six["kind"] == "density"].groupby("category"):
        assert np.sum((rows["y"].to_numpy()[1:] + rows["y"].to_numpy()[:-1]) / 2 * np.diff(rows["x"])) == pytest.approx(
            1, abs=1e-3
        )


def test_laplace_mechanism_states_its_law_and_cost():
    mechanism = Laplace.calibrated(0.5, sensitivity=2.0)
    assert (mechanism.scale, mechanism.variance(), mechanism.epsilon(sensitivity=2.0)) == (4.0, 32.0, 0.5)
    grid = np.linspace(-200, 200, 400_001)
    assert np.sum(mechanism.pdf(grid)) * (grid[1] - grid[0]) == pytest.approx(1, abs=1e-6)
    with pytest.raises(ValueError, match="epsilon must be finite and > 0"):
        Laplace.calibrated(-1.0, sensitivity=2.0)


@pytest.mark.parametrize("number", [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13])
def test_each_erratum_shows_its_evidence(number):
    text = evidence.show(errata.ERRATA, number, rng=stream(8, "errata", number), size=10)
    expected = {
        1: "is 1 as written and 10 if p is carried over",
        2: "100 % as printed",
        3: "2.45e-04",
        5: "the privacy cost is 2 for the scale in the text",
        6: "too many indices",
    }
    expected |= {
        7: "[1.0, 1.0, 1.0]",
        8: "nan",
        9: "smallest number of correct digits is 8.4",
        10: "up to M = 652",
        11: "cbind",
        12: "returns",
        13: "is 0.5000 under (3)",
    }
    assert expected[number] in text
    if number == 2:
        assert float(text.partition("as printed and ")[2].partition(" %")[0]) < 50
    # at M = 200, where exp(.) is 0, the probability is 0: a relative error of 1, and -log10(1) = 0 digits
    if number == 9:
        assert text.count("smallest number of correct digits is 0.0") == 1
        assert "-0.0" not in text
    if number == 12:
        first, second = (float(text.partition(mark)[2][:5]) for mark in ("mean of r is ", "mean of p1 is "))
        assert first != second
    if number in (1, 2, 6, 7, 8, 11) and shutil.which("Rscript"):
        assert "Output of R: " in text


def test_unknown_erratum_is_refused():
    with pytest.raises(ValueError, match="must be one of 1, 2"):
        evidence.show(errata.ERRATA, 14, rng=stream(8, "errata"), size=10)


def test_frozen_runs_scatter_and_exact_ones_do_not():
    table = figure_1.figure_1_moments(
        settings={"a": [5, 40, 5]},
        total=50,
        epsilon=1.0,
        draws=200,
        burn_in=20,
        chains=3,
        listing_runs=30,
        rng=stream(9, "f"),
    ).set_index(["method", "quantity"])
    assert table.loc[("listing 6.4 (p frozen)", "r"), "spread"] > 0.1
    assert table.loc[("gibbs", "r"), "spread"] < 0.02
    assert table.loc[("exact", "r"), "mode"] == pytest.approx(0.1092, abs=1e-4)


def test_interpreted_methods_run_on_fewer_vectors():
    """Check the number of measured times for each method, for two vectors of counts and three values of M. Each
    compiled or exact method has six times, and each interpreted method has three.
    """
    python, _, _ = timings()
    interpreted = {"standard (Python)", "vectorised, no table (NumPy)", "table (NumPy)"}
    sizes = python.groupby("method").size()
    assert {name for name in sizes.index if sizes[name] == 3} == interpreted
    assert sizes.drop(list(interpreted)).to_dict() == dict.fromkeys(
        ("table (compiled)", "convolution Gibbs", "exact draws"), 6
    )
    scaled = python.groupby("method")["scaled"].agg(set)
    assert {name for name, found in scaled.items() if found == {True}} == interpreted - {"table (NumPy)"}
    assert (python["rows"] == (python["total"] + 1) * (python["total"] + 2) / 2).all()


def test_a_mode_by_histogram_is_the_mean_midpoint_of_the_fullest_cells():
    """Check that the estimated mode is the mean of the midpoints of the histogram bins with the most draws. The four
    cells of width 1 from 10 to 14 have the counts 2, 5, 4 and 1. The mode is 11.5 from the fullest cell, and 12 from
    the two fullest cells.
    """
    draws = np.repeat([10.0, 11.2, 12.5, 14.0], [2, 5, 4, 1])
    assert figure_1.frequency_mode(draws, 4, 1) == pytest.approx(11.5)
    assert figure_1.frequency_mode(draws, 4, 2) == pytest.approx(12.0)


def section(**changes):
    setting = {"settings": {"a": [5, 40, 5]}, "total": 50}
    names = ("figure_1", "figure_1_laws", "figure_1_moments", "realised_share", "trapped")
    plain = {"choosing_epsilon": {"probabilities": [0.2, 0.3, 0.5]}, **dict.fromkeys(names, setting)}
    return plain | changes


def test_what_is_right_is_taken():
    assert list(validation.mistakes(section())) == []


@pytest.mark.parametrize("name", ["figure_1", "figure_1_laws", "figure_1_moments", "realised_share", "trapped"])
@pytest.mark.parametrize("counts", [[5, 40, 6], [0, 0, 50]])
def test_settings_add_up_and_have_a_share(name, counts):
    ((path, text),) = validation.mistakes(section(**{name: {"settings": {"a": counts}, "total": 50}}))
    assert path == f"{name}.settings.a"
    assert f"must sum to {name}.total (50), and S1 + S0 must be > 0" in text


def test_probabilities_add_up_to_one():
    ((path, text),) = validation.mistakes(section(choosing_epsilon={"probabilities": [0.2, 0.3, 0.6]}))
    assert (path, text) == ("choosing_epsilon.probabilities", "[0.2, 0.3, 0.6] must sum to 1, got 1.1")


SETTINGS, EPSILON = {"a": [5, 4, 3]}, 0.5
RNG = stream(1, "noise")
CHAIN = {"draws": 40, "burn_in": 5}
MAKE = {
    "figure_1": lambda: figure_1.figure_1(
        settings=SETTINGS, total=12, epsilon=EPSILON, **CHAIN, frozen_runs=1, noise_draws=1, bins=5, rng=RNG
    ),
    "moments": lambda: figure_1.figure_1_moments(
        settings=SETTINGS, total=12, epsilon=EPSILON, **CHAIN, chains=2, listing_runs=2, rng=RNG
    ),
    "laws": lambda: laws.figure_1_laws(
        settings=SETTINGS, total=12, epsilon=EPSILON, exact_draws=50, **CHAIN, chains=2, thin=1, rng=RNG
    ),
    "realised share": lambda: beyond.realised_share(settings=SETTINGS, total=12, epsilon=EPSILON),
    "six categories": lambda: beyond.six_categories(counts=[3, 2, 1], epsilon=EPSILON, rng=RNG),
    "equation 3": lambda: beyond.equation_3(counts=[5, 4, 3], epsilon=EPSILON, simulations=10, rng=RNG),
    "calibration": lambda: calibration.simulate(
        1, total=12, epsilons=[EPSILON], gibbs_draws=20, burn_in=5, rng=RNG
    ),
}  # fmt: skip
# in addition to 2/epsilon = 4: no noise (1e-9), noise without information (1e12), and half of the scale, which the
# calibration rejects
BESIDE = {"moments": {1e-9, 1e12}, "laws": {1e12}, "calibration": {2.0}}


@pytest.mark.parametrize("name", MAKE)
def test_posteriors_know_noise_of_scale_two_over_epsilon(name, monkeypatch):
    scales = set()

    def recorded(module, what):
        right = getattr(module, what)

        def spy(*arguments, **settings):
            scales.add(float(np.max(settings["scale"])))
            return right(*arguments, **settings)

        monkeypatch.setattr(module, what, spy)

    for what in ("exact", "gibbs", "conditional"):
        recorded(laplace_multinomial, what)
    recorded(enumerated, "moments_given")
    MAKE[name]()
    assert scales == {2 / EPSILON} | BESIDE.get(name, set())


def test_shares_of_known_counts_are_beta():
    """Check the posterior of the shares for the counts (3, 2, 1), which are known almost exactly at epsilon = 1e5. By
    conjugacy, the share of a category with count c has the distribution Beta(1 + c, 9 - 1 - c).
    """
    table = beyond.six_categories(counts=[3, 2, 1], epsilon=1e5, rng=stream(2, "beta"))
    found = table[table["x"].isna()].set_index(["category", "kind"])["y"]
    curves = dict(iter(table[table["kind"] == "density"].groupby("category")))
    assert set(curves) == {1, 2, 3}
    for i, c in enumerate((3, 2, 1)):
        law = stats.beta(1 + c, 8 - c)
        ends = law.ppf([0.025, 0.975])
        assert [found[i + 1, kind] for kind in ("mean", "sd", "lower", "upper")] == pytest.approx(
            [law.mean(), law.std(), *ends], rel=1e-6
        )
        assert found[i + 1, "count"] == c
        assert curves[i + 1]["y"].to_numpy() == pytest.approx(law.pdf(curves[i + 1]["x"]), abs=1e-6)


def test_noise_itself_has_scale_two_over_epsilon(monkeypatch):
    """Check that the noise at epsilon = 1/2 is drawn with scale 4. The check covers Figure 1, the extension to six
    categories, and the study of the calibration.
    """
    scales = []
    right = Laplace.sample
    monkeypatch.setattr(
        Laplace, "sample", lambda self, x, *, rng: (scales.append(self.scale), right(self, x, rng=rng))[1]
    )
    for name in ("figure_1", "six categories", "calibration"):
        MAKE[name]()
    assert scales == [4.0] * 3


def test_timed_vectors_have_noise_of_scale_two_over_epsilon(monkeypatch):
    found = []
    monkeypatch.setattr(speed, "_methods", lambda noisy, total, scale, *_: (found.append(scale), {})[1])
    speed.figure_3_timings(
        totals=[6], epsilons=[0.5, 2.0], vectors=1, slow_vectors=1, standard_iterations=1, repeats=1, rng=RNG
    )
    assert found == [4.0, 1.0]


def test_chains_that_are_trapped_know_the_scale(monkeypatch):
    """Check that the simulated chains that can become trapped at a vertex of the simplex use the weight exp(-|z - s|/4)
    for a noisy count z and a count s at epsilon = 1/2. Compared with (2, 0, 0), the composition (1, 1, 0) differs in
    two counts by 1, so that its weight is smaller by the factor exp(-2/4).
    """
    found = []
    monkeypatch.setattr(laws, "_last_move", lambda rows, static, *_: found.append((rows, static)))
    laws.trapped(settings={"a": [2, 0, 0]}, total=2, epsilon=0.5, chains=1, iterations=1, rng=RNG)
    rows, static = found[0]
    at = {tuple(row): value for row, value in zip(rows.tolist(), static, strict=True)}
    # coefficients 2 and 1
    assert at[1, 1, 0] - at[2, 0, 0] == pytest.approx(np.log(2) - 2 / 4)


def test_what_is_lost_to_the_printed_noises():
    """Check that the privacy loss of the noise in the paper is 2/scale, because two counts change by 1 each. At
    epsilon = 1/2, the scale 2 in the text has a loss of 1, and the scale 4 in the listings a loss of 1/2.

    For the first p from the counts, the loss is -log(rest/(rest + draws)), with 4,000 vectors of 12 draws and 11 other
    partitions.
    """
    table = beyond.privacy(settings=SETTINGS, epsilon=EPSILON).set_index("release")
    assert table["scale"].to_dict() == {beyond.TEXT: 2.0, beyond.LISTINGS: 4.0, beyond.FIRST_P: 4.0}
    assert table.loc[beyond.TEXT, "lost"] == pytest.approx(1.0)
    assert table.loc[beyond.LISTINGS, "lost"] == pytest.approx(0.5)
    assert table.loc[beyond.FIRST_P, "lost"] == pytest.approx(np.log((11 + 48_000) / 11))


def test_the_erratum_on_the_scale_names_what_each_costs():
    """Check the privacy costs that the erratum on the scale of the noise states for epsilon = 1. The cost is 2 for the
    scale 1 in the text, and 1 for the scale 2 in the listings.
    """
    assert errata.EPSILON == 1
    said = errata._scale(RNG, 0)
    assert said.index("2") < said.rindex("1")
    assert "text" in said.partition("listings")[0]


def test_intervals_of_the_calibration_are_of_95_percent():
    """Check the calibration statistics for the evenly spaced PIT values (i + 1/2)/400. Of these, 95 % lie between 0.025
    and 0.975, and the 99 % band of 20 bins has the half-width 2.576 sqrt(20/400).
    """
    frame = pd.DataFrame({"epsilon": 1.0, **dict.fromkeys(calibration.METHODS, (np.arange(400) + 0.5) / 400)})
    asked = {"total": 50, "epsilons": [1.0], "gibbs_draws": 1, "burn_in": 0}
    cover = calibration.coverage(frame, **asked)
    assert cover["coverage"].to_numpy() == pytest.approx(0.95)
    assert cover["se"].to_numpy() == pytest.approx(np.sqrt(0.95 * 0.05 / 400))
    band = calibration.calibration(frame, **asked)["upper"].iloc[0] - 1
    assert band == pytest.approx(stats.norm.isf(0.005) * np.sqrt(20 / 400), rel=1e-3)
