# The firmware for tests/hardware/accept.sh, one for each real chip (docs/hardware.md says how it gets there); and for chips
# of the virtual board (virtual-...), where the script itself is tested.

HARDWARE     := tests/hardware/firmware
HARDWARE_OUT := $(BUILD)/hardware
HARDWARE_M   := $(HARDWARE)/start_m.c $(HARDWARE)/sequences_m.S tests/firmware/measured.S
HARDWARE_A32 := $(HARDWARE)/start_a32.S $(HARDWARE)/sequences_a32.S tests/firmware/measured_v7.S
HARDWARE_A64 := $(HARDWARE)/start_a64.S $(HARDWARE)/sequences_a64.S tests/firmware/measured_v8.S
HARDWARE_ALL := $(HARDWARE)/main.c tests/firmware/scenarios.c
HARDWARE_INC := -Itests/firmware -I$(HARDWARE) -Ltests/firmware -L$(HARDWARE)
HARDWARE_CC_M   := $(FIRMWARE_CC) $(FIRMWARE_FLAGS) -mfloat-abi=soft $(HARDWARE_INC)
HARDWARE_CC_A32 := $(FIRMWARE_CC) $(V7_FLAGS) -mcpu=cortex-a9 -marm $(HARDWARE_INC)
HARDWARE_CC_A64 := $(A64_CC) $(A64_FLAGS) $(HARDWARE_INC)

# $(call hardware_rule,NAME,KIND,SCRIPT,MORE SOURCES,OPTIONS): start-up first, for the vectors
define hardware_rule
$(HARDWARE_OUT)/$(1).elf: $(HARDWARE_$(2)) $(HARDWARE_ALL) $(4) $(3) tests/firmware/sections.ld tests/firmware/scenario.h \
        tests/firmware/asm.h $(HARDWARE)/sequences.h Makefile make/hardware.mk make/firmware.mk make/firmware-armv7.mk
	@mkdir -p $$(@D)
	$$(call say,CC)$$(HARDWARE_CC_$(2)) $(5) -T $(3) $$(HARDWARE_$(2)) $$(HARDWARE_ALL) $(4) -o $$@
HARDWARE_ELF += $(HARDWARE_OUT)/$(1).elf
endef
hardware = $(eval $(call hardware_rule,$(1),$(2),$(HARDWARE)/$(1).ld,$(3:%=$(HARDWARE)/%),$(4)))
# The chip's firmware, linked for the virtual board's memories
virtual = $(eval $(call hardware_rule,virtual-$(1),$(2),tests/firmware/$(1).ld,$(HARDWARE)/chip_fixed.c,$(3) -DCLOCK_HZ=12000000))

$(call hardware,rp2040,M,chip_rp2.c boot2_rp2040.S,-mcpu=cortex-m0plus -DCHIP_RP2040)
$(call hardware,rp2350,M,chip_rp2.c image_def_rp2350.S,-mcpu=cortex-m33+nodsp -DCHIP_RP2350)
$(call hardware,stm32f4,M,chip_fixed.c,-mcpu=cortex-m4 -DCLOCK_HZ=16000000 -DDBGMCU_CR=0xE0042004)
$(call hardware,stm32h7,M,chip_fixed.c,-mcpu=cortex-m7 -DCLOCK_HZ=64000000 -DDATA_CACHE -DDBGMCU_CR=0x5C001004)
$(call hardware,nrf52840,M,chip_nrf52840.c,-mcpu=cortex-m4)
$(call hardware,zynq7000,A32)
$(call hardware,rpi3,A64)
$(call hardware,rpi3in32,A32,,-mcpu=cortex-a53 -DSHOWS_REGISTERS=1)
$(call virtual,rp2040,M,-mcpu=cortex-m0plus)
$(call virtual,rp2350,M,-mcpu=cortex-m33+nodsp)
$(call virtual,m4,M,-mcpu=cortex-m4 -DDBGMCU_CR=0xE0042004)
$(call virtual,a9,A32)
$(call virtual,a53,A64)
$(call virtual,a53in32,A32,-mcpu=cortex-a53 -DSHOWS_REGISTERS=1)
$(call virtual,r52,A32,-mcpu=cortex-r52)

# The images that a Raspberry Pi loads from its card, for either Execution state
$(HARDWARE_OUT)/kernel8.img: $(HARDWARE_OUT)/rpi3.elf
	$(call say,GEN)aarch64-linux-gnu-objcopy -O binary $< $@

$(HARDWARE_OUT)/kernel7.img: $(HARDWARE_OUT)/rpi3in32.elf
	arm-none-eabi-objcopy -O binary $< $@

hardware-firmware: $(HARDWARE_ELF) $(HARDWARE_OUT)/kernel8.img $(HARDWARE_OUT)/kernel7.img
check-build: hardware-firmware
.PHONY: hardware-firmware
