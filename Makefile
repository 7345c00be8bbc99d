# `make` without a target prints the list of targets.
CORES ?= 2
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SNAKEMAKE = $(BIN)/python -P -m reproduction.run --cores $(CORES) --quiet reason --rerun-incomplete --show-failed-logs $(ARGS)
SOURCES := pyproject.toml setup.py $(shell find src -name "*.pyx" -o -name "*.pxd" -o -name "*.h")
unexport PYTHONDONTWRITEBYTECODE
OUTSIDE := $(PATH)
export PATH := $(CURDIR)/$(BIN):$(PATH)
.PHONY: help reproduce smoke test test-all report costs rules archive verify verified release docs attacks cluster-test bench mutants lint env
.DELETE_ON_ERROR:

help:
	@echo "make reproduce  every figure, table and verdict of the papers in config.yaml   [CORES=N] [ARGS=..]"
	@echo "make smoke      the whole workflow at toy size, in build/smoke"
	@echo "make test       samplers against exact distributions, kernels against reference implementations, the workflow of one paper"
	@echo "make test-all   also all papers at toy size, attacks, killed, repeated and embedded runs, larger cases, and verdicts on deliberately wrong results (CI)"
	@echo "make report     report of the run: results/report/index.html, readable offline"
	@echo "make costs      CPU seconds of the last run in this folder, by rule; make rules: every rule with its function, file and artefact"
	@echo "make archive    the run as one file for a journal or a library; make verify checks it in the unpacked archive"
	@echo "make release    release confidential data with exact noise   [ARGS=\"release_county --configfile county.yaml\"]"
	@echo "make docs       build and test the documentation, and the report in a browser: docs/_build/html/index.html"
	@echo "make attacks    attacks on releases, many times; make bench: speed relative to baselines; make lint; make env"
	@echo "make cluster-test  start a Slurm of one node and test submissions, kills, memory and identical results (root, Debian)"
	@echo "make mutants    mutation tests of packages and kernels: changes of the code that the tests detect   [ARGS=--list]"

# Packages are installed when they are needed: for a run, for a release (exact noise), or for the tests (all packages).
# See envs/README.md.
RUN := $(VENV)/.installed $(if $(findstring release_,$(ARGS)),$(VENV)/.release)

reproduce: $(RUN)
	$(SNAKEMAKE)

smoke: $(RUN)
	mkdir -p build/smoke && $(BIN)/python -P -m reproduction.smoke > build/smoke/config.yaml
	cd build/smoke && $(CURDIR)/$(BIN)/python -P -m reproduction.run --snakefile $(CURDIR)/Snakefile --cores $(CORES) --rerun-incomplete

test: env
	$(BIN)/python -m pytest -n $(CORES) $(ARGS)

test-all: env
	$(BIN)/python -m pytest -n $(CORES) -m "not slow and not attack and not site" tests src/reproduction $(ARGS)

report: reproduce
	$(SNAKEMAKE) report
	@echo "Open results/report/index.html"

costs: $(VENV)/.installed
	@$(BIN)/python -P -m reproduction.jobs.costs

rules: $(VENV)/.installed
	@$(BIN)/python -P -m reproduction.listing

archive: reproduce
	$(BIN)/python -P -m reproduction.archive

# Nothing in this folder is run before its checksums have been compared. Then a copy of the listed files is built and
# run.
verify: export PATH := $(OUTSIDE)
verify:
	@set -e; new=$$(mktemp -d); trap 'rm -rf "$$new"' EXIT; \
	$(PYTHON) -I -B -X pycache_prefix="$$new/compiled" src/reproduction/archive/checksums.py . "$$new/archive"; \
	$(MAKE) --no-print-directory -C "$$new/archive" verified FOLDER="$(CURDIR)" COMPILED="$$new/compiled"

verified: $(VENV)/.installed
	$(BIN)/python -I -B -X pycache_prefix="$(COMPILED)" -m reproduction.archive verify "$(FOLDER)"

release: $(VENV)/.installed $(VENV)/.release
	$(if $(ARGS),$(SNAKEMAKE),@echo 'Name a release: make release ARGS="release_county --configfile county.yaml"'; exit 2)

docs: env
	rm -rf docs/_build/html
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python -m pytest -q -m site tests/docs tests/browser

attacks: env
	$(BIN)/python tests/attacks/campaign.py && $(BIN)/python -m pytest -q tests/attacks -m "attack or not attack"

cluster-test: env
	$(BIN)/python -m tests.cluster.run $(ARGS)

bench: env
	$(BIN)/python tests/bench/run.py $(ARGS)

mutants: env
	$(BIN)/python tests/mutants/run.py $(ARGS) $(if $(ARGS),,; code=$$?; $(BIN)/python tests/mutants/kernels.py && exit $$code)

lint: env
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/snakefmt --check Snakefile workflow src/reproduction/papers/*/rules.smk
	$(BIN)/snakemake --lint
	$(BIN)/python -m pytest -q -m house tests/unit
	$(BIN)/python -m mypy && $(BIN)/python -m pytest -q -m slow tests/unit/test_wheel.py -k stubs

env: $(VENV)/.installed $(VENV)/.develop

# The versions and hashes of the packages are fixed, and the kernels are compiled against the NumPy of the same
# environment.
INSTALL = $(BIN)/python -m pip install --quiet --no-deps --require-hashes -r

$(VENV)/.run: envs/run.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try make PYTHON=python3.12")'
	$(PYTHON) -m venv --clear $(VENV)
	$(INSTALL) $<
	touch $@

$(VENV)/.release $(VENV)/.develop: $(VENV)/.%: envs/%.lock $(VENV)/.run
	$(INSTALL) $<
	touch $@

$(VENV)/.installed: $(VENV)/.run $(SOURCES)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@
