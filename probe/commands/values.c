/* SPDX-License-Identifier: MIT */
/* What is typed after an option, into the options. */
#include "base/values.h"
#include "base/file.h"
#include "commands/command.h"
#include "counters/events.h"
#include "counters/metric.h"
#include "measure/verdict.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_WISHES = 64 };

/* Of the command, if it is known by now. */
static bool values_refuse_format(const struct options *options, const char *text, struct error *error)
{
    char list[128] = "", former[80];
    size_t id = command_typed(options);
    bool known = id < COMMANDS;
    snprintf(former, sizeof former, "--format %.64s", text);
    if (former_refuse(former, strlen(former), error))
        return false;
    command_formats(known ? commands[id].formats : (1U << FORMATS) - 1, list, sizeof list);
    return error_set(error, ERROR_USAGE, "unknown format \"%.64s\": %s%s%s", text,
                     known ? commands[id].name : "", known ? " takes " : "", list);
}

/* Who writes 5 may mean seconds, as sleep, or milliseconds, as perf; 1000 is in milliseconds. */
static bool is_unclear_time(const char *text, double value)
{
    enum { CLEAR_MS = 100 };
    return value >= 1e-3 && value < CLEAR_MS * 1e-3 && isalpha((unsigned char)text[strlen(text) - 1]) == 0;
}

static bool is_digits(const char *text)
{
    return text[strspn(text, "0123456789")] == '\0';
}

/* Who writes 4000 may mean kHz, as with OpenOCD. */
static bool is_unclear_speed(const char *text)
{
    enum { UNCLEAR_LEAST = 1000, UNCLEAR_MOST = 99999 };
    uint64_t hz;
    return is_digits(text) && value_count(text, UNCLEAR_MOST, &hz) && hz >= UNCLEAR_LEAST;
}

static bool refuse_value(const struct options *options, const struct option *option, const char *typed,
                         const char *text, struct error *error)
{
    const struct option_words *words = &option_words[option->kind];
    size_t length = strlen(text);
    uint64_t hz;
    double value;
    if (option->most > 0)
        return error_set(error, ERROR_USAGE,
                         "%.32s takes a number from %" PRIu64 " to %" PRIu64 "; got \"%.64s\"", typed,
                         option->least, option->most, text);
    if (option->kind == OPTION_FORMAT)
        return values_refuse_format(options, text, error);
    if (option->kind == OPTION_MILLISECONDS && value_seconds(text, 1e-3, &value) &&
        is_unclear_time(text, value))
        return error_set(error, ERROR_USAGE, "%.32s %.16s: write %.16sms or %.16ss", typed, text, text, text);
    error_set(error, ERROR_USAGE, "%.32s takes %s%s, such as %s; got \"%.64s\"", typed, words->noun,
              words->range, or_empty(words->example), text);
    size_t used = strlen(error->text), room = sizeof error->text - used;
    if (option->kind == OPTION_FREQUENCY && length > 1 && text[length - 1] == 'm')
        snprintf(error->text + used, room, " (write %.*sM for megahertz)",
                 (int)(length < 32 ? length - 1 : 31), text);
    if (option->kind == OPTION_SPEED && is_unclear_speed(text))
        snprintf(error->text + used, room, ": write %.8sk for kHz, as OpenOCD and probe-rs mean it", text);
    else if ((option->kind == OPTION_SPEED || option->kind == OPTION_FREQUENCY) && is_digits(text) &&
             value_count(text, 999, &hz) && hz > 0)
        snprintf(error->text + used, room, ", which is %.8s Hz (write %.8sM for %.8s MHz)", text, text, text);
    return false;
}

static bool values_add_word(const char **words, size_t *n, const char *text, const char *typed,
                            struct error *error)
{
    if (*n == REQUEST_EVENTS)
        return error_set(error, ERROR_USAGE, "more than %d times %s", REQUEST_EVENTS, typed);
    words[(*n)++] = text;
    return true;
}

/* Checks the syntax only: which events exist depends on the core. */
static bool check_events(const char *text, struct error *error)
{
    struct event_request requests[MOST_WISHES];
    size_t n = 0;
    return event_requests_parse(text, requests, MOST_WISHES, &n, error);
}

static bool add_openocd(struct options *options, const struct option *option, const char *text,
                        struct error *error)
{
    uint64_t number;
    if (option->letter == 'c' && value_many(text, UINT64_MAX, &number)) /* as perf has it */
        return error_set(error, ERROR_USAGE,
                         "-c is a command for OpenOCD; for %.32s events say --every %.32s", text, text);
    if (options->request.n_openocd + 2 > REQUEST_WORDS)
        return error_set(error, ERROR_USAGE, "too many options for OpenOCD");
    options->request.openocd[options->request.n_openocd++] = option->letter == 'f'   ? "-f"
                                                             : option->letter == 'c' ? "-c"
                                                                                     : "-s";
    options->request.openocd[options->request.n_openocd++] = text;
    return true;
}

bool option_store(struct options *options, const struct option *option, const char *typed, const char *text,
                  struct error *error)
{
    static const double slowest_hz = 1e3, fastest_hz = 1e9; /* of a probe's wires */
    void *at = (char *)options + option->offset;
    uint64_t count = 0;
    double value = 0;
    bool ok = true;
    switch (option->kind) {
    case OPTION_TEXT:
        *(const char **)at = text;
        break;
    case OPTION_CORE:
        ok = value_count(text, 1000, &count);
        *(int *)at = (int)count;
        break;
    case OPTION_FREQUENCY:
        /* Who writes 12 means megahertz; 12Hz is taken at its word */
        ok = value_frequency(text, &value) && value > 0 && value < 1e11 && !value_count(text, 999, &count);
        *(double *)at = value;
        break;
    case OPTION_SPEED:
        ok = value_frequency(text, &value) && value >= slowest_hz && value <= fastest_hz &&
             !is_unclear_speed(text);
        *(double *)at = value;
        break;
    case OPTION_COUNT:
        ok = value_many(text, option->most > 0 ? option->most : UINT64_MAX / 8, &count) && count > 0 &&
             count >= option->least;
        *(uint64_t *)at = count;
        break;
    case OPTION_MILLISECONDS:
        ok = value_seconds(text, 1e-3, &value) && value >= 1e-3 && value <= 86400 &&
             !is_unclear_time(text, value);
        *(int64_t *)at = ok ? (int64_t)(value * 1e3 + 0.5) : 0;
        break;
    case OPTION_SECONDS:
        ok = value_seconds(text, 1, &value) && value >= 1e-3 && value < 1e7;
        *(double *)at = value;
        break;
    case OPTION_PART:
        ok = verdict_threshold(text, &value) && value > 0 && value < 1;
        *(double *)at = value;
        break;
    case OPTION_FLAG:
        *(bool *)at = true;
        break;
    case OPTION_VERBOSE:
        ++*(unsigned *)at;
        break;
    case OPTION_EVENT:
        return check_events(text, error) &&
               values_add_word(options->request.events, &options->request.n_events, text, typed, error);
    case OPTION_METRIC:
        return values_add_word(options->request.metrics, &options->request.n_metrics, text, typed, error);
    case OPTION_JSON:
        options->format = FORMAT_JSON;
        break;
    case OPTION_CSV:
        ok = value_separator(text, &options->separator);
        options->format = FORMAT_CSV;
        break;
    case OPTION_FORMAT:
        ok = value_format(text, &options->format);
        break;
    case OPTION_PLACE:
        ok = value_place(text, at);
        break;
    case OPTION_PROCESS:
        ok = value_process(text, at);
        break;
    case OPTION_OFFSET:
        ok = value_count(text + (text[0] == '-'), UINT64_MAX, &count) && count % 4 == 0;
        *(uint64_t *)at = text[0] == '-' ? 0 - count : count;
        break;
    case OPTION_OPENOCD:
        return add_openocd(options, option, text, error);
    case OPTION_KINDS:
        break;
    }
    return ok || refuse_value(options, option, typed, text, error);
}

void option_forget(struct options *options, const struct option *option, const struct options *usual)
{
    static const size_t rooms[OPTION_KINDS] = {[OPTION_TEXT] = sizeof(char *),
                                               [OPTION_CORE] = sizeof(int),
                                               [OPTION_FREQUENCY] = sizeof(double),
                                               [OPTION_SPEED] = sizeof(double),
                                               [OPTION_COUNT] = sizeof(uint64_t),
                                               [OPTION_MILLISECONDS] = sizeof(int64_t),
                                               [OPTION_SECONDS] = sizeof(double),
                                               [OPTION_PART] = sizeof(double),
                                               [OPTION_FLAG] = sizeof(bool),
                                               [OPTION_PLACE] = sizeof(struct place),
                                               [OPTION_PROCESS] = sizeof(struct process),
                                               [OPTION_OFFSET] = sizeof(uint64_t)};
    memcpy((char *)options + option->offset, (const char *)usual + option->offset, rooms[option->kind]);
}

/* ---- conf */

static const char file_name[] = "pmu-probe.conf";

/* ---- where it is, and whose */

/* False: there is none. A folder that is named relative to the current one is nobody's own. */
static bool name_own(char *out, size_t size)
{
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int used = -1;
    if (folder != NULL && folder[0] == '/')
        used = snprintf(out, size, "%s/pmu-probe/%s", folder, file_name);
    else if (home != NULL && home[0] == '/')
        used = snprintf(out, size, "%s/.config/pmu-probe/%s", home, file_name);
    return used > 0 && (size_t)used < size;
}

/* With sudo it may be of the user who typed that. */
static bool is_of_user(uid_t owner)
{
    uint64_t user;
    const char *before = getenv("SUDO_UID");
    if (owner == geteuid() || owner == 0)
        return true;
    return geteuid() == 0 && before != NULL && value_count(before, UINT32_MAX, &user) && owner == user;
}

/* Judges what was opened: nobody can change it in between, and a symbolic link is as good as its file. */
static bool conf_judge(const struct conf *conf, const struct stat *status, bool trusted, struct error *error)
{
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return error_advise(error, ERROR_USAGE, "Read what it says, then: chmod go-w FILE",
                            "%s is not read, because %s may write it", conf->name,
                            (status->st_mode & S_IWOTH) != 0 ? "everybody" : "its group");
    return trusted || is_of_user(status->st_uid) ||
           error_advise(error, ERROR_USAGE, "Add --trust-conf, or make your own copy.",
                        "%s is not read, because it belongs to user %lu", conf->name,
                        (unsigned long)status->st_uid);
}

static bool conf_is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* ---- what it says */

enum { LARGEST = 65536, MADE = 65536 };

/* After the text there is room for values that are longer than what it says. */
static bool conf_read_text(struct conf *conf, int fd, struct error *error)
{
    conf->text = conf->rest = calloc(1, LARGEST + 2 + MADE);
    size_t length = 0;
    ssize_t n = conf->text != NULL ? 1 : -1;
    while (n > 0 && length <= LARGEST) {
        n = read(fd, conf->text + length, LARGEST + 1 - length);
        length += n > 0 ? (size_t)n : 0;
    }
    if (n < 0)
        return error_set(error, ERROR_USAGE, "%s cannot be read", conf->name);
    if (length > LARGEST)
        return error_set(error, ERROR_USAGE, "%s is larger than 64 KiB", conf->name);
    length = file_drop_mark(conf->text, length);
    return memchr(conf->text, '\0', length) == NULL ||
           error_set(error, ERROR_USAGE, "%s is not text: it has a zero byte", conf->name);
}

/* Anyone may put a file into /tmp: what another user has put above the current folder, a symbolic link too,
 * must not end a run. `fd` -1: it could not be opened. */
static bool conf_passes_over(struct conf *conf, int fd, const struct stat *file)
{
    struct stat link;
    bool is_there = lstat(conf->name, &link) == 0;
    if (is_there && is_of_user(link.st_uid)) {
        if (fd < 0 || is_of_user(file->st_uid))
            return false;
        link = *file;
    }
    if (fd >= 0)
        close(fd);
    if (is_there && conf->passed[0] == '\0') {
        memcpy(conf->passed, conf->name, sizeof conf->passed);
        conf->passed_owner = link.st_uid;
    }
    return true;
}

/* As git searches for its folder: here, then in each folder above, up to the user's home or to the root of
 * the file system. -1 with errno. */
static int open_upwards(struct conf *conf, bool trusted, struct stat *file)
{
    enum { HIGHEST = 32 };
    const char *at = getenv("HOME");
    struct stat home, here, above;
    bool has_home = at != NULL && stat(at, &home) == 0;
    for (unsigned up = 0; up <= HIGHEST; up++) {
        snprintf(conf->name, sizeof conf->name, "%s%s", conf->folder, file_name);
        int fd = file_open_plain(conf->name, 0, file);
        bool is_there = fd >= 0 || (errno != ENOENT && errno != ENOTDIR && (up == 0 || errno != EACCES));
        int reason = errno;
        if (is_there && (up == 0 || trusted || !conf_passes_over(conf, fd, file))) {
            errno = reason;
            return fd;
        }
        bool ends = up == HIGHEST || stat(up == 0 ? "." : conf->folder, &here) != 0 ||
                    (has_home && conf_is_same(&here, &home));
        strcat(conf->folder, "../");
        if (ends || stat(conf->folder, &above) != 0 || above.st_dev != here.st_dev ||
            conf_is_same(&above, &here))
            break;
    }
    errno = ENOENT;
    return -1;
}

bool conf_open(struct conf *conf, enum conf_which which, bool trusted, struct error *error)
{
    *conf = (struct conf){.is_own = which == CONF_OWN};
    if (conf->is_own && !name_own(conf->name, sizeof conf->name))
        return true;
    struct stat status, own;
    int fd = conf->is_own ? file_open_plain(conf->name, 0, &status) : open_upwards(conf, trusted, &status);
    /* The folders of a home may be closed to a user who is not at home there */
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || (conf->is_own && errno == EACCES)))
        return true;
    if (fd < 0 && (errno == EISDIR || errno == EINVAL))
        return error_set(error, ERROR_USAGE, "%s is not a plain file", conf->name);
    if (fd < 0)
        return error_set(error, ERROR_USAGE, "%s: %s", conf->name, strerror(errno));
    bool ok = conf_judge(conf, &status, trusted, error) && conf_read_text(conf, fd, error);
    close(fd);
    char path[sizeof conf->name];
    if (ok && !conf->is_own && name_own(path, sizeof path) && stat(path, &own) == 0)
        conf->is_own = conf_is_same(&own, &status);
    return ok || error_set(error, ERROR_USAGE, "%s cannot be read", conf->name);
}

/* Keeps the value with `middle` in it in place of `left` bytes at `at`, which the text does not have. */
static bool conf_make(struct conf *conf, const char *value, size_t at, size_t left, const char *middle,
                      char **out, struct error *error)
{
    const char *tail = value + at + left;
    size_t size = at + strlen(middle) + strlen(tail) + 1;
    if (size > MADE - conf->made)
        return error_set(error, ERROR_USAGE, "too many names of files");
    *out = conf->text + LARGEST + 2 + conf->made;
    snprintf(*out, size, "%.*s%s%s", (int)at, value, middle, tail);
    conf->made += size;
    return true;
}

bool conf_beside(struct conf *conf, const struct option *option, char **value, struct error *error)
{
    bool of_metrics = option->kind == OPTION_METRIC; /* a list, of names of metrics, too */
    const char *files = option_files(option, *value);
    if (conf->folder[0] == '\0' || files == NULL)
        return true;
    size_t at = (size_t)(files - *value), length;
    for (; (*value)[at] != '\0'; at += length, at += (*value)[at] == ',') {
        const char *name = *value + at;
        length = of_metrics ? strcspn(name, ",") : strlen(name);
        size_t made = conf->made;
        char *joined;
        if (name[0] == '/' || (of_metrics && !metric_is_file(name, length)))
            continue;
        if (!conf_make(conf, *value, at, 0, conf->folder, &joined, error))
            return false;
        if (option->kind == OPTION_OPENOCD && access(joined, F_OK) != 0) { /* OpenOCD has its own files */
            conf->made = made;
            continue;
        }
        *value = joined;
        at += strlen(conf->folder);
    }
    return true;
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* Ends the text where a comment begins: at a # after a blank. */
static void cut_comment(char *text)
{
    for (char *at = text; (at = strchr(at, '#')) != NULL; at++)
        if (at == text || isspace((unsigned char)at[-1])) {
            *at = '\0';
            return;
        }
}

/* Quotes keep all that is between them; ~ is the home of the user otherwise. */
static bool conf_read_value(struct conf *conf, char *text, char **out, struct error *error)
{
    const char *home = getenv("HOME");
    text = trim(text);
    *out = text;
    if (*text == '"' || *text == '\'') {
        char *end = strchr(text + 1, *text), *after = end != NULL ? trim(end + 1) : NULL;
        if (end == NULL || (*after != '\0' && *after != '#'))
            return error_set(error, ERROR_USAGE, "%s",
                             end == NULL ? "a quote is not closed" : "there is more after the closing quote");
        *end = '\0';
        *out = text + 1;
        return true;
    }
    cut_comment(text);
    *out = trim(text);
    bool of_home = text[0] == '~' && (text[1] == '/' || text[1] == '\0') && home != NULL;
    return !of_home || conf_make(conf, text, 0, 1, home, out, error);
}

bool conf_next(struct conf *conf, char **key, char **value, struct error *error)
{
    while (conf->rest != NULL) {
        char *line = conf->rest;
        conf->rest = strchr(line, '\n');
        if (conf->rest != NULL)
            *conf->rest++ = '\0';
        conf->line++;
        line = trim(line);
        char *equals = strchr(line, '=');
        if (equals != NULL)
            *equals = '\0';
        size_t length = strlen(line);
        cut_comment(line);
        bool has_value = equals != NULL && strlen(line) == length;
        *key = trim(line);
        if (**key == '\0' && !has_value)
            continue;
        *value = NULL;
        return !has_value || conf_read_value(conf, equals + 1, value, error);
    }
    return false;
}
