#include "run/elf_search.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ENTRIES = 4096 };
static const off_t largest = 512 << 20;

const char elf_folders[] = "this folder, build/, target/ and .pio/build/";

static unsigned elf_search_half_at(const Elf32_Ehdr *head, const Elf32_Half *half)
{
    const unsigned char *bytes = (const unsigned char *)half;
    return head->e_ident[EI_DATA] == ELFDATA2MSB ? bytes[0] << 8U | bytes[1] : bytes[1] << 8U | bytes[0];
}

/* An ELF file of 64 bits begins alike. One of this machine's own programs is none. */
static bool is_program(const char *path)
{
    Elf32_Ehdr head;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, &head, sizeof head) : -1;
    if (fd >= 0)
        close(fd);
    if (n != (ssize_t)sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    unsigned type = elf_search_half_at(&head, &head.e_type),
             machine = elf_search_half_at(&head, &head.e_machine);
    return (type == ET_EXEC || type == ET_DYN) &&
           (machine == EM_ARM || machine == EM_AARCH64 || machine == EM_K10M || machine == EM_L10M);
}

/* Keeps the newest. */
static void keep(struct elf_files *self, const char *path, const struct stat *status)
{
    struct elf_file file = {.changed_ns =
                                status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec};
    if (snprintf(file.path, sizeof file.path, "%s", path) >= (int)sizeof file.path)
        return;
    size_t at = self->n;
    while (at > 0 && self->files[at - 1].changed_ns < file.changed_ns)
        at--;
    if (at == ELF_FILES)
        return;
    self->n += self->n < ELF_FILES;
    memmove(self->files + at + 1, self->files + at, (self->n - at - 1) * sizeof file);
    self->files[at] = file;
}

/* A pattern's next folder ends at a slash; "*" is any, and what ends the pattern is any file. */
static void elf_search_look(struct elf_files *self, const char *folder, const char *pattern)
{
    size_t length = strcspn(pattern, "/");
    const char *rest = pattern[length] == '/' ? pattern + length + 1 : NULL;
    DIR *dir = opendir(folder[0] != '\0' ? folder : ".");
    const struct dirent *entry;
    while (dir != NULL && self->entries < MOST_ENTRIES && (entry = readdir(dir)) != NULL) {
        char path[ELF_PATH];
        struct stat status;
        bool any = pattern[0] == '*' && entry->d_name[0] != '.';
        self->entries++;
        if (!any && (strncmp(entry->d_name, pattern, length) != 0 || entry->d_name[length] != '\0'))
            continue;
        if (snprintf(path, sizeof path, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", entry->d_name) >=
                (int)sizeof path ||
            lstat(path, &status) != 0)
            continue;
        if (rest != NULL && S_ISDIR(status.st_mode))
            elf_search_look(self, path, rest);
        else if (rest == NULL && S_ISREG(status.st_mode) && status.st_size <= largest && is_program(path))
            keep(self, path, &status);
    }
    if (dir != NULL)
        closedir(dir);
}

void elf_files_find(struct elf_files *out)
{
    static const char *const patterns[] = {"*",
                                           "build/*",
                                           "build/*/*",
                                           "build/*/*/*",
                                           "target/debug/*",
                                           "target/release/*",
                                           "target/*/debug/*",
                                           "target/*/release/*",
                                           ".pio/build/*/*"};
    out->n = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        out->entries = 0;
        elf_search_look(out, "", patterns[i]);
    }
}
