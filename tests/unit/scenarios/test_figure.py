"""Tests of figures of scenarios: the helper for intervals, integer ticks for counts, names in unsupported scripts."""

import numpy as np
import pandas as pd
import pytest

from reproduction import kind, style
from reproduction.config import scenario_settings
from reproduction.scenarios import figure, making, page
from reproduction.scenarios.case import COLUMNS
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
    with pytest.raises(ValueError, match="low must be at most high"):
        figure.of_case(rows(("a", "count", 3, 2, 1)), facts())
    points = [{"epsilon": 0.1}, {"epsilon": 0.5}]
    grid = pd.concat([rows(("a", "count", 3, 2, 1)).assign(**at) for at in points])
    with pytest.raises(ValueError, match="low must be at most high"):
        figure.of_grid(grid, facts(points=points))
    told = facts() | {"tables": {"all": 1, "refused": 0}}
    with pytest.raises(ValueError, match="low must be at most high"):
        figure.of_batch([rows(("a", "count", 3, 2, 1))], told)


@pytest.mark.parametrize(("of", "word"), [("swapped_table", "after the swap"), ("noisy_counts", "released, noisy")])
def test_what_was_released_has_its_own_word(of, word):
    found = figure.of_case(rows(("a", "count", 1, 2, 3), released=2.0), facts(of))
    assert word in texts(found)
    assert len({"after the swap", "released, noisy"} & set(texts(found))) == 1


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


@pytest.mark.parametrize(("size", "panels", "rest"), [(1, 1, ""), (4, 6, ""), (8, 6, "; 6 of 8 quantities")])
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
