# Style, static analysis and the layers of probe/. `make format` mends the first; `make lint` shows all; `make check` demands them.

LINT_SRC = $(filter-out tests/unit/symbols/fixtures/%,$(sort $(wildcard probe/*.c probe/*/*.c probe/*/*/*.c tests/board/*.c tests/board/*/*.c tests/card/*.c target-stub/knc/*.c \
             tests/unit/*.c tests/unit/*/*.c tests/unit/*/*/*.c tests/fuzz/*.c tests/system/*/*.c tests/firmware-probes/*.c)))
LINT_HDR = $(sort $(wildcard probe/*/*.h probe/*/*/*.h tests/board/*.h tests/board/*/*.h tests/card/*.h target-stub/knc/*.h tests/unit/*.h \
             tests/unit/*/*.h tests/system/*/*.h))
# gcc has attributes that clang does not know
LINT_FLAGS = $(CSTD) $(WARN) -Wno-unknown-attributes $(PROBE_INC) -Itests/board -Itests/unit -Itarget-stub/knc $(call pkg,--cflags) $(shell pkg-config --cflags unicorn fuse3)

lint: deps $(GEN) $(BUILD)/gen/fuzz_targets.h
	$(PYTHON) -m pytest -q -p no:cacheprovider tests/test_lint.py
lint-files:
	@echo $(LINT_SRC)
lint-headers:
	@echo $(LINT_HDR)
lint-flags:
	@echo $(LINT_FLAGS)
format:
	clang-format -i $(LINT_SRC) $(LINT_HDR)
.PHONY: lint-files lint-headers lint-flags
