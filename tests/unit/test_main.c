/*
 * The program of a folder's tests: PROGRAM [FILE [TEST]] runs all of them, or those of one file (test_text,
 * or dap/test_tcp where there are folders below), or of these the tests whose names match a pattern.
 */
#include "test.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TESTS = 1024, FILES = 64 };

static struct row {
    const char *file;
    int line;
    struct CMUnitTest test;
} rows[TESTS];
static size_t n_rows;

static struct file {
    const char *name;
    CMFixtureFunction set_up, tear_down;
    test_clock *clock;
    test_nap *nap;
} files[FILES];
static size_t n_files;

static const struct file nothing_special;
static const struct file *running = &nothing_special;

/* --- the lists, which are made before main -------------------------------------------------------------- */

static void demand(bool there_is_room)
{
    if (there_is_room)
        return;
    fputs("test_main.c: more tests than it has room for\n", stderr);
    abort();
}

void test_add(const char *file, int line, const char *name, CMUnitTestFunction test, CMFixtureFunction set_up,
              CMFixtureFunction tear_down)
{
    demand(n_rows < TESTS);
    rows[n_rows++] = (struct row){file, line, {name, test, set_up, tear_down, NULL}};
}

static struct file *file_of(const char *name)
{
    for (size_t i = 0; i < n_files; i++)
        if (strcmp(files[i].name, name) == 0)
            return &files[i];
    demand(n_files < FILES);
    files[n_files].name = name;
    return &files[n_files++];
}

void test_group(const char *file, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    file_of(file)->set_up = set_up;
    file_of(file)->tear_down = tear_down;
}

void test_time(const char *file, test_clock *clock, test_nap *nap)
{
    file_of(file)->clock = clock;
    file_of(file)->nap = nap;
}

/* --- libc's time, as the file that runs wants it -------------------------------------------------------- */

void test_no_nap(uint64_t us)
{
    (void)us;
}

/* These precede libc's own and those of the sanitizers, whose are the next ones. */
int test_clock_asked;

int clock_gettime(clockid_t id, struct timespec *now)
{
    static int (*next)(clockid_t, struct timespec *);
    test_clock_asked = id;
    if (running->clock != NULL)
        return running->clock(now);
    if (next == NULL)
        next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    return next(id, now);
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    static int (*next)(const struct timespec *, struct timespec *);
    if (running->nap != NULL) {
        running->nap((uint64_t)wanted->tv_sec * 1000000 + (uint64_t)wanted->tv_nsec / 1000);
        return 0;
    }
    if (next == NULL)
        next = (int (*)(const struct timespec *, struct timespec *))dlsym(RTLD_NEXT, "nanosleep");
    return next(wanted, left);
}

int usleep(useconds_t us)
{
    return nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L}, NULL);
}

/* Freed memory stays unused for a while, of which by default there is so much that each set-up of a test has
 * the system clear new pages. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=8";
}

/* --- sweeps ----------------------------------------------------------------------------------------------
 */

static bool seed_is_used;

bool test_soaks(void)
{
    const char *soak = getenv("PMU_SOAK");
    return soak != NULL && *soak != '\0';
}

uint64_t test_seed(void)
{
    static uint64_t seed;
    const char *given = getenv("PMU_SEED");
    if (!seed_is_used) {
        seed_is_used = true;
        seed = given != NULL && *given != '\0' ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
        if (given == NULL || *given == '\0')
            print_message("PMU_SEED=%llu\n", (unsigned long long)seed);
    }
    return seed;
}

/* The last step of splitmix64: neighbours are far apart. */
static uint64_t mixed(uint64_t value)
{
    value += UINT64_C(0x9E3779B97F4A7C15);
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

struct test_sweep test_sweep(long soak, long check, const char *name, ...)
{
    char words[200];
    va_list arguments;
    if (test_soaks())
        return (struct test_sweep){.soaks = true, .one_in = soak};
    va_start(arguments, name);
    vsnprintf(words, sizeof words, name, arguments);
    va_end(arguments);
    uint64_t seed = mixed(test_seed());
    for (const char *c = words; *c != '\0'; c++)
        seed = mixed(seed ^ (unsigned char)*c);
    return (struct test_sweep){.seed = seed, .one_in = check};
}

bool test_takes(const struct test_sweep *sweep, long place)
{
    long row = place / sweep->one_in, within = place % sweep->one_in;
    uint64_t random = sweep->soaks ? 0 : mixed(sweep->seed ^ (uint64_t)row);
    return random % (uint64_t)sweep->one_in == (uint64_t)within;
}

/* --- running them --------------------------------------------------------------------------------------- */

/* The order of constructors is the compiler's. */
static int in_order(const void *a, const void *b)
{
    const struct row *one = a, *other = b;
    int files_differ = strcmp(one->file, other->file);
    return files_differ != 0 ? files_differ : one->line - other->line;
}

/* tests/unit/links/dap/test_tcp.c is test_tcp, and dap/test_tcp. */
static bool is_called(const char *file, const char *name)
{
    size_t whole = strlen(file), part = strlen(name);
    if (whole < part + sizeof "/.c" - 1)
        return false;
    const char *at = file + whole - part - 2;
    return at[-1] == '/' && strncmp(at, name, part) == 0 && strcmp(at + part, ".c") == 0;
}

/* Of the n tests of a file those that match; how many these are goes to *ran. */
static bool run_file(const struct row *first, size_t n, const char *pattern, size_t *ran)
{
    static struct CMUnitTest tests[TESTS];
    size_t chosen = 0;
    for (size_t i = 0; i < n; i++)
        if (fnmatch(pattern, first[i].test.name, 0) == 0)
            tests[chosen++] = first[i].test;
    *ran += chosen;
    if (chosen == 0)
        return true;
    print_message("%s\n", first->file);
    running = file_of(first->file);
    int failed = _cmocka_run_group_tests(first->file, tests, chosen, running->set_up, running->tear_down);
    running = &nothing_special;
    return failed == 0;
}

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : NULL, *pattern = argc > 2 ? argv[2] : "*";
    size_t found = 0, ran = 0;
    bool passed = true;
    setlocale(LC_CTYPE, "C.UTF-8"); /* golden files are in UTF-8 */
    qsort(rows, n_rows, sizeof *rows, in_order);
    for (size_t i = 0, n; i < n_rows; i += n) {
        for (n = 1; i + n < n_rows && strcmp(rows[i].file, rows[i + n].file) == 0;)
            n++;
        if (wanted != NULL && !is_called(rows[i].file, wanted))
            continue;
        found++;
        passed &= run_file(&rows[i], n, pattern, &ran);
    }
    if (wanted != NULL && found == 0) {
        fprintf(stderr, "%s: no file %s\n", argv[0], wanted);
        return 2;
    }
    if (ran == 0)
        fprintf(stderr, "%s: no test %s\n", argv[0], pattern);
    if (!passed && seed_is_used)
        print_message("The same random places again: PMU_SEED=%llu\n", (unsigned long long)test_seed());
    return passed && ran > 0 ? 0 : 1;
}
