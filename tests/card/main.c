/*
 * The card as files: DIR/dev/cpu/N/msr as Linux's msr driver has them, the threads' cores under DIR/sys, and
 * DIR/control, which takes commands. A file system in user space; it is gone when the program ends.
 */
#define FUSE_USE_VERSION 35

#include "card.h"

#include <errno.h>
#include <fuse.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE = 8, COMMAND = 128 };

enum kind { NOTHING, FOLDER, MSR, CORE_ID, CONTROL };

static struct card *card_of_call(void)
{
    return fuse_get_context()->private_data;
}

static const char *const folders[] = {
    "/", "/dev", "/dev/cpu", "/sys", "/sys/devices", "/sys/devices/system", "/sys/devices/system/cpu"};
enum { OF_MSRS = 2, OF_CORES = 6 };

static enum kind find(const char *path, unsigned *cpu)
{
    static const char of_msr[] = "/dev/cpu/", of_core[] = "/sys/devices/system/cpu/cpu";
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strcmp(path, folders[i]) == 0)
            return FOLDER;
    if (strcmp(path, "/control") == 0)
        return CONTROL;
    bool is_msr = strncmp(path, of_msr, strlen(of_msr)) == 0;
    if (!is_msr && strncmp(path, of_core, strlen(of_core)) != 0)
        return NOTHING;
    const char *number = path + (is_msr ? strlen(of_msr) : strlen(of_core));
    char *rest;
    unsigned long value = strtoul(number, &rest, 10);
    if (rest == number || value >= card_of_call()->n_cpus)
        return NOTHING;
    *cpu = (unsigned)value;
    if (rest[0] == '\0' || (!is_msr && strcmp(rest, "/topology") == 0))
        return FOLDER;
    if (is_msr)
        return strcmp(rest, "/msr") == 0 ? MSR : NOTHING;
    return strcmp(rest, "/topology/core_id") == 0 ? CORE_ID : NOTHING;
}

static int get_attributes(const char *path, struct stat *out, struct fuse_file_info *file)
{
    unsigned cpu;
    (void)file;
    memset(out, 0, sizeof *out);
    out->st_nlink = 1;
    switch (find(path, &cpu)) {
    case NOTHING:
        return -ENOENT;
    case FOLDER:
        out->st_mode = S_IFDIR | 0755;
        return 0;
    case MSR:
        out->st_mode = S_IFREG | 0600;
        return 0;
    case CORE_ID:
        out->st_mode = S_IFREG | 0444;
        return 0;
    case CONTROL:
        out->st_mode = S_IFREG | 0200;
        return 0;
    }
    return -ENOENT;
}

static int list_folder(const char *path, void *to, fuse_fill_dir_t fill, off_t offset,
                       struct fuse_file_info *file, enum fuse_readdir_flags flags)
{
    (void)offset;
    (void)file;
    (void)flags;
    bool of_msrs = strcmp(path, folders[OF_MSRS]) == 0, of_cores = strcmp(path, folders[OF_CORES]) == 0;
    for (unsigned i = 0; (of_msrs || of_cores) && i < card_of_call()->n_cpus; i++) {
        char name[16];
        snprintf(name, sizeof name, "%s%u", of_cores ? "cpu" : "", i);
        fill(to, name, NULL, 0, 0);
    }
    return 0;
}

static int open_file(const char *path, struct fuse_file_info *file)
{
    unsigned cpu;
    file->direct_io = 1; /* the offset is the register's number */
    enum kind kind = find(path, &cpu);
    return kind == NOTHING || kind == FOLDER ? -ENOENT : 0;
}

static int read_file(const char *path, char *to, size_t n, off_t offset, struct fuse_file_info *file)
{
    unsigned cpu;
    (void)file;
    switch (find(path, &cpu)) {
    case MSR:
        if (n % VALUE != 0)
            return -EINVAL;
        for (size_t at = 0; at < n; at += VALUE) {
            uint64_t value;
            if (!card_read(card_of_call(), cpu, (uint32_t)offset, &value))
                return at > 0 ? (int)at : -EIO;
            memcpy(to + at, &value, VALUE);
        }
        return (int)n;
    case CORE_ID: {
        char text[16];
        int length = snprintf(text, sizeof text, "%u\n", card_core_of(card_of_call(), cpu));
        if (offset >= length)
            return 0;
        size_t left = (size_t)(length - offset);
        memcpy(to, text + offset, left < n ? left : n);
        return (int)(left < n ? left : n);
    }
    default:
        return -EACCES;
    }
}

static int write_file(const char *path, const char *from, size_t n, off_t offset, struct fuse_file_info *file)
{
    unsigned cpu;
    char line[COMMAND];
    (void)file;
    switch (find(path, &cpu)) {
    case MSR:
        if (n % VALUE != 0)
            return -EINVAL;
        for (size_t at = 0; at < n; at += VALUE) {
            uint64_t value;
            memcpy(&value, from + at, VALUE);
            if (!card_write(card_of_call(), cpu, (uint32_t)offset, value))
                return at > 0 ? (int)at : -EIO;
        }
        return (int)n;
    case CONTROL:
        if (n >= sizeof line)
            return -EINVAL;
        memcpy(line, from, n);
        line[n] = '\0';
        line[strcspn(line, "\n")] = '\0';
        return card_command(card_of_call(), line) ? (int)n : -EINVAL;
    default:
        return -EACCES;
    }
}

static int cut_file(const char *path, off_t size, struct fuse_file_info *file)
{
    (void)path;
    (void)size;
    (void)file;
    return 0;
}

static const struct fuse_operations operations = {.getattr = get_attributes,
                                                  .readdir = list_folder,
                                                  .open = open_file,
                                                  .read = read_file,
                                                  .write = write_file,
                                                  .truncate = cut_file};

/* DIR [CPUS [HZ [TRUTH]]]; HZ 0: its time does not pass until it is advanced. */
int main(int argc, char **argv)
{
    static struct card card;
    unsigned long cpus = argc > 2 ? strtoul(argv[2], NULL, 10) : 244;
    uint64_t hz = argc > 3 ? strtoull(argv[3], NULL, 10) : 1100000000;
    if (argc < 2 || cpus == 0 || cpus > CARD_CPUS || cpus % THREADS_A_CORE != 0) {
        fprintf(stderr, "usage: %s DIR [CPUS [HZ [TRUTH]]]\n", argv[0]);
        return 2;
    }
    card_init(&card, (unsigned)cpus, hz, hz != 0);
    if (argc > 4 && (card.truth = fopen(argv[4], "ae")) == NULL) {
        perror(argv[4]);
        return 2;
    }
    if (card.truth != NULL)
        setvbuf(card.truth, NULL, _IOLBF, BUFSIZ);
    char *words[] = {argv[0], argv[1], "-f", "-s", "-odefault_permissions"};
    return fuse_main(sizeof words / sizeof *words, words, &operations, &card);
}
