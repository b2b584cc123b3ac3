# Fuzz targets for every parser of outside bytes. `make check` replays the files in tests/fuzz/seeds;
# `make soak` runs libFuzzer on each. `build/fuzz/NAME` runs one target until it finds a fault.

FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)
FUZZ_OBJ := $(PROBE_SRC:%.c=$(BUILD)/fuzz/obj/%.o)
FUZZ_FLAGS := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -O1 -g

$(BUILD)/fuzz/obj/%.o: %.c Makefile make/probe.mk | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC)clang $(CSTD) $(FUZZ_FLAGS) $(PROBE_INC) $(call pkg,--cflags) -MMD -MP -c $< -o $@
$(BUILD)/fuzz/libpmu.a: $(FUZZ_OBJ)
	$(call say,AR)rm -f $@ && ar rcs $@ $^
$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(BUILD)/fuzz/libpmu.a
	$(call say,CC)clang $(CSTD) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -O1 -g $(PROBE_INC) \
	    $(call pkg,--cflags) $< $(BUILD)/fuzz/libpmu.a $(call pkg,--libs) $(PROBE_LIBS) -o $@

fuzz: deps-soak
	$(MAKE) $(FUZZ_BIN)
.PHONY: fuzz
-include $(FUZZ_OBJ:.o=.d)

# All targets in one program without libFuzzer, under gcc's sanitizers. Each target's entry has its own name.
REPLAY_BIN   := $(BUILD)/fuzz-replay
REPLAY_OBJ   := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/replay/%.o)
REPLAY_CC     = $(SANITIZE_CC) -DLLVMFuzzerTestOneInput=$* -DLLVMFuzzerCustomMutator=$*_mutator
# What others than the tool are made of, as one object that shows its entry only: the tool may have the same names
REPLAY_ALONE  = -r -nostdlib $(filter %.c,$^) -o $@ && objcopy --keep-global-symbol=$* $@

$(BUILD)/gen/fuzz_targets.h: $(FUZZ_SRC) tests/fuzz
	@mkdir -p $(@D)
	$(call say,GEN)printf 'TARGET(%s)\n' $(FUZZ_SRC:tests/fuzz/%.c=%) > $@
$(BUILD)/replay/%.o: tests/fuzz/%.c Makefile make/probe.mk make/fuzz.mk | $(GEN)
	@mkdir -p $(@D)
	$(REPLAY_CC) $(PROBE_INC) $(call pkg,--cflags) -MMD -MP -c $< -o $@
# A target's own mutator refers to libFuzzer's, but nothing calls it here
$(REPLAY_BIN): tests/fuzz/replay.c $(BUILD)/gen/fuzz_targets.h $(REPLAY_OBJ) $(BUILD)/asan/libpmu.a
	$(SANITIZE_CC) $(LDFLAGS) -I$(BUILD)/gen $< $(REPLAY_OBJ) -Wl,--defsym=LLVMFuzzerMutate=abort \
	    $(BUILD)/asan/libpmu.a $(call pkg,--libs) $(PROBE_LIBS) -o $@
-include $(REPLAY_OBJ:.o=.d)
