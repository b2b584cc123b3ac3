# Programs that tests/bench times. They link the tool's library, built with the flags of $(BUILD)/pmu-probe.

BENCH_SRC := $(sort $(wildcard tests/bench/*.c))
BENCH_BIN := $(BENCH_SRC:tests/%.c=$(BUILD)/%)

$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/libpmu.a Makefile make/bench.mk
	@mkdir -p $(@D)
	$(HOST_CC) $(PROBE_INC) $(call pkg,--cflags) -MMD -MP -MF $@.d $< \
	    $(LDFLAGS) $(BUILD)/libpmu.a $(call pkg,--libs) $(PROBE_LIBS) -o $@

# The same under the sanitizers, for the tests
$(BUILD)/asan/bench/%: tests/bench/%.c $(BUILD)/asan/libpmu.a Makefile make/bench.mk
	@mkdir -p $(@D)
	$(SANITIZE_LD) $(CSTD) $(PROBE_INC) $(call pkg,--cflags) $< $(BUILD)/asan/libpmu.a $(call pkg,--libs) $(PROBE_LIBS) -o $@

-include $(BENCH_BIN:%=%.d)
