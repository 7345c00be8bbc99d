# make reproduce [CORES=N] · make test · make report · make docs · make attacks · make bench · make lint · make env
CORES ?= 2
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SNAKEMAKE = $(BIN)/snakemake --cores $(CORES) --rerun-incomplete --show-failed-logs $(ARGS)
SOURCES := pyproject.toml setup.py $(wildcard src/dpmultinomial/kernels/*.p[yx]*)
unexport PYTHONDONTWRITEBYTECODE
export PATH := $(CURDIR)/$(BIN):$(PATH)
.PHONY: reproduce test report docs attacks bench lint env
.DELETE_ON_ERROR:

reproduce: env
	$(SNAKEMAKE)

test: env
	$(BIN)/python -m pytest $(ARGS)

report: reproduce
	$(SNAKEMAKE) --report results/report.html

docs: env
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html

attacks: env
	$(BIN)/python tests/attacks/campaign.py && $(BIN)/python -m pytest -q tests/attacks -m "attack or not attack"

bench: env
	$(BIN)/python tests/bench/run.py $(ARGS)

lint: env
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow src/reproduction/papers/*/rules.smk
	$(BIN)/snakemake --lint
	$(BIN)/python -m mypy

env: $(VENV)/.installed

# Packages are pinned and hash-checked; the kernels are compiled against the NumPy of this same environment.
$(VENV)/.packages: envs/requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try make PYTHON=python3.12")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r envs/requirements.lock
	touch $@

$(VENV)/.installed: $(VENV)/.packages $(SOURCES)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@
