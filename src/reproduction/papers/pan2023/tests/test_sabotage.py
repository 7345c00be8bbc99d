"""Replace samplers, distributions and tables with wrong versions, and check which verdicts change.

Each checked statement must change its verdict under at least one replacement. Sample sizes are large enough for a clear
result.
"""

import numpy as np
import pytest

from dpmultinomial._accounting import swapping as accounting
from dpmultinomial._kernels import dirichlet
from dpmultinomial._mechanisms.swapping import permutation_swaps
from dpmultinomial._mechanisms.swapping import swapping as mechanism
from dpmultinomial._posteriors.swapping import swapped_table, unswapping
from reproduction import paper
from reproduction.papers.pan2023 import algorithm, drawn_formulas
from reproduction.papers.pan2023.algorithms import swapping_audit as audits
from reproduction.verdicts import agreement, drawn, in_process

pytestmark = pytest.mark.sabotage

POSITIVE, NEGATIVE, SKEW = (0.27, 0.23, 0.23, 0.27), (0.23, 0.27, 0.27, 0.23), (0.7, 0.1, 0.1, 0.1)
THETAS = [list(POSITIVE), list(NEGATIVE), list(SKEW)]
SETTINGS = in_process.settings(__file__)
USED = (
    *("algorithm", "record_example", "phi_examples", "exchange_audit", "epsilon_table", "phi_density", "phi_draws"),
    *("phi_by_rate", "closer_or_farther", "coverage", "posterior_summary", "abc_posterior", "abc_checks", "log_phi"),
    "privacy_loss",
)
ABC = ("abc_posterior", "abc_checks", "log_phi", "posterior_summary")
GOOD = ("reproduced", "reproduced_by_slip")
flipped: set[tuple[str, str]] = set()  # changed verdicts of every sabotage that has run


@pytest.fixture(scope="module")
def honest():
    return in_process.tables_of("pan2023", SETTINGS, only=USED)


@pytest.fixture(scope="module")
def judge(honest):
    return in_process.Judge("pan2023", honest)


@pytest.fixture(scope="module")
def verdicts(judge):
    return judge.verdicts


@pytest.fixture
def turned(honest, judge, verdicts):
    """Return a function that recomputes or replaces some tables and returns the statements whose verdicts change."""

    def run(*again, **replaced):
        kept = {name: table for name, table in honest.items() if name not in again} | replaced
        found = judge(kept | (in_process.tables_of("pan2023", SETTINGS, only=again, made=kept) if again else {}))
        changed = set(verdicts.index[verdicts != found])
        assert changed, "this sabotage was not noticed"
        assert all(found[key] in ("differs", "undecided") for key in changed if verdicts[key] in GOOD)
        flipped.update(changed)
        return {quantity for _, quantity in changed}

    return run


def test_the_honest_run_decides_every_judged_statement(verdicts):
    differs = {quantity for (_, quantity), verdict in verdicts.items() if verdict == "differs"}
    assert differs == {
        "record example: V2 is held",
        "informal theorem: pure differential privacy with budget epsilon",
        "claim 2, consistently: no swap moves phi away from 1",
        "data become more uniform: every expected share moves towards 1/4",
    }
    assert not {"undecided", "not_run"} & set(verdicts)


# --- the swap ---


def identity_tables(table, size, *, rate, rng):
    return np.repeat(np.asarray(table)[None], size, axis=0)


def identity_sources(strata, *, rate, rng):
    return np.arange(len(strata))


def test_the_identity_in_place_of_the_swap(monkeypatch, turned):
    monkeypatch.setattr(permutation_swaps, "tables", identity_tables)
    monkeypatch.setattr(permutation_swaps, "each", lambda tables, *, rate, rng: tables)
    monkeypatch.setattr(permutation_swaps, "sources", identity_sources)
    found = turned("algorithm", "phi_density", "phi_draws", "closer_or_farther")
    assert {f"draws of phi at theta = {theta}, every p" for theta in (POSITIVE, NEGATIVE, SKEW)} <= found
    assert {f"draws of phi at theta = {theta}, p = 0.5" for theta in (POSITIVE, NEGATIVE)} <= found
    assert {f"swapped density closer to 1 at theta = {theta}, p = 0.5" for theta in (POSITIVE, NEGATIVE)} <= found
    assert {
        "worked example matched on Sect: names after the swap",
        "worked example matched on #Attend: names after the swap",
        "worked example: the printed swap is an outcome of the algorithm",
        "record example: the printed V1 is an outcome of the algorithm",
        "record example: V1 after the swap",
        "no marginal total is altered",  # no record moved, so the rule was not tested
        "claim 2: more swaps move phi closer to 1 than away",
    } <= found


def shuffled_sources(strata, *, rate, rng):
    """Shuffle the selected records instead of drawing a derangement, as a deliberate error. A single record can be
    selected.
    """
    sources = np.arange(len(strata))
    for stratum in np.unique(strata):
        chosen = np.flatnonzero((strata == stratum) & (rng.random(len(strata)) < rate))
        sources[chosen] = rng.permutation(chosen)
    return sources


def cyclic_sources(strata, *, rate, rng):
    """Move the selected values by a cyclic shift within each stratum instead of a uniform derangement, as a deliberate
    error.
    """
    right = permutation_swaps.sources(strata, rate=rate, rng=rng)
    moved = right != np.arange(len(strata))
    sources = np.arange(len(strata))
    for stratum in np.unique(strata):
        chosen = np.flatnonzero(moved & (strata == stratum))
        sources[chosen] = np.roll(chosen, 1)
    return sources


def test_a_shuffle_in_place_of_the_derangement(monkeypatch, turned):
    monkeypatch.setattr(permutation_swaps, "sources", shuffled_sources)
    found = turned("algorithm")
    assert "each record is selected with probability p, but never exactly one record" in found
    assert "the selected records are deranged uniformly at random" in found


def test_cycles_in_place_of_uniform_derangements(monkeypatch, turned):
    right = permutation_swaps.sources

    def cyclic(strata, *, rate, rng):
        with monkeypatch.context() as inner:
            inner.setattr(permutation_swaps, "sources", right)
            return cyclic_sources(strata, rate=rate, rng=rng)

    monkeypatch.setattr(permutation_swaps, "sources", cyclic)
    found = turned("algorithm")
    assert "the selected records are deranged uniformly at random" in found
    assert "each record is selected with probability p, but never exactly one record" not in found  # as many as before


def test_strata_that_are_ignored_and_held_columns_that_move(monkeypatch, turned):
    right = mechanism.permutation_swap

    def across(data, *, swap, match, rate, rng):
        keys = [key for key in ([match] if isinstance(match, str) else match) if key == "copy"]
        return right(data, swap=swap, match=keys, rate=rate, rng=rng)

    monkeypatch.setattr(mechanism, "permutation_swap", across)
    found = turned("algorithm")
    assert "swapping is restricted to records that agree on V_Match, and V_Hold does not change" in found
    assert "worked example matched on Sect: names after the swap" in found


def test_values_drawn_anew_in_place_of_exchanged(monkeypatch, turned):
    right = mechanism.permutation_swap

    def redrawn(data, *, swap, match, rate, rng):
        out = right(data, swap=swap, match=match, rate=rate, rng=rng)
        return out.assign(**{swap: out[swap].sample(frac=1, replace=True, random_state=7).to_numpy()})

    monkeypatch.setattr(mechanism, "permutation_swap", redrawn)
    assert "no marginal total is altered" in turned("algorithm")


def test_a_window_of_the_law_that_is_shifted(monkeypatch, turned):
    right = permutation_swaps.tables

    def shifted(table, size, *, rate, rng):
        return right(table, size, rate=rate, rng=rng) + np.array([[1, -1], [-1, 1]])

    monkeypatch.setattr(permutation_swaps, "tables", shifted)
    found = turned("phi_draws", "phi_density")
    assert {f"draws of phi at theta = {theta}, every p" for theta in (POSITIVE, NEGATIVE, SKEW)} <= found


def test_cauchy_draws_in_place_of_the_posterior(monkeypatch, turned):
    def cauchy(alpha, counts, *, rng):
        # within three scales: beyond them, the compared distribution sums its extreme tails, and no further verdict
        # changes
        return np.exp(rng.standard_cauchy((len(counts), 4)).clip(-3, 3))

    monkeypatch.setattr(dirichlet, "draw", cauchy)
    found = turned("phi_draws", "phi_density")
    assert {f"draws of phi at theta = {theta}, p = 0.5" for theta in (POSITIVE, NEGATIVE)} <= found


# --- printed examples ---


def test_other_answers_than_printed(monkeypatch, turned):
    monkeypatch.setattr(algorithm, "ANSWERS_AFTER", [(1, 0), (1, 0), (0, 1), (1, 1), (0, 0)])  # no record moves
    assert turned("record_example") == {"record example: V2 is held"}


def test_odds_ratios_of_other_cells(monkeypatch, turned):
    monkeypatch.setattr(mechanism, "limit_odds_ratio", lambda theta, *, rate: theta[0] * theta[1] / theta[2])
    found = turned("phi_examples")
    assert "phi at theta = (0.25, 0.25, 0.25, 0.25)" in found
    assert "phi > 1 at theta = (0.3, 0.2, 0.2, 0.3)" in found
    monkeypatch.setattr(mechanism, "limit_odds_ratio", lambda theta, *, rate: theta[1] * theta[2] / theta[0] / theta[3])
    assert "phi < 1 at theta = (0.2, 0.3, 0.3, 0.2)" in turned("phi_examples")


# --- what happens to phi ---


def test_a_chain_that_is_frozen_at_rate_0(honest, turned):
    table = honest["phi_by_rate"]
    frozen = table.copy()  # every rate shows the values of rate 0
    for kind in ("median", "mean_s11", "sd_s11"):
        chosen = table["kind"] == kind
        first = table[chosen & (table["rate"] == 0)].set_index("theta")["y"]
        frozen.loc[chosen, "y"] = table.loc[chosen, "theta"].map(first)
    assert turned(phi_by_rate=frozen) == {
        "claim 1: different theta, different trends of phi",
        "claim 2: as p increases phi shifts closer to 1 (median)",
        "data become more uniform: entropy of the expected shares increases with p",
        "swapping adds randomness: spread of a swapped cell increases with p",
        "the plotted densities, medians and limits are those of phi",
    }


def test_shares_that_do_become_uniform(honest, turned):
    table = honest["phi_by_rate"].copy()
    table = table[table["theta"] != "(0.7, 0.1, 0.1, 0.1)"]
    assert "data become more uniform: every expected share moves towards 1/4" in turned(phi_by_rate=table)


def test_closer_and_farther_exchanged_and_no_swap_astray(honest, turned):
    table = honest["closer_or_farther"]
    found = turned(closer_or_farther=table.rename(columns={"closer": "farther", "farther": "closer"}))
    assert "claim 2: more swaps move phi closer to 1 than away" in found
    tame = table.assign(tie=table["tie"] + table["farther"], farther=0.0)
    assert "claim 2, consistently: no swap moves phi away from 1" in turned(closer_or_farther=tame)


def test_intervals_wide_enough_to_hide_the_swap(honest, turned):
    table = honest["coverage"]
    assert turned(coverage=table.assign(coverage=0.9)) == {
        "swapping can disrupt the original structures: coverage of naive intervals"
    }


# --- privacy ---


def test_a_halved_budget(monkeypatch, turned):
    right = accounting.epsilon
    monkeypatch.setattr(accounting, "epsilon", lambda largest, *, rate: right(largest, rate=rate) / 2)
    found = turned("epsilon_table", "exchange_audit")
    assert "epsilon = ln(b + 1) - ln(o) suffices for 0 < p <= 0.5" in found
    assert "formal theorem: at most epsilon per record of distance" in found


def test_a_doubled_budget(monkeypatch, turned):
    right = accounting.epsilon
    monkeypatch.setattr(accounting, "epsilon", lambda largest, *, rate: 2 * right(largest, rate=rate))
    assert turned("exchange_audit") == {"informal theorem: pure differential privacy with budget epsilon"}


def test_a_budget_that_does_not_depend_on_the_rate(monkeypatch, turned):
    monkeypatch.setattr(accounting, "epsilon", lambda largest, *, rate: float(np.log(largest + 1)) + 5)
    assert turned("epsilon_table") == {"more swapping enhances privacy: epsilon decreases with p up to 0.5"}


def test_an_audit_that_forgets_the_probability_of_the_output(monkeypatch, turned):
    right = audits.log_kernel

    def squared(n, r1, c1, *, rate):
        x, logs = right(n, r1, c1, rate=rate)
        return x, 3 * logs

    monkeypatch.setattr(audits, "log_kernel", squared)
    assert "formal theorem: at most epsilon per record of distance" in turned("exchange_audit")


# --- the rejection sampler ---


def test_a_sampler_that_does_not_swap(monkeypatch, turned):
    def unswapped(observed, alpha, iterations, *, rate, rng):
        """Use the swapped table itself as the original table (X = S), as a deliberate error. The acceptance rate is
        that of the correct sampler.
        """
        law = swapped_table.exact(observed, rate=rate)
        size = rng.binomial(iterations, law.acceptance)
        return rng.dirichlet(1 + observed.ravel(), size), np.repeat(observed.reshape(1, 4), size, axis=0)

    monkeypatch.setattr(unswapping, "abc", unswapped)
    found = turned(*ABC)
    assert "unswapped tables of the accepted draws" in found
    assert "number of accepted draws" not in found


def test_a_sampler_that_accepts_equal_margins(monkeypatch, turned):
    right = unswapping.abc
    monkeypatch.setattr(
        unswapping, "abc", lambda observed, alpha, size, *, rate, rng: right(observed, alpha, size, rate=0.5, rng=rng)
    )
    assert "number of accepted draws" in turned(*ABC)


def test_accepted_draws_with_their_cells_exchanged(monkeypatch, turned):
    right = unswapping.abc

    def exchanged(observed, alpha, size, *, rate, rng):
        theta, originals = right(observed, alpha, size, rate=rate, rng=rng)
        return theta[:, [3, 2, 0, 1]], originals

    monkeypatch.setattr(unswapping, "abc", exchanged)
    found = turned(*ABC)
    assert {f"histogram of theta{i}" for i in (1, 2, 3, 4)} <= found
    assert "distribution functions of theta1 to theta4" in found
    assert {"histograms of log phi, every p", "distribution functions of log phi, every p"} <= found


def test_an_exact_posterior_of_another_rate(monkeypatch, turned):
    right = swapped_table.exact
    monkeypatch.setattr(
        swapped_table, "exact", lambda observed, *, rate, **more: right(observed, rate=1.02 * rate, **more)
    )
    assert "weights of the unswapped tables are those of the algorithm" in turned(*ABC)


def test_inclusion_and_exclusion_where_the_kernel_is_known():
    """Check probabilities that are computed by the inclusion-exclusion principle against known probabilities. The cases
    are the slides' table from the originals (0, 3, 4, 3) and (2, 1, 2, 5) at p = 0.1, and two records, which are
    exchanged if both are selected.

    With two records (1, 0, 0, 1), the last cell decreases to 0 if both are selected: p^2 out of p^2 + (1 - p)^2.
    """
    assert drawn_formulas.forward([0, 3, 4, 3], [1, 2, 3, 4], 0.1) == pytest.approx(0.131501418, abs=1e-9)
    assert drawn_formulas.forward([2, 1, 2, 5], [1, 2, 3, 4], 0.1) == pytest.approx(0.109586274, abs=1e-9)
    assert drawn_formulas.forward([1, 0, 0, 1], [0, 1, 1, 0], 0.3) == pytest.approx(0.09 / 0.58)


@pytest.mark.parametrize("phi", [0.02, 0.7, 5.0, 400.0])
def test_what_lies_below_a_median_where_two_logistic_laws_add_up(phi):
    """Check that P(phi <= y) = y (y - 1 - ln y)/(y - 1)^2 for the odds ratio phi of uniformly distributed cell
    probabilities theta. In this case, log phi is the sum of two standard logistic variables.
    """
    below = phi * (phi - 1 - np.log(phi)) / (phi - 1) ** 2
    found = drawn_formulas.log_phi_excess(np.log(phi), [[0, 0, 0, 0]], [1.0])
    assert found == pytest.approx(2 * below - 1, abs=1e-6)


@pytest.mark.parametrize("at", [-1.0, 0.3, 2.0])
def test_what_lies_below_is_the_integral_of_the_density(at):
    model = np.array([[4, 7, 3, 11], [5, 6, 2, 12], [2, 9, 5, 9]]), np.array([0.5, 0.3, 0.2])
    step = np.arange(-2400, 2401)  # Simpson's rule has an error of 1e-11 here
    weight = -np.sign(step) * np.where(step % 2, 4, 2) / 3 * 0.005
    found = drawn_formulas.log_phi_excess(at, *model)
    assert found == pytest.approx(weight @ drawn_formulas.log_phi_density(at + 0.005 * step, *model), abs=1e-9)


def test_a_posterior_without_its_prior(monkeypatch, turned):
    right = swapped_table.naive
    monkeypatch.setattr(swapped_table, "naive", lambda swapped: right(swapped, alpha=0.5))
    assert turned("posterior_summary") == {"the posterior given y is Dir(1 + y)"}


# --- missing numbers ---


def without_numbers(table, rows):
    """Return a table in which the computed numbers in the given rows are replaced by NaN."""
    kept = ["rate", "x", "size", "level", "theta1", "theta2", "theta3", "theta4"]
    numbers = sorted({*table.select_dtypes("float").columns.difference(kept), *({"simulated"} & set(table))})
    table = table.astype(dict.fromkeys(numbers, float))
    rows = [i for i in rows if "kind" not in table or table["kind"][i] != "rate"]  # a setting, not a computed number
    table.loc[rows, numbers] = np.nan
    return table


# a table that does not contain floats
@pytest.mark.parametrize("name", [name for name in USED if name != "record_example"])
def test_missing_numbers_never_pass(honest, verdicts, turned, name):
    found = turned(**{name: without_numbers(honest[name], honest[name].index)})
    good = {quantity for (artefact, quantity), verdict in verdicts.items() if artefact == name and verdict in GOOD}
    assert good <= found


@pytest.mark.parametrize("name", ["phi_draws", "closer_or_farther", "epsilon_table"])
def test_one_missing_number_is_not_passed_over(honest, turned, name):
    turned(**{name: without_numbers(honest[name], honest[name].index[-1:])})


def test_random_numbers_in_place_of_the_histograms(honest, turned):
    rng = np.random.default_rng(7)
    table = honest["abc_posterior"]
    bars = table["kind"] == "accepted"
    assert {f"histogram of theta{i}" for i in (1, 2, 3, 4)} <= turned(
        abc_posterior=table.assign(y=table["y"].where(~bars, rng.random(len(table))))
    )


CURVES = {  # mapping from a kind of drawn curve that is 2 % too high to the statement whose verdict changes
    "phi_density": ("original", "swapped exact", "one swap"),
    "phi_by_rate": ("density", "median", "limit"),
    "abc_posterior": ("exact", "naive"),
    "log_phi": ("exact", "naive"),
    "privacy_loss": ("rate", "exchange"),
}


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, kinds in CURVES.items() for kind in kinds])
def test_a_drawn_curve_two_percent_off(honest, turned, name, kind):
    table = honest[name]
    found = turned(**{name: table.assign(y=table["y"].where(table["kind"] != kind, 1.02 * table["y"]))})
    assert any(quantity.startswith("the plotted") for quantity in found)


@pytest.mark.parametrize("artefact", ["phi_density", "abc_posterior", "log_phi"])
def test_bars_that_do_not_follow_their_curve(honest, turned, artefact):
    table = honest[artefact].copy()
    bars = table["kind"].isin(["swapped", "accepted"])
    table.loc[bars, "y"] = table.loc[bars, "y"].to_numpy()[::-1]
    assert any(word in quantity for quantity in turned(**{artefact: table}) for word in ("draws of phi", "histogram"))


def test_a_prior_of_eleven_tenths_in_the_draws(monkeypatch, turned):
    right = dirichlet.draw
    monkeypatch.setattr(dirichlet, "draw", lambda alpha, counts, *, rng: right(1.1 * alpha, counts, rng=rng))
    assert "draws given y follow Dir(1 + y)" in turned("posterior_summary")


def test_a_rate_that_is_a_tenth_larger(monkeypatch, turned):
    right, records = permutation_swaps.tables, permutation_swaps.sources
    monkeypatch.setattr(permutation_swaps, "tables", lambda *a, rate, rng: right(*a, rate=1.1 * rate, rng=rng))
    monkeypatch.setattr(permutation_swaps, "sources", lambda *a, rate, rng: records(*a, rate=1.1 * rate, rng=rng))
    found = turned("phi_draws", "algorithm")
    assert f"draws of phi at theta = {SKEW}, every p" in found
    assert "each record is selected with probability p, but never exactly one record" in found


def test_what_is_drawn_is_judged(honest):
    assert list(drawn.unjudged(paper.discover()["pan2023"], honest, SETTINGS)) == []


def test_every_judged_statement_was_turned_by_a_sabotage():
    published = agreement.read_published(paper.discover()["pan2023"].folder / "published.tsv")
    judged = published[published["kind"].isin(agreement.JUDGED)]
    judged = judged[~((judged["kind"] == "number") & judged["value"].isna())]  # no number is printed
    keys = set(map(tuple, judged[["artefact", "quantity"]].to_numpy()))
    assert keys - flipped == set()
    assert len(keys) == 43
