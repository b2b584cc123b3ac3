/*
 * The command that made a page, as a shell reads it back.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* What was typed. */
struct page_command {
    int n;
    char *const *words; /* the first is the program's name */
    const char *probe;  /* of $PMU_PROBE; NULL: it was not used */
    bool has_conf;      /* a pmu-probe.conf was read */
};

/* Its section. */
void page_repeat(FILE *out, const struct page_command *command);
