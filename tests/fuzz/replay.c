/*
 * Gives a fuzz target the bytes of files, each file once. What the fuzzer found is so tried again without it,
 * by another compiler's sanitizers. make/fuzz.mk writes the list of targets.
 */
#include <ftw.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 1 << 20, LIMIT_S = 60 };

#define TARGET(name) int name(const uint8_t *data, size_t size);
#include "fuzz_targets.h"
#undef TARGET
#define TARGET(name) {#name, name},
static const struct target {
    const char *name;
    int (*give)(const uint8_t *data, size_t size);
} targets[] = {
#include "fuzz_targets.h"
    {NULL, NULL}};

/* gcc has it, but no header that says so. */
size_t __sanitizer_get_current_allocated_bytes(void);

static const struct target *target = targets;
static char failure[4200];
static unsigned given;

/* Called in the middle of anything: what it says was made before. */
static void tell(void)
{
    if (write(STDERR_FILENO, failure, strlen(failure)) < 0)
        _exit(1);
}

static void stop(int number)
{
    tell();
    _exit(128 + number);
}

static int give_file(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    static uint8_t room[LARGEST];
    (void)about, (void)place;
    if (kind != FTW_F)
        return 0;
    FILE *file = fopen(path, "rb");
    size_t size = file != NULL ? fread(room, 1, sizeof room, file) : sizeof room;
    if (size == sizeof room || fclose(file) != 0)
        return -1;
    snprintf(failure, sizeof failure, "replay: %s failed at %s\n", target->name, path);
    size_t before = __sanitizer_get_current_allocated_bytes();
    /* Exactly as long as it is, so that reading past the end is noticed */
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (data == NULL)
        return -1;
    memcpy(data, room, size);
    alarm(LIMIT_S);
    target->give(data, size);
    alarm(0);
    free(data);
    /* At the end nobody would know whose leak it is. To search after each would take long. */
    if (__sanitizer_get_current_allocated_bytes() > before && __lsan_do_recoverable_leak_check() != 0)
        stop(0);
    given++;
    return 0;
}

int main(int argc, char **argv)
{
    while (target->name != NULL && (argc < 2 || strcmp(target->name, argv[1]) != 0))
        target++;
    if (target->name == NULL) {
        fprintf(stderr, "replay: usage: fuzz-replay TARGET FILE-OR-FOLDER...\n");
        return 2;
    }
    signal(SIGABRT, stop);
    signal(SIGALRM, stop);
    __sanitizer_set_death_callback(tell);
    for (int i = 2; i < argc; i++)
        if (nftw(argv[i], give_file, 16, FTW_PHYS) != 0) {
            fprintf(stderr, "replay: cannot read all of %s\n", argv[i]);
            return 2;
        }
    failure[0] = '\0';
    printf("%s: %u inputs\n", target->name, given);
    return given > 0 ? 0 : 2;
}
