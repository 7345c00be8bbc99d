"""Test the censored normal model: the statistics, the sensitivity, the agreement of the Gibbs samplers with reference
implementations, and the rejection of invalid input.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from reference import censored_gibbs as reference
from scipy.stats import truncnorm

from dpmultinomial._accuracy import SUMMARY
from dpmultinomial._mechanisms.sufficient_statistics import CensoredStatistics
from dpmultinomial._seeding import stream
from reproduction.papers.raim2021.algorithms import censored_arguments, censored_gibbs, censored_normal, laplace_noise

SMALL = ((0.6, 20.0, 1.5, 0.2), 30, -2.0, 2.0, (3.0,) * 4, (0.2, 0.09, 10.0, 9.0), (0.1, 1.2))
MODEL = {"n": 1000, "lower": -2.0, "upper": 2.0, "scale": 8.494, "draws": 10, "burn_in": 0}
RELEASE = (-21.27, 778.56, 23.0, 27.0)


def test_statistics_by_hand():
    found = CensoredStatistics(lower=-2, upper=2).of([-3, -2, 0, 2, 5, 7])
    assert found.tolist() == [0.0, 8.0, 1.0, 2.0]
    assert CensoredStatistics(lower=0, upper=4).sums_of([-1, 1, 4]).tolist() == [1.0, 5.0, 1.0, 0.0]


def test_the_slides_sensitivity():
    mechanism = CensoredStatistics(lower=-2, upper=2)
    assert mechanism.sensitivity(1000) == pytest.approx(16.988, abs=1e-12)
    assert mechanism.range_bound() == 22


@pytest.mark.parametrize("limits", [(-2, 2), (0, 0.3), (0, 1.5), (0, 10)])
def test_sensitivity_against_all_neighbours(limits):
    mechanism = CensoredStatistics(lower=limits[0], upper=limits[1])
    for n in range(1, 5):
        assert mechanism.sensitivity(n) == pytest.approx(mechanism.brute_force_sensitivity(n), rel=1e-12)
    changes = [np.abs(mechanism.sums_of(x) - mechanism.sums_of(y)).sum() for x, y in mechanism._neighbours(2, 21)]
    assert max(changes) <= mechanism.sums_sensitivity() * (1 + 1e-12)
    assert max(changes) == pytest.approx(mechanism.sums_sensitivity(), rel=0.02)


@pytest.mark.parametrize(("mu", "sigma2"), [(0.0, 1.0), (0.3, 0.01), (1.9, 4.0), (-7.0, 1.0), (3.0, 400.0)])
def test_moments_inside_the_limits(mu, sigma2):
    sd = sigma2**0.5
    law = truncnorm((-2 - mu) / sd, (2 - mu) / sd, mu, sd)
    centre, variance, power, beta = censored_gibbs.inside_moments(mu, sigma2, -2.0, 2.0)
    fourth = law.expect(lambda x: (x - centre) ** 4)
    assert centre == pytest.approx(law.mean(), rel=1e-9, abs=1e-12)
    assert variance == pytest.approx(law.var(), rel=1e-7)
    assert power * beta == pytest.approx(variance, rel=1e-12)
    assert power * beta**2 == pytest.approx(fourth - variance**2, rel=1e-6)


@pytest.mark.parametrize("initial", [(0.1, 1.2), (-6.0, 0.5), (5.0, 40.0)])
@pytest.mark.parametrize("form", ["as_written", "corrected"])
def test_statistics_chain_equals_its_reference(form, initial):
    size = {"form": form, "draws": 25, "burn_in": 3}
    ours, _ = censored_gibbs.statistics_chain(*SMALL[:-1], initial, **size, rng=stream(1, form))
    theirs = reference.statistics_chain(*SMALL[:-1], initial, **size, rng=stream(1, form))
    assert np.allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("form", censored_gibbs.FORMS)
@pytest.mark.parametrize(("n", "limits", "theta", "scales", "release"), [
    (60, (-2.0, 2.0), (0.1, 1.2), (8.5,) * 4, (-5.0, 30.0, 4.0, 6.0)),  # wide noise
    (150, (-0.5, 3.0), (0.0, 1.0), (0.4,) * 4, (0.3, 60.0, 46.3, 0.2)),  # narrow noise: Kummer's function
    (150, (-0.5, 3.0), (0.2, 0.6), (1e-7, 1e-5, 1e-3, 1e-3), (0.5, 55.0, 45.0, 1.0)),  # negligible noise
    (150, (-0.5, 0.5), (0.3, 2.0), (300.0,) * 4, (2.0, -20.0, -30.0, 190.0)),  # a release without information
    (100, (-2.0, 2.0), (0.1, 1.2), (1.0, 5.0, 3.0, 3.0), (0.2, 300.0, 90.0, 90.0)),  # more records than exist
    (80, (-2.0, 2.0), (3.0, 0.5), (0.5, 4.0, 6.0, 6.0), (1.5, 9.0, 0.0, 79.0)),  # nearly all records above the limits
    (4, (-2.0, 2.0), (0.0, 1.0), (2.0,) * 4, (0.0, 3.0, 1.0, 1.0)),  # all records must be inside the limits
    (8, (-2.0, 2.0), (0.0, 1.0), (2.0,) * 4, (0.0, 3.0, 1.0, 1.0)),
])  # fmt: skip
def test_the_law_of_the_counts_is_that_of_all_pairs(n, limits, theta, scales, release, form):
    law = reference.counts_law(np.array(release), n, *limits, np.array(scales), theta, form)
    for near in ((0, 0), (n - 4, 0), (0, (n - 4) // 2)):
        found = censored_gibbs.counts_law(release, n, *limits, scales, theta, form=form, near=near)
        # the moments inside the limits are accurate to 1e-10 in the reference implementation
        assert 0.5 * np.abs(found - law).sum() < 1e-9
        heaviest = 1.0 if form == "as_written" else law.max()  # as written, each count is truncated separately
        assert law[found == 0].max(initial=0.0) < 1.001 * np.exp(-38) * heaviest


@pytest.mark.parametrize("form", ["as_written", "corrected"])
def test_counts_are_the_inverse_of_their_law(form):
    """Check that the counts are drawn by inversion of their distribution function, from uniform random numbers of a
    known stream. The prior fixes theta.
    """
    n, theta, draws, uniforms = 100, (0.1, 1.2), 2000, {"as_written": 2, "corrected": 1}[form]
    setting = ((0.6, 50.0, 9.5, 12.2), n, -1.0, 1.5, (3.0,) * 4)
    prior = (theta[0], 1e-200, 1e20, 1e20 * theta[1])
    found, _ = censored_gibbs.statistics_chain(
        *setting, prior, theta, form=form, draws=draws, burn_in=0, rng=stream(8, form)
    )
    law, rng = censored_gibbs.counts_law(*setting, theta, form=form), stream(8, form)
    for low, high in found[:, 4:].astype(int).tolist():
        u = rng.random(uniforms)
        if form == "corrected":
            place = np.searchsorted(np.cumsum(law), u[0])
            assert (high, low) == divmod(int(place), n + 1)
        else:
            assert high == np.searchsorted(np.cumsum(law.sum(axis=1)), u[0])
            assert low == np.searchsorted(np.cumsum(law[high]) / law[high].sum(), u[1])
        rng.random(2 + low + high)
        rng.standard_normal()
        rng.standard_gamma(1e20 + n / 2)


@pytest.mark.parametrize("z", [-3.0, 0.0, 2.0, 55.0, 9000.0])
@pytest.mark.parametrize("scale", [0.05, 0.9, 1.1, 40.0])
def test_four_normalisers_together_have_the_bits_of_one(z, scale):
    for first in (0.5, 40.0, 52.0, 250.0, 9000.0):
        for step in (0.7, -0.12, 60.0, 3.0):
            shapes = first + step * np.arange(4)
            one = [laplace_noise.gamma_log_psi(z, float(shape), 1.0, scale) for shape in shapes]
            assert censored_gibbs.log_psis(z, shapes, 1.0, scale).tolist() == one


def test_records_chain_equals_its_reference():
    x = stream(2, "records").standard_normal(30)
    ours, accepted = censored_gibbs.records_chain(*SMALL, x, draws=300, burn_in=3, rng=stream(2, "chain"))
    theirs = reference.records_chain(*SMALL, x, draws=300, burn_in=3, rng=stream(2, "chain"))
    assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    assert 0.5 < accepted <= 1


@pytest.mark.parametrize("method", censored_normal.METHODS)
@pytest.mark.parametrize(
    "release", [RELEASE, (500.0, -300.0, 2000.0, -80.0), (0.0, 1e6, 990.0, 5.0), (0.0, 0.0, 0.0, 0.0)]
)
def test_any_release_gives_finite_draws(method, release):
    found = censored_normal.chain(release, **MODEL, method=method, rng=stream(3, method))
    assert np.isfinite(found.draws).all()
    assert (found.draws[:, 1] > 0).all()
    assert (found.draws[:, 4] + found.draws[:, 5] <= 1000).all()


def made(shift=(0.0, 0.0), *, method="exact", impossible=0.0, draws=2000):
    """Return two chains of independent normal draws with known ESS and R-hat, whose means are 0, 5, .., 25, shifted by
    `shift`.
    """
    rng = stream(6, "made")
    values = [rng.standard_normal((draws, 6)) + 5.0 * np.arange(6) + s for s in shift]
    return [censored_normal.Chain(v, 0.5, impossible, method) for v in values]


@pytest.mark.parametrize(("chains", "word", "reason"), [
    (made(), "converged", "smallest ESS"),
    (made(shift=(0.0, 3.0)), "not converged", "R-hat"),
    (made(draws=100), "not converged", "smallest ESS"),
    (made(method="corrected"), "approximate", "s_mean and s_sse are drawn as independent; smallest ESS"),
    (made(method="corrected", shift=(0.0, 3.0)), "not converged", "R-hat"),
    (made(impossible=0.06), "not converged", "6% of the sweeps are impossible"),
])  # fmt: skip
def test_chains_together_say_how_far_to_trust_them(chains, word, reason):
    state = censored_normal.judged(chains)
    assert state.status == word
    assert reason in state.reason


def test_one_chain_is_not_judged_but_has_a_summary():
    chain = made()[0]
    with pytest.raises(
        ValueError, match="at least two chains that were drawn with the same method and have the same length, got 1"
    ):
        censored_normal.judged([chain])
    with pytest.raises(ValueError, match="got 2 chains with the methods and lengths"):
        censored_normal.judged([chain, *made(method="corrected")[:1]])
    found = chain.summary(0.9)
    assert list(found.columns) == list(SUMMARY)
    assert found["quantity"].tolist() == ["mu", "sigma2", "s_mean", "s_sse", "s_low", "s_high"]
    assert (found["status"] == "not converged").all()
    assert found["mean"].to_numpy() == pytest.approx(5.0 * np.arange(6), abs=5 / 2000**0.5)  # false alarm rate 1e-6
    assert (found["upper"] - found["lower"]).to_numpy() == pytest.approx(2 * 1.645, abs=0.3)
    assert censored_normal.chain(RELEASE, **MODEL, method="corrected", rng=stream(7, "kind")).method == "corrected"
    with pytest.raises(ValueError, match="at least one draw, got none"):
        censored_normal.Chain(np.empty((0, 6)), 0.0, 0.0).summary()


def test_a_mapping_is_the_same_release():
    named = dict(zip(("mean", "sse", "low", "high"), RELEASE, strict=True))
    draws = [censored_normal.gibbs(z, **MODEL, rng=stream(4, "same")) for z in (RELEASE, named)]
    assert np.array_equal(*draws)
    assert draws[0].shape == (10, 2)


@pytest.mark.parametrize(("changes", "match"), [
    ({"scale": 0.0}, "scale must be finite and > 0"),
    ({"lower": 2.0}, "lower must be below upper"),
    ({"n": 3}, "n must be >= 4, got 3"),
    ({"method": "best"}, "method must be one of"),
    ({"release": (1.0, np.nan, 2.0, 3.0)}, "release must be finite"),
    ({"release": (1.0, 2.0)}, "four numbers"),
    ({"release": {"mean": 1.0}}, "keys mean, sse, low, high"),
    ({"prior": (0.0, -1.0, 1.0, 1.0)}, "prior must be"),
    ({"initial": (0.0, 0.0)}, "initial must be"),
    ({"sums": True}, "sums may be given only for the method 'exact'"),
])  # fmt: skip
def test_bad_input_is_named(changes, match):
    arguments = {"release": RELEASE, **MODEL, "rng": stream(5, "bad"), **changes}
    with pytest.raises(ValueError, match=match):
        censored_normal.chain(arguments.pop("release"), **arguments)


@pytest.mark.parametrize(("changes", "match"), [
    ({"near": (90, 7)}, "near must leave at least 4 records"),
    ({"near": (-1, 0)}, "near"),
    ({"near": (1, 2, 3)}, "near must contain two counts"),
    ({"form": "best"}, "form must be one of"),
    ({"theta": (0.0, -1.0)}, "initial must be"),
])  # fmt: skip
def test_bad_input_of_the_law_of_the_counts_is_named(changes, match):
    arguments = {"release": RELEASE, "n": 100, "a": -2.0, "b": 2.0, "scales": 8.0, "theta": (0.0, 1.0)}
    with pytest.raises(ValueError, match=match):
        censored_gibbs.counts_law(**(arguments | {"form": "corrected"} | changes))


def test_seeds_are_refused_and_epsilon_is_checked():
    with pytest.raises(TypeError, match="Generator"):
        censored_normal.gibbs(RELEASE, **MODEL, rng=1)
    with pytest.raises(ValueError, match="epsilon must be finite and > 0, got 0"):
        CensoredStatistics(lower=-2, upper=2).release([0.0, 1.0], epsilon=0, rng=stream(5, "eps"))


GIVEN = {"release": [0.0, 1.0, 2.0, 3.0], "n": 10, "a": -1.0, "b": 1.0, "scales": 1.0, "prior": [0.0, 1.0, 1.0, 1.0],
         "initial": [0.0, 1.0]}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": 3}, "n"), ({"n": 10**7 + 1}, "n"), ({"a": 1.0}, "a must be below b, got a = 1.0 and b = 1.0"),
        ({"release": [1.0, 2.0, 3.0]}, "release must have 4 entries, got 3"),
        ({"initial": [0.0, 0.0]}, r"sigma2 > 0, got \[0.0, 0.0\]"), ({"initial": [1.0]}, "initial must have 2 entries"),
        ({"scales": 0.0}, "scales"),
        *(({"prior": [0.0, *([1.0] * i), 0.0, *([1.0] * (2 - i))]}, "shape0 and rate0 > 0") for i in range(3)),
        ({"release": [1.0001e7 + 1, 1.0, 2.0, 3.0]}, r"1e\+07 times the noise scale.* index 0 for the range \[-1, 1\]"),
        ({"release": [0.0, -1.0001e7, 2.0, 3.0]}, r"at index 1 for the range \[0, 10\]"),
        ({"release": [0.0, 1.0, 2.0, 1.0001e7 + 10]}, r"at index 3 for the range \[0, 10\]"),
        ({"sums": True, "release": [1.0001e7 + 10, 1.0, 2.0, 3.0]}, r"at index 0 for the range \[-10, 10\]"),
    ],
)  # fmt: skip
def test_invalid_arguments_of_both_samplers_are_rejected(changes, message):
    with pytest.raises(ValueError, match=message):
        censored_arguments.checked(**(GIVEN | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"n": 4}, {"n": 10**7}, {"a": -1e-9, "b": 0.0}, {"release": [0.9999e7, 1.0, 2.0, 3.0]},
        {"release": [0.0, 10 + 0.9999e7, 2.0, 3.0]}, {"sums": True, "release": [10 + 0.9999e7, 1.0, 2.0, 3.0]},
        {"prior": [-5.0, 1e-9, 1e-9, 1e-9]}, {"initial": [-3.0, 1e-9]},
    ],
)  # fmt: skip
def test_extreme_arguments_of_both_samplers_are_accepted(changes):
    found = censored_arguments.checked(**(GIVEN | changes))
    assert found.n == changes.get("n", 10)
    assert found.scales.tolist() == [1.0] * 4


@pytest.mark.parametrize("count", [1, 2])
def test_standard_errors_of_the_means_of_chains(count):
    """Check that the squared standard error of a mean is the sample variance divided by the effective sample size, for
    one and two chains of 8 draws.
    """
    draws = np.zeros((count, 8, 6))
    draws[:, :, 0] = [[1.0, 2.0, 4.0, 3.0, 0.0, 5.0, 2.0, 7.0], [2.0, 0.0, 1.0, 6.0, 3.0, 3.0, 4.0, 5.0]][:count]
    draws[:, :, 1] = draws[:, :, 0] ** 2
    table = censored_normal.diagnostics([censored_normal.Chain(one, 1.0, 0.25, "exact") for one in draws])
    for row, x in zip(table.to_dict("records"), (draws[:, :, 0], draws[:, :, 1]), strict=True):
        squares = float(((x - x.mean()) ** 2).sum())
        assert row["sd"] ** 2 == pytest.approx(squares / (8 * count - 1), rel=1e-12)
        assert row["mc_se"] ** 2 * row["ess"] == pytest.approx(squares / (8 * count - 1), rel=1e-12)
        assert row["impossible"] == 0.25
        assert np.isnan(row["rhat"]) == (count == 1)


def test_the_standard_error_of_geweke_is_that_of_the_batch_means_by_hand(monkeypatch):
    """Check seven draws in three batches of two: the last draw is part of the mean, but of no batch. The batch means of
    mu are 1.5, 3.5 and 7, with the variance (6.25 + 0.25 + 9)/2; those of sigma2 are 1, 2 and 3.
    """
    mu, sigma2 = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 9.0, 11.0]), np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 2.0])
    monkeypatch.setattr(censored_normal, "chain", lambda *_, **__: SimpleNamespace(draws=np.column_stack([mu, sigma2])))
    table = censored_normal.geweke(
        method="exact", n=30, lower=-2.0, upper=2.0, scale=3.0, prior=(0.2, 0.09, 10.0, 9.0), sweeps=7,
        rng=stream(1, "batches"), batches=3,
    ).set_index("moment")  # fmt: skip
    assert table.loc["mu", ["expected", "found", "se"]].tolist() == pytest.approx([0.2, 5.0, (7.75 / 3) ** 0.5])
    assert table.loc["sigma2"].tolist() == pytest.approx([1.0, 2.0, 1 / 3**0.5, 3**0.5])  # 9/(10 - 1)
    assert table["expected"].tolist() == pytest.approx([0.2, 0.09, 1.0, 81 / 72, 0.2])
