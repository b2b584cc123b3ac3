/* SPDX-License-Identifier: MIT */
#include "wire/wire.h"

#include "base/file.h"
#include "base/values.h"
#include "wire/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char hex[] = "0123456789abcdef";

static bool words_make_room(struct line *line, size_t more)
{
    if (line->failed)
        return false;
    char *bytes = array_grow(line->bytes, line->used + more + 1, &line->room, 1);
    line->failed = bytes == NULL;
    line->bytes = bytes != NULL ? bytes : line->bytes;
    return !line->failed;
}

void line_add(struct line *line, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    if (n >= 0 && words_make_room(line, (size_t)n + 1)) {
        (void)vsnprintf(line->bytes + line->used, (size_t)n + 1, format, again);
        line->used += (size_t)n;
    }
    va_end(again);
    va_end(arguments);
}

void line_add_text(struct line *line, const char *text)
{
    line_add(line, " \"");
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == 0x7F || c == '"' || c == '\\')
            line_add(line, "\\%02x", c);
        else
            line_add(line, "%c", c);
    }
    line_add(line, "\"");
}

void line_add_bytes(struct line *line, const uint8_t *bytes, size_t n)
{
    line_add(line, " ");
    for (size_t i = 0; i < n; i++)
        line_add(line, "%02x", bytes[i]);
}

void line_clear(struct line *line)
{
    line->used = 0;
    if (line->bytes != NULL)
        line->bytes[0] = '\0';
}

void line_free(struct line *line)
{
    free(line->bytes);
    *line = (struct line){0};
}

static void words_skip(struct words *words)
{
    while (*words->at == ' ')
        words->at++;
}

bool words_are_over(const struct words *words)
{
    struct words left = *words;
    words_skip(&left);
    return *left.at == '\0';
}

bool words_take(struct words *words, char first)
{
    words_skip(words);
    if (*words->at == '\0' || *words->at != first)
        return false;
    words->at++;
    return true;
}

static bool words_read_number(struct words *words, unsigned base, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    words_skip(words);
    const char *at = words->at;
    for (const char *digit; *at != '\0' && (digit = memchr(hex, *at, base)) != NULL; at++) {
        uint64_t next = (uint64_t)(digit - hex);
        if (value > (most - (next < most ? next : most)) / base)
            return false;
        value = value * base + next;
    }
    if (at == words->at || (*at != '\0' && *at != ' ' && *at != '-' && *at != '*') || value > most)
        return false;
    words->at = at;
    *out = value;
    return true;
}

bool words_number(struct words *words, uint64_t most, uint64_t *out)
{
    return words_read_number(words, 16, most, out);
}

bool words_decimal(struct words *words, uint64_t most, uint64_t *out)
{
    return words_read_number(words, 10, most, out);
}

static bool read_byte(const char *at, uint8_t *out)
{
    const char *high = at[0] != '\0' ? strchr(hex, at[0]) : NULL,
               *low = high != NULL && at[1] != '\0' ? strchr(hex, at[1]) : NULL;
    if (low == NULL)
        return false;
    *out = (uint8_t)((high - hex) << 4 | (low - hex));
    return true;
}

bool words_text(struct words *words, char *out, size_t size)
{
    size_t used = 0;
    if (!words_take(words, '"'))
        return false;
    const char *at = words->at;
    for (; *at != '"'; at++) {
        uint8_t byte = (uint8_t)*at;
        if (*at == '\0' || used + 1 >= size)
            return false;
        if (*at == '\\') {
            if (!read_byte(at + 1, &byte) || byte == 0)
                return false;
            at += 2;
        }
        out[used++] = (char)byte;
    }
    out[used] = '\0';
    words->at = at + 1;
    return true;
}

bool words_bytes(struct words *words, uint8_t *out, size_t n)
{
    words_skip(words);
    for (size_t i = 0; i < n; i++, words->at += 2)
        if (!read_byte(words->at, &out[i]))
            return false;
    return *words->at == '\0' || *words->at == ' ';
}

/* --- dictionaries --------------------------------------------------------------------------------------- */

static const char *words_text_of(const void *saying)
{
    return ((const struct saying *)saying)->text;
}

static int words_compare_texts(const void *one, const void *other)
{
    return strcmp(words_text_of(one), words_text_of(other));
}

/* The tree compares sayings, of which a key has only the text. */
static struct saying *make_key(const char *text)
{
    size_t length = strlen(text);
    struct saying *key = calloc(1, sizeof *key + length + 1);
    if (key != NULL)
        memcpy(key->text, text, length + 1);
    return key;
}

struct saying *dictionary_find(const struct dictionary *dictionary, const char *text)
{
    struct saying *key = make_key(text);
    void *found = key == NULL ? NULL : tfind(key, &dictionary->tree, words_compare_texts);
    free(key);
    return found != NULL ? *(struct saying **)found : NULL;
}

struct saying *dictionary_add(struct dictionary *dictionary, const char *text)
{
    struct saying *new = make_key(text), **sayings = NULL;
    if (new != NULL)
        sayings =
            array_grow(dictionary->sayings, dictionary->n + 1, &dictionary->room, sizeof(struct saying *));
    dictionary->sayings = sayings != NULL ? sayings : dictionary->sayings;
    void *found = sayings == NULL ? NULL : tsearch(new, &dictionary->tree, words_compare_texts);
    if (found == NULL || *(struct saying **)found != new) {
        free(new);
        return found != NULL ? *(struct saying **)found : NULL;
    }
    dictionary->sayings[dictionary->n++] = new;
    new->number = dictionary->n;
    return new;
}

struct saying *dictionary_at(const struct dictionary *dictionary, uint64_t number)
{
    return number == 0 || number > dictionary->n ? NULL : dictionary->sayings[number - 1];
}

void dictionary_free(struct dictionary *dictionary)
{
    while (dictionary->n > 0) {
        struct saying *last = dictionary->sayings[--dictionary->n];
        (void)tdelete(last, &dictionary->tree, words_compare_texts);
        free(last->answer);
        free(last);
    }
    free(dictionary->sayings);
    *dictionary = (struct dictionary){0};
}

/* ---- wire */

/* Readings that the file does not have go on so; after a failure faster, so that all ends soon. */
enum { SLOWLY_US = 10, SOON_US = 1000 };
enum { MOST_BYTES = 1 << 28, TIMES_ROOM = 4096, ELF_TEXT = 320, PATIENCE_MOST = 1000 };

static const char first_line[] = "pmu-probe wire ";

/* --- failures ------------------------------------------------------------------------------------------- */

static void stop_run(struct wire *wire)
{
    if (wire->run.cancel != NULL && *wire->run.cancel == 0)
        *wire->run.cancel = 1;
}

bool wire_fail(struct wire *wire, const char *format, ...)
{
    char what[sizeof wire->failure.text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (wire->failure.kind == ERROR_NONE)
        error_advise(&wire->failure, ERROR_DIVERGED, "", "replay %.128s: %.700s. The file is of %.150s",
                     wire->name, what, wire->origin);
    stop_run(wire);
    return false;
}

bool wire_damaged(struct wire *wire)
{
    return wire_fail(wire, "line %zu is damaged", wire->number);
}

/* --- writing -------------------------------------------------------------------------------------------- */

/* A run is worth more than its recording: it goes on without. */
static void tell_unwritten(struct wire *wire, const char *why)
{
    error_set(&wire->failure, ERROR_SYSTEM, "cannot write %.256s: %s", wire->name, why);
    wire->writes = false;
}

void wire_write(struct wire *wire)
{
    if (wire->writes && wire->out.failed)
        tell_unwritten(wire, "out of memory");
    if (wire->writes && !file_write(fileno(wire->output.file), wire->out.bytes, wire->out.used))
        tell_unwritten(wire, strerror(errno));
    line_clear(&wire->out);
}

void wire_flush_times(struct wire *wire)
{
    if (wire->times.used > 0)
        line_add(&wire->out, "t%s\n", wire->times.bytes);
    wire->out.failed |= wire->times.failed;
    line_clear(&wire->times);
}

static void wire_note_time(struct wire *wire, int64_t now_us)
{
    line_add(&wire->times, " %" PRId64, now_us - wire->noted_us);
    wire->noted_us = now_us;
}

void wire_note_signals(struct wire *wire)
{
    sig_atomic_t signals = wire->run.cancel != NULL ? *wire->run.cancel : 0;
    if (signals != wire->signals)
        line_add(&wire->times, " !%x", (unsigned)signals);
    wire->signals = signals;
}

void wire_note(struct wire *wire, const char *text)
{
    if (wire == NULL || wire->replays)
        return;
    wire_flush_times(wire);
    line_add(&wire->out, "# %s\n", text);
    wire_write(wire);
}

/* --- reading -------------------------------------------------------------------------------------------- */

char wire_peek(struct wire *wire)
{
    while (wire->at < wire->end && *wire->at == '#') {
        struct words remark;
        (void)wire_next(wire, &remark);
    }
    if (wire->at < wire->end)
        return *wire->at;
    return '\0';
}

/* A line without its end is one that was cut. */
bool wire_next(struct wire *wire, struct words *out)
{
    char *end = wire->at < wire->end ? memchr(wire->at, '\n', (size_t)(wire->end - wire->at)) : NULL;
    *out = (struct words){.at = wire->end};
    if (end == NULL) {
        wire->at = wire->end;
        return false;
    }
    *end = '\0';
    out->at = wire->at;
    wire->at = end + 1;
    wire->number++;
    return true;
}

static bool has_readings(struct wire *wire)
{
    if (wire->readings.at != NULL && !words_are_over(&wire->readings))
        return true;
    if (wire_peek(wire) != 't' || !wire_next(wire, &wire->readings))
        return false;
    wire->readings.at++;
    return !words_are_over(&wire->readings);
}

/* They were seen right after what was before them. */
void wire_take_signals(struct wire *wire)
{
    uint64_t signals;
    while (wire->failure.kind == ERROR_NONE && has_readings(wire) && words_take(&wire->readings, '!')) {
        if (!words_number(&wire->readings, INT16_MAX, &signals)) {
            (void)wire_damaged(wire);
            return;
        }
        if (wire->run.cancel != NULL)
            *wire->run.cancel = (sig_atomic_t)signals;
    }
}

void wire_advance(struct wire *wire, int64_t us)
{
    wire->noted_us += us;
    if (wire->now_us < wire->noted_us)
        wire->now_us = wire->noted_us;
}

static bool take_reading(struct wire *wire)
{
    uint64_t us;
    if (wire->failure.kind != ERROR_NONE || !has_readings(wire))
        return false;
    if (!words_decimal(&wire->readings, UINT32_MAX, &us))
        return wire_damaged(wire);
    wire_advance(wire, (int64_t)us);
    wire_take_signals(wire);
    return true;
}

void wire_skip_readings(struct wire *wire)
{
    while (take_reading(wire))
        ;
}

/* --- the clock ------------------------------------------------------------------------------------------ */

static int64_t now_of_recording(void *context)
{
    struct wire *wire = context;
    int64_t now_us = deadline_host_us();
    if (wire->inside || !wire->writes)
        return now_us;
    wire_note_signals(wire);
    wire_note_time(wire, now_us);
    if (wire->times.used > TIMES_ROOM) {
        wire_flush_times(wire);
        wire_write(wire);
    }
    return now_us;
}

static int64_t now_of_replay(void *context)
{
    struct wire *wire = context;
    if (!wire->inside && !take_reading(wire))
        wire->now_us += wire->failure.kind == ERROR_NONE ? SLOWLY_US : SOON_US;
    return wire->now_us;
}

static int64_t wall(void *context)
{
    struct wire *wire = context;
    return wire->wall_s + (wire->clock.now_us(wire) - wire->began_us) / 1000000;
}

static void use_clock(struct wire *wire)
{
    wire->clock = (struct deadline_clock){.now_us = wire->replays ? now_of_replay : now_of_recording,
                                          .wall_s = wall,
                                          .context = wire,
                                          .naps = !wire->replays};
    wire->noted_us = wire->now_us = wire->began_us;
    deadline_use_clock(&wire->clock);
}

/* --- the beginning -------------------------------------------------------------------------------------- */

static struct wire *wire_new(const char *name, const struct wire_run *run, struct error *error)
{
    struct wire *wire = calloc(1, sizeof *wire);
    if (wire == NULL)
        error_memory(error);
    else
        *wire = (struct wire){.name = name, .run = *run};
    return wire;
}

static const char *wire_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* "--elf=/home/me/app.elf" becomes "--elf=app.elf": a file is sent to others. */
static void wire_add_word(struct line *line, const char *word)
{
    const char *equals = strchr(word, '='), *slash = strchr(word, '/');
    int kept = equals != NULL && slash != NULL && equals < slash ? (int)(equals + 1 - word) : 0;
    line_add(line, " %.*s%s", kept, word, wire_base_name(word + kept));
}

/* A replay of another program would search for its names in the wrong places. */
static bool identify_elf(const char *path, char *out, size_t size, const struct wire_run *run,
                         struct error *error)
{
    unsigned char bytes[1 << 14];
    uint64_t all = 0;
    uLong crc = crc32(0, NULL, 0);
    snprintf(out, size, "-");
    if (path == NULL)
        return true;
    int fd = file_open_to_read(path, run->cancel);
    ssize_t n = -1;
    while (fd >= 0 && (n = file_read(fd, bytes, sizeof bytes, run->cancel)) > 0) {
        crc = crc32(crc, bytes, (uInt)n);
        all += (uint64_t)n;
    }
    if (n < 0 && errno == EINTR)
        error_set(error, ERROR_CANCELLED, "cancelled");
    else if (n < 0)
        error_set(error, ERROR_ELF, "cannot read %.256s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    struct line line = {0};
    line_add_text(&line, wire_base_name(path));
    line_add(&line, " %" PRIx64 " %08lx", all, crc);
    snprintf(out, size, "%s", line.bytes != NULL ? line.bytes + 1 : "");
    line_free(&line);
    return n >= 0;
}

static void write_head(struct wire *wire, const char *elf)
{
    struct line *out = &wire->out;
    line_add(out, "%s%d, pmu-probe %s\ncommand", first_line, WIRE_VERSION, wire->run.version);
    for (int i = 1; i < wire->run.n; i++)
        wire_add_word(out, wire->run.words[i]);
    line_add(out, "\nelf %s\nbegan %" PRId64 " %" PRId64 " %" PRId64 "\n", elf, wire->wall_s, wire->began_us,
             patience_ms(1));
    wire_write(wire);
}

struct wire *wire_record(const char *path, const struct wire_run *run, struct error *error)
{
    char elf[ELF_TEXT];
    if (!identify_elf(run->elf, elf, sizeof elf, run, error))
        return NULL;
    struct wire *wire = wire_new(path, run, error);
    if (wire == NULL)
        return NULL;
    if (!output_open(&wire->output, path, OUTPUT_GROWS, run->cancel, error)) {
        wire_free(wire);
        (void)error_prefix(error, "--wire: ");
        return NULL;
    }
    wire->writes = true;
    wire->wall_s = deadline_wall_s();
    wire->began_us = deadline_host_us();
    write_head(wire, elf);
    use_clock(wire);
    return wire;
}

static bool is_no_recording(const struct wire *wire, struct error *error)
{
    return error_advise(error, ERROR_USAGE, "--wire FILE writes one.",
                        "replay %.256s: not a recording of pmu-probe", wire->name);
}

static bool check_elf(struct wire *wire, const char *recorded, struct error *error)
{
    char here[ELF_TEXT];
    const char *mine = here, *its = recorded;
    if (!identify_elf(wire->run.elf, here, sizeof here, &wire->run, error))
        return false;
    /* Its name may be another one */
    for (int i = 0; i < 2; i++) {
        const char **at = i == 0 ? &mine : &its, *quote = strrchr(*at, '"');
        *at = quote != NULL ? quote + 1 : *at;
    }
    return strcmp(mine, its) == 0 ||
           error_advise(error, ERROR_ELF_MISMATCH, "A replay takes the ELF file of the recorded run.",
                        "replay %.128s: recorded with --elf %.256s (name, size, CRC-32); here it is %.256s",
                        wire->name, strcmp(recorded, "-") == 0 ? "none" : recorded,
                        strcmp(here, "-") == 0 ? "none" : here);
}

/* As it was for the recorded run: deadlines depend on it. */
static bool take_patience(uint64_t patience)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, patience);
    return setenv("PMU_PROBE_PATIENCE", text, 1) == 0;
}

static bool wire_read_head(struct wire *wire, struct error *error)
{
    struct words version, command, elf, began;
    uint64_t wall_s, began_us, patience;
    size_t length = strlen(first_line);
    if (!wire_next(wire, &version) || strncmp(version.at, first_line, length) != 0)
        return is_no_recording(wire, error);
    version.at += length;
    const char *tool = strchr(version.at, ',');
    if (strtoull(version.at, NULL, 10) != WIRE_VERSION || tool == NULL)
        return error_set(error, ERROR_USAGE, "replay %.256s: format %.32s is not known", wire->name,
                         version.at);
    if (!wire_next(wire, &command) || strncmp(command.at, "command", 7) != 0 || !wire_next(wire, &elf) ||
        strncmp(elf.at, "elf ", 4) != 0 || !wire_next(wire, &began) || strncmp(began.at, "began ", 6) != 0)
        return is_no_recording(wire, error);
    began.at += 6;
    if (!words_decimal(&began, INT64_MAX / 2, &wall_s) || !words_decimal(&began, INT64_MAX / 2, &began_us) ||
        !words_decimal(&began, PATIENCE_MOST, &patience) || patience == 0 || !words_are_over(&began))
        return is_no_recording(wire, error);
    wire->wall_s = (int64_t)wall_s;
    wire->began_us = (int64_t)began_us;
    snprintf(wire->origin, sizeof wire->origin, "%.60s:%.300s", tool + 2, command.at + 7);
    return check_elf(wire, elf.at + 4, error) && take_patience(patience);
}

struct wire *wire_replay_text(char *text, size_t size, const char *name, const struct wire_run *run,
                              struct error *error)
{
    struct wire *wire = wire_new(name, run, error);
    if (wire == NULL) {
        free(text);
        return NULL;
    }
    wire->replays = true;
    wire->text = wire->at = text;
    wire->end = text + size;
    *wire->end = '\0';
    if (!wire_read_head(wire, error)) {
        wire_free(wire);
        return NULL;
    }
    use_clock(wire);
    return wire;
}

struct wire *wire_replay(const char *path, const struct wire_run *run, struct error *error)
{
    size_t used = 0, room = 0;
    char *text = NULL;
    ssize_t n = 1;
    int fd = file_open_to_read(path, run->cancel);
    while (fd >= 0 && n > 0 && room < MOST_BYTES) {
        room = 2 * room + 65536;
        char *more = realloc(text, room);
        n = more == NULL ? -1 : file_read(fd, more + used, room - used - 1, run->cancel);
        text = more != NULL ? more : text;
        used += n > 0 ? (size_t)n : 0;
    }
    if ((fd < 0 || n < 0) && errno == EINTR)
        error_set(error, ERROR_CANCELLED, "cancelled");
    if (fd < 0 || n != 0) {
        error_set(error, ERROR_USAGE, "replay: cannot read %.256s: %s", path,
                  fd >= 0 && n > 0 ? "it is too long" : strerror(errno));
        free(text);
        text = NULL;
    }
    if (fd >= 0)
        close(fd);
    return text == NULL ? NULL : wire_replay_text(text, used, path, run, error);
}

bool wire_replays(const struct wire *wire)
{
    return wire != NULL && wire->replays;
}

const char *wire_spec(const char *probe)
{
    static const char kind[] = "replay:";
    return probe != NULL && strncmp(probe, kind, strlen(kind)) == 0 ? probe + strlen(kind) : NULL;
}

/* --- the end -------------------------------------------------------------------------------------------- */

/* What a replay left out. */
static void wire_check_end(struct wire *wire, int code)
{
    struct words rest;
    uint64_t its_code = 0;
    wire_skip_readings(wire);
    char next = wire_peek(wire);
    bool whole = wire_next(wire, &rest);
    if (!whole)
        (void)wire_fail(wire, "the file ends after request %" PRIu64 ": the recorded run did not end",
                        wire->count);
    else if (next != 'e')
        (void)wire_fail(wire, "this run ends after request %" PRIu64 ", the recorded one goes on: line %zu",
                        wire->count, wire->number);
    else if (strncmp(rest.at, "end", 3) != 0 || (rest.at += 3, !words_number(&rest, UINT8_MAX, &its_code)))
        (void)wire_damaged(wire);
    else if (its_code != (uint64_t)code)
        (void)wire_fail(wire, "this run ends with exit code %d, the recorded one with %u", code,
                        (unsigned)its_code);
}

/* A recording of nothing, or half of one, does not take the place of an older one. */
static void close_recording(struct wire *wire)
{
    bool left, replaces = wire->output.beside != NULL;
    enum output_keep keep = replaces && (!wire->linked || !wire->writes) ? KEEP_NOTHING : KEEP_ALL;
    struct error why = {0};
    if (!output_close(&wire->output, keep, &left, &why) || left)
        error_set(&wire->failure, ERROR_SYSTEM, "cannot write %.256s: %s", wire->name,
                  left ? strerror(EPIPE) : error_on_one_line(&why, wire->origin, sizeof wire->origin));
    wire->writes = false;
}

bool wire_end(struct wire *wire, int code, struct error *error)
{
    deadline_use_clock(NULL);
    if (wire->replays) {
        wire_check_end(wire, code);
    } else {
        wire_flush_times(wire);
        line_add(&wire->out, "end %x\n", (unsigned)code);
        wire_write(wire);
        close_recording(wire);
    }
    if (wire->failure.kind == ERROR_NONE)
        return true;
    return wire->replays ? error_replace(error, &wire->failure) : error_add(error, &wire->failure);
}

void wire_free(struct wire *wire)
{
    if (wire == NULL)
        return;
    dictionary_free(&wire->steps);
    dictionary_free(&wire->requests);
    dictionary_free(&wire->texts);
    line_free(&wire->line);
    line_free(&wire->out);
    line_free(&wire->times);
    free(wire->asked);
    free(wire->before);
    free(wire->text);
    free(wire);
}
