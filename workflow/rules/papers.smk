# One rule for every table and figure that a paper declares, named <paper>_<by>_<artefact>, and one target a paper.
#   compute    settings (and other tables) -> table            measure    the same for timings: runs alone
#   simulate   one shard of a long loop                        summarise  all shards -> table
#   draw       table -> figure
# What a paper does otherwise (by: gather) is in its own rules.smk.

for paper in PAPERS.values():
    for artefact in paper.artefacts:
        labels = {"artefact": artefact.label}
        if artefact.table and artefact.table.by != "gather":

            rule:
                name:
                    f"{paper.slug}_{artefact.table.by}_{artefact.name}"
                input:
                    tables=table_inputs(paper, artefact.table),
                    files=[str(paper.folder / file) for file in artefact.table.files.values()],
                    code=code(f"{paper.package}.{artefact.table.module}"),
                output:
                    csv=f"results/{paper.slug}/{artefact.name}.csv",
                    html=report(
                        f"results/{paper.slug}/{artefact.name}.html",
                        caption=CAPTION,
                        category=paper.slug,
                        labels=labels | {"what": "table"},
                    ),
                    provenance=f"results/{paper.slug}/{artefact.name}.provenance.json",
                log:
                    f"results/logs/{paper.slug}_{artefact.table.by}_{artefact.name}.log",
                benchmark:
                    f"results/benchmarks/{paper.slug}_{artefact.table.by}_{artefact.name}.tsv"
                conda:
                    ENVIRONMENT
                threads: QUIET if artefact.table.by == "measure" else 1
                resources:
                    mem_mb=artefact.table.mem_mb,
                    runtime=runtime(artefact.table.minutes),
                params:
                    function=f"{paper.slug}.{artefact.table.function}",
                    settings=sealing.sealed(config[paper.slug][artefact.table.settings]),
                    programs={name: shutil.which(name) or "" for name in artefact.table.programs},
                    files=artefact.table.files,
                    names=(paper.slug, artefact.table.settings),
                    root_seed=config["root_seed"],
                    by=artefact.table.by,
                    label=artefact.label,
                    caption=artefact.table.caption,
                message:
                    f"{paper.slug} {artefact.label}: table"
                script:
                    "../scripts/compute.py"

        if artefact.figure:

            rule:
                name:
                    f"{paper.slug}_draw_{artefact.name}"
                input:
                    table=f"results/{paper.slug}/{artefact.name}.csv",
                    code=code(f"{paper.package}.{artefact.figure.function.partition('.')[0]}"),
                output:
                    png=report(
                        f"figures/{paper.slug}/{artefact.name}.png",
                        caption=CAPTION,
                        category=paper.slug,
                        labels=labels | {"what": "figure"},
                    ),
                    pdf=f"figures/{paper.slug}/{artefact.name}.pdf",
                log:
                    f"results/logs/{paper.slug}_draw_{artefact.name}.log",
                conda:
                    ENVIRONMENT
                resources:
                    mem_mb=artefact.figure.mem_mb,
                    runtime=runtime(artefact.figure.minutes),
                params:
                    function=f"{paper.slug}.{artefact.figure.function}",
                    caption=artefact.figure.caption,
                message:
                    f"{paper.slug} {artefact.label}: figure"
                script:
                    "../scripts/draw.py"

    made = [artefact.table for artefact in paper.artefacts if artefact.table]
    for part, settings in sorted({(t.module, t.settings) for t in made if t.by == "summarise"}):

        rule:
            name:
                f"{paper.slug}_simulate_{part}"
            input:
                code=code(f"{paper.package}.{part}"),
            output:
                csv=f"results/{paper.slug}/simulated/{part}_{{shard}}_of_{SHARDS}.csv",
            log:
                f"results/logs/{paper.slug}_simulate_{part}_{{shard}}_of_{SHARDS}.log",
            benchmark:
                f"results/benchmarks/{paper.slug}_simulate_{part}_{{shard}}_of_{SHARDS}.tsv"
            conda:
                ENVIRONMENT
            resources:
                mem_mb=2000,
                runtime=60,
            params:
                function=f"{paper.slug}.{part}.simulate",
                settings=sealing.sealed(config[paper.slug][settings]),
                names=(paper.slug, settings),
                root_seed=config["root_seed"],
                shards=SHARDS,
            message:
                f"{paper.slug} {settings}: shard {{wildcards.shard}} of {SHARDS}"
            script:
                "../scripts/simulate.py"

    rule:
        name:
            paper.slug
        input:
            paper_files(paper.slug),
