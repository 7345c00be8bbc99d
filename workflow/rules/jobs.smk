# What the rules of the papers and of the report ask about jobs and what they made. No rules here.


def kernels(paper, modules):
    """Compiled kernels that a job runs: inputs of its rule, so that an edited one is compiled."""
    return [str(path) for path in dependencies.extensions(*(f"{paper.package}.{name}" for name in modules))]


def digest(paper, modules):
    """What a job's Python files are: a parameter of its rule, so that an edit re-runs what uses them."""
    return dependencies.digest(*(f"{paper.package}.{name}" for name in modules))


def job_files(paper, job):
    """Files of the paper's folder that a job's tables read."""
    return [str(paper.folder / file) for artefact in job.artefacts for file in artefact.table.files.values()]


def reported(paper, artefact, file, what):
    """A file of the paper's part of the report."""
    labels = {"artefact": artefact.label, "what": what}
    return report(file, caption=CAPTION, category=paper.slug, labels=labels)


def some(artefacts):
    """Names of artefacts for a message, three at most."""
    names, more = [artefact.name for artefact in artefacts[:3]], len(artefacts) - 3
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def first(job):
    """Priority of a job: timings while all cores are free, then what takes longest."""
    return 10_000 if getattr(job, "by", "") == "measure" else round(100 * job.minutes)


def together(job):
    """Group of quick tables that wait for nothing; on clusters a submission holds several of them (profiles/slurm)."""
    waits = any(str(file).startswith("results/") for file in job.reads)
    return None if waits or job.by != "compute" or job.minutes > jobs.QUICK else "tables"


def declared_minutes():
    """Rule -> minutes that one of its jobs is expected to take; a timing whose programs are missing takes none."""
    minutes = {}
    for slug in PAPERS:
        for job in (*TABLES[slug], *FIGURES[slug]):
            programs = {
                name for a in job.artefacts if a.table and job in TABLES[slug] for name in a.table.programs
            }
            minutes[job.rule] = 0 if programs and not any(map(shutil.which, programs)) else job.minutes
        minutes |= {loop.rule: loop.minutes / loop.pieces for loop in LOOPS[slug] if loop.pieces}
    return minutes


def imported():
    """Rule -> modules that its jobs import: what a loaded process holds."""
    found = {f"{slug}_compare": [f"{paper.package}.agreement"] for slug, paper in PAPERS.items()}
    for slug, paper in PAPERS.items():
        for job in (*TABLES[slug], *FIGURES[slug]):
            found[job.rule] = [f"{paper.package}.{name}" for name in job.modules]
        found |= {loop.rule: [f"{paper.package}.{loop.module}"] for loop in LOOPS[slug] if loop.pieces}
    for scenario in SCENARIOS.values():
        own = scenario_modules(scenario)
        found |= {f"scenario_{scenario.name}": own, f"scenario_{scenario.name}_parts": own}
    for study in studies.discover().values():
        found |= {f"study_{study.name}": [study.module], f"study_{study.name}_part": [study.module]}
    return found | {name: [f"reproduction.verdicts.{name}"] for name in ("agreement", "summary")}


def provenances(files):
    """What states the bytes of files: one for each of them that has a name of its own."""
    return [str(Path(file).with_suffix(PROVENANCE)) for file in files]


def memory(mb):
    """Memory to ask for, in MB: more at each further attempt."""
    return lambda wildcards, attempt: mb * attempt


def there_is():
    """What is there of the papers under `run`: a report of a part of a run says what is missing."""
    made = [path for slug in config["run"] for path in paper_files(slug)]
    made += [path for name in SCENARIOS for path in scenario_files(name)]
    for name, settings in config["releases"].items():
        folder = made_releases.folder(name, settings)
        made += [str(folder / file) for file in ("release.csv", made_releases.RECORD)]
    return [path for path in made if Path(path).is_file()]
