"""Points of densities leave a scenario's main table, and its figure is the one of both together."""

import io

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._seeding import stream
from reproduction import paper, smoke, style, tables
from reproduction.cases import scenario_tables
from reproduction.config import config, schema
from reproduction.jobs import adapters

SIZES = config.with_defaults(smoke.configuration(), schema.of(paper.discover()))
CASES = [(slug, name) for slug in paper.discover() for name in SIZES[slug].get("scenarios", {})]


def made(slug, name):
    rng = stream(SIZES["root_seed"], slug, "scenario", name)
    return adapters.find(f"{slug}.scenario.table")(**SIZES[slug]["scenarios"][name], rng=rng)


def drawn(slug, table):
    with style.applied():
        figure = adapters.find(f"{slug}.figures.scenario")(table)
        figure.savefig(page := io.BytesIO(), format="rgba", dpi=50)
    return page.getvalue()


def test_rows_that_are_no_points_stay_in_their_order_with_the_usual_columns_first():
    table = pd.DataFrame(
        {
            "statistic": ["summary", "density", "summary", "density"],
            **{"quantity": list("abca"), "x": [np.nan, 1, np.nan, 2], "density": [np.nan, 3, np.nan, 4]},
            **{"note": list("pqrs"), "mean": [5.0, np.nan, 6.0, np.nan]},
        }
    )
    main, densities = scenario_tables.split(table)
    assert main.to_dict("list") == {
        **{"quantity": ["a", "c"], "mean": [5.0, 6.0], "note": ["p", "r"], "statistic": ["summary"] * 2}
    }
    assert list(main) == ["quantity", "mean", "note", "statistic"]
    assert densities.to_dict("list") == {"quantity": ["b", "a"], "x": [1.0, 2.0], "density": [3.0, 4.0]}


def test_a_table_without_densities_stays_itself_beside_a_file_with_a_header_only():
    table = pd.DataFrame({"quantity": ["a"], "mean": [1.0]})
    main, densities = scenario_tables.split(table)
    assert densities.to_csv(index=False).strip() == "quantity,x,density"
    assert scenario_tables.joined(main, densities).equals(table)


@pytest.mark.parametrize(("slug", "name"), CASES)
def test_every_paper_s_scenario_has_one_row_a_quantity_and_draws_the_same_from_both_files(slug, name, tmp_path):
    table = made(slug, name)
    main, densities = scenario_tables.split(table)
    usual = list(main)[: len(scenario_tables.COLUMNS)]
    assert usual == list(scenario_tables.COLUMNS)
    identity = [c for c in ("quantity", "analysis") if c in main]
    assert not main.duplicated(identity).any()
    assert len(main) + len(densities) == len(table)
    for part, file in ((main, "main.csv"), (densities, "densities.csv")):
        tables.write(part, tmp_path / file)
    read = [tables.read(tmp_path / file) for file in ("main.csv", "densities.csv")]
    tables.write(table, tmp_path / "whole.csv")
    assert drawn(slug, scenario_tables.joined(*read)) == drawn(slug, tables.read(tmp_path / "whole.csv"))
