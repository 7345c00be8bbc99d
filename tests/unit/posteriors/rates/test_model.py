"""Regressions of protected counts: evidence and derivatives, modes, integration over the hyperparameters."""

from types import SimpleNamespace

import numpy as np
import pytest
from reference import rate_sums as reference
from scipy import optimize, special, stats

import dpmultinomial as dpm
from dpmultinomial._posteriors.published.cells import cells_of
from dpmultinomial._posteriors.rates import area_rates, integration, likelihoods
from dpmultinomial._posteriors.rates.integration import Hyperparameters, Nodes, ShapeLaw, star
from dpmultinomial._posteriors.rates.likelihoods import likelihoods_of, table_of
from dpmultinomial._posteriors.rates.model import Fit, Model, Prior

LAWS = {
    "discrete Gaussian": dpm.DiscreteGaussian(sigma=5.0),
    "discrete Laplace": dpm.DiscreteLaplace(scale=2.0),
    "Gaussian": dpm.Gaussian(sigma=5.0),
    "rounded and clipped": dpm.DiscreteGaussian(sigma=5.0).rounded(5).clipped(0),
    "withheld below 10": dpm.Exact().rounded(1).threshold(10),
    "noise with a threshold": dpm.DiscreteLaplace(scale=2.0).threshold(5),
    "random rounding": dpm.RandomRounding(5),
    "exact": dpm.Exact(),
}
MOST = 900


def problem(law, *, n=25, shares=False, seed=1):
    """Released values, design and exposures of a few areas."""
    rng = dpm.stream(seed, "rates")
    design = np.column_stack([np.ones(n), rng.normal(size=n)])
    if shares:
        size = rng.integers(5, 90, n).astype(float)
        counts = rng.binomial(size.astype(int), rng.beta(3.0, 7.0, n))
    else:
        size = np.exp(rng.normal(np.log(8), 0.8, n))
        counts = rng.poisson(rng.gamma(4.0, np.exp(0.3 * design[:, 1]) / 4.0) * size)
    return np.asarray(law.sample(counts, rng=rng), dtype=float), design, size


def model_of(law, *, shares=False, prior=None, nodes=None, **more):
    released, design, size = problem(law, shares=shares, **more)
    cells = cells_of(released, law, upper=size if shares else np.inf)
    table = likelihoods_of(cells)
    at, logs = (size[:, None], np.zeros((len(size), 1))) if nodes is None else nodes(size)
    return Model(table, at, logs, design, prior or Prior(np.log(4), 2.0, 10.0), shares=shares), released, design, size


@pytest.mark.parametrize("shares", [False, True], ids=["rates", "shares"])
@pytest.mark.parametrize("name", LAWS)
def test_evidence_gradient_and_hessian(name, shares):
    """Evidence against sums with SciPy's distributions over all counts, derivatives against differences."""
    law = LAWS[name]
    model, released, design, size = model_of(law, shares=shares)
    at = np.array([0.9, -0.8 if shares else 0.1, 0.2])
    rows = np.array([reference.likelihood(law, y, MOST) for y in released])
    expected = reference.log_evidence(at, rows, design, size, shares=shares)
    assert model.terms(at).log_evidence == pytest.approx(expected, abs=1e-11)
    value, gradient, hessian = model.objective(at)
    gaps = at - [np.log(4), 0, 0]
    scale = np.array([2.0, 10.0, 10.0])
    prior = -(gaps**2 / scale**2 / 2 + np.log(scale) + np.log(2 * np.pi) / 2).sum()
    assert value == pytest.approx(expected.sum() + prior, abs=1e-10)
    assert model.value(at) == value
    h = 1e-5
    steps = np.eye(3) * h
    assert gradient == pytest.approx(
        [(model.value(at + s) - model.value(at - s)) / (2 * h) for s in steps], abs=1e-6
    )  # fmt: skip
    slopes = np.array([(model.objective(at + s)[1] - model.objective(at - s)[1]) / (2 * h) for s in steps])
    assert hessian == pytest.approx(slopes, abs=1e-6)


def test_derivatives_with_an_uncertain_exposure():
    def nodes(size):
        return size[:, None] * [0.8, 1.0, 1.3], np.log(np.full((len(size), 3), [0.3, 0.5, 0.2]))

    model, *_ = model_of(LAWS["discrete Gaussian"], nodes=nodes)
    at, h = np.array([0.7, 0.1, 0.2]), 1e-5
    _, gradient, hessian = model.objective(at)
    steps = np.eye(3) * h
    assert gradient == pytest.approx([(model.value(at + s) - model.value(at - s)) / (2 * h) for s in steps], abs=1e-6)
    slopes = np.array([(model.objective(at + s)[1] - model.objective(at - s)[1]) / (2 * h) for s in steps])
    assert hessian == pytest.approx(slopes, abs=1e-6)


@pytest.mark.parametrize("shares", [False, True], ids=["rates", "shares"])
def test_the_mode_is_that_of_a_general_optimiser(shares):
    model, released, _, size = model_of(LAWS["discrete Gaussian"], shares=shares)
    crude = max(released.sum(), 1.0) / size.sum()
    fit = model.fit(model.start(crude))
    assert fit.done
    found = optimize.minimize(lambda x: -model.value(x), fit.parameters + 0.3, method="Nelder-Mead",
                              options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000})  # fmt: skip
    assert fit.parameters == pytest.approx(found.x, abs=1e-5)
    assert fit.value >= -found.fun - 1e-9
    held = model.fit(np.r_[0.3, fit.parameters[1:]], fixed=True)
    assert held.parameters[0] == 0.3
    assert np.abs(model.objective(held.parameters)[1][1:]).max() < 1e-4


@pytest.mark.parametrize("shares", [False, True], ids=["rates", "shares"])
def test_the_mean_of_a_coefficient_given_log_a_is_not_its_mode(shares):
    """Check exact counts with the sum 12 and equal rates of all areas (log a = 16). Under a flat prior of the log rate,
    the rate is a gamma variable, so its log has the mean psi(12) - log E, and the mode log 12 - log E. Under a flat
    prior of the log odds, the share of 60 persons is a beta variable.
    """
    released, size = np.array([3.0, 0.0, 4.0, 5.0]), np.full(4, 15.0)
    table = likelihoods_of(cells_of(released, dpm.Exact(), upper=size if shares else np.inf))
    model = Model(table, size[:, None], np.zeros((4, 1)), np.ones((4, 1)), Prior(16.0, 1.0, 1e4), shares=shares)
    fit = model.fit(np.r_[16.0, model.start(0.2)[1:]], fixed=True)
    mode, apart = np.log(12 / 60), special.psi(12) - np.log(12)
    if shares:
        mode, apart = np.log(12 / 48), apart - special.psi(48) + np.log(48)
    assert fit.parameters[1] == pytest.approx(mode, abs=1e-4)
    assert Hyperparameters(model, fit).mean(fit)[0] - mode == pytest.approx(apart, rel=0.03)


def test_a_rule_of_degree_three():
    """Moments up to the order three of a normal distribution."""
    covariance = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.7]])
    at, weights = star(np.array([1.0, -2.0, 0.5]), covariance)
    gaps = at - [1.0, -2.0, 0.5]
    assert weights.sum() == pytest.approx(1, abs=1e-14)
    assert weights @ gaps == pytest.approx(np.zeros(3), abs=1e-14)
    assert (weights[:, None] * gaps).T @ gaps == pytest.approx(covariance, abs=1e-13)
    third = np.einsum("i,ij,ik,il", weights, gaps, gaps, gaps)
    assert third == pytest.approx(np.zeros((3, 3, 3)), abs=1e-13)


INTEGRALS = [
    ("discrete Gaussian", 40, False),
    ("withheld below 10", 40, False),
    pytest.param("discrete Gaussian", 15, False, marks=pytest.mark.thorough),
    ("discrete Laplace", 30, True),
    pytest.param("exact", 100, False, marks=pytest.mark.thorough),
]


@pytest.mark.parametrize(("name", "n", "shares"), INTEGRALS)
def test_integration_against_a_lattice(name, n, shares):
    """Probabilities below the ends of all intervals by 2,197 points of the exact log posterior differ by no more than
    twice the stated error, which is small; hyperparameters and evidence by the same points.
    """
    model, released, _, size = model_of(LAWS[name], n=n, shares=shares)
    fit = model.fit(model.start(np.nansum(np.maximum(released, 1.0)) / size.sum()))
    hyper = Hyperparameters(model, fit)
    points, weights = reference.lattice(model.value, fit.parameters, fit.covariance)
    rates = area_rates.AreaRates(model, hyper)
    found = rates.numbers(0.95)
    kept = weights > 1e-7
    first, second = (np.stack(x) for x in zip(*(model.pair(p) for p in points[kept]), strict=True))
    lattice = area_rates.Points(first, second, weights[kept] / weights[kept].sum())
    ends = np.column_stack([found.lower, found.upper])
    below = rates.evaluate(slice(0, n), [0.5], ends, lattice)[2][:, :, 0]
    assert rates.error < 0.02
    assert np.abs(below - [0.025, 0.975]).max() < 2 * rates.error
    mean = weights @ points
    shape = ShapeLaw(hyper.grid)
    assert shape.mean() == pytest.approx(mean[0], abs=0.05)
    assert np.sqrt(shape.variance()) == pytest.approx(np.sqrt(weights @ (points[:, 0] - mean[0]) ** 2), rel=0.05)
    logs = np.array([model.value(p) for p in points])
    cell = 0.8**3 * np.linalg.det(np.linalg.cholesky(fit.covariance))  # volume of a cell of the lattice
    exact = np.log(np.exp(logs - logs.max()).sum() * cell) + logs.max()
    assert hyper.log_evidence == pytest.approx(exact, abs=0.05)
    joint, joint_weights = hyper.joint()
    assert joint_weights.sum() == pytest.approx(1, abs=1e-12)
    sd = np.sqrt(weights @ (points - mean) ** 2)
    assert joint_weights @ joint == pytest.approx(mean, abs=0.08 * sd.max())


def test_the_stated_error_is_that_of_too_few_nodes():
    """With a single node of log a, far from its mean, the stated error grows as the true one does."""
    model, released, _, size = model_of(LAWS["discrete Gaussian"], n=40)
    fit = model.fit(model.start(released.sum() / size.sum()))
    hyper = Hyperparameters(model, fit)
    good = area_rates.AreaRates(model, hyper).error
    nodes = hyper.nodes
    hyper.nodes = Nodes(nodes.fits[:1], np.ones(1), "one node")
    assert area_rates.AreaRates(model, hyper).error > 0.02 > good


def test_a_prior_that_decides_is_reported():
    """Ten areas without variation of their rates: log a ranges over the prior."""
    rng = dpm.stream(4, "grid")
    law = dpm.DiscreteGaussian(sigma=5.0)
    released = np.asarray(law.sample(rng.poisson(np.full(10, 8.0)), rng=rng), dtype=float)
    table = likelihoods_of(cells_of(released, law))
    model = Model(table, np.full((10, 1), 8.0), np.zeros((10, 1)), np.ones((10, 1)), Prior(np.log(4), 2.0, 10.0),
                  shares=False)  # fmt: skip
    hyper = Hyperparameters(model, model.fit(model.start(1.0)))
    assert hyper.held[0]
    assert not hyper.held[1].any()
    assert hyper.grid.values[-1] - hyper.grid.values[0] > 6


def test_a_large_release_has_three_nodes_of_log_a(monkeypatch):
    model, released, _, size = model_of(LAWS["discrete Gaussian"], n=300)
    fit = model.fit(model.start(released.sum() / size.sum()))
    small = area_rates.AreaRates(model, Hyperparameters(model, fit))
    monkeypatch.setattr(integration, "_LARGE", 100)
    large = area_rates.AreaRates(model, Hyperparameters(model, fit))
    assert len(large.hyperparameters.nodes.weights) == 3
    one, two = small.numbers(0.95), large.numbers(0.95)
    assert np.abs((one.lower - two.lower) / one.sd).max() < 0.02
    assert np.abs((one.upper - two.upper) / one.sd).max() < 0.02
    assert large.error < 0.01


def test_gauss_rules_have_the_moments_of_the_exposure():
    """All moments up to the order 2 K - 1, and nodes within the range."""
    law = dpm.DiscreteGaussian(sigma=5.0)
    cells = cells_of(np.array([200.0, 60.0, 12.0, -3.0]), law, lower=1)
    nodes, logs = likelihoods.nodes_of(cells)
    for i, y in enumerate(cells.released):
        x = np.arange(1.0, 400)
        w = np.exp(law.log_likelihood(np.full((1, 1), y), x[None])[0])
        w /= w.sum()
        at, p = nodes[i, np.isfinite(logs[i])], np.exp(logs[i, np.isfinite(logs[i])])
        assert len(at) == (likelihoods.NODES_OF_FEW if w @ x < likelihoods.FEW else likelihoods.NODES)
        assert at.min() >= 1
        centre, sd = w @ x, np.sqrt(w @ (x - w @ x) ** 2)
        for order in range(2 * likelihoods.NODES):
            moment = w @ ((x - centre) / sd) ** order
            assert p @ ((at - centre) / sd) ** order == pytest.approx(moment, rel=1e-7, abs=1e-7)


def test_an_exposure_with_few_possible_values_keeps_them_all():
    cells = cells_of(np.array([20.0, 5.0]), dpm.RandomRounding(5), lower=1)
    nodes, logs = likelihoods.nodes_of(cells)
    assert nodes[0, np.isfinite(logs[0])].tolist() == list(range(16, 25))
    assert np.exp(logs[0, :9]) == pytest.approx(np.array([1, 2, 3, 4, 5, 4, 3, 2, 1]) / 25)


@pytest.mark.parametrize(("third", "fourth"), [(0.04, 0.0), (0.0, 0.03), (0.05, -0.02), (-0.01, 0.01)])
def test_the_departure_from_a_normal_distribution(third, fourth):
    """Check a log posterior of one coefficient with known derivatives: the largest values of the Edgeworth terms."""
    information, mode = 4.0, np.array([0.3, 1.2])

    def value(point):
        z = (point[1] - mode[1]) * np.sqrt(information)
        return 7.0 - z**2 / 2 + third * z**3 + fourth * z**4

    fit = Fit(mode, 7.0, np.array([[information]]), 1, True)
    model = SimpleNamespace(
        table=SimpleNamespace(values=np.ones(1)), exposure=np.ones((1, 1)), value=value, fit=lambda *_, **__: fit
    )
    z = np.linspace(-6, 6, 20_001)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    largest = abs(third) * ((z**2 + 2) * density).max() + abs(fourth) * ((z**3 + 3 * z) * density).max()
    assert Hyperparameters(model, fit).bend == pytest.approx(largest, rel=2e-3)


def test_nothing_is_neglected_between_bounds():
    """A window that holds all counts within the bounds, or exact counts, omit nothing."""
    law = dpm.DiscreteLaplace(scale=2.0)
    table = likelihoods_of(cells_of(np.array([3.0, 2.0, 3.0]), law, lower=[0, 1, 0], upper=[9, 4, np.inf]))
    assert np.isneginf(table.log_bound).tolist() == [True, True, False]
    assert (table.low[:2].tolist(), table.last[:2].tolist()) == ([0, 1], [9, 4])
    assert np.isneginf(likelihoods_of(cells_of(np.array([3.0]), dpm.Exact())).log_bound).all()


def test_released_values_that_are_impossible_or_too_noisy():
    with pytest.raises(ValueError, match="the released value 7 of count 2 is impossible for all true counts: check"):
        likelihoods_of(cells_of(np.array([5.0, 7.0]), dpm.Exact(), lower=[0, 100], upper=[9, 200]))
    with pytest.raises(ValueError, match="value 5 of count 1 is consistent with more than 2,000,000 values"):
        likelihoods_of(cells_of(np.array([5.0]), dpm.DiscreteLaplace(scale=1e7)))


def test_a_table_of_likelihoods():
    """Rows of the table are the likelihoods of the mechanism; the bound covers all counts that are left out."""
    law = dpm.DiscreteLaplace(scale=2.0).threshold(3)
    released = np.array([7.0, np.nan, 40.0])
    table = table_of(cells_of(released, law), ("a", "b", "c"), 20.0)
    for i in range(3):
        inside = np.isfinite(table.log[i])
        counts = table.counts[i, inside].astype(float)
        expected = law.log_likelihood(released[i : i + 1, None], counts[None])[0]
        assert table.log[i, inside] == pytest.approx(expected, abs=1e-12)
        others = np.setdiff1d(np.arange(400), table.counts[i, inside]).astype(float)
        assert (
            np.log(np.exp(law.log_likelihood(released[i : i + 1, None], others[None])[0]).sum()) <= table.log_bound[i]
        )
    assert table.first[0] == table.counts[0, 0]
    wide = table_of(cells_of(np.array([np.nan, 3.0]), dpm.DiscreteLaplace(scale=2.0), upper=[4, 9]), ("a", "b"), 40.0)
    assert wide.log[0, :5].tolist() == [0.0] * 5
    assert np.isneginf(wide.log[0, 5:]).all()
    with pytest.raises(ValueError, match="requires a measurement or finite bounds"):
        table_of(cells_of(np.array([np.nan]), dpm.DiscreteLaplace(scale=2.0)), ("a",), 40.0)


def test_the_error_of_a_rate_has_two_parts(monkeypatch):
    """Check the difference 0.001 from a finer rule, and a probability that changes by 0.2 over the nodes of x_i'b, of
    which the distribution function is wrong by 0.01 on both sides.
    """
    ends = np.array([[[1.0, 0.025], [2.0, 0.975]]])
    answers = iter([(None, ends), (None, None, np.array([[[0.026], [0.975]]])),
                    (None, None, np.array([[[0.1, 0.0, 0.3], [0.9, 0.0, 0.85]]]))])  # fmt: skip
    hyper = SimpleNamespace(
        fit=SimpleNamespace(covariance=np.eye(2)), nodes=SimpleNamespace(weights=np.ones(1)), bend=0.01
    )
    monkeypatch.setattr(area_rates, "_points", lambda *_: None)
    rates = SimpleNamespace(
        hyperparameters=hyper, model=SimpleNamespace(design=np.ones((1, 1))), _fine=lambda: ((), np.ones(1)),
        evaluate=lambda *_: (*next(answers), None, None),
    )  # fmt: skip
    assert area_rates.AreaRates.error.func(rates) == pytest.approx(0.001 + 2 * 0.01 * 0.2)


def test_the_evidence_is_the_integral_over_the_grid_of_the_log_shape():
    """Check exp(2) times a normal density with the standard deviation 1/2, on a grid with steps of 0.8 sds."""
    values = 1.0 + 0.4 * np.arange(-11, 12)
    grid = integration.Grid(values, (), stats.norm.logpdf(values, 1.0, 0.5) + 2.0, 11)
    assert Hyperparameters.log_evidence.func(SimpleNamespace(grid=grid)) == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize("points", [7, 9, 13, 21])
def test_the_stated_error_of_the_shape_bounds_the_true_one(points):
    """Check a log gamma density on a coarse grid: its distribution function is known, between the ends of the grid."""
    values = np.linspace(-5.0, 2.0, points)
    grid = integration.Grid(values, (None,) * points, 2 * values - np.exp(values), 0)  # every other value
    law = ShapeLaw(grid)
    low, high = special.gammainc(2.0, np.exp(values[[0, -1]]))
    true = np.abs(law.cdf(law.x) - (special.gammainc(2.0, np.exp(law.x)) - low) / (high - low)).max()
    assert 1e-8 < true <= law.error(grid) + 1e-6  # the trapezoidal rule between the points of the spline
    assert law.error(grid) < 100 * true + 1e-6


def test_the_law_of_the_shape_is_that_of_its_spline():
    """Check a normal distribution with mean 1 and standard deviation 0.5, whose logarithm is a quadratic spline."""
    x = np.linspace(-3.0, 5.0, 41)
    found = ShapeLaw(integration.Grid(x, (), 7.0 - (x - 1) ** 2 / 0.5, 20))
    law = stats.norm(1.0, 0.5)
    at = np.array([0.0, 0.7, 1.0, 1.9])
    assert (found.mean(), found.variance()) == pytest.approx((1.0, 0.25), rel=1e-4)
    assert found.pdf(at) == pytest.approx(law.pdf(at), rel=1e-4)
    assert found.cdf(at) == pytest.approx(law.cdf(at), abs=1e-5)
    assert found.quantile([0.025, 0.5, 0.9]) == pytest.approx(law.ppf([0.025, 0.5, 0.9]), abs=1e-4)
    assert found.pdf([-3.5, 5.5]).tolist() == [0.0, 0.0]
    assert found.cdf([-4.0, 6.0]) == pytest.approx([0.0, 1.0], abs=1e-12)


@pytest.mark.parametrize(("points", "half"), [(6, True), (7, True), (8, False), (9, False)])
def test_the_error_of_the_shape_needs_four_points_of_the_coarse_grid(points, half):
    x = np.linspace(-3.0, 3.0, points)
    grid = integration.Grid(x, tuple([None] * points), -(x**2) / 2, points // 2)
    error = ShapeLaw(grid).error(grid)
    assert error == 0.5 if half else 0 < error < 0.1


def test_the_law_of_a_slope_is_a_mixture_by_hand():
    """Check the mixture of N(-1, 1) with weight 1/4 and N(2, 0.25): mean 5/4, variance 7/16 + 27/16."""
    law = integration.SlopeLaw(np.array([0.25, 0.75]), np.array([-1.0, 2.0]), np.array([1.0, 0.5]))
    assert law.mean() == pytest.approx(1.25, rel=1e-15)
    assert law.variance() == pytest.approx(0.25 * 1 + 0.75 * 0.25 + 0.25 * 0.75 * 9, rel=1e-15)
    at = np.array([[-2.0, 0.0], [1.5, 4.0]])
    one, other = stats.norm(-1, 1), stats.norm(2, 0.5)
    assert law.pdf(at) == pytest.approx(0.25 * one.pdf(at) + 0.75 * other.pdf(at), rel=1e-13)
    assert law.cdf(at) == pytest.approx(0.25 * one.cdf(at) + 0.75 * other.cdf(at), rel=1e-13)
    levels = np.array([[0.01, 0.3], [0.5, 0.99]])
    assert law.cdf(law.quantile(levels)) == pytest.approx(levels, rel=1e-12)
    assert law.quantile([0.0, 1.0]).tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize(("a", "mean"), [(0.5, 2.0), (3.0, 0.1), (20.0, 35.0)])
def test_negative_binomial_counts(a, mean):
    d = np.arange(60.0)
    expected = stats.nbinom(a, a / (a + mean)).logpmf(d)
    assert area_rates._negative_binomial(d, a, mean) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert area_rates._negative_binomial(d[:3], a, 0.0).tolist() == [0.0, -np.inf, -np.inf]


def test_a_gauss_rule_of_two_nodes_by_hand():
    """Check 0, 1, 2 with weights 1/4, 1/2, 1/4 (mean 1, variance 1/2, no skewness): 1 +- sqrt(1/2), each with 1/2."""
    nodes, weights = likelihoods.gauss(np.array([[0.0, 1.0, 2.0]] * 2), np.array([[0.25, 0.5, 0.25]] * 2), 2)
    assert nodes == pytest.approx(np.array([[1 - 0.5**0.5, 1 + 0.5**0.5]] * 2), rel=1e-14)
    assert weights == pytest.approx(np.full((2, 2), 0.5), rel=1e-14)
    x, w = np.array([[0.0, 1.0, 5.0, 7.0]]), np.array([[0.1, 0.4, 0.3, 0.2]])
    nodes, weights = likelihoods.gauss(x, w, 3)
    for power in range(6):
        assert (weights * nodes**power).sum() == pytest.approx((w * x**power).sum(), rel=1e-12)
    nodes, weights = likelihoods.gauss(x, w, 1)
    assert (nodes, weights) == (pytest.approx(np.array([[3.3]])), pytest.approx(np.array([[1.0]])))


@pytest.fixture(scope="module", params=[False, True], ids=["rates", "shares"])
def areas(request):
    model, released, _, size = model_of(LAWS["discrete Gaussian"], shares=request.param, n=12)
    fit = model.fit(model.start(max(released.sum(), 1.0) / size.sum()))
    return area_rates.AreaRates(model, Hyperparameters(model, fit))


def test_laws_of_areas_are_their_mixtures(areas):
    """Check density, distribution function and moments of one area against the mixture of its components."""
    shares, i = areas.model.shares, 3
    law, low = areas.law(i), int(areas.model.table.low[3])
    x = law.quantile(np.array([[0.1, 0.5], [0.9, 0.99]]))
    parts = [
        (weight * p, a + low + d, b + e - low - d if shares else a / b + e)
        for weight, a, b, w, e in areas._components(i)
        for d, p in enumerate(w)
    ]
    weights, first, second = (np.array(part) for part in zip(*parts, strict=True))
    laws = stats.beta(first, second) if shares else stats.gamma(first, scale=1 / second)
    assert weights.sum() == pytest.approx(1, rel=1e-12)
    assert law.pdf(x) == pytest.approx(np.array([[weights @ laws.pdf(at) for at in row] for row in x]), rel=1e-8)
    assert law.cdf(x) == pytest.approx(np.array([[0.1, 0.5], [0.9, 0.99]]), abs=1e-8)
    assert law.mean() == pytest.approx(weights @ laws.mean(), rel=1e-9)
    spread = weights @ (laws.var() + (laws.mean() - law.mean()) ** 2)
    assert law.variance() == pytest.approx(spread, rel=1e-8)


def test_laws_of_areas_at_the_ends_of_their_range(areas):
    law, top = areas.law(0), 1.0 if areas.model.shares else np.inf
    assert law.quantile([0.0, 1.0, -1.0, 2.0]).tolist() == [0.0, top, 0.0, top]
    assert law.pdf([0.0, -1.0, top]).tolist() == [0.0, 0.0, 0.0]
    assert law.cdf([0.0, -1.0, top]).tolist() == [0.0, 0.0, 1.0]


def test_numbers_of_areas_are_those_of_their_laws_in_blocks_of_any_size(areas, monkeypatch):
    whole = areas.numbers(0.9)
    monkeypatch.setattr(area_rates, "_AT_ONCE", 5 * len(areas._own.weights))
    parts = areas.numbers(0.9)
    assert [(rows.start, rows.stop) for rows in areas._blocks(len(areas._own.weights))] == [(0, 5), (5, 10), (10, 12)]
    for name in ("mean", "sd", "lower", "upper", "counts"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-12)
    law = areas.law(7)
    assert (whole.mean[7], whole.sd[7] ** 2) == pytest.approx((law.mean(), law.variance()), rel=1e-10)
    assert [whole.lower[7], whole.upper[7]] == pytest.approx(law.quantile([0.05, 0.95]), rel=1e-9)
    d, p = areas.count(7)
    mean = p @ d
    assert (p.sum(), whole.counts[7, 0]) == pytest.approx((1.0, mean), rel=1e-8)
    assert whole.counts[7, 1] == pytest.approx((p @ (d - mean) ** 2) ** 0.5, rel=1e-6)
    below = np.cumsum(p)
    assert whole.counts[7, 2:].tolist() == [d[np.searchsorted(below, q)] for q in (0.05, 0.95)]


@pytest.mark.parametrize("exposure", [1.0, 30.0])
def test_a_predicted_count_has_the_moments_of_its_rate(areas, exposure):
    """Check E = e E(rate), and the variance e^2 var(rate) plus e E(rate), or e E(rate (1 - rate)) for shares."""
    values, p = areas.predicted(2, exposure)
    law = areas.law(2)
    mean, variance = law.mean(), law.variance()
    own = mean - (variance + mean**2) if areas.model.shares else mean
    assert p.sum() == pytest.approx(1, rel=1e-12)
    assert p @ values == pytest.approx(exposure * mean, rel=1e-7)
    found = p @ (values - p @ values) ** 2
    assert found == pytest.approx(exposure**2 * variance + exposure * own, rel=1e-6)
    assert np.array_equal(values, np.arange(values[0], values[-1] + 1))
    if areas.model.shares:
        assert values[-1] <= exposure


def test_drawn_rates_have_the_moments_of_their_laws(areas):
    rates, counts, parameters = areas.draw(4000, dpm.stream(3, "draws of areas"))
    numbers = areas.numbers(0.95)
    assert rates.shape == counts.shape == (4000, 12)
    assert parameters.shape == (4000, 3)
    assert np.abs((rates.mean(axis=0) - numbers.mean) / numbers.sd).max() < 0.1
    assert np.abs(rates.std(axis=0) / numbers.sd - 1).max() < 0.15
    assert np.abs((counts.mean(axis=0) - numbers.counts[:, 0]) / numbers.counts[:, 1]).max() < 0.1
    assert 0 <= areas.error < 0.05
    assert (area_rates.neglected(areas.model, areas.hyperparameters.fit.parameters) < 1e-12).all()
