"""Tests of the rules for arguments, convergence status and files: both sides of each limit, with messages."""

import os
from fractions import Fraction

import numpy as np
import pytest

from dpmultinomial import _accuracy, _arrays, _checks, _seeding
from dpmultinomial._releases import _durable

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
    (_checks.positive, ("1",), {}, "n must be a number"), (_checks.positive, (10**400,), {}, "range of float64"),
    (_checks.number, (NAN,), {}, "n must be finite, got nan"), (_checks.number, (-INF,), {}, "finite"),
    (_checks.inside, (0,), {}, "strictly between 0 and 1, got 0"), (_checks.inside, (1,), {}, "got 1"),
    (_checks.inside, (NAN,), {}, "got nan"),
    (_checks.fraction, ([0.5, -1e-9],), {}, r"in \[0, 1\], got -1e-09 \(index 1\)"),
    (_checks.fraction, ([[0.5, 1.5]],), {}, r"got 1.5 \(index 0, 1\)"), (_checks.fraction, (NAN,), {}, r"got nan$"),
    (_checks.reals, ([],), {}, r"at least 1 entries, got shape \(0,\)"),
    (_checks.reals, (3.0,), {}, r"got shape \(\)"), (_checks.reals, ([[1.0]],), {}, r"got shape \(1, 1\)"),
    (_checks.reals, ([1.0],), {"least_size": 2}, "at least 2"),
    (_checks.reals, ([1.0, INF],), {}, r"n must be finite, got inf \(index 1\)"),
    (_checks.reals, (["a"],), {}, "must be numbers"), (_checks.reals, ([[1], [1, 2]],), {}, "n must be numbers"),
    (_checks.reals, ([1j],), {}, "n must be numbers"),
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
    (_checks.shaped, (np.ones((2, 2)), None, 3), {}, r"n must have shape \(any, 3\), got \(2, 2\)"),
    (_checks.shaped, (np.ones((1, 1, 1)), 1, 1), {}, r"got \(1, 1, 1\)"),
    (_checks.shaped, ([NAN], 1), {}, "must not be NaN"), (_checks.shaped_counts, ([1.0], 1), {}, "integers"),
    (_checks.shaped_counts, ([-1], 1), {}, r"in \[0, 2\^52\], got -1 .. -1"),
    (_checks.shaped_counts, ([(1 << 52) + 1], 1), {}, "got 4503599627370497"),
    (_checks.shaped_counts, ([1], 2), {}, r"\(2\), got \(1,\)"),
    (_checks.shaped_counts, ([[1]], 1), {}, r"shape \(1\), got \(1, 1\)"),
    (_checks.shaped_counts, (INT(1), None), {}, r"shape \(any\), got \(\)"),
    (_checks.table, ([[1, 2]],), {}, r"at least 2 x 2, got shape \(1, 2\)"),
    (_checks.table, ([[1], [2]],), {}, r"got shape \(2, 1\)"), (_checks.table, ([1, 2],), {}, r"got shape \(2,\)"),
    (_checks.table, (np.ones((2, 2, 2)),), {}, "two-dimensional"),
    (_checks.table, ([[1, 2], [3, -1]],), {}, r"got -1.0 \(index 1, 1\)"),
    (_checks.table, ([[1, 2], [3, 0.5]],), {}, "got 0.5"), (_checks.table, ([[1, 2], [INF, 1]],), {}, "got inf"),
    (_checks.one_of, ("c", ("a", "b")), {}, "one of 'a', 'b', got 'c'"),
    (_checks.shaped_counts, (np.ones((2, 2), INT), None, 3), {}, r"n must have shape \(any, 3\), got \(2, 2\)"),
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
    (_arrays.integers, ([0, -1],), {"least": 0, "most": 9}, r"in \[0, 9\], got -1..0"),
    (_arrays.integers, ([10],), {"least": 0, "most": 9}, r"got 10..10"),
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
        assert str(found) == f"not converged (least ESS {min(ess):.0f} of 400, largest R-hat {max(rhat):.3f} of 1.01)"


def test_a_state_is_one_of_four_words_and_an_approximation_says_how_far():
    assert (_accuracy.EXACT.status, _accuracy.EXACT.error, str(_accuracy.EXACT)) == ("exact", 0.0, "exact")
    with pytest.raises(ValueError, match="status must be one of exact, converged, not converged, approximate"):
        _accuracy.Accuracy("good")
    with pytest.raises(ValueError, match="reason is required"):
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
