/*
 * The access ports behind a debug port: by number (ADIv5), or through the ROM tables that list them (ADIv6).
 */
#include "links/dap/connect.h"

#include <stdio.h>

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
    struct reach *reach;
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
    uint32_t cfg, select = reach_select(port, AP_TAR_HIGH);
    port->tar_high_found = 0;
    if (!read_ap(f, reach_select(port, AP_CFG), AP_CFG & 0xF, &cfg))
        return false;
    if ((cfg & CFG_LARGE_ADDRESS) == 0)
        return true;
    return read_ap(f, select, AP_TAR_HIGH, &port->tar_high_found) &&
           (port->tar_high_found == 0 || write_ap(f, select, AP_TAR_HIGH, 0));
}

static bool add_port(struct finding *f, bool v6, uint32_t base, uint8_t number, uint32_t idr)
{
    struct reach *reach = f->reach;
    uint32_t csw, back;
    if (reach->n == REACH_PORTS) {
        reach->cut = true;
        return true;
    }
    struct access_port *port = &reach->ports[reach->n];
    *port = (struct access_port){.unit = (uint16_t)(f->number | number),
                                 .v6 = v6,
                                 .base = base,
                                 .idr = idr,
                                 .memory = (idr & IDR_CLASS) == IDR_CLASS_MEMORY};
    if (port->memory) {
        uint32_t select = reach_select(port, AP_CSW);
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
    reach->n++;
    f->found++;
    return true;
}

static bool is_microcontroller(const struct finding *f, size_t first)
{
    for (size_t i = first; i < f->reach->n; i++) {
        uint32_t idr = f->reach->ports[i].idr;
        if (f->reach->ports[i].memory && debugger_bits(idr) != CSW_AHB_DEBUGGER)
            return false;
    }
    return f->reach->n > first;
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
    size_t first = f->reach->n;
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
        while (f->reach->n > first && (f->reach->ports[f->reach->n - 1].unit & 0xFF) >= ports)
            f->reach->n--;
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

bool connect_find_ports(struct adi *adi, struct reach *reach, const struct deadline *deadline,
                        struct error *error)
{
    enum { VERSION_V6 = 3 };
    reach->n = 0;
    reach->cut = false;
    for (size_t i = 0; i < adi->n_ports; i++) {
        struct finding f = {.adi = adi, .reach = reach, .number = (uint16_t)(i << 8), .error = error};
        enum adi_end end = adi_select(adi, i, error);
        if (end == ADI_LOST)
            return false;
        if (end != ADI_OK)
            return error_set(error, ERROR_NO_CORE, "debug port %zu stopped answering", i);
        bool by_address = !adi->jtag && (adi->dpidr >> 12 & 0xF) >= VERSION_V6;
        if (!(by_address ? find_by_address(&f) : find_by_number(&f)))
            return false;
        if (deadline_cancelled(deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
    }
    reach_forget(reach);
    return true;
}
