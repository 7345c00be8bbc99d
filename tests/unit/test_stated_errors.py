"""Errors that answers state: each is met, and a tenth of it is not."""

import numpy as np
import pytest
from scipy import stats

import dpmultinomial as dpm
from dpmultinomial import _honesty
from dpmultinomial._mechanisms.law_words import law_of
from dpmultinomial._posteriors.additive import _mode_transforms
from dpmultinomial._posteriors.additive._count_priors import FLAT
from dpmultinomial._posteriors.additive._noise import NoiseModel
from dpmultinomial._posteriors.censored import censored_statistics
from dpmultinomial._posteriors.published import _window_sums, windows
from dpmultinomial._posteriors.published.cells import cells_of
from dpmultinomial._posteriors.published.priors import prior_of
from dpmultinomial._posteriors.swapping.unswapped import infer
from dpmultinomial._seeding import stream


def apart(one, two):
    """Total variation of two laws, each (values, probabilities) on neighbouring whole numbers."""
    low, high = min(one[0][0], two[0][0]), max(one[0][-1], two[0][-1])
    gap = np.zeros(int(high - low) + 1)
    for (values, p), sign in ((one, 1), (two, -1)):
        gap[(np.asarray(values) - low).astype(int)] += sign * p
    return np.abs(gap).sum() / 2


@pytest.mark.parametrize("slack", [-10.0, -18.0, -26.0, -30.0])
def test_terms_left_out_of_a_posterior_of_modes_are_within_their_bound(slack):
    """Levels kept down to exp(-36 - slack) of the largest, against those that leave out less than 1e-16."""
    problem = _mode_transforms.Problem(np.array([0, 3, 17, 3]), NoiseModel(0.4), FLAT, "random")
    fine, rough = (_mode_transforms._Sweep(problem, s, 46.0).law() for s in (3.0, slack))
    assert fine.certificate.error < 2e-16
    found = max(apart(fine.marginal(i), rough.marginal(i)) for i in range(4))
    assert 0.1 < max(found, apart(fine.total(), rough.total())) / rough.certificate.error <= 1


@pytest.mark.parametrize("draws", [1, 100, 4321])
def test_a_standard_error_is_that_of_an_even_chance(draws):
    """The share of successes among n draws has its largest standard deviation at 1/2."""
    error = _honesty.standard_error(draws)
    spread = [stats.binom(draws, p).std() / draws for p in (0.05, 0.5, 0.8)]
    assert max(spread) == pytest.approx(error, rel=1e-12)
    assert np.isnan(_honesty.standard_error(0))


def test_accepted_tables_state_the_standard_error_of_a_probability():
    swap = dpm.Swap(rate=0.2)
    found = dpm.posterior(dpm.Release([[3, 1], [2, 4]], mechanism=swap), method="abc", rng=stream(1, "accepted"))
    number = len(found.source.draws)
    assert number > 1000
    assert found.summary()["error"].to_numpy() == pytest.approx(0.5 / np.sqrt(number))
    assert (found.summary()["status"] == "approximate").all()
    assert f"{number} effective draws" in found.honesty.reason


@pytest.mark.parametrize("reach", [1e-3, 0.1, 0.7])
def test_the_distance_of_two_laws_from_the_range_of_their_ratio(reach, monkeypatch):
    """Two points of probability 1/2 whose ratio is exp(reach): 1/2 - 1/(1 + exp(reach)) apart, within the bound."""
    monkeypatch.setattr(censored_statistics, "log_ratio", lambda mean, *_: np.where(mean > 0, reach, 0.0) - 3.0)
    mean, counts = np.array([-0.2, 0.2] * 30), np.full(60, 100)
    bound, checked = censored_statistics.total_variation(mean, 0.3 * counts, counts)
    assert checked > 8  # both ends of the order are among them
    assert 0.1 < (0.5 - 1 / (1 + np.exp(reach))) / bound <= 1


def test_two_rows_refuse_tails_of_which_no_digit_is_known():
    """Probabilities are right to 1e-13: two digits at 1e-11, one at 1e-12."""
    law = infer([[40, 35, 30], [25, 30, 35]], rate=0.1, rng=stream(1, "two rows"))
    assert law.how == ("two rows",)
    share = law.beta(0)
    assert 0 < float(share.quantile(2e-11)) < float(share.quantile(1e-6))
    for level in (5e-12, 1 - 5e-12):
        with pytest.raises(ValueError, match="1e-11"):
            share.quantile(level)


@pytest.mark.parametrize("log_mass", [2.0, 6.0, 15.0])
def test_the_bound_of_what_a_window_of_an_unmeasured_count_neglects(log_mass):
    """Of a geometric prior of mean 7, P(N >= k) = (7/8)^k."""
    cells = cells_of([np.nan], law_of({"law": "discrete_gaussian", "sigma": 3.0}))
    prior = prior_of({"law": "geometric", "mean": 7.0})
    assert not cells.measured[0]
    low, high = windows.spans(cells, prior, log_mass)
    (block,) = windows.blocks(cells, np.zeros(1, dtype=np.int64), low, high)
    logs = block.log_likelihood + windows.prior_weights(prior, block)
    evidence = _window_sums.summaries(logs, block.width, level=0.5)[:, 0]
    assert low[0] == 0
    outside = (7 / 8) ** (high[0] + 1)
    assert 0.1 < outside / windows.neglected(cells, prior, block, evidence, log_mass)[0] <= 1
