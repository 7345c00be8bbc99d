"""Pages of one scenario and of one release in a report. The page of a scenario shows results, accuracy, table and
figure. The page of a release uses its two public files and opens no other file of the release.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from dpmultinomial._files.places import FileFault
from dpmultinomial._releases import losses
from dpmultinomial._releases.spending import amount

from .. import trust
from ..config import user_files
from ..scenarios import making
from ..scenarios.summary import Summary, summarise
from . import texts
from .files import Figure, Folder, Run


@dataclass(frozen=True)
class ScenarioPage:
    """Contents of the page of a scenario in the report.

    Parameters
    ----------
    name, settings : name and settings of the scenario, as configured.
    summary : summary of the results; None if the results were not made.
    release : name of the release that the scenario analyses, or empty.
    figure : figure; None if there is no figure.
    files : (address, name) of the tables.
    made : provenance of the scenario.
    missing : command that makes the scenario; empty if it was made.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    summary: Summary | None = None
    release: str = ""
    figure: Figure | None = None
    files: list[tuple[str, str]] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict)
    missing: str = ""

    @property
    def address(self) -> str:
        """Return the address of the page of the scenario."""
        return f"scenario-{self.name}.html"

    @property
    def unusable(self) -> int:
        """Return the number of result rows of the scenario with the accuracy status "not converged"."""
        if self.summary is None:
            return 0
        points = self.summary.facts.get("points", ())
        states = [state for point in points for state in point["accuracy"]]
        return sum(state["rows"] for state in states if state["status"] == "not converged")


def page(run: Run, name: str, settings: dict[str, Any], folder: Folder) -> ScenarioPage:
    """Return the contents of the page of the scenario `name` in a report. Raise `trust.Damaged` if a file does not
    match its provenance.
    """
    release = str(settings.get("release", ""))
    files = making.files(name, run.root)
    if not files.facts.is_file():
        missing = f"snakemake --cores 1 scenario_{name}"
        return ScenarioPage(name, settings=settings, release=release, missing=missing)
    for path in files.all:
        trust.checked(path)
    summary = summarise(files)
    paths = [f"results/scenarios/{path.name}" for path in files.all]
    alt = f"Scenario {name}: means and intervals of its quantities; the table on this page has the numbers."
    return ScenarioPage(
        name,
        settings=settings,
        summary=summary,
        release=release,
        figure=folder.figure(f"figures/scenarios/{name}.png", alt=alt, caption=f"Scenario {name}: {summary.headline}"),
        files=[(address, path.rpartition("/")[2]) for path in paths if (address := folder.table(path))],
        made=run.provenance("scenarios", name),
    )


_WORDS = {
    "mechanism": "mechanism",
    "law": "noise distribution",
    "scale": "scale of the noise",
    "cost": "cost",
    "epsilon_at_delta": "epsilon of this release alone, at a delta",
    "neighbours": "neighbours",
    "total": "public total",
    "source": "source",
    "sha256": "SHA-256 of release.csv",
}


@dataclass(frozen=True)
class ReleasePage:
    """Contents of the page of a release in the report.

    Parameters
    ----------
    name, generation : name and generation as configured.
    record : (description, value) pairs from record.json.
    table : first rows of the public file.
    used : (address, name) of the scenarios that analyse the release.
    missing : command that makes the scenario; empty if it was made.
    fault : reason why the release cannot be shown.
    """

    name: str
    generation: int
    record: list[tuple[str, str]] = field(default_factory=list)
    table: texts.Table | None = None
    used: list[tuple[str, str]] = field(default_factory=list)
    missing: str = ""
    fault: str = ""

    @property
    def address(self) -> str:
        """Return the address of the report page that describes the release."""
        return f"release-{self.name}.html"

    @property
    def cost(self) -> str:
        """Return the privacy cost of the release as text."""
        return dict(self.record).get("cost", "")


def release_page(
    run: Run, name: str, settings: Mapping[str, Any], used: list[tuple[str, str]], folder: Folder
) -> ReleasePage:
    """Return the report page for a release, for the generation that is stated in its settings."""
    place = user_files.release_folder(name, settings)
    generation = int(settings.get("generation", 1))
    if not run.exists(f"{place}/{user_files.RECORD}"):
        return ReleasePage(name, generation, used=used, missing=f"snakemake --cores 1 release_{name}")
    try:
        release = losses.opened(run.root / place)
    except (FileFault, OSError) as error:
        fault = str(error).replace(f"{run.root}/", "")
        return ReleasePage(name, generation, used=used, fault=fault)
    frame = pd.DataFrame({column: release.table.texts(column) for column in release.table.columns})
    public = f"{place}/release.csv"
    folder.write(f"data/{public}", (run.root / public).read_bytes())
    shown = texts.shown(frame, file=f"data/{public}", path=public)
    return ReleasePage(name, generation, record=record_in_words(release.record), table=shown, used=used)


def record_in_words(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the entries in the record of a release as pairs (description, value). The most important entries come
    first, and the other entries keep their order.
    """
    first = [key for key in _WORDS if key in record]
    rest = [key for key in record if key not in _WORDS and key not in ("release", "generation")]
    return [(_WORDS.get(key, key.replace("_", " ")), _entry(key, record[key])) for key in [*first, *rest]]


_COSTS = ("cost", "against_ceiling", "epsilon_at_delta")  # entries with upper bounds, which are rounded upwards


def _entry(key: str, value: Any) -> str:
    """Return an entry of a record as text. The numbers of a privacy cost are rounded upwards, and a Rényi cost, whose
    epsilon is an upper bound, is stated as such.
    """
    if key not in _COSTS or not isinstance(value, Mapping):
        return _value(value)
    named = {"epsilon": "Rényi epsilon at most"} if "order" in value else {}
    bounds = {name: number for name, number in value.items() if name in ("epsilon", "rho", "delta")}
    texts_ = [f"{named.get(name, name)} {amount(number)}" for name, number in bounds.items()]
    others = {name: inner for name, inner in value.items() if name not in bounds and name != "relation"}
    numbers = ", ".join([*texts_, *(f"{name} {_value(inner)}" for name, inner in others.items())])
    return f"{numbers} ({value['relation']})" if "relation" in value else numbers


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        numbers = ", ".join(f"{key} {_value(inner)}" for key, inner in value.items() if key != "relation")
        return f"{numbers} ({value['relation']})" if "relation" in value else numbers
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_value, value))
    return texts.text(value)
