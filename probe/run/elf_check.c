#include "device/awake.h"
#include "run/session.h"
#include "run/where.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
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

static bool is_for_m(const struct symbols_machine *machine)
{
    unsigned architecture = machine->architecture;
    return machine->profile == 'M' || (architecture >= V6_M && architecture <= V7E_M) ||
           architecture == V8_M_BASE || architecture == V8_M_MAIN || architecture == V81_M_MAIN;
}

bool elf_fits(const struct symbols_machine *machine, const struct core *core)
{
    bool arm = machine->number == EM_ARM && !is_for_m(machine);
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
    if (!elf_fits(&machine, core))
        return error_set(error, ERROR_ELF_MISMATCH, "this ELF is for %s; the core is a %s", machine.name,
                         core->name);
    if (core_has(core, PROGRAM_ONLY) && symbols_is_movable(session->symbols) &&
        session->context->options->load_offset == 0)
        return error_advise(error, ERROR_USAGE,
                            "Link it with -no-pie, or give --load-offset: how far above its addresses it is.",
                            "the ELF is position independent, and where a system has put it is not known");
    return true;
}

static bool check_code(struct session *session, struct error *error)
{
    return symbols_has_code(session->symbols) ||
           error_advise(error, ERROR_ELF,
                        "Name the program itself with --elf: its separate file is found next to it, in "
                        ".debug and in /usr/lib/debug.",
                        "%.300s has names and lines of a program, and not its code", session_elf(session));
}

/* ---- what is in memory */

/* Some chips' flash tools put a checksum into this unused vector. */
static const uint64_t VECTOR_CHECKSUM = 0x1C;
enum { WORDS = 64 };

/* Reads from the target *n words of a piece of the file, at most WORDS, from its byte *skip on. *asleep: the
 * core slept, so that they may be other than memory has. */
static bool read_piece_by(struct session *session, memory_reader *read, const struct segment *piece,
                          uint64_t *results, size_t *skip, size_t *n, bool *asleep, struct error *error)
{
    struct step items[WORDS];
    struct steps list = {.items = items, .room = WORDS};
    *skip = (4 - piece->address % 4) % 4;
    for (size_t at = *skip; at + 4 <= piece->size && list.n < WORDS; at += 4)
        steps_add(&list, step_read(core_word(&session->device.chosen->core, piece->address + at)));
    *n = list.n;
    struct deadline deadline = session_deadline(session);
    *asleep = false;
    return list.n == 0 ||
           read(&session->device, &session->device.chosen->core, &list, results, asleep, &deadline, error);
}

static bool read_piece(struct session *session, const struct segment *piece, uint64_t *results, size_t *skip,
                       size_t *n, bool *asleep, struct error *error)
{
    return read_piece_by(session, awake_look, piece, results, skip, n, asleep, error);
}

/* Compares words of the target with a piece of the file, from its byte `skip` on. A program that moved itself
 * has moved the addresses in it, too. */
static bool compare_moved(const struct session *session, const struct segment *piece, size_t skip,
                          const uint64_t *words, size_t n, uint32_t moved, struct error *error)
{
    struct symbols_machine machine;
    symbols_machine(session->symbols, &machine);
    for (size_t i = 0; i < n; i++) {
        uint32_t in_file;
        if (piece->address + skip + 4 * i == VECTOR_CHECKSUM)
            continue;
        memcpy(&in_file, piece->bytes + skip + 4 * i, 4);
        if (machine.big_endian_words)
            in_file = __builtin_bswap32(in_file);
        if (in_file != words[i] && in_file + moved != words[i])
            return error_set(error, ERROR_ELF_MISMATCH,
                             "the target does not run this ELF: at 0x%08" PRIX64 " it holds 0x%08" PRIX32
                             ", the file 0x%08" PRIX32,
                             piece->address + skip + 4 * i, (uint32_t)words[i], in_file);
    }
    return true;
}

static bool compare(const struct session *session, const struct segment *piece, size_t skip,
                    const uint64_t *words, size_t n, struct error *error)
{
    return compare_moved(session, piece, skip, words, n, (uint32_t)session->context->options->load_offset,
                         error);
}

/* ---- the same through the core */

/* The core's cache may be ahead of memory, and the MMU may map an address to another place. */
static bool may_see_more(const struct session *session)
{
    const struct device *device = &session->device;
    const struct core *core = &device->chosen->core;
    return core_has(core, DEBUG_COMPONENT) && device_has_run_control(device) && core->unstoppable == NULL;
}

/* The core stays halted until all is compared. */
static bool look_by_core(struct session *session, uint64_t address, uint64_t *words, size_t n,
                         struct error *error)
{
    struct device *device = &session->device;
    struct deadline deadline = session_deadline(session);
    bool ready = session->looks_by_core ||
                 (device_keep(device, &deadline, error) && device_access_by_core(device, &deadline, error));
    session->looks_by_core = device->halted_access != NULL;
    return ready && halted_access_look(device->halted_access, address, words, n, &deadline, error);
}

/* False with ERROR_ELF_MISMATCH only when its own view differs. */
static bool compare_by_core(struct session *session, const struct segment *piece, struct error *error)
{
    uint64_t words[WORDS];
    size_t skip = (4 - piece->address % 4) % 4, n = piece->size < skip ? 0 : (piece->size - skip) / 4;
    n = n < WORDS ? n : WORDS;
    if (!look_by_core(session, piece->address + skip, words, n, error) ||
        !compare(session, piece, skip, words, n, error))
        return false;
    log_line(session->context->log, "0x%08" PRIX64 ": the core sees the ELF's code, memory has other",
             piece->address);
    return true;
}

/* The same of a core that sleeps, once it is halted: then its memory has a clock. */
static bool compare_halted(struct session *session, const struct segment *piece, struct error *error)
{
    uint64_t words[WORDS];
    size_t skip, n;
    bool asleep, same = false;
    struct deadline deadline = session_deadline(session);
    struct engine *engine = session_engine(session, error);
    if (engine == NULL)
        return false;
    if (device_keep(&session->device, &deadline, error) && engine->ops->stand(engine, &deadline, error))
        same = read_piece(session, piece, words, &skip, &n, &asleep, error) &&
               compare(session, piece, skip, words, n, error);
    struct error stays = {0};
    if (!session_disarm(session, engine, &stays) && same)
        same = error_copy(error, &stays);
    engine->ops->free(engine);
    if (same)
        log_line(session->context->log, "0x%08" PRIX64 ": halted, the core has the ELF's code; asleep, other",
                 piece->address);
    return same;
}

bool elf_hidden_in_sleep(struct session *session)
{
    struct segment segment;
    struct step items[WORDS];
    uint64_t words[WORDS];
    struct steps list = {.items = items, .room = WORDS};
    struct deadline deadline = session_deadline(session);
    struct error differs = {0};
    const struct core *core = &session->device.chosen->core;
    if (session->symbols == NULL || symbols_segments(session->symbols, &segment, 1) == 0)
        return false;
    size_t skip = (4 - segment.address % 4) % 4;
    for (size_t at = skip; at + 4 <= segment.size && list.n < WORDS; at += 4)
        steps_add(&list, step_read(core_word(core, segment.address + at)));
    return list.n > 1 && asleep_read(&session->device, core, &list, words, &deadline) &&
           !compare(session, &segment, skip, words, list.n, &differs);
}

static bool stops_there(enum error_kind kind)
{
    return kind == ERROR_ELF_MISMATCH || kind == ERROR_LINK_LOST || kind == ERROR_CANCELLED ||
           kind == ERROR_FOREIGN_STOP || kind == ERROR_RESET || kind == ERROR_SYSTEM;
}

/* What a look at memory cannot tell, of a command that does not stop the core. */
static const char *cached(struct session *session)
{
    return !session->may_stop && may_see_more(session)
               ? ". Caches may be ahead of memory: delta looks through the core"
               : "";
}

/* Compares the beginning of a piece of the file with the target: another program differs early. */
static bool check_piece(struct session *session, const struct segment *piece, struct error *error)
{
    uint64_t results[WORDS];
    size_t skip, n;
    bool asleep;
    struct error differs = {0}, by_core = {0}, ignored = {0};
    if (!read_piece(session, piece, results, &skip, &n, &asleep, &differs)) {
        error_prefix(&differs, "the ELF's code at 0x%08" PRIX64 " cannot be read back: ", piece->address);
        if (differs.kind == ERROR_FAULT)
            differs.advice =
                "The program is probably another chip's, with memory where this one has none. Else: are its "
                "power and clocks on?";
    } else if (compare(session, piece, skip, results, n, &differs)) {
        session->shown_in_sleep = session->shown_in_sleep || asleep;
        return true;
    } else if (asleep && read_piece_by(session, awake_read, piece, results, &skip, &n, &asleep, &ignored) &&
               compare(session, piece, skip, results, n, &ignored)) {
        return true;
    } else if (asleep && session->may_stop) {
        return compare_halted(session, piece, error);
    } else if (asleep) {
        if (!session->may_be_other && !session->context->options->quiet)
            fputs("pmu-probe: it is not known whether the target runs this ELF: its core sleeps, and some "
                  "chips show other "
                  "words than memory has then\n",
                  stderr);
        session->may_be_other = true;
        return true;
    }
    bool lost = differs.kind == ERROR_LINK_LOST || differs.kind == ERROR_CANCELLED;
    if (!lost && may_see_more(session)) {
        if (session->may_stop && compare_by_core(session, piece, &by_core))
            return true;
        if (stops_there(by_core.kind))
            return error_copy(error, &by_core);
        if (!session->may_stop)
            return error_set(error, differs.kind, "%s%s", differs.text, cached(session));
    }
    return error_copy(error, &differs);
}

/* ---- a program that was moved */

enum { SEGMENTS = 16, PIECES = 3 };

/* Its beginning, middle and end. */
static struct segment piece_of(const struct segment *segment, size_t k)
{
    enum { PIECE = 256 };
    const size_t offsets[PIECES] = {0, segment->size / 2 & ~(size_t)3,
                                    segment->size > PIECE ? segment->size - PIECE : 0};
    return (struct segment){segment->address + offsets[k], segment->size - offsets[k],
                            segment->bytes + offsets[k]};
}

static bool is_narrow(const struct session *session)
{
    struct symbols_machine machine;
    symbols_machine(session->symbols, &machine);
    return machine.number == EM_ARM;
}

/* All segments, and the note of the build ID. */
static size_t read_only(struct session *session, struct segment out[SEGMENTS + 1])
{
    size_t n = symbols_segments(session->symbols, out, SEGMENTS);
    return n + symbols_build_note(session->symbols, &out[n]);
}

/* Whether all of the program is there: one function alone may be in another program, too. */
static bool is_whole_at(struct session *session, uint64_t offset)
{
    struct segment segments[SEGMENTS + 1];
    size_t n = read_only(session, segments);
    for (size_t i = 0; i < n * PIECES; i++) {
        struct segment piece = piece_of(&segments[i / PIECES], i % PIECES);
        uint64_t words[WORDS];
        size_t skip, count;
        bool asleep;
        struct error differs = {0};
        piece.address += offset - session->context->options->load_offset;
        if (is_narrow(session))
            piece.address &= UINT32_MAX;
        if (!read_piece(session, &piece, words, &skip, &count, &asleep, &differs) ||
            !compare_moved(session, &piece, skip, words, count, (uint32_t)offset, &differs))
            return false;
    }
    return n > 0;
}

bool elf_is_there(struct session *session)
{
    struct error other = {0};
    return !session->device.chosen->core.memory_hidden && check_machine(session, &other) &&
           check_code(session, &other) && is_whole_at(session, session->context->options->load_offset);
}

/* The words of the target from an address on, as the file has its bytes. */
static bool read_bytes(struct session *session, uint64_t address, uint8_t *out, size_t size)
{
    const struct segment piece = {.address = address, .size = size};
    uint64_t words[WORDS];
    size_t skip, n;
    bool asleep;
    struct symbols_machine machine;
    struct error unread = {0};
    symbols_machine(session->symbols, &machine);
    if (!read_piece(session, &piece, words, &skip, &n, &asleep, &unread))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t word = machine.big_endian_words ? __builtin_bswap32((uint32_t)words[i]) : (uint32_t)words[i];
        memcpy(out + 4 * i, &word, 4);
    }
    return true;
}

bool elf_find_moved(struct session *session, uint64_t pc, uint64_t *by)
{
    static const struct {
        size_t before, size;
    } pieces[] = {{32, 64}, {0, 32}, {32, 32}, {0, 16}, {16, 16}}; /* code may begin or end there */
    uint8_t bytes[64];
    uint64_t linked;
    if (session->symbols == NULL || session->device.chosen->core.memory_hidden)
        return false;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        uint64_t from = (pc & ~UINT64_C(3)) - pieces[i].before;
        if (from > pc || !read_bytes(session, from, bytes, pieces[i].size) ||
            !symbols_find_moved(session->symbols, from, bytes, pieces[i].size, &linked))
            continue;
        *by = session->context->options->load_offset + (from - linked);
        if (is_narrow(session))
            *by = (uint64_t)(int64_t)(int32_t)*by;
        return from != linked && is_whole_at(session, *by);
    }
    return false;
}

/* Undoes what it did to look through the core. */
static bool let_go(struct session *session, struct error *error)
{
    if (!session->looks_by_core)
        return true;
    if (!session_undo(session, error) || !device_check_left(&session->device, error))
        return false; /* session_close tries again */
    device_end_access(&session->device);
    session->looks_by_core = false;
    return true;
}

/* The bytes where the core is tell how far the program was moved. The run begins anew with that. */
static void find_moved(struct session *session, struct error *error)
{
    uint64_t by;
    const struct context *context = session->context;
    struct error moved = {0};
    char offset[VALUE_OFFSET];
    if ((error->kind != ERROR_ELF_MISMATCH && error->kind != ERROR_FAULT) || !session->may_stop ||
        !let_go(session, &moved) || !where_moved(session, &by))
        return;
    if (context->load_offset != NULL && context->options->load_offset == 0)
        *context->load_offset = by;
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
    enum { STEP = 4 * (WORDS - 6), SEARCH_MS = 3000 };
    struct deadline deadline = deadline_in_ms(patience_ms(SEARCH_MS), session->context->cancel);
    uint64_t end = around->address + around->size;
    bool ended[2] = {false, false}, asleep; /* after the note, before it */
    for (uint64_t round = 0; !(ended[0] && ended[1]) && !deadline_passed(&deadline); round++) {
        uint64_t words[WORDS], distance = (round + 1) / 2 * STEP;
        bool before = round % 2 != 0;
        uint64_t below = from - around->address, at = before ? around->address : from + distance;
        size_t skip, n;
        struct error unread = {0};
        if (before && distance < below)
            at = from - distance;
        ended[before] = ended[before] || (before ? distance >= below + STEP : at >= end);
        if (ended[before])
            continue;
        struct segment piece = {.address = at, .size = end - at};
        ended[before] = !read_piece(session, &piece, words, &skip, &n, &asleep, &unread);
        for (size_t i = 0; !ended[before] && i < n; i++)
            if (take_id(words + i, n - i, out))
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

/* Names the two builds instead of the words that differ, if both have a build ID. */
static void name_builds(struct session *session, const struct segment *segments, size_t n,
                        struct error *error)
{
    struct segment note;
    struct build_id ours, theirs;
    uint64_t words[6];
    char file[32] = "", device[32] = "";
    if (error->kind != ERROR_ELF_MISMATCH || !symbols_build_note(session->symbols, &note) ||
        note.address % 4 != 0 || note.size < 24)
        return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint32_t word;
        memcpy(&word, note.bytes + 4 * i, 4);
        words[i] = word;
    }
    const struct segment around = neighbourhood(segments, n, &note);
    if (!take_id(words, sizeof words / sizeof *words, &ours) ||
        !find_id(session, &around, note.address, &theirs) ||
        memcmp(ours.bytes, theirs.bytes, sizeof ours.bytes) == 0)
        return;
    show_id(&ours, file, sizeof file);
    show_id(&theirs, device, sizeof device);
    error_clear(error);
    error_set(error, ERROR_ELF_MISMATCH,
              "the target does not run this ELF: the target holds build ID %s, the file %s%s", device, file,
              cached(session));
}

static bool check_segment(struct session *session, const struct segment *segment, struct error *error)
{
    for (size_t k = 0; k < PIECES; k++) {
        const struct segment piece = piece_of(segment, k);
        if (!check_piece(session, &piece, error))
            return false;
    }
    return true;
}

/* Compares the beginning, middle and end of each segment, and the build ID. */
static bool check_memory(struct session *session, struct error *error)
{
    struct segment segments[SEGMENTS + 1];
    if (session->device.chosen->core.memory_hidden)
        return true;
    size_t n = read_only(session, segments);
    for (size_t i = 0; i < n; i++)
        if (!check_segment(session, &segments[i], error)) {
            name_builds(session, segments, n, error);
            find_moved(session, error);
            return false;
        }
    return true;
}

bool elf_check(struct session *session, struct error *error)
{
    struct error after = {0};
    bool same = session->symbols == NULL ||
                (check_machine(session, error) && check_code(session, error) && check_memory(session, error));
    return let_go(session, &after) ? same : error_add(error, &after);
}
