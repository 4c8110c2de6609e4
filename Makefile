# Two commands do everything on a fresh machine with Python 3.11+: `make run` and `make test`.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# One BLAS thread per process: agents are small, and parallel tests must not fight over cores.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
# Compiled modules are kept, whatever the shell says: tests start some hundred processes, and each would compile them again.
export PYTHONDONTWRITEBYTECODE :=

# What `make lowest` runs: something of every dependency.
SMOKE := tests/scenario/test_messages.py tests/scenario/test_overrides.py tests/scenario/test_reference.py \
	tests/scenario/test_toml.py tests/scenario/test_inputs.py tests/network/test_topology.py \
	tests/record/test_log.py tests/record/test_publication.py tests/privacy/test_observers.py \
	tests/privacy/test_noise_key.py tests/test_simulate.py tests/test_diagnostics.py tests/studies \
	tests/report tests/live/test_certificates.py tests/cli/test_cli.py tests/scenarios/test_digests.py \
	--deselect tests/studies/test_aggregate.py::test_the_bootstrap_interval_is_near_scipys

.PHONY: run test explore mutate lowest pythons live-check lint format docs bench scale scale-full validate figure figures \
	studies frontier site clean

run: .venv/installed
	$(BIN)/simnet run scenarios/quickstart.toml

test: .venv/installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

# The same tests with new random examples of every law, more of them; among them 10,000 new schedules of faults for live
# agents, which `pytest tests/live/test_schedules.py` tries alone.
explore: .venv/installed-dev
	HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -n 2 --dist worksteal

# Do the tests of a room notice a mistake in it? Takes long; `ARGS="--room agent --sample 8"` takes less.
mutate: .venv/installed-dev
	$(BIN)/python -m tests.mutate $(ARGS)

# Does simnet run with the lowest versions that pyproject.toml declares? In an environment of its own; takes minutes.
lowest: .venv-lowest/installed
	.venv-lowest/bin/python -m pytest -p no:cacheprovider $(SMOKE)

# Does every Python that is here give the digests that are listed? One that is not here, or a name without a Python behind
# it, is skipped.
pythons: $(addprefix python-,3.11 3.12 3.13)

python-%:
	@if ! python$* --version > /dev/null 2>&1; then echo "python$* is not here: skipped"; else \
		set -e; python$* -m venv .venv-python$*; \
		.venv-python$*/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
			--editable . pytest hypothesis; \
		.venv-python$*/bin/python -m pytest -p no:cacheprovider tests/scenarios/test_digests.py; fi

# Does the simulator predict what real processes do? Takes a minute and an otherwise idle machine.
live-check: .venv/installed
	$(BIN)/python -m benchmarks.live

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What is fast, side by side with its peers; docs/performance.md is filled from what it finds.
bench: .venv/installed-dev
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.page

# A hundred thousand agents: some minutes and 2 GiB. `make bench` stops at a tenth of it.
scale: .venv/installed-dev
	$(BIN)/python -m benchmarks.scale --full
	$(BIN)/python -m benchmarks.page

# A million agents: about half an hour, and 12 GiB.
scale-full: .venv/installed-dev
	$(BIN)/python -m benchmarks.scale --million
	$(BIN)/python -m benchmarks.page

# simnet beside ns-3, in an environment of its own; docs/validation.md is filled from what it finds. Takes minutes.
validate: .venv-validate/installed
	.venv-validate/bin/python -m benchmarks.validate
	.venv-validate/bin/python -m benchmarks.page

docs: .venv/installed-dev
	$(BIN)/python -m analysis.fill_pages
	$(BIN)/python -m simnet.scenario.reference > docs/scenario.md
	$(BIN)/python -m simnet.record.event_reference > docs/events.md
	$(BIN)/python -m simnet.scenario.catalogue > simnet/catalogue.json
	$(BIN)/python -m analysis.make_tutorial
	$(BIN)/python -m analysis.make_gallery
	$(BIN)/python -m analysis.make_reference

# All pages as a website, in build/site. A broken link or a page that docs/index.md does not list is an error.
site: .venv/installed-dev
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --fresh-env --conf-dir docs --doctree-dir build/trees . build/site
	@echo "open build/site/index.html"

figure: .venv/installed
	$(BIN)/python -m analysis.error_and_bytes scenarios/quickstart.toml --output docs/quickstart.png
	$(BIN)/python -m analysis.report_picture scenarios/quickstart.toml --output docs/report.png
	$(BIN)/python -m analysis.skip_test scenarios/quickstart.toml --output docs/skip_test.csv

# Goes on where it was stopped; a folder `results` that is not there is a study from nothing.
studies: .venv/installed
	for study in scenarios/studies/*.toml; do $(BIN)/simnet sweep $$study --out results || exit 1; done
	$(BIN)/python -m analysis.studies results --output docs/studies --page docs/studies.md

# Chooses settings on rows set aside, reports them on all others, and fills docs/frontier.md. Goes on where it was stopped;
# from nothing it takes some hours on two cores. Without SIMNET_DATA what is stored of ijcnn1 stays as it is.
frontier: .venv/installed
	for step in tune choose report audit store page; do \
		$(BIN)/python -m analysis.frontier $$step results/frontier || exit 1; done

# Every figure and table of the papers; goes on where it was stopped, and says which data it has not got. What is stored
# already and needs data that are not here stays as it is. Rounding in the last place decides now and then whether a solver
# needs one gradient more; with one kind of kernel for all processors the tables are the same, byte for byte.
figures: export OPENBLAS_CORETYPE := Haswell
figures: .venv/installed
	$(BIN)/python -m analysis.papers.sweep --out results
	for script in analysis/papers/*_figure_*.py analysis/papers/*_table_*.py \
		analysis/papers/ordering.py analysis/papers/tuning.py analysis/papers/secret_penalty.py \
		analysis/papers/pp_adult_41.py analysis/papers/remarks.py analysis/papers/random_start.py; do \
		$(BIN)/python -m analysis.papers.$$(basename $$script .py) || exit 1; done
	$(BIN)/python -m analysis.papers.measured

clean:
	rm -rf .venv .venv-validate .venv-lowest .venv-python* build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) --editable .
	touch $@

.venv/installed-dev: pyproject.toml constraints.txt | .venv/bin/python .venv/simpy-tests
	$(PIP) --editable '.[dev]'
	touch $@ .venv/installed

.venv-validate/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-validate
	.venv-validate/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[validate]'
	touch $@

# `lowest-direct`: the lowest version of what simnet names itself, and the newest of what those need.
.venv-lowest/installed: pyproject.toml
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable '.[cluster]'
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python pytest hypothesis
	touch $@

# SimPy's own tests are in its source package only. Where that cannot be had, the test that runs them is skipped.
.venv/simpy-tests: constraints.txt | .venv/bin/python
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --constraint constraints.txt \
		--no-binary simpy --no-deps --dest $@ simpy && $(BIN)/python -m tarfile -e $@/simpy-*.tar.gz $@ || rm -rf $@
