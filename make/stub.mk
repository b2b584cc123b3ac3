# The target stub, for each core: an object to link, an image that runs before the application (the application begins at
# STUB_NEXT; a Cortex-M's image lies at STUB_AT), and an image that a debugger writes into RAM. `make stub-sizes` prints sizes.

STUB_V7  := cortex-a5 cortex-a7 cortex-a8 cortex-a9 cortex-a12 cortex-a15 cortex-a17 cortex-r4 cortex-r5 cortex-r7 \
            cortex-r8 cortex-r52 cortex-a32
STUB_V8  := cortex-a35 cortex-a53 cortex-a55 cortex-a57 cortex-a72 cortex-a76
STUB_M   := cortex-m0 cortex-m0plus cortex-m3 cortex-m4 cortex-m7 cortex-m23 cortex-m33 cortex-m55
STUB_DWT := $(filter-out cortex-m0 cortex-m0plus cortex-m23,$(STUB_M))
STUB_ALL := $(STUB_V7) $(STUB_V8) $(STUB_M)

STUB_NEXT  ?= 0x8000
STUB_AT    ?= 0
STUB_STACK ?= 0x20000000
STUB_LINK  := -nostdlib -static -Wl,--build-id=none -T target-stub/image.ld -Wl,-e0
STUB_FLAGS := -Os -std=c11 -ffreestanding -Wall -Wextra -Wpedantic -Wshadow $(ERRORS) -fno-asynchronous-unwind-tables

$(foreach core,$(STUB_V7),$(eval STUB_KIND_$(core) := v7) $(eval STUB_CPU_$(core) := -mcpu=$(core) -marm -mfloat-abi=soft))
$(foreach core,$(STUB_V8),$(eval STUB_KIND_$(core) := v8) $(eval STUB_CPU_$(core) := -mcpu=$(core) -mgeneral-regs-only))
$(foreach core,$(STUB_M),$(eval STUB_KIND_$(core) := m) $(eval STUB_CPU_$(core) := -mcpu=$(core) -mthumb -mfloat-abi=soft))
STUB_CPU_cortex-m55 += -DPMU_STUB_V81M
stub_prefix = $(if $(filter v8,$(STUB_KIND_$(1))),aarch64-linux-gnu-,arm-none-eabi-)

STUB_OBJ    := $(STUB_ALL:%=$(BUILD)/stub/%/linked.o)
STUB_BEFORE := $(foreach core,$(STUB_V7) $(STUB_V8) $(STUB_DWT),$(BUILD)/stub/$(core)/before.elf)
STUB_PUSHED := $(foreach core,$(STUB_V7) $(STUB_V8),$(BUILD)/stub/$(core)/pushed.elf)
STUB_BIN    := $(patsubst %.elf,%.bin,$(STUB_BEFORE) $(STUB_PUSHED))
STUB_HDR    := $(wildcard target-stub/*.h)

define stub_rules
$(BUILD)/stub/$(1)/linked.o: target-stub/linked.c $(STUB_HDR) make/stub.mk
	@mkdir -p $$(@D)
	$$(call say,CC)$(2)gcc $(STUB_FLAGS) $(STUB_CPU_$(1)) -c $$< -o $$@
$(BUILD)/stub/$(1)/before.elf $(BUILD)/stub/$(1)/pushed.elf: $(BUILD)/stub/$(1)/%.elf: \
        target-stub/%_$(STUB_KIND_$(1)).S target-stub/image.ld make/stub.mk
	@mkdir -p $$(@D)
	$$(call say,CC)$(2)gcc $(STUB_CPU_$(1)) $(STUB_LINK) -Wl,--defsym=pmu_stub_next=$(STUB_NEXT) -Wl,--defsym=pmu_stub_at=$(STUB_AT) \
	    -Wl,--defsym=pmu_stub_stack=$(STUB_STACK) $$< -o $$@
$(BUILD)/stub/$(1)/%.bin: $(BUILD)/stub/$(1)/%.elf
	$$(call say,GEN)$(2)objcopy -O binary $$< $$@
endef
$(foreach core,$(STUB_ALL),$(eval $(call stub_rules,$(core),$(call stub_prefix,$(core)))))

stub: $(STUB_OBJ) $(STUB_BIN)

# In bytes. Of the linked object, the size of pmu_stub_enable
stub-sizes: stub
	@printf '%-14s %8s %8s %8s\n' '' linked before pushed
	@for core in $(STUB_ALL); do \
	    linked=$$(readelf -sW $(BUILD)/stub/$$core/linked.o | awk '$$8 == "pmu_stub_enable" { print $$3 }'); \
	    size() { if [ -e $(BUILD)/stub/$$core/$$1.bin ]; then stat -c %s $(BUILD)/stub/$$core/$$1.bin; else echo -; fi; }; \
	    printf '%-14s %8s %8s %8s\n' $$core $$linked $$(size before) $$(size pushed); \
	done

# For tests/test_stub.py: a core, its kind, the compiler, its options
stub-list:
	@$(foreach core,$(STUB_ALL),echo $(core) $(STUB_KIND_$(core)) $(call stub_prefix,$(core))gcc $(STUB_CPU_$(core));)

check-build: stub-sizes
.PHONY: stub stub-sizes stub-list

# The program that tests/test_stub.py runs on QEMU, one for each core, and the image that starts it
STUB_QEMU       := cortex-a7 cortex-a15 cortex-a53
STUB_QEMU_FLAGS := -Os -g -std=gnu11 -ffreestanding -nostdlib -static -Wall -Wextra -Wshadow $(ERRORS) -fno-asynchronous-unwind-tables \
                   -fno-stack-protector -fno-pie -no-pie -DCYCLES_A_STEP=1024 -Itarget-stub -T tests/stub/qemu.ld -Wl,--build-id=none -Wl,--no-warn-rwx-segments

define stub_qemu_rules
$(BUILD)/stub/$(1)/measures.elf: $(addprefix tests/stub/,measures.c measures_user.c qemu.c qemu_$(STUB_KIND_$(1)).S qemu.h measures.h) \
        tests/stub/qemu.ld $(STUB_HDR) make/stub.mk
	@mkdir -p $$(@D)
	$$(call say,CC)$(2)gcc $(STUB_CPU_$(1)) $(3) $(STUB_QEMU_FLAGS) $$(filter %.c %.S,$$^) -o $$@
$(BUILD)/stub/$(1)/through.bin: target-stub/before_$(STUB_KIND_$(1)).S target-stub/image.ld $(BUILD)/stub/$(1)/measures.elf
	$$(call say,CC)$(2)gcc $(STUB_CPU_$(1)) $(STUB_LINK) \
	    -Wl,--defsym=pmu_stub_next=0x$$$$(nm $(BUILD)/stub/$(1)/measures.elf | awk '$$$$3 == "after_image" { print $$$$1 }') $$< -o $$@.elf
	$$(quiet)$(2)objcopy -O binary $$@.elf $$@
stub: $(BUILD)/stub/$(1)/measures.elf $(BUILD)/stub/$(1)/through.bin
endef
$(foreach core,$(STUB_QEMU),$(eval $(call stub_qemu_rules,$(core),$(call stub_prefix,$(core)),\
    $(if $(filter v8,$(STUB_KIND_$(core))),-mstrict-align,-mno-unaligned-access))))

# The firmware of the virtual board that measures itself with the stub
SELF_CHIPS := rp2040 m4 m55 a9 a7 r5 a53
SELF_SRC   := $(addprefix tests/firmware/,self.c self_start.c) tests/stub/measures.c
SELF_M     := $(SELF_SRC) tests/stub/measures_m.c
SELF_V7    := $(SELF_SRC) tests/firmware/start_v7.S
SELF_V8    := $(SELF_SRC) tests/firmware/start_v8.S
SELF_DEF_a9 := -DCHIP_A9
# QEMU has no event for cycles there, so instructions replace it: each takes one cycle
SELF_DEF_r5 := -DEVENT_CYCLES=0x08
SELF_INC   := -Itarget-stub -Itests/stub -Ltests/firmware

define self_rule
$(BUILD)/firmware/$(1)-self.elf: $(2) tests/stub/measures.h tests/firmware/sections.ld tests/firmware/$(1).ld $(STUB_HDR) Makefile \
        make/stub.mk make/firmware.mk make/firmware-armv7.mk
	@mkdir -p $$(@D)
	$$(call say,CC)$(3) $(SELF_INC) -T tests/firmware/$(1).ld $(2) -o $$@
endef
$(foreach chip,rp2040 m4,$(eval $(call self_rule,$(chip),$(SELF_M),$(FIRMWARE_CC) $(FIRMWARE_FLAGS) $(FIRMWARE_CPU_$(chip)))))
$(eval $(call self_rule,m55,$(SELF_M),$(FIRMWARE_CC) $(FIRMWARE_FLAGS) $(FIRMWARE_CPU_m55) -DPMU_STUB_V81M))
$(foreach chip,$(V7_CHIPS),$(eval $(call self_rule,$(chip),$(SELF_V7),$(FIRMWARE_CC) $(V7_FLAGS) $(V7_CPU_$(chip)) \
    $(SELF_DEF_$(chip)))))
$(eval $(call self_rule,a53,$(SELF_V8),$(A64_CC) $(A64_FLAGS)))

# For `pmu-probe stub`: a program whose registers and RAM do not change, privileged or in user mode, and one that reads its
# cycle counter in user mode
PARKED_v7 := $(addprefix tests/firmware/,parked.c start_v7.S parked_v7.S)
PARKED_v8 := $(addprefix tests/firmware/,parked.c start_v8.S parked_v8.S)
PARKED    := a9-parked a7-parked r5-parked a53-parked a53-user a9-reads r5-reads a53-reads r52-parked r52hyp-parked a53in32-parked

define parked_rule
$(BUILD)/firmware/$(1).elf: $(2) tests/firmware/sections.ld tests/firmware/$(firstword $(subst -, ,$(1))).ld make/stub.mk
	@mkdir -p $$(@D)
	$$(call say,CC)$(3) -Ltests/firmware -T tests/firmware/$(firstword $(subst -, ,$(1))).ld $(2) -o $$@
endef
$(foreach chip,a9 r5 r52 r52hyp,$(eval $(call parked_rule,$(chip)-parked,$(PARKED_v7),$(FIRMWARE_CC) $(V7_FLAGS) $(V7_CPU_$(chip)))))
$(eval $(call parked_rule,a7-parked,$(PARKED_v7),$(FIRMWARE_CC) $(V7_FLAGS) $(V7_CPU_a7) -DPARKED_USER))
$(foreach chip,a9 r5,$(eval $(call parked_rule,$(chip)-reads,$(PARKED_v7),$(FIRMWARE_CC) $(V7_FLAGS) $(V7_CPU_$(chip)) \
    -DPARKED_USER -DPARKED_READS)))
$(eval $(call parked_rule,a53in32-parked,$(PARKED_v7),$(FIRMWARE_CC) $(V7_FLAGS) $(V7_CPU_a53in32) -DPARKED_USER))
$(eval $(call parked_rule,a53-reads,$(PARKED_v8),$(A64_CC) $(A64_FLAGS) -DPARKED_USER -DPARKED_READS))
$(eval $(call parked_rule,a53-parked,$(PARKED_v8),$(A64_CC) $(A64_FLAGS)))
$(eval $(call parked_rule,a53-user,$(PARKED_v8),$(A64_CC) $(A64_FLAGS) -DPARKED_USER))
firmware: $(PARKED:%=$(BUILD)/firmware/%.elf)

# On m4 also started by the image that runs before an application
SELF_IMAGE := -Wl,--defsym=pmu_stub_at=0x08000000 -Wl,--defsym=pmu_stub_next=0x08000400 -Wl,--defsym=pmu_stub_stack=0x20000200

$(BUILD)/stub/cortex-m4/behind.bin: target-stub/before_m.S target-stub/image.ld make/stub.mk
	@mkdir -p $(@D)
	$(call say,CC)arm-none-eabi-gcc $(STUB_CPU_cortex-m4) $(STUB_LINK) $(SELF_IMAGE) $< -o $@.elf
	$(quiet)arm-none-eabi-objcopy -O binary $@.elf $@
$(BUILD)/firmware/m4-behind.elf: $(SELF_M) tests/firmware/behind.S $(BUILD)/stub/cortex-m4/behind.bin tests/stub/measures.h \
        tests/firmware/sections.ld tests/firmware/behind.ld $(STUB_HDR) Makefile make/stub.mk make/firmware.mk
	$(call say,CC)$(FIRMWARE_CC) $(FIRMWARE_FLAGS) $(FIRMWARE_CPU_m4) $(SELF_INC) -Wa,-I$(BUILD)/stub/cortex-m4 -T tests/firmware/behind.ld \
	    $(SELF_M) tests/firmware/behind.S -o $@

firmware: $(BUILD)/firmware/m4-behind.elf $(SELF_CHIPS:%=$(BUILD)/firmware/%-self.elf)
