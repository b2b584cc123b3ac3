# Programs that the tests of symbols/ read.

SYM_DIR  := tests/unit/symbols/fixtures
SYM_OUT  := $(BUILD)/fixtures
SYM_BARE := -mcpu=cortex-m3 -mthumb -nostdlib -ffreestanding -ffunction-sections -Wl,--gc-sections -Wl,--build-id
SYM_IN   := $(SYM_DIR)/startup.S $(SYM_DIR)/blink.c $(SYM_DIR)/other.c
SYM_ELFS := $(patsubst %,$(SYM_OUT)/%.elf,blink blink4 blink0 blinkz flash stripped nodebug shapes mixed host many names copies exits switches writes_a32 writes_a64 library signed arrays_m arrays_a stores changes bases listing labels be8 unnamed sizeless ranges long stacks_m4 stacks_m0 stacks_a9 stacks_a53 late_m4 late_a53)

# $(call blink,FLAGS,ORIGIN): the program with its flash at ORIGIN, 0 if not given
blink = sed 's/FLASH_ORIGIN/$(or $(2),0)/' $(SYM_DIR)/blink.ld > $@.ld && \
    arm-none-eabi-gcc $(SYM_BARE) $(1) -T $@.ld $(SYM_IN) -lgcc -o $@

$(SYM_ELFS): make/symbols-fixtures.mk tests/firmware/no_system.c $(wildcard $(SYM_DIR)/*.* $(SYM_DIR)/*/*) | $(SYM_OUT)
$(SYM_OUT):
	mkdir -p $@

$(SYM_OUT)/blink.elf:
	$(call blink,-O2 -g)
$(SYM_OUT)/blink4.elf:
	$(call blink,-O2 -gdwarf-4 -gstrict-dwarf)
$(SYM_OUT)/blink0.elf:
	$(call blink,-O0 -g)
$(SYM_OUT)/blinkz.elf:
	$(call blink,-O2 -g -gz)
$(SYM_OUT)/nodebug.elf:
	$(call blink,-O2)
$(SYM_OUT)/flash.elf:
	$(call blink,-O2 -g,0x08000000)
$(SYM_OUT)/stripped.elf: $(SYM_OUT)/blink.elf
	arm-none-eabi-strip $< -o $@
$(SYM_OUT)/shapes.elf:
	arm-none-eabi-g++ -mcpu=cortex-m3 -mthumb -nostdlib -fno-exceptions -Ttext 0x10000000 -Og -g $(SYM_DIR)/shapes.cpp -o $@
$(SYM_OUT)/names.elf:
	arm-none-eabi-g++ -mcpu=cortex-m3 -mthumb -nostdlib -fno-exceptions -Ttext 0x10000000 -O1 -g $(SYM_DIR)/names.cpp \
	    $(SYM_DIR)/sub/names.cpp -o $@
$(SYM_OUT)/long.elf: $(SYM_DIR)/long.cpp
	arm-none-eabi-g++ -mcpu=cortex-m3 -mthumb -nostdlib -fno-exceptions -Ttext 0x8000 -O1 -g $< -o $@
$(SYM_OUT)/copies.elf:
	arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -nostdlib -Ttext 0x10000000 $(SYM_DIR)/copies.S -o $@
$(SYM_OUT)/mixed.elf:
	arm-none-eabi-gcc -mcpu=cortex-a8 -nostdlib -O2 -g -Wl,-N -Ttext 0x10000 $(SYM_DIR)/mixed.c -o $@
$(SYM_OUT)/exits.elf:
	arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -nostdlib -ffreestanding -Ttext 0x8000 -Og -g $(SYM_DIR)/exits.S $(SYM_DIR)/exits.c -o $@
$(SYM_OUT)/switches.elf:
	arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -nostdlib -ffreestanding -Ttext 0x8000 -Og -g -DSWITCHES $(SYM_DIR)/exits.S \
	    $(SYM_DIR)/exits.c -o $@
$(SYM_OUT)/writes_a32.elf: $(SYM_DIR)/writes_a32.S
	arm-none-eabi-gcc -mcpu=cortex-a7 -nostdlib -Ttext 0x10000 $< -o $@
$(SYM_OUT)/writes_a64.elf: $(SYM_DIR)/writes_a64.S
	aarch64-linux-gnu-gcc -nostdlib -static -no-pie -Wl,-Ttext=0x10000 $< -o $@
$(SYM_OUT)/library.elf: $(SYM_DIR)/library.S
	aarch64-linux-gnu-gcc -nostdlib -shared -DLIBRARY $< -o $(SYM_OUT)/library.so
	aarch64-linux-gnu-gcc -nostdlib -no-pie -Wl,-Ttext=0x10000 $< $(SYM_OUT)/library.so -o $@
$(SYM_OUT)/signed.elf: $(SYM_DIR)/signed.S
	aarch64-linux-gnu-gcc -nostdlib -static -no-pie -Wl,-Ttext=0x10000 $< -o $@
$(SYM_OUT)/arrays_m.elf: $(SYM_DIR)/arrays.S
	arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -nostdlib -Ttext 0x10000 $< -o $@
$(SYM_OUT)/arrays_a.elf: $(SYM_DIR)/arrays.S
	arm-none-eabi-gcc -mcpu=cortex-a8 -nostdlib -Ttext 0x10000 $< -o $@
	arm-none-eabi-objcopy -w -N '$$a*' $@
$(SYM_OUT)/stores.elf: $(SYM_DIR)/stores.S
	arm-none-eabi-gcc -march=armv8-m.main -mthumb -nostdlib -Ttext 0x8000 $< -o $@
$(SYM_OUT)/changes.elf: $(SYM_DIR)/changes.S
	arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -nostdlib -Ttext 0x8000 $< -o $@
$(SYM_OUT)/bases.elf: $(SYM_DIR)/bases.S
	arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -nostdlib -Ttext 0x8000 -Tdata 0x20000000 $< -o $@
$(SYM_OUT)/listing.elf: $(SYM_DIR)/listing.S
	arm-none-eabi-gcc -march=armv8-m.main -mthumb -nostdlib -Ttext 0x8000 $< -o $@
$(SYM_OUT)/be8.elf: $(SYM_DIR)/mixed.c
	arm-none-eabi-gcc -mcpu=cortex-r5 -mbig-endian -nostdlib -O2 -g -Wl,-N -Ttext 0x10000 $< -o $@
$(SYM_OUT)/labels.elf: $(SYM_DIR)/labels.S
	arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -nostdlib -Ttext 0x8000 $< -o $@
# Without the names of static functions; without sizes; and as armlink leaves the ranges of a unit of which it drops a function
SYM_UNNAMED := arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -nostdlib -Ttext 0x8000 -O1 -gdwarf-4 -ffunction-sections -Wl,--gc-sections
$(SYM_OUT)/unnamed.elf: $(SYM_DIR)/unnamed.c
	$(SYM_UNNAMED) -Wl,-x $< -o $@
$(SYM_OUT)/sizeless.elf: $(SYM_DIR)/unnamed.c
	$(SYM_UNNAMED) -S $< -o $@.s
	sed -i '/\.size/d' $@.s
	$(SYM_UNNAMED) $@.s -o $@
$(SYM_OUT)/ranges.elf: $(SYM_DIR)/unnamed.c
	$(SYM_UNNAMED) -S $< -o $@.s
	sed -i '/debug_ranges/,$$ s/\.4byte\t\.LF[BE]2$$/.4byte 0/' $@.s
	$(SYM_UNNAMED) $@.s -o $@
# With a library. Its linker script wants no start-up; the program calls no system
SYM_NEWLIB := -O2 -g -nostartfiles --specs=nano.specs --specs=nosys.specs -u _printf_float -Wl,--gc-sections
$(SYM_OUT)/stacks_m4.elf:
	arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb $(SYM_NEWLIB) $(SYM_DIR)/stacks.c tests/firmware/no_system.c -o $@
$(SYM_OUT)/stacks_m0.elf:
	arm-none-eabi-gcc -mcpu=cortex-m0plus -mthumb $(SYM_NEWLIB) $(SYM_DIR)/stacks.c tests/firmware/no_system.c -o $@
$(SYM_OUT)/stacks_a9.elf:
	arm-none-eabi-gcc -mcpu=cortex-a9 -marm $(SYM_NEWLIB) $(SYM_DIR)/stacks.c tests/firmware/no_system.c -o $@
$(SYM_OUT)/stacks_a53.elf:
	aarch64-linux-gnu-gcc -mcpu=cortex-a53 -O2 -g -nostdlib -static -no-pie -Wl,-Ttext=0x10000 $(SYM_DIR)/stacks.c -o $@
$(SYM_OUT)/late_m4.elf: $(SYM_DIR)/late.S
	arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -nostdlib -Ttext 0x8000 $< -o $@
$(SYM_OUT)/late_a53.elf: $(SYM_DIR)/late.S
	aarch64-linux-gnu-gcc -nostdlib -static -no-pie -Wl,-Ttext=0x10000 $< -o $@
$(SYM_OUT)/host.elf:
	$(CC) -nostdlib -static -no-pie -fno-stack-protector -Wl,--build-id -O2 -g $(SYM_DIR)/host.c -o $@
# 100000 functions, to show that lookups stay fast
$(SYM_OUT)/many.elf:
	awk 'BEGIN { print ".text\n.globl _start\n_start:"; for (i = 0; i < 100000; i++) \
	    printf ".type driver_of_device_%d, @function\ndriver_of_device_%d: .byte 0\n", i, i }' > $@.S
	$(CC) -nostdlib -static -no-pie $@.S -o $@
	rm $@.S

$(BUILD)/unit/symbols: | $(SYM_ELFS)
$(BUILD)/unit/symbols: UNIT_LIBS = $(shell pkg-config --libs unicorn)
$(BUILD)/unit/profile: | $(addprefix $(SYM_OUT)/,blink.elf nodebug.elf host.elf)
