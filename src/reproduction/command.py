"""Command ``dpm``, which computes plans and scenarios, builds pages, and makes releases. The command does not require
Snakemake. It calls the same functions as the workflow, so its files are identical.

``dpm answer releases/county/1 --among met not_met``, ``dpm answer counts.csv --noise discrete_gaussian --sigma 5``,
``dpm answer nmf --state VT --cell hispanic=hispanic --levels County Tract`` (noisy measurement files),
``dpm answer survey`` (a scenario of config.yaml), ``dpm page survey -o survey.html``, ``dpm plan survey``,
``dpm check mine.yaml``, ``dpm release county``.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .config.reading import ConfigError

if TYPE_CHECKING:
    from .config.scenario_settings import Scenario
    from .scenarios.making import Files

_SCALES = ("scale", "sd", "sigma", "variance", "epsilon", "rho")
_RATES = ("missing", "exposure", "covariates", "per", "family")
_LARGE = 5_000_000  # bytes of a file whose counts are checked by the analysis alone, and not before the analysis
_SEED = 20180531  # root seed if no configuration sets another


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and print its output, or print the error message if the command fails."""
    asked = parser().parse_args(arguments)
    try:
        from dpmultinomial import _printing

        from .config import user_files

        user_files.outside(output=getattr(asked, "output", None), folder=getattr(asked, "folder", None))
        _printing.show(asked.act(asked))
    except BrokenPipeError:  # the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        _stop(asked.verb, "the command was interrupted; the files that were complete are kept", status=130)
    except MemoryError as error:
        _stop(asked.verb, f"not enough memory ({str(error) or 'no further details'}): use fewer counts, rows or levels")
    except RecursionError:
        _stop(asked.verb, "the input is nested too deeply: use fewer levels")
    except ArithmeticError as error:
        _stop(asked.verb, f"a number is outside the range of floating-point numbers ({error}): use smaller numbers")
    except (ConfigError, ValueError, OSError, RuntimeError) as error:
        _stop(asked.verb, error)
    except ImportError as error:
        ours = str(error.name).startswith("dpmultinomial")
        what = "the kernels are not compiled" if ours else "a package is missing"
        _stop(asked.verb, f"{what} ({error}): run make env")
    except KeyError as error:  # for an unknown name, the message is the argument of the KeyError
        _stop(asked.verb, error.args[0] if error.args else error)
    except Exception as error:
        if os.environ.get("DPMULTINOMIAL_DEBUG") == "1":
            raise
        _stop(asked.verb, _unexpected(error))


def _unexpected(error: Exception) -> str:
    """Return the message for an error for which the command has no specific message. A TypeError that a statement
    `raise` of the project raised is about the input, and its message is complete; all other errors are internal errors.
    """
    frame, _ = [*traceback.walk_tb(error.__traceback__)][-1]
    place = traceback.extract_tb(error.__traceback__)[-1]
    ours = str(frame.f_globals.get("__name__")).startswith(("dpmultinomial.", "reproduction."))
    if ours and isinstance(error, TypeError) and (place.line or "").startswith("raise TypeError("):
        return str(error)
    return (
        f"internal error, please report it: {type(error).__name__} in {Path(place.filename).name}, line "
        f"{place.lineno}: {error} (with the environment variable DPMULTINOMIAL_DEBUG=1, the command prints all calls)"
    )


def _stop(verb: str, message: object, *, status: int = 1) -> NoReturn:
    """Exit the program with a message and the given status. If the status is not 1, the message is printed first."""
    from dpmultinomial import _printing

    _printing.clear()
    text = _printing.message(f"dpm {verb}: {message}")
    if status == 1:
        sys.exit(text)
    print(text, file=sys.stderr)
    sys.exit(status)


class _Parser(argparse.ArgumentParser):
    """Argument parser whose error messages have the same form as all other error messages of the command."""

    def error(self, message: str) -> NoReturn:
        from dpmultinomial import _printing

        super().error(_printing.message(message))


def parser() -> argparse.ArgumentParser:
    """Return the argument parser of the command ``dpm``."""
    whole = _Parser(
        prog="dpm", description="Posteriors, pages, checks and releases of noisy counts, without Snakemake."
    )
    verbs = whole.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, act, about in (
        (
            "answer",
            _answer,
            "show what a release, a CSV file or a scenario of the configuration implies about the true counts",
        ),
        ("page", _page, "write the same summary as one self-contained HTML page, to share"),
    ):
        part = verbs.add_parser(
            verb, help=about, description=f"{about[0].upper()}{about[1:]}.", usage=f"dpm {verb} SOURCE [options]"
        )
        part.set_defaults(act=act)
        part.add_argument(
            "source", help="folder of a release or of noisy measurement files, a CSV file, or name of a scenario"
        )
        _numbers(part)
        _files(part)
    verbs.choices["answer"].add_argument(
        "--json", action="store_true", help="print the answers as JSON, for other programs"
    )
    verbs.choices["page"].add_argument(
        "-o", "--output", help="file of the page (default: pages/NAME.html below --folder)"
    )
    plan = verbs.add_parser(
        "plan", help="find the epsilon that a planned release needs, or the noise and cost of a configured release",
        description="Compute the plan NAME: the smallest sufficient epsilon, or the noise and cost of a release.",
    )  # fmt: skip
    plan.add_argument("name", help="name of the plan: its key under `plans`")
    plan.add_argument("--folder", default=".", help="folder for results/plans/NAME.csv (default: current folder)")
    _files(plan)
    plan.set_defaults(act=_plan)
    check = verbs.add_parser(
        "check",
        help="list the mistakes in configuration files",
        description="Check configuration files without running anything.",
    )
    check.add_argument("files", nargs="+", help="configuration files; later files override earlier ones")
    check.set_defaults(act=_check)
    release = verbs.add_parser(
        "release", help="release confidential data once, and report the privacy cost",
        description="Make the release NAME of the configuration, once. No other command opens a confidential file.",
    )  # fmt: skip
    release.add_argument("name", help="name of the release: its key under `releases`")
    _files(release)
    release.set_defaults(act=_release)
    return whole


def _files(part: argparse.ArgumentParser) -> None:
    part.add_argument("--configfile", nargs="+", default=[], help="configuration files that override config.yaml")


def _numbers(part: argparse.ArgumentParser) -> None:
    part.add_argument("--noise", help="noise of a CSV file: laplace, discrete_laplace, ..")
    for name in _SCALES:
        part.add_argument(f"--{name}", type=float, help=f"{name} of the noise")
    part.add_argument(
        "--sensitivity",
        type=float,
        help="largest change of the counts when one record changes; with --epsilon or --rho",
    )
    part.add_argument("--total", type=int, help="public total of the counts in a CSV file")
    part.add_argument("--among", nargs="+", metavar="NAME", help="also compute shares among these counts")
    part.add_argument(
        "--about",
        choices=("counts", "rates", "both"),
        help="counts of the file, rates of the population, or both",
    )
    part.add_argument(
        "--columns", nargs="+", metavar=("A=B", ".."), help="names of the columns: name=county value=count"
    )
    part.add_argument("--withheld", metavar="SYMBOL=LIMIT", help="symbol of values withheld below a limit: '*=10'")
    part.add_argument("--missing", nargs="+", metavar=("A", ".."), help="symbols of values that are unknown")
    part.add_argument("--absent", nargs=2, metavar=("IS", "ALL"), help="cells not in the file: zero, withheld, unknown")
    part.add_argument("--exposure", metavar="COLUMN", help="rates: column of the CSV file with exposures (births)")
    part.add_argument("--covariates", nargs="+", metavar="COLUMN", help="rates: columns with covariates")
    part.add_argument("--per", type=float, help="rates: per this much exposure, such as 1000")
    part.add_argument("--family", choices=("rates", "shares"), help="rates of exposures, or shares of persons")
    part.add_argument("--prior", help="prior: a number, flat, jeffreys, 1/(1+n) or fitted")
    part.add_argument("--state", help="noisy measurement files: state, such as VT")
    part.add_argument("--product", choices=("pl94", "dhc"), help="noisy measurement files: Redistricting or DHC")
    part.add_argument("--table", choices=("person", "unit"), help="noisy measurement files: people or housing units")
    part.add_argument(
        "--cell",
        nargs="+",
        metavar="AXIS=LEVEL",
        help="noisy measurement files: categories that are counted (default: everyone)",
    )
    part.add_argument("--query", help="noisy measurement files: use only this query")
    part.add_argument(
        "--levels", nargs="+", metavar="LEVEL", help="noisy measurement files: County (default), Tract, .."
    )
    part.add_argument("--level", type=float, help="probability of the intervals (default: 0.95)")
    part.add_argument(
        "--confidence", type=float, help="also compute confidence intervals of this level, without a prior"
    )
    part.add_argument(
        "--ask",
        action="append",
        default=[],
        metavar="QUESTION",
        help="event whose probability is computed, e.g. 'a > b'",
    )
    part.add_argument("--folder", default=".", help="folder for results/scenarios/NAME.csv (default: current folder)")


def _answer(asked: argparse.Namespace) -> str:
    files = _made(asked)
    from .scenarios import summary

    return summary.as_json(files) if asked.json else summary.as_text(files)


def _page(asked: argparse.Namespace) -> str:
    from .scenarios import page

    files = _made(asked)
    target = Path(asked.output or Path(asked.folder, "pages", f"{files.csv.stem}.html"))
    budgets = _settings(asked.configfile).get("budgets") or {}
    summary = page.write(files, target, budgets=budgets)
    return f"{summary.headline}\n{target}"


def _made(asked: argparse.Namespace) -> "Files":
    """Compute the results of a scenario, and return the result files."""
    from .scenarios import making

    settings = _settings(asked.configfile)
    scenario = _scenario(asked, settings)
    if scenario.release and not Path(scenario.release).exists():
        raise ValueError(_unmade(str(scenario.settings["release"]), asked.configfile))
    files = making.files(scenario.name, asked.folder)
    tell = lambda line: print(line, file=sys.stderr)  # noqa: E731
    making.part(scenario, files, root_seed=settings.get("root_seed", _SEED), tell=tell)
    return files


def _unmade(release: str, files: Sequence[str]) -> str:
    """Return the message that a release does not exist yet, with the command that creates the release."""
    overlays = f" --configfile {' '.join(files)}" if files else ""
    return f"release {release!r} has not been made; to make it, run: dpm release {release}{overlays}"


def _scenario(asked: argparse.Namespace, settings: Mapping[str, Any]) -> "Scenario":
    from . import kind
    from .config import config, scenario_settings, user_files

    kinds, source = kind.discover(), asked.source
    stated = _stated(asked)
    written = settings.get("scenarios") or {}
    if source in written:
        if stated:
            raise ValueError(
                f"{source} is a scenario of the configuration, so its settings cannot be given on the "
                f"command line: set {', '.join(stated)} in the configuration"
            )
        whole = {**settings, "scenarios": {source: written[source]}}
    else:
        path = Path(source)
        if not path.exists():
            folder, release = (*path.parts, "", "")[:2]
            if folder == "releases" and release in (settings.get("releases") or {}):
                raise ValueError(_unmade(release, asked.configfile))
            known = ", ".join(written) or "none"
            hint = config.nearest(source, written)
            raise ValueError(
                f"{source!r} is not a file, a folder or a scenario. The available scenarios are {known}{hint}"
            )
        if path.is_dir() and (asked.state is not None or path.name.endswith("_PROD") or any(path.glob("*_PROD"))):
            name, mine = path.resolve().name, {"kind": "noisy_measurements", "folder": source, **stated}
        elif path.is_dir():
            name, mine = path.resolve().parent.name, {"release": source, **stated}
        else:
            kind_of = "protected_rates" if "exposure" in stated else "noisy_counts"
            name, mine = path.stem, {"kind": kind_of, "file": source, **stated}
        name = "".join(c if c.isalnum() or c == "_" else "_" for c in name.lower())
        whole = {"scenarios": {name if name[:1].isalpha() else f"s_{name}": mine}}
    large = Path(source).is_file() and Path(source).stat().st_size > _LARGE
    mistakes = [*user_files.mistakes(whole), *scenario_settings.mistakes(whole, kinds, thorough=not large)]
    if mistakes:
        lines = [f"  {place}: {text}" for place, text in sorted(set(mistakes))]
        noun = "mistake" if len(lines) == 1 else "mistakes"
        raise ValueError("\n".join([f"{len(lines)} {noun}; nothing was run.", *lines]))
    return next(iter(scenario_settings.named(whole, kinds).values()))


def _stated(asked: argparse.Namespace) -> dict[str, Any]:
    """Return the keys and values of a scenario that are given on the command line."""
    keys = (
        "total",
        "among",
        "about",
        "level",
        "confidence",
        "state",
        "product",
        "table",
        "query",
        "levels",
        *_RATES,
    )
    stated = {key: getattr(asked, key) for key in keys if getattr(asked, key) is not None}
    if asked.prior is not None:
        number = asked.prior.replace(".", "", 1).isdigit()
        stated["prior"] = float(asked.prior) if number else asked.prior
    if asked.columns:
        stated["columns"] = _columns(asked.columns)
    if asked.withheld is not None:
        symbol, sign, below = asked.withheld.rpartition("=")
        if not (sign and symbol and below.isdigit()):
            raise ValueError(f"--withheld must have the form symbol=limit (for example '*=10'), got {asked.withheld!r}")
        stated["withheld"] = {"symbol": symbol, "below": int(below)}
    if asked.absent is not None:
        stated["absent"] = _absent(*asked.absent)
    if asked.cell:
        stated["cell"] = _cell(asked.cell)
    if asked.ask:
        stated["questions"] = {text: {"probability": text} for text in asked.ask}
    scales = {name: getattr(asked, name) for name in (*_SCALES, "sensitivity") if getattr(asked, name) is not None}
    if asked.noise:
        stated["noise"] = {"law": asked.noise, **scales} if scales else asked.noise
    else:
        stated |= scales
    return stated


def _absent(meaning: str, cells: str) -> dict[str, Any]:
    """Return the value of the key ``absent`` for the option ``--absent MEANING CELLS``. MEANING is zero, withheld,
    withheld=10 or unknown, and CELLS is a CSV file of all cells or the word ``combinations``.
    """
    are, sign, below = meaning.partition("=")
    if sign and not below.isdigit():
        raise ValueError(f"--absent must be zero, withheld, withheld=limit or unknown, got {meaning!r}")
    return {"cells": cells, "are": are, **({"below": int(below)} if sign else {})}


def _columns(words: Sequence[str]) -> dict[str, str | list[str]]:
    """Return the file columns that are specified by arguments of the form ``name=column``. If one name is given several
    columns, their values together form the name.
    """
    by_name: dict[str, list[str]] = {}
    for word in words:
        ours, sign, theirs = word.partition("=")
        if not (ours and sign and theirs):
            raise ValueError(f"--columns must have the form name=column (for example name=county), got {word!r}")
        by_name.setdefault(ours, []).append(theirs)
    return {ours: listed[0] if len(listed) == 1 else listed for ours, listed in by_name.items()}


def _cell(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the histogram cell that is specified by arguments of the form ``axis=level``. An axis that is given twice
    includes both levels.
    """
    levels_by_axis: dict[str, list[str]] = {}
    for word in words:
        axis, sign, level = word.partition("=")
        if not (axis and sign and level):
            raise ValueError(f"--cell must have the form axis=level (for example hispanic=hispanic), got {word!r}")
        levels_by_axis.setdefault(axis, []).append(level)
    return levels_by_axis


def _settings(files: Sequence[str]) -> dict[str, Any]:
    """Return the settings in config.yaml of the current folder, merged with the overlays, or an empty dict if the file
    does not exist.
    """
    from .config import overlays

    paths = [*([overlays.BASE] if overlays.BASE.is_file() else []), *map(Path, files)]
    settings = overlays.merged(paths)
    for section in ("scenarios", "plans", "releases", "budgets"):
        entries = {} if settings.get(section) is None else settings[section]
        for place, value in [(section, entries), *((f"{section}.{name}", entry) for name, entry in _items(entries))]:
            if not isinstance(value, dict):
                raise ConfigError(f"{place} must be a mapping of keys to values, got {str(value)[:80]!r}")
    return settings


def _items(entries: Any) -> list[tuple[str, Any]]:
    return list(entries.items()) if isinstance(entries, dict) else []


def _check(asked: argparse.Namespace) -> str:
    from . import paper
    from .config import checks, overlays

    filled = checks.checked(overlays.merged(map(Path, asked.files)), paper.discover())
    sizes = {key: len(filled[key]) for key in ("scenarios", "plans", "releases") if filled[key]}
    totals = [f"{size} {key if size > 1 else key[:-1]}" for key, size in sizes.items()]
    return f"{', '.join(asked.files)}: no mistakes{'; ' if totals else ''}{', '.join(totals)}."


def _plan(asked: argparse.Namespace) -> str:
    from .config import config, plan_settings
    from .scenarios import planning

    settings = _settings(asked.configfile)
    written = settings.get("plans") or {}
    if asked.name not in written:
        hint = config.nearest(asked.name, written)
        action = (
            f"choose one of the available plans ({', '.join(written)})"
            if written
            else "add this plan to the key 'plans'"
        )
        raise ValueError(f"no plan is named {asked.name!r}: {action}{hint}")
    releases = settings.get("releases") or {}
    if wrong := sorted(set(plan_settings.mistakes({asked.name: written[asked.name]}, releases))):
        raise ValueError(
            "\n".join(["mistakes; nothing was run.", *(f"  plans.{place}: {text}" for place, text in wrong)])
        )
    if "release" in written[asked.name]:
        return _plan_of_release(asked, written[asked.name], settings)
    print("simulating releases ..", file=sys.stderr)
    seed = settings.get("root_seed", _SEED)
    plan = planning.made(asked.name, written[asked.name], root_seed=seed, folder=asked.folder)
    curve = plan.curve.to_string(index=False, float_format=lambda x: f"{x:.3g}", max_rows=20)
    sentence = planning.sentence(plan, plan_settings.filled(written[asked.name]))
    return f"{sentence}\n\n{curve}\n\nFull precision: {Path(asked.folder, 'results/plans', asked.name)}.csv and .json"


def _plan_of_release(asked: argparse.Namespace, written: dict[str, Any], settings: dict[str, Any]) -> str:
    from dpmultinomial._releases import checks

    from .config import plan_settings, user_files
    from .scenarios import planning

    name, budgets = written["release"], settings.get("budgets") or {}
    wrong = user_files.planned_mistakes(name, settings["releases"][name], budgets)
    if wrong:
        raise ValueError("\n".join(["mistakes; nothing was run.", *(f"  {place}: {text}" for place, text in wrong)]))
    plan = planning.release_made(
        asked.name, written, releases=settings["releases"], budgets=budgets, folder=asked.folder
    )
    filled = plan_settings.filled(written)
    table = planning.shown(plan, filled["level"]).to_string(index=False, max_rows=40)
    release = settings["releases"][name]
    source = release.get("source") or name
    limits = checks.limits(budgets, source)
    sentence = planning.release_sentence(plan, filled, source, limits, order=release.get("order"))
    return f"{sentence}\n\n{table}\n\nFull precision: {Path(asked.folder, 'results/plans', asked.name)}.csv and .json"


def _release(asked: argparse.Namespace) -> str:
    from dpmultinomial._releases.room import make, spent

    from .config import config

    settings = _settings(asked.configfile)
    written = settings.get("releases") or {}
    if asked.name not in written:
        hint = config.nearest(asked.name, written)
        raise ValueError(
            f"{asked.name!r} is not a release. The available releases are {', '.join(written) or 'none'}{hint}"
        )
    where: dict[str, Any] = {"budgets": settings.get("budgets") or {}, "root": Path.cwd()}
    folder = make(asked.name, written[asked.name], **where)
    return f"{folder.relative_to(Path.cwd())}\n{spent(asked.name, written[asked.name], **where)}"


if __name__ == "__main__":
    main()
