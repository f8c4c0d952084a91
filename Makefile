.DEFAULT_GOAL := help
BENCHMARKS := borders catalog indexes joins matches moving regions shedding spatial tracking
# Of `make soak`: how many times the examples and the kills of `make test`.
EFFORT ?= 30
ROUNDS ?= 5
# One more than there are cores: tests that start Spark wait as long as they compute.
PROCESSES ?= $(shell expr $$(nproc) + 1)
# Compiled modules are kept, whatever the surroundings say: tests start many processes.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help setup demo burst alerts tour test quick soak test-spark check hooks bench format lock clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## create .venv with the pinned dependencies
	@scripts/setup

demo: setup  ## a city of 5,000 vehicles on Spark against 2,300 queries; leaves demo.png, demo.gif
	@.venv/bin/python -m examples.city $(ARGS)

burst: setup  ## a match ends: memory under a bound, accuracy falls and recovers; leaves burst.png
	@.venv/bin/python -m examples.burst $(ARGS)

alerts: setup  ## prices of 2,000 symbols on Spark against 20,000 alerts; leaves alerts.png
	@.venv/bin/python -m examples.alerts $(ARGS)

tour: setup  ## the language and the catalog, without Spark
	@.venv/bin/python -m examples.tour $(ARGS)

test: setup  ## run the tests
	@WATCHLINE_EFFORT=0.25 .venv/bin/python -m pytest -n $(PROCESSES) --dist worksteal

quick: setup  ## the short tests without Spark, with fewer examples: while you work
	@WATCHLINE_EFFORT=0.05 .venv/bin/python -m pytest -n auto --dist worksteal -m "not slow and not spark"

soak: setup  ## many more examples and kills than `make test`; takes hours
	@WATCHLINE_EFFORT=$(EFFORT) WATCHLINE_ROUNDS=$(ROUNDS) .venv/bin/python -m pytest -n auto --dist worksteal \
		-m "generated or kills or simulated"

test-spark: setup  ## Spark tests with PySpark SPARK=4.1.1, or the lowest and the highest; takes long
	@scripts/test-spark $(SPARK)

check: setup  ## style, types and layers
	@scripts/check

hooks: setup  ## let git run the checks before each commit (needs pre-commit)
	@command -v pre-commit >/dev/null || { echo "install it first, as by: pipx install pre-commit"; exit 1; }
	@pre-commit install

bench: setup  ## run the benchmarks and print their tables; ARGS=--quick for small sizes
	@.venv/bin/python -m pip install --quiet --require-hashes -r requirements-bench.lock
	@failed=; for name in $(BENCHMARKS); do \
		.venv/bin/python -m bench.$$name $(ARGS) || failed="$$failed $$name"; \
	done; test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

format: setup  ## let ruff format the code
	@.venv/bin/ruff check --fix --quiet . && .venv/bin/ruff format .

lock:  ## pin the dependencies anew (needs uv)
	@uv pip compile pyproject.toml --extra dev --universal --python-version 3.10 \
		--generate-hashes --no-annotate --no-header --quiet --output-file requirements.lock
	@uv pip compile pyproject.toml --extra dev --extra bench --universal --python-version 3.10 \
		--constraint requirements.lock \
		--generate-hashes --no-annotate --no-header --quiet --output-file requirements-bench.lock

clean:  ## remove what make and the tools have made
	@rm -rf .venv .compat .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist src/*.egg-info
