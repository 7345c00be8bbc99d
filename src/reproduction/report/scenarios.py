"""The page of one scenario in the report: what it says, how far to trust it, its table and its figure."""

from dataclasses import dataclass, field
from typing import Any

from .. import trust
from ..scenarios import making
from ..scenarios.summary import Summary, summarise
from .files import Figure, Folder, Run


@dataclass(frozen=True)
class ScenarioPage:
    """What the page of a scenario shows.

    Parameters
    ----------
    name, settings : of the scenario, as configured.
    summary : in words; None where it was not made.
    release : name of the release it is about, if it is.
    figure : None where there is none.
    files : (address, name) of its tables.
    made : its provenance.
    missing : command that makes it; empty where it was made.
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
        """File of the page."""
        return f"scenario-{self.name}.html"

    @property
    def unusable(self) -> int:
        """Numbers of chains that did not converge."""
        if self.summary is None:
            return 0
        points = self.summary.facts.get("points", ())
        states = [state for point in points for state in point["accuracy"]]
        return sum(state["rows"] for state in states if state["status"] == "not converged")


def page(run: Run, name: str, settings: dict[str, Any], folder: Folder) -> ScenarioPage:
    """The page of the scenario `name`, made or not; raises `trust.Damaged` where a file is not what was made."""
    release = str(settings.get("release", ""))
    files = making.files(name, run.root)
    if not files.facts.is_file():
        missing = f"snakemake --cores 1 scenario_{name}"
        return ScenarioPage(name, settings=settings, release=release, missing=missing)
    for path in files.all:
        trust.checked(path)
    found = summarise(files)
    paths = [f"results/scenarios/{path.name}" for path in files.all]
    alt = f"Scenario {name}: means and intervals of its quantities; the table on this page has the numbers."
    return ScenarioPage(
        name,
        settings=settings,
        summary=found,
        release=release,
        figure=folder.figure(f"figures/scenarios/{name}.png", alt=alt, caption=f"Scenario {name}: {found.headline}"),
        files=[(address, path.rpartition("/")[2]) for path in paths if (address := folder.table(path))],
        made=run.provenance("scenarios", name),
    )
