/*
 * Any bytes as pmu-probe.conf: the first chooses the command, the rest is the file of the current folder and,
 * after a zero, the user's own. What is refused is so with a fact that names the file; what is read is text
 * that stays valid, and numbers that their options may have. Without --trust-conf a folder's file starts
 * nothing and names no output.
 */
#include "commands/command.h"

#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/pmu-probe-conf-XXXXXX";

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void remove_folder(void)
{
    if (chdir(folder) == 0) {
        unlink("pmu-probe.conf");
        unlink("own/pmu-probe/pmu-probe.conf");
        rmdir("own/pmu-probe");
        rmdir("own");
        rmdir(folder);
    }
}

static void make_folder(void)
{
    char own[sizeof folder + 8];
    demand(mkdtemp(folder) != NULL && chdir(folder) == 0);
    demand(mkdir("own", 0700) == 0 && mkdir("own/pmu-probe", 0700) == 0);
    snprintf(own, sizeof own, "%s/own", folder);
    demand(setenv("XDG_CONFIG_HOME", own, 1) == 0 && unsetenv("PMU_PROBE") == 0);
    atexit(remove_folder);
}

/* The folder from which the names of inputs count is the one that it was. */
static void enter_folder(int *home)
{
    static bool made;
    *home = open(".", O_RDONLY | O_DIRECTORY);
    demand(*home >= 0);
    if (!made)
        make_folder();
    made = true;
    demand(chdir(folder) == 0);
}

static void leave_folder(int home)
{
    demand(fchdir(home) == 0 && close(home) == 0);
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
    FILE *file = fopen(name, "wb");
    demand(file != NULL && fchmod(fileno(file), 0600) == 0);
    demand((size == 0 || fwrite(data, 1, size, file) == size) && fclose(file) == 0);
}

/* Reads all of each text, so that one that is gone shows. */
static size_t length_of(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

static void look_at(const struct options *o)
{
    const char *const texts[] = {o->request.probe, o->request.counters,  o->request.elf,  o->request.counter,
                                 o->output,        o->request.transport, o->request.tick, o->request.show,
                                 o->cpu,           o->baseline,          o->threshold,    o->separator};
    size_t length = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        length += length_of(texts[i]);
    demand(o->request.n_events <= REQUEST_EVENTS && o->request.n_metrics <= REQUEST_EVENTS &&
           o->request.n_openocd <= REQUEST_WORDS);
    for (size_t i = 0; i < o->request.n_events; i++)
        length += length_of(o->request.events[i]);
    for (size_t i = 0; i < o->request.n_metrics; i++)
        length += length_of(o->request.metrics[i]);
    for (size_t i = 0; i < o->request.n_openocd; i++)
        length += length_of(o->request.openocd[i]);
    demand(length < 1 << 20);
    demand(o->request.core >= -1);
    demand(isfinite(o->request.freq_hz) && o->request.freq_hz >= 0 && isfinite(o->request.speed_hz) &&
           o->request.speed_hz >= 0);
    demand(isfinite(o->request.timeout_s) && o->request.timeout_s >= 0 && isfinite(o->request.for_s) &&
           o->request.for_s >= 0);
    demand(o->request.interval_ms >= 0);
}

static bool is_default(const struct command *command, const char *output)
{
    return strcmp(command->name, "record") == 0 && strcmp(output, "profile.jsonl") == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct options options;
    struct error error = {0};
    if (size == 0)
        return 0;
    int home;
    enter_folder(&home);
    const struct command *command = &commands[data[0] % COMMANDS];
    const uint8_t *text = data + 1, *own = memchr(text, '\0', size - 1);
    size_t whole = size - 1, first = own != NULL ? (size_t)(own - text) : whole;
    write_file("pmu-probe.conf", text, first);
    write_file("own/pmu-probe/pmu-probe.conf", own != NULL ? own + 1 : text,
               own != NULL ? whole - first - 1 : 0);

    char *words[] = {"pmu-probe", (char *)command->name, "a", "b", NULL};
    demand(command->least <= 2);
    bool ok = options_read(&options, 2 + (int)command->least, words, &error);
    demand(ok == (error.kind == ERROR_NONE));
    if (ok)
        look_at(&options);
    else
        demand(error.kind == ERROR_USAGE && strstr(error.text, "pmu-probe.conf") != NULL);
    if (ok && own == NULL && option_find("trust-conf", strlen("trust-conf")) != NULL)
        demand(options.request.n_openocd == 0 &&
               (options.output == NULL || is_default(command, options.output)));
    options_free(&options);

    char *unfinished[] = {"pmu-probe", (char *)command->name, "--elf", NULL};
    options_read_partly(&options, 3, unfinished);
    options_free(&options);
    leave_folder(home);
    return 0;
}
