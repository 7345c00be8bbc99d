"""Confidence intervals in a scenario: columns of the table, screen, page, and the sentence that nobody asked for."""

import numpy as np
import pandas as pd
import pytest

from reproduction import command, kind
from reproduction.config import scenario_settings
from reproduction.scenarios import making, page, screen

GAUSS = {"kind": "noisy_counts", "noise": {"law": "discrete_gaussian", "sigma": 5.0}}


def made(tmp_path, **settings):
    scenario = scenario_settings.single("mine", {**GAUSS, **settings}, kind.discover())
    files = making.files("mine", tmp_path)
    making.part(scenario, files, root_seed=1)
    return files, *making.read(files)


def test_columns_screen_and_page(tmp_path):
    """h = 10 at sigma 5: P(N >= 10) = .028, P(N >= 11) = .018."""
    files, rows, _, _ = made(tmp_path, counts={"a": 17, "b": -2, "c": -15}, confidence=0.95)
    assert rows["ci_lower"].tolist() == [7, 0, 0]
    assert rows["ci_upper"].tolist() == [27, 8, 0]
    assert rows["ci_method"].tolist() == ["tails", "tails", "tails: no count fits at this level; the nearest is 0"]
    shown = screen.text(files)
    assert any(line.startswith("quantity") and "confidence interval" in line for line in shown.splitlines())
    assert "7 to 27" in shown
    assert "cover the true count in at least 95 % of releases, whatever the count." in shown
    page.write(files, tmp_path / "page.html")
    assert '<td data-label="confidence interval">7 to 27</td>' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_rates_with_a_total_and_questions(tmp_path):
    _, rows, _, _ = made(
        tmp_path, counts={"a": 17, "b": 40}, total=55, confidence=0.9, questions={"more": {"probability": "b > a"}}
    )
    assert rows.loc[rows["type"] == "rate", "ci_method"].tolist() == ["exact binomial, all counts"] * 2
    lower, upper = rows.loc[rows["type"] == "rate", ["ci_lower", "ci_upper"]].to_numpy()[0]
    assert 0 < lower < 17 / 57 < upper < 0.6
    other = rows[rows["type"].isin(["share", "question"])]
    assert other[["ci_lower", "ci_upper"]].isna().all(axis=None)


def test_a_tree_has_intervals_of_each_measured_count(tmp_path):
    path = tmp_path / "tree.csv"
    path.write_text("name,parent,value\nall,,40\na,all,17\nb,all,\n", encoding="utf-8")
    _, rows, _, _ = made(tmp_path, file=str(path), about="counts", confidence=0.95)
    assert rows["ci_upper"].tolist()[:2] == [50, 27]
    assert np.isnan(rows["ci_upper"].iloc[2])


@pytest.mark.parametrize(("value", "said"), [(-15, True), (17, False)])
def test_a_sentence_only_if_both_intervals_differ(tmp_path, value, said):
    """At -15 no count fits, so that the interval is 0 to 0; a flat prior gives 0 to about 5."""
    files, rows, _, facts = made(tmp_path, counts={"a": value}, prior="flat")
    assert ("confidence" in facts["points"][0]) == said
    assert ("a: 95 % confidence interval 0 to 0, without a prior" in screen.text(files)) == said
    assert "ci_lower" not in rows


def test_the_command_has_the_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.csv").write_text("name,value\na,17\nb,-2\n", encoding="utf-8")
    noise = ["--noise", "discrete_gaussian", "--sigma", "5"]
    command.main(["answer", "few.csv", *noise, "--confidence", ".95"])
    assert "7 to 27" in capsys.readouterr().out
    table = pd.read_csv("results/scenarios/few.csv")
    assert list(table.columns[-3:]) == ["ci_lower", "ci_upper", "ci_method"]
    with pytest.raises(SystemExit, match="confidence"):
        command.main(["answer", "few.csv", *noise, "--confidence", "1"])
