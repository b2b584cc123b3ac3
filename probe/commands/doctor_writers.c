#include "commands/doctor_writers.h"

#include "report/fold.h"
#include "report/json_part.h"
#include "report/terminal.h"
#include "target/writers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { CANDIDATES = 6, LEFT = 64, PLACE = 512 };

static bool is_json(const struct session *session)
{
    return session->context->options->format == FORMAT_JSON;
}

static void tell(const struct session *session, const char *text)
{
    FILE *out = session->context->out;
    if (!is_json(session)) {
        fold_beside(out, terminal_columns(out), "  ", text);
        return;
    }
    struct json_part line = json_part_new("note");
    json_part_text(&line, "text", text);
    json_part_write(out, line);
}

/* "writes.c:76 (write_it+0x12), 0x0800041E", or the address alone. */
static void place_of(const struct session *session, uint64_t address, char *out, size_t size)
{
    char place[PLACE - 32], digits[24];
    session_place(session, address, place, sizeof place);
    snprintf(digits, sizeof digits, "0x%08" PRIX64, address);
    snprintf(out, size, "%s%s%s", strcmp(place, digits) == 0 ? "" : place,
             strcmp(place, digits) == 0 ? "" : ", ", digits);
}

static void print_row(const struct session *session, const char *what, const char *name, const char *text)
{
    FILE *out = session->context->out;
    char left[LEFT];
    snprintf(left, sizeof left, "  %-15s %-10s ", what, name);
    fold_beside(out, terminal_columns(out), left, text);
}

/* A line of JSON that names an instruction; what is known by how is added to it. */
static struct json_part writer_line(const struct session *session, const char *name, uint64_t address,
                                    const char *how)
{
    struct location location;
    struct json_part line = json_part_new("writer");
    symbols_describe(session->symbols, address, &location);
    json_part_text(&line, "register", name);
    json_part_hex(&line, "address", address);
    json_part_text(&line, "place", session->symbols != NULL ? location.name : "");
    json_part_text(&line, "source", location.source);
    json_part_text(&line, "how", how);
    return line;
}

/* --- by the code ---------------------------------------------------------------------------------------- */

static void put_candidate(const struct session *session, const char *name, uint64_t address)
{
    char place[PLACE];
    if (is_json(session)) {
        json_part_write(session->context->out, writer_line(session, name, address, "code"));
        return;
    }
    place_of(session, address, place, sizeof place);
    print_row(session, "may write it", name, place);
}

static void tell_candidates(const struct session *session, size_t n)
{
    char text[128], of[32] = "";
    if (n > CANDIDATES)
        snprintf(of, sizeof of, ", %d of %zu", CANDIDATES, n);
    snprintf(text, sizeof text, "Candidates%s: which of these instructions run is not known.", of);
    tell(session, text);
}

/* Of a Cortex-M: of one register, or NULL: of all. Where the code has the addresses of the registers as
 * constants. */
static void list_stores(const struct session *session, const struct counter_block *block, const char *only)
{
    const char *name;
    uint64_t word, found[CANDIDATES];
    size_t all = 0, shown = 0;
    for (size_t i = 0; writers_register(block, i, &name, &word); i++) {
        if (only != NULL && strcmp(only, name) != 0)
            continue;
        size_t n = symbols_stores_to(session->symbols, word, found, CANDIDATES);
        for (size_t k = 0; k < n && shown < CANDIDATES; k++, shown++)
            put_candidate(session, name, found[k]);
        all += n;
    }
    if (all > 0)
        tell_candidates(session, all);
}

static void search(const struct session *session, const char *first)
{
    struct counter_write writes[CANDIDATES];
    if (session->symbols == NULL) {
        tell(session, "With --elf FILE the instructions that can write it are listed.");
        return;
    }
    size_t n = symbols_counter_writes(session->symbols, first, writes, CANDIDATES);
    for (size_t i = 0; i < n && i < CANDIDATES; i++)
        put_candidate(session, writes[i].name, writes[i].address);
    if (n > 0)
        tell_candidates(session, n);
    else
        tell(session,
             "No instruction of the ELF writes the performance monitor: an operating system, another "
             "program or another debugger does.");
}

/* --- by a watchpoint ------------------------------------------------------------------------------------ */

/* One store, and all stops behind it. */
struct seen {
    const char *name;
    uint64_t at; /* the store, or where the core stopped */
    bool exact;
    unsigned times;
};

static size_t gather(const struct session *session, const struct writers *writers, struct seen *out)
{
    size_t n = 0;
    for (size_t i = 0; i < writers->n; i++) {
        const struct writer *writer = &writers->items[i];
        struct seen one = {.name = writer->name, .at = writer->stop, .times = writer->times};
        one.exact = symbols_store_before(session->symbols, writer->registers, writer->word, &one.at);
        size_t same = 0;
        while (same < n && (out[same].at != one.at || out[same].exact != one.exact ||
                            strcmp(out[same].name, one.name) != 0))
            same++;
        if (same < n)
            out[same].times += one.times;
        else
            out[n++] = one;
    }
    return n;
}

static void put_seen(const struct session *session, const struct seen *seen)
{
    char place[PLACE], text[PLACE + 64];
    if (is_json(session)) {
        struct json_part line = writer_line(session, seen->name, seen->at, "watchpoint");
        json_part_bool(&line, "exact", seen->exact);
        json_part_unsigned(&line, "times", seen->times);
        json_part_write(session->context->out, line);
        return;
    }
    place_of(session, seen->at, place, sizeof place);
    snprintf(text, sizeof text, "%s%s: %u time%s", seen->exact ? "" : "at or a few instructions before ",
             place, seen->times, seen->times == 1 ? "" : "s");
    print_row(session, "written by", seen->name, text);
}

static void list_watched(const struct writers *writers, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < writers->n_watched; i++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", i == 0 ? "" : ", ", writers->watched[i]);
    }
}

static void put_end(const struct session *session, const struct writers *writers)
{
    char watched[96], text[512], place[PLACE];
    if (writers->hindrance[0] != '\0') {
        snprintf(text, sizeof text, "Who writes it was not watched%s: %s.",
                 writers->n_watched > 0 ? " to the end" : "", writers->hindrance);
        tell(session, text);
    }
    if (session->target.leave_halted) {
        place_of(session, session->target.stopped_at, place, sizeof place);
        snprintf(text, sizeof text, "The core stands at %.200s.", place);
        tell(session, text);
    }
    if (writers->more)
        tell(session, "There are more places than these.");
    if (writers->n > 0 && session->symbols == NULL)
        tell(session, "With --elf FILE these are functions and lines.");
    if (writers->n > 0 || writers->hindrance[0] != '\0')
        return;
    list_watched(writers, watched, sizeof watched);
    snprintf(
        text, sizeof text,
        "A watchpoint saw no write of the program to %s. Another debugger may do it, or this core does not "
        "watch registers of its own.",
        watched);
    tell(session, text);
}

const struct counter_block *doctor_written_block(const struct session *session)
{
    const struct target_core *core = session->target.chosen;
    const char *name = session->context->options->counter;
    if (session->target.block != NULL)
        return session->target.block;
    for (size_t i = 0; i < core->n_blocks; i++)
        if (name != NULL ? strcasecmp(core->blocks[i].kind->name, name) == 0
                         : core->blocks[i].unusable[0] == '\0')
            return &core->blocks[i];
    return NULL;
}

static void watch(struct session *session, const char *first)
{
    struct writers writers;
    struct seen seen[WRITERS_ROOM];
    struct error failed = {0};
    const char *unclear = NULL;
    struct deadline deadline = session_deadline(session);
    const struct counter_block *block = doctor_written_block(session);
    if (block == NULL)
        return;
    bool ok = writers_watch(&session->target, block, first, &writers, &deadline, &failed);
    if (!ok)
        snprintf(writers.hindrance, sizeof writers.hindrance, "%.150s", failed.text);
    size_t n = gather(session, &writers, seen);
    for (size_t i = 0; i < n; i++) {
        put_seen(session, &seen[i]);
        if (!seen[i].exact)
            unclear = seen[i].name;
    }
    put_end(session, &writers);
    if (session->symbols != NULL && (n == 0 || unclear != NULL))
        list_stores(session, block, unclear);
}

static bool is_searched(const struct session *session)
{
    enum core_family family = session->target.chosen->core.family;
    return family == CORE_ARMV7 || family == CORE_ARMV8;
}

void doctor_name_writers(struct session *session, const struct error *why)
{
    if (writers_can_watch(&session->target))
        watch(session, why->subject);
    else if (is_searched(session))
        search(session, why->subject);
}

void doctor_name_stoppers(const struct session *session)
{
    if (is_searched(session) && session->target.elsewhere == NULL)
        search(session, "PMCR");
}
