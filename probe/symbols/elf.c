/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/values.h"
#include "symbols/internal.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* --- where the program runs ---------------------------------------------------------------------------- */

uint64_t elf_moved(const struct symbols *symbols, uint64_t linked)
{
    uint64_t address = linked + symbols->moved;
    return gelf_getclass(symbols->elf) == ELFCLASS64 ? address : (uint32_t)address;
}

uint64_t elf_linked(const struct symbols *symbols, uint64_t address)
{
    uint64_t linked = address - symbols->moved;
    return gelf_getclass(symbols->elf) == ELFCLASS64 ? linked : (uint32_t)linked;
}

bool elf_section_header(const struct symbols *symbols, Elf_Scn *section, GElf_Shdr *out)
{
    if (gelf_getshdr(section, out) == NULL)
        return false;
    if (out->sh_flags & SHF_ALLOC)
        out->sh_addr = elf_moved(symbols, out->sh_addr);
    return true;
}

/* False: it is not one that is loaded. */
static bool segment_header(const struct symbols *symbols, size_t i, GElf_Phdr *out)
{
    if (gelf_getphdr(symbols->elf, (int)i, out) == NULL || out->p_type != PT_LOAD)
        return false;
    out->p_vaddr = elf_moved(symbols, out->p_vaddr);
    out->p_paddr = elf_moved(symbols, out->p_paddr);
    return true;
}

/* --- sections ------------------------------------------------------------------------------------------ */

bool symbols_is_code(const struct symbols *symbols, uint64_t address)
{
    size_t until = sorted_until(symbols->code, symbols->code_count, sizeof *symbols->code, address);
    return until > 0 && address < symbols->code[until - 1].high;
}

struct debug_section elf_section(Elf *elf, const char *name)
{
    size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return (struct debug_section){NULL, 0};
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS)
            continue;
        const char *found = elf_strptr(elf, names, header.sh_name);
        if (found == NULL || strcmp(found, name) != 0)
            continue;
        Elf_Data *data = elf_rawdata(section, NULL);
        if (data != NULL && data->d_buf != NULL)
            return (struct debug_section){data->d_buf, data->d_size};
    }
    return (struct debug_section){NULL, 0};
}

/* The arrays are what start-up code calls. */
static bool has_bytes(const GElf_Shdr *header)
{
    return header->sh_type == SHT_PROGBITS || header->sh_type == SHT_INIT_ARRAY ||
           header->sh_type == SHT_FINI_ARRAY || header->sh_type == SHT_PREINIT_ARRAY;
}

Elf_Scn *elf_next_bytes(const struct symbols *symbols, Elf_Scn *section, uint64_t *base,
                        const uint8_t **bytes, size_t *n)
{
    GElf_Shdr header;
    while ((section = elf_nextscn(symbols->elf, section)) != NULL) {
        if (!elf_section_header(symbols, section, &header) || !has_bytes(&header) ||
            (header.sh_flags & SHF_ALLOC) == 0)
            continue;
        Elf_Data *data = elf_rawdata(section, NULL);
        if (data == NULL || data->d_buf == NULL)
            continue;
        *base = header.sh_addr;
        *bytes = data->d_buf;
        *n = data->d_size;
        break;
    }
    return section;
}

const uint8_t *elf_code(const struct symbols *symbols, uint64_t address, size_t *n)
{
    GElf_Shdr header;
    *n = 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(symbols->elf, section)) != NULL;) {
        if (!elf_section_header(symbols, section, &header) || header.sh_type != SHT_PROGBITS ||
            (header.sh_flags & SHF_EXECINSTR) == 0 || address < header.sh_addr ||
            address - header.sh_addr >= header.sh_size)
            continue;
        Elf_Data *data = elf_rawdata(section, NULL);
        if (data == NULL || data->d_buf == NULL || address - header.sh_addr >= data->d_size)
            return NULL;
        *n = data->d_size - (address - header.sh_addr);
        return (const uint8_t *)data->d_buf + (address - header.sh_addr);
    }
    return NULL;
}

/* --- attributes ---------------------------------------------------------------------------------------- */

/*
 * Two facts of the .ARM.attributes section matter here: the version of the architecture and its profile. An
 * M-profile core runs only Thumb code, even if symbols are missing. Format: "Addenda to, and Errata in, the
 * ABI for the Arm Architecture", build attributes.
 */
struct attributes {
    char profile;          /* Tag_CPU_arch_profile: 'A', 'R', 'M', 'S'; 0: unknown */
    unsigned architecture; /* Tag_CPU_arch; 0: unknown */
};

enum {
    TAG_FILE = 1,
    TAG_CPU_RAW_NAME = 4,
    TAG_CPU_NAME = 5,
    TAG_CPU_ARCH = 6,
    TAG_PROFILE = 7,
    TAG_COMPATIBILITY = 32
};

/* The whole file's attributes: pairs of a tag and a value, whose form depends on the tag. */
static void read_tags(struct cursor tags, struct attributes *out)
{
    while (cursor_more(&tags)) {
        uint64_t tag = cursor_uleb(&tags);
        if (tag == TAG_COMPATIBILITY) {
            cursor_uleb(&tags);
            cursor_string(&tags);
            continue;
        }
        if (tag == TAG_CPU_RAW_NAME || tag == TAG_CPU_NAME || (tag > TAG_COMPATIBILITY && tag % 2 == 1)) {
            cursor_string(&tags);
            continue;
        }
        uint64_t value = cursor_uleb(&tags);
        if (tag == TAG_PROFILE && value != 0 && value < 0x80)
            out->profile = (char)value;
        if (tag == TAG_CPU_ARCH)
            out->architecture = (unsigned)(value < UINT8_MAX ? value : 0);
    }
}

/* A length that counts itself; `before` bytes of it are already read */
static struct cursor block(struct cursor *cursor, uint64_t before)
{
    uint64_t size = cursor_unsigned(cursor, 4);
    return cursor_part(cursor, size < before + 4 ? UINT64_MAX : size - before - 4);
}

static struct attributes read_attributes(struct debug_section section, bool big_endian)
{
    struct attributes found = {.profile = 0};
    if (section.size == 0 || section.bytes[0] != 'A')
        return found;
    struct cursor all = {
        .at = section.bytes + 1, .end = section.bytes + section.size, .big_endian = big_endian};
    while (cursor_more(&all)) {
        struct cursor vendor = block(&all, 0);
        if (strcmp(cursor_string(&vendor), "aeabi") != 0)
            continue;
        while (cursor_more(&vendor)) {
            uint64_t tag = cursor_uleb(&vendor);
            struct cursor tags = block(&vendor, 1);
            if (tag == TAG_FILE)
                read_tags(tags, &found);
        }
    }
    return found;
}

/* --- opening ------------------------------------------------------------------------------------------- */

static bool elf_refuse(struct symbols *symbols, const uint8_t *bytes, size_t size, struct error *error)
{
    static const struct {
        const char *magic, *what;
    } kinds[] = {
        {"!<arch>\n", "a static library"}, {"UF2\n", "a UF2 image"},    {"S0", "a Motorola S-record file"},
        {"PK\3\4", "a zip archive"},       {"MZ", "a Windows program"}, {":", "an Intel HEX file"},
    };
    const char *file = symbols->file;
    if (size == 0)
        return error_set(error, ERROR_ELF, "%s is empty", file);
    if (size >= SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0)
        return error_set(error, ERROR_ELF, "%s is a damaged ELF file: %s", file, elf_errmsg(-1));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (size >= strlen(kinds[i].magic) && memcmp(bytes, kinds[i].magic, strlen(kinds[i].magic)) == 0)
            return error_set(error, ERROR_ELF, "%s is %s, not an ELF file", file, kinds[i].what);
    char begin[3 * 8 + 1] = "";
    for (size_t i = 0; i < size && i < 8; i++)
        snprintf(begin + 3 * i, sizeof begin - 3 * i, " %02x", bytes[i]);
    return error_set(error, ERROR_ELF, "%s is not an ELF file: it begins with%s", file, begin);
}

static int extent_order(const void *a, const void *b)
{
    const struct extent *left = a;
    const struct extent *right = b;
    return left->low < right->low ? -1 : left->low > right->low;
}

static void code_add(struct symbols *symbols, struct extent extent)
{
    if (extent.low < extent.high)
        symbols->code[symbols->code_count++] = extent;
}

static void code_merge(struct symbols *symbols)
{
    if (symbols->code_count == 0)
        return;
    qsort(symbols->code, symbols->code_count, sizeof symbols->code[0], extent_order);
    size_t last = 0;
    for (size_t i = 1; i < symbols->code_count; i++) {
        symbols->is_overlaid = symbols->is_overlaid || symbols->code[i].low < symbols->code[last].high;
        if (symbols->code[i].low > symbols->code[last].high)
            symbols->code[++last] = symbols->code[i];
        else if (symbols->code[i].high > symbols->code[last].high)
            symbols->code[last].high = symbols->code[i].high;
    }
    symbols->code_count = last + 1;
}

static struct extent extent_make(uint64_t low, uint64_t size)
{
    return (struct extent){low, size > UINT64_MAX - low ? UINT64_MAX : low + size};
}

/* False: out of memory. Without them a part of the program would go for all of it. */
static bool read_sections(struct symbols *symbols)
{
    size_t count = 0;
    if (elf_getshdrnum(symbols->elf, &count) != 0 || count == 0)
        return true;
    symbols->sections = calloc(count, sizeof symbols->sections[0]);
    symbols->code = calloc(count, sizeof symbols->code[0]);
    if (symbols->sections == NULL || symbols->code == NULL)
        return false;
    symbols->section_count = count;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(symbols->elf, section)) != NULL;) {
        GElf_Shdr header;
        size_t index = elf_ndxscn(section);
        if (index >= count || !elf_section_header(symbols, section, &header) ||
            !(header.sh_flags & SHF_ALLOC))
            continue;
        symbols->sections[index] = extent_make(header.sh_addr, header.sh_size);
        if (header.sh_flags & SHF_EXECINSTR) {
            code_add(symbols, symbols->sections[index]);
            symbols->has_code = symbols->has_code || header.sh_type != SHT_NOBITS;
        }
    }
    return true;
}

static bool read_segments(struct symbols *symbols)
{
    size_t count = 0;
    if (symbols->code_count > 0 || elf_getphdrnum(symbols->elf, &count) != 0 || count == 0)
        return true;
    free(symbols->code);
    symbols->code = calloc(count, sizeof symbols->code[0]);
    for (size_t i = 0; symbols->code != NULL && i < count; i++) {
        GElf_Phdr header;
        if (segment_header(symbols, i, &header) && (header.p_flags & PF_X)) {
            symbols->has_code = symbols->has_code || header.p_filesz > 0;
            code_add(symbols, extent_make(header.p_vaddr, header.p_memsz));
        }
    }
    return symbols->code != NULL;
}

/* gABI chapter 5: a program that is interpreted, or needs an object. A U-Boot that moves itself does neither.
 */
static bool needs_libraries(Elf *elf)
{
    size_t count = 0;
    GElf_Phdr segment;
    GElf_Shdr header;
    GElf_Dyn entry;
    for (size_t i = 0; elf_getphdrnum(elf, &count) == 0 && i < count; i++)
        if (gelf_getphdr(elf, (int)i, &segment) != NULL && segment.p_type == PT_INTERP)
            return true;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        bool is_dynamic = gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_DYNAMIC;
        Elf_Data *data = is_dynamic ? elf_getdata(section, NULL) : NULL;
        for (int i = 0; data != NULL && gelf_getdyn(data, i, &entry) != NULL && entry.d_tag != DT_NULL; i++)
            if (entry.d_tag == DT_NEEDED)
                return true;
    }
    return false;
}

static bool elf_read_header(struct symbols *symbols, size_t size, struct error *error)
{
    GElf_Ehdr header;
    if (symbols->elf == NULL || elf_kind(symbols->elf) != ELF_K_ELF ||
        gelf_getehdr(symbols->elf, &header) == NULL)
        return elf_refuse(symbols, symbols->image, size, error);
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        return error_set(error, ERROR_ELF, "%s is not a linked program but %s (ELF type %u)", symbols->file,
                         header.e_type == ET_REL    ? "an object file"
                         : header.e_type == ET_CORE ? "a core dump"
                                                    : "something else",
                         header.e_type);
    if (header.e_shoff >= size)
        return error_set(error, ERROR_ELF,
                         "%s is cut short: its section headers are at %" PRIu64 " of %zu bytes",
                         symbols->file, header.e_shoff, size);
    symbols->machine = header.e_machine;
    symbols->is_movable = header.e_type == ET_DYN;
    symbols->entry = header.e_entry;
    symbols->big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
    symbols->big_endian_code =
        symbols->big_endian && symbols->machine == EM_ARM && (header.e_flags & EF_ARM_BE8) == 0;
    return true;
}

/* --- what libdw would do with a file from anywhere ------------------------------------------------------ */

/* "ZLIB", then the size in 8 bytes, the highest first: .zdebug_*, as GNU wrote it once. 0: it is none. */
static uint64_t old_unpacked_size(Elf_Scn *section)
{
    enum { HEAD = 12 };
    const Elf_Data *data = elf_rawdata(section, NULL);
    const uint8_t *bytes = data != NULL ? data->d_buf : NULL;
    uint64_t size = 0;
    if (bytes == NULL || data->d_size < HEAD || memcmp(bytes, "ZLIB", 4) != 0)
        return 0;
    for (size_t i = 4; i < HEAD; i++)
        size = size << 8 | bytes[i];
    return size;
}

/* A file whose sections unpack; `unpacked` is what those so far take. */
struct packed_file {
    const char *name;
    uint64_t size, unpacked;
};

static bool check_unpacked(struct packed_file *file, Elf_Scn *section, uint64_t size, struct error *error)
{
    enum { MIB = 1 << 20, FREE_MIB = 16, MOST_MIB = 512, MOST_TIMES = 64 };
    file->unpacked = size < UINT64_MAX - file->unpacked ? file->unpacked + size : UINT64_MAX;
    bool fits = file->unpacked <= (uint64_t)FREE_MIB * MIB || file->unpacked / MOST_TIMES <= file->size;
    return (fits && file->unpacked <= (uint64_t)MOST_MIB * MIB) ||
           error_set(error, ERROR_ELF,
                     "%s: section %zu claims to unpack to %" PRIu64 " bytes, in a file of %" PRIu64,
                     file->name, elf_ndxscn(section), size, file->size);
}

/* Checks what compressed sections take, before libelf and libdw give it to them: also to that of the
 * sections' names. Lets no section name a file for libdw to open: dwz's. */
static bool elf_tame(Elf *elf, size_t size, const char *name, struct error *error)
{
    struct packed_file file = {.name = name, .size = size};
    size_t names = 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Chdr compressed;
        if (gelf_getchdr(section, &compressed) != NULL &&
            !check_unpacked(&file, section, compressed.ch_size, error))
            return false;
    }
    if (elf_getshdrstrndx(elf, &names) != 0)
        return true;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        const char *of =
            gelf_getshdr(section, &header) != NULL ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (of != NULL && strncmp(of, ".zdebug", 7) == 0 &&
            !check_unpacked(&file, section, old_unpacked_size(section), error))
            return false;
        Elf_Data *data =
            of != NULL && strcmp(of, ".gnu_debugaltlink") == 0 ? elf_rawdata(section, NULL) : NULL;
        if (data != NULL && data->d_buf != NULL)
            memset(data->d_buf, 0, data->d_size);
    }
    return true;
}

static struct symbols *open_image(uint8_t *image, size_t size, const char *file, struct error *error)
{
    elf_version(EV_CURRENT);
    struct symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols == NULL) {
        free(image);
        return error_null(error, ERROR_SYSTEM, "no memory for the symbols of %s", file);
    }
    name_copy(symbols->file, sizeof symbols->file, file, strlen(file));
    symbols->image = image;
    symbols->elf = symbols->debug = size > 0 ? elf_memory((char *)image, size) : NULL;
    if (!elf_read_header(symbols, size, error) || !elf_tame(symbols->elf, size, symbols->file, error)) {
        symbols_close(symbols);
        return NULL;
    }
    if (!read_sections(symbols) || !read_segments(symbols)) {
        symbols_close(symbols);
        return error_null(error, ERROR_SYSTEM, "no memory for the symbols of %s", file);
    }
    code_merge(symbols);
    symbols->has_libraries = needs_libraries(symbols->elf);
    if (symbols->machine == EM_ARM) {
        struct attributes found =
            read_attributes(elf_section(symbols->elf, ".ARM.attributes"), symbols->big_endian);
        symbols->profile = found.profile;
        symbols->architecture = found.architecture;
    }
    return symbols;
}

void symbols_move(struct symbols *symbols, uint64_t by)
{
    bases_close(symbols);
    exclusives_close(symbols);
    symbols->moved = by;
    symbols->entry = elf_moved(symbols, symbols->entry);
    for (size_t i = 0; i < symbols->section_count; i++) {
        struct extent *section = &symbols->sections[i];
        if (section->low < section->high)
            *section = extent_make(elf_moved(symbols, section->low), section->high - section->low);
    }
    for (size_t i = 0; i < symbols->code_count; i++)
        symbols->code[i] = extent_make(elf_moved(symbols, symbols->code[i].low),
                                       symbols->code[i].high - symbols->code[i].low);
    if (symbols->code_count > 0)
        qsort(symbols->code, symbols->code_count, sizeof symbols->code[0], extent_order);
}

struct symbols *symbols_open_memory(const void *bytes, size_t size, struct error *error)
{
    uint8_t *image = malloc(size ? size : 1);
    if (image == NULL)
        return error_null(error, ERROR_SYSTEM, "no memory for an ELF file of %zu bytes", size);
    if (size > 0)
        memcpy(image, bytes, size);
    return open_image(image, size, "the ELF file", error);
}

/*
 * The file is copied, not mapped: the next build may overwrite it while we run, and a mapped file that
 * shrinks would kill us with SIGBUS before the target is restored. NULL and `error` on failure.
 */
static uint8_t *read_file(const char *path, size_t *size, struct error *error)
{
    struct stat status;
    int fd = file_open_plain(path, 0, &status);
    if (fd < 0 && (errno == EISDIR || errno == EINVAL))
        return error_null(error, ERROR_ELF, "%s is %s, not an ELF file", path,
                          errno == EISDIR ? "a directory" : "not a plain file");
    if (fd < 0)
        return error_null(error, ERROR_ELF, "cannot open %s: %s", path, strerror(errno));
    size_t room = (size_t)status.st_size;
    uint8_t *image = malloc(room ? room : 1);
    ssize_t got = image != NULL ? file_read(fd, image, room, NULL) : -1;
    int reason = errno;
    close(fd);
    if (got < 0) {
        free(image);
        return error_null(error, ERROR_SYSTEM, "cannot read %s: %s", path, strerror(reason));
    }
    *size = (size_t)got;
    return image;
}

/* --- the separate file that has the names and lines of a stripped program ------------------------------ */

static bool debug_file_is_wanted(Elf *elf)
{
    bool has_symbols = false,
         has_lines = elf_section(elf, ".debug_line").size > 0 || elf_section(elf, ".zdebug_line").size > 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        has_symbols = has_symbols || (gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_SYMTAB);
    }
    return !has_symbols || !has_lines;
}

const char *debug_file_name(Elf *elf)
{
    GElf_Word checksum;
    return dwelf_elf_gnu_debuglink(elf, &checksum);
}

static bool has_same_build_id(Elf *one, Elf *other)
{
    const void *its, *id;
    ssize_t size = dwelf_elf_gnu_build_id(one, &id);
    return size > 0 && dwelf_elf_gnu_build_id(other, &its) == size && memcmp(id, its, (size_t)size) == 0;
}

/* Takes this file if it is the one that is meant. Without it, less is known. */
static bool open_debug_file(struct symbols *symbols, const char *path)
{
    struct error ignored = {.kind = ERROR_NONE};
    GElf_Word checksum = 0;
    size_t size = 0;
    uint8_t *image = read_file(path, &size, &ignored);
    Elf *debug = image != NULL ? elf_memory((char *)image, size) : NULL;
    bool is_elf = debug != NULL && elf_kind(debug) == ELF_K_ELF &&
                  gelf_getclass(debug) == gelf_getclass(symbols->elf) &&
                  elf_tame(debug, size, path, &ignored);
    bool fits = is_elf && (has_same_build_id(symbols->elf, debug) ||
                           (dwelf_elf_gnu_debuglink(symbols->elf, &checksum) != NULL &&
                            crc32_z(crc32(0, NULL, 0), image, size) == checksum));
    if (fits) {
        symbols->debug = debug;
        symbols->debug_image = image;
        return true;
    }
    if (debug != NULL)
        elf_end(debug);
    free(image);
    return false;
}

static const char debug_root[] = "/usr/lib/debug";

static bool find_by_build_id(struct symbols *symbols)
{
    char path[128];
    const char *id = symbols_build_id(symbols);
    return strlen(id) > 2 &&
           snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", debug_root, id, id + 2) <
               (int)sizeof path &&
           open_debug_file(symbols, path);
}

/* Where GDB finds it, too: next to the program, in .debug, in /usr/lib/debug. libdwfl would do the same, but
 * it asks a server that the environment names (debuginfod), and waits for pipes. */
static void find_debug_file(struct symbols *symbols, const char *path)
{
    char file[PATH_MAX], *real = realpath(path, NULL);
    const char *name = debug_file_name(symbols->elf);
    const struct {
        const char *root, *below;
    } places[] = {{"", ""}, {"", ".debug/"}, {debug_root, ""}};
    bool found = !debug_file_is_wanted(symbols->elf) || find_by_build_id(symbols);
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++)
        found = name != NULL && real != NULL && strchr(name, '/') == NULL &&
                snprintf(file, sizeof file, "%s%.*s%s%s", places[i].root, (int)(name_of_file(real) - real),
                         real, places[i].below, name) < (int)sizeof file &&
                open_debug_file(symbols, file);
    free(real);
}

struct symbols *symbols_open(const char *path, struct error *error)
{
    size_t size = 0;
    uint8_t *image = read_file(path, &size, error);
    struct symbols *symbols = image != NULL ? open_image(image, size, name_of_file(path), error) : NULL;
    if (symbols != NULL)
        find_debug_file(symbols, path);
    return symbols;
}

struct symbols *symbols_open_moved(const char *path, uint64_t by, struct error *error)
{
    struct symbols *symbols = symbols_open(path, error);
    if (symbols != NULL)
        symbols_move(symbols, by);
    return symbols;
}

void symbols_close(struct symbols *symbols)
{
    if (symbols == NULL)
        return;
    functions_close(symbols);
    bases_close(symbols);
    exclusives_close(symbols);
    lines_close(symbols);
    free(symbols->units);
    if (symbols->dwarf != NULL)
        dwarf_end(symbols->dwarf);
    free(symbols->table.functions);
    free(symbols->table.labels);
    free(symbols->table.objects);
    free(symbols->table.marks);
    free(symbols->table.names);
    free(symbols->sections);
    free(symbols->code);
    free(symbols->jumps.items);
    free(symbols->pointed.items);
    free(symbols->handlers.items);
    free(symbols->own_calls.items);
    if (symbols->debug != symbols->elf)
        elf_end(symbols->debug);
    if (symbols->elf != NULL)
        elf_end(symbols->elf);
    free(symbols->debug_image);
    free(symbols->image);
    free(symbols);
}

/* --- what is in the target ----------------------------------------------------------------------------- */

struct collection {
    struct segment *out;
    size_t count, room;
};

static void collect(struct symbols *symbols, struct collection *collection, uint64_t address, uint64_t offset,
                    uint64_t size)
{
    if (collection->count == collection->room || size == 0 || offset > INT64_MAX)
        return;
    Elf_Data *data = elf_getdata_rawchunk(symbols->elf, (int64_t)offset, size, ELF_T_BYTE);
    if (data != NULL && data->d_buf != NULL && data->d_size == size)
        collection->out[collection->count++] =
            (struct segment){.address = address, .size = data->d_size, .bytes = data->d_buf};
}

/*
 * GNU ld makes one writable segment of the code and any writable section next to it, even .init_array: only
 * the sections in it say which bytes the program never changes.
 */
static void collect_read_only_sections(struct symbols *symbols, struct collection *collection,
                                       const GElf_Phdr *segment)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(symbols->elf, section)) != NULL;) {
        GElf_Shdr header;
        if (!elf_section_header(symbols, section, &header) || header.sh_type == SHT_NOBITS ||
            !(header.sh_flags & SHF_ALLOC) || (header.sh_flags & SHF_WRITE))
            continue;
        if (header.sh_offset >= segment->p_offset &&
            header.sh_offset - segment->p_offset < segment->p_filesz &&
            header.sh_size <= segment->p_filesz - (header.sh_offset - segment->p_offset) &&
            header.sh_addr - segment->p_vaddr == header.sh_offset - segment->p_offset)
            collect(symbols, collection, header.sh_addr, header.sh_offset, header.sh_size);
    }
}

size_t symbols_code(struct symbols *symbols, struct segment *out, size_t room)
{
    struct collection collection = {.out = out, .room = room};
    for (Elf_Scn *section = NULL; (section = elf_nextscn(symbols->elf, section)) != NULL;) {
        GElf_Shdr header;
        if (elf_section_header(symbols, section, &header) && header.sh_type == SHT_PROGBITS &&
            (header.sh_flags & SHF_EXECINSTR) != 0 && (header.sh_flags & SHF_ALLOC) != 0)
            collect(symbols, &collection, header.sh_addr, header.sh_offset, header.sh_size);
    }
    return collection.count;
}

static bool is_moved(const uint8_t *linked, const uint8_t *bytes, size_t n, uint32_t by)
{
    for (size_t i = 0; i + 4 <= n; i += 4) {
        uint32_t was, is;
        memcpy(&was, linked + i, 4);
        memcpy(&is, bytes + i, 4);
        if (was != is && was + by != is)
            return false;
    }
    return true;
}

bool symbols_find_moved(struct symbols *symbols, uint64_t address, const uint8_t *bytes, size_t n,
                        uint64_t *linked)
{
    enum { SECTIONS = 64, APART = 4 };
    struct segment code[SECTIONS];
    size_t count = symbols_code(symbols, code, SECTIONS), found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t at = (APART - code[i].address % APART) % APART; at + n <= code[i].size; at += APART) {
            uint64_t here = code[i].address + at;
            if (is_moved(code[i].bytes + at, bytes, n, (uint32_t)(address - here))) {
                *linked = here;
                found++;
            }
        }
    return found == 1;
}

bool symbols_overlay(struct symbols *symbols, uint64_t address, char *out, size_t size)
{
    size_t names = 0, n = 0, used = 0;
    out[0] = '\0';
    if (symbols == NULL || !symbols->is_overlaid || elf_getshdrstrndx(symbols->elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(symbols->elf, section)) != NULL;) {
        GElf_Shdr header;
        const uint64_t both = SHF_EXECINSTR | SHF_ALLOC;
        if (!elf_section_header(symbols, section, &header) || header.sh_type != SHT_PROGBITS ||
            (header.sh_flags & both) != both || address < header.sh_addr ||
            address - header.sh_addr >= header.sh_size)
            continue;
        const char *name = elf_strptr(symbols->elf, names, header.sh_name);
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%.40s", n > 0 ? ", " : "",
                                     name != NULL ? name : "?");
        n++;
    }
    return n > 1;
}

bool symbols_is_movable(const struct symbols *symbols)
{
    return symbols->is_movable;
}

bool symbols_has_code(const struct symbols *symbols)
{
    return symbols->has_code;
}

size_t symbols_segments(struct symbols *symbols, struct segment *out, size_t room)
{
    struct collection collection = {.out = out, .room = room};
    size_t count = 0;
    if (!symbols->has_code || elf_getphdrnum(symbols->elf, &count) != 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!segment_header(symbols, i, &header) || header.p_paddr != header.p_vaddr || header.p_filesz == 0)
            continue;
        /* A loader that copies sections leaves the file's own headers out */
        if ((header.p_flags & PF_W) || header.p_offset == 0)
            collect_read_only_sections(symbols, &collection, &header);
        else
            collect(symbols, &collection, header.p_paddr, header.p_offset, header.p_filesz);
    }
    return collection.count;
}

/* The segment that has the section's bytes. */
static bool segment_of(struct symbols *symbols, const GElf_Shdr *section, GElf_Phdr *out)
{
    size_t count = 0;
    for (size_t i = 0; elf_getphdrnum(symbols->elf, &count) == 0 && i < count; i++)
        if (segment_header(symbols, i, out) && section->sh_offset >= out->p_offset &&
            section->sh_offset - out->p_offset < out->p_filesz &&
            section->sh_size <= out->p_filesz - (section->sh_offset - out->p_offset))
            return true;
    return false;
}

/* The functions of a section from `from` on, up to a variable; false: there are none. */
static bool next_functions(struct symbols *symbols, const GElf_Shdr *section, uint64_t from,
                           struct extent *out)
{
    enum { GAP = 16 }; /* of alignment */
    const struct table *table = table_get(symbols);
    bool any = false;
    for (size_t i = 0; i < table->function_count; i++) {
        const struct symbol *function = &table->functions[i];
        struct extent its = {0};
        if (function->address < from || function->address < section->sh_addr ||
            function->address - section->sh_addr >= section->sh_size)
            continue;
        (void)table_around(symbols, function->address, &its);
        if (any && function->address > out->high && function->address - out->high > GAP)
            break;
        out->low = any ? out->low : function->address;
        out->high = any && out->high > its.high ? out->high : its.high;
        any = true;
    }
    uint64_t end = section->sh_addr + section->sh_size;
    out->high = any && out->high > end ? end : out->high;
    return any && out->high > out->low;
}

/* Of a section with variables the functions, which the program does not change. */
static void collect_copied(struct symbols *symbols, struct collection *collection, const GElf_Shdr *section,
                           uint64_t apart)
{
    size_t before = collection->count;
    struct extent code = {.high = section->sh_addr};
    while ((section->sh_flags & SHF_WRITE) && next_functions(symbols, section, code.high, &code))
        collect(symbols, collection, code.low + apart, section->sh_offset + (code.low - section->sh_addr),
                code.high - code.low);
    if (code.high == section->sh_addr)
        collect(symbols, collection, section->sh_addr + apart, section->sh_offset, section->sh_size);
    for (size_t i = before; i < collection->count; i++)
        collection->out[i].apart = apart;
}

size_t symbols_copied(struct symbols *symbols, struct segment *out, size_t room)
{
    struct collection collection = {.out = out, .room = room};
    for (Elf_Scn *section = NULL; (section = elf_nextscn(symbols->elf, section)) != NULL;) {
        GElf_Shdr header;
        GElf_Phdr segment;
        if (!symbols->has_code || !elf_section_header(symbols, section, &header) ||
            header.sh_type != SHT_PROGBITS || (header.sh_flags & SHF_EXECINSTR) == 0 ||
            (header.sh_flags & SHF_ALLOC) == 0 || !segment_of(symbols, &header, &segment))
            continue;
        uint64_t apart = segment.p_paddr + (header.sh_offset - segment.p_offset) - header.sh_addr;
        bool varies = (header.sh_flags & SHF_WRITE) && ((segment.p_flags & PF_W) || segment.p_offset == 0);
        if (apart != 0 || varies || segment.p_paddr != segment.p_vaddr)
            collect_copied(symbols, &collection, &header, apart);
    }
    return collection.count;
}

uint64_t symbols_hash(const struct symbols *symbols)
{
    uint64_t hash = 0, base;
    const uint8_t *bytes;
    size_t n;
    for (Elf_Scn *at = NULL; (at = elf_next_bytes(symbols, at, &base, &bytes, &n)) != NULL;) {
        hash = hash_add(hash, &base, sizeof base);
        hash = hash_add(hash, bytes, n);
    }
    return hash;
}

const char *symbols_build_id(struct symbols *symbols)
{
    if (symbols->build_id[0] != '\0')
        return symbols->build_id;
    const void *bytes = NULL;
    ssize_t size = dwelf_elf_gnu_build_id(symbols->elf, &bytes);
    for (ssize_t i = 0; i < size && 2 * (size_t)i + 2 < sizeof symbols->build_id; i++)
        snprintf(symbols->build_id + 2 * i, 3, "%02x", ((const uint8_t *)bytes)[i]);
    return symbols->build_id;
}

/* In a segment that symbols_segments returns. */
static bool is_loaded(struct symbols *symbols, const GElf_Shdr *section)
{
    size_t count = 0;
    for (size_t i = 0; elf_getphdrnum(symbols->elf, &count) == 0 && i < count; i++) {
        GElf_Phdr header;
        if (segment_header(symbols, i, &header) && header.p_paddr == header.p_vaddr &&
            section->sh_addr >= header.p_vaddr && section->sh_size <= header.p_filesz &&
            section->sh_addr - header.p_vaddr <= header.p_filesz - section->sh_size)
            return true;
    }
    return false;
}

bool symbols_build_note(struct symbols *symbols, struct segment *out)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(symbols->elf, section)) != NULL;) {
        GElf_Shdr header;
        if (!elf_section_header(symbols, section, &header) || header.sh_type != SHT_NOTE ||
            !(header.sh_flags & SHF_ALLOC) || (header.sh_flags & SHF_WRITE) || !is_loaded(symbols, &header))
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Nhdr note;
        size_t name = 0, description = 0;
        for (size_t at = 0, next; data != NULL && data->d_buf != NULL &&
                                  (next = gelf_getnote(data, at, &note, &name, &description)) > 0;
             at = next) {
            const char *owner = (const char *)data->d_buf + name;
            if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof ELF_NOTE_GNU ||
                memcmp(owner, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) != 0)
                continue;
            Elf_Data *raw = elf_rawdata(section, NULL);
            if (raw == NULL || raw->d_buf == NULL || description + note.n_descsz > raw->d_size)
                return false;
            *out = (struct segment){.address = header.sh_addr + at,
                                    .size = description + note.n_descsz - at,
                                    .bytes = (const uint8_t *)raw->d_buf + at};
            return true;
        }
    }
    return false;
}

/* --- machine ------------------------------------------------------------------------------------------- */

static const struct {
    unsigned number;
    const char *name;
} machines[] = {
    {EM_386, "32-bit x86"}, {EM_X86_64, "x86-64"}, {EM_AARCH64, "AArch64"}, {EM_RISCV, "RISC-V"},
    {EM_MIPS, "MIPS"},      {EM_PPC, "PowerPC"},   {EM_PPC64, "PowerPC64"}, {EM_AVR, "AVR"},
    {EM_XTENSA, "Xtensa"},  {EM_MSP430, "MSP430"}, {EM_K10M, "K1OM"},       {EM_L10M, "L1OM"},
};

/* Tag_CPU_arch */
static const char *const architectures[] = {
    NULL,        "Armv4",   "Armv4T",           "Armv5T",  "Armv5TE",   "Armv5TEJ",  "Armv6",
    "Armv6KZ",   "Armv6T2", "Armv6K",           "Armv7",   "Armv6-M",   "Armv6-M",   "Armv7E-M",
    "Armv8-A",   "Armv8-R", "Armv8-M baseline", "Armv8-M", "Armv8.1-A", "Armv8.2-A", "Armv8.3-A",
    "Armv8.1-M", "Armv9-A",
};

void symbols_machine(const struct symbols *symbols, struct symbols_machine *out)
{
    enum { ARCHITECTURES = sizeof architectures / sizeof *architectures, V7 = 10 };
    unsigned architecture = symbols->architecture;
    *out = (struct symbols_machine){.number = symbols->machine,
                                    .profile = symbols->profile,
                                    .architecture = architecture,
                                    .big_endian_words = symbols->big_endian_code};
    snprintf(out->name, sizeof out->name, "machine %u", symbols->machine);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].number == symbols->machine)
            snprintf(out->name, sizeof out->name, "%s", machines[i].name);
    if (symbols->machine != EM_ARM)
        return;
    const char *name = architecture < ARCHITECTURES ? architectures[architecture] : NULL;
    if (architecture == V7 && out->profile != 0)
        snprintf(out->name, sizeof out->name, "Armv7-%c", out->profile);
    else
        snprintf(out->name, sizeof out->name, "%s", name != NULL ? name : "Arm");
}
