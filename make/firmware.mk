# The test firmware: one source set, a build for each chip and mode (free: SysTick runs freely, tick: it interrupts).

FIRMWARE_SRC   := tests/firmware/start.c tests/firmware/scenarios.c tests/firmware/core1.c tests/firmware/measured.S
FIRMWARE_CC    := arm-none-eabi-gcc
FIRMWARE_FLAGS := -mthumb -Os -g3 -gdwarf-4 -std=gnu11 -ffreestanding -nostdlib -fno-common \
                  -fno-tree-loop-distribute-patterns -Wall -Wextra -Werror -Wl,--build-id -Wl,--no-warn-rwx-segments
FIRMWARE_CHIPS := rp2040 m4
FIRMWARE_CPU_rp2040 := -mcpu=cortex-m0plus -DCHIP_RP2040
FIRMWARE_CPU_m4     := -mcpu=cortex-m4 -mfloat-abi=soft -DCHIP_M4
FIRMWARE       := $(foreach chip,$(FIRMWARE_CHIPS),$(chip:%=$(BUILD)/firmware/%-free.elf) $(chip:%=$(BUILD)/firmware/%-tick.elf))

define firmware_rule
$(BUILD)/firmware/$(1)-$(2).elf: $(FIRMWARE_SRC) tests/firmware/scenario.h tests/firmware/sections.ld tests/firmware/$(1).ld \
        Makefile make/firmware.mk
	@mkdir -p $$(@D)
	$(FIRMWARE_CC) $(FIRMWARE_FLAGS) $(FIRMWARE_CPU_$(1)) $(3) -Ltests/firmware -T tests/firmware/$(1).ld $(FIRMWARE_SRC) -o $$@
endef

$(foreach chip,$(FIRMWARE_CHIPS),$(eval $(call firmware_rule,$(chip),free,)))
$(foreach chip,$(FIRMWARE_CHIPS),$(eval $(call firmware_rule,$(chip),tick,-DTICK)))

firmware: $(FIRMWARE)

.PHONY: firmware
