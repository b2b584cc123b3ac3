// The virtual board: puts a chip together, then goes round between the wire, the control socket and the core.
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

enum { EXIT_USAGE = 2, SLICES_PER_S = 1000 };

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

static bool run_core(struct board *b);

// While a probe's packet keeps the wire busy, the core lives on
static uint64_t breathe(void *self)
{
    struct timespec now;
    run_core(self);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void hold_reset(void *self, bool held)
{
    struct board *b = self;
    b->core->ops->hold(b->core, held);
}

static bool open_probe(struct board *b, const struct options *o)
{
    const struct swd_target target = {.adi = &b->adi};
    swd_init(&b->pins.swd, &target, 1);
    jtag_init(&b->pins.jtag, &b->adi, b->chip->idcode);
    b->pins.has_jtag = true;
    b->pins.reset = hold_reset;
    b->pins.self = b;
    b->processor = (struct processor){.line.pins = &b->pins,
                                      .packet_size = o->dap_packet,
                                      .packet_count = o->dap_count,
                                      .timer = o->dap_timer,
                                      .atomic = o->dap_atomic,
                                      .quirks = o->dap_quirks,
                                      .serial = o->dap_serial,
                                      .breathe = breathe,
                                      .self = b};
    processor_init(&b->processor);
    return dap_tcp_open(&b->dap_tcp, o->dap_tcp, &b->processor) ||
           complain("cannot listen: is the port taken?");
}

static bool put_together(struct board *b, const struct options *o)
{
    b->chip = o->chip;
    b->halt_cost = o->halt_cost;
    if (!add_memory(&b->bus, &b->chip->flash, &b->flash) || !add_memory(&b->bus, &b->chip->ram, &b->ram))
        return complain("no memory");
    if (!elf_load(&b->bus, o->firmware))
        return false;
    b->core = cm_create(b->chip->core, &b->bus, &b->truth, &b->halt_cost);
    if (!b->core)
        return complain("the emulator cannot be set up");
    b->adi.wire = WIRE_JTAG;
    b->adi.dpidr = b->chip->dpidr;
    b->adi.trace = o->verbose ? stderr : NULL;
    if (!adi_add_ap(&b->adi, &b->bus, b->chip->ap_idr, b->chip->ap_base, b->chip->ap_wrap))
        return complain("too many access ports");
    if (!bitbang_open(&b->bitbang, o->jtag, &b->adi, b->chip->idcode, b->core) ||
        !control_open(b, o->control))
        return complain("cannot listen: is the port taken?");
    pace_start(&b->pace, o->clock);
    return open_probe(b, o);
}

static void take_apart(struct board *b)
{
    server_close(&b->bitbang.server);
    server_close(&b->dap_tcp.server);
    server_close(&b->control);
    if (b->core)
        b->core->ops->destroy(b->core);
    truth_free(&b->truth);
    free(b->flash);
    free(b->ram);
}

// One slice of the core, if it runs and its clock has got so far. true: there is more to run at once.
static bool run_core(struct board *b)
{
    uint64_t credit = pace_credit(&b->pace), slice = b->pace.hz / SLICES_PER_S;
    if (!b->core->ops->runnable(b->core) || !credit)
        return false;
    uint64_t before = b->core->cycles;
    b->core->ops->run(b->core, credit < slice ? credit : slice);
    pace_spent(&b->pace, b->core->cycles - before);
    return credit > slice;
}

static void go_round(struct board *b, int signals)
{
    struct pollfd polls[1 + 3 * SERVER_POLLS];
    bool more = false;
    while (!b->quit) {
        polls[0] = (struct pollfd){.fd = signals, .events = POLLIN};
        size_t jtag = server_polls(&b->bitbang.server, polls + 1);
        size_t control = server_polls(&b->control, polls + 1 + jtag);
        size_t dap = server_polls(&b->dap_tcp.server, polls + 1 + jtag + control);
        // Halted, only the wire can change anything; else the clock goes on while nobody asks
        int timeout = more ? 0 : b->core->ops->runnable(b->core) ? 1 : -1;
        if (poll(polls, 1 + jtag + control + dap, timeout) > 0) {
            b->quit = polls[0].revents != 0;
            server_serve(&b->bitbang.server, polls + 1, jtag);
            server_serve(&b->control, polls + 1 + jtag, control);
            server_serve(&b->dap_tcp.server, polls + 1 + jtag + control, dap);
        }
        more = run_core(b);
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
    int signals = catch_signals();
    if (signals >= 0 && put_together(board, &options)) {
        printf("{\"jtag\":%u,\"control\":%u,\"dap\":%u}\n", board->bitbang.server.port, board->control.port,
               board->dap_tcp.server.port);
        fflush(stdout);
        go_round(board, signals);
        status = EXIT_SUCCESS;
    }
    take_apart(board);
    free(board);
    close(signals);
    return status;
}
