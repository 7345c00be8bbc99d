"""Check that the coverage in docs/methods is the study's result with its settings and the seed of config.yaml."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from reproduction import studies

ROOT = Path(__file__).parents[2]


@pytest.mark.site  # studies at their full size
@pytest.mark.parametrize(
    ("name", "shown"),
    [("coverage", "coverage.tsv"), ("rate_coverage", "rate_coverage.tsv"), ("confidence", "confidence.tsv")],
)
def test_the_table_of_the_documentation_is_the_studys(name, shown):
    study = studies.discover()[name]
    seed = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))["root_seed"]
    found = study.function("shown")(study.function("table")(seed, **study.settings))
    written = pd.read_csv(ROOT / "docs/methods" / shown, sep="\t")
    pd.testing.assert_frame_equal(written, found, check_dtype=False, rtol=0, atol=0.0101)
