/* What must be in the target's memory as it is in the file, and the file's build id */
#include "symbols/internal.h"

#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <string.h>

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
        collection->out[collection->count++] = (struct segment){address, data->d_size, data->d_buf};
}

/*
 * GNU ld makes one writable segment of code and whatever writable lies beside it (.init_array is
 * enough): only the sections in it can tell which bytes the program never changes.
 */
static void collect_read_only_sections(struct symbols *symbols, struct collection *collection,
                                       const GElf_Phdr *segment)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(symbols->elf, section)) != NULL;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS ||
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
        if (gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_PROGBITS &&
            (header.sh_flags & SHF_EXECINSTR) != 0 && (header.sh_flags & SHF_ALLOC) != 0)
            collect(symbols, &collection, header.sh_addr, header.sh_offset, header.sh_size);
    }
    return collection.count;
}

bool symbols_is_movable(const struct symbols *symbols)
{
    return symbols->is_movable;
}

size_t symbols_segments(struct symbols *symbols, struct segment *out, size_t room)
{
    struct collection collection = {.out = out, .room = room};
    size_t count = 0;
    if (elf_getphdrnum(symbols->elf, &count) != 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(symbols->elf, (int)i, &header) == NULL || header.p_type != PT_LOAD ||
            header.p_paddr != header.p_vaddr || header.p_filesz == 0)
            continue;
        if (header.p_flags & PF_W)
            collect_read_only_sections(symbols, &collection, &header);
        else
            collect(symbols, &collection, header.p_paddr, header.p_offset, header.p_filesz);
    }
    return collection.count;
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

/* In a segment that is in memory where the file says, as symbols_segments has them */
static bool is_loaded(struct symbols *symbols, const GElf_Shdr *section)
{
    size_t count = 0;
    for (size_t i = 0; elf_getphdrnum(symbols->elf, &count) == 0 && i < count; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(symbols->elf, (int)i, &header) != NULL && header.p_type == PT_LOAD &&
            header.p_paddr == header.p_vaddr && section->sh_addr >= header.p_vaddr &&
            section->sh_size <= header.p_filesz &&
            section->sh_addr - header.p_vaddr <= header.p_filesz - section->sh_size)
            return true;
    }
    return false;
}

bool symbols_build_note(struct symbols *symbols, struct segment *out)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(symbols->elf, section)) != NULL;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_NOTE ||
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
            *out = (struct segment){header.sh_addr + at, description + note.n_descsz - at,
                                    (const uint8_t *)raw->d_buf + at};
            return true;
        }
    }
    return false;
}
