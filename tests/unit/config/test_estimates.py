"""Tests of the work and memory that are estimated before any job."""

import pytest

from reproduction import kind, paper
from reproduction.config import checks, config

PAPERS = paper.discover()
KINDS = kind.discover()
SCHEMA = checks.schema_of(PAPERS)


def check(**settings):
    return config.check(settings, SCHEMA, None, lambda filled: checks.excess(filled, SCHEMA, PAPERS, KINDS))


def test_every_setting_that_costs_work_or_has_no_end_says_how_it_grows():
    """Check that every integer, and every list without a maximum length, is bounded or states its growth."""
    for slug in PAPERS:
        for name, section in SCHEMA["properties"][slug]["properties"].items():
            for key, part in section.get("properties", {}).items():
                rule = SCHEMA["$defs"][part["$ref"].rsplit("/", 1)[1]] | part if "$ref" in part else part
                if rule.get("type") == "integer":
                    assert "maximum" in rule or rule.get("time"), f"{slug}.{name}.{key}"
                assert "default" in rule or "time" not in rule, f"{slug}.{name}.{key}"


@pytest.mark.parametrize(
    ("value", "default", "time", "work", "memory"),
    [
        (20, 10, 1, 2, 2),  # twice as many repetitions
        (20, 10, 3, 8, 2),  # a cube; memory is linear unless it says otherwise
        (5, 10, 1, 1, 1),  # less is never a discount
        ([1, 2, 3], [1, 2], 0, 1.5, 1.5),  # a list without `time` counts its entries
        ([3, 4], [5], 2, 1, 7 / 5),  # 9 + 16 beside 25
        ([3, 4, 5], [5], 2, 2, 12 / 5),
        (7, 0, 1, 8, 8),  # beside nothing
    ],
)
def test_growth(value, default, time, work, memory):
    part = {"properties": {"key": {"type": "integer", "default": default, "time": time}}}
    assert dict(checks.growth({"key": value}, part, {})) == {"key": (work, memory)}


def test_shards_divide_the_work_of_a_long_loop():
    million = {"calibration": {"replications": 1_200_000}}  # 1500 times 15 s: 6.25 hours
    with pytest.raises(config.ConfigError, match=r"wang2020\.calibration\.replications: would take about 6\.25 hours"):
        check(wang2020=million, limits={"hours": 5})
    check(wang2020=million, limits={"hours": 5}, shards=2)
    check(wang2020=million)


def test_memory_is_judged_by_itself():
    """Check that sums of fifteen counts grow with the total (15e6 cells of 70 bytes), but sixteen use windows."""
    wide = {"mine": {"kind": "noisy_counts", "counts": [1.5] * 15, "total": 1_000_000, "epsilon": 1.0}}
    with pytest.raises(config.ConfigError, match=r"scenarios\.mine: would take about 1\.25 GB of memory"):
        check(scenarios=wide, limits={"memory_gb": 1})
    check(scenarios=wide)
    check(scenarios={"mine": wide["mine"] | {"counts": [1.5] * 16}}, limits={"memory_gb": 1})


def test_the_points_of_a_grid_add_up_and_shards_divide_them():
    """Check that a swapped table takes at most half a minute, a hundred of them 50 minutes."""
    grid = {"mine": {"kind": "swapped_table", "table": [[1, 2], [3, 4]], "rate": [0.1 + i / 1000 for i in range(100)]}}
    with pytest.raises(config.ConfigError, match=r"scenarios\.mine: would take about 0\.833 hours in one job"):
        check(scenarios=grid, limits={"hours": 0.5})
    check(scenarios=grid, limits={"hours": 0.5, "memory_gb": 4}, shards=2)


def test_a_grid_is_judged_at_its_dearest_point():
    mine = {"kind": "additive_counts", "released": [3, 4], "algorithm": "2", "epsilon": [1.0, 1.0e-06]}
    with pytest.raises(config.ConfigError, match=r"scenarios\.mine: would take about .* GB of memory"):
        check(scenarios={"mine": mine})
    check(scenarios={"mine": mine | {"epsilon": [1.0, 0.1]}})


def test_what_is_refused_says_how_to_go_on():
    with pytest.raises(config.ConfigError, match=r"the limit is 24: reduce it, or raise limits\.hours"):
        check(raim2021={"geweke": {"sweeps": 10**12}})
