# Releases of confidential data: release_<name> makes a release, once. No other rule opens a confidential file. The
# rules have no output and no input, because Snakemake must neither change a published file nor store a checksum of a
# confidential file.

for release, settings in config["releases"].items():

    rule:
        name:
            f"release_{release}"
        log:
            f"results/logs/release_{release}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=4000,
            runtime=60,
        params:
            name=release,
            settings=json_text.encoded(settings),
            budgets=config["budgets"],
        message:
            f"release {release}: once, to releases/{release}/{settings.get('generation', 1)}"
        script:
            "../scripts/release.py"
