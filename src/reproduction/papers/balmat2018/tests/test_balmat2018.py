"""Check the paper's functions at small size: properties that hold for any draws."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from dpmultinomial._mechanisms.laplace import Laplace
from dpmultinomial._posteriors.counts import compositions
from dpmultinomial._seeding import stream
from reproduction import evidence
from reproduction.papers.balmat2018 import beyond, errata, figure_1, figure_2, speed, tables
from reproduction.papers.balmat2018.algorithms import products
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
    """Check that relative errors have no sign: 1.5 and 2.5 differ from 2 by a quarter, and the float64 next to 2^53 + 1
    by 1/(2^53 + 1).
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
    ours, skipped = products.fewest_digits(counts, table, exact, p)
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
    digits, skipped = products.fewest_digits(counts, table, tables.exact_coefficients(counts), p)
    assert skipped.tolist() == [int((counts[:, 0] >= 11).sum()), 0]
    assert (digits > 10).all()


def test_compiled_products_equal_numpy():
    counts = compositions.multinomial_table(15)[0]
    p = figure_2.triplets(len(counts), rng=stream(4, "products"))
    assert products.product_each(counts, p) == pytest.approx(np.prod(p**counts, axis=1), rel=1e-12)
    assert products.product_block(counts, p[0]) == pytest.approx(np.prod(p[0] ** counts, axis=1), rel=1e-12)
    assert products.product_of(1, 2, 3, 0.2, 0.3, 0.5) == pytest.approx(0.2 * 0.3**2 * 0.5**3, rel=1e-14)


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
        1: "1 of 10 as written, 10 of 10",
        2: "100 % as printed",
        3: "2.45e-04",
        5: "costs 2",
        6: "too many indices",
    }
    expected |= {
        7: "[1.0, 1.0, 1.0]",
        8: "nan",
        9: "fewest digits 8.4",
        10: "up to M = 652",
        11: "cbind",
        12: "returns",
        13: ".5000 under (3)",
    }
    assert expected[number] in text
    if number == 2:
        assert float(text.partition("as printed, ")[2].partition(" %")[0]) < 50
    if number == 9:  # M = 200: where exp(.) is 0 the probability is 0, an error of 1 in 1, -log10(1) = 0 digits
        assert text.count("fewest digits 0.0") == 1
        assert "-0.0" not in text
    if number == 12:
        first, second = (float(text.partition(mark)[2].split()[0]) for mark in ("first share ", "first and "))
        assert first != second
    if number in (1, 2, 6, 7, 8, 11) and shutil.which("Rscript"):
        assert "R says: " in text


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
    """Check that, for two vectors and three values of M, compiled and exact methods have six times and interpreted
    methods three.
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
    """Check the mode of a histogram with cells of width 1 from 10 to 14 and counts 2, 5, 4 and 1: 11.5 from the fullest
    cell, 12 from the two fullest.
    """
    draws = np.repeat([10.0, 11.2, 12.5, 14.0], [2, 5, 4, 1])
    assert figure_1.frequency_mode(draws, 4, 1) == pytest.approx(11.5)
    assert figure_1.frequency_mode(draws, 4, 2) == pytest.approx(12.0)
