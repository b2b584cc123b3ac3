// The target's end of the line: see the header. What the target drives in a cycle is there at its beginning;
// what the line was in it moves the target on.
#include "wire/swd.h"

enum { LINE_RESET = 50, IDLE_AFTER_RESET = 2 };
enum { REQUEST_BITS = 8, ACK_BITS = 3, DATA_BITS = 33, DATA_PARITY = 32 };
// The request, the first bit on the wire lowest (IHI 0031 B4.2)
enum {
    REQ_START = 1 << 0,
    REQ_AP = 1 << 1,
    REQ_READ = 1 << 2,
    REQ_ADDRESS = 3 << 3,
    REQ_PARITY = 1 << 5,
    REQ_STOP = 1 << 6,
    REQ_PARK = 1 << 7,
};
enum { SWD_ACK_OK = 1, SWD_ACK_WAIT = 2, SWD_ACK_FAULT = 4 };
enum {
    DP_DPIDR_ABORT = 0x0,
    DP_CTRL_STAT = 0x4,
    DP_RESEND = 0x8,
    DP_SELECT = 0x8,
    DP_TARGETSEL = 0xC,
    DP_RDBUFF = 0xC,
};
#define ORUNDETECT   (1u << 0)
#define CDBGPWRUPREQ (1u << 28)
#define BANK         0xFu // of SELECT

void swd_init(struct swd *s, const struct swd_target *targets, size_t count)
{
    *s = (struct swd){0};
    for (size_t i = 0; i < count && i < SWD_TARGETS; i++)
        s->targets[s->count++] = targets[i];
    swd_power_on(s);
}

static bool multidrop(const struct swd *s)
{
    return s->count && s->targets[0].targetid;
}

void swd_power_on(struct swd *s)
{
    switch_init(&s->mode, !multidrop(s));
    if (s->count && s->targets[0].alone)
        s->mode.mode = MODE_DORMANT;
    s->phase = SWD_LOCKED;
    s->selected = NULL;
    s->ones = s->zeros = 0;
}

bool swd_is_jtag(const struct swd *s)
{
    return s->mode.mode == MODE_JTAG;
}

static void line_reset(struct swd *s)
{
    s->phase = SWD_RESET;
    s->zeros = 0;
    s->fresh = true;
    s->identified = false;
    s->all = s->count > 1 && multidrop(s) && s->targets[0].together != SWD_SILENT;
    s->selected = s->count && (!multidrop(s) || s->targets[0].alone || s->all) ? s->targets[0].adi : NULL;
    for (size_t i = 0; i < s->count; i++)
        adi_line_reset(s->targets[i].adi);
}

static void enter(struct swd *s, enum swd_phase phase, unsigned cycles)
{
    s->phase = phase;
    s->left = cycles;
}

static unsigned turnaround(const struct swd *s)
{
    return 1 + (s->selected ? s->selected->dlcr >> 8 & 3 : 0);
}

static bool odd(uint32_t value)
{
    return __builtin_parity(value) != 0;
}

static bool is_read(const struct swd *s)
{
    return s->request & REQ_READ;
}

static bool is_ap(const struct swd *s)
{
    return s->request & REQ_AP;
}

static unsigned address_of(const struct swd *s)
{
    return (s->request & REQ_ADDRESS) >> 1;
}

static bool is_dp(const struct swd *s, bool read, unsigned address)
{
    return !is_ap(s) && is_read(s) == read && address_of(s) == address;
}

static bool well_formed(uint8_t request)
{
    return (request & REQ_START) && !(request & REQ_STOP) && (request & REQ_PARK) &&
           odd(request & (REQ_AP | REQ_READ | REQ_ADDRESS)) == ((request & REQ_PARITY) != 0);
}

// Whether this transfer is one that is to go wrong
static bool strikes(struct swd_trouble *t)
{
    if (t->skip) {
        t->skip--;
        return false;
    }
    if (!t->count)
        return false;
    t->count--;
    return true;
}

static void got_request(struct swd *s)
{
    bool fresh = s->fresh;
    s->request = (uint8_t)s->shift;
    s->fresh = false;
    s->phase = SWD_LOCKED; // unless it is to be answered
    if (!well_formed(s->request))
        return;
    s->selecting = multidrop(s) && is_dp(s, false, DP_TARGETSEL);
    if (s->selecting) {
        if (fresh) // no acknowledge, because it addresses all of them
            enter(s, SWD_TURN_TO_WRITE, ACK_BITS + 2 * turnaround(s));
        return;
    }
    if (!s->selected || (!s->identified && !is_dp(s, true, DP_DPIDR_ABORT)))
        return;
    s->transfers++;
    bool trouble = strikes(&s->trouble);
    if (trouble && s->trouble.kind == SWD_NO_ACK)
        return;
    s->damaged = trouble && s->trouble.kind == SWD_BAD_PARITY;
    s->nonsense = trouble && s->trouble.kind == SWD_BAD_ACK;
    s->ack = s->nonsense ? s->trouble.ack : SWD_ACK_OK;
    s->identified = true;
    enter(s, SWD_TURN_TO_ACK, turnaround(s));
}

// While an error sticks, only these are done (IHI 0031 B4.2)
static bool always_done(const struct swd *s)
{
    return is_dp(s, true, DP_DPIDR_ABORT) || is_dp(s, false, DP_DPIDR_ABORT) || is_dp(s, true, DP_CTRL_STAT);
}

static uint8_t decide(struct swd *s)
{
    if ((s->selected->sticky_error || s->selected->write_error) && !always_done(s))
        return SWD_ACK_FAULT;
    if (is_dp(s, true, DP_RDBUFF) || is_dp(s, false, DP_SELECT))
        return adi_is_busy(s->selected) ? SWD_ACK_WAIT : SWD_ACK_OK;
    return is_ap(s) && adi_ap_waits(s->selected) ? SWD_ACK_WAIT : SWD_ACK_OK;
}

// Bits that all of them drive
static uint64_t meet(const struct swd *s, uint64_t line, uint64_t driven)
{
    return s->targets[0].together == SWD_ONE_WINS ? line | driven : line & driven;
}

static uint8_t decide_together(struct swd *s)
{
    struct adi *first = s->selected;
    uint64_t line = decide(s);
    for (size_t i = 1; s->all && i < s->count; i++) {
        s->selected = s->targets[i].adi;
        line = meet(s, line, decide(s));
    }
    s->selected = first;
    return (uint8_t)line;
}

static uint32_t read_value(struct swd *s)
{
    uint32_t value = s->selected->rdbuff;
    if (is_ap(s)) { // the answer to the access before; this one's is in the next
        uint32_t posted;
        adi_ap_read(s->selected, address_of(s), &posted);
    } else if (address_of(s) == DP_RESEND) {
        value = s->sent;
    } else {
        adi_dp_read(s->selected, address_of(s), &value);
    }
    return value;
}

static uint64_t with_parity(uint32_t value, bool damaged)
{
    return value | (uint64_t)(odd(value) != damaged) << DATA_PARITY;
}

// The chip's rescue port (RP2040 data sheet 2.3.4.2) has no access port; nobody has published what its RDBUFF
// holds, so it says nothing else than the others
static uint64_t read_together(struct swd *s)
{
    struct adi *first = s->selected;
    uint64_t line = with_parity(read_value(s), s->damaged);
    for (size_t i = 1; s->all && i < s->count; i++) {
        s->selected = s->targets[i].adi;
        s->selected->wire = WIRE_SWD;
        line = meet(s, line, with_parity(read_value(s), s->damaged));
    }
    s->selected = first;
    return line;
}

static void begin_ack(struct swd *s)
{
    s->selected->wire = WIRE_SWD;
    if (!s->nonsense)
        s->ack = decide_together(s);
    s->shift = 0;
    if (s->ack == SWD_ACK_OK && is_read(s)) {
        s->shift = read_together(s);
        s->sent = (uint32_t)s->shift;
    }
    enter(s, SWD_ACK, ACK_BITS);
}

static void end_ack(struct swd *s)
{
    // With overrun detection the data phase is there whatever the acknowledge says (IHI 0031 B4.2)
    bool data = s->ack == SWD_ACK_OK || (s->selected->control & ORUNDETECT);
    if (s->nonsense)
        s->phase = SWD_LOCKED;
    else if (!data)
        enter(s, SWD_TURN_TO_IDLE, turnaround(s));
    else if (is_read(s))
        enter(s, SWD_READ, DATA_BITS);
    else
        enter(s, SWD_TURN_TO_WRITE, turnaround(s));
}

static void choose(struct swd *s, uint32_t targetid)
{
    s->selected = NULL;
    s->all = false;
    for (size_t i = 0; i < s->count && !s->damaged; i++)
        if (s->targets[i].targetid == targetid)
            s->selected = s->targets[i].adi;
    s->phase = s->selected ? SWD_IDLE : SWD_LOCKED;
}

static void write_port(struct swd *s, uint32_t value)
{
    if (is_ap(s))
        adi_ap_write(s->selected, address_of(s), value);
    else
        adi_dp_write(s->selected, address_of(s), value);
}

// The request for power reaches the rescue port, too: that resets the chip
static void write_together(struct swd *s, uint32_t value)
{
    struct adi *first = s->selected;
    bool control = s->all && is_dp(s, false, DP_CTRL_STAT) && !(first->select & BANK);
    write_port(s, value);
    for (size_t i = 1; s->all && i < s->count; i++) {
        s->selected = s->targets[i].adi;
        write_port(s, value);
    }
    s->selected = first;
    if (control && (value & CDBGPWRUPREQ))
        first->reset_system(first->system);
}

static void got_data(struct swd *s)
{
    uint32_t value = (uint32_t)s->shift;
    bool parity = s->shift >> DATA_PARITY & 1;
    s->phase = SWD_IDLE;
    if (s->selecting) {
        s->damaged = odd(value) != parity;
        choose(s, value);
    } else if (s->ack != SWD_ACK_OK) {
        return;
    } else if (odd(value) != parity || s->damaged) {
        s->selected->write_error = true;
    } else {
        write_together(s, value);
    }
}

static void idle(struct swd *s, bool level)
{
    if (level) {
        s->shift = 1;
        enter(s, SWD_REQUEST, REQUEST_BITS - 1);
    }
}

static void idle_after_reset(struct swd *s, bool level)
{
    if (!level)
        s->zeros++;
    else if (s->zeros >= IDLE_AFTER_RESET)
        idle(s, level);
    else
        s->phase = s->zeros ? SWD_LOCKED : SWD_RESET;
}

// One more bit of this phase from the host. true: it was the last one.
static bool take(struct swd *s, bool level, unsigned bits)
{
    s->shift |= (uint64_t)level << (bits - s->left);
    return !--s->left;
}

static void advance(struct swd *s, bool level)
{
    switch (s->phase) {
    case SWD_LOCKED:
        break;
    case SWD_RESET:
        idle_after_reset(s, level);
        break;
    case SWD_IDLE:
        idle(s, level);
        break;
    case SWD_REQUEST:
        if (take(s, level, REQUEST_BITS))
            got_request(s);
        break;
    case SWD_TURN_TO_ACK:
        if (!--s->left)
            begin_ack(s);
        break;
    case SWD_ACK:
        if (!--s->left)
            end_ack(s);
        break;
    case SWD_READ:
        if (!--s->left)
            enter(s, SWD_TURN_TO_IDLE, turnaround(s));
        break;
    case SWD_TURN_TO_WRITE:
        if (!--s->left) {
            s->shift = 0;
            enter(s, SWD_WRITE, DATA_BITS);
        }
        break;
    case SWD_WRITE:
        if (take(s, level, DATA_BITS))
            got_data(s);
        break;
    case SWD_TURN_TO_IDLE:
        if (!--s->left)
            s->phase = SWD_IDLE;
        break;
    }
}

static bool powered(const struct swd *s)
{
    return s->count && !s->targets[0].adi->off;
}

bool swd_level(const struct swd *s, bool driven, bool bit)
{
    if (powered(s) &&
        s->mode.mode == MODE_SWD) { // against the host the target wins: it is the host's mistake
        if (s->phase == SWD_ACK)
            return s->ack >> (ACK_BITS - s->left) & 1;
        if (s->phase == SWD_READ)
            return s->shift >> (DATA_BITS - s->left) & 1;
    }
    return driven ? bit : !s->held_low;
}

bool swd_clock(struct swd *s, bool driven, bool bit)
{
    bool level = swd_level(s, driven, bit);
    if (!powered(s))
        return level;
    s->ones = level ? s->ones + 1 : 0;
    if (s->mode.mode == MODE_SWD) {
        if (s->ones >= LINE_RESET)
            line_reset(s);
        else
            advance(s, level);
    }
    if (switch_clock(&s->mode, level)) {
        s->phase = SWD_LOCKED;
        s->selected = NULL;
    }
    return level;
}
