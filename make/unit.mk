# Unit tests: tests/unit mirrors probe/, one cmocka program a file, under the sanitizers.

UNIT_SRC := $(sort $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/unit/%)

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/asan/libpmu.a
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) $(SANITIZE) $(PROBE_INC) -Itests/unit $(call pkg,--cflags) -MMD -MP -MF $@.d $< \
	    $(BUILD)/asan/libpmu.a $(call pkg,--libs) -lcmocka -lm -o $@

-include $(UNIT_BIN:%=%.d)
