/* MSRs of this machine: /dev/cpu/N/msr; the offset in the file is the register's number. */
#include "knc/msr.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 512, UNOPENED = -1 };

struct msr_files {
    struct msr_link msr; /* first */
    char root[256];
    int fds[MSR_CPUS]; /* as in msr.cpus */
};

/* ERROR_NO_MSR has several causes; only the text shows which. */
static bool files_explain(const char *path, int failure, struct error *error)
{
    if (failure == ENOENT)
        return error_set(error, ERROR_NO_MSR,
                         "there is no %s: the msr driver is not loaded, or this CPU does not exist", path);
    if (failure == ENXIO || failure == EIO)
        return error_set(error, ERROR_NO_MSR, "%s: this CPU is off, or has no model-specific registers",
                         path);
    return error_set(error, ERROR_NO_MSR, "%s cannot be opened: %s", path, strerror(failure));
}

static bool open_file(struct msr_files *files, size_t at, struct error *error)
{
    char path[PATH];
    if (files->fds[at] != UNOPENED)
        return true;
    snprintf(path, sizeof path, "%s/dev/cpu/%u/msr", files->root, (unsigned)files->msr.cpus[at].number);
    files->fds[at] = open(path, O_RDWR | O_CLOEXEC);
    return files->fds[at] >= 0 || files_explain(path, errno, error);
}

static size_t knc_files_find_cpu(const struct msr_link *msr, uint16_t number)
{
    size_t at = 0;
    while (at < msr->n_cpus && msr->cpus[at].number != number)
        at++;
    return at;
}

static enum why knc_files_access_one(struct msr_files *files, const struct msr_op *op, uint64_t *result,
                                     struct error *error)
{
    size_t at = knc_files_find_cpu(&files->msr, op->cpu);
    if (op->kind == MSR_TIME) {
        *result = (uint64_t)deadline_now_us();
        return DONE;
    }
    if (at == files->msr.n_cpus) {
        error_set(error, ERROR_FAULT, "CPU %u is not one of this link", (unsigned)op->cpu);
        return TARGET_FAULT;
    }
    if (!open_file(files, at, error))
        return TARGET_FAULT;
    ssize_t n = op->kind == MSR_WRITE ? pwrite(files->fds[at], &op->value, sizeof op->value, op->number)
                                      : pread(files->fds[at], result, sizeof *result, op->number);
    if (n == (ssize_t)sizeof op->value)
        return DONE;
    error_advise(error, ERROR_FAULT, MSR_ADVICE, "CPU %u refuses to have MSR 0x%" PRIX32 " %s: %s",
                 (unsigned)op->cpu, op->number, op->kind == MSR_WRITE ? "written" : "read",
                 n < 0 ? strerror(errno) : "cut short");
    return TARGET_FAULT;
}

static enum why files_run(struct msr_link *link, const struct msr_op *ops, size_t n, uint64_t *results,
                          size_t *done, struct error *error)
{
    for (*done = 0; *done < n; ++*done) {
        enum why why = knc_files_access_one((struct msr_files *)link, &ops[*done], &results[*done], error);
        if (why != DONE)
            return why;
    }
    return DONE;
}

static void close_files(struct msr_link *link)
{
    struct msr_files *files = (struct msr_files *)link;
    for (size_t i = 0; i < MSR_CPUS; i++)
        if (files->fds[i] >= 0)
            close(files->fds[i]);
    free(files);
}

/* A card's system does not number its threads core by core. */
static uint16_t knc_files_core_of(const struct msr_files *files, unsigned cpu)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/topology/core_id", files->root, cpu);
    FILE *file = fopen(path, "re");
    char text[16] = "", *end;
    if (file == NULL)
        return (uint16_t)cpu;
    bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    unsigned long core = strtoul(text, &end, 10);
    return read && end != text && core <= UINT16_MAX ? (uint16_t)core : (uint16_t)cpu;
}

static int knc_files_by_number(const void *a, const void *b)
{
    const struct msr_cpu *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

static void knc_files_add_cpu(struct msr_files *files, unsigned cpu)
{
    if (files->msr.n_cpus < MSR_CPUS)
        files->msr.cpus[files->msr.n_cpus++] =
            (struct msr_cpu){.number = (uint16_t)cpu, .core = knc_files_core_of(files, cpu)};
}

static bool list_cpus(struct msr_files *files, struct error *error)
{
    char path[PATH], *end;
    snprintf(path, sizeof path, "%s/dev/cpu", files->root);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return files_explain(path, errno, error);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        unsigned long cpu = strtoul(entry->d_name, &end, 10);
        if (end != entry->d_name && *end == '\0' && cpu <= UINT16_MAX)
            knc_files_add_cpu(files, (unsigned)cpu);
    }
    closedir(folder);
    qsort(files->msr.cpus, files->msr.n_cpus, sizeof *files->msr.cpus, knc_files_by_number);
    return files->msr.n_cpus > 0 ||
           error_set(error, ERROR_NO_MSR, "there is no CPU in %s: the msr driver is not loaded", path);
}

struct link *msr_files_open(const char *root, int cpu, struct error *error)
{
    static const struct msr_carrier_ops ops = {.run = files_run, .close = close_files};
    struct msr_files *files = calloc(1, sizeof *files);
    if (files == NULL) {
        error_set(error, ERROR_SYSTEM, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < MSR_CPUS; i++)
        files->fds[i] = UNOPENED;
    snprintf(files->root, sizeof files->root, "%s", root);
    if (cpu >= 0)
        knc_files_add_cpu(files, (unsigned)cpu);
    if ((cpu >= 0 || list_cpus(files, error)) && open_file(files, 0, error)) {
        if (cpu >= 0)
            snprintf(files->msr.name, sizeof files->msr.name, "msr:%d%s%.128s", cpu, *root != '\0' ? "@" : "",
                     root);
        else
            snprintf(files->msr.name, sizeof files->msr.name, "msr%s%.128s", *root != '\0' ? "@" : "", root);
        msr_link_init(&files->msr, &ops);
        return &files->msr.link;
    }
    close_files(&files->msr);
    return NULL;
}
