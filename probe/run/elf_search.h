/*
 * The ELF files in the folders where builds leave theirs: ./, build/ and two levels below it, target/ and
 * target/TRIPLE/ with debug and release (cargo), .pio/build/BOARD/. By their first bytes, newest first.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ELF_PATH = 512, ELF_FILES = 24 };

struct elf_files {
    struct elf_file {
        char path[ELF_PATH];
        int64_t changed_ns;
    } files[ELF_FILES];
    size_t n;
    unsigned entries; /* that were read */
};

extern const char elf_folders[]; /* for messages */
/* Programs alone: object files and archives are none. A symbolic link is not followed. */
void elf_files_find(struct elf_files *out);
