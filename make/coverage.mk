# `make coverage`: which branches of probe/ the unit tests, the system tests and the fuzz targets' seeds take. It has a build
# separate folder; what is not a part of the tool is taken from the usual one. Not in `make check`: it takes twice as long.

COVER       := $(BUILD)/coverage
COVER_KEPT  := bench board card clients firmware fixtures hardware knc rp2040js stub
# What installs links the release build, which these objects cannot give
COVER_SOAK  ?= tests/system/test_refused_calls.py
COVER_TESTS ?= tests/test_unit.py tests/test_fuzz.py tests/system --ignore=tests/system/test_install.py
# Not optimized, so that a branch of the source is one. Without UBSan, whose checks would be branches too.
COVER_FLAGS := -fsanitize=address --coverage -fno-omit-frame-pointer -O0 -g1

coverage: coverage-build
	find $(COVER)/ -name '*.gcda' -delete
	-PMU_BUILD=$(COVER) $(PYTHON) -m pytest -q -p no:cacheprovider -n $(WORKERS) $(COVER_TESTS)
	-PMU_SOAK=1 PMU_BUILD=$(COVER) $(PYTHON) -m pytest -q -p no:cacheprovider -n $(WORKERS) $(COVER_SOAK)
	$(PYTHON) tests/coverage.py $(COVER)

coverage-build: deps
	$(MAKE) -s -j$(shell nproc) check-build
	mkdir -p $(COVER)
	for f in $(COVER_KEPT); do [ ! -e $(BUILD)/$$f ] || ln -sfn ../$$f $(COVER)/$$f; done
	$(MAKE) -s -j$(shell nproc) BUILD=$(COVER) SANITIZE='$(COVER_FLAGS)' coverage-programs
	ln -sfn asan/pmu-probe $(COVER)/pmu-probe

coverage-programs: $(BUILD)/asan/pmu-probe $(UNIT_BIN) $(REPLAY_BIN) $(FAILING) $(LOCATE)
.PHONY: coverage coverage-build coverage-programs
