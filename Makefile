# The front door. Needs python3 (3.11 or newer) with pip, and make; everything else is fetched into .venv, by hash.
#
#   make crawl                                    crawl the bundled sample site
#   make crawl URL=https://example.org/ ARGS="--max-pages 100"
#   make test ARGS="-k resume"

PYTHON ?= python3
UV ?= uv
URL ?=
ARGS ?=
# Tests run in parallel; JOBS=0 runs them in one process.
JOBS ?= auto

VENV := .venv
PY := $(VENV)/bin/python
LOCKED := requirements/build.txt requirements/runtime.txt requirements/dev.txt requirements/docs.txt
# pip of the machine installs into .venv: a bare Debian has no ensurepip, and so no pip for a new environment.
PIP := $(PYTHON) -m pip --python $(PY) --disable-pip-version-check
PIP_LOCKED := $(PIP) install --quiet --require-hashes

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup crawl demo test test-system coverage check format docs pictures bench lock clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@printf '\n  URL=, ARGS=, JOBS= and PYTHON= can be given, as in: make crawl URL=https://example.org/ ARGS="-n 100"\n'

# ---- the environment: two stamps, so that a second `make` costs nothing -------------------------------------------

setup: $(VENV)/.ready ## make .venv with the locked dependencies and the holdfast command
	@echo "Holdfast is ready: $(VENV)/bin/holdfast"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Holdfast needs Python 3.11 or newer, and $(PYTHON) is not: name one, as in 'make $(or $(firstword $(MAKECMDGOALS)),setup) PYTHON=python3.12'." >&2; exit 1; }
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || { \
	  echo "$(PYTHON) has no pip: install it (on Debian and Ubuntu: apt-get install python3-pip), then run this again." >&2; exit 1; }
	@$(PYTHON) -m venv --clear --without-pip $(VENV) || { \
	  echo "$(PYTHON) can't make a virtual environment: install its venv module (on Debian and Ubuntu: apt-get install python3-venv), then run this again." >&2; exit 1; }
	@touch $@

$(VENV)/.ready: $(VENV)/.made requirements/build.txt requirements/runtime.txt pyproject.toml
	@echo "Installing Holdfast into $(VENV) ..." >&2
	@$(PIP_LOCKED) -r requirements/build.txt -r requirements/runtime.txt
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready requirements/dev.txt
	@echo "Installing what the checks and tests need into $(VENV) ..." >&2
	@$(PIP_LOCKED) -r requirements/dev.txt
	@touch $@

$(VENV)/.ready-docs: $(VENV)/.ready requirements/docs.txt
	@echo "Installing what builds the documentation into $(VENV) ..." >&2
	@$(PIP_LOCKED) -r requirements/docs.txt
	@touch $@

# ---- what it is for -----------------------------------------------------------------------------------------------

crawl: $(VENV)/.ready ## crawl URL (without one: the bundled sample site); the same command again resumes
	@$(if $(URL),$(VENV)/bin/holdfast crawl '$(URL)' $(ARGS),$(PY) -m holdfast.sample $(ARGS))

demo: $(VENV)/.ready ## crawl the sample site, kill the crawl again and again, and count what that cost
	@HOLDFAST_HOME=$$(mktemp -d) && export HOLDFAST_HOME && trap 'rm -rf "$$HOLDFAST_HOME"' EXIT && \
	  $(PY) -m holdfast.sample chaos --delay 0.05 $(ARGS)

test: $(VENV)/.ready-dev ## run all tests
	@$(MAKE) --no-print-directory test-system
	$(PY) -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

coverage: $(VENV)/.ready-dev ## run the tests that kill nothing, and see that they reach at least 85 % of lines and branches
	@$(MAKE) --no-print-directory test-system
	@$(PY) -m coverage erase
	$(PY) -m coverage run -m pytest -q -n $(JOBS) tests/unit tests/contract tests/stateful tests/e2e $(ARGS)
	@$(PY) -m coverage combine --quiet
	$(PY) -m coverage report --skip-covered

check: $(VENV)/.ready-dev ## format, lint, types, layers
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

format: $(VENV)/.ready-dev ## put the code into its format and mend what ruff can
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

docs: $(VENV)/.ready-docs ## build the documentation as a site (docs/_build/index.html); a link that leads nowhere fails it
	$(PY) -m sphinx -b html --fail-on-warning --keep-going --quiet docs docs/_build
	@echo "The documentation is in docs/_build/index.html"

pictures: $(VENV)/.ready-dev ## make the README's pictures anew from a real crawl: docs/images/live.svg and report.png
	@$(MAKE) --no-print-directory test-system
	PYTHONPATH=. $(PY) docs/images/make.py

bench: $(VENV)/.ready-dev ## measure: speed, kills, resuming at millions of URLs
	@$(MAKE) --no-print-directory test-system
	$(PY) -m benchmarks $(ARGS)

# Tests against a real server, a real site and a real browser use nginx, Debian's python3-doc and Chromium; where these
# can't be had, they skip and say so. The policy file keeps the packaged nginx from being started as a service, and path-include brings the pages
# onto images whose dpkg leaves documentation out.
test-system: # installs nginx, python3-doc and chromium where they are missing, by apt-get as root
	@if command -v nginx >/dev/null && command -v chromium >/dev/null && [ -e /usr/share/doc/python3-doc/html/index.html ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	  echo "nginx, python3-doc or chromium is missing; the tests that need it will skip (as root on Debian this installs them)."; exit 0; fi; \
	echo "Installing nginx-light, python3-doc and chromium for the tests ..."; \
	if ! [ -e /usr/sbin/policy-rc.d ]; then \
	  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d; \
	  trap 'rm -f /usr/sbin/policy-rc.d' EXIT; fi; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get -qq update && apt-get -qq install -y --no-install-recommends \
	  -o 'Dpkg::Options::=--path-include=/usr/share/doc/python3*' \
	  $$(command -v nginx >/dev/null || echo nginx-light) $$(command -v chromium >/dev/null || echo chromium) python3-doc >/dev/null \
	|| echo "apt-get could not install them; the tests that need them will skip."

# ---- upkeep -------------------------------------------------------------------------------------------------------

COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-emit-find-links --custom-compile-command "make lock"

lock: ## pin the dependencies anew (needs uv; ARGS=--upgrade takes newer ones)
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: install it, or name it with UV=path." >&2; exit 1; }
	$(COMPILE) $(ARGS) pyproject.toml -o requirements/runtime.txt
	$(COMPILE) $(ARGS) -c requirements/runtime.txt --group build -o requirements/build.txt
	$(COMPILE) $(ARGS) -c requirements/runtime.txt -c requirements/build.txt --group dev pyproject.toml -o requirements/dev.txt
	$(COMPILE) $(ARGS) -c requirements/runtime.txt -c requirements/dev.txt --group docs pyproject.toml -o requirements/docs.txt
	@if grep -nE '[a-z]+://|(^|[ =])/' $(LOCKED); then echo "A lock file names a host or a path of this machine." >&2; exit 1; fi

clean: ## remove .venv and what the tools leave behind (never a .holdfast home)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.* htmlcov dist build docs/_build
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
