/*
 * Any bytes as a recording of a link, which is asked what the seeds have: whatever a file says, the answers
 * are ones that a link may give, and the run ends.
 */
#include "debuggers/debugger.h"
#include "wire/wire.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { READINGS = 64, VIEWS = 4, ROUNDS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void demand_text(const char *text, size_t size)
{
    demand(memchr(text, '\0', size) != NULL);
}

static const struct step steps[] = {
    {.op = OP_TIME, .value = TIME_BEFORE},
    {.op = OP_READ, .at = {.space = SPACE_MEMORY, .size = 4, .offset = 0xE000ED00}},
    {.op = OP_READ, .at = {.space = SPACE_MEMORY, .size = 4, .offset = 0xE000ED00}},
    {.op = OP_WRITE, .at = {.space = SPACE_AP, .size = 4, .unit = 1, .offset = 4}, .value = 0x10},
    {.op = OP_UNTIL, .at = {.space = SPACE_DP, .size = 4, .offset = 4}, .value = 1, .mask = 1},
    {.op = OP_EXPECT,
     .at = {.space = SPACE_MSR, .size = 8, .offset = 0x10},
     .value = 1,
     .mask = 1,
     .once = true},
    {.op = OP_TIME, .value = TIME_AFTER}};

enum { STEPS = sizeof steps / sizeof *steps };

static void run_steps(struct link *link, size_t from)
{
    uint64_t results[STEPS];
    struct error error = {0};
    struct deadline deadline = deadline_in_ms(1000, NULL);
    for (size_t i = 0; i < READINGS && !deadline_passed(&deadline); i++)
        deadline_nap();
    struct outcome outcome = link->ops->execute(link, steps + from, STEPS - from, results, &deadline, &error);
    demand(outcome.why <= LINK_LOST && outcome.done <= STEPS - from);
    demand((outcome.why == DONE) == (outcome.done == STEPS - from));
    demand_text(error.text, sizeof error.text);
}

static void ask_debugger(struct debugger *debugger)
{
    const struct debugger_ops *ops = debugger->ops;
    struct deadline deadline = deadline_in_ms(1000, NULL);
    struct error errors[8] = {0};
    struct debugger_stop stop;
    uint8_t bytes[8];
    uint64_t value;
    char text[64];
    demand(debugger->facts.server < SERVERS && debugger->access.used <= ACCESS_WAYS);
    demand_text(debugger->facts.name, sizeof debugger->facts.name);
    ops->read_memory(debugger, 0x20000000, bytes, sizeof bytes, &deadline, &errors[0]);
    ops->write_memory(debugger, 0x20000000, bytes, sizeof bytes, &deadline, &errors[1]);
    ops->breakpoint(debugger, 0x270, 2, true, &deadline, &errors[2]);
    ops->go(debugger, DEBUGGER_RUN, &deadline, &errors[3]);
    if (ops->wait(debugger, &stop, &deadline, &errors[4]) == DEBUGGER_STOPPED) {
        demand(stop.why <= DEBUGGER_ENDED);
        demand_text(stop.thread, sizeof stop.thread);
    }
    ops->read_register(debugger, "pc", &value, &deadline, &errors[5]);
    if (ops->monitor != NULL) {
        ops->monitor(debugger, "version", text, sizeof text, &deadline, &errors[6]);
        demand_text(text, sizeof text);
    }
    (void)ops->is_running(debugger);
    ops->interrupt(debugger, &errors[7]);
}

static struct link *open_nothing(void *context, struct error *error)
{
    (void)context;
    (void)error;
    abort(); /* a replay has no link */
}

static void play(struct wire *wire)
{
    struct link_view views[VIEWS];
    char text[64];
    struct error errors[6] = {0};
    struct deadline deadline = deadline_in_ms(1000, NULL);
    struct link *link = wire_connect(wire, open_nothing, NULL, &errors[0]);
    if (link == NULL)
        return;
    size_t n = link_views(link, views, VIEWS, &errors[1]);
    demand(n <= VIEWS);
    for (size_t i = 0; i < n; i++) {
        demand_text(views[i].name, sizeof views[i].name);
        demand(views[i].state <= VIEW_RESET);
    }
    link_describe(link, text, sizeof text);
    demand_text(text, sizeof text);
    for (size_t i = 0; i < ROUNDS; i++)
        run_steps(link, i);
    link_hold(link, true, &errors[2]);
    link_server_run(link, 0, true, &deadline, &errors[3]);
    if (link_debugger(link) != NULL)
        ask_debugger(link_debugger(link));
    link_end(link, &errors[4]);
    link_close(link);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    volatile sig_atomic_t cancel = 0;
    struct ending ending = {.signals = &cancel};
    const struct wire_run run = {.version = "1", .cancel = &cancel, .ending = &ending};
    struct error error = {0};
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    struct wire *wire = wire_replay_text(text, size, "file", &run, &error);
    demand((wire == NULL) == (error.kind != ERROR_NONE));
    if (wire == NULL)
        return 0;
    play(wire);
    bool ok = wire_end(wire, 0, &error);
    demand(ok == (error.kind == ERROR_NONE));
    wire_free(wire);
    return 0;
}
