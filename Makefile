# Everything a person or CI calls. `make` lists the targets.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

PY := .venv/bin/python
# A path, or a version that tools/toolchain has pins for.
ifdef NOMAD_BIN
export NOMAD_STATEFUL_NOMAD := $(NOMAD_BIN)
endif
SANDBOX_SHELL := settings=$$($(PY) -m sandbox env) && eval "$$settings"
WORKERS := 4
CACHE := $${XDG_CACHE_HOME:-$$HOME/.cache}/nomad-stateful

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: bootstrap
bootstrap: ## make .venv from requirements.lock (the other targets do this themselves)
	@tools/bootstrap.sh

.PHONY: up
up: bootstrap ## start the sandbox, deploy the stack, say where MySQL answers (TLS=1, OFFICIAL=DIR: official parts)
	@$(PY) -m sandbox up $(if $(TLS),--tls) $(if $(OFFICIAL),--official "$(OFFICIAL)")

.PHONY: verify
verify: bootstrap ## prove that rows survive a purge, a redeploy and a move to another client
	@$(SANDBOX_SHELL) && $(PY) -m nomad_stateful.operate verify

.PHONY: preview
preview: bootstrap ## show what the program would change in the sandbox
	@$(SANDBOX_SHELL) && pulumi preview

.PHONY: preview-report
preview-report: bootstrap ## what a reviewer reads: this change against BASE in a sandbox of its own, or against STACK
	@set -- --labels "$${LABELS:-}"; \
	test -z "$${OUTPUT:-}" || set -- "$$@" --output "$$OUTPUT"; \
	test ! -e policy/PulumiPolicy.yaml || set -- "$$@" --policy-pack policy; \
	if test -n "$${STACK:-}"; then $(PY) -m tools.preview_report --stack "$$STACK" "$$@"; \
	else $(PY) -m tools.preview_change --base "$${BASE:-}" "$$@"; fi

.PHONY: pictures
pictures: bootstrap ## draw doctor, status and explain for the docs, from runs on the sandbox (MySQL restarts once)
	@$(SANDBOX_SHELL) && $(PY) -m tools.pictures

.PHONY: mysql
mysql: bootstrap ## open the database's client on the sandbox's MySQL
	@$(SANDBOX_SHELL) && $(PY) -m nomad_stateful.operate mysql

.PHONY: down
down: bootstrap ## destroy the stack and stop the sandbox (FORCE=1: drop both without a destroy)
	@$(PY) -m sandbox down $(if $(FORCE),--force)

.PHONY: examples
examples: bootstrap ## bring every stack of examples/ up, check what it stored, destroy it (NAME=one, OFFICIAL=DIR)
	@$(PY) -m tools.examples $(if $(OFFICIAL),--official "$(OFFICIAL)") $(ARGS) $(NAME)

.PHONY: bench
bench: bootstrap ## measure up, a second up and destroy beside the floor and a plain program, and write docs/performance.md (ARGS=--quick, OFFICIAL=DIR)
	@$(PY) -m tools.bench run $(if $(OFFICIAL),--official "$(OFFICIAL)") $(ARGS)

.PHONY: failover
failover: bootstrap ## measure how long MySQL is away when its instance is lost, phase by phase (ARGS='--settings watched')
	@$(PY) -m tools.bench.failover $(ARGS)

.PHONY: commits
commits: bootstrap ## measure how long a commit takes with a MySQL group, by the delay between its zones, and with a single server (ARGS='--delays 0 2')
	@$(PY) -m tools.bench.commits $(ARGS)

.PHONY: test
test: bootstrap ## run all tests (WORKERS=4, OFFICIAL=DIR); those that need root or the toolchain are named when they are left out
	@$(PY) -m tools.packages --tests || true
	@$(PY) -m sandbox images $(if $(OFFICIAL),--official "$(OFFICIAL)") >/dev/null || true
	@$(PY) -m tools.toolchain >/dev/null || true
	@$(if $(OFFICIAL),NOMAD_STATEFUL_OFFICIAL="$(abspath $(OFFICIAL))") $(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

.PHONY: test-times
test-times: ## run all tests and keep how long each file took, which the order and the estimate of a run go by (TIER=nightly-slow)
	@$(MAKE) $(or $(TIER),test) ARGS="--record-times $(ARGS)"

.PHONY: random-settings
random-settings: bootstrap ## draw settings at random: what is accepted, Nomad and AWS accept (EXAMPLES=2000, SEED=)
	@RANDOM_SETTINGS=$(or $(EXAMPLES),2000) $(PY) -m pytest tests/random_settings $(if $(SEED),--hypothesis-seed=$(SEED))

.PHONY: matrix
matrix: bootstrap ## the stack's whole life on each Nomad (NOMADS="1.11.2 1.11.3 2.0.5 /path/to/nomad")
	@$(PY) -m tests.nomad_matrix $(or $(NOMADS),1.11.2 1.11.3 2.0.5)

.PHONY: nightly nightly-slow nightly-embedded
nightly: RUNS = 14
nightly: CHECK = 1
nightly: nightly-slow site $(if $(OFFICIAL),nightly-embedded) matrix examples faults group-faults zone-changes planted ## what CI has no time for: tests marked nightly, each Nomad, examples, faults and planted defects; with OFFICIAL the embedded nomad plugin too (-k: go on after a failure)

nightly-slow: bootstrap
	@$(PY) -m tools.packages --tests || true
	@$(PY) -m sandbox images $(if $(OFFICIAL),--official "$(OFFICIAL)") >/dev/null || true
	@$(if $(OFFICIAL),NOMAD_STATEFUL_OFFICIAL="$(abspath $(OFFICIAL))") $(PY) -m pytest -m nightly $(ARGS)

nightly-embedded: bootstrap
	@NOMAD_STATEFUL_OFFICIAL= $(PY) -m pytest -m "nightly or not nightly" tests/sandbox/test_stack*.py tests/sandbox/test_changes_of_*.py tests/sandbox/test_volume_changes*.py
	@$(PY) -m tools.examples

.PHONY: faults
faults: bootstrap ## break a running stack on purpose and count what it lost (DATABASE=postgres, SERVERS=3, RUNS=, SEED=, LONG=1, LANES=, ONLY=, RUN=, WITHOUT=, OFFICIAL=DIR)
	@set --; \
	test -z "$(LONG)" || set -- "$$@" --long; \
	test -z "$(RUNS)" || set -- "$$@" --runs "$(RUNS)"; \
	test -z "$(SEED)" || set -- "$$@" --seed "$(SEED)"; \
	test -z "$(LANES)" || set -- "$$@" --lanes "$(LANES)"; \
	test -z "$(DATABASE)" || set -- "$$@" --database "$(DATABASE)"; \
	test -z "$(SERVERS)" || set -- "$$@" --servers "$(SERVERS)"; \
	test -z "$(ONLY)" || set -- "$$@" --only "$(ONLY)"; \
	for number in $(RUN); do set -- "$$@" --run "$$number"; done; \
	for number in $(WITHOUT); do set -- "$$@" --without "$$number"; done; \
	test -z "$(OFFICIAL)" || set -- "$$@" --official "$(OFFICIAL)"; \
	$(PY) -m tools.faults "$$@"

.PHONY: group-faults
group-faults: DATABASE = mysql-group
group-faults: faults ## break a group of three MySQL servers, one in each of three zones (RUNS=, SEED=, ONLY=, RUN=)

.PHONY: zone-changes
zone-changes: bootstrap ## move MySQL to another zone and fail over to one under a writer, kill both at five points each and run them again (ARGS='--only move')
	@$(PY) -m tools.faults.zone_change $(ARGS)

.PHONY: two-operators
two-operators: bootstrap ## let two commands change one stack at once under a writer, and say who was refused and how (RUNS=20, SEED=, ARGS='--only moves')
	@$(PY) -m tools.faults.two_operators $(if $(RUNS),--runs $(RUNS)) $(if $(SEED),--seed $(SEED)) $(ARGS)

.PHONY: histories
histories: bootstrap ## run schedules of faults, changes and commands, drawn by seed, and have their histories judged (DATABASE=postgres, RUNS=, SEED=, RUN=, LANES=, SCHEDULE=FILE)
	@set --; \
	test -z "$(RUNS)" || set -- "$$@" --runs "$(RUNS)"; \
	test -z "$(SEED)" || set -- "$$@" --seed "$(SEED)"; \
	test -z "$(LANES)" || set -- "$$@" --lanes "$(LANES)"; \
	test -z "$(OFFICIAL)" || set -- "$$@" --official "$(OFFICIAL)"; \
	test -z "$(DATABASE)" || set -- "$$@" --database "$(DATABASE)"; \
	for number in $(RUN); do set -- "$$@" --run "$$number"; done; \
	for file in $(SCHEDULE); do set -- "$$@" --schedule "$$file"; done; \
	$(PY) -m tools.faults.schedules "$$@" $(ARGS)

.PHONY: soak
soak: bootstrap ## live a stack's month in the hours that there are, and find what grows without bound (HOURS=4, SEED=, OFFICIAL=DIR)
	@$(PY) -m tools.soak $(if $(HOURS),--hours $(HOURS)) $(if $(SEED),--seed $(SEED)) $(if $(OFFICIAL),--official "$(OFFICIAL)") $(ARGS)

.PHONY: planted
planted: bootstrap ## put known defects into a copy, one at a time, and say which suite finds each (NAMES=, SUITES="unit judge", WHOLE=1, ARGS=--list)
	@$(PY) -m tools.planted $(NAMES) $(if $(SUITES),--suites $(SUITES)) $(if $(WHOLE),--whole) $(ARGS)

.PHONY: conformance
conformance: bootstrap ## hold the provider plugins to their contract (NOMAD=official|embedded|path, AWS=path, OFFICIAL=DIR)
	@$(if $(OFFICIAL),NOMAD_STATEFUL_OFFICIAL="$(abspath $(OFFICIAL))") NOMAD_STATEFUL_PLUGIN_AWS="$(AWS)" NOMAD_STATEFUL_PLUGIN_NOMAD="$(NOMAD)" $(PY) -m pytest tests/providers/conformance $(ARGS)

.PHONY: check
check: bootstrap ## formatting, lint, types, the changelog, dependencies, job files as Nomad reads them, the story from the wheel
	@$(PY) -m ruff format --check --quiet . || { echo 'error: run `make fix` for the formatting' >&2; exit 1; }
	@$(PY) -m ruff check --quiet .
	@$(PY) -m mypy --strict --no-error-summary .
	@$(PY) -m tools.pages --check
	@$(PY) -m tools.release.changelog
	@$(PY) -m tools.audit
	@$(PY) -m tools.toolchain >/dev/null
	@$(PY) -m tools.check_jobs jobs/
	@$(PY) -m pytest -q --no-header tests/package/test_wheel_story.py
	@"$$($(PY) -m tools.toolchain actionlint)" -shellcheck= -pyflakes=

.PHONY: hooks
hooks: bootstrap ## have each commit formatted, linted and typed: the fast half of `make check`, in seconds
	@git config core.hooksPath tools/hooks

.PHONY: lock
lock: bootstrap ## write requirements.lock and the site's anew after a change of pyproject.toml or tools/site/requirements.in
	@"$$($(PY) -c 'from tools.wheel import uv; print(uv())')" pip compile --quiet --universal --generate-hashes --no-header pyproject.toml --group sandbox --group dev --output-file requirements.lock
	@"$$($(PY) -c 'from tools.wheel import uv; print(uv())')" pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 tools/site/requirements.in --output-file tools/site/requirements.txt

.PHONY: wheel
wheel: bootstrap ## build dist/nomad_stateful-VERSION.whl and the sandbox's wheel
	@$(PY) -m tools.wheel

.PHONY: release
release: bootstrap ## make build/release/, as root: wheels, sdist, plugin archives, the agent's image, schema, notes, SHA256SUMS (TWICE=1: compare two builds; TAG=vX.Y.Z)
	@$(PY) -m tools.release $(if $(TWICE),--twice) $(if $(TAG),--tag "$(TAG)")

.PHONY: site
site: bootstrap ## make build/site/: the pages with search, and the reference of the commands (CHECK=1: look at it in a browser)
	@$(PY) -m tools.site $(if $(CHECK),--check)

.PHONY: image
image: bootstrap ## make the agent's image, on Debian's Python into dist/, or with docker on another base (BASE=python:3.13-slim@sha256:…)
	@$(PY) -m tools.image $(if $(BASE),--base "$(BASE)")

.PHONY: fix
fix: bootstrap ## format the code, fix what the linter can fix, regenerate pages; say what is left for the linter
	@$(PY) -m ruff check --quiet --fix-only .
	@$(PY) -m ruff format --quiet .
	@$(PY) -m tools.pages
	@bin=$$($(PY) -m tools.toolchain) && "$$bin/nomad" fmt jobs/
	@$(PY) -m ruff check --quiet .

.PHONY: clean-cache
clean-cache: ## remove the toolchain's cache, which all clones share (stop the sandbox first)
	@test ! -e .sandbox/run || { echo 'error: the sandbox may be running: `make down` first' >&2; exit 1; }
	rm -rf -- "$(CACHE)"
