"""Compute the tables for the printed figures from the results for the individual data sets."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from dpmultinomial._models.coded_table import CodedTable

from . import catalogue
from .naive_bayes import SPENT

_KEYS = ["dataset", "variant", "method", "floor", "epsilon"]
MEASURES = ("cross_entropy", "accuracy", "log_likelihood")


def facts(table: CodedTable | str, *, name: str) -> pd.DataFrame:
    """Return the row of Table 1 for one data set, computed from the file of the data set. The row has no numbers if the
    file is missing.
    """
    row: dict[str, Any] = {"dataset": name, "instances": np.nan, "attributes": np.nan, "classes": np.nan}
    row |= {"positive_percent": np.nan, "note": table if isinstance(table, str) else ""}
    if not isinstance(table, str):
        source = catalogue.SOURCES.get(name)
        size = {"instances": len(table.codes), "attributes": len(table.columns) - 1, "classes": table.classes}
        row |= size
        if source and source.positive:
            code = table.levels[-1].tolist().index(source.positive)
            row["positive_percent"] = 100 * float(np.mean(table.target == code))
    return pd.DataFrame([row])


def table_1(table: pd.DataFrame) -> pd.DataFrame:
    """Return Table 1, computed from the files of the data sets, together with the printed values. The bundled data sets
    have no printed values.
    """
    printed: dict[Any, tuple[float | None, ...]] = {name: source.printed for name, source in catalogue.SOURCES.items()}
    names = ("instances", "attributes", "classes", "positive_percent")
    rows = []
    for row in table.itertuples():
        shown = printed.get(row.dataset, (None,) * 4)
        rows.append({f"printed_{n}": np.nan if v is None else v for n, v in zip(names, shown, strict=True)})
    return pd.concat([table, pd.DataFrame(rows)], axis=1)


def scores(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each score, the standard deviation of the score over releases (the error bars of the figures),
    and the standard error of the mean.

    If a variant has several splits, the standard error is that of the means of the splits, because releases on the same
    split share their test records.
    """
    measures = [m for m in MEASURES if m in table]
    return _summary(table, measures).sort_values([*_KEYS[:4], "epsilon"], kind="stable", ignore_index=True)


def _summary(table: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    groups = table.fillna({"epsilon": -1.0, "note": ""}).groupby(_KEYS, sort=False)
    rows = []
    for key, group in groups:
        row = dict(zip(_KEYS, key, strict=True)) | {"releases": len(group), "note": group["note"].iloc[0]}
        for measure in measures:
            values = group[measure].to_numpy(dtype=float)
            row[f"{measure}_mean"] = values.mean()
            row[f"{measure}_sd"] = values.std()
            row[f"{measure}_se"] = _standard_error(group, measure)
        row |= {name: group[name].iloc[0] for name in SPENT if name in group and group[name].notna().all()}
        if "counted" in group:
            row["counted"] = group["counted"].iloc[0]
        rows.append(row)
    frame = pd.DataFrame(rows)
    return frame.assign(epsilon=frame["epsilon"].where(frame["epsilon"] >= 0))


def _standard_error(group: pd.DataFrame, measure: str) -> float:
    blocks = group.groupby("split")[measure].mean() if "split" in group else pd.Series(dtype=float)
    values = blocks if len(blocks) > 1 else group[measure]
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def paired_differences(table: pd.DataFrame, *, level: float) -> pd.DataFrame:
    """Return the paired differences between the score of the Dirichlet mechanism and the score of each other mechanism.
    The scores are paired by split, and each mean difference has a t interval over the splits.

    A negative difference of cross-entropies favours the Dirichlet; `better` names the mechanism if the interval
    excludes 0.
    """
    rows = []
    private = table[(table["variant"] == "corrected") & table["epsilon"].notna()]
    for (dataset, epsilon), group in private.groupby(["dataset", "epsilon"]):
        means: Any = group.groupby(["method", "floor", "split"])[["cross_entropy", "accuracy"]].mean()
        reference = means.loc[("dirichlet", "none")]
        for method, floor in means.index.droplevel("split").unique():
            if (method, floor) == ("dirichlet", "none"):
                continue
            for measure, sign in (("cross_entropy", -1), ("accuracy", 1)):
                gap = (reference[measure] - means.loc[(method, floor)][measure]).to_numpy()
                rows.append((dataset, epsilon, method, floor, measure, *_interval(gap, level, sign)))
    gone = table[table["method"] == "not_run"]["dataset"]
    rows += [(name, np.nan, "not_run", "none", "cross_entropy", np.nan, np.nan, np.nan, "undecided") for name in gone]
    columns = ["dataset", "epsilon", "method", "floor", "measure", "difference", "lower", "upper", "better"]
    return pd.DataFrame(rows, columns=columns)


def _interval(gap: np.ndarray, level: float, sign: int) -> tuple[float, float, float, str]:
    centre = float(gap.mean())
    if len(gap) < 2:
        return centre, np.nan, np.nan, "undecided"
    half = float(stdtrit(len(gap) - 1, (1 + level) / 2) * gap.std(ddof=1) / np.sqrt(len(gap)))
    word = "undecided" if abs(centre) <= half else "dirichlet" if sign * centre > 0 else "other"
    return centre, centre - half, centre + half, word


def figure_4(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cross-entropies of the published, literal and corrected variants. In the corrected variant, the lower
    bound of noisy counts is sigma, the standard deviation of the noise.
    """
    return _one_measure(table, "cross_entropy")


def figure_5(table: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracies of the models in the format of `figure_4`."""
    return _one_measure(table, "accuracy")


def clipping_floor(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cross-entropies of the corrected variant for each lower bound (floor) of the noisy counts."""
    kept = table[
        (table["variant"] == "corrected") & table["method"].isin(["dirichlet", "gaussian", "laplace", "not_run"])
    ]
    return scores(kept.drop(columns="accuracy"))


def figure_9(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cross-entropies of the models under approximate differential privacy."""
    return scores(table.drop(columns="accuracy"))


def figure_10(table: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracies of the models under approximate differential privacy."""
    return scores(table.drop(columns="cross_entropy"))


def figure_7(table: pd.DataFrame) -> pd.DataFrame:
    """Return the log-likelihoods of the networks on the test records."""
    return scores(table)


def figure_11(table: pd.DataFrame) -> pd.DataFrame:
    """Return the log-likelihoods of the networks on the test records, under approximate differential privacy."""
    return scores(table)


def bundled_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cross-entropies and the accuracies on the data sets that scikit-learn provides, for the corrected
    variant.
    """
    return scores(table[(table["variant"] == "corrected") & _main_floor(table)])


def introduction() -> pd.DataFrame:
    """Return the L1 distances and the KL divergences between probabilities p and two noisy versions of p, as in the
    paper's introduction.

    The last row is the example of section 5.1: the loss of a probability of 0.1 divided by that of 0.4.
    """
    p = np.array([0.1, 0.9])
    rows = []
    for name, z in (("z1", np.array([-0.090, 0.045])), ("z2", np.array([-0.099, -0.038]))):
        noisy = p + z
        rows.append((name, "L1", "as_written", np.abs(z).sum()))
        rows.append((name, "KL sum", "as_written", np.sum(p * np.log(p / noisy))))
        rows.append((name, "KL", "corrected", np.sum(p * np.log(p / (noisy / noisy.sum())))))
    rows.append(("none", "loss of a probability of 0.1 relative to 0.4", "as_written", np.log(0.1) / np.log(0.4)))
    return pd.DataFrame(rows, columns=["noise", "quantity", "variant", "value"])


def _one_measure(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    other = "accuracy" if measure == "cross_entropy" else "cross_entropy"
    return scores(table[_main_floor(table)].drop(columns=other))


def _main_floor(table: pd.DataFrame) -> pd.Series:
    """Return a Boolean mask that selects the rows for the figures. These are the rows of all variants other than
    corrected, and the rows of the corrected variant with the floor sigma, with no floor, or with the smoothing 0.1.
    """
    return (table["variant"] != "corrected") | table["floor"].astype(str).isin(["sigma", "none", "0.1"]) & ~(
        (table["floor"].astype(str) == "0.1") & table["method"].isin(["gaussian", "laplace"])
    )
