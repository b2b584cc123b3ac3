/* SPDX-License-Identifier: MIT */
#include "run/elf_files.h"

#include "base/file.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
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
    struct stat status;
    int fd = file_open_plain(path, O_NOFOLLOW, &status);
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

/* ---- elf memory */

bool elf_memory_read(struct session *session, memory_reader *read, const struct segment *piece,
                     struct elf_words *out, struct error *error)
{
    struct step items[ELF_WORDS];
    struct steps list = {.items = items, .room = ELF_WORDS};
    struct device *device = &session->device;
    const struct core *core = &device->chosen->core;
    *out = (struct elf_words){.skip = (4 - piece->address % 4) % 4};
    for (size_t at = out->skip; at + 4 <= piece->size && list.n < ELF_WORDS; at += 4)
        steps_add(&list, step_read(core_word(core, piece->address + at)));
    out->n = list.n;
    struct deadline deadline = session_deadline(session);
    return list.n == 0 || read(device, core, &list, out->at, &out->asleep, &deadline, error);
}

static bool is_of_note(struct session *session, const struct segment *piece)
{
    struct segment note;
    return symbols_build_note(session->symbols, &note) && piece->bytes >= note.bytes &&
           piece->bytes < note.bytes + note.size;
}

/* A program that moved itself has moved the addresses in it, too. */
static bool compare_moved(struct session *session, const struct segment *piece, const struct elf_words *words,
                          uint32_t moved, struct elf_found *out, struct error *error)
{
    struct symbols_machine machine;
    bool is_note = is_of_note(session, piece);
    symbols_machine(session->symbols, &machine);
    for (size_t i = 0; i < words->n; i++) {
        uint32_t in_file;
        size_t at = words->skip + 4 * i;
        uint64_t address = piece->address + at;
        memcpy(&in_file, piece->bytes + at, 4);
        if (machine.big_endian_words)
            in_file = __builtin_bswap32(in_file);
        bool same = in_file == words->at[i] || in_file + moved == words->at[i];
        if (same && (is_note || out->has_code))
            continue;
        bool decides = is_note || symbols_is_instruction(session->symbols, address - piece->apart, in_file);
        out->has_code = out->has_code || (decides && !is_note);
        if (!same && decides)
            return error_set(error, ERROR_ELF_MISMATCH,
                             ELF_IS_OTHER "at 0x%08" PRIX64 " it holds 0x%08" PRIX32
                                          ", the file 0x%08" PRIX32,
                             address, (uint32_t)words->at[i], in_file);
        if (!same && !words->asleep && out->others++ == 0)
            out->other_at = address;
    }
    return true;
}

bool elf_memory_compare(struct session *session, const struct segment *piece, const struct elf_words *words,
                        struct elf_found *out, struct error *error)
{
    struct elf_found ignored = {0};
    return compare_moved(session, piece, words, (uint32_t)session->request->load_offset,
                         out != NULL ? out : &ignored, error);
}

struct segment elf_memory_piece(const struct segment *segment, size_t k, size_t n)
{
    enum { PIECE = 4 * ELF_WORDS };
    size_t last = segment->size > PIECE ? segment->size - PIECE : 0;
    size_t offset = k + 1 == n ? last : last / (n > 1 ? n - 1 : 1) * k & ~(size_t)3;
    return (struct segment){.address = segment->address + offset,
                            .size = segment->size - offset,
                            .bytes = segment->bytes + offset,
                            .apart = segment->apart};
}

static bool segment_is_within(const struct segment *inner, const struct segment *outer)
{
    return inner->address >= outer->address && inner->size <= outer->size &&
           inner->address - outer->address <= outer->size - inner->size;
}

size_t elf_memory_code(struct session *session, struct segment *out, size_t room)
{
    struct segment segments[ELF_SEGMENTS];
    size_t n_segments = symbols_segments(session->symbols, segments, ELF_SEGMENTS), n = 0;
    size_t all = symbols_code(session->symbols, out, room);
    for (size_t i = 0; i < all; i++) {
        size_t k = 0;
        while (k < n_segments && !segment_is_within(&out[i], &segments[k]))
            k++;
        if (k < n_segments)
            out[n++] = out[i];
    }
    return n;
}

size_t elf_memory_parts(struct session *session, struct segment out[ELF_PARTS])
{
    size_t n = symbols_build_note(session->symbols, &out[0]), first = n;
    n += symbols_segments(session->symbols, out + n, ELF_SEGMENTS);
    size_t segments = n, code = elf_memory_code(session, out + n, ELF_CODE);
    for (size_t i = 0; i < code; i++) {
        const struct segment section = out[segments + i];
        size_t k = first;
        while (k < segments && (out[k].address != section.address || out[k].size != section.size))
            k++;
        if (k == segments)
            out[n++] = section;
    }
    return n;
}

/* --- a program that was moved --------------------------------------------------------------------------- */

static bool elf_memory_is_narrow(const struct session *session)
{
    struct symbols_machine machine;
    symbols_machine(session->symbols, &machine);
    return machine.number == EM_ARM;
}

static bool is_part_there(struct session *session, const struct segment *part, uint64_t offset,
                          struct elf_found *found, struct error *why)
{
    for (size_t i = 0; i < ELF_PIECES; i++) {
        struct segment piece = elf_memory_piece(part, i, ELF_PIECES);
        struct elf_words words;
        uint64_t linked = piece.address - piece.apart;
        piece.address += offset - session->request->load_offset;
        if (elf_memory_is_narrow(session))
            piece.address &= UINT32_MAX;
        piece.apart = piece.address - linked;
        if (!elf_memory_read(session, awake_look, &piece, &words, why) ||
            !compare_moved(session, &piece, &words, (uint32_t)offset, found, why))
            return false;
    }
    return true;
}

struct segment elf_memory_run(const struct session *session, const struct segment *loaded)
{
    struct segment run = *loaded;
    run.address -= loaded->apart;
    run.apart = 0;
    if (elf_memory_is_narrow(session))
        run.address &= UINT32_MAX;
    return run;
}

/* What cannot be read at either place shows nothing. */
static bool is_copied_there(struct session *session, uint64_t offset, struct elf_found *found)
{
    struct segment copied[ELF_CODE];
    size_t n = symbols_copied(session->symbols, copied, ELF_CODE);
    for (size_t i = 0; i < n; i++) {
        const struct segment run = elf_memory_run(session, &copied[i]);
        struct error there = {0}, loaded = {0};
        struct elf_found own[2] = {{0}};
        bool same = is_part_there(session, &run, offset, &own[0], &there) ||
                    is_part_there(session, &copied[i], offset, &own[1], &loaded);
        if (!same && (there.kind == ERROR_ELF_MISMATCH || loaded.kind == ERROR_ELF_MISMATCH))
            return false;
        found->has_code = found->has_code || (same && (own[0].has_code || own[1].has_code));
    }
    return true;
}

bool elf_memory_is_whole(struct session *session, uint64_t offset)
{
    struct segment parts[ELF_PARTS];
    struct elf_found found = {0};
    struct error why = {0};
    size_t n = elf_memory_parts(session, parts);
    for (size_t i = 0; i < n; i++)
        if (!is_part_there(session, &parts[i], offset, &found, &why))
            return false;
    return is_copied_there(session, offset, &found) && found.has_code;
}

/* The words of the target from an address on, as the file has its bytes. */
static bool elf_memory_read_bytes(struct session *session, uint64_t address, uint8_t *out, size_t size)
{
    const struct segment piece = {.address = address, .size = size};
    struct elf_words words;
    struct symbols_machine machine;
    struct error unread = {0};
    symbols_machine(session->symbols, &machine);
    if (!elf_memory_read(session, awake_look, &piece, &words, &unread))
        return false;
    for (size_t i = 0; i < words.n; i++) {
        uint32_t word = (uint32_t)words.at[i];
        if (machine.big_endian_words)
            word = __builtin_bswap32(word);
        memcpy(out + 4 * i, &word, 4);
    }
    return true;
}

bool elf_memory_find_moved(struct session *session, uint64_t pc, uint64_t *by)
{
    static const struct {
        size_t before, size;
    } pieces[] = {{32, 64}, {0, 32}, {32, 32}, {0, 16}, {16, 16}}; /* code may begin or end there */
    uint8_t bytes[64];
    uint64_t linked;
    if (session->symbols == NULL || session->device.chosen->core.memory_hidden)
        return false;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        uint64_t from = (pc & ~UINT64_C(3)) - pieces[i].before;
        if (from > pc || !elf_memory_read_bytes(session, from, bytes, pieces[i].size) ||
            !symbols_find_moved(session->symbols, from, bytes, pieces[i].size, &linked))
            continue;
        *by = session->request->load_offset + (from - linked);
        if (elf_memory_is_narrow(session))
            *by = (uint64_t)(int64_t)(int32_t)*by;
        return from != linked && elf_memory_is_whole(session, *by);
    }
    return false;
}

static bool read_in_sleep(struct device *device, const struct core *core, const struct steps *list,
                          uint64_t *results, bool *asleep, const struct deadline *deadline,
                          struct error *error)
{
    (void)error;
    *asleep = true;
    return asleep_read(device, core, list, results, deadline);
}

bool elf_memory_hides_in_sleep(struct session *session)
{
    enum { SHORT = 4 * 4 }; /* a core may sleep for less than a slow link takes for more */
    struct segment code;
    struct elf_words words;
    struct error differs = {0};
    if (session->symbols == NULL ||
        (elf_memory_code(session, &code, 1) == 0 && symbols_segments(session->symbols, &code, 1) == 0))
        return false;
    code = elf_memory_piece(&code, 1, ELF_PIECES); /* the beginning may be vectors */
    code.size = code.size < SHORT ? code.size : SHORT;
    return elf_memory_read(session, read_in_sleep, &code, &words, &differs) && words.n > 1 &&
           !elf_memory_compare(session, &code, &words, NULL, &differs);
}
