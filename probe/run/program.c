/* SPDX-License-Identifier: MIT */
#include "run/program.h"

#include "base/log.h"
#include "base/values.h"
#include "device/run.h"
#include "links/ledger.h"
#include "run/elf_files.h"
#include "run/engine_use.h"
#include "run/values.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the machine */

/* Tag_CPU_arch: the M profile, and others. */
enum { V7 = 10, V6_M = 11, V6S_M = 12, V7E_M = 13, V8_A = 14, V8_R = 15, V8_M_BASE = 16, V8_M_MAIN = 17 };
enum { V81_A = 18, V83_A = 20, V81_M_MAIN = 21, V9_A = 22 };

static bool fits_cortex_m(const struct symbols_machine *machine, const struct core *core)
{
    enum architecture is = core_part(core)->architecture;
    bool v8 = is >= ARMV8_M_BASE, main = is != ARMV6_M && is != ARMV8_M_BASE;
    if (machine->number != EM_ARM || machine->profile == 'A' || machine->profile == 'R')
        return false;
    switch (machine->architecture) {
    case V7:
    case V7E_M: /* may run on a Cortex-M3 too, if it avoids what that core lacks */
        return main;
    case V8_M_BASE:
        return v8;
    case V8_M_MAIN:
        return v8 && main;
    case V81_M_MAIN:
        return is == ARMV81_M;
    case V8_A:
    case V8_R:
    case V9_A:
        return false;
    default:
        return machine->architecture < V81_A || machine->architecture > V83_A;
    }
}

static bool elf_check_is_for_m(const struct symbols_machine *machine)
{
    unsigned architecture = machine->architecture;
    return machine->profile == 'M' || (architecture >= V6_M && architecture <= V7E_M) ||
           architecture == V8_M_BASE || architecture == V8_M_MAIN || architecture == V81_M_MAIN;
}

bool elf_check_fits(const struct symbols_machine *machine, const struct core *core)
{
    bool arm = machine->number == EM_ARM && !elf_check_is_for_m(machine);
    if (core_has(core, SYSTEM_SPACE))
        return fits_cortex_m(machine, core);
    if (core_has(core, WIDE_REGISTERS)) /* may be in AArch32 state, which shows only where it is stopped */
        return arm || (machine->number == EM_AARCH64 && core_part(core)->architecture != ARMV8_R);
    if (core_has(core, ARM_CODE))
        return arm;
    /* A program on a card, or which a GDB server there shows alike */
    return machine->number == EM_K10M || machine->number == EM_L10M || machine->number == EM_X86_64;
}

static bool check_machine(struct session *session, struct error *error)
{
    const struct core *core = &session->device.chosen->core;
    struct symbols_machine machine;
    symbols_machine(session->symbols, &machine);
    if (session->device.debugger == NULL)
        (void)core_take_state(&session->device.chosen->core, machine.number == EM_AARCH64);
    if (!elf_check_fits(&machine, core))
        return error_set(error, ERROR_ELF_MISMATCH, "this ELF is for %s; the core is a %s", machine.name,
                         core->name);
    if (core_has(core, PROGRAM_ONLY) && symbols_is_movable(session->symbols) &&
        session->request->load_offset == 0)
        return error_advise(error, ERROR_USAGE, "Link it with -no-pie, or say where it is: --load-offset.",
                            "the ELF is position independent, and its place is not known");
    return true;
}

static bool check_code(struct session *session, struct error *error)
{
    return symbols_has_code(session->symbols) ||
           error_advise(error, ERROR_ELF, "Name the program itself: its separate file is found.",
                        "%.300s has a program's names and lines, not its code", session_elf(session));
}

/* ---- what is in memory */

/* ---- the same through the core */

/* The core's cache may be ahead of memory, and the MMU may map an address to another place. */
static bool may_see_more(const struct session *session)
{
    const struct device *device = &session->device;
    const struct core *core = &device->chosen->core;
    return core_has(core, DEBUG_COMPONENT) && device_has_run_control(device) && core->unstoppable == NULL;
}

/* The core stays halted until all is compared. */
static bool elf_check_look_by_core(struct session *session, uint64_t address, uint64_t *words, size_t n,
                                   struct error *error)
{
    struct device *device = &session->device;
    struct deadline deadline = session_deadline(session);
    bool ready = session->elf.by_core ||
                 (device_keep(device, &deadline, error) && device_access_by_core(device, &deadline, error));
    session->elf.by_core = device->halted_access != NULL;
    return ready && halted_access_look(device->halted_access, address, words, n, &deadline, error);
}

/* False with ERROR_ELF_MISMATCH only when its own view differs. */
static bool compare_by_core(struct session *session, const struct segment *piece, struct elf_found *found,
                            struct error *error)
{
    struct elf_words words = {.skip = (4 - piece->address % 4) % 4};
    words.n = piece->size < words.skip ? 0 : (piece->size - words.skip) / 4;
    words.n = words.n < ELF_WORDS ? words.n : ELF_WORDS;
    if (!elf_check_look_by_core(session, piece->address + words.skip, words.at, words.n, error) ||
        !elf_memory_compare(session, piece, &words, found, error))
        return false;
    log_line(session->around->log, "0x%08" PRIX64 ": the core sees the ELF's code, memory has other",
             piece->address);
    return true;
}

/* The same of a core that sleeps, once it is halted: then its memory has a clock. */
static bool compare_halted(struct session *session, const struct segment *piece, struct elf_found *found,
                           struct error *error)
{
    struct elf_words words;
    bool same = false;
    struct deadline deadline = session_deadline(session);
    struct engine *engine = session_engine(session, error);
    if (engine == NULL)
        return false;
    if (device_keep(&session->device, &deadline, error) && engine->ops->stand(engine, &deadline, error))
        same = elf_memory_read(session, awake_look, piece, &words, error) &&
               elf_memory_compare(session, piece, &words, found, error);
    struct error stays = {0};
    if (!session_disarm(session, engine, &stays) && same)
        same = error_copy(error, &stays);
    engine->ops->free(engine);
    if (same)
        log_line(session->around->log, "0x%08" PRIX64 ": halted, the core has the ELF's code; asleep, other",
                 piece->address);
    return same;
}

static bool stops_there(enum error_kind kind)
{
    return kind == ERROR_ELF_MISMATCH || kind == ERROR_LINK_LOST || kind == ERROR_CANCELLED ||
           kind == ERROR_FOREIGN_STOP || kind == ERROR_MOVED || kind == ERROR_RESET || kind == ERROR_SYSTEM;
}

/* What memory alone does not show, of a command that does not stop the core. */
static const char *elf_check_cached(struct session *session)
{
    return !session->may_stop && may_see_more(session)
               ? ". Caches may be ahead of memory: delta reads through the core"
               : "";
}

/* What differed at first is known, and counted. */
static bool found_again(struct elf_found *found, const struct elf_found *again)
{
    found->has_code = found->has_code || again->has_code;
    return true;
}

/* Compares the beginning of a piece of the file with the target: another program differs early. */
static bool check_piece(struct session *session, const struct segment *piece, struct elf_found *found,
                        struct error *error)
{
    struct elf_words words;
    struct error differs = {0}, by_core = {0}, ignored = {0};
    struct elf_found again = {0};
    if (!elf_memory_read(session, awake_look, piece, &words, &differs)) {
        error_prefix(&differs, "the ELF's code at 0x%08" PRIX64 " cannot be read back: ", piece->address);
        if (differs.kind == ERROR_FAULT)
            differs.advice = "Is it another chip's program, a clock off, or flash read-protected (STM32, RDP "
                             "level 1: the program stops until power-up)?";
    } else if (elf_memory_compare(session, piece, &words, found, &differs)) {
        session->elf.shown_in_sleep = session->elf.shown_in_sleep || (words.asleep && found->has_code);
        return true;
    } else if (words.asleep && elf_memory_read(session, awake_read, piece, &words, &ignored) &&
               elf_memory_compare(session, piece, &words, &again, &ignored)) {
        return found_again(found, &again);
    } else if (words.asleep && session->may_stop) {
        return compare_halted(session, piece, &again, error) && found_again(found, &again);
    } else if (words.asleep) {
        if (!session->elf.may_be_other)
            request_note(session->request, PROGRAM_SLEPT);
        session->elf.may_be_other = true;
        return true;
    }
    bool lost = differs.kind == ERROR_LINK_LOST || differs.kind == ERROR_CANCELLED;
    if (!lost && may_see_more(session)) {
        if (session->may_stop && compare_by_core(session, piece, &again, &by_core))
            return found_again(found, &again);
        if (stops_there(by_core.kind))
            return error_copy(error, &by_core);
        if (!session->may_stop)
            return error_set(error, differs.kind, "%s%s", differs.text, elf_check_cached(session));
    }
    return error_copy(error, &differs);
}

/* Whether the core can run it, and memory has its code, as it can be seen while the core runs. */
static bool elf_check_is_there(struct session *session)
{
    struct error other = {0};
    return !session->device.chosen->core.memory_hidden && check_machine(session, &other) &&
           check_code(session, &other) && elf_memory_is_whole(session, session->request->load_offset);
}

/* Undoes what it did to read through the core. */
static bool let_go(struct session *session, struct error *error)
{
    if (!session->elf.by_core)
        return true;
    if (!session_undo(session, error) || !device_check_left(&session->device, error))
        return false; /* session_close tries again */
    device_end_access(&session->device);
    session->elf.by_core = false;
    return true;
}

/* The bytes where the core is show how far the program was moved. The run begins anew with that. */
static void find_moved(struct session *session, struct error *error)
{
    uint64_t by;
    uint64_t *load_offset = session->around->load_offset;
    struct error moved = {0};
    char offset[VALUE_OFFSET];
    if ((error->kind != ERROR_ELF_MISMATCH && error->kind != ERROR_FAULT) || !session->may_stop ||
        !let_go(session, &moved) || !where_moved(session, &by))
        return;
    if (load_offset != NULL && session->request->load_offset == 0)
        *load_offset = by;
    value_offset_text(by, offset);
    error_advise(&moved, error->kind, "", "It runs the ELF's code at another place: --load-offset %s",
                 offset);
    error_add(error, &moved);
}

/* ---- the build ID */

enum { NOTE_HEADER = 16, ID_SHOWN = 6, ID_MOST = 64 }; /* n_namesz, n_descsz, n_type, "GNU" */

struct build_id {
    uint8_t bytes[ID_SHOWN + 2];
    size_t size; /* of the whole ID */
};

/* Reads the ID of a note that begins here, as words of memory; false: no note. */
static bool take_id(const uint64_t *words, size_t n, struct build_id *out)
{
    enum { NAME = sizeof ELF_NOTE_GNU, GNU = 0x00554E47 };
    if (n < 6 || words[0] != NAME || words[1] < ID_SHOWN || words[1] > ID_MOST ||
        words[2] != NT_GNU_BUILD_ID || words[3] != GNU)
        return false;
    out->size = words[1];
    for (size_t i = 0; i < sizeof out->bytes; i++)
        out->bytes[i] = (uint8_t)(words[4 + i / 4] >> 8 * (i % 4));
    return true;
}

/* The memory in which another build would have its note: the segment of our note and a bit more. Not farther,
 * as a read may disturb a peripheral. */
static struct segment neighbourhood(const struct segment *segments, size_t n, const struct segment *note)
{
    enum { LEAST = 4096, MOST = 65536 };
    for (size_t i = 0; i < n; i++) {
        size_t size = segments[i].size, more = size < LEAST ? LEAST : size > MOST ? MOST : size;
        if (note->address >= segments[i].address && note->address - segments[i].address < size)
            return (struct segment){.address = segments[i].address & ~UINT64_C(3), .size = size + more};
    }
    return *note;
}

/* Searches for the note of the program that is flashed, from the address of ours outwards. A side ends where
 * the target refuses to be read. */
static bool find_id(struct session *session, const struct segment *around, uint64_t from,
                    struct build_id *out)
{
    enum { STEP = 4 * (ELF_WORDS - 6), SEARCH_MS = 3000 };
    struct deadline deadline = deadline_in_ms(patience_ms(SEARCH_MS), session->around->cancel);
    uint64_t end = around->address + around->size;
    bool ended[2] = {false, false}; /* after the note, before it */
    for (uint64_t round = 0; !(ended[0] && ended[1]) && !deadline_passed(&deadline); round++) {
        struct elf_words words;
        uint64_t distance = (round + 1) / 2 * STEP;
        bool before = round % 2 != 0;
        uint64_t below = from - around->address, at = before ? around->address : from + distance;
        struct error unread = {0};
        if (before && distance < below)
            at = from - distance;
        ended[before] = ended[before] || (before ? distance >= below + STEP : at >= end);
        if (ended[before])
            continue;
        struct segment piece = {.address = at, .size = end - at};
        ended[before] = !elf_memory_read(session, awake_look, &piece, &words, &unread);
        for (size_t i = 0; !ended[before] && i < words.n; i++)
            if (take_id(words.at + i, words.n - i, out))
                return true;
    }
    return false;
}

static void show_id(const struct build_id *id, char *out, size_t room)
{
    for (size_t i = 0; i < ID_SHOWN && 2 * i + 6 < room; i++)
        snprintf(out + 2 * i, room - 2 * i, "%02x%s", id->bytes[i],
                 i + 1 == ID_SHOWN && id->size > ID_SHOWN ? "..." : "");
}

/* False: the file has none that is loaded. */
static bool find_own_id(struct session *session, struct segment *note, struct build_id *out)
{
    uint64_t words[6];
    if (!symbols_build_note(session->symbols, note) || note->address % 4 != 0 || note->size < 24)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint32_t word;
        memcpy(&word, note->bytes + 4 * i, 4);
        words[i] = word;
    }
    return take_id(words, sizeof words / sizeof *words, out);
}

/* Names the two builds instead of the words that differ, if both have a build ID. */
static void name_builds(struct session *session, const struct segment *parts, size_t n, struct error *error)
{
    struct segment note;
    struct build_id ours, theirs;
    char file[32] = "", device[32] = "";
    if (error->kind != ERROR_ELF_MISMATCH || !find_own_id(session, &note, &ours))
        return;
    const struct segment around = neighbourhood(parts + 1, n - 1, &note); /* the first part is the note */
    if (!find_id(session, &around, note.address, &theirs) ||
        memcmp(ours.bytes, theirs.bytes, sizeof ours.bytes) == 0)
        return;
    show_id(&ours, file, sizeof file);
    show_id(&theirs, device, sizeof device);
    error_clear(error);
    error_set(error, ERROR_ELF_MISMATCH, ELF_IS_OTHER "it holds build ID %s, the file %s%s", device, file,
              elf_check_cached(session));
}

/* ---- whether it is the program, by all pieces */

/* Code may differ in memory that the program was given back, or that it changes: in sections which are small,
 * or if it is the same build. */
enum { SMALL_PART = 4 };

struct elf_check {
    struct session *session;
    struct segment code[2 * ELF_CODE]; /* sections; from n_code on what symbols_copied has, where it runs */
    bool differs[2 * ELF_CODE];
    size_t n_code, n_all;
    uint64_t code_bytes;
    bool is_quick; /* one of many: it is compared later, if possible */
    struct elf_found found;
    struct error first; /* of the code that differs, where the command may go on; ERROR_NONE: none */
};

static void elf_check_begin(struct elf_check *check, struct session *session)
{
    *check = (struct elf_check){.session = session};
    check->n_code = elf_memory_code(session, check->code, ELF_CODE);
    check->n_all = check->n_code + symbols_copied(session->symbols, check->code + check->n_code, ELF_CODE);
    for (size_t i = check->n_code; i < check->n_all; i++)
        check->code[i] = elf_memory_run(session, &check->code[i]);
    for (size_t i = 0; i < check->n_all; i++)
        check->code_bytes += check->code[i].size;
}

static bool is_most_there(struct elf_check *check, const struct segment *piece)
{
    uint64_t bytes = 0;
    bool known = false;
    for (size_t i = 0; i < check->n_all; i++) {
        const struct segment *code = &check->code[i];
        bool around = piece->address >= code->address && piece->address - code->address < code->size;
        check->differs[i] = check->differs[i] || around;
        bytes += check->differs[i] ? code->size : 0;
        known = known || around;
    }
    return known && bytes <= check->code_bytes / SMALL_PART;
}

/* Whether the command may go on although the piece differs. */
static bool elf_check_forgives(struct elf_check *check, const struct segment *piece, const struct error *why)
{
    if (why->kind != ERROR_ELF_MISMATCH || (!check->session->elf.same_build && !is_most_there(check, piece)))
        return false;
    if (check->first.kind == ERROR_NONE)
        error_copy(&check->first, why);
    return true;
}

static bool check_part(struct elf_check *check, const struct segment *part, size_t pieces,
                       struct error *error)
{
    for (size_t k = 0; k < pieces; k++) {
        const struct segment piece = elf_memory_piece(part, k, pieces);
        struct error why = {0};
        if (!check_piece(check->session, &piece, &check->found, &why) &&
            !elf_check_forgives(check, &piece, &why))
            return error_copy(error, &why);
    }
    return true;
}

/* The note decides: where another build has its own, it is that one. A file without a note, or a target that
 * was given none, shows nothing. */
static bool check_build(struct elf_check *check, const struct segment *note, struct error *error)
{
    struct session *session = check->session;
    struct segment ignored_note;
    struct build_id ours, theirs;
    struct elf_words words;
    struct error why = {0}, unread = {0};
    if (!find_own_id(session, &ignored_note, &ours))
        return true;
    if (check_piece(session, note, &check->found, &why)) {
        session->elf.same_build = !session->elf.may_be_other;
        return true;
    }
    bool is_other = why.kind != ERROR_ELF_MISMATCH ||
                    !elf_memory_read(session, awake_look, note, &words, &unread) ||
                    take_id(words.at, words.n, &theirs);
    return !is_other || error_copy(error, &why);
}

/* Names the place of the first difference. What such code does is not known: whether it jumps into what is
 * measured, or writes a counter. */
static void elf_check_tell(struct elf_check *check)
{
    struct session *session = check->session;
    const char *at = strstr(check->first.text, "at 0x");
    if (check->first.kind != ERROR_NONE) {
        session->elf.differs = true;
        snprintf(session->elf.other, sizeof session->elf.other, "code differs from the ELF, first %.*s",
                 at != NULL ? (int)strcspn(at + 3, " ") + 3 : 0, or_empty(at));
        request_note(session->request, "code differs from the ELF, first %s; %s", or_empty(at),
                     session->elf.same_build ? "its build ID is in place: something changed it"
                                             : "most is the same: the program may have changed it");
    }
    if (check->found.others > 0)
        request_note(session->request,
                     "%zu of the compared words differ from the ELF, the first at 0x%08" PRIX64
                     ": none is code (a checksum written after the link?)",
                     check->found.others, check->found.other_at);
}

/* If only code decides, more of it does. */
static bool check_more_code(struct elf_check *check, struct error *error)
{
    enum { MORE = 16 };
    for (size_t i = 0; i < check->n_code; i++)
        if (!check_part(check, &check->code[i], MORE, error))
            return false;
    return check->found.has_code || error_set(error, ERROR_ELF_MISMATCH,
                                              ELF_IS_OTHER "it differs from 0x%08" PRIX64
                                                           " on, and no compared word is known to be code",
                                              check->found.other_at);
}

/* Other errors end the check. */
static bool is_compared(const struct error *why)
{
    return why->kind == ERROR_ELF_MISMATCH || !stops_there(why->kind);
}

static bool elf_check_same(struct elf_check *check, const struct segment *part, size_t pieces,
                           struct elf_found *found, struct error *why)
{
    *found = (struct elf_found){.has_code = false};
    for (size_t k = 0; k < pieces; k++) {
        const struct segment piece = elf_memory_piece(part, k, pieces);
        if (!check_piece(check->session, &piece, found, why))
            return false;
    }
    check->found.has_code = check->found.has_code || found->has_code;
    return true;
}

/* What a part that the program copies shows: it is where it runs, where it is loaded, or not this ELF's. */
enum copied { COPIED_RUNS, COPIED_LOADED, COPIED_OTHER, COPIED_UNREAD, COPIED_FAILED };

static enum copied look_for_copied(struct elf_check *check, const struct segment *loaded, size_t pieces,
                                   struct elf_found *found, bool *is_read, struct error *why)
{
    const struct segment run = elf_memory_run(check->session, loaded);
    struct error there = {0}, source = {0};
    *is_read = true;
    if (elf_check_same(check, &run, pieces, found, &there))
        return COPIED_RUNS;
    *is_read = there.kind == ERROR_ELF_MISMATCH;
    if (is_compared(&there) && loaded->apart != 0 && elf_check_same(check, loaded, pieces, found, &source)) {
        error_copy(why, &there);
        return COPIED_LOADED;
    }
    bool differs = source.kind == ERROR_ELF_MISMATCH;
    error_copy(why,
               is_compared(&there) && (differs || !is_compared(&source)) && !*is_read ? &source : &there);
    if (!is_compared(&there) || !is_compared(&source)) {
        error_copy(why, is_compared(&there) ? &source : &there);
        return COPIED_FAILED;
    }
    return *is_read || differs ? COPIED_OTHER : COPIED_UNREAD;
}

/* Another image where it is loaded is another program: what the program changes is changed where it runs. */
static bool check_copied(struct elf_check *check, const struct segment *loaded, struct error *error)
{
    struct session *session = check->session;
    const struct segment run = elf_memory_run(session, loaded);
    struct elf_found ignored = {0}; /* words other than code are the program's to change */
    struct error why = {0};
    char unread[96];
    bool is_read;
    switch (look_for_copied(check, loaded, ELF_PIECES, &ignored, &is_read, &why)) {
    case COPIED_RUNS:
        return true;
    case COPIED_LOADED:
        session->elf.differs = session->elf.differs || is_read;
        request_note(
            session->request, "the ELF's code of 0x%08" PRIX64 " is loaded, at 0x%08" PRIX64 ", and %s: %s%s",
            run.address, loaded->address, is_read ? "not where it runs" : "cannot be read where it runs",
            is_read ? "it is not copied yet, or something changed it" : "only the load image is compared",
            is_read ? elf_check_cached(session) : "");
        return true;
    case COPIED_UNREAD:
        snprintf(unread, sizeof unread,
                 "the ELF's code at 0x%08" PRIX64 " cannot be read back: it is not compared", run.address);
        doubt_add(session->elf.unseen, unread);
        request_note(session->request, "%s", unread);
        return true;
    case COPIED_OTHER:
        if (session->elf.same_build || loaded->apart == 0)
            return elf_check_forgives(check, &run, &why) || error_copy(error, &why);
        break;
    case COPIED_FAILED:
        break;
    }
    return error_copy(error, &why);
}

static bool check_all_copied(struct elf_check *check, struct error *error)
{
    struct session *session = check->session;
    struct segment copied[ELF_CODE];
    size_t n = symbols_copied(session->symbols, copied, ELF_CODE);
    for (size_t i = 0; i < n; i++)
        if (!check_copied(check, &copied[i], error))
            return false;
    return true;
}

/* Compares the build ID, then the beginning, middle and end of each segment and section of code. */
static bool check_memory(struct session *session, struct error *error)
{
    struct segment parts[ELF_PARTS];
    struct elf_check check;
    struct segment note;
    if (session->device.chosen->core.memory_hidden)
        return true;
    elf_check_begin(&check, session);
    size_t n = elf_memory_parts(session, parts), first = symbols_build_note(session->symbols, &note);
    bool ok = first == 0 || check_build(&check, &parts[0], error);
    for (size_t i = first; ok && i < n; i++)
        ok = check_part(&check, &parts[i], ELF_PIECES, error);
    ok = ok && check_all_copied(&check, error);
    if (ok && check.found.others > 0 && !session->elf.same_build)
        ok = check_more_code(&check, error);
    if (!ok) {
        name_builds(session, parts, n, error);
        find_moved(session, error);
        return false;
    }
    elf_check_tell(&check);
    if (check.found.has_code || session->elf.same_build || session->elf.may_be_other)
        return true;
    doubt_add(session->elf.unseen, "no code could be compared: " PROGRAM_NOT_KNOWN);
    request_note(session->request, "no code could be compared: " PROGRAM_NOT_KNOWN);
    return true;
}

/* The session must have chosen its core; true without an ELF. */
static bool elf_check(struct session *session, struct error *error)
{
    struct error after = {0};
    bool same = session->symbols == NULL ||
                (check_machine(session, error) && check_code(session, error) && check_memory(session, error));
    return let_go(session, &after) ? same : error_add(error, &after);
}

/* ---- what is measured */

/* The part of the code that one of the segments has, which run at their address less `apart`; by whole words,
 * which are compared. */
static bool find_in(const struct segment *segments, size_t n, const struct extent *code, struct segment *out)
{
    const uint64_t low = code->low & ~UINT64_C(3), high = (code->high + 3) & ~UINT64_C(3);
    for (size_t i = 0; i < n; i++) {
        uint64_t from = segments[i].address - segments[i].apart, begin = low > from ? low : from,
                 offset = begin - from;
        if (code->low < from || offset >= segments[i].size || code->high <= code->low)
            continue;
        size_t left = segments[i].size - (size_t)offset, size = high - begin;
        *out = (struct segment){.address = segments[i].address + offset,
                                .size = size < left ? size : left,
                                .bytes = segments[i].bytes + offset,
                                .apart = segments[i].apart};
        return true;
    }
    return false;
}

static bool find_loaded(struct session *session, const struct extent *code, struct segment *out)
{
    struct segment segments[ELF_SEGMENTS];
    size_t n = symbols_segments(session->symbols, segments, ELF_SEGMENTS);
    return find_in(segments, n, code, out);
}

static bool find_copied(struct session *session, const struct extent *code, struct segment *out)
{
    struct segment copied[ELF_CODE];
    size_t n = symbols_copied(session->symbols, copied, ELF_CODE);
    return find_in(copied, n, code, out);
}

static size_t function_pieces(const struct segment *part)
{
    enum { PIECE = 4 * ELF_WORDS };
    return (part->size + PIECE - 1) / PIECE;
}

/* For each result of the function. */
static bool keep_doubt(struct session *session, const struct extent *code, const char *what,
                       struct error *error)
{
    char place[256];
    struct elf_doubt *doubts =
        array_grow(session->elf.doubts, session->elf.n_doubts + 1, &session->elf.doubts_room, sizeof *doubts);
    if (doubts == NULL)
        return error_memory(error);
    session->elf.doubts = doubts;
    struct elf_doubt *doubt = &doubts[session->elf.n_doubts++];
    session_place(session, code->low, place, sizeof place);
    doubt->code = *code;
    snprintf(doubt->text, sizeof doubt->text, "the code of %.80s %s", place, what);
    return true;
}

static bool doubt_unread(struct session *session, const struct extent *code, struct error *error)
{
    return keep_doubt(session, code, "cannot be read back: it is not compared", error);
}

/* Constants in it differ: what it loads by them, and where it stores, is not as in the ELF. */
static bool doubt_others(struct session *session, const struct extent *code, const struct elf_found *found,
                         struct error *error)
{
    return found->others == 0 || keep_doubt(session, code, "has other constants than the ELF's", error);
}

/* A difference in the function: with the build ID in place, something has changed it. */
static bool function_differs(struct session *session, const struct extent *code, struct error *why,
                             struct error *error)
{
    char place[256];
    session_place(session, code->low, place, sizeof place);
    error_prefix(why, "the code of %.120s: ", place);
    if (why->kind != ERROR_ELF_MISMATCH || !session->elf.same_build)
        return error_copy(error, why);
    request_note(session->request, "%s; its build ID is in place", why->text);
    session->elf.differs = true;
    return keep_doubt(session, code, "is not the ELF's", error);
}

/* Without a breakpoint instruction, which the program would overwrite. */
static bool may_stop_there(const struct session *session, const struct extent *code)
{
    return session->may_stop && !session->request->no_halt &&
           core_can_compare(&session->device.chosen->core, code->low);
}

/* It is compared when the core first stops in it. */
static bool check_later(struct session *session, const struct extent *code, struct error *error)
{
    struct extent *more =
        array_grow(session->elf.late, session->elf.n_late + 1, &session->elf.late_room, sizeof *more);
    if (more == NULL)
        return error_memory(error);
    session->elf.late = more;
    more[session->elf.n_late++] = *code;
    return true;
}

/* Some of what is copied with a function is there. */
static bool is_part_copied(struct session *session, const struct extent *code)
{
    struct segment copied[ELF_CODE];
    size_t n = symbols_copied(session->symbols, copied, ELF_CODE), same = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        struct segment ignored;
        const struct segment run = elf_memory_run(session, &copied[i]);
        for (size_t k = 0; find_in(&copied[i], 1, code, &ignored) && k < ELF_PIECES; k++) {
            const struct segment piece = elf_memory_piece(&run, k, ELF_PIECES);
            struct elf_words words;
            struct error unread = {0};
            if (!elf_memory_read(session, awake_look, &piece, &words, &unread))
                return false;
            for (size_t w = 0; w < words.n; w++) {
                uint32_t in_file;
                memcpy(&in_file, piece.bytes + words.skip + 4 * w, sizeof in_file);
                all += in_file != 0;
                same += in_file != 0 && in_file == words.at[w];
            }
        }
    }
    return same > all / SMALL_PART;
}

/* It is loaded, and other code is where it runs. */
static bool check_not_copied(struct session *session, const struct extent *code, struct error *why,
                             struct error *error)
{
    char place[256];
    session_place(session, code->low, place, sizeof place);
    if (may_stop_there(session, code))
        return check_later(session, code, error);
    if (is_part_copied(session, code))
        return function_differs(session, code, why, error);
    return error_advise(error, ERROR_ELF_MISMATCH, "Begin when the program has copied it.",
                        "the code of %.120s is loaded, and not where it runs: it is not copied yet%s, or "
                        "something changed it",
                        place,
                        session->request->no_halt ? "" : " (which would overwrite a breakpoint instruction)");
}

static bool check_copied_function(struct elf_check *check, const struct extent *code,
                                  const struct segment *loaded, struct error *error)
{
    struct session *session = check->session;
    struct elf_found found = {0};
    struct error why = {0};
    bool is_read = true, resets = session->request->reset;
    switch (look_for_copied(check, loaded, function_pieces(loaded), &found, &is_read, &why)) {
    case COPIED_RUNS:
        return resets ? check_later(session, code, error) : doubt_others(session, code, &found, error);
    case COPIED_LOADED:
        if (is_read && !resets)
            return check_not_copied(session, code, &why, error);
        /* fall through */
    case COPIED_UNREAD:
        return resets || may_stop_there(session, code) ? check_later(session, code, error)
                                                       : doubt_unread(session, code, error);
    case COPIED_OTHER:
    case COPIED_FAILED:
        break;
    }
    return function_differs(session, code, &why, error);
}

static bool check_function(struct elf_check *check, const struct extent *code, struct error *error)
{
    struct session *session = check->session;
    struct segment part;
    struct elf_found found;
    struct error why = {0};
    bool is_loaded = find_loaded(session, code, &part);
    if (code->high <= code->low)
        return true;
    if (!is_loaded && !find_copied(session, code, &part))
        return keep_doubt(session, code, "is not in the ELF file: it is not compared", error);
    if (check->is_quick && may_stop_there(session, code))
        return check_later(session, code, error);
    if (!is_loaded)
        return check_copied_function(check, code, &part, error);
    return elf_check_same(check, &part, function_pieces(&part), &found, &why)
               ? doubt_others(session, code, &found, error)
               : function_differs(session, code, &why, error);
}

/* Of a halted core. */
static bool read_halted(struct device *device, const struct core *core, const struct steps *list,
                        uint64_t *results, bool *asleep, const struct deadline *deadline, struct error *error)
{
    (void)core;
    *asleep = false;
    return ledger_run(device->ledger, list, results, deadline, error);
}

static bool read_by_halted(struct device *device, const struct core *core, const struct steps *list,
                           uint64_t *results, bool *asleep, const struct deadline *deadline,
                           struct error *error)
{
    *asleep = false;
    return run_look(device->ledger, core, list, results, deadline, error);
}

static bool compare_stopped(struct session *session, const struct segment *piece, struct elf_found *found,
                            struct error *error)
{
    struct elf_words words;
    struct error by_core = {0};
    if (elf_memory_read(session, read_halted, piece, &words, error) &&
        elf_memory_compare(session, piece, &words, found, error))
        return true;
    if (!is_compared(error) || !may_see_more(session))
        return false;
    if (elf_memory_read(session, read_by_halted, piece, &words, &by_core) &&
        elf_memory_compare(session, piece, &words, found, &by_core)) {
        error_clear(error);
        return true;
    }
    if (stops_there(by_core.kind))
        return error_replace(error, &by_core);
    return error_add(error, &by_core);
}

/* The core is halted in what is measured: by then it is copied. */
static bool prove_late(struct session *session, const struct extent *code, struct error *error)
{
    struct segment loaded;
    struct elf_found found = {0};
    struct error why = {0};
    if (!find_loaded(session, code, &loaded) && !find_copied(session, code, &loaded))
        return true;
    const struct segment run = elf_memory_run(session, &loaded);
    size_t pieces = function_pieces(&run);
    for (size_t k = 0; k < pieces; k++) {
        struct segment piece = elf_memory_piece(&run, k, pieces);
        if (compare_stopped(session, &piece, &found, &why))
            continue;
        return is_compared(&why) && why.kind != ERROR_ELF_MISMATCH
                   ? doubt_unread(session, code, error)
                   : function_differs(session, code, &why, error);
    }
    return doubt_others(session, code, &found, error);
}

static bool is_around(const struct extent *code, uint64_t place)
{
    return place >= code->low && place < code->high;
}

bool program_prove(void *context, uint64_t place, struct error *error)
{
    struct session *session = context;
    size_t kept = 0;
    for (size_t i = 0; i < session->elf.n_late; i++)
        if (is_around(&session->elf.late[i], place) && !prove_late(session, &session->elf.late[i], error))
            return false;
    for (size_t i = 0; i < session->elf.n_late; i++)
        if (!is_around(&session->elf.late[i], place))
            session->elf.late[kept++] = session->elf.late[i];
    session->elf.n_late = kept;
    return true;
}

bool program_is_proved(const struct session *session, const struct region *region)
{
    for (size_t i = 0; i < session->elf.n_late; i++)
        if (is_around(&session->elf.late[i], region->start) ||
            (!region->to_return && is_around(&session->elf.late[i], region->end)))
            return false;
    return true;
}

void program_doubt(const struct session *session, const struct region *region, char doubt[DOUBT_ROOM])
{
    for (size_t i = 0; i < session->elf.n_doubts; i++)
        if (is_around(&session->elf.doubts[i].code, region->start) ||
            (!region->to_return && is_around(&session->elf.doubts[i].code, region->end)))
            doubt_add(doubt, session->elf.doubts[i].text);
    doubt_add(doubt, session->elf.other);
    if (session->elf.may_be_other)
        doubt_add(doubt, PROGRAM_SLEPT);
}

void program_forget(struct session *session)
{
    free(session->elf.late);
    free(session->elf.doubts);
    session->elf.late = NULL;
    session->elf.doubts = NULL;
    session->elf.n_late = session->elf.late_room = session->elf.n_doubts = session->elf.doubts_room = 0;
}

bool program_check_places(const struct session *session, const struct named_region *named,
                          struct error *error)
{
    return session_check_address(session, named->start.address, named->start.name, error) &&
           (named->region.to_return ||
            session_check_address(session, named->end.address, named->end.name, error));
}

static bool check_region(struct session *session, const struct named_region *named, bool is_quick,
                         struct error *error)
{
    struct elf_check check = {.session = session, .is_quick = is_quick};
    struct error after = {0};
    const struct extent start = {named->start.low, named->start.high},
                        end = {named->end.low, named->end.high};
    if (!program_check_places(session, named, error))
        return false;
    if (session->symbols == NULL || session->device.chosen->core.memory_hidden || session->elf.may_be_other)
        return true;
    bool same = check_function(&check, &start, error) &&
                (named->region.to_return || end.low == start.low || check_function(&check, &end, error));
    return let_go(session, &after) ? same : error_add(error, &after);
}

bool program_check_region(struct session *session, const struct named_region *named, struct error *error)
{
    return check_region(session, named, false, error);
}

bool program_check_quickly(struct session *session, const struct named_region *named, struct error *error)
{
    return check_region(session, named, true, error);
}

/* ---- program */

/* The more, the more the file says. */
static unsigned symbols_rank(struct symbols *symbols)
{
    char name[64];
    return (symbols_function_name(symbols, 0, name, sizeof name) != FUNCTION_NONE) +
           (symbols_lines_advice(symbols) == NULL);
}

/* Of the files found, newest first: session->elf.found is the first that the target runs, of those with most
 * symbols. Returns how many it may run. */
static size_t choose_elf(struct session *session, const struct elf_files *files)
{
    size_t there = 0;
    unsigned best = 0;
    struct symbols *chosen = NULL;
    for (size_t i = 0; i < files->n && *session->around->cancel == 0; i++) {
        struct error unread = {0};
        session->symbols = symbols_open_moved(files->files[i].path, session->request->load_offset, &unread);
        bool same = session->symbols != NULL && elf_check_is_there(session);
        unsigned rank = same ? symbols_rank(session->symbols) : 0;
        if (same && (there++ == 0 || rank > best)) {
            symbols_close(chosen);
            best = rank;
            chosen = session->symbols;
            snprintf(session->elf.found, sizeof session->elf.found, "%s", files->files[i].path);
        } else {
            symbols_close(session->symbols);
        }
    }
    session->symbols = session->device.symbols = chosen;
    return there;
}

static void tell_chosen(const struct session *session, size_t there)
{
    char others[96] = "";
    if (there > 1)
        snprintf(others, sizeof others, "; so is that of %zu others, older or with fewer names", there - 1);
    request_note(session->request, "using %s (its code is on the target%s)", session->elf.found, others);
}

static bool refuse_without_elf(const struct session *session, const struct elf_files *files,
                               struct error *error)
{
    const char *quote = session->needs_elf ? "" : "`";
    char code[64] = "none is";
    struct error looked = {0};
    error_set(error, ERROR_ELF, "there is no ELF file to find %s%.200s%s in", quote,
              session->needs_elf ? "functions" : session->needs_name, quote);
    if (files->n > 0)
        snprintf(code, sizeof code, "the target has the code of none of %zu", files->n);
    error_set(&looked, ERROR_ELF, "none is named, and %s in %s", code, elf_folders);
    return error_add(error, &looked);
}

static bool search_elf(struct session *session, struct error *error)
{
    struct elf_files *files = calloc(1, sizeof *files);
    if (files == NULL)
        return error_memory(error);
    elf_files_find(files);
    bool ok = files->n > 0 ? session_reach_target(session, error) : refuse_without_elf(session, files, error);
    size_t there = ok ? choose_elf(session, files) : 0;
    if (ok && there == 0)
        ok = refuse_without_elf(session, files, error);
    free(files);
    if (ok)
        tell_chosen(session, there);
    return ok;
}

bool program_open(struct session *session, struct error *error)
{
    const struct request *request = session->request;
    if (request->elf == NULL)
        return (!session->needs_elf && session->needs_name == NULL) || search_elf(session, error);
    session->symbols = symbols_open_moved(request->elf, request->load_offset, error);
    return session->symbols != NULL;
}

bool program_open_target(struct session *session, struct error *error)
{
    return session_reach_target(session, error) && elf_check(session, error);
}
