# The target stub for every core that it is for: an object to link, the image started before an application (which begins
# at STUB_NEXT; a Cortex-M's image lies at STUB_AT), and the image that a debugger writes into RAM. `make stub-sizes`.

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
STUB_FLAGS := -Os -std=c11 -ffreestanding -Wall -Wextra -Wpedantic -Wshadow -Werror -fno-asynchronous-unwind-tables

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
	$(2)gcc $(STUB_FLAGS) $(STUB_CPU_$(1)) -c $$< -o $$@
$(BUILD)/stub/$(1)/before.elf $(BUILD)/stub/$(1)/pushed.elf: $(BUILD)/stub/$(1)/%.elf: \
        target-stub/%_$(STUB_KIND_$(1)).S target-stub/image.ld make/stub.mk
	@mkdir -p $$(@D)
	$(2)gcc $(STUB_CPU_$(1)) $(STUB_LINK) -Wl,--defsym=pmu_stub_next=$(STUB_NEXT) -Wl,--defsym=pmu_stub_at=$(STUB_AT) \
	    -Wl,--defsym=pmu_stub_stack=$(STUB_STACK) $$< -o $$@
$(BUILD)/stub/$(1)/%.bin: $(BUILD)/stub/$(1)/%.elf
	$(2)objcopy -O binary $$< $$@
endef
$(foreach core,$(STUB_ALL),$(eval $(call stub_rules,$(core),$(call stub_prefix,$(core)))))

stub: $(STUB_OBJ) $(STUB_BIN)

# Bytes; of what is linked the way in, pmu_stub_enable
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

check-build: stub
.PHONY: stub stub-sizes stub-list

# The program that tests/test_stub.py runs on QEMU, one for each core, and the image that it is started through there
STUB_QEMU       := cortex-a7 cortex-a15 cortex-a53
STUB_QEMU_FLAGS := -Os -g -std=gnu11 -ffreestanding -nostdlib -static -Wall -Wextra -Wshadow -Werror -fno-asynchronous-unwind-tables \
                   -fno-stack-protector -fno-pie -no-pie -DCYCLES_A_STEP=1024 -Itarget-stub -T tests/stub/qemu.ld -Wl,--build-id=none -Wl,--no-warn-rwx-segments

define stub_qemu_rules
$(BUILD)/stub/$(1)/measures.elf: $(addprefix tests/stub/,measures.c measures_user.c qemu.c qemu_$(STUB_KIND_$(1)).S qemu.h measures.h) \
        tests/stub/qemu.ld $(STUB_HDR) make/stub.mk
	@mkdir -p $$(@D)
	$(2)gcc $(STUB_CPU_$(1)) $(3) $(STUB_QEMU_FLAGS) $$(filter %.c %.S,$$^) -o $$@
$(BUILD)/stub/$(1)/through.bin: target-stub/before_$(STUB_KIND_$(1)).S target-stub/image.ld $(BUILD)/stub/$(1)/measures.elf
	$(2)gcc $(STUB_CPU_$(1)) $(STUB_LINK) \
	    -Wl,--defsym=pmu_stub_next=0x$$$$(nm $(BUILD)/stub/$(1)/measures.elf | awk '$$$$3 == "after_image" { print $$$$1 }') $$< -o $$@.elf
	$(2)objcopy -O binary $$@.elf $$@
stub: $(BUILD)/stub/$(1)/measures.elf $(BUILD)/stub/$(1)/through.bin
endef
$(foreach core,$(STUB_QEMU),$(eval $(call stub_qemu_rules,$(core),$(call stub_prefix,$(core)),\
    $(if $(filter v8,$(STUB_KIND_$(core))),-mstrict-align,-mno-unaligned-access))))
