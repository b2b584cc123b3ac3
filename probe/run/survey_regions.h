/*
 * The regions of a survey: which they are, and how far each has got.
 */
#pragma once

#include "measure/delta.h"
#include "run/own_code.h"
#include "run/region.h"
#include "run/region_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct survey_region {
    struct named_region named;
    const struct region_line *line; /* of a region file; NULL: it was found by its name */
    char why[512];                  /* it cannot be measured, or is no longer: this is why; "" */
    bool refused;                   /* and gets no more turns */
    struct delta_options options;   /* of `delta`, which has a pointer to it */
    struct summary *summary;        /* NULL: no hit yet */
    struct delta *delta;
    uint64_t samples;       /* of the PC that were in it, before the survey */
    bool quick;             /* its last turn took less than a slice */
    bool seen;              /* its start was reached at least once */
    unsigned turns;         /* that had hits */
    unsigned looks;         /* in vain, since it was seen */
    int64_t waited_us;      /* for its start, in vain */
    unsigned unended;       /* turns in a row in which its end was not reached */
    char limit[160];        /* of its engine */
    char sleep[SLEEP_NOTE]; /* a WFI or WFE in it; "" */
};

struct survey_regions {
    struct survey_region *at; /* owned, and what it points to */
    size_t n, room;
};

/* Adds the functions that a pattern names, each address once. ERROR_SYMBOL or ERROR_AMBIGUOUS: none, or a
 * name without wildcards means several. */
bool survey_regions_choose(struct survey_regions *regions, struct symbols *symbols, const char *pattern,
                           const struct process *process, struct error *error);
/* Adds the function around an address; does nothing if there is none, or it is there already. */
bool survey_regions_choose_at(struct survey_regions *regions, struct symbols *symbols, uint64_t address,
                              const struct process *process, struct error *error);
/* Adds the regions of a file, which must outlive them. Errors name their lines. */
bool survey_regions_choose_lines(struct survey_regions *regions, struct symbols *symbols,
                                 const struct region_file *file, const struct process *process,
                                 struct error *error);
const char *survey_regions_name(const struct survey_region *region);
void survey_regions_free(struct survey_regions *regions);
