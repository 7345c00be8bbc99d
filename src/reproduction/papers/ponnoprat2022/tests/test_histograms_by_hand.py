"""Released histograms and costs of scenarios, worked out."""

import numpy as np
import pytest

from reproduction.papers.ponnoprat2022 import networks, released_histogram, validation
from reproduction.papers.ponnoprat2022.released_histogram import Mechanism


def test_shares_of_a_dirichlet_release_by_moments():
    """r = 1/2, alpha = 2, ten records in four cells: a0 = 5 + 8. E y = (5 f + 2)/13: f = (13 y - 2)/5, sd by y's own.

    y of Dirichlet(a) has the variance y (1 - y)/(a0 + 1), and f is 13/5 of it.
    """
    how = Mechanism(law="dirichlet", words="", r=0.5, alpha=2.0)
    shares, sd = how.share(np.array([0.25, 0.4, 0.2, 0.15]), 10)
    assert shares == pytest.approx(np.array([1.25, 3.2, 0.6, -0.05]) / 5)
    assert sd == pytest.approx(13 / 5 * np.sqrt(np.array([0.1875, 0.24, 0.16, 0.1275]) / 14))


@pytest.mark.parametrize(("law", "times"), [("discrete_laplace", np.sqrt(2)), ("discrete_gaussian", 1.0)])
def test_shares_of_a_release_with_noise(law, times):
    """The released shares themselves, with the sd of the noise over the total."""
    shares, sd = Mechanism(law=law, words="", scale=3.0, floor=1.0).share(np.array([0.3, 0.7]), 60.0)
    assert shares.tolist() == [0.3, 0.7]
    assert sd == pytest.approx(times * 3 / 60)


def test_two_cells_are_a_histogram_and_one_is_certain():
    """Cells (y, 1 - y) of ten records, r = 50: the released share up to its noise and the prior's two in twelve."""
    how = Mechanism(law="dirichlet", words="", r=50.0, alpha=1.0)
    law = released_histogram.posterior([0.4, 0.6], total=10, mechanism=how)
    assert np.asarray(law.mean()) == pytest.approx([5 / 12, 7 / 12], abs=0.005)
    with pytest.raises(ValueError, match="released"):
        released_histogram.posterior([1.0], total=10, mechanism=how)
    one = released_histogram.summary(
        ["only"], np.array([1.0]), total=10, public=True, mechanism=how, prior=1.0, level=0.9
    )
    assert one[["mean", "sd", "lower", "upper"]].to_numpy().tolist() == [[1, 0, 1, 1]]


def test_what_a_scenario_costs(tmp_path):
    """One second, .05 a cell; every release 1e-4 s and 1e-8 a byte of the records, three mechanisms by four by ten."""
    assert validation.work({"released": [0.5, 0.3, 0.2]}) == pytest.approx((1 + 0.15 + 120e-4, 0.3))
    assert validation.work({"rehearsal": {"counts": [5, 4]}}) == pytest.approx((1 + 0.1 + 120e-4, 0.2))
    path = tmp_path / "mine.csv"
    path.write_text("x" * 5000)
    asked = {"csv": str(path), "epsilons": [1.0, 2.0], "repeats": 7, "mechanisms": ["dirichlet"]}
    assert validation.work({"rehearsal": asked}) == pytest.approx((1 + 14 * (1e-4 + 5e-5), 0.15))
    assert validation.work({"rehearsal": {"csv": "nowhere.csv"}})[1] == 0


def test_smoothings_of_the_models_without_privacy(monkeypatch):
    """0.1 as printed; the corrected variant has Laplace's 1 beside it."""
    asked = {}

    class Model:
        nodes = ("a", "b")

        def __init__(self, table, variant):
            self.variant = variant

        def private(self, *given):
            return networks.missing("set", "").head(0)

        def non_private(self, smoothings):
            asked[self.variant] = tuple(smoothings)
            return networks.missing("set", "").head(0)

    monkeypatch.setattr(networks, "Prepared", Model)
    networks.runs(object(), name="set", order=5, epsilons=[1.0], repeats=1, root_seed=1)
    assert asked == {"published": (0.1,), "stated_share": (0.1,), "corrected": (0.1, 1.0)}
