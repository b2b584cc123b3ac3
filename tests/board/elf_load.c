// ELF loading by libelf.
#include "elf_load.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool complain(const char *path, const char *what)
{
    fprintf(stderr, "board: %s: %s\n", path, what);
    return false;
}

static bool load_segments(struct bus *bus, Elf *elf, const char *path)
{
    size_t count, file_size, loaded = 0;
    const char *file = elf_rawfile(elf, &file_size);
    if (elf_getphdrnum(elf, &count) || !file)
        return complain(path, elf_errmsg(-1));
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr p;
        if (!gelf_getphdr(elf, (int)i, &p))
            return complain(path, elf_errmsg(-1));
        if (p.p_type != PT_LOAD || !p.p_filesz)
            continue;
        if (p.p_offset > file_size || p.p_filesz > file_size - p.p_offset || p.p_paddr > UINT32_MAX ||
            p.p_filesz > UINT32_MAX)
            return complain(path, "a segment lies outside the file");
        if (!bus_poke(bus, (uint32_t)p.p_paddr, (const uint8_t *)file + p.p_offset, (uint32_t)p.p_filesz))
            return complain(path, "a segment does not fit the chip's memories");
        loaded++;
    }
    return loaded ? true : complain(path, "nothing to load");
}

bool elf_load(struct bus *bus, const char *path)
{
    if (elf_version(EV_CURRENT) == EV_NONE)
        return complain(path, "libelf is too old");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return complain(path, strerror(errno));
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    GElf_Ehdr header;
    bool ok = false;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ||
        (header.e_machine != EM_ARM && header.e_machine != EM_AARCH64))
        complain(path, "not an Arm ELF file");
    else
        ok = load_segments(bus, elf, path);
    elf_end(elf);
    close(fd);
    return ok;
}

static bool find(Elf *elf, Elf_Scn *section, const char *name, uint32_t *value)
{
    GElf_Shdr header;
    GElf_Sym symbol;
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || !gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
        return false;
    for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
        const char *found = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (found && symbol.st_shndx != SHN_UNDEF && strcmp(found, name) == 0) {
            *value = (uint32_t)symbol.st_value;
            return true;
        }
    }
    return false;
}

bool elf_symbol(const char *path, const char *name, uint32_t *value)
{
    int fd = elf_version(EV_CURRENT) == EV_NONE ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    bool found = false;
    for (Elf_Scn *s = NULL; elf && !found && (s = elf_nextscn(elf, s));)
        found = find(elf, s, name, value);
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return found;
}
