"""What swapping costs: epsilon by rate, one exchange by size, what is paid for the association that is left."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...style import BLACK, BLUE, DOUBLE, GREEN, GREY, MARKERS, ORANGE, RED, letters, log_scale
from .privacy import ALL_CLASSES


def privacy_loss(table: pd.DataFrame) -> Figure:
    """Stated and exact epsilon against the rate, the cost of one exchange against n, and what is bought with it."""
    figure = Figure(figsize=(DOUBLE, 2.9))
    first, second, third = figure.subplots(1, 3)
    rows = table[table["kind"] == "rate"]
    for size, colour, marker in zip(sorted(rows["group"].unique()), (BLUE, GREEN, RED, ORANGE), MARKERS, strict=False):
        look = {"color": colour, "marker": marker, "markevery": 0.2, "label": f"$b={size:g}$"}
        line = rows[rows["group"] == size].set_index("variant")
        stated, exact = line.loc[["as_written"]], line.loc[["corrected"]]
        first.plot(stated["x"], stated["y"], **look)
        first.plot(exact["x"], exact["y"], "--", lw=0.9, color=colour, label="_exact")
        paid = table[(table["kind"] == "association") & (table["group"] == size)]
        third.plot(paid["x"], paid["y"], **look)
    first.axvline(0.5, color=GREY, lw=0.8, zorder=0)
    first.annotate("slides stop", (0.485, 0.99), xycoords=("data", "axes fraction"), ha="right", va="top", fontsize=6)
    first.set(xlabel="swap rate $p$", ylabel=r"$\varepsilon$ per record of distance", ylim=(0, None))
    first.legend(title="strata of $b$ records\nsolid: theorem\ndashed: exact", title_fontsize=6.5, fontsize=6.5)
    _exchanges(second, table[table["kind"] == "exchange"])
    third.set(xlabel=r"association left, $\lambda_1$", ylabel=r"exact $\varepsilon$ per record", ylim=(0, None))
    third.legend(title="strata of $b$ records", title_fontsize=6.5, fontsize=6.5)
    letters((first, second, third))
    return figure


def _exchanges(axis, audits: pd.DataFrame) -> None:
    """What one exchange costs against the number of records, with epsilon and twice epsilon."""
    rates = zip(sorted(audits["group"].unique()), (BLUE, GREEN, RED, ORANGE), MARKERS, strict=False)
    for rate, colour, marker in rates:
        for variant, dash, width in (("corrected", f"{marker}-", 1.2), ("as_written", "--", 0.9), ("twice", ":", 0.9)):
            line = audits[(audits["group"] == rate) & (audits["variant"] == variant)]
            label = f"$p={rate:g}$" if variant == "corrected" else None
            axis.plot(line["x"], line["y"], dash, color=colour, lw=width, ms=2.5, label=label)
            if variant == "corrected":
                some = line[line["x"] > ALL_CLASSES]
                reach = 0.05 * audits["y"].max()
                look = {"color": colour, "mfc": "white", "lw": 0.8, "label": "_bound"}
                axis.errorbar(some["x"], some["y"], reach, fmt=marker, lolims=True, **look)
    log_scale(axis, "x")
    top = 1.25 * audits["y"].max()
    axis.set(xlabel="records in a 2 × 2 table", ylabel="loss of one exchange", ylim=(0, top))
    handles = [*axis.get_legend_handles_labels()[0]]
    handles += [
        Line2D([], [], color=BLACK, ls=d, lw=0.9, label=t)
        for d, t in (("--", r"$\varepsilon$"), (":", r"$2\varepsilon$"))
    ]
    if (audits["x"] > ALL_CLASSES).any():
        handles.append(Line2D([], [], color=BLACK, ls="", marker=r"$\uparrow$", ms=5, label="lower bound"))
    axis.legend(handles=handles, fontsize=6.5, ncols=2, handlelength=1.4, columnspacing=0.8)
