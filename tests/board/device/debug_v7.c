// The memory-mapped debug registers (DDI 0406C C11) and the page of the performance monitor. An access with
// PADDRDBG[31] clear is software's, and subject to the software lock of the page.
#include "cpu/armv7.h"

// Offsets, DDI 0406C table C11-1
enum {
    DBGDIDR = 0x000,
    DBGWFAR = 0x018,
    DBGVCR = 0x01C,
    DBGECR = 0x024,
    DBGDSCCR = 0x028,
    DBGDSMCR = 0x02C,
    DBGDTRRX = 0x080,
    DBGITR_PCSR = 0x084,
    DBGDSCR = 0x088,
    DBGDTRTX = 0x08C,
    DBGDRCR = 0x090,
    DBGPCSR = 0x0A0,
    DBGCIDSR = 0x0A4,
    DBGBVR0 = 0x100,
    DBGBCR0 = 0x140,
    DBGWVR0 = 0x180,
    DBGWCR0 = 0x1C0,
    DBGOSLAR = 0x300,
    DBGOSLSR = 0x304,
    DBGPRCR = 0x310,
    DBGPRSR = 0x314,
    IDENTITY = 0xD00,
    FEATURES = 0xD20,
    FEATURES_END = 0xD58,
    CLAIMSET = 0xFA0,
    CLAIMCLR = 0xFA4,
    LAR = 0xFB0,
    LSR = 0xFB4,
    AUTHSTATUS = 0xFB8,
    DBGDEVID = 0xFC8,
};

#define LOCK_KEY      0xC5ACCE55u // opens LAR, and closes DBGOSLAR
#define DSCR_WRITABLE 0x0038F800u // INTdis, UDCCdis, ITRen, HDBGen, MDBGen, ADAdiscard, ExtDCCmode
#define DRCR_HALT     (1u << 0)
#define DRCR_RESTART  (1u << 1)
#define DRCR_CLEAR    (1u << 2) // the sticky exception bits
#define WVR_WRITABLE  0xFFFFFFFCu
#define BCR_WRITABLE  0x1F7FFFFFu
#define WCR_WRITABLE  0x1F1FFFFFu
#define OSLSR_MODEL   (1u << 3) // OSLM 0b10: a lock, no save and restore registers
#define OSLSR_LOCKED  (1u << 1)
#define LSR_LOCKED    3u // implemented, locked
#define LSR_OPEN      1u
#define CLAIM_TAGS    0xFFu
// Where the PC sample is
#define DIDR_PCSR      (1u << 13)
#define DIDR_DEVID     (1u << 15)
#define DEVID_PCSAMPLE 0xFu
enum {
    PRSR_PU = 1 << 0,
    PRSR_SPD = 1 << 1,
    PRSR_R = 1 << 2,
    PRSR_SR = 1 << 3,
    PRSR_HALTED = 1 << 4,
    PRSR_OSLK = 1 << 5
};

// A field a kind of debug; 2 is "there, not allowed". The Secure ones are the upper two.
static uint8_t v7_authstatus(const struct armv7 *v7)
{
    uint8_t all = v7->profile->authstatus;
    return v7->debug.secure_low ? (all & 0x0F) | 0xA0 : all;
}

uint32_t v7_dscr(struct armv7 *v7)
{
    const struct v7_debug *d = &v7->debug;
    return d->control | d->sticky | d->moe << DSCR_MOE_LSB | DSCR_RESTARTED | DSCR_INSTR |
           (v7->state == V7_HALTED ? DSCR_HALTED : 0) | (d->tx_full ? DSCR_TXFULL : 0) |
           (d->rx_full ? DSCR_RXFULL : 0) | (d->tx_full_latched ? DSCR_TXFULL_L : 0) |
           (d->rx_full_latched ? DSCR_RXFULL_L : 0);
}

// Reading DBGDSCR is what brings the latched flags up to date
static uint32_t read_dscr(struct armv7 *v7)
{
    v7->debug.tx_full_latched = v7->debug.tx_full;
    v7->debug.rx_full_latched = v7->debug.rx_full;
    return v7_dscr(v7);
}

static bool fast(const struct armv7 *v7)
{
    return v7->state == V7_HALTED && (v7->debug.control & DSCR_EXTDCC) == DSCR_FAST;
}

// While an exception bit sticks, nothing more is taken
static void issue(struct armv7 *v7, uint32_t op)
{
    if (v7->state == V7_HALTED && (v7->debug.control & DSCR_ITREN) && !v7->debug.sticky) {
        v7_stuff(v7, op);
        v7_pass_overflow(v7, v7->pc); // it may have been one of the monitor's registers
    }
}

static void write_itr(struct armv7 *v7, uint32_t op)
{
    v7->debug.itr = op;
    if (!fast(v7))
        issue(v7, op);
}

static uint32_t read_tx(struct armv7 *v7)
{
    struct v7_debug *d = &v7->debug;
    bool empties = d->tx_full_latched || (d->control & DSCR_EXTDCC);
    uint32_t value = empties ? d->dtr_tx : ~d->dtr_tx; // else UNKNOWN
    if (fast(v7)) {
        d->tx_full = false;
        issue(v7, d->itr);
    } else if (empties) {
        d->tx_full = d->tx_full_latched = false;
    }
    return value;
}

static void write_rx(struct armv7 *v7, uint32_t value)
{
    struct v7_debug *d = &v7->debug;
    if (!fast(v7) && !(d->control & DSCR_EXTDCC) && d->rx_full_latched)
        return;
    d->dtr_rx = value;
    d->rx_full = d->rx_full_latched = true;
    if (fast(v7))
        issue(v7, d->itr);
}

static void write_drcr(struct armv7 *v7, uint32_t value)
{
    if (value & DRCR_CLEAR)
        v7->debug.sticky = 0;
    if ((value & DRCR_RESTART) && v7->state == V7_HALTED)
        v7_resume(v7);
    else if ((value & DRCR_HALT) && v7->state != V7_HALTED && !v7->held_in_reset) // whatever the debug mode
        v7_halt(v7, MOE_REQUEST);
}

// Reading it clears what sticks in it
static uint32_t read_prsr(struct armv7 *v7)
{
    struct v7_debug *d = &v7->debug;
    uint32_t value = PRSR_PU | (d->was_off ? PRSR_SPD : 0) | (v7->held_in_reset ? PRSR_R : 0) |
                     (d->was_reset && !d->resets_unseen ? PRSR_SR : 0);
    if (v7->profile->v71)
        value |= (v7->state == V7_HALTED ? PRSR_HALTED : 0) | (d->os_locked ? PRSR_OSLK : 0);
    d->was_off = false;
    d->was_reset = v7->held_in_reset;
    return value;
}

// Erratum 751471 of the Cortex-A9 (Intel 683618, NXP ERR003732): bits 31:2 are the last branch's target,
// without an offset, and bits 1:0 the state there, 01 Thumb; bit 1 of a Thumb address is lost
static uint32_t target_sample(const struct v7_debug *d)
{
    return (d->sampled_target & ~3u) | (d->sampled_target & THUMB_SAMPLE);
}

// With the offset that a core has which does not say otherwise in DBGDEVID1 (DDI 0406C C11.11.34)
static uint32_t pc_sample(struct armv7 *v7)
{
    uint32_t at = core_sample(v7->core);
    v7->debug.cidsr = v7->sampled_context;
    if (v7->state == V7_HALTED || v7->held_in_reset || at == NO_SAMPLE)
        return UINT32_MAX;
    if (v7->profile->samples_targets && !v7->debug.as_documented)
        return v7->debug.sampled_target == NO_SAMPLE ? UINT32_MAX : target_sample(&v7->debug);
    return at & THUMB_SAMPLE ? at + 4 : at + 8;
}

// Which offsets it answers at, if any (DDI 0406C C11.11.34)
static bool has_pc_sample(const struct v7_profile *profile, uint32_t offset)
{
    if (offset == DBGITR_PCSR)
        return profile->didr & DIDR_PCSR;
    return (profile->didr & DIDR_DEVID) && (profile->devid & DEVID_PCSAMPLE) >= (offset == DBGCIDSR ? 2 : 1);
}

// A word of an array of registers, NULL where that has none
static uint32_t *in_array(uint32_t *first, unsigned count, uint32_t base, uint32_t offset)
{
    uint32_t n = (offset - base) / 4;
    return offset >= base && n < count ? first + n : NULL;
}

static uint32_t *array_register(struct armv7 *v7, uint32_t offset, uint32_t *writable)
{
    struct v7_debug *d = &v7->debug;
    unsigned b = v7->profile->breakpoints, w = v7->profile->watchpoints;
    uint32_t *found;
    if ((found = in_array(d->bvr, b, DBGBVR0, offset))) {
        *writable = v7_value_bits(v7, (offset - DBGBVR0) / 4);
        return found;
    }
    if ((*writable = BCR_WRITABLE, found = in_array(d->bcr, b, DBGBCR0, offset)))
        return found;
    if ((*writable = WVR_WRITABLE, found = in_array(d->wvr, w, DBGWVR0, offset)))
        return found;
    *writable = WCR_WRITABLE;
    return in_array(d->wcr, w, DBGWCR0, offset);
}

// CP15 c0 as seen from outside: MIDR, CTR and so on; then the feature registers
static uint32_t processor_id(const struct armv7 *v7, uint32_t offset)
{
    unsigned n = (offset - IDENTITY) / 4;
    if (offset >= FEATURES)
        return v7_cp15(v7, 0, 1 + (offset - FEATURES) / 0x20, (offset - FEATURES) / 4 % 8);
    if (n == 0)
        return v7->profile->midr;
    return n == 5 ? v7->profile->mpidr + v7->number : v7_cp15(v7, 0, 0, n);
}

static uint32_t read_identity(const struct armv7 *v7, uint32_t offset)
{
    if (offset >= IDENTITY && offset < FEATURES_END)
        return processor_id(v7, offset);
    switch (offset) {
    case CLAIMSET:
        return CLAIM_TAGS;
    case CLAIMCLR:
        return v7->debug.claims;
    case AUTHSTATUS:
        return v7_authstatus(v7);
    case DBGDEVID:
        return v7->profile->devid;
    default:
        return component_read(&v7->profile->debug, offset);
    }
}

uint32_t v7_debug_read(struct armv7 *v7, uint32_t offset)
{
    struct v7_debug *d = &v7->debug;
    uint32_t writable;
    const uint32_t *word = array_register(v7, offset, &writable);
    if (word)
        return *word;
    switch (offset) {
    case DBGDIDR:
        return v7->profile->didr;
    case DBGWFAR:
        return d->wfar;
    case DBGVCR:
        return d->vcr;
    case DBGECR:
        return d->ecr;
    case DBGDSCCR:
        return d->dsccr;
    case DBGDSMCR:
        return d->dsmcr;
    case DBGDTRRX:
        return d->dtr_rx;
    case DBGITR_PCSR:
    case DBGPCSR:
        return has_pc_sample(v7->profile, offset) ? pc_sample(v7) : 0;
    case DBGCIDSR:
        return has_pc_sample(v7->profile, offset) ? d->cidsr : 0;
    case DBGDSCR:
        return read_dscr(v7);
    case DBGDTRTX:
        return read_tx(v7);
    case DBGOSLSR:
        return v7->profile->v71 ? OSLSR_MODEL | (d->os_locked ? OSLSR_LOCKED : 0) : 0;
    case DBGPRCR:
        return d->prcr;
    case DBGPRSR:
        return read_prsr(v7);
    default:
        return read_identity(v7, offset);
    }
}

void v7_debug_write(struct armv7 *v7, uint32_t offset, uint32_t value)
{
    struct v7_debug *d = &v7->debug;
    uint32_t writable, *word = array_register(v7, offset, &writable);
    if (word)
        *word = value & writable;
    switch (offset) {
    case DBGWFAR:
        d->wfar = value;
        break;
    case DBGVCR:
        d->vcr = value;
        break;
    case DBGECR:
        d->ecr = value & 1;
        break;
    case DBGDSCCR:
        d->dsccr = value & 7;
        break;
    case DBGDSMCR:
        d->dsmcr = value & 15;
        break;
    case DBGDTRRX:
        write_rx(v7, value);
        break;
    case DBGITR_PCSR:
        write_itr(v7, value);
        break;
    case DBGDSCR:
        d->control = value & DSCR_WRITABLE;
        break;
    case DBGDTRTX:
        d->dtr_tx = value;
        break;
    case DBGDRCR:
        write_drcr(v7, value);
        break;
    case DBGOSLAR:
        d->os_locked = v7->profile->v71 && value == LOCK_KEY;
        break;
    case DBGPRCR:
        d->prcr = value & 1;
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
    v7_comparators_changed(v7);
}

static uint32_t lock_status(bool locked, enum bus_master master)
{
    return master != BUS_CORE ? 0 : locked ? LSR_LOCKED : LSR_OPEN;
}

static uint32_t page_read(void *self, uint32_t offset, enum bus_master master)
{
    struct armv7 *v7 = self;
    if (offset == LSR)
        return lock_status(v7->debug.locked, master);
    return v7_debug_read(v7, offset);
}

static void page_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct armv7 *v7 = self;
    bool lockable = master == BUS_CORE || v7->debug.lock_for_all;
    if (offset == LAR && lockable)
        v7->debug.locked = value != LOCK_KEY;
    else if (!lockable || !v7->debug.locked)
        v7_debug_write(v7, offset, value);
}

// Those of the debug power domain answer always (DDI 0406C C7.2 and tables C7-1 and following)
static bool always_there(uint32_t offset)
{
    return offset == DBGDIDR || offset == DBGECR || (offset >= DBGOSLAR && offset <= DBGPRSR) ||
           offset >= IDENTITY;
}

static bool page_allows(void *self, uint32_t offset, bool write, enum bus_master master)
{
    const struct armv7 *v7 = self;
    (void)write, (void)master;
    if (v7->off)
        return false;
    return always_there(offset) || !(v7->profile->v71 ? v7->debug.os_locked : v7->debug.was_off);
}

static uint32_t monitor_read(void *self, uint32_t offset, enum bus_master master)
{
    struct armv7 *v7 = self;
    switch (offset) {
    case LSR:
        return lock_status(v7->debug.monitor_locked, master);
    case CLAIMSET:
        return CLAIM_TAGS;
    case CLAIMCLR:
        return v7->debug.monitor_claims;
    case AUTHSTATUS:
        return v7_authstatus(v7) & 0xCC; // non-invasive debug only
    default:
        return offset >= COMPONENT_IDS ? component_read(&v7->profile->monitor, offset)
                                       : pmu_v7_read(&v7->pmu, offset);
    }
}

static void monitor_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct armv7 *v7 = self;
    bool lockable = master == BUS_CORE || v7->debug.lock_for_all;
    if (offset == LAR && lockable)
        v7->debug.monitor_locked = value != LOCK_KEY;
    else if (lockable && v7->debug.monitor_locked)
        return;
    else if (offset == CLAIMSET)
        v7->debug.monitor_claims |= value & CLAIM_TAGS;
    else if (offset == CLAIMCLR)
        v7->debug.monitor_claims &= ~value;
    else
        pmu_v7_write(&v7->pmu, offset, value);
    v7->attention = true;
    if (master != BUS_CORE) // else the instruction that did it is not done yet
        v7_pass_overflow(v7, v7->pc);
}

static bool monitor_allows(void *self, uint32_t offset, bool write, enum bus_master master)
{
    const struct armv7 *v7 = self;
    (void)write, (void)master;
    return !v7->off && (offset >= CLAIMSET || !v7->debug.os_locked);
}

bool v7_add_devices(struct armv7 *v7, struct bus *bus)
{
    uint32_t base = v7->profile->debug_base + v7->number * v7->profile->debug_stride;
    struct device page = {.base = base,
                          .size = COMPONENT_SIZE,
                          .read = page_read,
                          .write = page_write,
                          .self = v7,
                          .allows = page_allows};
    if (!bus_add_device(bus, page) || !cti_add(&v7->cti))
        return false;
    if (!v7->profile->monitor_offset)
        return true;
    page.base += v7->profile->monitor_offset;
    page.read = monitor_read;
    page.write = monitor_write;
    page.allows = monitor_allows;
    return bus_add_device(bus, page);
}
