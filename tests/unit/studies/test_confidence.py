"""Tests of the study of confidence intervals: coverage by hand, the guarantee, the figure."""

import numpy as np
import pandas as pd
import pytest

import dpmultinomial as dpm
from reproduction import studies, style
from reproduction.studies import confidence as study
from reproduction.verdicts import artists

SETTINGS = {"level": 0.9, "largest": 8, "noise": [{"law": "discrete_gaussian", "sigma": 1.5}]}


@pytest.fixture(scope="module")
def table():
    return study.table(1, **SETTINGS)


@pytest.mark.parametrize("kind", study.INTERVALS)
def test_coverage_and_width_are_sums_over_releases(table, kind):
    law, truth = dpm.DiscreteGaussian(sigma=1.5), 3
    coverage = width = 0.0
    for y in range(-12, 20):
        release = dpm.Release([y], mechanism=law)
        made = (
            dpm.confidence(release)
            if kind == "confidence"
            else dpm.posterior(release, prior="flat" if "flat" in kind else "1/(1+n)")
        )
        lower, upper = made.counts["1"].interval(0.9)
        p = float(law.pmf(y - truth))
        coverage, width = coverage + p * (lower <= truth <= upper), width + p * (upper - lower)
    row = table[(table["interval"] == kind) & (table["truth"] == truth)].iloc[0]
    assert row["coverage"] == pytest.approx(coverage, abs=1e-8)
    assert row["width"] == pytest.approx(width, abs=1e-7)


def test_confidence_reaches_the_level_everywhere():
    """Discrete Laplace of scale 5: coverages and widths of an independent prototype."""
    found = study.table(1, level=0.95, largest=60, noise=[{"law": "discrete_laplace", "scale": 5.0}])
    by_kind = found.groupby("interval")
    assert by_kind["coverage"].min()["confidence"] == pytest.approx(0.955, abs=5e-4)
    assert by_kind["coverage"].min()["credible, flat prior"] == pytest.approx(0.889, abs=5e-4)
    widths = found[(found["interval"] == "confidence") & found["truth"].isin([0, 15, 60])]["width"]
    assert widths.tolist() == pytest.approx([15, 27.5, 30], abs=0.06)


def synthetic():
    """Return two noise distributions with three intervals each, and a different number in every cell."""
    rng = np.random.default_rng(3)
    rows = [(noise, truth, kind) for noise in ("L 1", "G 2") for truth in (0, 4, 9) for kind in study.INTERVALS]
    found = pd.DataFrame(rows, columns=["noise", "truth", "interval"])
    return found.assign(level=0.77, coverage=rng.random(len(rows)), width=rng.uniform(3, 9, len(rows)))


def mistakes(table, drawn):
    found = []
    for axes, noise in zip(drawn.axes, ("L 1", "G 2"), strict=True):
        rows = {kind: table[(table["noise"] == noise) & (table["interval"] == kind)] for kind in study.INTERVALS}
        curves = [
            artists.line(part["truth"], part["coverage"], style.CYCLE[i], kind="curve")
            for i, part in enumerate(rows.values())
        ]
        found += artists.wrong(axes, *curves, artists.across("level", 0.77))
        names = [line.get_label() for line in axes.lines[:3]]
        found += [] if names == list(study.INTERVALS) and axes.get_title() == noise else ["names"]
    return found


def test_every_line_of_the_figure_is_its_column():
    table = synthetic()
    with style.applied():
        assert mistakes(table, study.figure(table)) == []
        for one, other in (("coverage", "width"), ("coverage", "truth"), ("level", "coverage")):
            swapped = table.rename(columns={one: other, other: one})
            assert mistakes(table, study.figure(swapped)) != []
        exchanged = table.assign(
            interval=table["interval"].replace(dict(zip(study.INTERVALS, reversed(study.INTERVALS), strict=True)))
        )
        assert mistakes(table, study.figure(exchanged)) != []


def test_the_study_is_found_and_drawn(table):
    found = studies.discover()["confidence"]
    with style.applied():
        drawn = found.function("figure")(table)
    assert len(drawn.axes) == 1
    assert len(drawn.axes[0].lines) == 4
    shown = found.function("shown")(table)
    assert shown["least coverage"].between(0.5, 1).all()
    assert np.isfinite(table["width"]).all()


def test_the_shown_table_has_the_smallest_coverage_and_three_widths():
    """Check rounding, and widths at the true counts 0, 15 and 60, of which 60 is missing here."""
    table = pd.DataFrame({"noise": "n", "interval": "i", "truth": [0, 15, 30], "coverage": [0.9, 0.87654, 0.95],
                          "width": [1.26, 3.0, 9.0], "level": 0.9})  # fmt: skip
    (row,) = study.shown(table).itertuples(index=False)
    assert tuple(row) == ("n", "i", 0.877, "1.3 / 3")


def test_names_of_noises():
    """Check the names in the figure, and the rounded values that are released."""
    words = [{"law": "discrete_laplace", "scale": 2.0}, {"law": "gaussian", "sd": 1.5, "rounded": 5}]
    found = study.table(1, level=0.9, largest=3, noise=words)
    assert list(dict.fromkeys(found["noise"])) == ["discrete Laplace, scale 2", "Gaussian, sd 1.5, rounded 5"]
    assert found["truth"].tolist() == [0, 1, 2, 3] * 6
    assert (found["level"] == 0.9).all()
    assert found["coverage"].between(0.5, 1 + 1e-9).all()
