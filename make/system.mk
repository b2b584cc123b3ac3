# `make check`: everything is built, then one pytest run does unit, system and fuzz tests and the linters.

PYTHON ?= /usr/bin/python3
# One to a CPU: beside another's board and debugger on the same one, GDB would not have its answers in time
WORKERS ?= $(shell n=$$(nproc) && echo $$((n < 4 ? n : 4)))

check: deps
	$(MAKE) -j2 check-build
	PMU_BUILD=$(BUILD) $(PYTHON) -m pytest -q -p no:cacheprovider -n $(WORKERS) tests $(CHECK_ARGS)

check-build: $(BUILD)/pmu-probe $(BUILD)/asan/pmu-probe $(UNIT_BIN) $(REPLAY_BIN) board firmware fixtures
soak-build: check-build $(FUZZ_BIN)

bench: deps
	$(MAKE) -j2 $(BUILD)/pmu-probe $(BENCH_BIN) board firmware card knc
	PMU_BUILD=$(BUILD) $(PYTHON) tests/bench/bench.py

fixtures:
.PHONY: check-build soak-build fixtures
