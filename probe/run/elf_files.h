/* SPDX-License-Identifier: MIT */
/*
 * ELF files: those in the folders where builds leave theirs, newest first, by their first bytes: ./, build/
 * and two levels below it, target/ and target/TRIPLE/ with debug and release (cargo), .pio/build/BOARD/. And
 * a file against the target's memory, piece by piece.
 */
#pragma once

#include "device/device.h"
#include "run/session.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ELF_IS_OTHER "the target does not run this ELF: "

enum { ELF_FILES = 24 };

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

enum { ELF_WORDS = 64, ELF_SEGMENTS = 16, ELF_CODE = 16, ELF_PIECES = 3 };
enum { ELF_PARTS = ELF_SEGMENTS + ELF_CODE + 1 };

/* Words of the target, in place of a piece of the file from its byte `skip` on. */
struct elf_words {
    uint64_t at[ELF_WORDS];
    size_t skip, n;
    bool asleep; /* the core slept, so that they may be other than memory has */
};

/* At most ELF_WORDS, by awake_look or another reader. */
bool elf_memory_read(struct session *session, memory_reader *read, const struct segment *piece,
                     struct elf_words *out, struct error *error);
/* What a comparison has found. */
struct elf_found {
    bool has_code; /* an instruction was compared */
    size_t others; /* words that differ, and no instruction has */
    uint64_t other_at;
};
/* ERROR_ELF_MISMATCH with the first difference of what decides: of code, and of the build ID's note. It adds
 * to *out, which may be NULL. */
bool elf_memory_compare(struct session *session, const struct segment *piece, const struct elf_words *words,
                        struct elf_found *out, struct error *error);
/* The note of the build ID, if there is one, then all segments, then the code in them, by section. */
size_t elf_memory_parts(struct session *session, struct segment out[ELF_PARTS]);
/* Sections of code that are loaded where they run. */
size_t elf_memory_code(struct session *session, struct segment *out, size_t room);
/* What symbols_copied returns, at the place where it runs. */
struct segment elf_memory_run(const struct session *session, const struct segment *loaded);
/* The piece of a part that is the k-th of `n`: its beginning, its end, and what is between. */
struct segment elf_memory_piece(const struct segment *segment, size_t k, size_t n);
/* Whether all of the program's code is there, `offset` above its addresses: one function alone may be in
 * another program, too. */
bool elf_memory_is_whole(struct session *session, uint64_t offset);
/* Whether the code at a core's PC is that of another place of the ELF alone: `by` is the --load-offset with
 * which it would be there. */
bool elf_memory_find_moved(struct session *session, uint64_t pc, uint64_t *by);
/* Whether the chip shows other than its memory while its core sleeps, as far as it sleeps within a moment. */
bool elf_memory_hides_in_sleep(struct session *session);
