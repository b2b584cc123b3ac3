// The ROM table that leads a debugger to the core's debug components, the identification registers that every
// one of them ends with (IHI 0031, "Component and Peripheral ID registers"), and the rest of the private bus,
// which reads as zero.
#include "cpu/cortex_m.h"

#define PRESENT 1u

// Offsets from 0xE00FF000, each present and of 32-bit format
const uint32_t cm_rom_entries[CM_ROM_WITH_TPIU] = {0xFFF0F003, 0xFFF02003, 0xFFF03003, 0xFFF01003,
                                                   0xFFF41003};

static bool is_stm32(const struct cortex_m *cm)
{
    return cm->profile->dbgmcu_idcode && cm->trace_unit &&
           (cm->trace_unit->quirks.dark_pin || cm->trace_unit->quirks.pin_used);
}

static uint32_t rom_table_read(void *self, uint32_t offset, enum bus_master master)
{
    const struct cortex_m *cm = self;
    const struct cm_profile *profile = cm->profile;
    (void)master;
    if (offset / 4 < profile->rom_count) {
        bool other_tpiu = offset / 4 == CM_ROM_TPIU && profile->rom_entries == cm_rom_entries &&
                          (!cm->trace_unit || cm->trace_unit->route != TRACE_CORE_TPIU);
        return profile->rom_entries[offset / 4] & ~(other_tpiu ? PRESENT : 0);
    }
    struct component is = profile->rom;
    if (is_stm32(cm)) {
        is.designer = 0x20;
        is.part = profile->dbgmcu_idcode & 0xFFF;
    }
    return component_read(&is, offset);
}

static uint32_t nothing_read(void *self, uint32_t offset, enum bus_master master)
{
    (void)self, (void)offset, (void)master;
    return 0;
}

static void nothing_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    (void)self, (void)offset, (void)value, (void)master;
}

// RM0090 38.16: IDCODE, CR, APB1_FZ, APB2_FZ.
static uint32_t dbgmcu_read(void *self, uint32_t offset, enum bus_master master)
{
    const struct cortex_m *cm = self;
    (void)master;
    return offset == 0 ? cm->profile->dbgmcu_idcode : offset <= 12 ? cm->dbgmcu[offset / 4 - 1] : 0;
}

static void dbgmcu_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct cortex_m *cm = self;
    (void)master;
    if (offset >= 4 && offset <= 12)
        cm->dbgmcu[offset / 4 - 1] = value;
}

// GPIOB of an STM32, RM0090 8.4.1: MODER after a reset, or with PB3 as an output
static uint32_t gpio_read(void *self, uint32_t offset, enum bus_master master)
{
    const struct cortex_m *cm = self;
    (void)master;
    return offset != 0 ? 0 : cm->trace_unit->quirks.pin_used ? 0x240 : 0x280;
}

static bool add_gpio(struct cortex_m *cm)
{
    return !is_stm32(cm) || bus_add_device(cm->core.bus, (struct device){cm->profile->gpiob, 0x400, gpio_read,
                                                                         nothing_write, cm, NULL, NULL});
}

static bool add_dbgmcu(struct cortex_m *cm)
{
    return !cm->profile->dbgmcu_idcode ||
           bus_add_device(cm->core.bus, (struct device){cm->profile->dbgmcu_base, 0x400, dbgmcu_read,
                                                        dbgmcu_write, cm, NULL, NULL});
}

bool cm_add_rom_table(struct cortex_m *cm)
{
    struct bus *bus = cm->core.bus;
    return add_dbgmcu(cm) && add_gpio(cm) &&
           bus_add_device(
               bus, (struct device){0xE00FF000, 0x1000, rom_table_read, nothing_write, cm, NULL, NULL}) &&
           bus_add_device(bus,
                          (struct device){0xE0000000, 0x100000, nothing_read, nothing_write, cm, NULL, NULL});
}
