# What the tests of `gdb:` need: a client that tests drive by lines, and a program for QEMU's boards.

$(BUILD)/clients/gdb-client: tests/system/clients/gdb_client.c $(BUILD)/asan/libpmu.a Makefile make/gdb.mk
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) $(SANITIZE) $(PROBE_INC) $< $(BUILD)/asan/libpmu.a $(call pkg,--libs) -lm -o $@

CLIENTS += $(BUILD)/clients/gdb-client
board: $(BUILD)/clients/gdb-client
