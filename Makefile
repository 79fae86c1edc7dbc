PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: help install check test core gpu docs outputs demo bench clean

help: ## what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-9s %s\n", $$1, $$2}' Makefile
	@echo 'Packages, images, bounds of versions, studies: packages/targets.mk'

install: $(INSTALLED) ## .venv with everything, pinned by constraints.txt

$(BIN)/pip:
	$(PYTHON) -m venv .venv

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/pip
	$(BIN)/pip install --quiet -c constraints.txt torch==2.13.0 -e '.[dev-all]'
	$(BIN)/pip install --quiet -c constraints.txt -e '.[bllip]' || \
		echo 'No BLLIP parser, which is compiled here (docs/parsers.md): its tests are skipped.'
	touch $@

# Files of tests side by side, four on two cores: many wait for servers to start and to end. One that hangs
# says where, and fails alone; none takes a tenth as long on an idle machine.
TESTS := $(BIN)/pytest -n 4 --dist loadfile --timeout 900 --timeout-method thread \
	-m "not slow and not gpu"

check: install ## ruff, mypy, import-linter and the tests: must pass before a change goes in
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(TESTS) -W error

test: install ## the tests
	$(TESTS)

# The core, with every plug-in deleted from a copy: it must not know any of them.
CORE := build/core
core: install ## the core's tests in a copy without plug-ins
	rm -rf $(CORE)
	mkdir -p $(CORE)
	git ls-files -z | xargs -0 tar -cf - | tar -xf - -C $(CORE)
	rm -rf $(CORE)/reranker/plugins
	cd $(CORE) && PYTHONPATH=. $(CURDIR)/$(TESTS) tests/reranker tests/models tests/service

# Needs no installation: `make gpu GPU_PYTHON=python3` takes an interpreter that has the packages which
# tests and service import, torch among them. The version of ours is then a file in build/.
# GPU_TESTS_DEVICE=cpu puts the CPU in the GPU's place: the code runs, on little data.
GPU_PYTHON ?= $(BIN)/python
GPU_DEVICE := $(or $(GPU_TESTS_DEVICE),cuda)
GPU_RESULTS ?= build/gpu
GPU_TEST_SECONDS ?= 120
GPU_BENCH_SECONDS ?= 110
METADATA := build/metadata/parse_reranker-0.dist-info/METADATA
gpu: $(if $(filter $(BIN)/python,$(GPU_PYTHON)),install,$(METADATA)) ## the tests that need a GPU, then its speed
	mkdir -p $(GPU_RESULTS)
	export PYTHONPATH=$(CURDIR):$(CURDIR)/build/metadata:$$PYTHONPATH; status=0; \
	export PYTHONUNBUFFERED=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1; \
	timeout -s INT -k 10 $(GPU_TEST_SECONDS) $(GPU_PYTHON) -m pytest -p pytest_timeout -m gpu tests/gpu \
		--timeout 60 -W default -v -rfEs --durations 10 || status=$$?; \
	timeout -k 10 $(GPU_BENCH_SECONDS) $(GPU_PYTHON) -m benchmarks.gpu --device $(GPU_DEVICE) --json $(GPU_RESULTS)/gpu.json \
		|| status=$$?; exit $$status

$(METADATA):
	mkdir -p $(@D)
	printf 'Metadata-Version: 2.4\nName: parse-reranker\nVersion: 0\n' >$@

# build/site/: the documentation as a site. Whatever is not as it should be, links within it included, is
# an error.
SPHINX := $(BIN)/sphinx-build --fail-on-warning --keep-going --quiet
docs: install ## the site of docs/, in build/site/
	$(SPHINX) -b html docs build/site

# Runs the examples of README, docs/ and the notebooks, and writes what they print into the pages.
outputs: install ## new outputs in the pages' examples
	$(BIN)/python -m tests.pages

# F1 of parser, reranked and oracle, then what reranking changed and whether for the better.
# The trees drawn: .venv/bin/rerank show demo.tmp --gold examples/gold.mrg --gold-tags
demo: install ## the examples reranked, and what changed
	$(BIN)/rerank --nbest examples/parses.txt --models ckpt/*.pt --output ranked --out demo.tmp \
		--gold examples/gold.mrg --gold-tags
	$(BIN)/rerank show demo.tmp --gold examples/gold.mrg --gold-tags --brief

# A few minutes: scoring against the authors' code (AUTHORS=checkout of nttcslab-nlp/doc_lm) on real
# lists, untrained models of the paper's sizes. More: docs/research/performance.md.
LISTS ?= ../shared/data/nbest/gum_dev_50best.txt.gz
BENCH ?= --paper-size
bench: install ## scoring, against the authors' code with AUTHORS=FOLDER
	$(BIN)/python -m benchmarks.scoring --lists $(LISTS) $(if $(AUTHORS),--authors $(AUTHORS)) $(BENCH)

clean: ## start over
	rm -rf .venv build dist *.egg-info *.tmp .mypy_cache .ruff_cache .pytest_cache \
		.import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

include packages/targets.mk
