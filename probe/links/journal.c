/* SPDX-License-Identifier: MIT */
#include "links/journal.h"

#include "base/file.h"
#include "base/state.h"
#include "base/values.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST = 64 << 20, SLOT = 8192, LINE = 16384 };

static const char format[] = "pmu-probe/2";
static const char finished[] = ".journal", unfinished[] = ".unfinished";
/* In the slot. */
static const char ops[] = {[OP_READ] = 'r', [OP_WRITE] = 'w', [OP_UNTIL] = 'u', [OP_EXPECT] = 'e'};
enum { OPS = sizeof ops };

/* The first line is JSON, for the texts in it, and the second the slot: "b CUT", and the steps that give back
 * what is borrowed, each as a letter, its address, value and mask. Each line after them is a letter and
 * hexadecimal numbers. An address is four of them: space, unit, size, offset. */
enum line_kind {
    LINE_HELD = 'h',   /* a register is held: the numbers below */
    LINE_WROTE = 'v',  /* its number, and a value that is about to be written */
    LINE_OTHERS = 'o', /* its number: further values are written */
    LINE_DROP = 'd',   /* its number: it is put back */
    LINE_AGAIN = 'a'   /* another ledger begins */
};

/* Its number, its index, AT, the old value, how, mask and key, CLEAR, STATUS, test, set, exact, starts,
 * flags. */
enum { AT = 4 };
enum { HELD_OLD = 2 + AT, HELD_CLEAR = HELD_OLD + 4, HELD_STATUS = HELD_CLEAR + AT };
enum { HELD_TEST = HELD_STATUS + AT, HELD_NUMBERS = HELD_TEST + 5 };
enum { HELD_ONLY_OURS = 1, HELD_MOVES = 2, HELD_USED = 4, HELD_ENDS_REST = 8 };

/* --- writing it ----------------------------------------------------------------------------------------- */

/* The second line is a slot that is written again and again, with room for the words that a full disk leaves
 * none for elsewhere. */
struct journal {
    struct journal_head head;
    char path[PATH_MAX];
    int fd; /* -1: not made yet */
    bool dirty, failed;
    bool reopened;    /* it is another run's, */
    bool cut;         /* which could not write it on */
    bool numbered;    /* by a ledger, whose numbers are in it */
    off_t slot_at;    /* 0: it is not in the file */
    size_t slot_used; /* without what fills it up */
    struct step borrowed[JOURNAL_BORROWED];
    size_t n_borrowed;
    struct journal_warning warning;
    char *text; /* not written yet */
    size_t used, room;
};

struct journal *journal_new(const struct journal_head *head, struct error *error)
{
    char folder[PATH_MAX - 64], link[STATE_KEY], core[STATE_KEY], text[128];
    if (!state_folder(folder, sizeof folder, error))
        return NULL;
    struct journal *journal = calloc(1, sizeof *journal);
    if (journal == NULL)
        return error_memory_null(error);
    snprintf(text, sizeof text, "%u %s", head->number, head->core);
    state_key(head->link, link);
    state_key(text, core);
    journal->head = *head;
    journal->fd = -1;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    snprintf(journal->path, sizeof journal->path, "%s/%s-%s-%012" PRIx64 "%s", folder, link, core, ms,
             finished);
    return journal;
}

void journal_warn(struct journal *journal, struct journal_warning warning)
{
    if (journal != NULL)
        journal->warning = warning;
}

static bool write_slot(struct journal *journal);

/* What is in the file stays, and says that it is not all. */
static bool journal_fail(struct journal *journal)
{
    char problem[PATH_MAX + 128];
    if (journal->failed)
        return false;
    snprintf(problem, sizeof problem, "%s: %s", journal->path, strerror(errno));
    journal->failed = true;
    (void)write_slot(journal);
    if (journal->warning.tell != NULL)
        journal->warning.tell(journal->warning.context, problem);
    return false;
}

static bool journal_add_text(struct journal *journal, const char *text, size_t n)
{
    if (n == 0)
        return true;
    char *larger = array_grow(journal->text, journal->used + n, &journal->room, 1);
    if (larger == NULL) {
        errno = ENOMEM;
        return journal_fail(journal);
    }
    journal->text = larger;
    memcpy(journal->text + journal->used, text, n);
    journal->used += n;
    return true;
}

static void journal_add_line(struct journal *journal, const char *line)
{
    if (!journal->failed && journal_add_text(journal, line, strlen(line)))
        journal_add_text(journal, "\n", 1);
}

static void add_numbers(struct journal *journal, enum line_kind what, const uint64_t *numbers, size_t n)
{
    enum { DIGITS = 17 };
    char line[2 + HELD_NUMBERS * DIGITS];
    size_t used = (size_t)snprintf(line, sizeof line, "%c", what);
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, " %" PRIx64, numbers[i]);
    journal_add_line(journal, line);
}

static void journal_put_address(uint64_t *out, const struct address *at)
{
    const uint64_t numbers[AT] = {at->space, at->unit, at->size, at->offset};
    memcpy(out, numbers, sizeof numbers);
}

/* Returns where the slot will be. */
static off_t add_head(struct journal *journal)
{
    const struct journal_head *head = &journal->head;
    json_t *words = json_array();
    for (size_t i = 0; i < head->n_words; i++)
        json_array_append_new(words, json_string(head->words[i]));
    json_t *json = json_pack(
        "{s:s, s:s, s:I, s:I, s:s, s:s, s:I, s:I, s:i, s:i, s:b, s:o}", "journal", format, "command",
        head->command, "process", (json_int_t)head->process, "started", (json_int_t)head->started_s, "link",
        head->link, "core", head->core, "id", (json_int_t)head->id, "debug", (json_int_t)head->debug, "unit",
        (int)head->unit, "number", (int)head->number, "was_halted", (int)head->was_halted, "words", words);
    char *line = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    errno = ENOMEM;
    if (line != NULL)
        journal_add_line(journal, line);
    else
        journal_fail(journal);
    free(line);
    json_decref(json);
    char slot[SLOT];
    off_t slot_at = (off_t)journal->used;
    memset(slot, ' ', sizeof slot);
    slot[sizeof slot - 1] = '\n';
    journal_add_text(journal, slot, sizeof slot);
    return slot_at;
}

/* After a line that could not be written whole, a new one would become part of it. */
static bool takes_lines(const struct journal *journal)
{
    return journal != NULL && (!journal->reopened || !journal->cut);
}

void journal_begin(struct journal *journal)
{
    if (journal == NULL)
        return;
    if (journal->numbered && takes_lines(journal))
        add_numbers(journal, LINE_AGAIN, NULL, 0);
    journal->numbered = false;
}

void journal_hold(struct journal *journal, size_t index, const struct journal_entry *entry)
{
    if (!takes_lines(journal))
        return;
    journal->numbered = true;
    const struct restore *restore = &entry->restore;
    uint64_t flags = (restore->only_ours ? HELD_ONLY_OURS : 0) | (restore->moves ? HELD_MOVES : 0) |
                     (entry->used ? HELD_USED : 0) | (restore->ends_rest ? HELD_ENDS_REST : 0);
    uint64_t held[HELD_NUMBERS] = {[0] = entry->id,
                                   [1] = index,
                                   [HELD_OLD] = entry->old,
                                   restore->how,
                                   restore->mask,
                                   restore->key,
                                   [HELD_TEST] = entry->test,
                                   entry->set,
                                   restore->exact,
                                   restore->starts,
                                   flags};
    journal_put_address(held + 2, &entry->at);
    journal_put_address(held + HELD_CLEAR, &restore->clear);
    journal_put_address(held + HELD_STATUS, &entry->status);
    add_numbers(journal, LINE_HELD, held, HELD_NUMBERS);
    journal->dirty = true;
}

void journal_wrote(struct journal *journal, unsigned id, uint64_t value)
{
    if (takes_lines(journal))
        add_numbers(journal, LINE_WROTE, (uint64_t[]){id, value}, 2);
}

void journal_wrote_others(struct journal *journal, unsigned id)
{
    if (takes_lines(journal))
        add_numbers(journal, LINE_OTHERS, (uint64_t[]){id}, 1);
}

void journal_drop(struct journal *journal, unsigned id)
{
    if (takes_lines(journal))
        add_numbers(journal, LINE_DROP, (uint64_t[]){id}, 1);
}

static void sync_folder(const struct journal *journal)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", journal->path);
    *strrchr(folder, '/') = '\0';
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

/* The name under which nobody takes it for a journal: its first lines are not in it yet. */
static void name_unfinished(const char *path, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%.*s%s", (int)(strlen(path) - (sizeof finished - 1)), path, unfinished);
}

static bool write_lines(struct journal *journal)
{
    bool ok = file_write(journal->fd, journal->text, journal->used) &&
              (!journal->dirty || fdatasync(journal->fd) == 0);
    journal->used = 0;
    journal->dirty = false;
    return ok;
}

/* With a name only once its first lines are in it: a run that is killed before has written nothing to its
 * target. If they cannot be written, the name alone shows that a run goes on without a journal. */
static bool make_file(struct journal *journal)
{
    char first[PATH_MAX], *text = journal->text;
    size_t used = journal->used;
    name_unfinished(journal->path, first);
    journal->fd = open(first, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (journal->fd < 0)
        return journal_fail(journal);
    journal->text = NULL;
    journal->used = journal->room = 0;
    off_t slot_at = add_head(journal);
    journal_add_text(journal, text, used);
    free(text);
    bool ok = !journal->failed && write_lines(journal);
    int problem = errno;
    journal->slot_at = ok ? slot_at : 0;
    bool named = rename(first, journal->path) == 0;
    errno = ok ? errno : problem;
    if (!ok || !named)
        return journal_fail(journal);
    sync_folder(journal);
    return true;
}

bool journal_sync(struct journal *journal)
{
    if (journal == NULL || journal->failed || (journal->fd >= 0 && journal->used == 0 && !journal->dirty))
        return journal == NULL || !journal->failed;
    if (journal->fd < 0)
        return make_file(journal);
    return write_lines(journal) || journal_fail(journal);
}

static size_t slot_text(char *out, size_t size, const struct step *steps, size_t n, bool cut)
{
    size_t used = (size_t)snprintf(out, size, "b %d", cut);
    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, " %c %x %x %x %" PRIx64 " %" PRIx64 " %" PRIx64,
                                 ops[steps[i].op], steps[i].at.space, steps[i].at.unit, steps[i].at.size,
                                 steps[i].at.offset, steps[i].value, steps[i].mask);
    return used;
}

static bool write_slot(struct journal *journal)
{
    char text[SLOT];
    if (journal->fd < 0 || journal->slot_at == 0)
        return false;
    size_t used =
        slot_text(text, sizeof text, journal->borrowed, journal->n_borrowed, journal->cut || journal->failed);
    size_t length = used;
    if (used >= sizeof text)
        return false;
    while (length < journal->slot_used) /* what the slot had before */
        text[length++] = ' ';
    journal->slot_used = used;
    errno = ENOSPC;
    return pwrite(journal->fd, text, length, journal->slot_at) == (ssize_t)length;
}

/* Not synced: it is for a run that is killed. */
bool journal_borrow(struct journal *journal, const struct step *steps, size_t n)
{
    if (journal == NULL || n > JOURNAL_BORROWED)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned)steps[i].op >= OPS || ops[steps[i].op] == '\0')
            return false;
    if (n == 0 && (journal->fd < 0 || journal->n_borrowed == 0))
        return true;
    if (journal->fd < 0) /* what is borrowed without a write before it: nothing is held yet */
        journal->dirty = true;
    if (n > 0)
        memcpy(journal->borrowed, steps, n * sizeof *steps);
    journal->n_borrowed = n;
    /* A slot that is there must not list what was borrowed before, whatever else cannot be written */
    bool synced = journal_sync(journal);
    return (write_slot(journal) || journal_fail(journal)) && synced;
}

void journal_end(struct journal *journal)
{
    if (journal == NULL)
        return;
    if (journal->fd >= 0 && !journal->reopened && journal->n_borrowed == 0)
        unlink(journal->path);
    if (journal->fd >= 0)
        close(journal->fd);
    journal->fd = -1;
    journal->used = 0;
    journal->dirty = false;
    journal->slot_at = 0;
    journal->slot_used = journal->n_borrowed = 0;
}

void journal_free(struct journal *journal)
{
    if (journal == NULL)
        return;
    if (journal->fd >= 0) {
        (void)journal_sync(journal);
        close(journal->fd);
    }
    free(journal->text);
    free(journal);
}

/* --- reading it ----------------------------------------------------------------------------------------- */

static bool bad(const char *what, struct error *error)
{
    return error_set(error, ERROR_USAGE, "not a journal of pmu-probe: %s", what);
}

static bool text_read(const json_t *json, char *out, size_t size)
{
    const char *text = json_string_value(json);
    if (text == NULL || json_string_length(json) >= size || strlen(text) != json_string_length(json))
        return false;
    memcpy(out, text, strlen(text) + 1);
    return true;
}

/* An integer from 0 to `most`. */
static bool count_read(const json_t *json, uint64_t most, uint64_t *out)
{
    *out = (uint64_t)json_integer_value(json);
    return json_is_integer(json) && *out <= most;
}

static bool head_fields(const json_t *json, struct journal_head *head)
{
    uint64_t id, unit, number, started, process;
    const json_t *words = json_object_get(json, "words");
    if (!text_read(json_object_get(json, "command"), head->command, sizeof head->command) ||
        !text_read(json_object_get(json, "link"), head->link, sizeof head->link) ||
        !text_read(json_object_get(json, "core"), head->core, sizeof head->core) ||
        !count_read(json_object_get(json, "id"), UINT32_MAX, &id) ||
        !count_read(json_object_get(json, "debug"), UINT64_MAX, &head->debug) ||
        !count_read(json_object_get(json, "unit"), UINT16_MAX, &unit) ||
        !count_read(json_object_get(json, "number"), UINT16_MAX, &number) ||
        !count_read(json_object_get(json, "started"), INT64_MAX, &started) ||
        !count_read(json_object_get(json, "process"), INT32_MAX, &process) ||
        !json_is_boolean(json_object_get(json, "was_halted")) || !json_is_array(words) ||
        json_array_size(words) > JOURNAL_WORDS)
        return false;
    for (size_t i = 0; i < json_array_size(words); i++, head->n_words++)
        if (!text_read(json_array_get(words, i), head->words[i], sizeof head->words[i]))
            return false;
    head->id = (uint32_t)id;
    head->unit = (uint16_t)unit;
    head->number = (unsigned)number;
    head->started_s = (int64_t)started;
    head->process = (long)process;
    head->was_halted = json_is_true(json_object_get(json, "was_halted"));
    return true;
}

static bool head_read(const char *line, size_t size, struct journal_head *head, struct error *error)
{
    char is[sizeof format];
    json_t *json = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
    bool known = text_read(json_object_get(json, "journal"), is, sizeof is) && strcmp(is, format) == 0;
    bool ok = known && head_fields(json, head);
    json_decref(json);
    return ok || bad(known ? "its first line lacks something" : "it is of another kind or version", error);
}

static struct journal_entry *find_entry(const struct journal_file *file, uint64_t id)
{
    for (size_t i = 0; i < file->n; i++)
        if (file->entries[i].id == id)
            return &file->entries[i];
    return NULL;
}

static bool take_address(const uint64_t *of, struct address *out)
{
    bool ok =
        of[0] <= SPACE_CORE && of[1] <= UINT16_MAX && (of[2] == 1 || of[2] == 2 || of[2] == 4 || of[2] == 8);
    if (ok)
        *out = (struct address){
            .space = (uint8_t)of[0], .unit = (uint16_t)of[1], .size = (uint8_t)of[2], .offset = of[3]};
    return ok;
}

/* Its size is 0: there is none. */
static bool take_optional(const uint64_t *of, struct address *out)
{
    return of[2] == 0 || take_address(of, out);
}

/* Another ledger goes on with its own numbers. What the earlier ones held stays held. */
static bool again_read(struct journal_file *file)
{
    for (size_t i = 0; i < file->n; i++)
        file->entries[i].id = 0;
    file->earlier = file->n;
    return true;
}

/* Held by an earlier ledger, too: the value from before all of them is the old one. */
static struct journal_entry *find_earlier(const struct journal_file *file, struct address at)
{
    for (size_t i = 0; i < file->earlier; i++)
        if (address_same(file->entries[i].at, at))
            return &file->entries[i];
    return NULL;
}

/* The index counts the entries of one ledger only. */
static size_t journal_place_of(const struct journal_file *file, uint64_t index)
{
    return index < file->n - file->earlier ? file->earlier + (size_t)index : file->n;
}

static bool take_held(const uint64_t *of, struct journal_entry *out)
{
    const uint64_t *restore = of + HELD_OLD, *rest = of + HELD_TEST;
    *out = (struct journal_entry){.id = (unsigned)of[0],
                                  .old = restore[0],
                                  .restore = {.how = (enum restore_how)restore[1],
                                              .mask = restore[2],
                                              .key = restore[3],
                                              .exact = rest[2],
                                              .starts = rest[3],
                                              .only_ours = rest[4] & HELD_ONLY_OURS,
                                              .moves = rest[4] & HELD_MOVES,
                                              .ends_rest = rest[4] & HELD_ENDS_REST},
                                  .test = rest[0],
                                  .set = rest[1],
                                  .used = rest[4] & HELD_USED};
    return of[0] <= UINT32_MAX && restore[1] <= RESTORE_PAIR && take_address(of + 2, &out->at) &&
           take_optional(of + HELD_CLEAR, &out->restore.clear) &&
           take_optional(of + HELD_STATUS, &out->status) &&
           (restore[1] != RESTORE_PAIR || out->restore.clear.size != 0);
}

static bool hold_read(const uint64_t *of, struct journal_file *file, struct error *error)
{
    struct journal_entry entry;
    uint64_t index = of[1];
    if (file->n == JOURNAL_ENTRIES)
        return bad("it has too many lines", error);
    if (!take_held(of, &entry) || find_entry(file, of[0]) != NULL ||
        index > (file->earlier > 0 ? JOURNAL_ENTRIES : file->n))
        return bad("a line that holds a register has something else", error);
    struct journal_entry *earlier = find_earlier(file, entry.at);
    if (earlier != NULL) {
        earlier->id = entry.id;
        return true;
    }
    struct journal_entry *larger = realloc(file->entries, (file->n + 1) * sizeof *larger);
    if (larger == NULL)
        return error_memory(error);
    size_t place = journal_place_of(file, index);
    file->entries = larger;
    memmove(larger + place + 1, larger + place, (file->n - place) * sizeof *larger);
    larger[place] = entry;
    file->n++;
    return true;
}

static void wrote_read(const uint64_t *value, struct journal_entry *entry)
{
    if (value == NULL || entry->n_wrote == JOURNAL_WROTE)
        entry->wrote_others = true;
    else
        entry->wrote[entry->n_wrote++] = *value;
}

static void drop_read(struct journal_file *file, struct journal_entry *entry)
{
    if (entry < file->entries + file->earlier) { /* it is checked again */
        entry->id = 0;
        return;
    }
    size_t after = file->n - (size_t)(entry - file->entries) - 1;
    memmove(entry, entry + 1, after * sizeof *entry);
    file->n--;
}

static const char *step_from(const char *text, struct step *out)
{
    uint64_t of[AT + 2];
    const char *op = text[0] == ' ' && text[1] != '\0' ? memchr(ops, text[1], sizeof ops) : NULL;
    *out = (struct step){0};
    if (op == NULL || text[2] != ' ')
        return NULL;
    const char *end = numbers_read(text + 3, 16, of, AT + 2);
    if (end == NULL || !take_address(of, &out->at))
        return NULL;
    out->op = (enum op)(op - ops);
    out->value = of[AT];
    out->mask = of[AT + 1];
    return end;
}

static bool journal_is_blank(const char *text)
{
    return text[strspn(text, " ")] == '\0';
}

/* A slot with nothing yet is blank. */
static bool slot_read(const char *text, struct journal_file *file, struct error *error)
{
    uint64_t cut;
    if (journal_is_blank(text))
        return true;
    text = text[0] == 'b' && text[1] == ' ' ? numbers_read(text + 2, 16, &cut, 1) : NULL;
    file->cut = text != NULL && cut != 0;
    while (text != NULL && !journal_is_blank(text))
        text =
            file->n_borrowed < JOURNAL_BORROWED ? step_from(text, &file->borrowed[file->n_borrowed++]) : NULL;
    return text != NULL || bad("its slot has something else", error);
}

static bool entry_read(char what, const uint64_t *of, struct journal_file *file, struct error *error)
{
    if (what == LINE_HELD)
        return hold_read(of, file, error);
    if (what == LINE_AGAIN)
        return again_read(file);
    struct journal_entry *entry = find_entry(file, of[0]);
    if (entry == NULL)
        return bad("a line has a register that is not held", error);
    if (what == LINE_DROP)
        drop_read(file, entry);
    else
        wrote_read(what == LINE_WROTE ? &of[1] : NULL, entry);
    return true;
}

static const struct {
    char what;
    uint8_t n; /* of numbers after it */
} lines[] = {{LINE_HELD, HELD_NUMBERS}, {LINE_WROTE, 2}, {LINE_OTHERS, 1}, {LINE_DROP, 1}, {LINE_AGAIN, 0}};

static const char unknown_line[] = "a line says nothing that is known";

static bool line_read(const char *text, struct journal_file *file, struct error *error)
{
    uint64_t of[HELD_NUMBERS] = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (text[0] != lines[i].what)
            continue;
        const char *end = text + 1;
        if (lines[i].n > 0)
            end = text[1] == ' ' ? numbers_read(text + 2, 16, of, lines[i].n) : NULL;
        if (end != NULL && *end == '\0')
            return entry_read(text[0], of, file, error);
    }
    return bad(unknown_line, error);
}

/* Nothing else than the beginning of a journal. */
static bool is_headless(const char *bytes, size_t size)
{
    char first[64];
    size_t length = (size_t)snprintf(first, sizeof first, "{\"journal\":\"%s\",", format);
    return memchr(bytes, '\n', size) == NULL && memcmp(bytes, first, size < length ? size : length) == 0;
}

/* The line `number`, which is whole. */
static bool journal_take_line(const char *line, size_t size, size_t number, struct journal_file *file,
                              struct error *error)
{
    char text[SLOT];
    if (number == 0)
        return head_read(line, size, &file->head, error);
    if (size >= sizeof text || memchr(line, '\0', size) != NULL)
        return bad(unknown_line, error);
    memcpy(text, line, size);
    text[size] = '\0';
    return number == 1 ? slot_read(text, file, error) : line_read(text, file, error);
}

bool journal_parse(const char *bytes, size_t size, struct journal_file *out, struct error *error)
{
    size_t at = 0;
    *out = (struct journal_file){0};
    out->headless = out->cut = size == 0 || is_headless(bytes, size);
    for (size_t number = 0; !out->headless && at < size; number++) {
        const char *line = bytes + at, *end = memchr(line, '\n', size - at);
        if (end == NULL && number > 0) { /* not whole: what it is for was not done yet */
            out->cut = true;
            return true;
        }
        size_t length = end != NULL ? (size_t)(end - line) : size - at;
        if (!journal_take_line(line, length, number, out, error)) {
            journal_file_free(out);
            return false;
        }
        at += length + 1;
    }
    return true;
}

bool journal_read(const char *path, struct journal_file *out, struct error *error)
{
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool ours = fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
                (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    bool fits = ours && file.st_size < LARGEST;
    size_t room = fits ? (size_t)file.st_size + 1 : 0;
    char *bytes = fits ? malloc(room) : NULL;
    ssize_t size = bytes != NULL ? file_read(fd, bytes, room, NULL) : -1;
    bool whole = size >= 0 && (size_t)size < room;
    if (fd < 0)
        error_set(error, ERROR_USAGE, "%.300s: %s", path, strerror(errno));
    else if (!ours)
        error_set(error, ERROR_USAGE, "%.300s: not a file that only this user may write", path);
    else if (fits && bytes == NULL)
        error_set(error, ERROR_SYSTEM, "%.300s: out of memory", path);
    else if (!whole)
        error_set(error, ERROR_USAGE, "%.300s: it cannot be read, or is too long", path);
    bool ok =
        whole && (journal_parse(bytes, (size_t)size, out, error) || error_prefix(error, "%.300s: ", path));
    if (fd >= 0)
        close(fd);
    free(bytes);
    if (ok)
        snprintf(out->path, sizeof out->path, "%s", path);
    if (ok && out->headless)
        out->head.started_s = file.st_mtime;
    return ok;
}

/* Where the slot is: the line after the first. */
static bool journal_find_slot(struct journal *journal)
{
    char first[LINE];
    ssize_t n = pread(journal->fd, first, sizeof first, 0);
    const char *end = n > 0 ? memchr(first, '\n', (size_t)n) : NULL;
    struct stat file;
    if (end == NULL || fstat(journal->fd, &file) != 0 || file.st_size < end + 1 - first + SLOT)
        return false;
    journal->slot_at = end + 1 - first;
    journal->slot_used = SLOT - 1;
    return true;
}

struct journal *journal_reopen(const struct journal_file *file, struct error *error)
{
    struct journal *journal = calloc(1, sizeof *journal);
    if (journal == NULL)
        return error_memory_null(error);
    journal->reopened = journal->numbered = true;
    journal->cut = file->cut;
    snprintf(journal->path, sizeof journal->path, "%s", file->path);
    memcpy(journal->borrowed, file->borrowed, sizeof journal->borrowed);
    journal->n_borrowed = file->n_borrowed;
    journal->fd = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (journal->fd >= 0 && journal_find_slot(journal) && lseek(journal->fd, 0, SEEK_END) > 0)
        return journal;
    error_set(error, ERROR_SYSTEM, "%.300s: it cannot be written", file->path);
    journal_free(journal);
    return NULL;
}

void journal_forget_borrowed(struct journal_file *file)
{
    struct error ignored = {0};
    if (file->n_borrowed == 0)
        return;
    struct journal *journal = journal_reopen(file, &ignored);
    file->n_borrowed = 0;
    if (journal != NULL)
        (void)journal_borrow(journal, NULL, 0);
    journal_free(journal);
}

void journal_file_free(struct journal_file *file)
{
    free(file->entries);
    file->entries = NULL;
    file->n = 0;
}

/* The names end with the time. */
static int compare_later_first(const void *one, const void *other)
{
    return strcmp(other, one);
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), n = strlen(end);
    return length > n && strcmp(name + length - n, end) == 0;
}

size_t journal_list(const char *link, char (*paths)[JOURNAL_PATH], size_t room)
{
    char folder[JOURNAL_PATH - NAME_MAX - 2], key[STATE_KEY + 1] = "";
    struct error none = {0};
    const struct dirent *file;
    size_t n = 0;
    DIR *all = state_folder(folder, sizeof folder, &none) ? opendir(folder) : NULL;
    if (link != NULL) {
        state_key(link, key);
        key[STATE_KEY - 1] = '-';
    }
    while (all != NULL && n < room && (file = readdir(all)) != NULL) {
        if (strncmp(file->d_name, key, strlen(key)) != 0)
            continue;
        if (ends_with(file->d_name, finished))
            snprintf(paths[n++], sizeof paths[0], "%s/%s", folder, file->d_name);
        else if (link != NULL && ends_with(file->d_name, unfinished)) /* killed before it wrote anything */
            unlinkat(dirfd(all), file->d_name, 0);
    }
    if (all != NULL)
        closedir(all);
    qsort(paths, n, sizeof *paths, compare_later_first);
    return n;
}
