# libFuzzer targets for whatever parses bytes from outside. `make check` runs a fixed number of cases of each;
# `build/fuzz/NAME` alone goes on until it finds something.

FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)
FUZZ_OBJ := $(PROBE_SRC:%.c=$(BUILD)/fuzz/obj/%.o)
FUZZ_FLAGS := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -O1 -g

$(BUILD)/fuzz/obj/%.o: %.c Makefile make/probe.mk | $(GEN)
	@mkdir -p $(@D)
	clang $(CSTD) $(FUZZ_FLAGS) $(PROBE_INC) $(call pkg,--cflags) -MMD -MP -c $< -o $@
$(BUILD)/fuzz/libpmu.a: $(FUZZ_OBJ)
	rm -f $@ && ar rcs $@ $^
$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(BUILD)/fuzz/libpmu.a
	clang $(CSTD) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -O1 -g $(PROBE_INC) \
	    $(call pkg,--cflags) $< $(BUILD)/fuzz/libpmu.a $(call pkg,--libs) -lm -o $@

fuzz: deps
	$(MAKE) $(FUZZ_BIN)
.PHONY: fuzz
-include $(FUZZ_OBJ:.o=.d)
