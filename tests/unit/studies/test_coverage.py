"""Tests of studies: found by their folders, with required texts; and of the study of coverage by known results."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reproduction import studies, style
from reproduction.studies import coverage as study

SETTINGS = {
    "truth": {"mean": 40.0, "shape": 0.5}, "sigma": 10.0, "level": 0.9, "edges": [0, 1, 10, 1000],
    "alone": {"counts": 300, "files": 2, "priors": ["fitted", "flat"]},
    "with_total": {"counts": 20, "files": 10, "sigma": 2.0, "priors": ["multinomial"]},
}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    return study.table(1, **SETTINGS)


def test_every_description_is_a_study():
    found = studies.discover()
    assert set(found) == {path.stem for path in studies.FOLDER.glob("*.yaml")} > set()
    for one in found.values():
        assert callable(one.function("table"))
        assert callable(one.function("figure"))
        assert one.minutes > 0


def test_a_wrong_description_is_told_all_its_mistakes(tmp_path):
    (tmp_path / "mine.yaml").write_text("title: [a]\nabout: b\ncaption: c\nmore: 1\nsettings: {}\n")
    told = "alt is missing.*minutes is missing.*more is unknown.*title must be a string"
    with pytest.raises(ValueError, match="(?s)" + told):
        studies.discover(tmp_path)


def test_the_table_has_every_method_and_every_count(table):
    alone, total = (table[table["case"] == case] for case in study.CASES.values())
    assert list(alone["method"].unique()) == ["released", "clipped", "fitted", "flat"]
    assert set(total["method"]) == {"released", "clipped", "least squares", "least squares, clipped", "multinomial"}
    for case, counts in ((alone, 600), (total, 200)):
        for _, own in case.groupby("method"):
            assert own.loc[own["to"] == np.inf, "counts"].item() == counts
            assert own.loc[own["to"] < np.inf, "counts"].sum() == counts
    assert (table["level"] == 0.9).all()
    width = 2 * stats.norm.ppf(0.95) * 10
    assert alone.loc[alone["method"] == "released", "width"].to_numpy() == pytest.approx(width)
    sd = np.sqrt(100 - 100**2 / (20 * 100 + 4))  # least squares with a total of sd 2
    assert total.loc[total["method"] == "least squares", "width"].to_numpy() == pytest.approx(width * sd / 10)
    assert pd.testing.assert_frame_equal(study.table(1, **SETTINGS), table) is None


def test_each_case_has_a_stream_of_its_own(table):
    other = study.table(1, **(SETTINGS | {"alone": {"counts": 50, "files": 1, "priors": ["flat"]}}))
    same = [found[found["case"] == "noisy total"].reset_index(drop=True) for found in (table, other)]
    pd.testing.assert_frame_equal(*same)


def test_the_figure_shows_all_of_it(table):
    with style.applied():
        figure = study.figure(table)
    assert len(figure.axes) == 4
    labels = [text.get_text() for text in figure.axes[2].get_xticklabels()]
    assert labels == ["0", "1 to 9", "10 and more", "all"] == study.ranges(table[table["case"] == "no total"])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(table["method"].unique())
    assert study.shown(table)["true count"].tolist()[:4] == labels


def test_intervals_by_true_value_against_their_own_counts():
    """Compute coverage, width, bias and error of one file again from the same draws."""
    law, rng = study.DiscreteGaussian(sigma=3.0), study.stream(5, "file")
    truth = np.array([0, 0, 4, 25])
    released = law.sample(truth, rng=study.stream(5, "file")).astype(float)
    found = study.by_true_value(
        lambda rng: truth, law, priors={}, edges=[0, 1, 100], replications=1, rng=rng, level=0.5
    ).set_index(["method", "from", "to"])
    half = stats.norm.ppf(0.75) * np.sqrt(law.variance())
    row = found.loc[("released", 0, np.inf)]
    assert row["rmse"] == pytest.approx(np.sqrt(np.mean((released - truth) ** 2)))
    assert row["bias"] == pytest.approx(np.mean(released - truth))
    assert row["coverage"] == np.mean(np.abs(released - truth) <= half)
    low = np.maximum(released[:2] - half, 0)
    assert found.loc[("clipped", 0, 1), "width"] == pytest.approx((np.maximum(released[:2] + half, 0) - low).mean())
    with pytest.raises(ValueError, match="edges must be increasing"):
        study.by_true_value(lambda rng: truth, law, priors={}, edges=[1], replications=1, rng=rng)
