"""Models without privacy and costs, worked out."""

from reproduction.papers.ponnoprat2022 import networks


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
