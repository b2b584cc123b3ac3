# The test firmware: one source set, a build for each chip and mode (free: SysTick runs freely, tick: it interrupts every
# 50 ms, ms: every millisecond, slower: free with one NOP more, writes: free with writes to its counters).

FIRMWARE_SRC   := $(addprefix tests/firmware/,start.c scenarios.c writes.c shares.c times.c core1.c measured.S spans.S edges.S profile.S)
FIRMWARE_HDR   := tests/firmware/scenario.h tests/firmware/asm.h
FIRMWARE_MODES := free tick ms slower writes
FIRMWARE_CC    := arm-none-eabi-gcc
FIRMWARE_FLAGS := -mthumb -Os -g3 -gdwarf-4 -std=gnu11 -ffreestanding -nostdlib -fno-common \
                  -fno-tree-loop-distribute-patterns -Wall -Wextra $(ERRORS) -Wl,--build-id -Wl,--no-warn-rwx-segments
FIRMWARE_CHIPS := rp2040 rp2350 m4 m7 m33 m55
FIRMWARE_CPU_rp2040 := -mcpu=cortex-m0plus -DCHIP_RP2040
FIRMWARE_CPU_m4     := -mcpu=cortex-m4 -mfloat-abi=soft -DCHIP_M4
FIRMWARE_CPU_m7     := -mcpu=cortex-m7 -mfloat-abi=soft -DCHIP_M4
FIRMWARE_CPU_rp2350 := -mcpu=cortex-m33+nofp+nodsp -mfloat-abi=soft -DCHIP_M4 -DCHIP_RP2350
FIRMWARE_CPU_m33    := -mcpu=cortex-m33+nofp+nodsp -mfloat-abi=soft -DCHIP_M4
# The board's M55 executes the instructions of an M33 with the timing of the m4
FIRMWARE_CPU_m55    := -mcpu=cortex-m33+nofp+nodsp -mfloat-abi=soft -DCHIP_M4
FIRMWARE       := $(foreach chip,$(FIRMWARE_CHIPS),$(FIRMWARE_MODES:%=$(BUILD)/firmware/$(chip)-%.elf))

define firmware_rule
$(BUILD)/firmware/$(1)-$(2).elf: $(FIRMWARE_SRC) $(FIRMWARE_HDR) tests/firmware/sections.ld tests/firmware/$(1).ld \
        Makefile make/firmware.mk
	@mkdir -p $$(@D)
	$$(call say,CC)$(FIRMWARE_CC) $(FIRMWARE_FLAGS) $(FIRMWARE_CPU_$(1)) $(3) -Ltests/firmware -T tests/firmware/$(1).ld $(FIRMWARE_SRC) -o $$@
endef

$(foreach chip,$(FIRMWARE_CHIPS),$(eval $(call firmware_rule,$(chip),free,)))
$(foreach chip,$(FIRMWARE_CHIPS),$(eval $(call firmware_rule,$(chip),tick,-DTICK)))
$(foreach chip,$(FIRMWARE_CHIPS),$(eval $(call firmware_rule,$(chip),ms,-DTICK -DTICK_MS)))
$(foreach chip,$(FIRMWARE_CHIPS),$(eval $(call firmware_rule,$(chip),slower,-DSLOWER)))
$(foreach chip,$(FIRMWARE_CHIPS),$(eval $(call firmware_rule,$(chip),writes,-DWRITES)))

# Armv8-A: bare metal, built with the Linux compiler
A64_SRC   := $(addprefix tests/firmware/,start_v8.S main_v7.c scenarios.c writes.c shares.c measured_v8.S)
A64_CC    := aarch64-linux-gnu-gcc
A64_FLAGS := -mcpu=cortex-a53 -mgeneral-regs-only -mstrict-align -fno-pie -no-pie -static -fno-stack-protector \
             -fno-asynchronous-unwind-tables -fno-unwind-tables \
             $(filter-out -mthumb,$(FIRMWARE_FLAGS)) -DCHIP_A53

A64_MODE_a53-writes := -DWRITES
# The same chip with a program that stays at EL2
A64_MODE_a53el2-free := -DSTAY_AT_EL2=1
A64_FIRMWARE := $(addprefix $(BUILD)/firmware/,a53-free.elf a53-writes.elf a53el2-free.elf)
$(A64_FIRMWARE): $(BUILD)/firmware/%.elf: $(A64_SRC) $(FIRMWARE_HDR) tests/firmware/sections.ld tests/firmware/a53.ld \
        Makefile make/firmware.mk
	@mkdir -p $(@D)
	$(call say,CC)$(A64_CC) $(A64_FLAGS) $(A64_MODE_$*) -Ltests/firmware -T tests/firmware/a53.ld $(A64_SRC) -o $@

FIRMWARE += $(A64_FIRMWARE)

# Adds functions that do not return, and tasks
LEAVES_M := $(foreach chip,rp2040 m4,$(BUILD)/firmware/$(chip)-leaves.elf)

$(LEAVES_M): $(BUILD)/firmware/%-leaves.elf: tests/firmware/leaves.c tests/firmware/%.ld tests/firmware/sections.ld make/firmware.mk
	@mkdir -p $(@D)
	$(call say,CC)$(FIRMWARE_CC) $(FIRMWARE_FLAGS) $(FIRMWARE_CPU_$*) -Ltests/firmware -T tests/firmware/$*.ld $< -o $@

A64_MODE_a53el2-leaves := -DSTAY_AT_EL2=1
A64_LEAVES := $(BUILD)/firmware/a53-leaves.elf $(BUILD)/firmware/a53el2-leaves.elf

$(A64_LEAVES): $(BUILD)/firmware/%-leaves.elf: tests/firmware/start_v8.S tests/firmware/leaves.c tests/firmware/%.ld tests/firmware/sections.ld \
        make/firmware.mk
	@mkdir -p $(@D)
	$(call say,CC)$(A64_CC) $(A64_FLAGS) $(A64_MODE_$*-leaves) -Ltests/firmware -T tests/firmware/$*.ld $(filter %.S %.c,$^) -o $@

FIRMWARE += $(LEAVES_M) $(A64_LEAVES)

# Interrupts in every order, for trace
TRACED_CHIPS := m7 m33 m55 rp2350
IRQ_M        := $(addprefix $(BUILD)/firmware/,$(addsuffix -irq.elf,m4 $(TRACED_CHIPS)))

$(IRQ_M): $(BUILD)/firmware/%-irq.elf: tests/firmware/irq.c tests/firmware/%.ld tests/firmware/sections.ld make/firmware.mk
	@mkdir -p $(@D)
	$(call say,CC)$(FIRMWARE_CC) $(FIRMWARE_FLAGS) $(FIRMWARE_CPU_$*) -Ltests/firmware -T tests/firmware/$*.ld $< -o $@

FIRMWARE += $(IRQ_M)

# Larger programs, with newlib
WHOLE_FLAGS  := $(filter-out -ffreestanding -nostdlib,$(FIRMWARE_FLAGS)) -nostartfiles --specs=nano.specs --specs=nosys.specs \
                -Wl,--gc-sections
WHOLE_printf := -u _printf_float
WHOLE_M      := $(foreach program,printf rtos,$(BUILD)/firmware/rp2040-$(program).elf $(BUILD)/firmware/m4-$(program).elf) \
                $(TRACED_CHIPS:%=$(BUILD)/firmware/%-rtos.elf)

define whole_rule
$(BUILD)/firmware/$(1)-$(2).elf: tests/firmware/$(2).c tests/firmware/no_system.c tests/firmware/sections.ld tests/firmware/$(1).ld make/firmware.mk
	@mkdir -p $$(@D)
	$$(call say,CC)$(FIRMWARE_CC) $(WHOLE_FLAGS) $(WHOLE_$(2)) $(FIRMWARE_CPU_$(1)) -Ltests/firmware -T tests/firmware/$(1).ld $$(filter %.c,$$^) -o $$@
endef

$(foreach chip,rp2040 m4,$(foreach program,printf rtos,$(eval $(call whole_rule,$(chip),$(program)))))
$(foreach chip,$(TRACED_CHIPS),$(eval $(call whole_rule,$(chip),rtos)))

FIRMWARE += $(WHOLE_M)

firmware: $(FIRMWARE)

.PHONY: firmware
