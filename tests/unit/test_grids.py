"""A grid is the product of its lists: every point the scenario that would be written by itself."""

import pandas as pd
import pytest
import yaml

from dpmultinomial._seeding import stream
from reproduction import paper, style
from reproduction import tables as files
from reproduction.cases import grid_figure, grids, scenario_tables
from reproduction.config import config, grid_settings, schema
from reproduction.jobs import adapters

PAPERS = paper.discover()
SCHEMA = schema.of(PAPERS)
RULES = {slug: found.mistakes for slug, found in PAPERS.items()}
CASES = {
    "balmat2018": "{noisy_counts: [12.3, 30.1], total: 50, grid: {epsilon: [0.5, 2], alpha: [1, 0.5]}}",
    "wang2020": '{released: [4, 6], grid: {algorithm: ["2", "1-independent"], epsilon: [1.0, 2.0]}}',
    "pan2023": "{table: [[5, 2], [3, 6]], grid: {rate: [0.1, 0.3], level: [0.5, 0.9]}}",
    "ponnoprat2022": "{rehearsal: {counts: [30, 20, 10]}, order: 5.0, grid: {epsilon: [0.5, 1.0]}}",
    "raim2021": (
        "{release: {mean: 0.4, sse: 20.0, low: 1.5, high: 0.2}, n: 30, lower: -2.0, upper: 2.0, draws: 100, chains: 2, "
        "grid: {epsilon: [2.0, 4.0]}}"
    ),
}


def checked(slug, text):
    written = {slug: {"scenarios": {"mine": yaml.safe_load(text)}}}
    return config.check(written, SCHEMA, RULES)[slug]["scenarios"]["mine"]


def mistakes(slug, text, name="mine"):
    with pytest.raises(config.ConfigError) as caught:
        config.check({slug: {"scenarios": {name: yaml.safe_load(text)}}}, SCHEMA, RULES)
    return str(caught.value)


def made(slug, scenario, shard=1, shards=1, seed=7):
    function = adapters.find(f"{slug}.scenario.table")
    about = {"names": (slug, "scenario", "mine"), "root_seed": seed, "further": {}}
    return grids.of_shard(function, scenario, shard=shard, shards=shards, **about)


def test_points_are_the_product_in_the_order_written():
    scenario = {"grid": {"b": [2, 1], "a": ["x", "y", "z"]}, "c": 3, "a": "w"}
    found = grid_settings.points(scenario)
    assert [(p["b"], p["a"]) for p in found] == [(2, "x"), (2, "y"), (2, "z"), (1, "x"), (1, "y"), (1, "z")]
    assert grid_settings.at(scenario, found[4]) == {"a": "y", "b": 1, "c": 3}
    assert grid_settings.label(found[4]) == "b=1, a=y"


@pytest.mark.parametrize("slug", CASES)
def test_every_point_is_the_scenario_written_by_itself(slug):
    scenario = checked(slug, CASES[slug])
    found = made(slug, scenario)
    keys = list(scenario["grid"])
    assert list(found)[: len(keys)] == keys
    points = grid_settings.points(scenario)
    assert found[keys].drop_duplicates().to_dict("records") == points
    alone = {key: value for key, value in scenario.items() if key != "grid"} | points[-1]
    rng = stream(7, slug, "scenario", "mine", grid_settings.label(points[-1]))
    main, _ = scenario_tables.split(adapters.find(f"{slug}.scenario.table")(**alone, rng=rng))
    last = found[(found[keys] == pd.Series(points[-1])).all(axis=1)].reset_index(drop=True)
    rest = [column for column in main if column not in keys]
    pd.testing.assert_frame_equal(last[rest], main[rest], check_dtype=False)


@pytest.mark.parametrize("shards", [2, 3, 9])
def test_blocks_of_points_change_no_byte(shards, tmp_path):
    """Blocks are read back from their files, as the workflow does; with nine blocks some have no point."""
    scenario = checked("balmat2018", CASES["balmat2018"])
    parts = {}
    for count in (1, shards):
        blocks = []
        for shard in range(1, count + 1):
            path = tmp_path / f"{shard}_of_{count}.csv"
            files.write(made("balmat2018", scenario, shard, count), path)
            blocks.append(files.read(path))
        files.write(grids.together(blocks), tmp_path / f"{count}.csv")
        parts[count] = (tmp_path / f"{count}.csv").read_bytes()
    assert parts[1] == parts[shards]
    assert len(grids.together(blocks)[["epsilon", "alpha"]].drop_duplicates()) == 4


def test_points_of_a_rehearsal_have_noise_of_their_own_whatever_else_is_in_the_grid():
    text = "{rehearsal: {counts: [15, 30]}, epsilon: 1.0, grid: {alpha: [%s]}}"
    two, three = (made("balmat2018", checked("balmat2018", text % values)) for values in ("1, 2", "3, 2, 1"))
    first = {len(t): t[t["alpha"] == 2]["released"].dropna().tolist() for t in (two, three)}
    assert len({tuple(released) for released in first.values()}) == 1
    assert two.loc[two["alpha"] == 1, "released"].iloc[0] != two.loc[two["alpha"] == 2, "released"].iloc[0]


BALMAT = "{noisy_counts: [12.5, 30.1], total: 50, epsilon: 1.0, grid: {%s}}"


@pytest.mark.parametrize(
    ("slug", "text", "parts"),
    [
        ("balmat2018", BALMAT % "epsilon: [1.0, -2.0]", ["mine.grid.epsilon: -2.0 is not allowed", "1e-06"]),
        ("balmat2018", BALMAT % "epsilon: [1.0, high]", ["mine.grid.epsilon: 'high' is not a number"]),
        ("balmat2018", BALMAT % "epsilon: []", ["mine.grid.epsilon", "minimum is 1"]),
        ("balmat2018", BALMAT % "epsilon: [1.0, 1.0]", ["mine.grid.epsilon", "twice"]),
        ("balmat2018", BALMAT % "epsilon: 1.0", ["mine.grid.epsilon", "not a list"]),
        ("balmat2018", BALMAT % "", ["mine.grid"]),
        ("balmat2018", BALMAT % "epsilom: [1.0]", ["mine.grid.epsilom: cannot be in a grid", "epsilon"]),
        ("balmat2018", BALMAT % "release: [a, b]", ["mine.grid.release: cannot be in a grid"]),
        ("balmat2018", BALMAT % "given: [[c1, c2]]", ["mine.grid.given"]),
        (
            "balmat2018",
            BALMAT % "noise: [laplace, discrete_laplace]",
            ["mine.noisy_counts", "no whole numbers", "(at noise=discrete_laplace)"],
        ),
        (
            "balmat2018",
            BALMAT % f"epsilon: {[i + 1 for i in range(15)]}, alpha: {[i + 1 for i in range(14)]}",
            ["mine.grid: has 210 points; at most 200"],
        ),
        (
            "wang2020",
            '{released: [1, 2, 3], epsilon: 1.0, grid: {algorithm: ["2", 1-summed]}}',
            ["mine.algorithm", "two components only", "(at algorithm=1-summed)"],
        ),
        ("wang2020", "{released: [1, 2], grid: {released_file: [a.csv]}}", ["grid.released_file: cannot be in a grid"]),
        ("wang2020", "{released: [1, 2], grid: {counts: [3]}}", ["mine.grid.counts: cannot be in a grid"]),
    ],
)
def test_a_wrong_grid_is_refused_with_its_path(slug, text, parts):
    message = mistakes(slug, text)
    for part in parts:
        assert part in message


def test_a_key_that_every_point_states_need_not_be_stated_again_and_names_of_files_are_taken():
    assert "epsilon" not in checked("balmat2018", CASES["balmat2018"])
    message = mistakes("balmat2018", BALMAT % "alpha: [1.0]", name="mine_densities")
    assert "mine_densities: _densities is the end of another" in message


def test_a_point_that_cannot_be_answered_is_named():
    def refuse(**_):
        raise ValueError("why")

    with pytest.raises(ValueError, match="a=1: why"):
        grids.of_shard(refuse, {"grid": {"a": [1]}}, names=("x",), root_seed=1, shard=1, shards=1, further={})


@pytest.mark.parametrize("slug", CASES)
def test_the_figure_has_a_panel_a_quantity_and_a_colour_a_value_of_the_second_key(slug):
    scenario = checked(slug, CASES[slug])
    found = made(slug, scenario)
    keys = list(scenario["grid"])
    with style.applied():
        figure = grid_figure.grid(found, scenario["grid"])
    panels = [axis for axis in figure.axes if axis.get_title()]
    assert 1 <= len(panels) <= 6
    assert all(axis.get_xlabel() == keys[0] for axis in panels)
    first = panels[0]
    assert len(first.containers) == (len(scenario["grid"][keys[1]]) if len(keys) > 1 else 1)
    drawn = sum(len(container[2][0].get_segments()) for container in first.containers)
    assert drawn == len(grid_settings.points(scenario))
    lowest = min(segment[0][1] for segment in first.containers[0][2][0].get_segments())
    assert found["lower"].dropna().sub(lowest).abs().min() == pytest.approx(0, abs=1e-12)


def test_texts_that_look_like_numbers_are_places_not_numbers(tmp_path):
    scenario = checked("wang2020", '{released: [4, 6], epsilon: 1.0, grid: {algorithm: ["3", "2"]}}')
    files.write(made("wang2020", scenario), tmp_path / "grid.csv")
    with style.applied():
        figure = grid_figure.grid(files.read(tmp_path / "grid.csv"), scenario["grid"])
    axis = figure.axes[0]
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["3", "2"]
    assert list(axis.get_xticks()) == [0, 1]
