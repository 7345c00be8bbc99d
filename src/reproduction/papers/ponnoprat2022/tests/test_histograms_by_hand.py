"""Check non-private models and the costs of models against calculations by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduction.papers.ponnoprat2022 import catalogue, networks, privacy


def test_smoothings_of_the_models_without_privacy(monkeypatch):
    """Check that the published variants use the printed smoothing 0.1, and that the corrected variant also uses
    Laplace's smoothing 1.
    """
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


@pytest.mark.parametrize("order", [2.0, 5.0])
def test_every_dirichlet_of_a_guarantee_has_the_alpha_of_theorem_1(order):
    """Check that alpha = 1 + 4 (order - 1) r for every method of choosing r: 4 (order - 1) r from the theorem and 1
    from the prior.
    """
    size = {"counts": [30, 20, 10], "delta": 1e-5, "least": 1.0, "most": 20.0, "points": 2, "gohari_points": 3}
    table = privacy.figure_3_bottom(orders=[order], **size)
    table = table[~((table["series"] == "Algorithm 1") & (table["variant"] == "published"))]
    assert set(table["series"]) >= {"Gohari et al.", "exact profile", "Algorithm 1"}
    np.testing.assert_allclose(table["alpha"], 1 + 4 * (order - 1) * table["r"], rtol=1e-12)


def test_the_catalogue_has_the_printed_sizes():
    """Check records, attributes, classes and the share of positives in the catalogue against Table 1."""
    printed = pd.read_csv(Path(catalogue.__file__).with_name("published.tsv"), sep="\t", dtype=str)
    printed = printed[printed["artefact"] == "table_1"].set_index("quantity")["value"]
    names = ("instances", "attributes", "classes", "percent positive")
    for source in catalogue.SOURCES.values():
        for name, value in zip(names, source.printed, strict=True):
            wanted = printed.get(f"{source.name}: {name}")
            assert value == (None if wanted is None else float(wanted)), (source.name, name)
