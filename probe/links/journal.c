#include "links/journal.h"

#include "base/state.h"

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

static const char format[] = "pmu-probe/1";
static const char finished[] = ".journal", unfinished[] = ".unfinished";
static const char *const spaces[] = {[SPACE_MEMORY] = "memory",
                                     [SPACE_AP] = "ap",
                                     [SPACE_DP] = "dp",
                                     [SPACE_MSR] = "msr",
                                     [SPACE_CP15] = "cp15"};
static const char *const ways[] = {[RESTORE_PLAIN] = "plain",
                                   [RESTORE_BITS] = "bits",
                                   [RESTORE_OURS] = "ours",
                                   [RESTORE_CLEAR_NEW] = "clear-new",
                                   [RESTORE_PAIR] = "pair"};
static const char *const ops[] = {
    [OP_READ] = "read", [OP_WRITE] = "write", [OP_UNTIL] = "until", [OP_EXPECT] = "expect"};
enum {
    SPACES = sizeof spaces / sizeof *spaces,
    WAYS = sizeof ways / sizeof *ways,
    OPS = sizeof ops / sizeof *ops
};

/* --- values as JSON: 64 bits as text, for a JSON integer has 63 ----------------------------------------- */

static json_t *number_json(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    return json_string(text);
}

static json_t *address_json(const struct address *at)
{
    return json_pack("{s:s, s:i, s:i, s:o}", "space", spaces[at->space], "unit", (int)at->unit, "size",
                     (int)at->size, "offset", number_json(at->offset));
}

static bool number_read(const json_t *json, uint64_t *out)
{
    const char *text = json_string_value(json);
    char *end;
    if (text == NULL || text[0] != '0' || text[1] != 'x' || text[2] == '\0')
        return false;
    if (strspn(text + 2, "0123456789abcdef") != strlen(text + 2) || strlen(text + 2) > 16)
        return false;
    *out = strtoull(text + 2, &end, 16);
    return *end == '\0';
}

/* An integer from 0 to `most`. */
static bool count_read(const json_t *json, uint64_t most, uint64_t *out)
{
    if (!json_is_integer(json) || json_integer_value(json) < 0 || (uint64_t)json_integer_value(json) > most)
        return false;
    *out = (uint64_t)json_integer_value(json);
    return true;
}

/* Which of some words it is. */
static bool word_read(const json_t *json, const char *const *words, size_t n, unsigned *out)
{
    const char *text = json_string_value(json);
    for (*out = 0; text != NULL && *out < n; ++*out)
        if (words[*out] != NULL && strcmp(words[*out], text) == 0)
            return true;
    return false;
}

static bool address_read(const json_t *json, struct address *out)
{
    unsigned space;
    uint64_t unit, size;
    *out = (struct address){0};
    if (!word_read(json_object_get(json, "space"), spaces, SPACES, &space) ||
        !count_read(json_object_get(json, "unit"), UINT16_MAX, &unit) ||
        !count_read(json_object_get(json, "size"), 8, &size) ||
        !number_read(json_object_get(json, "offset"), &out->offset))
        return false;
    out->space = (uint8_t)space;
    out->unit = (uint16_t)unit;
    out->size = (uint8_t)size;
    return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool text_read(const json_t *json, char *out, size_t size)
{
    const char *text = json_string_value(json);
    if (text == NULL || json_string_length(json) >= size || strlen(text) != json_string_length(json))
        return false;
    memcpy(out, text, strlen(text) + 1);
    return true;
}

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
    if (journal == NULL) {
        error_set(error, ERROR_SYSTEM, "out of memory");
        return NULL;
    }
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
    journal->warning = warning;
}

static bool write_slot(struct journal *journal);

/* What is in the file stays, and says that it is not all. */
static bool fail(struct journal *journal)
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

static bool add_text(struct journal *journal, const char *text, size_t n)
{
    if (n == 0)
        return true;
    if (journal->used + n > journal->room) {
        size_t room = 2 * (journal->used + n);
        char *larger = realloc(journal->text, room);
        if (larger == NULL) {
            errno = ENOMEM;
            return fail(journal);
        }
        journal->text = larger;
        journal->room = room;
    }
    memcpy(journal->text + journal->used, text, n);
    journal->used += n;
    return true;
}

/* Takes the object over. */
static void add_line(struct journal *journal, json_t *json)
{
    char *line = json != NULL && !journal->failed ? json_dumps(json, JSON_COMPACT) : NULL;
    if (line == NULL) {
        errno = ENOMEM;
        if (!journal->failed)
            fail(journal);
    } else if (add_text(journal, line, strlen(line))) {
        add_text(journal, "\n", 1);
    }
    free(line);
    json_decref(json);
}

/* Returns where the slot will be. */
static off_t add_head(struct journal *journal)
{
    const struct journal_head *head = &journal->head;
    json_t *words = json_array();
    for (size_t i = 0; i < head->n_words; i++)
        json_array_append_new(words, json_string(head->words[i]));
    add_line(journal,
             json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:o, s:o, s:i, s:i, s:b, s:o}", "journal", format,
                       "command", head->command, "process", (json_int_t)head->process, "started",
                       (json_int_t)head->started_s, "link", head->link, "core", head->core, "id",
                       number_json(head->id), "debug", number_json(head->debug), "unit", (int)head->unit,
                       "number", (int)head->number, "was_halted", (int)head->was_halted, "words", words));
    char slot[SLOT];
    off_t slot_at = (off_t)journal->used;
    memset(slot, ' ', sizeof slot);
    slot[sizeof slot - 1] = '\n';
    add_text(journal, slot, sizeof slot);
    return slot_at;
}

/* After a line that could not be written whole, a new one would become part of it. */
static bool takes_lines(const struct journal *journal)
{
    return !journal->reopened || !journal->cut;
}

void journal_begin(struct journal *journal)
{
    if (journal->numbered && takes_lines(journal))
        add_line(journal, json_pack("{s:b}", "again", 1));
    journal->numbered = false;
}

void journal_hold(struct journal *journal, size_t index, const struct journal_entry *entry)
{
    if (!takes_lines(journal))
        return;
    journal->numbered = true;
    const struct restore *restore = &entry->restore;
    json_t *line =
        json_pack("{s:I, s:I, s:o, s:o}", "hold", (json_int_t)entry->id, "index", (json_int_t)index, "at",
                  address_json(&entry->at), "old", number_json(entry->old));
    if (restore->how != RESTORE_PLAIN)
        json_object_set_new(line, "how", json_string(ways[restore->how]));
    if (restore->mask != 0)
        json_object_set_new(line, "mask", number_json(restore->mask));
    if (restore->key != 0)
        json_object_set_new(line, "key", number_json(restore->key));
    if (restore->clear.size != 0)
        json_object_set_new(line, "clear", address_json(&restore->clear));
    if (entry->status.size != 0) {
        json_object_set_new(line, "status", address_json(&entry->status));
        json_object_set_new(line, "test", number_json(entry->test));
        json_object_set_new(line, "set", number_json(entry->set));
    }
    if (restore->only_ours)
        json_object_set_new(line, "only_ours", json_true());
    if (restore->exact != 0)
        json_object_set_new(line, "exact", number_json(restore->exact));
    if (restore->starts != 0)
        json_object_set_new(line, "starts", number_json(restore->starts));
    if (restore->moves)
        json_object_set_new(line, "moves", json_true());
    if (entry->used)
        json_object_set_new(line, "used", json_true());
    add_line(journal, line);
    journal->dirty = true;
}

void journal_wrote(struct journal *journal, unsigned id, uint64_t value)
{
    if (takes_lines(journal))
        add_line(journal, json_pack("{s:I, s:o}", "wrote", (json_int_t)id, "value", number_json(value)));
}

void journal_wrote_others(struct journal *journal, unsigned id)
{
    if (takes_lines(journal))
        add_line(journal, json_pack("{s:I}", "wrote", (json_int_t)id));
}

void journal_drop(struct journal *journal, unsigned id)
{
    if (takes_lines(journal))
        add_line(journal, json_pack("{s:I}", "drop", (json_int_t)id));
}

void journal_pushed(struct journal *journal, bool pushed)
{
    if (!takes_lines(journal))
        return;
    add_line(journal, json_pack("{s:b}", "pushed", pushed));
    journal->dirty = true;
}

static bool write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, text, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = ENOSPC;
        if (done <= 0)
            return false;
        text += done;
        n -= (size_t)done;
    }
    return true;
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
    bool ok = (journal->used == 0 || write_all(journal->fd, journal->text, journal->used)) &&
              (!journal->dirty || fdatasync(journal->fd) == 0);
    journal->used = 0;
    journal->dirty = false;
    return ok;
}

/* With a name only once its first lines are in it: a run that is killed before has written nothing to its
 * target. If they cannot be written, the name alone tells of a run that goes on without a journal. */
static bool make_file(struct journal *journal)
{
    char first[PATH_MAX], *text = journal->text;
    size_t used = journal->used;
    name_unfinished(journal->path, first);
    journal->fd = open(first, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (journal->fd < 0)
        return fail(journal);
    journal->text = NULL;
    journal->used = journal->room = 0;
    off_t slot_at = add_head(journal);
    add_text(journal, text, used);
    free(text);
    bool ok = !journal->failed && write_lines(journal);
    int problem = errno;
    journal->slot_at = ok ? slot_at : 0;
    bool named = rename(first, journal->path) == 0;
    errno = ok ? errno : problem;
    if (!ok || !named)
        return fail(journal);
    sync_folder(journal);
    return true;
}

bool journal_sync(struct journal *journal)
{
    if (journal->failed || (journal->fd >= 0 && journal->used == 0 && !journal->dirty))
        return !journal->failed;
    if (journal->fd < 0)
        return make_file(journal);
    return write_lines(journal) || fail(journal);
}

/* "w 0 1 4 e000edf8 2000 0": operation, space, unit, size, offset, value, mask. */
static size_t slot_text(char *out, size_t size, const struct step *steps, size_t n, bool cut)
{
    size_t used = (size_t)snprintf(out, size, "{%s\"borrowed\":\"", cut ? "\"cut\":true," : "");
    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%c %x %x %x %" PRIx64 " %" PRIx64 " %" PRIx64,
                                 i > 0 ? "," : "", ops[steps[i].op][0], steps[i].at.space, steps[i].at.unit,
                                 steps[i].at.size, steps[i].at.offset, steps[i].value, steps[i].mask);
    if (used < size)
        used += (size_t)snprintf(out + used, size - used, "\"}");
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
    if (n > JOURNAL_BORROWED)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned)steps[i].op >= OPS || ops[steps[i].op] == NULL)
            return false;
    if (n == 0 && (journal->fd < 0 || journal->n_borrowed == 0))
        return true;
    if (journal->fd < 0) /* what is borrowed without a write before it: nothing is held yet */
        journal->dirty = true;
    if (n > 0)
        memcpy(journal->borrowed, steps, n * sizeof *steps);
    journal->n_borrowed = n;
    /* A slot that is there must not tell of what was borrowed before, whatever else cannot be written */
    bool synced = journal_sync(journal);
    return (write_slot(journal) || fail(journal)) && synced;
}

void journal_end(struct journal *journal)
{
    if (journal == NULL)
        return;
    if (journal->fd >= 0 && !journal->reopened)
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

static bool head_read(const json_t *json, struct journal_head *head, struct error *error)
{
    char is[sizeof format];
    uint64_t id, unit, number, started, process;
    const json_t *words = json_object_get(json, "words");
    if (!text_read(json_object_get(json, "journal"), is, sizeof is) || strcmp(is, format) != 0)
        return bad("it is of another kind or version", error);
    if (!text_read(json_object_get(json, "command"), head->command, sizeof head->command) ||
        !text_read(json_object_get(json, "link"), head->link, sizeof head->link) ||
        !text_read(json_object_get(json, "core"), head->core, sizeof head->core) ||
        !number_read(json_object_get(json, "id"), &id) || id > UINT32_MAX ||
        !number_read(json_object_get(json, "debug"), &head->debug) ||
        !count_read(json_object_get(json, "unit"), UINT16_MAX, &unit) ||
        !count_read(json_object_get(json, "number"), UINT16_MAX, &number) ||
        !count_read(json_object_get(json, "started"), INT64_MAX, &started) ||
        !count_read(json_object_get(json, "process"), INT32_MAX, &process) ||
        !json_is_boolean(json_object_get(json, "was_halted")) || !json_is_array(words) ||
        json_array_size(words) > JOURNAL_WORDS)
        return bad("its first line lacks something", error);
    for (size_t i = 0; i < json_array_size(words); i++, head->n_words++)
        if (!text_read(json_array_get(words, i), head->words[i], sizeof head->words[i]))
            return bad("its first line lacks something", error);
    head->id = (uint32_t)id;
    head->unit = (uint16_t)unit;
    head->number = (unsigned)number;
    head->started_s = (int64_t)started;
    head->process = (long)process;
    head->was_halted = json_is_true(json_object_get(json, "was_halted"));
    return true;
}

static struct journal_entry *find_entry(const struct journal_file *file, const json_t *id)
{
    for (size_t i = 0; json_is_integer(id) && i < file->n; i++)
        if ((json_int_t)file->entries[i].id == json_integer_value(id))
            return &file->entries[i];
    return NULL;
}

static bool restore_read(const json_t *json, struct restore *out)
{
    const json_t *how = json_object_get(json, "how"), *mask = json_object_get(json, "mask"),
                 *key = json_object_get(json, "key"), *clear = json_object_get(json, "clear"),
                 *exact = json_object_get(json, "exact"), *starts = json_object_get(json, "starts");
    unsigned way = RESTORE_PLAIN;
    *out = (struct restore){.only_ours = json_is_true(json_object_get(json, "only_ours")),
                            .moves = json_is_true(json_object_get(json, "moves"))};
    if ((how != NULL && !word_read(how, ways, WAYS, &way)) ||
        (mask != NULL && !number_read(mask, &out->mask)) || (key != NULL && !number_read(key, &out->key)) ||
        (clear != NULL && !address_read(clear, &out->clear)) ||
        (exact != NULL && !number_read(exact, &out->exact)) ||
        (starts != NULL && !number_read(starts, &out->starts)))
        return false;
    out->how = (enum restore_how)way;
    return way != RESTORE_PAIR || clear != NULL;
}

static bool status_read(const json_t *json, struct journal_entry *entry)
{
    const json_t *status = json_object_get(json, "status");
    return status == NULL || (address_read(status, &entry->status) &&
                              number_read(json_object_get(json, "test"), &entry->test) &&
                              number_read(json_object_get(json, "set"), &entry->set));
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

/* The index counts the entries of its own ledger only. */
static size_t place_of(const struct journal_file *file, uint64_t index)
{
    return index < file->n - file->earlier ? file->earlier + (size_t)index : file->n;
}

static bool hold_read(const json_t *json, struct journal_file *file, struct error *error)
{
    struct journal_entry entry = {0};
    uint64_t id, index;
    if (file->n == JOURNAL_ENTRIES)
        return bad("it has too many lines", error);
    if (!count_read(json_object_get(json, "hold"), UINT32_MAX, &id) ||
        find_entry(file, json_object_get(json, "hold")) ||
        !count_read(json_object_get(json, "index"), file->earlier > 0 ? JOURNAL_ENTRIES : file->n, &index) ||
        !address_read(json_object_get(json, "at"), &entry.at) ||
        !number_read(json_object_get(json, "old"), &entry.old) || !restore_read(json, &entry.restore) ||
        !status_read(json, &entry))
        return bad("a line that holds a register lacks something", error);
    entry.id = (unsigned)id;
    entry.used = json_is_true(json_object_get(json, "used"));
    struct journal_entry *earlier = find_earlier(file, entry.at);
    if (earlier != NULL) {
        earlier->id = entry.id;
        return true;
    }
    struct journal_entry *larger = realloc(file->entries, (file->n + 1) * sizeof *larger);
    if (larger == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    size_t place = place_of(file, index);
    file->entries = larger;
    memmove(larger + place + 1, larger + place, (file->n - place) * sizeof *larger);
    larger[place] = entry;
    file->n++;
    return true;
}

static bool wrote_read(const json_t *json, struct journal_file *file, struct error *error)
{
    struct journal_entry *entry = find_entry(file, json_object_get(json, "wrote"));
    const json_t *value = json_object_get(json, "value");
    uint64_t wrote;
    if (entry == NULL || (value != NULL && !number_read(value, &wrote)))
        return bad("a line tells of a register that is not held", error);
    if (value == NULL || entry->n_wrote == JOURNAL_WROTE)
        entry->wrote_others = true;
    else
        entry->wrote[entry->n_wrote++] = wrote;
    return true;
}

static bool drop_read(const json_t *json, struct journal_file *file, struct error *error)
{
    struct journal_entry *entry = find_entry(file, json_object_get(json, "drop"));
    if (entry == NULL)
        return bad("a line tells of a register that is not held", error);
    if (entry < file->entries + file->earlier) { /* it is looked at again */
        entry->id = 0;
        return true;
    }
    size_t behind = file->n - (size_t)(entry - file->entries) - 1;
    memmove(entry, entry + 1, behind * sizeof *entry);
    file->n--;
    return true;
}

static bool step_from(const char *text, struct step *out)
{
    enum { SPACE, UNIT, SIZE, OFFSET, VALUE, MASK, NUMBERS };
    uint64_t of[NUMBERS];
    *out = (struct step){0};
    if (text[0] == '\0' || text[1] != ' ')
        return false;
    const char *end = numbers_read(text + 2, 16, of, NUMBERS);
    if (end == NULL || *end != '\0' || of[SPACE] >= SPACES || of[UNIT] > UINT16_MAX ||
        (of[SIZE] != 1 && of[SIZE] != 2 && of[SIZE] != 4 && of[SIZE] != 8))
        return false;
    *out = (struct step){.at = {.space = (uint8_t)of[SPACE],
                                .unit = (uint16_t)of[UNIT],
                                .size = (uint8_t)of[SIZE],
                                .offset = of[OFFSET]},
                         .value = of[VALUE],
                         .mask = of[MASK]};
    for (unsigned i = 0; i < OPS; i++)
        if (ops[i] != NULL && ops[i][0] == text[0]) {
            out->op = (enum op)i;
            return true;
        }
    return false;
}

static bool borrowed_read(const json_t *json, struct journal_file *file, struct error *error)
{
    char text[SLOT], *rest = text;
    if (!text_read(json_object_get(json, "borrowed"), text, sizeof text))
        return bad("its slot lacks something", error);
    file->cut = json_is_true(json_object_get(json, "cut"));
    for (char *one = strtok_r(text, ",", &rest); one != NULL; one = strtok_r(NULL, ",", &rest))
        if (file->n_borrowed == JOURNAL_BORROWED || !step_from(one, &file->borrowed[file->n_borrowed++]))
            return bad("its slot has something else", error);
    return true;
}

static bool is_blank(const char *line, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (line[i] != ' ')
            return false;
    return true;
}

static bool pushed_read(const json_t *json, struct journal_file *file)
{
    file->pushed = json_is_true(json_object_get(json, "pushed"));
    return true;
}

static bool line_read(const char *line, size_t size, bool first, bool last, struct journal_file *file,
                      struct error *error)
{
    json_t *json = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
    bool ok;
    if (json == NULL)
        ok = (!first && (last || is_blank(line, size))) || bad("a line is not JSON", error);
    else if (first)
        ok = head_read(json, &file->head, error);
    else if (json_object_get(json, "hold") != NULL)
        ok = hold_read(json, file, error);
    else if (json_object_get(json, "wrote") != NULL)
        ok = wrote_read(json, file, error);
    else if (json_object_get(json, "drop") != NULL)
        ok = drop_read(json, file, error);
    else if (json_object_get(json, "borrowed") != NULL)
        ok = borrowed_read(json, file, error);
    else if (json_object_get(json, "again") != NULL)
        ok = again_read(file);
    else if (json_object_get(json, "pushed") != NULL)
        ok = pushed_read(json, file);
    else
        ok = bad("a line says nothing that is known", error);
    json_decref(json);
    return ok;
}

/* Nothing else than the beginning of a journal. */
static bool is_headless(const char *bytes, size_t size)
{
    char first[64];
    size_t length = (size_t)snprintf(first, sizeof first, "{\"journal\":\"%s\",", format);
    return memchr(bytes, '\n', size) == NULL && memcmp(bytes, first, size < length ? size : length) == 0;
}

bool journal_parse(const char *bytes, size_t size, struct journal_file *out, struct error *error)
{
    size_t at = 0;
    *out = (struct journal_file){0};
    out->headless = out->cut = size == 0 || is_headless(bytes, size);
    while (!out->headless && at < size) {
        const char *line = bytes + at, *end = memchr(line, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - line) : size - at;
        if (!line_read(line, length, at == 0, end == NULL, out, error)) {
            journal_file_free(out);
            return false;
        }
        out->cut = out->cut || end == NULL;
        at += length + 1;
    }
    return true;
}

static bool read_all(int fd, size_t most, char **bytes, size_t *size)
{
    *bytes = malloc(most);
    *size = 0;
    while (*bytes != NULL && *size < most) {
        ssize_t n = read(fd, *bytes + *size, most - *size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        *size += (size_t)n;
    }
    return false;
}

bool journal_read(const char *path, struct journal_file *out, struct error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool ours = fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid() &&
                (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    bool fits = ours && file.st_size < LARGEST;
    bool whole = fits && read_all(fd, (size_t)file.st_size + 1, &bytes, &size) && bytes != NULL;
    if (fd < 0)
        error_set(error, ERROR_USAGE, "%.300s: %s", path, strerror(errno));
    else if (!ours)
        error_set(error, ERROR_USAGE, "%.300s: not a file that only this user may write", path);
    else if (fits && bytes == NULL)
        error_set(error, ERROR_SYSTEM, "%.300s: out of memory", path);
    else if (!whole)
        error_set(error, ERROR_USAGE, "%.300s: it cannot be read, or is too long", path);
    bool ok = whole && (journal_parse(bytes, size, out, error) || error_prefix(error, "%.300s: ", path));
    if (fd >= 0)
        close(fd);
    free(bytes);
    if (ok)
        snprintf(out->path, sizeof out->path, "%s", path);
    if (ok && out->headless)
        out->head.started_s = file.st_mtime;
    return ok;
}

/* Where the slot is: the line behind the first. */
static bool find_slot(struct journal *journal)
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
    if (journal == NULL) {
        error_set(error, ERROR_SYSTEM, "out of memory");
        return NULL;
    }
    journal->reopened = journal->numbered = true;
    journal->cut = file->cut;
    snprintf(journal->path, sizeof journal->path, "%s", file->path);
    memcpy(journal->borrowed, file->borrowed, sizeof journal->borrowed);
    journal->n_borrowed = file->n_borrowed;
    journal->fd = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (journal->fd >= 0 && find_slot(journal) && lseek(journal->fd, 0, SEEK_END) > 0)
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
