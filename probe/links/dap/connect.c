/* SPDX-License-Identifier: MIT */
#include "links/dap/adi.h"

#include "base/arm_debug.h"

#include "links/dap/probe.h"

#include <inttypes.h>

/* TARGETSEL of chips with several debug ports on two wires, IHI 0031 B2.2.13. Only the cores' ports: powering
 * up the RP2040's number 15 resets the chip. */
static const struct {
    uint32_t device;
    size_t n;
} multidrop[] = {{0x01002927, 2}};

enum {
    HZ_MOST = 10000000,
    HZ_LEAST = 100000,
    CHECKS = ADI_BATCH, /* reads of DPIDR that must agree for a clock to be good */
    TARGETID_BANK = 2,  /* IHI 0031 B2.2.10: register 4 of that bank; DPv2 has it */
    POWER_MS = 1000,
    TRIES = 2,
};

/* The only bits of TARGETID that differ between the ports of a chip. */
static const uint32_t TARGETID_NUMBER = 0xF0000000;

/* ---- SWD and JTAG */

/* Reads DPIDR. Several ports may answer at once: they give the same value. */
static enum adi_end first_answer(struct adi *adi, struct error *error)
{
    enum adi_end end = adi_read_dp(adi, DP_DPIDR, &adi->dpidr, error);
    if (end == ADI_OK && (adi->dpidr == 0 || adi->dpidr == UINT32_MAX))
        end = ADI_NO_ACK;
    return end;
}

/* Chooses one of several ports, of any chip that has them. */
static enum adi_end choose_of_several(struct adi *adi, struct error *error)
{
    enum adi_end end = ADI_NO_ACK;
    for (size_t i = 0; i < sizeof multidrop / sizeof *multidrop && end != ADI_OK && end != ADI_LOST; i++)
        end = wires_target_select(adi->probe, multidrop[i].device, error) ? first_answer(adi, error)
              : adi->probe->lost                                          ? ADI_LOST
                                                                          : ADI_NO_ACK;
    return end;
}

/* A line reset selects each port on the line (IHI 0031 B4.3.4), and all of an RP2040 answer then: what they
 * say is alike in DPIDR, but not in RDBUFF, by which a probe checks the last write of a list. A port that is
 * alone, and of DPv2, takes TARGETSEL as naming another one, until the next line reset.
 * `answered`: without TARGETSEL. */
static enum adi_end leave_one(struct adi *adi, bool answered, struct error *cannot, struct error *error)
{
    enum adi_end end = choose_of_several(adi, cannot);
    if (end == ADI_LOST)
        error_copy(error, cannot);
    if (!answered || end == ADI_OK || end == ADI_LOST)
        return end;
    return wires_send(adi->probe, WIRES_LINE_RESET, error) ? first_answer(adi, error) : ADI_LOST;
}

/* Finds out whether the port is one of several of a chip in `multidrop`. */
static enum adi_end connect_look_for_more(struct adi *adi, struct error *error)
{
    uint32_t id = 0;
    if (adi_version(adi) < 2)
        return ADI_OK;
    if (adi_write_dp(adi, DP_SELECT, TARGETID_BANK, error) != ADI_OK ||
        adi_read_dp(adi, DP_CTRL_STAT, &id, error) != ADI_OK)
        return adi->probe->lost ? ADI_LOST : ADI_OK;
    if (adi_write_dp(adi, DP_SELECT, 0, error) == ADI_LOST)
        return ADI_LOST;
    for (size_t i = 0; i < sizeof multidrop / sizeof *multidrop; i++) {
        if (((id ^ multidrop[i].device) & ~TARGETID_NUMBER) != 0)
            continue;
        adi->multidrop = true;
        adi->n_ports = multidrop[i].n;
        for (size_t k = 0; k < adi->n_ports; k++)
            adi->targets[k] = multidrop[i].device | (uint32_t)k << 28;
    }
    return ADI_OK;
}

/* *cannot: why this probe would not see a chip with several ports. */
static enum adi_end connect_wires(struct adi *adi, struct error *cannot, struct error *error)
{
    enum adi_end end = ADI_NO_ACK;
    adi->multidrop = false;
    adi->n_ports = 1;
    adi->selected = SIZE_MAX;
    for (int dormant = 0; dormant < 2 && end != ADI_OK; dormant++) {
        adi->dormant = dormant != 0;
        if (dormant && !wires_send(adi->probe, WIRES_TO_DORMANT, error))
            return ADI_LOST;
        if (!wires_send(adi->probe, dormant ? WIRES_DORMANT_TO_SWD : WIRES_JTAG_TO_SWD, error))
            return ADI_LOST;
        end = first_answer(adi, error);
        if (end != ADI_LOST && (end != ADI_OK || adi_version(adi) >= 2))
            end = leave_one(adi, end == ADI_OK, cannot, error);
        if (end == ADI_LOST)
            return end;
    }
    if (end == ADI_OK)
        end = adi_clear_sticky(adi, error);
    return end == ADI_OK ? connect_look_for_more(adi, error) : end;
}

/* ADI_OK if the wires carry the clock: many reads of one register agree. */
static enum adi_end check_clock(struct adi *adi, struct error *error)
{
    struct adi_access list[CHECKS];
    size_t done;
    for (size_t i = 0; i < CHECKS; i++)
        list[i] = (struct adi_access){.request = TRANSFER_READ | DP_DPIDR};
    enum adi_end end = adi_transfer(adi, list, CHECKS, &done, error);
    for (size_t i = 0; i < CHECKS && end == ADI_OK; i++)
        if (list[i].value != list[0].value || (!adi->jtag && list[i].value != adi->dpidr))
            end = ADI_NO_ACK;
    return end;
}

static bool choose_port(struct adi *adi, uint8_t port, struct error *error)
{
    adi->jtag = port == DAP_PORT_JTAG;
    return wires_connect(adi->probe, port, error);
}

/* Tries SWD at the present clock. */
static enum adi_end try_swd(struct adi *adi, struct error *cannot, struct error *error)
{
    if (!adi_configure(adi, 1, error))
        return ADI_LOST;
    enum adi_end end = connect_wires(adi, cannot, error);
    if (end == ADI_OK)
        end = adi_select(adi, 0, error);
    if (end == ADI_OK) /* firmware may change the clock with a sequence */
        end = wires_clock(adi->probe, adi->hz, error) ? check_clock(adi, error) : ADI_LOST;
    return end;
}

static bool connect_swd(struct adi *adi, struct error *error)
{
    static const char silence[] =
        "no target answers over SWD: does the program use SWCLK or SWDIO, or sleep?";
    /* One clock of turnaround, no data phase after WAIT and FAULT */
    static const uint8_t usual[] = {DAP_SWD_CONFIGURE, 0};
    if (!choose_port(adi, DAP_PORT_SWD, error) ||
        !probe_tell(adi->probe, usual, sizeof usual, "set up SWD", error))
        return false;
    for (bool clocked = false;; adi->hz /= 2) {
        struct error refused = {0}, cannot = {0};
        bool takes = wires_clock(adi->probe, adi->hz, &refused);
        enum adi_end end = takes ? try_swd(adi, &cannot, error) : adi->probe->lost ? ADI_LOST : ADI_NO_ACK;
        clocked = clocked || takes;
        if (end == ADI_OK)
            return true;
        if (end == ADI_LOST || (adi->hz / 2 < HZ_LEAST && !clocked))
            return error_copy(error, &refused);
        if (adi->hz / 2 < HZ_LEAST)
            return error_set(error, ERROR_NO_TARGET, "%s%s%s", silence,
                             cannot.kind != ERROR_NONE ? " An RP2040 would not be seen: " : "", cannot.text);
    }
}

/* Tries JTAG at the present clock. False with an error; the probe may be lost. */
static bool try_chain(struct adi *adi, struct error *error)
{
    struct chain chain;
    if (!adi_configure(adi, 1, error) || !wires_send(adi->probe, WIRES_SWD_TO_JTAG, error) ||
        !chain_scan(adi->probe, &chain, error))
        return false;
    adi->index = (uint8_t)chain.port;
    adi->others = chain_other_ports(&chain);
    adi->dpidr = chain.id[chain.port];
    adi->selected = SIZE_MAX;
    enum adi_end end = adi_select(adi, 0, error);
    if (end == ADI_OK)
        end = wires_clock(adi->probe, adi->hz, error) ? check_clock(adi, error) : ADI_LOST;
    return end == ADI_OK ||
           error_set(error, ERROR_NO_TARGET, "the debug port on the JTAG chain does not answer");
}

static bool connect_jtag(struct adi *adi, struct error *error)
{
    struct error why = {0};
    if (!choose_port(adi, DAP_PORT_JTAG, error))
        return false;
    adi->multidrop = adi->dormant = false;
    adi->n_ports = 1;
    for (bool clocked = false;; adi->hz /= 2) {
        struct error refused = {0};
        bool takes = wires_clock(adi->probe, adi->hz, &refused);
        if (takes && try_chain(adi, &refused))
            return true;
        if (takes || !clocked) /* a refused clock is the least informative reason */
            why = refused;
        clocked = clocked || takes;
        if (adi->probe->lost || adi->hz / 2 < HZ_LEAST)
            return error_set(error, adi->probe->lost ? refused.kind : why.kind, "%s",
                             adi->probe->lost ? refused.text : why.text);
    }
}

/* Retried, so that noise does not make a port seem absent. */
static enum adi_end power_port(struct adi *adi, size_t number, struct error *error)
{
    enum adi_end end = ADI_NO_ACK;
    for (int i = 0; i < TRIES && end != ADI_OK && end != ADI_LOST; i++) {
        struct deadline deadline = deadline_in_ms(patience_ms(POWER_MS), NULL);
        adi->selected = i == 0 ? adi->selected : SIZE_MAX; /* select it afresh, from a line reset on */
        end = adi_select(adi, number, error);
        if (end == ADI_OK)
            end = adi_power_up(adi, &deadline, error);
    }
    return end;
}

static bool power_ports(struct adi *adi, struct error *error)
{
    for (size_t i = 0; i < adi->n_ports; i++) {
        enum adi_end end = power_port(adi, i, error);
        if (end == ADI_LOST)
            return false;
        if (end == ADI_NO_ACK && i > 0) { /* the further ports are optional */
            adi->n_ports = i;
            break;
        }
        if (end != ADI_OK)
            return error_set(error, ERROR_NO_TARGET, "the target's debug power does not switch on");
    }
    enum adi_end end = adi_select(adi, 0, error);
    return end == ADI_OK || error_set(error, ERROR_NO_TARGET, "the debug port stopped answering");
}

bool connect_target(struct adi *adi, enum dap_wires wires, uint32_t hz, const struct deadline *deadline,
                    struct error *error)
{
    static const uint8_t lamp_on[] = {DAP_HOST_STATUS, 0, 1};
    const struct dap_info *info = &adi->probe->info;
    struct error refused = {0};
    bool can_swd = !info->capabilities_known || (info->capabilities & DAP_CAN_SWD);
    bool can_jtag = !info->capabilities_known || (info->capabilities & DAP_CAN_JTAG);
    bool connected = false;
    if (wires != DAP_WIRES_JTAG && can_swd) {
        adi->hz = hz != 0 ? hz : HZ_MOST;
        connected = connect_swd(adi, &refused);
    }
    if (!connected && !adi->probe->lost && wires != DAP_WIRES_SWD && can_jtag && !deadline_passed(deadline)) {
        struct error second = {0};
        adi->hz = hz != 0 ? hz : HZ_MOST;
        connected = connect_jtag(adi, &second);
        if (!connected)
            error_set(&refused, second.kind, "%s", second.text);
    }
    if (!connected) {
        error_set(&refused, ERROR_LINK_PROTOCOL, "%s: it cannot speak %s", adi->probe->carrier->name,
                  wires == DAP_WIRES_JTAG ? "JTAG" : "SWD");
        return error_copy(error, &refused);
    }
    (void)probe_tell(adi->probe, lamp_on, sizeof lamp_on, "light its lamp", &refused);
    return power_ports(adi, error) && adi_measure_match(adi, error);
}

/* ---- access ports */

/* CSW, IHI 0031 C2.6.3 and E1: the attributes of a debugger's accesses on the bus. */
static const uint32_t CSW_AHB_DEBUGGER = 0x22000000, CSW_APB_DEBUGGER = 0x80000000;
/* AHB: Non-secure transfers; Secure ones are allowed. Chips differ in their reset values. */
static const uint32_t CSW_HNONSEC = 1U << 30, CSW_SPIDEN = 1U << 23;

/*
 * How many absent numbers in a row end the search. Some microcontrollers hang on an access to a port that
 * does not exist; these have only AHB-APs, with consecutive numbers.
 */
enum { ABSENT_IN_A_ROW = 8, ABSENT_ON_A_MICROCONTROLLER = 3 };
/* Aliases: port 0 repeated this often, or repeated groups of ports, end the search. */
enum { ALIASES_IN_A_ROW = 4, ALIAS_GROUP = 8, ALIAS_NUMBERS = 16 };
enum { CFG_LARGE_ADDRESS = 1 << 1, CFG_ERROR = 0xF << 8, CFG_ERROR_1 = 1 << 8 };
enum {
    PORTS_V5 = 256,
    BASEPTR_BANK = 2,
    DPIDR1_BANK = 1,
    SELECT1_BANK = 5,
    ADDRESS_SIZE = 0x7F,
    ROM_TABLES = 32
};

struct finding {
    struct adi *adi;
    struct ap_state *ap;
    uint16_t number;             /* debug port in bits 15:8 */
    unsigned found;              /* access ports of this debug port */
    bool wide;                   /* its addresses have more than 32 bits */
    uint32_t tables[ROM_TABLES]; /* that are followed: they may name each other */
    unsigned n_tables;
    const struct deadline *deadline;
    struct error *error;
};

/* One access to a register of an access port, or of a bank of the debug port. A failure is tried again: after
 * noise an access port would seem absent, and the second core would be taken for the first. False only if the
 * probe is lost. */
static bool access_selected(struct finding *f, uint32_t select, struct adi_access *access, bool *worked)
{
    *worked = false;
    for (int i = 0; i < TRIES && !*worked; i++) {
        struct adi_access list[] = {
            {.request = DP_SELECT, .value = select}, *access, {.request = TRANSFER_READ | DP_CTRL_STAT}};
        size_t done, n = f->adi->jtag ? 3 : 2; /* over JTAG only CTRL/STAT shows a fault */
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

/* Reads 0 if the access fails. */
static bool read_ap(struct finding *f, uint32_t select, uint8_t reg, uint32_t *value)
{
    struct adi_access access = {.request = TRANSFER_AP | TRANSFER_READ | (reg & TRANSFER_REGISTER)};
    bool worked, there = access_selected(f, select & ~0xFU, &access, &worked);
    *value = worked ? access.value : 0;
    return there;
}

static bool write_ap(struct finding *f, uint32_t select, uint8_t reg, uint32_t value)
{
    struct adi_access access = {.request = TRANSFER_AP | (reg & TRANSFER_REGISTER), .value = value};
    bool worked;
    return access_selected(f, select & ~0xFU, &access, &worked);
}

static uint32_t debugger_bits(uint32_t idr)
{
    enum port_bus bus = port_bus_of(idr);
    return bus == PORT_AHB ? CSW_AHB_DEBUGGER : bus == PORT_APB ? CSW_APB_DEBUGGER : 0;
}

/* CSW's value with the security bit that the port accepted. */
static uint32_t with_security(uint32_t idr, uint32_t written, uint32_t back)
{
    if (debugger_bits(idr) != CSW_AHB_DEBUGGER)
        return written;
    return (written & ~CSW_HNONSEC) | (back & CSW_SPIDEN ? 0 : CSW_HNONSEC);
}

/* What an earlier debugger may have left. TAR[63:32] must be 0: all our addresses have 32 bits. A refused
 * access must be answered so, and must not end those after it (IHI 0074 C2.6: CSW.ERRNPASS, ERRSTOP,
 * TRR.ERR). */
static bool find_leftovers(struct finding *f, struct access_port *port)
{
    uint32_t cfg;
    port->tar_high_found = 0;
    if (!read_ap(f, ap_state_select(port, AP_CFG), AP_CFG & 0xF, &cfg))
        return false;
    if (port->v6 && (cfg & CFG_ERROR) == CFG_ERROR_1) {
        port->csw_base = port->csw_took = port->csw_base & ~(uint32_t)CSW_ERRORS;
        port->errors_kept = true;
        if (!write_ap(f, ap_state_select(port, AP_TRR), AP_TRR & 0xF, 1))
            return false;
    }
    return (cfg & CFG_LARGE_ADDRESS) == 0 ||
           read_ap(f, ap_state_select(port, AP_TAR_HIGH), AP_TAR_HIGH, &port->tar_high_found);
}

/* What reads back is noted, for the next run finds that. The security bit is written only with the first
 * access: a run that is killed may leave it either way. */
static void take_csw(struct access_port *port, uint32_t back)
{
    uint32_t written = port->csw_base;
    uint32_t took = back != 0 ? back & ~(uint32_t)CSW_KEPT_OUT : written;
    port->csw_base = with_security(port->idr, written, back);
    port->csw_took = with_security(port->idr, took, back);
    port->csw_unsure =
        (took ^ written) | (debugger_bits(port->idr) == CSW_AHB_DEBUGGER ? CSW_HNONSEC | CSW_CACHEABLE : 0);
}

static bool add_port(struct finding *f, bool v6, uint32_t base, uint8_t number, uint32_t idr)
{
    struct ap_state *ap = f->ap;
    uint32_t csw, back;
    if (ap->n == AP_STATE_PORTS) {
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
        port->csw_base = port->csw_took = (csw & ~(uint32_t)CSW_KEPT_OUT) | debugger_bits(idr);
        if (!find_leftovers(f, port))
            return false;
        ap->n++; /* it is among those whose state is noted now */
        adi_will_change(f->adi);
        ap->n--;
        if (!write_ap(f, select, AP_CSW, port->csw_base) || !read_ap(f, select, AP_CSW, &back))
            return false;
        take_csw(port, back);
        port->narrow = (back & CSW_SIZE) == 0; /* a size that is not implemented reads back as another */
        if (port->tar_high_found != 0 && !write_ap(f, ap_state_select(port, AP_TAR_HIGH), AP_TAR_HIGH, 0))
            return false;
    }
    ap->n++;
    f->found++;
    if (port->memory)
        adi_will_change(f->adi);
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

/* What distinguishes ports. */
struct identity {
    uint32_t idr, base;
};

/* How many ports exist if APSEL is decoded only in part; 0: no sign of that. */
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

static bool is_new_table(struct finding *f, uint32_t base)
{
    for (unsigned i = 0; i < f->n_tables; i++)
        if (f->tables[i] == base)
            return false;
    if (f->n_tables == ROM_TABLES) {
        f->ap->cut = true;
        return false;
    }
    f->tables[f->n_tables++] = base;
    return true;
}

/* CSW as found is that before the first of our writes: read again, it would be ours. */
static bool has_port_at(const struct finding *f, uint32_t base)
{
    const struct ap_state *ap = f->ap;
    for (size_t i = 0; i < ap->n; i++)
        if ((ap->ports[i].unit & 0xFF00) == f->number && ap->ports[i].base == base)
            return true;
    return false;
}

static bool look_at_component(struct finding *f, uint32_t base, unsigned depth)
{
    uint32_t cidr1, devarch, idr;
    if (!read_ap(f, base + COMPONENT_CIDR1, COMPONENT_CIDR1 & 0xF, &cidr1) ||
        !read_ap(f, base + COMPONENT_DEVARCH, COMPONENT_DEVARCH & 0xF, &devarch))
        return false;
    if ((cidr1 >> 4 & 0xF) != CLASS_CORESIGHT)
        return true;
    if ((devarch & 0xFFFF) == ARCHID_ROM)
        return depth == 0 || !is_new_table(f, base) || find_in_rom(f, base, depth - 1);
    /* The SoC-600's adapter shows a port of an ADIv5 chip as if it were one of these. */
    if (((devarch & 0xFFFF) != ARCHID_MEM_AP && (devarch & 0xFFFF) != ARCHID_APV1) || f->found > 0xFF)
        return true;
    if (has_port_at(f, base))
        return true;
    uint32_t at = base + AP_IN_V6 + AP_IDR;
    return read_ap(f, at, at & 0xF, &idr) && add_port(f, true, base, (uint8_t)f->found, idr);
}

static bool find_in_rom(struct finding *f, uint32_t base, unsigned depth)
{
    uint32_t devid;
    if (!read_ap(f, base + COMPONENT_DEVID, COMPONENT_DEVID & 0xF, &devid))
        return false;
    unsigned words = rom_entry_words(devid);
    for (unsigned i = 0; i < rom_entries(false, words); i++) {
        uint32_t entry, high = 0, at = base + 4 * words * i;
        if (deadline_cancelled(f->deadline))
            return error_set(f->error, ERROR_CANCELLED, "cancelled");
        if (!read_ap(f, at, at & 0xF, &entry) || (words == 2 && !read_ap(f, at, (at & 0xF) + 4, &high)))
            return false;
        enum rom_entry is = rom_entry_of(false, entry);
        if (is == ROM_END)
            return true;
        uint64_t component = rom_entry_address(base, words, entry, high);
        if (!f->wide) /* IHI 0074 D3: offsets are signed, and sums end at the bus's width */
            component = (uint32_t)component;
        if (is == ROM_PRESENT && component <= UINT32_MAX && !look_at_component(f, (uint32_t)component, depth))
            return false;
    }
    return true;
}

/*
 * ADIv6, IHI 0074 B2.2: BASEPTR has the address of the first component. SELECT1 holds the upper word of
 * longer addresses; an earlier debugger may have left a value there.
 */
static bool find_by_address(struct finding *f)
{
    struct adi_access size = {.request = TRANSFER_READ | DP_DPIDR}, pointer = size,
                      upper = {.request = DP_CTRL_STAT};
    bool has_size, has_pointer, cleared = true;
    if (!access_selected(f, DPIDR1_BANK, &size, &has_size))
        return false;
    f->wide = has_size && (size.value & ADDRESS_SIZE) > 32;
    if ((f->wide && !access_selected(f, SELECT1_BANK, &upper, &cleared)) ||
        !access_selected(f, BASEPTR_BANK, &pointer, &has_pointer) ||
        adi_write_dp(f->adi, DP_SELECT, 0, f->error) == ADI_LOST)
        return false;
    return !has_size || !cleared || !has_pointer || (pointer.value & 1) == 0 ||
           look_at_component(f, pointer.value & ROM_OFFSET, ROM_DEPTH);
}

bool connect_find_ports(struct adi *adi, struct ap_state *ap, const struct deadline *deadline,
                        struct error *error)
{
    enum { VERSION_V6 = 3 };
    ap->n = 0;
    ap->cut = false;
    for (size_t i = 0; i < adi->n_ports; i++) {
        struct finding f = {
            .adi = adi, .ap = ap, .number = (uint16_t)(i << 8), .deadline = deadline, .error = error};
        enum adi_end end = adi_select(adi, i, error);
        if (end == ADI_LOST)
            return false;
        if (end != ADI_OK)
            return error_set(error, ERROR_NO_TARGET, "debug port %zu stopped answering", i);
        bool by_address = adi_version(adi) >= VERSION_V6;
        if (!(by_address ? find_by_address(&f) : find_by_number(&f)))
            return false;
        if (deadline_cancelled(deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
    }
    ap_state_forget(ap);
    return true;
}

bool connect_check_ports(struct adi *adi, struct ap_state *ap, struct error *error)
{
    struct finding f = {.adi = adi, .ap = ap, .error = error};
    for (size_t i = 0; i < ap->n; i++) {
        const struct access_port *port = &ap->ports[i];
        uint32_t idr = 0;
        enum adi_end end = adi_select(adi, port->unit >> 8, error);
        if (end == ADI_LOST ||
            (end == ADI_OK && !read_ap(&f, ap_state_select(port, AP_IDR), AP_IDR & 0xF, &idr)))
            return false;
        if (idr != 0 && idr != port->idr)
            return error_advise(
                error, ERROR_NO_TARGET, "Connect the first one: pmu-probe restore puts it back.",
                "another target answers: its access port %u has IDR 0x%08" PRIx32 ", and not 0x%08" PRIx32,
                port->unit & 0xFFU, idr, port->idr);
    }
    ap_state_forget(ap);
    return true;
}

/* ---- a clock that brings data through whole */

enum {
    PATTERNS = 36,
    ROUNDS = 3,
    PAIRS = ADI_BATCH / 2,
};

/* A port that transfers only whole words has no bits 1:0 in TAR (IHI 0031). */
static const uint32_t KEPT = ~UINT32_C(3);

/* Alternating bits, all zeros, all ones, and each bit alone. */
static uint32_t pattern(unsigned number)
{
    static const uint32_t first[] = {0x55555555, 0xAAAAAAAA, 0x00000000, 0xFFFFFFFF};
    return number < 4 ? first[number] : UINT32_C(1) << (number - 4);
}

/* Writes patterns to TAR and reads them back; ADI_MISMATCH if one differs. */
static enum adi_end carry_patterns(struct adi *adi, const struct access_port *port, struct error *error)
{
    size_t done;
    enum adi_end end = adi_write_dp(adi, DP_SELECT, ap_state_select(port, AP_TAR), error);
    for (unsigned at = 0; at < PATTERNS * ROUNDS && end == ADI_OK; at += PAIRS) {
        struct adi_access list[2 * PAIRS];
        for (unsigned i = 0; i < PAIRS; i++) {
            struct adi_access *pair = &list[2 * (size_t)i];
            pair[0] =
                (struct adi_access){.request = TRANSFER_AP | AP_TAR, .value = pattern((at + i) % PATTERNS)};
            pair[1] = (struct adi_access){.request = TRANSFER_AP | TRANSFER_READ | AP_TAR};
        }
        end = adi_transfer(adi, list, 2 * (size_t)PAIRS, &done, error);
        for (size_t i = 0; i < 2 * (size_t)PAIRS && end == ADI_OK; i += 2)
            if ((list[i].value ^ list[i + 1].value) & KEPT)
                end = ADI_MISMATCH;
    }
    return end;
}

/* Other failures are retried; damaged data at once means that the clock is too fast. */
static enum adi_end try_clock(struct adi *adi, const struct access_port *port, struct error *error)
{
    enum adi_end end = ADI_NO_ACK;
    for (int i = 0; i < TRIES && end != ADI_OK && end != ADI_MISMATCH; i++) {
        end = carry_patterns(adi, port, error);
        if (end != ADI_OK && adi_mend(adi, end == ADI_MISMATCH ? ADI_NO_ACK : end, error) == ADI_GONE)
            return ADI_LOST;
    }
    return end;
}

/* Slows down until all patterns are read back. If no clock helps, restores the first one. */
static bool find_clock(struct adi *adi, const struct access_port *port, struct error *error)
{
    for (uint32_t first = adi->hz;;) {
        uint32_t hz = adi->hz;
        enum adi_end end = try_clock(adi, port, error);
        if (end == ADI_OK || end == ADI_LOST)
            return end == ADI_OK;
        if (adi->hz == hz && !adi_slow_down(adi, error))
            return false;
        if (adi->hz == hz) {
            adi->hz = first;
            return wires_clock(adi->probe, first, error);
        }
    }
}

/* Whether matches on RESEND compare what was just read from an access port (IHI 0031 B2.2.8). TAR is ours to
 * write here. */
static bool shows_again(struct adi *adi, const struct access_port *port, struct error *error)
{
    enum { WRITE = TRANSFER_AP | AP_TAR, READ = WRITE | TRANSFER_READ };
    enum { AGAIN = TRANSFER_READ | TRANSFER_MATCH_VALUE | DP_RESEND };
    const uint32_t first = pattern(0) & KEPT, second = pattern(1) & KEPT;
    struct adi_access right[] = {{DP_SELECT, ap_state_select(port, AP_TAR)},
                                 {TRANSFER_MATCH_MASK, KEPT},
                                 {WRITE, first},
                                 {READ, 0},
                                 {AGAIN, first},
                                 {WRITE, second},
                                 {READ, 0},
                                 {AGAIN, second},
                                 {READ, 0}};
    struct adi_access wrong[] = {right[0], right[1], {WRITE, first}, {READ, 0}, {AGAIN, second}};
    const size_t n = sizeof right / sizeof *right, n_wrong = sizeof wrong / sizeof *wrong;
    size_t done;
    return adi_transfer(adi, right, n, &done, error) == ADI_OK && done == n &&
           ((right[3].value ^ first) & KEPT) == 0 && ((right[n - 1].value ^ second) & KEPT) == 0 &&
           adi_transfer(adi, wrong, n_wrong, &done, error) == ADI_MISMATCH && done == n_wrong - 1;
}

static bool find_resend(struct adi *adi, const struct access_port *port, struct error *error)
{
    adi->resends = false;
    if (adi->jtag || !adi->match)
        return true;
    if (!adi_configure(adi, 1, error))
        return false;
    adi->resends = shows_again(adi, port, error);
    if (adi->probe->lost || (!adi->resends && adi_mend(adi, ADI_NO_ACK, error) == ADI_GONE))
        return false;
    return adi_configure(adi, adi->match_retry, error);
}

bool connect_check_clock(struct adi *adi, struct ap_state *ap, struct error *error)
{
    const struct access_port *port = NULL;
    uint32_t first = adi->hz, tar = 0;
    for (size_t i = 0; i < ap->n && port == NULL; i++)
        port = ap->ports[i].memory ? &ap->ports[i] : NULL;
    if (port == NULL || adi_select(adi, port->unit >> 8, error) != ADI_OK)
        return !adi->probe->lost;
    struct adi_access list[] = {{.request = DP_SELECT, .value = ap_state_select(port, AP_TAR)},
                                {.request = TRANSFER_AP | TRANSFER_READ | AP_TAR}};
    size_t done;
    if (adi_transfer(adi, list, 2, &done, error) == ADI_OK)
        tar = list[1].value;
    if (adi->probe->lost || !find_clock(adi, port, error) || !find_resend(adi, port, error))
        return false;
    list[1] = (struct adi_access){.request = TRANSFER_AP | AP_TAR, .value = tar};
    (void)adi_transfer(adi, list, 2, &done, error);
    ap_state_forget(ap);
    return !adi->probe->lost && (adi->hz == first || adi_measure_match(adi, error));
}
