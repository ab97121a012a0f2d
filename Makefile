# Everything is run from here; `make` alone prints the targets. The virtual environment is made when
# a target first needs it, from constraints.txt (exact versions with hashes).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.mqk-installed
LOCK_VENV := .venv-lock
WHEEL_VENV := .venv-wheel
FLIGHTS ?=
PYTHONS ?=
PARTS ?=
CHECKED := $(wildcard tests/test_*.py) $(wildcard tests/unit tests/docs tests/golden tests/scenarios)
IN_MEMORY_SPEC := $(filter-out %_kafka.py %_spark.py %_programs.py %_computers.py,$(wildcard tests/spec/test_*.py))
# In the order of their length: what runs longest begins first.
IN_MEMORY := tests/simulation tests/search tests/costs $(CHECKED) tests/mqi tests/strangers tests/mutation $(IN_MEMORY_SPEC) \
    tests/contract/test_memory_ledger.py tests/contract/test_links.py
CORES := $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# Processes of tests, within bounds of memory: twice as many as cores where they have the machine for
# themselves, and one more than cores beside others. Each reads all tests before it begins.
AT_ONCE := --numprocesses=$(shell n=$$(( $(CORES) * 2 )); echo $$(( n < 4 ? 4 : n > 8 ? 8 : n ))) --dist=worksteal
BESIDE := --numprocesses=$(shell n=$$(( $(CORES) + 1 )); echo $$(( n < 3 ? 3 : n > 8 ? 8 : n ))) --dist=worksteal
WAITING := $(addprefix tests/unit/,server/services/test_network.py servicebroker/test_activation.py servicebroker/test_broker_network.py)
COMPILED := build/compiled
# Not what asks about each of hundreds of arguments, for that is no matter of machine code. `make kills`
# has all tests of all rooms with compiled modules.
ON_COMPILED := -o pythonpath="$(COMPILED) . adapter/toplevel" \
    tests/unit/client tests/unit/connection $(addprefix --ignore=tests/unit/,client/test_prefetch_ends.py \
    connection/wire/test_decode_limits.py connection/channel/test_arguments_of_verbs.py connection/channel/test_arguments.py) \
    tests/golden tests/scenarios $(IN_MEMORY_SPEC) tests/compiled
BY_FILE := --numprocesses=$(shell n=$$(( $(CORES) + 1 )); echo $$(( n < 3 ? 3 : n > 5 ? 5 : n ))) --dist=loadgroup --no-loadscope-reorder

# What Python compiles is kept, whatever the environment says: else half of the time of a short run
# would be compiling tests. pip compiles nothing: most modules of Spark, pandas and NumPy are never
# imported, and compiling them took a third of the time of the installation.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup check short test demo docs framework-tests mutants in-memory on-kafka types-and-schemas kills soak bench failover compiled compiled-test compiled-bugs fmt lint types constraints wheel wheels clean \
    instructions instructions-check beside \
    schemas-check images docker-test

help: ## print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("mqk needs Python 3.11 or later; say which: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

setup: $(STAMP) ## make .venv with everything in it (the other targets do this by themselves)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

schemas-check: $(STAMP) ## exit 1 if a schema cannot read what a release has written
	$(BIN)/mqk registry check schemas/*[a-z].avsc --against schemas/released

check: lint ## tidy, lint, types, unit and scenario tests with fewer examples; no broker, one to three minutes
	@$(MAKE) --no-print-directory --jobs=2 types schemas-check short

# In twice as many processes as there are cores, because many tests wait for something: a process that
# is free takes tests from the others. mypy runs beside them. Of each property a fifth of the examples are tried
# (tests/support/examples.py); the three files of queue managers that wait for each other are left to
# `make test`.
short: $(STAMP)
	$(BIN)/python -m pytest --strict-outcomes -q --hypothesis-profile=short $(AT_ONCE) $(addprefix --ignore=,$(WAITING)) $(CHECKED)

# In three processes that share a broker, the tests that need one (more where there are more than two
# cores): they wait for a third of their time. What needs none, in more processes as above, and mypy
# fill that time: behind them in rank, so that they take what is left.
test: lint ## everything, on a real Kafka
	@$(MAKE) --no-print-directory --jobs=2 beside on-kafka

# What it printed is shown as a whole, and not between the lines of the other.
beside: $(STAMP)
	@mkdir -p build
	@failed=""; nice -n 5 $(MAKE) --no-print-directory --jobs=2 types-and-schemas in-memory >build/in-memory.log 2>&1 || failed=yes; \
	    cat build/in-memory.log; [ -z "$$failed" ]

types-and-schemas: types schemas-check

in-memory: $(STAMP) ## the tests that need no broker
	$(BIN)/python -m pytest --strict-outcomes --durations=15 $(BESIDE) $(IN_MEMORY)

on-kafka: $(STAMP) ## the tests that need a broker
	$(BIN)/python -m pytest --strict-outcomes --durations=60 --durations-min=4 $(BY_FILE) tests $(addprefix --ignore=,$(IN_MEMORY))

kills: $(STAMP) ## the long forms of tests, each part at most half an hour; PARTS="soak brokers" for some
	$(BIN)/python -m tests.kills $(PARTS)

# All flights are worth the minutes of compiling; a short run takes the compiled modules that are there.
demo: $(STAMP) ## 336,776 real flights through transactional queues; FLIGHTS=N for a short run
	$(if $(FLIGHTS),,$(BIN)/python -m native --if-possible)
	PYTHONPATH="$$($(BIN)/python -m native.target)" $(BIN)/mqk demo --chart build/delays.png $(if $(FLIGHTS),--flights $(FLIGHTS))

mutants: $(STAMP) ## switch off each rule of core, one by one; exit 1 if no test turns red
	$(BIN)/python -m tests.mutation

compiled: $(STAMP) ## the hot modules as machine code in build/compiled, if there is a C compiler
	$(BIN)/python -m native $(if $(OPTIMIZE),--optimize $(OPTIMIZE))

# Behind in rank what may run beside them: the compiler is not, as it is one process that is waited for.
compiled-test: compiled ## transcripts, requirements, codecs, clients and simulations on the compiled modules
	nice -n 5 $(BIN)/python -m pytest --strict-outcomes -q --hypothesis-profile=short $(BESIDE) $(ON_COMPILED)
	PYTHONPATH=$(COMPILED):. nice -n 5 $(BIN)/python -P -m tests.simulation 61-100

compiled-bugs: $(STAMP) ## the planted bugs of compiled modules as machine code; exit 1 if one is not found
	$(BIN)/python -m tests.compiled.bugs

soak: $(STAMP) ## hundreds of kills of every process; KILLS=N in each part, PARTS="network" for some
	$(BIN)/python -m tests.soak $(PARTS) $(if $(KILLS),--kills $(KILLS))

framework-tests: $(STAMP) ## the test suites of kombu, Celery and dramatiq on a queue manager; SUITES=kombu for one
	$(BIN)/python -m tests.frameworks $(SUITES)

bench: $(STAMP) ## throughput, latency and memory beside raw Kafka and others, an hour and a half; PARTS="verbs scale" for some
	$(BIN)/python -m benchmarks $(PARTS)

failover: $(STAMP) ## gaps that programs see when an owner or a broker fails; TRIALS=50 WAITING=500000 for more
	$(BIN)/python -m benchmarks failover failover-cut-off failover-brokers $(if $(TRIALS),--trials $(TRIALS)) $(if $(WAITING),--waiting $(WAITING))

instructions: compiled ## instructions of a round trip, compiled and in Python, into benchmarks/results.json; needs valgrind
	$(BIN)/python -m benchmarks.instructions

instructions-check: compiled ## exit 1 if a round trip takes 5 % more instructions than recorded, where valgrind is
	$(BIN)/python -m benchmarks.instructions --check

docs: $(STAMP) ## write again what the documentation has from the code
	$(BIN)/python -m tests.docs.reference
	$(BIN)/python -m tests.docs.triggers
	$(BIN)/python -m tests.docs.rooms
	$(BIN)/python -m tests.docs.acls
	$(BIN)/python -m tests.docs.lives
	$(BIN)/mqk config reference >docs/operations/configuration.md

fmt: $(STAMP) ## format the code, and fix what ruff can fix
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

images: $(STAMP) ## build the images of docker/ for Docker; BASE_IMAGE=... for another base
	docker/build $(IMAGES)

docker-test: $(STAMP) ## the images and compose.yaml, where there is or can be a Docker daemon; IMAGES=spark for that too
	docker/test $(IMAGES)

wheels: $(STAMP) ## compiled wheels for each Python of the project that is here, a pure one, the sources; PYTHONS="3.12" for some
	$(BIN)/python -m native.wheels $(PYTHONS)

wheel: ## build the wheels of mqk and mqk-client into dist/, with an environment of their own
	test -x $(WHEEL_VENV)/bin/python || $(PYTHON) -m venv $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist . ./packaging/client

constraints: ## resolve constraints.txt again (UPGRADE=--upgrade for newer versions)
	test -x $(LOCK_VENV)/bin/python || $(PYTHON) -m venv $(LOCK_VENV)
	$(LOCK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check pip-tools==7.5.3
	CUSTOM_COMPILE_COMMAND="make constraints" $(LOCK_VENV)/bin/pip-compile --quiet \
	    --extra dev --extra registry --extra spark \
	    --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url --no-emit-find-links \
	    --no-emit-trusted-host --no-emit-options $(UPGRADE) --output-file constraints.txt pyproject.toml
	@! grep -nE '[a-z]+://' constraints.txt

clean: ## remove what the targets made
	rm -rf $(VENV) $(LOCK_VENV) $(WHEEL_VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
