"""Tests of counts of many tables in one call, against single tables; the log odds ratio of many swapped tables."""

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._accuracy import EXACT
from dpmultinomial._posteriors.counts import laplace_multinomial, noisy_count_batches
from dpmultinomial._posteriors.swapping import swapped_batches, swapped_table
from dpmultinomial._posteriors.swapping.log_odds import LogOddsMixture
from dpmultinomial._results.distributions import Discrete
from dpmultinomial._seeding import stream

LEVELS = (0.5, 0.9, 0.95, 0.999)


def alone(noisy, total, scale, alpha, level):
    law = laplace_multinomial.exact(noisy, total=total, scale=scale, alpha=alpha)
    found = []
    for i in range(len(noisy)):
        chances = law.counts.marginal(i)
        count = Discrete(np.arange(len(chances)), chances, name="", type="count", accuracy=EXACT)
        found.append((count.mean(), count.sd(), *count.interval(level)))
    return found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("whole", [False, True])
def test_counts_of_a_batch_are_those_of_its_tables(level, whole):
    rng = stream(3, "batch", str(level), str(whole))
    tables, totals, scales = [], [], []
    for _ in range(25):
        k, total = int(rng.integers(2, 6)), int(rng.integers(0, 90))
        noise = rng.geometric(0.3, k) - rng.geometric(0.3, k) if whole else rng.laplace(0, 3, k)
        tables.append((rng.multinomial(total, np.full(k, 1 / k)) + noise).astype(float))
        totals.append(total)
        scales.append(float(rng.uniform(0.2, 4)))
    found = noisy_count_batches.exact(tables, totals=totals, scales=scales, alphas=0.7, level=level)
    few = noisy_count_batches.exact(tables, totals=totals, scales=scales, alphas=0.7, level=level, rates=False)
    assert few.counts.tobytes() == found.counts.tobytes()
    assert np.isnan(few.mean).all()
    for t, (noisy, total, scale) in enumerate(zip(tables, totals, scales, strict=True)):
        own = found.counts[found.starts[t] : found.starts[t + 1]]
        assert own == pytest.approx(np.array(alone(noisy, total, scale, 0.7, level)), abs=1e-8)


def test_a_table_that_the_fast_way_cannot_certify_has_its_counts_by_the_other(monkeypatch):
    monkeypatch.setattr(noisy_count_batches, "LARGEST_ERROR", -1.0)
    found = noisy_count_batches.exact([[3.0, 40.0, 9.5]], totals=[50], scales=[2.0])
    assert found.error.tolist() == [0.0]
    assert found.counts == pytest.approx(np.array(alone([3.0, 40.0, 9.5], 50, 2.0, 1.0, 0.95)), rel=1e-12)
    rates = laplace_multinomial.exact([3.0, 40.0, 9.5], total=50, scale=2.0, alpha=1.0).summary(0.95)
    assert found.mean.tolist() == rates["mean"].tolist()


def test_an_interval_that_ends_between_two_counts_has_both_probabilities():
    """Check two counts with total 1 and equal noisy values: each is 0 or 1 with probability 1/2."""
    found = noisy_count_batches.exact([[0.5, 0.5]], totals=[1], scales=[2.0], level=0.95)
    assert found.counts == pytest.approx(np.array([[0.5, 0.5, 0, 1]] * 2), rel=1e-12)


@pytest.mark.parametrize("level", [*LEVELS, 0.9999])
def test_both_ends_at_once_are_the_quantiles(level):
    rng = stream(6, "odds")
    for _ in range(6):
        a = rng.uniform(0.3, 40, 4) + np.outer(np.arange(9), [1, -0.03, -0.03, 1])
        law = LogOddsMixture(a, rng.random(9))
        wanted = law.quantile([(1 - level) / 2, (1 + level) / 2])
        assert law.central_interval(level) == pytest.approx(tuple(wanted), abs=1e-9)


@pytest.mark.parametrize("cells", [(3, 1, 2, 5), (60, 20, 30, 70), (0, 4, 9, 0), (0, 0, 3, 4), (900, 40, 30, 800)])
def test_odds_of_a_batch_are_those_of_a_table(cells):
    data = pd.DataFrame({"table": ["t"] * 4, "row": list("aabb"), "column": list("pqpq"), "count": cells})
    found = swapped_batches.summaries(data, rate=0.2, alpha=0.8, level=0.9, odds=True)
    plain = swapped_batches.summaries(data, rate=0.2, alpha=0.8, level=0.9)
    assert found.iloc[:4].equals(plain)
    (odds,) = found.iloc[4:].to_dict("records")
    assert (odds["row"], odds["column"], odds["status"]) == ("log odds ratio", "", "exact")
    law = swapped_table.exact(np.reshape(cells, (2, 2)), rate=0.2, alpha=0.8).log_odds()
    wanted = (law.mean(), law.variance() ** 0.5, *law.quantile([0.05, 0.95]))
    assert [odds[key] for key in ("mean", "sd", "lower", "upper")] == pytest.approx(wanted, abs=1e-8)


def test_other_shapes_have_no_odds():
    data = pd.DataFrame(
        {"table": ["t"] * 6, "row": list("aabbcc"), "column": list("pqpqpq"), "count": [1, 2, 3, 2, 1, 4]}
    )
    found = swapped_batches.summaries(data, rate=0.2, odds=True)
    assert len(found) == 6
