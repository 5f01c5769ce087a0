# memlab: `make help` lists the targets.

PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null)
RUN := .venv/bin/python

# uv is used where it is found; pip does the same, more slowly.
ifeq ($(UV),)
CREATE = $(PYTHON) -m venv .venv
INSTALL = $(RUN) -m pip install --quiet --disable-pip-version-check
else
CREATE = $(UV) venv --quiet --allow-existing --seed --python "$$(command -v $(PYTHON))" .venv
INSTALL = $(UV) pip install --quiet --python $(RUN)
endif

OLD = Here, $(PYTHON) is Python {}.{}, and memlab needs 3.11 or newer: \
try `make lab PYTHON=python3.12`.

.PHONY: help lab test lessons format constraints clean
.DELETE_ON_ERROR:

help:  ## show this list
	@sed -n 's/^\([a-z]*\):.*##/  make \1 \t/p' Makefile | expand -t 22

lab: .venv/lab  ## set up once, then open the lessons (ARGS=--no-browser)
	@$(RUN) -m memlab lab $(ARGS)

test: .venv/test  ## run every check and every test, with times
	@$(RUN) tests/run.py $(ARGS)

lessons: .venv/test  ## make the notebooks from lessons/source
	@$(RUN) lessons/build.py $(ARGS)

format: .venv/test  ## format the code
	@$(RUN) -m ruff check --fix .
	@$(RUN) -m ruff format .

constraints:  ## resolve the versions in constraints.txt again (needs uv)
	uv pip compile --quiet --universal --upgrade --extra lab --extra lessons --extra test pyproject.toml \
		--no-annotate --no-header --no-emit-index-url --output-file constraints.txt

clean:  ## remove the environment and the caches; my/ stays
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache \
		.hypothesis .import_linter_cache
	find memlab tests lessons -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is renewed when the dependencies change, and only then.
.venv/lab: EXTRAS = lab,lessons
.venv/test: EXTRAS = lab,lessons,test
.venv/lab .venv/test: .venv/pyvenv.cfg pyproject.toml constraints.txt
	@echo "Installing memlab[$(EXTRAS)] into .venv ..."
	@$(INSTALL) --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; v = sys.version_info; \
		sys.exit("$(OLD)".format(*v) if v < (3, 11) else 0)'
	@$(CREATE)
