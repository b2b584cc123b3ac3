// RP2040 and RP2350: from the ring oscillator, whose clock nobody knows, to the crystal's 12 MHz; on the
// RP2040 also its microsecond timer, as programs start it. Registers: RP2040 data
// sheet 2.14, 2.15, 2.16, 4.7; RP2350 data sheet 8.1, 8.2.
#include "sequences.h"

#define REG(address) (*(volatile uint32_t *)(address))

#ifdef CHIP_RP2350
#define XOSC   0x40048000
#define CLOCKS 0x40010000
#else
#define XOSC   0x40024000
#define CLOCKS 0x40008000
#endif
#define XOSC_CTRL        REG(XOSC + 0x00)
#define XOSC_STATUS      REG(XOSC + 0x04)
#define XOSC_STARTUP     REG(XOSC + 0x0C)
#define CLK_REF_CTRL     REG(CLOCKS + 0x30)
#define CLK_REF_SELECTED REG(CLOCKS + 0x38)
#define CLK_SYS_CTRL     REG(CLOCKS + 0x3C)
#define CLK_SYS_SELECTED REG(CLOCKS + 0x44)

enum {
    XOSC_1_15MHZ = 0xAA0,
    XOSC_ENABLE = 0xFAB << 12,
    XOSC_WAIT = 196, // times 256 of its cycles: 4 ms, and some more
    CLK_REF_SRC_XOSC = 2,
    CLK_SYS_SRC_REF = 0,
    CLK_SYS_SRC_AUX = 1,
    ROUNDS = 1000000 // of waiting for what does not happen
};
#define XOSC_STABLE (1u << 31)

// 0: unknown, the crystal did not start
volatile uint32_t SystemCoreClock;

static uint32_t waits_for(volatile uint32_t *at, uint32_t bit)
{
    for (uint32_t left = ROUNDS; left; left--)
        if (*at & bit)
            return 1;
    return 0;
}

static uint32_t runs_on_crystal(void)
{
    XOSC_STARTUP = XOSC_WAIT;
    XOSC_CTRL = XOSC_ENABLE | XOSC_1_15MHZ;
    if (!waits_for(&XOSC_STATUS, XOSC_STABLE))
        return 0;
    CLK_SYS_CTRL &= ~(uint32_t)CLK_SYS_SRC_AUX; // it is off after a reset, unless another program changed that
    if (!waits_for(&CLK_SYS_SELECTED, 1u << CLK_SYS_SRC_REF))
        return 0;
    CLK_REF_CTRL = CLK_REF_SRC_XOSC;
    return waits_for(&CLK_REF_SELECTED, 1u << CLK_REF_SRC_XOSC);
}

#ifdef CHIP_RP2350
static void start_timer(void)
{
}
#else
#define RESETS_CLEAR  REG(0x4000F000) // the alias of RESETS.RESET that clears bits
#define RESETS_DONE   REG(0x4000C008)
#define WATCHDOG_TICK REG(0x4005802C)

enum { RESET_TIMER = 1 << 21, TICK_ENABLE = 1 << 9, CYCLES_OF_A_MICROSECOND = 12 };

static void start_timer(void)
{
    RESETS_CLEAR = RESET_TIMER;
    if (waits_for(&RESETS_DONE, RESET_TIMER))
        WATCHDOG_TICK = CYCLES_OF_A_MICROSECOND | TICK_ENABLE;
}
#endif

void chip_start(void)
{
    if (!runs_on_crystal())
        return;
    SystemCoreClock = 12000000;
    start_timer();
}
