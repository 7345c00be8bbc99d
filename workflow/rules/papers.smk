# One rule for every job of tables or figures of a paper, and one target a paper; which tables and figures share a job:
# reproduction/jobs/jobs.py.
#   <paper>_compute_<job>     settings (and other tables) -> tables, with the short loops that they summarise
#   <paper>_measure_<job>     the same for timings: runs alone
#   <paper>_simulate_<loop>   one piece of a long loop
#   <paper>_draw_<job>        tables -> figures
# What a paper does otherwise (by: gather) is in its own rules.smk.

for paper in PAPERS.values():
    for job in TABLES[paper.slug]:
        if job.by != "gather":
            results = f"results/{paper.slug}"

            rule:
                name:
                    job.rule
                input:
                    tables=job.reads,
                    files=job_files(paper, job),
                    kernels=kernels(paper, job.modules),
                output:
                    csv=[f"{results}/{a.name}.csv" for a in job.artefacts],
                    html=[reported(paper, a, f"{results}/{a.name}.html", "table") for a in job.artefacts],
                    provenance=[f"{results}/{a.name}{PROVENANCE}" for a in job.artefacts],
                    simulated=[file for loop in job.loops for file in loop.files],
                    simulated_provenance=provenances(file for loop in job.loops for file in loop.files),
                log:
                    f"results/logs/{job.rule}.log",
                priority: first(job)
                group:
                    together(job)
                conda:
                    ENVIRONMENT
                threads: QUIET if job.by == "measure" else 1
                resources:
                    mem_mb=memory(job.mem_mb),
                    runtime=runtime(job.minutes),
                params:
                    parts=parts.of_tables(paper, job, config[paper.slug], LOOPS[paper.slug]),
                    loops=[parts.of_loop(loop, config[paper.slug]) for loop in job.loops],
                    captions=parts.captions(job),
                    root_seed=config["root_seed"],
                    code=digest(paper, job.modules),
                message:
                    f"{paper.slug}: {some(job.artefacts)}"
                script:
                    "../scripts/make.py"

    for loop in LOOPS[paper.slug]:
        if loop.pieces:

            rule:
                name:
                    loop.rule
                input:
                    kernels=kernels(paper, [loop.module]),
                output:
                    csv=loop.file,
                    provenance=provenances([loop.file]),
                log:
                    f"results/logs/{loop.rule}_{{shard}}_of_{loop.pieces}.log",
                priority: first(loop)
                conda:
                    ENVIRONMENT
                resources:
                    mem_mb=memory(2000),
                    runtime=60,
                params:
                    loop=parts.of_loop(loop, config[paper.slug]),
                    root_seed=config["root_seed"],
                    code=digest(paper, [loop.module]),
                message:
                    f"{paper.slug} {loop.settings}: piece {{wildcards.shard}} of {loop.pieces}"
                script:
                    "../scripts/simulate.py"

    for job in FIGURES[paper.slug]:

        rule:
            name:
                job.rule
            input:
                tables=[f"results/{paper.slug}/{a.name}.csv" for a in job.artefacts],
                printed=jobs.printed(paper, job.modules),
                kernels=kernels(paper, job.modules),
            output:
                png=[
                    reported(paper, a, f"figures/{paper.slug}/{a.name}.png", "figure") for a in job.artefacts
                ],
                pdf=[f"figures/{paper.slug}/{a.name}.pdf" for a in job.artefacts],
                provenance=[f"figures/{paper.slug}/{a.name}{PROVENANCE}" for a in job.artefacts],
            log:
                f"results/logs/{job.rule}.log",
            group:
                "figures"
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(job.mem_mb),
                runtime=runtime(job.minutes),
            params:
                parts=parts.of_figures(paper, job),
                captions=parts.captions(job),
                code=digest(paper, job.modules),
            message:
                f"{paper.slug} figures: {some(job.artefacts)}"
            script:
                "../scripts/figures.py"

    rule:
        name:
            paper.slug
        input:
            paper_files(paper.slug),
