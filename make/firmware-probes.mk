# A test program that gives random step lists to a probe's firmware through the tool's own link.

RANDOM_LISTS := $(BUILD)/clients/random-lists

$(RANDOM_LISTS): tests/firmware-probes/random_lists.c $(BUILD)/asan/libpmu.a Makefile make/firmware-probes.mk
	@mkdir -p $(@D)
	$(SANITIZE_CC) $(LDFLAGS) $(PROBE_INC) $< $(BUILD)/asan/libpmu.a $(call pkg,--libs) $(PROBE_LIBS) -o $@

board: $(RANDOM_LISTS)

# Compares the board's command processor with such a firmware, cycle by cycle. It links the board's sources only.
DIFFERENCES     := $(BUILD)/clients/differences
DIFFERENCES_SRC := tests/firmware-probes/differences.c $(BOARD_ADI) tests/board/front/jtag.c \
                   $(wildcard tests/board/wire/*.c) $(filter-out tests/board/dap/tcp.c,$(wildcard tests/board/dap/*.c))

$(DIFFERENCES): $(DIFFERENCES_SRC) $(wildcard tests/board/*.h tests/board/*/*.h) Makefile make/firmware-probes.mk
	@mkdir -p $(@D)
	$(SANITIZE_CC) $(LDFLAGS) -Itests/board -Wl,--wrap=pins_clock $(DIFFERENCES_SRC) -o $@

board: $(DIFFERENCES)
