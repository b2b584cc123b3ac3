#include "links/dap/ap_state.h"

#include "links/dap/connect.h"

#include <stdio.h>

enum { WINDOW = 16, INCREMENT_SPAN = 1024, RUN = 4, AHEAD = 16 };

struct access_port *ap_state_port(struct ap_state *ap, uint16_t unit)
{
    for (size_t i = 0; i < ap->n; i++)
        if (ap->ports[i].unit == unit)
            return &ap->ports[i];
    return NULL;
}

void ap_state_forget(struct ap_state *ap)
{
    ap->select_known = ap->mask_known = false;
    for (size_t i = 0; i < ap->n; i++)
        ap->ports[i].csw_known = ap->ports[i].tar_known = false;
}

uint32_t ap_state_select(const struct access_port *port, uint32_t offset)
{
    if (!port->v6)
        return (uint32_t)(port->unit & 0xFF) << 24 | (offset & 0xF0);
    uint32_t at = offset < 0x100 ? AP_IN_V6 + offset : offset;
    return port->base + (at & 0xFF0);
}

/* ---- what lies ahead */

static bool is_word(const struct step *step)
{
    return step->at.space == SPACE_MEMORY && step->at.size == 4;
}

/* The next step after `at` that is an access, or n. */
static size_t next_access(const struct step *steps, size_t n, size_t at)
{
    do {
        at++;
    } while (at < n && steps[at].op == OP_TIME);
    return at;
}

static bool is_match(const struct step *step)
{
    return step->op == OP_UNTIL || step->op == OP_EXPECT;
}

/* How many accesses from `at` on go the same way to ascending addresses. */
static unsigned run_ahead(const struct step *steps, size_t n, size_t at)
{
    unsigned length = 1;
    if (is_match(&steps[at]))
        return 1;
    for (size_t next = next_access(steps, n, at); next < n && length < AHEAD;
         at = next, next = next_access(steps, n, at), length++)
        if (steps[next].op != steps[at].op || steps[next].at.space != SPACE_MEMORY ||
            steps[next].at.size != steps[at].at.size || steps[next].at.unit != steps[at].at.unit ||
            steps[next].at.offset != steps[at].at.offset + steps[at].at.size)
            break;
    return length;
}

/* How often the address changes, from TAR's on, before an access leaves the 16 bytes around it. */
static unsigned moves_ahead(const struct access_port *port, const struct step *steps, size_t n, size_t at)
{
    uint32_t last = port->tar;
    unsigned moves = 0;
    for (unsigned i = 0; i < AHEAD && at < n; at = next_access(steps, n, at), i++) {
        if (!is_word(&steps[at]) || steps[at].at.unit != port->unit ||
            steps[at].at.offset / WINDOW != port->tar / WINDOW)
            break;
        moves += steps[at].at.offset != last;
        last = (uint32_t)steps[at].at.offset;
    }
    return moves;
}

static bool same_again(const struct step *steps, size_t n, size_t at)
{
    size_t next = next_access(steps, n, at);
    return next < n && steps[next].at.space == SPACE_MEMORY && steps[next].at.unit == steps[at].at.unit &&
           steps[next].at.offset == steps[at].at.offset;
}

/* ---- writing what is missing */

static bool put_setup(struct packet *packet, uint8_t request, uint32_t value, size_t step)
{
    return packet_put(packet, (struct note){.kind = NOTE_SETUP, .request = request, .step = (uint32_t)step},
                      &value);
}

static bool want_select(struct ap_state *ap, struct packet *packet, uint32_t select, size_t step)
{
    if (ap->select_known && ap->select == select)
        return true;
    if (!put_setup(packet, DP_SELECT, select, step))
        return false;
    ap->select_known = true;
    ap->select = select;
    return true;
}

static bool want_csw(struct packet *packet, struct access_port *port, uint32_t csw, size_t step)
{
    if (port->csw_known && port->csw == csw)
        return true;
    if (!put_setup(packet, TRANSFER_AP | AP_CSW, csw, step))
        return false;
    port->csw_known = true;
    port->csw = csw;
    return true;
}

static bool want_tar(struct packet *packet, struct access_port *port, uint32_t tar, size_t step)
{
    if (port->tar_known && port->tar == tar)
        return true;
    if (!put_setup(packet, TRANSFER_AP | AP_TAR, tar, step))
        return false;
    port->tar_known = true;
    port->tar = tar;
    return true;
}

bool ap_state_register(struct ap_state *ap, struct packet *packet, const struct access_port *port,
                       uint32_t offset, size_t step)
{
    return want_select(ap, packet, ap_state_select(port, offset), step);
}

static bool put_mask(struct ap_state *ap, struct packet *packet, uint32_t mask, uint32_t step)
{
    struct note note = {.kind = NOTE_MASK, .request = TRANSFER_MATCH_MASK, .step = step};
    if (!packet_put(packet, note, &mask))
        return false;
    ap->mask_known = true;
    ap->mask = mask;
    return true;
}

bool ap_state_mask(struct ap_state *ap, struct packet *packet, uint32_t mask, uint32_t step)
{
    if (ap->mask_known && ap->mask == mask)
        return true;
    return put_mask(ap, packet, mask, step);
}

bool ap_state_mask_again(struct ap_state *ap, struct packet *packet, uint32_t step)
{
    return put_mask(ap, packet, ap->mask, step);
}

/* ---- memory */

static uint32_t csw_size(unsigned bytes)
{
    return bytes == 1 ? 0 : bytes == 2 ? 1 : CSW_SIZE_WORD;
}

/* A match re-reads, and posts one read beyond the one that matched: TAR must stand still under it. */
static uint32_t csw_wanted(const struct access_port *port, const struct step *steps, size_t n, size_t at)
{
    uint32_t plain = port->csw_base | csw_size(steps[at].at.size);
    if (is_match(&steps[at]))
        return plain;
    if (run_ahead(steps, n, at) >= RUN)
        return plain | CSW_INCREMENT_SINGLE;
    bool increments = port->csw_known && port->csw == (plain | CSW_INCREMENT_SINGLE);
    return increments && !same_again(steps, n, at) ? plain | CSW_INCREMENT_SINGLE : plain;
}

static bool ap_state_memory(struct ap_state *ap, struct packet *packet, const struct step *steps, size_t n,
                            size_t at, uint8_t *request)
{
    const struct step *step = &steps[at];
    struct access_port *port = ap_state_port(ap, step->at.unit);
    uint32_t address = (uint32_t)step->at.offset;
    bool word_mode = step->at.size == 4 && port->csw_known && (port->csw & CSW_SIZE) == CSW_SIZE_WORD;
    bool in_window = word_mode && port->tar_known && port->tar / WINDOW == address / WINDOW;
    bool through_drw = ap->select_known && ap->select == ap_state_select(port, AP_DRW) && port->tar_known &&
                       port->tar == address && port->csw_known && port->csw == csw_wanted(port, steps, n, at);
    bool through_bank = in_window && ap->select_known && ap->select == ap_state_select(port, AP_BD0);
    if (!through_drw && !through_bank && in_window && moves_ahead(port, steps, n, at) >= 2 &&
        run_ahead(steps, n, at) < RUN) {
        if (!want_select(ap, packet, ap_state_select(port, AP_BD0), at))
            return false;
        through_bank = true;
    }
    if (through_bank) {
        *request = (uint8_t)(TRANSFER_AP | (address & (WINDOW - 1)));
        return true;
    }
    *request = TRANSFER_AP | AP_DRW;
    return through_drw || (want_select(ap, packet, ap_state_select(port, AP_DRW), at) &&
                           want_csw(packet, port, csw_wanted(port, steps, n, at), at) &&
                           want_tar(packet, port, address, at));
}

bool ap_state_step(struct ap_state *ap, struct packet *packet, const struct step *steps, size_t n, size_t at,
                   uint8_t *request)
{
    const struct address *address = &steps[at].at;
    if (address->space == SPACE_MEMORY)
        return ap_state_memory(ap, packet, steps, n, at, request);
    uint32_t offset = (uint32_t)address->offset;
    if (address->space == SPACE_AP) {
        *request = (uint8_t)(TRANSFER_AP | (offset & TRANSFER_REGISTER));
        return want_select(ap, packet, ap_state_select(ap_state_port(ap, address->unit), offset), at);
    }
    /* A register of the debug port: its bank is in bits 7:4 */
    uint32_t rest = ap->select_known ? ap->select & ~0xFU : 0;
    *request = (uint8_t)(offset & TRANSFER_REGISTER);
    return (offset & TRANSFER_REGISTER) >= DP_SELECT ||
           want_select(ap, packet, rest | (offset >> 4 & 0xF), at);
}

void ap_state_done(struct ap_state *ap, const struct step *step, uint8_t request)
{
    uint32_t offset = (uint32_t)step->at.offset;
    if (step->at.space == SPACE_DP) {
        if ((offset & TRANSFER_REGISTER) == DP_SELECT && step->op == OP_WRITE)
            ap->select_known = false;
        return;
    }
    struct access_port *port = ap_state_port(ap, step->at.unit);
    if (step->at.space == SPACE_AP) {
        if (step->op == OP_WRITE && offset == AP_CSW)
            port->csw_known = false;
        if (offset == AP_DRW || (step->op == OP_WRITE && offset <= AP_TAR + 4))
            port->tar_known = false;
        return;
    }
    bool increments = (request & TRANSFER_REGISTER) == AP_DRW &&
                      ap->select == ap_state_select(port, AP_DRW) && (port->csw & CSW_INCREMENT) != 0;
    if (!increments)
        return;
    port->tar += step->at.size;
    port->tar_known = port->tar % INCREMENT_SPAN != 0;
}

/* IDR, IHI 0031 C2.6.4. */
enum { IDR_CLASS = 0xF << 13, IDR_CLASS_MEMORY = 8 << 13, IDR_TYPE = 0xF };
enum { TYPE_AHB3 = 1, TYPE_APB = 2, TYPE_AHB5 = 5, TYPE_APB4 = 6, TYPE_AHB5_HPROT = 8 };

/* CSW, IHI 0031 C2.6.3 and E1: what a debugger's accesses look like on the bus. */
enum { CSW_READ_ONLY = 1 << 6 | 1 << 7, CSW_KEPT_OUT = CSW_SIZE | CSW_INCREMENT | CSW_READ_ONLY };
static const uint32_t CSW_AHB_DEBUGGER = 0x22000000, CSW_APB_DEBUGGER = 0x80000000;
/* Of an AHB: Non-secure transfers, and whether Secure ones are allowed. Chips come out of reset with either.
 */
static const uint32_t CSW_HNONSEC = 1U << 30, CSW_SPIDEN = 1U << 23;

/* CoreSight identification, IHI 0029 B2; ROM tables of class 9, D7. */
enum {
    ROM_DEVARCH = 0xFBC,
    ROM_DEVID = 0xFC8,
    ROM_CIDR1 = 0xFF4,
    CLASS_CORESIGHT = 9,
    ARCHID_ROM = 0x0AF7,
    ARCHID_MEM_AP = 0x0A17,
    ROM_ENTRIES = 512,
    ROM_DEPTH = 4,
    ENTRY_PRESENT = 3,
};

/*
 * So many absent numbers in a row end the search. Some microcontrollers do not come back from an access to
 * a port that is not there; they have nothing but AHB-APs, one behind the other.
 */
enum { ABSENT_IN_A_ROW = 8, ABSENT_ON_A_MICROCONTROLLER = 3 };
/* Ports that come again: those of number 0 as often in a row, and groups of them up to that number. */
enum { ALIASES_IN_A_ROW = 4, ALIAS_GROUP = 8, ALIAS_NUMBERS = 16 };
enum { CFG_LARGE_ADDRESS = 1 << 1 };
enum { PORTS_V5 = 256, BASEPTR_BANK = 2, DPIDR1_BANK = 1, SELECT1_BANK = 5, ADDRESS_SIZE = 0x7F, TRIES = 2 };

struct finding {
    struct adi *adi;
    struct ap_state *ap;
    uint16_t number; /* debug port's, in bits 15:8 */
    unsigned found;  /* on it */
    struct error *error;
};

/* One access in the space of access ports. A failure is tried once more: were it only noise, an access port
 * would seem absent, and the second core the first. False only when the probe is lost. */
static bool access_ap(struct finding *f, uint32_t select, struct adi_access *access, bool *worked)
{
    *worked = false;
    for (int i = 0; i < TRIES && !*worked; i++) {
        struct adi_access list[] = {{.request = DP_SELECT, .value = select & ~0xFU},
                                    *access,
                                    {.request = TRANSFER_READ | DP_CTRL_STAT}};
        size_t done, n = f->adi->jtag ? 3 : 2; /* which alone tells of a fault over JTAG */
        enum adi_end end = adi_transfer(f->adi, list, n, &done, f->error);
        if (end == ADI_OK && n == 3 && (list[2].value & (STAT_STICKY_ERR | STAT_STICKY_ORUN)))
            end = ADI_FAULT;
        if (end != ADI_OK && adi_mend(f->adi, end, f->error) == ADI_GONE)
            return false;
        *worked = end == ADI_OK;
        access->value = list[1].value;
    }
    return true;
}

/* An address whose access fails reads as 0. */
static bool read_ap(struct finding *f, uint32_t select, uint8_t reg, uint32_t *value)
{
    struct adi_access access = {.request = TRANSFER_AP | TRANSFER_READ | (reg & TRANSFER_REGISTER)};
    bool worked, there = access_ap(f, select, &access, &worked);
    *value = worked ? access.value : 0;
    return there;
}

static bool write_ap(struct finding *f, uint32_t select, uint8_t reg, uint32_t value)
{
    struct adi_access access = {.request = TRANSFER_AP | (reg & TRANSFER_REGISTER), .value = value};
    bool worked;
    return access_ap(f, select, &access, &worked);
}

static uint32_t debugger_bits(uint32_t idr)
{
    switch (idr & IDR_TYPE) {
    case TYPE_AHB3:
    case TYPE_AHB5:
    case TYPE_AHB5_HPROT:
        return CSW_AHB_DEBUGGER;
    case TYPE_APB:
    case TYPE_APB4:
        return CSW_APB_DEBUGGER;
    default:
        return 0;
    }
}

/* What has been written of CSW, as it reads back. */
static uint32_t with_security(uint32_t idr, uint32_t written, uint32_t back)
{
    if (debugger_bits(idr) != CSW_AHB_DEBUGGER)
        return written;
    return (written & ~CSW_HNONSEC) | (back & CSW_SPIDEN ? 0 : CSW_HNONSEC);
}

/* Accesses go to the lowest 4 GB: what an earlier debugger has left in the upper word would lead elsewhere.
 */
static bool clear_upper_address(struct finding *f, struct access_port *port)
{
    uint32_t cfg, select = ap_state_select(port, AP_TAR_HIGH);
    port->tar_high_found = 0;
    if (!read_ap(f, ap_state_select(port, AP_CFG), AP_CFG & 0xF, &cfg))
        return false;
    if ((cfg & CFG_LARGE_ADDRESS) == 0)
        return true;
    return read_ap(f, select, AP_TAR_HIGH, &port->tar_high_found) &&
           (port->tar_high_found == 0 || write_ap(f, select, AP_TAR_HIGH, 0));
}

static bool add_port(struct finding *f, bool v6, uint32_t base, uint8_t number, uint32_t idr)
{
    struct ap_state *ap = f->ap;
    uint32_t csw, back;
    if (ap->n == REACH_PORTS) {
        ap->cut = true;
        return true;
    }
    struct access_port *port = &ap->ports[ap->n];
    *port = (struct access_port){.unit = (uint16_t)(f->number | number),
                                 .v6 = v6,
                                 .base = base,
                                 .idr = idr,
                                 .memory = (idr & IDR_CLASS) == IDR_CLASS_MEMORY};
    if (port->memory) {
        uint32_t select = ap_state_select(port, AP_CSW);
        if (!read_ap(f, select, AP_CSW, &csw))
            return false;
        port->csw_found = csw;
        port->csw_base = (csw & ~(uint32_t)CSW_KEPT_OUT) | debugger_bits(idr);
        if (!write_ap(f, select, AP_CSW, port->csw_base) || !read_ap(f, select, AP_CSW, &back))
            return false;
        port->csw_base = with_security(idr, port->csw_base, back);
        port->narrow = (back & CSW_SIZE) == 0; /* a size that is not implemented does not stay */
        if (!clear_upper_address(f, port))
            return false;
    }
    ap->n++;
    f->found++;
    return true;
}

static bool is_microcontroller(const struct finding *f, size_t first)
{
    for (size_t i = first; i < f->ap->n; i++) {
        uint32_t idr = f->ap->ports[i].idr;
        if (f->ap->ports[i].memory && debugger_bits(idr) != CSW_AHB_DEBUGGER)
            return false;
    }
    return f->ap->n > first;
}

/* What tells one port from another. */
struct identity {
    uint32_t idr, base;
};

/* How many ports there are in truth, where APSEL is decoded in part only; 0: no sign of that. */
static unsigned count_before_aliases(const struct identity *ports, unsigned n)
{
    for (unsigned group = 1; group <= ALIAS_GROUP; group *= 2) {
        unsigned i = group, wanted = group == 1 ? 1 + ALIASES_IN_A_ROW : ALIAS_NUMBERS;
        while (i < n && ports[i].idr == ports[i % group].idr && ports[i].base == ports[i % group].base)
            i++;
        if (n >= wanted && i == n && ports[0].idr != 0)
            return group;
    }
    return 0;
}

static bool find_by_number(struct finding *f)
{
    struct identity seen[ALIAS_NUMBERS];
    size_t first = f->ap->n;
    unsigned absent = 0;
    for (unsigned number = 0; number < PORTS_V5; number++) {
        uint32_t idr, base = 0;
        if (!read_ap(f, number << 24 | (AP_IDR & 0xF0), AP_IDR & 0xF, &idr) ||
            ((idr & IDR_CLASS) == IDR_CLASS_MEMORY &&
             !read_ap(f, number << 24 | (AP_BASE & 0xF0), AP_BASE & 0xF, &base)))
            return false;
        absent = idr == 0 ? absent + 1 : 0;
        if (idr != 0 && !add_port(f, false, 0, (uint8_t)number, idr))
            return false;
        if (absent >= (is_microcontroller(f, first) ? ABSENT_ON_A_MICROCONTROLLER : ABSENT_IN_A_ROW))
            return true;
        if (number >= ALIAS_NUMBERS)
            continue;
        seen[number] = (struct identity){.idr = idr, .base = base};
        unsigned ports = count_before_aliases(seen, number + 1);
        if (ports == 0)
            continue;
        while (f->ap->n > first && (f->ap->ports[f->ap->n - 1].unit & 0xFF) >= ports)
            f->ap->n--;
        return true;
    }
    return true;
}

static bool find_in_rom(struct finding *f, uint32_t base, unsigned depth);

static bool look_at_component(struct finding *f, uint32_t base, unsigned depth)
{
    uint32_t cidr1, devarch, idr;
    if (!read_ap(f, base + ROM_CIDR1, ROM_CIDR1 & 0xF, &cidr1) ||
        !read_ap(f, base + ROM_DEVARCH, ROM_DEVARCH & 0xF, &devarch))
        return false;
    if ((cidr1 >> 4 & 0xF) != CLASS_CORESIGHT)
        return true;
    if ((devarch & 0xFFFF) == ARCHID_ROM)
        return depth == 0 || find_in_rom(f, base, depth - 1);
    if ((devarch & 0xFFFF) != ARCHID_MEM_AP || f->found > 0xFF)
        return true;
    uint32_t at = base + AP_IN_V6 + AP_IDR;
    return read_ap(f, at, at & 0xF, &idr) && add_port(f, true, base, (uint8_t)f->found, idr);
}

static bool find_in_rom(struct finding *f, uint32_t base, unsigned depth)
{
    uint32_t devid;
    if (!read_ap(f, base + ROM_DEVID, ROM_DEVID & 0xF, &devid))
        return false;
    unsigned stride = (devid & 0xF) == 0 ? 4 : 8;
    for (unsigned i = 0; i < ROM_ENTRIES / (stride / 4); i++) {
        uint32_t entry, high = 0, at = base + i * stride;
        if (!read_ap(f, at, at & 0xF, &entry) || (stride == 8 && !read_ap(f, at, (at & 0xF) + 4, &high)))
            return false;
        if ((entry & 3) == 0)
            return true;
        if ((entry & 3) == ENTRY_PRESENT && high == 0 &&
            !look_at_component(f, base + (entry & 0xFFFFF000), depth))
            return false;
    }
    return true;
}

/* IHI 0074 B2.2: an address of more than 32 bits has its upper word in SELECT1, where an
 * earlier debugger may have left something. */
static enum adi_end clear_select1(struct finding *f)
{
    uint32_t dpidr1 = 0;
    enum adi_end end = adi_write_dp(f->adi, DP_SELECT, DPIDR1_BANK, f->error);
    if (end == ADI_OK)
        end = adi_read_dp(f->adi, DP_DPIDR, &dpidr1, f->error);
    if (end != ADI_OK || (dpidr1 & ADDRESS_SIZE) <= 32)
        return end;
    end = adi_write_dp(f->adi, DP_SELECT, SELECT1_BANK, f->error);
    return end == ADI_OK ? adi_write_dp(f->adi, DP_CTRL_STAT, 0, f->error) : end;
}

/* IHI 0074 B2.2.2: where the first component is. */
static bool find_by_address(struct finding *f)
{
    uint32_t pointer = 0;
    enum adi_end end = clear_select1(f);
    if (end == ADI_OK)
        end = adi_write_dp(f->adi, DP_SELECT, BASEPTR_BANK, f->error);
    if (end == ADI_OK)
        end = adi_read_dp(f->adi, DP_DPIDR, &pointer, f->error);
    if (end == ADI_LOST || adi_write_dp(f->adi, DP_SELECT, 0, f->error) == ADI_LOST)
        return false;
    return end != ADI_OK || (pointer & 1) == 0 || look_at_component(f, pointer & 0xFFFFF000, ROM_DEPTH);
}

bool connect_find_ports(struct adi *adi, struct ap_state *ap, const struct deadline *deadline,
                        struct error *error)
{
    enum { VERSION_V6 = 3 };
    ap->n = 0;
    ap->cut = false;
    for (size_t i = 0; i < adi->n_ports; i++) {
        struct finding f = {.adi = adi, .ap = ap, .number = (uint16_t)(i << 8), .error = error};
        enum adi_end end = adi_select(adi, i, error);
        if (end == ADI_LOST)
            return false;
        if (end != ADI_OK)
            return error_set(error, ERROR_NO_TARGET, "debug port %zu stopped answering", i);
        bool by_address = !adi->jtag && (adi->dpidr >> 12 & 0xF) >= VERSION_V6;
        if (!(by_address ? find_by_address(&f) : find_by_number(&f)))
            return false;
        if (deadline_cancelled(deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
    }
    ap_state_forget(ap);
    return true;
}
