/*
 * Inside of symbols/: the open file, and what its parts ask of each other. elf.c opens the file and
 * knows sections and segments; table.c the symbol table; lines.c the DWARF line tables; scopes.c the
 * DWARF functions; inlined.c those that are only inlined; locate.c turns text into addresses and addresses
 * into text. Symbol table and DWARF are read when they are first asked for. Wherever the file contradicts
 * itself there is less to tell, never an error in the middle: only opening can fail.
 */
#pragma once

#include "symbols/symbols.h"

#include <elfutils/libdw.h>
#include <gelf.h>

struct extent {
    uint64_t low, high; /* [low, high) */
};

struct symbol {
    const char *name;
    const char *file; /* of a local symbol, by the symbol table; may be NULL */
    uint64_t address; /* Thumb bit cleared */
    uint64_t size;
    uint64_t limit; /* where its section ends */
    unsigned char type, bind;
    bool thumb;
};

/* $a, $t, $d, $x: what the bytes from here on are */
struct mark {
    uint64_t address, limit;
    char kind;
};

struct table {
    bool loaded;
    struct symbol *functions, *labels, *objects; /* functions and labels by address, the best name first */
    size_t function_count, label_count, object_count;
    struct mark *marks; /* by address */
    size_t mark_count;
};

/* A compilation unit, and where its line table is */
struct unit {
    Dwarf_Die die;
    uint64_t lines;
    bool has_lines;
};

struct debug_section {
    const uint8_t *bytes;
    size_t size;
};

struct symbols {
    char file[96]; /* base name, for messages */
    uint8_t *image;
    Elf *elf;
    unsigned machine;
    bool is_movable; /* ET_DYN */
    uint64_t entry;
    bool big_endian;

    struct extent *sections; /* by section index; empty where nothing is loaded */
    size_t section_count;
    struct extent *code; /* where instructions can be: sorted, merged */
    size_t code_count;
    bool is_m_profile;
    char profile; /* see struct symbols_machine */
    unsigned architecture;
    char build_id[2 * 64 + 1];

    struct table table;

    bool dwarf_loaded;
    Dwarf *dwarf;
    struct unit *units; /* by the offset of their line tables */
    size_t unit_count;
    struct debug_section line, line_str, str;
};

/* elf.c */
bool elf_is_code(const struct symbols *symbols, uint64_t address);
/* The code from `address` on, in the file; NULL, and *n 0, where there is none. */
const uint8_t *elf_code(const struct symbols *symbols, uint64_t address, size_t *n);
struct debug_section elf_section(struct symbols *symbols, const char *name);

/* stack.c: an instruction, the one before it and the one behind it; of two halfwords the first one is the
 * upper */
struct stack_code {
    uint32_t before, here, next;
};
bool stack_is_set(enum instruction_set isa, const struct stack_code *code);

/* table.c */
const struct table *table_get(struct symbols *symbols);
/* The function that has `address` in it; outside all functions, the label before it; else NULL */
const struct symbol *table_around(struct symbols *symbols, uint64_t address, struct extent *extent);
bool table_has_code_symbol(struct symbols *symbols, uint64_t address);
enum instruction_set table_isa(struct symbols *symbols, uint64_t address);
bool table_is_data(struct symbols *symbols, uint64_t address); /* constants among the code */
bool symbol_is_function(const struct symbol *symbol);
bool table_is_object(const struct symbols *symbols, const struct symbol *symbol);

/*
 * Whether a DWARF range or row sequence that begins here describes code of this program. Linkers leave the
 * DWARF of functions that they dropped in place, at address 0 (GNU) or all ones (LLVM), and flash at 0 is
 * common.
 */
bool table_is_kept(struct symbols *symbols, uint64_t begin);

/* lines.c */
bool lines_load(struct symbols *symbols); /* true: there are line tables */
/* "fir.c:42" or "" */
void lines_source(struct symbols *symbols, uint64_t address, char *out, size_t room);

/*
 * scopes.c: the instance of a function of the source that an instruction belongs to, which inlining hides
 * from the symbol table.
 */
struct scope {
    uint64_t key;      /* the same for two addresses of one instance; 0 if unknown */
    const char *name;  /* may be NULL */
    const char *outer; /* for an inlined one: the function that it is in; else NULL */
    bool owns_line;    /* the line that was asked for stands in this function */
};
bool scopes_unit_covers(struct symbols *symbols, struct unit *unit, uint64_t address, bool *has_ranges);
/*
 * Of all instances around the address, the one of the function that has this line of this file in it; where
 * none has, the innermost.
 */
struct scope scopes_find(struct symbols *symbols, uint64_t address, const char *file, uint64_t line);

/* What DWARF says of the function that has an address in it; NULL and 0 where it says nothing. */
struct function_facts {
    const char *file; /* where it is written, with its path */
    int line;
    const char *unit; /* the file that was compiled */
    bool never_returns;
};
struct function_facts scopes_function(struct symbols *symbols, uint64_t address);
