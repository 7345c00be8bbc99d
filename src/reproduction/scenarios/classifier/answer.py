"""Compute the posterior of the probabilities in a released model, or use synthetic records to estimate the quality of a
release.

Questions are about the probabilities of one released table, or of several tables, which are independent. A comparison
of two probabilities of one table is exact if the posterior of the table is exact: P(a > b) is the probability that the
share a/(a + b) is above 1/2. All other answers are computed from draws and have a Monte Carlo error.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpmultinomial._accuracy import EXACT, Accuracy
from dpmultinomial._files.published import open_release
from dpmultinomial._models import coded_table
from dpmultinomial._posteriors.counts.dirichlet_mixture import DirichletMixture
from dpmultinomial._results.distributions import Continuous
from dpmultinomial._results.expressions import Names, comparison
from dpmultinomial._results.posterior import COLUMNS as ROW
from dpmultinomial._results.posterior import Posterior
from dpmultinomial._results.quantities import Quantities

from .. import standard
from ..case import COLUMNS, REHEARSAL, Answer, Case
from . import histogram
from .histogram import Mechanism

_NORMAL = (
    f"the table has more than {histogram.LARGEST_EXACT:,} records, or its number of records is estimated. The "
    "distribution of each cell is then approximated by a normal distribution, and the joint distribution is "
    "unknown: ask about tables with fewer records, or without parents"
)
_SIMULATED = "the scores vary between the simulated releases; error: standard error of their mean"
_ESTIMATED = Accuracy(
    "approximate", float("nan"), "the normalisation ignores the noise, or totals below parents are estimated"
)


def answer(case: Case) -> Answer:
    """Return the results of one case of a released-model scenario."""
    if REHEARSAL in case.settings:
        return _rehearsed(case)
    from . import model

    release, settings = open_release(case.release), case.settings
    table = model.table(release, prior=settings["prior"], level=settings["level"])
    kept = ("release", "generation", "source", "neighbours", "cost", "records", "mechanism")
    facts: dict[str, Any] = {"origin": "release"} | {key: release.record[key] for key in kept if key in release.record}
    facts |= {
        "how": model.mechanism(release).words,
        "prior": {"law": "Dirichlet", "concentration": [settings["prior"]]},
    }
    approximate = table["status"] != "exact"
    rows = table.assign(type="rate", error=np.where(approximate, np.nan, 0.0)).reindex(columns=list(COLUMNS))
    states = [_ESTIMATED if one else EXACT for one in approximate]
    if asked := settings.get("questions"):
        about = {"mechanism": model.mechanism(release), "prior": settings["prior"], "level": settings["level"]}
        answered = answers(table, asked, **about, rng=case.rng)
        rows = pd.concat([rows, answered.reindex(columns=list(COLUMNS))], ignore_index=True)
        states += standard.states_of(answered)
        facts["certain"] = standard.certain(answered)
    return Answer(rows=rows, facts=facts | _told(rows, states))


def _rehearsed(case: Case) -> Answer:
    from . import rehearsal  # imported here, because it loads scikit-learn

    asked = case.settings[REHEARSAL]
    data = rehearsal.read(asked["csv"], target=asked["target"], numeric=asked["numeric"])
    keys = ("order", "epsilons", "repeats", "bins", "floor", "mechanisms", "network")
    design = rehearsal.Design(**{key: asked[key] for key in keys})
    rows = rehearsal.scores(data, design, level=case.settings["level"], rng=case.rng).reindex(columns=list(COLUMNS))
    facts = {"origin": REHEARSAL, "records": len(data.codes), "order": asked["order"], "floor": asked["floor"]}
    facts["mechanisms"] = list(asked["mechanisms"])
    facts["unusual"] = [finding.text for finding in coded_table.examine(data)]
    states = [
        EXACT if word == EXACT.status else Accuracy(word, error, _SIMULATED)
        for word, error in zip(rows["status"], rows["error"], strict=True)
    ]
    return Answer(rows=rows, facts=facts | _told(rows, states))


def _told(rows: pd.DataFrame, states: Sequence[Accuracy]) -> dict[str, Any]:
    groups = sorted(set(rows["type"]) - {"question"})
    return {"accuracy": standard.tally(states), "groups": groups, "among": [], "method": "one table after the other"}


def answers(
    table: pd.DataFrame,
    questions: Mapping[str, Mapping[str, Any]],
    *,
    mechanism: Mechanism,
    prior: float,
    level: float,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return the answers to questions about the probabilities of a model, in the format of `Posterior.ask`. There are
    one or more rows per question.

    Parameters
    ----------
    table : table returned by `model.table`.
    questions : dictionary from names to questions, in the format of `Posterior.ask`; the names in a question are those
        of the table's quantities.
    mechanism, prior : arguments of `model.table`.
    level : probability of the intervals.
    rng : Generator of the draws.

    Returns
    -------
    DataFrame

    Raises
    ------
    ValueError, KeyError
        If a question is not meaningful for a model or has an unknown name; the message names the question.
    """
    tables = [_Table(rows, mechanism, prior) for _, rows in table.groupby(["node", "given"], sort=False)]
    owner = {name: i for i, one in enumerate(tables) for name in one.names}
    names, frames, reasons, certain = Names(tuple(owner)), [], [], []
    for label, question in questions.items():
        try:
            used = list(_names(question, names))
            places = sorted({owner[name] for name in used})
            _judge(question, len(places))
            asked = [tables[i] for i in places]
            exact = _exact(question, asked[0], names, level) if len(asked) == 1 else None
            if exact is not None:
                frames.append(pd.DataFrame([(label, "question", *exact)], columns=list(ROW)))
                reasons.append(asked[0].state.reason)
                certain.append(False)
                continue
            for name, one in ((name, tables[owner[name]]) for name in used):
                if one.law is None:
                    only = "this is the only probability of its table, so it is 1"
                    raise ValueError(f"{name}: {_NORMAL if len(one.names) > 1 else only}")
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise type(error)(f"{label}: {error.args[0]}") from None
        frames.append(_together(asked).ask({label: _about_rates(question)}, level=level, rng=rng))
        reasons += frames[-1].attrs["reasons"]
        certain += frames[-1].attrs["certain"]
    found = pd.concat(frames, ignore_index=True)
    found.attrs |= {"reasons": reasons, "certain": certain}
    return found


class _Table:
    """Probability table of a released model, together with the posterior distribution of the probabilities."""

    def __init__(self, rows: pd.DataFrame, mechanism: Mechanism, prior: float) -> None:
        self.names, self.rows = tuple(rows["quantity"]), rows
        total, public = float(rows["total"].iloc[0]), bool(rows["public"].iloc[0])
        self.law: DirichletMixture | None = None
        if len(rows) > 1 and (public or total <= histogram.LARGEST_EXACT):
            whole = max(1, round(total))
            self.law = histogram.posterior(rows["released"].to_numpy(), total=whole, mechanism=mechanism, prior=prior)
        self.state = EXACT if (rows["status"] == "exact").all() else _ESTIMATED

    def marginal(self, place: int) -> Continuous:
        """Return the posterior distribution of one probability in the table."""
        assert self.law is not None
        return Continuous(self.law.beta(place), name=self.names[place], type="rate", accuracy=self.state)

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw all probabilities of one probability table jointly from their posterior distribution."""
        assert self.law is not None
        return self.law.sample(size, rng=rng)


def _together(tables: Sequence[_Table]) -> Posterior:
    """Return a joint posterior from which the probabilities of several tables are drawn. Tables with approximate
    results come first, since they determine the accuracy status.
    """
    ordered = sorted(tables, key=lambda one: one.state is EXACT)
    places = [(one, i) for one in ordered for i in range(len(one.names))]

    def joint(size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.concatenate([one.draw(size, rng) for one in ordered], axis=1)

    rates = Quantities([one.names[i] for one, i in places], lambda k: places[k][0].marginal(places[k][1]), joint=joint)
    return Posterior({"rates": rates}, joint=lambda size, rng: {"rates": joint(size, rng)}, method="draws")


def _judge(question: Mapping[str, Any], tables: int) -> None:
    """Raise ValueError if a model cannot answer a question."""
    if question.get("about", "rates") != "rates":
        raise ValueError(
            f"for a model, the only valid value of the key 'about' is 'rates' (the default), got "
            f"{question['about']!r}: omit the key"
        )
    for key in ("of", "among"):
        if "rank" in question and question["rank"].get(key) == "all":
            raise ValueError(
                f"in a question with the key 'rank', the key '{key}' must list probabilities of a single table, got "
                "'all': list the probabilities of one table"
            )
    kind = next((kind for kind in ("sum", "share", "rank") if kind in question), "")
    if kind and tables > 1:
        raise ValueError(
            f"the key {kind!r} must contain names from a single table, got names from {tables} tables (different "
            "conditions or columns): use a difference, a ratio or a probability to compare different tables"
        )


def _exact(question: Mapping[str, Any], table: _Table, names: Names, level: float) -> tuple[object, ...] | None:
    """Return the answer to a question that the distribution of a share answers exactly, or None for any other question.
    The results are the mean, the standard deviation, the limits, the level, the status and the error.
    """
    if table.law is None:
        return None
    state, place = table.state, {name: i for i, name in enumerate(table.names)}
    if "share" in question:
        of, among = (_listed(question["share"][key]) for key in ("of", "among"))
        if len(of) != 1 or len(among) < 2 or not set(of) <= set(among):
            return None
        law = table.law.beta(place[of[0]], [place[name] for name in among])
        ends = law.quantile([(1 - level) / 2, (1 + level) / 2])
        return law.mean(), law.variance() ** 0.5, *map(float, ends), level, state.status, state.error
    if "probability" in question:
        asked = comparison(question["probability"], names)
        if len(asked.coefficients) != 2 or asked.bound != 0 or asked.operator in ("==", "!="):
            return None
        listed = list(names.places)
        (a, up), (b, down) = ((listed[p], c) for p, c in asked.coefficients.items())
        if up * down >= 0:
            return None
        above = asked.operator.startswith(">") == (
            up > 0
        )  # up a + down b > 0 if and only if the share of a is above -down/(up - down)
        below = float(table.law.beta(place[a], [place[a], place[b]]).cdf(-down / (up - down)))
        chance = 1 - below if above else below
        return chance, np.nan, np.nan, np.nan, level, state.status, state.error
    return None


def _names(question: Any, names: Names) -> Iterator[str]:
    """Yield the names of the probabilities that occur in a question."""
    if not isinstance(question, Mapping):
        raise TypeError(f"a question must be a mapping such as {{difference: [a, b]}}, got {question!r}")
    listed = list(names.places)
    for kind, what in question.items():
        if kind == "probability":
            yield from (listed[place] for place in comparison(what, names).coefficients)
        elif kind in ("share", "rank"):
            for key, part in what.items():
                if key != "top" and part != "all":
                    yield from (listed[names.place(name)] for name in _listed(part))
        elif kind != "about":
            for side in [what] if isinstance(what, str) else what:
                yield from (listed[names.place(name)] for name in _listed(side))


def _listed(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _about_rates(question: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in question.items() if key != "about"}
