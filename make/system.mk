# `make check` runs a sample of the tests, `make soak` runs everything. tests/README.md says which test runs where.

PYTHON ?= /usr/bin/python3
# Three processes for each CPU, because a test waits more than half of its time; each takes 4 s to collect the tests
WORKERS ?= $(shell n=$$(nproc) && echo $$((n < 4 ? 3 * n : 12)))
# A test that hangs fails, and says where
TEST_LIMIT := 2000
# Where Python keeps what it has compiled, so that it does not do so again in each worker
PYCACHE  = env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX=$(abspath $(BUILD))/pycache
PYTEST   = $(PYCACHE) PMU_BUILD=$(BUILD) $(PYTHON) -m pytest -q -p no:cacheprovider --timeout $(TEST_LIMIT)

check: deps
	$(MAKE) -s $(JOBS) check-build && times > $(BUILD)/build.times
	$(PYTEST) -n $(WORKERS) tests $(CHECK_ARGS)

soak: TEST_LIMIT := 14400
soak: deps-soak
	$(MAKE) -s $(JOBS) soak-build && times > $(BUILD)/build.times
	PMU_SOAK=1 $(PYTEST) -n $(WORKERS) --durations=50 tests $(CHECK_ARGS)

# pytest compiles the asserts of all tests. Done once here, each worker finds the result
$(BUILD)/pycache/collected: $(BUILD)/asan/pmu-probe $(wildcard tests/*.py tests/*/*.py)
	@mkdir -p $(@D)
	$(PYTEST) --collect-only tests >/dev/null || true
	touch $@

# The tool as users have it is built by `make` and by CI's demo; here it would be a sixth of all
check-build: $(BENCH_SRC:tests/%.c=$(BUILD)/asan/%) $(BUILD)/asan/pmu-probe $(BUILD)/pycache/collected $(UNIT_BIN) $(REPLAY_BIN) $(FAILING) $(LOCATE) board firmware fixtures
soak-build: check-build $(BUILD)/pmu-probe $(FUZZ_BIN)

bench: deps
	$(MAKE) $(JOBS) $(BUILD)/pmu-probe $(BENCH_BIN) board firmware card knc
	PMU_BUILD=$(BUILD) $(PYTHON) tests/bench/bench.py

fixtures:
.PHONY: soak check-build soak-build fixtures
