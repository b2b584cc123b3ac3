// Command line: see the header.
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { JTAG = 256, CONTROL, CHIP, FIRMWARE, CLOCK, SEED, HALT_COST, HALT_IRQ, DIE, VERBOSE };

static const struct option long_options[] = {
    {"chip", required_argument, NULL, CHIP},
    {"firmware", required_argument, NULL, FIRMWARE},
    {"jtag", required_argument, NULL, JTAG},
    {"control", required_argument, NULL, CONTROL},
    {"clock", required_argument, NULL, CLOCK},
    {"seed", required_argument, NULL, SEED},
    {"halt-cost", required_argument, NULL, HALT_COST},
    {"halt-irq", required_argument, NULL, HALT_IRQ},
    {"die-with-parent", no_argument, NULL, DIE},
    {"verbose", no_argument, NULL, VERBOSE},
    {NULL, 0, NULL, 0},
};

static bool number(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return !errno && *text >= '0' && *text <= '9' && !*end && *value >= low && *value <= high;
}

static bool take(struct options *o, int option, const char *text)
{
    uint64_t value = 0;
    bool ok = true;
    switch (option) {
    case CHIP:
        o->chip = chip_named(text);
        return o->chip != NULL;
    case FIRMWARE:
        o->firmware = text;
        return true;
    case JTAG:
        ok = number(text, 0, UINT16_MAX, &value);
        o->jtag = (uint16_t)value;
        return ok;
    case CONTROL:
        ok = number(text, 0, UINT16_MAX, &value);
        o->control = (uint16_t)value;
        return ok;
    case CLOCK:
        ok = number(text, 1000, 1000000000, &value);
        o->clock = (uint32_t)value;
        return ok;
    case SEED:
        return number(text, 0, UINT64_MAX, &o->seed);
    case HALT_COST:
        return halt_cost_parse(&o->halt_cost, text);
    case HALT_IRQ:
        ok = number(text, 0, 1000, &value);
        o->halt_cost.irq_permille = (uint32_t)value;
        return ok;
    case DIE:
        o->die_with_parent = true;
        return true;
    case VERBOSE:
        o->verbose = true;
        return true;
    default:
        return false;
    }
}

bool options_parse(struct options *o, int argc, char **argv)
{
    int option, index = 0;
    *o = (struct options){.clock = 12000000, .seed = 1};
    while ((option = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        if (option == '?') // getopt has said what is wrong
            return false;
        if (!take(o, option, optarg)) {
            fprintf(stderr, "board: --%s: bad value '%s'\n", long_options[index].name, optarg);
            return false;
        }
    }
    if (optind != argc || !o->chip || !o->firmware) {
        fprintf(stderr,
                "usage: board --chip rp2040|m4 --firmware ELF [--jtag PORT] [--control PORT] [--clock HZ]\n"
                "             [--seed N] [--halt-cost N|N..M] [--halt-irq PERMILLE] [--die-with-parent]\n"
                "             [--verbose]\n");
        return false;
    }
    halt_cost_seed(&o->halt_cost, o->seed);
    return true;
}
