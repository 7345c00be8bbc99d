"""Define the numbers that methods.md and errata.md quote, and the tables from which these numbers follow."""

import pandas as pd

from ...verdicts.quotes import Quote, at, told

GIVEN = {  # an exponent; sections, records of the printed histograms, axes, degrees, printed numbers
    "methods.md": ("-130", "0.001", "0.03"),
    "errata.md": (
        "5.1",
        "5.2",
        "148",
        "146",
        "0.01",
        "2.1e-4",
        "1000",
        "0.2",
        "200",
        "−0.099",
        "−0.038",
        "0.001",
        "1e-5",
        "1e-6",
    ),
}


def _slack(table: pd.DataFrame) -> list[float]:
    return [at(table, "slack", mechanism="Dirichlet", calibration="Algorithm 1", claimed=c) for c in (0.001, 10.0)]


def _gain(table: pd.DataFrame) -> list[float]:
    renyi = table[table["privacy"] == "renyi"].pivot_table(index="epsilon", columns="method", values="r")
    ratio = renyi["exact worst case"] / renyi["Algorithm 1"]
    return [ratio.loc[0.03] - 1, ratio.loc[10.0] - 1]


def _smaller(table: pd.DataFrame) -> list[float]:
    divergence = table[table["series"] == "divergence"]
    pair = divergence.pivot_table(index=["order", "r"], columns="variant", values="epsilon")
    return [1 - (pair["as_written"] / pair["published"]).min()]


def _floor(table: pd.DataFrame) -> list[float]:
    return [table.loc[table["order"] == 2, "floor"].iloc[0]]


def _plateaus(table: pd.DataFrame) -> list[float]:
    algorithm = table[(table["series"] == "Algorithm 1") & (table["variant"] == "corrected")]
    least = algorithm.groupby("order")["kl_mean"].min()
    return [least[20.0], least[200.0]]


def _counted(table: pd.DataFrame) -> list[float]:
    share = table[(table["variant"] == "published") & (table["method"] == "dirichlet")].groupby("dataset")["counted"]
    return [share.mean()["GermanCredit"], share.mean()["Bank"]]


def _german_credit(table: pd.DataFrame) -> list[float]:
    rows = table[(table["dataset"] == "GermanCredit") & (table["variant"] == "corrected")]
    loss = rows[rows["method"] == "dirichlet"].set_index("epsilon")["cross_entropy_mean"]
    ratio = loss / at(rows, "cross_entropy_mean", method="non-private")
    return [ratio.loc[0.001], ratio.mean()]


QUOTES = [
    Quote(
        "methods.md",
        r"divided by $D^*$ is {{1.07}} at $\varepsilon = 0.001$ and {{1.36}} at $\varepsilon = 10$",
        "audits",
        _slack,
    ),
    Quote(
        "methods.md",
        r"the bound of Algorithm 1, by {{20 %}} at $\varepsilon = 0.03$ and by {{36 %}} at $\varepsilon = 10$",
        "exact_calibration",
        _gain,
    ),
    Quote("errata.md", "divergence is smaller by up to {{40 %}}", "figure_3_top", _smaller),
    Quote("errata.md", "allows no ε̂ below {{10.13}}", "figure_3_bottom", _floor),
    Quote(
        "errata.md",
        "privacy cost of {{14.3}} by equation 14",
        "errata",
        lambda t: told(t, 2, r"privacy cost of (\d+\.\d+)"),
    ),
    Quote("errata.md", "γ = {{1.287e-3}}", "figure_2", lambda t: [t["gamma_for_1e-5"].iloc[0]]),
    Quote(
        "errata.md",
        "frequency is 1 and the bound is {{0.0072}}",
        "theorem_2",
        lambda t: [at(t, "bound", alpha=0.2, cells=1000, eta=0.3)],
    ),
    Quote(
        "errata.md",
        "privacy cost is {{3.3}}, although 1 is claimed",
        "audits",
        lambda t: [at(t, "exact", mechanism="Dirichlet", variant="published", claimed=1.0)],
    ),
    Quote("errata.md", "plateaus of {{0.040}} (λ = 20) and {{0.249}} (λ = 200)", "figure_3_bottom", _plateaus),
    Quote(
        "errata.md",
        "introduction gives the divergences {{0.186}} and {{0.499}}, which are sums over vectors that do not sum to "
        "1. The noise z₂ is (−0.099, −0.038). | After normalisation, the second divergence is {{0.352}}",
        "introduction",
        lambda t: [
            *(at(t, "value", noise=z, quantity="KL sum") for z in ("z1", "z2")),
            at(t, "value", noise="z2", quantity="KL"),
        ],
    ),
    # one release per node; the budget is divided by three, the number of data sets
    Quote("errata.md", "spent {{2.3}}, {{3.3}} and {{4.7}} times", "", lambda _: [nodes / 3 for nodes in (7, 10, 14)]),
    Quote("errata.md", "Between {{66 %}} (GermanCredit) and {{98 %}} (Bank)", "figure_7", _counted),
    Quote(
        "errata.md",
        "is {{3.9}} times the non-private loss at ε = 0.001, and on average over the budgets, it is {{2.2}} times",
        "figure_4",
        _german_credit,
    ),
]
