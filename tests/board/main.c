// The virtual board: puts a chip together, then goes round between the wire, the control socket and the
// cores.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "board.h"
#include "control.h"
#include "elf_load.h"
#include "options.h"

enum { EXIT_USAGE = 2 };

static bool add_memory(struct bus *bus, const struct chip_memory *m, uint8_t **bytes)
{
    *bytes = calloc(1, m->size);
    struct memory memory = {.base = m->base, .size = m->size, .bytes = *bytes, .writable = m->ram};
    if (!*bytes || !bus_add_memory(bus, memory))
        return false;
    memory.base = m->alias;
    return m->alias == m->base || bus_add_memory(bus, memory);
}

static bool complain(const char *what)
{
    fprintf(stderr, "board: %s\n", what);
    return false;
}

// While a probe's packet keeps the wire busy, the cores live on
static uint64_t breathe(void *self)
{
    struct timespec now;
    struct board *b = self;
    b->pace.used = true;
    cores_run(&b->cores, &b->pace);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pass(void *self, uint64_t ns)
{
    struct board *b = self;
    cores_run_for(&b->cores, &b->pace, ns);
}

static void hold_reset(void *self, bool held)
{
    struct board *b = self;
    cores_hold(&b->cores, held);
}

static size_t usb_packet(void *self, const uint8_t *request, size_t length, uint8_t *reply, size_t room,
                         const struct usb_meanwhile *meanwhile)
{
    struct processor *p = self;
    if (room < p->packet_size)
        return 0;
    p->waited = meanwhile->waited;
    p->stopped = meanwhile->look;
    p->carrier = meanwhile->self;
    size_t got = processor_packet(p, request, length, reply);
    p->stopped = NULL;
    return got;
}

static size_t usb_stream(void *self, uint8_t *bytes, size_t room)
{
    struct processor *p = self;
    return swo_stream(&p->swo, bytes, room, pace_now_ns());
}

static void hear(void *self, uint8_t byte, uint32_t protocol, double hz)
{
    enum { AS_MANCHESTER = 1 };
    swo_receive(self, byte, protocol == AS_MANCHESTER ? SWO_AS_MANCHESTER : SWO_AS_UART, hz);
}

static void trace_arrives(void *self)
{
    trace_unit_catch_up(self);
}

static void wire_trace(struct board *b, const struct options *o)
{
    struct trace_unit *unit = &b->cores.tracing;
    b->processor.swo = (struct swo){.can = o->dap_swo,
                                    .size = o->swo_buffer,
                                    .by_steps = o->dap_quirks & QUIRK_SWO_STEPS,
                                    .catch_up = trace_arrives,
                                    .self = unit};
    unit->clock = o->clock < CHIP_HZ ? CHIP_HZ : o->clock;
    unit->listen = hear;
    unit->listener = &b->processor.swo;
}

static bool open_probe(struct board *b, const struct options *o)
{
    struct swd_target targets[CORES];
    swd_init(&b->pins.swd, targets, cores_targets(&b->cores, targets));
    jtag_init(&b->pins.jtag, &b->cores.ports[0], b->chip->idcode);
    if (o->jtag_protocol_1) {
        b->pins.jtag.protocol_1 = true;
        b->pins.jtag.idcode = SOC_600;
    }
    if (o->jtag_idcode != 0)
        b->pins.jtag.idcode = o->jtag_idcode;
    b->pins.has_jtag = true;
    b->pins.reset = hold_reset;
    b->pins.self = b;
    b->processor = (struct processor){.line.pins = &b->pins,
                                      .packet_size = o->dap_packet,
                                      .packet_count = o->dap_count,
                                      .timer = o->dap_timer,
                                      .atomic = o->dap_atomic,
                                      .quirks = o->dap_quirks,
                                      .naps = o->dap_naps,
                                      .wire_hz = o->dap_wire,
                                      .serial = o->dap_serial,
                                      .breathe = breathe,
                                      .pass = o->dap_exact ? pass : NULL,
                                      .idle.state = o->seed,
                                      .self = b};
    processor_init(&b->processor);
    wire_trace(b, o);
    if (o->dap_firmware) {
        if (!firmware_open(&b->firmware, o->dap_firmware, &b->processor))
            return false;
        b->processor.firmware = &b->firmware;
        b->processor.atomic = false; // its affair
    }
    b->dap_tcp.latency_ns = o->dap_latency * UINT64_C(1000);
    if (!dap_tcp_open(&b->dap_tcp, o->dap_tcp, &b->processor))
        return complain("cannot listen: is the port taken?");
    const struct usb_function probe = {.self = &b->processor,
                                       .packet = usb_packet,
                                       .packet_size = (uint16_t)b->processor.packet_size,
                                       .packet_count = o->dap_count,
                                       .serial = o->dap_serial,
                                       .v1 = o->usb_v1,
                                       .v2 = o->usb_v2,
                                       .latency_us = o->usb_latency,
                                       .vendor = o->usb_vendor,
                                       .product = o->usb_product,
                                       .release = o->usb_release,
                                       .product_name = o->usb_name,
                                       .bulk_name = o->usb_interface,
                                       .bulk_class = o->usb_class,
                                       .bulk_packet = o->usb_endpoint,
                                       .quirks = o->dap_quirks,
                                       .stream = o->dap_swo & SWO_STREAM ? usb_stream : NULL};
    b->usb = o->usb ? usb_open(o->usb, &probe) : NULL;
    return b->usb || !o->usb;
}

static const struct chip *hide_rom_tables(struct chip *copy, const struct chip *chip)
{
    *copy = *chip;
    for (size_t i = 0; i < copy->ap_count; i++)
        copy->aps[i].base = UINT32_MAX;
    return copy;
}

static bool put_together(struct board *b, const struct options *o)
{
    b->chip = o->no_rom_table ? hide_rom_tables(&b->without_rom, o->chip) : o->chip;
    b->halt_cost = o->halt_cost;
    b->cores.halt_cost = &b->halt_cost;
    b->cores.port_quirks = o->port_quirks;
    b->cores.tracing.quirks = o->trace_quirks;
    b->cores.tracing.itm_fifo = o->itm_fifo;
    b->cores.trace = o->verbose ? stderr : NULL;
    struct bus *bus = &b->cores.each[0].bus;
    if (!add_memory(bus, &b->chip->flash, &b->flash) || !add_memory(bus, &b->chip->ram, &b->ram))
        return complain("no memory");
    if (!elf_load(bus, o->firmware))
        return false;
    if (!cores_add_first(&b->cores, b->chip) || !cores_add_second(&b->cores, b->chip, o->firmware))
        return complain("the emulator cannot be set up");
    for (size_t i = 0; i < b->cores.count; i++)
        b->cores.each[i].core->wire_ns = &b->processor.counts.busy_ns;
    cores_seed(&b->cores, o->seed);
    if (o->has_skid)
        cores_set_skid(&b->cores, o->stop_skid);
    cores_set_sample_skid(&b->cores, o->sample_skid);
    b->cores.no_catch_up = o->no_catch_up;
    b->cores.by_wire = o->dap_exact;
    if (o->core_state && !cores_set_state(&b->cores, o->core_state, true))
        return complain("the cores have no such state");
    b->bitbang.swd = &b->pins.swd;
    b->bitbang.reset = hold_reset;
    b->bitbang.self = b;
    if (!bitbang_open(&b->bitbang, o->jtag, o->jtag_socket, &b->cores.ports[0], b->chip->idcode) ||
        !control_open(b, o->control))
        return complain("cannot listen: is the port taken?");
    pace_start(&b->pace, o->clock, o->idle_clock ? o->idle_clock : o->clock);
    return open_probe(b, o);
}

static void take_apart(struct board *b)
{
    server_close(&b->bitbang.server);
    dap_tcp_close(&b->dap_tcp);
    usb_close(b->usb);
    server_close(&b->control);
    cores_destroy(&b->cores);
    free(b->flash);
    free(b->ram);
}

static void go_round(struct board *b, int signals)
{
    struct pollfd polls[1 + 2 * SERVER_POLLS + DAP_TCP_POLLS + USB_POLLS];
    bool more = false;
    while (!b->quit) {
        polls[0] = (struct pollfd){.fd = signals, .events = POLLIN};
        size_t jtag = server_polls(&b->bitbang.server, polls + 1);
        size_t control = server_polls(&b->control, polls + 1 + jtag);
        size_t dap = dap_tcp_polls(&b->dap_tcp, polls + 1 + jtag + control);
        size_t servers = 1 + jtag + control + dap, usb = usb_polls(b->usb, polls + servers);
        // With --dap-exact time passes with packets alone, as long as there is a host that sends some
        bool stands = b->processor.pass && b->dap_tcp.client;
        // While the core is halted only the wire can change anything; else time goes on without requests
        int timeout = more ? 0 : cores_runnable(&b->cores) ? pace_nap_ms(&b->pace) : -1;
        if (poll(polls, servers + usb, timeout) > 0) {
            b->quit = polls[0].revents != 0;
            b->pace.used = true;
            server_serve(&b->bitbang.server, polls + 1, jtag);
            server_serve(&b->control, polls + 1 + jtag, control);
            dap_tcp_serve(&b->dap_tcp, polls + 1 + jtag + control, dap);
            usb_serve(b->usb, polls + servers, usb);
        }
        more = !stands && cores_run(&b->cores, &b->pace);
    }
}

// Blocked, so that they can only arrive between two rounds
static int catch_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

int main(int argc, char **argv)
{
    struct options options;
    struct board *board = calloc(1, sizeof *board);
    int status = EXIT_FAILURE;
    if (!board || !options_parse(&options, argc, argv)) {
        free(board);
        return EXIT_USAGE;
    }
    pid_t parent = getppid();
    if (options.die_with_parent) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) { // it was gone before that took effect
            free(board);
            return EXIT_FAILURE;
        }
    }
    board->bitbang.server.listener = board->control.listener = board->dap_tcp.server.listener = -1;
    board->bitbang.server.local = board->control.local = board->dap_tcp.server.local = -1;
    int signals = catch_signals();
    if (signals >= 0 && put_together(board, &options)) {
        printf("{\"jtag\":%u,\"control\":%u,\"dap\":%u", board->bitbang.server.port, board->control.port,
               board->dap_tcp.server.port);
        if (board->usb)
            printf(",\"usb\":\"%s\"", options.usb);
        puts("}");
        fflush(stdout);
        go_round(board, signals);
        status = EXIT_SUCCESS;
    }
    take_apart(board);
    free(board);
    close(signals);
    return status;
}
