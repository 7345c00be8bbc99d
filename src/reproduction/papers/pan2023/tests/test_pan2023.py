"""Test the functions that reproduce the slides of Pan, Li and Li (2023) on small inputs, using properties that hold for
any draws.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.markers import CARETUPBASE

from dpmultinomial._mechanisms.swapping import swapping as mechanism
from dpmultinomial._seeding import stream
from reproduction import evidence, paper, smoke
from reproduction.config import checks, config
from reproduction.jobs import making
from reproduction.papers.pan2023 import (
    abc,
    algorithm,
    coverage,
    errata,
    figures,
    phi_by_rate,
    phi_density,
    privacy,
    settings,
    validation,
)
from reproduction.papers.pan2023 import agreement as ours
from reproduction.verdicts import agreement, in_process

FOLDER = Path(__file__).parents[1]
SCHEMA = checks.schema_of(paper.discover())
POSITIVE, SKEW = [0.27, 0.23, 0.23, 0.27], [0.7, 0.1, 0.1, 0.1]
SMOKE = {key: value for key, value in smoke.configuration()["pan2023"].items() if key != "scenarios"}
RATES = [0.0, 0.1, 0.3, 0.5]


def simulated(module, name, given, replications, block):
    loop = given | {"replications": replications, "block": block}
    return making.simulate(module.simulate, loop, root_seed=7, names=("pan2023", name))


@pytest.fixture(scope="module")
def by_rate():
    return phi_by_rate.phi_by_rate(thetas=[POSITIVE, SKEW], totals=[100], rates=RATES)


@pytest.fixture(scope="module")
def density():
    given = {"thetas": [POSITIVE], "totals": [100], "rate": 0.5, "draws": 10, "bins": 40}
    table = simulated(phi_density, "phi_density", given, 3000, 500)
    return phi_density.phi_density(table, **given, rng=stream(7, "density"))


@pytest.fixture(scope="module")
def astray():
    given = {"thetas": [POSITIVE, SKEW], "totals": [100], "rates": [0.1, 0.5]}
    return phi_by_rate.closer_or_farther(simulated(phi_by_rate, "closer", given, 3000, 1000), **given)


@pytest.fixture(scope="module")
def abc_tables():
    given = {"observed": [[1, 2], [3, 4]], "rates": [0.1, 0.5], "bins": 30}
    table = simulated(abc, "abc", given, 400_000, 100_000)
    found = {f.__name__: f(table, **given) for f in (abc.abc_posterior, abc.abc_checks, abc.log_phi)}
    rng = stream(in_process.ROOT_SEED, "pan2023", "abc", "drawn")
    return found | {"posterior_summary": abc.posterior_summary(table, **given, rng=rng)}


def single(table, **where):
    chosen = table[table["x"].isna()]
    for key, value in where.items():
        chosen = chosen[chosen[key] == value]
    return chosen.set_index("kind")["y"]


# --- the findings ---


@pytest.mark.parametrize(
    ("theta", "rate", "median", "mean", "overlap", "s11", "sd"),
    [
        (POSITIVE, 0.1, 1.3256, 0.2830, 0.950, 26.7979, 1.1005),
        (POSITIVE, 0.5, 1.1680, 0.1565, 0.818, 25.9899, 2.1833),
        (SKEW, 0.1, 5.6081, 1.7254, 0.873, 9.3938, 0.8356),
        (SKEW, 0.5, 2.7611, 1.0025, 0.472, 6.9697, 1.5819),
    ],
)
def test_phi_by_rate_gives_the_specified_numbers(by_rate, theta, rate, median, mean, overlap, s11, sd):
    found = single(by_rate, theta=settings.name_of(theta), rate=rate)
    assert found["median"] == pytest.approx(median, abs=6e-5)
    assert found["mean_log_phi"] == pytest.approx(mean, abs=6e-5)
    assert found["overlap"] == pytest.approx(overlap, abs=6e-4)
    assert (found["mean_s11"], found["sd_s11"]) == pytest.approx((s11, sd), abs=6e-5)


def test_a_thousand_records_with_strong_association():
    found = single(phi_by_rate.phi_by_rate(thetas=[SKEW], totals=[1000], rates=[0.5]))
    assert (found["median"], found["mean_log_phi"]) == pytest.approx((2.7740, 1.0189), abs=6e-5)
    assert found["overlap"] == pytest.approx(0.024, abs=6e-4)
    assert (found["mean_s11"], found["sd_s11"]) == pytest.approx((69.970, 4.9641), abs=6e-4)


def test_the_median_moves_strictly_towards_one(by_rate):
    for theta in (POSITIVE, SKEW):
        medians = [single(by_rate, theta=settings.name_of(theta), rate=rate)["median"] for rate in RATES]
        assert (np.diff(medians) < 0).all()
        assert medians[-1] > 1
        limit = single(by_rate, theta=settings.name_of(theta), rate=0.3)["limit"]
        assert limit == mechanism.limit_odds_ratio(theta, rate=0.3)


def test_negative_association_is_the_mirror_of_positive():
    pair = phi_by_rate.phi_by_rate(thetas=[POSITIVE, [0.23, 0.27, 0.27, 0.23]], totals=[100], rates=[0.3])
    values = [single(pair, theta=theta) for theta in pair["theta"].unique()]
    assert values[0]["median"] * values[1]["median"] == pytest.approx(1, abs=1e-9)
    assert values[0]["mean_log_phi"] == pytest.approx(-values[1]["mean_log_phi"], abs=1e-12)


def test_simulated_densities_agree_with_the_exact_mixture(density):
    found = single(density)
    error = density.set_index("kind")["mc_se"]
    assert (
        abs(found["median swapped"] - found["median swapped exact"]) < 4 * error["median swapped"]
    )  # false alarm rate 1e-3
    assert abs(found["attenuation"] - found["attenuation exact"]) < 4 * error["attenuation"]  # false alarm rate 6e-5
    assert found["median swapped exact"] == pytest.approx(1.1680, abs=6e-5)
    bars = density[density["kind"] == "swapped"]
    assert bars["y"].sum() * (bars["x"].iloc[1] - bars["x"].iloc[0]) == pytest.approx(1, abs=0.03)


def test_single_swaps_that_go_astray(astray):
    fixed = astray[astray["data"] == "fixed"].set_index(["theta", "rate"])
    specified = {(0.1, 0): (0.382, 0.368, 0.250), (0.5, 0): (0.467, 0.236, 0.297), (0.5, 1): (0.949, 0.040, 0.011)}
    for (rate, which), values in specified.items():
        row = fixed.loc[(settings.name_of([POSITIVE, SKEW][which]), rate)]
        assert row[["closer", "tie", "farther"]].tolist() == pytest.approx(values, abs=6e-4)
    drawn = astray[astray["data"] == "random"].set_index(["theta", "rate"]).loc[(settings.name_of(POSITIVE), 0.5)]
    assert abs(drawn["farther"] - 0.35) < 0.005 + 4 * drawn["mc_se"]  # false alarm rate 6e-5
    assert np.allclose(astray[["closer", "tie", "farther"]].sum(axis=1), 1)


def test_abs_log_odds_at_the_edges():
    tables = np.array([[[1, 0], [2, 3]], [[2, 2], [2, 2]], [[0, 0], [2, 3]], [[0, 1], [1, 0]]])
    assert settings.abs_log_odds(tables).tolist() == [np.inf, 0, 0, np.inf]


# --- the rejection sampler ---


def test_abc_checks_hold(abc_tables):
    checks = abc_tables["abc_checks"]
    drawn = checks[checks["check"].str.startswith("P(original")]
    size = drawn["rate"].map(checks[checks["check"] == "accepted"].set_index("rate")["simulated"])
    se = np.sqrt(drawn["exact"] * (1 - drawn["exact"]) / size)
    assert drawn["mc_se"].to_numpy() == pytest.approx(se.to_numpy(), rel=1e-9)
    assert checks["z"].abs().max() < 4.5  # 20 numbers, false alarm rate 1.4e-4
    assert checks["p_value"].min() > 1e-4  # 12 tests, false alarm rate 1.2e-3
    accepted = checks[checks["check"] == "accepted"].set_index("rate")
    rate = 0.003963748148  # by exact rational enumeration
    assert accepted.loc[0.1, "exact"] == pytest.approx(400_000 * rate)
    assert accepted.loc[0.1, "mc_se"] == pytest.approx((400_000 * rate * (1 - rate)) ** 0.5, rel=1e-9)
    gaps = checks[checks["rate"] == 0.1].set_index("check")["exact"]
    assert gaps["largest distance, log phi"] == pytest.approx(0.0413, abs=6e-5)
    assert [gaps[f"largest distance, theta{i}"] for i in (1, 2, 3, 4)] == pytest.approx(
        [0.0298, 0.0135, 0.0104, 0.0119], abs=6e-5
    )


def test_densities_integrate_to_one(abc_tables):
    for name, keys in (("abc_posterior", ["quantity", "kind"]), ("log_phi", ["rate", "kind"])):
        for _, part in abc_tables[name].dropna(subset="x").groupby(keys):
            assert part["y"].sum() * (part["x"].iloc[1] - part["x"].iloc[0]) == pytest.approx(1, abs=0.03)


def test_shards_do_not_change_the_simulation():
    given = {"observed": [[1, 2], [3, 4]], "rates": [0.3], "bins": 5, "replications": 9000, "block": 2000}
    names = {"root_seed": 7, "names": ("pan2023", "abc")}
    whole = making.simulate(abc.simulate, given, **names)
    parts = [making.simulate(abc.simulate, given, **names, shard=s, shards=3) for s in (1, 2, 3)]
    pd.testing.assert_frame_equal(whole, pd.concat(parts, ignore_index=True))
    assert whole["iterations"].sum() == 9000


# --- privacy and coverage ---


def test_stated_and_exact_epsilon():
    table = privacy.epsilon_table(sizes=[10], rates=[0.1]).set_index("variant")["epsilon"]
    assert table.tolist() == pytest.approx([4.59512, 4.44713], abs=5e-6)
    audit = privacy.exchange_audit(audit_sizes=[10], audit_rates=[0.1]).iloc[0]
    assert not audit["covered_by_epsilon"]
    assert audit["covered_by_twice"]


def test_coverage_of_naive_and_aware_intervals():
    given = {"thetas": [SKEW], "totals": [100], "rates": [0.5], "aware_up_to": 100, "aware_every": 1, "level": 0.9}
    table = coverage.coverage(simulated(coverage, "coverage", given, 250, 50), **given).set_index("method")
    naive, aware = table.loc["naive"], table.loc["swap-aware"]
    assert abs(naive["coverage"] - 0.48) < 0.02 + 4 * naive["mc_se"]  # false alarm rate 6e-5
    # calibrated on average over the prior; expected coverage .94, false alarm rate 1e-6
    assert aware["coverage"] > 0.85


# --- examples, errata, agreement ---


def test_the_printed_swap_keeps_what_it_must():
    table = algorithm.swap_example(rate=0.5, rng=stream(7, "example"))
    original = table[table["step"] == "1 original"].reset_index(drop=True)
    for _, swapped in table[table["step"] == "4 swap"].groupby(["variant", "match"]):
        swapped = swapped.reset_index(drop=True)
        assert swapped[["Sect", "Role", "#Attend"]].equals(original[["Sect", "Role", "#Attend"]])
        match = swapped["match"].iloc[0] or "Sect"
        pairs = [sorted(zip(t["Name"], t[match], strict=True)) for t in (swapped, original)]
        assert pairs[0] == pairs[1]


def test_the_printed_record_example_breaks_the_held_column_once():
    table = algorithm.record_example()
    assert table.loc[~table["held"], "record"].tolist() == [2]
    assert sorted(table["V1_printed"]) == sorted(table["V1"])
    assert table["V1_corrected"].sum() == table["V1"].sum()


@pytest.mark.parametrize("number", list(errata.ERRATA))
def test_each_erratum_shows_its_evidence(number):
    expected = {
        1: "0.30",
        2: "phi of the observed shares is 0",
        3: "2.25",
        4: "0.0140",
        5: "(1, 0) to (1, 1)",
        6: "2.8858",
    }
    expected |= {7: "inf ", 8: "0.67, 0.13, 0.13, 0.07", 9: "5.77156", 10: "0.5692", 11: "no numbers", 12: "0.7683"}
    assert expected[number] in evidence.show(errata.ERRATA, number, rng=stream(8, "errata"), size=50)


def test_unknown_erratum_is_refused():
    with pytest.raises(ValueError, match="must be one of 1, 2"):
        evidence.show(errata.ERRATA, 13, rng=stream(8, "errata"), size=10)


def test_every_printed_statement_has_ours():
    only = [a.name for a in paper.discover()["pan2023"].artefacts if a.table]
    made = in_process.tables_of("pan2023", in_process.settings(__file__, **SMOKE), only=only)
    published = agreement.read_published(FOLDER / "published.tsv")
    table = agreement.compare(published, ours.ours(made), paper="pan2023").set_index("quantity")
    differs = {
        "record example: V2 is held",
        "informal theorem: pure differential privacy with budget epsilon",
        "claim 2, consistently: no swap moves phi away from 1",
        "data become more uniform: every expected share moves towards 1/4",
    }
    assert set(table.index[table["verdict"] == "differs"]) == differs
    assert table.loc[list(differs), "note"].str.contains("erratum [589]").all()
    assert "50,000" in table.loc["iterations", "note"]
    # 19 tests at level 1e-4: false alarm rate 2e-3
    assert set(table.loc[table["kind"] == "law", "verdict"]) == {"reproduced"}
    assert table.loc["median of phi at theta = (0.7, 0.1, 0.1, 0.1), p = 0.5", "verdict"] == "not_run"
    # a toy run leaves more claims undecided
    assert set(table.loc[table["verdict"] == "undecided", "kind"]) <= {"claim", "wording"}


# --- configuration ---


def mistakes(section):
    try:
        config.check({"pan2023": section}, SCHEMA, {"pan2023": validation.mistakes})
    except config.ConfigError as error:
        return str(error)
    return ""


def test_bad_shares_and_totals_are_named():
    found = mistakes({"phi_by_rate": {"thetas": [[0.5, 0.2, 0.2, 0.2]]}, "phi_density": {"totals": [50]}})
    assert "phi_by_rate.thetas[0]: [0.5, 0.2, 0.2, 0.2] must sum to 1" in found
    assert "phi_density.totals: the products of 50 and" in found


# --- figures ---


def test_figures_draw_every_table(by_rate, density, astray, abc_tables):
    loss = privacy.privacy_loss(sizes=[10], audit_sizes=[2, 5], audit_rates=[0.1])
    given = {"thetas": [SKEW], "totals": [100], "rates": [0.1, 0.5], "aware_up_to": 100, "aware_every": 1, "level": 0.9}
    share = coverage.coverage(simulated(coverage, "coverage", given, 10, 5), **given)
    drawn = [figures.phi_by_rate(by_rate), figures.phi_density(density), figures.closer_or_farther(astray)]
    drawn += [figures.abc_posterior(abc_tables["abc_posterior"]), figures.log_phi(abc_tables["log_phi"])]
    drawn += [figures.privacy_loss(loss), figures.coverage(share)]
    for figure in drawn:
        assert all(axis.get_xlabel() or axis.get_ylabel() or axis.lines for axis in figure.axes)


def test_lower_bounds_are_marked_in_the_privacy_figure():
    """Check that the privacy-loss figure has arrows (lower bounds) only at numbers of records above `ALL_CLASSES`. For
    these sizes, only the extreme classes are enumerated.
    """
    sizes = [2, 5, 2 * privacy.ALL_CLASSES]
    loss = privacy.privacy_loss(sizes=[10], audit_sizes=sizes, audit_rates=[0.1])
    axis = figures.privacy_loss(loss).axes[1]
    arrows = [line for line in axis.lines if line.get_marker() == CARETUPBASE]
    assert [x for line in arrows for x in line.get_xdata()] == [sizes[-1]]
    assert "lower bound" in [text.get_text() for text in axis.get_legend().get_texts()]
    few = figures.privacy_loss(loss[~((loss["kind"] == "exchange") & (loss["x"] > 5))]).axes[1]
    assert "lower bound" not in [text.get_text() for text in few.get_legend().get_texts()]


def test_coverage_is_drawn_against_the_number_of_records():
    about = {"theta": "(.5, .5)", "level": 0.9, "variant": "", "mc_se": 0.03, "size": 100}
    rows = [
        about | {"total": n, "rate": rate, "method": method, "coverage": share}
        for method, share in (("naive", 0.2), ("swap-aware", 0.9))
        for rate in (0.1, 0.5)
        for n in (100, 1000)
    ]
    (axis,) = figures.coverage(pd.DataFrame(rows)).axes
    assert [t.get_text() for t in axis.get_xticklabels()] == ["100", "1000"]
    drawn = {line.get_label(): line.get_ydata() for line in axis.lines if line.get_gid()}
    assert set(drawn) == {f"{m}, $p={r}$" for m in ("naive", "swap-aware") for r in (0.1, 0.5)}
    assert drawn["naive, $p=0.5$"] == pytest.approx([0.2, 0.2])


def test_shares_of_drawn_tables_are_over_all_blocks_by_hand():
    """Check blocks of three tables and of one: of four tables, two are closer to 1, one is farther, and one is not
    changed. The standard error is that of a proportion of 1/4 in four draws.
    """
    theta = [0.25, 0.25, 0.25, 0.25]
    about = {"theta": phi_by_rate.name_of(theta), "total": 8, "rate": 0.3}
    blocks = [{"closer": 2, "farther": 0, "size": 3}, {"closer": 0, "farther": 1, "size": 1}]
    rows = pd.DataFrame([about | block for block in blocks])
    other = rows.assign(rate=0.4, farther=rows["size"])
    found = phi_by_rate.closer_or_farther(pd.concat([rows, other]), thetas=[theta], totals=[8], rates=[0.3])
    drawn = found[found["data"] == "random"].iloc[0]
    assert drawn[["closer", "tie", "farther", "size"]].tolist() == [0.5, 0.25, 0.25, 4]
    assert drawn["mc_se"] == pytest.approx((0.25 * 0.75 / 4) ** 0.5)
