// Lines in, lines out: see the header.
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void report(const char *error, const char *answer)
{
    if (error)
        printf("error %s\n", error);
    else
        puts(answer);
    fflush(stdout);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool unhex(const char *text, uint8_t *bytes, size_t *length)
{
    size_t digits = strlen(text);
    *length = digits / 2;
    if (digits % 2 || *length > CLIENT_PACKET)
        return false;
    for (size_t i = 0; i < *length; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void open_it(const struct client *c)
{
    char serial[128] = "", answer[256];
    size_t size = 0;
    const char *error = c->open(c->self, serial, sizeof serial, &size);
    snprintf(answer, sizeof answer, "ok %s %zu", serial, size);
    report(error, answer);
}

static void out(const struct client *c, const char *hex, int timeout_ms)
{
    uint8_t bytes[CLIENT_PACKET];
    size_t length;
    report(unhex(hex, bytes, &length) ? c->out(c->self, bytes, length, timeout_ms) : "not-hexadecimal", "ok");
}

typedef const char *(*reader)(void *self, uint8_t *bytes, size_t room, size_t *length, int timeout_ms);

static void in(const struct client *c, reader read, int timeout_ms)
{
    uint8_t bytes[CLIENT_PACKET];
    char hex[2 * CLIENT_PACKET + 1] = "";
    size_t length = 0;
    const char *error = read(c->self, bytes, sizeof bytes, &length, timeout_ms);
    for (size_t i = 0; !error && i < length; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    report(error, hex);
}

static void rounds(const struct client *c, long count, const char *hex)
{
    uint8_t request[CLIENT_PACKET], reply[CLIENT_PACKET];
    size_t length, got;
    const char *error = unhex(hex, request, &length) ? NULL : "not-hexadecimal";
    char answer[32];
    double begin = seconds();
    for (long i = 0; !error && i < count; i++) {
        error = c->out(c->self, request, length, CLIENT_TIMEOUT_MS);
        if (!error)
            error = c->in(c->self, reply, sizeof reply, &got, CLIENT_TIMEOUT_MS);
    }
    snprintf(answer, sizeof answer, "%.6f", seconds() - begin);
    report(error, answer);
}

void client_run(const struct client *c)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        char *rest = NULL, *word = strtok_r(line, " \n", &rest), *a = strtok_r(NULL, " \n", &rest),
             *b = strtok_r(NULL, " \n", &rest);
        if (word && !strcmp(word, "open")) {
            open_it(c);
        } else if (word && !strcmp(word, "close")) {
            c->close(c->self);
            report(NULL, "ok");
        } else if (word && a && !strcmp(word, "out")) {
            out(c, a, b ? (int)strtol(b, NULL, 10) : CLIENT_TIMEOUT_MS);
        } else if (word && a && !strcmp(word, "in")) {
            in(c, c->in, (int)strtol(a, NULL, 10));
        } else if (word && a && c->trace && !strcmp(word, "trace")) {
            in(c, c->trace, (int)strtol(a, NULL, 10));
        } else if (word && a && b && !strcmp(word, "rounds")) {
            rounds(c, strtol(a, NULL, 10), b);
        } else {
            report("unknown-line", "");
        }
    }
    c->close(c->self);
    free(line);
}
