"""The R code of docs/how-to/r.md runs, and reads what the library computes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import dpmultinomial as dpm

PAGE = Path(__file__).parents[2] / "docs/how-to/r.md"


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs Rscript")
def test_the_code_in_r_runs(tmp_path):
    code = re.search(r"```r\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    (tmp_path / "page.R").write_text(code, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(["Rscript", "page.R"], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True,
                         text=True, check=False)  # fmt: skip
    assert run.returncode == 0, run.stderr
    data = pd.read_csv(tmp_path / "counties.csv")
    release = dpm.Release(
        dict(zip(data["name"], data["value"], strict=True)), mechanism=dpm.DiscreteGaussian(sigma=2.0)
    )
    prior = dpm.Regression((data["births"] / 1000).tolist(), {"x": data["x"].tolist()})
    rates = dpm.posterior(release, prior=prior).rates.mean().sort_values(ascending=False)
    first = re.search(r"quantity +released.*\n *\d+ +(county \d+)", run.stdout)[1]
    assert first == rates.index[0]
    assert "slope of x" in run.stdout
    assert "'county 3' > 'county 4'" in run.stdout
