# The test firmware of the Armv7-A/R chips: the same scenarios with another start-up. One build for each chip.

V7_SRC   := $(addprefix tests/firmware/,start_v7.S main_v7.c measured_v7.S scenarios.c writes.c shares.c)
V7_FLAGS := $(filter-out -mthumb,$(FIRMWARE_FLAGS)) -mfloat-abi=soft
V7_CHIPS := a9 a7 r5 a53in32 r52
V7_CPU_a9 := -mcpu=cortex-a9 -marm
V7_CPU_a7 := -mcpu=cortex-a7 -mthumb
V7_CPU_r5 := -mcpu=cortex-r5 -marm
V7_CPU_a53in32 := -mcpu=cortex-a53 -mthumb
V7_CPU_r52 := -mcpu=cortex-r52 -marm
V7_FREE   := $(V7_CHIPS:%=$(BUILD)/firmware/%-free.elf)
V7_WRITES := $(V7_CHIPS:%=$(BUILD)/firmware/%-writes.elf)
V7_FIRMWARE := $(V7_FREE) $(V7_WRITES)

$(V7_WRITES): V7_MODE := -DWRITES
$(V7_FREE): $(BUILD)/firmware/%-free.elf: tests/firmware/%.ld
$(V7_WRITES): $(BUILD)/firmware/%-writes.elf: tests/firmware/%.ld
$(V7_FIRMWARE): $(V7_SRC) tests/firmware/scenario.h tests/firmware/sections.ld Makefile make/firmware-armv7.mk
	@mkdir -p $(@D)
	$(call say,CC)$(FIRMWARE_CC) $(V7_FLAGS) $(V7_CPU_$(firstword $(subst -, ,$(@F)))) $(V7_MODE) -Ltests/firmware -T $(filter %.ld,$(filter-out %sections.ld,$^)) \
	        $(V7_SRC) -o $@

$(BUILD)/firmware/a9-leaves.elf: tests/firmware/start_v7.S tests/firmware/leaves.c tests/firmware/a9.ld tests/firmware/sections.ld \
        make/firmware-armv7.mk
	@mkdir -p $(@D)
	$(call say,CC)$(FIRMWARE_CC) $(V7_FLAGS) $(V7_CPU_a9) -Ltests/firmware -T tests/firmware/a9.ld $(filter %.S %.c,$^) -o $@

firmware: $(BUILD)/firmware/a9-leaves.elf
firmware: $(V7_FIRMWARE)
