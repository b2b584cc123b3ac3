// Describes an Armv8-A core for the control socket: everything that a debugger could have changed.
#include "cpu/armv8.h"

#include <inttypes.h>

static void print_words(FILE *json, const char *name, const uint32_t *words, unsigned count)
{
    fprintf(json, ",\"%s\":[", name);
    for (unsigned i = 0; i < count; i++)
        fprintf(json, "%s%" PRIu32, i ? "," : "", words[i]);
    fputc(']', json);
}

static void print_longs(FILE *json, const char *name, const uint64_t *longs, unsigned count)
{
    fprintf(json, ",\"%s\":[", name);
    for (unsigned i = 0; i < count; i++)
        fprintf(json, "%s%" PRIu64, i ? "," : "", longs[i]);
    fputc(']', json);
}

static void print_flag(FILE *json, const char *name, bool flag)
{
    fprintf(json, ",\"%s\":%s", name, flag ? "true" : "false");
}

static void print_debug(FILE *json, const struct v8_debug *d)
{
    fprintf(json,
            ",\"edscr\":%" PRIu32 ",\"edecr\":%" PRIu32 ",\"edesr\":%" PRIu32 ",\"edeccr\":%" PRIu32
            ",\"edprcr\":%" PRIu32 ",\"claims\":%u",
            d->control, d->edecr, d->edesr, d->edeccr, d->edprcr, d->claims);
    print_flag(json, "os_locked", d->os_locked);
    print_flag(json, "double_locked", d->double_lock);
    print_flag(json, "locked", d->locked);
    print_flag(json, "pmu_locked", d->monitor_locked);
    print_longs(json, "bvr", d->bvr, V8_BREAKPOINTS);
    print_words(json, "bcr", d->bcr, V8_BREAKPOINTS);
    print_longs(json, "wvr", d->wvr, V8_WATCHPOINTS);
    print_words(json, "wcr", d->wcr, V8_WATCHPOINTS);
}

void v8_describe(struct core *core, FILE *json)
{
    static const char *const states[] = {"running", "asleep", "halted"};
    struct armv8 *v8 = (struct armv8 *)core;
    bool asleep = v8->aarch32 && a32_asleep(v8);
    uint64_t pc = v8->aarch32 ? a32_pc(v8) : v8->pc, lr = v8_x(v8, v8->aarch32 ? 14 : 30);
    fprintf(json, "\"run\":\"%s\",\"pc\":%" PRIu64 ",\"sp\":%" PRIu64 ",\"lr\":%" PRIu64 ",\"cpsr\":%" PRIu32,
            v8->off  ? "off"
            : asleep ? "asleep"
                     : states[v8->state],
            pc, v8_stack(v8), lr, v8_pstate(v8));
    fprintf(json, ",\"level\":%u,\"pending\":%" PRIu32, v8->level, *v8_pending(v8));
    print_debug(json, &v8->debug);
    cti_print(&v8->cti, json);
    pmu_v3_print(&v8->pmu, json);
    fprintf(json,
            ",\"cycles\":%" PRIu64 ",\"counted\":%" PRIu64 ",\"instructions\":%" PRIu64 ",\"halts\":%" PRIu64
            ",\"altered\":%" PRIu64 ",\"borrowed\":%" PRIu64,
            core->cycles, core->counted, core->instructions, core->halts, v8->altered, v8_borrowed(v8));
}
