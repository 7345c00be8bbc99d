# One image with everything that a run needs, from envs/run.lock; results go to the folder mounted at /run:
#   docker build --tag dpmultinomial .
#   docker run --rm --user "$(id -u)" --volume "$PWD/run:/run" dpmultinomial --cores 2 [targets and options of snakemake]
# That folder holds the config.yaml of the run, for the papers this repository's own. The base is python:3.12.7-slim-bookworm, by its digest.
FROM python:3.12.7-slim-bookworm@sha256:032c52613401895aa3d418a4c563d2d05f993bc3ecc065c8f4e2280978acd249

RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends gcc libc6-dev make \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/dpmultinomial
COPY . .
RUN make .venv/.installed PYTHON=python && .venv/bin/python -m compileall -q src

ENV PATH=/opt/dpmultinomial/.venv/bin:$PATH HOME=/tmp
WORKDIR /run
ENTRYPOINT ["python", "-m", "reproduction.run", "--snakefile", "/opt/dpmultinomial/Snakefile"]
CMD ["--cores", "2"]
