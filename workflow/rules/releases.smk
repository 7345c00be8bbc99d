# Releases of confidential data: release_<name> makes one, once. No other rule opens a confidential file.
# The rules have no output and no input: Snakemake must neither touch a published file nor keep a checksum of a
# confidential one.

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
