// The external debug registers and the page of the performance monitor (DDI 0487H H8, H9.2, I5), and who may
// touch them when: power, the double lock, the OS lock, the authentication signals with what MDCR_EL3 makes
// of them, the software locks (tables H8-3 and I5-2, read from left to right).
#include "cpu/armv8.h"

// Offsets, DDI 0487H table H8-4
enum {
    EDESR = 0x020,
    EDECR = 0x024,
    DBGDTRRX = 0x080,
    EDITR = 0x084,
    EDSCR = 0x088,
    DBGDTRTX = 0x08C,
    EDRCR = 0x090,
    EDECCR = 0x098,
    EDPCSR_LOW = 0x0A0,
    EDCIDSR = 0x0A4,
    EDVIDSR = 0x0A8,
    EDPCSR_HIGH = 0x0AC,
    PMPCSR_LOW = 0x200,
    PMPCSR_HIGH = 0x204,
    PMCID1SR = 0x208,
    OSLAR = 0x300,
    EDPRCR = 0x310,
    EDPRSR = 0x314,
    DBGBVR0 = 0x400,
    DBGWVR0 = 0x800,
    COMPARATORS_END = 0x900,
    MIDR = 0xD00,
    EDPFR = 0xD20,
    EDDFR = 0xD28,
    MMFR = 0xD38,
    CLAIMSET = 0xFA0,
    CLAIMCLR = 0xFA4,
    DEVAFF0 = 0xFA8,
    DEVAFF1 = 0xFAC,
    LAR = 0xFB0,
    LSR = 0xFB4,
    AUTHSTATUS = 0xFB8,
    DEVID = 0xFC8,
};
enum { COMPARATOR_STRIDE = 16 };

#define LOCK_KEY       0xC5ACCE55u
#define LSR_LOCKED     3u // implemented, locked
#define LSR_OPEN       1u
#define CLAIM_TAGS     0xFFu
#define SCR_WRITABLE   (EDSCR_HDE | EDSCR_MA | EDSCR_TDA | EDSCR_INTDIS)
#define RCR_CSE        (1u << 2)
#define PRCR_WRITABLE  0x9u // COREPURQ, which has no effect here, and CORENPDRQ
#define PRCR_CWRR      (1u << 1)
#define EDECR_WRITABLE (EDECR_OSUCE | EDECR_RCE | EDECR_SS)
#define MDCR_EDAD      (1u << 20)
#define BCR_WRITABLE   0x00FFE1FFu
#define WCR_WRITABLE   0x1F1FFFFFu
#define BVR_LOW        0xFFFFFFFCu
enum {
    PRSR_PU = 1 << 0,
    PRSR_SPD = 1 << 1,
    PRSR_R = 1 << 2,
    PRSR_SR = 1 << 3,
    PRSR_HALTED = 1 << 4,
    PRSR_OSLK = 1 << 5,
    PRSR_DLK = 1 << 6,
    PRSR_EDAD = 1 << 7,
    PRSR_SDAD = 1 << 8,
    PRSR_EPMAD = 1 << 9,
    PRSR_SPMAD = 1 << 10,
    PRSR_SDR = 1 << 11,
};
#define VIDSR_NS (1u << 31)
#define VIDSR_E2 (1u << 30)
#define VIDSR_E3 (1u << 29)
#define VIDSR_HV (1u << 28) // the high word has been sampled
// PMPCSR[63:32]
#define PCSR_NS    (1u << 31)
#define PCSR_LEVEL 29
enum { DEVID_PCSAMPLE = 0xF, PMDEVID_PCSR = 1 };
enum { AUTH_DISABLED = 2, AUTH_ENABLED = 3 };

uint8_t v8_authstatus(const struct armv8 *v8)
{
    unsigned ns = v8->debug.unsigned_non_secure ? AUTH_DISABLED : AUTH_ENABLED;
    unsigned s = v8->debug.unsigned_secure ? AUTH_DISABLED : AUTH_ENABLED;
    return (uint8_t)(ns | ns << 2 | s << 4 | s << 6);
}

// AllowExternalDebugAccess() and AllowExternalPMUAccess() of DDI 0487H J1.3, negated
static bool refused(const struct armv8 *v8, uint32_t mdcr_bit)
{
    const struct v8_debug *d = &v8->debug;
    return d->unsigned_non_secure || (d->unsigned_secure && (v8->regs[R_MDCR_EL3] & mdcr_bit));
}

// Reading it clears what sticks in it
static uint32_t read_prsr(struct armv8 *v8)
{
    struct v8_debug *d = &v8->debug;
    if (v8->off)
        return 0;
    if (v8_double_locked(v8))
        return PRSR_PU | PRSR_DLK;
    uint32_t value = PRSR_PU | (d->was_off ? PRSR_SPD : 0) | (v8->held_in_reset ? PRSR_R : 0) |
                     (d->was_reset ? PRSR_SR : 0) | (v8->state == V8_HALTED ? PRSR_HALTED : 0) |
                     (d->os_locked ? PRSR_OSLK : 0) | (refused(v8, MDCR_EDAD) ? PRSR_EDAD : 0) |
                     (d->refused ? PRSR_SDAD : 0) | (refused(v8, MDCR_EPMAD) ? PRSR_EPMAD : 0) |
                     (d->monitor_refused ? PRSR_SPMAD : 0) | (d->restarted ? PRSR_SDR : 0);
    d->was_off = d->refused = d->monitor_refused = d->restarted = false;
    d->was_reset = v8->held_in_reset;
    return value;
}

struct comparator {
    uint64_t *address;
    uint32_t *control;
    uint32_t writable; // of the control register
    uint32_t low;      // the same for the address
};

static struct comparator comparator_at(struct armv8 *v8, uint32_t offset)
{
    struct v8_debug *d = &v8->debug;
    bool watch = offset >= DBGWVR0;
    unsigned n = (offset - (watch ? DBGWVR0 : DBGBVR0)) / COMPARATOR_STRIDE;
    if (offset < DBGBVR0 || n >= (watch ? (unsigned)V8_WATCHPOINTS : (unsigned)V8_BREAKPOINTS))
        return (struct comparator){0};
    return watch ? (struct comparator){&d->wvr[n], &d->wcr[n], WCR_WRITABLE, BVR_LOW}
                 : (struct comparator){&d->bvr[n], &d->bcr[n], BCR_WRITABLE, v8_value_bits(v8, n)};
}

static uint32_t read_comparator(struct armv8 *v8, uint32_t offset)
{
    struct comparator c = comparator_at(v8, offset);
    if (!c.address)
        return 0;
    switch (offset % COMPARATOR_STRIDE) {
    case 0:
        return (uint32_t)*c.address;
    case 4:
        return *c.address >> 32;
    default:
        return offset % COMPARATOR_STRIDE == 8 ? *c.control : 0;
    }
}

static void write_comparator(struct armv8 *v8, uint32_t offset, uint32_t value)
{
    struct comparator c = comparator_at(v8, offset);
    if (!c.address)
        return;
    if (offset % COMPARATOR_STRIDE == 0)
        *c.address = (*c.address & ~(uint64_t)UINT32_MAX) | (value & c.low);
    else if (offset % COMPARATOR_STRIDE == 4)
        *c.address = (uint32_t)*c.address | (uint64_t)value << 32;
    else if (offset % COMPARATOR_STRIDE == 8)
        *c.control = value & c.writable;
    v8_comparators_changed(v8);
}

// Reading it latches what goes with it (DDI 0487H H7). Its high word is 0, as nothing executes above 4 GB; no
// VMID is modelled.
static uint32_t pc_sample(struct armv8 *v8)
{
    struct v8_debug *d = &v8->debug;
    const struct v8_sampled *s = &v8->sampled;
    d->cidsr = s->context;
    d->pcsr_high = (s->secure ? 0 : PCSR_NS) | s->level << PCSR_LEVEL;
    d->vidsr = (s->secure ? 0 : VIDSR_NS) | (s->level == 2 ? VIDSR_E2 : 0) | (s->level == 3 ? VIDSR_E3 : 0) |
               VIDSR_HV;
    if (v8->state == V8_HALTED || v8->held_in_reset || !v8_may_halt(v8))
        return NO_SAMPLE;
    uint32_t at = core_sample(&v8->core);
    return at == NO_SAMPLE ? at : at & ~THUMB_SAMPLE;
}

static uint32_t half(uint64_t value, uint32_t offset)
{
    return (uint32_t)(offset & 4 ? value >> 32 : value);
}

static uint32_t read_identity(const struct armv8 *v8, uint32_t offset)
{
    const struct v8_profile *profile = v8->profile;
    switch (offset) {
    case MIDR:
        return profile->midr;
    case EDPFR:
    case EDPFR + 4:
        return half(profile->pfr, offset);
    case EDDFR:
    case EDDFR + 4:
        return half(profile->dfr, offset);
    case MMFR:
    case MMFR + 4:
        return half(profile->mmfr, offset);
    case CLAIMSET:
        return CLAIM_TAGS;
    case CLAIMCLR:
        return v8->debug.claims;
    case DEVAFF0:
        return profile->mpidr + v8->number;
    case AUTHSTATUS:
        return v8_authstatus(v8);
    case DEVID:
        return profile->debug.devid & ~(v8->debug.samples_in_monitor ? DEVID_PCSAMPLE : 0);
    default:
        return component_read(&profile->debug, offset);
    }
}

static uint32_t lock_status(const struct armv8 *v8, bool locked, enum bus_master master)
{
    bool counts = master == BUS_CORE || (v8->debug.lock_for_all && !v8->debug.lock_lies);
    return !counts ? 0 : locked ? LSR_LOCKED : LSR_OPEN;
}

// Armv8.2 moved them into the monitor (DDI 0487H I5.3)
static uint32_t read_sample(struct armv8 *v8, uint32_t offset, bool in_monitor)
{
    const struct v8_debug *d = &v8->debug;
    if (in_monitor != d->samples_in_monitor)
        return 0;
    switch (offset) {
    case EDPCSR_LOW:
    case PMPCSR_LOW:
        return pc_sample(v8);
    case PMPCSR_HIGH:
        return d->pcsr_high;
    case EDCIDSR:
    case PMCID1SR:
        return d->cidsr;
    case EDVIDSR:
        return d->vidsr;
    default:
        return 0;
    }
}

static uint32_t page_read(void *self, uint32_t offset, enum bus_master master)
{
    struct armv8 *v8 = self;
    const struct v8_debug *d = &v8->debug;
    if (offset >= DBGBVR0 && offset < COMPARATORS_END)
        return read_comparator(v8, offset);
    switch (offset) {
    case EDESR:
        return d->edesr;
    case EDECR:
        return d->edecr;
    case DBGDTRRX:
        return d->dtr_rx;
    case EDSCR:
        return v8_edscr(v8);
    case DBGDTRTX:
        return v8_read_tx(v8);
    case EDECCR:
        return d->edeccr;
    case EDPCSR_LOW:
    case EDPCSR_HIGH:
    case EDCIDSR:
    case EDVIDSR:
        return read_sample(v8, offset, false);
    case EDPRCR:
        return d->edprcr;
    case EDPRSR:
        return read_prsr(v8);
    case LSR:
        return lock_status(v8, d->locked, master);
    default:
        return read_identity(v8, offset);
    }
}

static void write_prcr(struct armv8 *v8, uint32_t value)
{
    bool open = !v8->off && !v8_double_locked(v8) && !v8->debug.os_locked; // else CORENPDRQ stays, H9.2.42
    uint32_t writable = open ? PRCR_WRITABLE : PRCR_WRITABLE & ~1u;
    v8->debug.edprcr = (v8->debug.edprcr & ~writable) | (value & writable);
    if ((value & PRCR_CWRR) && !v8->off && v8_may_halt(v8))
        v8_reset(v8, false);
}

static void write_register(struct armv8 *v8, uint32_t offset, uint32_t value)
{
    struct v8_debug *d = &v8->debug;
    switch (offset) {
    case EDESR: // write one to clear
        d->edesr &= ~value;
        break;
    case EDECR:
        d->edecr = value & (v8->cti.has_control ? EDECR_SS : EDECR_WRITABLE);
        break;
    case DBGDTRRX:
        v8_write_rx(v8, value);
        break;
    case EDITR:
        v8_stuff(v8, value);
        v8_pass_overflow(v8, v8->pc); // it may have been one of the monitor's registers
        break;
    case EDSCR:
        d->control = (d->control & ~SCR_WRITABLE) | (value & SCR_WRITABLE);
        if (v8->state != V8_HALTED)
            d->control &= ~EDSCR_MA;
        break;
    case DBGDTRTX:
        d->dtr_tx = value;
        break;
    case EDRCR:
        if (value & RCR_CSE)
            d->control &= ~(EDSCR_ERR | EDSCR_TXU | EDSCR_RXO | EDSCR_ITO);
        break;
    case EDECCR:
        d->edeccr = value & 0xFF;
        break;
    case EDPRCR:
        write_prcr(v8, value);
        break;
    case CLAIMSET:
        d->claims |= value & CLAIM_TAGS;
        break;
    case CLAIMCLR:
        d->claims &= ~value;
        break;
    default:
        break;
    }
    v8_comparators_changed(v8);
}

static void page_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct armv8 *v8 = self;
    bool lockable = master == BUS_CORE || v8->debug.lock_for_all;
    uint64_t bit = value & 1;
    if (offset == LAR && lockable)
        v8->debug.locked = value != LOCK_KEY;
    else if (lockable && v8->debug.locked)
        return;
    else if (offset == OSLAR)
        v8_debug_register(v8, V8_KEY(2, 0, 1, 0, 4), true, &bit);
    else if (offset >= DBGBVR0 && offset < COMPARATORS_END)
        write_comparator(v8, offset, value);
    else
        write_register(v8, offset, value);
}

static bool of_debug_domain(uint32_t offset)
{
    return offset == EDECR || offset == EDPRCR || offset == EDPRSR || offset >= DEVAFF0;
}

static bool page_allows(void *self, uint32_t offset, bool write, enum bus_master master)
{
    struct armv8 *v8 = self;
    (void)write, (void)master;
    if (of_debug_domain(offset))
        return true;
    if (v8->off || v8_double_locked(v8))
        return false;
    bool identity = offset >= MIDR && offset < CLAIMSET;
    if (v8->debug.os_locked && offset != OSLAR && !identity)
        return false;
    if ((offset == OSLAR || (offset >= DBGBVR0 && offset < COMPARATORS_END)) && refused(v8, MDCR_EDAD)) {
        v8->debug.refused = true;
        return false;
    }
    return true;
}

static uint32_t monitor_read(void *self, uint32_t offset, enum bus_master master)
{
    struct armv8 *v8 = self;
    switch (offset) {
    case DEVAFF0:
        return v8->profile->mpidr + v8->number;
    case DEVAFF1:
        return 0;
    case LSR:
        return lock_status(v8, v8->debug.monitor_locked, master);
    case AUTHSTATUS:
        return v8_authstatus(v8) & 0xCC; // non-invasive debug only
    case PMPCSR_LOW:
    case PMPCSR_HIGH:
    case PMCID1SR:
        return read_sample(v8, offset, true);
    case DEVID:
        return v8->debug.samples_in_monitor ? PMDEVID_PCSR : 0;
    default:
        return offset >= COMPONENT_IDS ? component_read(&v8->profile->monitor, offset)
                                       : pmu_v3_read(&v8->pmu, offset);
    }
}

static void monitor_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct armv8 *v8 = self;
    bool lockable = master == BUS_CORE || v8->debug.lock_for_all;
    if (offset == LAR && lockable)
        v8->debug.monitor_locked = value != LOCK_KEY;
    else if (!lockable || !v8->debug.monitor_locked)
        pmu_v3_write(&v8->pmu, offset, value);
    v8_attend(v8);
    if (master != BUS_CORE) // else the instruction that did it is not done yet
        v8_pass_overflow(v8, v8->pc);
}

static bool monitor_allows(void *self, uint32_t offset, bool write, enum bus_master master)
{
    struct armv8 *v8 = self;
    (void)write, (void)master;
    if (offset >= DEVAFF0)
        return true;
    if (v8->off || v8_double_locked(v8) || v8->debug.os_locked)
        return false;
    if (refused(v8, MDCR_EPMAD)) {
        v8->debug.monitor_refused = true;
        return false;
    }
    return true;
}

bool v8_add_devices(struct armv8 *v8, struct bus *bus)
{
    const struct v8_profile *profile = v8->profile;
    uint32_t at = v8->number * profile->stride;
    struct device page = {.base = profile->debug_base + at,
                          .size = COMPONENT_SIZE,
                          .read = page_read,
                          .write = page_write,
                          .self = v8,
                          .allows = page_allows};
    struct device monitor = {.base = profile->monitor_base + at,
                             .size = COMPONENT_SIZE,
                             .read = monitor_read,
                             .write = monitor_write,
                             .self = v8,
                             .allows = monitor_allows};
    return bus_add_device(bus, page) && bus_add_device(bus, monitor) && cti_add(&v8->cti);
}
