# The test firmware of the Armv7-A/R chips: the same scenarios with another start-up. One build for each chip.

V7_SRC   := $(addprefix tests/firmware/,start_v7.S main_v7.c measured_v7.S scenarios.c writes.c shares.c)
V7_FLAGS := $(filter-out -mthumb,$(FIRMWARE_FLAGS)) -mfloat-abi=soft
V7_CHIPS := a9 a7 r5 a53in32 r52 r52hyp
V7_CPU_a9 := -mcpu=cortex-a9 -marm
V7_CPU_a7 := -mcpu=cortex-a7 -mthumb
V7_CPU_r5 := -mcpu=cortex-r5 -marm
V7_CPU_a53in32 := -mcpu=cortex-a53 -mthumb
V7_CPU_r52 := -mcpu=cortex-r52 -marm
V7_CPU_r52hyp := -mcpu=cortex-r52 -marm -DSTAY_IN_HYP=1
V7_FREE   := $(V7_CHIPS:%=$(BUILD)/firmware/%-free.elf)
V7_WRITES := $(V7_CHIPS:%=$(BUILD)/firmware/%-writes.elf)
V7_FIRMWARE := $(V7_FREE) $(V7_WRITES)

$(V7_WRITES): V7_MODE := -DWRITES
$(V7_FREE): $(BUILD)/firmware/%-free.elf: tests/firmware/%.ld
$(V7_WRITES): $(BUILD)/firmware/%-writes.elf: tests/firmware/%.ld
$(V7_FIRMWARE): $(V7_SRC) tests/firmware/scenario.h tests/firmware/sections.ld tests/firmware/r52.ld Makefile make/firmware-armv7.mk
	@mkdir -p $(@D)
	$(call say,CC)$(FIRMWARE_CC) $(V7_FLAGS) $(V7_CPU_$(firstword $(subst -, ,$(@F)))) $(V7_MODE) -Ltests/firmware -T $(firstword $(filter %/$(firstword $(subst -, ,$(@F))).ld,$^)) \
	        $(V7_SRC) -o $@

V7_LEAVES := $(foreach chip,a9 r52 r52hyp,$(BUILD)/firmware/$(chip)-leaves.elf)

$(V7_LEAVES): $(BUILD)/firmware/%-leaves.elf: tests/firmware/start_v7.S tests/firmware/leaves.c tests/firmware/%.ld tests/firmware/sections.ld \
        make/firmware-armv7.mk
	@mkdir -p $(@D)
	$(call say,CC)$(FIRMWARE_CC) $(V7_FLAGS) $(V7_CPU_$*) -Ltests/firmware -T tests/firmware/$*.ld $(filter %.S %.c,$^) -o $@

firmware: $(V7_LEAVES)
firmware: $(V7_FIRMWARE)

# A program in AArch32 state at EL0, and the same inside its system in AArch64 state, which is what the board runs
$(BUILD)/firmware/a53mixed-free.elf: $(addprefix tests/firmware/,start_user.S main_v7.c measured_v7.S scenarios.c writes.c shares.c scenario.h \
        a53mixed.ld sections.ld) Makefile make/firmware-armv7.mk
	@mkdir -p $(@D)
	$(call say,CC)$(FIRMWARE_CC) $(V7_FLAGS) $(V7_CPU_a53in32) -DIS_USER=1 -Ltests/firmware -T tests/firmware/a53mixed.ld $(filter %.S %.c,$^) -o $@

$(BUILD)/firmware/a53mixed-kernel.elf: $(BUILD)/firmware/a53mixed-free.elf tests/firmware/kernel_v8.S tests/firmware/a53.ld
	$(call say,OBJCOPY)arm-none-eabi-objcopy -O binary $< $(@:.elf=.bin)
	$(call say,CC)$(A64_CC) $(A64_FLAGS) -DUSER='"$(@:.elf=.bin)"' -Wl,--section-start=.user=0x20000 -Ltests/firmware -T tests/firmware/a53.ld \
	        tests/firmware/kernel_v8.S -o $@

firmware: $(BUILD)/firmware/a53mixed-kernel.elf
