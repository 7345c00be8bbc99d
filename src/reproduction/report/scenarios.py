"""Page of one scenario in the report: results, accuracy, table and figure."""

from dataclasses import dataclass, field
from typing import Any

from .. import trust
from ..scenarios import making
from ..scenarios.summary import Summary, summarise
from .files import Figure, Folder, Run


@dataclass(frozen=True)
class ScenarioPage:
    """Content of the page of a scenario.

    Parameters
    ----------
    name, settings : of the scenario, as configured.
    summary : summary of the results; None if it was not made.
    release : name of the release that it analyses, or empty.
    figure : None if there is none.
    files : (address, name) of the tables.
    made : provenance of the scenario.
    missing : command that makes it; empty if it was made.
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
        """Return whether a Markov chain of the scenario did not converge."""
        if self.summary is None:
            return 0
        points = self.summary.facts.get("points", ())
        states = [state for point in points for state in point["accuracy"]]
        return sum(state["rows"] for state in states if state["status"] == "not converged")


def page(run: Run, name: str, settings: dict[str, Any], folder: Folder) -> ScenarioPage:
    """Return the page of the scenario `name`; raise `trust.Damaged` if a file does not match its provenance."""
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
