# memlab: `make help` lists the targets.

PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null)
RUN := .venv/bin/python
CUDA ?= cuda13

# uv is used where it is found; pip does the same, more slowly. $(@D) is the environment's folder.
ifeq ($(UV),)
CREATE = $(PYTHON) -m venv $(@D)
INSTALL = $(@D)/bin/python -m pip install --quiet --disable-pip-version-check
else
CREATE = $(UV) venv --quiet --allow-existing --seed --python "$$(command -v $(PYTHON))" $(@D)
INSTALL = $(UV) pip install --quiet --python $(@D)/bin/python
endif

OLD = Here, $(PYTHON) is Python {}.{}, and memlab needs 3.11 or newer: \
try `make lab PYTHON=python3.12`.

# What CUDA's own release chooses, and PyTorch's in another way: no part of constraints.txt.
TOOLKIT = cuda-bindings cuda-toolkit $(addprefix nvidia-,cuda-cccl cuda-nvrtc cuda-runtime \
	nvjitlink nvvm)

# What draws at random, in the numbers that find the rare case.
LONG = MEMLAB_MUTANT_SEEDS=200 MEMLAB_GRAPHS=10000 MEMLAB_FUZZ_SECONDS=3600

# The proxy of JupyterHub, which npm installs.
PROXY = configurable-http-proxy
PROXY_VERSION = 5.3.0

.PHONY: help lab check test full hub gpu lessons record wasm site messages docs format constraints \
	clean
.DELETE_ON_ERROR:

help:  ## show this list
	@awk -F ':.*##' '/^[a-z]+:.*##/ {printf "  make %-15s%s\n", $$1, $$2}' Makefile

lab: .venv/lab  ## set up once, then open the lessons (ARGS=--no-browser)
	@$(RUN) -m memlab lab $(ARGS)

check: .venv/test  ## lint, types and the quick tests, in a minute, with times
	@$(RUN) tests/run.py check

test: .venv/test  ## run every check and every test, with times
	@$(RUN) tests/run.py $(ARGS)

full: .venv/test  ## every case and pair of techniques, then for hours what is drawn (ARGS=-x)
	@$(RUN) tests/run.py crosses
	@$(RUN) -m tests.cross
	@$(RUN) -m tests.cross --of 3 $(addprefix --only ,branches cells tokens)
	@MEMLAB_EVERY_LESSON=1 $(RUN) -m pytest -q -p no:nbval $(ARGS) tests/browser/test_again.py
	@MEMLAB_WEB=full $(RUN) tests/run.py web
	@MEMLAB_CLASSROOM=full $(RUN) -m pytest -q -s -p no:nbval $(ARGS) tests/classroom
	@MEMLAB_PLANTED=1 MEMLAB_CLASSROOM=full $(RUN) -m pytest -q -p no:nbval $(ARGS) \
		tests/test_planted.py tests/test_doctor_planted.py
	@$(MAKE) --no-print-directory hub
	@$(LONG) $(RUN) -m pytest -q -s $(ARGS) tests/lesson/test_mutants.py \
		tests/runtime/test_joins.py tests/cli/test_fuzz.py tests/ledger/test_files_fuzz.py \
		tests/techniques/test_triples.py

hub: .venv-hub/test .venv-hub/node_modules/$(PROXY)  ## try a JupyterHub with three learners (needs npm)
	@MEMLAB_CLASSROOM=full MEMLAB_RECORD=$(RECORD) .venv-hub/bin/python -m pytest -q -s -p no:nbval $(ARGS) \
		tests/classroom/test_hub.py tests/classroom/test_deploy.py

gpu: .venv/test  ## test on this machine's GPU, and record its figures (CUDA=cuda12)
	@$(RUN) -m tests.gpu look
	@$(MAKE) --no-print-directory .venv-cuda/test
	@.venv-cuda/bin/python -m tests.gpu

lessons: .venv/test  ## make the notebooks from lessons/source
	@$(RUN) lessons/build.py $(ARGS)

record: .venv/test  ## measure again what the lessons show as recorded (ARGS=03), and say what moved
	@$(RUN) lessons/record.py $(ARGS)

wasm: .venv/test  ## compile the kernels of web pages to build/web/kernels.wasm (needs wasm-ld)
	@$(RUN) -m web.wasm

messages: .venv/test  ## write what is to be translated into the files of messages (ARGS=zh)
	@$(RUN) lessons/messages.py $(ARGS)

docs: .venv/test  ## write the reference and the pages of docs/ as HTML to build/docs
	@$(RUN) docs/build.py

site: .venv/test wasm  ## build the site in build/site (SERVE=1 shows it, LITE=1, STICK=FOLDER)
	@$(RUN) -m web.site $(if $(SERVE),--serve) $(if $(LITE),--lite) $(if $(STICK),--stick "$(STICK)")

format: .venv/test  ## format the code
	@$(RUN) -m ruff check --fix .
	@$(RUN) -m ruff format .

constraints:  ## resolve the versions in constraints.txt again (needs uv)
	uv pip compile --quiet --universal --upgrade pyproject.toml \
		$(addprefix --extra ,lab lessons test cuda13) $(addprefix --no-emit-package ,$(TOOLKIT)) \
		--no-annotate --no-header --no-emit-index-url --output-file constraints.txt

clean:  ## remove the environment and the caches; my/ stays
	rm -rf .venv .venv-cuda .venv-hub build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache \
		.hypothesis .import_linter_cache
	find memlab tests lessons web -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is renewed when the dependencies change, and only then.
.venv/lab: EXTRAS = lab,lessons
.venv/test: EXTRAS = lab,lessons,test
.venv-cuda/test: EXTRAS = $(CUDA),test
.venv-hub/test: EXTRAS = hub,lab,lessons,test
.venv/lab .venv/test: .venv/pyvenv.cfg
.venv-cuda/test: .venv-cuda/pyvenv.cfg
.venv-hub/test: .venv-hub/pyvenv.cfg
.venv/lab .venv/test .venv-cuda/test .venv-hub/test: pyproject.toml constraints.txt
	@echo "Installing memlab[$(EXTRAS)] into $(@D) ..."
	@$(INSTALL) --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@

.venv-hub/node_modules/$(PROXY): .venv-hub/pyvenv.cfg
	@command -v npm >/dev/null || { echo "make hub needs npm, which installs $(PROXY)."; exit 1; }
	@npm install --silent --no-audit --no-fund --prefix $(@D)/.. $(PROXY)@$(PROXY_VERSION)
	@touch $@

.venv/pyvenv.cfg .venv-cuda/pyvenv.cfg .venv-hub/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; v = sys.version_info; \
		sys.exit("$(OLD)".format(*v) if v < (3, 11) else 0)'
	@$(CREATE)
