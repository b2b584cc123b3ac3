/*
 * The modelled core, reached by a debugger of the tests: what a GDB server would do, without a wire.
 */
#pragma once

#include "debuggers/debugger.h"
#include "model_link.h"
#include "test.h"

#include <stdio.h>

enum { MODEL_POLLS = 400 }; /* reads of a running core in one wait */

struct model_debugger {
    struct debugger debugger; /* first */
    struct model_core *m;
    bool running, closed, closed_run;
    bool steps_over;       /* its own breakpoints, when it resumes at one */
    bool ignores_writes;   /* and says that they were done */
    bool counts_on;        /* the cycle counter, while the core is halted */
    unsigned room;         /* breakpoints that it has */
    unsigned pend_at;      /* an interrupt pends in Debug state, after that resume; 0: never */
    unsigned resumes, set; /* times; breakpoints there are */
    enum debugger_why why; /* of each stop but those asked for */
    bool asked;
    /* At that resume another thread's stop at `late_pc` is reported, and nothing moves; 0: never */
    unsigned late_resume;
    uint32_t late_pc;
    bool is_late;
    unsigned lost_resume; /* that one does not arrive, and the connection ends; 0: never */
    bool is_lost;
    unsigned halts;             /* that it makes on the way to each stop */
    int64_t answer_us, told_us; /* how long a stop is on its way; when it is there */
    unsigned waits, waits_at_point;
    int64_t point_until_us; /* the deadline of the last breakpoint set or cleared */
};

static inline struct model_debugger *model_debugger_of(const struct debugger *debugger)
{
    return (struct model_debugger *)debugger;
}

static inline bool model_debugger_halted(struct model_debugger *d, struct error *error)
{
    return !d->running || error_set(error, ERROR_FAULT, "the core runs");
}

static inline bool model_debugger_read(struct debugger *debugger, uint64_t at, void *out, size_t n,
                                       const struct deadline *deadline, struct error *error)
{
    struct model_debugger *d = model_debugger_of(debugger);
    uint8_t *bytes = out;
    (void)deadline;
    if (!model_debugger_halted(d, error))
        return false;
    if (d->counts_on && at == 0xE0001004)
        d->m->cyccnt++;
    for (size_t done = 0; done < n; done += 4) {
        uint32_t word = model_read(d->m, (uint32_t)(at + done), 4);
        memcpy(bytes + done, &word, n - done < 4 ? n - done : 4);
    }
    return true;
}

static inline bool model_debugger_write(struct debugger *debugger, uint64_t at, const void *in, size_t n,
                                        const struct deadline *deadline, struct error *error)
{
    struct model_debugger *d = model_debugger_of(debugger);
    uint32_t word = 0;
    (void)deadline;
    if (!model_debugger_halted(d, error))
        return false;
    memcpy(&word, in, n < 4 ? n : 4);
    if (!d->ignores_writes)
        model_write(d->m, (uint32_t)at, (unsigned)n, word);
    return true;
}

static inline bool model_debugger_point(struct debugger *debugger, uint64_t at, unsigned size, bool set,
                                        const struct deadline *deadline, struct error *error)
{
    struct model_debugger *d = model_debugger_of(debugger);
    uint32_t value = d->m->fp_ctrl >> 28 != 0
                         ? (uint32_t)at | 1
                         : (uint32_t)(at & 0x1FFFFFFC) | (at & 2 ? 0x80000001 : 0x40000001);
    if (d->waits != d->waits_at_point) /* which may have taken any time */
        assert_int_not_equal(deadline->at_us, d->point_until_us);
    d->waits_at_point = d->waits;
    d->point_until_us = deadline->at_us;
    assert_int_equal(size, 2);
    if (!model_debugger_halted(d, error))
        return false;
    if (set && (at >= MODEL_RAM || d->set == d->room))
        return error_set(error, ERROR_ADDRESS, "no");
    for (size_t i = 0; i < d->room; i++)
        if (d->m->comparators[i] == (set ? 0 : value)) {
            d->m->comparators[i] = set ? value : 0;
            d->set += set ? 1 : -1U;
            d->m->fp_ctrl = set || d->set > 0 ? d->m->fp_ctrl | 1 : d->m->fp_ctrl & ~1U;
            return true;
        }
    return error_set(error, ERROR_ADDRESS, "this breakpoint is not set");
}

static inline bool model_debugger_go(struct debugger *debugger, enum debugger_go how,
                                     const struct deadline *deadline, struct error *error)
{
    struct model_debugger *d = model_debugger_of(debugger);
    (void)deadline;
    if (!model_debugger_halted(d, error))
        return false;
    uint32_t was_on = d->m->fp_ctrl;
    d->told_us = deadline_now_us() + d->answer_us;
    d->is_late = ++d->resumes == d->late_resume;
    d->is_lost = d->resumes == d->lost_resume;
    if (d->is_late || d->is_lost) {
        d->running = true;
        return true;
    }
    d->m->debug = true;
    if (d->steps_over || how == DEBUGGER_STEP) {
        d->m->fp_ctrl &= ~1U;
        model_write_dhcsr(d->m, 0xA05F0005);
        d->m->fp_ctrl = was_on;
        model_arrive(d->m); /* where the step has led may have a breakpoint */
    }
    if (how == DEBUGGER_RUN)
        model_write_dhcsr(d->m, 0xA05F0001);
    d->running = true;
    return true;
}

static inline enum debugger_wait model_debugger_wait(struct debugger *debugger, struct debugger_stop *stop,
                                                     const struct deadline *deadline, struct error *error)
{
    struct model_debugger *d = model_debugger_of(debugger);
    d->waits++;
    for (int64_t now = deadline_now_us(); deadline_now_us() == now;) /* it takes time */
        continue;
    while (deadline_now_us() < d->told_us)
        if (deadline_passed(deadline))
            return DEBUGGER_RUNS;
    if (d->is_late) {
        *stop = (struct debugger_stop){.why = DEBUGGER_TRAP, .thread = "2"};
        d->running = false;
        return DEBUGGER_STOPPED;
    }
    if (d->is_lost) { /* the next one is made over another connection */
        d->is_lost = false;
        error_set(error, ERROR_LINK_LOST, "gone");
        return DEBUGGER_GONE;
    }
    for (int i = 0; i < MODEL_POLLS; i++) {
        bool after;
        if (model_begin_access(d->m, &after) == LINK_LOST) {
            error_set(error, ERROR_LINK_LOST, "gone");
            return DEBUGGER_GONE;
        }
        if (!d->m->halted)
            continue;
        *stop = (struct debugger_stop){
            .why = d->asked ? DEBUGGER_REQUESTED : d->why, .halts = d->halts, .steps = (d->halts + 1) / 2};
        d->running = d->asked = false;
        if (d->resumes == d->pend_at)
            model_pend(d->m);
        return DEBUGGER_STOPPED;
    }
    return DEBUGGER_RUNS;
}

static inline bool model_debugger_interrupt(struct debugger *debugger, struct error *error)
{
    struct model_debugger *d = model_debugger_of(debugger);
    (void)error;
    d->asked = !d->m->halted;
    model_write_dhcsr(d->m, 0xA05F0003);
    return true;
}

static inline bool model_debugger_register(struct debugger *debugger, const char *name, uint64_t *out,
                                           const struct deadline *deadline, struct error *error)
{
    struct model_debugger *d = model_debugger_of(debugger);
    static const char *const names[] = {"pc", "sp", "lr", "psp", "xpsr"};
    const uint32_t values[] = {d->is_late ? d->late_pc : d->m->pc, d->m->sp, d->m->lr, d->m->psp, d->m->xpsr};
    (void)deadline;
    if (!model_debugger_halted(d, error))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = values[i];
            return true;
        }
    return error_set(error, ERROR_FAULT, "no register %s", name);
}

static inline bool model_debugger_runs(const struct debugger *debugger)
{
    return model_debugger_of(debugger)->running;
}

static inline void model_debugger_close(struct debugger *debugger, bool run)
{
    struct model_debugger *d = model_debugger_of(debugger);
    d->closed = true;
    d->closed_run = run;
    if (run && !d->running)
        model_write_dhcsr(d->m, 0xA05F0000);
}

/* Attached, which halts the core. */
static inline void model_debugger_init(struct model_debugger *d, struct model_core *m)
{
    static const struct debugger_ops ops = {.read_memory = model_debugger_read,
                                            .write_memory = model_debugger_write,
                                            .breakpoint = model_debugger_point,
                                            .go = model_debugger_go,
                                            .wait = model_debugger_wait,
                                            .interrupt = model_debugger_interrupt,
                                            .read_register = model_debugger_register,
                                            .is_running = model_debugger_runs,
                                            .close = model_debugger_close};
    *d = (struct model_debugger){.debugger.ops = &ops, .m = m, .room = 4};
    d->debugger.facts.profile = PROFILE_M;
    snprintf(d->debugger.facts.name, sizeof d->debugger.facts.name, "gdb model");
    model_write_dhcsr(m, 0xA05F0001);
    model_write_dhcsr(m, 0xA05F0003);
}
