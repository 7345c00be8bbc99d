"""Check properties of the tables that the paper's functions return, and the rules of the paper's configuration."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._seeding import stream
from reproduction import evidence, style
from reproduction.jobs import making
from reproduction.papers.raim2021 import beyond, coverage, draws, errata, figures, gibbs, method

SETTING = {"z_mean": -21.27, "z_sse": 778.56, "mu": 0.0, "sigma2": 1.0, "count": 950}


def test_step_functions_lie_above_the_area_and_improve_with_n():
    table = method.step_functions(z=0.5, sigma2=1.0, scale=1.0, knots=[3, 12])
    area = table[table["kind"] == "area"]
    bounds = []
    for n in (3, 12):
        steps = table[table["knots"] == n].sort_values("u")
        height = steps["y"].to_numpy()[np.searchsorted(steps["u"], area["u"], side="right") - 1]
        assert (height >= area["y"] - 1e-12).all()
        bounds.append(steps["bound"].iloc[0])
    assert bounds[1] < bounds[0] / 2


def test_accepted_candidates_lie_below_the_area():
    table = method.accept_reject(z=0.5, sigma2=1.0, scale=1.0, knots=6, candidates=400, rng=stream(1, "ar"))
    area = table[table["kind"] == "area"]
    for kind, sign in (("accepted", 1), ("rejected", -1)):
        rows = table[table["kind"] == kind]
        assert (sign * (np.interp(rows["u"], area["u"], area["y"]) - rows["y"]) > -1e-3).all()


def test_density_of_x_given_u_has_probability_one():
    table = method.weighted_density(z=3.0, sigma2=1.0, scale=1.0, u=0.3)
    for curve in ("conditional", "target"):
        rows = table[table["curve"] == curve]
        assert np.trapezoid(rows["y"], rows["x"]) == pytest.approx(1, abs=2e-3)


def test_log_density_of_u_has_probability_one():
    table = method.descent(**SETTING, scale=8.494)
    for _, rows in table[table["curve"] == "density"].groupby("target"):
        assert np.trapezoid(rows["y"], rows["log_u"]) == pytest.approx(1, abs=5e-3)


def test_histogram_and_exact_density_agree():
    table = draws.xi_sse(**SETTING, deltas=[22.0], epsilon=2.0, draws=4000, knots=25, bins=20, rng=stream(2, "xi"))
    for _, rows in table.groupby("variant"):
        bars, curve = rows[rows["kind"] == "histogram"], rows[rows["kind"] == "density"]
        middle = np.interp(bars["x"] + bars["bin_width"] / 2, curve["x"], curve["y"])
        assert np.abs(bars["y"] - middle).max() < 0.0015  # standard error of the highest bar 0.00015, plus curvature


def test_errata_show_what_they_say():
    table = errata.errata(sweeps=150, rng=stream(3, "errata")).set_index("number")["evidence"]
    assert len(table) == 8
    assert "0.003" in table[1]
    assert "0.19" in table[8]
    with pytest.raises(ValueError, match="erratum must be one of 1, 2"):
        evidence.show(errata.ERRATA, 9, rng=stream(3, "errata"), size=10)


def test_coverage_blocks_do_not_depend_on_shards():
    settings = {"epsilons": [2.0], "methods": ["exact"], "n": 40, "lower": -2.0, "upper": 2.0, "delta_s": 16.988}
    settings |= {"draws": 20, "burn_in": 2, "replications": 5, "block": 2}
    size = {"root_seed": 1, "names": ("raim2021", "coverage")}
    whole = making.simulate(coverage.simulate, settings, **size)
    parts = [making.simulate(coverage.simulate, settings, **size, shard=s, shards=2) for s in (1, 2)]
    pd.testing.assert_frame_equal(whole, pd.concat(parts, ignore_index=True))
    found = coverage.coverage(whole)
    assert set(found["method"]) == {"exact", "without privacy"}
    assert (found["data_sets"] == 5).all()


def test_sums_are_the_better_release():
    size = {"n": 500, "lower": -2.0, "upper": 2.0, "epsilons": [1.0], "data_sets": 2, "draws": 1500, "burn_in": 300}
    table = beyond.release_designs(**size, rng=stream(4, "designs"))
    sd = table[table["parameter"] == "mu"].groupby("design")["sd"].mean()
    assert sd["without privacy"] < sd["sums released"] < sd["exact sensitivity"] / 2


def test_the_first_sweeps_are_those_of_every_method():
    setting = {"z_mean": 0.4, "z_sse": 20.0, "z_low": 1.0, "z_high": 2.0, "n": 30, "lower": -2.0, "upper": 2.0}
    setting |= {"delta_s": 6.0, "epsilon": 2.0, "mu0": 0.0, "var0": 100.0, "shape0": 1.0, "rate0": 1.0}
    methods = ["as_written", "exact"]
    table = gibbs.gibbs_traces(methods=methods, sweeps=7, **setting, rng=stream(6, "traces"))
    assert table.groupby("method")["sweep"].max().to_dict() == dict.fromkeys(methods, 7)
    size = {"chains": 2, "draws": 50, "burn_in": 5, "bins": 8}
    found = gibbs.gibbs_posteriors(methods=methods, **size, **setting, rng=stream(6, "posteriors"))
    assert set(found[found["kind"] == "summary"]["statistic"]) >= {"mean", "ess", "rhat", "diverged"}


@pytest.mark.parametrize("target", ["xi_mean", "xi_sse"])
def test_numbers_of_knots_do_not_lie_on_each_other(target):
    table = getattr(draws, target)(
        **SETTING, deltas=[16.988], epsilon=2.0, draws=200, knots=25, bins=20, rng=stream(4, "knots")
    )
    with style.applied():
        figure = getattr(figures, target)(table)
        figure.draw_without_rendering()
    for axis in figure.axes[1:]:
        places = [t.get_window_extent() for t in axis.texts if t.get_text().isdigit()]
        assert len(places) > 5
        assert not [1 for a, b in combinations(places, 2) if a.overlaps(b)]
