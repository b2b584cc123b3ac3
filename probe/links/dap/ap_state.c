/* SPDX-License-Identifier: MIT */
#include "links/dap/ap_state.h"

enum { WINDOW = 16, INCREMENT_SPAN = 1024, RUN = 4, AHEAD = 16, FAR_AHEAD = 48 };

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

/* ---- the steps ahead */

static bool ap_state_is_word(const struct step *step)
{
    return step->at.space == SPACE_MEMORY && step->at.size == 4;
}

/* The next step after `at` that is an access everywhere, or n. */
static size_t ap_state_next_access(const struct step *steps, size_t n, size_t at)
{
    do {
        at++;
    } while (at < n && (steps[at].op == OP_TIME || steps[at].reread == REREAD_MENDS));
    return at;
}

static bool is_match(const struct step *step)
{
    return step->op == OP_UNTIL || step->op == OP_EXPECT;
}

/* How many accesses from `at` on have the same direction and ascending addresses. */
static unsigned run_ahead(const struct step *steps, size_t n, size_t at)
{
    unsigned length = 1;
    if (is_match(&steps[at]))
        return 1;
    for (size_t next = ap_state_next_access(steps, n, at); next < n && length < AHEAD;
         at = next, next = ap_state_next_access(steps, n, at), length++)
        if (steps[next].op != steps[at].op || steps[next].at.space != SPACE_MEMORY ||
            steps[next].at.size != steps[at].at.size || steps[next].at.unit != steps[at].at.unit ||
            steps[next].at.offset != steps[at].at.offset + steps[at].at.size)
            break;
    return length;
}

/* How often the address changes, starting with `last`, before an access leaves the 16 bytes around it. */
static unsigned moves_ahead(const struct access_port *port, uint32_t last, const struct step *steps, size_t n,
                            size_t at)
{
    const uint32_t window = last / WINDOW;
    unsigned moves = 0;
    for (unsigned i = 0; i < AHEAD && at < n; at = ap_state_next_access(steps, n, at), i++) {
        if (!ap_state_is_word(&steps[at]) || steps[at].at.unit != port->unit ||
            steps[at].at.offset / WINDOW != window)
            break;
        moves += steps[at].at.offset != last;
        last = (uint32_t)steps[at].at.offset;
    }
    return moves;
}

static bool same_again(const struct step *steps, size_t n, size_t at)
{
    size_t next = ap_state_next_access(steps, n, at);
    return next < n && steps[next].at.space == SPACE_MEMORY && steps[next].at.unit == steps[at].at.unit &&
           steps[next].at.offset == steps[at].at.offset;
}

/* ---- writing what is missing */

/* Puts a write of the register, unless it is `known` to hold the value. */
static bool want(struct packet *packet, size_t step, uint8_t request, uint32_t value, bool *known,
                 uint32_t *held)
{
    struct note note = {.kind = NOTE_SETUP, .request = request, .step = (uint32_t)step};
    if (*known && *held == value)
        return true;
    if (!packet_put(packet, note, &value))
        return false;
    *known = true;
    *held = value;
    return true;
}

static bool want_select(struct ap_state *ap, struct packet *packet, uint32_t select, size_t step)
{
    return want(packet, step, DP_SELECT, select, &ap->select_known, &ap->select);
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

/* A match at `at` that leaves TAR alone, because what follows it needs the bank of the 16 bytes anyway. */
static bool matches_in_bank(const struct access_port *port, const struct step *steps, size_t n, size_t at)
{
    return is_match(&steps[at]) && ap_state_is_word(&steps[at]) && steps[at].at.unit == port->unit &&
           moves_ahead(port, (uint32_t)steps[at].at.offset, steps, n, at) >= 2;
}

/* Whether all of the next matches are such, so that increments may stay on. */
static bool next_match_in_banks(const struct access_port *port, const struct step *steps, size_t n, size_t at)
{
    uint64_t window = UINT64_MAX;
    unsigned matches = 0;
    for (unsigned i = 0; i < FAR_AHEAD && at < n; at = ap_state_next_access(steps, n, at), i++) {
        bool stays = ap_state_is_word(&steps[at]) && steps[at].at.offset / WINDOW == window;
        if (!stays && !matches_in_bank(port, steps, n, at) &&
            (is_match(&steps[at]) || same_again(steps, n, at)))
            return false;
        matches += is_match(&steps[at]);
        window = is_match(&steps[at]) || stays ? steps[at].at.offset / WINDOW : UINT64_MAX;
    }
    return matches > 0;
}

/* A match re-reads, and posts one read more than the one that matched: TAR must not move. */
static uint32_t csw_wanted(const struct access_port *port, const struct step *steps, size_t n, size_t at)
{
    uint32_t plain = port->csw_base | csw_size(steps[at].at.size);
    if (is_match(&steps[at]))
        return plain;
    unsigned run = run_ahead(steps, n, at);
    if (run >= RUN || (run > 1 && next_match_in_banks(port, steps, n, at)))
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
    if (!through_drw && !through_bank && in_window && moves_ahead(port, port->tar, steps, n, at) >= 2 &&
        run_ahead(steps, n, at) < RUN) {
        if (!want_select(ap, packet, ap_state_select(port, AP_BD0), at))
            return false;
        through_bank = true;
    }
    if (!through_bank && !through_drw && word_mode && (port->csw & CSW_INCREMENT) != 0 &&
        matches_in_bank(port, steps, n, at)) {
        if (!want_select(ap, packet, ap_state_select(port, AP_TAR), at) ||
            !want(packet, at, TRANSFER_AP | AP_TAR, address, &port->tar_known, &port->tar) ||
            !want_select(ap, packet, ap_state_select(port, AP_BD0), at))
            return false;
        through_bank = true;
    }
    if (through_bank) {
        *request = (uint8_t)(TRANSFER_AP | (address & (WINDOW - 1)));
        return true;
    }
    *request = TRANSFER_AP | AP_DRW;
    return through_drw || (want_select(ap, packet, ap_state_select(port, AP_DRW), at) &&
                           want(packet, at, TRANSFER_AP | AP_CSW, csw_wanted(port, steps, n, at),
                                &port->csw_known, &port->csw) &&
                           want(packet, at, TRANSFER_AP | AP_TAR, address, &port->tar_known, &port->tar));
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
    /* A debug port register: bits 7:4 are the bank */
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
