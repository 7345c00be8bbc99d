"""Tests of figures of scenarios: the helper for intervals, integer ticks for counts, names in unsupported scripts.

Also: rows and facts of an answer, files of results, and numbers on a page.
"""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dpmultinomial as dpm
from dpmultinomial._accuracy import EXACT, Accuracy
from dpmultinomial._results.distributions import Discrete
from reproduction import kind, style
from reproduction.config import scenario_settings
from reproduction.scenarios import figure, making, page, planning, sentences, standard, summary
from reproduction.scenarios.case import COLUMNS, Case
from reproduction.scenarios.noisy_counts import answer, without_prior
from reproduction.verdicts import artists

LINEAR_B = "\N{LINEAR B SYLLABLE B008 A}"  # a letter that no text font of an ordinary machine has
NUMBERS = {"released": np.nan, "sd": 1.0, "level": 0.9, "status": "exact", "error": 0.0}


def rows(*found, **more):
    frame = pd.DataFrame(
        [{**NUMBERS, "quantity": q, "type": t, "mean": m, "lower": low, "upper": high} for q, t, low, m, high in found]
    )
    return frame[list(COLUMNS)].assign(**more)


def facts(of="noisy_counts", points=({},)):
    return {"kind": of, "points": [{"at": dict(at)} for at in points], "settings": {"level": 0.9}}


def texts(found):
    return [text.get_text() for text in found.findobj(lambda artist: hasattr(artist, "get_text"))]


def test_an_interval_the_wrong_way_round_is_refused_by_the_style():
    good = rows(("a", "count", 1, 2, 3))
    assert any(str(line.get_gid()).startswith("interval-") for line in figure.of_case(good, facts()).axes[0].lines)
    with pytest.raises(ValueError, match="low must be <= high"):
        figure.of_case(rows(("a", "count", 3, 2, 1)), facts())
    points = [{"epsilon": 0.1}, {"epsilon": 0.5}]
    grid = pd.concat([rows(("a", "count", 3, 2, 1)).assign(**at) for at in points])
    with pytest.raises(ValueError, match="low must be <= high"):
        figure.of_grid(grid, facts(points=points))
    told = facts() | {"tables": {"all": 1, "refused": 0}}
    with pytest.raises(ValueError, match="low must be <= high"):
        figure.of_batch([rows(("a", "count", 3, 2, 1))], told)


@pytest.mark.parametrize(("of", "word"), [("swapped_table", "after the swap"), ("noisy_counts", "released")])
def test_what_was_released_has_its_own_word(of, word):
    found = figure.of_case(rows(("a", "count", 1, 2, 3), released=2.0), facts(of))
    assert word in texts(found)
    assert len({"after the swap", "released"} & set(texts(found))) == 1


@pytest.mark.parametrize("form", ["case", "grid", "batch"])
def test_counts_have_whole_ticks(form):
    one = rows(("a", "count", 2, 4.2, 7), ("b", "count", 3, 5.1, 8))
    points = [{"epsilon": 0.1}, {"epsilon": 0.5}]
    with style.applied():
        if form == "case":
            found = figure.of_case(one, facts())
        elif form == "grid":
            found = figure.of_grid(pd.concat([one.assign(**at) for at in points]), facts(points=points))
        else:
            found = figure.of_batch([one], facts() | {"tables": {"all": 2, "refused": 0}})
        found.canvas.draw()
    for axis in (a for a in found.axes if a.axison):
        ticks = axis.get_xticks() if form == "case" else axis.get_yticks()
        assert len(ticks) >= 2
        assert np.all(ticks == np.round(ticks)), ticks


def made(folder, name):
    written = {"kind": "noisy_counts", "counts": {name: 12.0, "met": 9.0}, "noise": {"law": "gaussian", "sd": 2.0}}
    files = making.files("mine", folder)
    making.part(scenario_settings.single("mine", written, kind.discover()), files, root_seed=1)
    return files


def test_a_name_that_no_font_draws_is_numbered_and_said(tmp_path):
    assert style.unwritable(LINEAR_B)
    found = figure.drawn(made(tmp_path, LINEAR_B))
    assert {"quantity 1", "met"} <= set(texts(found))
    assert LINEAR_B not in "".join(texts(found))
    assert "No font of this machine can draw one name" in found.get_suptitle()
    figure.save(making.files("mine", tmp_path), tmp_path / "mine.png", tmp_path / "mine.pdf")  # no glyph is missing
    page.write(making.files("mine", tmp_path), tmp_path / "mine.html")
    own = (tmp_path / "mine.html").read_text(encoding="utf-8")
    assert LINEAR_B in own[own.index("<svg") : own.index("</svg>")]  # the reader's fonts write it
    assert "No font of this machine" not in own


def test_a_name_that_some_font_draws_stands_as_it_is_in_that_font(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(style, "unwritable", lambda _: False)
    monkeypatch.setattr(style, "families", lambda found=(): asked.append(set(found)) or [style.FIRST])
    found = figure.drawn(made(tmp_path, "ж名"))
    assert "ж名" in texts(found)
    assert "font" not in found.get_suptitle()
    monkeypatch.setattr(style, "save", lambda *_: None)
    figure.save(making.files("mine", tmp_path), "x.png", "x.pdf")
    assert {"ж名", "met"} in asked


@pytest.mark.parametrize("name", ["مرحبا", "שלום"])
def test_names_from_right_to_left_are_in_the_figure_or_numbered(tmp_path, name):
    found = figure.drawn(made(tmp_path, name))
    assert (name in texts(found)) != ("quantity 1" in texts(found))


def case(**kinds):
    """A made-up table of a case or of a grid: name -> type."""
    keys = {"quantity": [name for names in kinds.values() for name in names]}
    table = artists.crossed("mean", "reach", "released", **keys)
    table["type"] = [kind for kind, names in kinds.items() for _ in names]
    table = table.assign(lower=table["mean"] - table["reach"], upper=table["mean"] + 2 * table["reach"])
    return table.assign(level=0.95, status="exact")


def test_a_case_shows_each_interval_with_its_mean_and_its_released_count():
    table = case(count=["a", "b"], parameter=["mu", "sigma2"])
    counts, *parameters = figure.of_case(table, {"kind": "noisy_counts"}).axes
    rows = table[table["type"] == "count"]
    expected = [
        artists.line(rows["mean"], [0, 1], style.BLUE, kind="marks"),
        artists.bars([0, 1], rows["lower"], rows["upper"], horizontal=True, colour=style.BLUE),
        artists.line(rows["released"], [0, 1], style.RED, kind="marks"),
    ]
    assert not artists.wrong(counts, *expected)
    assert [axis.get_xlabel() for axis in parameters] == ["mu", "sigma2"]  # each has a unit, and an axis
    for axis, name in zip(parameters, ("mu", "sigma2"), strict=True):
        row = table[table["quantity"] == name]
        mark = artists.line(row["mean"], [0], style.BLUE, kind="marks")
        bar = artists.bars([0], row["lower"], row["upper"], horizontal=True, colour=style.BLUE)
        assert not artists.wrong(axis, mark, bar)


def test_of_many_counts_the_thirty_largest_are_shown_in_decreasing_order():
    names = [f"c{i}" for i in range(70)]
    means = 7.0 * (11 * np.arange(70) % 70)
    table = case(count=names).assign(mean=means, lower=means - 1, upper=means + 2)
    (axis,) = figure.of_case(table, {"kind": "noisy_counts"}).axes
    left_out = figure.of_case(table, facts() | {"points": [{"rows_left_out": 9}]}).get_suptitle()
    assert left_out.endswith("; the 30 largest of 70 in the CSV file")
    order = np.argsort(-means)[:30]
    assert [label.get_text() for label in axis.get_yticklabels()] == [names[i] for i in order]
    rows, place = table[table["mean"] >= means[order].min()], np.argsort(order)
    y = [place[np.flatnonzero(np.sort(order) == i)[0]] for i in np.sort(order)]
    assert not artists.wrong(
        axis,
        artists.line(rows["mean"], y, style.BLUE, kind="marks"),
        artists.bars(y, rows["lower"], rows["upper"], horizontal=True, colour=style.BLUE),
        artists.line(rows["released"], y, style.RED, kind="marks"),
    )


def test_shares_and_rates_are_drawn_in_per_cent_side_by_side():
    table = case(share=["a", "b"], rate=["c"]).assign(quantity=["a", "b", "a"])
    (axis,) = figure.of_case(table, {"kind": "noisy_shares"}).axes
    expected = []
    for what, y, colour in (("share", [-0.15, 0.85], style.BLUE), ("rate", [0.15], style.ORANGE)):
        rows = 100 * table.loc[table["type"] == what, ["mean", "lower", "upper"]]
        expected.append(artists.line(rows["mean"], y, colour, kind="marks"))
        expected.append(artists.bars(y, rows["lower"], rows["upper"], horizontal=True, colour=colour))
    released = 100 * table.loc[table["type"] == "share", "released"]
    expected.append(artists.line(released, [-0.15, 0.85], style.RED, kind="marks"))
    assert not artists.wrong(axis, *expected)


def test_a_grid_shows_each_quantity_against_its_key_and_parameters_on_their_own_axes():
    parts = [
        case(count=["1", "total"], parameter=["log odds"]).assign(epsilon=e, rate=r) for e in (0.5, 1.0) for r in (1, 2)
    ]
    table = pd.concat([part.assign(mean=part["mean"] + 0.01 * n) for n, part in enumerate(parts)], ignore_index=True)
    facts = {"kind": "swapped_table", "points": [{"at": {"epsilon": 0.5, "rate": 1}}]}
    axes = figure.of_grid(table, facts).axes
    assert [axis.get_title() for axis in axes] == ["true count 1", "total", "log odds"]
    assert [axis.get_ylabel() for axis in axes] == ["true count", "", "log odds"]
    for axis, name in zip(axes, ("1", "total", "log odds"), strict=True):
        expected = []
        for rate, colour, aside in ((1, style.CYCLE[0], -0.06), (2, style.CYCLE[1], 0.06)):
            rows = table[(table["quantity"] == name) & (table["rate"] == rate)]
            x = np.arange(2) + aside
            expected.append(artists.line(x, rows["mean"], colour, kind="marks"))
            expected.append(artists.bars(x, rows["lower"], rows["upper"], colour=colour))
        assert not artists.wrong(axis, *expected, own="y")


def test_names_without_letters_have_a_noun_in_the_titles_of_a_grid():
    table = pd.concat([case(share=["1/1", "2/1", "men/2"]).assign(rate=r) for r in (0.1, 0.2)], ignore_index=True)
    drawn = figure.of_grid(table, {"kind": "swapped_table", "points": [{"at": {"rate": 0.1}}]})
    assert [axis.get_title() for axis in drawn.axes] == ["true share 1/1", "true share 2/1", "men/2"]


@pytest.mark.parametrize(("size", "panels", "rest"), [(1, 1, ""), (4, 6, ""), (8, 6, "; more quantities are")])
def test_a_grid_has_up_to_six_panels(size, panels, rest):
    names = [f"n{i}" for i in range(size)]
    table = pd.concat([case(count=names).assign(epsilon=e) for e in (0.5, 1.0)], ignore_index=True)
    drawn = figure.of_grid(table, {"kind": "noisy_counts", "points": [{"at": {"epsilon": 0.5}}]})
    assert [axis.axison for axis in drawn.axes] == [True] * min(size, 6) + [False] * (panels - min(size, 6))
    assert [axis.get_title() for axis in drawn.axes] == names[:6] + [""] * (panels - min(size, 6))
    assert rest in drawn.get_suptitle()


def test_a_batch_shows_ranked_intervals_and_the_distribution_of_their_widths():
    ends = {5: (4, 6), 2: (1, 5), 9: (0, 13)}  # mean -> interval; the order of the means is not that of the lower ends
    parts = [case(count=["a"]).assign(mean=mean, lower=low, upper=high) for mean, (low, high) in ends.items()]
    table = pd.concat(parts, ignore_index=True)
    table["status"] = ["exact", "not converged", "exact"]
    facts = {"tables": {"all": 3, "refused": 0}, "settings": {"level": 0.95}}
    ranked, widths = figure.of_batch([table], facts).axes
    expected = []
    for x, means, colour in (([2, 3], [5, 9], style.SKY), ([1], [2], style.GREY)):
        expected.append(artists.line(x, means, colour, kind="marks"))
        expected.append(artists.bars(x, *zip(*(ends[mean] for mean in means), strict=True), colour=colour))
    assert not artists.wrong(ranked, *expected)
    heights, edges = np.histogram([2, 4, 13], bins=40)
    full = heights > 0
    assert not artists.wrong(widths, artists.boxes(edges[:-1][full], 0, np.diff(edges)[full], heights[full], style.SKY))


def numbers(means, kind="count", names=None, reach=1.0):
    """Return a table of quantities with given means, each with an interval of mean - reach to mean + 2 reach."""
    found = [f"c{i}" for i in range(len(means))] if names is None else names
    made = [(name, kind, mean - reach, mean, mean + 2 * reach) for name, mean in zip(found, means, strict=True)]
    return rows(*made)


@pytest.mark.parametrize(("size", "text"), [(28, "a" * 28), (29, "a" * 27 + "…"), (40, "a" * 27 + "…")])
def test_a_name_has_at_most_28_characters(size, text):
    assert figure.shortened("a" * size) == text


@pytest.mark.parametrize(
    ("size", "height"), [(1, 1.7), (2, 1.7), (3, 0.5 + 3 * 0.2 + 0.6), (10, 0.5 + 10 * 0.2 + 0.5), (60, 0.5 + 12 + 0.5)]
)
def test_a_figure_is_as_high_as_its_names(size, height):
    """A panel has 0.5 inches and 0.2 per name, at least 1.2 in all; 0.5 inches are for the title."""
    height = max(height, 1.7)
    assert figure.of_case(numbers(np.arange(size)), facts()).get_size_inches() == pytest.approx([5.25, height])


def test_two_types_of_a_quantity_and_a_covariate_need_more_height():
    table = pd.concat([numbers(np.arange(10) / 20, kind, reach=0.001) for kind in ("share", "rate")])
    assert figure.of_case(table, facts()).get_size_inches()[1] == pytest.approx(0.5 + 0.2 * 10 * 1.35 + 0.5)
    told = facts()
    told["points"][0] |= {"rate_unit": "per 9", "covariates": {"x": {f"c{i}": i for i in range(10)}}}
    assert figure.of_case(numbers(np.arange(10.0), "rate"), told).get_size_inches()[1] == pytest.approx(2.5 + 1.8 + 0.5)


def test_a_case_without_intervals_says_so():
    found = figure.of_case(rows(("a", "count", np.nan, np.nan, np.nan)), facts())
    assert not found.axes
    (text,) = found.texts
    assert (text.get_text(), text.get_position()) == ("no interval is drawn; see the table", (0.5, 0.5))


@pytest.mark.parametrize(("status", "colour"), [("exact", style.BLACK), ("not converged", style.RED)])
def test_a_title_states_the_level_and_the_statuses_and_is_red_if_a_chain_did_not_converge(status, colour):
    table = numbers([1.0, 2.0])
    table["status"] = ["converged", status]
    points = [{"epsilon": 0.1}, {"epsilon": 0.5}]
    grid = pd.concat([table.assign(**at) for at in points])
    asked = numbers([1.0], "question").assign(status="approximate")  # answers are not drawn
    for found, title in (
        (figure.of_case(pd.concat([table, asked]), facts()), "means and 90 % intervals (converged, {})"),
        (figure.of_grid(grid, facts(points=points)), "mean and 90 % interval (converged, {})"),
    ):
        assert found.get_suptitle() == title.format(status)
        assert found._suptitle.get_color() == colour


@pytest.mark.parametrize(("size", "panels"), [(1, 1), (4, 4), (5, 1)])
def test_up_to_four_parameters_have_panels_of_their_own(size, panels):
    found = figure.of_case(numbers(np.arange(size), "parameter"), facts())
    assert len(found.axes) == panels
    wanted = [f"c{i}" for i in range(size)] if panels == size else ["value of the parameter"]
    assert [axis.get_xlabel() for axis in found.axes] == wanted
    assert [len(axis.get_yticks()) for axis in found.axes] == ([0] * size if panels == size else [size])
    assert not any(axis.get_legend() for axis in found.axes)


def test_a_slope_is_compared_with_zero():
    found = figure.of_case(numbers([0.1, 0.2], "parameter", ["slope of x", "mu"]), facts())
    lines = [[line.get_xdata() for line in axis.lines if line.get_linestyle() == "--"] for axis in found.axes]
    assert [[list(x) for x in each] for each in lines] == [[[0, 0]], []]


@pytest.mark.parametrize(
    ("kinds", "label", "factor"),
    [
        (["count"], "true count", 1),
        (["share"], "true share, in per cent", 100),
        (["rate"], "underlying rate, in per cent", 100),
        (["share", "rate"], "true share and underlying rate, in per cent", 100),
    ],
)
def test_the_axis_of_a_panel_names_its_quantities_and_their_unit(kinds, label, factor):
    table = pd.concat([numbers([0.1, 0.4], kind, reach=0.01) for kind in kinds])
    (axis,) = figure.of_case(table, facts()).axes
    assert axis.get_xlabel() == label
    assert axis.get_ylim() == (1.6, -0.6)
    assert axis.lines[0].get_xdata() == pytest.approx([0.1 * factor, 0.4 * factor])
    assert [line.get_marker() for line in axis.lines] == list(style.MARKERS[: len(kinds)])
    assert (axis.get_legend() is not None) == (len(kinds) > 1)


def test_counts_on_an_axis_have_separators_of_thousands():
    (axis,) = figure.of_case(numbers([1000.0, 20000.0]), facts()).axes
    assert axis.xaxis.get_major_formatter()(12345.0) == "12,345"
    (axis,) = figure.of_case(numbers([0.1, 0.2], "share", reach=0.01), facts()).axes
    assert type(axis.xaxis.get_major_formatter()).__name__ == "ScalarFormatter"


@pytest.mark.parametrize(("size", "ranked", "shown"), [(60, False, 60), (61, False, 30), (60, True, 60), (5, True, 5)])
def test_names_of_a_panel_are_in_the_order_of_the_table_or_of_the_means(size, ranked, shown):
    means = 7.0 * np.arange(size) % (size + 0.5)
    order = np.argsort(-means) if ranked or size > 60 else np.arange(size)
    assert figure._names(numbers(means), ranked) == [f"c{i}" for i in order[:shown]]


@pytest.mark.parametrize(
    ("smallest", "largest", "scale"),
    [(2.0, 100.0, "linear"), (2.0, 101.0, "asinh"), (0.1, 50.0, "linear"), (0.1, 51.0, "asinh")],
)
def test_counts_of_very_different_size_are_on_a_logarithmic_axis(smallest, largest, scale):
    """More than a factor of 50 between the shown counts, of which the smallest counts as 1 or more."""
    means = [largest, *[smallest] * 29, *[smallest / 2] * 31]
    (axis,) = figure.of_case(numbers(means, reach=0.01), facts()).axes
    assert axis.get_xscale() == scale
    (axis,) = figure.of_case(numbers(means[:60], reach=0.01), facts()).axes
    assert axis.get_xscale() == "linear"  # all counts are shown


def test_rates_per_unit_are_ranked_beside_the_naive_rates():
    told = facts("protected_rates")
    told["points"][0] |= {"rate_unit": "per 1,000 births", "naive_rates": {"c0": 2.5, "c2": 4.0}}
    (axis,) = figure.of_case(numbers([3.0, 9.0, 5.0], "rate"), told).axes
    assert [text.get_text() for text in axis.get_yticklabels()] == ["c1", "c2", "c0"]
    assert axis.get_xlabel() == "underlying rate, per 1,000 births"
    x, y = axis.lines[-1].get_data()
    np.testing.assert_array_equal(x, [np.nan, 4.0, 2.5])
    assert list(y) == [0, 1, 2]
    assert axis.lines[0].get_xdata().tolist() == [3.0, 9.0, 5.0]  # not in per cent
    assert axis.lines[-1].get_label() == "naive rate"


@pytest.mark.parametrize(("size", "look"), [(30, (3.0, 0.8)), (31, (2.0, 0.4))])
def test_rates_are_drawn_against_up_to_three_covariates(size, look):
    covariates = {name: {f"c{i}": float(k * i) for i in range(size)} for k, name in enumerate("wxyz", 1)}
    told = facts("protected_rates")
    told["points"][0] |= {"rate_unit": "per 9", "covariates": covariates, "naive_rates": {"c1": 2.5}}
    _, *against = figure.of_case(numbers(np.arange(size, dtype=float), "rate"), told).axes
    assert [axis.get_xlabel() for axis in against] == ["w", "x", "y"]
    for k, axis in enumerate(against, 1):
        assert axis.get_ylabel() == "underlying rate\nper 9"
        marks, naive = axis.lines
        assert marks.get_xdata().tolist() == [k * i for i in range(size)]
        assert marks.get_ydata().tolist() == list(range(size))
        assert (marks.get_marker(), marks.get_label()) == ("o", "underlying rate")
        assert np.flatnonzero(np.isfinite(naive.get_ydata())).tolist() == [1]
        assert (naive.get_ydata()[1], naive.get_xdata()[1]) == (2.5, k)
        assert (naive.get_markersize(), naive.get_markeredgewidth()) == look
    (_,) = figure.of_case(numbers(np.arange(3.0)), told).axes  # counts are not drawn against covariates


def grid(table, values):
    """Return a table with a block of rows for every value of epsilon, and the facts of the grid."""
    parts = [table.assign(epsilon=value) for value in values]
    return pd.concat(parts, ignore_index=True), facts(points=[{"epsilon": value} for value in values])


@pytest.mark.parametrize(("size", "step"), [(2, 1), (8, 1), (9, 2), (16, 2), (17, 3)])
def test_a_grid_has_at_most_eight_ticks(size, step):
    drawn = figure.of_grid(*grid(numbers([5.0]), [0.25 * (i + 1) for i in range(size)]))
    (axis,) = (axis for axis in drawn.axes if axis.axison)
    assert axis.get_xticks().tolist() == list(range(0, size, step))
    assert [text.get_text() for text in axis.get_xticklabels()] == [f"{0.25 * (i + 1):g}" for i in range(0, size, step)]
    assert axis.get_xlim() == (-0.5, size - 0.5)
    assert axis.get_xlabel() == "epsilon"
    assert not drawn.legends


def test_the_further_keys_of_a_grid_are_in_a_legend():
    table, told = grid(numbers([5.0]), [0.5, 1.0])
    points = [{"at": {"epsilon": e, "total": t, "rate": 0.25}} for e in (0.5, 1.0) for t in (9, 10)]
    table = pd.concat([table.assign(total=t, rate=0.25) for t in (9, 10)], ignore_index=True)
    drawn = figure.of_grid(table, told | {"points": points})
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["total 9, rate 0.25", "total 10, rate 0.25"]
    assert [line.get_marker() for line in drawn.axes[0].lines] == ["o", "s"]


def test_two_parameters_of_a_grid_replace_its_last_quantities():
    table = pd.concat([numbers(np.arange(8.0)), numbers([1.0, 2.0, 3.0], "parameter", ["p", "q", "r"])])
    drawn = figure.of_grid(*grid(table, [0.5, 1.0]))
    assert [axis.get_title() for axis in drawn.axes] == ["c0", "c1", "c2", "c3", "p", "q"]
    assert [axis.get_ylabel() for axis in drawn.axes] == ["true count", "", "", "", "p", "q"]
    assert drawn.get_suptitle().endswith("; more quantities are in the table")


def test_a_grid_shows_shares_before_counts_and_selected_names_before_all():
    table = pd.concat([numbers([1.0, 2.0]), numbers([0.1, 0.2, 0.3], "share", ["a", "b", "a of ab"], reach=0.01)])
    drawn = figure.of_grid(*grid(table, [0.5, 1.0]))
    assert [axis.get_title() for axis in drawn.axes] == ["a", "b", "a of ab"]
    assert drawn.axes[0].get_ylabel() == "true share"
    found, told = grid(table, [0.5, 1.0])
    told["points"][0]["among_labels"] = {"a of ab": "a"}
    assert [axis.get_title() for axis in figure.of_grid(found, told).axes] == ["a of ab"]


@pytest.mark.parametrize(("size", "height"), [(3, 2.8), (4, 4.9), (6, 4.9)])
def test_a_grid_has_three_panels_in_a_line(size, height):
    """A line has 2.1 inches; 0.7 inches are for the title and the legend."""
    drawn = figure.of_grid(*grid(numbers(np.arange(float(size))), [0.5, 1.0]))
    assert drawn.get_size_inches() == pytest.approx([7.0, height])
    assert len({round(axis.get_position().x0, 3) for axis in drawn.axes}) == 3


@pytest.mark.parametrize(("names", "axes", "height"), [(1, 2, 2.6), (2, 4, 4.6), (3, 4, 4.6), (4, 4, 4.6)])
def test_a_batch_shows_up_to_three_quantities_and_the_widths(names, axes, height):
    """The most frequent ones are first; the last panel that is used shows the widths."""
    parts = [numbers([float(i)], names=[name]) for i, name in enumerate("aabacabcd") if name < "abcde"[names]]
    parts.append(numbers([0.5], "share", ["a"], reach=0.1))  # counts are shown before shares
    told = facts() | {"tables": {"all": 1234, "refused": 0}}
    drawn = figure.of_batch(parts, told)
    shown = sorted("abcd"[:names], key=lambda name: -"aabacabcd".count(name))[:3]
    titles = [*shown, "all quantities of this type"] + [""] * (axes - len(shown) - 1)
    assert [axis.get_title() for axis in drawn.axes] == titles
    assert [axis.axison for axis in drawn.axes] == [title != "" for title in titles]
    assert drawn.get_size_inches()[1] == pytest.approx(height)
    assert drawn.get_suptitle() == "tables: 1,234, with rejected rows: 0; 90 % intervals"
    assert drawn._suptitle.get_color() == style.BLACK
    assert drawn.axes[0].get_xlabel() == "tables in increasing order of the mean"
    assert drawn.axes[0].get_ylabel() == "true count"
    assert drawn.axes[len(shown)].get_xlabel() == "width of the interval (true count)"
    rejected = figure.of_batch(parts, told | {"tables": {"all": 1235, "refused": 1}})
    assert rejected._suptitle.get_color() == style.RED


@pytest.mark.parametrize(
    ("size", "title"), [(150, "a"), (151, "a (150 of 151 tables)"), (180, "a (150 of 180 tables)")]
)
def test_a_batch_shows_150_ranks(size, title):
    drawn = figure.of_batch([numbers([float(i)], names=["a"]) for i in range(size)], facts() | {
        "tables": {"all": size, "refused": 0}})  # fmt: skip
    axis = drawn.axes[0]
    x, y = axis.lines[0].get_data()
    assert axis.get_title() == title
    assert (len(x), x[0], x[-1]) == (min(size, 150), 1, size)
    assert (y == x - 1).all()  # the mean of rank r is r - 1


@pytest.mark.parametrize(("spread", "bins"), [(0.0, 1), (2.9e-9, 1), (1.0, 40)])
def test_equal_widths_are_one_bar(spread, bins):
    """Widths of 3 and 3 + spread differ by less than 1e-9 of their size, or not."""
    table = rows(("a", "count", 0.0, 1.0, 3.0), ("b", "count", 0.0, 1.0, 3.0 + spread))
    drawn = figure.of_batch([table], facts() | {"tables": {"all": 2, "refused": 0}})
    bars = drawn.axes[2].patches
    assert len(bars) == bins
    assert sum(bar.get_height() for bar in bars) == 2
    if bins == 1:
        assert (bars[0].get_x(), bars[0].get_x() + bars[0].get_width()) == pytest.approx((2.7, 3.3))


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.00"), (1.001, "1.01"), (2.718, "2.72"), (9.991, "10.00"), (10.01, "10.1"), (99.91, "100.0"),
     (100.1, "101"), (999.1, "1,000"), (1234.5, "1,235"), (12345678.1, "12,345,679")],
)  # fmt: skip
def test_a_bound_has_three_digits_and_is_rounded_upwards(value, text):
    assert page.rounded_up(value) == text


@pytest.mark.parametrize(("size", "packed"), [(60_000, False), (60_001, True)])
def test_a_table_of_more_than_60_000_bytes_is_compressed_in_a_page(tmp_path, monkeypatch, size, packed):
    files = made(tmp_path, "a")
    raw = files.csv.read_bytes()
    monkeypatch.setattr(page, "_svg", lambda files: "<svg></svg>")
    monkeypatch.setattr(page, "_PACKED", len(raw) - (size == 60_001))
    page.write(files, tmp_path / "x.html")
    assert ("application/gzip;base64" in (tmp_path / "x.html").read_text(encoding="utf-8")) == packed


def test_a_page_that_is_too_large_omits_the_table_or_is_rejected(tmp_path, monkeypatch):
    files = made(tmp_path, "a")
    monkeypatch.setattr(page, "_svg", lambda files: "<svg></svg>")
    page.write(files, tmp_path / "x.html")
    size = len((tmp_path / "x.html").read_bytes())
    monkeypatch.setattr(page, "LARGEST", size)
    page.write(files, tmp_path / "x.html")
    assert len((tmp_path / "x.html").read_bytes()) == size
    monkeypatch.setattr(page, "LARGEST", size - 1)
    page.write(files, tmp_path / "x.html")
    small = len((tmp_path / "x.html").read_bytes())
    assert small < size - 1
    monkeypatch.setattr(page, "LARGEST", small - 1)
    with pytest.raises(ValueError, match=f"the page must have at most {small - 1:,} bytes, got {small:,}"):
        page.write(files, tmp_path / "x.html")


ADD, REPLACE, EXCHANGE = "add or remove a record", "replace a record", "exchange within invariants"


@pytest.mark.parametrize(
    ("point", "told"),
    [
        ({"origin": "rehearsal", "cost": {"epsilon": 1}}, ["No data were protected: this is a rehearsal "]),
        ({}, ["The privacy cost of the published numbers is not stated."]),
        (
            {"noise": {"law": "exact"}},
            ["No noise was added to the counts, so there is no guarantee of differential privacy."],
        ),
        # a multiple of 5 is published unchanged, and of a count above it, the next multiple can be published
        (
            {"noise": {"law": "random_rounding", "base": 5}},
            ["Rounding at random changes a count by less than 5, so there is no guarantee of differential privacy."],
        ),
        (
            {"protects": {"epsilon_of_an_exchange": 1.23456}},
            ["An exchange of two records' swapped values is protected with epsilon = 1.23456.",
             "The margins of the table are published exactly and are not protected.",
             # exp(1.23456) = 3.4369 and 3.4369/4.4369 = 0.77462, rounded upwards
             "A reader who considers two files that differ by one step (exchange within invariants) equally likely can "
             "become at most 3.44 : 1 (77.5 %) sure of the true one."],
        ),
        # two records at rate 1/2 are exchanged with probability 1/2, whatever the file: the loss is 0
        (
            {"protects": {"epsilon_of_an_exchange": 0.0}},
            ["An exchange of two records' swapped values is protected with epsilon = 0.", "The margins of the table"],
        ),
        (
            {"protects": {"epsilon_of_an_exchange": 3.0}, "cost": {"epsilon": 6.0, "relation": EXCHANGE}},
            ["An exchange of two records' swapped values is protected with epsilon = 6.", "The margins of the table",
             "A reader who considers two files that differ by one step (exchange within invariants)"],
        ),
    ],
)  # fmt: skip
def test_what_was_protected_is_stated(point, told):
    found = page._protected(point, {})
    assert len(found) == len(told)
    assert all(text.startswith(words) for text, words in zip(found, told, strict=True))


@pytest.mark.parametrize(("epsilon", "weak"), [(5.0, False), (5.01, True)])
def test_a_large_epsilon_is_called_weak(epsilon, weak):
    found = page._protected({"cost": {"epsilon": epsilon}}, {})
    assert found[0] == f"Individual records were protected with epsilon = {epsilon:g}."
    assert found[1].endswith("Above epsilon = 5, this is a weak guarantee.") == weak
    assert "two files that differ by one step equally likely" in found[1]


def law_of(i, kind="count", status="exact"):
    state = EXACT if status == "exact" else Accuracy(status, 0.1, "draws")
    return Discrete([i, i + 2], [1, 1], name=f"q{i}", type=kind, accuracy=state)


@pytest.mark.parametrize(("size", "curves"), [(12, 12), (13, 0)])
def test_densities_of_up_to_twelve_quantities_of_a_type_are_computed(size, curves):
    found = standard.densities([*(law_of(i) for i in range(size)), law_of(99, "share")])
    assert found.loc[found["type"] == "count", "quantity"].nunique() == curves
    assert found.loc[found["type"] == "share", "density"].tolist() == [0.5, 0.5]
    assert standard.densities([]).empty


def test_the_rows_of_an_answer_have_their_numbers_and_statuses():
    assert standard.row(law_of(3), 0.9, 7.0) == ("q3", "count", 7.0, 4.0, 1.0, 3.0, 5.0, 0.9, "exact", 0.0)
    assert np.isnan(standard.row(law_of(3), 0.9)[2])
    unknown = Accuracy("approximate", float("nan"), "draws"), Accuracy("converged", float("nan"), "chains")
    states = [EXACT, Accuracy("approximate", 0.1, "draws"), EXACT, *unknown]
    assert standard.tally(states) == [
        {"status": "exact", "reason": EXACT.reason, "rows": 2},
        {"status": "approximate", "reason": "draws", "rows": 1},
        {"status": "approximate", "reason": "draws", "rows": 1, "unknown": True},
        {"status": "converged", "reason": "chains", "rows": 1},
    ]
    assert standard.tally([unknown[0]], standard.tally(states))[2] == {
        "status": "approximate", "reason": "draws", "rows": 2, "unknown": True
    }  # fmt: skip


@pytest.mark.parametrize(
    ("about", "groups"),
    [("counts", ["counts", "shares"]), ("rates", ["rates", "parameters"]),
     ("both", ["counts", "shares", "rates", "parameters"])],
)  # fmt: skip
def test_a_scenario_is_about_the_file_or_the_population(about, groups):
    every = SimpleNamespace(groups=("counts", "shares", "rates", "parameters"))
    assert standard.groups_of(every, about) == groups
    counts = dpm.posterior(dpm.Release([3, 4], mechanism=dpm.DiscreteLaplace(scale=1.0)), prior="flat")
    case_ = Case(name="x", settings={"level": 0.9}, rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="about must be one of counts for this release, got rates"):
        standard.answer(counts, case_, facts={}, released={}, about="rates")


@pytest.mark.parametrize("total", [2000, 2001])
def test_the_part_of_the_noise_among_some_names_is_computed_for_up_to_2000_records(total):
    release = dpm.Release(
        [total - 30, 20, 10], names=["a", "b", "c"], mechanism=dpm.DiscreteLaplace(scale=2.0), total=total
    )
    found = dpm.posterior(release)
    parts = standard.noise_part(found, ["b", "c"])
    assert set(parts) == {"a", "b", "c"} | ({"b among b, c", "c among b, c"} if total == 2000 else set())
    spread = found.counts["b"].variance() / (total + 1.5) ** 2  # Var(E[rate | counts]) under Dirichlet(1/2, ..)
    assert parts["b"] == pytest.approx(spread / found.rates["b"].variance(), rel=1e-9)


@pytest.mark.parametrize(("size", "whole"), [(4, False), (5, True)])
def test_a_long_table_is_also_written_as_parquet(tmp_path, monkeypatch, size, whole):
    """The CSV has all answers to questions and the first of the other rows."""
    monkeypatch.setattr(making, "MOST", 4)
    table = pd.DataFrame(
        {"quantity": list("abcde")[:size], "type": ["count", "question", "count", "question", "count"][:size]}
    )
    target = tmp_path / "x.parquet"
    target.write_bytes(b"of an earlier run")
    shown, name = making.saved(table, target)
    assert (name, target.exists()) == (("x.parquet" if whole else ""), whole)
    assert shown["quantity"].tolist() == (["b", "d", "a", "c"] if whole else list("abcd"))
    if whole:
        pd.testing.assert_frame_equal(pd.read_parquet(target), table, check_dtype=False)
        places = table.drop(columns="type")
        assert making.saved(places, target)[0]["quantity"].tolist() == list("abcd")


def test_a_table_of_places_has_names_of_quantities_with_the_place():
    table = pd.DataFrame({"geoid": ["50", "", ""], "geocode": ["g", "h", ""], "level": ["Block_Group", "County", ""],
                          "quantity": ["x", "y", "question"]})  # fmt: skip
    found = making.as_quantities(table, 0.9)
    assert found["quantity"].tolist() == ["x in block group 50", "y in county h", "question"]
    assert found["level"].tolist() == [0.9] * 3
    other = pd.DataFrame({"quantity": ["x"]})
    assert making.as_quantities(other, 0.9) is other


def test_facts_are_values_of_json():
    found = making.plain(
        {1: (np.float64(0.5), np.array([1, 2])), "x": [float("inf"), float("nan"), np.int64(3)], "y": None}
    )
    assert found == {"1": [0.5, [1, 2]], "x": ["inf", "nan", 3], "y": None}
    assert [type(value) for value in (found["1"][0], found["x"][2])] == [float, int]


def test_a_page_names_the_sources_with_the_same_people():
    """The budget of the settings, or that in the record of the release."""
    point = {"cost": {"epsilon": 1.0, "relation": "replace a record"}, "source": "s", "ceiling": {"epsilon": 4.0}}
    told = page._protected({**point, "budget_sources": ["s", "t"]}, {})
    assert told[-1] == "The budget covers the releases from the sources s, t, which have the same people."
    assert page._protected(point, {})[-1] == "The budget covers the releases from s only."
    assert "The budget covers" not in page._protected({**point, "ceiling": {}}, {})[-1]


@pytest.mark.parametrize(
    ("level", "text"),
    [(0.95, "95 %"), (0.9545, "95.45 %"), (0.57, "57 %"), (0.9999, "99.99 %"), (0.99999999, "99.999999 %")],
)
def test_the_level_of_an_interval_is_not_rounded(level, text):
    """At a level of 95.45 %, 'at least 95.5 %' would be false, and so would 100 % at any level."""
    numbers = {"released": 5.0, "mean": 4.4, "sd": 2.0, "lower": 1.0, "upper": 9.0}
    row = SimpleNamespace(quantity="a", type="count", status="exact", level=level, **numbers)
    facts = {"kind": "noisy_counts", "settings": {"questions": {"s": {"sum": ["a", "b"]}}}}
    assert f"is between 1 and 9 with probability at least {text}; the" in sentences.sentence(row, facts, {})
    asked = SimpleNamespace(**{**vars(row), "quantity": "s", "type": "question"})
    assert sentences.sentence(asked, facts, {}).endswith(f"is between 1 and 9 with probability at least {text}.")
    wanted = {"want": {"interval": "a", "narrower": 0.0125}, "level": level, "of": "shares", "sensitivity": 2.0}
    found = SimpleNamespace(epsilon=1.0, frequency=0.9, wrong=0.0, standard_error=0.01, releases=100)
    goal = f"the {text} interval of the true share of a is narrower than 1.25 percentage points and"
    assert goal in planning.sentence(found, wanted)


def test_the_mean_of_a_difference_of_equal_counts_has_no_sign():
    means = [sentences.count_mean(value, 8.0) for value in (-1e-17, -0.0004, -0.04, -0.06, 0.0)]
    assert means == ["0", "more than -0.001", "-0.04", "-0.1", "0"]


def test_the_part_of_the_noise_names_the_group_of_the_rate():
    label = "a among a, b"
    point = {"noise": {"law": "laplace"}, "noise_part_of_rate_variance": {"a": 0.2, label: 0.7}}
    alone, among = (
        sentences.noise_part(point),
        sentences.noise_part(point | {"among": ["a", "b"], "among_labels": {label: "a"}}),
    )
    assert "20 % of the posterior variance of the underlying rate of a; the rest" in alone
    assert "70 % of the posterior variance of the underlying rate of a among a and b; the rest" in among


@pytest.mark.parametrize("size", [2, 3])
def test_the_number_of_other_counts_with_different_intervals_has_its_plural(size):
    released = dpm.Release([-40.0] * size, names=list("abc")[:size], mechanism=dpm.Laplace(scale=2.0))
    rows = dpm.posterior(released).summary(0.95).assign(released=-40.0)
    rows = rows.assign(lower=20.0, upper=30.0)  # far from the confidence interval, which contains only 0
    text = without_prior.differing(rows[rows["type"] == "count"], released, 0.95)
    assert f", also for {size - 1} more count{'s' if size == 3 else ''}: intervals made" in text


THREE = {"name": ["s", "s", "n", "w", "x", "y", "z"], "parent": ["", "", "s", "s", "n", "n", "w"],
         "value": ["9", "8", "5", "", "2", "3", "4"]}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "columns", "expected"),
    [  # the scale is sensitivity/epsilon, and sigma^2 = sensitivity^2/(2 rho); each changed measurement costs 1/scale
        ({"epsilon": 1.0}, None, {"epsilon": 1.0, "relation": "replace a record"}),
        # x and z: n and x decrease, z increases, w was not measured; x and y would change two measurements
        ({"epsilon": 1.0}, THREE, {"epsilon": 1.5, "relation": "replace a record"}),
        ({"noise": {"rho": 0.5}}, THREE, {"rho": 0.75, "relation": "replace a record"}),
        # the root twice, n, and x
        ({"epsilon": 1.0, "sensitivity": 1}, THREE, {"epsilon": 4.0, "relation": "add or remove a record"}),
        ({"noise": {"rho": 0.5, "sensitivity": 1}}, THREE, {"rho": 2.0, "relation": "add or remove a record"}),
        ({"noise": {"epsilon": 1.0, "relation": ADD}}, THREE, {"epsilon": 4.0, "relation": ADD}),
        ({"noise": {"rho": 1.0, "relation": ADD}}, None, {"rho": 1.0, "relation": ADD}),
        ({"epsilon": 1.0, "sensitivity": 1}, None, {"epsilon": 1.0, "relation": ADD, "sensitivity": 1}),
        ({"epsilon": 1.0, "sensitivity": 6}, THREE, {"epsilon": 1.0, "sensitivity": 6}),
        # with a public total, only a record that is replaced is protected; it changes two counts by 1
        ({"epsilon": 1.0, "sensitivity": 1, "total": 9}, None, {"epsilon": 2.0, "relation": "replace a record"}),
        ({"noise": {"rho": 0.5, "sensitivity": 1}, "total": 9}, None, {"rho": 1.0, "relation": "replace a record"}),
        ({"epsilon": 1.0, "sensitivity": 1, "total": 9}, THREE, {"epsilon": 3.0, "relation": "replace a record"}),
        ({"noise": {"epsilon": 1.0, "relation": ADD}, "total": 9}, None, {"epsilon": 2.0, "relation": REPLACE}),
        ({"noise": {"rho": 0.5, "relation": ADD}, "total": 9}, None, {"rho": 1.0, "relation": REPLACE}),
        ({"epsilon": 1.0, "total": 9}, None, {"epsilon": 1.0, "relation": "replace a record"}),
        ({"epsilon": 1.0}, {"name": ["s", "n"], "parent": ["", "s"], "value": ["3", "4"]}, {}),
        ({"noise": {"scale": 2.0}}, THREE, {}),
    ],
)
def test_the_cost_of_a_tree_is_that_of_all_its_levels(settings, columns, expected):
    cost = answer.spent_of(settings, columns)
    assert cost == expected
    # replacing x by z changes three measurements of THREE by 1, of four that adding x changes; a pair of disjoint
    # counts changes by 1 each, and the rho of independent noise is a sum over the counts
    factor = 0.75 if columns else 2.0
    replaced = {unit: factor * cost[unit] for unit in ("epsilon", "rho") if unit in cost}
    assert answer.replaced_of(cost, settings, columns) == (replaced if cost.get("relation") == ADD else {})


def test_a_rehearsal_states_the_cost_of_such_a_release():
    """A rehearsal is not a release, and its noise protects nobody."""
    point = {"cost": {"epsilon": 1.0, "relation": "replace a record"}}
    assert sentences.cost_text(point).startswith("Privacy cost of the release: epsilon = 1 (")
    assert sentences.cost_text({**point, "origin": "rehearsal"}).startswith("Privacy cost of such a release: epsilon")
    stated = sentences.cost_text({"cost": {"epsilon": 1.0, "sensitivity": 3}})  # of no known neighbouring relation
    assert stated == "Privacy cost of the release: epsilon = 1 for a change of the counts by the stated sensitivity, 3."
    stated = sentences.cost_text({"cost": {"epsilon": 1.0, "sensitivity": 1, "relation": ADD}})
    assert stated.endswith(f": epsilon = 1 (neighbouring files: {ADD}; epsilon at most 2 to {REPLACE}).")


def test_least_squares_estimates_without_an_error_have_all_digits():
    """The root of a tree whose number of records is public has no noise; four digits of it would be another number."""
    found = [
        summary._least_squares({"least_squares": value, "least_squares_sd": sd})
        for value, sd in ((1234567.0, 0.0), (53.04, 2.31), (53.0, np.nan))
    ]
    assert found == ["1,234,567 ± 0", "53.0 ± 2.3", ""]


@pytest.mark.parametrize(
    ("names", "counts", "start"),
    [
        (["north", "north"], 2, "CONFLICT: north is improbable"),
        (["north", "south", "north"], 3, "CONFLICT: north and south are improbable"),
        (["north", "north"], 5, "CONFLICT: north and 3 more are improbable"),
    ],
)
def test_a_count_with_several_improbable_measurements_is_named_once(names, counts, start):
    check = {"found": True, "names": names, "counts": counts, "smallest": 0.001, "tested": 6}
    assert sentences.accuracy({"conflict": check})[0].startswith(start)


@pytest.mark.parametrize(
    ("settings", "noise", "protected"),
    [  # sigma^2 = 2/(2 rho) if a record is replaced, and scale = sensitivity/epsilon
        (
            {"epsilon": 2, "sensitivity": 1},
            "The noise is that of epsilon = 2 and sensitivity 1. "
            "It is Laplace noise, which is discrete in a table whose values are all integers.",
            "epsilon = 2",
        ),
        (
            {"noise": {"law": "discrete_gaussian", "rho": 0.25}},
            "Each count has discrete Gaussian noise with parameter sigma 2, independently of the other counts.",
            "rho = 0.25",
        ),
        (
            {"noise": {"law": "laplace", "epsilon": 0.5, "sensitivity": 1}},
            "Each count has Laplace noise of scale 2, independently of the other counts. "
            "With probability 95 %, a published count is within 5.99 of the true count.",  # 2 log 20
            "epsilon = 0.5",
        ),
    ],
)
def test_a_batch_states_the_noise_of_its_settings(settings, noise, protected):
    settings = {"bounds": {"lower": 1}, **settings}
    found = summary._Found(rows=2, limits=False, types={"count"}, intervals=set(), shares=0)
    assumed = " ".join(summary._assumed({"kind": "noisy_counts", "settings": settings}, found))
    assert assumed.startswith(f"{noise} Every true count is at least 1, by the stated bounds. No totals are stated. ")
    text = page._protected_tables(settings, "noisy_counts")
    assert text[0] == f"The noise of each table is that of {protected}, as stated in the settings."


ONE = "For a single table: a reader who considers two files that "


@pytest.mark.parametrize(
    ("kind_", "settings", "columns", "told"),
    [  # exp(7) = 1096.6, exp(7)/(1 + exp(7)) = 0.99908895, exp(14) = 1202604.3 and exp(14)/(1 + exp(14)) = 0.99999917
        ("noisy_counts", {"epsilon": 7.0}, (), f"{REPLACE}) equally likely can become at most 1,097 : 1 (99.9089 %)"),
        ("noisy_counts", {"epsilon": 7.0, "sensitivity": 1}, (), f"{ADD}) equally likely can become at most 1,097 : 1"),
        # if the total is public, a replaced record changes two counts by 1 each, and costs 2 epsilon
        ("noisy_counts", {"epsilon": 7.0, "sensitivity": 1}, ("total",), f"{REPLACE}) equally likely can become at "
         "most 1,202,605 : 1"),
        ("noisy_counts", {"epsilon": 7.0, "sensitivity": 1, "total": 9}, ("total",), "at most 1,202,605 : 1"),
        # rho + 2 sqrt(rho log(10^6)) = 1.0713, whose exponential is 2.919
        ("noisy_counts", {"noise": {"law": "gaussian", "rho": 0.02}}, (), "2.92 : 1 (74.5 %) sure of the true one ("
         "with probability at most 1e-06, the reader may learn more)."),
        ("protected_rates", {"noise": {"law": "laplace", "epsilon": 1}}, (), "at most 2.72 : 1 (73.2 %) sure"),
        ("additive_counts", {"epsilon": 3.5}, (), f"{ADD}) equally likely can become at most 1,097 : 1"),
        ("noisy_counts", {"epsilon": 7.0, "sensitivity": 3}, (), ""),  # of no known neighbouring relation
        ("noisy_counts", {"noise": {"law": "laplace", "scale": 1.0}}, (), ""),
    ],
)  # fmt: skip
def test_the_page_of_a_batch_states_the_guarantee_of_one_table(kind_, settings, columns, told):
    text = page._protected_tables(settings, kind_, columns)
    assert [told in one for one in text if one.startswith(ONE)] == [True] * bool(told)
    weak = told and (settings.get("epsilon", 1.0) > 3)
    assert any("weak guarantee" in one or "a guarantee is weak" in one for one in text) == bool(weak)


@pytest.mark.parametrize(("total", "stated"), [({"released": 4.0, "noise": {"law": "laplace"}}, True), (4, False)])
def test_the_shares_of_a_file_whose_total_is_noisy_state_their_condition(total, stated):
    point = {"total": total, "groups": ["counts", "shares"], "noise": {"law": "laplace", "scale": 2.0}}
    text = sentences.assumptions({"kind": "noisy_counts", "settings": {}}, point)
    assert ("Shares of the file are given that its total is not 0." in text) is stated
    text = sentences.assumptions({"kind": "noisy_counts", "settings": {}}, {**point, "groups": ["counts"]})
    assert not any("Shares" in one for one in text)
    settings = {"questions": {"d": {"difference": ["a", "b"], "about": "shares"}}}
    text = sentences.assumptions({"kind": "noisy_counts", "settings": settings}, {**point, "groups": ["rates"]})
    assert any(one.startswith("Shares of the file") for one in text) is stated


@pytest.mark.parametrize("total", [{"released": 4, "noise": {"law": "laplace", "scale": 1.0}}, 4])
def test_a_single_count_with_a_total_has_a_share_and_a_rate_of_1(total, recwarn):
    """The count is equal to a public total, and a noisy total is a second measurement of the count."""
    settings = {"counts": {"a": 3}, "noise": {"law": "laplace", "scale": 2.0}, "total": total}
    settings |= {"about": "both", "level": 0.9}
    case_ = Case(name="x", settings=settings, rng=np.random.default_rng(1))
    found = answer.answer(case_)
    table = found.rows.set_index("type")
    assert table.loc[["share", "rate"], ["mean", "lower", "upper"]].to_numpy() == pytest.approx(1, abs=1e-9)
    n = np.arange(200)
    weights = np.exp(-abs(n - 3) / 2 - abs(n - 4)) if isinstance(total, dict) else n == 4
    assert table.loc["count", "mean"] == pytest.approx(weights @ n / weights.sum(), rel=1e-9)
    assert not found.facts.get("noise_part_of_rate_variance")
    assert not [one for one in recwarn if "invalid value" in str(one.message)]
