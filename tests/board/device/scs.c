// The System Control Space: who answers at which address of 0xE000E000, and the system control and debug
// registers themselves (DDI 0403E B3.2 and C1.6; DDI 0419 B3.2 and C1.5).
#include "cpu/cortex_m.h"

// Offsets from 0xE000E000
enum {
    ICTR = 0x004,
    ACTLR = 0x008,
    SYSTICK = 0x010,
    SYSTICK_END = 0x020,
    NVIC = 0x100,
    NVIC_END = 0x500,
    CPUID = 0xD00,
    ICSR = 0xD04,
    VTOR = 0xD08,
    AIRCR = 0xD0C,
    SCR = 0xD10,
    CCR = 0xD14,
    SHPR1 = 0xD18,
    SHPR3 = 0xD20,
    SHCSR = 0xD24,
    CFSR = 0xD28,
    HFSR = 0xD2C,
    DFSR = 0xD30,
    MMFAR = 0xD34,
    BFAR = 0xD38,
    CPACR = 0xD88,
    DHCSR = 0xDF0,
    DCRSR = 0xDF4,
    DCRDR = 0xDF8,
    DEMCR = 0xDFC,
    MVFR0 = 0xF40,
    MVFR1 = 0xF44,
    DSCSR = 0xE08,
    DAUTHSTATUS = 0xFB8,
};

// Offsets from 0xE0001000; the lock as on every CoreSight component (IHI 0029 B2.3)
enum { DWT_PCSR = 0x1C, DWT_LAR = 0xFB0, DWT_LSR = 0xFB4 };
#define OLD_M3          0x411FC231u // CPUID of a Cortex-M3 r1p1
#define AN_M4           0x410FC241u // of a Cortex-M4 r0p1
#define CCR_DC          (1u << 16)
#define LAR_KEY         0xC5ACCE55u
#define LSR_IMPLEMENTED (1u << 0)
#define LSR_LOCKED      (1u << 1)
#define NO_COUNTERS     0x03000000u // DWT_CTRL.NOPRFCNT and NOCYCCNT

// ICSR, DDI 0403E B3.2.4
#define NMIPENDSET      (1u << 31)
#define PENDSVSET       (1u << 28)
#define PENDSVCLR       (1u << 27)
#define PENDSTSET       (1u << 26)
#define PENDSTCLR       (1u << 25)
#define ISRPREEMPT      (1u << 23)
#define ISRPENDING      (1u << 22)
#define VECTPENDING_LSB 12
#define RETTOBASE       (1u << 11)
#define XPSR_EXCEPTION  0x1FFu
// AIRCR, DDI 0403E B3.2.6
#define AIRCR_KEY      0x05FAu
#define AIRCR_KEYSTAT  0xFA050000u
#define AIRCR_PRIGROUP 0x700u
#define SYSRESETREQ    (1u << 2)
#define VECTCLRACTIVE  (1u << 1)
#define VECTRESET      (1u << 0)

// DDI 0553B D1.2. All of Non-secure debug is allowed, and of Secure debug all or nothing
#define DAUTH_NON_SECURE 0xFu
#define DAUTH_SECURE     0xF0u
#define DAUTH_NO_SECURE  0xA0u
#define DSCSR_CDSKEY     (1u << 17) // clear: CDS is written
#define DSCSR_CDS        (1u << 16) // the state is Secure
#define DSCSR_SBRSEL     (1u << 1)
#define DSCSR_SBRSELEN   (1u << 0)
#define DCRSR_WRITE      (1u << 16)
#define DCRSR_SELECT     0x7Fu
#define DEMCR_V7M        0x010F07F1u
#define DEMCR_SFERR      (1u << 11) // DDI 0553B D1.2: VC_SFERR, with the Security Extension
#define DEMCR_V6M        (TRCENA | VC_HARDERR | VC_CORERESET)

static bool pending(const struct cortex_m *cm, unsigned exception)
{
    return cm->nvic.pending & exc_bit(exception);
}

uint32_t cm_icsr(const struct cortex_m *cm)
{
    uint32_t value = cm_get(cm, UC_ARM_REG_XPSR) & XPSR_EXCEPTION;
    value |= (uint32_t)cm_best_pending(cm) << VECTPENDING_LSB;
    value |= cm->profile->v7m && cm_return_to_base(cm) ? RETTOBASE : 0;
    value |= cm->nvic.pending >> EXC_IRQ0 ? ISRPENDING : 0;
    value |= cm->state == CM_HALTED && cm_exception_to_take(cm) ? ISRPREEMPT : 0;
    value |= pending(cm, EXC_SYSTICK) ? PENDSTSET : 0;
    value |= pending(cm, EXC_PENDSV) ? PENDSVSET : 0;
    value |= pending(cm, EXC_NMI) ? NMIPENDSET : 0;
    return value;
}

static void write_icsr(struct cortex_m *cm, uint32_t value)
{
    if (value & NMIPENDSET)
        cm_pend(cm, EXC_NMI);
    if (value & PENDSVSET)
        cm_pend(cm, EXC_PENDSV);
    else if (value & PENDSVCLR)
        cm->nvic.pending &= ~exc_bit(EXC_PENDSV);
    if (value & PENDSTSET)
        cm_pend(cm, EXC_SYSTICK);
    else if (value & PENDSTCLR)
        cm->nvic.pending &= ~exc_bit(EXC_SYSTICK);
}

static void write_aircr(struct cortex_m *cm, uint32_t value, enum bus_master master)
{
    if (value >> 16 != AIRCR_KEY)
        return;
    if (cm->profile->v7m)
        cm->system.prigroup = (value & AIRCR_PRIGROUP) >> 8;
    if ((value & VECTCLRACTIVE) && cm->state == CM_HALTED)
        cm->nvic.active = 0;
    bool local = cm->profile->v7m && (value & VECTRESET) && cm->state == CM_HALTED;
    if (!(value & SYSRESETREQ) && !local)
        return;
    cm->attention = true;
    if (master == BUS_CORE) // takes effect before the next instruction
        cm->reset_requested = true;
    else
        cm_reset(cm);
}

static void write_dcrsr(struct cortex_m *cm, uint32_t value)
{
    if (cm->state != CM_HALTED)
        return;
    if (value & DCRSR_WRITE)
        cm_set_selected(cm, value & DCRSR_SELECT, cm->debug.dcrdr);
    else
        cm->debug.dcrdr = cm_selected(cm, value & DCRSR_SELECT);
}

static uint32_t read_dauthstatus(const struct cortex_m *cm)
{
    if (!cm->profile->v81m)
        return 0;
    uint32_t secure = cm->flavour.security.refuses_secure ? DAUTH_NO_SECURE : DAUTH_SECURE;
    return DAUTH_NON_SECURE | (cm->profile->security ? secure : 0);
}

// Of banked registers a Non-secure access meets the Non-secure ones, a debugger's Secure one those of the
// state that the core is in unless DSCSR says which. Whether those are the program's.
static bool is_own_bank(const struct cortex_m *cm, enum bus_master master)
{
    bool program = !cm->flavour.security.non_secure_program, secure = program;
    if (!cm->profile->security || master == BUS_CORE)
        return true;
    if (master == BUS_DEBUGGER_NON_SECURE)
        secure = false;
    else if (cm->bank_select & DSCSR_SBRSELEN)
        secure = cm->bank_select & DSCSR_SBRSEL;
    return secure == program;
}

static struct systick *systick_for(struct cortex_m *cm, enum bus_master master)
{
    if (is_own_bank(cm, master))
        return &cm->systick;
    systick_advance(&cm->other_systick, cm->core.counted);
    return &cm->other_systick;
}

static uint32_t read_dscsr(const struct cortex_m *cm, enum bus_master master)
{
    if (!cm->profile->security || master == BUS_DEBUGGER_NON_SECURE || master == BUS_CORE)
        return 0;
    return cm->bank_select | (cm->flavour.security.non_secure_program ? 0 : DSCSR_CDS);
}

static void write_dscsr(struct cortex_m *cm, uint32_t value, enum bus_master master)
{
    if (!cm->profile->security || master == BUS_DEBUGGER_NON_SECURE || master == BUS_CORE)
        return;
    cm->bank_select = value & (DSCSR_SBRSEL | DSCSR_SBRSELEN);
    if (!(value & DSCSR_CDSKEY))
        cm->flavour.security.non_secure_program = !(value & DSCSR_CDS);
    dwt_secure(&cm->dwt, cm_is_secure(cm), cm_dwt_now(cm));
}

static uint32_t read_v7m(const struct cortex_m *cm, uint32_t offset)
{
    switch (offset) {
    case CFSR:
        return cm->system.cfsr;
    case HFSR:
        return cm->system.hfsr;
    case MMFAR:
    case BFAR:
        return cm->system.faultaddr;
    case CPACR:
        return cm->system.cpacr;
    case MVFR0:
        return cm->profile->mvfr0;
    case MVFR1:
        return cm->profile->mvfr1;
    case DAUTHSTATUS:
        return read_dauthstatus(cm);
    default:
        return 0;
    }
}

static uint32_t cpuid(const struct cortex_m *cm)
{
    const struct trace_quirks *quirks = cm->trace_unit ? &cm->trace_unit->quirks : NULL;
    return quirks && quirks->old_m3 ? OLD_M3 : quirks && quirks->m4_core ? AN_M4 : cm->profile->cpuid;
}

static uint32_t read_system(struct cortex_m *cm, uint32_t offset, enum bus_master master)
{
    switch (offset) {
    case CPUID:
        return cpuid(cm);
    case ICSR:
        return is_own_bank(cm, master) ? cm_icsr(cm) : cm_icsr(cm) & ~(PENDSTSET | PENDSVSET);
    case VTOR:
        return is_own_bank(cm, master) ? cm->system.vtor : 0;
    case DSCSR:
        return read_dscsr(cm, master);
    case AIRCR:
        return AIRCR_KEYSTAT | cm->system.prigroup << 8;
    case SCR:
        return cm->system.scr;
    case CCR:
        return cm->system.ccr | (cm->flavour.dirty_cache ? CCR_DC : 0);
    case SHCSR:
        return cm->system.shcsr | (pending(cm, EXC_SVCALL) ? 1u << 15 : 0);
    case DFSR:
        return cm->debug.dfsr;
    case DHCSR:
        return cm_read_dhcsr(cm, master);
    case DCRDR:
        return cm->debug.dcrdr;
    case DEMCR:
        return cm->debug.demcr | (cm->flavour.monitor_key ? MONPRKEY : 0) |
               (pending(cm, EXC_DEBUGMONITOR) ? MON_PEND : 0);
    default:
        if (offset >= SHPR1 && offset <= SHPR3)
            return nvic_priorities(&cm->nvic, 4 + (offset - SHPR1));
        return cm->profile->v7m ? read_v7m(cm, offset) : 0;
    }
}

// Software of some Armv6-M cores sees none of the debug registers: whether it does is IMPLEMENTATION DEFINED
// (DDI 0419C C1.2), and on a Cortex-M0+ they are "only accessible over DAP" (CMSIS, core_cm0plus.h)
static bool scs_hides(const struct cortex_m *cm, enum bus_master master)
{
    return cm->profile->debug_hidden && master == BUS_CORE;
}

static bool is_of_debug(uint32_t offset)
{
    return offset == SHCSR || offset == DFSR || (offset >= DHCSR && offset <= DEMCR);
}

static uint32_t scs_read(void *self, uint32_t offset, enum bus_master master)
{
    struct cortex_m *cm = self;
    cm_settle(cm);
    if (offset >= SYSTICK && offset < SYSTICK_END)
        return systick_read(systick_for(cm, master), offset - SYSTICK,
                            (master != BUS_DEBUGGER && master != BUS_DEBUGGER_NON_SECURE) ||
                                cm->profile->any_read_clears_countflag);
    if (offset >= NVIC && offset < NVIC_END)
        return nvic_read(&cm->nvic, offset - NVIC);
    if (offset >= COMPONENT_IDS)
        return component_read(&cm->profile->scs, offset);
    if (scs_hides(cm, master) && is_of_debug(offset))
        return 0;
    return read_system(cm, offset, master);
}

// DDI 0553 D1.2: the fields that MONPRKEY keeps as they are unless it is written as zero. Sources differ on
// which of the three these are (probe-rs: MON_PEND and MON_EN; DSCEMCR has MON_PEND and MON_REQ), and on what
// it reads as: here all, and as one.
static uint32_t behind_key(const struct cortex_m *cm, uint32_t value)
{
    enum { FIELDS = MON_EN | MON_PEND | MON_REQ };
    uint32_t now = cm->debug.demcr | (pending(cm, EXC_DEBUGMONITOR) ? MON_PEND : 0);
    return cm->flavour.monitor_key && (value & MONPRKEY) ? (value & ~FIELDS) | (now & FIELDS) : value;
}

static void write_demcr(struct cortex_m *cm, uint32_t value)
{
    value = behind_key(cm, value);
    uint32_t main = (DEMCR_V7M & ~MON_PEND) | (cm->profile->security ? DEMCR_SFERR : 0);
    cm->debug.demcr = value & (cm->profile->v7m ? main : DEMCR_V6M);
    if (cm->profile->v7m && (value & MON_PEND))
        cm_pend(cm, EXC_DEBUGMONITOR);
    else
        cm->nvic.pending &= ~exc_bit(EXC_DEBUGMONITOR);
    cm_trace_catch_up(cm);
    dwt_trace(&cm->dwt, cm->debug.demcr & TRCENA, cm_dwt_now(cm));
    itm_power(&cm->itm, cm->trace_unit && (cm->debug.demcr & TRCENA), cm_dwt_now(cm));
    cm->traced_to = cm_dwt_now(cm);
    cm_trace_set_up(cm);
    pmu_v81m_trace(&cm->pmu, cm->debug.demcr & TRCENA);
}

static void write_system(struct cortex_m *cm, uint32_t offset, uint32_t value, enum bus_master master)
{
    switch (offset) {
    case ICSR:
        write_icsr(cm, value);
        break;
    case VTOR:
        cm->system.vtor = value & cm->profile->vtor_mask;
        break;
    case AIRCR:
        write_aircr(cm, value, master);
        break;
    case SCR:
        cm->system.scr = value & 0x16;
        break;
    case CCR:
        if (cm->profile->v7m)
            cm->system.ccr = (value & 0x31B) | cm->profile->ccr_always;
        break;
    case SHCSR:
        cm->system.shcsr = value & 0x70000;
        break;
    case CFSR:
        cm->system.cfsr &= ~value;
        break;
    case HFSR:
        cm->system.hfsr &= ~value;
        break;
    case DFSR:
        cm->debug.dfsr &= ~value;
        break;
    case CPACR:
        cm->system.cpacr = value & 0x00F00000;
        break;
    case DHCSR:
        cm_write_dhcsr(cm, value, master);
        break;
    case DCRSR:
        write_dcrsr(cm, value);
        break;
    case DCRDR:
        cm->debug.dcrdr = value;
        break;
    case DEMCR:
        write_demcr(cm, value);
        break;
    case DSCSR:
        write_dscsr(cm, value, master);
        break;
    default:
        if (offset >= SHPR1 && offset <= SHPR3)
            nvic_set_priorities(&cm->nvic, 4 + (offset - SHPR1), value);
        break;
    }
}

static void scs_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct cortex_m *cm = self;
    cm_settle(cm);
    cm->attention = true;
    if (offset >= SYSTICK && offset < SYSTICK_END)
        systick_write(systick_for(cm, master), offset - SYSTICK, value);
    else if (offset >= NVIC && offset < NVIC_END)
        nvic_write(&cm->nvic, offset - NVIC, value);
    else if (!scs_hides(cm, master) || !is_of_debug(offset))
        write_system(cm, offset, value, master);
}

// The lock does not hold for a debugger, who sees none, unless its access port says that it is the core
static bool dwt_lock_holds(const struct cortex_m *cm, enum bus_master master)
{
    return cm->profile->dwt_lock &&
           (master == BUS_CORE || master == BUS_DEBUGGER_AS_CORE || cm->flavour.dwt_locked);
}

// There is none in Debug state, while the DWT is off, and where debug is not allowed (DDI 0403E C1.8.5, DDI
// 0419C C1.7.2)
static uint32_t pc_sample(struct cortex_m *cm)
{
    bool is_there =
        cm->state != CM_HALTED && !cm->held_in_reset && (cm->debug.demcr & TRCENA) && cm_debug_permitted(cm);
    return is_there ? core_sample(&cm->core) : NO_SAMPLE;
}

static uint32_t dwt_unit_read(void *self, uint32_t offset, enum bus_master master)
{
    struct cortex_m *cm = self;
    if (scs_hides(cm, master))
        return 0;
    if (offset >= COMPONENT_IDS)
        return component_read(&cm->profile->dwt, offset);
    if (offset == DWT_LSR && cm->flavour.dwt_lock_lies)
        return 0;
    if (offset == DWT_LSR)
        return dwt_lock_holds(cm, master) ? LSR_IMPLEMENTED | (cm->dwt_lock_closed ? LSR_LOCKED : 0) : 0;
    if (cm->profile->hides_dwt && !(cm->debug.demcr & TRCENA))
        return 0;
    if (cm->flavour.no_cyccnt && offset < DWT_PCSR)
        return offset == 0 ? NO_COUNTERS | (uint32_t)cm->dwt.comparators << 28 : 0;
    return offset == DWT_PCSR ? pc_sample(cm) : dwt_read(&cm->dwt, offset, cm_dwt_now(cm));
}

static void dwt_unit_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct cortex_m *cm = self;
    if (offset == DWT_LAR && cm->profile->dwt_lock)
        cm->dwt_lock_closed = value != LAR_KEY;
    if (scs_hides(cm, master) || (dwt_lock_holds(cm, master) && cm->dwt_lock_closed))
        return;
    if (cm->flavour.no_cyccnt && offset < DWT_PCSR)
        return;
    cm_trace_catch_up(cm);
    dwt_write(&cm->dwt, offset, value, cm_dwt_now(cm));
    cm_trace_set_up(cm);
    cm->attention = true;
}

static uint32_t fpb_unit_read(void *self, uint32_t offset, enum bus_master master)
{
    const struct cortex_m *cm = self;
    if (scs_hides(cm, master))
        return 0;
    return offset >= COMPONENT_IDS ? component_read(&cm->profile->fpb, offset) : fpb_read(&cm->fpb, offset);
}

static void fpb_unit_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct cortex_m *cm = self;
    if (scs_hides(cm, master))
        return;
    fpb_write(&cm->fpb, offset, value);
    cm->attention = true;
}

bool cm_add_devices(struct cortex_m *cm)
{
    struct bus *bus = cm->core.bus;
    return bus_add_device(bus, (struct device){0xE000E000, 0x1000, scs_read, scs_write, cm, NULL, NULL}) &&
           bus_add_device(
               bus, (struct device){0xE0001000, 0x1000, dwt_unit_read, dwt_unit_write, cm, NULL, NULL}) &&
           bus_add_device(
               bus, (struct device){0xE0002000, 0x1000, fpb_unit_read, fpb_unit_write, cm, NULL, NULL}) &&
           cm_add_trace(cm) && cm_add_monitor(cm) && cm_add_rom_table(cm);
}
