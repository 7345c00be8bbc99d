"""Check curves and tables of the slides' figures against independently written formulas."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpmultinomial._seeding import stream
from reproduction.papers.raim2021 import agreement, beyond, draws, figure_checks, gibbs, method, validation

SETTING = {"z_mean": -21.27, "z_sse": 778.56, "mu": 0.0, "sigma2": 1.0, "count": 950}
NORMAL = {"z": 0.5, "sigma2": 2.0, "scale": 1.5}


def curve(table, name, column="curve"):
    rows = table[table[column] == name]
    return rows["x"].to_numpy(), rows["y"].to_numpy()


def area(u):
    """Return P(A_u) of the normal weight at 1/2, variance 2, under Laplace noise of scale 1.5."""
    reach = np.sqrt(-4 * np.log(u))
    law = stats.laplace(scale=1.5)
    return law.cdf(0.5 + reach) - law.cdf(0.5 - reach)


def test_weighted_density():
    """Check the curves for the base Laplace(1.5) and the weight exp(-(x - 1/2)^2/4): A_u is where the weight is above u
    = 0.3.
    """
    table = method.weighted_density(**NORMAL, u=0.3)
    x, base = curve(table, "base")
    assert base == pytest.approx(stats.laplace.pdf(x, scale=1.5), rel=1e-12)
    assert (x[0], x[-1]) == pytest.approx((-4.5, 0.5 + 3.5 * 2**0.5))
    assert curve(table, "weight")[1] == pytest.approx(np.exp(-((x - 0.5) ** 2) / 4), rel=1e-9)
    product = base * np.exp(-((x - 0.5) ** 2) / 4)
    target = curve(table, "target")[1]
    assert target / target.max() == pytest.approx(product / product.max(), rel=1e-9)
    inside, density = curve(table, "conditional")
    reach = np.sqrt(-4 * np.log(0.3))
    assert (inside[0], inside[-1]) == pytest.approx((0.5 - reach, 0.5 + reach))
    assert density == pytest.approx(stats.laplace.pdf(inside, scale=1.5) / area(0.3), rel=1e-9)
    assert curve(table, "level")[1].tolist() == [0.3, 0.3]


def test_step_functions_have_the_area_and_start_at_one():
    table = method.step_functions(**NORMAL, knots=[5])
    rows = table[table["kind"] == "area"]
    assert rows["y"].to_numpy()[:-1] == pytest.approx(area(rows["u"].to_numpy()[:-1]), rel=1e-9)
    steps = table[table["kind"] == "step"].sort_values("u")
    inner = steps[steps["u"] < 1]
    assert inner["y"].to_numpy()[1:] == pytest.approx(area(inner["u"].to_numpy()[1:]), rel=1e-9)
    assert set(steps["order"]) >= {0, 1, 2}


def test_candidates_are_uniform_under_the_steps():
    """Check that the height of a candidate divided by the height of its step is uniform, and that a step of height h
    has the mass h du.
    """
    table = method.accept_reject(**NORMAL, knots=4, candidates=4000, rng=stream(1, "candidates"))
    steps = table[table["kind"] == "step"].sort_values("u")
    u, h = steps["u"].to_numpy(), steps["y"].to_numpy()
    both = table[table["kind"].isin(["accepted", "rejected"])]
    piece = np.searchsorted(u, both["u"], side="right") - 1
    assert len(both) == 4000
    share = both["y"].to_numpy() / h[piece]
    assert stats.kstest(share, "uniform").pvalue > 1e-4
    mass = np.diff(u) * h[:-1]
    expected = mass / mass.sum() * 4000
    counts = np.bincount(piece, minlength=len(mass))[: len(mass)]
    assert (np.abs(counts - expected) < 4.5 * np.sqrt(expected) + 1).all()
    accepted = (both["kind"] == "accepted").to_numpy()
    assert accepted.tolist() == (both["y"] < area(both["u"])).tolist()


def test_descent_is_the_area_against_log_u():
    table = method.descent(**SETTING, scale=8.494)
    rows = table[(table["target"] == "xi_mean") & (table["curve"] == "area")]
    log_u, noise = rows["log_u"].to_numpy(), stats.laplace(scale=8.494)
    reach = np.sqrt(-2 * log_u / 950)
    wanted = noise.cdf(-21.27 + reach) - noise.cdf(-21.27 - reach)
    assert rows["y"].to_numpy() == pytest.approx(wanted, rel=1e-6, abs=1e-12)
    assert (rows["log_u"].iloc[-1], len(rows)) == (pytest.approx(-1e-4), 800)
    singles = table[table["y"].isna()].set_index(["target", "curve"])["log_u"]
    assert rows["log_u"].iloc[0] == pytest.approx(4 * singles["xi_mean", "u_L machine"])
    assert singles["xi_mean", "u_L machine"] < singles["xi_mean", "u_L efficient"] < singles["xi_mean", "u_H"] <= 0


def test_intervals_of_the_weight_functions():
    """Check that the normal weight equals u at z - mu -+ sqrt(-2 log(u)/950)."""
    table = method.weight_functions(**SETTING, levels=[0.5, 0.1])
    ends = table[(table["target"] == "xi_mean") & (table["curve"] == "interval")]
    reach = np.sqrt(-2 * np.log([0.5, 0.1]) / 950)
    wanted = np.column_stack([-21.27 - reach, -21.27 + reach]).ravel()
    assert ends["xi"].to_numpy() == pytest.approx(wanted)
    assert ends["y"].tolist() == [0.5, 0.5, 0.1, 0.1]


def test_numbers_of_the_sampler():
    """Check that rates are proportions of candidates with binomial errors, and that an adaptive sampler has no error
    estimate.
    """
    table = draws.sampler_accuracy(
        **SETTING, deltas=[16.988], epsilon=2.0, draws=400, knots=[10], rng=stream(4, "accuracy")
    )
    tried = 400 + table["rejected"]
    assert table["observed_rate"].to_numpy() == pytest.approx(table["rejected"] / tried)
    fixed = table[table["rule"] != "efficient, adaptive"]
    rate = fixed["exact_rate"]
    assert fixed["mc_se"].to_numpy() == pytest.approx(np.sqrt(rate * (1 - rate) / (400 + fixed["rejected"])))
    assert table.loc[table["rule"] == "efficient, adaptive", "mc_se"].isna().all()
    written = table["rule"].str.startswith("as on the slides")
    assert (table["variant"] == np.where(written, "as_written", "corrected")).all()


def test_bars_and_steps_of_the_targets():
    table = draws.xi_mean(**SETTING, deltas=[16.988], epsilon=2.0, draws=300, knots=12, bins=15, rng=stream(4, "bars"))
    for _, rows in table.groupby("variant"):
        bars = rows[rows["kind"] == "histogram"]
        width = bars["bin_width"].iloc[0]
        assert np.diff(bars["x"]) == pytest.approx(width)
        assert (bars["y"] * width).sum() == pytest.approx(1)
        log_u = rows.loc[rows["kind"] == "area", "x"].to_numpy()
        assert (np.diff(log_u) > 0).all()
        assert log_u[-1] <= 0
        first = rows.loc[rows["kind"] == "step", "x"].min()
        assert log_u[0] == pytest.approx(first)


def test_exact_laws_in_closed_form():
    """Check a normal weight N(z, 1/950) on a Laplace base, far to the left of 0, against a normal distribution with
    mean z + 1/(950 b).
    """
    row = draws.exact_laws(deltas=[16.988], epsilon=2.0, **SETTING).set_index("target").loc["xi_mean"]
    mean, sd = -21.27 + 1 / (950 * 8.494), 950**-0.5
    assert (row["mean"], row["sd"], row["mode"]) == pytest.approx((mean, sd, mean), rel=1e-6)
    ends = stats.norm(mean, sd).ppf([0.025, 0.5, 0.975])
    assert [row["q025"], row["q500"], row["q975"]] == pytest.approx(ends, rel=1e-9)


def test_histograms_of_other_noises_close_at_zero():
    table = beyond.other_noises(
        delta_s=16.988, epsilon=2.0, draws=200, knots=12, bins=6, rng=stream(1, "others"), **SETTING
    )
    for _, rows in table[table["kind"] == "histogram"].groupby(["target", "noise"]):
        heights, edges = rows["y"].to_numpy(), rows["x"].to_numpy()
        assert heights[-1] == 0
        assert (heights[:-1] * np.diff(edges)).sum() == pytest.approx(1)
    numbers = table[table["kind"] == "number"].set_index(["target", "noise", "statistic"])["y"]
    for target in ("xi_mean", "xi_sse"):
        for noise in ("Laplace", "Gaussian"):
            rejected = numbers[target, noise, "rejected"]
            assert numbers[target, noise, "observed_rate"] == pytest.approx(rejected / (rejected + 200))


def test_whole_draws_against_their_law():
    """Check that draws from the distribution pass, that draws from another distribution fail, and that draws that are
    not integers have p = 0.
    """
    weight = SimpleNamespace(log_relative=lambda x: -((x - 3.0) ** 2) / 8)
    noise = beyond.Noise(2.0, whole=True)
    k = np.arange(-40, 41)
    mass = np.exp(-((k - 3.0) ** 2) / 8 - np.abs(k) / 2)
    x = stream(3, "whole").choice(k, size=3000, p=mass / mass.sum()).astype(float)
    assert beyond.p_value(x, weight, noise) > 1e-3
    assert beyond.p_value(x + 1, weight, noise) < 1e-6
    assert beyond.p_value(x + 0.5, weight, noise) == 0


def test_a_missing_bound_is_no_bound():
    about = {
        "rule": "efficient",
        "target": "xi_mean",
        "delta_s": 8.0,
        "knots": 10,
        "mc_se": 0.01,
        "ks_p": 0.5,
        "serial_p": 0.5,
    }
    about |= {"seen": 0.02}
    table = pd.DataFrame(
        [about | {"observed_rate": 0.1, "exact_rate": 0.1, "bound": b, "total_variation": 0.0} for b in (0.3, np.nan)]
    )
    table = pd.concat([table, table.head(1).assign(rule="efficient, adaptive")])
    rows = {row["quantity"]: row["ours"] for row in agreement.sampler(table)}
    assert np.isnan(rows["probability of a rejection at most its bound"])
    assert np.isnan(rows["total variation at most its bound"])


def test_first_values_of_the_chains_alternate_around_zero_and_one():
    """Check that the starting points of mu are 0, -1/2, 1/2, -1 and those of sigma2 are 1, 1, 1.5, 1/1.5."""
    assert gibbs._starts(4) == [pytest.approx(pair) for pair in ((0, 1), (-0.5, 1), (0.5, 1.5), (-1, 1 / 1.5))]


def test_limits_stand_in_order():
    from reproduction.config import checks, config
    from reproduction.paper import discover

    papers = discover()
    right = config.check({"raim2021": {}}, checks.schema_of(papers), {})["raim2021"]
    assert list(validation.mistakes(right)) == []
    names = [name for name, part in right.items() if isinstance(part, dict) and {"lower", "upper"} <= set(part)]
    assert names
    for name in names:
        wrong = right | {name: right[name] | {"lower": 2.0, "upper": 2.0}}
        assert [path for path, _ in validation.mistakes(wrong) if path.startswith(name)]


def test_a_joint_p_value_is_at_most_one(monkeypatch):
    """Two panels with p-values of 0.9 and 0.8 have 1 together, and 0.3 and 0.8 have 0.6."""
    panels = pd.DataFrame({"variant": ["as_written", "corrected"], "delta_s": 1.0, "p": [0.9, 0.8], "kind": "none"})
    monkeypatch.setattr(figure_checks, "_bars", lambda name, of: (of["p"].iloc[0], ("scale", 0.1)))
    assert next(figure_checks._target("xi_mean", panels))["ours"] == 1
    panels.loc[0, "p"] = 0.3
    assert next(figure_checks._target("xi_mean", panels))["ours"] == pytest.approx(0.6)
