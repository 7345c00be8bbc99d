# The papers: one rule per simulation loop, table and figure, and one target per paper. The inputs and outputs of the
# rules are derived from paper.yaml in reproduction/jobs/artefacts.py. `make rules` lists the rules with their
# functions.

for paper in PAPERS.values():
    section = config[paper.slug]

    for loop in LOOPS[paper.slug]:

        rule:
            name:
                loop.rule
            input:
                kernels=kernels(paper, loop.module),
            output:
                csv=loop.file,
                provenance=provenance_of(loop.file),
            log:
                f"results/logs/{loop.rule}_{{shard}}_of_{loop.pieces}.log",
            priority: priority(loop.minutes)
            group:
                "tables" if loop.minutes < artefacts.LONG else None
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(2000),
                runtime=60,
            params:
                function=loop.function,
                settings=json_text.encoded(section[loop.settings]),
                stream=[paper.slug, loop.settings],
                pieces=loop.pieces,
                root_seed=config["root_seed"],
                code=digest(paper, loop.module),
            message:
                f"{loop.rule}: part {{wildcards.shard}} of {loop.pieces}"
            script:
                "../scripts/loop.py"

    for artefact, table in artefacts.tables(paper):
        reads = artefacts.inputs(paper, table, section, LOOPS[paper.slug])

        rule:
            name:
                artefacts.table_rule(paper, artefact)
            input:
                tables=list(reads.values()),
                files=[str(paper.folder / file) for file in table.files.values()],
                kernels=kernels(paper, table.module),
            output:
                csv=reported(paper, artefact, artefacts.table_file(paper, artefact.name), "table"),
                provenance=provenance_of(artefacts.table_file(paper, artefact.name)),
            log:
                f"results/logs/{artefacts.table_rule(paper, artefact)}.log",
            priority: FIRST if table.by == "measure" else priority(table.minutes)
            group:
                GROUPS[paper.slug].get(artefact.name)
            localrule: table.by == "gather"
            conda:
                ENVIRONMENT
            threads: ALL_CORES if table.by == "measure" else 1
            resources:
                mem_mb=memory(table.mem_mb),
                runtime=runtime(table.minutes),
            params:
                function=f"{paper.slug}.{table.function}",
                by=table.by,
                settings=json_text.encoded(section[table.settings]),
                stream=[paper.slug, table.settings],
                reads=list(reads),
                files=list(table.files),
                programs={program: shutil.which(program) or "" for program in table.programs},
                root_seed=config["root_seed"],
                label=artefact.label,
                caption=table.caption,
                code=digest(paper, table.module),
            message:
                f"{artefacts.table_rule(paper, artefact)}: {artefact.label}"
            script:
                "../scripts/table.py"

    for artefact in paper.artefacts:
        if figure := artefact.figure:

            rule:
                name:
                    artefacts.figure_rule(paper, artefact)
                input:
                    table=artefacts.table_file(paper, artefact.name),
                    printed=artefacts.printed(paper, figure.module),
                    kernels=kernels(paper, figure.module),
                output:
                    png=reported(paper, artefact, artefacts.figure_file(paper, artefact.name), "figure"),
                    pdf=artefacts.figure_file(paper, artefact.name, "pdf"),
                    provenance=provenance_of(artefacts.figure_file(paper, artefact.name)),
                log:
                    f"results/logs/{artefacts.figure_rule(paper, artefact)}.log",
                group:
                    "figures"
                conda:
                    ENVIRONMENT
                resources:
                    mem_mb=memory(figure.mem_mb),
                    runtime=runtime(figure.minutes),
                params:
                    function=f"{paper.slug}.{figure.function}",
                    label=artefact.label,
                    caption=figure.caption,
                    code=digest(paper, figure.module),
                message:
                    f"{artefacts.figure_rule(paper, artefact)}: {artefact.label}"
                script:
                    "../scripts/figure.py"

    rule:
        name:
            paper.slug
        input:
            paper_files(paper.slug),
