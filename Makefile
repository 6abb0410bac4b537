# make read | test | lab; for teachers: handout; on paper: pdf; for maintainers: book | check | test-oldest | peers | refresh | data | constraints | audit | clean
PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet
NOTEBOOKS = $(wildcard book/*.ipynb)

.PHONY: read book lab handout pdf test test-oldest check peers refresh data constraints audit clean
.DELETE_ON_ERROR:

read: book
	@$(BIN)/python tools/serve.py _build/html

book: $(VENV)/reader
	@echo "Building the book: every notebook runs, about a minute ..."
	@mkdir -p _build
	@$(BIN)/jupyter-book build . --all --quiet > _build/build.log 2>&1 || { cat _build/build.log; echo "Not built. The disk:"; df -h _build; exit 1; }
	@echo "Built: _build/html/index.html"

lab: $(VENV)/reader
	$(BIN)/jupyter lab --ServerApp.root_dir=book

# The built book as one PDF, by the browser that the tests drive.
pdf: $(VENV)/tester book
	@$(BIN)/python tests/site/browser.py
	@$(BIN)/python tools/make_pdf.py _build/html _build/book.pdf

# make handout SEED=7 POINTS=3
handout: $(VENV)/reader
	$(BIN)/python tools/make_handout.py _build/handout $(if $(SEED),--seed $(SEED)) $(if $(POINTS),--points $(POINTS))

test: $(VENV)/tester
	@$(BIN)/python tests/site/browser.py
	$(BIN)/jupyter-book build . --all -W --keep-going --quiet
	MHA_STRICT_PRINT=1 $(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --nbval --nbval-current-env tests book

# The whole test command on the oldest versions that requirements.txt allows.
test-oldest:
	$(MAKE) test VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt

# The quick one: without the site, without a browser, without what takes seconds by itself.
check: $(VENV)/tester
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/codespell
	$(BIN)/python -m pytest --quiet --numprocesses=auto --dist=loadfile -m 'not slow' tests --ignore=tests/site

# mha.interop beside Keras, Flax and transformers themselves, in an environment of their own.
PEERS ?= .venv-peers
peers: $(PEERS)/ready
	$(PEERS)/bin/python -m pytest -q tests/peers tests/test_interop.py tests/test_torch.py

$(PEERS)/ready: requirements-peers.txt constraints.txt
	@echo "Installing torch, Keras, Flax and transformers in $(PEERS) (some 2 GB, once) ..."
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install -r requirements-peers.txt -c constraints.txt
	@$(PEERS)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps -e . && touch $@

refresh: $(VENV)/tester
	MHA_STRICT_PRINT=1 $(BIN)/python tools/refresh_book.py $(NOTEBOOKS)

# The stored results that chapters read, from nothing: minutes on one core.
data: $(VENV)/reader
	OMP_NUM_THREADS=1 $(BIN)/python tools/train_heads.py
	OMP_NUM_THREADS=1 $(BIN)/python tools/make_real_heads.py

# The newest versions that the ranges allow, tested by hand, then frozen.
constraints:
	rm -rf .venv-new && $(PYTHON) -m venv .venv-new
	.venv-new/bin/python -m pip install --quiet -r requirements.txt -r requirements-test.txt -r requirements-ci.txt
	.venv-new/bin/python -m pip freeze --exclude-editable --exclude mha --exclude torch > constraints.txt && rm -rf .venv-new

# Known faults of the frozen versions; asks pypi.org, and fails where it gets no answer.
audit:
	$(PYTHON) -m venv .venv-audit && .venv-audit/bin/python -m pip install --quiet pip-audit
	.venv-audit/bin/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt && rm -rf .venv-audit

$(VENV)/python:
	@echo "Making the virtual environment in $(VENV) ..."
	@$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info < (3, 14), "Python 3.11 to 3.13 is needed, not " + sys.version.split()[0] + ": make PYTHON=python3.12 ..."'
	@$(PYTHON) -m venv $(VENV) && touch $@

$(VENV)/reader: $(VENV)/python requirements.txt $(CONSTRAINTS) pyproject.toml
	@echo "Installing what the book needs (some 150 MB, once) ..."
	@$(PIP) install -r requirements.txt -c $(CONSTRAINTS) && touch $@

$(VENV)/tester: $(VENV)/reader requirements-test.txt
	@echo "Installing what the tests need ..."
	@$(PIP) install -r requirements-test.txt -c $(CONSTRAINTS)
	@if [ -n "$$CI" ]; then $(PIP) install -r requirements-ci.txt -c $(CONSTRAINTS); fi
	@touch $@

clean:
	rm -rf _build $(VENV) .venv-oldest $(PEERS)
