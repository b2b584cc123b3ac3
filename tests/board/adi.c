// Debug port and memory access ports: see the header. Not modelled: pushed compare and verify, overrun
// detection, MASKLANE, access ports other than MEM-AP.
#include "adi.h"

#include "debug_space.h"

#include <string.h>
#include <time.h>

// DP registers, IHI 0031 (ADIv5.2) B2.2
enum { DP_ABORT_DPIDR = 0x0, DP_CTRL_STAT = 0x4, DP_SELECT_RESEND = 0x8, DP_RDBUFF = 0xC };
#define WDATAERR       (1u << 7)
#define STICKYERR      (1u << 5)
#define STICKYCMP      (1u << 4)
#define STICKYORUN     (1u << 1)
#define CTRL_WRITABLE  0x54000F0Du // the three requests, MASKLANE, TRNMODE, ORUNDETECT
#define CTRL_REQUESTS  0x54000000u // each is acknowledged by the bit above it
#define CDBGPWRUPREQ   (1u << 28)
#define CSYSPWRUPACK   (1u << 31)
#define ABORT_DAPABORT (1u << 0)
#define ABORT_STKERR   (1u << 2)
#define ABORT_WDERR    (1u << 3)
#define DLCR_TURNROUND (3u << 8)
#define DLPIDR_VERSION 1u // SWD protocol version 2, the one with multidrop
// DPv3, IHI 0074 B2.2
enum { SELECT1_BANK = 5, BASEPTR_VALID = 1 << 0, ASIZE_32 = 0x20, ASIZE_48 = 0x30 };

// MEM-AP registers, IHI 0031 C2.6
enum {
    AP_CSW = 0x00,
    AP_TAR = 0x04,
    AP_TAR_HIGH = 0x08,
    AP_DRW = 0x0C,
    AP_BD0 = 0x10,
    AP_BD3 = 0x1C,
    AP_TRR = 0x24, // its bit 0: there was an error; a 1 clears it
    AP_CFG = 0xF4,
    AP_BASE = 0xF8,
    AP_IDR = 0xFC
};
#define CSW_SIZE       7u
#define CSW_INCREMENT  (3u << 4)
#define CSW_SINGLE     (1u << 4)
#define CSW_PACKED     (2u << 4)
#define CSW_DEVICEEN   (1u << 6)
#define CSW_TRINPROG   (1u << 7)
#define CFG_LA         (1u << 1)
#define CSW_WRITABLE   0x7F000037u
#define CSW_CACHEABLE  (1u << 27) // HPROT[3], IHI 0031 E1.3
#define CSW_MASTERTYPE (1u << 29) // of the AHB-AP: 1 debugger, 0 as the core (DDI 0314)
#define CSW_HNONSEC    (1u << 30) // IHI 0031 E1.3, where the bus minds it
#define CSW_SPIDEN     (1u << 23)
#define CSW_RESET      0x43000042u
// Of a MEM-APv2 whose CFG.ERR is 1, IHI 0074 C2.6: an error is not answered; one lets no further access
// through
#define CSW_ERRNPASS (1u << 16)
#define CSW_ERRSTOP  (1u << 17)
#define CFG_ERR      (1u << 8)
#define PPB          0xE0000000u // a Cortex-M's private peripheral bus, 1 MB

bool adi_add_ap(struct adi *adi, struct mem_ap ap)
{
    if (adi->ap_count == ADI_APS)
        return false;
    ap.csw = CSW_RESET | (adi->quirks & ADI_ERRORS ? CSW_ERRNPASS | CSW_ERRSTOP : 0);
    ap.error = adi->quirks & ADI_ERRORS_KEPT;
    ap.tar_high = adi->select1 = adi->quirks & ADI_LARGE ? 1 : 0;
    adi->aps[adi->ap_count++] = ap;
    return true;
}

static uint32_t ctrl_stat(const struct adi *adi)
{
    uint32_t answers = (adi->control & CTRL_REQUESTS) << 1;
    if (adi->quirks & ADI_NO_SYSTEM_POWER)
        answers &= ~CSYSPWRUPACK;
    return adi->control | answers | (adi->sticky_error ? STICKYERR : 0) | (adi->write_error ? WDATAERR : 0);
}

// Address 4 by SELECT.DPBANKSEL, IHI 0031 B2.2.2. Without multidrop there are two banks only.
static uint32_t banked_read(const struct adi *adi)
{
    switch (adi->select & 0xF) {
    case 0:
        return ctrl_stat(adi);
    case 1:
        return adi->wire == WIRE_SWD ? adi->dlcr : 0;
    case 2:
        return adi->targetid;
    case 3:
        return adi->targetid ? adi->instance << 28 | DLPIDR_VERSION : 0;
    case SELECT1_BANK:
        return adi->quirks & ADI_V6 ? adi->select1 : 0;
    default:
        return 0;
    }
}

// Address 0, which has banks from DPv3 on: DPIDR, DPIDR1 and BASEPTR, IHI 0074 B2.2
static uint32_t identity_read(const struct adi *adi)
{
    unsigned bank = adi->quirks & ADI_V6 ? adi->select & 0xF : 0;
    switch (bank) {
    case 0:
        return adi->dpidr;
    case 1:
        return adi->quirks & ADI_LARGE ? ASIZE_48 : ASIZE_32;
    case 2:
        return debug_space_rom(adi) | BASEPTR_VALID;
    default:
        return 0;
    }
}

enum ack adi_dp_read(struct adi *adi, unsigned address, uint32_t *value)
{
    *value = 0;
    switch (address) {
    case DP_ABORT_DPIDR:
        *value = identity_read(adi);
        break;
    case DP_CTRL_STAT:
        *value = banked_read(adi);
        break;
    case DP_SELECT_RESEND: // on JTAG SELECT can be read, on SWD this resends
        *value = adi->wire == WIRE_JTAG ? adi->select : adi->rdbuff;
        break;
    default:
        if (adi->wire == WIRE_SWD && adi->sticky_error)
            return ACK_FAULT;
        *value = adi->wire == WIRE_JTAG ? 0 : adi->rdbuff; // IHI 0031 B2.2.6: on JTAG it reads as zero
        break;
    }
    return ACK_OK;
}

enum ack adi_dp_write(struct adi *adi, unsigned address, uint32_t value)
{
    switch (address) {
    case DP_ABORT_DPIDR:
        if (adi->wire == WIRE_SWD) // on JTAG the ABORT instruction is the way
            adi_abort(adi, value);
        return ACK_OK;
    case DP_CTRL_STAT:
        if ((adi->select & 0xF) == 1 && adi->wire == WIRE_SWD)
            adi->dlcr = value & DLCR_TURNROUND;
        if ((adi->select & 0xF) == SELECT1_BANK)
            adi->select1 = value;
        if (adi->select & 0xF)
            return ACK_OK;
        adi->control = value & CTRL_WRITABLE;
        if (adi->wire == WIRE_JTAG && (value & STICKYERR)) // on SWD only ABORT clears it
            adi->sticky_error = false;
        return ACK_OK;
    case DP_SELECT_RESEND:
        adi->select = value;
        return ACK_OK;
    default:
        return ACK_OK;
    }
}

void adi_abort(struct adi *adi, uint32_t value)
{
    if (value & ABORT_STKERR)
        adi->sticky_error = false;
    if (value & ABORT_WDERR)
        adi->write_error = false;
    if (value & ABORT_DAPABORT) {
        adi->trouble.count = adi->trouble.ack == ACK_WAIT ? 0 : adi->trouble.count;
        adi->slow.aborts += adi_is_busy(adi);
        adi->slow.hung = adi->slow.hung || adi->slow.ends_us == UINT64_MAX;
        adi->slow.ends_us = 0;
    }
}

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

bool adi_is_busy(struct adi *adi)
{
    if (adi->slow.ends_us && adi->slow.ends_us != UINT64_MAX && now_us() >= adi->slow.ends_us)
        adi->slow.ends_us = 0;
    return adi->slow.ends_us != 0;
}

static bool is_data(unsigned reg)
{
    return reg == AP_DRW || (reg >= AP_BD0 && reg <= AP_BD3) || reg >= AP_DAR;
}

static uint32_t data_address(const struct mem_ap *ap, unsigned reg)
{
    if (reg >= AP_DAR)
        return (ap->tar & ~(AP_DAR_SIZE - 1u)) + (reg - AP_DAR);
    return reg == AP_DRW ? ap->tar : (ap->tar & ~0xFu) + (reg - AP_BD0);
}

// Whether the access is one that never ends
static bool begins_slow(struct adi *adi, const struct mem_ap *ap, unsigned reg)
{
    struct adi_slow *slow = &adi->slow;
    if (!is_data(reg))
        return false;
    uint32_t address = data_address(ap, reg);
    adi->strays += ap->no_cortex_m && address >> 20 == PPB >> 20;
    if (!slow->hung && address - slow->at >= slow->size)
        return false;
    slow->ends_us = slow->hung || !slow->us ? UINT64_MAX : now_us() + slow->us;
    return slow->ends_us == UINT64_MAX;
}

bool adi_parse_quirks(const char *text, unsigned *quirks)
{
    static const char *const names[] = {"no-system-power", "aliased",     "large",
                                        "closed",          "adiv6",       "all-answer",
                                        "all-answer-high", "errors-kept", "errors-awaited"};
    const size_t n = sizeof names / sizeof *names;
    *quirks = 0;
    while (*text) {
        size_t length = strcspn(text, ","), i = 0;
        while (i < n && (strlen(names[i]) != length || memcmp(names[i], text, length) != 0))
            i++;
        if (i == n)
            return false;
        *quirks |= 1u << i;
        text += length + (text[length] == ',');
    }
    return true;
}

// Whether an access goes on, waits, or dies. Dying sets the sticky error; the access that does so is itself
// acknowledged with OK, as its transfer is only posted.
static enum ack admit(struct adi *adi, bool *perform)
{
    *perform = false;
    if (adi->sticky_error)
        return ACK_FAULT;
    adi->accesses++;
    if (adi->trouble.skip) {
        adi->trouble.skip--;
    } else if (adi->trouble.count) {
        adi->trouble.count--;
        if (adi->trouble.ack == ACK_WAIT)
            return ACK_WAIT;
        if (adi->trouble.ack == ACK_FAULT) {
            adi->sticky_error = true;
            return ACK_OK;
        }
        adi->reset_system(adi->system);
    }
    if (!(adi->control & CDBGPWRUPREQ)) {
        adi->sticky_error = true;
        return ACK_OK;
    }
    *perform = true;
    return ACK_OK;
}

bool adi_ap_waits(struct adi *adi)
{
    struct adi_trouble *t = &adi->trouble;
    if (adi_is_busy(adi))
        return true;
    if (adi->sticky_error || t->skip || !t->count || t->ack != ACK_WAIT)
        return false;
    adi->accesses++;
    t->count--;
    return true;
}

void adi_line_reset(struct adi *adi)
{
    adi->dlcr = 0;
    if (adi->quirks & ADI_V6)
        adi->select &= ~0xFu;
}

void adi_power_on(struct adi *adi)
{
    adi->control = adi->dlcr = adi->select = adi->select1 = adi->rdbuff = 0;
    adi->sticky_error = adi->write_error = adi->slow.hung = false;
    adi->slow.ends_us = 0;
    for (size_t i = 0; i < adi->ap_count; i++) {
        adi->aps[i].csw = CSW_RESET;
        adi->aps[i].tar_high = 0;
        adi->aps[i].error = false;
        adi->aps[i].tar = 0;
    }
}

static enum bus_master master_of(const struct mem_ap *ap)
{
    if (ap->bus->security && (ap->csw & CSW_HNONSEC))
        return BUS_DEBUGGER_NON_SECURE;
    return (ap->csw & CSW_MASTERTYPE) ? BUS_DEBUGGER : BUS_DEBUGGER_AS_CORE;
}

// An access that is not cacheable passes the core's data cache by
static bool memory_read(const struct mem_ap *ap, uint32_t address, unsigned size, uint32_t *value)
{
    const uint8_t *behind = ap->csw & CSW_CACHEABLE ? NULL : bus_behind(ap->bus, address, size);
    if (!behind)
        return bus_read(ap->bus, address, size, value, master_of(ap));
    *value = 0;
    memcpy(value, behind, size);
    return true;
}

static bool memory_write(const struct mem_ap *ap, uint32_t address, unsigned size, uint32_t value)
{
    uint8_t *behind = ap->csw & CSW_CACHEABLE ? NULL : bus_behind(ap->bus, address, size);
    if (!behind)
        return bus_write(ap->bus, address, size, value, master_of(ap));
    memcpy(behind, &value, size);
    return true;
}

static void step_tar(struct mem_ap *ap, unsigned size)
{
    uint32_t within = ap->tar_wrap - 1;
    ap->tar = (ap->tar & ~within) | ((ap->tar + size) & within);
}

static bool transfer_read(struct mem_ap *ap, unsigned size, uint32_t *value)
{
    uint32_t lane = 8 * (ap->tar & 3 & ~(size - 1)), part;
    if (ap->tar_high || !memory_read(ap, ap->tar & ~(size - 1), size, &part))
        return false;
    *value |= part << lane;
    return true;
}

static bool transfer_write(struct mem_ap *ap, unsigned size, uint32_t value)
{
    uint32_t lane = 8 * (ap->tar & 3 & ~(size - 1)), part = value >> lane;
    if (size < 4)
        part &= (1u << (8 * size)) - 1;
    return !ap->tar_high && memory_write(ap, ap->tar & ~(size - 1), size, part);
}

// One access to DRW: one transfer, or with packed increment as many as fill the word
static bool data_access(struct mem_ap *ap, bool read, uint32_t *value)
{
    unsigned size = 1u << (ap->csw & CSW_SIZE), mode = ap->csw & CSW_INCREMENT;
    unsigned transfers = mode == CSW_PACKED ? 4 / size : 1;
    uint32_t word = read ? 0 : *value;
    for (unsigned i = 0; i < transfers; i++) {
        if (!(read ? transfer_read(ap, size, &word) : transfer_write(ap, size, word)))
            return false;
        if (mode)
            step_tar(ap, size);
    }
    *value = word;
    return true;
}

static bool banked_access(struct mem_ap *ap, unsigned reg, bool read, uint32_t *value)
{
    uint32_t address = data_address(ap, reg);
    if (ap->tar_high)
        return false;
    if (read)
        return memory_read(ap, address, 4, value);
    return memory_write(ap, address, 4, *value);
}

static void write_csw(struct mem_ap *ap, uint32_t value, unsigned quirks)
{
    uint32_t writable = CSW_WRITABLE | (quirks & ADI_ERRORS ? CSW_ERRNPASS | CSW_ERRSTOP : 0);
    ap->csw = (value & writable) | CSW_DEVICEEN;
    if ((ap->csw & CSW_SIZE) > 2 || ap->words_only) // no transfer wider than a word
        ap->csw = (ap->csw & ~CSW_SIZE) | 2;
    if ((ap->csw & CSW_INCREMENT) == CSW_INCREMENT || // reserved
        (ap->words_only && (ap->csw & CSW_INCREMENT) == CSW_PACKED))
        ap->csw &= ~CSW_INCREMENT;
}

static bool memory_access(struct mem_ap *ap, unsigned reg, bool read, uint32_t *value)
{
    if (!(ap->csw & CSW_ERRSTOP && ap->error) &&
        (reg == AP_DRW ? data_access(ap, read, value) : banked_access(ap, reg, read, value)))
        return true;
    ap->error = true;
    return ap->csw & CSW_ERRNPASS;
}

static bool ap_access(struct mem_ap *ap, unsigned quirks, unsigned reg, bool read, uint32_t *value)
{
    bool large = quirks & ADI_LARGE, closed = quirks & ADI_CLOSED;
    if (closed && is_data(reg))
        return false;
    if (is_data(reg))
        return memory_access(ap, reg, read, value);
    if (!read) {
        if (reg == AP_CSW)
            write_csw(ap, *value, quirks);
        else if (reg == AP_TRR)
            ap->error &= !(*value & 1);
        else if (reg == AP_TAR)
            ap->tar = *value;
        else if (reg == AP_TAR_HIGH && large)
            ap->tar_high = *value;
        return true;
    }
    bool secure = ap->bus->security && !ap->bus->security->refuses_secure;
    *value = reg == AP_CSW   ? (ap->csw & ~(closed ? CSW_DEVICEEN : 0)) | (secure ? CSW_SPIDEN : 0)
             : reg == AP_TAR ? ap->tar
             : reg == AP_TAR_HIGH && large ? ap->tar_high
             : reg == AP_CFG               ? (large ? CFG_LA : 0) | (quirks & ADI_ERRORS ? CFG_ERR : 0)
             : reg == AP_TRR               ? ap->error
             : reg == AP_BASE              ? ap->base
             : reg == AP_IDR               ? ap->idr
                                           : 0;
    return true;
}

// An ADIv5 port that is not there reads as zero
static enum space_place find_port(struct adi *adi, unsigned address, struct mem_ap **ap, unsigned *reg)
{
    if (adi->quirks & ADI_V6)
        return debug_space_find(adi, address, ap, reg);
    size_t number = adi->select >> 24;
    if (adi->quirks & ADI_ALIASED)
        number %= adi->ap_count;
    if (number >= adi->ap_count)
        return SPACE_SILENT;
    *ap = &adi->aps[number];
    return SPACE_PORT;
}

static enum ack access_port(struct adi *adi, unsigned address, bool read, uint32_t *value)
{
    bool perform;
    enum ack ack = admit(adi, &perform);
    if (read)
        *value = 0;
    if (!perform)
        return ack;
    unsigned reg = (adi->select & 0xF0) | address;
    struct mem_ap *ap = NULL;
    enum space_place place = find_port(adi, address, &ap, &reg);
    if (place == SPACE_SAYS && read)
        *value = debug_space_says(adi, ap, reg);
    adi->strays += place == SPACE_SAYS && !read; // of the RP-AP that may restart the chip
    if (place == SPACE_NOWHERE)
        adi->sticky_error = true;
    if (place != SPACE_PORT || begins_slow(adi, ap, reg))
        return ACK_OK;
    if (read && (reg == AP_MODEL || reg == AP_MODEL_TIME || reg == AP_MODEL_CHIP_TIME) && adi->model_ns) {
        *value = reg == AP_MODEL        ? MODEL_NAME
                 : reg == AP_MODEL_TIME ? (uint32_t)adi->model_ns(adi->system)
                                        : (uint32_t)(adi->chip_ns(adi->system) / 1000);
        return ACK_OK;
    }
    if (!ap_access(ap, adi->quirks, reg, read, value))
        adi->sticky_error = true;
    if (read && reg == AP_CSW && adi->slow.hung)
        *value |= CSW_TRINPROG;
    return ACK_OK;
}

static void trace(const struct adi *adi, const char *what, unsigned address, uint32_t value, enum ack ack)
{
    static const char *const acks[] = {"OK", "WAIT", "FAULT"};
    if (adi->trace)
        fprintf(adi->trace, "board: %s %08x %08x %s%s\n", what, (adi->select & ~0xFu) | address, value,
                acks[ack], adi->sticky_error ? ", sticky error" : "");
}

enum ack adi_ap_read(struct adi *adi, unsigned address, uint32_t *value)
{
    enum ack ack = access_port(adi, address, true, value);
    trace(adi, "AP read ", address, *value, ack);
    if (ack == ACK_OK)
        adi->rdbuff = *value;
    return ack;
}

enum ack adi_ap_write(struct adi *adi, unsigned address, uint32_t value)
{
    enum ack ack = access_port(adi, address, false, &value);
    trace(adi, "AP write", address, value, ack);
    return ack;
}
