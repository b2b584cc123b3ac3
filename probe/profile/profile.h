/* Samples of the program counter, tallied by address over intervals of time. An interval is what record
   writes as one line, so a profile of hours stays small and a file that is cut off can be read up to there.
 */
#ifndef PMU_PROFILE_PROFILE_H
#define PMU_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a look at the core found when it found no address. */
enum profile_state {
    PROFILE_ASLEEP,        /* WFI, WFE */
    PROFILE_NOT_PERMITTED, /* the core ran where the sample register does not tell (Secure state), or the
                              debug signals forbid it */
    PROFILE_HALTED,        /* somebody else's halt, a lockup */
    PROFILE_IN_RESET,      /* the core was held in reset, or its debug logic was off */
    PROFILE_STATES
};

struct profile_count {
    uint64_t address;
    uint64_t samples;
};

/* Samples of one core between two times. */
struct profile_interval {
    unsigned core;                /* index into profile_about.cores */
    double from, to;              /* s since the first sample */
    struct profile_count *counts; /* by rising address; owned */
    size_t count_count;
    uint64_t states[PROFILE_STATES]; /* samples without an address */
    unsigned resets;                 /* of the target, seen in this interval */
};

/* What samples were taken of and with: the head of the file. Strings are owned, NULL where unknown. */
struct profile_about {
    char *date; /* ISO 8601, UTC */
    char *probe, *elf, *build_id;
    char **cores; /* names, "Cortex-M4" */
    size_t core_count;
    char *source; /* the register that gave the address: "DWT_PCSR", "EDPCSR" ...; "halts" where the core was
                     stopped for each */
    double asked_s; /* --for; 0: until Ctrl-C */
};

/* What is known at the end only. A file that was cut off has none. */
struct profile_end {
    bool known;
    double elapsed_s;
    uint64_t samples;
    char *why; /* "time", "Ctrl-C", "lost" with the error's text in `error` */
    char *error;
};

struct profile {
    struct profile_about about;
    struct profile_interval *intervals; /* in the order taken */
    size_t interval_count;
    struct profile_end end;
};
#endif
