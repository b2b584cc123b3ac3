/* SPDX-License-Identifier: MIT */
#include "links/claim.h"

#include "base/values.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STAT_ROOM = 1024, STARTED_FIELD = 22, TAKE_TRIES = 3 };

/* ---- this machine ---- */

/* The beginning of a file's first line; false: unreadable. */
static bool claim_read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(out, (int)size, file) != NULL;
    if (file != NULL)
        fclose(file);
    if (read)
        out[strcspn(out, "\n")] = '\0';
    return read && out[0] != '\0';
}

/* Field 22 of /proc/PID/stat, counted after the name, which may hold anything. 0: not known; with hidepid a
 * process of another user is not shown. */
static uint64_t start_of(uint64_t process)
{
    char path[64], line[STAT_ROOM];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", process);
    if (!claim_read_line(path, line, sizeof line))
        return 0;
    const char *at = strrchr(line, ')');
    for (int field = 2; at != NULL && field < STARTED_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at == NULL ? 0 : strtoull(at, NULL, 10);
}

/* A name without what would end a word of the line. */
static void take_word(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; *text != '\0' && n + 1 < size; text++)
        out[n++] = isalnum((unsigned char)*text) || strchr("-._:/", *text) != NULL ? *text : '_';
    out[n] = '\0';
    if (n == 0)
        snprintf(out, size, "-");
}

void claim_make(struct claim *claim, const char *command)
{
    char host[sizeof claim->host] = "", boot[48] = "", space[48] = "", both[sizeof claim->boot] = "";
    time_t now = time(NULL);
    struct tm clock;
    *claim = (struct claim){.process = (uint64_t)getpid()};
    gethostname(host, sizeof host - 1);
    take_word(host, claim->host, sizeof claim->host);
    /* In a container the same id is another process */
    if (claim_read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot) &&
        readlink("/proc/self/ns/pid", space, sizeof space - 1) > 0)
        snprintf(both, sizeof both, "%s/%s", boot, space);
    take_word(both, claim->boot, sizeof claim->boot);
    claim->started = start_of(claim->process);
    if (localtime_r(&now, &clock) == NULL ||
        strftime(claim->since, sizeof claim->since, "%H:%M", &clock) == 0)
        snprintf(claim->since, sizeof claim->since, "-");
    take_word(command, claim->command, sizeof claim->command);
}

/* ---- text ---- */

void claim_write(const struct claim *claim, char out[CLAIM_TEXT])
{
    snprintf(out, CLAIM_TEXT, "%s %s %" PRIu64 " %" PRIu64 " %s %s", claim->host, claim->boot, claim->process,
             claim->started, claim->since, claim->command);
}

bool claim_read(const char *text, struct claim *out)
{
    char host[64], boot[96], since[8], command[24];
    uint64_t numbers[2];
    int first = -1, rest = -1;
    *out = (struct claim){0};
    if (sscanf(text, "%63s %95s %n", host, boot, &first) != 2 || first < 0)
        return false;
    text = numbers_read(text + first, 10, numbers, 2);
    if (text == NULL || sscanf(text, " %7s %23s%n", since, command, &rest) != 2 || rest < 0 ||
        text[rest] != '\0')
        return false;
    out->process = numbers[0];
    out->started = numbers[1];
    take_word(host, out->host, sizeof out->host);
    take_word(boot, out->boot, sizeof out->boot);
    take_word(since, out->since, sizeof out->since);
    take_word(command, out->command, sizeof out->command);
    return true;
}

/* ---- who holds it ---- */

/* proc(5), hidepid: kill() still shows whether a process exists. */
static bool claim_process_exists(uint64_t process)
{
    return process > 0 && process <= INT_MAX && (kill((pid_t)process, 0) == 0 || errno != ESRCH);
}

/* What this machine knows of the other's process. */
static enum { LIVES, DIED, UNKNOWN } holder_of(const struct claim *other, const struct claim *ours)
{
    if (strcmp(other->host, ours->host) != 0 || strcmp(other->boot, ours->boot) != 0 ||
        strcmp(ours->boot, "-") == 0)
        return UNKNOWN;
    uint64_t started = start_of(other->process);
    if (started == 0 || other->started == 0)
        return claim_process_exists(other->process) ? UNKNOWN : DIED;
    return started == other->started ? LIVES : DIED;
}

static bool may_succeed(const struct claim *ours, const struct claim *other)
{
    int holder = holder_of(other, ours);
    return holder == DIED || (holder == UNKNOWN && ours->takes_over);
}

bool claim_refuse(const struct claim *other, const char *name, struct error *error)
{
    return error_set(error, ERROR_IN_USE, "%s is in use by pmu-probe %s, process %" PRIu64 " on %s, since %s",
                     name, other->command, other->process, other->host, other->since);
}

bool claim_take(const struct claim *claim, const struct claim_place *place, const char *name,
                struct error *error)
{
    char mine[CLAIM_TEXT], dead[CLAIM_TEXT] = "", found[CLAIM_TEXT];
    struct claim other;
    claim_write(claim, mine);
    for (int tries = 0; tries < TAKE_TRIES; tries++) {
        if (!place->mark(place->context, mine, dead, found, error))
            return false;
        if (strcmp(found, mine) == 0)
            return true;
        bool is_claim = claim_read(found, &other);
        if (is_claim && !may_succeed(claim, &other))
            return claim_refuse(&other, name, error);
        snprintf(dead, sizeof dead, "%s", found); /* or no claim at all, which protects nobody */
    }
    return error_set(error, ERROR_IN_USE, "%s is in use by another pmu-probe", name);
}
