// The control socket: a command a line, a JSON object a line back.
#include "control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = TRUTH_WATCHES + 1, READ_LIMIT = 1 << 16 };

struct command {
    struct board *board;
    struct client *client;
    struct one_core *core; // that the client speaks of
    char *words[WORDS];
    size_t count;
    FILE *out;
};

static bool number(const char *text, int base, uint64_t limit, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, base);
    return !errno && end != text && !*end && *text != '-' && *value <= limit;
}

static void fail(struct command *c, const char *why)
{
    fprintf(c->out, "{\"error\":\"%s\"}", why);
}

static void done(struct command *c)
{
    fputs("{\"ok\":true}", c->out);
}

static void watch(struct command *c)
{
    uint32_t addresses[WORDS];
    for (size_t i = 1; i < c->count; i++) {
        uint64_t value;
        if (!number(c->words[i], 16, UINT32_MAX, &value)) {
            fail(c, "not a hexadecimal address");
            return;
        }
        addresses[i - 1] = (uint32_t)value;
    }
    if (truth_watch(&c->core->truth, addresses, c->count - 1))
        done(c);
    else
        fail(c, "no memory for the log");
}

static void print_log(struct command *c)
{
    uint64_t from = 0;
    if (c->count > 2 || (c->count == 2 && !number(c->words[1], 10, UINT64_MAX, &from)))
        fail(c, "log [FROM]");
    else
        truth_print(&c->core->truth, from, c->out);
}

// FNV-1a over words of 64 bits; a memory's length is a multiple of them. The shift lets a word's upper bits
// count in all
static uint64_t hash(const uint8_t *bytes, size_t length)
{
    uint64_t h = 0xCBF29CE484222325u, word;
    for (size_t i = 0; i + sizeof word <= length; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        h = (h ^ word) * 0x100000001B3u;
        h ^= h >> 32;
    }
    return h;
}

static void state(struct command *c)
{
    const struct board *b = c->board;
    const struct adi *adi = c->core->adi;
    const struct mem_ap *ap = &adi->aps[0];
    fputc('{', c->out);
    c->core->core->ops->describe(c->core->core, c->out);
    if (adi->quirks & ADI_ERRORS)
        fprintf(c->out, ",\"trr\":%d", ap->error);
    fprintf(c->out, ",\"csw\":%" PRIu32 ",\"tar\":%" PRIu32 ",\"sticky\":%s,\"accesses\":%" PRIu64, ap->csw,
            ap->tar, adi->sticky_error ? "true" : "false", adi->accesses);
    fprintf(c->out,
            ",\"control\":%" PRIu32 ",\"tar_high\":%" PRIu32 ",\"strays\":%" PRIu64 ",\"aborts\":%" PRIu64,
            adi->control, ap->tar_high, adi->strays, adi->slow.aborts);
    for (size_t i = 1; i < adi->ap_count; i++)
        fprintf(c->out, ",\"csw%zu\":%" PRIu32 ",\"tar%zu\":%" PRIu32, i, adi->aps[i].csw, i,
                adi->aps[i].tar);
    fprintf(c->out, ",\"ram_hash\":\"%016" PRIx64 "\",\"code_hash\":\"%016" PRIx64 "\"}",
            hash(b->ram, b->chip->ram.size), hash(b->flash, b->chip->flash.size));
}

static void read_memory(struct command *c)
{
    uint64_t address, length;
    if (c->count != 3 || !number(c->words[1], 16, UINT32_MAX, &address) ||
        !number(c->words[2], 0, READ_LIMIT, &length)) {
        fail(c, "read ADDR LEN");
        return;
    }
    const uint8_t *bytes = bus_bytes(&c->core->bus, (uint32_t)address, (uint32_t)length);
    if (!bytes) {
        fail(c, "no memory there");
        return;
    }
    fputs("{\"hex\":\"", c->out);
    for (uint64_t i = 0; i < length; i++)
        fprintf(c->out, "%02x", bytes[i]);
    fputs("\"}", c->out);
}

// In place: the bytes are never longer than their digits
static bool unhex(char *text, size_t *length)
{
    size_t digits = strlen(text);
    if (!digits || digits % 2)
        return false;
    for (size_t i = 0; i < digits / 2; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        uint64_t value;
        if (strspn(pair, "0123456789abcdefABCDEF") != 2 || !number(pair, 16, 0xFF, &value))
            return false;
        text[i] = (char)value;
    }
    *length = digits / 2;
    return true;
}

static void write_memory(struct command *c)
{
    uint64_t address;
    size_t length;
    if (c->count != 3 || !number(c->words[1], 16, UINT32_MAX, &address) || !unhex(c->words[2], &length))
        fail(c, "write ADDR HEX");
    else if (!bus_poke(&c->core->bus, (uint32_t)address, (const uint8_t *)c->words[2], (uint32_t)length))
        fail(c, "no memory there");
    else
        done(c);
}

static void set(struct command *c)
{
    struct board *b = c->board;
    const char *name = c->count == 3 ? c->words[1] : "", *text = c->count == 3 ? c->words[2] : "";
    uint64_t value;
    if (!strcmp(name, "halt-cost") && halt_cost_parse(&b->halt_cost, text)) {
        done(c);
    } else if (!strcmp(name, "seed") && number(text, 10, UINT64_MAX, &value)) {
        halt_cost_seed(&b->halt_cost, value);
        cores_seed(&b->cores, value);
        done(c);
    } else if (!strcmp(name, "halt-irq") && number(text, 10, 1000, &value)) {
        b->halt_cost.irq_permille = (uint32_t)value;
        done(c);
    } else if (!strcmp(name, "clock") && number(text, 10, 1000000000, &value) && value >= 1000) {
        pace_start(&b->pace, (uint32_t)value, (uint32_t)value);
        done(c);
    } else {
        fail(c, "set halt-cost|seed|halt-irq|clock VALUE");
    }
}

// "wait", "fault" and "reset" befall access port transactions of this core, the others transfers of the wire.
// Also says how many the order before left undone.
static bool make_trouble(struct command *c, const char *kind, uint32_t count, uint32_t skip, uint32_t *left)
{
    struct adi_trouble *access = &c->core->adi->trouble;
    struct swd_trouble *wire = &c->board->pins.swd.trouble;
    bool of_access = !strcmp(kind, "wait") || !strcmp(kind, "fault") || !strcmp(kind, "reset");
    *left = of_access ? access->count : wire->count;
    if (!strcmp(kind, "wait"))
        *access = (struct adi_trouble){.ack = ACK_WAIT, .skip = skip, .count = count};
    else if (!strcmp(kind, "fault"))
        *access = (struct adi_trouble){.ack = ACK_FAULT, .skip = skip, .count = count};
    else if (!strcmp(kind, "reset"))
        *access = (struct adi_trouble){.ack = ACK_OK, .skip = skip, .count = count};
    else if (!strcmp(kind, "none"))
        *wire = (struct swd_trouble){.kind = SWD_NO_ACK, .skip = skip, .count = count};
    else if (!strcmp(kind, "parity"))
        *wire = (struct swd_trouble){.kind = SWD_BAD_PARITY, .skip = skip, .count = count};
    else if (!strncmp(kind, "ack", 3) && kind[3] && strchr("0356", kind[3]) && !kind[4])
        *wire = (struct swd_trouble){
            .kind = SWD_BAD_ACK, .ack = (uint8_t)(kind[3] - '0'), .skip = skip, .count = count};
    else
        return false;
    return true;
}

// Counts all access ports of the debug port, whichever bus the address is on
static void slow(struct command *c)
{
    struct adi_slow *slow = &c->core->adi->slow;
    uint64_t at, size, us;
    if (c->count != 4 || !number(c->words[1], 16, UINT32_MAX, &at) ||
        !number(c->words[2], 10, UINT32_MAX, &size) || !number(c->words[3], 10, UINT32_MAX, &us)) {
        fail(c, "slow ADDR SIZE US");
        return;
    }
    *slow = (struct adi_slow){.at = (uint32_t)at, .size = (uint32_t)size, .us = us};
    done(c);
}

static void fault(struct command *c)
{
    uint64_t count, skip = 0;
    uint32_t left;
    if (c->count < 3 || c->count > 4 || !number(c->words[2], 10, UINT32_MAX, &count) ||
        (c->count == 4 && !number(c->words[3], 10, UINT32_MAX, &skip)) ||
        !make_trouble(c, c->words[1], (uint32_t)count, (uint32_t)skip, &left))
        fail(c, "fault wait|fault|reset|none|parity|ack0|ack3|ack5|ack6 N [SKIP]");
    else
        fprintf(c->out, "{\"left\":%" PRIu32 "}", left);
}

static void core(struct command *c)
{
    uint64_t value;
    if (c->count != 2 || !number(c->words[1], 10, c->board->cores.count - 1, &value)) {
        fail(c, "core N");
        return;
    }
    c->client->number = (unsigned)value;
    done(c);
}

static void power(struct command *c)
{
    struct board *b = c->board;
    bool on = c->count == 2 && !strcmp(c->words[1], "on");
    bool low = c->count == 2 && !strcmp(c->words[1], "low");
    if (c->count != 2 || (!on && !low && strcmp(c->words[1], "off") != 0)) {
        fail(c, "power on|off|low");
        return;
    }
    cores_power(&b->cores, on);
    b->pins.swd.held_low = low;
    swd_power_on(&b->pins.swd);
    jtag_reset(&b->pins.jtag);
    jtag_reset(&b->bitbang.jtag);
    done(c);
}

static void reset(struct command *c)
{
    cores_reset(&c->board->cores);
    done(c);
}

static void irq(struct command *c)
{
    uint64_t value;
    if (c->count != 2 || !number(c->words[1], 10, UINT32_MAX, &value) ||
        !c->core->core->ops->interrupt(c->core->core, (unsigned)value))
        fail(c, "irq N");
    else
        done(c);
}

static void core_state(struct command *c)
{
    struct core *core = c->core->core;
    bool on = c->count == 3 && !strcmp(c->words[2], "on");
    if (c->count != 3 || (!on && strcmp(c->words[2], "off") != 0))
        fail(c, "core-state NAME on|off");
    else if (!core->ops->set_state || !core->ops->set_state(core, c->words[1], on))
        fail(c, "the core has no such state");
    else
        done(c);
}

// The traffic on the probe's wire so far
static void dap(struct command *c)
{
    const struct processor *p = &c->board->processor;
    const struct processor_counts *n = &p->counts;
    fprintf(c->out,
            "{\"packets\":%" PRIu64 ",\"transfers\":%" PRIu64 ",\"clocks\":%" PRIu64 ",\"hz\":%" PRIu32
            ",\"swd_bits\":%" PRIu64 ",\"jtag_bits\":%" PRIu64,
            n->packets, n->transfers, n->clocks, p->hz, n->swd_clocks, n->jtag_clocks);
    fprintf(c->out, ",\"busy_us\":%" PRIu64 ",\"malformed\":%" PRIu64 ",\"most_in_flight\":%" PRIu64 "}",
            n->busy_ns / 1000, n->malformed, c->board->dap_tcp.most_in_flight);
}

// The probe on USB, and pulling its plug
static void usb(struct command *c)
{
    struct usb *u = c->board->usb;
    const char *what = c->count > 1 ? c->words[1] : "";
    uint64_t transfers;
    if (!u) {
        fail(c, "there is no USB: see --usb");
    } else if (c->count == 1) {
        struct usb_state s = usb_state(u);
        fprintf(c->out,
                "{\"plugged\":%s,\"open\":%u,\"out\":%" PRIu64 ",\"in\":%" PRIu64 ",\"control\":%" PRIu64
                ",\"generation\":%" PRIu64 "}",
                s.plugged ? "true" : "false", s.open, s.counts.out, s.counts.in, s.counts.control,
                s.generation);
    } else if (!strcmp(what, "unplug") && c->count == 2) {
        usb_unplug(u);
        done(c);
    } else if (!strcmp(what, "plug") && c->count == 2) {
        usb_plug(u);
        done(c);
    } else if (!strcmp(what, "unplug-after") && c->count == 3 &&
               number(c->words[2], 10, UINT32_MAX, &transfers)) {
        usb_unplug_after(u, transfers);
        done(c);
    } else {
        fail(c, "usb [unplug|plug|unplug-after N]");
    }
}

// Of all cores at once, so that the times are the same
static void profile(struct command *c)
{
    struct cores *cores = &c->board->cores;
    bool on = c->count == 2 && !strcmp(c->words[1], "on"), kept = true;
    if (c->count > 2 || (c->count == 2 && !on && strcmp(c->words[1], "off") != 0)) {
        fail(c, "profile [on|off]");
        return;
    }
    if (c->count == 2) {
        for (size_t i = 0; i < cores->count; i++)
            kept = core_profile(cores->each[i].core, on) && kept;
        if (kept)
            done(c);
        else
            fail(c, "no memory for the profile");
        return;
    }
    if (!cores->each[0].truth.profile) {
        fail(c, "the profile is off");
        return;
    }
    fputs("{\"cores\":[", c->out);
    for (size_t i = 0; i < cores->count; i++) {
        const struct one_core *one = &cores->each[i];
        fputs(i ? "," : "", c->out);
        profile_print(one->truth.profile, one->core->cycles, c->out);
    }
    fputs("]}", c->out);
}

// How long each core has been in Debug state, all at one time
static void stood(struct command *c)
{
    const struct cores *cores = &c->board->cores;
    fprintf(c->out, "{\"now_ns\":%" PRIu64 ",\"cores\":[", cores_now_ns(cores));
    for (size_t i = 0; i < cores->count; i++) {
        const struct core *core = cores->each[i].core;
        fprintf(c->out,
                "%s{\"stood_ns\":%" PRIu64 ",\"wire_ns\":%" PRIu64 ",\"halts\":%" PRIu64
                ",\"cycles\":%" PRIu64 ",\"counted\":%" PRIu64 "}",
                i ? "," : "", core_stood_ns(core), core->stood_wire_ns, core->halts, core->cycles,
                core->counted);
    }
    fputs("]}", c->out);
}

// The truth of trace, of this core; and what the chip's pin has carried
static void trace(struct command *c)
{
    struct core *core = c->core->core;
    struct trace_log *log = core->ops->trace ? core->ops->trace(core) : NULL;
    bool on = c->count == 2 && !strcmp(c->words[1], "on");
    uint64_t from = 0;
    if (!log)
        fail(c, "this core has no trace");
    else if ((on || (c->count == 2 && !strcmp(c->words[1], "off"))) && trace_log_switch(log, on))
        done(c);
    else if (c->count == 2 && !strcmp(c->words[1], "sink"))
        trace_unit_print(&c->board->cores.tracing, c->out);
    else if (c->count == 1 || (c->count == 2 && number(c->words[1], 10, UINT64_MAX, &from)))
        trace_log_print(log, from, c->out);
    else
        fail(c, "trace [on|off|sink|FROM]");
}

static void quit(struct command *c)
{
    c->board->quit = true;
    done(c);
}

static void obey(struct command *c)
{
    static const struct {
        const char *name;
        void (*run)(struct command *);
    } commands[] = {
        {"watch", watch},
        {"log", print_log},
        {"state", state},
        {"read", read_memory},
        {"write", write_memory},
        {"set", set},
        {"fault", fault},
        {"slow", slow},
        {"reset", reset},
        {"irq", irq},
        {"dap", dap},
        {"core", core},
        {"power", power},
        {"core-state", core_state},
        {"usb", usb},
        {"profile", profile},
        {"stood", stood},
        {"trace", trace},
        {"quit", quit},
    };
    for (size_t i = 0; c->count && i < sizeof commands / sizeof *commands; i++) {
        if (!strcmp(commands[i].name, c->words[0])) {
            commands[i].run(c);
            return;
        }
    }
    fail(c, "unknown command");
}

// The line is changed: it is cut into words
static bool answer(struct board *board, struct client *client, char *line)
{
    char *reply = NULL, *rest = NULL;
    size_t length = 0;
    struct command c = {
        .board = board,
        .client = client,
        .core = &board->cores.each[client->number],
        .out = open_memstream(&reply, &length),
    };
    if (!c.out)
        return false;
    bool too_many = false;
    for (char *word = strtok_r(line, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
        too_many = c.count == WORDS;
        if (too_many)
            break;
        c.words[c.count++] = word;
    }
    if (too_many)
        fail(&c, "too many words");
    else
        obey(&c);
    fputc('\n', c.out);
    bool sent = !fclose(c.out) && server_send(client, reply, length);
    free(reply);
    return sent;
}

static long received(void *self, struct client *client, const uint8_t *bytes, size_t length)
{
    size_t used = 0;
    const uint8_t *end;
    while ((end = memchr(bytes + used, '\n', length - used))) {
        size_t size = (size_t)(end - (bytes + used));
        char *line = strndup((const char *)bytes + used, size);
        bool sent = line && answer(self, client, line);
        free(line);
        if (!sent)
            return -1;
        used += size + 1;
    }
    return (long)used;
}

bool control_open(struct board *board, uint16_t port)
{
    board->control.received = received;
    board->control.self = board;
    return server_open(&board->control, port, SERVER_CLIENTS);
}
