"""Tests of corner cases with results by hand: ends of ranges, messages, and quantities that must not be confused."""

import dataclasses
import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest

from dpmultinomial._accounting import privacy_profiles, renyi
from dpmultinomial._files import csv_table
from dpmultinomial._files.csv_table import Limits, parse
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._models import calibrated_noise, coded_table
from dpmultinomial._models.private_network import PrivateBayesianNetwork
from dpmultinomial._releases import _noise, room
from dpmultinomial._seeding import stream
from reproduction.papers.pan2023.algorithms import swapping_audit


def test_a_profile_that_ends_at_nothing_still_has_its_epsilon():
    """Check r = 0.01 and alpha = 50: at epsilon 1 the tail is 0 in doubles, so the bracket ends at log 0."""
    found = privacy_profiles.dirichlet_epsilon(1e-5, r=0.01, alpha=50.0)
    assert 0 < found < 0.1
    assert float(privacy_profiles.dirichlet_delta(found, r=0.01, alpha=50.0)) == pytest.approx(1e-5, rel=1e-6)


@pytest.mark.parametrize("epsilon", [1e-5, 5e-5, 1e-4])
def test_exact_calibration_of_tiny_budgets(epsilon):
    r, alpha = dirichlet.calibrate_exact(epsilon, order=2)
    assert alpha == 1 + 4 * r
    assert renyi.dirichlet_worst_case(r, alpha=alpha, order=2) == pytest.approx(epsilon, rel=1e-9)


def test_claims_name_their_numbers():
    """Check that epsilon and delta, both numbers, are distinguished by their names."""
    gaussian = calibrated_noise.Gaussian(sigma=2.0)
    with pytest.raises(TypeError, match="positional"):
        calibrated_noise.dp_claim(gaussian, 1.0, 0.1)
    assert calibrated_noise.dp_claim(mechanism=gaussian, epsilon=1.0, delta=0.1).holds
    with pytest.raises(TypeError, match="positional"):
        coded_table.encode(pd.DataFrame({"a": ["x"]}), "name", target="a", numeric=[])


def test_an_audit_of_all_classes_looks_at_all_of_them():
    """Find the worst exchange among all margins of 7 records, listing each class separately."""
    worst = 0.0
    for r1 in range(1, 7):
        for c1 in range(1, 7):
            _, logs = swapping_audit.log_kernel(7, r1, c1, rate=0.4)
            worst = max(worst, np.abs(np.diff(logs, axis=0)).max(initial=0.0))
    audit = swapping_audit.two_by_two(7, rate=0.4)
    assert audit.per_exchange == pytest.approx(worst, rel=1e-12)
    assert audit.margins in {(r, c) for r in range(1, 4) for c in range(r, 4)}


def test_files_stay_as_they_were_read():
    with pytest.raises(dataclasses.FrozenInstanceError):
        csv_table.decode(b"a\n", name="f", encoding=None).stored = "latin-1"
    with pytest.raises(dataclasses.FrozenInstanceError):
        Limits().columns = 7


def test_refusals_of_files_say_where_and_what_to_do():
    with pytest.raises(ValueError, match=r"f, line 2: not utf-8 at byte 3 of the file; save it as UTF-8"):
        csv_table.decode(b"a,\n\xff\n", name="f", encoding=None)
    with pytest.raises(ValueError, match=r"not utf-16-le at byte \d+ of the file$"):
        csv_table.decode("a,b\n".encode("utf-16-le") + b"x", name="f", encoding="utf-16-le")
    with pytest.raises(ValueError, match=r"line 1, column 3: the column has the same name as column 1 \('a'\)"):
        parse(b"a,b,a\n1,2,3\n", name="f", confidential=False)
    with pytest.raises(ValueError, match=r"line 1, column 3: the column has the same name as column 1:"):
        parse(b"a,b,a\n1,2,3\n", name="f", confidential=True)


def test_a_network_draws_a_child_given_both_of_its_parents():
    """Check d = 3 a + b of a in 0..1 and b in 0..2: six rows of its table, each with one category that occurs."""
    codes = np.array([(a, b) for a in range(2) for b in range(3)] * 400)
    data = pd.DataFrame({"a": codes[:, 0], "b": codes[:, 1], "d": 3 * codes[:, 0] + codes[:, 1]}).astype(str)
    network = PrivateBayesianNetwork(
        {"a": [], "b": [], "d": ["a", "b"]}, mechanism="none", smoothing=1e-9,
        levels={"a": ["0", "1"], "b": ["0", "1", "2"], "d": list("012345")},
    ).fit(data)  # fmt: skip
    drawn = network.sample(500, rng=stream(1, "child")).astype(int)
    assert (drawn["d"] == 3 * drawn["a"] + drawn["b"]).all()
    assert drawn["d"].nunique() == 6


def test_noise_without_a_change_or_a_chance_is_refused(tmp_path):
    for cost in (lambda: _noise.laplace_epsilon(1.0, sensitivity=0), lambda: _noise.gaussian_rho(1.0, l2_squared=0)):
        with pytest.raises(ValueError, match="must be >= 1"):
            cost()
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential" / "p.csv").write_text("a,b\n1,x\n2,y\n")
    settings = {"mechanism": "swap", "data": "confidential/p.csv", "swap": "a"}
    for rate in (0, 0.0, -0.5, 1.0):
        assert list(dict(room.check("s", settings | {"rate": rate}, root=tmp_path))) == ["releases/s/rate"]


def test_a_release_whose_files_are_lost_names_the_next_generation(tmp_path, monkeypatch):
    (tmp_path / "confidential").mkdir(mode=0o700)
    (tmp_path / "confidential" / "c.csv").write_text("category,count\na,1\nb,2\n")
    settings = {"mechanism": "discrete_laplace", "data": "confidential/c.csv", "epsilon": 0.5}
    with monkeypatch.context() as broken:
        broken.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(OSError("no")))
        with pytest.raises(OSError, match="no"):
            room.make("r", settings, root=tmp_path)
    shutil.rmtree(tmp_path / "releases" / "r")
    with pytest.raises(
        ValueError, match=r"files of the release are lost: write generation: 2, which spends epsilon 0\.5 .* again"
    ):
        room.make("r", settings, root=tmp_path)
    folder = room.make("r", settings | {"generation": 2}, root=tmp_path)
    assert json.loads((folder / "record.json").read_text())["generation"] == 2
