/*
 * The separate file that has the names and lines of a stripped program: found by its build ID or its
 * .gnu_debuglink where GDB finds it, by libdwfl, which also compares the ID or the checksum.
 */
#include "symbols/internal.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <string.h>

bool debug_file_is_wanted(Elf *elf)
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

bool debug_file_find(const char *path, char *out, size_t room)
{
    char *folders = NULL; /* libdwfl's: next to the file, .debug, /usr/lib/debug */
    const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                      .find_debuginfo = dwfl_standard_find_debuginfo,
                                      .section_address = dwfl_offline_section_address,
                                      .debuginfo_path = &folders};
    const char *name = NULL;
    Dwarf_Addr bias = 0;
    Dwfl *session = dwfl_begin(&callbacks);
    Dwfl_Module *module = session != NULL ? dwfl_report_offline(session, "", path, -1) : NULL;
    out[0] = '\0';
    if (module != NULL && dwfl_report_end(session, NULL, NULL) == 0 &&
        dwfl_module_getdwarf(module, &bias) != NULL &&
        dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, &name) != NULL && name != NULL &&
        strlen(name) < room)
        snprintf(out, room, "%s", name);
    dwfl_end(session);
    return out[0] != '\0';
}
