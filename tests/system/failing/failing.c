/*
 * Linked into a pmu-probe for tests, whose calls arrive here first (--wrap; memory's are renamed in the
 * archive): PMU_FAIL=memory:N or target:N makes the first call fail from the Nth place of the
 * source, where a place is a call and its callers' calls, PMU_FAIL_DEPTH of them. PMU_FAIL_SEEN names a file
 * for how many such places there were.
 */
#include "links/ledger.h"
#include "links/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 1 << 14, DEEPEST = 8 };

enum what { MEMORY, TARGET };

static struct {
    bool is_ready, counts;
    enum what what;
    unsigned long number, seen, depth;
    const char *file;
    uintptr_t places[PLACES];
} self;

static void say_seen(void)
{
    FILE *file = fopen(self.file, "w");
    if (file == NULL)
        return;
    fprintf(file, "%lu\n", self.seen);
    fclose(file);
}

static void begin(void)
{
    const char *what = getenv("PMU_FAIL"), *depth = getenv("PMU_FAIL_DEPTH");
    self.is_ready = true;
    self.file = getenv("PMU_FAIL_SEEN");
    if (what == NULL)
        return;
    self.counts = true;
    self.what = strncmp(what, "memory", 6) == 0 ? MEMORY : TARGET;
    const char *number = strchr(what, ':');
    self.number = number != NULL ? strtoul(number + 1, NULL, 10) : 0;
    self.depth = depth != NULL ? strtoul(depth, NULL, 10) : 2;
    if (self.depth > DEEPEST)
        self.depth = DEEPEST;
    if (self.file != NULL)
        (void)atexit(say_seen);
}

/* Frames as -fno-omit-frame-pointer leaves them: the caller's frame, then the address of return. */
static uintptr_t place_of(const void *const *frame)
{
    uintptr_t sum = 1469598103;
    for (unsigned long i = 0; i < self.depth && frame != NULL; i++) {
        sum = (sum ^ (uintptr_t)frame[1]) * (uintptr_t)1099511628211;
        const void *const *up = (const void *const *)frame[0];
        frame = up > frame ? up : NULL;
    }
    return sum != 0 ? sum : 1;
}

static bool is_new(uintptr_t place)
{
    size_t at = place % PLACES;
    while (self.places[at] != 0 && self.places[at] != place)
        at = (at + 1) % PLACES;
    if (self.places[at] == place || self.seen + 1 == PLACES)
        return false;
    self.places[at] = place;
    return true;
}

static bool fails(enum what what, const void *const *frame)
{
    if (!self.is_ready)
        begin();
    return self.counts && what == self.what && is_new(place_of(frame)) && ++self.seen == self.number;
}

#define FAILS(what) fails(what, __builtin_frame_address(0))

/* --- memory --------------------------------------------------------------------------------------------- */

void *failing_malloc(size_t size);
void *failing_calloc(size_t n, size_t size);
void *failing_realloc(void *old, size_t size);
char *failing_strdup(const char *text);
char *failing_strndup(const char *text, size_t n);
FILE *failing_open_memstream(char **text, size_t *size);

static bool no_memory(const void *const *frame)
{
    if (!fails(MEMORY, frame))
        return false;
    errno = ENOMEM;
    return true;
}

void *failing_malloc(size_t size)
{
    return no_memory(__builtin_frame_address(0)) ? NULL : malloc(size);
}

void *failing_calloc(size_t n, size_t size)
{
    return no_memory(__builtin_frame_address(0)) ? NULL : calloc(n, size);
}

void *failing_realloc(void *old, size_t size)
{
    return no_memory(__builtin_frame_address(0)) ? NULL : realloc(old, size);
}

char *failing_strdup(const char *text)
{
    return no_memory(__builtin_frame_address(0)) ? NULL : strdup(text);
}

char *failing_strndup(const char *text, size_t n)
{
    return no_memory(__builtin_frame_address(0)) ? NULL : strndup(text, n);
}

FILE *failing_open_memstream(char **text, size_t *size)
{
    return no_memory(__builtin_frame_address(0)) ? NULL : open_memstream(text, size);
}

/* --- the target: an access that it refuses, and of which nothing is done -------------------------------- */

static bool refused(struct error *error)
{
    return error_set(error, ERROR_FAULT, "cannot reach it: the target refuses it (FAULT)");
}

/* Each has the parameters of the function that it replaces. */
#define WRAP(name, parameters, arguments)                                                                    \
    bool __real_##name parameters;                                                                           \
    bool __wrap_##name parameters;                                                                           \
    bool __wrap_##name parameters                                                                            \
    {                                                                                                        \
        return FAILS(TARGET) ? refused(error) : __real_##name arguments;                                     \
    }

WRAP(ledger_read,
     (struct ledger * ledger, struct address at, uint64_t *value, const struct deadline *deadline,
      struct error *error),
     (ledger, at, value, deadline, error))
WRAP(ledger_read_list,
     (struct ledger * ledger, const struct steps *list, uint64_t *values, const struct deadline *deadline,
      struct error *error),
     (ledger, list, values, deadline, error))
WRAP(ledger_run,
     (struct ledger * ledger, const struct steps *list, uint64_t *results, const struct deadline *deadline,
      struct error *error),
     (ledger, list, results, deadline, error))
WRAP(ledger_hold,
     (struct ledger * ledger, struct address at, struct restore restore, uint64_t *old,
      const struct deadline *deadline, struct error *error),
     (ledger, at, restore, old, deadline, error))
WRAP(ledger_write,
     (struct ledger * ledger, struct address at, uint64_t value, struct restore restore,
      const struct deadline *deadline, struct error *error),
     (ledger, at, value, restore, deadline, error))
WRAP(ledger_apply,
     (struct ledger * ledger, const struct setting *setting, const struct deadline *deadline,
      struct error *error),
     (ledger, setting, deadline, error))
WRAP(ledger_open,
     (struct ledger * ledger, const struct setting *lock, const struct deadline *deadline,
      struct error *error),
     (ledger, lock, deadline, error))

struct outcome __real_ledger_execute(struct ledger *ledger, const struct steps *list, size_t from,
                                     uint64_t *results, const struct deadline *deadline, struct error *error);
struct outcome __wrap_ledger_execute(struct ledger *ledger, const struct steps *list, size_t from,
                                     uint64_t *results, const struct deadline *deadline, struct error *error);
struct outcome __wrap_ledger_execute(struct ledger *ledger, const struct steps *list, size_t from,
                                     uint64_t *results, const struct deadline *deadline, struct error *error)
{
    if (FAILS(TARGET)) {
        refused(error);
        return (struct outcome){.why = TARGET_FAULT, .done = from};
    }
    return __real_ledger_execute(ledger, list, from, results, deadline, error);
}

struct outcome __real_link_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                                   const struct deadline *deadline, struct error *error);
struct outcome __wrap_link_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                                   const struct deadline *deadline, struct error *error);
struct outcome __wrap_link_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                                   const struct deadline *deadline, struct error *error)
{
    if (FAILS(TARGET)) {
        refused(error);
        return (struct outcome){.why = TARGET_FAULT, .done = 0};
    }
    return __real_link_execute(link, steps, n, results, deadline, error);
}
