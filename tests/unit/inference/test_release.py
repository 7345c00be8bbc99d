"""Tests of a release as the input of inference: names, shapes, invalid input, and releases read from disk."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dpmultinomial as dpm
from dpmultinomial._inference import reading

LAPLACE, SWAP, ADDITIVE = dpm.Laplace(scale=2.0), dpm.Swap(rate=0.1), dpm.AdditiveCounts(epsilon=1)
GAUSSIAN, UNKNOWN = dpm.DiscreteGaussian(sigma=1), dpm.Swap(rate=None)
BARE = dpm.CensoredStatistics(lower=0, upper=1)
CENSORED = dpm.CensoredStatistics(lower=0, upper=1, scale=1.0)


def test_names_come_with_the_values_or_beside_them():
    assert dpm.Release({"a": 1, "b": 2}, mechanism=LAPLACE).names == ("a", "b")
    assert dpm.Release(pd.Series([1, 2], index=["a", 7]), mechanism=LAPLACE).names == ("a", "7")
    assert dpm.Release([1, 2], mechanism=LAPLACE).names == ("1", "2")
    assert dpm.Release([1, 2], mechanism=LAPLACE, names=["x", "y"]).names == ("x", "y")
    table = pd.DataFrame([[1, 2], [3, 4]], index=["n", "s"], columns=["u", "v"])
    assert dpm.Release(table, mechanism=LAPLACE).names == ("n/u", "n/v", "s/u", "s/v")
    two = dpm.Release({"2020": table, "2021": table}, mechanism=LAPLACE)
    assert two.shape == (2, 2, 2)
    assert two.names[:2] == ("2020/n/u", "2020/n/v")
    assert dpm.Release({"a": [[1, 2]], "b": [[3, 4]]}, mechanism=LAPLACE).names[-1] == "b/1/2"
    assert len(two) == 8
    assert repr(two).startswith("Release(2020/n/u 1, ")
    assert ".. 8 in all" in repr(two)


@pytest.mark.parametrize(
    ("values", "options", "error", "match"),
    [
        ([1.0, np.inf], {}, ValueError, "must be finite, or NaN"),
        (["a", "b"], {}, TypeError, "values must contain only numbers"),
        ([], {}, ValueError, r"got shape \(0,\)"),
        (5.0, {}, ValueError, r"got shape \(\)"),
        ([1, 2], {"names": ["a"]}, ValueError, "one name per value .2 values"),
        ([1, 2], {"names": ["a", "a"]}, ValueError, "got 'a' twice"),
        ([1, 2], {"names": ["a", " "]}, ValueError, "names must not be empty, got ' '"),
        ([1, 2], {"names": "ab"}, TypeError, "a sequence of strings"),
        ({"a": 1}, {"names": ["b"]}, ValueError, "because values already have names"),
        ({"a": [[1, 2]], "b": [[1], [2]]}, {}, ValueError, "tables of the same shape"),
        ([1, 2], {"total": 2.5}, TypeError, "total"),
        ([1, 2], {"total": -1}, ValueError, "total"),
    ],
)
def test_what_is_wrong_is_named(values, options, error, match):
    with pytest.raises(error, match=match):
        dpm.Release(values, mechanism=LAPLACE, **options)


@pytest.mark.parametrize(
    ("release", "options", "error", "match"),
    [
        ("no release", {}, TypeError, "release must be a Release"),
        (
            dpm.Release([0.4, 0.6], mechanism=dpm.Dirichlet(r=1, alpha=1)),
            {},
            ValueError,
            "required for released shares",
        ),
        (
            dpm.Release([1, 2], mechanism=LAPLACE),
            {"method": "gibbs"},
            ValueError,
            "requires an exact total and measured counts without bounds, got no exact total",
        ),
        (
            dpm.Release([1, 2], mechanism="laplace", total=3),
            {},
            TypeError,
            "mechanism must be an object such as dpmultinomial.Laplace",
        ),
        (dpm.Release([1, 2], mechanism=LAPLACE, total=3), {"method": "guess"}, ValueError, "method"),
        (dpm.Release([1, 2], mechanism=LAPLACE, total=3), {"prior": "normal"}, ValueError, "prior"),
        (dpm.Release([1, 2], mechanism=LAPLACE, total=3), {"prior": [1, 2, 3]}, ValueError, "prior"),
        (
            dpm.Release([1, 2], mechanism=LAPLACE, total=3),
            {"method": "gibbs"},
            ValueError,
            "rng is required for method 'gibbs'",
        ),
        (dpm.Release([[1, 2]], mechanism=LAPLACE, total=3), {}, ValueError, "values must be one-dimensional"),
        (dpm.Release([1, 2], mechanism=GAUSSIAN, total=3), {"method": "gibbs"}, ValueError, "Laplace"),
        (
            dpm.Release([1, 2], mechanism=SWAP),
            {},
            ValueError,
            "must be at least two-dimensional .rows, columns. if the mechanism is a swap",
        ),
        (dpm.Release([[1, 2.5]], mechanism=SWAP), {}, ValueError, "integers"),
        (dpm.Release([[9, 9], [9, 9]], mechanism=SWAP), {"method": "chain"}, ValueError, "method 'chain'"),
        (dpm.Release([[1, 2], [2, 1]], mechanism=UNKNOWN), {"method": "abc"}, ValueError, "if the rate is unknown"),
        (
            dpm.Release(np.eye(3, dtype=int).tolist(), mechanism=UNKNOWN),
            {"rng": np.random.default_rng(1)},  # a generator does not help
            ValueError,
            r"^rate must be known, got an unknown rate: the exact distribution of the swaps is required but not "
            r"available, because .* \(3, 3\) \(the computation would lose 17 digits.*\)\. Compute the posterior for "
            r"several rates with [^:]*, and compare the results$",
        ),
        (dpm.Release([-1, 2], mechanism=ADDITIVE), {}, ValueError, "integers >= 0"),
        (dpm.Release({"total": 1, "b": 2}, mechanism=ADDITIVE), {}, ValueError, "'total', which is reserved"),
        (dpm.Release([1, 2, 3, 4], mechanism=BARE), {}, ValueError, "the scale of the noise is missing"),
        (dpm.Release([1, 2, 3, 4], mechanism=CENSORED), {}, ValueError, "the public number of records is missing"),
        (
            dpm.Release([1, 2, 3, 4], mechanism=CENSORED, total=9),
            {},
            ValueError,
            "rng is required, because this posterior is sampled by a Markov chain",
        ),
    ],
)
def test_what_a_posterior_needs_is_named(release, options, error, match):
    with pytest.raises(error, match=match):
        dpm.posterior(release, **options)


def test_published_numbers_are_read_from_a_csv(tmp_path):
    file = tmp_path / "counts.csv"
    file.write_text("name,value\nmet,12.3\nnot met,-4.1\n")
    found = dpm.read(file, mechanism=LAPLACE, total=9)
    assert dict(zip(found.names, found.values, strict=True)) == {"met": 12.3, "not met": -4.1}
    with pytest.raises(ValueError, match="pass mechanism="):
        dpm.read(file)
    with pytest.raises(FileNotFoundError, match="elsewhere does not exist"):
        dpm.read(tmp_path / "elsewhere")
    file.write_text("name,value\nmet,1\nmet,2\n")
    with pytest.raises(ValueError, match="the column 'name' contains 'met' twice"):
        dpm.read(file, mechanism=LAPLACE)
    file.write_text("category,value\nmet,1\n")
    with pytest.raises(ValueError, match="must have the columns name and value, got category, value"):
        dpm.read(file, mechanism=LAPLACE)


def test_numbers_as_agencies_publish_them_are_read_from_a_csv(tmp_path):
    """Ranges and limits bound exact counts; with noise, a limit is the threshold of the distribution."""
    file = tmp_path / "counts.csv"
    file.write_text('name,value\na,12\nb,1-9\nc,<10\nd,*\ne,"1,200"\nf,..\ng,\n')
    found = dpm.read(file, mechanism=dpm.Exact(), withheld={"*": 5}, missing=[".."])
    assert found.bounds == ([0, 1, 0, 0, 0, 0, 0], [np.inf, 9, 9, 4, np.inf, np.inf, np.inf])
    assert found.values.tolist() == pytest.approx([12, *[np.nan] * 3, 1200, np.nan, np.nan], nan_ok=True)
    prior = {"law": "geometric", "mean": 20}
    counts = dpm.posterior(found, prior=prior).counts
    weights = (20 / 21) ** np.arange(10.0)
    assert counts["b"].mean() == pytest.approx(np.average(np.arange(1, 10), weights=weights[1:]), rel=1e-12)
    assert counts["d"].mean() == pytest.approx(np.average(np.arange(5), weights=weights[:5]), rel=1e-12)
    file.write_text("name,value\na,15\nb,<10\nc,*\n")
    for law in (dpm.DiscreteLaplace(scale=2.0), dpm.RandomRounding(5), dpm.Exact().rounded(5)):
        found = dpm.read(file, mechanism=law, withheld={"*": 10})
        assert found.bounds is None
        expected = dpm.posterior(dpm.Release([15, None, None], mechanism=law.threshold(10)), prior=prior)
        assert dpm.posterior(found, prior=prior).counts["b"].mean() == expected.counts["2"].mean()
    file.write_text("name,value,parent\nall,40,\na,31,all\nb,<12,all\n")
    tree = dpm.posterior(dpm.read(file, mechanism=dpm.DiscreteLaplace(scale=2.0)))
    law = dpm.DiscreteLaplace(scale=2.0).threshold(12)
    parents = {"all": None, "a": "all", "b": "all"}
    same = dpm.posterior(dpm.Release([40, 31, None], mechanism=law, names=list(parents), parents=parents))
    assert tree.counts["b"].mean() == same.counts["b"].mean()


@pytest.mark.parametrize(
    ("text", "options", "match"),
    [
        ("a,*\nb,oops\n", {}, r"2 invalid cells\n.*line 2, column 'value': the meaning .* pass withheld={'\*': 10}"),
        ("a,9-1\n", {}, "line 2, column .*: the lower end 9 of the range must be <= the upper end 1, got '9-1'"),
        ("a,3\nb,1-9\n", {"mechanism": LAPLACE}, r"counts\.csv: 'b' is the range 1 to 9, but ranges"),
        ("a,<9\nb,<5\n", {"mechanism": LAPLACE}, r"'b' is published as at most 4, .* the same limit \(9\)"),
        ("a,<9\nb,3\n", {"mechanism": [LAPLACE, LAPLACE]}, "require the same noise distribution for all counts"),
        ("a,<9\nb,3\n", {"mechanism": dpm.AdditiveCounts(epsilon=1.0)}, "require the same noise distribution"),
        ("a,3\n", {"withheld": {"*": 0}}, r"withheld\['\*'\]"),
        ("a,3\n", {"withheld": {3: 4}}, "the symbols in withheld must be non-empty strings"),
        ("a,3\n", {"missing": ".."}, "missing must be a list of symbols"),
    ],
)  # fmt: skip
def test_cells_and_options_that_are_rejected(tmp_path, text, options, match):
    file = tmp_path / "counts.csv"
    file.write_text(f"name,value\n{text}")
    with pytest.raises((ValueError, TypeError), match=match):
        dpm.read(file, **{"mechanism": dpm.Exact(), **options})


SETTINGS = {
    "discrete_laplace": {"epsilon": 1.0},
    "discrete_gaussian": {"rho": 0.1},
    "additive_counts": {"epsilon": 0.5},
    "censored_statistics": {"epsilon": 2.0, "lower": -1.0, "upper": 1.0, "column": "x"},
}


@pytest.mark.parametrize("mechanism", SETTINGS)
def test_a_release_made_here_says_how_it_was_made(mechanism, tmp_path):
    pytest.importorskip("opendp", reason="releases draw their noise with opendp")
    from dpmultinomial._releases import room

    (tmp_path / "confidential").mkdir(mode=0o700)
    counts = "category,count\na,40\nb,7\nc,0\n"
    numbers = "x\n" + "\n".join(f"{v:.3f}" for v in np.linspace(-2, 2, 60)) + "\n"
    (tmp_path / "confidential/c.csv").write_text(numbers if mechanism == "censored_statistics" else counts)
    settings = {"mechanism": mechanism, "data": "confidential/c.csv", **SETTINGS[mechanism]}
    folder = room.make("county", settings, root=tmp_path)
    release = dpm.read(folder)
    assert release.facts["release"] == "county"
    found = dpm.posterior(release, rng=dpm.stream(1, "read") if mechanism == "censored_statistics" else None)
    if mechanism == "censored_statistics":
        assert release.total == 60
        assert found.groups == ("parameters", "counts")
    else:
        assert abs(found.counts["a"].mean() - 40) < 40  # noise of scale 2 to 3: chance of a false alarm below 1e-5
    if mechanism == "additive_counts":  # two counts change by 1 if a record is replaced, and the total does not change
        assert release.facts["cost"]["epsilon"] == pytest.approx(2 * 0.5)
        assert release.facts["cost_to_replace"] == {"epsilon": pytest.approx(2 * 0.5)}
    if mechanism == "discrete_gaussian":
        assert release.mechanism.sigma == pytest.approx(10**0.5, rel=1e-6)  # sqrt(2/(2 rho))
    with pytest.raises(ValueError, match=r"^mechanism must be omitted, because .*record.json already contains"):
        dpm.read(folder, mechanism=LAPLACE)


def test_a_release_in_words():
    """Six values are shown, with three or more significant digits, then the number of all values, and the total."""
    law = dpm.Laplace(scale=2.0)
    six = dpm.Release([1, 2, 3, 4, 5, 6.25], mechanism=law, total=21)
    assert repr(dpm.Release([1234567], mechanism=law)) == f"Release(1 1234567; {law!r})"
    assert repr(six) == f"Release(1 1, 2 2, 3 3, 4 4, 5 5, 6 6.25; total 21; {law!r})"
    seven = dpm.Release(np.arange(7), mechanism=law)
    assert repr(seven) == f"Release(1 0, 2 1, 3 2, 4 3, 5 4, 6 5, .. 7 in all; {law!r})"


@pytest.mark.parametrize(("size", "rows"), [(59, 59), (60, 60), (61, 60), (1234, 60)])
def test_sixty_rows_of_a_release_are_shown(size, rows):
    html = dpm.Release(np.arange(size), mechanism=LAPLACE)._repr_html_()
    assert html.count("<tr>") == rows  # the row of the header has a style
    assert ("in all" in html) == (size > 60)
    assert size < 1000 or "<p>1,234 in all</p>" in html
    assert "total" not in html
    assert "<p>total 7</p>" in dpm.Release([3, 4], mechanism=LAPLACE, total=7)._repr_html_()


def test_values_have_at_most_three_dimensions():
    assert dpm.Release(np.zeros((1, 1, 2)), mechanism=SWAP).names == ("1/1/1", "1/1/2")
    with pytest.raises(ValueError, match=r"one to three dimensions and at least one number, got shape \(1, 1, 1, 2\)"):
        dpm.Release(np.zeros((1, 1, 1, 2)), mechanism=SWAP)
    with pytest.raises(ValueError, match="values must be finite, or NaN for unmeasured counts, got -inf"):
        dpm.Release([1.0, -np.inf], mechanism=SWAP)


def test_strata_of_different_shapes_are_listed():
    with pytest.raises(ValueError, match=r"same shape in all strata, got \(1, 2\), \(2, 1\)"):
        dpm.Release({"a": [[1], [2]], "b": [[1, 2]]}, mechanism=SWAP)
    with pytest.raises(ValueError, match=r"values already have names \(a, b, c, \.\.\)"):
        dpm.Release({"a": 1, "b": 2, "c": 3, "d": 4}, mechanism=SWAP, names=list("efgh"))


@pytest.mark.parametrize(
    ("parents", "found"),
    [
        ([None, 0, 1], {"a": None, "b": "a", "c": "b"}),
        ([2, None, "b"], {"a": "c", "b": None, "c": "b"}),
        ([None, 0, 3], r"parents must contain names, positions below 3, or None, got 3"),
        ([None, 0, -1], r"positions below 3, or None, got -1"),
        ([None, 0], r"parents must have one entry per count \(3 counts\), got 2 entries"),
    ],
)
def test_parents_by_position(parents, found):
    def release():
        return dpm.Release([1, 2, 3], names=list("abc"), mechanism=LAPLACE, parents=parents)

    if isinstance(found, dict):
        assert release().parents == found
        return
    with pytest.raises(ValueError, match=found):
        release()


@pytest.mark.parametrize("levels", [1, 2, 49, 50, 51])
def test_trees_have_at_most_fifty_levels(levels):
    """The path from the last node to the root has one step fewer than there are levels."""
    parents = {f"n{i}": f"n{i - 1}" if i else None for i in range(levels)}
    if levels <= 50:
        assert dpm.Release({"n0": 3}, mechanism=LAPLACE, parents=parents).parents == parents
        return
    with pytest.raises(ValueError, match=r"^parents: the path from 'n50' to the root must have fewer than 50 steps"):
        dpm.Release({"n0": 3}, mechanism=LAPLACE, parents=parents)


def test_a_cycle_beside_a_root_is_rejected_with_a_name():
    parents = {"a": None, "b": "a", "c": "d", "d": "c"}
    with pytest.raises(ValueError, match=r"^parents: the path from 'c' to the root .* must not contain a cycle"):
        dpm.Release({"a": 3}, mechanism=LAPLACE, parents=parents)


def test_a_name_may_be_repeated_only_in_a_tree_without_queries():
    parents = {"a": None, "b": "a"}
    release = {"values": [4, 5, 3], "names": ["a", "a", "b"], "mechanism": LAPLACE}
    assert dpm.Release(**release, parents=parents).names == ("a", "a", "b")
    for more in ({}, {"parents": parents, "queries": {}}):
        with pytest.raises(ValueError, match="names must be distinct, got 'a' twice"):
            dpm.Release(**release, **more)
    with pytest.raises(ValueError, match="names must not be empty, got ''"):
        dpm.Release([4, 5, 3], names=["a", "a", ""], mechanism=LAPLACE, parents=parents)


def test_a_table_of_queries_must_have_names():
    table = pd.DataFrame([[1, 2]], index=["n"], columns=["u", 7])
    release = dpm.Release(table, mechanism=LAPLACE, queries={"u": ["v", "w"]})
    assert release.labels == (["n"], ["u", "7"])
    assert release.queries == {"u": ["v", "w"]}
    assert dpm.Release([1, 2], mechanism=LAPLACE, queries={"1": ["v", "w"]}).labels is None
    with pytest.raises(ValueError, match=r"if queries are given, .* got an array of shape \(1, 2\)"):
        dpm.Release([[1, 2]], mechanism=LAPLACE, queries={"u": ["v", "w"]})


def test_facts_of_a_published_release_are_those_of_its_record():
    """Public settings are kept, and other entries of a record are not."""
    kept = ["release", "generation", "source", "mechanism", "law", "scale", "cost", "neighbours", "ceiling"]
    record = {name: name.upper() for name in [*kept, "budget_sources", "other"]}
    assert reading._facts(SimpleNamespace(record=record)) == {k: v for k, v in record.items() if k != "other"}


def test_scales_of_statistics_are_ordered_by_name():
    assert reading._ordered({"high": 4, "mean": 1, "low": 3, "sse": 2}) == (1.0, 2.0, 3.0, 4.0)
    for stated in (3.0, {"mean": 1}, {"mean": 1, "sse": 2, "low": 3, "high": 4, "more": 5}):
        with pytest.raises(ValueError, match="must contain a number for each of mean, sse, low, high"):
            reading._ordered(stated)


def test_parents_of_a_csv_must_agree(tmp_path):
    file = tmp_path / "counts.csv"
    file.write_text("name,value,parent\nall,4,\na,3,all\na,5,all\nb,,all\n")
    found = dpm.read(file, mechanism=LAPLACE)
    assert found.parents == {"all": None, "a": "all", "b": "all"}
    assert found.names == ("all", "a", "a", "b")
    assert found.values.tolist() == pytest.approx([4, 3, 5, np.nan], nan_ok=True)
    file.write_text("name,value,parent\nall,4,\na,3,all\na,5,\n")
    with pytest.raises(ValueError, match=r"line 4.*parent.*must be the same in all rows with this name"):
        dpm.read(file, mechanism=LAPLACE)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"total": 3}, "total"),
        ({"withheld": {"*": 3}}, "withheld"),
        ({"missing": [".."]}, "missing"),
        ({"mechanism": LAPLACE, "missing": [".."], "total": 3}, "mechanism, total, missing"),
    ],
)
def test_settings_of_a_folder_are_in_its_record(tmp_path, options, named):
    with pytest.raises(ValueError, match=rf"^{named} must be omitted, because .*record.json already contains"):
        dpm.read(tmp_path, **options)
