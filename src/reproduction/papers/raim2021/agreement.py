"""The slides' statements, as this run gives them."""

import pandas as pd

from . import drawn_judgements, judgements, model_judgements


def ours(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows artefact, quantity, variant, ours, mc_se, note; one or more variants for every published quantity."""
    of_one = {
        "formulas": judgements.formulas,
        "descent": judgements.descent,
        "step_functions": judgements.step_functions,
        "accept_reject": judgements.accept_reject,
        "weight_functions": judgements.weights,
        "exact_laws": judgements.laws,
        "sampler_accuracy": judgements.sampler,
        "statistics_laws": model_judgements.statistics,
        "counts_in_turn": model_judgements.counts,
        "geweke": model_judgements.gibbs,
        "coverage": model_judgements.ignoring,
        "other_noises": model_judgements.other_noises,
    }
    rows = [row for name, judge in of_one.items() for row in judge(tables[name])]
    rows += [*judgements.draws(tables), *model_judgements.mechanism(tables), *drawn_judgements.rows(tables)]
    return pd.DataFrame(rows)
