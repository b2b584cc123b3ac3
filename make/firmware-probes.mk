# Random lists of steps against a probe's firmware: a program of the tests, with the tool's own link.

RANDOM_LISTS := $(BUILD)/clients/random-lists

$(RANDOM_LISTS): tests/firmware-probes/random_lists.c $(BUILD)/asan/libpmu.a Makefile make/firmware-probes.mk
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) $(SANITIZE) $(PROBE_INC) $< $(BUILD)/asan/libpmu.a $(call pkg,--libs) $(PROBE_LIBS) -o $@

board: $(RANDOM_LISTS)
