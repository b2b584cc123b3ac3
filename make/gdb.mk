# For the tests of `gdb:`: a client driven line by line, and programs for QEMU's boards.

$(BUILD)/clients/gdb-client: tests/system/clients/gdb_client.c $(BUILD)/asan/libpmu.a Makefile make/gdb.mk
	@mkdir -p $(@D)
	$(SANITIZE_CC) $(LDFLAGS) $(PROBE_INC) $< $(BUILD)/asan/libpmu.a $(call pkg,--libs) $(PROBE_LIBS) -o $@

CLIENTS += $(BUILD)/clients/gdb-client
board: $(BUILD)/clients/gdb-client

# Each is linked at the address where its board starts
QEMU_PROGRAMS := $(addprefix $(BUILD)/firmware/qemu-,an385.elf an505.elf a15.elf a53.elf)
$(BUILD)/firmware/qemu-an385.elf: tests/firmware/qemu_m.S
$(BUILD)/firmware/qemu-an505.elf: tests/firmware/qemu_m.S
$(BUILD)/firmware/qemu-a15.elf: tests/firmware/qemu_a32.S
$(BUILD)/firmware/qemu-a53.elf: tests/firmware/qemu_a64.S
$(BUILD)/firmware/qemu-an385.elf: QEMU_PLACE := 0 -Wl,-Ttext=0x100
$(BUILD)/firmware/qemu-an505.elf: QEMU_PLACE := 0x10000000 -Wl,-Ttext=0x10000100
$(BUILD)/firmware/qemu-a15.elf: QEMU_PLACE := 0 -Wl,-Ttext=0x40080000
$(BUILD)/firmware/qemu-a53.elf: QEMU_PLACE := 0 -Wl,-Ttext=0x40080000
$(BUILD)/firmware/qemu-a53.elf: QEMU_CC := aarch64-linux-gnu-gcc
QEMU_CC := arm-none-eabi-gcc
$(QEMU_PROGRAMS): make/gdb.mk
	@mkdir -p $(@D)
	$(call say,CC)$(QEMU_CC) -nostdlib -static -no-pie -g -Wl,-e,start -Wl,--build-id=none -Wl,-n -Wl,--section-start=.vectors=$(QEMU_PLACE) $(filter %.S,$^) -o $@

firmware: $(QEMU_PROGRAMS)

# A native program under gdbserver, for the tests of combined links
$(BUILD)/clients/pair-program: tests/system/clients/pair_program.c make/gdb.mk
	@mkdir -p $(@D)
	$(HOST_CC) $(LDFLAGS) -O1 -g -no-pie -fno-pie -pthread $< -o $@
$(BUILD)/clients/pair-program-pie: tests/system/clients/pair_program.c make/gdb.mk
	@mkdir -p $(@D)
	$(HOST_CC) $(LDFLAGS) -O1 -g -pie -fPIE -pthread $< -o $@
board: $(BUILD)/clients/pair-program $(BUILD)/clients/pair-program-pie
