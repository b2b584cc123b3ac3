/* SPDX-License-Identifier: MIT */
#include "options.h"

enum { PORT = 2001, LOOPBACK = 0x7F000001, LONGEST_ROOT = 128, IDLE_S = 30, LONGEST_IDLE_S = 86400 };
static const char state_file[] = "/var/run/pmu-probe-agent.state";

static bool is_same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* Decimal; moves *text past it. */
static bool read_number(const char **text, uint32_t most, uint32_t *out)
{
    const char *begin = *text;
    uint32_t value = 0;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        value = value * 10 + (uint32_t)(**text - '0');
        if (value > most)
            return false;
    }
    *out = value;
    return *text > begin;
}

static bool read_address(const char *text, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t part;
        if ((i > 0 && *text++ != '.') || !read_number(&text, 255, &part))
            return false;
        *out = *out << 8 | part;
    }
    return *text == '\0';
}

/* "0,4-7" */
static bool read_cpus(const char *text, struct agent_options *options)
{
    options->all = false;
    for (;; text++) {
        uint32_t first, last;
        if (!read_number(&text, REGISTERS_CPUS - 1, &first))
            return false;
        last = first;
        if (*text == '-') {
            text++;
            if (!read_number(&text, REGISTERS_CPUS - 1, &last) || last < first)
                return false;
        }
        for (uint32_t cpu = first; cpu <= last; cpu++)
            options->wanted[cpu / 8] |= (uint8_t)(1U << cpu % 8);
        if (*text == '\0')
            return true;
        if (*text != ',')
            return false;
    }
}

static bool is_short(const char *text)
{
    unsigned n = 0;
    while (n < LONGEST_ROOT && text[n] != '\0')
        n++;
    return n < LONGEST_ROOT;
}

static bool read_option(struct agent_options *options, const char *name, const char *value)
{
    uint32_t number;
    if (is_same(name, "--listen"))
        return read_address(value, &options->address);
    if (is_same(name, "--cpus"))
        return read_cpus(value, options);
    if (is_same(name, "--root")) {
        options->root = value;
        return is_short(value);
    }
    if (is_same(name, "--state")) {
        options->state = value;
        return *value != '\0';
    }
    if (is_same(name, "--idle"))
        return read_number(&value, LONGEST_IDLE_S, &options->idle_s) && *value == '\0' && options->idle_s > 0;
    if (!is_same(name, "--port") || !read_number(&value, 65535, &number) || *value != '\0')
        return false;
    options->port = (uint16_t)number;
    return true;
}

bool options_read(struct agent_options *options, int argc, char **argv)
{
    *options = (struct agent_options){
        .address = LOOPBACK, .port = PORT, .root = "", .state = state_file, .idle_s = IDLE_S, .all = true};
    for (int i = 1; i < argc; i += 2) {
        options->wrong = argv[i];
        if (i + 1 >= argc)
            return false;
        if (!read_option(options, argv[i], argv[i + 1])) {
            options->wrong = argv[i + 1];
            return false;
        }
    }
    return true;
}
