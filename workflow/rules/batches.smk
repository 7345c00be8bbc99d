# Three rules for every batch of a user: a shard of its tables, all of them with a summary, and its figure.

for paper in PAPERS.values():
    for batch, settings in batches(paper).items():
        labels = {"artefact": f"batch {batch}"}

        rule:
            name:
                f"{paper.slug}_batches_{batch}"
            input:
                data=settings["data"],
                code=code(f"{paper.package}.batch", *BATCH_CODE),
            output:
                csv=f"results/{paper.slug}/batches/{batch}_{{shard}}_of_{SHARDS}.csv",
                provenance=f"results/{paper.slug}/batches/{batch}_{{shard}}_of_{SHARDS}{PROVENANCE}",
            log:
                f"results/logs/{paper.slug}_batches_{batch}_{{shard}}_of_{SHARDS}.log",
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(1000),
                runtime=240,
            params:
                function=f"{paper.slug}.batch.table",
                settings=json_text.encoded(settings),
                about=json_text.encoded(paper.settings["batch"]),
                names=(paper.slug, "batch", batch),
                root_seed=config["root_seed"],
                shards=SHARDS,
                label=f"{paper.slug} batch {batch}",
            message:
                f"{paper.slug} batch {batch}: shard {{wildcards.shard}} of {SHARDS}"
            script:
                "../scripts/batch.py"

        rule:
            name:
                f"{paper.slug}_batch_{batch}"
            input:
                parts=[
                    f"results/{paper.slug}/batches/{batch}_{shard}_of_{SHARDS}.csv"
                    for shard in range(1, SHARDS + 1)
                ],
                data=settings["data"],
                code=code(f"{paper.package}.batch", *BATCH_CODE),
            output:
                csv=f"results/{paper.slug}/batch_{batch}.csv",
                summary=f"results/{paper.slug}/batch_{batch}_summary.csv",
                html=report(
                    f"results/{paper.slug}/batch_{batch}.html",
                    caption=CAPTION,
                    category="batches",
                    subcategory=paper.slug,
                    labels=labels | {"what": "summary"},
                ),
                provenance=f"results/{paper.slug}/batch_{batch}{PROVENANCE}",
            log:
                f"results/logs/{paper.slug}_batch_{batch}.log",
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(1000),
                runtime=30,
            params:
                function=f"{paper.slug}.batch.table",
                settings=json_text.encoded(settings),
                root_seed=config["root_seed"],
                label=f"Batch {batch}",
                caption=f"Your batch {batch!r} of {paper.slug}: how many tables have which status.",
            message:
                f"{paper.slug} batch {batch}: table and summary"
            script:
                "../scripts/gather_batch.py"

        rule:
            name:
                f"{paper.slug}_draw_batch_{batch}"
            input:
                table=f"results/{paper.slug}/batch_{batch}.csv",
                code=code("reproduction.cases.batch_figure", "reproduction.cases.batch_tables"),
            output:
                png=report(
                    f"figures/{paper.slug}/batch_{batch}.png",
                    caption=CAPTION,
                    category="batches",
                    subcategory=paper.slug,
                    labels=labels | {"what": "figure"},
                ),
                pdf=f"figures/{paper.slug}/batch_{batch}.pdf",
                provenance=f"figures/{paper.slug}/batch_{batch}{PROVENANCE}",
            log:
                f"results/logs/{paper.slug}_draw_batch_{batch}.log",
            conda:
                ENVIRONMENT
            resources:
                mem_mb=memory(1000),
                runtime=10,
            params:
                caption=f"Your batch {batch!r} of {paper.slug}.",
            message:
                f"{paper.slug} batch {batch}: figure"
            script:
                "../scripts/draw_batch.py"
