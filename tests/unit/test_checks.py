"""Tests of the rules for arguments, status and files: both sides of each limit, messages, corner cases by hand."""

import dataclasses
import json
import os
import shutil
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpmultinomial import _accuracy, _arrays, _checks, _seeding
from dpmultinomial._accounting import privacy_profiles, renyi
from dpmultinomial._files import csv_table
from dpmultinomial._files.csv_table import Limits, parse
from dpmultinomial._mechanisms import dirichlet
from dpmultinomial._models import calibrated_noise, coded_table
from dpmultinomial._models.private_network import PrivateBayesianNetwork
from dpmultinomial._releases import _durable, _noise, room
from dpmultinomial._seeding import stream
from reproduction.papers.pan2023.algorithms import swapping_audit

NAN, INF = float("nan"), float("inf")
INT = np.int64
GOOD = [
    (_checks.integer, (0,), {}, 0), (_checks.integer, (np.int32(7),), {"most": 7}, 7),
    (_checks.integer, (-2,), {"least": -2}, -2), (_checks.positive, (5e-324,), {}, 5e-324),
    (_checks.positive, (Fraction(1, 4),), {}, 0.25), (_checks.number, (-1e308,), {}, -1e308),
    (_checks.number, (0,), {}, 0.0), (_checks.inside, (5e-324,), {}, 5e-324),
    (_checks.inside, (1 - 2**-53,), {}, 1 - 2**-53), (_checks.fraction, ([0.0, 1.0],), {}, [0.0, 1.0]),
    (_checks.fraction, (0.5,), {}, 0.5), (_checks.reals, ([1.5],), {}, [1.5]),
    (_checks.reals, ([],), {"least_size": 0}, []), (_checks.reals, ([2, -3],), {"least_size": 2}, [2.0, -3.0]),
    (_checks.positives, (0.5, 3), {}, [0.5, 0.5, 0.5]), (_checks.positives, ([1e-300, 2.0], 2), {}, [1e-300, 2.0]),
    (_checks.counts, ([0, 3.0],), {}, [0, 3]), (_checks.integral, (-(2.0**53) + 1,), {}, -(2.0**53) + 1),
    (_checks.int64s, (np.array([1, 2], np.int8),), {}, [1, 2]),
    (_checks.int64s, (np.array([9], np.uint32),), {}, [9]),
    (_checks.shaped, (np.ones((2, 3)), None, 3), {}, np.ones((2, 3))), (_checks.shaped, ([INF], 1), {}, [INF]),
    (_checks.shaped_counts, (np.zeros((2, 0), INT), 2, None), {}, np.zeros((2, 0))),
    (_checks.shaped_counts, (np.array([0, 1 << 52]), 2), {}, [0, 1 << 52]),
    (_checks.table, ([[0, 1], [2, 3]],), {}, [[0, 1], [2, 3]]), (_checks.one_of, ("b", ("a", "b")), {}, "b"),
    (_arrays.floats, ([1, 2],), {"ndim": 1}, [1.0, 2.0]),
    (_arrays.floats, (np.ones((1, 2)),), {"ndim": 2, "shape": (1, 2)}, [[1, 1]]),
    (_arrays.spectra, ([1j],), {"ndim": 1}, [1j]), (_arrays.integers, ([-4, 9],), {"least": -4, "most": 9}, [-4, 9]),
    (_arrays.integers, ([],), {"least": 0, "most": 1}, []), (_arrays.floats, ([],), {"ndim": 1}, []),
]  # fmt: skip
BAD = [
    (_checks.integer, (-1,), {}, "n must be >= 0, got -1"),
    (_checks.integer, (8,), {"most": 7}, r"n must be in \[0, 7\], got 8"),
    (_checks.integer, (True,), {}, "n must be an integer, got True"), (_checks.integer, (1.0,), {}, "integer"),
    (_checks.positive, (0,), {}, "n must be finite and > 0, got 0"), (_checks.positive, (INF,), {}, "finite and > 0"),
    (_checks.positive, (NAN,), {}, "finite and > 0"), (_checks.positive, (True,), {}, "n must be a number, got True"),
    (_checks.positive, ("1",), {}, "n must be a"), (_checks.positive, (10**400,), {}, "range of float64"),
    (_checks.number, (NAN,), {}, "n must be finite, got nan"), (_checks.number, (-INF,), {}, "finite"),
    (_checks.inside, (0,), {}, "strictly between 0 and 1, got 0"), (_checks.inside, (1,), {}, "got 1"),
    (_checks.inside, (NAN,), {}, "got nan"),
    (_checks.fraction, ([0.5, -1e-9],), {}, r"in \[0, 1\], got -1e-09 \(index 1\)"),
    (_checks.fraction, ([[0.5, 1.5]],), {}, r"got 1.5 \(index 0, 1\)"), (_checks.fraction, (NAN,), {}, r"got nan$"),
    (_checks.reals, ([],), {}, r"at least 1 entries, got shape \(0,\)"),
    (_checks.reals, (3.0,), {}, r"got shape \(\)"), (_checks.reals, ([[1.0]],), {}, r"got shape \(1, 1\)"),
    (_checks.reals, ([1.0],), {"least_size": 2}, "at least 2"),
    (_checks.reals, ([1.0, INF],), {}, r"n must be finite, got inf \(index 1\)"),
    (_checks.reals, (["a"],), {}, "must be a number or an array"), (_checks.reals, ([[1], [1, 2]],), {}, "n must be a"),
    (_checks.reals, ([1j],), {}, "n must be a number or an array of numbers"),
    (_checks.positives, ([1.0, 2.0], 3), {}, r"one number or 3 numbers, got shape \(2,\)"),
    (_checks.positives, ([[1.0]], 1), {}, r"got shape \(1, 1\)"),
    (_checks.positives, ([1.0, 0.0], 2), {}, r"> 0, got 0.0 \(index 1\)"),
    (_checks.positives, (INF, 2), {}, "finite and > 0"), (_checks.counts, ([1, -1],), {}, r"got -1.0 \(index 1\)"),
    (_checks.counts, ([0.5],), {}, "integers >= 0, got 0.5"), (_checks.counts, ([],), {}, "at least 1"),
    (_checks.integral, (2.0**53,), {}, r"below 2\^53"),
    (_checks.integral, (-(2.0**53),), {}, r"below 2\^53"),
    (_checks.integral, ([0.5],), {}, "integers"), (_checks.integral, (INF,), {}, "integers"),
    (_checks.int64s, ([1.0],), {}, "int64"), (_checks.int64s, (np.array([1], np.uint64),), {}, "int64"),
    (_checks.int64s, (np.array([True]),), {}, "int64"), (_checks.int64s, ([[1]],), {}, "one-dimensional"),
    (_checks.int64s, (INT(1),), {}, "one-dimensional"),
    (_checks.shaped, (np.ones((2, 2)), None, 3), {}, r"n must have shape \(any, 3\), got shape \(2, 2\)"),
    (_checks.shaped, (np.ones((1, 1, 1)), 1, 1), {}, r"got shape \(1, 1, 1\)"),
    (_checks.shaped, ([NAN], 1), {}, "must not contain NaN"), (_checks.shaped_counts, ([1.0], 1), {}, "integers"),
    (_checks.shaped_counts, ([-1], 1), {}, r"in \[0, 2\^52\], got values from -1 to -1"),
    (_checks.shaped_counts, ([(1 << 52) + 1], 1), {}, "got values from 4503599627370497"),
    (_checks.shaped_counts, ([1], 2), {}, r"\(2\), got shape \(1,\)"),
    (_checks.shaped_counts, ([[1]], 1), {}, r"shape \(1\), got shape \(1, 1\)"),
    (_checks.shaped_counts, (INT(1), None), {}, r"shape \(any\), got shape \(\)"),
    (_checks.table, ([[1, 2]],), {}, r"at least 2 x 2, got shape \(1, 2\)"),
    (_checks.table, ([[1], [2]],), {}, r"got shape \(2, 1\)"), (_checks.table, ([1, 2],), {}, r"got shape \(2,\)"),
    (_checks.table, (np.ones((2, 2, 2)),), {}, "two-dimensional"),
    (_checks.table, ([[1, 2], [3, -1]],), {}, r"got -1.0 \(index 1, 1\)"),
    (_checks.table, ([[1, 2], [3, 0.5]],), {}, "got 0.5"), (_checks.table, ([[1, 2], [INF, 1]],), {}, "got inf"),
    (_checks.one_of, ("c", ("a", "b")), {}, "one of 'a', 'b', got 'c'"),
    (_checks.shaped_counts, (np.ones((2, 2), INT), None, 3), {}, r"n must have shape \(any, 3\), got shape \(2, 2\)"),
    (_arrays.floats, (np.ones(3),), {"ndim": 2}, r"n must have .*, got shape \(3,\)"),
    (_arrays.spectra, (np.ones(3),), {"ndim": 2}, r"n must have .*, got shape \(3,\)"),
    (_arrays.integers, (INT(3),), {"least": 0, "most": 9}, r"n must have .*, got shape \(\)"),
    (_arrays.floats, ([1.0],), {"ndim": 2}, r"2 dimensions, got shape \(1,\)"),
    (_arrays.floats, (1.0,), {"ndim": 1}, r"1 dimension, got"),
    (_arrays.floats, (np.ones((1, 1)),), {"ndim": 1}, r"1 dimension, got shape \(1, 1\)"),
    (_arrays.floats, ([1.0],), {"ndim": 1, "shape": (2,)}, r"shape \(2,\), got shape \(1,\)"),
    (_arrays.floats, ([NAN],), {"ndim": 1}, "must not contain NaN"),
    (_arrays.floats, (["a"],), {"ndim": 1}, "must contain numbers"),
    (_arrays.floats, ([[1], [1, 2]],), {"ndim": 2}, "rectangular"),
    (_arrays.spectra, ([INF],), {"ndim": 1}, "finite"),
    (_arrays.spectra, (1j,), {"ndim": 1}, r"1 dimension, got shape \(\)"),
    (_arrays.spectra, ([[1j]],), {"ndim": 1}, "1 dimension"),
    (_arrays.integers, ([1.0],), {"least": 0, "most": 9}, "integers, got dtype float64"),
    (_arrays.integers, ([[1]],), {"least": 0, "most": 9}, "1 dimension"),
    (_arrays.integers, ([1],), {"shape": (2,), "least": 0, "most": 9}, r"shape \(2,\)"),
    (_arrays.integers, ([0, -1],), {"least": 0, "most": 9}, r"in \[0, 9\], got values from -1 to 0"),
    (_arrays.integers, ([10],), {"least": 0, "most": 9}, r"got values from 10 to 10"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "values", "options", "clean"), GOOD)
def test_what_keeps_the_rule_comes_back_clean(check, values, options, clean):
    found = check("n", *values, **options)
    assert np.array_equal(found, clean)
    assert np.shape(found) == np.shape(clean)


@pytest.mark.parametrize(("check", "values", "options", "words"), BAD)
def test_what_breaks_the_rule_is_told_which_and_how(check, values, options, words):
    with pytest.raises((ValueError, TypeError), match=words) as told:
        check("n", *values, **options)
    assert str(told.value).startswith("n must")


def test_the_smallest_seed_is_zero_and_streams_have_names():
    """Check that the words of a name are its SHA-256, and that a stream depends only on its name."""
    assert _seeding.stream(0, "a").integers(1 << 60) == _seeding.stream(0, "a").integers(1 << 60)
    drawn = {
        int(_seeding.stream(0, *names).integers(1 << 60)) for names in [("a", "b"), ("ab",), (1,), ("1",), ("b", "a")]
    }
    assert len(drawn) == 5
    with pytest.raises(ValueError, match="root_seed must be >= 0, got -1"):
        _seeding.stream(-1, "a")
    with pytest.raises(ValueError, match="at least one name"):
        _seeding.stream(1)
    for seed, name in ((True, "a"), (1.0, "a"), (1, True), (1, 2.0)):
        with pytest.raises(TypeError):
            _seeding.stream(seed, name)


@pytest.mark.parametrize(
    ("ess", "rhat", "word"),
    [
        ([400.0, 900.0], [1.0, 1.01], "converged"),
        ([399.9, 900.0], [1.0, 1.0], "not converged"),
        ([400.0, 400.0], [1.0101, 1.0], "not converged"),
        ([NAN, 900.0], [1.0, 1.0], "not converged"),
        ([900.0, 900.0], [1.0, NAN], "not converged"),
    ],
)
def test_chains_are_judged_by_their_worst_quantity(ess, rhat, word):
    found = _accuracy.of_chains(ess, rhat)
    assert found.status == word
    if word == "not converged" and np.isfinite(ess).all() and np.isfinite(rhat).all():
        shown = (399, "1.000") if min(ess) < 400 else (400, "1.011")  # 399.9 and 1.0101 did not pass
        numbers = f"smallest ESS {shown[0]}, required 400; largest R-hat {shown[1]}, limit 1.01"
        assert str(found) == f"not converged ({numbers})"


def test_a_state_is_one_of_four_words_and_an_approximation_says_how_far():
    assert (_accuracy.EXACT.status, _accuracy.EXACT.error, str(_accuracy.EXACT)) == ("exact", 0.0, "exact")
    with pytest.raises(ValueError, match="status must be one of exact, converged, not converged, approximate"):
        _accuracy.Accuracy("good")
    with pytest.raises(ValueError, match="reason must not be empty"):
        _accuracy.Accuracy("approximate", 0.1)
    columns = {"mean": [1.0, 2.0], "sd": [0.1, 0.2], "lower": [0.5, 1.5], "upper": [1.5, 2.5], "level": 0.9}
    known = _accuracy.Accuracy("approximate", 1e-3, "neglected mass")
    for status, words in ((known, ["approximate"] * 2), ([known, _accuracy.EXACT], ["approximate", "exact"])):
        table = _accuracy.summary_frame(["a", "b"], **columns, status=status)
        assert tuple(table.columns) == _accuracy.SUMMARY
        assert table["status"].tolist() == words
        assert table[["quantity", "mean", "upper", "level"]].values.tolist() == [
            ["a", 1.0, 1.5, 0.9],
            ["b", 2.0, 2.5, 0.9],
        ]


def test_a_file_being_written_is_never_open_to_others(tmp_path, monkeypatch):
    """Check for any umask that before its mode is set, only the owner may read and write the file."""
    seen = []
    path = tmp_path / "x"
    monkeypatch.setattr(
        _durable, "at", lambda name: seen.append((name, path.stat().st_mode & 0o777) if path.exists() else (name, 0))
    )
    before = os.umask(0)
    try:
        _durable.write(path, b"abcdef", mode=0o444, name="x")
    finally:
        os.umask(before)
    assert seen == [
        ("x: create", 0),
        ("x: write the half", 0o600),
        ("x: write the rest", 0o600),
        ("x: mode", 0o600),
        ("x: to disk", 0o444),
    ]
    assert path.read_bytes() == b"abcdef"
    with pytest.raises(FileExistsError):
        _durable.write(path, b"", mode=0o444, name="x")


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
    with pytest.raises(ValueError, match=r"f, line 2: the file is not valid utf-8 \(byte 3\); save it as UTF-8"):
        csv_table.decode(b"a,\n\xff\n", name="f", encoding=None)
    with pytest.raises(ValueError, match=r"the file is not valid utf-16-le \(byte \d+\)$"):
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
        ValueError, match=r"files of the release are lost: set generation to 2 .*, which spends epsilon 0\.5 .* again"
    ):
        room.make("r", settings, root=tmp_path)
    folder = room.make("r", settings | {"generation": 2}, root=tmp_path)
    assert json.loads((folder / "record.json").read_text())["generation"] == 2
